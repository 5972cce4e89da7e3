#![expect(clippy::disallowed_methods, reason = "tests lay out files")]

use replay_base::cancel::Bound;
use replay_base::cancel::CancelToken;
use replay_files::policy::testing::Tree;
use replay_pattern::Options;

use super::*;
use pretty_assertions::assert_eq;

/// Bytes that are too many for one piece.
const LARGE: usize = MAX_WHOLE_SEARCH_BYTES as usize + 1000;
const ALL: Limits = Limits {
    most: 9,
    bytes: 1 << 20,
};

fn search(
    content: impl AsRef<[u8]>,
    pattern: &str,
    how: SearchOptions,
    limits: Limits,
) -> Result<FileMatches, Stopped> {
    search_within(
        &Budget::new(Bound::default()),
        content,
        pattern,
        how,
        limits,
    )
}

fn search_within(
    budget: &Budget<'_>,
    content: impl AsRef<[u8]>,
    pattern: &str,
    how: SearchOptions,
    limits: Limits,
) -> Result<FileMatches, Stopped> {
    let tree = Tree::new();
    std::fs::write(tree.at("A/x"), content).unwrap();
    let file = OpenFile::of(&tree.policy.read(tree.at("A/x")).unwrap()).unwrap();
    let pattern = Pattern::new(
        pattern,
        Options {
            case_insensitive: false,
        },
    )
    .unwrap();
    let room = Room {
        account: None,
        cancel: &CancelToken::new(),
    };
    FileSearcher::new(&pattern, budget, how, room).search(&file, limits)
}

fn find_lines(
    content: impl AsRef<[u8]>,
    pattern: &str,
    context: usize,
    most: u64,
) -> (Vec<String>, u64, bool) {
    let how = SearchOptions {
        context,
        ..SearchOptions::default()
    };
    let found = search(content, pattern, how, Limits { most, ..ALL }).unwrap();
    let show = |hit: &Hit| {
        let separator = if hit.is_match { ':' } else { '-' };
        format!(
            "{}{}{separator}{}",
            if hit.after_gap { "--" } else { "" },
            hit.line,
            hit.text
        )
    };
    (
        found.hits.iter().map(show).collect(),
        found.matches,
        found.cut,
    )
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[test]
fn matches_have_context_gaps_and_cap() {
    let text = "a1\r\nb\nc\nd\na2\ne\na3";
    assert_eq!(
        find_lines(text, "^a", 0, 9),
        (lines(&["1:a1", "5:a2", "7:a3"]), 3, false)
    );
    assert_eq!(
        find_lines(text, "^a", 1, 9),
        (
            lines(&["1:a1", "2-b", "--4-d", "5:a2", "6-e", "7:a3"]),
            3,
            false
        )
    );
    assert_eq!(
        find_lines(text, "^a", 0, 2),
        (lines(&["1:a1", "5:a2"]), 2, true)
    );
    assert_eq!(
        find_lines(text, "^a", 0, 3),
        (lines(&["1:a1", "5:a2", "7:a3"]), 3, false)
    );
    assert_eq!(find_lines("", "", 0, 9), (vec![], 0, false));
}

#[test]
fn byte_order_mark_is_not_in_first_line() {
    assert_eq!(
        find_lines("\u{feff}a\nb\n", "^a$", 0, 9),
        (lines(&["1:a"]), 1, false)
    );
    assert_eq!(find_lines("\u{feff}", "", 0, 9), (vec![], 0, false));
}

#[test]
fn utf16_file_is_decoded() {
    let wide = |text: &str, low_first: bool| -> Vec<u8> {
        let bytes = |unit: u16| {
            if low_first {
                unit.to_le_bytes()
            } else {
                unit.to_be_bytes()
            }
        };
        format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(bytes)
            .collect()
    };
    let text = "first\nnaïve 😀\n";
    for low_first in [true, false] {
        assert_eq!(
            find_lines(wide(text, low_first), "ï.*😀$", 0, 9),
            (lines(&["2:naïve 😀"]), 1, false)
        );
        assert_eq!(
            search(
                wide("a\nb\0", low_first),
                "a",
                SearchOptions::default(),
                ALL
            ),
            Err(Stopped::Binary)
        );
        // Too large for one piece, so decoded on the way.
        let long = "é\n".repeat(LARGE / 4) + "end";
        let last = format!("{}:end", LARGE / 4 + 1);
        assert_eq!(
            find_lines(wide(&long, low_first), "^end", 0, 9),
            (lines(&[&last]), 1, false)
        );
    }
    assert_eq!(
        find_lines(b"caf\xe9\n", "caf.$", 0, 9),
        (lines(&["1:caf\u{fffd}"]), 1, false)
    );
}

#[test]
fn large_file_gives_same_matches_as_small() {
    let large = "filler\n".repeat(LARGE / 7);
    let lines_before = large.lines().count();
    let text = format!("\u{feff}top\n{large}needle\nafter");
    let expected = [
        format!("{}-filler", lines_before + 1),
        format!("{}:needle", lines_before + 2),
    ];
    let after = format!("{}-after", lines_before + 3);
    assert_eq!(
        find_lines(&text, "^needle", 1, 9),
        (
            vec![expected[0].clone(), expected[1].clone(), after],
            1,
            false
        )
    );
    assert_eq!(find_lines(&text, "^top", 0, 9).0, ["1:top"]);
    let mut binary = text.into_bytes();
    binary[100] = 0;
    assert_eq!(
        search(&binary, "needle", SearchOptions::default(), ALL),
        Err(Stopped::Binary)
    );
    let named = SearchOptions {
        binary: true,
        count_only: true,
        ..SearchOptions::default()
    };
    assert_eq!(
        search(&binary, "needle", named, ALL).map(|found| found.matches),
        Ok(1)
    );
}

#[test]
fn named_binary_file_is_searched() {
    for multiline in [false, true] {
        let how = SearchOptions {
            multiline,
            ..SearchOptions::default()
        };
        assert_eq!(search("a\n\0", "a", how, ALL), Err(Stopped::Binary));
        let found = search(
            "\0\n\0a\n",
            "a$",
            SearchOptions {
                binary: true,
                ..how
            },
            ALL,
        )
        .unwrap();
        let hit = Hit {
            line: 2,
            text: "\0a".to_owned(),
            is_match: true,
            after_gap: false,
        };
        assert_eq!(
            found,
            FileMatches {
                hits: vec![hit],
                matches: 1,
                cut: false
            }
        );
    }
}

#[test]
fn count_only_search_omits_lines() {
    let text = "a\n".repeat(100);
    let count = search(
        &text,
        "a",
        SearchOptions {
            context: 3,
            count_only: true,
            ..SearchOptions::default()
        },
        Limits {
            most: u64::MAX,
            bytes: 0,
        },
    );
    assert_eq!(
        count,
        Ok(FileMatches {
            hits: Vec::new(),
            matches: 100,
            cut: false
        })
    );
    let some = search(
        &text,
        "a",
        SearchOptions::default(),
        Limits {
            most: 50,
            bytes: 10,
        },
    )
    .unwrap();
    assert_eq!((some.hits.len(), some.matches, some.cut), (5, 50, true));
}

#[test]
fn cancelled_search_of_large_file_ends() {
    let tree = Tree::new();
    std::fs::write(tree.at("A/x"), "x\n".repeat(LARGE / 2)).unwrap();
    let file = OpenFile::of(&tree.policy.read(tree.at("A/x")).unwrap()).unwrap();
    let cancel = CancelToken::new();
    cancel.cancel();
    let pattern = Pattern::new("y", Options::default()).unwrap();
    let budget = Budget::new(Bound {
        cancel: Some(&cancel),
        ..Bound::default()
    });
    let mut searcher = FileSearcher::new(
        &pattern,
        &budget,
        SearchOptions::default(),
        Room {
            account: None,
            cancel: &cancel,
        },
    );
    assert_eq!(searcher.search(&file, ALL), Err(Stopped::Unreadable));
}

#[test]
fn multiline_match_counts_each_line() {
    let how = SearchOptions {
        multiline: true,
        ..SearchOptions::default()
    };
    let text = "a\nb\nx\na\nb\n";
    let lines = |found: &FileMatches| {
        found
            .hits
            .iter()
            .map(|hit| (hit.line, hit.text.clone()))
            .collect::<Vec<_>>()
    };
    let all = search(text, "a\\nb", how, ALL).unwrap();
    let expected: Vec<_> = [(1, "a"), (2, "b"), (4, "a"), (5, "b")]
        .map(|(line, text)| (line, text.to_owned()))
        .into();
    assert_eq!(
        (lines(&all), all.matches, all.cut),
        (expected.clone(), 4, false)
    );
    let some = search(text, "a\\nb", how, Limits { most: 3, ..ALL }).unwrap();
    assert_eq!(
        (lines(&some), some.matches, some.cut),
        (expected[..3].to_vec(), 3, true)
    );
}

#[test]
fn lookbehind_spans_lines_in_multiline_mode() {
    let how = SearchOptions {
        multiline: true,
        ..SearchOptions::default()
    };
    let lines = |pattern: &str, text: &str| -> Vec<u64> {
        search(text, pattern, how, ALL)
            .unwrap()
            .hits
            .iter()
            .map(|hit| hit.line)
            .collect()
    };
    assert_eq!(lines("(?<=;\\n)[^;]*;", "x;\ny;\nz;\nw;\n"), [2, 3, 4]);
    assert_eq!(lines("foo|(?<=foo\\n)bar", "foo\nbar\n"), [1, 2]);
    assert_eq!(lines("a|^b\\nc", "ab\ncd\n"), [1]);
    assert_eq!(lines("ab|\\bc\\nd", "abc\nd\n"), [1]);
    assert_eq!(lines("(?<!^[^]+)", "--\n-\n--a"), [1]);
    assert_eq!(lines("x\\r|^\\ny", "x\r\ny\n"), [1]);
    assert_eq!(lines("^[^s]{2}", "kK\nxs\u{3a9}a\n\nbbB\r\nx"), [1, 3, 4]);
}

#[test]
fn multiline_matches_share_one_budget() {
    let text = "a\n".repeat(5000);
    let how = SearchOptions {
        multiline: true,
        count_only: true,
        ..SearchOptions::default()
    };
    let budget = Budget::with_steps(100_000, Bound::default());
    let stopped = search_within(&budget, &text, "a(?=[^]*zzz)|a", how, ALL);
    assert!(
        matches!(stopped, Err(Stopped::Pattern(PatternError::TooCostly, _))),
        "{stopped:?}"
    );
}

#[test]
fn pattern_over_budget_reports_line() {
    let costly = format!("x\n{}!\n", "a".repeat(3000));
    let pattern = "(?=(a+))(?:\\1)+(?:a|aa)+$(?!y)";
    for filler in ["fill\n".repeat(10), "fill\n".repeat(LARGE / 5)] {
        let text = format!("{filler}{costly}");
        let line = filler.lines().count() as u64 + 2;
        let budget = Budget::with_steps(100_000, Bound::default());
        let stopped = search_within(&budget, &text, pattern, SearchOptions::default(), ALL);
        assert_eq!(
            stopped,
            Err(Stopped::Pattern(PatternError::TooCostly, line))
        );
    }
}
