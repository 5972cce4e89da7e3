//! JavaScript's syntax rewritten for the engine, for the differences that agents meet most often.
//!
//! Rules: ECMA-262, 22.2.1 and Annex B.1.2 (patterns without the `u` flag).

use super::PatternError;
use super::error::Caret;
use crate::limits::MAX_PATTERN_DEPTH;
use std::fmt::Write as _;

const ESCAPE_HINT: &str = "write `\\` before `( ) [ ] { } * + ? . ^ $ |` to mean the character itself";

/// Rewrites `source`, or names its first fault.
pub(super) fn translate(source: &str) -> Result<String, PatternError> {
    let mut translator = Translator {
        source,
        at: 0,
        out: String::with_capacity(source.len() + 16),
        open: Vec::new(),
        repeatable: false,
    };
    while let Some(c) = translator.peek() {
        translator.item(c)?;
    }
    match translator.open.last() {
        Some(open) => Err(fault("a `(` that is not closed", *open)),
        None => Ok(translator.out),
    }
}

fn fault(fault: &'static str, offset: usize) -> PatternError {
    PatternError::Syntax { reason: fault, offset, caret: Caret::at("", 0), hint: ESCAPE_HINT }
}

struct Translator<'a> {
    source: &'a str,
    at: usize,
    out: String,
    /// Offsets of the groups that are still open.
    open: Vec<usize>,
    /// Whether a quantifier may stand here.
    repeatable: bool,
}

impl Translator<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Copies the next `bytes` bytes as they are.
    fn copy(&mut self, bytes: usize) {
        let end = self.at + bytes;
        self.out.push_str(&self.source[self.at..end]);
        self.at = end;
    }

    fn item(&mut self, c: char) -> Result<(), PatternError> {
        match c {
            '\\' => self.escape(false)?,
            '[' => self.class()?,
            '(' => return self.group(),
            ')' => {
                if self.open.pop().is_none() {
                    return Err(fault("a `)` without a `(`", self.at));
                }
                self.copy(1);
            }
            '|' | '^' => {
                self.copy(1);
                self.repeatable = false;
                return Ok(());
            }
            '*' | '+' | '?' => return self.quantifier(1),
            '{' => {
                if let Some(bytes) = counted(self.rest()) {
                    return self.quantifier(bytes);
                }
                self.literal('{');
            }
            '}' | ']' => self.literal(c),
            '$' => {
                // Elsewhere the end of a CRLF line is before its `\r` only, so that `$` matches a line once.
                let behind_cr = ["\\r", "\\r?", "\\r*", "\\r+"].iter().any(|cr| self.source[..self.at].ends_with(cr));
                self.put(if behind_cr { "(?:$|(?-R:$))" } else { "$" }, 1);
            }
            _ => self.copy(c.len_utf8()),
        }
        self.repeatable = c != '$';
        Ok(())
    }

    fn literal(&mut self, c: char) {
        let _ = write!(self.out, "\\x{{{:X}}}", u32::from(c));
        self.at += c.len_utf8();
    }

    fn quantifier(&mut self, bytes: usize) -> Result<(), PatternError> {
        if !self.repeatable {
            return Err(fault("nothing to repeat", self.at));
        }
        self.copy(bytes);
        if self.peek() == Some('?') {
            self.copy(1);
        }
        self.repeatable = false;
        Ok(())
    }

    fn group(&mut self) -> Result<(), PatternError> {
        if self.open.len() == MAX_PATTERN_DEPTH {
            return Err(PatternError::TooDeep { offset: self.at });
        }
        self.open.push(self.at);
        let heads = ["(?:", "(?=", "(?!", "(?<=", "(?<!"];
        let head = heads.iter().find(|head| self.rest().starts_with(**head)).map(|head| head.len());
        let named = self.rest().strip_prefix("(?<").and_then(|name| name.find('>')).map(|end| end + 4);
        // Modifiers: `(?i:` and the like.
        let modified = self.rest().strip_prefix("(?").and_then(|flags| {
            let bytes = flags.find(|c| !matches!(c, 'i' | 'm' | 's' | '-'))?;
            (bytes > 0 && flags[bytes..].starts_with(':')).then_some(bytes + 3)
        });
        match head.or(named).or(modified) {
            Some(bytes) => self.copy(bytes),
            None if self.rest().starts_with("(?") => {
                return Err(PatternError::Syntax {
                    reason: "a group of an unknown kind",
                    caret: Caret::at("", 0),
                    offset: self.at,
                    hint: "JavaScript has `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!` and `(?<name>`; for `(?i)` set `caseInsensitive` instead",
                });
            }
            None => self.copy(1),
        }
        self.repeatable = false;
        Ok(())
    }

    fn class(&mut self) -> Result<(), PatternError> {
        let start = self.at;
        // An empty class matches nothing, its negation anything.
        if self.rest().starts_with("[^]") {
            self.out.push_str("[\\s\\S]");
            self.at += 3;
            return Ok(());
        }
        if self.rest().starts_with("[]") {
            self.out.push_str("[^\\s\\S]");
            self.at += 2;
            return Ok(());
        }
        let negated = self.rest().starts_with("[^");
        self.copy(1 + usize::from(negated));
        while let Some(c) = self.peek() {
            match c {
                ']' => {
                    self.copy(1);
                    return Ok(());
                }
                '\\' => self.escape(true)?,
                // Set operators of the engine, plain members in JavaScript.
                '[' | '&' | '~' | '^' => self.literal(c),
                '-' if self.rest().starts_with("--") => self.literal(c),
                _ => self.copy(c.len_utf8()),
            }
        }
        Err(fault("a `[` that is not closed", start))
    }

    fn escape(&mut self, in_class: bool) -> Result<(), PatternError> {
        let Some(c) = self.rest()[1..].chars().next() else {
            return Err(fault("a `\\` with nothing behind it", self.at));
        };
        let width = 1 + c.len_utf8();
        match c {
            // Digits are ASCII digits in JavaScript.
            'd' => self.put(if in_class { "0-9" } else { "[0-9]" }, width),
            'D' => self.put("[^0-9]", width),
            'b' if in_class => self.put("\\x08", width),
            '0' if !self.rest()[2..].starts_with(|d: char| d.is_ascii_digit()) => self.put("\\x00", width),
            'b' | 'B' | 'w' | 'W' | 's' | 'S' | 'n' | 'r' | 't' | 'f' | 'v' | 'p' | 'P' | 'k' | '0'..='9' => {
                self.copy(width);
            }
            'x' => self.hex(2),
            'u' => self.hex(4),
            'c' => match self.rest()[2..].chars().next() {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    let _ = write!(self.out, "\\x{:02X}", letter as u8 % 32);
                    self.at += 3;
                }
                _ => self.put("\\\\", 1),
            },
            // Every other character stands for itself.
            _ => {
                self.at += 1;
                self.literal(c);
            }
        }
        Ok(())
    }

    fn put(&mut self, text: &str, bytes: usize) {
        self.out.push_str(text);
        self.at += bytes;
    }

    /// `\xHH` or `\uHHHH`; with fewer digits the letter stands for itself.
    fn hex(&mut self, digits: usize) {
        let code = self
            .rest()
            .get(2..2 + digits)
            .and_then(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(hex));
        let code = code.and_then(|hex| char::from_u32(u32::from_str_radix(hex, 16).ok()?));
        self.at += 1;
        let letter = if digits == 2 { 'x' } else { 'u' };
        self.literal(code.unwrap_or(letter));
        // `literal` stepped over its own character; the source has the letter and the digits.
        self.at = self.at - code.unwrap_or(letter).len_utf8() + if code.is_some() { 1 + digits } else { 1 };
    }
}

/// The length of a `{1}`, `{1,}` or `{1,2}` at the beginning; any other `{` is a plain character.
fn counted(text: &str) -> Option<usize> {
    let end = text.find('}')?;
    let (low, high) = match text[1..end].split_once(',') {
        Some((low, high)) => (low, high),
        None => (&text[1..end], ""),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (!low.is_empty() && digits(low) && digits(high)).then_some(end + 1)
}
