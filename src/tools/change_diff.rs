//! What one change did to the content of a file, as a unified diff.

use std::time::{Duration, Instant};

use super::change_notes::Names;
use crate::budget::Room;
use crate::error::Error;
use crate::journal::{Change, Place, Version, Versions};
use crate::limits::{MAX_EDIT_MS, MAX_SHOWN_FILE_BYTES};
use crate::text::diff;
use crate::text::encoding;
use crate::text::escape::show_path;

/// A unified diff, or why there is none.
pub fn difference(
    names: &Names<'_>,
    versions: &Versions<'_>,
    (place, change): &(Place, Change),
    room: &Room<'_>,
) -> Result<String, Error> {
    let from = if let Change::Renamed { from } = change { from } else { place };
    let before = if *change == Change::Created { None } else { versions.before(from)? };
    let after = if *change == Change::Deleted { None } else { versions.after(place)? };
    let sizes = [&before, &after].map(|side| if let Some(Version::File { size, .. }) = side { *size } else { 0 });
    let bytes: u64 = sizes.iter().sum();
    let _held = room.take(usize::try_from(bytes.min(2 * MAX_SHOWN_FILE_BYTES)).unwrap_or(usize::MAX))?;
    let text = |side: Option<Version>| match side {
        None => Ok(Vec::new()),
        Some(Version::Directory) => Err(String::new()),
        Some(Version::Link(target)) => Err(format!("[a link to {}]\n", show_path(target.path()))),
        Some(Version::Special) => Err("[no regular file]\n".to_owned()),
        Some(Version::Unknown) => Err("[no diff: a content was not kept, or changed since]\n".to_owned()),
        Some(Version::File { size, .. }) if size > MAX_SHOWN_FILE_BYTES => {
            Err(format!("[no diff: {} bytes before, {} after]\n", sizes[0], sizes[1]))
        }
        Some(file) => file.bytes().map_err(|error| format!("[no diff: {error}]\n")),
    };
    let (before, after) = match (text(before), text(after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(why), _) | (_, Err(why)) => return Ok(why),
    };
    if encoding::is_binary(&before) || encoding::is_binary(&after) {
        return Ok(format!("[binary: {} bytes before, {} after]\n", sizes[0], sizes[1]));
    }
    let deadline = Instant::now() + Duration::from_millis(MAX_EDIT_MS);
    Ok(diff::unified(
        &names.place(place),
        &String::from_utf8_lossy(&before),
        &String::from_utf8_lossy(&after),
        Some(deadline),
    ))
}
