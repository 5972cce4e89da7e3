//! Two calls at the same time: one writes by open files, the other moves what the first one changes.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::Path;

use super::super::{At, Change, Options, Recorder, Store, Writing};
use super::entries::{place, tell, undo};
use super::picture::differences;
use super::property::World;

/// Moves a name within the first root.
fn rename(world: &World, recorder: &mut Recorder, from: &str, to: &str) {
    let (dir, name) = from.rsplit_once('/').unwrap_or(("", from));
    let (to_dir, to_name) = to.rsplit_once('/').unwrap_or(("", to));
    let open = |dir: &str| File::open(world.roots[0].join(dir)).unwrap();
    let handles = [open(dir), open(to_dir)];
    let source = At {
        dir: handles[0].as_fd(),
        name: name.as_ref(),
        root: 0,
        path: Path::new(dir),
        seen: None,
    };
    let target = At {
        dir: handles[1].as_fd(),
        name: to_name.as_ref(),
        root: 0,
        path: Path::new(to_dir),
        seen: None,
    };
    recorder.before_rename(source, target, false).unwrap();
    fs::rename(world.roots[0].join(from), world.roots[0].join(to)).unwrap();
}

/// Opens `d/f` for writing.
fn open(world: &World, recorder: &mut Recorder) -> File {
    tell(world, recorder, "d/f", |recorder, at| {
        recorder.content(at, Writing::Anywhere)
    });
    let path = world.roots[0].join("d/f");
    OpenOptions::new().write(true).open(path).unwrap()
}

/// One call writes to `d/f`, the other moves that file or its directory in between. Returns the
/// changes of the writer.
fn overlap(
    world: &World,
    store: &Store,
    (from, to): (&str, &str),
    (writer_first, writer_ends_first): (bool, bool),
) -> Vec<(super::super::RootedPath, Change)> {
    let root = &world.roots[0];
    fs::create_dir_all(root.join("d/sub")).unwrap();
    fs::write(root.join("d/f"), "old").unwrap();
    let mut first = store.begin("first").unwrap();
    let mut second = store.begin("second").unwrap();
    let (writer, mover) = if writer_first {
        (&mut first, &mut second)
    } else {
        (&mut second, &mut first)
    };
    let mut file = open(world, writer);
    file.write_all(b"a longer text").unwrap();
    rename(world, mover, from, to);
    file.write_all(b", and more").unwrap();
    let (mut writer, mover) = if writer_first {
        (first, second)
    } else {
        (second, first)
    };
    if writer_ends_first {
        let entry = store.end(writer).unwrap();
        store.end(mover).unwrap();
        return store.changes(&entry);
    }
    store.end(mover).unwrap();
    file.write_all(b", and the rest").unwrap();
    tell_sub(world, &mut writer, from, to);
    let entry = store.end(writer).unwrap();
    store.changes(&entry)
}

/// Makes a file in the moved directory.
fn tell_sub(world: &World, recorder: &mut Recorder, from: &str, to: &str) {
    if from == "d" {
        let path = format!("{to}/new");
        tell(world, recorder, &path, Recorder::before_create);
        fs::write(world.roots[0].join(path), "new").unwrap();
    }
}

const MOVES: [(&str, &str); 2] = [("d", "e"), ("d/f", "d/g")];
const ORDERS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];

#[test]
fn write_to_file_moved_by_other_call_is_an_edit() {
    for moves in MOVES {
        for order in ORDERS {
            let world = World::new();
            let changes = overlap(&world, &world.store(), moves, order);
            let mut all = vec![(place("d/f"), Change::Edited)];
            if moves.0 == "d" && !order.1 {
                all.push((place("d/new"), Change::Created));
            }
            assert_eq!(changes, all, "{moves:?} {order:?}");
        }
    }
}

#[test]
fn joint_undo_of_writer_and_mover_restores_all() {
    for moves in MOVES {
        for order in ORDERS {
            let world = World::new();
            let root = &world.roots[0];
            fs::create_dir_all(root.join("d/sub")).unwrap();
            let store = world.store();
            overlap(&world, &store, moves, order);
            let after = world.picture();
            let outcome = undo(&store, &[1, 2]);
            assert_eq!(outcome.conflicts, [], "{moves:?} {order:?}");
            assert_eq!(fs::read(root.join("d/f")).unwrap(), b"old", "{moves:?}");
            let names = [moves.1, "e", "d/new"].map(|name| root.join(name).exists());
            assert_eq!(names, [false; 3], "{moves:?} {order:?}");
            assert_eq!(undo(&store, &[3]).conflicts, [], "{moves:?} {order:?}");
            assert_eq!(
                differences(&after, &world.picture()),
                [""; 0],
                "{moves:?} {order:?}"
            );
        }
    }
}

#[test]
fn undo_of_writer_alone_names_the_mover() {
    for order in ORDERS {
        let world = World::new();
        let store = world.store();
        overlap(&world, &store, MOVES[0], order);
        let (writer, mover, title) = if order.0 {
            (1, 2, "second")
        } else {
            (2, 1, "first")
        };
        let refused = store
            .undo(&[writer], "undo", Options::default())
            .unwrap()
            .conflicts;
        let why = format!(
            "its directory was moved by another call since: {title} (call {mover}); undo both together"
        );
        assert!(
            refused.iter().any(|conflict| conflict.why == why),
            "{order:?}: {refused:?}"
        );
    }
}
