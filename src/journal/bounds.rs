//! What the journal may take: the oldest entries go first, with all that they kept.

use std::ffi::OsStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;
use rustix::io::{Errno, pread};

use super::error::JournalError;
use super::object::{self, stat};
use super::store::Store;

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// On the disk.
    pub bytes: u64,
    pub age: Duration,
}

impl Store {
    /// Removes the oldest entries until the rest is within the bounds. The entries that are gone.
    pub fn keep_within(&self, bounds: Bounds) -> Result<Vec<u64>, JournalError> {
        let _lock = self.lock()?;
        let mut ended = Vec::new();
        for number in self.numbers()? {
            // An undo knows what older entries need to be undone, so none is removed before those are.
            let Some(end) = self.ended(number)? else { break };
            ended.push((number, end));
        }
        let mut bytes: u64 = ended.iter().map(|(_, (bytes, _))| bytes).sum();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut gone = Vec::new();
        for (number, (own, time)) in ended {
            if bytes <= bounds.bytes && now.saturating_sub(time) <= bounds.age {
                break;
            }
            self.remove(number)?;
            bytes -= own;
            gone.push(number);
        }
        Ok(gone)
    }

    /// What an entry takes, and when it ended; `None` while it is made.
    fn ended(&self, number: u64) -> Result<Option<(u64, Duration)>, JournalError> {
        let failed = || JournalError::io(format!("{}: looking at it", self.log_path(number).display()));
        let dir = self.entry_dir(number)?;
        let Some(end) = stat(&dir, OsStr::new("end")).map_err(failed())? else { return Ok(None) };
        let text = object::handle(&dir, OsStr::new("end")).and_then(|end| end.ok_or(Errno::NOENT));
        let text = text.and_then(|end| object::reopen(&end, OFlags::RDONLY)).map_err(failed())?;
        let mut digits = [0; 20];
        let got = pread(text, &mut digits, 0).map_err(failed())?;
        let bytes = std::str::from_utf8(&digits[..got]).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0);
        Ok(Some((bytes, Duration::from_nanos(end.mtime.try_into().unwrap_or(0)))))
    }
}
