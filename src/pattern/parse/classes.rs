//! Parses character classes, from behind the `[`.

use super::super::ast::{Class, Node};
use super::super::error::PatternError;
use super::super::fold;
use super::escapes::named_class;
use super::halves::{Half, LEAD, TRAIL, lead_of, pair};
use super::{Atom, Parser};

/// One member of a class.
enum Member {
    Code(u32),
    Set(Class),
}

impl Member {
    fn add_to(self, ranges: &mut Vec<(u32, u32)>) {
        match self {
            Self::Code(code) => ranges.push((code, code)),
            Self::Set(set) => ranges.extend(
                set.ranges()
                    .iter()
                    .map(|(a, b)| (u32::from(*a), u32::from(*b))),
            ),
        }
    }
}

impl Parser<'_> {
    /// A class, from its `[` to its `]`. `[` and `&&` mean nothing inside; a `]` at the beginning
    /// ends it.
    pub(super) fn class(&mut self) -> Result<Atom, PatternError> {
        let open = self.at;
        self.at += 1;
        let negated = self.eat("^");
        let mut ranges = Vec::new();
        while !self.eat("]") {
            if self.peek().is_none() {
                return Err(self.fault("Unterminated character class", open));
            }
            self.members(&mut ranges)?;
        }
        let class = Class::of_code_points(&ranges);
        let class = if self.flags.ignore_case {
            fold::closed(&class)
        } else {
            class
        };
        let half = if negated { None } else { Half::of(&ranges) };
        let class = if negated { class.negated() } else { class };
        Ok(Atom {
            half,
            ..Atom::new(Node::Class(class))
        })
    }

    /// One member, or two with a `-` between them.
    fn members(&mut self, ranges: &mut Vec<(u32, u32)>) -> Result<(), PatternError> {
        let start = self.at;
        let first = self.member()?;
        let mut ahead = self.rest().chars();
        if ahead.next() != Some('-') || matches!(ahead.next(), None | Some(']')) {
            first.add_to(ranges);
            return Ok(());
        }
        self.at += 1;
        match (first, self.member()?) {
            (Member::Code(first), Member::Code(last)) => {
                // `\ud83d\ude00-\ude4f`: the trail runs on, the lead stays.
                let last = if first > 0xFFFF && TRAIL.contains(&last) {
                    pair(lead_of(first), last)
                } else {
                    last
                };
                if first > last {
                    return Err(self.fault("Range out of order in character class", start));
                }
                ranges.push((first, last));
            }
            // A set has no first and no last: the `-` stands for itself.
            (first, last) => {
                first.add_to(ranges);
                Member::Code(u32::from('-')).add_to(ranges);
                last.add_to(ranges);
            }
        }
        Ok(())
    }

    fn member(&mut self) -> Result<Member, PatternError> {
        let start = self.at;
        if !self.eat("\\") {
            let code = self.peek().map_or(0, u32::from);
            self.at += self.peek().map_or(0, char::len_utf8);
            return Ok(Member::Code(code));
        }
        match self.peek() {
            None => Err(self.fault("\\ at end of pattern", start)),
            Some('b') => {
                self.at += 1;
                Ok(Member::Code(0x08))
            }
            Some('k') if self.survey.named => Err(self.fault("Invalid escape", start)),
            Some(c) => {
                if let Some(set) = named_class(c) {
                    self.at += 1;
                    return Ok(Member::Set(set));
                }
                Ok(Member::Code(self.code_of_escape(c, true)))
            }
        }
    }
}

impl Half {
    /// For ranges that hold nothing but leads or nothing but trails.
    pub(super) fn of(ranges: &[(u32, u32)]) -> Option<Self> {
        let all = |half: &std::ops::RangeInclusive<u32>| {
            !ranges.is_empty()
                && ranges
                    .iter()
                    .all(|(first, last)| half.contains(first) && half.contains(last))
        };
        if all(&LEAD) {
            Some(Self::Lead(ranges.to_vec()))
        } else if all(&TRAIL) {
            Some(Self::Trail(ranges.to_vec()))
        } else {
            None
        }
    }
}
