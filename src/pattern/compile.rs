//! From a tree to a program. The size of a program is proportional to the pattern's: no repetition
//! is written out.
//!
//! The recursion is as deep as the tree, which the parser limits.

use replay_base::limits::MAX_PATTERN_PROGRAM_BYTES;

use super::PatternError;
use super::ahead;
use super::ast::{Class, Node, Tree};
use super::program::{CharSet, NO_LIMIT, Op, Program, Run, Skip};
use std::collections::HashMap;
use std::ops::Range;

/// Compiles a tree. The error is [`PatternError::TooLarge`].
pub(super) fn compile(tree: &Tree) -> Result<Program, PatternError> {
    let mut compiler = Compiler::default();
    compiler.node(&tree.root, false)?;
    compiler.put(Op::Accept);
    let mut program = Program {
        ops: compiler.ops,
        sets: compiler.sets,
        literals: compiler.literals,
        references: compiler.references,
        ahead: Vec::new(),
        slots: 2 * (tree.groups as usize + 1),
        registers: compiler.registers as usize,
        skip: Skip::Nothing,
        lead: None,
    };
    ahead::prepare(&mut program);
    Ok(program)
}

#[derive(Default)]
struct Compiler {
    ops: Vec<Op>,
    sets: Vec<CharSet>,
    numbers: HashMap<Vec<(char, char)>, u32>,
    literals: Vec<u8>,
    references: Vec<u32>,
    registers: u32,
    size: usize,
}

/// Returns true if the node can match the empty text.
fn is_nullable(node: &Node) -> bool {
    match node {
        Node::Char(_) | Node::Class(_) => false,
        Node::Concat(parts) => parts.iter().all(is_nullable),
        Node::Alternation(parts) => parts.iter().any(is_nullable),
        Node::Group { body, .. } => is_nullable(body),
        Node::Repeat { min, body, .. } => *min == 0 || is_nullable(body),
        Node::Empty
        | Node::Start { .. }
        | Node::End { .. }
        | Node::WordBoundary { .. }
        | Node::BackReference { .. }
        | Node::Look { .. } => true,
    }
}

/// The set of a node that is one character, whichever way it is written.
fn as_class(node: &Node) -> Option<Class> {
    match node {
        Node::Char(c) => Some(Class::new([(*c, *c)])),
        Node::Class(class) => Some(class.clone()),
        Node::Alternation(parts) => {
            let classes = parts.iter().map(as_class).collect::<Option<Vec<_>>>()?;
            Some(Class::new(
                classes
                    .iter()
                    .flat_map(|class| class.ranges().iter().copied()),
            ))
        }
        _ => None,
    }
}

/// Returns the character that a node always matches. U+FFFD matches any invalid byte, so it is
/// none.
fn as_char(node: &Node) -> Option<char> {
    let c = match node {
        Node::Char(c) => Some(*c),
        Node::Class(class) => class.only(),
        _ => None,
    };
    c.filter(|c| *c != char::REPLACEMENT_CHARACTER)
}

/// Returns the text that a node always matches.
fn as_text(node: &Node) -> Option<String> {
    match node {
        Node::Concat(parts) => parts.iter().map(as_char).collect(),
        _ => as_char(node).map(String::from),
    }
}

impl Compiler {
    fn put(&mut self, op: Op) -> u32 {
        self.ops.push(op);
        self.ops.len() as u32 - 1
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    fn set(&mut self, class: &Class) -> u32 {
        if let Some(number) = self.numbers.get(class.ranges()) {
            return *number;
        }
        let set = CharSet::new(class);
        self.size += 2 * set.size();
        self.sets.push(set);
        let number = self.sets.len() as u32 - 1;
        self.numbers.insert(class.ranges().to_vec(), number);
        number
    }

    fn text(&mut self, text: &str) -> (u32, u32) {
        let at = self.literals.len() as u32;
        self.literals.extend_from_slice(text.as_bytes());
        (at, text.len() as u32)
    }

    fn literal(&mut self, text: &str, back: bool) {
        let (at, len) = self.text(text);
        self.put(Op::Literal { at, len, back });
    }

    fn node(&mut self, node: &Node, back: bool) -> Result<(), PatternError> {
        if self.size + self.ops.len() * size_of::<Op>() + self.literals.len()
            > MAX_PATTERN_PROGRAM_BYTES
        {
            return Err(PatternError::TooLarge);
        }
        if let Some(c) = as_char(node) {
            self.literal(c.encode_utf8(&mut [0; 4]), back);
            return Ok(());
        }
        if let Some(class) = as_class(node) {
            let set = self.set(&class);
            self.put(Op::Class { set, back });
            return Ok(());
        }
        match node {
            Node::Empty | Node::Char(_) | Node::Class(_) => {}
            Node::Concat(parts) => self.concat(parts, back)?,
            Node::Alternation(parts) => self.alternation(parts, back)?,
            Node::Group { index, body } => {
                let (open, close) = if back { (1, 0) } else { (0, 1) };
                self.put(Op::Save {
                    slot: 2 * index + open,
                });
                self.node(body, back)?;
                self.put(Op::Save {
                    slot: 2 * index + close,
                });
            }
            Node::Start { lines } => {
                self.put(Op::Start { lines: *lines });
            }
            Node::End { lines } => {
                self.put(Op::End { lines: *lines });
            }
            Node::WordBoundary { negated } => {
                self.put(Op::Word { negated: *negated });
            }
            Node::BackReference {
                groups,
                ignore_case,
            } => {
                let at = self.references.len() as u32;
                self.references.extend(groups);
                self.size += size_of_val(groups.as_slice());
                self.put(Op::Reference {
                    at,
                    len: groups.len() as u32,
                    ignore_case: *ignore_case,
                    back,
                });
            }
            Node::Look {
                behind,
                negated,
                body,
            } => self.look(*behind, *negated, body)?,
            Node::Repeat {
                min,
                max,
                greedy,
                body,
                groups,
            } => {
                let repeat = Repeat {
                    min: *min,
                    max: max.unwrap_or(NO_LIMIT),
                    greedy: *greedy,
                    groups,
                };
                self.repeat(&repeat, body, back)?;
            }
        }
        Ok(())
    }

    fn concat(&mut self, parts: &[Node], back: bool) -> Result<(), PatternError> {
        // To the left the parts come in the opposite order, but the characters of a literal do not.
        let mut rest = parts;
        while !rest.is_empty() {
            let text: String = if back {
                let text: Vec<char> = rest.iter().rev().map_while(as_char).collect();
                text.into_iter().rev().collect()
            } else {
                rest.iter().map_while(as_char).collect()
            };
            let taken = if text.is_empty() {
                if let Some(part) = if back { rest.last() } else { rest.first() } {
                    self.node(part, back)?;
                }
                1
            } else {
                self.literal(&text, back);
                text.chars().count()
            };
            rest = if back {
                &rest[..rest.len() - taken]
            } else {
                &rest[taken..]
            };
        }
        Ok(())
    }

    fn alternation(&mut self, parts: &[Node], back: bool) -> Result<(), PatternError> {
        let mut jumps = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            if index + 1 == parts.len() {
                self.node(part, back)?;
                break;
            }
            let split = self.put(Op::Accept);
            self.node(part, back)?;
            jumps.push(self.put(Op::Accept));
            self.ops[split as usize] = Op::Split {
                first: split + 1,
                second: self.here(),
            };
        }
        let end = self.here();
        for jump in jumps {
            self.ops[jump as usize] = Op::Jump { to: end };
        }
        Ok(())
    }

    fn look(&mut self, back: bool, negated: bool, body: &Node) -> Result<(), PatternError> {
        if let Some(text) = as_text(body) {
            let (at, len) = self.text(&text);
            self.put(Op::LookLiteral {
                at,
                len,
                negated,
                back,
            });
        } else if let Some(class) = as_class(body) {
            let set = self.set(&class);
            self.put(Op::LookClass { set, negated, back });
        } else {
            let look = self.put(Op::Accept);
            self.node(body, back)?;
            self.put(Op::Accept);
            self.ops[look as usize] = Op::Look {
                negated,
                end: self.here(),
            };
        }
        Ok(())
    }

    /// Every round but the first unsets the groups inside; before the first they are unset anyway.
    fn unset(&mut self, groups: &Range<u32>) {
        if !groups.is_empty() {
            self.put(Op::Unset {
                first: 2 * groups.start,
                end: 2 * groups.end,
            });
        }
    }

    fn repeat(&mut self, repeat: &Repeat<'_>, body: &Node, back: bool) -> Result<(), PatternError> {
        let &Repeat {
            min,
            max,
            greedy,
            groups,
        } = repeat;
        if max == 0 {
            return Ok(());
        }
        if let Some(class) = as_class(body) {
            let set = self.set(&class);
            let run = Run {
                set,
                min,
                max,
                greedy,
                back,
                possessive: false,
                ahead: NO_LIMIT,
            };
            self.put(Op::Run(run));
            return Ok(());
        }
        let nullable = is_nullable(body);
        match (min, max) {
            (1, 1) => self.node(body, back)?,
            (0, 1 | NO_LIMIT) => {
                let top = self.put(Op::Accept);
                let register = self.registers;
                if nullable {
                    self.registers += 1;
                    self.put(Op::Mark { register });
                }
                if max == NO_LIMIT {
                    self.unset(groups);
                }
                self.node(body, back)?;
                if nullable {
                    self.put(Op::Progress { register });
                }
                if max == NO_LIMIT {
                    self.put(Op::Jump { to: top });
                }
                self.ops[top as usize] = split(greedy, top + 1, self.here());
            }
            (1, NO_LIMIT) if !nullable => {
                let top = self.here();
                self.unset(groups);
                self.node(body, back)?;
                let end = self.put(Op::Accept);
                self.ops[end as usize] = split(greedy, top, end + 1);
            }
            _ => {
                let register = self.registers;
                self.registers += 2;
                self.put(Op::Zero { register });
                let top = self.put(Op::Accept);
                self.put(Op::Enter { register });
                self.unset(groups);
                self.node(body, back)?;
                self.put(Op::Again { register, min, top });
                self.ops[top as usize] = Op::Count {
                    register,
                    min,
                    max,
                    greedy,
                    exit: self.here(),
                };
            }
        }
        Ok(())
    }
}

/// The choice between a further round and the end of a loop.
fn split(greedy: bool, round: u32, exit: u32) -> Op {
    let (first, second) = if greedy { (round, exit) } else { (exit, round) };
    Op::Split { first, second }
}

struct Repeat<'a> {
    min: u32,
    max: u32,
    greedy: bool,
    groups: &'a Range<u32>,
}
