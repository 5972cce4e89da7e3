//! Origin of content that an undo by the operator would put at a protected path.
//!
//! An undo must not put content of a call at a protected path. The entry may have found it at
//! another path, or there for a moment. The ctime of an object, which no program can set, tells when
//! its content was made. If a call was at work then, the content counts as made by it.

use rustix::io::Errno;

use super::error::JournalError;
use super::log::{self, Event, Version};
use super::object;
use super::store::Store;

/// Maximum number of entries through which a version is traced.
const TRACED_ENTRIES: usize = 64;

/// Time in which an entry was made.
#[derive(Clone, Copy, Debug)]
struct EntrySpan {
    number: u64,
    start: i64,
    end: i64,
}

/// The times of all entries of a store.
#[derive(Debug, Default)]
pub(super) struct Origins {
    spans: Vec<EntrySpan>,
    /// Birth of the store. Older content is older than all calls.
    born: i64,
    /// Removed entries began before this time.
    unknown_until: i64,
    /// True if no call ran beside the undone ones. Then what they found at a protected path had
    /// been allowed there when the calls before them ended.
    pub(super) are_places_known: bool,
}

impl Store {
    /// Returns the times of all entries, for an undo of these numbers.
    pub(super) fn origins(&self, undone: &[u64]) -> Result<Origins, JournalError> {
        let failed = |errno: Errno| {
            JournalError::io(format!(
                "{}: reading the times of its calls",
                self.shown.display()
            ))(errno)
        };
        let mut spans = Vec::new();
        for number in self.numbers()? {
            let Some(log) = self.open_log(number)? else {
                continue;
            };
            let Some(head) = log::head(&log) else {
                continue;
            };
            let end = log::end(&log).ok().flatten();
            spans.push(EntrySpan {
                number,
                start: head.start,
                end: end.map_or(i64::MAX, |end| end.time),
            });
        }
        let unknown_until = match self.newest_removed() {
            None => i64::MIN,
            Some(_) => spans.first().map_or(i64::MAX, |first| first.start),
        };
        let born = object::stat_of(&self.logs).map_err(failed)?.id.born();
        let is_alone = |one: &EntrySpan| {
            let mut others = spans.iter().filter(|other| other.number != one.number);
            others.all(|other| other.end < one.start || one.end < other.start)
        };
        let mut undone = spans.iter().filter(|span| undone.contains(&span.number));
        let are_places_known = undone.all(is_alone);
        Ok(Origins {
            spans,
            born,
            unknown_until,
            are_places_known,
        })
    }

    /// Returns true if a call may have made a version.
    pub(super) fn is_by_call(
        &self,
        origins: &Origins,
        version: Version,
    ) -> Result<bool, JournalError> {
        let mut version = version;
        for _ in 0..TRACED_ENTRIES {
            let time = version.1;
            if time <= origins.born {
                return Ok(false);
            }
            let mut spans = origins
                .spans
                .iter()
                .filter(|span| (span.start..=span.end).contains(&time));
            let Some(first) = spans.next() else {
                return Ok(time < origins.unknown_until);
            };
            // Each entry around that time may have found the version, and left it as it was.
            let mut older = None;
            for span in std::iter::once(first).chain(spans) {
                older = self.older_version(span.number, version)?;
                if older.is_some() {
                    break;
                }
            }
            match older {
                Some(older) if older.1 < time => version = older,
                _ => return Ok(true),
            }
        }
        Ok(true)
    }

    /// Returns the older version that equals this one, if the entry only restored or touched it.
    fn older_version(
        &self,
        number: u64,
        version: Version,
    ) -> Result<Option<Version>, JournalError> {
        let (mut id, time) = version;
        let Some(log) = self.open_log(number)? else {
            return Ok(None);
        };
        let (mut before, mut same, mut left) = (None, None, None);
        log::read(log, &self.log_path(number), &self.root_ids, |event| {
            match event {
                Event::Object(stat) if stat.id == id => before = before.or(Some(stat.ctime)),
                Event::State {
                    stat,
                    content: false,
                    metadata: false,
                } if stat.id == id && stat.ctime == time => left = before,
                Event::Same { new, old } if new == (id, 0) => id = old.0,
                Event::Same { new, old } if new == (id, time) => same = Some(old),
                _ => {}
            }
            Ok(())
        })?;
        Ok(same.or(left.map(|ctime| (id, ctime))))
    }
}
