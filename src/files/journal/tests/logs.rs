//! Logs: damage, forgery and changed device numbers.

use std::fs::{self, File};
use std::sync::Arc;

use super::super::log::{EntryKind, Event, Log, VERSION, read};
use super::super::{Bytes, Id, Options, Recorder};
use super::entries::{call, some, tell, texts, undo};
use super::property::World;

#[test]
fn damaged_or_forged_log_is_refused() {
    let world = World::new();
    let store = world.store();
    let number = call(&world, &store, "call", &[("a", "text")]);
    let path = world.dir.path().join(format!("store/log/{number}"));
    let log = fs::read_to_string(&path).unwrap();
    let refused = |line: usize, why: &str| {
        format!(
            "store/log/1, line {line}: {why}; this log is damaged, and nothing was undone; a server that starts sets the store aside"
        )
    };
    let lines = log.lines().count();
    let says = |log: String| {
        fs::write(&path, log).unwrap();
        store
            .undo(&[number], "undo", Options::default())
            .unwrap_err()
            .to_string()
    };
    let version = log.replacen("\"version\":1", "\"version\":2", 1);
    let later = "store/log/1: it is of version 2, and this program reads version 1; use the program that wrote it";
    assert_eq!(says(version), later);
    let outside =
        format!("{log}{{\"Name\":{{\"dir\":[9,2,3],\"name\":\"../x\",\"before\":null}}}}\n");
    assert_eq!(
        says(outside),
        refused(lines + 1, "\"../x\" is no name of a file")
    );
    let unknown = format!("{log}{{\"Kept\":{{\"id\":[9,2,3],\"file\":1,\"is_copy\":false}}}}\n");
    assert_eq!(
        says(unknown),
        refused(lines + 1, "nothing was said of object Id(9, 2, 3) before")
    );
    let inside = |root: usize, path: &str| {
        says(format!(
            "{log}{{\"Inside\":{{\"id\":[0,2,3],\"root\":{root},\"path\":\"{path}\"}}}}\n"
        ))
    };
    assert_eq!(
        inside(2, "a"),
        refused(lines + 1, "it names root 2, and there are 2, from 0")
    );
    assert_eq!(
        inside(0, "../a"),
        refused(lines + 1, "\"../a\" is no path below a root")
    );
    assert_eq!(
        says(format!("{log}garbage\n")),
        refused(lines + 1, "expected value at line 1 column 1")
    );
    let (first, _) = log.split_once('\n').unwrap();
    let twice = format!("{first}\n{log}");
    assert_eq!(
        says(twice),
        refused(
            2,
            "the beginning of an entry stands in the first line, or behind its end"
        )
    );
    assert_eq!(texts(&world, &["a"]), [some("text")]);
    // A change with an incomplete record never happened.
    fs::write(&path, format!("{log}{{\"Name\":{{\"dir\":[1,2")).unwrap();
    assert_eq!(undo(&store, &[number]).conflicts, []);
}

#[test]
fn log_survives_changed_device_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let (first, second, elsewhere) = (Id(5, 1, 1), Id(9, 2, 2), Id(7, 3, 3));
    let mut log = Log::new(
        File::create_new(&path).unwrap(),
        0,
        &Arc::from([first, second]),
    );
    log.add(Event::Begin {
        version: VERSION,
        start: 0,
        title: String::new(),
        undoes: Vec::new(),
        kind: EntryKind::Call,
    });
    let name = |dir, before| Event::Name {
        dir,
        name: Bytes(b"a".to_vec()),
        before: Some(before),
    };
    log.add(name(first, second));
    log.add(name(elsewhere, Id(5, 4, 4)));
    log.write().unwrap();
    // The devices have swapped their numbers.
    let roots = [Id(9, 1, 1), Id(7, 2, 2)];
    let mut events = Vec::new();
    let take = |event| {
        events.push(event);
        Ok(())
    };
    read(File::open(&path).unwrap(), &path, &roots, take).unwrap();
    assert_eq!(
        events[1..],
        [
            name(Id(9, 1, 1), Id(7, 2, 2)),
            name(Id(7, 3, 3), Id(9, 4, 4))
        ]
    );
}

#[test]
fn forged_directory_cycle_restores_once() {
    let world = World::new();
    let store = world.store();
    let dir = world.roots[0].join("d");
    fs::create_dir(&dir).unwrap();
    let mut recorder = store.begin("call").unwrap();
    tell(&world, &mut recorder, "d", Recorder::before_remove);
    fs::remove_dir(&dir).unwrap();
    store.end(recorder).unwrap();
    let path = world.dir.path().join("store/log/1");
    let log = fs::read_to_string(&path).unwrap();
    let (_, id) = log.split_once("\"name\":\"d\",\"before\":").unwrap();
    let (id, _) = id.split_once("}}").unwrap();
    fs::write(
        &path,
        format!("{log}{{\"Name\":{{\"dir\":{id},\"name\":\"d\",\"before\":{id}}}}}\n"),
    )
    .unwrap();
    assert_eq!(undo(&store, &[1]).conflicts, []);
    assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
}
