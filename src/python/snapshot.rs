//! Files that a cell has made or changed: compares the session's directory before and after it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use replay_base::cancel::{Bound, CancelToken};
use replay_base::limits::MAX_WALK_DEPTH;

use replay_files::fs::{Ended, FsError, Order, Visitor, WalkEntry, WalkOptions, walk};
use replay_files::policy::{Checked, FileKind, Read};

/// Files below a session's directory that are looked at for changes.
const MAX_SNAPSHOT_FILES: usize = 50_000;
/// Time limit for looking at the files below a session's directory, in milliseconds; twice for each
/// cell.
const SNAPSHOT_MS: u64 = 500;
/// Pause after that limit was exceeded, as a multiple of the time taken.
const SNAPSHOT_PAUSE_TIMES: u32 = 20;
/// Files that a reply lists as new, and as modified.
const MAX_CHANGED_FILES: usize = 500;

/// Names of directories whose files are not reported.
const SKIPPED: [&[u8]; 6] = [
    b".git",
    b"node_modules",
    b".venv",
    b"venv",
    b"target",
    b"__pycache__",
];

/// Identity of a file version: inode number, size in bytes, and time of the last change.
type FileStamp = (u64, u64, (i64, u32));

/// Regular files below a directory.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    files: HashMap<Box<[u8]>, FileStamp>,
    /// `true` if there were too many files, or the walk took too long.
    is_partial: bool,
}

/// Changes between two snapshots: paths below the directory, sorted, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New files.
    pub new: Vec<Box<[u8]>>,
    pub modified: Vec<Box<[u8]>>,
    /// Reason for an incomplete list.
    pub partial: Option<&'static str>,
}

impl Snapshot {
    /// Takes a snapshot, until the time limit or until the call is cancelled.
    pub(super) fn take(dir: &Checked<Read>, cancel: &CancelToken) -> Result<Self, FsError> {
        let deadline = Instant::now().checked_add(Duration::from_millis(SNAPSHOT_MS));
        Self::within(
            dir,
            Bound {
                deadline,
                cancel: Some(cancel),
            },
        )
    }

    fn within(dir: &Checked<Read>, bound: Bound<'_>) -> Result<Self, FsError> {
        let visitor = SnapshotVisitor {
            bound,
            stop: CancelToken::new(),
            files: AtomicUsize::new(0),
        };
        let options = WalkOptions {
            threads: None,
            order: Order::Names,
            max_depth: MAX_WALK_DEPTH,
            skip_ignored: false,
            above: &[],
            account: None,
            cancel: &visitor.stop,
        };
        let mut snapshot = Self::default();
        let ended = walk(
            dir,
            &options,
            &visitor,
            |found: Vec<(Box<[u8]>, FileStamp)>| {
                snapshot.files.extend(found);
                ControlFlow::Continue(())
            },
        )?;
        if ended == Ended::Stopped || visitor.stop.is_cancelled() {
            return Ok(Self::partial());
        }
        Ok(snapshot)
    }

    /// Returns a snapshot without information.
    pub(super) fn partial() -> Self {
        Self {
            is_partial: true,
            ..Self::default()
        }
    }

    /// Returns the changes from this snapshot to a later one.
    pub(super) fn until(&self, later: &Self) -> Changes {
        if self.is_partial || later.is_partial {
            return Changes {
                partial: Some("the directory has too many files to compare them all"),
                ..Changes::default()
            };
        }
        let mut changes = Changes::default();
        for (path, mark) in &later.files {
            match self.files.get(path) {
                None => changes.new.push(path.clone()),
                Some(before) if before != mark => changes.modified.push(path.clone()),
                Some(_) => {}
            }
        }
        for list in [&mut changes.new, &mut changes.modified] {
            list.sort_unstable();
            if list.len() > MAX_CHANGED_FILES {
                list.truncate(MAX_CHANGED_FILES);
                changes.partial = Some("more files have changed than are listed");
            }
        }
        changes
    }
}

/// Takes the snapshots of one session.
#[derive(Debug, Default)]
pub(super) struct SnapshotTaker {
    /// Time of the next try, after a snapshot with too many files.
    next: Mutex<Option<Instant>>,
}

impl SnapshotTaker {
    /// Takes a snapshot, unless the last one took too long a moment ago: a row of cells must not
    /// wait each time.
    pub(super) fn look(
        &self,
        dir: &Checked<Read>,
        cancel: &CancelToken,
    ) -> Result<Snapshot, FsError> {
        let begun = Instant::now();
        if self.lock().is_some_and(|next| begun < next) {
            return Ok(Snapshot::partial());
        }
        let snapshot = Snapshot::take(dir, cancel)?;
        if snapshot.is_partial && !cancel.is_cancelled() {
            *self.lock() = Instant::now().checked_add(begun.elapsed() * SNAPSHOT_PAUSE_TIMES);
        }
        Ok(snapshot)
    }

    /// Returns the changes since a snapshot.
    pub(super) fn changes_since(
        &self,
        before: Result<Snapshot, FsError>,
        dir: &Checked<Read>,
        cancel: &CancelToken,
    ) -> Changes {
        let after = match &before {
            Ok(before) if before.is_partial => Ok(Snapshot::partial()),
            _ => self.look(dir, cancel),
        };
        match (before, after) {
            (Ok(before), Ok(after)) => before.until(&after),
            _ => Changes {
                partial: Some("the directory could not be read"),
                ..Changes::default()
            },
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct SnapshotVisitor<'a> {
    bound: Bound<'a>,
    stop: CancelToken,
    files: AtomicUsize,
}

impl Visitor for SnapshotVisitor<'_> {
    type Local = ();
    type Out = Vec<(Box<[u8]>, FileStamp)>;
    type Notes = ();

    fn local(&self) {}

    fn enters(&self, rel: &[u8]) -> bool {
        let name = rel.rsplit(|byte| *byte == b'/').next().unwrap_or(rel);
        !SKIPPED.contains(&name)
    }

    // Directories count too: a tree of directories alone takes as long.
    fn visit(&self, (): &mut (), out: &mut Self::Out, found: &WalkEntry<'_>, (): &()) {
        if self.stop.is_cancelled() {
            return;
        }
        if found.kind() == FileKind::File
            && let Some(version) = found.version()
        {
            out.push((
                found.rel().into(),
                (version.inode, version.size, version.modified),
            ));
            self.files.fetch_add(1, Ordering::Relaxed);
        }
        if self.bound.is_over() || self.files.load(Ordering::Relaxed) > MAX_SNAPSHOT_FILES {
            self.stop.cancel();
        }
    }

    fn unreadable(&self, _: &mut Self::Out, _: &[u8]) {}

    fn weight(out: &Self::Out) -> usize {
        out.len() * 64
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make what is looked at")]
mod tests {
    use replay_files::policy::{Access, Grant, Policy};

    use super::*;
    use pretty_assertions::assert_eq;

    fn snapshot(files: &[(&str, FileStamp)]) -> Snapshot {
        let files = files
            .iter()
            .map(|(path, mark)| (path.as_bytes().into(), *mark))
            .collect();
        Snapshot {
            files,
            is_partial: false,
        }
    }

    fn paths(paths: &[&str]) -> Vec<Box<[u8]>> {
        paths.iter().map(|path| path.as_bytes().into()).collect()
    }

    #[test]
    fn snapshot_separates_new_and_modified_files() {
        let before = snapshot(&[
            ("a", (1, 1, (0, 0))),
            ("b", (2, 1, (0, 0))),
            ("c", (3, 1, (0, 0))),
            ("gone", (9, 1, (0, 0))),
        ]);
        let after = snapshot(&[
            ("a", (1, 1, (0, 0))),
            ("b", (2, 1, (0, 1))),
            ("c", (4, 1, (0, 0))),
            ("e", (5, 0, (0, 0))),
            ("d", (6, 0, (0, 0))),
        ]);
        let expected = Changes {
            new: paths(&["d", "e"]),
            modified: paths(&["b", "c"]),
            partial: None,
        };
        assert_eq!(before.until(&after), expected);
        assert_eq!(after.until(&after), Changes::default());
    }

    #[test]
    fn partial_snapshot_reports_no_changes() {
        let partial = Snapshot {
            is_partial: true,
            ..Snapshot::default()
        };
        let changes = partial.until(&snapshot(&[("a", (1, 1, (0, 0)))]));
        assert_eq!((changes.new, changes.partial.is_some()), (Vec::new(), true));
    }

    #[test]
    fn snapshot_skips_tool_directories() {
        let visitor = SnapshotVisitor {
            bound: Bound::default(),
            stop: CancelToken::new(),
            files: AtomicUsize::new(0),
        };
        assert!(!visitor.enters(b"a/node_modules") && !visitor.enters(b".git"));
        assert!(visitor.enters(b"a/src") && visitor.enters(b"targets"));
    }

    #[test]
    fn snapshot_stops_at_deadline_or_cancellation() {
        let tree = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::create_dir_all(tree.path().join(name).join("d")).unwrap();
        }
        let grant = Grant {
            path: tree.path().canonicalize().unwrap(),
            access: Access::ReadOnly,
        };
        let policy = Policy::open(&[grant], &[]).unwrap();
        let dir = policy.read(".").unwrap();
        let is_partial = |bound| Snapshot::within(&dir, bound).unwrap().is_partial;
        assert!(!is_partial(Bound::default()));
        assert!(is_partial(Bound {
            deadline: Some(Instant::now()),
            cancel: None
        }));
        let cancel = CancelToken::new();
        assert!(!is_partial(Bound {
            deadline: None,
            cancel: Some(&cancel)
        }));
        cancel.cancel();
        assert!(is_partial(Bound {
            deadline: None,
            cancel: Some(&cancel)
        }));
    }
}
