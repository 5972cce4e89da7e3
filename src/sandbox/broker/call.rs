//! Decodes brokered system calls from their number and arguments alone.

use libc::{AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_NOFOLLOW, EINVAL, c_long};

use crate::seccomp::{
    SYS_FCHMODAT2, SYS_GETXATTRAT, SYS_LISTXATTRAT, SYS_REMOVEXATTRAT, SYS_SETXATTRAT,
};

/// A call that the filter leaves to the broker. Addresses are of the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// socket(2) of a network family that the command does not have.
    Socket,
    /// socket(2) or socketpair(2) for datagrams of unix(7).
    DatagramSocket,
    /// The kernel would answer this number of errno(3) before it looks at anything else.
    Invalid(i32),
    /// A change of metadata.
    Change(Object, Change),
    /// A look at extended attributes.
    Read(Object, Read),
}

/// Target of a change or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A descriptor of the caller, not opened with `O_PATH`.
    Descriptor(i32),
    /// A path.
    Path {
        /// Base of a relative path: a descriptor of the caller, or `AT_FDCWD`.
        dir: i32,
        address: u64,
        /// `true` if a final symlink is followed.
        follow: bool,
        /// `true` if an empty path means `dir` itself.
        empty: bool,
    },
}

/// A change of metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// chmod(2).
    Mode(u32),
    /// chown(2); `u32::MAX` leaves one as it is.
    Owner(u32, u32),
    /// utimensat(2) and what was before it.
    Times(Times),
    /// setxattr(2).
    Set {
        /// Address of the name.
        name: u64,
        /// Address of the value.
        value: u64,
        /// Bytes of the value.
        size: u64,
        /// `XATTR_CREATE`, `XATTR_REPLACE`.
        flags: u64,
    },
    /// setxattrat(2), whose value, size and flags are a structure in memory.
    SetAt {
        /// Address of the name.
        name: u64,
        /// Address of the structure.
        structure: u64,
        /// Size of the structure.
        size: u64,
    },
    /// removexattr(2).
    Remove {
        /// Address of the name.
        name: u64,
    },
}

/// A read of extended attributes, and the buffer for the result. With a buffer of 0 bytes the call
/// returns only the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// getxattr(2).
    Value {
        /// Address of the name.
        name: u64,
        /// Address of the buffer for the value.
        value: u64,
        /// Size of the buffer.
        size: u64,
    },
    /// getxattrat(2), whose value and size are a structure in memory.
    ValueAt {
        /// Address of the name.
        name: u64,
        /// Address of the structure.
        structure: u64,
        /// Size of the structure.
        size: u64,
    },
    /// listxattr(2).
    Names {
        /// Address of the buffer for the names.
        list: u64,
        /// Size of the buffer.
        size: u64,
    },
}

/// A change or a look, of which the object is not known yet.
enum Deed {
    Change(Change),
    Read(Read),
}

impl Deed {
    fn on(self, object: Object) -> Call {
        match self {
            Self::Change(change) => Call::Change(object, change),
            Self::Read(read) => Call::Read(object, read),
        }
    }
}

impl From<Change> for Deed {
    fn from(change: Change) -> Self {
        Self::Change(change)
    }
}

impl From<Read> for Deed {
    fn from(read: Read) -> Self {
        Self::Read(read)
    }
}

/// Address and format of the two timestamps; address 0 means now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Seconds (`struct utimbuf`).
    Seconds(u64),
    /// Seconds and microseconds (`struct timeval`).
    Micros(u64),
    /// Seconds and nanoseconds (`struct timespec`).
    Nanos(u64),
}

/// Reads a call; the manual page of each names its arguments in this order. `None` if it is none of
/// those that the filter leaves to the broker.
#[expect(
    clippy::many_single_char_names,
    reason = "each call means something else by them"
)]
pub fn decode(nr: i32, args: &[u64; 6]) -> Option<Call> {
    let [a, b, c, d, e, f] = *args;
    let owner = |uid: u64, gid: u64| Change::Owner(uid as u32, gid as u32);
    let set = |name, value, size, flags| Change::Set {
        name,
        value,
        size,
        flags,
    };
    let get = Read::Value {
        name: b,
        value: c,
        size: d,
    };
    let list = Read::Names { list: b, size: c };
    Some(match c_long::from(nr) {
        libc::SYS_socket if a as i32 == libc::AF_UNIX => Call::DatagramSocket,
        libc::SYS_socketpair => Call::DatagramSocket,
        libc::SYS_socket => Call::Socket,
        libc::SYS_fchmod => descriptor(a, Change::Mode(b as u32)),
        libc::SYS_fchmodat => at(a, b, 0, Change::Mode(c as u32)),
        SYS_FCHMODAT2 => at(a, b, d, Change::Mode(c as u32)),
        libc::SYS_fchown => descriptor(a, owner(b, c)),
        libc::SYS_fchownat => at(a, b, e, owner(c, d)),
        libc::SYS_utimensat => times(a, b, d, Times::Nanos(c)),
        libc::SYS_setxattr => path(a, true, set(b, c, d, e)),
        libc::SYS_lsetxattr => path(a, false, set(b, c, d, e)),
        libc::SYS_fsetxattr => descriptor(a, set(b, c, d, e)),
        SYS_SETXATTRAT => attribute_at(
            a,
            b,
            c,
            Change::SetAt {
                name: d,
                structure: e,
                size: f,
            },
        ),
        libc::SYS_removexattr => path(a, true, Change::Remove { name: b }),
        libc::SYS_lremovexattr => path(a, false, Change::Remove { name: b }),
        libc::SYS_fremovexattr => descriptor(a, Change::Remove { name: b }),
        SYS_REMOVEXATTRAT => attribute_at(a, b, c, Change::Remove { name: d }),
        libc::SYS_getxattr => path(a, true, get),
        libc::SYS_lgetxattr => path(a, false, get),
        libc::SYS_fgetxattr => descriptor(a, get),
        SYS_GETXATTRAT => attribute_at(
            a,
            b,
            c,
            Read::ValueAt {
                name: d,
                structure: e,
                size: f,
            },
        ),
        libc::SYS_listxattr => path(a, true, list),
        libc::SYS_llistxattr => path(a, false, list),
        libc::SYS_flistxattr => descriptor(a, list),
        SYS_LISTXATTRAT => attribute_at(a, b, c, Read::Names { list: d, size: e }),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => path(a, true, Change::Mode(b as u32)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chown => path(a, true, owner(b, c)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lchown => path(a, false, owner(b, c)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utime => path(a, true, Change::Times(Times::Seconds(b))),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utimes => path(a, true, Change::Times(Times::Micros(b))),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat => times(a, b, 0, Times::Micros(c)),
        _ => return None,
    })
}

fn descriptor(fd: u64, deed: impl Into<Deed>) -> Call {
    deed.into().on(Object::Descriptor(fd as i32))
}

fn path(address: u64, follow: bool, deed: impl Into<Deed>) -> Call {
    deed.into().on(Object::Path {
        dir: AT_FDCWD,
        address,
        follow,
        empty: false,
    })
}

fn at(dir: u64, address: u64, flags: u64, deed: impl Into<Deed>) -> Call {
    let flags = flags as i32;
    if flags & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
        return Call::Invalid(EINVAL);
    }
    let (follow, empty) = (flags & AT_SYMLINK_NOFOLLOW == 0, flags & AT_EMPTY_PATH != 0);
    deed.into().on(Object::Path {
        dir: dir as i32,
        address,
        follow,
        empty,
    })
}

/// Without a path these mean the descriptor itself (utimensat(2), "C library/kernel differences").
fn times(dir: u64, address: u64, flags: u64, times: Times) -> Call {
    if address != 0 || dir as i32 == AT_FDCWD {
        at(dir, address, flags, Change::Times(times))
    } else if flags as i32 == 0 {
        descriptor(dir, Change::Times(times))
    } else {
        Call::Invalid(EINVAL)
    }
}

/// With `AT_EMPTY_PATH` these take no path as an empty one.
fn attribute_at(dir: u64, address: u64, flags: u64, deed: impl Into<Deed>) -> Call {
    if address == 0 && flags as i32 == AT_EMPTY_PATH {
        descriptor(dir, deed)
    } else {
        at(dir, address, flags, deed)
    }
}
