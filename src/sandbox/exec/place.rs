//! Current location of an open directory.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{fstat, readlink};
use rustix::io::Errno;

use super::ExecError;
use crate::CanonicalPath;

/// Returns the path of an open directory as the kernel knows it now (proc(5), `/proc/self/fd`) and
/// its identity. Fails if the directory is not below the root of this process.
pub fn place_of(dir: impl AsFd) -> Result<CanonicalPath, ExecError> {
    let dir = dir.as_fd();
    let stat = fstat(dir).map_err(ExecError::follow)?;
    let link = format!("/proc/self/fd/{}", dir.as_raw_fd());
    let path = readlink(link, Vec::new()).map_err(ExecError::follow)?;
    if !path.as_bytes().starts_with(b"/") {
        return Err(ExecError::follow(Errno::NOENT));
    }
    Ok(CanonicalPath {
        path: OsStr::from_bytes(path.as_bytes()).into(),
        dev: stat.st_dev,
        ino: stat.st_ino,
    })
}
