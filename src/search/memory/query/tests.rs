use super::*;
use crate::memory::signature::Signer;
use proptest::prelude::*;

fn candidates(pattern: &str, texts: &[&str]) -> Vec<bool> {
    let query = Query::of(pattern);
    texts
        .iter()
        .map(|text| !query.refuses(&Signer::default().sign(text.as_bytes())))
        .collect()
}

fn one(pattern: &str, text: &str) -> bool {
    candidates(pattern, &[text])[0]
}

#[test]
fn pattern_parts_give_trigrams() {
    assert_eq!(
        candidates("pm_runtime", &["int PM_Runtime;", "pm_run time", ""]),
        [true, false, false]
    );
    assert_eq!(
        candidates(
            "kmalloc|vfree",
            &["x = kmalloc(1)", "vfree(x)", "kvalloc vffree"]
        ),
        [true, true, false]
    );
    assert_eq!(
        candidates("v[0-9]\\.rc", &["v1.rc", "v.rc", "w1.rc"]),
        [true, false, false]
    );
    assert_eq!(
        candidates("[A-Z]+_SUSPEND", &["X_SUSPEND", "_SUSPEN"]),
        [true, false]
    );
    assert_eq!(
        candidates("(?:ab){2,}c", &["xababc", "ababab"]),
        [true, true]
    );
    assert_eq!(
        candidates("(?:abc){2,}", &["abcabc", "abc ab"]),
        [true, false]
    );
    assert_eq!(
        candidates("(foo|ba)(r|zz)", &["foor", "bazz", "foozz", "bar", "foba"]),
        [true, true, true, true, false]
    );
    assert_eq!(
        candidates("foo.*bar", &["foo bar", "bar foo", "foo"]),
        [true, true, false]
    );
    assert_eq!(candidates("(?i)stra\\b", &["STRA", "sttra"]), [true, false]);
    assert_eq!(
        candidates("abc$|^def", &["abc", "def", "abdef", "bde"]),
        [true, true, true, false]
    );
}

#[test]
fn pattern_without_trigrams_matches_any_file() {
    for pattern in [
        "", "a", ".*", "[a-z]+", "(?:abc)?", "(?:abc)*", "abc|", "ab|cde", "\u{fffd}", "\\w{3}",
        "abc|[^x]",
    ] {
        assert_eq!(Query::of(pattern), Query::Any, "{pattern}");
    }
    assert_eq!(Query::of("(unclosed"), Query::Any);
    assert!(one("abc\u{fffd}def", "abc def") && !one("abc\u{fffd}def", "ab def"));
    assert!(one("ab[\u{fff0}-\u{ffff}]c", "ab c"));
    assert!(!one("[^\\s\\S]", "anything"));
}

#[test]
fn large_query_is_weakened_correctly() {
    let words: Vec<String> = (0..1000).map(|n| format!("word{n}x")).collect();
    let all: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(candidates(&words.join("|"), &all), vec![true; 1000]);
    let some = words[..100].join("|");
    assert!(Query::of(&some).trigrams() <= MAX_QUERY_TRIGRAMS && !one(&some, "wo rd"));
    let long = "abcdefgh".repeat(5000);
    assert!(one(&long, &long) && !one(&long, "abcdefg"));
    let grouped: String = (0..5000).map(|_| "(a)(b)(c)").collect();
    assert!(one(&grouped, &"abc".repeat(5000)) && !one(&grouped, "abab"));
    let nested = format!("{}a{}", "(?:".repeat(60), "{4}b)".repeat(60));
    assert!(Query::of(&nested).trigrams() <= MAX_QUERY_TRIGRAMS);
}

/// Patterns over few letters, so that they match short texts now and then.
fn patterns() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[abAé]{1,4}",
        Just(".".to_owned()),
        Just("[ab]".to_owned()),
        Just("[^a]".to_owned()),
        Just("[a-zé]".to_owned()),
        Just("\\b".to_owned()),
        Just("^".to_owned()),
        Just("$".to_owned()),
        Just("(?i:aB)".to_owned()),
        Just(String::new()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| format!("({})", parts.join("|"))),
            (
                inner,
                prop_oneof![
                    "[*+?]",
                    "\\{[0-3]\\}",
                    "\\{[0-2],\\}",
                    "\\{[01],[2-5]\\}",
                    "[*+]\\?"
                ]
            )
                .prop_map(|(inner, count)| format!("(?:{inner}){count}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn matching_file_is_never_excluded(pattern in patterns(), text in "[abABéc\n]{0,14}") {
        let Ok(regex) = regex_automata::meta::Regex::new(&pattern) else { return Ok(()) };
        if regex.is_match(text.as_str()) {
            prop_assert!(one(&pattern, &text), "{:?} in {:?}: {:?}", pattern, text, Query::of(&pattern));
        }
    }
}
