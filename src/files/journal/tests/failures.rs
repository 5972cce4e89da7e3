//! Undo that fails half way, and entries whose process has ended.

use std::fs;

use super::super::log::EntryKind;
use super::super::{JournalError, Options, Recorder, Store};
use super::entries::{call, tell, texts};
use super::picture::differences;
use super::property::World;

/// Deletes `a` and `b`, and the saved copy of `b`.
fn unrecoverable(world: &World, store: &Store) -> u64 {
    let root = &world.roots[0];
    let mut recorder = store.begin("call").unwrap();
    for path in ["a", "b"] {
        fs::write(root.join(path), "old").unwrap();
        tell(world, &mut recorder, path, Recorder::before_remove);
        fs::remove_file(root.join(path)).unwrap();
    }
    let number = store.end(recorder).unwrap().number;
    let kept = world.dir.path().join("store/kept");
    let mut all: Vec<_> = fs::read_dir(kept)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    all.sort();
    fs::remove_file(&all[1]).unwrap();
    number
}

#[test]
fn failed_undo_tells_that_it_was_rolled_back() {
    let world = World::new();
    let store = world.store();
    let number = unrecoverable(&world, &store);
    let before = world.picture();
    let error = store
        .undo(&[number], "undo", Options::default())
        .unwrap_err()
        .to_string();
    let path = world.roots[0].join("b");
    let text = format!(
        "journal: {}: putting it back: No such file or directory (os error 2); the undo was rolled back, and the files are as they \
         were before it; fix the cause, then undo again",
        path.display()
    );
    assert_eq!(error, text);
    assert_eq!(differences(&before, &world.picture()), [""; 0]);
}

#[test]
fn full_disk_is_named_with_next_step() {
    let io = || JournalError::Io {
        what: "/w/a: putting it back".into(),
        source: std::io::Error::from_raw_os_error(libc::ENOSPC),
    };
    let error = JournalError::HalfDone {
        source: io().into(),
        back: io().into(),
    };
    let full = "journal: /w/a: putting it back: No space left on device (os error 28)";
    let text = format!(
        "{full}; the undo stopped half way and could not be rolled back ({full}); the disk is full: free space on it, then restart the \
         server, which finishes the rollback (`replay changes undo` does so, too)"
    );
    assert_eq!(error.to_string(), text);
    assert_eq!(error.errno(), Some(libc::ENOSPC));
}

#[test]
fn entry_without_process_is_interrupted() {
    let world = World::new();
    let store = world.store();
    let number = call(&world, &store, "call", &[("a", "1")]);
    let lock = store.lock().unwrap();
    let recorder = store
        .begin_as(&lock, "undo", vec![number], EntryKind::Undo)
        .unwrap();
    let undo = recorder.number();
    drop(lock);
    let is_interrupted = |number| store.is_interrupted(&store.entry(number).unwrap());
    assert_eq!([number, undo].map(is_interrupted), [false, false]);
    let refused = || store.undo(&[undo], "undo", Options::default()).unwrap_err();
    assert!(matches!(refused(), JournalError::Running { .. }));
    drop(recorder);
    assert_eq!([number, undo].map(is_interrupted), [false, true]);
    assert!(matches!(refused(), JournalError::Interrupted { .. }));
    store.recover().unwrap();
    assert!(!is_interrupted(undo));
    assert_eq!(texts(&world, &["a"]), [Some("1".to_owned())]);
}
