use super::super::Options;
use super::super::parse::parse;
use super::*;
use pretty_assertions::assert_eq;

fn tree(source: &str) -> Tree {
    parse(source, Options::default()).unwrap()
}

#[test]
fn translation_is_fully_expanded() {
    for (source, expected) in [
        ("a-b", "a\\x{2D}b"),
        ("[a&&b]", "[\\x{26}a-b]"),
        ("(?:a|(b)){2,3}?", "(?:(?:a|(b))){2,3}?"),
        ("[]*", "(?:[^\\x{0}-\\x{10FFFF}])*"),
        ("^\\b$", "(?mR:^)(?-u:\\b)(?:(?m:$)|(?mR:$))"),
        ("(?-m:^\\B$)", "\\A(?-u:\\B)\\z"),
        ("a{0}b+", "(?:b)+"),
    ] {
        assert_eq!(exact(&tree(source)).as_deref(), Some(expected), "{source}");
    }
    for source in ["(?=a)", "(a)\\1", "a{6000}", "a{2,6000}"] {
        assert_eq!(exact(&tree(source)), None, "{source}");
    }
}

#[test]
fn approximation_matches_superset() {
    let lines = |source: &str| {
        let found = approximation(&tree(source), Haystack::Lines, 10).unwrap();
        (found.text, found.exact)
    };
    for (source, expected, exact) in [
        ("a\\nb", "a[^\\x{0}-\\x{10FFFF}]b", true),
        ("[^a]", "[\\x{0}-\\x{9}\\x{B}-\\x{60}b-\\x{10FFFF}]", true),
        ("(?-m:^$)", "(?m:^)(?m:$)", true),
        ("foo(?!bar)", "foo", false),
        (
            "(\\ba$|[b-c])\\1",
            "(?:(?:(?-u:\\b)a(?:(?m:$)|(?mR:$))|[b-c]))(?:(?:a|[b-c])|)",
            false,
        ),
        ("(?:(a)|(b))(?i:\\1)", "(?:(?:a)|(?:b))(?:[Aa]|)", false),
        ("a{3,99}b{99}", "(?:a){3,}(?:b){10,}", false),
    ] {
        assert_eq!(lines(source), (expected.to_owned(), exact), "{source}");
    }
}

#[test]
fn nested_references_terminate() {
    let text = approximation(
        &tree("(a)(\\1\\1)(\\2\\2)(\\3\\3)(\\4\\4)\\5"),
        Haystack::Text,
        10,
    )
    .unwrap()
    .text;
    assert!(text.len() < 20_000, "{}", text.len());
    assert!(
        approximation(&tree("(a\\1)"), Haystack::Text, 10)
            .unwrap()
            .text
            .ends_with("(?:a(?:a(?:a[\\x{0}-\\x{10FFFF}]*|)|)|))")
    );
    let long = format!("({})\\1", "[a-c]".repeat(5000));
    assert!(
        approximation(&tree(&long), Haystack::Text, 10)
            .unwrap()
            .text
            .ends_with("[\\x{0}-\\x{10FFFF}]*")
    );
    assert_eq!(
        approximation(&tree(&"é".repeat(32_000)), Haystack::Text, 10).map(|found| found.text.len()),
        Some(192_000)
    );
    assert!(approximation(&tree(&"\\W".repeat(30_000)), Haystack::Text, 10).is_none());
}
