use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;
use crate::policy::{Access, Grant, Policy};

fn move_path(tree: &Fixture, from: &str, to: &str) -> Result<(), FsError> {
    move_no_clobber(
        &UNRECORDED,
        &entry(tree, from),
        &tree.policy.destination(tree.at(to)).unwrap(),
    )
}

#[test]
fn move_never_overwrites_existing_file() {
    let tree = Fixture::new();
    let before = outside(&tree);
    tree.link("A/ln", "$O/secret");
    std::fs::write(tree.at("A/other"), "other").unwrap();
    let error = move_path(&tree, "A/f", "A/other").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "`{}` already exists; nothing was overwritten",
            tree.at("A/other").display()
        )
    );
    assert!(matches!(
        move_path(&tree, "A/f", "A/ln"),
        Err(FsError::AlreadyExists { .. })
    ));
    assert!(matches!(
        move_path(&tree, "A/f", "A/sub/"),
        Err(FsError::NotADirectory { .. })
    ));
    assert!(matches!(
        move_path(&tree, "A/f", "A/new/"),
        Err(FsError::NotADirectory { .. })
    ));
    assert!(matches!(
        move_path(&tree, "A/sub", "A/sub/deep/x"),
        Err(FsError::IntoItself { .. })
    ));
    move_path(&tree, "A/ln", "A/moved").unwrap();
    move_path(&tree, "A/f", "R/rw/x/y/f").unwrap();
    move_path(&tree, "A/sub", "A/dir/").unwrap();
    assert_eq!(
        std::fs::read_link(tree.at("A/moved")).unwrap(),
        tree.at("O/secret")
    );
    assert_eq!(
        (
            text(&tree, "R/rw/x/y/f").as_str(),
            text(&tree, "A/dir/deep/f").as_str()
        ),
        ("A-f", "A-deep")
    );
    assert_eq!(
        (names(&tree, "A"), outside(&tree)),
        (
            ["dir", "keys", "moved", "other", "ro"]
                .map(String::from)
                .to_vec(),
            before
        )
    );
}

#[test]
fn move_cannot_create_protected_path() {
    let tree = Fixture::new();
    for dir in ["A/sub/hooks", "A/plain"] {
        std::fs::create_dir(tree.at(dir)).unwrap();
    }
    tree.link("A/ln", "sub");
    for from in ["A/sub", "A/ln", "A/f"] {
        assert!(
            matches!(
                move_path(&tree, from, "A/.git"),
                Err(FsError::Protected { .. })
            ),
            "{from}"
        );
    }
    // Git writes through links, so no directory becomes one.
    assert!(matches!(
        move_path(&tree, "A/plain", "A/.git"),
        Err(FsError::Protected { .. })
    ));
    move_path(&tree, "A/plain", "A/.claude").unwrap();
    assert_eq!(
        names(&tree, "A"),
        [".claude", "f", "keys", "ln", "ro", "sub"]
    );
}

/// Checks operations that were opened before their directory became the parent of a protected path.
#[test]
fn write_after_parent_move_spares_protected_path() {
    let tree = Fixture::new();
    std::fs::create_dir(tree.at("A/d")).unwrap();
    let writer = Writer::default();
    let [early, late, other] =
        ["A/d/hooks/pre-commit", "A/d/hooks", "A/d/fine"].map(|path| write(&tree, path));
    let prepared = writer
        .telling(&UNRECORDED)
        .prepare(&late, [&b"evil"[..]], None)
        .unwrap();
    let made = tree.policy.create_dir(tree.at("A/d/hooks/x")).unwrap();
    let destination = tree.policy.destination(tree.at("A/d/hooks")).unwrap();
    let again = tree.policy.destination(tree.at("A/.claude")).unwrap();
    move_path(&tree, "A/d", "A/.claude").unwrap();
    assert!(matches!(
        writer
            .telling(&UNRECORDED)
            .replace(&early, [&b"evil"[..]], None),
        Err(FsError::Protected { .. })
    ));
    assert!(matches!(prepared.commit(), Err(FsError::Protected { .. })));
    assert!(matches!(
        create_dir(&UNRECORDED, &made),
        Err(FsError::Protected { .. })
    ));
    assert!(matches!(
        move_no_clobber(&UNRECORDED, &entry(&tree, "A/f"), &destination),
        Err(FsError::Protected { .. })
    ));
    assert!(matches!(
        move_no_clobber(&UNRECORDED, &entry(&tree, "A/sub"), &again),
        Err(FsError::AlreadyExists { .. })
    ));
    assert_eq!(names(&tree, "A/.claude"), [""; 0]);
    // A path without a rule is created by descriptor in the requested directory.
    writer
        .telling(&UNRECORDED)
        .replace(&other, [&b"fine"[..]], None)
        .unwrap();
    assert_eq!(names(&tree, "A/.claude"), ["fine"]);
}

#[test]
fn move_to_other_filesystem_keeps_attributes() {
    let tree = Fixture::new();
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: no second filesystem");
        return;
    };
    let other = std::fs::canonicalize(elsewhere.path()).unwrap();
    if std::fs::metadata(&other).unwrap().dev() == std::fs::metadata(&tree.base).unwrap().dev() {
        eprintln!("skipped: /dev/shm is on the same filesystem");
        return;
    }
    let grant = |path: PathBuf| Grant {
        path,
        access: Access::ReadWrite,
    };
    let policy = Policy::open(&[grant(tree.at("A")), grant(other.clone())], &[]).unwrap();
    std::fs::set_permissions(tree.at("A/f"), std::fs::Permissions::from_mode(0o741)).unwrap();
    let before = std::fs::metadata(tree.at("A/f")).unwrap();
    tree.link("A/ln", "somewhere");
    let move_path = |from: &str, to: &str| {
        move_no_clobber(
            &UNRECORDED,
            &policy.entry(tree.at(from)).unwrap(),
            &policy.destination(other.join(to)).unwrap(),
        )
    };
    move_path("A/f", "x/f").unwrap();
    move_path("A/ln", "ln").unwrap();
    let after = std::fs::metadata(other.join("x/f")).unwrap();
    let what = |meta: &std::fs::Metadata| {
        (
            meta.mode(),
            meta.uid(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.size(),
        )
    };
    assert_eq!(what(&after), what(&before));
    assert_eq!(std::fs::read_to_string(other.join("x/f")).unwrap(), "A-f");
    assert_eq!(
        std::fs::read_link(other.join("ln")).unwrap(),
        PathBuf::from("somewhere")
    );
    assert!(matches!(
        move_path("A/sub", "sub"),
        Err(FsError::OtherFilesystem { .. })
    ));
    std::fs::write(tree.at("A/again"), "").unwrap();
    assert!(matches!(
        move_path("A/again", "x/f"),
        Err(FsError::AlreadyExists { .. })
    ));
    assert_eq!(names(&tree, "A"), ["again", "keys", "ro", "sub"]);
    assert_eq!(std::fs::read_dir(other.join("x")).unwrap().count(), 1);
}
