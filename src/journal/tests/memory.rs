//! Memory accounting of entries.

use std::sync::Arc;

use super::super::{JournalError, Options, Store};
use super::entries::{call, texts};
use super::property::World;
use crate::budget::{Account, Budget, Purpose};

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
