use replay_base::cancel::{Bound, CancelToken};

use super::*;
use crate::engine::Engine;
use crate::matches::MatchDetail;
use crate::parse::parse;
use crate::{Match, Options};
use proptest::prelude::*;

/// The whole match and the groups of the first match.
type Spans = Vec<Option<Range<usize>>>;

fn engine(source: &str) -> Engine {
    let tree =
        parse(source, Options::default()).unwrap_or_else(|error| panic!("{source}: {error}"));
    Engine::new(tree).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn by_matcher(engine: &Engine, text: &[u8], steps: u64) -> Result<Option<Spans>, PatternError> {
    let budget = Budget::with_steps(steps, Bound::default());
    let search = Search {
        program: engine.program(),
        starts: None,
        budget: &budget,
        allowance: 0,
    };
    search.first(text, 0, |slots| {
        [Some(slots.range.clone())]
            .into_iter()
            .chain(slots.groups())
            .collect()
    })
}

fn find_spans(source: &str, text: &[u8]) -> Option<Spans> {
    by_matcher(&engine(source), text, 1_000_000).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn span(source: &str, text: &[u8]) -> Option<Range<usize>> {
    find_spans(source, text).and_then(|spans| spans[0].clone())
}

#[test]
fn captures_follow_javascript() {
    let none = None::<Range<usize>>;
    for (source, text, expected) in [
        ("(?:(a)|b)*", "ab", vec![Some(0..2), none.clone()]),
        ("(a*)*", "b", vec![Some(0..0), none.clone()]),
        (
            "(z)((a+)?(b+)?(c))*",
            "zaacbbbcac",
            vec![
                Some(0..10),
                Some(0..1),
                Some(8..10),
                Some(8..9),
                none.clone(),
                Some(9..10),
            ],
        ),
        (
            "(?<=(\\d+)(\\d+))$",
            "1053",
            vec![Some(4..4), Some(0..1), Some(1..4)],
        ),
        ("(?!(a)b)a", "ac", vec![Some(0..1), none.clone()]),
        ("(?=(a+))a*b\\1", "baaabac", vec![Some(3..6), Some(3..4)]),
        ("(\\2)(a)", "a", vec![Some(0..1), Some(0..0), Some(0..1)]),
        ("(a\\1)", "aa", vec![Some(0..1), Some(0..1)]),
        (
            "(?:(?<x>a)|(?<x>b))\\k<x>",
            "abb",
            vec![Some(1..3), none.clone(), Some(1..2)],
        ),
        ("(?:|a)+", "aaa", vec![Some(0..3)]),
        ("(?:(?:(?:ab)+)+)+a", "ababa", vec![Some(0..5)]),
        ("(?:a|(b)){2,3}?c", "abac", vec![Some(0..4), none]),
    ] {
        assert_eq!(
            find_spans(source, text.as_bytes()),
            Some(expected),
            "{source}"
        );
    }
}

#[test]
fn invalid_byte_matches_as_replacement_character() {
    for (source, text, expected) in [
        ("a.b", &b"a\xFFb"[..], Some(0..3)),
        ("[^x]+", b"x\xC3\xE2\x82x", Some(1..4)),
        ("\\uFFFD", b"a\x80", Some(1..2)),
        ("\\uFFFD", "\u{FFFD}".as_bytes(), Some(0..3)),
        ("(?<=.)b", b"\xF0\x9F\x98b", Some(3..4)),
        ("é", b"\xC3a\xC3\xA9", Some(2..4)),
        ("\\w+", b"\xFFab\xFF", Some(1..3)),
        ("\\Bb", b"\xFFb", None),
    ] {
        assert_eq!(span(source, text), expected, "{source}");
    }
}

#[test]
fn attempt_inside_failed_run_is_made_if_needed() {
    for (source, text, expected) in [
        ("(\\w+) \\1\\b", "abc bc", Some(1..6)),
        ("(?<=a)\\w+;", "bab;", Some(2..4)),
        ("\\w+(?<=ab)c", "xabc", Some(0..4)),
        ("\\w{3,}x=", "ab abcx=", Some(3..8)),
        ("\\b\\w+=", "ab cd=", Some(3..6)),
        ("\\w+?b=", "aab ab=", Some(4..7)),
    ] {
        assert_eq!(span(source, text.as_bytes()), expected, "{source}");
    }
}

/// Patterns whose cost grows quickly with the text, and what the text ends with to make them fail
/// late.
const COSTLY: [(&str, char, char); 16] = [
    ("(a+)+$", 'a', '!'),
    ("(a|aa)+$", 'a', '!'),
    ("(.*)*x", 'a', 'a'),
    ("(?=(a+))a*b\\1", 'a', 'b'),
    ("(?:(?=a+$)a)+b", 'a', 'b'),
    ("(?=(?=(?=a*b)a*)a*)a", 'a', 'a'),
    ("^(?:(a+)+)\\1$", 'a', '!'),
    ("\\s+$", ' ', 'x'),
    (".*.*=.*", 'a', 'a'),
    ("(?:a|b)*c", 'a', 'a'),
    ("(a?){100}a{100}b", 'a', 'a'),
    ("([a-z]+)*\\d\\1", 'a', '1'),
    ("(?<=(a+)+)b", 'a', 'b'),
    ("(.{100}){100}", 'a', 'a'),
    ("(?<!.*b.*)a(?!.)", 'a', 'a'),
    ("(?:.*a){12}(?<!a)", 'a', 'a'),
];

#[test]
fn every_pattern_ends_within_step_budget() {
    const STEPS: u64 = 200_000;
    for (source, filling, last) in COSTLY {
        for length in [50_000, 1_000_000] {
            let text: String = std::iter::repeat_n(filling, length).chain([last]).collect();
            let budget = Budget::with_steps(STEPS, Bound::default());
            let outcome = engine(source).find(&text, 0, MatchDetail::Groups, true, &budget);
            let spent = STEPS - budget.steps_left();
            match outcome {
                Err(error) => {
                    assert_eq!((error, spent), (PatternError::TooCostly, STEPS), "{source}");
                }
                Ok(_) => assert!(spent <= STEPS, "{source}"),
            }
        }
    }
}

#[test]
fn cancelled_call_ends_inside_line() {
    let token = CancelToken::new();
    token.cancel();
    let budget = Budget::with_steps(
        u64::MAX,
        Bound {
            deadline: None,
            cancel: Some(&token),
        },
    );
    let text = format!("{}!", "a".repeat(10_000));
    let costly = engine("(?:a+)+$");
    let search = Search {
        program: costly.program(),
        starts: None,
        budget: &budget,
        allowance: text.len(),
    };
    assert_eq!(
        search.first(text.as_bytes(), 0, |_| ()),
        Err(PatternError::TooCostly)
    );
}

#[test]
fn threads_share_one_budget() {
    let budget = Budget::with_steps(1_000_000, Bound::default());
    let costly = engine("(?:a|aa)*b");
    let text = "a".repeat(100);
    let search = || Search {
        program: costly.program(),
        starts: None,
        budget: &budget,
        allowance: 0,
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| search().first(text.as_bytes(), 0, |_| ())))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(
        (outcomes, budget.steps_left()),
        (vec![Err(PatternError::TooCostly); 3], 0)
    );
}

/// Patterns of a few parts, lookarounds and references among them.
fn sources() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a", "b", "ab", ".", "[^a]", "\\w", "\\W", "\\s", "^", "$", "\\b", "\\B", "é", "\\n",
        "[ab]", "",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let quantifier = prop::sample::select(vec!["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?"]);
        let look = prop::sample::select(vec!["(?=", "(?!", "(?<=", "(?<!"]);
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.concat()),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            2 => inner.clone().prop_map(|body| format!("({body})")),
            2 => (inner.clone(), quantifier).prop_map(|(body, sign)| format!("(?:{body}){sign}")),
            1 => (look, inner.clone()).prop_map(|(open, body)| format!("{open}{body})")),
            1 => inner.prop_map(|body| format!("({body})(?:\\1)")),
        ]
    })
}

fn spans_of(found: &Match, groups: usize) -> Spans {
    (0..=groups).map(|number| found.group(number)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn all_engines_find_same_matches(source in sources(), text in "[abé \\n\\r]{0,10}") {
        let engine = engine(&source);
        let expected = by_matcher(&engine, text.as_bytes(), 1_000_000);
        prop_assume!(expected.is_ok());
        let budget = Budget::with_steps(10_000_000, Bound::default());
        // With whatever helps: the exact translation, or the approximate one, which must not skip a
        // match.
        let groups = engine.tree().groups as usize;
        let whole = engine.find(&text, 0, MatchDetail::Groups, true, &budget);
        prop_assert_eq!(whole.map(|found| found.map(|found| spans_of(&found, groups))), expected.clone());
        let span = engine.find(&text, 0, MatchDetail::Span, true, &budget);
        prop_assert_eq!(span.map(|found| found.map(|found| Some(found.range()))), expected.map(|found| found.map(|spans| spans[0].clone())));
    }
}
