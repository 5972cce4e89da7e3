//! Protected paths while one command runs: what is there is mounted read-only over itself, and what the command puts in
//! its place is moved aside when the command is over.
#![expect(clippy::disallowed_methods, reason = "looks at the protected paths as commands see them")]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, openat, renameat_with, statat};
use rustix::io::Errno;

use super::fault::Fault;
use super::view;
use super::wire::{Denied, RawString};
use crate::limits::{MAX_ASIDE_NAMES, MAX_DENIED_PATH_BYTES};

/// One protected path.
pub struct Protected {
    path: PathBuf,
    /// Which file it was when the command started: device and inode.
    before: Option<(u64, u64)>,
}

impl Protected {
    /// Makes what is at `path` read-only in the mount namespace of this process and remembers which file it is.
    pub fn hold(path: &RawString) -> Result<Self, Fault> {
        let path = path.as_path().to_path_buf();
        let before = identity(&path);
        if before.is_some() {
            view::make_read_only(&path)?;
        }
        Ok(Self { path, before })
    }

    /// Moves away what is there now, if it is not what was there before. What it was, if so.
    pub fn settle(&self) -> Option<Denied> {
        let now = identity(&self.path)?;
        if Some(now) == self.before || is_harmless(&self.path) {
            return None;
        }
        for number in 0..MAX_ASIDE_NAMES {
            let mut name = self.path.file_name().map(OsString::from).unwrap_or_default();
            name.push(".set-aside");
            if number > 0 {
                name.push(format!("-{number}"));
            }
            let aside = self.path.with_file_name(name);
            match renameat_with(CWD, &self.path, CWD, &aside, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                // Not every file system can promise that. This one is asked instead.
                Err(Errno::INVAL) if identity(&aside).is_none() => {
                    let _ = rustix::fs::rename(&self.path, &aside);
                    break;
                }
                _ => break,
            }
        }
        let shown = self.path.as_os_str().as_bytes();
        Some(Denied::Protected(OsStr::from_bytes(&shown[..shown.len().min(MAX_DENIED_PATH_BYTES)]).into()))
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// A directory of hooks as `git init` makes it: every name in it is one that git does not look at.
fn is_harmless(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(dir) = openat(CWD, path, flags, Mode::empty()) else { return false };
    let Ok(mut entries) = Dir::read_from(&dir) else { return false };
    path.ends_with(".git/hooks")
        && entries.all(|entry| {
            entry.is_ok_and(|entry| {
                let name = entry.file_name().to_bytes();
                name == b"."
                    || name == b".."
                    || name.ends_with(b".sample") && entry.file_type() == FileType::RegularFile
            })
        })
}
