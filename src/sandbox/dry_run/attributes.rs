//! Extended attributes as far as overlays keep them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;

use rustix::fs::{fgetxattr, flistxattr};
use rustix::io::Errno;

/// Name prefixes of attributes that commands can set.
const ATTRIBUTES: [&[u8]; 2] = [b"user.", b"system.posix_acl_"];
/// Name prefix of the overlay's own attributes, which the overlay hides.
const OF_OVERLAYS: &[u8] = b"user.overlay.";

/// Extended attributes of an open file or directory.
pub(super) fn attributes(of: &OwnedFd) -> Result<BTreeMap<OsString, Vec<u8>>, Errno> {
    // As many as a name list (xattr(7)) and a value can have.
    let mut buffer = vec![0; 64 * 1024];
    let length = match flistxattr(of, &mut buffer) {
        Err(Errno::OPNOTSUPP) => 0,
        length => length?,
    };
    let names: Vec<Vec<u8>> = buffer[..length]
        .split(|byte| *byte == 0)
        .map(<[u8]>::to_vec)
        .collect();
    let wanted = names.into_iter().filter(|name| {
        ATTRIBUTES.iter().any(|kind| name.starts_with(kind)) && !name.starts_with(OF_OVERLAYS)
    });
    let mut value = |name: Vec<u8>| {
        let length = fgetxattr(of, name.as_slice(), &mut buffer)?;
        Ok((OsString::from_vec(name), buffer[..length].to_vec()))
    };
    wanted.map(&mut value).collect()
}
