//! The tree of a parsed pattern: what the parser makes and everything else reads.
//!
//! Matching is by code points. Flags are gone: case is folded into the classes, `.` is a class, and
//! each anchor knows whether it stands for a line or for the whole text.

pub(crate) use super::class::Class;

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    pub root: Node,
    /// Number of capture groups, without the whole match (number 0).
    pub groups: u32,
    /// Named groups in the order of their opening parentheses. A name may come twice, in different
    /// alternatives.
    pub names: Vec<(Box<str>, u32)>,
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// Matches the empty text.
    Empty,
    /// One character, which has no other case that counts.
    Char(char),
    /// One character of a set.
    Class(Class),
    /// One after the other; at least two.
    Concat(Vec<Node>),
    /// The first that leads to a match; at least two.
    Alternation(Vec<Node>),
    /// A capture group, counted from 1 by its opening parenthesis.
    Group { index: u32, body: Box<Node> },
    /// `^`: the beginning of the text or, with `lines`, of a line.
    Start {
        /// The flag `m`, which is set unless `(?-m:...)` takes it away.
        lines: bool,
    },
    /// `$`: the end of the text or, with `lines`, of a line.
    End {
        /// See [`Node::Start`].
        lines: bool,
    },
    /// `\b`, or `\B` if negated. Word characters are ASCII letters, digits and `_`.
    WordBoundary {
        /// `\B`.
        negated: bool,
    },
    /// A reference to what a group matched; a group that took no part matches the empty text.
    BackReference {
        /// More than one for a name that several groups share: the one that took part counts.
        groups: Vec<u32>,
        /// Characters are compared by [`super::fold::canonical`].
        ignore_case: bool,
    },
    Look {
        /// To the left, matched from right to left.
        behind: bool,
        /// Must not match.
        negated: bool,
        /// Body of the lookaround.
        body: Box<Node>,
    },
    Repeat {
        min: u32,
        /// Most times; `None` for no limit.
        max: Option<u32>,
        /// `true` for greedy, `false` for lazy.
        greedy: bool,
        body: Box<Node>,
        /// The capture groups inside `body`, which each round begins by unsetting. Half open.
        groups: Range<u32>,
    },
}
