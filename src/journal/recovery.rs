//! After a crash: entries that nobody ends any more are ended, and an undo that was interrupted is taken back.

use std::collections::HashSet;

use rustix::fs::{FlockOperation, flock, ftruncate};
use rustix::io::Errno;

use super::error::JournalError;
use super::recorder::Recorder;
use super::store::Store;
use super::undo::Options;

impl Store {
    /// Mends what a crash left; what another server is at is let alone. The entries that were mended.
    pub fn recover(&self) -> Result<Vec<u64>, JournalError> {
        let _lock = self.lock()?;
        let mut mended = Vec::new();
        let (mut interrupted, mut undone) = (Vec::new(), HashSet::new());
        for number in self.numbers()?.into_iter().rev() {
            let Some(log) = self.open_log(number)? else {
                // Who begins an entry holds the lock, so this one never began.
                self.remove(number)?;
                continue;
            };
            let failed = || JournalError::io(format!("{}: ending it", self.log_path(number).display()));
            match flock(&log, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => continue,
                locked => locked.map_err(failed())?,
            };
            let Some((mut entry, length)) = self.read_whole(number)? else { continue };
            if !entry.has_ended() {
                // What is behind the last whole line never happened.
                ftruncate(&log, length)
                    .map_err(JournalError::io(format!("{}: ending it", self.log_path(number).display())))?;
                let is_undo = !entry.undoes.is_empty();
                let recorder = Recorder::new(self.roots.clone(), self.entry_dir(number)?, log, entry);
                entry = self.end_as(recorder, is_undo)?;
                mended.push(number);
            }
            if entry.is_whole_undo() {
                undone.extend(entry.undoes);
            } else if !entry.undoes.is_empty() && !undone.contains(&number) {
                interrupted.push((number, entry.title));
            }
        }
        // The newest first.
        for (number, title) in interrupted {
            let options = Options { force: true, ..Options::default() };
            self.undo_locked(&[number], &title, options, false)?;
            mended.push(number);
        }
        mended.sort_unstable();
        mended.dedup();
        Ok(mended)
    }
}
