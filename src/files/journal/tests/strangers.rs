//! Changes by others are never lost, and a call can be undone in parts.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rustix::fs::RenameFlags;

use super::super::bytes::Bytes;
use super::super::{Change, Conflict, Entry, Options, RootedPath, Store};
use super::picture::{Picture, differences};
use super::program::Actor;
use super::property::{World, cases, steps};

/// Waits for the next tick of the filesystem's clock, so that later changes have a later ctime.
fn tick(world: &World, entry: &Entry) {
    let path = world.dir.path().join("tick");
    loop {
        std::fs::write(&path, "").unwrap();
        let stamp = super::super::object::stat_of(std::fs::File::open(&path).unwrap()).unwrap();
        if entry.spans.iter().all(|(_, end)| stamp.ctime > *end) {
            return;
        }
    }
}

/// Returns all file contents that contain this marker.
fn contents_of(who: &str, picture: &Picture) -> BTreeSet<Vec<u8>> {
    let is_theirs = |content: &&Vec<u8>| String::from_utf8_lossy(content).contains(who);
    picture
        .values()
        .map(|seen| &seen.content)
        .filter(is_theirs)
        .cloned()
        .collect()
}

fn undo(store: &Store, numbers: &[u64], paths: &[RootedPath]) -> Result<u64, Vec<Conflict>> {
    let outcome = store
        .undo(
            numbers,
            "undo",
            Options {
                paths,
                ..Options::default()
            },
        )
        .unwrap();
    if outcome.conflicts.is_empty() {
        Ok(outcome.number.unwrap())
    } else {
        Err(outcome.conflicts)
    }
}

fn places(changes: &[(RootedPath, Change)]) -> Vec<RootedPath> {
    changes.iter().map(|(place, _)| place.clone()).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn undo_keeps_later_content_of_others(before in steps(40), program in steps(20), theirs in steps(8)) {
        let world = World::new();
        world.unseen(&before, "before");
        let store = world.store();
        let number = world.call(&program, "call");
        let entry = store.entry(number).unwrap();
        tick(&world, &entry);
        world.unseen(&theirs, "theirs");
        let then = world.picture();
        let theirs = contents_of("theirs", &then);
        let mut done = Vec::new();
        if let Ok(number) = undo(&store, &[number], &[]) { done.push(number) } else {
            let found = differences(&then, &world.picture());
            prop_assert!(found.is_empty(), "refused:\n{}", found.join("\n"));
            for place in places(&store.changes(&entry)) {
                done.extend(undo(&store, &[number], &[place]));
            }
        }
        let now = contents_of("theirs", &world.picture());
        let lost = theirs.difference(&now).map(|content| {
            let begin = &content[..content.len().min(40)];
            format!("{} bytes: {}", content.len(), begin.escape_ascii())
        });
        prop_assert!(theirs.is_subset(&now), "lost: {:?}", lost.collect::<Vec<_>>());
        for number in done.into_iter().rev() {
            prop_assert_eq!(undo(&store, &[number], &[]).map(drop), Ok(()));
        }
        let found = differences(&then, &world.picture());
        prop_assert!(found.is_empty(), "redo:\n{}", found.join("\n"));
    }

    #[test]
    fn undo_in_parts_equals_whole_undo(before in steps(40), program in steps(15)) {
        let world = World::new();
        world.unseen(&before, "before");
        let first = world.picture();
        let store = world.store();
        let number = world.call(&program, "call");
        let last = world.picture();
        let entry = store.entry(number).unwrap();
        let mut done = Vec::new();
        for place in places(&store.changes(&entry)) {
            done.push(undo(&store, &[number], &[place]));
        }
        // Only the times of directories remain.
        done.push(undo(&store, &[number], &[]));
        let done: Vec<u64> = done.into_iter().collect::<Result<_, _>>().unwrap();
        let found: Vec<String> =
            differences(&undated(first), &undated(world.picture()));
        prop_assert!(found.is_empty(), "undo:\n{}", found.join("\n"));
        for number in done.into_iter().rev() {
            prop_assert_eq!(undo(&store, &[number], &[]).map(drop), Ok(()));
        }
        let found = differences(&last, &world.picture());
        prop_assert!(found.is_empty(), "redo:\n{}", found.join("\n"));
    }
}

/// Clears the times of directories.
fn undated(mut picture: Picture) -> Picture {
    for seen in picture.values_mut().filter(|seen| seen.names.is_empty()) {
        seen.mtime = 0;
    }
    picture
}

/// Makes a call with these operations. Returns the number of its entry.
fn call(world: &World, act: impl FnOnce(&mut Actor<'_>)) -> u64 {
    let store = world.store();
    let mut recorder = store.begin("call").unwrap();
    act(&mut Actor {
        roots: &world.roots,
        recorder: Some(&mut recorder),
        made: 0,
        who: "call",
    });
    store.end(recorder).unwrap().number
}

fn place(path: &str) -> RootedPath {
    RootedPath {
        root: 0,
        path: Bytes(path.as_bytes().to_vec()),
    }
}

#[test]
fn undo_finds_directory_that_others_moved_into_new_one() {
    let world = World::new();
    let [file, dir, new] = ["file", "dir", "new"].map(|name| world.roots[0].join(name));
    fs::write(&file, "content").unwrap();
    fs::create_dir(&dir).unwrap();
    let number = call(&world, |actor| {
        let moved = dir.join("moved");
        actor.rename(&file, &moved, RenameFlags::empty()).unwrap();
        actor.mkdir(&new).unwrap();
    });
    fs::rename(&dir, new.join("dir")).unwrap();

    let undone = undo(&world.store(), &[number], &[place("dir/moved")]);
    assert_eq!(undone, Ok(number + 1));
    assert_eq!(fs::read_to_string(&file).unwrap(), "content");
    assert_eq!(fs::read_dir(new.join("dir")).unwrap().count(), 0);
}

#[test]
fn undo_refuses_directory_that_others_moved_again() {
    let world = World::new();
    let [dir, moved, target] = ["dir", "moved", "target"].map(|name| world.roots[0].join(name));
    fs::create_dir(&dir).unwrap();
    fs::create_dir(&target).unwrap();
    fs::write(target.join("file"), "").unwrap();
    let number = call(&world, |actor| {
        actor.rename(&dir, &moved, RenameFlags::empty()).unwrap();
        actor.unlink(&target.join("file")).unwrap();
    });
    fs::rename(&moved, &target).unwrap();

    let conflicts = undo(&world.store(), &[number], &[place("moved")]).unwrap_err();
    let expected = Conflict {
        place: place("dir"),
        why: "no longer where the call moved it".to_owned(),
    };
    assert_eq!(conflicts, [expected]);
    assert!(!dir.exists() && target.exists());
}

#[test]
fn undo_of_directory_inside_out_keeps_content_of_others() {
    let world = World::new();
    let [outer, old, new] = ["outer", "old", "new"].map(|name| world.roots[0].join(name));
    fs::create_dir_all(outer.join("inner")).unwrap();
    fs::create_dir(&old).unwrap();
    let number = call(&world, |actor| {
        let mut rename = |from: &Path, to: &Path| {
            actor.rename(from, to, RenameFlags::empty()).unwrap();
        };
        rename(&outer.join("inner"), &old.join("inner"));
        rename(&outer, &old.join("inner/outer"));
        rename(&old, &new);
    });
    fs::write(new.join("inner/file"), "theirs").unwrap();
    fs::write(new.join("inner/outer/file"), "theirs too").unwrap();

    let undone = undo(&world.store(), &[number], &[place("old")]);
    assert_eq!(undone, Ok(number + 1));
    let content = |path: &str| fs::read_to_string(outer.join(path)).unwrap_or_default();
    assert_eq!(
        [content("inner/file"), content("file")],
        ["theirs", "theirs too"]
    );
}

#[test]
fn undo_refuses_directory_that_others_moved_into_moved_one() {
    let world = World::new();
    let [outer, moved] = ["outer", "moved"].map(|name| world.roots[0].join(name));
    fs::create_dir_all(outer.join("inner")).unwrap();
    let number = call(&world, |actor| {
        let none = RenameFlags::empty();
        actor.rename(&outer.join("inner"), &moved, none).unwrap();
        actor.write(&moved.join("new"), b"").unwrap();
        actor.unlink(&moved.join("new")).unwrap();
    });
    fs::rename(&outer, moved.join("new")).unwrap();

    let conflicts = undo(&world.store(), &[number], &[place("moved")]).unwrap_err();
    let expected = Conflict {
        place: place("moved/new/inner"),
        why: "its directory lies now in the one that would come back".to_owned(),
    };
    assert_eq!(conflicts, [expected]);
    assert!(moved.join("new").exists());
}
