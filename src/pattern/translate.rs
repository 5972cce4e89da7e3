//! A tree as text for the linear engine (`regex-syntax`), either with the same meaning or as an
//! approximation that matches wherever the tree does, and perhaps elsewhere.
//!
//! Every class and character is written out (`\x{..}`), since the two languages agree about little
//! else: case is folded differently, `[a&&b]` is an intersection there, and so on.

use crate::limits::MAX_EXACT_ROUNDS;

use super::ast::{Class, Node, Tree};
use super::fold;
use std::fmt::Write as _;

/// Longest translation of a pattern for the linear engine, in bytes.
const MAX_TRANSLATION_BYTES: usize = 300_000;
/// Longest text that stands for a reference to a group in a translation, in bytes.
const MAX_REFERENCE_BYTES: usize = 4000;
/// References inside the groups of references that a translation follows.
const MAX_REFERENCE_DEPTH: usize = 3;

/// Unit of text that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haystack {
    /// In a whole text.
    Text,
    /// Each line of a whole text. Nothing matches `\n`, and `^` and `$` with the flag `m` removed
    /// refer to the line.
    Lines,
}

/// A translation that may match too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Approximation {
    /// In the syntax of `regex-syntax`, without flags set outside.
    pub text: String,
    /// `true` if the translation matches exactly the same texts (or lines). This holds for UTF-8
    /// texts without U+2028 and U+2029 at an anchor.
    pub exact: bool,
}

/// The same pattern, capture groups included; only for those whose [`super::facts::Facts`] are
/// exact. `None` if it is not or gets too long.
pub(super) fn exact(tree: &Tree) -> Option<String> {
    let mut writer = Writer::new(
        tree,
        Haystack::Text,
        Style {
            captures: true,
            ..Style::default()
        },
    );
    writer.node(&tree.root)?;
    writer.exact.then_some(writer.out)
}

/// A pattern that matches whatever this one does, without groups: nothing is looked for ahead or
/// behind, and a reference matches what its group could have matched. Repetitions of more than
/// `most_rounds` are written without a limit. `None` if it gets too long.
pub(super) fn approximation(
    tree: &Tree,
    haystack: Haystack,
    most_rounds: u32,
) -> Option<Approximation> {
    let mut writer = Writer::new(
        tree,
        haystack,
        Style {
            most_rounds,
            ..Style::default()
        },
    );
    writer.node(&tree.root)?;
    Some(Approximation {
        text: writer.out,
        exact: writer.exact,
    })
}

#[derive(Clone, Copy)]
struct Style {
    captures: bool,
    most_rounds: u32,
    /// `true` inside a copy of a group that replaces a reference. The captured text stood
    /// elsewhere, so assertions say nothing about the copy.
    copy: bool,
    /// `true` if that reference ignores case.
    fold: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            captures: false,
            most_rounds: MAX_EXACT_ROUNDS,
            copy: false,
            fold: false,
        }
    }
}

struct Writer<'a> {
    root: &'a Node,
    haystack: Haystack,
    style: Style,
    out: String,
    exact: bool,
    /// Copies inside one another.
    depth: usize,
}

impl<'a> Writer<'a> {
    fn new(tree: &'a Tree, haystack: Haystack, style: Style) -> Self {
        Self {
            root: &tree.root,
            haystack,
            style,
            out: String::new(),
            exact: true,
            depth: 0,
        }
    }

    /// `None` when the text gets too long.
    fn node(&mut self, node: &Node) -> Option<()> {
        if self.out.len() > MAX_TRANSLATION_BYTES {
            return None;
        }
        match node {
            Node::Empty => {}
            Node::Char(c) if self.style.fold => self.class(&fold::closed(&Class::single(*c))),
            Node::Char(c) => self.class(&Class::single(*c)),
            Node::Class(class) if self.style.fold => self.class(&fold::closed(class)),
            Node::Class(class) => self.class(class),
            Node::Concat(nodes) => nodes.iter().try_for_each(|node| self.node(node))?,
            Node::Alternation(nodes) => {
                self.out.push_str("(?:");
                for (index, node) in nodes.iter().enumerate() {
                    self.out.push_str(if index > 0 { "|" } else { "" });
                    self.node(node)?;
                }
                self.out.push(')');
            }
            Node::Group { body, .. } => {
                self.out
                    .push_str(if self.style.captures { "(" } else { "(?:" });
                self.node(body)?;
                self.out.push(')');
            }
            Node::Start { .. } | Node::End { .. } | Node::WordBoundary { .. }
                if self.style.copy => {}
            Node::Start { lines: true } => self.out.push_str("(?mR:^)"),
            Node::End { lines: true } => self.out.push_str("(?:(?m:$)|(?mR:$))"),
            Node::Start { lines: false } => self.edge("\\A", "(?m:^)"),
            Node::End { lines: false } => self.edge("\\z", "(?m:$)"),
            Node::WordBoundary { negated: false } => self.out.push_str("(?-u:\\b)"),
            Node::WordBoundary { negated: true } => self.out.push_str("(?-u:\\B)"),
            Node::Look { .. } => self.exact = false,
            Node::BackReference {
                groups,
                ignore_case,
            } => {
                self.exact = false;
                self.reference(groups, *ignore_case);
            }
            Node::Repeat {
                min,
                max,
                greedy,
                body,
                ..
            } => self.repeat(*min, *max, *greedy, body)?,
        }
        Some(())
    }

    fn edge(&mut self, of_text: &str, of_line: &str) {
        self.out.push_str(if self.haystack == Haystack::Lines {
            of_line
        } else {
            of_text
        });
    }

    fn repeat(&mut self, min: u32, max: Option<u32>, greedy: bool, body: &Node) -> Option<()> {
        if max == Some(0) {
            return Some(());
        }
        let most = self.style.most_rounds;
        let clipped = max.filter(|max| *max <= most);
        self.exact &= min <= most && clipped == max;
        self.out.push_str("(?:");
        self.node(body)?;
        self.out.push(')');
        let min = min.min(most);
        let _ = match (min, clipped) {
            (0, None) => write!(self.out, "*"),
            (1, None) => write!(self.out, "+"),
            (min, None) => write!(self.out, "{{{min},}}"),
            (min, Some(max)) => write!(self.out, "{{{min},{max}}}"),
        };
        self.out.push_str(if greedy { "" } else { "?" });
        Some(())
    }

    /// Writes an alternation of the groups' bodies and the empty text.
    fn reference(&mut self, groups: &[u32], ignore_case: bool) {
        let start = self.out.len();
        let outer = self.style;
        self.style = Style {
            captures: false,
            copy: true,
            fold: outer.fold || ignore_case,
            ..outer
        };
        self.depth += 1;
        let written = if self.depth > MAX_REFERENCE_DEPTH {
            None
        } else {
            self.copies(start, groups)
        };
        self.depth -= 1;
        self.style = outer;
        if written.is_none() {
            self.out.truncate(start);
            self.class(&Class::any());
            self.out.push('*');
        }
    }

    fn copies(&mut self, start: usize, groups: &[u32]) -> Option<()> {
        self.out.push_str("(?:");
        for group in groups {
            self.node(body_of(self.root, *group)?)?;
            self.out.push('|');
            if self.out.len() - start > MAX_REFERENCE_BYTES {
                return None;
            }
        }
        self.out.push(')');
        Some(())
    }

    fn class(&mut self, class: &Class) {
        if self.haystack == Haystack::Lines && class.contains('\n') {
            self.ranges(&class.without('\n'));
        } else {
            self.ranges(class);
        }
    }

    fn ranges(&mut self, class: &Class) {
        if let Some(c) = class.only() {
            return self.character(c);
        }
        if class.ranges().is_empty() {
            return self.out.push_str("[^\\x{0}-\\x{10FFFF}]");
        }
        self.out.push('[');
        for &(first, last) in class.ranges() {
            self.character(first);
            if first != last {
                self.out.push('-');
                self.character(last);
            }
        }
        self.out.push(']');
    }

    fn character(&mut self, c: char) {
        if c.is_ascii_alphanumeric() {
            self.out.push(c);
        } else {
            let _ = write!(self.out, "\\x{{{:X}}}", u32::from(c));
        }
    }
}

/// Returns the body of a group, at any depth.
fn body_of(node: &Node, group: u32) -> Option<&Node> {
    match node {
        Node::Group { index, body } if *index == group => Some(body),
        Node::Group { body, .. } | Node::Look { body, .. } | Node::Repeat { body, .. } => {
            body_of(body, group)
        }
        Node::Concat(nodes) | Node::Alternation(nodes) => {
            nodes.iter().find_map(|node| body_of(node, group))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
