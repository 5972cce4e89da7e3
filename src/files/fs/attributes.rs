//! Copies the attributes of the old file to its replacement: owner, extended attributes (including
//! access control lists) and mode.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{
    Gid, Mode, Stat, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fremovexattr,
    fsetxattr, fstat,
};
use rustix::io::Errno;

use super::error::FsError;

/// Attributes that are not copied: the kernel drops them on a write, or they certify the old
/// content.
const NOT_KEPT: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];

/// Largest list of names, and largest value (xattr(7)).
const MAX_BYTES: usize = 64 * 1024;

/// Copies owner, extended attributes and mode from `old` (whose metadata is `stat`) to `new`.
///
/// Drops setuid and setgid bits, like write(2): new content must not run with the old file's
/// privileges. Fails with `CannotKeep` if an attribute cannot be copied.
pub(super) fn keep(
    old: impl AsFd,
    stat: &Stat,
    new: impl AsFd,
    shown: &Path,
) -> Result<(), FsError> {
    let cannot = |what: &str, errno: Errno| FsError::CannotKeep {
        path: shown.into(),
        what: what.into(),
        source: errno.into(),
    };
    let fresh = fstat(&new).map_err(|errno| FsError::of(shown, "write", errno))?;
    let owner = (stat.st_uid != fresh.st_uid).then(|| Uid::from_raw(stat.st_uid));
    let group = (stat.st_gid != fresh.st_gid).then(|| Gid::from_raw(stat.st_gid));
    if owner.is_some() || group.is_some() {
        fchown(&new, owner, group).map_err(|errno| cannot("owner", errno))?;
    }
    let kept = names(&old).map_err(|errno| cannot("list of extended attributes", errno))?;
    for name in names(&new).unwrap_or_default() {
        // Inherited attributes, such as a default list. Those that cannot be removed are
        // overwritten below, or required by the kernel.
        if !kept.contains(&name) {
            let _ = fremovexattr(&new, name.as_c_str());
        }
    }
    for name in kept
        .iter()
        .filter(|name| !NOT_KEPT.contains(&name.as_bytes()))
    {
        let failed = |errno| {
            cannot(
                &format!("extended attribute `{}`", name.to_string_lossy()),
                errno,
            )
        };
        let value = value(&old, name).map_err(failed)?;
        if let Err(errno) = fsetxattr(&new, name.as_c_str(), &value, XattrFlags::empty())
            // The system may have given both files the same label.
            && self::value(&new, name) != Ok(value)
        {
            return Err(failed(errno));
        }
    }
    let mode = Mode::from_raw_mode(stat.st_mode & 0o1777);
    fchmod(&new, mode).map_err(|errno| cannot("mode", errno))
}

fn names(file: impl AsFd) -> Result<Vec<CString>, Errno> {
    let mut list = Vec::with_capacity(1024);
    match flistxattr(&file, spare_capacity(&mut list)) {
        Err(Errno::RANGE) => {
            list.reserve(MAX_BYTES);
            flistxattr(&file, spare_capacity(&mut list))?;
        }
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        other => {
            other?;
        }
    }
    let names = list.split(|&b| b == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| CString::new(name).ok()).collect())
}

fn value(file: impl AsFd, name: &CString) -> Result<Vec<u8>, Errno> {
    let mut value = Vec::with_capacity(1024);
    if let Err(errno) = fgetxattr(&file, name.as_c_str(), spare_capacity(&mut value)) {
        if errno != Errno::RANGE {
            return Err(errno);
        }
        value.reserve(MAX_BYTES);
        fgetxattr(&file, name.as_c_str(), spare_capacity(&mut value))?;
    }
    Ok(value)
}
