//! Changes by others are never lost, and a call can be undone in parts.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;
use rustix::fs::RenameFlags;

use super::super::bytes::Bytes;
use super::super::{Change, Entry, Options, RootedPath, Store};
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

fn undo(
    store: &Store,
    numbers: &[u64],
    paths: &[RootedPath],
) -> Result<u64, Vec<super::super::Conflict>> {
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

#[test]
fn undo_finds_directory_that_others_moved_into_new_one() {
    let world = World::new();
    let [file, dir, new] = ["file", "dir", "new"].map(|name| world.roots[0].join(name));
    fs::write(&file, "content").unwrap();
    fs::create_dir(&dir).unwrap();
    let store = world.store();
    let mut recorder = store.begin("call").unwrap();
    let mut actor = Actor {
        roots: &world.roots,
        recorder: Some(&mut recorder),
        made: 0,
        who: "call",
    };
    actor
        .rename(&file, &dir.join("moved"), RenameFlags::empty())
        .unwrap();
    actor.mkdir(&new).unwrap();
    let number = store.end(recorder).unwrap().number;
    fs::rename(&dir, new.join("dir")).unwrap();

    let moved = RootedPath {
        root: 0,
        path: Bytes(b"dir/moved".to_vec()),
    };
    assert_eq!(undo(&store, &[number], &[moved]), Ok(number + 1));
    assert_eq!(fs::read_to_string(&file).unwrap(), "content");
    assert_eq!(fs::read_dir(new.join("dir")).unwrap().count(), 0);
}
