//! The log of an entry: the one declaration of what is noted, and how it lies on the disk.
//!
//! A log is lines of JSON, one [`Event`] each, in the order in which they happened. Bytes that need
//! not be UTF-8 (names, attributes) are percent-coded where they are no printable ASCII. A line is
//! in the file before the change that it is about happens, so what comes after the last line break
//! belongs to a change that never happened, and is left out. Whatever else cannot be read is
//! refused.

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
use crate::limits::JOURNAL_LINE_BYTES;

/// Marks the number of a device that none of the roots lies on.
const FOREIGN: u64 = 1 << 63;
pub(super) const VERSION: u32 = 1;
/// More than an [`Event::End`] takes.
const END_BYTES: usize = 512;
const PENDING_BYTES: usize = 64 * 1024;

/// How the content of an object can be had again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// It was not in danger.
    #[default]
    Same,
    /// A copy is the file of this number.
    Copy(u32),
    /// It only grew: its first bytes, as many as it had.
    Grew,
    /// It is too large, or may not be read.
    NotKept,
}

/// A version of an object: which one, and the time of its last change of status; that is 0 where
/// only the object is meant.
pub(super) type Version = (Id, i64);

/// What an entry is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    #[default]
    Call,
    /// A call that changes all that it should, or nothing: interrupted, it is taken back.
    AtomicCall,
    Undo,
    /// An undo of a part of what its entries changed.
    PartialUndo,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum Event {
    /// The first line. What is born later than `start` is new; `undoes` are the entries that an
    /// undo undoes.
    Begin {
        version: u32,
        start: i64,
        title: String,
        undoes: Vec<u64>,
        kind: Kind,
    },
    /// What stood under a name when the entry began. Noted of a directory's own name, too, once
    /// something in it is noted.
    Name {
        dir: Id,
        name: Bytes,
        before: Option<Id>,
    },
    /// What an object was like when the entry began.
    Object(Stat),
    Attributes {
        id: Id,
        all: Attributes,
    },
    Content {
        id: Id,
        content: Content,
    },
    /// The file of this number is the object, by a hard link, or a copy of what cannot be linked.
    Kept {
        id: Id,
        file: u32,
        is_copy: bool,
    },
    /// An object that is older than the entry went where no names are noted: into a directory that
    /// is new.
    Deep,
    /// What stands under a noted name when the entry ends, where something does.
    Left {
        dir: Id,
        name: Bytes,
        after: Id,
    },
    /// What an object is like when the entry ends, and whether its content or its metadata are
    /// others than they were.
    State {
        stat: Stat,
        content: bool,
        metadata: bool,
    },
    /// An object that is older than the entry lies in a new directory when it ends: the root's
    /// number, and the path below it.
    Inside {
        id: Id,
        root: usize,
        path: Bytes,
    },
    /// What this undo made is the same as what was.
    Same {
        new: Version,
        old: Version,
    },
    /// The last line.
    End(End),
}

impl Event {
    /// The same with other identities.
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

/// Devices get other numbers when the machine starts again, so that of a root is logged as the
/// number of the first root on it.
fn logged(roots: &[Id], id: Id) -> Id {
    let root = roots.iter().position(|root| root.0 == id.0);
    Id(root.map_or(id.0 | FOREIGN, |root| root as u64), id.1, id.2)
}

fn unlogged(roots: &[Id], id: Id) -> Id {
    let root = usize::try_from(id.0).ok().and_then(|root| roots.get(root));
    Id(root.map_or(id.0 & !FOREIGN, |root| root.0), id.1, id.2)
}

/// How an entry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// By the clock of the filesystem.
    pub(super) time: i64,
    /// An undo that was not carried out.
    pub(super) interrupted: bool,
    /// What the entry takes on the disk.
    pub(super) bytes: u64,
}

/// A log that is written to by nobody else.
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
        let event = event.with_ids(|id| logged(&self.roots, id));
        // Nothing in an event is without a form in JSON.
        let _ = serde_json::to_writer(&mut self.pending, &event);
        self.pending.push(b'\n');
    }

    /// Appends all that was added, or nothing: then it comes first when there is room again.
    pub(super) fn write(&mut self) -> io::Result<()> {
        self.file
            .write_all(&self.pending)
            .inspect_err(|_| drop(self.file.set_len(self.bytes)))?;
        self.bytes += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// The same of many lines at once, before they take much memory.
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

    /// When it was last written to.
    pub(super) fn time(&self) -> Result<i64, Errno> {
        Ok(stat_of(&self.file)?.ctime)
    }

    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }
}

/// What the last line of a log says, if it has ended.
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
pub(super) struct Head {
    pub(super) title: String,
    pub(super) start: i64,
    pub(super) undoes: Vec<u64>,
    pub(super) kind: Kind,
}

/// Reads the first line of a log; `None` if that says no beginning.
pub(super) fn head(mut log: &File) -> Option<Head> {
    // It may have been read before.
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
        }) => Some(Head {
            title,
            start,
            undoes,
            kind,
        }),
        _ => None,
    }
}

/// The entries that a log's undo has undone as a whole, if it is of one that was carried out.
pub(super) fn undone(log: &File) -> Option<Vec<u64>> {
    let Head {
        undoes,
        kind: Kind::Undo,
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

/// Reads a log to its last whole line; how long it is to there, in bytes. `path` is for errors.
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
        // A call that went on begins again where it had ended.
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
        take(event.with_ids(|id| unlogged(roots, id))).map_err(damaged)?;
        length += got as u64;
    }
    Ok(length)
}
