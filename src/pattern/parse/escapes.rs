//! Parses escapes, from behind the `\`.

use crate::limits::MAX_PATTERN_PRODUCT;

use super::super::ast::{Class, Node};
use super::super::error::PatternError;
use super::super::fold;
use super::halves::{hexadecimal, unit_or_pair};
use super::{Atom, Parser, group_names};

impl Parser<'_> {
    /// An escape outside of classes.
    pub(super) fn escape(&mut self) -> Result<Atom, PatternError> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.peek() else {
            return Err(self.fault("\\ at end of pattern", start));
        };
        if let Some(class) = named_class(c) {
            self.at += 1;
            let class = if self.flags.ignore_case {
                fold::closed(&class)
            } else {
                class
            };
            return Ok(Atom::new(Node::Class(class)));
        }
        if matches!(c, '1'..='9')
            && let Some(group) = self.numbered_reference()
        {
            return Ok(self.reference(vec![group]));
        }
        match c {
            'b' | 'B' => {
                self.at += 1;
                Ok(Atom::assertion(Node::WordBoundary { negated: c == 'B' }))
            }
            'k' if self.survey.named => self.named_reference(start),
            _ => {
                let code = self.code_of_escape(c, false);
                Ok(self.character(code))
            }
        }
    }

    fn reference(&self, groups: Vec<u32>) -> Atom {
        Atom::new(Node::BackReference {
            groups,
            ignore_case: self.flags.ignore_case,
        })
    }

    /// The number at this place if there are so many groups, here or further on.
    fn numbered_reference(&mut self) -> Option<u32> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = self.rest()[..digits].parse().ok()?;
        if number > self.survey.groups {
            return None;
        }
        self.at += digits;
        Some(number)
    }

    /// `k<name>`.
    fn named_reference(&mut self, start: usize) -> Result<Atom, PatternError> {
        self.at += 1;
        if !self.eat("<") {
            return Err(self.fault("Invalid named reference", start));
        }
        let Some((name, behind)) = group_names::read(self.source, self.at) else {
            return Err(self.fault("Invalid capture group name", self.at));
        };
        self.at = behind;
        let groups = self.survey.groups_with_name(&name);
        self.referred += groups.len();
        if self.referred > MAX_PATTERN_PRODUCT {
            return Err(PatternError::TooLarge);
        }
        if groups.is_empty() {
            self.unknown.get_or_insert(start);
        }
        Ok(self.reference(groups))
    }

    /// The code point that an escape stands for; `c`, which comes next, follows the `\`. Annex B
    /// makes a letter that means nothing the letter itself.
    pub(super) fn code_of_escape(&mut self, c: char, in_class: bool) -> u32 {
        let rest = &self.rest()[c.len_utf8()..];
        let (code, bytes) = match c {
            't' => (0x09, 1),
            'n' => (0x0A, 1),
            'v' => (0x0B, 1),
            'f' => (0x0C, 1),
            'r' => (0x0D, 1),
            'c' => match rest.bytes().next() {
                Some(control)
                    if control.is_ascii_alphabetic()
                        || in_class && (control.is_ascii_digit() || control == b'_') =>
                {
                    (u32::from(control) % 32, 2)
                }
                // The `\` stands for itself, and so does the `c`, which is left to be read.
                _ => (u32::from('\\'), 0),
            },
            '0'..='7' => octal(self.rest()),
            'x' => hexadecimal(rest, 2).map_or((u32::from(c), 1), |code| (code, 3)),
            'u' => unit_or_pair(rest).map_or((u32::from(c), 1), |(code, bytes)| (code, 1 + bytes)),
            _ => (u32::from(c), c.len_utf8()),
        };
        self.at += bytes;
        code
    }
}

/// Returns the class of an escape such as `\d`.
pub(super) fn named_class(letter: char) -> Option<Class> {
    Some(match letter {
        'd' => Class::digits(),
        'D' => Class::digits().negated(),
        'w' => Class::words(),
        'W' => Class::words().negated(),
        's' => Class::spaces(),
        'S' => Class::spaces().negated(),
        _ => return None,
    })
}

/// Up to three octal digits, no more than 0o377 (Annex B.1.2, `LegacyOctalEscapeSequence`): the
/// value and the length.
fn octal(text: &str) -> (u32, usize) {
    let mut value = 0;
    let mut bytes = 0;
    for digit in text.chars().take(3).map_while(|c| c.to_digit(8)) {
        if value * 8 + digit > 0o377 {
            break;
        }
        value = value * 8 + digit;
        bytes += 1;
    }
    (value, bytes)
}
