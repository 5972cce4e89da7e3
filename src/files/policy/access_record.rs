//! Record of the paths that a call opened, and of those that were refused.
//!
//! One thread serves a call, with the threads that it starts, so the current record is
//! thread-local. An observer enters a record around the work. Code that starts threads for a call
//! passes the record on ([`AccessRecord::current`]). Without a record, each question to the policy costs
//! one look at a thread-local variable.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use replay_base::limits::MAX_TOUCHED_PATHS;

use super::error::PolicyError;

/// Kind of access to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// The content of a file.
    Read,
    /// The names of a directory; of a search it is where the search begins, not what it comes by.
    List,
    /// Metadata was read.
    Look,
    /// A new content, or a new name.
    Write,
    /// A directory that shall exist.
    Create,
    /// Its removal, or its move to another place.
    Remove,
    /// Working directory of a command. The paths that the command itself uses are unknown.
    Run,
    Denied,
}

impl AccessKind {
    /// In a word, as the audit log has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Look => "look",
            Self::Write => "write",
            Self::Create => "create",
            Self::Remove => "remove",
            Self::Run => "run",
            Self::Denied => "denied",
        }
    }
}

/// One path that a call touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedPath {
    /// Absolute, as it was spelt; one that was refused exactly as it was asked for.
    pub path: PathBuf,
    /// Real path, if symbolic links led elsewhere than the spelling.
    pub real: Option<PathBuf>,
    pub access: AccessKind,
}

/// Author of a call.
#[derive(Debug)]
pub struct Caller {
    /// Number of the call in this process, as in the audit log.
    pub call: u64,
    pub client: Arc<str>,
    pub session: Option<Arc<str>>,
}

/// The record of one call. Cheap to clone; all clones are the same record.
#[derive(Clone, Debug, Default)]
pub struct AccessRecord {
    record: Arc<Mutex<TouchedPaths>>,
    caller: Option<Arc<Caller>>,
}

/// Content of a record: each pair of path and use once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedPaths {
    /// At most [`MAX_TOUCHED_PATHS`], in the order of the questions.
    pub paths: Vec<TouchedPath>,
    /// Questions about further ones.
    pub more: u64,
}

thread_local! {
    static CURRENT: RefCell<Option<AccessRecord>> = const { RefCell::new(None) };
}

/// Makes the record that was entered before the thread's own again when it is dropped.
#[derive(Debug)]
pub struct Entered(Option<AccessRecord>);

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.0.take();
        // A thread that ends has no record any more.
        let _ = CURRENT.try_with(|current| *current.borrow_mut() = before);
    }
}

impl AccessRecord {
    /// Returns the record for a call of this caller.
    pub fn by(caller: Caller) -> Self {
        Self {
            record: Arc::default(),
            caller: Some(Arc::new(caller)),
        }
    }

    pub fn caller(&self) -> Option<Arc<Caller>> {
        self.caller.clone()
    }

    /// Records this thread's questions here while the guard lives.
    #[must_use]
    pub fn enter(&self) -> Entered {
        Entered(CURRENT.with(|current| current.borrow_mut().replace(self.clone())))
    }

    /// The record of this thread, for a thread that works for the same call.
    pub fn current() -> Option<Self> {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// Returns the current content and clears the record.
    pub fn take(&self) -> TouchedPaths {
        std::mem::take(&mut *self.lock())
    }

    fn add(&self, path: &Path, real: Option<PathBuf>, access: AccessKind) {
        let mut record = self.lock();
        let same = |known: &&mut TouchedPath| known.path == path;
        let own = |known: &&mut TouchedPath| {
            known.access == access || access == AccessKind::Run && known.access == AccessKind::List
        };
        if let Some(known) = record.paths.iter_mut().filter(same).find(own) {
            known.access = access;
        } else if record.paths.len() < MAX_TOUCHED_PATHS {
            record.paths.push(TouchedPath {
                path: path.to_owned(),
                real: real.filter(|real| real != path),
                access,
            });
        } else {
            record.more += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, TouchedPaths> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if this thread has a record.
pub(super) fn is_watched() -> bool {
    CURRENT.with(|current| current.borrow().is_some())
}

/// Stores the real path, if the thread has a record.
pub(super) fn keep(real: &mut Option<PathBuf>, place: &Path) {
    if is_watched() {
        *real = Some(place.to_owned());
    }
}

/// Notes a path in the record of this thread, if it has one; `real` is where it lies if that is
/// known to be elsewhere.
pub fn note(path: &Path, real: Option<PathBuf>, access: AccessKind) {
    CURRENT.with(|current| {
        if let Some(touched) = &*current.borrow() {
            touched.add(path, real, access);
        }
    });
}

/// Records a refusal by the rules. A missing or broken path is no refusal.
pub fn note_refusal(error: &PolicyError) {
    if let PolicyError::Denied { path, .. }
    | PolicyError::ReadOnly { path, .. }
    | PolicyError::Protected { path, .. }
    | PolicyError::Hidden { path }
    | PolicyError::HoldsHidden { path }
    | PolicyError::AllowedDirectory { path } = error
    {
        note(path, None, AccessKind::Denied);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn path(path: &str, access: AccessKind) -> TouchedPath {
        TouchedPath {
            path: path.into(),
            real: None,
            access,
        }
    }

    #[test]
    fn record_is_thread_local_until_guard_drops() {
        let (outer, inner) = (AccessRecord::default(), AccessRecord::default());
        note(Path::new("/before"), None, AccessKind::Read);
        {
            let _outer = outer.enter();
            note(Path::new("/a"), Some("/a".into()), AccessKind::Read);
            {
                let _inner = inner.enter();
                note(Path::new("/b"), Some("/real".into()), AccessKind::Write);
            }
            note(Path::new("/a"), None, AccessKind::Read);
            note(Path::new("/a"), None, AccessKind::Write);
            note(Path::new("/d"), None, AccessKind::List);
            note(Path::new("/d"), None, AccessKind::Run);
            std::thread::scope(|scope| {
                let passed = AccessRecord::current();
                scope.spawn(move || {
                    note(Path::new("/alone"), None, AccessKind::Read);
                    let _passed = passed.as_ref().map(AccessRecord::enter);
                    note(Path::new("/helped"), None, AccessKind::Look);
                });
            });
        }
        note(Path::new("/after"), None, AccessKind::Read);
        let paths = vec![
            path("/a", AccessKind::Read),
            path("/a", AccessKind::Write),
            path("/d", AccessKind::Run),
            path("/helped", AccessKind::Look),
        ];
        assert_eq!(outer.take(), TouchedPaths { paths, more: 0 });
        let led = TouchedPath {
            path: "/b".into(),
            real: Some("/real".into()),
            access: AccessKind::Write,
        };
        assert_eq!(
            inner.take(),
            TouchedPaths {
                paths: vec![led],
                more: 0
            }
        );
        assert!(!is_watched());
    }

    #[test]
    fn touch_record_is_bounded() {
        let touched = AccessRecord::default();
        let _entered = touched.enter();
        for number in 0..MAX_TOUCHED_PATHS + 5 {
            note(Path::new(&format!("/{number}")), None, AccessKind::Read);
        }
        let record = touched.take();
        assert_eq!((record.paths.len(), record.more), (MAX_TOUCHED_PATHS, 5));
    }
}
