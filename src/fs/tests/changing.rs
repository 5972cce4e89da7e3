use super::*;
use crate::fs::remove::Removed;

fn gone(tree: &Fixture, path: &str, recursive: bool) -> Result<Removed, FsError> {
    remove(&UNTOLD, &entry(tree, path), recursive, &CancelToken::new())
}

#[test]
fn directories_are_made_with_their_parents() {
    let tree = Fixture::new();
    let make =
        |path: &str| create_dir(&UNTOLD, &tree.policy.create_dir(tree.at(path)).unwrap()).unwrap();
    assert_eq!(
        (make("A/x/y/z"), make("A/x/y/z"), make("A/x/y/w/")),
        (3, 0, 1)
    );
    assert_eq!(names(&tree, "A/x/y"), ["w", "z"]);
    let late = tree.policy.create_dir(tree.at("A/late/sub")).unwrap();
    tree.link("A/late", "$O");
    assert!(matches!(
        create_dir(&UNTOLD, &late),
        Err(FsError::NotADirectory { .. })
    ));
    assert_eq!(names(&tree, "O"), ["secret"]);
}

#[test]
fn deleting_takes_what_is_named_and_never_what_a_link_leads_to() {
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
        gone(&tree, "A/ln", true).unwrap(),
        Removed {
            files: 1,
            directories: 0
        }
    );
    assert_eq!(
        gone(&tree, "A/f", false).unwrap(),
        Removed {
            files: 1,
            directories: 0
        }
    );
    assert!(matches!(
        gone(&tree, "A/sub", false),
        Err(FsError::NotEmpty { .. })
    ));
    assert_eq!(
        gone(&tree, "A/sub", true).unwrap(),
        Removed {
            files: 4,
            directories: 2
        }
    );
    std::fs::create_dir(tree.at("A/empty")).unwrap();
    assert_eq!(
        gone(&tree, "A/empty", false).unwrap(),
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
fn deep_trees_are_deleted() {
    let tree = Fixture::new();
    dig(&tree, "A/sub", 4000);
    assert_eq!(
        gone(&tree, "A/sub", true).unwrap(),
        Removed {
            files: 2,
            directories: 4002
        }
    );
}

#[test]
fn deleting_stops_before_what_must_stay() {
    let tree = Fixture::new();
    // What the policy refuses at once may also come into being after it has looked.
    let moved = entry(&tree, "A/sub");
    std::fs::rename(tree.at("A/ro"), tree.at("A/sub/ro")).unwrap();
    let error = remove(&UNTOLD, &moved, true, &CancelToken::new()).unwrap_err();
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
        remove(&UNTOLD, &git, true, &CancelToken::new()),
        Err(FsError::Protected { .. })
    ));
    assert_eq!(text(&tree, "A/.git/hooks/pre-commit"), "x");
}

#[test]
fn deleting_can_be_stopped() {
    let tree = Fixture::new();
    let cancel = CancelToken::new();
    cancel.cancel();
    assert!(matches!(
        remove(&UNTOLD, &entry(&tree, "A/sub"), true, &cancel),
        Err(FsError::Cancelled { .. })
    ));
    assert_eq!(text(&tree, "A/sub/deep/f"), "A-deep");
}
