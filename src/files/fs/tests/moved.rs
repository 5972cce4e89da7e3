//! Directories that others move between check and change.

use rustix::fs::AtFlags;

use super::super::giving::meanwhile;
use super::*;
use crate::policy::tests::race::while_swapping;

/// Creates `A/d`, which is moved while the next name is created in it.
fn arena(to: &'static str) -> Fixture {
    let tree = Fixture::new();
    std::fs::create_dir(tree.at("A/d")).unwrap();
    let (from, to) = (tree.at("A/d"), tree.at(to));
    meanwhile::does(move || std::fs::rename(from, to).unwrap());
    tree
}

fn replace_file(tree: &Fixture, path: &str) -> Result<bool, FsError> {
    Writer::default()
        .telling(&UNRECORDED)
        .replace(&write(tree, path), [&b"evil"[..]], None)
}

#[test]
fn new_file_in_moved_directory_is_removed() {
    let tree = arena("A/.git");
    assert!(matches!(
        replace_file(&tree, "A/d/hooks"),
        Err(FsError::Protected { .. })
    ));
    assert_eq!(names(&tree, "A/.git"), [""; 0]);
    for (to, outer) in [("A/ro/d", "A/ro"), ("O/d", "O")] {
        let tree = arena(to);
        assert!(
            matches!(replace_file(&tree, "A/d/f"), Err(FsError::Changed { .. })),
            "{to}"
        );
        assert_eq!(names(&tree, to), [""; 0]);
        assert!(names(&tree, outer).contains(&"d".to_owned()));
    }
    // Allowed at the new place too.
    let tree = arena("A/e");
    replace_file(&tree, "A/d/f").unwrap();
    assert_eq!(text(&tree, "A/e/f"), "evil");
}

#[test]
fn replaced_file_in_moved_directory_is_restored() {
    for expects in [false, true] {
        let tree = arena("A/.git");
        std::fs::write(tree.at("A/d/config"), "old").unwrap();
        let target = write(&tree, "A/d/config");
        let read = current(&target, 100, None).unwrap();
        let expected = expects.then_some(&read.stamp);
        let done =
            Writer::default()
                .telling(&UNRECORDED)
                .replace(&target, [&b"evil"[..]], expected);
        assert!(matches!(done, Err(FsError::Protected { .. })), "{done:?}");
        assert_eq!(
            (
                text(&tree, "A/.git/config").as_str(),
                names(&tree, "A/.git").len()
            ),
            ("old", 1)
        );
    }
}

#[test]
fn file_set_aside_meanwhile_stays_aside() {
    let tree = Fixture::new();
    std::fs::create_dir(tree.at("A/d")).unwrap();
    std::fs::write(tree.at("A/d/config"), "old").unwrap();
    let [from, to] = ["A/d", "A/.git"].map(|path| tree.at(path));
    meanwhile::does(move || {
        std::fs::rename(&from, &to).unwrap();
        std::fs::rename(to.join("config"), to.join("config.set-aside")).unwrap();
    });
    assert!(matches!(
        replace_file(&tree, "A/d/config"),
        Err(FsError::Protected { .. })
    ));
    assert_eq!(names(&tree, "A/.git"), ["config.set-aside"]);
}

#[test]
fn new_directory_in_moved_directory_is_removed() {
    let tree = arena("A/.git");
    let made = tree.policy.create_dir(tree.at("A/d/hooks/x")).unwrap();
    assert!(matches!(
        create_dir(&UNRECORDED, &made),
        Err(FsError::Protected { .. })
    ));
    assert_eq!(names(&tree, "A/.git"), [""; 0]);
}

fn move_path(tree: &Fixture, from: &str, to: &str) -> Result<(), FsError> {
    move_no_clobber(
        &UNRECORDED,
        &entry(tree, from),
        &tree.policy.destination(tree.at(to)).unwrap(),
    )
}

#[test]
fn move_into_moved_directory_is_reverted() {
    let tree = arena("A/.git");
    assert!(matches!(
        move_path(&tree, "A/f", "A/d/hooks"),
        Err(FsError::Protected { .. })
    ));
    assert_eq!(
        (text(&tree, "A/f").as_str(), names(&tree, "A/.git").len()),
        ("A-f", 0)
    );
}

#[test]
fn move_of_directory_filled_meanwhile_is_reverted() {
    let tree = Fixture::new();
    std::fs::create_dir(tree.at("A/d")).unwrap();
    let late = tree.at("A/d/settings.json");
    meanwhile::does(move || std::fs::write(late, "evil").unwrap());
    assert!(matches!(
        move_path(&tree, "A/d", "A/.claude"),
        Err(FsError::Protected { .. })
    ));
    assert_eq!(
        (
            text(&tree, "A/d/settings.json").as_str(),
            tree.at("A/.claude").exists()
        ),
        ("evil", false)
    );
}

#[test]
fn delete_by_old_path_spares_protected_file() {
    let tree = Fixture::new();
    std::fs::create_dir_all(tree.at("A/d/e")).unwrap();
    std::fs::write(tree.at("A/d/e/config"), "mine").unwrap();
    let [file, dir] = ["A/d/e/config", "A/d/e"].map(|path| entry(&tree, path));
    std::fs::rename(tree.at("A/d"), tree.at("A/.git")).unwrap();
    assert!(matches!(
        remove(&UNRECORDED, &file, false, &CancelToken::new()),
        Err(FsError::Protected { .. })
    ));
    assert!(matches!(
        remove(&UNRECORDED, &dir, true, &CancelToken::new()),
        Err(FsError::Protected { .. })
    ));
    assert_eq!(text(&tree, "A/.git/e/config"), "mine");
}

#[test]
fn write_below_moving_directory_spares_protected_paths() {
    let tree = Fixture::new();
    std::fs::create_dir(tree.at("A/d")).unwrap();
    std::fs::create_dir(tree.at("A/.git")).unwrap();
    // By descriptor: a path could miss the directory during a swap.
    let dirs = ["A/d", "A/.git"].map(|dir| std::fs::File::open(tree.at(dir)).unwrap());
    let mut refused = 0;
    while_swapping(&tree.at("A/d"), &tree.at("A/.git"), || {
        let Ok(target) = tree.policy.write(tree.at("A/d/hooks")) else {
            return false;
        };
        let done = Writer::default()
            .telling(&UNRECORDED)
            .replace(&target, [&b"evil"[..]], None);
        let made = dirs
            .each_ref()
            .map(|dir| rustix::fs::unlinkat(dir, "hooks", AtFlags::empty()).is_ok());
        if done.is_err() {
            refused += 1;
            assert_eq!(made, [false; 2], "{done:?}");
        }
        done.is_ok() && refused > 0
    });
}
