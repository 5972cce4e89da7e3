//! Files of others that an open entry destroys.

use std::fs;

use super::super::{Change, Recorder, Writing};
use super::entries::{call, edit, place, some, tell, texts, undo};
use super::property::World;

/// Replaces a file like editors do.
fn replace(world: &World, path: &str, text: &str) {
    let temp = world.roots[0].join("temp");
    fs::write(&temp, text).unwrap();
    fs::rename(temp, world.roots[0].join(path)).unwrap();
}

fn remove(world: &World, recorder: &mut Recorder, path: &str) {
    tell(world, recorder, path, Recorder::before_remove);
    fs::remove_file(world.roots[0].join(path)).unwrap();
}

#[test]
fn work_of_others_since_start_is_kept() {
    let world = World::new();
    let store = world.store();
    for path in ["f", "g"] {
        fs::write(world.roots[0].join(path), "old").unwrap();
    }
    let mut recorder = store.begin("command").unwrap();
    edit(&world, &mut recorder, "g", "by the command");
    call(&world, &store, "write_file", &[("new", "by a call")]);
    replace(&world, "f", "replaced");
    fs::write(world.roots[0].join("mine"), "by a person").unwrap();
    for path in ["new", "mine"] {
        remove(&world, &mut recorder, path);
    }
    edit(&world, &mut recorder, "f", "by the command");
    let entry = store.end(recorder).unwrap();
    let changes = [
        (place("f"), Change::Edited),
        (place("g"), Change::Edited),
        (place("mine"), Change::Deleted),
        (place("new"), Change::Deleted),
    ];
    assert_eq!(store.changes(&entry), changes);
    assert_eq!(undo(&store, &[entry.number]).conflicts, []);
    let back = ["replaced", "old", "by a person", "by a call"].map(some);
    assert_eq!(texts(&world, &["f", "g", "mine", "new"]), back);
}

#[test]
fn undo_restores_own_file_replaced_by_others() {
    let world = World::new();
    let store = world.store();
    fs::write(world.roots[0].join("old"), "old").unwrap();
    let mut recorder = store.begin("command").unwrap();
    edit(&world, &mut recorder, "made", "by the command");
    remove(&world, &mut recorder, "old");
    edit(&world, &mut recorder, "old", "by the command");
    for path in ["made", "old"] {
        tell(&world, &mut recorder, path, |recorder, at| {
            recorder.content(at, Writing::Anywhere)
        });
        replace(&world, path, "by a person");
        edit(&world, &mut recorder, path, "by the command again");
    }
    let number = store.end(recorder).unwrap().number;
    assert_eq!(undo(&store, &[number]).conflicts, []);
    assert_eq!(
        texts(&world, &["made", "old"]),
        ["by a person", "by a person"].map(some)
    );
}

#[test]
fn undo_restores_others_file_after_failed_create() {
    let world = World::new();
    let store = world.store();
    let mut recorder = store.begin("command").unwrap();
    tell(&world, &mut recorder, "f", Recorder::before_create);
    let root = super::super::Id::of(fs::File::open(&world.roots[0]).unwrap()).unwrap();
    recorder.after_create(root, "f".as_ref(), None);
    fs::write(world.roots[0].join("f"), "by a person").unwrap();
    remove(&world, &mut recorder, "f");
    let number = store.end(recorder).unwrap().number;
    assert_eq!(undo(&store, &[number]).conflicts, []);
    assert_eq!(texts(&world, &["f"]), [some("by a person")]);
}

#[test]
fn created_then_removed_file_is_no_change() {
    let world = World::new();
    let store = world.store();
    let mut recorder = store.begin("command").unwrap();
    for text in ["one", "two"] {
        edit(&world, &mut recorder, "f", text);
        remove(&world, &mut recorder, "f");
    }
    assert_eq!(
        store
            .end_if_changed(recorder)
            .unwrap()
            .map(|entry| entry.number),
        None
    );
}

#[test]
fn overlapping_entries_are_undone_together() {
    let world = World::new();
    let store = world.store();
    fs::write(world.roots[0].join("f"), "old").unwrap();
    let mut recorder = store.begin("first").unwrap();
    remove(&world, &mut recorder, "f");
    edit(&world, &mut recorder, "f", "first");
    let mut other = store.begin("second").unwrap();
    remove(&world, &mut other, "f");
    edit(&world, &mut other, "f", "second");
    let numbers = [recorder, other].map(|recorder| store.end(recorder).unwrap().number);
    assert_eq!(undo(&store, &numbers).conflicts, []);
    assert_eq!(texts(&world, &["f"]), [some("old")]);
}

#[test]
fn undo_restores_overwritten_part_of_append_file() {
    let world = World::new();
    let store = world.store();
    let path = world.roots[0].join("log");
    fs::write(&path, "one\n").unwrap();
    let mut recorder = store.begin("command").unwrap();
    tell(&world, &mut recorder, "log", |recorder, at| {
        recorder.content(at, Writing::Appends)
    });
    fs::write(&path, "eno\ntwo\n").unwrap();
    let number = store.end(recorder).unwrap().number;
    assert_eq!(undo(&store, &[number]).conflicts, []);
    assert_eq!(texts(&world, &["log"]), [some("one\n")]);
}

#[test]
fn overwritten_large_append_file_is_lost() {
    let world = World::new();
    let store = world.store();
    let path = world.roots[0].join("a");
    let large = "0123456789abcdef".repeat(100_000);
    for (text, is_lost) in [
        (format!("{large}more"), false),
        (format!("X{}more", &large[1..]), true),
    ] {
        fs::write(&path, &large).unwrap();
        let mut recorder = store.begin("command").unwrap();
        tell(&world, &mut recorder, "a", |recorder, at| {
            recorder.content(at, Writing::Appends)
        });
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, text.as_bytes(), 0).unwrap();
        drop(file);
        let entry = store.end(recorder).unwrap();
        assert_eq!(store.changes(&entry), [(place("a"), Change::Edited)]);
        // A filesystem that shares blocks saves it all the same.
        let told = undo(&store, &[entry.number]);
        assert_eq!(told.conflicts.is_empty(), store.not_kept(&entry).is_empty());
        if told.conflicts.is_empty() {
            assert_eq!(texts(&world, &["a"]), [some(&large)]);
        } else {
            assert!(is_lost);
            assert_eq!(texts(&world, &["a"]), [some(&text)]);
        }
    }
}
