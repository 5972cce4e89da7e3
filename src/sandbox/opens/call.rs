//! Arguments of a call that opens, links, renames or removes, read from its number and arguments
//! alone.

use libc::{AT_FDCWD, AT_SYMLINK_FOLLOW, O_CREAT, O_TRUNC, O_WRONLY, c_long};

/// A path: where it begins, and where it stands in the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathArgument {
    pub(super) dir: i32,
    pub(super) address: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Open {
        at: PathArgument,
        flags: i32,
        mode: u32,
    },
    Link {
        from: PathArgument,
        to: PathArgument,
        flags: i32,
    },
    Rename {
        from: PathArgument,
        to: PathArgument,
        flags: u32,
    },
    /// A link with a text, which stands at this address.
    Symlink {
        text: u64,
        to: PathArgument,
    },
    Remove {
        at: PathArgument,
        is_dir: bool,
    },
}

/// `None` if it is none of these calls; their manual pages name the arguments in this order.
#[expect(
    clippy::many_single_char_names,
    reason = "each call means something else by them"
)]
pub fn decode(nr: i32, args: &[u64; 6]) -> Option<Call> {
    let [a, b, c, d, e, _] = *args;
    let at = |dir: u64, address| PathArgument {
        dir: dir as i32,
        address,
    };
    let here = |address| PathArgument {
        dir: AT_FDCWD,
        address,
    };
    Some(match c_long::from(nr) {
        libc::SYS_openat => Call::Open {
            at: at(a, b),
            flags: c as i32,
            mode: d as u32,
        },
        libc::SYS_linkat => Call::Link {
            from: at(a, b),
            to: at(c, d),
            flags: e as i32,
        },
        libc::SYS_symlinkat => Call::Symlink {
            text: a,
            to: at(b, c),
        },
        libc::SYS_renameat2 => Call::Rename {
            from: at(a, b),
            to: at(c, d),
            flags: e as u32,
        },
        libc::SYS_unlinkat => Call::Remove {
            at: at(a, b),
            is_dir: c as i32 & libc::AT_REMOVEDIR != 0,
        },
        libc::SYS_renameat => Call::Rename {
            from: at(a, b),
            to: at(c, d),
            flags: 0,
        },
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => Call::Open {
            at: here(a),
            flags: b as i32,
            mode: c as u32,
        },
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => Call::Open {
            at: here(a),
            flags: O_CREAT | O_WRONLY | O_TRUNC,
            mode: b as u32,
        },
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink => Call::Remove {
            at: here(a),
            is_dir: false,
        },
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rmdir => Call::Remove {
            at: here(a),
            is_dir: true,
        },
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink => Call::Symlink {
            text: a,
            to: here(b),
        },
        #[cfg(target_arch = "x86_64")]
        libc::SYS_link => Call::Link {
            from: here(a),
            to: here(b),
            flags: 0,
        },
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => Call::Rename {
            from: here(a),
            to: here(b),
            flags: 0,
        },
        _ => return None,
    })
}

/// Returns true if linkat(2) knows these flags.
pub(super) const fn are_known(flags: i32) -> bool {
    flags & !(AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH) == 0
}
