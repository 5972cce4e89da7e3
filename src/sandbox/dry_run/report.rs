//! Report of a dry run's changes, from its supervisor to the server.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use replay_base::limits::MAX_DRY_RUN_CONTENT_BYTES;
use replay_files::journal::Change;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use crate::raw_string::RawString;

/// Largest report, in bytes: the contents, and
/// [`MAX_NAMED_CHANGES`](replay_base::limits::MAX_NAMED_CHANGES) paths as JSON, each byte a number,
/// with the targets of links.
const MAX_DRY_RUN_REPORT_BYTES: u64 = MAX_DRY_RUN_CONTENT_BYTES + 8 * 1024 * 1024;

/// Content of a path before or after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    Nothing,
    /// A regular file: its size in bytes, and its offset in [`DryRunReport::contents`]. The offset
    /// is `None` if the report leaves the content out.
    File {
        size: u64,
        at: Option<usize>,
    },
    Link(RawString),
    Directory,
    /// A pipe, a socket or a device.
    Special,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedChange {
    pub path: RawString,
    pub change: Change,
    pub before: Content,
    pub after: Content,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DryRunReport {
    /// Number of changes of each kind.
    pub counts: Vec<(Change, usize)>,
    /// The first changes, up to a limit.
    pub told: Vec<ReportedChange>,
    /// Reasons that the report may be incomplete.
    pub gaps: Vec<String>,
    #[serde(skip)]
    pub contents: Vec<u8>,
}

impl DryRunReport {
    /// Packs the report into a nameless file: JSON, a newline, contents.
    pub fn pack(&self) -> io::Result<OwnedFd> {
        let mut file = File::from(memfd_create("dry-run", MemfdFlags::CLOEXEC)?);
        let mut head = serde_json::to_vec(self)?;
        head.push(b'\n');
        file.write_all(&head)?;
        file.write_all(&self.contents)?;
        io::Seek::rewind(&mut file)?;
        Ok(file.into())
    }

    /// Reads a packed report.
    pub fn unpack(file: OwnedFd) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::from(file)
            .take(MAX_DRY_RUN_REPORT_BYTES)
            .read_to_end(&mut bytes)?;
        let end = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or(io::ErrorKind::InvalidData)?;
        let mut report: Self = serde_json::from_slice(&bytes[..end])?;
        report.contents = bytes.split_off(end + 1);
        Ok(report)
    }

    /// Returns the content of a file; `None` if the report leaves it out.
    pub fn bytes(&self, content: &Content) -> Option<&[u8]> {
        let Content::File { size, at: Some(at) } = content else {
            return None;
        };
        self.contents
            .get(*at..at.checked_add(usize::try_from(*size).ok()?)?)
    }
}
