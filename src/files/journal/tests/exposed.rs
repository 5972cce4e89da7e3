//! Undo by paths inside a directory that the call made.

use std::fs;
use std::os::fd::AsFd as _;
use std::path::Path;

use super::super::{
    At, Change, Conflict, JournalError, Options, Outcome, Recorder, RootedPath, Store,
};
use super::entries::{edit, place, some, tell, texts, undo};
use super::picture::differences;
use super::property::World;

fn make_dir(world: &World, recorder: &mut Recorder, path: &str) {
    tell(world, recorder, path, Recorder::before_create);
    fs::create_dir(world.roots[0].join(path)).unwrap();
}

/// Makes `made` with files in it, and moves `old` there.
fn call(world: &World, store: &Store) -> u64 {
    let root = &world.roots[0];
    fs::write(root.join("old"), "old").unwrap();
    let mut recorder = store.begin("call").unwrap();
    for path in [
        "made",
        "made/sub",
        "made/.git",
        "made/.git/refs",
        "made/.git/objects",
    ] {
        make_dir(world, &mut recorder, path);
    }
    for path in [
        "made/sub/x",
        "made/sub/y",
        "made/z",
        "made/.git/HEAD",
        "made/q.db",
        "made/q.db-wal",
    ] {
        edit(world, &mut recorder, path, "new");
    }
    let handles = ["", "made"].map(|dir| fs::File::open(root.join(dir)).unwrap());
    let at = |handle: usize, dir: &'static str, name: &'static str| At {
        dir: handles[handle].as_fd(),
        name: name.as_ref(),
        root: 0,
        path: Path::new(dir),
        seen: None,
    };
    recorder
        .before_rename(at(0, "", "old"), at(1, "made", "moved"), false)
        .unwrap();
    fs::rename(root.join("old"), root.join("made/moved")).unwrap();
    store.end(recorder).unwrap().number
}

fn undo_paths(
    store: &Store,
    number: u64,
    paths: &[RootedPath],
    except: &[RootedPath],
) -> Result<Outcome, JournalError> {
    store.undo(
        &[number],
        "undo",
        Options {
            paths,
            except,
            ..Options::default()
        },
    )
}

#[test]
fn path_in_made_directory_is_undone_alone() {
    let world = World::new();
    let store = world.store();
    let number = call(&world, &store);
    let after = world.picture();
    let outcome = undo_paths(&store, number, &[place("made/sub/x")], &[]).unwrap();
    assert_eq!(outcome.undone, [(place("made/sub/x"), Change::Created)]);
    assert_eq!((outcome.conflicts, outcome.others), (vec![], vec![]));
    let paths = ["made/sub/x", "made/sub/y", "made/z"];
    assert_eq!(texts(&world, &paths), [None, some("new"), some("new")]);
    let redone = undo(&store, &[outcome.number.unwrap()]);
    assert_eq!(redone.conflicts, []);
    assert_eq!(differences(&after, &world.picture()), [""; 0]);
    let outcome = undo_paths(&store, number, &[place("made/sub")], &[]).unwrap();
    assert_eq!(outcome.conflicts, []);
    assert!(!world.roots[0].join("made/sub").exists());
    // The rest of the call can still be undone.
    assert_eq!(undo(&store, &[number]).conflicts, []);
    assert_eq!(texts(&world, &["old", "made/z"]), [some("old"), None]);
    assert!(!world.roots[0].join("made").exists());
}

#[test]
fn file_in_made_directory_changed_since_stays() {
    let world = World::new();
    let store = world.store();
    let number = call(&world, &store);
    let path = world.roots[0].join("made/z");
    fs::write(&path, "mine").unwrap();
    let why = "created or changed after the call".to_owned();
    let outcome = undo_paths(&store, number, &[place("made/z")], &[]).unwrap();
    assert_eq!(
        outcome.conflicts,
        [Conflict {
            place: place("made/z"),
            why
        }]
    );
    assert_eq!(fs::read(path).unwrap(), b"mine");
}

#[test]
fn unit_in_made_directory_is_undone_whole() {
    let world = World::new();
    let store = world.store();
    let number = call(&world, &store);
    for (path, whole) in [
        ("made/.git/HEAD", &["made/.git"][..]),
        ("made/q.db-wal", &["made/q.db", "made/q.db-wal"]),
    ] {
        let outcome = undo_paths(&store, number, &[place(path)], &[]).unwrap();
        let undone: Vec<RootedPath> = outcome.undone.into_iter().map(|(place, _)| place).collect();
        let whole: Vec<RootedPath> = whole.iter().map(|path| place(path)).collect();
        assert_eq!((undone, outcome.conflicts), (whole, vec![]), "{path}");
    }
    assert_eq!(texts(&world, &["made/sub/x"]), [some("new")]);
}

#[test]
fn file_moved_into_made_directory_moves_back() {
    let world = World::new();
    let store = world.store();
    let number = call(&world, &store);
    let outcome = undo_paths(&store, number, &[place("made/moved")], &[]).unwrap();
    assert_eq!(outcome.conflicts, []);
    let paths = ["old", "made/moved", "made/z"];
    assert_eq!(texts(&world, &paths), [some("old"), None, some("new")]);
}

#[test]
fn exception_in_made_directory_is_refused() {
    let world = World::new();
    let store = world.store();
    let number = call(&world, &store);
    let refused = undo_paths(&store, number, &[], &[place("made/z")]);
    assert!(
        matches!(&refused, Err(JournalError::InsideMade { path, made })
            if path.ends_with("made/z") && made.ends_with("made")),
        "{refused:?}"
    );
    assert_eq!(texts(&world, &["made/z"]), [some("new")]);
    undo_paths(&store, number, &[], &[place("made/none")]).unwrap();
    assert_eq!(texts(&world, &["made/z"]), [None]);
}
