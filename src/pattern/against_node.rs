//! Node's answers compared with ours: those in `testdata/patterns` always, fresh ones to random
//! questions where Node is installed. `tests/patterns/oracle.mjs` asks, and says what an answer
//! means.

use replay_base::cancel::Bound;

use crate::limits::MAX_EXACT_ROUNDS;

use super::ast::{Node, Tree};
use super::error::PatternError;
use super::facts::Facts;
use super::lines::{Candidates, Exact, Finder};
use super::parse::parse;
use super::translate::{self, Haystack};
use super::{Budget, Options, Pattern};
use grep_searcher::{Searcher, sinks::Bytes};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use serde::Deserialize;
use std::collections::HashMap;

/// The span of a match and of its groups.
type Spans = Vec<Option<(usize, usize)>>;

/// One line of an oracle's output.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub p: String,
    /// Flag `i`: ignore case.
    pub i: bool,
    #[serde(default)]
    pub s: String,
    /// Expected error, if the pattern is refused.
    pub err: Option<String>,
    #[serde(default)]
    pub m: Vec<Spans>,
    #[serde(default)]
    pub lines: Vec<bool>,
}

impl Case {
    /// The numbers of the lines that match.
    fn numbers(&self) -> Vec<u64> {
        (1..)
            .zip(&self.lines)
            .filter(|(_, found)| **found)
            .map(|(number, _)| number)
            .collect()
    }
}

/// All cases, one to a line.
pub(super) fn cases(text: &str) -> Vec<Case> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

/// One pattern, compiled once for all its cases.
struct Compiled {
    pattern: Pattern,
    tree: Tree,
    facts: Facts,
    exact: Option<Regex>,
    superset: Option<Regex>,
    candidates: Candidates,
}

/// The linear engine as patterns are written for it.
fn regex(text: &str) -> Regex {
    Regex::builder()
        .syntax(syntax::Config::new().utf8(false))
        .build(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

impl Compiled {
    fn new(pattern: Pattern, tree: Tree) -> Self {
        let facts = Facts::of(&tree);
        let exact = facts
            .spans_exact()
            .then(|| translate::exact(&tree))
            .flatten();
        let superset = translate::approximation(&tree, Haystack::Text, MAX_EXACT_ROUNDS);
        Self {
            pattern,
            exact: exact.map(|text| regex(&text)),
            superset: superset.map(|found| regex(&found.text)),
            candidates: Candidates::new(&tree, facts),
            tree,
            facts,
        }
    }

    /// All that there is to compare for one text.
    fn check(&self, case: &Case) {
        self.check_parts(case);
        let expected: Vec<&Spans> = case
            .m
            .iter()
            .filter(|spans| !self.is_left_out(spans, &case.s))
            .collect();
        let found: Vec<Spans> = self
            .pattern
            .find_iter(&case.s, Bound::default())
            .map(|found| self.spans(found))
            .collect();
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            expected,
            "{case:?}\n{:?}",
            self.tree
        );
        let found: Vec<_> = self
            .pattern
            .spans_iter(&case.s, Bound::default())
            .map(|found| self.spans(found)[0])
            .collect();
        assert_eq!(
            found,
            expected.iter().map(|spans| spans[0]).collect::<Vec<_>>(),
            "{case:?}\n{:?}",
            self.tree
        );
        let budget = Budget::new(Bound::default());
        assert_eq!(
            lines(&self.pattern.finder(&budget), &case.s),
            case.numbers(),
            "{case:?}\n{:?}",
            self.tree
        );
    }

    fn spans(&self, found: Result<super::Match, PatternError>) -> Spans {
        let found = found.unwrap();
        (0..self.pattern.captures_len())
            .map(|group| found.group(group).map(|span| (span.start, span.end)))
            .collect()
    }

    /// An empty match of a `$` inside a CRLF.
    fn is_left_out(&self, spans: &Spans, text: &str) -> bool {
        let (start, end) = spans[0].unwrap();
        start == end
            && text[..start].ends_with('\r')
            && text[start..].starts_with('\n')
            && has_line_end(&self.tree.root)
    }

    /// The parts of which the engine is made.
    fn check_parts(&self, case: &Case) {
        let separators = case.s.contains(['\u{2028}', '\u{2029}']);
        if !(separators && self.facts.line_anchors) {
            if let Some(exact) = &self.exact {
                let mut expected = case.m.clone();
                let mut found = all_matches(exact, &case.s);
                if !self.facts.captures_exact() {
                    expected
                        .iter_mut()
                        .chain(&mut found)
                        .for_each(|spans| spans.truncate(1));
                }
                assert_eq!(found, expected, "{case:?}");
            }
            if let Some(superset) = &self.superset {
                for spans in &case.m {
                    let (start, _) = spans[0].unwrap();
                    let input = Input::new(&case.s).range(start..).anchored(Anchored::Yes);
                    assert!(
                        superset.is_match(input),
                        "no match at {start}: {case:?}\n{:?}",
                        self.tree
                    );
                }
            }
        }
        // Node is the exact matcher here, so that only the candidates are tested.
        let known: HashMap<&[u8], bool> = case
            .s
            .split_inclusive('\n')
            .map(str::as_bytes)
            .zip(case.lines.iter().copied())
            .collect();
        let exact = |line: &[u8], _: usize| Ok::<_, PatternError>(known[line].then_some(0..0));
        let finder = Finder::lines(&self.candidates, exact, Bound::default());
        assert_eq!(
            lines(&finder, &case.s),
            case.numbers(),
            "{case:?}\n{:?}",
            self.tree
        );
    }
}

/// The numbers of the lines that are found.
fn lines(finder: &Finder<'_, impl Exact>, text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let sink = Bytes(|number, _| {
        found.push(number);
        Ok(true)
    });
    Searcher::new()
        .search_slice(finder, text.as_bytes(), sink)
        .unwrap();
    assert_eq!(finder.failure(), None);
    found
}

fn has_line_end(node: &Node) -> bool {
    match node {
        Node::End { lines } => *lines,
        Node::Repeat { max: Some(0), .. } => false,
        Node::Concat(nodes) | Node::Alternation(nodes) => nodes.iter().any(has_line_end),
        Node::Group { body, .. } | Node::Look { body, .. } | Node::Repeat { body, .. } => {
            has_line_end(body)
        }
        _ => false,
    }
}

/// By the rule of JavaScript: an empty match may follow another match.
fn all_matches(regex: &Regex, text: &str) -> Vec<Spans> {
    let mut all = Vec::new();
    let mut from = 0;
    let mut captures = regex.create_captures();
    while from <= text.len() {
        regex.search_captures(&Input::new(text).range(from..), &mut captures);
        let Some(span) = captures.get_match() else {
            break;
        };
        if span.is_empty() && span.start() == text.len() && text.ends_with('\n') {
            break;
        }
        all.push(
            captures
                .iter()
                .map(|span| span.map(|span| (span.start, span.end)))
                .collect(),
        );
        let step = text[span.end()..].chars().next().map_or(1, char::len_utf8);
        from = if span.is_empty() {
            span.end() + step
        } else {
            span.end()
        };
    }
    all
}

fn check_all(cases: &[Case]) {
    for same in cases.chunk_by(|a, b| (&a.p, a.i) == (&b.p, b.i)) {
        let Case { p, i, err, .. } = &same[0];
        let reason = |error: PatternError| match error {
            PatternError::Syntax { reason, .. } => reason.to_owned(),
            other => other.to_string(),
        };
        let parsed = parse(
            p,
            Options {
                case_insensitive: *i,
            },
        )
        .map_err(reason);
        match (parsed, err) {
            (Ok(tree), None) => {
                let pattern = Pattern::new(
                    p,
                    Options {
                        case_insensitive: *i,
                    },
                )
                .unwrap();
                let compiled = Compiled::new(pattern, tree);
                for case in same {
                    compiled.check(case);
                }
            }
            (parsed, expected) => assert_eq!(parsed.err(), *expected, "{p}"),
        }
    }
}

#[test]
fn committed_node_answers_match() {
    check_all(&cases(include_str!(
        "../../testdata/patterns/answers.jsonl"
    )));
}

#[test]
fn random_patterns_agree_with_node() {
    if let Some(answers) = fresh_answers(400) {
        check_all(&cases(&answers));
    }
}

/// Answers to questions about so many random patterns; none if there is no Node that says where
/// groups matched. One that does not know ES2025 is not asked about modifiers.
///
/// `REPLAY_TEST_NODE` names another `node`, `REPLAY_TEST_SEED` another seed.
#[expect(
    clippy::disallowed_methods,
    reason = "a test may start a process and be told things by its environment"
)]
pub(super) fn fresh_answers(patterns: u32) -> Option<String> {
    use std::process::Command;
    let node = std::env::var("REPLAY_TEST_NODE").unwrap_or_else(|_| "node".to_owned());
    let seed = std::env::var("REPLAY_TEST_SEED").unwrap_or_else(|_| "1".to_owned());
    let usable = Command::new(&node)
        .args(["-e", "new RegExp('a', 'd')"])
        .output();
    if !usable.is_ok_and(|output| output.status.success()) {
        println!("skipped: `{node}` is missing, or older than 16");
        return None;
    }
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/patterns/oracle.mjs"
    );
    // Each question has its own limit in there; this is for all of them.
    let output = Command::new("timeout")
        .args(["60", &node, script, "fuzz", &seed, &patterns.to_string()])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}
