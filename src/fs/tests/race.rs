use std::ops::ControlFlow;

use super::*;
use crate::fs::write::current;
use crate::policy::tests::race::while_swapping;

/// `A/d` with a few files, and `A/out`, a link to the outside, that takes its place again and again.
fn arena() -> Fixture {
    let tree = Fixture::new();
    std::fs::create_dir_all(tree.at("A/d/in")).unwrap();
    std::fs::write(tree.at("A/d/secret"), "public").unwrap();
    std::fs::write(tree.at("A/d/in/secret"), "public").unwrap();
    tree.link("A/out", "$O");
    tree
}

#[test]
fn nothing_outside_is_written_while_links_come_and_go() {
    let tree = arena();
    let before = outside(&tree);
    let writer = Writer::default();
    let mut done = 0;
    while_swapping(&tree.at("A/d"), &tree.at("A/out"), || {
        for path in ["A/d/secret", "A/d/new", "A/d/x/y/new", "A/d/../d/secret"] {
            if let Ok(target) = tree.policy.write(tree.at(path)) {
                if let Ok(read) = current(&target, 100) {
                    assert_ne!(read.bytes, b"TOPSECRET");
                }
                done += usize::from(writer.replace(&target, b"public", None).is_ok());
            }
        }
        if let Ok(dir) = tree.policy.create_dir(tree.at("A/d/made/here")) {
            let _ = create_dir(&dir);
        }
        if let (Ok(from), Ok(to)) =
            (tree.policy.entry(tree.at("A/d/new")), tree.policy.destination(tree.at("A/d/z/moved")))
        {
            let _ = move_no_clobber(&from, &to);
        }
        if let Ok(moved) = tree.policy.entry(tree.at("A/d/z")) {
            let _ = remove(&moved, true, &CancelToken::new());
        }
    });
    assert_eq!(outside(&tree), before);
    assert!(done > 0);
}

#[test]
fn a_file_that_turns_into_a_link_is_not_written_through() {
    let tree = arena();
    std::fs::remove_file(tree.at("A/out")).unwrap();
    tree.link("A/out", "$O/secret");
    let before = outside(&tree);
    let writer = Writer::default();
    let mut done = 0;
    while_swapping(&tree.at("A/f"), &tree.at("A/out"), || {
        if let Ok(target) = tree.policy.write(tree.at("A/f")) {
            if let Ok(read) = current(&target, 100) {
                assert_eq!(read.bytes, b"A-f");
                done += usize::from(writer.replace(&target, b"A-f", Some(&read.stamp)).is_ok());
            }
        }
    });
    assert_eq!(outside(&tree), before);
    assert!(done > 0);
}

#[test]
fn nothing_outside_is_deleted_while_links_come_and_go() {
    let tree = arena();
    let before = outside(&tree);
    let mut done = 0;
    while_swapping(&tree.at("A/d"), &tree.at("A/out"), || {
        for dir in ["A/d", "A/out"] {
            let _ = std::fs::create_dir_all(tree.at(&format!("{dir}/in/deep")));
        }
        // Only made inside: `create_dir_all` above goes through the link at times, and must not count as ours.
        for path in ["A/d/in", "A/d/in/deep"] {
            if let Ok(found) = tree.policy.entry(tree.at(path)) {
                done += usize::from(remove(&found, true, &CancelToken::new()).is_ok());
            }
        }
    });
    let _ = std::fs::remove_dir_all(tree.at("O/in"));
    let stay = |all: Vec<(PathBuf, u32, i64, i64, Vec<u8>)>| {
        all.into_iter().filter(|e| e.0.ends_with("secret")).collect::<Vec<_>>()
    };
    assert_eq!(stay(outside(&tree)), stay(before));
    assert!(done > 0);
}

#[test]
fn nothing_outside_is_listed_while_links_come_and_go() {
    let tree = arena();
    std::fs::write(tree.at("O/only-outside"), "TOPSECRET").unwrap();
    let cancel = CancelToken::new();
    let options = WalkOptions {
        threads: Some(2),
        max_depth: 9,
        respect_gitignore: false,
        above: &[],
        enter: &|_| true,
        cancel: &cancel,
    };
    let listing =
        TreeOptions { max_depth: 9, max_entries: 999, respect_gitignore: false, keep: &|_, _| true, cancel: &cancel };
    let mut seen = 0;
    while_swapping(&tree.at("A/d"), &tree.at("A/out"), || {
        let walked = walk(&read(&tree, "A"), &options, |own: &mut usize, found| {
            assert!(!found.rel().ends_with(b"only-outside"));
            if let Ok(file) = found.open() {
                assert_ne!(file.read_all(99, "x".as_ref()).unwrap(), b"TOPSECRET");
                *own += usize::from(found.rel().ends_with(b"in/secret"));
            }
            ControlFlow::Continue(())
        });
        seen += walked.unwrap().collected.iter().sum::<usize>();
        let listed = super::tree(&read(&tree, "A"), &listing).unwrap();
        assert!(listed.entries.iter().all(|e| e.name != "only-outside"));
    });
    assert!(seen > 0);
}
