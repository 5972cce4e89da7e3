//! Reads extended attributes for the caller and puts them where it wants them.
//!
//! Of a place that it may not read the caller gets an error. Nothing is recorded: ls(1) and its
//! like look for attributes of whatever they list, and nobody asked for what they did not get.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use replay_base::limits::MAX_XATTR_VALUE_BYTES;
use replay_sys::seccomp::{Notification, still_valid};
use rustix::fs::{
    CWD, FileType, fstat, getxattr, getxattr_query, listxattr, listxattr_query, readlinkat,
};
use rustix::io::Errno;

use super::{Broker, holds, read_name, read_structure};
use crate::caller::{Caller, link};
use crate::system_call::{Object, Read};

/// Longest list of names of extended attributes, in bytes (`XATTR_LIST_MAX` of `linux/limits.h`).
const MAX_XATTR_LIST_BYTES: usize = 65_536;

/// Requested attributes: one value, or all names.
enum AttributeRequest {
    Value(CString),
    Names,
}

impl AttributeRequest {
    /// Maximum size, in bytes.
    fn most(&self) -> usize {
        match self {
            Self::Value(_) => MAX_XATTR_VALUE_BYTES,
            Self::Names => MAX_XATTR_LIST_BYTES,
        }
    }
}

/// Attributes that a command may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeAnswer {
    /// The kernel's answer.
    All,
    /// No attributes.
    Nothing,
    /// Permission denied.
    Refused,
}

impl Broker {
    /// Does the kernel's work, in the kernel's order; the length of what was asked for.
    pub(super) fn read(
        &self,
        asked: &Notification,
        object: Object,
        read: Read,
    ) -> Result<i64, Errno> {
        let caller = Caller::new(asked.pid);
        let (wanted, address, size) = prepare(&caller, read)?;
        let (opened, _) = caller.open(object)?;
        let link = link(&opened);
        let place = readlinkat(CWD, &link, Vec::new())?;
        let status = fstat(&opened)?;
        match (
            self.may_read(
                place.to_bytes(),
                status.st_nlink == 0,
                FileType::from_raw_mode(status.st_mode),
            ),
            &wanted,
        ) {
            (AttributeAnswer::All, _) => {}
            (AttributeAnswer::Nothing, AttributeRequest::Value(_)) => return Err(Errno::NODATA),
            (AttributeAnswer::Nothing, AttributeRequest::Names) => return Ok(0),
            (AttributeAnswer::Refused, _) => return Err(Errno::ACCESS),
        }
        // Without room only the length is asked for; more room than anything can need is as good as
        // what is needed at most.
        let mut bytes = vec![
            0;
            usize::try_from(size)
                .unwrap_or(usize::MAX)
                .min(wanted.most())
        ];
        let length = match (&wanted, size) {
            (AttributeRequest::Value(name), 0) => getxattr_query(link, name)?,
            (AttributeRequest::Value(name), _) => getxattr(link, name, &mut bytes)?,
            (AttributeRequest::Names, 0) => listxattr_query(link)?,
            (AttributeRequest::Names, _) => listxattr(link, &mut bytes)?,
        };
        bytes.truncate(length);
        // All data above were read by the number of a thread. They belong to the caller only if it
        // still waits.
        if !still_valid(&self.listener, asked.id) {
            return Err(Errno::SRCH);
        }
        caller.memory().put(address, &bytes)?;
        i64::try_from(length).map_err(|_| Errno::TOOBIG)
    }

    /// Decides which attributes of an object a command may see. `place` is the kernel's path of the
    /// object.
    ///
    /// Parents of readable directories appear to have no attributes: `ls -la` reads those of `..`,
    /// and would complain in every allowed directory.
    pub(super) fn may_read(
        &self,
        place: &[u8],
        without_names: bool,
        kind: FileType,
    ) -> AttributeAnswer {
        if holds(place, without_names, kind, |place| {
            self.readable.iter().any(|root| place.starts_with(root))
        }) {
            return AttributeAnswer::All;
        }
        let place = Path::new(OsStr::from_bytes(place));
        let above = kind == FileType::Directory
            && place.is_absolute()
            && self.readable.iter().any(|root| root.starts_with(place));
        if above {
            AttributeAnswer::Nothing
        } else {
            AttributeAnswer::Refused
        }
    }
}

/// Reads what the arguments point to: what is wanted, where it goes, and how many bytes have room
/// there.
fn prepare(caller: &Caller, read: Read) -> Result<(AttributeRequest, u64, u64), Errno> {
    Ok(match read {
        Read::Value { name, value, size } => (
            AttributeRequest::Value(read_name(caller, name)?),
            value,
            size,
        ),
        Read::ValueAt {
            name,
            structure,
            size,
        } => {
            let (value, size, flags) = read_structure(caller, structure, size)?;
            if flags != 0 {
                return Err(Errno::INVAL);
            }
            (
                AttributeRequest::Value(read_name(caller, name)?),
                value,
                size,
            )
        }
        Read::Names { list, size } => (AttributeRequest::Names, list, size),
    })
}

#[cfg(test)]
mod tests;
