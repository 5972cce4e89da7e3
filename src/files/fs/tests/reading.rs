use std::ffi::OsStr;
use std::io::Read as _;

use super::*;
use crate::fs::info::Info;
use crate::policy::FileKind;

#[test]
fn read_above_cap_fails() {
    let tree = Fixture::new();
    let file = read(&tree, "A/f");
    assert_eq!(read_all(&file, 3).unwrap(), b"A-f");
    assert_eq!(
        read_all(&file, 3).unwrap(),
        b"A-f",
        "a second time, from the beginning"
    );
    assert!(matches!(
        read_all(&file, 2),
        Err(FsError::TooLarge {
            bytes: 3,
            cap: 2,
            ..
        })
    ));
    assert!(matches!(
        read_all(&read(&tree, "A/sub"), 9),
        Err(FsError::IsDirectory { .. })
    ));
    std::fs::write(tree.at("A/empty"), "").unwrap();
    assert_eq!(read_all(&read(&tree, "A/empty"), 0).unwrap(), b"");
}

#[test]
fn cap_limits_bytes_of_growing_file() {
    let tree = Fixture::new();
    let file = read(&tree, "A/f");
    std::fs::write(tree.at("A/f"), vec![b'x'; 300_000]).unwrap();
    assert_eq!(read_all(&file, 300_000).unwrap().len(), 300_000);
    assert!(matches!(
        read_all(&file, 100_000),
        Err(FsError::TooLarge { cap: 100_000, .. })
    ));
    std::fs::write(tree.at("A/f"), "x").unwrap();
    assert_eq!(
        read_all(&file, 3).unwrap(),
        b"x",
        "it shrank after it was opened"
    );
    std::fs::File::create(tree.at("A/sparse"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert!(matches!(
        read_all(&read(&tree, "A/sparse"), 1 << 20),
        Err(FsError::TooLarge {
            bytes: 0x100_0000_0000,
            ..
        })
    ));
}

#[test]
fn readers_have_separate_positions() {
    let tree = Fixture::new();
    let file = read(&tree, "A/f");
    let (mut one, mut other) = (Reader::new(&file, 0), Reader::new(&file, 2));
    let (mut a, mut b) = (String::new(), String::new());
    other.read_to_string(&mut b).unwrap();
    one.read_to_string(&mut a).unwrap();
    assert_eq!((a.as_str(), b.as_str(), one.offset()), ("A-f", "f", 3));
}

#[test]
fn entries_are_sorted_by_bytes() {
    let tree = Fixture::new();
    for name in ["B", "a", "\u{e9}", "Z"] {
        std::fs::write(tree.at(&format!("A/sub/{name}")), "").unwrap();
    }
    tree.link("A/sub/link", "$O");
    let dir = read(&tree, "A/sub");
    let list = || {
        entries(&dir)
            .unwrap()
            .into_iter()
            .map(|e| (e.name.into_string().unwrap(), e.kind))
            .collect::<Vec<_>>()
    };
    let expected = [
        ("B", FileKind::File),
        ("Z", FileKind::File),
        ("a", FileKind::File),
        ("deep", FileKind::Directory),
        ("link", FileKind::Symlink),
        ("\u{e9}", FileKind::File),
    ];
    assert_eq!(
        list(),
        expected.map(|(name, kind)| (name.to_string(), kind))
    );
    assert_eq!(list().len(), 6, "a second time");
    assert!(matches!(
        entries(&read(&tree, "A/f")),
        Err(FsError::NotADirectory { .. })
    ));
    assert_eq!(
        entry_info(&dir, OsStr::new("link")).unwrap().kind,
        FileKind::Symlink
    );
    for name in ["..", ".", "", "deep/f", "../f", "none"] {
        assert!(
            matches!(
                entry_info(&dir, OsStr::new(name)),
                Err(FsError::NotFound { .. })
            ),
            "{name}"
        );
    }
}

#[test]
fn info_matches_system_metadata() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let tree = Fixture::new();
    std::fs::set_permissions(tree.at("A/f"), std::fs::Permissions::from_mode(0o640)).unwrap();
    tree.link("A/l", "f");
    let expected = std::fs::metadata(tree.at("A/f")).unwrap();
    let found = info(&tree.policy.look(tree.at("A/l")).unwrap()).unwrap();
    assert_eq!(
        found,
        Info {
            kind: FileKind::File,
            size: 3,
            mode: 0o640,
            owner: expected.uid(),
            group: expected.gid(),
            links: 1,
            created: expected.created().ok(),
            modified: expected.modified().unwrap(),
            accessed: expected.accessed().unwrap(),
        }
    );
    assert_eq!(info_of_open(&read(&tree, "A/f")).unwrap(), found);
}
