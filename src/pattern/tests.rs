use replay_base::cancel::CancelToken;

use super::*;
use proptest::prelude::*;

fn pattern(source: &str) -> Pattern {
    Pattern::new(source, Options::default()).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn spans(source: &str, text: &str) -> Vec<(usize, usize)> {
    let pattern = pattern(source);
    pattern
        .find_iter(text, Bound::default())
        .map(|found| found.expect("within the budget").range())
        .map(|range| (range.start, range.end))
        .collect()
}

fn replaced(source: &str, new: &str, text: &str) -> String {
    let pattern = pattern(source);
    let new = Replacement::parse(new, &pattern).expect("a good replacement");
    let (mut out, mut at) = (String::new(), 0);
    for found in pattern.find_iter(text, Bound::default()) {
        let found = found.expect("within the budget");
        out.push_str(&text[at..found.range().start]);
        new.expand(&found, text, &mut out);
        at = found.range().end;
    }
    out + &text[at..]
}

#[test]
fn failed_back_reference_keeps_later_starts() {
    // The leading run is come to again behind the reference.
    assert_eq!(spans(r"((?:[^a]+)+?-)-\1", "  -- -"), [(1, 6)]);
}

#[test]
fn empty_matches_follow_javascript() {
    assert_eq!(spans("a*", "ab"), [(0, 1), (1, 1), (2, 2)]);
    assert_eq!(spans("", "é"), [(0, 0), (2, 2)]);
    assert_eq!(spans("^", "a\nb\n"), [(0, 0), (2, 2)]);
    assert_eq!(spans("^(.*)$", "a\n\nb\n"), [(0, 1), (2, 2), (3, 4)]);
    assert_eq!(spans("$", ""), [(0, 0)]);
}

#[test]
fn anchors_and_dot_respect_line_endings() {
    assert_eq!(spans("^.*$", "a\r\nb"), [(0, 1), (3, 4)]);
    assert_eq!(spans("a$", "a\r\na"), [(0, 1), (3, 4)]);
    assert_eq!(spans("\\r$", "a\r\n"), [(1, 2)]);
    assert_eq!(spans("\\r?$", "a\r\nb"), [(1, 2), (4, 4)]);
    assert_eq!(spans("$", "a\r\nb"), [(1, 1), (4, 4)]);
    assert_eq!(spans("\\s+$", "a \r\nb\t"), [(1, 3), (5, 6)]);
}

#[test]
fn javascript_syntax_overrides_engine_syntax() {
    for (source, text, expected) in [
        ("\\d", "٣3", vec![(2, 3)]),
        ("[\\d]+", "٣34", vec![(2, 4)]),
        ("[^\\d]", "3a", vec![(1, 2)]),
        ("\\/", "a/b", vec![(1, 2)]),
        ("[^]", "\n", vec![(0, 1)]),
        ("[]", "a", vec![]),
        ("[[]", "[", vec![(0, 1)]),
        ("[a&&b]+", "a&b", vec![(0, 3)]),
        ("a{", "a{", vec![(0, 2)]),
        ("{}", "{}", vec![(0, 2)]),
        ("a{2}", "aaa", vec![(0, 2)]),
        ("x]", "x]", vec![(0, 2)]),
        ("\\<b\\>", "<b>", vec![(0, 3)]),
        ("\\Ab", "Ab", vec![(0, 2)]),
        ("\\u00e9\\x41", "éA", vec![(0, 3)]),
        ("\\u12", "u12", vec![(0, 3)]),
        ("\\x", "x", vec![(0, 1)]),
        ("[\\b]", "\u{8}", vec![(0, 1)]),
        ("(?<q>['\"])\\w\\k<q>", "'a\" 'a'", vec![(4, 7)]),
        ("(?<=a)b(?!c)", "abcab", vec![(4, 5)]),
        ("a\\-b#c d", "a-b#c d", vec![(0, 7)]),
    ] {
        assert_eq!(spans(source, text), expected, "{source}");
    }
}

#[test]
fn pattern_faults_have_offset() {
    let refusal = |source: &str| {
        Pattern::new(source, Options::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refusal("é[a"),
        "invalid regular expression: Unterminated character class at offset 2\n  é[a\n   ^"
    );
    assert_eq!(
        refusal(&"a".repeat(MAX_PATTERN_BYTES + 1)),
        "a pattern of 65537 bytes is too long: at most 65536 bytes are allowed"
    );
    assert_eq!(
        refusal(&"(".repeat(300)),
        "the pattern's groups are nested deeper than 250, at offset 250"
    );
}

#[test]
fn costly_pattern_exceeds_budget() {
    let text = "a".repeat(5000);
    let costly = pattern("^(?:a+)+$(?<!a)");
    let little = Budget::with_steps(100_000, Bound::default());
    let outcome: Result<Vec<_>, _> =
        Matches::new(&costly, &text, MatchDetail::Groups, little).collect();
    assert_eq!(outcome, Err(PatternError::TooCostly));
    let cancelled = CancelToken::new();
    cancelled.cancel();
    let over = Bound {
        deadline: None,
        cancel: Some(&cancelled),
    };
    let late: Vec<_> = pattern("a").find_iter("aa", over).collect();
    assert_eq!(late, [Err(PatternError::TooCostly)]);
}

#[test]
fn invalid_utf8_lines_match_as_bytes() {
    let found = |source: &str, line: &[u8]| {
        let found = pattern(source)
            .engine()
            .find_in_line(line, 0, &Budget::new(Bound::default()));
        found.map(|found| found.is_some())
    };
    assert_eq!(found("^b$", b"b\r"), Ok(true));
    assert_eq!(found("^b$", b"ab"), Ok(false));
    assert_eq!(found("é.x", b"\xC3\xA9\xFFx"), Ok(true));
}

#[test]
fn ignore_case_option_folds_case() {
    let options = Options {
        case_insensitive: true,
    };
    let found = Pattern::new("STRASSE|é", options).map(|p| p.find_at("É", 0));
    assert_eq!(
        found.expect("good").expect("cheap").map(|m| m.range()),
        Some(0..2)
    );
    let literal = Pattern::literal_ignoring_case("A.b(").expect("good");
    assert_eq!(
        literal
            .find_at("axb( a.B(", 0)
            .expect("cheap")
            .map(|m| m.range()),
        Some(5..9)
    );
}

#[test]
fn replacement_supports_both_reference_styles() {
    for (source, new, expected) in [
        ("(b)(c)", "<$2\\1>", "a<cb>d"),
        ("b(c)", "[$&|$0|\\0]", "a[bc|bc|bc]d"),
        ("bc", "$$1 $$", "a$1 $d"),
        ("bc", "\\n\\x$x$", "a\\n\\x$x$d"),
        ("(b)c", "$10", "ab0d"),
        ("(?<x>b)c", "$<x>$<", "ab$<d"),
        ("(b)c", "\\\\1", "a\\\\1d"),
        ("b|(z)", "<$1>", "a<>cd"),
    ] {
        assert_eq!(replaced(source, new, "abcd"), expected, "{source} -> {new}");
    }
    let ten = "(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)";
    assert_eq!(replaced(ten, "$10$1\\10", "abcdefghij"), "jaa0");
}

#[test]
fn reference_to_missing_group_is_error() {
    let refusal = |source: &str, new: &str| {
        let error = Replacement::parse(new, &pattern(source)).unwrap_err();
        (error.to_string(), error.hint())
    };
    assert_eq!(
        refusal(".*", "\"$1\""),
        (
            "`newText` refers to a group by `$1`, but the pattern has no capture group".to_owned(),
            "put parentheses around what to keep, as in `(.*)`, use `$&` for the whole match, or write `$$1` for the text itself".to_owned()
        )
    );
    assert_eq!(
        refusal("(a)", "\\2").0,
        "`newText` refers to a group by `\\2`, but the pattern has only 1 capture group"
    );
    assert_eq!(
        refusal("(a)(b)", "$<n>").0,
        "`newText` refers to a group by `$<n>`, but the pattern has only 2 capture groups"
    );
}

proptest! {
    #[test]
    fn any_text_compiles_or_fails(source in "[a(?<:=!)\\[\\]^$*+{},0-9|\\\\dbuxck.>-]{0,12}", text in "[ab01\\n\\r]{0,8}") {
        if let Ok(pattern) = Pattern::new(&source, Options::default()) {
            let mut last = 0;
            for found in pattern.find_iter(&text, Bound::default()).take(50).flatten() {
                prop_assert!(found.range().start >= last);
                last = found.range().end;
            }
        }
    }

    #[test]
    fn plain_replacement_is_literal(new in "[^$\\\\]{0,20}") {
        prop_assert_eq!(replaced("b", &new, "abc"), format!("a{new}c"));
    }
}

/// Strategy for patterns that JavaScript and fancy-regex read alike. They have no repeated body
/// that can be empty, no early back-reference and no line anchors.
fn shared_patterns() -> impl Strategy<Value = String> {
    let atom = proptest::sample::select(vec!["a", "b", "[ab]", "[^a]", "\\w", "\\W"])
        .prop_map(str::to_owned);
    let solid = atom.prop_recursive(4, 24, 3, |solid| {
        let any = prop_oneof![
            solid.clone(),
            (
                solid.clone(),
                proptest::sample::select(vec!["*", "+", "?", "*?", "+?", "??", "{0,2}", "{1,2}?"])
            )
                .prop_map(|(solid, count)| format!("(?:{solid}){count}")),
            (
                proptest::sample::select(vec!["(?=", "(?!", "(?<=", "(?<!"]),
                solid.clone()
            )
                .prop_map(|(look, solid)| format!("{look}{solid})")),
            proptest::sample::select(vec!["\\b", "\\B"]).prop_map(str::to_owned),
        ];
        prop_oneof![
            (any.clone(), solid.clone(), any)
                .prop_map(|(before, solid, after)| format!("{before}{solid}{after}")),
            (solid.clone(), solid.clone()).prop_map(|(one, other)| format!("(?:{one}|{other})")),
            (
                solid,
                proptest::sample::select(vec!["+", "+?", "{2}", "{1,2}"])
            )
                .prop_map(|(solid, count)| format!("(?:{solid}){count}")),
        ]
    });
    (solid.clone(), solid, any::<bool>()).prop_map(|(one, other, back)| {
        if back {
            format!("({one}){other}\\1")
        } else {
            format!("(?:{one}){other}")
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn matches_agree_with_fancy_regex(source in shared_patterns(), text in "[ab \u{e9}]{0,12}") {
        let Ok(other) = fancy_regex::Regex::new(&source) else { return Ok(()) };
        // Letters of words are those of ASCII here and Unicode's there.
        let text = if ["\\w", "\\W", "\\b", "\\B"].iter().any(|class| source.contains(class)) { text.replace('\u{e9}', "-") } else { text };
        for (at, _) in text.char_indices() {
            let Ok(theirs) = other.find_from_pos(&text, at) else { continue };
            let ours = pattern(&source).find_at(&text, at).expect("within the budget").map(|found| found.range());
            prop_assert_eq!(ours, theirs.map(|found| found.range()), "`{}` on {:?} from {}", source, text, at);
        }
    }
}
