//! Patterns in JavaScript's syntax, and replacement texts.
//!
//! There is one constructor and one error type, and no other module knows the engine. `^` and `$`
//! match at every line boundary; `.` matches no line ending. A pattern means what it means in
//! JavaScript (ECMA-262, 22.2, without the flag `u`), with these exceptions:
//!
//! - `^` never matches between `\r` and `\n`, where it would take the gap of every CRLF for a line.
//! - Characters are whole code points.
//! - Empty matches behind the final line feed are left out. If the pattern has a `$`, so are empty
//!   matches inside a CRLF.
//!
//! | file | purpose |
//! | --- | --- |
//! | `parse`, `ast`, `class`, `fold` | source to syntax tree |
//! | `slips` | hints about syntax of other languages |
//! | `facts` | facts about a tree |
//! | `translate` | tree to a pattern for the linear engine, exact or approximate |
//! | `compile`, `program`, `ahead` | tree to a program for the matcher |
//! | `matcher`, `text`, `budget` | backtracking within a budget |
//! | `engine` | choice between the linear engine and the matcher |
//! | `literal` | literal text in any case, as a tree |
//! | `matches`, `lines`, `replacement` | all matches of a text, lines for `grep-searcher`, replacements |
#![forbid(unsafe_code)]

mod ahead;
mod ast;
mod budget;
mod class;
mod compile;
mod engine;
mod error;
mod facts;
mod fold;
mod limits;
mod lines;
mod literal;
mod matcher;
mod matches;
mod parse;
mod program;
mod replacement;
mod slips;
mod text;
mod translate;

pub use budget::Budget;
pub use error::PatternError;
pub use lines::{Exact, Finder};
pub use matches::{Match, Matches};
pub use replacement::{Replacement, ReplacementError};
pub use slips::{replacement_slip, slip};

use ast::Tree;
use engine::Engine;
use limits::MAX_PATTERN_BYTES;
use matches::MatchDetail;
use replay_base::cancel::Bound;
use std::sync::Arc;

/// Flags of a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Upper and lower case are the same.
    pub case_insensitive: bool,
}

/// A compiled pattern; cheap to clone.
#[derive(Debug, Clone)]
pub struct Pattern {
    engine: Arc<Engine>,
    key: Arc<str>,
}

impl Pattern {
    /// Compiles JavaScript syntax, the text between the slashes.
    pub fn new(source: &str, options: Options) -> Result<Self, PatternError> {
        let engine = Arc::new(Engine::new(parse::parse(source, options)?)?);
        let key = format!(
            "{}/{source}",
            if options.case_insensitive { "i" } else { "" }
        );
        Ok(Self {
            engine,
            key: key.into(),
        })
    }

    /// A pattern that matches `text` itself in upper, lower or mixed case (Unicode simple case
    /// folding).
    pub fn literal_ignoring_case(text: &str) -> Result<Self, PatternError> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::TooLong { bytes: text.len() });
        }
        let tree = Tree {
            root: literal::ignoring_case(text),
            groups: 0,
            names: Vec::new(),
        };
        Ok(Self {
            engine: Arc::new(Engine::new(tree)?),
            key: format!("literal/{text}").into(),
        })
    }

    /// Returns a pattern of the `regex` crate that matches every text that this pattern matches, or
    /// every line unless `over_lines`. It needs no flags from outside. Bytes that are not UTF-8
    /// count as U+FFFD. `None` if the result would be too long.
    pub fn over_approximation(&self, over_lines: bool) -> Option<String> {
        let haystack = if over_lines {
            translate::Haystack::Text
        } else {
            translate::Haystack::Lines
        };
        translate::approximation(self.engine.tree(), haystack, lines::FEW_ROUNDS)
            .map(|found| found.text)
    }

    /// Returns a key that differs between patterns with different meanings.
    pub fn key(&self) -> &str {
        &self.key
    }

    fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The number of groups, the whole match included: at least 1.
    pub fn captures_len(&self) -> usize {
        self.engine.tree().groups as usize + 1
    }

    /// The numbers of the groups with this name: none, one or, in different alternatives, more.
    pub fn groups_named(&self, name: &str) -> impl Iterator<Item = usize> {
        let named = self
            .engine
            .tree()
            .names
            .iter()
            .filter(move |(known, _)| **known == *name);
        named.map(|(_, number)| *number as usize)
    }

    /// The first match at or after byte `from`, which must be a character boundary.
    pub fn find_at(&self, text: &str, from: usize) -> Result<Option<Match>, PatternError> {
        let plain = !(self.engine.knows_separators() && matches::has_separators(text));
        self.engine.find(
            text,
            from,
            MatchDetail::Groups,
            plain,
            &Budget::for_text(text.len(), Bound::default()),
        )
    }

    /// All matches with their groups, in the order and by the rule of JavaScript's `matchAll`: an
    /// empty match may follow right behind another match.
    ///
    /// The item is an error when the engine's budget or the `bound` ran out; nothing follows an
    /// error.
    pub fn find_iter<'a>(&'a self, text: &'a str, bound: Bound<'a>) -> Matches<'a> {
        Matches::new(
            self,
            text,
            MatchDetail::Groups,
            Budget::for_text(text.len(), bound),
        )
    }

    /// The same matches without their groups, which are often found faster.
    pub fn spans_iter<'a>(&'a self, text: &'a str, bound: Bound<'a>) -> Matches<'a> {
        Matches::new(
            self,
            text,
            MatchDetail::Span,
            Budget::for_text(text.len(), bound),
        )
    }

    /// Returns the matcher for a line search with `grep_searcher::Searcher`. It never matches a
    /// `\n`.
    pub fn finder<'a>(&'a self, budget: &'a Budget<'a>) -> Finder<'a, impl Exact> {
        let exact = move |line: &[u8], from: usize| self.engine.find_in_line(line, from, budget);
        Finder::lines(self.engine.candidates(), exact, budget.bound())
    }

    /// The same for matches that may go over lines of `text`; the searcher must be set to
    /// `multi_line(true)` and be given it as one slice.
    pub fn text_finder<'a>(
        &'a self,
        text: &'a [u8],
        budget: &'a Budget<'a>,
    ) -> Finder<'a, impl Exact> {
        let exact = move |text: &[u8], from: usize| self.engine.find_in_text(text, from, budget);
        Finder::texts(text, exact, budget.bound())
    }
}

#[cfg(test)]
mod against_node;
#[cfg(test)]
mod tests;
