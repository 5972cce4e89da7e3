//! Single entries and their reports.

use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::super::{
    At, Bounds, Bytes, Change, Conflict, JournalError, Options, Outcome, Recorder, RootedPath,
    Store, Writing,
};
use super::picture::differences;
use super::property::World;

pub(super) fn place(path: &str) -> RootedPath {
    RootedPath {
        root: 0,
        path: Bytes(path.into()),
    }
}

/// Announces a change of a name in the first root.
pub(super) fn tell(
    world: &World,
    recorder: &mut Recorder,
    path: &str,
    note: impl FnOnce(&mut Recorder, At<'_>) -> Result<(), JournalError>,
) {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let handle = fs::File::open(world.roots[0].join(dir)).unwrap();
    note(
        recorder,
        At {
            dir: handle.as_fd(),
            name: name.as_ref(),
            root: 0,
            path: Path::new(dir),
            seen: None,
        },
    )
    .unwrap();
}

pub(super) fn edit(world: &World, recorder: &mut Recorder, path: &str, text: &str) {
    tell(
        world,
        recorder,
        path,
        super::super::recorder::Recorder::before_create,
    );
    tell(world, recorder, path, |recorder, at| {
        recorder.content(at, Writing::Anywhere)
    });
    fs::write(world.roots[0].join(path), text).unwrap();
}

/// Makes a call that writes these files.
pub(super) fn call(world: &World, store: &Store, title: &str, files: &[(&str, &str)]) -> u64 {
    let mut recorder = store.begin(title).unwrap();
    for (path, text) in files {
        edit(world, &mut recorder, path, text);
    }
    store.end(recorder).unwrap().number
}

pub(super) fn texts(world: &World, paths: &[&str]) -> Vec<Option<String>> {
    paths
        .iter()
        .map(|path| fs::read_to_string(world.roots[0].join(path)).ok())
        .collect()
}

#[expect(clippy::unnecessary_wraps, reason = "what is compared is an option")]
pub(super) fn some(text: &str) -> Option<String> {
    Some(text.into())
}

pub(super) fn undo(store: &Store, numbers: &[u64]) -> Outcome {
    store.undo(numbers, "undo", Options::default()).unwrap()
}

pub(super) fn refused(why: &str) -> Vec<Conflict> {
    vec![Conflict {
        place: place("a"),
        why: why.into(),
    }]
}

#[test]
fn entry_lists_all_changes() {
    let world = World::new();
    let root = &world.roots[0];
    for path in ["edited", "gone", "moved", "mode", "dir/deep"] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), path).unwrap();
    }
    let before = world.picture();
    let store = world.store();
    let mut recorder = store.begin("call 7").unwrap();
    edit(&world, &mut recorder, "edited", "anew");
    edit(&world, &mut recorder, "dir/deep", "anew");
    edit(&world, &mut recorder, "new", "anew");
    tell(&world, &mut recorder, "gone", Recorder::before_remove);
    fs::remove_file(root.join("gone")).unwrap();
    tell(&world, &mut recorder, "mode", Recorder::metadata);
    fs::set_permissions(root.join("mode"), fs::Permissions::from_mode(0o700)).unwrap();
    let handle = fs::File::open(root).unwrap();
    let at = |name: &'static str| At {
        dir: handle.as_fd(),
        name: name.as_ref(),
        root: 0,
        path: Path::new(""),
        seen: None,
    };
    recorder
        .before_rename(at("moved"), at("there"), false)
        .unwrap();
    fs::rename(root.join("moved"), root.join("there")).unwrap();
    // Opened for writing, but left unchanged.
    tell(&world, &mut recorder, "there", |recorder, at| {
        recorder.content(at, Writing::Anywhere)
    });
    let entry = store.end(recorder).unwrap();
    let changes = vec![
        (place("dir/deep"), Change::Edited),
        (place("edited"), Change::Edited),
        (place("gone"), Change::Deleted),
        (place("mode"), Change::Metadata),
        (place("new"), Change::Created),
        (
            place("there"),
            Change::Renamed {
                from: place("moved"),
            },
        ),
    ];
    assert_eq!(store.changes(&entry), changes);
    // Read back from the log.
    let entry = world.store().entry(1).unwrap();
    assert_eq!(
        (entry.title.as_str(), store.changes(&entry)),
        ("call 7", changes.clone())
    );
    let dry = store
        .undo(
            &[1],
            "undo",
            Options {
                dry_run: true,
                ..Options::default()
            },
        )
        .unwrap();
    assert_eq!(
        dry,
        Outcome {
            undone: changes.clone(),
            ..Outcome::default()
        }
    );
    assert_eq!(
        undo(&store, &[1]),
        Outcome {
            undone: changes,
            number: Some(2),
            ..Outcome::default()
        }
    );
    assert_eq!(differences(&before, &world.picture()), Vec::<String>::new());
}

#[test]
fn undo_restores_removed_hard_link() {
    let world = World::new();
    let root = &world.roots[0];
    fs::write(root.join("a"), "text").unwrap();
    fs::hard_link(root.join("a"), root.join("b")).unwrap();
    let before = world.picture();
    let store = world.store();
    let mut recorder = store.begin("call").unwrap();
    tell(&world, &mut recorder, "b", Recorder::metadata);
    tell(&world, &mut recorder, "a", Recorder::before_remove);
    fs::remove_file(root.join("a")).unwrap();
    let entry = store.end(recorder).unwrap();
    assert_eq!(store.changes(&entry), [(place("a"), Change::Deleted)]);
    undo(&store, &[1]);
    assert_eq!(differences(&before, &world.picture()), Vec::<String>::new());
}

#[test]
fn undo_of_file_changed_since_needs_force() {
    let world = World::new();
    let store = world.store();
    fs::write(world.roots[0].join("a"), "old").unwrap();
    let number = call(&world, &store, "call 1", &[("a", "call"), ("b", "call")]);
    fs::write(world.roots[0].join("a"), "theirs, longer").unwrap();
    assert_eq!(
        undo(&store, &[number]).conflicts,
        refused("changed after the call")
    );
    assert_eq!(
        texts(&world, &["a", "b"]),
        [some("theirs, longer"), some("call")]
    );
    let part = store
        .undo(
            &[number],
            "undo",
            Options {
                paths: &[place("b")],
                ..Options::default()
            },
        )
        .unwrap();
    assert_eq!(part.conflicts, []);
    assert_eq!(texts(&world, &["a", "b"]), [some("theirs, longer"), None]);
    let forced = store
        .undo(
            &[number],
            "undo",
            Options {
                force: true,
                ..Options::default()
            },
        )
        .unwrap();
    assert_eq!(texts(&world, &["a", "b"]), [some("old"), None]);
    // The file of the others is saved.
    undo(&store, &[forced.number.unwrap()]);
    assert_eq!(texts(&world, &["a", "b"]), [some("theirs, longer"), None]);
}

#[test]
fn undo_conflicts_with_later_call() {
    let world = World::new();
    let store = world.store();
    for (number, text) in ["one", "two, longer", "three"].iter().enumerate() {
        call(&world, &store, &format!("call {number}"), &[("a", text)]);
    }
    assert_eq!(
        undo(&store, &[1, 2]).conflicts,
        refused("call 2 (call 3) changed it later")
    );
    assert_eq!(
        undo(&store, &[1, 3]).conflicts,
        refused("changed between two of the calls")
    );
    assert_eq!(undo(&store, &[2, 3]).number, Some(4));
    assert_eq!(texts(&world, &["a"]), [some("one")]);
    assert_eq!(undo(&store, &[1]).number, Some(5));
    assert_eq!(texts(&world, &["a"]), [None]);
}

#[test]
fn sparse_file_stays_sparse_after_undo() {
    let world = World::new();
    let store = world.store();
    let path = world.roots[0].join("a");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let number = call(&world, &store, "call", &[("a", "short")]);
    assert_eq!(undo(&store, &[number]).conflicts, []);
    assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 40);
}

#[test]
fn full_disk_leaves_valid_log() {
    let world = World::new();
    let store = world.store();
    let path = world.roots[0].join("a");
    fs::write(&path, "old").unwrap();
    let mut recorder = store.begin("call").unwrap();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let log = recorder.log.replace_file(full);
    let dir = fs::File::open(&world.roots[0]).unwrap();
    let at = At {
        dir: dir.as_fd(),
        name: "a".as_ref(),
        root: 0,
        path: Path::new(""),
        seen: None,
    };
    let error = recorder.content(at, Writing::Anywhere).unwrap_err();
    let told = "writing down what was there: No space left on device (os error 28)";
    assert_eq!(
        error.to_string(),
        format!("journal: {}: {told}", path.display())
    );
    recorder.log.replace_file(log);
    edit(&world, &mut recorder, "a", "anew");
    edit(&world, &mut recorder, "b", "anew");
    let number = store.end(recorder).unwrap().number;
    assert_eq!(undo(&world.store(), &[number]).conflicts, []);
    assert_eq!(texts(&world, &["a", "b"]), [some("old"), None]);
}

#[test]
fn record_with_wrong_path_is_refused() {
    let world = World::new();
    let store = world.store();
    for dir in ["a", "b"] {
        fs::create_dir(world.roots[0].join(dir)).unwrap();
    }
    let handle = fs::File::open(world.roots[0].join("a")).unwrap();
    let mut recorder = store.begin("call").unwrap();
    let at = At {
        dir: handle.as_fd(),
        name: "f".as_ref(),
        root: 0,
        path: Path::new("b"),
        seen: None,
    };
    let path = world.roots[0].join("b");
    assert_eq!(
        recorder.before_create(at).unwrap_err().to_string(),
        format!(
            "{}: is not where the directory is now; look it up again",
            path.display()
        )
    );
}

#[test]
fn store_is_private_to_owner() {
    let world = World::new();
    let path = world.dir.path().join("store");
    drop(world.store());
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o700
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let dir = fs::File::open(world.dir.path()).unwrap();
    let user = rustix::process::geteuid().as_raw();
    let error = Store::open(
        dir.as_fd(),
        "store".as_ref(),
        Path::new("store"),
        Arc::new([]),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "store: not a journal's store for this user alone: got mode 0750 of user {user}, and it must be a directory of mode \
             0700 that belongs to user {user}; make it so, or name another"
        )
    );
}

#[test]
fn recovery_skips_entry_of_other_server() {
    let world = World::new();
    let (ours, theirs) = (world.store(), world.store());
    let mut recorder = theirs.begin("theirs").unwrap();
    edit(&world, &mut recorder, "a", "text");
    assert_eq!(ours.recover().unwrap(), Vec::<u64>::new());
    let error = ours.undo(&[1], "undo", Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "call 1 is still at work; end it first, or undo others by their numbers"
    );
    let error = ours.undo(&[9], "undo", Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "call 9 is not in the journal, which has call 1; list them first"
    );
    // The entry has neither ended nor is it running.
    drop(recorder);
    assert_eq!(ours.recover().unwrap(), [1]);
    assert_eq!(undo(&ours, &[1]).number, Some(2));
    assert_eq!(texts(&world, &["a"]), [None]);
}

#[test]
fn keep_within_removes_oldest_entries_first() {
    let world = World::new();
    let store = world.store();
    let text = "x".repeat(100_000);
    for _ in 0..3 {
        // Each entry saves the text of the one before.
        call(&world, &store, "call", &[("a", &text)]);
    }
    let day = Duration::from_hours(24);
    let running = store.begin("call").unwrap();
    assert_eq!(
        store
            .keep_within(Bounds {
                bytes: 1 << 30,
                age: day
            })
            .unwrap(),
        Vec::<u64>::new()
    );
    assert_eq!(store.newest_removed(), None);
    assert_eq!(
        store
            .keep_within(Bounds {
                bytes: 150_000,
                age: day
            })
            .unwrap(),
        [1, 2]
    );
    assert_eq!(world.store().newest_removed(), Some(2));
    assert_eq!(store.numbers().unwrap(), [3, 4]);
    assert_eq!(
        store
            .keep_within(Bounds {
                bytes: 1 << 30,
                age: Duration::ZERO
            })
            .unwrap(),
        [3]
    );
    drop(running);
}

#[test]
fn keep_within_removes_oversized_entry_alone() {
    let world = World::new();
    let store = world.store();
    for text in ["small", &"x".repeat(300_000), "small", "small"] {
        call(&world, &store, "call", &[("a", text)]);
    }
    let bounds = Bounds {
        bytes: 150_000,
        age: Duration::from_hours(24),
    };
    assert_eq!(store.keep_within(bounds).unwrap(), [3]);
    assert_eq!(store.numbers().unwrap(), [1, 2, 4]);
    // Earlier calls are not undone across the removed one.
    assert_eq!(
        undo(&store, &[2]).conflicts,
        refused("call (call 4) changed it later")
    );
}
