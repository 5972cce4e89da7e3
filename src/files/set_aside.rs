//! Moves files that appear at protected paths aside, to names that no program obeys.
#![expect(
    clippy::disallowed_methods,
    reason = "starts at the handle of a directory"
)]

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, chmodat, openat, renameat, renameat_with,
    statat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// Most samples of hooks in a directory that has nothing else; git has 14.
const MAX_SAMPLE_HOOKS: usize = 64;

/// Renames an entry of a directory to `NAME.set-aside`, or to a random name if that is taken.
/// Returns true if it is done.
pub fn set_aside(dir: impl AsFd, name: &OsStr) -> bool {
    let dir = dir.as_fd();
    let rename = |to: &OsStr| {
        match renameat_with(dir, name, dir, to, RenameFlags::NOREPLACE) {
            // Not every filesystem supports RENAME_NOREPLACE; there the name is checked first.
            Err(Errno::INVAL) => {
                statat(dir, to, AtFlags::SYMLINK_NOFOLLOW).is_err()
                    && renameat(dir, name, dir, to).is_ok()
            }
            result => result.is_ok(),
        }
    };
    let mut aside = name.to_owned();
    aside.push(".set-aside");
    // The name is taken or too long, or the directory's permissions were removed.
    rename(&aside) || {
        let _ = chmodat(dir, ".", Mode::RWXU, AtFlags::empty());
        let mut random = [0; 8];
        let _ = getrandom(&mut random, GetRandomFlags::empty());
        rename(&OsString::from(format!(
            "set-aside-{:016x}",
            u64::from_ne_bytes(random)
        )))
    }
}

/// Returns true for a hooks directory as `git init` creates it: git ignores every name in it.
pub fn has_only_samples(dir: impl AsFd, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(dir) = openat(dir, name, flags, Mode::empty()) else {
        return false;
    };
    let Ok(entries) = Dir::read_from(&dir) else {
        return false;
    };
    entries.enumerate().all(|(index, entry)| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name().to_bytes();
            name == b"."
                || name == b".."
                || index < MAX_SAMPLE_HOOKS
                    && name.ends_with(b".sample")
                    && entry.file_type() == FileType::RegularFile
        })
    })
}
