//! Log of an entry: event types and file format.
//!
//! A log consists of JSON lines, one [`Event`] each, in chronological order. Bytes other than
//! printable ASCII (names, attributes) are percent-encoded. A line is written before its change
//! happens. An incomplete last line belongs to a change that never happened, and is ignored.
//! Anything else that is unreadable is an error.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bytes::Bytes;
use super::error::JournalError;
use super::object::{Attributes, Id, Stat, stat_of};

/// A line of a log that is longer than this was not written by us, in bytes.
const JOURNAL_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Marks the number of a device that holds none of the roots.
const FOREIGN: u64 = 1 << 63;
pub(super) const VERSION: u32 = 1;
/// Upper bound for the size of an [`Event::End`].
const END_BYTES: usize = 512;
const PENDING_BYTES: usize = 64 * 1024;

/// Way to restore the content of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Content {
    /// The content was not at risk.
    #[default]
    Same,
    /// The file with this number is a copy.
    Copy(u32),
    /// The file only grew: its first bytes, up to the old size, are the old content.
    Grew,
    /// The content is too large, or unreadable.
    NotKept,
}

/// A version of an object: identity and ctime. A ctime of 0 stands for the object itself.
pub(super) type Version = (Id, i64);

/// Kind of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum EntryKind {
    #[default]
    Call,
    /// A call that makes all its changes or none: it is rolled back if interrupted.
    AtomicCall,
    Undo,
    /// An undo of a part of the changes.
    PartialUndo,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum Event {
    /// First line. Objects born later than `start` are new; `undoes` lists the entries that an undo
    /// undoes.
    Begin {
        version: u32,
        start: i64,
        title: String,
        undoes: Vec<u64>,
        kind: EntryKind,
    },
    /// Object under a name when the entry began. Also recorded for a directory's own name once a
    /// name in it is recorded.
    Name {
        dir: Id,
        name: Bytes,
        before: Option<Id>,
    },
    /// State of an object when the entry began.
    Object(Stat),
    Attributes {
        id: Id,
        all: Attributes,
    },
    Content {
        id: Id,
        content: Content,
    },
    /// The file with this number is the object (a hard link), or a copy if it cannot be linked.
    Kept {
        id: Id,
        file: u32,
        is_copy: bool,
    },
    /// An old object was moved into a new directory, where names are not recorded.
    Deep,
    /// Object under a recorded name when the entry ends, if any.
    Left {
        dir: Id,
        name: Bytes,
        after: Id,
    },
    /// State of an object when the entry ends; tells whether content or metadata differ.
    State {
        stat: Stat,
        content: bool,
        metadata: bool,
    },
    /// An old object lies in a new directory when the entry ends: root index, and path below it.
    Inside {
        id: Id,
        root: usize,
        path: Bytes,
    },
    /// This undo restored an object: the new version equals the old one.
    Same {
        new: Version,
        old: Version,
    },
    /// Last line.
    End(End),
}

impl Event {
    /// Returns the event with mapped identities.
    fn with_ids(mut self, to: impl Fn(Id) -> Id) -> Self {
        match &mut self {
            Self::Begin { .. } | Self::Deep | Self::End(_) => {}
            Self::Name { dir, before, .. } => {
                *dir = to(*dir);
                *before = before.map(to);
            }
            Self::Object(stat) | Self::State { stat, .. } => stat.id = to(stat.id),
            Self::Attributes { id, .. }
            | Self::Content { id, .. }
            | Self::Kept { id, .. }
            | Self::Inside { id, .. } => {
                *id = to(*id);
            }
            Self::Left { dir, after, .. } => (*dir, *after) = (to(*dir), to(*after)),
            Self::Same { new, old } => (new.0, old.0) = (to(new.0), to(old.0)),
        }
        self
    }
}

/// Returns the identity for the log. Device numbers change with a reboot, so a root's device is
/// logged as the index of the first root on it.
fn to_logged_id(roots: &[Id], id: Id) -> Id {
    let root = roots.iter().position(|root| root.0 == id.0);
    Id(root.map_or(id.0 | FOREIGN, |root| root as u64), id.1, id.2)
}

fn from_logged_id(roots: &[Id], id: Id) -> Id {
    let root = usize::try_from(id.0).ok().and_then(|root| roots.get(root));
    Id(root.map_or(id.0 & !FOREIGN, |root| root.0), id.1, id.2)
}

/// End record of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// Time by the clock of the filesystem.
    pub(super) time: i64,
    /// `true` for an undo that was not completed.
    pub(super) interrupted: bool,
    /// Size of the entry on the disk.
    pub(super) bytes: u64,
}

/// A log that is open for writing.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    bytes: u64,
    roots: Arc<[Id]>,
    /// Lines that are not in the file yet.
    pending: Vec<u8>,
}

impl Log {
    pub(super) fn new(file: File, bytes: u64, roots: &Arc<[Id]>) -> Self {
        Self {
            file,
            bytes,
            roots: Arc::clone(roots),
            pending: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, event: Event) {
        let event = event.with_ids(|id| to_logged_id(&self.roots, id));
        // Every event has a JSON form.
        let _ = serde_json::to_writer(&mut self.pending, &event);
        self.pending.push(b'\n');
    }

    /// Appends all pending lines, or none: then they are written first once there is space.
    pub(super) fn write(&mut self) -> io::Result<()> {
        self.file
            .write_all(&self.pending)
            .inspect_err(|_| drop(self.file.set_len(self.bytes)))?;
        self.bytes += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Appends the pending lines if they take much memory.
    pub(super) fn write_much(&mut self) -> io::Result<()> {
        if self.pending.len() < PENDING_BYTES {
            Ok(())
        } else {
            self.write()
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the time of the last write.
    pub(super) fn time(&self) -> Result<i64, Errno> {
        Ok(stat_of(&self.file)?.ctime)
    }

    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }
}

/// Reads the last line of a log, if the entry has ended.
pub(super) fn end(log: &File) -> io::Result<Option<End>> {
    let mut last = [0; END_BYTES];
    let length = log.metadata()?.len();
    let got = log.read_at(&mut last, length.saturating_sub(END_BYTES as u64))?;
    let line = last[..got]
        .strip_suffix(b"\n")
        .and_then(|lines| lines.rsplit(|byte| *byte == b'\n').next());
    match line.map(serde_json::from_slice) {
        Some(Ok(Event::End(end))) => Ok(Some(end)),
        _ => Ok(None),
    }
}

/// Head of an entry, read without the rest of it.
pub(super) struct EntryHead {
    pub(super) title: String,
    pub(super) start: i64,
    pub(super) undoes: Vec<u64>,
    pub(super) kind: EntryKind,
}

/// Reads the first line of a log; `None` if it is not a begin record.
pub(super) fn head(mut log: &File) -> Option<EntryHead> {
    // The file offset may have moved.
    log.rewind().ok()?;
    let mut first = Vec::new();
    BufReader::new(log.take(JOURNAL_LINE_BYTES as u64))
        .read_until(b'\n', &mut first)
        .ok()?;
    match serde_json::from_slice(&first) {
        Ok(Event::Begin {
            title,
            start,
            undoes,
            kind,
            ..
        }) => Some(EntryHead {
            title,
            start,
            undoes,
            kind,
        }),
        _ => None,
    }
}

/// Returns the entries that a log's completed undo has undone as a whole.
pub(super) fn undone(log: &File) -> Option<Vec<u64>> {
    let EntryHead {
        undoes,
        kind: EntryKind::Undo,
        ..
    } = head(log)?
    else {
        return None;
    };
    end(log)
        .ok()?
        .filter(|end| !end.interrupted)
        .map(|_| undoes)
}

/// Reads a log up to its last complete line; returns the length up to there, in bytes. `path` is
/// used in errors.
pub(super) fn read(
    log: File,
    path: &Path,
    roots: &[Id],
    mut take: impl FnMut(Event) -> Result<(), String>,
) -> Result<u64, JournalError> {
    let (mut length, mut has_ended) = (0, true);
    let mut reader = BufReader::new(log);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let got = reader
            .by_ref()
            .take(JOURNAL_LINE_BYTES as u64)
            .read_until(b'\n', &mut line);
        let damaged = |why: String| JournalError::Damaged {
            path: path.into(),
            line: number,
            why,
        };
        let got = got.map_err(|error| damaged(error.to_string()))?;
        if line.last() != Some(&b'\n') {
            if line.len() == JOURNAL_LINE_BYTES {
                return Err(damaged(format!(
                    "it is longer than {JOURNAL_LINE_BYTES} bytes"
                )));
            }
            break;
        }
        if number == 1
            && let Ok(first) = serde_json::from_slice::<Value>(&line)
            && let Some(version) = first["Begin"]["version"]
                .as_u64()
                .filter(|version| *version != u64::from(VERSION))
        {
            return Err(JournalError::Version {
                path: path.into(),
                version,
                reads: VERSION,
            });
        }
        let event: Event =
            serde_json::from_slice(&line).map_err(|error| damaged(error.to_string()))?;
        // A continued call begins again after its end record.
        let begins = matches!(event, Event::Begin { .. });
        if begins && !has_ended || !begins && number == 1 {
            return Err(damaged(
                "the beginning of an entry stands in the first line, or behind its end".into(),
            ));
        }
        has_ended = matches!(event, Event::End(_));
        if let Event::Inside { root, .. } = event
            && root >= roots.len()
        {
            return Err(damaged(format!(
                "it names root {root}, and there are {}, from 0",
                roots.len()
            )));
        }
        take(event.with_ids(|id| from_logged_id(roots, id))).map_err(damaged)?;
        length += got as u64;
    }
    Ok(length)
}
