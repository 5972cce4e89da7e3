//! System calls on files that a supervisor answers or observes, decoded from their number and
//! arguments alone.

use libc::{
    AT_EMPTY_PATH, AT_FDCWD, AT_REMOVEDIR, AT_SYMLINK_FOLLOW, AT_SYMLINK_NOFOLLOW, EINVAL, c_long,
};

use crate::seccomp::{
    SYS_FCHMODAT2, SYS_GETXATTRAT, SYS_LISTXATTRAT, SYS_REMOVEXATTRAT, SYS_SETXATTRAT,
};

/// A system call of a command. Addresses are of the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemCall {
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
    /// open(2), creat(2).
    Open {
        at: PathArgument,
        /// `O_*`.
        flags: i32,
        /// Mode of a new file.
        mode: u32,
    },
    /// mkdir(2), mknod(2).
    Make(PathArgument),
    /// symlink(2).
    Symlink {
        /// Address of the target.
        text: u64,
        to: PathArgument,
    },
    /// link(2).
    Link {
        from: PathArgument,
        to: PathArgument,
        /// `AT_*`.
        flags: i32,
    },
    /// rename(2).
    Rename {
        from: PathArgument,
        to: PathArgument,
        /// `RENAME_*`.
        flags: u32,
    },
    /// unlink(2), rmdir(2).
    Remove { at: PathArgument, is_dir: bool },
    /// bind(2).
    Bind {
        /// Address of the socket address, which may be a path.
        address: u64,
        /// Size of the socket address, in bytes.
        size: u32,
    },
    /// truncate(2).
    Truncate(Object),
    /// A call on a descriptor that can change content: ftruncate(2), fallocate(2), or fcntl(2),
    /// which ends `O_APPEND`.
    Write(i32),
}

/// A path in the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathArgument {
    /// Base of a relative path: a descriptor of the caller, or `AT_FDCWD`.
    pub dir: i32,
    pub address: u64,
}

/// Object of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A descriptor of the caller, not opened with `O_PATH`.
    Descriptor(i32),
    /// A path.
    Path {
        at: PathArgument,
        /// `true` if a final symlink is followed.
        follow: bool,
        /// `true` if an empty path means the base itself.
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

/// Decodes a call, whose manual page names the arguments in this order. `None` if it is none of
/// [`SystemCall`].
#[expect(
    clippy::many_single_char_names,
    reason = "each call means something else by them"
)]
pub fn decode(nr: i32, args: &[u64; 6]) -> Option<SystemCall> {
    use SystemCall::{Change as Changes, Read as Reads};

    let [a, b, c, d, e, f] = *args;
    let owner = |uid: u64, gid: u64| Change::Owner(uid as u32, gid as u32);
    let set = |name, value, size, flags| Change::Set {
        name,
        value,
        size,
        flags,
    };
    let set_at = Change::SetAt {
        name: d,
        structure: e,
        size: f,
    };
    let get = Read::Value {
        name: b,
        value: c,
        size: d,
    };
    let get_at = Read::ValueAt {
        name: d,
        structure: e,
        size: f,
    };
    let list = Read::Names { list: b, size: c };
    let list_at = Read::Names { list: d, size: e };

    Some(match c_long::from(nr) {
        libc::SYS_socket if a as i32 == libc::AF_UNIX => SystemCall::DatagramSocket,
        libc::SYS_socketpair => SystemCall::DatagramSocket,
        libc::SYS_socket => SystemCall::Socket,

        libc::SYS_openat => SystemCall::Open {
            at: at(a, b),
            flags: c as i32,
            mode: d as u32,
        },
        libc::SYS_mkdirat | libc::SYS_mknodat => SystemCall::Make(at(a, b)),
        libc::SYS_symlinkat => SystemCall::Symlink {
            text: a,
            to: at(b, c),
        },
        libc::SYS_linkat => SystemCall::Link {
            from: at(a, b),
            to: at(c, d),
            flags: e as i32,
        },
        libc::SYS_renameat => rename(at(a, b), at(c, d), 0),
        libc::SYS_renameat2 => rename(at(a, b), at(c, d), e),
        libc::SYS_unlinkat => SystemCall::Remove {
            at: at(a, b),
            is_dir: c as i32 & AT_REMOVEDIR != 0,
        },
        libc::SYS_bind => SystemCall::Bind {
            address: b,
            size: c as u32,
        },
        libc::SYS_truncate => SystemCall::Truncate(path(a, true)),
        libc::SYS_ftruncate | libc::SYS_fallocate | libc::SYS_fcntl => SystemCall::Write(a as i32),

        libc::SYS_fchmod => Changes(descriptor(a), Change::Mode(b as u32)),
        libc::SYS_fchmodat => with_flags(a, b, 0, |object| Changes(object, Change::Mode(c as u32))),
        SYS_FCHMODAT2 => with_flags(a, b, d, |object| Changes(object, Change::Mode(c as u32))),
        libc::SYS_fchown => Changes(descriptor(a), owner(b, c)),
        libc::SYS_fchownat => with_flags(a, b, e, |object| Changes(object, owner(c, d))),
        libc::SYS_utimensat => times(a, b, d, Times::Nanos(c)),
        libc::SYS_setxattr => Changes(path(a, true), set(b, c, d, e)),
        libc::SYS_lsetxattr => Changes(path(a, false), set(b, c, d, e)),
        libc::SYS_fsetxattr => Changes(descriptor(a), set(b, c, d, e)),
        SYS_SETXATTRAT => attribute_at(a, b, c, |object| Changes(object, set_at)),
        libc::SYS_removexattr => Changes(path(a, true), Change::Remove { name: b }),
        libc::SYS_lremovexattr => Changes(path(a, false), Change::Remove { name: b }),
        libc::SYS_fremovexattr => Changes(descriptor(a), Change::Remove { name: b }),
        SYS_REMOVEXATTRAT => attribute_at(a, b, c, |object| {
            Changes(object, Change::Remove { name: d })
        }),
        libc::SYS_getxattr => Reads(path(a, true), get),
        libc::SYS_lgetxattr => Reads(path(a, false), get),
        libc::SYS_fgetxattr => Reads(descriptor(a), get),
        SYS_GETXATTRAT => attribute_at(a, b, c, |object| Reads(object, get_at)),
        libc::SYS_listxattr => Reads(path(a, true), list),
        libc::SYS_llistxattr => Reads(path(a, false), list),
        libc::SYS_flistxattr => Reads(descriptor(a), list),
        SYS_LISTXATTRAT => attribute_at(a, b, c, |object| Reads(object, list_at)),
        #[cfg(target_arch = "x86_64")]
        _ => return decode_without_base(nr, args),
        #[cfg(not(target_arch = "x86_64"))]
        _ => return None,
    })
}

/// Decodes the calls that newer architectures do not have: their paths begin at the working
/// directory.
#[cfg(target_arch = "x86_64")]
fn decode_without_base(nr: i32, args: &[u64; 6]) -> Option<SystemCall> {
    let [a, b, c, ..] = *args;
    let owner = Change::Owner(b as u32, c as u32);

    Some(match c_long::from(nr) {
        libc::SYS_open => SystemCall::Open {
            at: here(a),
            flags: b as i32,
            mode: c as u32,
        },
        libc::SYS_creat => SystemCall::Open {
            at: here(a),
            flags: libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC,
            mode: b as u32,
        },
        libc::SYS_mkdir | libc::SYS_mknod => SystemCall::Make(here(a)),
        libc::SYS_symlink => SystemCall::Symlink {
            text: a,
            to: here(b),
        },
        libc::SYS_link => SystemCall::Link {
            from: here(a),
            to: here(b),
            flags: 0,
        },
        libc::SYS_rename => rename(here(a), here(b), 0),
        libc::SYS_unlink | libc::SYS_rmdir => SystemCall::Remove {
            at: here(a),
            is_dir: c_long::from(nr) == libc::SYS_rmdir,
        },
        libc::SYS_chmod => SystemCall::Change(path(a, true), Change::Mode(b as u32)),
        libc::SYS_chown => SystemCall::Change(path(a, true), owner),
        libc::SYS_lchown => SystemCall::Change(path(a, false), owner),
        libc::SYS_utime => SystemCall::Change(path(a, true), Change::Times(Times::Seconds(b))),
        libc::SYS_utimes => SystemCall::Change(path(a, true), Change::Times(Times::Micros(b))),
        libc::SYS_futimesat => times(a, b, 0, Times::Micros(c)),
        _ => return None,
    })
}

fn rename(from: PathArgument, to: PathArgument, flags: u64) -> SystemCall {
    SystemCall::Rename {
        from,
        to,
        flags: flags as u32,
    }
}

fn at(dir: u64, address: u64) -> PathArgument {
    PathArgument {
        dir: dir as i32,
        address,
    }
}

/// A path without a base argument.
fn here(address: u64) -> PathArgument {
    PathArgument {
        dir: AT_FDCWD,
        address,
    }
}

fn descriptor(fd: u64) -> Object {
    Object::Descriptor(fd as i32)
}

/// A path of a call without a base.
fn path(address: u64, follow: bool) -> Object {
    Object::Path {
        at: here(address),
        follow,
        empty: false,
    }
}

/// A path of a call with `AT_*` flags; the kernel refuses unknown ones.
fn with_flags(
    dir: u64,
    address: u64,
    flags: u64,
    call: impl FnOnce(Object) -> SystemCall,
) -> SystemCall {
    let flags = flags as i32;
    if flags & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
        return SystemCall::Invalid(EINVAL);
    }

    call(Object::Path {
        at: at(dir, address),
        follow: flags & AT_SYMLINK_NOFOLLOW == 0,
        empty: flags & AT_EMPTY_PATH != 0,
    })
}

/// Without a path these mean the descriptor itself (utimensat(2), "C library/kernel differences").
fn times(dir: u64, address: u64, flags: u64, times: Times) -> SystemCall {
    let call = |object| SystemCall::Change(object, Change::Times(times));
    if address != 0 || dir as i32 == AT_FDCWD {
        with_flags(dir, address, flags, call)
    } else if flags as i32 == 0 {
        call(descriptor(dir))
    } else {
        SystemCall::Invalid(EINVAL)
    }
}

/// With `AT_EMPTY_PATH` these take no path as an empty one.
fn attribute_at(
    dir: u64,
    address: u64,
    flags: u64,
    call: impl FnOnce(Object) -> SystemCall,
) -> SystemCall {
    if address == 0 && flags as i32 & !AT_SYMLINK_NOFOLLOW == AT_EMPTY_PATH {
        call(descriptor(dir))
    } else {
        with_flags(dir, address, flags, call)
    }
}

/// Returns true if linkat(2) knows these flags.
pub const fn are_link_flags(flags: i32) -> bool {
    flags & !(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) == 0
}

#[cfg(test)]
mod tests {
    use libc::RENAME_EXCHANGE;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn path_arguments_are_decoded_by_call() {
        let ask = |call: c_long, args: [u64; 6]| decode(call as i32, &args);
        let at = |dir, address| PathArgument { dir, address };
        assert_eq!(
            ask(libc::SYS_symlinkat, [1, 2, 3, 0, 0, 0]),
            Some(SystemCall::Symlink {
                text: 1,
                to: at(2, 3)
            })
        );
        assert_eq!(
            ask(libc::SYS_unlinkat, [1, 2, 3, 0, 0, 0]),
            Some(SystemCall::Remove {
                at: at(1, 2),
                is_dir: false
            })
        );
        assert_eq!(
            ask(
                libc::SYS_renameat2,
                [1, 2, 3, 4, u64::from(RENAME_EXCHANGE), 0]
            ),
            Some(SystemCall::Rename {
                from: at(1, 2),
                to: at(3, 4),
                flags: RENAME_EXCHANGE
            })
        );
        assert_eq!(
            ask(libc::SYS_linkat, [1, 2, 3, 4, AT_SYMLINK_FOLLOW as u64, 0]),
            Some(SystemCall::Link {
                from: at(1, 2),
                to: at(3, 4),
                flags: AT_SYMLINK_FOLLOW
            })
        );
        assert_eq!(
            ask(libc::SYS_fchmod, [5, 0o644, 0, 0, 0, 0]),
            Some(SystemCall::Change(
                Object::Descriptor(5),
                Change::Mode(0o644)
            ))
        );
        assert_eq!(
            ask(libc::SYS_ftruncate, [5, 0, 0, 0, 0, 0]),
            Some(SystemCall::Write(5))
        );
        assert_eq!(ask(libc::SYS_read, [0; 6]), None);
    }
}
