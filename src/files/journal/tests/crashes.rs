//! Crashes at any moment of a call, of an undo, or of the recovery after one.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;

use super::super::Options;
use super::picture::differences;
use super::program::{Actor, Step};
use super::property::{World, cases, steps};

thread_local! {
    /// Number of records until the simulated crash; counted before and after each record.
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Simulates a crash of the process if it is due: only file descriptors are released.
pub(in super::super) fn maybe_end() {
    if let Some(left) = LEFT.get() {
        LEFT.set(left.checked_sub(1));
        assert!(left > 0, "the process ends here");
    }
}

/// Returns true if `act` finished before the crash.
fn until(left: u32, act: impl FnOnce()) -> bool {
    LEFT.set(Some(left));
    let done = catch_unwind(AssertUnwindSafe(act)).is_ok();
    LEFT.set(None);
    done
}

fn call(world: &World, before: Option<u64>, steps: &[Step]) {
    let store = world.store();
    let mut recorder = store.begin_in(before, "call").unwrap();
    Actor {
        roots: &world.roots,
        recorder: Some(&mut recorder),
        made: 0,
        who: "call",
    }
    .run(steps);
    store.end(recorder).unwrap();
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn killed_call_can_be_undone(before in steps(40), part in steps(10), program in steps(20), left in 0..60_u32, torn in 0..40_usize) {
        let world = World::new();
        world.unseen(&before, "before");
        let first = world.picture();
        // The call continues in a second part.
        call(&world, None, &part);
        until(left, || call(&world, Some(1), &program));
        let path = world.dir.path().join("store/log/1");
        let mut log = std::fs::read(&path).unwrap();
        if !log.split(|byte| *byte == b'\n').rev().nth(1).is_some_and(|line| line.starts_with(b"{\"End\"")) {
            log.extend(b"{\"Name\":{\"dir\":[1,2,3],\"name\":\"\xc3".iter().take(torn));
            std::fs::write(&path, log).unwrap();
        }
        let store = world.store();
        store.recover().unwrap();
        prop_assert_eq!(store.recover().unwrap(), Vec::<u64>::new());
        prop_assert_eq!(store.undo(&[1], "undo", Options::default()).unwrap().conflicts, []);
        let found = differences(&first, &world.picture());
        prop_assert!(found.is_empty(), "undo:\n{}", found.join("\n"));
    }

    #[test]
    fn killed_undo_is_rolled_back(before in steps(40), program in steps(20), left in 0..80_u32, again in 0..80_u32) {
        let world = World::new();
        world.unseen(&before, "before");
        let first = world.picture();
        call(&world, None, &program);
        let last = world.picture();
        let undo = || {
            let outcome = world.store().undo(&[1], "undo", Options::default()).unwrap();
            assert_eq!(outcome.conflicts, []);
        };
        let was_undone = until(left, undo);
        // The recovery crashes, too.
        until(again, || drop(world.store().recover().unwrap()));
        world.store().recover().unwrap();
        let found = differences(if was_undone { &first } else { &last }, &world.picture());
        prop_assert!(found.is_empty(), "mended:\n{}", found.join("\n"));
        if !was_undone {
            undo();
            let found = differences(&first, &world.picture());
            prop_assert!(found.is_empty(), "undo:\n{}", found.join("\n"));
        }
    }
}
