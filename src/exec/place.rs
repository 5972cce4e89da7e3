//! Where an open directory lies now.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{fstat, readlink};
use rustix::io::Errno;

use super::ExecError;
use crate::sandbox::Place;

/// The directory behind a handle as the launcher finds it: its path as the kernel knows it now
/// (proc(5), `/proc/self/fd`) and its identity. Fails for one that is below no directory of this
/// process.
pub fn place_of(dir: impl AsFd) -> Result<Place, ExecError> {
    let dir = dir.as_fd();
    let stat = fstat(dir).map_err(ExecError::follow)?;
    let link = format!("/proc/self/fd/{}", dir.as_raw_fd());
    let path = readlink(link, Vec::new()).map_err(ExecError::follow)?;
    if !path.as_bytes().starts_with(b"/") {
        return Err(ExecError::follow(Errno::NOENT));
    }
    Ok(Place {
        path: OsStr::from_bytes(path.as_bytes()).into(),
        dev: stat.st_dev,
        ino: stat.st_ino,
    })
}
