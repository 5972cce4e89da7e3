//! A hidden file of the operator below an allowed directory: recognised by path and by inode.

use std::os::unix::fs::MetadataExt;

use pretty_assertions::assert_eq;

use super::*;
use crate::policy::{Access, Grant, Hidden, Policy, PolicyError, Restrictions};

/// Returns a policy over `A` in which `A/sub/log` is hidden.
fn hiding(tree: &Fixture) -> Policy {
    std::fs::create_dir_all(tree.at("A/sub")).unwrap();
    std::fs::write(tree.at("A/sub/log"), "secret").unwrap();
    let known = std::fs::metadata(tree.at("A/sub/log")).unwrap();
    let hidden = Hidden {
        path: tree.at("A/sub/log"),
        id: (known.dev(), known.ino()),
    };
    let grant = Grant {
        path: tree.at("A"),
        access: Access::ReadWrite,
    };
    Policy::open_with(
        &[grant],
        &Restrictions {
            hidden: &[hidden],
            ..Restrictions::default()
        },
    )
    .unwrap()
}

fn is_hidden<T>(result: &Result<T, PolicyError>) -> bool {
    matches!(result, Err(PolicyError::Hidden { .. }))
}

/// Returns for each operation on this path whether it is denied as hidden.
fn denied(policy: &Policy, path: &std::path::Path) -> [bool; 6] {
    [
        is_hidden(&policy.read(path)),
        is_hidden(&policy.look(path)),
        is_hidden(&policy.write(path)),
        is_hidden(&policy.entry(path)),
        is_hidden(&policy.destination(path)),
        is_hidden(&policy.create_dir(path)),
    ]
}

fn listed(policy: &Policy, path: &std::path::Path) -> Vec<String> {
    let dir = policy.read(path).unwrap();
    let listed = entries(&dir).unwrap();
    let mut names: Vec<String> = listed
        .into_iter()
        .map(|entry| entry.name.into_string().unwrap())
        .collect();
    let cancel = CancelToken::new();
    let options = TreeOptions {
        max_depth: 1,
        max_entries: 100,
        skip_ignored: false,
        above: &[],
        account: None,
        keep: &|_, _| true,
        closed: &[],
        cancel: &cancel,
    };
    let walked = super::tree(&dir, &options).unwrap().entries;
    let walked: Vec<String> = walked
        .into_iter()
        .map(|entry| entry.name.into_string().unwrap())
        .collect();
    assert_eq!(names, walked);
    names.sort();
    names
}

#[test]
fn hidden_path_is_denied_for_every_operation() {
    let tree = Fixture::new();
    let policy = hiding(&tree);
    std::fs::write(tree.at("A/sub/other"), "").unwrap();
    tree.link("A/link", "sub/log");
    assert_eq!(denied(&policy, &tree.at("A/sub/log")), [true; 6]);
    assert_eq!(denied(&policy, &tree.at("A/sub/../sub/log")), [true; 6]);
    // The link itself is not hidden.
    assert_eq!(
        denied(&policy, &tree.at("A/link")),
        [true, true, true, false, false, true]
    );
    assert!(is_hidden(&policy.write(tree.at("A/sub/log/x"))));
    assert!(!listed(&policy, &tree.at("A/sub")).contains(&"log".to_owned()));
    assert!(listed(&policy, &tree.at("A/sub")).contains(&"other".to_owned()));
    assert!(matches!(
        policy.entry(tree.at("A/sub")),
        Err(PolicyError::Protected { .. })
    ));
    // Also if nothing has the name any more.
    std::fs::remove_file(tree.at("A/sub/log")).unwrap();
    assert_eq!(
        denied(&policy, &tree.at("A/sub/log"))[2..],
        [true, true, true, true]
    );
}

#[test]
fn file_replacing_hidden_file_is_hidden() {
    let tree = Fixture::new();
    let policy = hiding(&tree);
    std::fs::write(tree.at("A/new"), "new").unwrap();
    // Otherwise the next file could get its inode number.
    let _first = std::fs::File::open(tree.at("A/sub/log")).unwrap();
    std::fs::rename(tree.at("A/new"), tree.at("A/sub/log")).unwrap();
    tree.link("A/link", "sub/log");
    assert_eq!(denied(&policy, &tree.at("A/sub/log")), [true; 6]);
    assert_eq!(denied(&policy, &tree.at("A/sub/../sub/log")), [true; 6]);
    assert_eq!(
        denied(&policy, &tree.at("A/link")),
        [true, true, true, false, false, true]
    );
    assert!(!listed(&policy, &tree.at("A/sub")).contains(&"log".to_owned()));
    // The same name in another directory is not hidden.
    std::fs::write(tree.at("A/log"), "").unwrap();
    assert_eq!(denied(&policy, &tree.at("A/log")), [false; 6]);
    assert!(listed(&policy, &tree.at("A")).contains(&"log".to_owned()));
}

#[test]
fn moved_hidden_file_stays_hidden() {
    let tree = Fixture::new();
    let policy = hiding(&tree);
    std::fs::create_dir_all(tree.at("A/moved")).unwrap();
    std::fs::rename(tree.at("A/sub/log"), tree.at("A/moved/name")).unwrap();
    assert_eq!(denied(&policy, &tree.at("A/moved/name")), [true; 6]);
    assert_eq!(listed(&policy, &tree.at("A/moved")), [""; 0]);
    let entry = policy.entry(tree.at("A/moved")).unwrap();
    assert!(matches!(
        remove(&UNRECORDED, &entry, true, &CancelToken::new()),
        Err(FsError::Protected { .. })
    ));
    std::fs::hard_link(tree.at("A/moved/name"), tree.at("A/second")).unwrap();
    assert_eq!(denied(&policy, &tree.at("A/second")), [true; 6]);
    assert_eq!(
        std::fs::read_to_string(tree.at("A/second")).unwrap(),
        "secret"
    );
}
