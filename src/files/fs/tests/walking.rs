use std::ops::ControlFlow;

use super::*;
use crate::policy::FileKind;

/// Collects the result of `note` for each entry.
pub(super) struct Notes<'a> {
    pub(super) enter: &'a (dyn Fn(&[u8]) -> bool + Sync),
    pub(super) note: &'a (dyn Fn(&WalkEntry<'_>) -> String + Sync),
}

const ENTER: &(dyn Fn(&[u8]) -> bool + Sync) = &|_| true;
const REL: &(dyn Fn(&WalkEntry<'_>) -> String + Sync) = &|found| {
    let mark = if found.kind() == FileKind::Directory {
        "/"
    } else {
        ""
    };
    format!("{}{mark}", String::from_utf8_lossy(found.rel()))
};

impl Visitor for Notes<'_> {
    type Local = ();
    type Out = (Vec<String>, u64);
    type Notes = ();

    fn local(&self) {}

    fn enters(&self, rel: &[u8]) -> bool {
        (self.enter)(rel)
    }

    fn visit(&self, (): &mut (), out: &mut Self::Out, found: &WalkEntry<'_>, (): &()) {
        out.0.push((self.note)(found));
    }

    fn unreadable(&self, out: &mut Self::Out, _: &[u8]) {
        out.1 += 1;
    }

    fn weight(out: &Self::Out) -> usize {
        out.0.len() + out.1 as usize
    }
}

/// Returns everything in order, and the number of unreadable directories.
pub(super) fn walked(
    start: &Checked<Read>,
    options: &WalkOptions<'_>,
    notes: &Notes<'_>,
) -> (Vec<String>, u64) {
    let (mut all, mut skipped) = (Vec::new(), 0);
    let ended = walk(start, options, notes, |(more, unread)| {
        all.extend(more);
        skipped += unread;
        ControlFlow::Continue(())
    });
    assert_eq!(ended.unwrap(), Ended::Complete);
    (all, skipped)
}

pub(super) fn on_threads(count: usize, cancel: &CancelToken) -> WalkOptions<'_> {
    WalkOptions {
        threads: Some(count),
        order: Order::Paths,
        max_depth: usize::MAX,
        skip_ignored: false,
        above: &[],
        account: None,
        cancel,
    }
}

struct WalkRequest<'a> {
    threads: usize,
    gitignore: bool,
    enter: &'a (dyn Fn(&[u8]) -> bool + Sync),
    max_depth: usize,
}

const ALL: WalkRequest<'static> = WalkRequest {
    threads: 1,
    gitignore: false,
    enter: &|_| true,
    max_depth: usize::MAX,
};

fn paths(tree: &Fixture, path: &str, asked: &WalkRequest<'_>) -> (Vec<String>, u64) {
    let cancel = CancelToken::new();
    let options = WalkOptions {
        max_depth: asked.max_depth,
        skip_ignored: asked.gitignore,
        ..on_threads(asked.threads, &cancel)
    };
    walked(
        &read(tree, path),
        &options,
        &Notes {
            enter: asked.enter,
            note: REL,
        },
    )
}

#[test]
fn walk_finds_each_entry_once() {
    let tree = Fixture::new();
    tree.link("A/out", "$O");
    tree.link("A/up", "..");
    std::fs::write(tree.at("A/.replay-tmp-0123456789abcdef"), "half").unwrap();
    let expected: Vec<String> = [
        "f",
        "keys/",
        "keys/k",
        "out",
        "ro/",
        "ro/f",
        "sub/",
        "sub/deep/",
        "sub/deep/f",
        "up",
    ]
    .map(String::from)
    .into();
    assert_eq!(paths(&tree, "A", &ALL), (expected.clone(), 0));
    assert_eq!(
        paths(&tree, "A", &WalkRequest { threads: 4, ..ALL }),
        (expected.clone(), 0)
    );
    let shallow = paths(
        &tree,
        "A",
        &WalkRequest {
            max_depth: 1,
            ..ALL
        },
    )
    .0;
    assert_eq!(
        shallow,
        expected
            .iter()
            .filter(|p| !p.trim_end_matches('/').contains('/'))
            .cloned()
            .collect::<Vec<_>>()
    );
    let pruned = paths(
        &tree,
        "A",
        &WalkRequest {
            enter: &|rel| rel != b"sub",
            ..ALL
        },
    )
    .0;
    assert_eq!(
        pruned,
        ["f", "keys/", "keys/k", "out", "ro/", "ro/f", "sub/", "up"]
    );
}

#[test]
fn parallel_walk_of_large_tree_is_complete() {
    let tree = Fixture::new();
    let mut expected = vec!["deep/".to_string(), "deep/f".to_string()];
    for dir in 0..60 {
        let name = format!("d{dir:02}/in/more");
        std::fs::create_dir_all(tree.at(&format!("A/sub/{name}"))).unwrap();
        expected.extend([
            format!("d{dir:02}/"),
            format!("d{dir:02}/in/"),
            format!("{name}/"),
        ]);
        // One directory has more files than a batch, the others have a few.
        for file in 0..(if dir == 7 { 500 } else { 3 }) {
            std::fs::write(tree.at(&format!("A/sub/{name}/{file}")), "").unwrap();
            expected.push(format!("{name}/{file}"));
        }
    }
    expected.sort();
    for threads in [1, 2, 8] {
        assert_eq!(
            paths(&tree, "A/sub", &WalkRequest { threads, ..ALL }),
            (expected.clone(), 0)
        );
    }
}

#[test]
fn walk_of_deep_tree_opens_few_directories() {
    let tree = Fixture::new();
    dig(&tree, "A/sub/deep", 4000);
    // A second directory on each of the first levels keeps its parent waiting.
    let mut path = "A/sub/deep".to_string();
    for _ in 0..200 {
        std::fs::create_dir(tree.at(&format!("{path}/e"))).unwrap();
        path.push_str("/d");
    }
    for threads in [1, 4] {
        let (found, skipped) = paths(&tree, "A/sub/deep", &WalkRequest { threads, ..ALL });
        assert_eq!((found.len(), skipped), (4000 + 200 + 2, 0));
    }
    let cancel = CancelToken::new();
    let options = TreeOptions {
        max_depth: usize::MAX,
        max_entries: usize::MAX,
        skip_ignored: false,
        above: &[],
        account: None,
        keep: &|_, _| true,
        closed: &[],
        cancel: &cancel,
    };
    let listed = super::tree(&read(&tree, "A/sub/deep"), &options).unwrap();
    assert_eq!(
        (
            listed.entries.len(),
            listed.skipped,
            listed.entries.iter().map(|e| e.depth).max()
        ),
        (4202, 0, Some(4001))
    );
    remove(&UNRECORDED, &entry(&tree, "A/sub/deep"), true, &cancel).unwrap();
}

#[test]
fn gitignore_applies_below_its_directory() {
    let tree = Fixture::new();
    for (path, text) in [
        ("A/.gitignore", "*.log\n/build/\n# note\n!keep.log\n[bad\n"),
        ("A/.git/config", ""),
        ("A/sub/.gitignore", "!x.log\ndeep\r\n"),
        ("A/sub/x.log", ""),
        ("A/y.log", ""),
        ("A/keep.log", ""),
        ("A/build/out", ""),
        ("A/sub/build/in", ""),
    ] {
        std::fs::create_dir_all(tree.at(path).parent().unwrap()).unwrap();
        std::fs::write(tree.at(path), text).unwrap();
    }
    let expected = [
        ".gitignore",
        "f",
        "keep.log",
        "keys/",
        "keys/k",
        "ro/",
        "ro/f",
        "sub/",
        "sub/.gitignore",
        "sub/build/",
        "sub/build/in",
        "sub/x.log",
    ];
    assert_eq!(
        paths(
            &tree,
            "A",
            &WalkRequest {
                gitignore: true,
                ..ALL
            }
        )
        .0,
        expected
    );
    let cancel = CancelToken::new();
    let options = TreeOptions {
        max_depth: 9,
        max_entries: 99,
        skip_ignored: true,
        above: &[],
        account: None,
        keep: &|_, _| true,
        closed: &[],
        cancel: &cancel,
    };
    let listed: Vec<_> = super::tree(&read(&tree, "A"), &options)
        .unwrap()
        .entries
        .into_iter()
        .map(|e| e.name.into_string().unwrap())
        .collect();
    let last = |path: &&str| {
        path.trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap()
            .to_string()
    };
    assert_eq!(listed, expected.iter().map(last).collect::<Vec<_>>());
    // Passed rules from above the start apply.
    let above = [(read(&tree, "A"), b"sub".to_vec())];
    std::fs::write(tree.at("A/.gitignore"), "/sub/build\n").unwrap();
    let options = WalkOptions {
        skip_ignored: true,
        above: &above,
        ..on_threads(1, &cancel)
    };
    let found = walked(
        &read(&tree, "A/sub"),
        &options,
        &Notes {
            enter: ENTER,
            note: REL,
        },
    )
    .0;
    assert_eq!(found, [".gitignore", "x.log"]);
}

#[test]
fn walk_entry_opens_only_regular_files() {
    let tree = Fixture::new();
    tree.link("A/sub/ln", "deep/f");
    rustix::fs::mknodat(
        CWD,
        tree.at("A/sub/fifo"),
        rustix::fs::FileType::Fifo,
        Mode::RWXU,
        0,
    )
    .unwrap();
    let cancel = CancelToken::new();
    let note = |found: &WalkEntry<'_>| {
        let text = found
            .open()
            .map(|file| String::from_utf8(file.read_all(99, "x".as_ref()).unwrap()).unwrap());
        format!("{} {}", found.name().display(), text.unwrap_or("-".into()))
    };
    let found = walked(
        &read(&tree, "A/sub"),
        &on_threads(1, &cancel),
        &Notes {
            enter: ENTER,
            note: &note,
        },
    )
    .0;
    assert_eq!(found, ["deep -", "f A-deep", "fifo -", "ln -"]);
}

#[test]
fn walk_stops_on_break_or_cancel() {
    let tree = Fixture::new();
    for i in 0..50 {
        std::fs::create_dir_all(tree.at(&format!("A/sub/{i}/x"))).unwrap();
    }
    let cancel = CancelToken::new();
    let notes = Notes {
        enter: ENTER,
        note: REL,
    };
    let count = |enough: usize| {
        let mut settled = 0;
        let ended = walk(
            &read(&tree, "A/sub"),
            &on_threads(4, &cancel),
            &notes,
            |(more, _)| {
                settled += more.len();
                if settled >= enough {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        );
        (ended.unwrap(), settled)
    };
    assert_eq!(count(usize::MAX), (Ended::Complete, 102));
    let (ended, settled) = count(1);
    assert!(ended == Ended::Stopped && settled < 102, "{settled}");
    cancel.cancel();
    assert_eq!(count(usize::MAX), (Ended::Stopped, 0));
    let nothing = walk(&read(&tree, "A/f"), &on_threads(1, &cancel), &notes, |_| {
        ControlFlow::Continue(())
    });
    assert!(matches!(nothing, Err(FsError::NotADirectory { .. })));
}

#[test]
fn visitor_panic_reaches_caller() {
    let tree = Fixture::new();
    for i in 0..200 {
        std::fs::create_dir_all(tree.at(&format!("A/sub/{i}"))).unwrap();
        std::fs::write(tree.at(&format!("A/sub/{i}/x")), "").unwrap();
    }
    let cancel = CancelToken::new();
    let start = read(&tree, "A/sub");
    let note = |found: &WalkEntry<'_>| {
        assert!(found.name() != "x", "on purpose");
        String::new()
    };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let notes = Notes {
            enter: ENTER,
            note: &note,
        };
        walk(&start, &on_threads(4, &cancel), &notes, |_| {
            ControlFlow::Continue(())
        })
    }));
    assert!(caught.is_err());
}

#[test]
fn tree_is_ordered_and_truncated_at_limit() {
    let tree = Fixture::new();
    tree.link("A/out", "$O");
    let cancel = CancelToken::new();
    let listed = |max_depth, max_entries| {
        let keep = |rel: &[u8], _| rel != b"keys";
        let options = TreeOptions {
            max_depth,
            max_entries,
            skip_ignored: false,
            above: &[],
            account: None,
            keep: &keep,
            closed: &[],
            cancel: &cancel,
        };
        let tree = super::tree(&read(&tree, "A"), &options).unwrap();
        let entry = |e: TreeEntry| {
            format!(
                "{}{}{}",
                " ".repeat(e.depth - 1),
                e.name.display(),
                if e.listed { "" } else { " ..." }
            )
        };
        (
            tree.entries
                .into_iter()
                .map(entry)
                .collect::<Vec<_>>()
                .join("\n"),
            tree.truncated,
        )
    };
    assert_eq!(
        listed(9, 99),
        ("f\nout\nro\n f\nsub\n deep\n  f".into(), false)
    );
    assert_eq!(
        listed(2, 99),
        ("f\nout\nro\n f\nsub\n deep ...".into(), false)
    );
    assert_eq!(listed(9, 4), ("f\nout\nro\n f".into(), true));
    assert_eq!(
        listed(9, 7),
        ("f\nout\nro\n f\nsub\n deep\n  f".into(), false)
    );
    cancel.cancel();
    let options = TreeOptions {
        max_depth: 1,
        max_entries: 1,
        skip_ignored: false,
        above: &[],
        account: None,
        keep: &|_, _| true,
        closed: &[],
        cancel: &cancel,
    };
    assert!(matches!(
        super::tree(&read(&tree, "A"), &options),
        Err(FsError::Cancelled { .. })
    ));
}
