//! Properties: an undo restores everything, after any sequence of operations.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use rustix::fs::{Mode, OFlags};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use tempfile::TempDir;

use super::super::{JournalError, Options, Root, Store};
use super::picture::{Picture, differences, kept_links, picture};
use super::program::{Actor, KINDS, LINKING, Step};

pub(super) struct World {
    pub(super) roots: Vec<PathBuf>,
    pub(super) dir: TempDir,
    /// Directory of the root on another filesystem.
    apart: Option<TempDir>,
}

impl World {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let roots = ["one", "two"].map(|name| dir.path().join(name)).to_vec();
        for root in &roots {
            std::fs::create_dir(root).unwrap();
        }
        Self {
            roots,
            dir,
            apart: None,
        }
    }

    /// Creates a world whose second root lies on another filesystem, if the machine has one.
    pub(super) fn new_apart() -> Self {
        let mut world = Self::new();
        if let Ok(apart) = tempfile::tempdir_in("/dev/shm") {
            world.roots[1] = apart.path().to_path_buf();
            world.apart = Some(apart);
        }
        world
    }

    /// Opens the store like another process would.
    pub(super) fn store(&self) -> Store {
        store(self.dir.path(), &self.roots)
    }

    pub(super) fn picture(&self) -> Picture {
        picture(&self.roots)
    }

    pub(super) fn unseen(&self, steps: &[Step], who: &str) {
        Actor {
            roots: &self.roots,
            recorder: None,
            made: 0,
            who,
        }
        .run(steps);
    }

    /// Makes a call that runs this program. Returns the number of its entry.
    pub(super) fn call(&self, steps: &[Step], who: &str) -> u64 {
        self.goes_on(None, steps, who)
    }

    /// Makes a call that deletes a file and runs this program. The store loses its link to the
    /// file, which is the last to be restored.
    fn call_without_copy(&self, steps: &[Step]) {
        let lost = self.roots[1].join(OsStr::from_bytes(b"\xff"));
        fs::write(&lost, "lost").unwrap();
        let inode = fs::metadata(&lost).unwrap().ino();

        let store = self.store();
        let mut recorder = store.begin("call").unwrap();
        let mut actor = Actor {
            roots: &self.roots,
            recorder: Some(&mut recorder),
            made: 0,
            who: "p",
        };
        actor.unlink(&lost).unwrap();
        let kept = fs::read_dir(self.dir.path().join("store/kept")).unwrap();
        let mut kept = kept.map(|file| file.unwrap());
        let link = kept.find(|file| file.ino() == inode).unwrap();
        fs::remove_file(link.path()).unwrap();

        actor.run(steps);
        store.end(recorder).unwrap();
    }

    /// Runs the program as one more part of a call.
    pub(super) fn goes_on(&self, call: Option<u64>, steps: &[Step], who: &str) -> u64 {
        let store = self.store();
        let mut recorder = store.begin_in(call, who).unwrap();
        Actor {
            roots: &self.roots,
            recorder: Some(&mut recorder),
            made: 0,
            who,
        }
        .run(steps);
        store.end(recorder).unwrap().number
    }
}

/// Runs this without the capabilities by which root changes what modes and owners forbid.
fn as_owner<T>(act: impl FnOnce() -> T) -> T {
    struct Restored(CapabilitySets);

    impl Drop for Restored {
        fn drop(&mut self) {
            set_capabilities(None, self.0).unwrap();
        }
    }

    let all = capabilities(None).unwrap();
    let of_root = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::DAC_READ_SEARCH
        | CapabilitySet::FOWNER;
    let of_owner = CapabilitySets {
        effective: all.effective.difference(of_root),
        ..all
    };
    let _restored = Restored(all);
    set_capabilities(None, of_owner).unwrap();
    act()
}

/// Opens the store in a directory.
pub(super) fn store(dir: &Path, roots: &[PathBuf]) -> Store {
    let open = |path: &Path| {
        rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
    };
    let roots: Arc<[Root]> = roots
        .iter()
        .map(|root| Root {
            handle: open(root),
            shown: root.clone(),
        })
        .collect();
    let dir = open(dir);
    Store::open(
        std::os::fd::AsFd::as_fd(&dir),
        "store".as_ref(),
        Path::new("store"),
        roots,
    )
    .unwrap()
}

pub(super) fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    vec(
        (0..KINDS, any::<u16>(), any::<u16>(), any::<u16>())
            .prop_map(|(kind, a, b, c)| Step(kind, a, b, c)),
        1..most,
    )
}

pub(super) fn cases() -> ProptestConfig {
    let cases = std::env::var("JOURNAL_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(40);
    ProptestConfig {
        cases,
        max_shrink_time: 25_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn undone(store: &Store, numbers: &[u64]) -> u64 {
    let outcome = store.undo(numbers, "undo", Options::default()).unwrap();
    assert_eq!(outcome.conflicts, [], "undo {numbers:?}");
    outcome.number.unwrap()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn undo_restores_previous_state(before in steps(60), programs in vec(steps(25), 3)) {
        let world = World::new();
        world.unseen(&before, "before");
        let mut pictures = vec![world.picture()];
        for (number, program) in programs.iter().enumerate() {
            prop_assert_eq!(world.call(program, &format!("p{number}")), number as u64 + 1);
            pictures.push(world.picture());
        }
        let store = world.store();
        for number in (0..3).rev() {
            undone(&store, &[number + 1]);
            let found = differences(&pictures[number as usize], &world.picture());
            prop_assert!(found.is_empty(), "undo {}:\n{}", number + 1, found.join("\n"));
        }
        prop_assert_eq!(kept_links(&world.roots), 0);
        // Entries 6, 5, 4 undid 1, 2, 3.
        for number in 1..=3 {
            undone(&store, &[7 - number]);
            let found = differences(&pictures[number as usize], &world.picture());
            prop_assert!(found.is_empty(), "redo {number}:\n{}", found.join("\n"));
        }
    }

    #[test]
    fn call_in_parts_is_undone_as_one(before in steps(60), calls in vec(vec(steps(12), 3), 2)) {
        let world = World::new();
        world.unseen(&before, "before");
        let mut pictures = vec![world.picture()];
        for (number, parts) in calls.iter().enumerate() {
            let mut call = None;
            for (part, program) in parts.iter().enumerate() {
                call = Some(world.goes_on(call, program, &format!("p{number}.{part}")));
            }
            prop_assert_eq!(call, Some(number as u64 + 1));
            pictures.push(world.picture());
        }
        let store = world.store();
        for (undo, is) in [(2, 1), (1, 0), (4, 1), (3, 2)] {
            undone(&store, &[undo]);
            let found = differences(&pictures[is], &world.picture());
            prop_assert!(found.is_empty(), "undo {undo}:\n{}", found.join("\n"));
        }
    }

    #[test]
    fn undo_across_filesystems_restores_previous_state(before in steps(60), programs in vec(steps(20), 2)) {
        let world = World::new_apart();
        // A copy cannot be linked to an unrecorded name.
        let unlinked = |steps: &[Step]| -> Vec<Step> {
            steps.iter().copied().filter(|step| !LINKING.contains(&step.0)).collect()
        };
        let (before, programs) = (unlinked(&before), programs.iter().map(|steps| unlinked(steps)).collect::<Vec<_>>());
        world.unseen(&before, "before");
        let mut pictures = vec![world.picture()];
        for (number, program) in programs.iter().enumerate() {
            world.call(program, &format!("p{number}"));
            pictures.push(world.picture());
        }
        let store = world.store();
        for (undo, is) in [(2, 1), (1, 0), (4, 1), (3, 2)] {
            undone(&store, &[undo]);
            let found = differences(&pictures[is], &world.picture());
            prop_assert!(found.is_empty(), "undo {undo}:\n{}", found.join("\n"));
        }
    }

    #[test]
    fn undo_by_owner_restores_previous_state(before in steps(60), program in steps(25)) {
        let world = World::new();
        as_owner(|| world.unseen(&before, "before"));
        let first = world.picture();
        as_owner(|| world.call(&program, "p"));
        let last = world.picture();
        let store = world.store();
        for (undo, is) in [(1, &first), (2, &last), (3, &first)] {
            as_owner(|| undone(&store, &[undo]));
            let found = differences(is, &world.picture());
            prop_assert!(found.is_empty(), "undo {undo}:\n{}", found.join("\n"));
        }
    }

    #[test]
    fn failed_undo_by_owner_is_rolled_back(before in steps(60), program in steps(25)) {
        let world = World::new();
        as_owner(|| world.unseen(&before, "before"));
        as_owner(|| world.call_without_copy(&program));
        let last = world.picture();
        let error = as_owner(|| world.store().undo(&[1], "undo", Options::default()).unwrap_err());
        prop_assert!(matches!(error, JournalError::RolledBack { .. }), "{error}");
        let found = differences(&last, &world.picture());
        prop_assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn several_calls_are_undone_as_one(before in steps(60), programs in vec(steps(15), 3)) {
        let world = World::new();
        world.unseen(&before, "before");
        let first = world.picture();
        for (number, program) in programs.iter().enumerate() {
            world.call(program, &format!("p{number}"));
        }
        let last = world.picture();
        let store = world.store();
        let number = undone(&store, &[1, 2, 3]);
        let found = differences(&first, &world.picture());
        prop_assert!(found.is_empty(), "undo:\n{}", found.join("\n"));
        let number = undone(&store, &[number]);
        let found = differences(&last, &world.picture());
        prop_assert!(found.is_empty(), "redo:\n{}", found.join("\n"));
        // Undoes the redo.
        undone(&store, &[number]);
        let found = differences(&first, &world.picture());
        prop_assert!(found.is_empty(), "again:\n{}", found.join("\n"));
    }
}
