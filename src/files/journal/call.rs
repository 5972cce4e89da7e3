//! Changes of one call: an entry that begins with the first change. Each change is recorded before
//! it is made.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::autorun::AutorunFindings;
use super::autorun_change::Outside;
use super::autorun_report::AutorunChanges;
use super::bounds::Bounds;
use super::entry::{Change, Entry, RootedPath};
use super::error::JournalError;
use super::keeping::{SKIPPED, WhenFull};
use super::log::EntryKind;
use super::memory::Memory;
use super::reading::EndedEntry;
use super::recorder::{At, Recorder};
use super::store::Store;
use super::undo::Options;

/// Interval of looking for the oldest entries, in seconds; also done after new entries have taken a
/// share of `--undo-mib`.
const UNDO_SWEEP_SECS: u64 = 3600;
const UNDO_SWEEP_SHARE: u64 = 16;

/// Directories that can be made again, and whose last entries are remembered.
const MAX_REMAKEABLE: usize = 1024;

/// Title of an entry that restores autorun files.
const PUTS_BACK: &str = "--freeze-autorun";

/// Journal of a server: its store, limits and policy.
#[derive(Debug)]
pub struct Journal {
    pub store: Store,
    bounds: Bounds,
    /// Time at which this server opened the store, in nanoseconds. Older entries were made under
    /// other rules.
    begun: i64,
    /// `true` if calls may not change autorun files (files that programs outside the sandbox run).
    freezes: bool,
    /// `true` if an undo was under way when this server opened the store.
    had_open_undo: bool,
    mended: OnceLock<Result<(), String>>,
    since: Mutex<UsageSinceSweep>,
    /// Last entry that changed each directory that can be made again.
    remakeable: Mutex<HashMap<PathBuf, u64>>,
}

impl Journal {
    pub fn new(store: Store, bounds: Bounds) -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let begun = i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX);
        Self {
            had_open_undo: store.has_open_undo(),
            store,
            bounds,
            begun,
            freezes: false,
            mended: OnceLock::new(),
            since: Mutex::new(UsageSinceSweep::now()),
            remakeable: Mutex::default(),
        }
    }

    /// Notes that an entry changed directories that can be made again. Returns the earlier entries
    /// that changed them, each with the directory.
    pub fn changed_remakeable(
        &self,
        number: u64,
        dirs: impl IntoIterator<Item = PathBuf>,
    ) -> Vec<(u64, PathBuf)> {
        let mut last = self
            .remakeable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if last.len() > MAX_REMAKEABLE {
            last.clear();
        }
        let mut note = |dir: PathBuf| {
            let earlier = last.insert(dir.clone(), number)?;
            (earlier < number).then_some((earlier, dir))
        };
        dirs.into_iter().filter_map(&mut note).collect()
    }

    /// Sets whether calls may change autorun files.
    #[must_use]
    pub fn freezing(self, freezes: bool) -> Self {
        Self { freezes, ..self }
    }

    pub fn freezes(&self) -> bool {
        self.freezes
    }

    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Repairs the state after a crash and removes expired entries. Runs once; concurrent callers
    /// wait. Returns the error, if any.
    pub fn mend(&self) -> Result<(), &str> {
        let mend = || {
            self.mend_entries()?;
            self.store.keep_within(self.bounds)
        };
        let failed = |error: JournalError| match error {
            JournalError::Damaged { .. } => match self.store.set_aside() {
                Ok(aside) => format!(
                    "{error}; it is in `{}` now, and the next start begins anew",
                    aside.display()
                ),
                Err(other) => format!("{error}; it could not be set aside: {other}"),
            },
            error => error.to_string(),
        };
        let mended = self.mended.get_or_init(|| mend().map(drop).map_err(failed));
        mended.as_ref().copied().map_err(String::as_str)
    }

    /// Returns true if the tree is between two states, until [`Self::mend`] has ended an undo.
    pub fn is_between_states(&self) -> bool {
        self.had_open_undo && self.mended.get().is_none()
    }

    /// Repairs the entries that a crash left.
    fn mend_entries(&self) -> Result<(), JournalError> {
        self.store.await_dying_processes()?;
        let unsettled = self.store.unsettled()?;
        self.mend_with(&unsettled)
    }

    /// Repairs the changes of commands whose launcher was killed. Their entries may have ended.
    pub fn mend_without_launcher(&self) -> Result<(), JournalError> {
        self.mend_with(&self.store.ended_since(self.begun)?)
    }

    fn mend_with(&self, unsettled: &[u64]) -> Result<(), JournalError> {
        let mended = self.store.recover()?;
        for number in mended.iter().chain(unsettled) {
            for path in self.store.spare_protected(*number)? {
                tracing::warn!(
                    "`{}` is protected: what a killed command put there was moved aside",
                    path.display()
                );
            }
            if self.freezes
                && let Some(failed) = self.settle_entry(*number).failed
            {
                tracing::warn!(
                    "what a killed command changed of what runs outside still stands: {failed}"
                );
            }
        }
        self.take_back(&mended)?;
        self.store.note_settled();
        Ok(())
    }

    /// Describes the contents that an entry could not save.
    pub fn not_kept(&self, entry: &Entry) -> Option<String> {
        let places = self.store.not_kept(entry);
        let first = self.store.path(places.first()?);
        let more = places.len() - 1;
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        Some(format!(
            "what was in `{}`{more}: it was too large, could not be read, or found no room",
            first.display()
        ))
    }

    /// Undoes interrupted atomic calls as a whole.
    fn take_back(&self, mended: &[u64]) -> Result<(), JournalError> {
        for number in mended.iter().rev() {
            let entry = self.store.entry_with(*number, Memory::Overdrawn)?;
            if entry.kind == EntryKind::AtomicCall {
                // Changes that somebody has overwritten since stay.
                let options = Options {
                    memory: Memory::Overdrawn,
                    ..Options::default()
                };
                self.store.undo(&[*number], &entry.title, options)?;
            }
        }
        Ok(())
    }

    /// Removes the oldest entries from time to time, since that reads the end of each. Returns an
    /// error if the entry itself is too large to be stored.
    pub fn keep(&self, entry: &Entry) -> Result<(), String> {
        let [bytes, most] = [entry.bytes(), self.bounds.bytes].map(|bytes| bytes >> 20);
        let fits = entry.bytes() <= self.bounds.bytes;
        let kept = if fits {
            Ok(())
        } else {
            Err(format!("it takes {bytes} MiB, and --undo-mib is {most}"))
        };
        {
            let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
            since.bytes += entry.bytes();
            let is_due = since.swept.elapsed() >= Duration::from_secs(UNDO_SWEEP_SECS);
            if !is_due && since.bytes < self.bounds.bytes / UNDO_SWEEP_SHARE {
                return kept;
            }
            *since = UsageSinceSweep::now();
        }
        // A failed removal is tried again next time.
        let _ = self.store.keep_within(self.bounds);
        kept
    }
}

impl Journal {
    /// Finds the autorun files that an ended entry changed, and restores them if they are frozen.
    pub fn settle(&self, number: u64, changes: &[(RootedPath, Change)]) -> AutorunChanges {
        let settled = self.settle_changes(number, changes);
        self.store.note_settled();
        settled
    }

    fn settle_changes(&self, number: u64, changes: &[(RootedPath, Change)]) -> AutorunChanges {
        let AutorunFindings { all, by } = match self.store.outside(number, changes) {
            Ok(found) => found,
            Err(error) => {
                return AutorunChanges {
                    failed: Some(error.to_string()),
                    ..AutorunChanges::none()
                };
            }
        };
        if all.is_empty() || !self.freezes() {
            return AutorunChanges {
                outside: all,
                ..AutorunChanges::none()
            };
        }
        let paths: Vec<RootedPath> = by.into_iter().collect();
        let options = Options {
            paths: &paths,
            freezes: true,
            splits_units: true,
            memory: Memory::Overdrawn,
            ..Options::default()
        };
        let undone = self.store.undo(&[number], PUTS_BACK, options);
        let failed = match undone {
            Ok(undone) => match undone.conflicts.first() {
                None => {
                    return AutorunChanges {
                        put_back: all,
                        ..AutorunChanges::none()
                    };
                }
                Some(conflict) => format!(
                    "{}: {}",
                    self.store.path(&conflict.place).display(),
                    conflict.why
                ),
            },
            Err(error) => error.to_string(),
        };
        AutorunChanges {
            outside: all,
            failed: Some(failed),
            ..AutorunChanges::none()
        }
    }

    /// Does the same for an entry that is only known by its number.
    pub fn settle_entry(&self, number: u64) -> AutorunChanges {
        match self.store.ended_entry(number) {
            Ok(None) => AutorunChanges::none(),
            Ok(Some(ended)) => self.settle(number, &self.store.changes(&ended.entry)),
            Err(error) => AutorunChanges {
                failed: Some(error.to_string()),
                ..AutorunChanges::none()
            },
        }
    }
}

/// Time of the last removal of old entries, and the disk space of the entries since.
#[derive(Debug)]
struct UsageSinceSweep {
    swept: Instant,
    bytes: u64,
}

impl UsageSinceSweep {
    fn now() -> Self {
        Self {
            swept: Instant::now(),
            bytes: 0,
        }
    }
}

impl Store {
    /// Returns the directory, for sandbox rules that give this process access.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    pub fn display_path(&self) -> &Path {
        &self.shown
    }
}

/// Changes of one call. Does nothing without a journal.
#[derive(Debug)]
pub struct Changes<'a> {
    journal: Option<&'a Journal>,
    /// Title of the call.
    title: &'a str,
    /// Subject of the call, as its caller put it.
    subject: Option<&'a str>,
    is_atomic: AtomicBool,
    noted: Mutex<ChangeState>,
}

#[derive(Debug, Default)]
struct ChangeState {
    recorder: Option<Recorder>,
    /// Reason why something could not be saved.
    lost: Option<String>,
    skipped: bool,
    by_commands: ByCommands,
    elsewhere: Option<Ended>,
}

/// Changes made by the commands of a call.
#[derive(Clone, Debug, Default)]
pub struct ByCommands {
    /// Number of the entry, if it has begun.
    pub number: Option<u64>,
    /// Reason why a change could not be recorded.
    pub fault: Option<String>,
    pub settled: AutorunChanges,
}

/// Result of a call's changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Number of the entry; `None` if no recorded file has changed.
    pub number: Option<u64>,
    pub changes: Vec<(RootedPath, Change)>,
    /// Contents that cannot be restored, and the reason.
    pub lost: Option<String>,
    pub settled: AutorunChanges,
}

impl<'a> Changes<'a> {
    pub const fn new(journal: Option<&'a Journal>, title: &'a str) -> Self {
        Self {
            journal,
            title,
            subject: None,
            is_atomic: AtomicBool::new(false),
            noted: Mutex::new(ChangeState {
                recorder: None,
                lost: None,
                skipped: false,
                by_commands: ByCommands {
                    number: None,
                    fault: None,
                    settled: AutorunChanges::none(),
                },
                elsewhere: None,
            }),
        }
    }

    /// Returns a value that records nothing, for work outside of calls.
    pub const fn none() -> Self {
        Self::new(None, "")
    }

    /// Makes the changes atomic: if a crash interrupts them, the next start undoes them. Called
    /// before the first change.
    pub fn are_atomic(&self) {
        self.is_atomic.store(true, Ordering::Relaxed);
    }

    /// Records a new name, like [`Recorder::before_create`]; `place` is the real path of the name in the
    /// directory.
    pub fn before_create(&self, dir: BorrowedFd<'_>, place: &Path) -> Result<(), JournalError> {
        self.record(&[(dir, place)], |recorder, at| {
            recorder.before_create(at[0])
        })
    }

    /// Records a deletion, like [`Recorder::before_remove`].
    pub fn before_remove(&self, dir: BorrowedFd<'_>, place: &Path) -> Result<(), JournalError> {
        self.check_autorun(|store| Some(store.outside_if_moved(&store.place(place)?, None)))?;
        self.before_replace(dir, place)
    }

    /// Records that another object replaces the one under this name.
    pub fn before_replace(&self, dir: BorrowedFd<'_>, place: &Path) -> Result<(), JournalError> {
        self.record(&[(dir, place)], |recorder, at| {
            recorder.before_replace(at[0])
        })
    }

    /// Fails if autorun files are frozen and this file, put under the name, would change one.
    pub fn check_placement(&self, file: BorrowedFd<'_>, place: &Path) -> Result<(), JournalError> {
        self.check_autorun(|store| Some(store.outside_if_put(file, &store.place(place)?)))
    }

    /// Records a rename to an unused name, like [`Recorder::before_rename`].
    pub fn before_rename(
        &self,
        from: (BorrowedFd<'_>, &Path),
        to: (BorrowedFd<'_>, &Path),
    ) -> Result<(), JournalError> {
        self.check_autorun(|store| {
            Some(store.outside_if_moved(&store.place(from.1)?, store.place(to.1).as_ref()))
        })?;
        self.record(&[from, to], |recorder, at| {
            recorder.before_rename(at[0], at[1], false)
        })
    }

    fn check_autorun(
        &self,
        look: impl FnOnce(&Store) -> Option<Result<Vec<Outside>, JournalError>>,
    ) -> Result<(), JournalError> {
        let journal = self.journal.filter(|journal| journal.freezes);
        let changed = journal
            .and_then(|journal| look(&journal.store))
            .transpose()?
            .unwrap_or_default();
        if changed.is_empty() {
            Ok(())
        } else {
            Err(JournalError::Frozen { changed })
        }
    }

    fn record(
        &self,
        spots: &[(BorrowedFd<'_>, &Path)],
        tell: impl FnOnce(&mut Recorder, &[At<'_>]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let Some(journal) = self.journal else {
            return Ok(());
        };
        let keeping = &journal.store.keeping;
        let mut ats = Vec::with_capacity(spots.len());
        for &(dir, place) in spots {
            let below = |(index, root): (usize, &super::Root)| {
                Some((index, place.strip_prefix(&root.shown).ok()?))
            };
            // Nothing outside of the roots can be written to.
            let Some((root, path)) = journal.store.roots.iter().enumerate().find_map(below) else {
                return Ok(());
            };
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
                return Ok(());
            };
            if keeping
                .skips
                .as_ref()
                .is_some_and(|skips| skips(root, path))
            {
                self.state().skipped = true;
                return Ok(());
            }
            ats.push(At {
                dir,
                name,
                root,
                path: above,
                seen: None,
            });
        }
        let mut noted = self.state();
        let number = noted.by_commands.number;
        if noted.recorder.is_none() && noted.lost.is_some() {
            return Ok(());
        }
        let is_atomic = self.is_atomic.load(Ordering::Relaxed);
        let begin = || {
            if is_atomic {
                journal.store.begin_atomic(self.title)
            } else {
                journal.store.begin_in(number, self.title)
            }
        };
        let told = noted
            .recorder(begin)
            .and_then(|recorder| tell(recorder, &ats));
        match told {
            Err(error)
                if keeping.when_full == WhenFull::Drop
                    && !matches!(error, JournalError::Moved { .. }) =>
            {
                noted.lost.get_or_insert_with(|| error.to_string());
                Ok(())
            }
            told => told,
        }
    }

    fn state(&self) -> MutexGuard<'_, ChangeState> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what the call is about, as its caller put it.
    #[must_use]
    pub fn about(mut self, subject: &'a str) -> Self {
        self.subject = Some(subject);
        self
    }

    /// Returns the title of the call.
    pub const fn title(&self) -> &'a str {
        self.title
    }

    /// Returns what the call is about, if its caller said so.
    pub const fn subject(&self) -> Option<&'a str> {
        self.subject
    }

    /// Lends the entry to a command of the call until [`Self::come_back`]. Returns its number, if
    /// it has begun.
    pub fn lend(&self) -> Option<u64> {
        let mut noted = self.state();
        if let (Some(recorder), Some(journal)) = (noted.recorder.take(), self.journal) {
            match journal.store.end_if_changed(recorder) {
                Ok(entry) => noted.by_commands.number = entry.map(|entry| entry.number),
                Err(error) => drop(noted.lost.get_or_insert_with(|| error.to_string())),
            }
        }
        noted.by_commands.number
    }

    /// Takes the entry back from a command; `None` if no change remains.
    pub fn come_back(&self, number: Option<u64>, fault: Option<String>, settled: AutorunChanges) {
        let mut noted = self.state();
        let before = std::mem::take(&mut noted.by_commands);
        let is_same = before.number == number;
        noted.by_commands = ByCommands {
            number,
            fault: before.fault.or(fault),
            settled: if is_same {
                settled.after_parts(before.settled)
            } else {
                settled.after(before.settled)
            },
        };
    }

    pub fn by_commands(&self) -> ByCommands {
        self.state().by_commands.clone()
    }

    /// Sets an entry that the call made by itself, like an undo does.
    pub fn made(&self, entry: Ended) {
        self.state().elsewhere = Some(entry);
    }

    /// Ends the entry. An entry without changes is dropped.
    pub fn end(&self) -> Ended {
        let ChangeState {
            recorder,
            lost,
            skipped,
            by_commands,
            elsewhere,
        } = std::mem::take(&mut *self.state());
        let Some(journal) = self.journal else {
            return Ended::default();
        };
        let skipped = skipped.then(|| SKIPPED.to_owned());
        let lost = lost.or(skipped);
        // The autorun files of this entry, or those of earlier parts that are still to be merged.
        let (number, ended, settled) = match (recorder, elsewhere, by_commands) {
            (None, Some(made), _) => {
                return Ended {
                    lost: lost.or(made.lost),
                    ..made
                };
            }
            (Some(recorder), _, before) => {
                let number = recorder.number();
                let ended = journal
                    .store
                    .end_if_changed(recorder)
                    .map(|entry| entry.map(EndedEntry::from));
                (number, ended, Err(before.settled))
            }
            (
                None,
                None,
                ByCommands {
                    number: Some(number),
                    settled,
                    ..
                },
            ) => (number, journal.store.ended_entry(number), Ok(settled)),
            (None, None, by_commands) => {
                return Ended {
                    lost,
                    settled: by_commands.settled,
                    ..Ended::default()
                };
            }
        };
        match ended {
            Ok(None) => Ended {
                lost,
                settled: settled.unwrap_or_else(|before| before),
                ..Ended::default()
            },
            Ok(Some(ended)) => {
                let entry = &ended.entry;
                let changes = journal.store.changes(entry);
                let settled = settled
                    .unwrap_or_else(|before| journal.settle(number, &changes).after_parts(before));
                match journal.keep(entry) {
                    Ok(()) => {
                        let lost = lost.or_else(|| journal.not_kept(entry));
                        Ended {
                            number: Some(number),
                            changes,
                            lost,
                            settled,
                        }
                    }
                    Err(why) => Ended {
                        number: None,
                        changes,
                        lost: Some(why),
                        settled,
                    },
                }
            }
            // All recorded changes are on the disk.
            Err(error) => {
                let lost = Some(format!(
                    "{error}; the server ends this entry when it starts again"
                ));
                Ended {
                    number: Some(number),
                    lost,
                    ..Ended::default()
                }
            }
        }
    }
}

/// Also ends the entry after a panic.
impl Drop for Changes<'_> {
    fn drop(&mut self) {
        if self.state().recorder.is_some() {
            self.end();
        }
    }
}

impl ChangeState {
    fn recorder(
        &mut self,
        begin: impl FnOnce() -> Result<Recorder, JournalError>,
    ) -> Result<&mut Recorder, JournalError> {
        let begun = match self.recorder.take() {
            Some(recorder) => recorder,
            None => begin()?,
        };
        Ok(self.recorder.insert(begun))
    }
}
