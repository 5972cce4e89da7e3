//! After a crash: entries that nobody ends any more are ended, and an undo that was interrupted is taken back.

use std::collections::HashSet;

use rustix::fs::{FlockOperation, flock, ftruncate};
use rustix::io::Errno;

use super::error::JournalError;
use super::log::Log;
use super::memory::Memory;
use super::store::{Logged, Store};
use super::undo::Options;

impl Store {
    /// Mends what a crash left; what another server is at is let alone. The entries that were mended.
    pub fn recover(&self) -> Result<Vec<u64>, JournalError> {
        let lock = self.lock()?;
        let numbers = self.numbers()?;
        let mut files = self.files()?;
        // What is left of entries that were being removed.
        for (number, files) in files.extract_if(|number, _| numbers.binary_search(number).is_err()) {
            self.remove(number, files)?;
        }
        let mut mended = Vec::new();
        let (mut interrupted, mut undone) = (Vec::new(), HashSet::new());
        for number in numbers.into_iter().rev() {
            let failed = || JournalError::io(format!("{}: ending it", self.log_path(number).display()));
            let Some(log) = self.open_log(number)? else { continue };
            match flock(&log, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => continue,
                locked => locked.map_err(failed())?,
            }
            let Some(Logged { earlier, last, length }) = self.read_whole(number, Memory::Overdrawn)? else {
                // Who begins an entry holds the lock, so this one never began.
                self.remove(number, files.remove(&number).unwrap_or_default())?;
                continue;
            };
            let entry = if last.has_ended() {
                self.whole(earlier, last)
            } else {
                // What is behind the last whole line never happened.
                ftruncate(&log, length).map_err(failed())?;
                let is_undo = !last.undoes.is_empty();
                let mut recorder = self.recorder(Log::new(log, length, &self.root_ids), last);
                recorder.earlier = earlier.map(Box::new);
                recorder.entry.files = files.get(&number).into_iter().flatten().copied().max().unwrap_or(0);
                recorder.copied_bytes = None;
                mended.push(number);
                self.end_as(recorder, is_undo, &|| true, |_| Vec::new())?
            };
            if entry.is_whole_undo() {
                undone.extend(entry.undoes);
            } else if !entry.undoes.is_empty() && !undone.contains(&number) {
                interrupted.push((number, entry.title));
            }
        }
        // The newest first.
        for (number, title) in interrupted {
            let options = Options { force: true, splits_units: true, ..Options::default() };
            self.undo_locked(&lock, &[number], &title, options, false)?;
            mended.push(number);
        }
        mended.sort_unstable();
        mended.dedup();
        Ok(mended)
    }
}
