//! Files of recorded calls: `mocks.yaml` in Keploy's layout `v1beta1`, read from and written to
//! bytes.
//!
//! A file is a sequence of documents, one per call. It is split at the separator lines, since a
//! line that starts with `---` has no other meaning in YAML. So a broken document does not affect
//! the others.

mod bodies;
mod databases;
mod dns;
mod document;
mod emit;
mod format3;
mod grpc;
mod head;
mod http;
mod mappings;
mod metadata;
mod node;
mod noise;
mod protoscope;

#[cfg(test)]
mod tests;

use std::fmt;

pub use bodies::{BodyFiles, BodyLoader, BodyRef};
pub use head::{COMMAND_WITHIN_BYTES, CommandMark, Head};
pub use mappings::{Mappings, read_mappings};

use head::Origin;
use replay_base::limits::MAX_CALLS_FILE_BYTES;

use crate::call::{Content, Protocol};
use crate::matching::{DeclaredNoise, Recording};
use crate::protocol::postgres;

/// Kind of a problem with a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// The text is malformed: it may have been truncated.
    #[default]
    Text,
    /// The document is complete, but lacks a body that is stored elsewhere or was not recorded.
    Body,
    /// The document is complete, but its form does not allow a replay: it must be recorded again.
    Form,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 if unknown.
    pub line: u64,
    /// Field, such as `spec.resp.status_code`; empty for the whole document.
    pub path: String,
    /// The value found and the expected one.
    pub message: String,
    /// Kind of the problem.
    pub fault: Fault,
}

impl Problem {
    #[must_use]
    pub fn new(line: u64, message: String) -> Self {
        Self {
            line,
            message,
            ..Self::default()
        }
    }

    fn of(fault: Fault, message: String) -> Self {
        Self {
            message,
            fault,
            ..Self::default()
        }
    }

    /// Extends the path of a problem by the surrounding mapping or list.
    #[must_use]
    pub fn inside(mut self, key: &str, line: u64) -> Self {
        if self.line == 0 {
            self.line = line;
        }
        let separator = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{key}{separator}{}", self.path);
        self
    }
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}: ", self.line)?;
        }
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Error from reading or writing a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file exceeds the limit.
    #[error("{file}: {bytes} bytes; a file of calls may have at most {MAX_CALLS_FILE_BYTES}")]
    TooLarge {
        file: String,
        /// Its size when read or written.
        bytes: u64,
    },
    /// A document is broken, and it is not the last one of several.
    #[error("{file}:{problem}")]
    Broken {
        file: String,
        problem: Problem,
        /// Number of complete documents before it.
        whole: usize,
    },
}

/// Hint for a set in an unsupported form.
const RECORD_AGAIN: &str = "record it again with `replay calls record -- COMMAND`";

impl FileError {
    pub fn hint(&self) -> String {
        match self {
            Self::TooLarge { .. } => "record fewer calls into one set".to_owned(),
            Self::Broken {
                problem: Problem {
                    fault: Fault::Form, ..
                },
                ..
            } => RECORD_AGAIN.to_owned(),
            Self::Broken { whole: 0, .. } => {
                "is it a file of recorded calls? record the set again".to_owned()
            }
            Self::Broken { whole, .. } => {
                format!("correct that document or remove it; the {whole} before it are valid")
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallsFile {
    /// Settings for all calls.
    pub head: Head,
    pub recordings: Vec<Recording>,
    /// Lines where the recordings begin.
    pub lines: Vec<u64>,
    /// Problem with an incomplete last document, which was skipped. A recorder that appends leaves
    /// one if it is killed.
    pub torn: Option<Problem>,
}

/// Reads a file of calls; `file` is its name in messages.
///
/// Fails if the file is too large, or if a document is broken that is not the last one of several.
/// A broken last document is skipped and reported in `torn`. It counts as broken without its
/// last key if this program wrote it, otherwise without a line break at its end.
pub fn read(file: &str, bytes: &[u8], bodies: BodyLoader<'_>) -> Result<CallsFile, FileError> {
    if bytes.len() as u64 > MAX_CALLS_FILE_BYTES {
        return Err(FileError::TooLarge {
            file: file.to_owned(),
            bytes: bytes.len() as u64,
        });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut calls = CallsFile::default();
    calls.head.command = CommandMark::read(bytes);
    let broken = |problem, whole| FileError::Broken {
        file: file.to_owned(),
        problem,
        whole,
    };
    let origin = head::origin(bytes).map_err(|problem| broken(problem, 0))?;
    let pieces = pieces(bytes);
    for (index, (line, piece)) in pieces.iter().enumerate() {
        let is_last = pieces.len() == index + 1;
        match document(piece, *line, origin, is_last, bodies) {
            Ok(Document::Nothing) => {}
            Ok(Document::Head(head)) if calls.recordings.is_empty() => {
                calls.head = Head {
                    command: calls.head.command.take(),
                    ..head
                };
            }
            Ok(Document::Head(_)) => {
                let message = "settings for all calls must come before the first call".to_owned();
                return Err(broken(Problem::new(*line, message), calls.recordings.len()));
            }
            Ok(Document::Call(recording, line)) => {
                calls.recordings.push(*recording);
                calls.lines.push(line);
            }
            Err(problem)
                if is_last && !calls.recordings.is_empty() && problem.fault == Fault::Text =>
            {
                calls.torn = Some(problem);
            }
            Err(problem) => return Err(broken(problem, calls.recordings.len())),
        }
    }
    if origin == Origin::Format3 {
        format3::convert(&mut calls.recordings);
    }
    for Recording { exchange, .. } in &mut calls.recordings {
        let answered = exchange.answered_at.duration_since(exchange.sent_at);
        if let Content::Wire(Protocol::Postgres, wire) = &mut exchange.content {
            postgres::mark_notifications(wire, answered.unwrap_or_default());
        }
    }
    Ok(calls)
}

/// Writes a file of calls; `file` is its name in messages, and large bodies go to `apart`. Fails if
/// the file would be too large to read.
pub fn write(
    file: &str,
    head: &Head,
    recordings: &[Recording],
    apart: &mut BodyFiles,
) -> Result<Vec<u8>, FileError> {
    let (mut out, mut is_behind) = head.write();
    for recording in recordings {
        if is_behind {
            out.push_str("---\n");
        }
        is_behind = true;
        document::write(recording, apart, &mut out);
        if out.len() as u64 > MAX_CALLS_FILE_BYTES {
            return Err(FileError::TooLarge {
                file: file.to_owned(),
                bytes: out.len() as u64,
            });
        }
    }
    Ok(out.into_bytes())
}

/// Returns a file with new noise for some of its calls, by index; all else keeps its bytes.
pub fn with_noise(
    file: &str,
    bytes: &[u8],
    noise: &[Option<DeclaredNoise>],
) -> Result<Vec<u8>, FileError> {
    let mut noise = noise.iter();
    let mut out = Vec::with_capacity(bytes.len());
    for (line, piece) in pieces(bytes) {
        let text = std::str::from_utf8(piece).ok();
        let is_call = text
            .and_then(|text| node::parse(text, line).ok().flatten())
            .is_some_and(|root| !Head::is_document(&root));
        match (text, is_call.then(|| noise.next()).flatten()) {
            (Some(text), Some(Some(noise))) => {
                let put = noise::replace(text, line, noise);
                let broken = |problem| FileError::Broken {
                    file: file.to_owned(),
                    problem,
                    whole: 0,
                };
                out.extend_from_slice(put.map_err(broken)?.as_bytes());
            }
            _ => out.extend_from_slice(piece),
        }
    }
    Ok(out)
}

/// Returns the documents with the number of their first line. A separator line belongs to the
/// document after it.
fn pieces(bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut pieces = Vec::new();
    let (mut start, mut first_line, mut line) = (0, 1, 1);
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let separates = rest.starts_with(b"---") && rest.get(3).is_none_or(u8::is_ascii_whitespace);
        if separates && at > start {
            pieces.push((first_line, &bytes[start..at]));
            (start, first_line) = (at, line);
        }
        at += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        line += 1;
    }
    pieces.push((first_line, &bytes[start..]));
    pieces
}

enum Document {
    /// Only comments.
    Nothing,
    Head(Head),
    /// A call, with the line where it begins.
    Call(Box<Recording>, u64),
}

fn document(
    piece: &[u8],
    line: u64,
    origin: Origin,
    is_last: bool,
    bodies: BodyLoader<'_>,
) -> Result<Document, Problem> {
    let text = std::str::from_utf8(piece).map_err(|error| {
        let before = &piece[..error.valid_up_to()];
        let line = line + memchr::memchr_iter(b'\n', before).count() as u64;
        Problem::new(
            line,
            "bytes that are not UTF-8, which YAML is written in".to_owned(),
        )
    })?;
    let Some(root) = node::parse(text, line)? else {
        return Ok(Document::Nothing);
    };
    if Head::is_document(&root) {
        return Head::read(&root).map(Document::Head);
    }
    let (is_cut, reason) = if origin == Origin::Foreign {
        (
            !piece.ends_with(b"\n"),
            "the last document does not end with a line break",
        )
    } else {
        (
            root.member("connectionId").is_none(),
            "the last document lacks its last key, `connectionId`",
        )
    };
    if is_last && is_cut {
        return Err(Problem::new(
            root.line,
            format!("{reason}, so it may have been cut short"),
        ));
    }
    let recording = document::read(&root, bodies)?;
    Ok(Document::Call(Box::new(recording), root.line))
}
