//! Searches of real trees.
#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

use replay_files::policy::FileKind;
use replay_files::policy::testing::Tree;
use replay_pattern::{Options, Pattern};

use super::memory::Memory;
use super::*;
use pretty_assertions::assert_eq;

const LINES: GrepOptions = GrepOptions {
    mode: Mode::Lines,
    context: 0,
    multiline: false,
    most: 1000,
    bytes: 1 << 20,
};

fn file(tree: &Tree, path: &str, text: &str) {
    let path = tree.at(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Returns the results of a call over `A/sub`, as `path:lines` below it.
fn find_lines(
    tree: &Tree,
    pattern: &str,
    wanted: GrepOptions,
    globs: &[&str],
    types: &[&str],
) -> (Vec<String>, Hits) {
    let globs = strings(globs);
    let asked = SearchRequest {
        directory: Some(tree.policy.read(tree.at("A/sub")).unwrap()),
        globs: (!globs.is_empty()).then_some(&globs[..]),
        types: &strings(types),
        ..SearchRequest::default()
    };
    let scope = Scope::new(&tree.policy, asked).unwrap();
    let call = Call {
        policy: &tree.policy,
        memory: &Memory::off(),
        cancel: &CancelToken::new(),
        account: None,
        progress: &|_| {},
    };
    let hits = grep(
        call,
        scope,
        &Pattern::new(pattern, Options::default()).unwrap(),
        wanted,
    )
    .unwrap();
    let base = tree.at("A/sub");
    let show = |file: &FileHits| {
        let lines: Vec<String> = file.hits.iter().map(|hit| hit.line.to_string()).collect();
        format!(
            "{}:{}",
            file.path.strip_prefix(&base).unwrap().display(),
            lines.join(",")
        )
    };
    (hits.files.iter().map(show).collect(), hits)
}

#[test]
fn files_come_in_path_order_up_to_limit() {
    let tree = Tree::new();
    for name in ["a/x", "a-b/x", "a.x", "a/y/z", "b"] {
        file(&tree, &format!("A/sub/w/{name}"), "hit\nno\nhit\n");
    }
    let all = [
        "w/a-b/x:1,3",
        "w/a.x:1,3",
        "w/a/x:1,3",
        "w/a/y/z:1,3",
        "w/b:1,3",
    ];
    let (files, hits) = find_lines(&tree, "hit", LINES, &[], &[]);
    assert_eq!((files, hits.more), (strings(&all), false));
    for most in 1..=10 {
        let (files, hits) = find_lines(&tree, "hit", GrepOptions { most, ..LINES }, &[], &[]);
        let mut expected = strings(&all[..(most as usize).div_ceil(2)]);
        if most % 2 == 1
            && let Some(last) = expected.last_mut()
        {
            *last = last.replace(":1,3", ":1");
        }
        assert_eq!((files, hits.more), (expected, most < 10), "{most}");
    }
}

#[test]
fn omitted_match_has_no_context() {
    let tree = Tree::new();
    file(&tree, "A/sub/x", "1 hit\n2\n3\n4 hit\n5 hit\n6\n");
    let with = |most| {
        find_lines(
            &tree,
            "hit",
            GrepOptions {
                most,
                context: 1,
                ..LINES
            },
            &["x"],
            &[],
        )
        .0
    };
    assert_eq!(
        [with(1), with(2), with(3)],
        [["x:1,2"], ["x:1,2,3,4"], ["x:1,2,3,4,5,6"]].map(|lines| strings(&lines))
    );
}

#[test]
fn parallel_search_equals_single_threaded() {
    let tree = Tree::new();
    let mut expected = Vec::new();
    for dir in 0..20 {
        for name in 0..40 {
            let text = if (dir + name) % 3 == 0 {
                "x\nhit\n"
            } else {
                "x\n"
            };
            file(&tree, &format!("A/sub/w/{dir:02}/{name:02}"), text);
            if (dir + name) % 3 == 0 {
                expected.push(format!("w/{dir:02}/{name:02}:2"));
            }
        }
    }
    let (files, hits) = find_lines(&tree, "hit", LINES, &["w/**"], &[]);
    assert_eq!((files, hits.searched), (expected.clone(), 800));
    let (files, hits) = find_lines(
        &tree,
        "hit",
        GrepOptions { most: 7, ..LINES },
        &["w/**"],
        &[],
    );
    assert_eq!((files, hits.more), (expected[..7].to_vec(), true));
}

#[test]
fn overlapping_globs_find_file_once() {
    let tree = Tree::new();
    for name in ["w/a.c", "w/in/b.c", "w/in/c.h", "z.c"] {
        file(&tree, &format!("A/sub/{name}"), "hit\n");
    }
    tree.link("A/sub/w/ln", "in");
    let expected = ["w/a.c:1", "w/in/b.c:1", "w/in/c.h:1", "z.c:1"];
    assert_eq!(
        find_lines(&tree, "hit", LINES, &["**/*.c", "w/in/*", "w/in/b.c"], &[]).0,
        strings(&expected)
    );
    // A walk follows no link, a glob that names one does: then there are two walks, one inside the
    // other.
    let expected = ["w/a.c:1", "w/in/b.c:1", "w/ln/b.c:1", "w/ln/c.h:1", "z.c:1"];
    assert_eq!(
        find_lines(&tree, "hit", LINES, &["**/*.c", "w/ln/*"], &[]).0,
        strings(&expected)
    );
    let (files, hits) = find_lines(
        &tree,
        "hit",
        GrepOptions { most: 3, ..LINES },
        &["**/*.c", "w/ln/*"],
        &[],
    );
    assert_eq!((files, hits.more), (strings(&expected[..3]), true));
}

#[test]
fn files_and_count_modes_omit_lines() {
    let tree = Tree::new();
    file(&tree, "A/sub/a.rs", "hit\nhit\n");
    file(&tree, "A/sub/b.py", "hit\n");
    file(&tree, "A/sub/c.c", "hit hit\n");
    let counts = |mode, most, types: &[&str]| {
        let (_, hits) = find_lines(
            &tree,
            "hit",
            GrepOptions {
                mode,
                most,
                bytes: 0,
                ..LINES
            },
            &["*"],
            types,
        );
        let name = |file: &FileHits| file.path.file_name().unwrap().to_str().unwrap().to_owned();
        (
            hits.files
                .iter()
                .map(|file| (name(file), file.matches))
                .collect::<Vec<_>>(),
            hits.more,
        )
    };
    let files = |files: &[(&str, u64)]| {
        files
            .iter()
            .map(|&(name, count)| (name.to_owned(), count))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        counts(Mode::Count, 9, &[]),
        (files(&[("a.rs", 2), ("b.py", 1), ("c.c", 1)]), false)
    );
    assert_eq!(
        counts(Mode::Count, 2, &[]),
        (files(&[("a.rs", 2), ("b.py", 1)]), true)
    );
    assert_eq!(
        counts(Mode::Files, 9, &[]),
        (files(&[("a.rs", 1), ("b.py", 1), ("c.c", 1)]), false)
    );
    assert_eq!(
        counts(Mode::Count, 9, &["py", "rust"]),
        (files(&[("a.rs", 2), ("b.py", 1)]), false)
    );
}

#[test]
fn results_beyond_size_limit_are_counted() {
    let tree = Tree::new();
    for name in ["a", "b", "c"] {
        file(&tree, &format!("A/sub/{name}.t"), &"hit\n".repeat(10));
    }
    let (_, hits) = find_lines(
        &tree,
        "hit",
        GrepOptions { bytes: 50, ..LINES },
        &["*.t"],
        &[],
    );
    let kept: usize = hits.files.iter().map(|file| file.hits.len()).sum();
    let counted: Vec<u64> = hits.files.iter().map(|file| file.matches).collect();
    assert_eq!(counted, [10, 10, 10]);
    assert!((13..=20).contains(&kept), "{kept}");
}

#[test]
fn cancelled_search_reports_cancellation() {
    let tree = Tree::new();
    let asked = SearchRequest {
        directory: Some(tree.policy.read(tree.at("A")).unwrap()),
        ..SearchRequest::default()
    };
    let scope = Scope::new(&tree.policy, asked).unwrap();
    let cancel = CancelToken::new();
    cancel.cancel();
    let call = Call {
        policy: &tree.policy,
        memory: &Memory::off(),
        cancel: &cancel,
        account: None,
        progress: &|_| {},
    };
    let pattern = Pattern::new("a", Options::default()).unwrap();
    assert!(matches!(
        names(call, &scope, 9, &|_, _| true),
        Err(SearchError::Cancelled)
    ));
    assert!(matches!(
        grep(call, scope, &pattern, LINES),
        Err(SearchError::Cancelled)
    ));
}

#[test]
fn names_are_in_order_and_counted_beyond_cap() {
    let tree = Tree::new();
    for name in ["a/x.c", "a-b/x.c", "a.c", "d.h"] {
        file(&tree, &format!("A/sub/w/{name}"), "");
    }
    let globs = strings(&["w/**/*.c", "**/*.h"]);
    let asked = SearchRequest {
        directory: Some(tree.policy.read(tree.at("A/sub")).unwrap()),
        globs: Some(&globs),
        ..SearchRequest::default()
    };
    let scope = Scope::new(&tree.policy, asked).unwrap();
    let call = Call {
        policy: &tree.policy,
        memory: &Memory::off(),
        cancel: &CancelToken::new(),
        account: None,
        progress: &|_| {},
    };
    let base = format!("{}/", tree.at("A/sub/w").display());
    let named = |max| {
        let named = names(call, &scope, max, &|_, kind| kind == FileKind::File).unwrap();
        let paths = named
            .paths
            .iter()
            .map(|path| String::from_utf8(path.to_vec()).unwrap().replace(&base, ""));
        (paths.collect::<Vec<_>>(), named.total, named.more)
    };
    assert_eq!(
        named(9),
        (strings(&["a-b/x.c", "a.c", "a/x.c", "d.h"]), 4, false)
    );
    assert_eq!(named(2), (strings(&["a-b/x.c", "a.c"]), 4, false));
}
