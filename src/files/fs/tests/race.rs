use super::*;
use crate::fs::current;
use crate::policy::tests::race::while_swapping;

/// Creates `A/d` with a few files, and `A/out`, a link to the outside, that repeatedly replaces it.
fn arena() -> Fixture {
    let tree = Fixture::new();
    std::fs::create_dir_all(tree.at("A/d/in")).unwrap();
    std::fs::write(tree.at("A/d/secret"), "public").unwrap();
    std::fs::write(tree.at("A/d/in/secret"), "public").unwrap();
    tree.link("A/out", "$O");
    tree
}

#[test]
fn write_during_link_swaps_stays_inside() {
    let tree = arena();
    let before = outside(&tree);
    let writer = Writer::default();
    let mut done = 0;
    while_swapping(&tree.at("A/d"), &tree.at("A/out"), || {
        for path in ["A/d/secret", "A/d/new", "A/d/x/y/new", "A/d/../d/secret"] {
            if let Ok(target) = tree.policy.write(tree.at(path)) {
                if let Ok(read) = current(&target, 100, None) {
                    assert_ne!(read.bytes, b"TOPSECRET");
                }
                done += usize::from(
                    writer
                        .telling(&UNRECORDED)
                        .replace(&target, [&b"public"[..]], None)
                        .is_ok(),
                );
            }
        }
        if let Ok(dir) = tree.policy.create_dir(tree.at("A/d/made/here")) {
            let _ = create_dir(&UNRECORDED, &dir);
        }
        if let (Ok(from), Ok(to)) = (
            tree.policy.entry(tree.at("A/d/new")),
            tree.policy.destination(tree.at("A/d/z/moved")),
        ) {
            let _ = move_no_clobber(&UNRECORDED, &from, &to);
        }
        if let Ok(moved) = tree.policy.entry(tree.at("A/d/z")) {
            let _ = remove(&UNRECORDED, &moved, true, &CancelToken::new());
        }
        done > 0
    });
    assert_eq!(outside(&tree), before);
}

#[test]
fn write_never_follows_link_replacing_file() {
    let tree = arena();
    std::fs::remove_file(tree.at("A/out")).unwrap();
    tree.link("A/out", "$O/secret");
    let before = outside(&tree);
    let writer = Writer::default();
    while_swapping(&tree.at("A/f"), &tree.at("A/out"), || {
        let Ok(target) = tree.policy.write(tree.at("A/f")) else {
            return false;
        };
        let Ok(read) = current(&target, 100, None) else {
            return false;
        };
        assert_eq!(read.bytes, b"A-f");
        writer
            .telling(&UNRECORDED)
            .replace(&target, [&b"A-f"[..]], Some(&read.stamp))
            .is_ok()
    });
    assert_eq!(outside(&tree), before);
}

#[test]
fn remove_during_link_swaps_stays_inside() {
    let tree = arena();
    std::fs::create_dir_all(tree.at("O/in/deep/kept")).unwrap();
    let before = outside(&tree);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let inside = openat(CWD, tree.at("A/d"), flags, Mode::empty()).unwrap();
    let mut done = 0;
    while_swapping(&tree.at("A/d"), &tree.at("A/out"), || {
        for dir in ["in", "in/deep", "in/deep/kept"] {
            let _ = mkdirat(&inside, dir, Mode::RWXU);
        }
        for path in ["A/d/in/deep", "A/d/in", "A/d/../d/in"] {
            if let Ok(found) = tree.policy.entry(tree.at(path)) {
                done += usize::from(remove(&UNRECORDED, &found, true, &CancelToken::new()).is_ok());
            }
        }
        done > 0
    });
    assert_eq!(outside(&tree), before);
}

/// The swap happens below the deleted directory, so it races the recursive delete itself.
#[test]
fn recursive_remove_never_follows_new_link() {
    let tree = arena();
    std::fs::create_dir_all(tree.at("O/in/deep/kept")).unwrap();
    let before = outside(&tree);
    while_swapping(&tree.at("A/t/d"), &tree.at("A/t/ln"), || {
        for dir in ["A/t", "A/t/d"] {
            let _ = mkdirat(CWD, tree.at(dir), Mode::RWXU);
        }
        let _ = rustix::fs::symlinkat(tree.at("O"), CWD, tree.at("A/t/ln"));
        tree.policy
            .entry(tree.at("A/t"))
            .is_ok_and(|found| remove(&UNRECORDED, &found, true, &CancelToken::new()).is_ok())
    });
    assert_eq!(outside(&tree), before);
}

#[test]
fn walk_during_link_swaps_stays_inside() {
    let tree = arena();
    std::fs::write(tree.at("O/only-outside"), "TOPSECRET").unwrap();
    let cancel = CancelToken::new();
    let options = super::walking::on_threads(2, &cancel);
    let secrets = |found: &WalkEntry<'_>| {
        assert!(!found.rel().ends_with(b"only-outside"));
        if let Ok(file) = found.open() {
            assert_ne!(file.read_all(99, "x".as_ref()).unwrap(), b"TOPSECRET");
            return if found.rel().ends_with(b"in/secret") {
                "secret"
            } else {
                ""
            }
            .to_owned();
        }
        String::new()
    };
    let listing = TreeOptions {
        max_depth: 9,
        max_entries: 999,
        skip_ignored: false,
        above: &[],
        account: None,
        keep: &|_, _| true,
        closed: &[],
        cancel: &cancel,
    };
    let mut seen = 0;
    while_swapping(&tree.at("A/d"), &tree.at("A/out"), || {
        let notes = super::walking::Notes {
            enter: &|_| true,
            note: &secrets,
        };
        let (noted, _) = super::walking::walked(&read(&tree, "A"), &options, &notes);
        seen += noted.iter().filter(|note| *note == "secret").count();
        let listed = super::tree(&read(&tree, "A"), &listing).unwrap();
        assert!(listed.entries.iter().all(|e| e.name != "only-outside"));
        seen > 0
    });
}
