//! Properties of patterns: any pattern on any text gives the same result or error in every mode, in
//! bounded time.

use std::time::{Duration, Instant};

use grep_matcher::Matcher as _;
use replay_base::cancel::Bound;
use replay_pattern::{Budget, Match, Options, Pattern, Replacement};

use super::Source;

/// Pieces of patterns, some of them misleading.
const PIECES: [&str; 40] = [
    "a",
    "b",
    "ab",
    "\u{e9}",
    "\u{1f600}",
    ".",
    "\\w",
    "\\W",
    "\\s",
    "\\d",
    "[ab]",
    "[^a]",
    "[^]",
    "[]",
    "^",
    "$",
    "\\b",
    "\\B",
    "\\n",
    "\\r",
    "*",
    "+",
    "?",
    "??",
    "{2}",
    "{1,3}",
    "{,2}",
    "(",
    "(?:",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?<x>",
    ")",
    "|",
    "\\1",
    "\\k<x>",
    "(?i:",
    "\\u00e9",
];
const TEXTS: [&str; 10] = [
    "a",
    "b",
    "A",
    "\u{e9}",
    "\u{1f600}",
    "\n",
    "\r\n",
    " ",
    "\u{2028}",
    "ab",
];
/// Limit of matches, larger than a text of this size can have.
const MAX_MATCHES: usize = 2000;
/// Maximum time of one pattern: its step budget on a slow machine.
const MAX_TIME: Duration = Duration::from_mins(1);

fn text_of(source: &mut Source<'_>, pieces: &[&'static str], most: u8) -> String {
    let count = source.byte() % most;
    (0..count).map(|_| source.choice(pieces)).collect()
}

/// Checks that matches are ordered and equal with and without groups, that each is on its line, and
/// that replacing by `$&` changes nothing.
pub fn a_pattern_has_one_answer(bytes: &[u8]) {
    let mut source = Source(bytes);
    let options = Options {
        case_insensitive: source.flag(),
    };
    let pattern = text_of(&mut source, &PIECES, 16);
    let text = text_of(&mut source, &TEXTS, 24);
    let begun = Instant::now();
    let Ok(compiled) = Pattern::new(&pattern, options) else {
        return;
    };
    // A small budget, so that a costly pattern does not delay the others.
    let bound = Bound {
        deadline: Some(begun + Duration::from_secs(1)),
        cancel: None,
    };
    let found: Result<Vec<Match>, _> = compiled.find_iter(&text, bound).take(MAX_MATCHES).collect();
    let spans: Result<Vec<Match>, _> = compiled
        .spans_iter(&text, bound)
        .take(MAX_MATCHES)
        .collect();
    if let (Ok(found), Ok(spans)) = (&found, &spans) {
        let ranges = |all: &[Match]| all.iter().map(Match::range).collect::<Vec<_>>();
        assert_eq!(ranges(found), ranges(spans), "`{pattern}` on {text:?}");
        check_matches(&pattern, &text, found);
        let same = Replacement::parse("$&", &compiled).unwrap();
        let (mut out, mut at) = (String::new(), 0);
        for one in found {
            out.push_str(&text[at..one.range().start]);
            same.expand(one, &text, &mut out);
            at = one.range().end;
        }
        assert_eq!(out + &text[at..], text, "`{pattern}`");
    }
    check_byte_search(&compiled, &mut source, bound);
    assert!(begun.elapsed() < MAX_TIME, "`{pattern}` on {text:?}");
}

fn check_matches(pattern: &str, text: &str, found: &[Match]) {
    let mut last = None;
    for one in found {
        let range = one.range();
        assert!(
            last.is_none_or(|last| range.start >= last),
            "`{pattern}` on {text:?}"
        );
        assert!(text.get(range.clone()).is_some(), "`{pattern}` on {text:?}");
        // An empty match advances by a character.
        last = Some(range.end + usize::from(range.is_empty()));
    }
}

/// Searches a text that need not be UTF-8. Matches never lie outside it.
fn check_byte_search(pattern: &Pattern, source: &mut Source<'_>, bound: Bound<'_>) {
    let budget = Budget::new(bound);
    let text = source.bytes();
    if let Ok(Some(found)) = pattern.text_finder(text, &budget).find_at(text, 0) {
        assert!(found.start() <= found.end() && found.end() <= text.len());
    }
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let finder = pattern.finder(&budget);
        let exact = finder.find_at(line, 0);
        let candidate = finder.find_candidate_line(line);
        if let (Ok(Some(_)), Ok(candidate)) = (exact, candidate) {
            assert!(
                candidate.is_some(),
                "a line that matches is no candidate: {line:?}"
            );
        }
    }
}
