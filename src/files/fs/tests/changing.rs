use super::*;
use crate::fs::remove::Removed;

fn remove_path(tree: &Fixture, path: &str, recursive: bool) -> Result<Removed, FsError> {
    remove(
        &UNRECORDED,
        &entry(tree, path),
        recursive,
        &CancelToken::new(),
    )
}

#[test]
fn create_dir_creates_missing_parents() {
    let tree = Fixture::new();
    let make = |path: &str| {
        create_dir(&UNRECORDED, &tree.policy.create_dir(tree.at(path)).unwrap()).unwrap()
    };
    assert_eq!(
        (make("A/x/y/z"), make("A/x/y/z"), make("A/x/y/w/")),
        (3, 0, 1)
    );
    assert_eq!(names(&tree, "A/x/y"), ["w", "z"]);
    let late = tree.policy.create_dir(tree.at("A/late/sub")).unwrap();
    tree.link("A/late", "$O");
    assert!(matches!(
        create_dir(&UNRECORDED, &late),
        Err(FsError::NotADirectory { .. })
    ));
    assert_eq!(names(&tree, "O"), ["secret"]);
}

#[test]
fn remove_deletes_link_but_not_target() {
    let tree = Fixture::new();
    let before = outside(&tree);
    for (name, target) in [
        ("A/ln", "$O"),
        ("A/sub/out", "$O"),
        ("A/sub/deep/file", "$O/secret"),
        ("A/sub/up", ".."),
    ] {
        tree.link(name, target);
    }
    assert_eq!(
        remove_path(&tree, "A/ln", true).unwrap(),
        Removed {
            files: 1,
            directories: 0
        }
    );
    assert_eq!(
        remove_path(&tree, "A/f", false).unwrap(),
        Removed {
            files: 1,
            directories: 0
        }
    );
    assert!(matches!(
        remove_path(&tree, "A/sub", false),
        Err(FsError::NotEmpty { .. })
    ));
    assert_eq!(
        remove_path(&tree, "A/sub", true).unwrap(),
        Removed {
            files: 4,
            directories: 2
        }
    );
    std::fs::create_dir(tree.at("A/empty")).unwrap();
    assert_eq!(
        remove_path(&tree, "A/empty", false).unwrap(),
        Removed {
            files: 0,
            directories: 1
        }
    );
    assert_eq!(
        (names(&tree, "A"), outside(&tree)),
        (vec!["keys".to_string(), "ro".to_string()], before)
    );
}

#[test]
fn recursive_remove_deletes_deep_tree() {
    let tree = Fixture::new();
    dig(&tree, "A/sub", 4000);
    assert_eq!(
        remove_path(&tree, "A/sub", true).unwrap(),
        Removed {
            files: 2,
            directories: 4002
        }
    );
}

#[test]
fn recursive_remove_stops_at_protected_path() {
    let tree = Fixture::new();
    // The policy refuses this at once, but it may also happen after its check.
    let moved = entry(&tree, "A/sub");
    std::fs::rename(tree.at("A/ro"), tree.at("A/sub/ro")).unwrap();
    let error = remove(&UNRECORDED, &moved, true, &CancelToken::new()).unwrap_err();
    assert!(
        matches!(&error, FsError::Partly { source, .. } if matches!(**source, FsError::Protected { .. })),
        "{error}"
    );
    assert_eq!(text(&tree, "A/sub/ro/f"), "ro");

    std::fs::create_dir(tree.at("A/.git")).unwrap();
    let git = entry(&tree, "A/.git");
    std::fs::create_dir(tree.at("A/.git/hooks")).unwrap();
    std::fs::write(tree.at("A/.git/hooks/pre-commit"), "x").unwrap();
    assert!(matches!(
        remove(&UNRECORDED, &git, true, &CancelToken::new()),
        Err(FsError::Protected { .. })
    ));
    assert_eq!(text(&tree, "A/.git/hooks/pre-commit"), "x");
}

#[test]
fn cancelled_remove_stops() {
    let tree = Fixture::new();
    let cancel = CancelToken::new();
    cancel.cancel();
    assert!(matches!(
        remove(&UNRECORDED, &entry(&tree, "A/sub"), true, &cancel),
        Err(FsError::Cancelled { .. })
    ));
    assert_eq!(text(&tree, "A/sub/deep/f"), "A-deep");
}
