use replay_base::cancel::CancelToken;

use super::*;
use crate::Options;
use crate::parse::parse;
use grep_searcher::{Searcher, SearcherBuilder, sinks::Bytes};
use pretty_assertions::assert_eq;
use std::cell::RefCell;

fn candidates(source: &str) -> Candidates {
    let tree = parse(source, Options::default()).unwrap();
    Candidates::new(&tree, Facts::of(&tree))
}

/// The numbers of the lines that match, and the lines that the exact matcher was asked about; it
/// says yes to all.
fn checked_lines(source: &str, text: &[u8]) -> (Vec<u64>, Vec<String>) {
    let candidates = candidates(source);
    let lines = RefCell::new(Vec::new());
    let exact = |line: &[u8], _: usize| {
        let line = String::from_utf8_lossy(line);
        lines
            .borrow_mut()
            .push(line.strip_suffix('\n').unwrap_or(&line).to_owned());
        Ok(Some(0..0))
    };
    let finder = Finder::lines(&candidates, exact, Bound::default());
    let mut found = Vec::new();
    let sink = Bytes(|number, _| {
        found.push(number);
        Ok(true)
    });
    Searcher::new().search_slice(&finder, text, sink).unwrap();
    assert_eq!(finder.failure(), None);
    (found, lines.into_inner())
}

fn certain(source: &str, text: &[u8]) -> Vec<u64> {
    let (found, asked) = checked_lines(source, text);
    assert_eq!(asked, [""; 0], "{source}");
    found
}

#[test]
fn regular_pattern_confirms_ordinary_lines() {
    for (source, text, expected) in [
        ("b", "a\nb\nab", vec![2, 3]),
        ("^$", "a\n\nb\r\n\r\n", vec![2, 4]),
        ("^", "a\r\nb", vec![1, 2]),
        ("$", "a\n\n", vec![1, 2]),
        ("a\\r$", "a\r\na\n", vec![1]),
        ("[^a]", "a\nb\na", vec![2]),
        ("a\\nb|c", "a\nb\nc", vec![3]),
        ("\\n", "a\n\n", vec![]),
        ("a\\s+b", "a\nb\na b", vec![3]),
        ("(?-m:^b$)", "b\nab\r\nb\r\nb", vec![1, 4]),
        (
            "\\w+_error\\b",
            "x\nmy_error\n_errors\nsome_error;",
            vec![2, 4],
        ),
        ("(a*)*b", "c\naab", vec![2]),
        ("é.", "é\néx\n日本", vec![2]),
        ("\\bé\\B", "é\n", vec![]),
        ("\\Bé", "é\naé", vec![1]),
        ("^[^x]$", "日\nab\n😀", vec![1, 3]),
    ] {
        assert_eq!(certain(source, text.as_bytes()), expected, "{source}");
    }
}

#[test]
fn irregular_pattern_needs_exact_matcher() {
    let (found, lines) = checked_lines("foo(?!bar)", b"foobar\nbar\nfoo\n");
    assert_eq!(
        (found, lines),
        (vec![1, 3], vec!["foobar".to_owned(), "foo".to_owned()])
    );
    let (found, lines) = checked_lines("^(\\w)\\1", b"aa\n-\nab");
    assert_eq!(
        (found, lines),
        (vec![1, 3], vec!["aa".to_owned(), "ab".to_owned()])
    );
}

#[test]
fn no_match_begins_inside_character() {
    // The linear engine has a `\B` between the two bytes of an `é`.
    let (found, lines) = checked_lines("\\B|x", "bé_\n".as_bytes());
    assert_eq!((found, lines), (vec![1], vec!["bé_".to_owned()]));
}

#[test]
fn only_odd_lines_need_exact_matcher() {
    let (found, lines) = checked_lines("x.", b"ax\xFF\nxy\n\xFF\n\xC3\xA9\nx\n");
    assert_eq!(
        (found, lines),
        (
            vec![1, 2, 3],
            vec!["ax\u{FFFD}".to_owned(), "\u{FFFD}".to_owned()]
        )
    );
    let (found, lines) = checked_lines("^b", "a\u{2028}b\nb\né\n\u{2029}".as_bytes());
    assert_eq!(
        (found, lines),
        (
            vec![1, 2, 4],
            vec!["a\u{2028}b".to_owned(), "\u{2029}".to_owned()]
        )
    );
    // Neither matters to this one.
    assert_eq!(certain("[a-c]+é", "aé\u{2028}\n".as_bytes()), [1]);
    assert_eq!(certain("b", b"\xFFb\nb\xFF"), [1, 2]);
}

#[test]
fn too_large_pattern_makes_every_line_candidate() {
    let (found, lines) = checked_lines(&"\\W".repeat(30_000), b"a\n\nb");
    assert_eq!((found.len(), lines.len()), (3, 3));
}

#[test]
fn chunk_boundary_hides_no_line() {
    // Lines of growing lengths, so that chunks end at all places; every seventh one is odd.
    let mut text = Vec::new();
    let mut expected = Vec::new();
    for number in 1..3000_u64 {
        text.extend(vec![b'-'; usize::try_from(number % 97).unwrap()]);
        if number % 7 == 0 {
            text.push(0xFF);
        }
        if number % 11 == 0 {
            text.push(b'x');
        }
        if number % 7 == 0 || number % 11 == 0 {
            expected.push(number);
        }
        text.extend(if number % 3 == 0 { &b"\r\n"[..] } else { b"\n" });
    }
    assert_eq!(checked_lines("[^-\\r]", &text).0, expected);
    let of_x: Vec<u64> = (1..3000).filter(|number| number % 11 == 0).collect();
    assert_eq!(
        certain(
            "x\\r?$",
            &text
                .iter()
                .copied()
                .filter(|byte| *byte != 0xFF)
                .collect::<Vec<_>>()
        ),
        of_x
    );
}

#[test]
fn multiline_match_spans_lines() {
    let exact = |text: &[u8], from: usize| {
        let found = memchr::memmem::find(&text[from..], b"a\nb").map(|at| from + at..from + at + 3);
        Ok(found.or((from <= text.len()).then_some(text.len()..text.len())))
    };
    let text = b"a\na\nb\n-\n";
    let finder = Finder::texts(text, exact, Bound::default());
    let mut found = Vec::new();
    let sink = Bytes(|number, lines: &[u8]| {
        found.push((number, String::from_utf8_lossy(lines).into_owned()));
        Ok(true)
    });
    let mut searcher = SearcherBuilder::new().multi_line(true).build();
    searcher.search_slice(&finder, text, sink).unwrap();
    assert_eq!(found, [(2, "a\nb\n".to_owned())]);
}

#[test]
fn finder_keeps_pattern_error() {
    let candidates = candidates("(?=a)");
    let failing = |_: &[u8], _: usize| Err(PatternError::TooLarge);
    let finder = Finder::lines(&candidates, failing, Bound::default());
    let sink = || Bytes(|_, _| Ok(true));
    assert!(Searcher::new().search_slice(&finder, b"a", sink()).is_err());
    assert_eq!(
        finder.failure(),
        Some(&Failure {
            error: PatternError::TooLarge,
            rest: 1
        })
    );

    let cancelled = CancelToken::new();
    cancelled.cancel();
    let bound = Bound {
        deadline: None,
        cancel: Some(&cancelled),
    };
    let finder = Finder::lines(&candidates, failing, bound);
    assert!(Searcher::new().search_slice(&finder, b"a", sink()).is_err());
    assert_eq!(
        finder.failure(),
        Some(&Failure {
            error: PatternError::TooCostly,
            rest: 1
        })
    );
}

#[test]
fn line_pattern_never_matches_line_feed() {
    let tree = parse("(?-m:\\n[^a]$)|(?=(b)\\1*)$", Options::default()).unwrap();
    let not_feed = |ranges: &[(char, char)]| Node::Class(Class::new(ranges.iter().copied()));
    let Node::Alternation(alternatives) = within_lines(&tree).root else {
        panic!("no alternation")
    };
    let end = Node::Look {
        behind: false,
        negated: true,
        body: Box::new(not_feed(&[('\0', '\t'), ('\u{b}', char::MAX)])),
    };
    let class = not_feed(&[('\0', '\t'), ('\u{b}', '`'), ('b', char::MAX)]);
    assert_eq!(
        alternatives[0],
        Node::Concat(vec![not_feed(&[]), class, end])
    );
    let Node::Alternation(unchanged) = &tree.root else {
        panic!("no alternation")
    };
    assert_eq!(alternatives[1], unchanged[1]);
}
