//! Undo steps that the changer refuses.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::super::{Bounds, Changer, Journal, JournalError, Misplaced, Options, Recorder, Store};
use super::entries::{call, edit, some, tell, texts};
use super::picture::differences;
use super::property::World;

/// Changer that refuses the request with this index.
#[derive(Debug)]
struct RefusingChanger {
    asked: AtomicUsize,
    refuses: usize,
}

impl RefusingChanger {
    fn new(refuses: usize) -> Self {
        Self {
            asked: AtomicUsize::new(0),
            refuses,
        }
    }

    fn answer(&self) -> Result<(), Misplaced> {
        let is_refused = self.asked.fetch_add(1, Ordering::Relaxed) == self.refuses;
        if is_refused {
            Err(Misplaced::Protected(PathBuf::from("/p")))
        } else {
            Ok(())
        }
    }
}

impl Changer for RefusingChanger {
    fn may_change(&self, _: BorrowedFd<'_>, _: &OsStr) -> Result<(), Misplaced> {
        self.answer()
    }

    fn may_bear(
        &self,
        _: BorrowedFd<'_>,
        _: &OsStr,
        _: Option<(BorrowedFd<'_>, &OsStr)>,
    ) -> Result<(), Misplaced> {
        self.answer()
    }

    fn protects(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    fn protected_from(&self, _place: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Records one change of each kind: created, edited, deleted with its directory, moved, changed
/// mode.
fn changed(world: &World, store: &Store) -> u64 {
    let root = &world.roots[0];
    fs::create_dir_all(root.join("gone/in")).unwrap();
    for path in ["edited", "gone/in/file", "moved", "mode"] {
        fs::write(root.join(path), "old").unwrap();
    }
    let mut recorder = store.begin("call").unwrap();
    edit(world, &mut recorder, "edited", "new");
    edit(world, &mut recorder, "made", "new");
    for path in ["gone/in/file", "gone/in", "gone"] {
        tell(world, &mut recorder, path, Recorder::before_remove);
    }
    fs::remove_dir_all(root.join("gone")).unwrap();
    tell(world, &mut recorder, "mode", Recorder::metadata);
    fs::set_permissions(root.join("mode"), fs::Permissions::from_mode(0o700)).unwrap();
    tell(world, &mut recorder, "moved", Recorder::before_remove);
    tell(world, &mut recorder, "there", Recorder::before_create);
    fs::rename(root.join("moved"), root.join("there")).unwrap();
    store.end(recorder).unwrap().number
}

#[test]
fn undo_refused_at_any_step_keeps_tree() {
    for refuses in 0.. {
        let world = World::new();
        let mut store = world.store();
        let number = changed(&world, &store);
        let then = world.picture();
        let once = Arc::new(RefusingChanger::new(refuses));
        store.changer = Some(once.clone());
        match store.undo(&[number], "undo", Options::default()) {
            Err(JournalError::Protected { .. }) => {
                assert_eq!(differences(&then, &world.picture()), [""; 0], "{refuses}");
            }
            done => {
                assert_eq!(done.unwrap().conflicts, []);
                let all = ["edited", "made", "gone/in/file", "moved", "there"];
                let old = || some("old");
                assert_eq!(texts(&world, &all), [old(), None, old(), old(), None]);
                assert!(refuses >= 10, "{refuses}");
                return;
            }
        }
    }
}

#[test]
fn undo_of_freeze_skips_changer() {
    let world = World::new();
    let mut store = world.store();
    fs::write(world.roots[0].join("a"), "old").unwrap();
    let number = call(&world, &store, "call", &[("a", "new")]);
    store.changer = Some(Arc::new(RefusingChanger::new(0)));
    store
        .undo(
            &[number],
            "undo",
            Options {
                freezes: true,
                ..Options::default()
            },
        )
        .unwrap();
    assert_eq!(texts(&world, &["a"]), [some("old")]);
}

#[test]
fn undo_restores_no_set_id_bit() {
    let world = World::new();
    let store = world.store();
    let path = world.roots[0].join("a");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
    let mut recorder = store.begin("call").unwrap();
    tell(&world, &mut recorder, "a", Recorder::metadata);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let number = store.end(recorder).unwrap().number;
    store.undo(&[number], "undo", Options::default()).unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o755
    );
    // Set-ID bits are cleared before content is restored.
    let number = call(&world, &store, "call", &[("a", "new")]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    let forced = Options {
        force: true,
        ..Options::default()
    };
    store.undo(&[number], "undo", forced).unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o755
    );
}

/// Changer with one protected path.
#[derive(Debug)]
struct ProtectingChanger(PathBuf);

impl Changer for ProtectingChanger {
    fn may_change(&self, _: BorrowedFd<'_>, _: &OsStr) -> Result<(), Misplaced> {
        Ok(())
    }

    fn may_bear(
        &self,
        _: BorrowedFd<'_>,
        _: &OsStr,
        _: Option<(BorrowedFd<'_>, &OsStr)>,
    ) -> Result<(), Misplaced> {
        Ok(())
    }

    fn protects(&self, path: &Path) -> Option<PathBuf> {
        path.starts_with(&self.0).then(|| self.0.clone())
    }

    fn protected_from(&self, place: &Path) -> Vec<PathBuf> {
        if self.0.starts_with(place) {
            vec![self.0.clone()]
        } else {
            Vec::new()
        }
    }
}

/// Mends a call that put a file at a protected path and was killed. `last_process` gets the store.
fn assert_protected_path_moves_aside(last_process: impl FnOnce(&Path) -> Option<Child>) {
    let world = World::new();
    let root = &world.roots[0];
    let mut store = world.store();
    store.changer = Some(Arc::new(ProtectingChanger(root.join("new/keys"))));
    // Far longer than the process lives, also on a busy machine.
    store.dying_wait = Duration::from_mins(1);
    let mut recorder = store.begin("call").unwrap();
    tell(&world, &mut recorder, "new", Recorder::before_create);
    fs::create_dir(root.join("new")).unwrap();
    tell(&world, &mut recorder, "new/keys", Recorder::before_create);
    fs::write(root.join("new/keys"), "evil").unwrap();
    drop(recorder);
    let last_process = last_process(&world.dir.path().join("store"));
    let journal = Journal::new(
        store,
        Bounds {
            bytes: u64::MAX,
            age: Duration::MAX,
        },
    );
    journal.mend().unwrap();
    assert_eq!(
        fs::read_to_string(root.join("new/keys.set-aside")).unwrap(),
        "evil"
    );
    assert!(!root.join("new/keys").exists());
    if let Some(mut process) = last_process {
        process.wait().unwrap();
    }
}

#[test]
fn protected_path_of_killed_call_moves_aside() {
    assert_protected_path_moves_aside(|_| None);
}

#[test]
fn killed_call_is_mended_after_its_last_process() {
    assert_protected_path_moves_aside(|store| {
        let log = fs::File::open(store.join("log/1")).unwrap();
        flock(&log, FlockOperation::LockExclusive).unwrap();
        let mut process = Command::new("sleep");
        Some(process.arg("0.1").stdin(Stdio::from(log)).spawn().unwrap())
    });
}
