//! Unified diff of one change to a file.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use replay_base::budget::Room;
use replay_base::limits::{MAX_EDIT_MS, MAX_NAMED_CHANGES, MAX_SHOWN_FILE_BYTES};
use replay_base::text::diff;
use replay_base::text::encoding;
use replay_base::text::escape::show_path;
use replay_files::journal::{Change, RootedPath, Version, Versions};

use crate::error::Error;
use crate::tools::notes::changes::Names;

/// Text of the differences of one call that `list_changes` shows, in bytes.
const MAX_SHOWN_CHANGES_BYTES: usize = 64 * 1024;

/// Placeholder for the diff of a hidden file.
pub(crate) const HIDDEN: &str = "[hidden by the operator]\n";

/// One version of a file system entry.
#[derive(Debug)]
pub(crate) enum Side {
    Nothing,
    File {
        size: u64,
        /// `None` if the content is too long to show.
        bytes: Option<io::Result<Vec<u8>>>,
    },
    Link(PathBuf),
    Directory,
    /// A pipe, a socket or a device.
    Special,
    Unknown,
}

impl Side {
    fn of(version: Option<Version>) -> Self {
        match version {
            None => Self::Nothing,
            Some(Version::Directory) => Self::Directory,
            Some(Version::Link(target)) => Self::Link(target.path().into()),
            Some(Version::Special) => Self::Special,
            Some(Version::Unknown) => Self::Unknown,
            Some(ref file @ Version::File { size, .. }) => Self::File {
                size,
                bytes: (size <= MAX_SHOWN_FILE_BYTES).then(|| file.bytes()),
            },
        }
    }

    fn size(&self) -> u64 {
        if let Self::File { size, .. } = self {
            *size
        } else {
            0
        }
    }

    /// Returns the content, or a placeholder for the diff.
    fn text(self, sizes: [u64; 2]) -> Result<Vec<u8>, String> {
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Directory => Err(String::new()),
            Self::Link(target) => Err(format!("[a link to {}]\n", show_path(&target))),
            Self::Special => Err("[not a regular file]\n".to_owned()),
            Self::Unknown => Err(
                "[no diff: the old content was not kept for undo, or the file changed since]\n"
                    .to_owned(),
            ),
            Self::File {
                bytes: Some(bytes), ..
            } => bytes.map_err(|error| format!("[no diff: {error}]\n")),
            Self::File { bytes: None, .. } => Err(format!(
                "[no diff: {} bytes before, {} after]\n",
                sizes[0], sizes[1]
            )),
        }
    }
}

/// Returns a unified diff, or a placeholder.
pub(crate) fn difference(
    names: &Names<'_>,
    versions: &Versions<'_>,
    (place, change): &(RootedPath, Change),
    room: &Room<'_>,
) -> Result<String, Error> {
    let from = if let Change::Renamed { from } = change {
        from
    } else {
        place
    };
    let mut before = if *change == Change::Created {
        None
    } else {
        versions.before(from)?
    };
    let mut after = if *change == Change::Deleted {
        None
    } else {
        versions.after(place)?
    };
    if matches!(change, Change::Edited | Change::Renamed { .. }) {
        // A moved or replaced directory is not recorded entry by entry.
        for side in [&mut before, &mut after] {
            side.get_or_insert(Version::Unknown);
        }
    }
    let sizes = [&before, &after].map(|side| {
        if let Some(Version::File { size, .. }) = side {
            *size
        } else {
            0
        }
    });
    let bytes: u64 = sizes.iter().sum();
    let _held =
        room.take(usize::try_from(bytes.min(2 * MAX_SHOWN_FILE_BYTES)).unwrap_or(usize::MAX))?;
    Ok(between(
        &names.place(place),
        Side::of(before),
        Side::of(after),
    ))
}

/// Returns a unified diff of two versions of the named entry.
pub(crate) fn between(name: &str, before: Side, after: Side) -> String {
    let sizes = [before.size(), after.size()];
    let (before, after) = match (before.text(sizes), after.text(sizes)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(why), _) | (_, Err(why)) => return why,
    };
    if encoding::is_binary(&before) || encoding::is_binary(&after) {
        return format!("[binary: {} bytes before, {} after]\n", sizes[0], sizes[1]);
    }
    let deadline = Instant::now() + Duration::from_millis(MAX_EDIT_MS);
    diff::unified(
        name,
        &String::from_utf8_lossy(&before),
        &String::from_utf8_lossy(&after),
        Some(deadline),
    )
}

/// Joins the diffs of `count` changes, up to a limit. Diffs are computed lazily.
pub(crate) fn join_diffs(
    count: usize,
    changes: impl Iterator<Item = Result<String, Error>>,
) -> Result<String, Error> {
    let (mut text, mut left) = (String::new(), count);
    let mut changes = changes.take(MAX_NAMED_CHANGES);
    while text.len() <= MAX_SHOWN_CHANGES_BYTES
        && let Some(change) = changes.next()
    {
        text.push_str(&change?);
        left -= 1;
    }
    if text.len() > MAX_SHOWN_CHANGES_BYTES {
        text.truncate(text.floor_char_boundary(MAX_SHOWN_CHANGES_BYTES));
        let _ = write!(text, "\n[cut off at {MAX_SHOWN_CHANGES_BYTES} bytes]");
    }
    if left > 0 {
        let _ = write!(text, "[{left} more changes]");
    }
    Ok(text.trim_end().to_owned())
}
