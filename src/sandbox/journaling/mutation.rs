//! Decodes system calls that can change directory entries or file contents, from their number and
//! arguments alone.

use libc::{
    AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_FOLLOW, O_ACCMODE, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW,
    O_PATH, O_RDONLY, O_TMPFILE, O_TRUNC, O_WRONLY, RENAME_EXCHANGE, c_long,
};

use crate::broker::{self, Call, Object};

/// A name as a call gives it: where a relative path begins, and the path's address in the caller's
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathArgument {
    pub(super) dir: i32,
    pub(super) address: u64,
}

/// A change that a call is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutation {
    /// open(2) of something to write to it, or to make it if it is not there.
    Open {
        at: PathArgument,
        follow: bool,
        creates: bool,
        appends: bool,
        writes: bool,
    },
    /// Something new gets the name, if nothing has it.
    Make(PathArgument),
    Remove(PathArgument),
    Rename {
        from: PathArgument,
        to: PathArgument,
        exchanges: bool,
    },
    Link {
        from: Object,
        to: PathArgument,
    },
    /// bind(2): an address of so many bytes, which may be a path.
    Bind {
        address: u64,
        size: usize,
    },
    /// truncate(2).
    Truncate(Object),
    /// A write to a file opened for appending; its contents are saved only from now on.
    Overwrite(i32),
    Metadata(Object),
}

/// Reads a call. `None` if it changes nothing in the tree.
#[expect(
    clippy::many_single_char_names,
    reason = "each call means something else by them"
)]
pub(super) fn decode(nr: i32, args: &[u64; 6]) -> Option<Mutation> {
    let [a, b, c, d, e, _] = *args;
    let here = |address| PathArgument {
        dir: AT_FDCWD,
        address,
    };
    let at = |dir, address| PathArgument {
        dir: dir as i32,
        address,
    };
    Some(match c_long::from(nr) {
        libc::SYS_openat => return open(at(a, b), c as i32),
        libc::SYS_mkdirat | libc::SYS_mknodat => Mutation::Make(at(a, b)),
        libc::SYS_symlinkat => Mutation::Make(at(b, c)),
        libc::SYS_unlinkat => Mutation::Remove(at(a, b)),
        libc::SYS_renameat => Mutation::Rename {
            from: at(a, b),
            to: at(c, d),
            exchanges: false,
        },
        libc::SYS_renameat2 => Mutation::Rename {
            from: at(a, b),
            to: at(c, d),
            exchanges: e as u32 & RENAME_EXCHANGE != 0,
        },
        libc::SYS_linkat => {
            let (follow, empty) = (
                e as i32 & AT_SYMLINK_FOLLOW != 0,
                e as i32 & AT_EMPTY_PATH != 0,
            );
            Mutation::Link {
                from: Object::Path {
                    dir: a as i32,
                    address: b,
                    follow,
                    empty,
                },
                to: at(c, d),
            }
        }
        libc::SYS_bind => Mutation::Bind {
            address: b,
            size: c as u32 as usize,
        },
        libc::SYS_truncate => Mutation::Truncate(followed(a)),
        libc::SYS_ftruncate | libc::SYS_fallocate | libc::SYS_fcntl => {
            Mutation::Overwrite(a as i32)
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => return open(here(a), b as i32),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => return open(here(a), O_CREAT | O_WRONLY | O_TRUNC),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir | libc::SYS_mknod => Mutation::Make(here(a)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink => Mutation::Make(here(b)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink | libc::SYS_rmdir => Mutation::Remove(here(a)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => Mutation::Rename {
            from: here(a),
            to: here(b),
            exchanges: false,
        },
        #[cfg(target_arch = "x86_64")]
        libc::SYS_link => Mutation::Link {
            from: Object::Path {
                dir: AT_FDCWD,
                address: a,
                follow: false,
                empty: false,
            },
            to: here(b),
        },
        _ => match broker::decode(nr, args)? {
            Call::Change(object, _) => Mutation::Metadata(object),
            Call::Socket | Call::DatagramSocket | Call::Invalid(_) | Call::Read(..) => return None,
        },
    })
}

fn followed(address: u64) -> Object {
    Object::Path {
        dir: AT_FDCWD,
        address,
        follow: true,
        empty: false,
    }
}

fn open(at: PathArgument, flags: i32) -> Option<Mutation> {
    if flags & O_PATH != 0 || flags & O_TMPFILE == O_TMPFILE {
        return None;
    }
    let creates = flags & O_CREAT != 0;
    if creates && flags & O_EXCL != 0 {
        return Some(Mutation::Make(at));
    }
    let access = flags & O_ACCMODE;
    let writes = access != O_RDONLY || flags & O_TRUNC != 0;
    let appends = access == O_WRONLY && flags & O_APPEND != 0 && flags & O_TRUNC == 0;
    (creates || writes).then_some(Mutation::Open {
        at,
        follow: flags & O_NOFOLLOW == 0,
        creates,
        appends,
        writes,
    })
}

#[cfg(test)]
mod tests {
    use libc::O_RDWR;

    use super::*;
    use pretty_assertions::assert_eq;

    fn opened(flags: i32) -> Option<Mutation> {
        decode(
            libc::SYS_openat as i32,
            &[7, 0x1000, u64::from(flags.cast_unsigned()), 0, 0, 0],
        )
    }

    #[test]
    fn read_only_calls_are_no_mutation() {
        for flags in [O_RDONLY, O_PATH | O_TMPFILE | O_NOFOLLOW] {
            assert_eq!(opened(flags), None, "{flags:o}");
        }
        assert_eq!(decode(libc::SYS_read as i32, &[0; 6]), None);
        assert_eq!(decode(libc::SYS_getxattr as i32, &[0; 6]), None);
    }

    #[test]
    fn open_flags_decode_to_write_mutation() {
        let at = PathArgument {
            dir: 7,
            address: 0x1000,
        };
        let plain = Mutation::Open {
            at,
            follow: true,
            creates: false,
            appends: false,
            writes: true,
        };
        assert_eq!(opened(O_RDWR), Some(plain));
        assert_eq!(opened(O_RDONLY | O_TRUNC), Some(plain));
        assert_eq!(
            opened(O_RDWR | O_APPEND),
            Some(plain),
            "a shared mapping of it can change any byte"
        );
        let appending = Mutation::Open {
            at,
            follow: false,
            creates: true,
            appends: true,
            writes: true,
        };
        assert_eq!(
            opened(O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW),
            Some(appending)
        );
        assert_eq!(
            opened(O_WRONLY | O_CREAT | O_EXCL),
            Some(Mutation::Make(at))
        );
        let made = Mutation::Open {
            at,
            follow: true,
            creates: true,
            appends: false,
            writes: false,
        };
        assert_eq!(opened(O_CREAT), Some(made));
    }

    #[test]
    fn path_arguments_are_decoded_by_call() {
        let ask = |call: c_long, args| decode(call as i32, &args);
        let at = |dir, address| PathArgument { dir, address };
        assert_eq!(
            ask(libc::SYS_symlinkat, [1, 2, 3, 0, 0, 0]),
            Some(Mutation::Make(at(2, 3)))
        );
        assert_eq!(
            ask(libc::SYS_unlinkat, [1, 2, 3, 0, 0, 0]),
            Some(Mutation::Remove(at(1, 2)))
        );
        assert_eq!(
            ask(
                libc::SYS_renameat2,
                [1, 2, 3, 4, u64::from(RENAME_EXCHANGE), 0]
            ),
            Some(Mutation::Rename {
                from: at(1, 2),
                to: at(3, 4),
                exchanges: true
            })
        );
        let from = Object::Path {
            dir: 1,
            address: 2,
            follow: true,
            empty: false,
        };
        assert_eq!(
            ask(libc::SYS_linkat, [1, 2, 3, 4, AT_SYMLINK_FOLLOW as u64, 0]),
            Some(Mutation::Link { from, to: at(3, 4) })
        );
        assert_eq!(
            ask(libc::SYS_fchmod, [5, 0o644, 0, 0, 0, 0]),
            Some(Mutation::Metadata(Object::Descriptor(5)))
        );
        assert_eq!(
            ask(libc::SYS_ftruncate, [5, 0, 0, 0, 0, 0]),
            Some(Mutation::Overwrite(5))
        );
    }
}
