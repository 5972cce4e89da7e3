//! Limits of the journal: the oldest entries are removed first, with all saved data.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;

use super::error::JournalError;
use super::log::{self, End};
use super::object;
use super::store::{NUMBER_DIGITS, Store};

/// Limits on size and age of the saved data.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Space on the disk.
    pub bytes: u64,
    pub age: Duration,
}

impl Store {
    /// Removes entries that alone exceed the limits, then the oldest ones until the rest fits.
    /// Returns the removed entries.
    pub fn keep_within(&self, bounds: Bounds) -> Result<Vec<u64>, JournalError> {
        let lock = self.lock()?;
        let mut ended = Vec::new();
        for number in self.numbers()? {
            // An undo reads the older entries it depends on, so no entry is removed before those.
            let Some(end) = self.ended(number)? else {
                break;
            };
            ended.push((number, end));
        }
        let fitting = ended.iter().filter(|(_, end)| end.bytes <= bounds.bytes);
        let mut bytes: u64 = fitting.fold(0, |sum, (_, end)| sum.saturating_add(end.bytes));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (mut gone, mut files) = (Vec::new(), None);
        for (number, end) in ended {
            let time = Duration::from_nanos(end.time.try_into().unwrap_or(0));
            let fits = end.bytes <= bounds.bytes;
            if fits && bytes <= bounds.bytes && now.saturating_sub(time) <= bounds.age {
                continue;
            }
            if files.is_none() {
                files = Some(self.files()?);
            }
            self.remove(
                number,
                files
                    .as_mut()
                    .and_then(|files| files.remove(&number))
                    .unwrap_or_default(),
            )?;
            bytes = bytes.saturating_sub(if fits { end.bytes } else { 0 });
            gone.push(number);
        }
        if let Some(last) = gone.last() {
            // After the last number that was assigned.
            let last = self.numbers()?.first().map_or(*last, |first| first - 1);
            let noted = lock.write_all_at(
                format!("{last:0NUMBER_DIGITS$}").as_bytes(),
                NUMBER_DIGITS as u64,
            );
            let what = || format!("{}: noting what is gone", self.shown.display());
            noted.map_err(|source| JournalError::Io {
                what: what(),
                source,
            })?;
        }
        Ok(gone)
    }

    /// Returns the number of the newest removed entry; `None` if none was ever removed.
    pub fn newest_removed(&self) -> Option<u64> {
        let lock = object::open_file(&self.dir, OsStr::new("lock"), OFlags::RDONLY).ok()??;
        let mut digits = [0; NUMBER_DIGITS];
        File::from(lock)
            .read_exact_at(&mut digits, NUMBER_DIGITS as u64)
            .ok()?;
        std::str::from_utf8(&digits)
            .ok()?
            .parse()
            .ok()
            .filter(|gone| *gone > 0)
    }

    /// Returns the end record of an entry; `None` while it is being made.
    fn ended(&self, number: u64) -> Result<Option<End>, JournalError> {
        let Some(log) = self.open_log(number)? else {
            return Ok(None);
        };
        log::end(&log).map_err(|source| JournalError::Io {
            what: format!("{}: looking at its end", self.log_path(number).display()),
            source,
        })
    }
}
