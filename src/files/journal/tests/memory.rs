//! Memory accounting of entries.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use replay_base::budget::{Account, Budget, Purpose};

use super::super::{EntryCounts, JournalError, Options, Recorder, Store};
use super::entries::{call, edit, tell, texts};
use super::property::World;

const BUDGET: usize = 16 * 1024 * 1024;

/// Returns a store with one call, and its account.
fn counted(world: &World) -> (Store, Account) {
    let account = Budget::new(BUDGET).account();
    let mut store = world.store();
    store.account = Some(account.clone());
    assert_eq!(call(world, &store, "call", &[("a", "1"), ("b", "1")]), 1);
    (store, account)
}

fn free(account: &Account) -> usize {
    account
        .try_take(usize::MAX / 4, Purpose::Work)
        .unwrap_err()
        .free
}

#[test]
fn readers_of_entry_share_memory() {
    let world = World::new();
    let (store, account) = counted(&world);
    let before = free(&account);
    let first = store.entry(1).unwrap();
    let held = before - free(&account);
    let second = store.entry(1).unwrap();
    assert!(Arc::ptr_eq(&first, &second) && held > 0);
    assert_eq!(before - free(&account), held);
    drop((first, second));
    assert_eq!(free(&account), before);
}

#[test]
fn continued_entry_is_read_again() {
    let world = World::new();
    let (store, _account) = counted(&world);
    let first = store.entry(1).unwrap();
    let mut recorder = store.begin_in(Some(1), "call").unwrap();
    super::entries::edit(&world, &mut recorder, "c", "1");
    store.end(recorder).unwrap();
    assert_eq!(
        [&first, &store.entry(1).unwrap()].map(|entry| store.changes(entry).len()),
        [2, 3]
    );
}

#[test]
fn entry_without_free_memory_is_refused() {
    let world = World::new();
    let (store, _account) = counted(&world);
    // More memory can never be free, so the reader does not wait.
    let small = Store {
        account: Some(Budget::new(1024).account()),
        ..world.store()
    };
    for refused in [
        small.entry(1).map(drop),
        small.versions(1).map(drop),
        small.undo(&[1], "undo", Options::default()).map(drop),
    ] {
        assert!(
            matches!(refused, Err(JournalError::Memory(_))),
            "{refused:?}"
        );
    }
    assert_eq!(
        texts(&world, &["a", "b"]),
        [Some("1".to_owned()), Some("1".to_owned())]
    );
    assert!(store.entry(1).is_ok());
}

#[test]
fn call_ends_without_free_memory() {
    let world = World::new();
    let (store, _account) = counted(&world);
    let account = Budget::new(1024).account();
    let small = Store {
        account: Some(account.clone()),
        ..store
    };
    let ended = small.ended_entry(1).unwrap().unwrap();
    assert_eq!(small.changes(&ended.entry).len(), 2);
    assert_eq!(free(&account), 0);
    drop(ended);
    assert!(free(&account) > 0);
}

#[test]
fn changes_of_entry_too_large_to_read_are_counted() {
    const FILES: usize = 500;
    let world = World::new();
    let names: Vec<String> = (0..FILES).map(|file| file.to_string()).collect();
    for name in &names {
        fs::write(world.roots[0].join(name), "old").unwrap();
    }
    let store = world.store();
    let mut recorder = store.begin("chmod").unwrap();
    for name in &names {
        tell(&world, &mut recorder, name, Recorder::metadata);
        fs::set_permissions(world.roots[0].join(name), Permissions::from_mode(0o700)).unwrap();
    }
    let length = store.end(recorder).unwrap().bytes();
    let small = Store {
        account: Some(Budget::new(usize::try_from(length).unwrap()).account()),
        ..store
    };
    assert!(matches!(small.entry(1), Err(JournalError::Memory(_))));
    let counts = EntryCounts {
        touched: FILES,
        ..EntryCounts::default()
    };
    assert_eq!(small.count_changes(1).unwrap(), Some(counts));
}

#[test]
fn counts_are_those_of_changes() {
    let world = World::new();
    let root = &world.roots[0];
    for path in ["edited", "gone", "moved", "mode"] {
        fs::write(root.join(path), "old").unwrap();
    }
    let store = world.store();
    let mut recorder = store.begin("call").unwrap();
    edit(&world, &mut recorder, "edited", "anew");
    edit(&world, &mut recorder, "new", "anew");
    tell(&world, &mut recorder, "gone", Recorder::before_remove);
    fs::remove_file(root.join("gone")).unwrap();
    tell(&world, &mut recorder, "mode", Recorder::metadata);
    fs::set_permissions(root.join("mode"), Permissions::from_mode(0o700)).unwrap();
    tell(&world, &mut recorder, "moved", Recorder::before_remove);
    tell(&world, &mut recorder, "there", Recorder::before_create);
    fs::rename(root.join("moved"), root.join("there")).unwrap();
    store.end(recorder).unwrap();
    // A second part of the same call.
    let mut recorder = store.begin_in(Some(1), "call").unwrap();
    edit(&world, &mut recorder, "new", "once more");
    edit(&world, &mut recorder, "newer", "anew");
    store.end(recorder).unwrap();
    let counts = EntryCounts {
        edited: 1,
        created: 2,
        deleted: 1,
        moved: 1,
        touched: 1,
    };
    assert_eq!(store.count_changes(1).unwrap(), Some(counts));
}
