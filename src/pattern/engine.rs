//! Compiled pattern, and the choice of the engine for each question.

use replay_base::limits::MAX_PATTERN_PROGRAM_BYTES;

use crate::limits::MAX_EXACT_ROUNDS;

use super::PatternError;
use super::ast::Tree;
use super::budget::Budget;
use super::compile::compile;
use super::facts::Facts;
use super::lines::{Candidates, within_lines};
use super::matcher::{Search, Slots};
use super::matches::{Match, MatchDetail};
use super::program::{Op, Program, Skip};
use super::translate::{Haystack, approximation, exact};
use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;
use regex_automata::{Input, PatternID};
use std::ops::Range;
use std::sync::OnceLock;

/// Everything that searches need to know about a pattern. The parts that not all of them use are
/// made when first used.
#[derive(Debug)]
pub(super) struct Engine {
    tree: Tree,
    facts: Facts,
    program: Program,
    /// The linear engine for whole texts, if it means the same.
    linear: OnceLock<Option<Regex>>,
    /// The linear engine for a pattern that matches whatever this one does, if that is worth it.
    approximate: OnceLock<Option<Regex>>,
    candidates: OnceLock<Candidates>,
    /// The program for single lines.
    line_program: OnceLock<Result<Program, PatternError>>,
}

impl Engine {
    /// The error is [`PatternError::TooLarge`].
    pub(super) fn new(tree: Tree) -> Result<Self, PatternError> {
        Ok(Self {
            facts: Facts::of(&tree),
            program: compile(&tree)?,
            tree,
            linear: OnceLock::new(),
            approximate: OnceLock::new(),
            candidates: OnceLock::new(),
            line_program: OnceLock::new(),
        })
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    #[cfg(test)]
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Returns true if U+2028 and U+2029 in a text decide the choice of the engine.
    pub(super) fn knows_separators(&self) -> bool {
        self.facts.line_anchors
    }

    /// Returns true if the program has a `$` with the flag `m`.
    pub(super) fn has_line_end(&self) -> bool {
        self.program.ops.contains(&Op::End { lines: true })
    }

    /// Returns the prefilter for lines that may match.
    pub(super) fn candidates(&self) -> &Candidates {
        self.candidates
            .get_or_init(|| Candidates::new(&self.tree, self.facts))
    }

    /// The first match at or after `from`. `plain` says that the text has no U+2028 or U+2029 that
    /// matters.
    pub(super) fn find(
        &self,
        text: &str,
        from: usize,
        want: MatchDetail,
        plain: bool,
        budget: &Budget<'_>,
    ) -> Result<Option<Match>, PatternError> {
        let linear = if plain { self.linear() } else { None };
        let spans_only = want == MatchDetail::Span || self.tree.groups == 0;
        if let Some(linear) = linear {
            let input = Input::new(text).range(from..);
            if spans_only {
                return Ok(linear
                    .find(input)
                    .map(|found| Match::new(found.range(), Vec::new())));
            }
            if self.facts.captures_exact() {
                return Ok(captures(linear, &input));
            }
        }
        let starts = linear.or_else(|| self.approximate().filter(|_| plain));
        let search = Search {
            program: &self.program,
            starts,
            budget,
            allowance: 0,
        };
        search.first(text.as_bytes(), from, |slots| to_match(&slots, spans_only))
    }

    /// The span of the first match at or after `from` in a text that need not be UTF-8, by the
    /// matcher alone.
    pub(super) fn find_in_text(&self, text: &[u8], from: usize, budget: &Budget<'_>) -> FindResult {
        find_span(&self.program, text, from, budget)
    }

    /// Like [`Self::find_in_text`] for one line. Its final `\n`, if any, never matches.
    pub(super) fn find_in_line(&self, line: &[u8], from: usize, budget: &Budget<'_>) -> FindResult {
        match self
            .line_program
            .get_or_init(|| compile(&within_lines(&self.tree)))
        {
            Ok(program) => find_span(program, line, from, budget),
            Err(error) => Err(error.clone()),
        }
    }

    fn linear(&self) -> Option<&Regex> {
        let build = || {
            let wanted = self
                .facts
                .spans_exact()
                .then(|| exact(&self.tree))
                .flatten()?;
            let captures = if self.facts.captures_exact() {
                WhichCaptures::All
            } else {
                WhichCaptures::Implicit
            };
            regex(&wanted, captures)
        };
        self.linear.get_or_init(build).as_ref()
    }

    fn approximate(&self) -> Option<&Regex> {
        let build = || {
            if matches!(self.program.skip, Skip::Literal(_)) {
                return None;
            }
            let wanted = approximation(&self.tree, Haystack::Text, MAX_EXACT_ROUNDS)?;
            regex(&wanted.text, WhichCaptures::Implicit)
        };
        self.approximate.get_or_init(build).as_ref()
    }
}

/// Range of the first match, if any.
pub(super) type FindResult = Result<Option<Range<usize>>, PatternError>;

fn find_span(program: &Program, text: &[u8], from: usize, budget: &Budget<'_>) -> FindResult {
    // The first search of a text pays for those that follow.
    let allowance = if from == 0 { text.len() } else { 0 };
    let search = Search {
        program,
        starts: None,
        budget,
        allowance,
    };
    search.first(text, from, |slots| slots.range)
}

fn regex(source: &str, captures: WhichCaptures) -> Option<Regex> {
    let config = Regex::config()
        .which_captures(captures)
        .utf8_empty(true)
        .nfa_size_limit(Some(MAX_PATTERN_PROGRAM_BYTES))
        .dfa_size_limit(Some(MAX_PATTERN_PROGRAM_BYTES));
    // `\B` may stand between the bytes of a character, as far as the parser knows.
    let syntax = syntax::Config::new().utf8(false);
    Regex::builder()
        .configure(config)
        .syntax(syntax)
        .build(source)
        .ok()
}

fn captures(regex: &Regex, input: &Input<'_>) -> Option<Match> {
    let mut captures = regex.create_captures();
    regex.search_captures(input, &mut captures);
    let groups = captures.group_info().group_len(PatternID::ZERO);
    let group = |number| captures.get_group(number).map(|span| span.range());
    Some(Match::new(
        captures.get_match()?.range(),
        (1..groups).map(group).collect(),
    ))
}

fn to_match(slots: &Slots<'_>, spans_only: bool) -> Match {
    let groups = if spans_only {
        Vec::new()
    } else {
        slots.groups().collect()
    };
    Match::new(slots.range.clone(), groups)
}
