use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    FileType, FlockOperation, Timespec, Timestamps, XattrFlags, flock, fsetxattr, futimens,
    getxattr, mknodat,
};

use super::*;
use crate::fs::current;
use crate::fs::sweep::Sweeper;

fn mode(tree: &Fixture, path: &str) -> u32 {
    std::fs::metadata(tree.at(path)).unwrap().mode() & 0o7777
}

fn chmod(tree: &Fixture, path: &str, mode: u32) {
    std::fs::set_permissions(tree.at(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn new_file_gets_parents_and_default_mode() {
    let tree = Fixture::new();
    let writer = Writer::default();
    assert!(
        writer
            .telling(&UNRECORDED)
            .replace(&write(&tree, "A/x/y/new"), [&b"1"[..]], None)
            .unwrap()
    );
    std::fs::write(tree.at("A/ordinary"), "").unwrap();
    assert_eq!(
        (text(&tree, "A/x/y/new").as_str(), mode(&tree, "A/x/y/new")),
        ("1", mode(&tree, "A/ordinary"))
    );
    assert_eq!(names(&tree, "A/x/y"), ["new"]);
    assert!(
        !writer
            .telling(&UNRECORDED)
            .replace(&write(&tree, "A/x/y/new"), [&b"22"[..]], None)
            .unwrap()
    );
    assert_eq!(text(&tree, "A/x/y/new"), "22");
}

#[test]
fn replaced_file_keeps_attributes_without_set_id() {
    let tree = Fixture::new();
    let file = std::fs::File::open(tree.at("A/f")).unwrap();
    let has_xattrs = fsetxattr(&file, "user.note", b"kept", XattrFlags::empty()).is_ok();
    chmod(&tree, "A/f", 0o4751);
    let owner = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(tree.at("A/f"), Some(1234), Some(4321)).unwrap();
        chmod(&tree, "A/f", 0o4751);
        (1234, 4321)
    } else {
        let meta = file.metadata().unwrap();
        (meta.uid(), meta.gid())
    };
    Writer::default()
        .telling(&UNRECORDED)
        .replace(&write(&tree, "A/f"), [&b"new"[..]], None)
        .unwrap();
    let meta = std::fs::metadata(tree.at("A/f")).unwrap();
    assert_eq!(
        (
            text(&tree, "A/f").as_str(),
            meta.mode() & 0o7777,
            (meta.uid(), meta.gid())
        ),
        ("new", 0o751, owner)
    );
    if has_xattrs {
        let mut value = [0; 8];
        let length = getxattr(tree.at("A/f"), "user.note", &mut value).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
}

#[test]
fn replace_keeps_content_of_other_hard_link() {
    let tree = Fixture::new();
    std::fs::hard_link(tree.at("O/secret"), tree.at("A/hard")).unwrap();
    tree.link("A/soft", "sub/deep/f");
    tree.link("A/dangling", "sub/made");
    let before = outside(&tree);
    let writer = Writer::default();
    for path in ["A/hard", "A/soft", "A/dangling"] {
        writer
            .telling(&UNRECORDED)
            .replace(&write(&tree, path), [&b"new"[..]], None)
            .unwrap();
    }
    assert_eq!(outside(&tree), before);
    assert_eq!(
        ["A/hard", "A/sub/deep/f", "A/sub/made"].map(|p| text(&tree, p)),
        ["new", "new", "new"]
    );
    assert!(
        std::fs::symlink_metadata(tree.at("A/soft"))
            .unwrap()
            .is_symlink()
    );
    assert!(
        std::fs::symlink_metadata(tree.at("A/dangling"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn replace_of_special_file_fails_without_leftovers() {
    let tree = Fixture::new();
    mknodat(CWD, tree.at("A/fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let writer = Writer::default();
    assert!(matches!(
        writer
            .telling(&UNRECORDED)
            .replace(&write(&tree, "A/fifo"), [&b"x"[..]], None),
        Err(FsError::Special { .. })
    ));
    assert!(matches!(
        current(&write(&tree, "A/fifo"), 9, None),
        Err(FsError::Special { .. })
    ));
    let became_dir = write(&tree, "A/new");
    std::fs::create_dir(tree.at("A/new")).unwrap();
    assert!(matches!(
        writer
            .telling(&UNRECORDED)
            .replace(&became_dir, [&b"x"[..]], None),
        Err(FsError::IsDirectory { .. })
    ));
    let became_link = write(&tree, "A/late");
    tree.link("A/late", "$O/secret");
    assert!(matches!(
        writer
            .telling(&UNRECORDED)
            .replace(&became_link, [&b"x"[..]], None),
        Err(FsError::Special { .. })
    ));
    let parent_became_link = write(&tree, "A/way/new");
    tree.link("A/way", "$O");
    assert!(matches!(
        writer
            .telling(&UNRECORDED)
            .replace(&parent_became_link, [&b"x"[..]], None),
        Err(FsError::NotADirectory { .. })
    ));
    assert_eq!(
        names(&tree, "A"),
        ["f", "fifo", "keys", "late", "new", "ro", "sub", "way"]
    );
    assert_eq!(names(&tree, "O"), ["secret"]);
}

#[test]
fn replace_detects_change_until_rename() {
    let tree = Fixture::new();
    let writer = Writer::default();
    let target = write(&tree, "A/f");
    let read = current(&target, 100, None).unwrap();
    assert_eq!(read.bytes, b"A-f");
    let prepared = writer
        .telling(&UNRECORDED)
        .prepare(&target, [&b"mine"[..]], Some(&read.stamp))
        .unwrap();
    std::fs::write(tree.at("A/f"), "theirs").unwrap();
    assert!(matches!(
        commit_all(vec![prepared], None),
        Err(FsError::Changed { .. })
    ));
    assert!(matches!(
        writer
            .telling(&UNRECORDED)
            .replace(&target, [&b"mine"[..]], Some(&read.stamp)),
        Err(FsError::Changed { .. })
    ));
    assert_eq!(
        (text(&tree, "A/f").as_str(), names(&tree, "A").len()),
        ("theirs", 4)
    );
    let read = current(&target, 100, None).unwrap();
    writer
        .telling(&UNRECORDED)
        .replace(&target, [&b"mine"[..]], Some(&read.stamp))
        .unwrap();
    assert_eq!(
        (text(&tree, "A/f").as_str(), names(&tree, "A").len()),
        ("mine", 4)
    );
    let new = writer
        .telling(&UNRECORDED)
        .prepare(&write(&tree, "A/new"), [&b"mine"[..]], None)
        .unwrap();
    std::fs::write(tree.at("A/new"), "theirs").unwrap();
    assert!(matches!(
        commit_all(vec![new], None),
        Err(FsError::Changed { .. })
    ));
    assert_eq!(text(&tree, "A/new"), "theirs");
    assert!(matches!(
        current(&write(&tree, "A/none/x"), 9, None),
        Err(FsError::NotFound { .. })
    ));
}

#[test]
fn commit_all_is_atomic() {
    let tree = Fixture::new();
    let writer = Writer::default();
    let inode = |path| std::fs::metadata(tree.at(path)).unwrap().ino();
    let before = inode("A/f");
    let prepare = |path: &str| {
        writer
            .telling(&UNRECORDED)
            .prepare(&write(&tree, path), [&b"new"[..]], None)
            .unwrap()
    };

    drop(prepare("A/f"));
    assert_eq!(
        (text(&tree, "A/f").as_str(), names(&tree, "A").len()),
        ("A-f", 4)
    );

    let (old, new) = (
        prepare("A/f").commit().unwrap(),
        prepare("A/added").commit().unwrap(),
    );
    assert_eq!(
        (text(&tree, "A/f").as_str(), text(&tree, "A/added").as_str()),
        ("new", "new")
    );
    assert_eq!(
        (new.take_back().unwrap(), old.take_back().unwrap()),
        (true, true)
    );
    assert_eq!(
        (
            text(&tree, "A/f").as_str(),
            inode("A/f"),
            names(&tree, "A").len()
        ),
        ("A-f", before, 4)
    );

    let both = vec![prepare("A/f"), prepare("A/added")];
    std::fs::write(tree.at("A/added"), "theirs").unwrap();
    assert!(matches!(
        commit_all(both, None),
        Err(FsError::Changed { .. })
    ));
    assert_eq!(
        (
            text(&tree, "A/f").as_str(),
            inode("A/f"),
            text(&tree, "A/added").as_str()
        ),
        ("A-f", before, "theirs")
    );

    std::fs::remove_file(tree.at("A/added")).unwrap();
    commit_all(vec![prepare("A/f"), prepare("A/added")], None).unwrap();
    assert_eq!(
        (text(&tree, "A/f").as_str(), text(&tree, "A/added").as_str()),
        ("new", "new")
    );
    assert_eq!(names(&tree, "A"), ["added", "f", "keys", "ro", "sub"]);
}

#[test]
fn sweep_removes_only_leftover_temp_files() {
    let tree = Fixture::new();
    let make = |name: &str, age: u64| {
        let file = std::fs::File::create(tree.at(&format!("A/sub/{name}"))).unwrap();
        let then = (SystemTime::now() - Duration::from_secs(age))
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let then = Timespec {
            tv_sec: then.as_secs().try_into().unwrap(),
            tv_nsec: 0,
        };
        futimens(
            &file,
            &Timestamps {
                last_access: then,
                last_modification: then,
            },
        )
        .unwrap();
        file
    };
    make(".replay-tmp-0123456789abcdef", 120);
    make(".replay-tmp-0123456789abcde0", 5);
    make(".replay-tmp-0123456789abcde", 120);
    make(".replay-tmp-0123456789abcdeg", 120);
    let held = make(".replay-tmp-0123456789abcde1", 120);
    flock(&held, FlockOperation::LockShared).unwrap();
    let writer = Writer::default();
    let kept = [
        ".replay-tmp-0123456789abcde",
        ".replay-tmp-0123456789abcde0",
        ".replay-tmp-0123456789abcde1",
        ".replay-tmp-0123456789abcdeg",
        "deep",
        "new",
    ];
    writer
        .telling(&UNRECORDED)
        .replace(&write(&tree, "A/sub/new"), [&b""[..]], None)
        .unwrap();
    assert_eq!(names(&tree, "A/sub"), kept);
    drop(held);
    writer
        .telling(&UNRECORDED)
        .replace(&write(&tree, "A/sub/new"), [&b""[..]], None)
        .unwrap();
    assert_eq!(names(&tree, "A/sub"), kept, "not at each write");
    // Files that were too recent, or locked, are swept later.
    let (sweeper, target, now) = (
        Sweeper::default(),
        write(&tree, "A/sub/new"),
        SystemTime::now(),
    );
    let held = make(".replay-tmp-0123456789abcde1", 120);
    flock(&held, FlockOperation::LockShared).unwrap();
    sweeper.write_at(target.dir(), now);
    drop(held);
    sweeper.write_at(target.dir(), now + Duration::from_secs(59));
    assert_eq!(names(&tree, "A/sub"), kept);
    sweeper.write_at(target.dir(), now + Duration::from_secs(61));
    assert_eq!(names(&tree, "A/sub"), [kept[0], kept[3], kept[4], kept[5]]);
}

#[test]
fn parallel_changes_of_file_are_kept() {
    let tree = Fixture::new();
    std::fs::write(tree.at("A/f"), "0").unwrap();
    tree.link("A/same", "sub/../f");
    let writer = Writer::default();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (writer, tree) = (&writer, &tree);
            scope.spawn(move || {
                for _ in 0..25 {
                    let target = write(tree, if thread % 2 == 0 { "A/f" } else { "A/same" });
                    let _lock = writer.lock(&target);
                    let read = current(&target, 100, None).unwrap();
                    let number: u32 = String::from_utf8(read.bytes).unwrap().parse().unwrap();
                    writer
                        .telling(&UNRECORDED)
                        .replace(
                            &target,
                            [(number + 1).to_string().as_bytes()],
                            Some(&read.stamp),
                        )
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(
        (text(&tree, "A/f").as_str(), names(&tree, "A").len()),
        ("100", 5)
    );
}

#[test]
fn lock_all_never_deadlocks() {
    let tree = Fixture::new();
    let writer = Writer::default();
    let targets: Vec<_> = (0..40).map(|i| write(&tree, &format!("A/n{i}"))).collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (writer, targets) = (&writer, &targets);
            scope.spawn(move || {
                for round in 0..200 {
                    let mut all: Vec<&dyn locks::Lockable> =
                        targets.iter().map(|t| t as &dyn locks::Lockable).collect();
                    all.rotate_left((thread * 7 + round) % 40);
                    let _lock = writer.lock_all(&all[..10]);
                }
            });
        }
    });
}

/// Uses a full disk, if the tests may mount one.
#[test]
fn full_disk_keeps_old_file() {
    let tree = Fixture::new();
    let at = tree.at("A/small");
    std::fs::create_dir(&at).unwrap();
    let mount = |args: &[&str]| {
        let status = std::process::Command::new(args[0])
            .args(&args[1..])
            .arg(&at)
            .stderr(std::process::Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    }
    let writer = Writer::default();
    writer
        .telling(&UNRECORDED)
        .replace(&write(&tree, "A/small/f"), [&b"old"[..]], None)
        .unwrap();
    let error = writer
        .telling(&UNRECORDED)
        .replace(
            &write(&tree, "A/small/f"),
            [vec![b'x'; 1 << 20].as_slice()],
            None,
        )
        .unwrap_err();
    let left = (text(&tree, "A/small/f"), names(&tree, "A/small"));
    assert!(mount(&["umount"]));
    assert!(matches!(error, FsError::NoSpace { .. }), "{error}");
    assert_eq!(left, ("old".to_string(), vec!["f".to_string()]));
}
