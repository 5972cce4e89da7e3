//! The program that a tree is compiled to: instructions for [`super::matcher`], and the sets they
//! ask.

use super::ast::Class;
use memchr::memmem;

/// A number of rounds that has no limit.
pub(super) const NO_LIMIT: u32 = u32::MAX;

/// One instruction. Numbers of instructions are indices of [`Program::ops`]; after each instruction
/// comes the next, unless it says otherwise. `back` reads to the left of the position, as a
/// lookbehind does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// These bytes of [`Program::literals`].
    Literal { at: u32, len: u32, back: bool },
    /// One character of a set.
    Class { set: u32, back: bool },
    /// Greedy or lazy run of characters of a set.
    Run(Run),
    /// Goes on at `first`, and at `second` if that leads to nothing.
    Split { first: u32, second: u32 },
    /// Goes on at `to`.
    Jump { to: u32 },
    /// Stores the position in a slot: 2n for the beginning of group n, 2n+1 for its end.
    Save { slot: u32 },
    /// Unsets the slots `first..end`.
    Unset { first: u32, end: u32 },
    /// `^`.
    Start { lines: bool },
    /// `$`.
    End { lines: bool },
    /// `\b`, or `\B` if negated.
    Word { negated: bool },
    /// A back-reference to one of `len` groups, listed from `at` in [`Program::references`].
    Reference {
        at: u32,
        len: u32,
        ignore_case: bool,
        back: bool,
    },
    /// A lookaround whose body is what follows, up to its [`Op::Accept`]; goes on at `end`.
    Look { negated: bool, end: u32 },
    /// A lookaround for one character of a set.
    LookClass { set: u32, negated: bool, back: bool },
    /// A lookaround for these bytes of [`Program::literals`].
    LookLiteral {
        at: u32,
        len: u32,
        negated: bool,
        back: bool,
    },
    /// Sets the counter of a loop to 0.
    Zero { register: u32 },
    /// Decides whether a loop takes another round, which begins behind this, or goes on at `exit`.
    Count {
        register: u32,
        min: u32,
        max: u32,
        greedy: bool,
        exit: u32,
    },
    /// Counts a round, and notes in the next register where it begins.
    Enter { register: u32 },
    /// Ends a round: goes on at `top`, but fails if the round was an optional one and matched the
    /// empty text.
    Again { register: u32, min: u32, top: u32 },
    /// Notes where a round begins.
    Mark { register: u32 },
    /// Fails if the round that began at the mark matched the empty text.
    Progress { register: u32 },
    /// The end of the program or of a lookaround.
    Accept,
}

/// A repetition of one character of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) set: u32,
    pub(super) min: u32,
    /// Most characters, or [`NO_LIMIT`].
    pub(super) max: u32,
    /// `true` for greedy, `false` for lazy.
    pub(super) greedy: bool,
    pub(super) back: bool,
    /// `true` for a possessive run: the rest cannot begin with a character of the set, so giving
    /// characters back is useless.
    pub(super) possessive: bool,
    /// Index in [`Program::ahead`] of the bytes that can follow; [`NO_LIMIT`] if unknown.
    pub(super) ahead: u32,
}

/// Lookahead set of a position: the possible bytes, and a flag for the end of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ahead {
    /// Indexed by byte. True for all bytes that are not ASCII if any character that is not can
    /// stand there.
    pub(super) bytes: [bool; 256],
    /// The end of the text.
    pub(super) end: bool,
}

impl Ahead {
    /// Returns true if the set contains the byte at `at`, or the end of the text if `at` is there.
    #[inline]
    pub(super) fn admits(&self, text: &[u8], at: usize) -> bool {
        text.get(at)
            .map_or(self.end, |&byte| self.bytes[usize::from(byte)])
    }
}

/// A set of characters that is fast for ASCII.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CharSet {
    /// For each byte: [`OUT`], [`IN`], or [`DECODE`] for the bytes of other characters.
    pub(super) bytes: [u8; 256],
    ranges: Box<[(char, char)]>,
}

/// An ASCII character that is not in the set.
pub(super) const OUT: u8 = 0;
/// An ASCII character that is.
pub(super) const IN: u8 = 1;
/// A byte of a character that is not ASCII.
pub(super) const DECODE: u8 = 2;

impl CharSet {
    pub(super) fn new(class: &Class) -> Self {
        let ranges: Box<[_]> = class.ranges().into();
        let mut bytes = [OUT; 256];
        bytes[128..].fill(DECODE);
        for &(first, last) in &ranges {
            for c in (u32::from(first)..=u32::from(last)).take_while(|c| *c < 128) {
                bytes[c as usize] = IN;
            }
        }
        Self { bytes, ranges }
    }

    /// The ranges, both ends included, in order.
    pub(super) fn ranges(&self) -> &[(char, char)] {
        &self.ranges
    }

    /// Returns true if the set contains the character.
    #[inline]
    pub(super) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            self.bytes[c as usize] == IN
        } else {
            self.contains_wide(c)
        }
    }

    fn contains_wide(&self, c: char) -> bool {
        let at = self.ranges.partition_point(|(_, last)| *last < c);
        self.ranges.get(at).is_some_and(|(first, _)| *first <= c)
    }

    /// Bytes of memory, to hold programs to their limit.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.ranges)
    }
}

/// Positions at which an attempt can be left out.
#[derive(Debug, Clone)]
pub(super) enum Skip {
    /// None.
    Nothing,
    /// All where this text does not begin.
    Literal(Box<memmem::Finder<'static>>),
    /// All where none of these bytes stands.
    Ahead(Box<Ahead>),
    /// All that are not the beginning of a line.
    LineStart,
}

#[derive(Debug, Clone)]
pub(super) struct Program {
    /// The instructions; the first is where an attempt begins.
    pub(super) ops: Vec<Op>,
    /// The sets of the pattern.
    pub(super) sets: Vec<CharSet>,
    /// The bytes of all literals, one after another.
    pub(super) literals: Vec<u8>,
    /// The groups of all back-references.
    pub(super) references: Vec<u32>,
    /// Lookahead sets of the runs.
    pub(super) ahead: Vec<Ahead>,
    /// Number of slots: two for the whole match and two for each group.
    pub(super) slots: usize,
    /// Number of loop registers.
    pub(super) registers: usize,
    pub(super) skip: Skip,
    /// The run without an upper limit that every attempt begins with, if there is one.
    pub(super) lead: Option<u32>,
}
