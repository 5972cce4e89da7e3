//! Undo in parts, undo of all calls since one, and repeated undo.

use std::cell::Cell;
use std::fs;

use super::super::{Conflict, JournalError, Options, Outcome, Recorder, Store};
use super::entries::{call, edit, place, some, tell, texts, undo};
use super::picture::differences;
use super::property::World;

/// Makes a call that replaces each file by a new one, like `sed -i`.
fn replace(world: &World, store: &Store, files: &[(&str, &str)]) -> u64 {
    let mut recorder = store.begin("replace").unwrap();
    for (path, text) in files {
        tell(world, &mut recorder, path, Recorder::before_replace);
        fs::remove_file(world.roots[0].join(path)).unwrap();
        fs::write(world.roots[0].join(path), text).unwrap();
    }
    store.end(recorder).unwrap().number
}

fn remove(world: &World, store: &Store, path: &str) -> u64 {
    let mut recorder = store.begin("remove").unwrap();
    tell(world, &mut recorder, path, Recorder::before_remove);
    fs::remove_file(world.roots[0].join(path)).unwrap();
    store.end(recorder).unwrap().number
}

#[test]
fn standing_excludes_calls_undone_later() {
    let world = World::new();
    let store = world.store();
    for path in ["u", "v"] {
        fs::write(world.roots[0].join(path), "old").unwrap();
    }
    assert_eq!(call(&world, &store, "call", &[("z", "new")]), 1);
    assert_eq!(replace(&world, &store, &[("u", "new"), ("v", "new")]), 2);
    let part = Options {
        paths: &[place("u")],
        ..Options::default()
    };
    assert_eq!(store.undo(&[2], "undo", part).unwrap().number, Some(3));
    assert_eq!(undo(&store, &[2]).number, Some(4));
    assert_eq!(
        texts(&world, &["u", "v", "z"]),
        [some("old"), some("old"), some("new")]
    );
    // The part undone first and the change in between do not fit together.
    let why = "changed between two of the calls".to_owned();
    let refused = store.undo(&[1, 3], "undo", Options::default()).unwrap();
    assert_eq!(
        refused.conflicts,
        [Conflict {
            place: place("u"),
            why
        }]
    );
    assert_eq!(store.standing(2).unwrap(), [0; 0]);
    assert_eq!(store.standing(1).unwrap(), [1]);
    undo(&store, &[1]);
    assert_eq!(
        texts(&world, &["u", "v", "z"]),
        [some("old"), some("old"), None]
    );
}

#[test]
fn change_by_others_between_parts_stays() {
    let world = World::new();
    let store = world.store();
    let go_on = |call: Option<u64>, files: &[(&str, &str)]| {
        let mut recorder = store.begin_in(call, "call").unwrap();
        for (path, text) in files {
            edit(&world, &mut recorder, path, text);
        }
        store.end(recorder).unwrap()
    };
    fs::write(world.roots[0].join("a"), "old").unwrap();
    let first = go_on(None, &[("a", "1"), ("b", "1")]);
    fs::write(world.roots[0].join("a"), "a person's").unwrap();
    let second = go_on(Some(1), &[("a", "2"), ("b", "2"), ("c", "2")]);
    assert_eq!(
        [first, second.clone()].map(|entry| (entry.number, store.changes(&entry).len())),
        [(1, 2), (1, 3)]
    );
    assert_eq!(store.numbers().unwrap(), [1]);
    assert_eq!(
        store.changes(&store.entry(1).unwrap()),
        store.changes(&second)
    );
    let why = "changed between two of the calls".to_owned();
    assert_eq!(
        undo(&store, &[1]).conflicts,
        [Conflict {
            place: place("a"),
            why
        }]
    );
    let rest = Options {
        except: &[place("a")],
        ..Options::default()
    };
    assert_eq!(store.undo(&[1], "undo", rest).unwrap().number, Some(2));
    assert_eq!(texts(&world, &["a", "b", "c"]), [some("2"), None, None]);
    // The entry is undone, so new changes belong to another one.
    assert_eq!(go_on(Some(1), &[("b", "3")]).number, 3);
}

#[test]
fn cancelled_undo_is_rolled_back() {
    for most in 0.. {
        let world = World::new();
        let store = world.store();
        for path in ["a", "b", "c"] {
            fs::write(world.roots[0].join(path), "old").unwrap();
        }
        call(&world, &store, "call", &[("a", "new"), ("d", "new")]);
        replace(&world, &store, &[("b", "new"), ("c", "new")]);
        let then = world.picture();
        let asked = Cell::new(0);
        let wanted = || {
            asked.set(asked.get() + 1);
            asked.get() <= most
        };
        let done = store.undo(
            &[1, 2],
            "undo",
            Options {
                wanted: Some(&wanted),
                ..Options::default()
            },
        );
        if !matches!(done, Err(JournalError::Unwanted)) {
            assert_eq!(done.unwrap().conflicts, []);
            assert_eq!(
                texts(&world, &["a", "b", "c", "d"]),
                [some("old"), some("old"), some("old"), None]
            );
            // Asked for each file at its examination, removal and restoration, and at the end.
            assert!(asked.get() >= 16, "{}", asked.get());
            return;
        }
        assert_eq!(differences(&then, &world.picture()), [""; 0], "{most}");
    }
}

#[test]
fn second_undo_of_same_call_is_empty() {
    let world = World::new();
    let store = world.store();
    fs::write(world.roots[0].join("a"), "old").unwrap();
    assert_eq!(
        call(&world, &store, "call", &[("a", "new"), ("b", "new")]),
        1
    );
    assert_eq!(undo(&store, &[1]).undone.len(), 2);
    let dry_run = Options {
        dry_run: true,
        ..Options::default()
    };
    assert_eq!(
        store.undo(&[1], "undo", dry_run).unwrap(),
        Outcome::default()
    );
}

#[test]
fn recreated_directory_replaces_removed_one() {
    let world = World::new();
    let (store, root) = (world.store(), &world.roots[0]);
    fs::create_dir_all(root.join("d/e")).unwrap();
    fs::write(root.join("d/e/f"), "old").unwrap();
    assert_eq!(remove(&world, &store, "d/e/f"), 1);
    fs::remove_dir_all(root.join("d")).unwrap();
    let why = "its directory no longer exists; create it first".to_owned();
    let refused = vec![Conflict {
        place: place("d/e/f"),
        why,
    }];
    assert_eq!(undo(&store, &[1]).conflicts, refused);
    // Its directory is missing.
    let forced = store
        .undo(
            &[1],
            "undo",
            Options {
                force: true,
                ..Options::default()
            },
        )
        .unwrap();
    assert_eq!((forced.conflicts, forced.number), (refused, None));
    fs::create_dir_all(root.join("d/e")).unwrap();
    assert_eq!(undo(&store, &[1]).number, Some(2));
    assert_eq!(texts(&world, &["d/e/f"]), [some("old")]);
    undo(&store, &[2]);
    assert_eq!(texts(&world, &["d/e/f"]), [None]);
}

#[test]
fn undo_leaves_excepted_paths_alone() {
    let world = World::new();
    let store = world.store();
    assert_eq!(
        call(&world, &store, "call", &[("a", "new"), ("b", "new")]),
        1
    );
    fs::write(world.roots[0].join("b"), "a person's").unwrap();
    let but_b = Options {
        except: &[place("b")],
        ..Options::default()
    };
    assert_eq!(store.undo(&[1], "undo", but_b).unwrap().number, Some(2));
    assert_eq!(texts(&world, &["a", "b"]), [None, some("a person's")]);
    // Only a part is undone, so the rest is still in effect.
    assert_eq!(store.standing(1).unwrap(), [2, 1]);
}

#[test]
fn standing_accepts_numbers_of_calls_without_changes() {
    let world = World::new();
    let store = world.store();
    assert_eq!(call(&world, &store, "call", &[("a", "new")]), 1);
    let nothing = store.begin("nothing").unwrap();
    assert!(store.end_if_changed(nothing).unwrap().is_none());
    assert_eq!(call(&world, &store, "call", &[("b", "new")]), 3);
    assert_eq!(store.standing(2).unwrap(), [3]);
    let refused = |since| store.standing(since).unwrap_err().to_string();
    assert_eq!(
        refused(4),
        "call 4 is not in the journal, which has calls 1 to 3; list them first"
    );
    assert_eq!(
        refused(0),
        "call 0 is not in the journal, which has calls 1 to 3; list them first"
    );
}

#[test]
fn failed_call_is_no_conflict() {
    let world = World::new();
    let store = world.store();
    fs::write(world.roots[0].join("a"), "old").unwrap();
    assert_eq!(call(&world, &store, "call", &[("a", "new")]), 1);
    let mut recorder = store.begin("rmdir of a file").unwrap();
    tell(&world, &mut recorder, "a", Recorder::before_remove);
    assert!(store.end_if_changed(recorder).unwrap().is_none());
    assert_eq!(undo(&store, &[1]).conflicts, []);
    assert_eq!(texts(&world, &["a"]), [some("old")]);
}

#[test]
fn call_undone_in_parts_unblocks_earlier_call() {
    let world = World::new();
    let store = world.store();
    assert_eq!(call(&world, &store, "call", &[("f", "1")]), 1);
    assert_eq!(call(&world, &store, "call", &[("f", "2"), ("g", "2")]), 2);
    for path in ["f", "g"] {
        let part = Options {
            paths: &[place(path)],
            ..Options::default()
        };
        assert_eq!(store.undo(&[2], "undo", part).unwrap().conflicts, []);
    }
    assert!(store.undone().unwrap().contains(&2));
    assert_eq!(undo(&store, &[1]).conflicts, []);
    assert_eq!(texts(&world, &["f", "g"]), [None, None]);
}

#[test]
fn undo_restores_object_saved_by_later_call() {
    let world = World::new();
    let store = world.store();
    fs::write(world.roots[0].join("f"), "0").unwrap();
    assert_eq!(replace(&world, &store, &[("f", "1")]), 1);
    assert_eq!(undo(&store, &[1]).number, Some(2));
    assert_eq!(replace(&world, &store, &[("f", "2")]), 3);
    assert_eq!(undo(&store, &[2, 3]).number, Some(4));
    assert_eq!(texts(&world, &["f"]), [some("1")]);
    assert_eq!(undo(&store, &[1]).number, Some(5));
    assert_eq!(texts(&world, &["f"]), [some("0")]);
}
