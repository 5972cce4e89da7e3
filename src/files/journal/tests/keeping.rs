//! Saved and unsaved data, and changes that need no record.

use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};

use super::super::{At, Change, Conflict, Id, Options, WhenFull, Writing};
use super::entries::{edit, place, refused, some, tell, texts, undo};
use super::picture::differences;
use super::property::World;

const NOT_KEPT: &str = "not stored: too large, unreadable, no space in the store, moved to a path without undo, or in \
     a directory that can be made again";

#[test]
fn new_object_needs_no_record() {
    let world = World::new();
    let store = world.store();
    let root = &world.roots[0];
    fs::write(root.join("old"), "old").unwrap();
    let mut recorder = store.begin("call").unwrap();
    tell(
        &world,
        &mut recorder,
        "new",
        super::super::recorder::Recorder::before_create,
    );
    fs::create_dir(root.join("new")).unwrap();
    let [above, dir] =
        [root.clone(), root.join("new")].map(|path| Id::of(fs::File::open(path).unwrap()).unwrap());
    let old = Id::of(fs::File::open(root.join("old")).unwrap()).unwrap();
    assert_eq!(
        [
            recorder.knows_gain(dir, "a".as_ref()),
            recorder.knows_loss(dir)
        ],
        [false, false]
    );
    edit(&world, &mut recorder, "new/a", "text");
    assert_eq!(
        [
            recorder.knows_gain(dir, "b".as_ref()),
            recorder.knows_loss(dir)
        ],
        [true, true]
    );
    let known = ["new", "b"].map(|name| recorder.knows_gain(above, name.as_ref()));
    // It exists now.
    assert_eq!((known, recorder.knows_loss(above)), ([false, false], false));
    tell(&world, &mut recorder, "new/a", |recorder, at| {
        recorder.content(at, Writing::Anywhere)
    });
    let new = Id::of(fs::File::open(root.join("new/a")).unwrap()).unwrap();
    let known = [new, old].map(|id| {
        (
            recorder.knows_content(id, Writing::Anywhere),
            recorder.knows_metadata(id),
        )
    });
    assert_eq!(known, [(true, true), (false, false)]);
    tell(&world, &mut recorder, "old", |recorder, at| {
        recorder.content(at, Writing::Appends)
    });
    let known =
        [Writing::Appends, Writing::Anywhere].map(|writing| recorder.knows_content(old, writing));
    // A small file is copied.
    assert_eq!((known, recorder.knows_metadata(old)), ([true, true], true));
    let handle = fs::File::open(root).unwrap();
    let inner = fs::File::open(root.join("new")).unwrap();
    let from = At {
        dir: handle.as_fd(),
        name: "old".as_ref(),
        root: 0,
        path: Path::new(""),
        seen: None,
    };
    let to = At {
        dir: inner.as_fd(),
        name: "moved".as_ref(),
        root: 0,
        path: Path::new("new"),
        seen: None,
    };
    recorder.before_rename(from, to, false).unwrap();
    assert!(!recorder.knows_loss(dir));
}

#[test]
fn skipped_names_are_not_recorded() {
    let world = World::new();
    let root = &world.roots[0];
    for dir in ["target", "dir"] {
        fs::create_dir(root.join(dir)).unwrap();
        fs::write(root.join(dir).join("f"), "old").unwrap();
    }
    fs::write(root.join("a"), "old").unwrap();
    let mut store = world.store();
    store.keeping.skips = Some(Arc::new(|root, path| {
        root == 0 && path.starts_with("target")
    }));
    let mut recorder = store.begin("call").unwrap();
    edit(&world, &mut recorder, "target/f", "anew");
    let handle = fs::File::open(root).unwrap();
    let target = fs::File::open(root.join("target")).unwrap();
    for name in ["a", "dir"] {
        let from = At {
            dir: handle.as_fd(),
            name: name.as_ref(),
            root: 0,
            path: Path::new(""),
            seen: None,
        };
        let to = At {
            dir: target.as_fd(),
            path: Path::new("target"),
            ..from
        };
        recorder.before_rename(from, to, false).unwrap();
        fs::rename(root.join(name), root.join("target").join(name)).unwrap();
    }
    assert!(recorder.has_skipped());
    let entry = store.end(recorder).unwrap();
    assert_eq!(
        store.changes(&entry),
        [
            (place("a"), Change::Deleted),
            (place("dir"), Change::Deleted)
        ]
    );
    assert_eq!(store.not_kept(&entry), [place("dir")]);
    assert_eq!(
        undo(&store, &[1]).conflicts,
        [Conflict {
            place: place("dir"),
            why: NOT_KEPT.into()
        }]
    );
    let options = Options {
        paths: &[place("a")],
        ..Options::default()
    };
    assert_eq!(store.undo(&[1], "undo", options).unwrap().conflicts, []);
    assert_eq!(
        texts(&world, &["a", "target/a", "target/f"]),
        [some("old"), some("old"), some("anew")]
    );
}

#[test]
fn oversized_file_is_listed_as_not_kept() {
    let world = World::new();
    let mut store = world.store();
    fs::write(world.roots[0].join("a"), "more than nothing").unwrap();
    store.keeping.most_bytes = 0;
    let mut recorder = store.begin("call").unwrap();
    edit(&world, &mut recorder, "a", "short");
    let entry = store.end(recorder).unwrap();
    let told = undo(&store, &[entry.number]);
    // A filesystem that shares blocks saves it all the same.
    if told.number.is_none() {
        assert_eq!(store.not_kept(&entry), [place("a")]);
        assert_eq!(told.conflicts, refused(NOT_KEPT));
        assert_eq!(texts(&world, &["a"]), [some("short")]);
    }
}

#[test]
fn full_disk_with_drop_policy_allows_change() {
    let world = World::new();
    let mut store = world.store();
    store.keeping.when_full = WhenFull::Drop;
    fs::write(world.roots[0].join("a"), "old").unwrap();
    let mut recorder = store.begin("call").unwrap();
    let log = recorder.log.replace_file(
        fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap(),
    );
    edit(&world, &mut recorder, "a", "anew");
    // There is space again.
    recorder.log.replace_file(log);
    let entry = store.end(recorder).unwrap();
    assert_eq!(store.not_kept(&entry), []);
    assert_eq!(undo(&world.store(), &[1]).conflicts, []);
    assert_eq!(texts(&world, &["a"]), [some("old")]);
}

#[test]
fn write_by_descriptor_copies_linked_file() {
    let world = World::new();
    let store = world.store();
    let path = world.roots[0].join("a");
    for appends in [false, true] {
        fs::write(&path, "old content").unwrap();
        let before = world.picture();
        let file = fs::OpenOptions::new()
            .read(true)
            .append(appends)
            .write(true)
            .open(&path)
            .unwrap();
        let mut recorder = store.begin("call").unwrap();
        if appends {
            tell(&world, &mut recorder, "a", |recorder, at| {
                recorder.content(at, Writing::Appends)
            });
            std::io::Write::write_all(&mut &file, b", and more").unwrap();
        }
        tell(
            &world,
            &mut recorder,
            "a",
            super::super::recorder::Recorder::before_remove,
        );
        fs::remove_file(&path).unwrap();
        recorder.metadata_of(file.as_fd(), &path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        recorder
            .content_of(file.as_fd(), &path, Writing::Anywhere)
            .unwrap();
        file.set_len(3).unwrap();
        if !appends {
            file.write_all_at(b"new", 0).unwrap();
        }
        let number = store.end(recorder).unwrap().number;
        assert_eq!(undo(&store, &[number]).conflicts, []);
        assert_eq!(differences(&before, &world.picture()), Vec::<String>::new());
    }
}

#[test]
fn write_through_old_descriptor_is_undone() {
    let world = World::new();
    let store = world.store();
    let path = world.roots[0].join("a");
    fs::write(&path, "old content").unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut recorder = store.begin("call").unwrap();
    recorder
        .content_of(file.as_fd(), &path, Writing::Anywhere)
        .unwrap();
    file.set_len(3).unwrap();
    tell(
        &world,
        &mut recorder,
        "a",
        super::super::recorder::Recorder::before_remove,
    );
    fs::remove_file(&path).unwrap();
    let number = store.end(recorder).unwrap().number;
    assert_eq!(undo(&store, &[number]).conflicts, []);
    assert_eq!(texts(&world, &["a"]), [some("old content")]);
}

#[test]
fn special_files_are_linked_without_opening() {
    let world = World::new();
    let root = &world.roots[0];
    let names = ["pipe", "socket", "device"];
    mkfifoat(CWD, root.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    // Only root can create devices; otherwise a second FIFO replaces it.
    let made = mknodat(
        CWD,
        root.join("device"),
        FileType::CharacterDevice,
        Mode::RUSR,
        makedev(1, 3),
    );
    made.or_else(|_| mkfifoat(CWD, root.join("device"), Mode::RUSR))
        .unwrap();
    let before = world.picture();
    let store = world.store();
    let mut recorder = store.begin("call").unwrap();
    for name in names {
        tell(&world, &mut recorder, name, |recorder, at| {
            recorder.content(at, Writing::Anywhere)
        });
        tell(
            &world,
            &mut recorder,
            name,
            super::super::recorder::Recorder::metadata,
        );
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o640)).unwrap();
        tell(
            &world,
            &mut recorder,
            name,
            super::super::recorder::Recorder::before_remove,
        );
        fs::remove_file(root.join(name)).unwrap();
        edit(&world, &mut recorder, name, "a file in its place");
    }
    let number = store.end(recorder).unwrap().number;
    assert_eq!(undo(&store, &[number]).conflicts, []);
    assert_eq!(differences(&before, &world.picture()), Vec::<String>::new());
    drop(socket);
}

#[test]
fn fifo_in_store_does_not_block_undo() {
    let world = World::new();
    let store = world.store();
    fs::write(world.roots[0].join("a"), "old").unwrap();
    let mut recorder = store.begin("call").unwrap();
    edit(&world, &mut recorder, "a", "anew, and longer");
    store.end(recorder).unwrap();
    let copy = world.dir.path().join("store/kept/1-1");
    fs::remove_file(&copy).unwrap();
    mkfifoat(CWD, &copy, Mode::RUSR | Mode::WUSR).unwrap();
    let error = store
        .undo(&[1], "undo", Options::default())
        .unwrap_err()
        .to_string();
    let path = world.roots[0].join("a");
    assert_eq!(
        error,
        format!(
            "journal: {}: restoring its content: No such file or directory (os error 2); the undo was rolled back, and the files are \
             as they were before it; fix the cause, then undo again",
            path.display()
        )
    );
    assert_eq!(texts(&world, &["a"]), [some("anew, and longer")]);
    let log = world.dir.path().join("store/log/1");
    fs::remove_file(&log).unwrap();
    mkfifoat(CWD, &log, Mode::RUSR | Mode::WUSR).unwrap();
    assert_eq!(store.recover().unwrap(), Vec::<u64>::new());
    assert_eq!(
        store.entry(1).unwrap_err().to_string(),
        "call 1 is not in the journal, which has calls 1 to 3; list them first"
    );
}

#[test]
fn forgotten_part_is_conflict_and_rest_is_undone() {
    let world = World::new();
    let root = &world.roots[0];
    fs::create_dir(root.join("target")).unwrap();
    for name in ["a", "target/a", "target/b", "target/linked"] {
        fs::write(root.join(name), format!("old {name}")).unwrap();
    }
    fs::hard_link(root.join("target/linked"), root.join("linked")).unwrap();
    let store = world.store();
    let mut recorder = store.begin("call").unwrap();
    for name in ["a", "target/a", "target/linked", "linked"] {
        tell(
            &world,
            &mut recorder,
            name,
            super::super::recorder::Recorder::before_remove,
        );
        fs::remove_file(root.join(name)).unwrap();
    }
    edit(&world, &mut recorder, "target/b", "new, and longer");
    let before = store.end(recorder).unwrap();

    let target = root.join("target");
    let freed = store.forget(before.number, &|path| path.starts_with(&target));
    let after = store.entry(before.number).unwrap();
    assert_eq!(freed.unwrap(), before.bytes() - after.bytes());
    assert!(after.bytes() < before.bytes());
    assert_eq!(store.forget(before.number, &|_| false).unwrap(), 0);

    let conflicts = undo(&store, &[before.number]).conflicts;
    let conflict = |name: &str| Conflict {
        place: place(name),
        why: NOT_KEPT.to_owned(),
    };
    assert_eq!(conflicts, [conflict("target/a"), conflict("target/b")]);
    let lost = [place("target/a"), place("target/b")];
    let options = Options {
        except: &lost,
        ..Options::default()
    };
    let undone = store.undo(&[before.number], "undo", options).unwrap();
    assert_eq!(undone.conflicts, []);
    assert_eq!(
        texts(&world, &["a", "target/a", "target/b", "target/linked"]),
        [
            some("old a"),
            None,
            some("new, and longer"),
            some("old target/linked")
        ]
    );
}
