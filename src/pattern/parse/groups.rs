//! Parses groups, from behind the `(`.

use super::super::ast::Node;
use super::super::error::PatternError;
use super::{Atom, Flags, Parser, group_names};

impl Parser<'_> {
    /// A group, from its `(` to its `)`.
    pub(super) fn group(&mut self) -> Result<Atom, PatternError> {
        let open = self.at;
        self.at += 1;
        if self.eat("?:") {
            return self.inside(open).map(Atom::new);
        }
        for (head, behind, negated) in [
            ("?=", false, false),
            ("?!", false, true),
            ("?<=", true, false),
            ("?<!", true, true),
        ] {
            if self.eat(head) {
                let body = Box::new(self.inside(open)?);
                let look = Node::Look {
                    behind,
                    negated,
                    body,
                };
                // Annex B allows to repeat a lookahead (`QuantifiableAssertion`), but not a
                // lookbehind.
                if behind && self.quantifier_follows() {
                    return Err(self.fault("Invalid quantifier", self.at));
                }
                return Ok(if behind {
                    Atom::assertion(look)
                } else {
                    Atom::new(look)
                });
            }
        }
        if self.eat("?<") {
            return self.parse_named_group(open);
        }
        if self.eat("?") {
            return self.modified(open);
        }
        self.capture(open)
    }

    fn capture(&mut self, open: usize) -> Result<Atom, PatternError> {
        self.groups += 1;
        let index = self.groups;
        let body = Box::new(self.inside(open)?);
        Ok(Atom::new(Node::Group { index, body }))
    }

    fn parse_named_group(&mut self, open: usize) -> Result<Atom, PatternError> {
        let Some((name, behind)) = group_names::read(self.source, self.at) else {
            return Err(self.fault("Invalid capture group name", self.at));
        };
        if !self.scope.take(&name) {
            return Err(self.fault("Duplicate capture group name", self.at));
        }
        self.at = behind;
        self.capture(open)
    }

    /// `i-m:` of `(?i-m:...)` and what is inside.
    fn modified(&mut self, open: usize) -> Result<Atom, PatternError> {
        let before = self.flags;
        match self.modifiers() {
            Ok(flags) => self.flags = flags,
            Err(reason) => return Err(self.fault(reason, open)),
        }
        let body = self.inside(open)?;
        self.flags = before;
        Ok(Atom::new(body))
    }

    /// Each of `i`, `m` and `s` at most once, at least one of them, with at most one `-` before
    /// those to take away.
    fn modifiers(&mut self) -> Result<Flags, &'static str> {
        let mut flags = self.flags;
        let mut seen = Vec::new();
        let mut value = true;
        loop {
            let letter = self.peek();
            match letter {
                Some('i') => flags.ignore_case = value,
                Some('m') => flags.lines = value,
                Some('s') => flags.dot_all = value,
                Some('-') if value => value = false,
                Some('-') => return Err("Multiple dashes in flag group"),
                Some(':') if seen.is_empty() => return Err("Invalid flag group"),
                Some(':') => break,
                _ => return Err("Invalid group"),
            }
            if letter != Some('-') {
                if seen.contains(&letter) {
                    return Err("Repeated flag in flag group");
                }
                seen.push(letter);
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(flags)
    }
}
