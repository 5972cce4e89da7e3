//! Marks of directories whose content a program can make again.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};

use crate::policy::FileKind;

use super::dir::open_file;
use super::listing::Listing;

/// Tag of caches, and its first bytes (<https://bford.info/cachedir/>).
const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
/// Settings of a virtual environment of Python
/// (<https://docs.python.org/3/library/venv.html>).
const VENV_SETTINGS: &str = "pyvenv.cfg";

/// Names of files that mark such a directory.
pub const DIRECTORY_MARKS: [&str; 2] = [CACHE_TAG, VENV_SETTINGS];

/// Returns true if a file of this name may be a mark.
pub(super) fn is_mark(name: &[u8]) -> bool {
    DIRECTORY_MARKS.iter().any(|mark| mark.as_bytes() == name)
}

/// Returns true if an open directory has a mark.
pub(super) fn is_marked(dir: &OwnedFd) -> bool {
    open_file(dir, OsStr::new(VENV_SETTINGS)).is_ok() || has_signature(dir)
}

/// The same for a directory that was listed.
pub(super) fn is_derived(dir: &OwnedFd, listing: &Listing) -> bool {
    let is_file = |name: &[u8]| {
        let listed = listing.place_of(name).and_then(|place| listing.get(place));
        listed.is_some_and(|listed| listed.kind == FileKind::File)
    };
    is_file(VENV_SETTINGS.as_bytes())
        || listing.place_of(CACHE_TAG.as_bytes()).is_some() && has_signature(dir)
}

fn has_signature(dir: &OwnedFd) -> bool {
    let Ok(file) = open_file(dir, OsStr::new(CACHE_TAG)) else {
        return false;
    };
    let mut start = [0; CACHE_SIGNATURE.len()];
    rustix::io::pread(file.handle.as_fd(), &mut start, 0).is_ok_and(|_| start == CACHE_SIGNATURE)
}
