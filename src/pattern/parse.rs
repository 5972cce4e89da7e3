//! Parser for patterns: JavaScript's syntax without the flag `u`, as of ES2025 (ECMA-262, 22.2.1
//! and Annex B.1.2).
//!
//! | file | syntax |
//! | --- | --- |
//! | this file | alternatives and sequences of terms |
//! | `survey` | first pass: number and names of groups |
//! | `groups` | groups, from behind the `(` |
//! | `group_names` | names of groups, and duplicate names |
//! | `escapes` | escapes, from behind the `\` |
//! | `classes` | character classes, from behind the `[` |
//! | `quantifiers` | `*`, `+`, `?`, `{1,2}` |
//! | `halves` | characters that are written as two UTF-16 units |

mod classes;
mod escapes;
mod group_names;
mod groups;
mod halves;
mod hints;
mod quantifiers;
mod survey;

use crate::limits::{MAX_PATTERN_BYTES, MAX_PATTERN_DEPTH};

use super::ast::{Class, Node, Tree};
use super::error::{Caret, PatternError};
use super::{Options, fold};
use group_names::Scope;
use halves::Half;
use survey::Survey;

/// Parses the text between the slashes. `^` and `$` mean lines, as with the flag `m`.
pub(super) fn parse(source: &str, options: Options) -> Result<Tree, PatternError> {
    if source.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::TooLong {
            bytes: source.len(),
        });
    }
    let mut parser = Parser {
        source,
        at: 0,
        flags: Flags {
            ignore_case: options.case_insensitive,
            lines: true,
            dot_all: false,
        },
        survey: Survey::of(source),
        groups: 0,
        depth: 0,
        scope: Scope::default(),
        unknown: None,
        referred: 0,
    };
    let root = parser.disjunction()?;
    if parser.peek().is_some() {
        return Err(parser.fault("Unmatched ')'", parser.at));
    }
    if let Some(offset) = parser.unknown {
        return Err(parser.fault("Invalid named capture referenced", offset));
    }
    Ok(Tree {
        root,
        groups: parser.groups,
        names: parser.survey.names,
    })
}

/// Flags that `(?i-m:...)` changes.
#[derive(Debug, Clone, Copy)]
struct Flags {
    ignore_case: bool,
    lines: bool,
    dot_all: bool,
}

struct Parser<'a> {
    source: &'a str,
    /// The byte that is read next.
    at: usize,
    flags: Flags,
    survey: Survey,
    /// Capture groups opened so far.
    groups: u32,
    /// Groups that are open.
    depth: usize,
    scope: Scope,
    /// The first reference to a name that no group has.
    unknown: Option<usize>,
    /// Groups named by references so far.
    referred: usize,
}

/// An atom: the operand of a quantifier.
struct Atom {
    node: Node,
    /// `^`, `$`, `\b` and lookbehinds cannot be repeated.
    repeatable: bool,
    /// For half of a character.
    half: Option<Half>,
}

impl Atom {
    fn new(node: Node) -> Self {
        Self {
            node,
            repeatable: true,
            half: None,
        }
    }

    fn assertion(node: Node) -> Self {
        Self {
            node,
            repeatable: false,
            half: None,
        }
    }
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Steps over `text` if it is what comes next.
    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn fault(&self, reason: &'static str, offset: usize) -> PatternError {
        let hint = hints::for_fault(reason, &self.source[offset..]);
        PatternError::Syntax {
            reason,
            offset,
            caret: Caret::at(self.source, offset),
            hint,
        }
    }

    /// Alternatives up to the end or a `)` that closes more than is open here.
    fn disjunction(&mut self) -> Result<Node, PatternError> {
        let mut alternatives = Vec::new();
        let mut behind = Vec::new();
        loop {
            let mark = self.scope.begin();
            alternatives.push(self.alternative()?);
            if alternatives.len() == 1 && self.peek() != Some('|') {
                break;
            }
            behind.extend(self.scope.end(mark));
            if !self.eat("|") {
                break;
            }
        }
        self.scope.add(behind);
        Ok(if alternatives.len() == 1 {
            alternatives.remove(0)
        } else {
            Node::Alternation(alternatives)
        })
    }

    fn alternative(&mut self) -> Result<Node, PatternError> {
        let mut nodes = Vec::new();
        let mut last = None;
        while let Some(c) = self.peek().filter(|c| !matches!(c, '|' | ')')) {
            let (mut node, mut half) = self.term(c)?;
            if let (Some(Half::Lead(lead)), Some(Half::Trail(trail))) = (&last, &half) {
                node = Node::Class(halves::join(lead, trail)?);
                half = None;
                nodes.pop();
            }
            nodes.push(node);
            last = half;
        }
        Ok(match nodes.len() {
            0 => Node::Empty,
            1 => nodes.remove(0),
            _ => Node::Concat(nodes),
        })
    }

    fn term(&mut self, c: char) -> Result<(Node, Option<Half>), PatternError> {
        let before = self.groups;
        let atom = self.atom(c)?;
        if !atom.repeatable {
            return Ok((atom.node, None));
        }
        let Some(quantifier) = self.quantifier()? else {
            return Ok((atom.node, atom.half));
        };
        let body = Box::new(atom.node);
        let node = Node::Repeat {
            min: quantifier.min,
            max: quantifier.max,
            greedy: quantifier.greedy,
            body,
            groups: before + 1..self.groups + 1,
        };
        Ok((node, None))
    }

    fn atom(&mut self, c: char) -> Result<Atom, PatternError> {
        match c {
            '^' => {
                self.at += 1;
                Ok(Atom::assertion(Node::Start {
                    lines: self.flags.lines,
                }))
            }
            '$' => {
                self.at += 1;
                Ok(Atom::assertion(Node::End {
                    lines: self.flags.lines,
                }))
            }
            '.' => {
                self.at += 1;
                let class = if self.flags.dot_all {
                    Class::any()
                } else {
                    Class::line_terminators().negated()
                };
                Ok(Atom::new(Node::Class(class)))
            }
            '(' => self.group(),
            '[' => self.class(),
            '\\' => self.escape(),
            _ if self.quantifier_follows() => Err(self.fault("Nothing to repeat", self.at)),
            _ => {
                self.at += c.len_utf8();
                Ok(self.character(u32::from(c)))
            }
        }
    }

    /// Returns an atom that matches one code point.
    fn character(&self, code: u32) -> Atom {
        match char::from_u32(code) {
            Some(c) if self.flags.ignore_case => Atom::new(fold::any_case(c)),
            Some(c) => Atom::new(Node::Char(c)),
            None => Atom {
                half: Half::of(&[(code, code)]),
                ..Atom::new(Node::Class(Class::default()))
            },
        }
    }

    /// Parses the body of the group whose parenthesis is at `open`, and the `)`.
    fn inside(&mut self, open: usize) -> Result<Node, PatternError> {
        self.depth += 1;
        if self.depth > MAX_PATTERN_DEPTH {
            return Err(PatternError::TooDeep { offset: open });
        }
        let body = self.disjunction()?;
        if !self.eat(")") {
            return Err(self.fault("Unterminated group", open));
        }
        self.depth -= 1;
        Ok(body)
    }
}

#[cfg(test)]
mod tests;
