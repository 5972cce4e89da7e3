//! Changes of directory entries and file contents that a system call is about to make.

use libc::{
    AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, O_ACCMODE, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_PATH,
    O_RDONLY, O_TMPFILE, O_TRUNC, O_WRONLY, RENAME_EXCHANGE,
};

use crate::system_call::{Object, PathArgument, SystemCall};

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
    /// bind(2) to an address of so many bytes, which may be a path.
    Bind {
        address: u64,
        size: u32,
    },
    /// truncate(2).
    Truncate(Object),
    /// A write to a file opened for appending; its contents are saved only from now on.
    Overwrite(i32),
    Metadata(Object),
}

impl Mutation {
    /// Returns the change of a call; `None` if it changes nothing in the tree.
    pub(super) fn of(call: SystemCall) -> Option<Self> {
        Some(match call {
            SystemCall::Open { at, flags, .. } => return open(at, flags),
            SystemCall::Make(at) | SystemCall::Symlink { to: at, .. } => Self::Make(at),
            SystemCall::Remove { at, .. } => Self::Remove(at),
            SystemCall::Rename { from, to, flags } => Self::Rename {
                from,
                to,
                exchanges: flags & RENAME_EXCHANGE != 0,
            },
            SystemCall::Link { from, to, flags } => Self::Link {
                from: Object::Path {
                    at: from,
                    follow: flags & AT_SYMLINK_FOLLOW != 0,
                    empty: flags & AT_EMPTY_PATH != 0,
                },
                to,
            },
            SystemCall::Bind { address, size } => Self::Bind { address, size },
            SystemCall::Truncate(object) => Self::Truncate(object),
            SystemCall::Write(fd) => Self::Overwrite(fd),
            SystemCall::Change(object, _) => Self::Metadata(object),
            SystemCall::Socket
            | SystemCall::DatagramSocket
            | SystemCall::Invalid(_)
            | SystemCall::Read(..) => return None,
        })
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

    const AT: PathArgument = PathArgument {
        dir: 7,
        address: 0x1000,
    };

    fn opened(flags: i32) -> Option<Mutation> {
        Mutation::of(SystemCall::Open {
            at: AT,
            flags,
            mode: 0,
        })
    }

    #[test]
    fn read_only_open_is_no_mutation() {
        for flags in [O_RDONLY, O_PATH | O_TMPFILE | O_NOFOLLOW] {
            assert_eq!(opened(flags), None, "{flags:o}");
        }
    }

    #[test]
    fn open_flags_decode_to_write_mutation() {
        let at = AT;
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
}
