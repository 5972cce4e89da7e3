//! Rules of the seccomp filter: system calls, conditions, answers and reasons.
//!
//! Arguments are compared by their lower halves. The kernel takes each compared argument as an
//! `int` and drops the rest. Pointers are only compared with 0.

mod journaled;
mod named;
mod opened;
mod unix;

use libc::c_long;

/// Marker behind the arguments of the sendmsg(2) that hands a listener over; an arbitrary number
/// that does not occur there by chance.
pub const MARK: u32 = 0x6c69_7374;

/// Network sockets that a command may create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sockets {
    /// None.
    None,
    /// TCP, UDP and what belongs to them over IPv4 and IPv6, and the netlink(7) family that tells
    /// about interfaces and routes. Never raw ones.
    Inet,
    /// The same, but the supervisor creates the IPv4 and IPv6 sockets.
    Asked,
}

/// Settings of a command's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct FilterSettings {
    pub sockets: Sockets,
    /// `true` if the command may bind or connect named unix(7) sockets; the supervisor makes their
    /// connections ([`crate::unix_sockets`]). socketpair(2) is always allowed: event loops
    /// need it.
    pub unix: bool,
    /// `true` if the command runs without namespaces and sees other processes of the user. Landlock
    /// does not mediate metadata changes and reads of extended attributes, so they go to the
    /// [broker](crate::broker). In namespaces, only calls that could make a set-group-ID
    /// file do.
    pub supervised: bool,
    /// `true` if its network calls are intercepted ([`crate::intercept`]).
    pub intercepted: bool,
    /// `true` if its changes are journaled in advance ([`crate::journaling`]).
    pub journaled: bool,
    /// `true` if its opens are made for it, as its links and renames are
    /// ([`crate::opens`]).
    pub opened: bool,
    /// `true` if the command has devices of the machine, whose ioctls are their own.
    pub devices: bool,
    /// `true` if its threads are named by the supervisor ([`crate::thread_names`]).
    pub names_threads: bool,
    /// `true` if tracers may not set registers ([`crate::traced_call`]).
    pub keeps_registers: bool,
}

/// The answer to a call that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FilterAction {
    Errno(i32),
    /// The supervisor decides.
    Ask,
}

/// A condition on an argument (0 to 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Clause {
    /// It has one of these bits.
    Has(u8, u32),
    /// The argument, masked, is one of these values.
    In(u8, u32, &'static [u32]),
    /// The argument, masked, is none of these values.
    NotIn(u8, u32, &'static [u32]),
    /// It is a pointer, and leads somewhere.
    Given(u8),
}
use Clause::{Given, Has, In, NotIn};

/// A refusal. The first line whose calls and clauses fit decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterRule {
    pub(super) calls: &'static [c_long],
    /// All must hold; none: always.
    pub(super) when: &'static [Clause],
    pub(super) answer: FilterAction,
    /// Read by people, and by the test that there is one.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "each line says why it is there")
    )]
    pub(super) why: &'static str,
}

const ALL: u32 = u32::MAX;
const EPERM: FilterAction = FilterAction::Errno(libc::EPERM);
const EACCES: FilterAction = FilterAction::Errno(libc::EACCES);
const EBUSY: FilterAction = FilterAction::Errno(libc::EBUSY);
const ENOSYS: FilterAction = FilterAction::Errno(libc::ENOSYS);
const EPROTONOSUPPORT: FilterAction = FilterAction::Errno(libc::EPROTONOSUPPORT);
const EOPNOTSUPP: FilterAction = FilterAction::Errno(libc::EOPNOTSUPP);
const ENOTTY: FilterAction = FilterAction::Errno(libc::ENOTTY);

// Numbers that the libc crate does not have on every architecture; from 424 on they are the same on
// all.
pub(crate) const SYS_FCHMODAT2: c_long = 452;
pub(crate) const SYS_SETXATTRAT: c_long = 463;
pub(crate) const SYS_GETXATTRAT: c_long = 464;
pub(crate) const SYS_LISTXATTRAT: c_long = 465;
pub(crate) const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_OPEN_TREE_ATTR: c_long = 467;
const SYS_FILE_SETATTR: c_long = 469;

/// `CLONE_NEWNS`, `NEWCGROUP`, `NEWUTS`, `NEWIPC`, `NEWUSER`, `NEWPID` and `NEWNET`.
const NEW_NAMESPACES: u32 = 0x7e02_0000;
/// `CLONE_NEWTIME`; in the flags of clone(2) these bits are the signal sent at the end.
const NEW_TIME: u32 = 0x80;
const FILE_TYPE: u32 = libc::S_IFMT;
const SET_USER_ID: u32 = libc::S_ISUID;
const SET_GROUP_ID: u32 = libc::S_ISGID;
const SET_ID: u32 = SET_USER_ID | SET_GROUP_ID;
/// `O_CREAT`, and the bit that is `O_TMPFILE`'s own: without them open(2) has no mode.
const MAKES_A_FILE: u32 = 0o100 | 0o20_000_000;
/// With `O_PATH` the kernel ignores all other flags but `O_DIRECTORY`, `O_NOFOLLOW` and `O_CLOEXEC`
/// (open(2)).
const PATH: u32 = libc::O_PATH.cast_unsigned();
/// The part of a socket's type that is not a flag (`SOCK_TYPE_MASK` of `linux/net.h`).
const SOCKET_TYPE: u32 = 0xf;

const UNIX: u32 = libc::AF_UNIX.cast_unsigned();
const INET: u32 = libc::AF_INET.cast_unsigned();
const INET6: u32 = libc::AF_INET6.cast_unsigned();
const NETLINK: u32 = libc::AF_NETLINK.cast_unsigned();
const STREAM: u32 = libc::SOCK_STREAM.cast_unsigned();
const DGRAM: u32 = libc::SOCK_DGRAM.cast_unsigned();
const SEQPACKET: u32 = libc::SOCK_SEQPACKET.cast_unsigned();
const SOL_SOCKET: u32 = libc::SOL_SOCKET.cast_unsigned();
const FAST_OPEN: u32 = libc::MSG_FASTOPEN.cast_unsigned();

const fn line(
    calls: &'static [c_long],
    when: &'static [Clause],
    answer: FilterAction,
    why: &'static str,
) -> FilterRule {
    FilterRule {
        calls,
        when,
        answer,
        why,
    }
}

/// The table for these settings, in its order.
pub(super) fn lines(settings: FilterSettings) -> Vec<FilterRule> {
    let mut lines = COMMON.to_vec();
    lines.extend(if settings.supervised {
        SUPERVISED
    } else {
        ENCLOSED
    });
    if settings.intercepted {
        lines.extend(INTERCEPTED);
    }
    lines.push(unix::NO_DATAGRAMS);
    if settings.unix && !settings.intercepted {
        lines.extend(unix::CONNECTIONS);
    }
    if settings.sockets != Sockets::None {
        lines.extend(INET_SOCKETS);
    }
    if settings.sockets == Sockets::Asked
        || settings.sockets == Sockets::None && settings.supervised
    {
        lines.push(ASKED_SOCKETS);
    }
    let families: &[Clause] = match (settings.sockets, settings.unix) {
        (Sockets::None, false) => &[],
        (Sockets::None, true) => &[NotIn(0, ALL, &[UNIX])],
        (_, false) => &[NotIn(0, ALL, &[INET, INET6, NETLINK])],
        (_, true) => &[NotIn(0, ALL, &[UNIX, INET, INET6, NETLINK])],
    };
    lines.push(line(
        &[libc::SYS_socket],
        families,
        EACCES,
        "a family that is not allowed",
    ));
    lines.extend(named::LINES);
    if !settings.supervised {
        lines.extend(named::REMOVALS);
    }
    if settings.opened {
        lines.extend(opened::LINES);
    }
    if settings.journaled {
        lines.extend(journaled::LINES);
        lines.push(if settings.devices {
            journaled::IOCTLS_OF_FILE_SYSTEMS
        } else {
            journaled::IOCTLS
        });
    }
    if settings.names_threads {
        lines.extend(opened::THREAD_NAMES);
    }
    if settings.keeps_registers {
        lines.push(REGISTERS);
    }
    lines.extend(unix::PAIRS);
    lines
}

/// The table for a command without walls whose calls over the network are intercepted.
pub(super) fn interception() -> Vec<FilterRule> {
    [RINGS, NO_SECOND_LISTENER]
        .into_iter()
        .chain(INTERCEPTED.iter().copied())
        .chain([ASKED_SOCKETS])
        .collect()
}

const RINGS: FilterRule = line(
    &[
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ],
    &[],
    EPERM,
    "does other calls' work where no filter sees it; the kernel's own switch answers the same",
);

const COMMON: &[FilterRule] = &[
    // Parts of the kernel with a record of holes, or that go around filters.
    RINGS,
    line(&[libc::SYS_bpf], &[], EPERM, "programs for the kernel"),
    line(
        &[libc::SYS_perf_event_open],
        &[],
        EPERM,
        "looks into other processes and the kernel",
    ),
    line(
        &[libc::SYS_userfaultfd],
        &[],
        EPERM,
        "holds the kernel in the middle of a copy: a tool of attacks on it",
    ),
    line(
        &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
        &[],
        EPERM,
        "keyrings belong to the user and the session, and know no namespace or Landlock domain",
    ),
    line(
        &[libc::SYS_kcmp],
        &[],
        EPERM,
        "compares the kernel's own pointers",
    ),
    line(
        &[libc::SYS_process_madvise],
        &[],
        EPERM,
        "steers the memory of other processes",
    ),
    line(
        &[libc::SYS_move_pages, libc::SYS_migrate_pages],
        &[],
        EPERM,
        "moves the memory of other processes",
    ),
    line(
        &[libc::SYS_fanotify_init],
        &[],
        EPERM,
        "watches, or decides about, accesses of the whole system",
    ),
    line(
        #[cfg(target_arch = "x86_64")]
        &[
            libc::SYS_lookup_dcookie,
            libc::SYS_nfsservctl,
            libc::SYS_uselib,
            libc::SYS__sysctl,
        ],
        #[cfg(target_arch = "aarch64")]
        &[libc::SYS_lookup_dcookie, libc::SYS_nfsservctl],
        &[],
        ENOSYS,
        "newer kernels have them no more",
    ),
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_ustat, libc::SYS_sysfs],
        &[],
        ENOSYS,
        "they measure any mounted file system by its number, and list those that the kernel has; newer architectures lack them",
    ),
    line(
        &[libc::SYS_fcntl],
        // F_SETLEASE, F_SETDELEG
        &[In(1, ALL, &[1024, 1040])],
        FilterAction::Errno(libc::EINVAL),
        "a lease, which a read-only file can have too, holds up everybody who opens it; many file systems answer the same",
    ),
    // The system as a whole.
    line(
        &[
            libc::SYS_kexec_load,
            libc::SYS_kexec_file_load,
            libc::SYS_reboot,
        ],
        &[],
        EPERM,
        "another kernel, or none",
    ),
    line(
        &[
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
        ],
        &[],
        EPERM,
        "programs for the kernel",
    ),
    line(
        &[libc::SYS_swapon, libc::SYS_swapoff],
        &[],
        EPERM,
        "the system's memory",
    ),
    line(
        &[libc::SYS_acct],
        &[],
        EPERM,
        "writes a file about every process",
    ),
    line(
        &[libc::SYS_quotactl, libc::SYS_quotactl_fd],
        &[],
        EPERM,
        "limits of file systems",
    ),
    line(
        &[libc::SYS_settimeofday, libc::SYS_clock_settime],
        &[],
        EPERM,
        "the system's clock (adjtimex(2) stays: it mostly reads, and to set it needs a capability)",
    ),
    line(
        &[libc::SYS_sethostname, libc::SYS_setdomainname],
        &[],
        EPERM,
        "the system's name",
    ),
    line(
        &[libc::SYS_syslog],
        &[],
        EPERM,
        "the kernel's log holds addresses and other users' doings",
    ),
    line(
        &[libc::SYS_vhangup],
        &[],
        EPERM,
        "hangs up a terminal for everybody",
    ),
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_iopl, libc::SYS_ioperm],
        &[],
        EPERM,
        "the hardware",
    ),
    // Mounts.
    line(
        &[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_open_tree,
            SYS_OPEN_TREE_ATTR,
            libc::SYS_move_mount,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_mount_setattr,
        ],
        &[],
        EPERM,
        "walls are made of mounts, and rules about paths mean the mounts that they were made for",
    ),
    line(
        &[libc::SYS_chroot],
        &[],
        EPERM,
        "another root makes paths mean something else than the walls take them for",
    ),
    line(
        &[libc::SYS_open_by_handle_at],
        &[],
        EPERM,
        "opens by inode number, whatever the path",
    ),
    line(
        &[libc::SYS_setns],
        &[],
        EPERM,
        "other namespaces are outside",
    ),
    line(
        &[libc::SYS_unshare],
        &[Has(0, NEW_NAMESPACES | NEW_TIME)],
        EPERM,
        "in a user namespace of its own it would have all capabilities, and with them most of the kernel to attack",
    ),
    line(
        &[libc::SYS_clone],
        &[Has(0, NEW_NAMESPACES)],
        EPERM,
        "the same",
    ),
    line(
        &[libc::SYS_clone3],
        &[],
        ENOSYS,
        "the same, but its flags lie in memory, which a filter cannot read; C libraries fall back to clone(2)",
    ),
    line(
        &[libc::SYS_personality],
        // PER_LINUX32 and UNAME26 change what uname(2) says, ADDR_NO_RANDOMIZE is for debuggers;
        // all bits set only asks.
        &[
            Has(0, !(0x8 | 0x0002_0000 | 0x0004_0000)),
            NotIn(0, ALL, &[u32::MAX]),
        ],
        EPERM,
        "old programs' habits, some of which make memory less safe",
    ),
    line(
        &[libc::SYS_ioctl],
        &[In(1, ALL, &[0x5412, 0x541c])],
        EPERM,
        "TIOCSTI and TIOCLINUX type into a terminal as if a person did",
    ),
    line(
        &[libc::SYS_ioctl],
        &[In(1, ALL, &[0x5423])],
        EPERM,
        "TIOCSETD loads line disciplines, modules with a record of holes",
    ),
    // Set-user-ID and set-group-ID files are a way out through the user who runs them. The broker
    // checks later changes of these bits, by mode or by an access control list. Directories pass
    // their group on by that bit. The filter cannot distinguish directories from files, but the
    // broker can.
    line(
        &[libc::SYS_openat2],
        &[],
        ENOSYS,
        "it makes files whose mode lies in memory, which a filter cannot read; systemd's RestrictSUIDSGID= answers the same",
    ),
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_chmod],
        &[Has(1, SET_USER_ID)],
        EPERM,
        "a set-user-ID file is a way out through whoever runs it",
    ),
    line(
        &[libc::SYS_fchmod],
        &[Has(1, SET_USER_ID)],
        EPERM,
        "the same",
    ),
    line(
        &[libc::SYS_fchmodat, SYS_FCHMODAT2],
        &[Has(2, SET_USER_ID)],
        EPERM,
        "the same",
    ),
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_open],
        &[Has(1, MAKES_A_FILE), Has(2, SET_ID)],
        EPERM,
        "the same, and through their group",
    ),
    line(
        &[libc::SYS_openat],
        &[Has(2, MAKES_A_FILE), Has(3, SET_ID)],
        EPERM,
        "the same, and through their group",
    ),
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_creat, libc::SYS_mknod],
        &[Has(1, SET_ID)],
        EPERM,
        "the same, and through their group",
    ),
    line(
        &[libc::SYS_mknodat],
        &[Has(2, SET_ID)],
        EPERM,
        "the same, and through their group",
    ),
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_mkdir],
        &[Has(1, SET_USER_ID)],
        EPERM,
        "not on a directory either",
    ),
    line(
        &[libc::SYS_mkdirat],
        &[Has(2, SET_USER_ID)],
        EPERM,
        "not on a directory either",
    ),
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_mknod],
        &[In(1, FILE_TYPE, &[libc::S_IFBLK, libc::S_IFCHR])],
        EPERM,
        "a device is not a file",
    ),
    line(
        &[libc::SYS_mknodat],
        &[In(2, FILE_TYPE, &[libc::S_IFBLK, libc::S_IFCHR])],
        EPERM,
        "a device is not a file",
    ),
    line(
        &[libc::SYS_renameat2],
        &[Has(4, libc::RENAME_WHITEOUT)],
        FilterAction::Errno(libc::EINVAL),
        "it makes a device; file systems without whiteouts answer the same",
    ),
];

/// With namespaces: the only process in sight that is not the command's is its supervisor, number
/// 1.
const ENCLOSED: &[FilterRule] = &[
    line(
        &[
            libc::SYS_prlimit64,
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setattr,
        ],
        &[In(0, ALL, &[1])],
        EPERM,
        "its supervisor",
    ),
    line(
        &[libc::SYS_setpriority, libc::SYS_ioprio_set],
        &[In(1, ALL, &[1])],
        EPERM,
        "its supervisor",
    ),
    OF_A_USER,
    IO_OF_A_USER,
    NO_SECOND_LISTENER,
    #[cfg(target_arch = "x86_64")]
    line(
        &[libc::SYS_chmod],
        &[Has(1, SET_GROUP_ID)],
        FilterAction::Ask,
        "a directory may have it, a file not",
    ),
    line(
        &[libc::SYS_fchmod],
        &[Has(1, SET_GROUP_ID)],
        FilterAction::Ask,
        "a directory may have it, a file not",
    ),
    line(
        &[libc::SYS_fchmodat, SYS_FCHMODAT2],
        &[Has(2, SET_GROUP_ID)],
        FilterAction::Ask,
        "a directory may have it, a file not",
    ),
    line(
        &[
            libc::SYS_setxattr,
            libc::SYS_lsetxattr,
            libc::SYS_fsetxattr,
            SYS_SETXATTRAT,
        ],
        &[],
        FilterAction::Ask,
        "an access control list is a mode as well, and which attribute is meant lies in memory",
    ),
];

/// The first tracer of a chain is traced by nobody, so its own argument is the one that is seen.
const REGISTERS: FilterRule = line(
    &[libc::SYS_ptrace],
    &[In(0, ALL, &[libc::PTRACE_SETREGSET])],
    EPERM,
    "on this kernel a tracer changes argument 0 of its child's call after the filter has looked",
);
const OF_A_USER: FilterRule = line(
    &[libc::SYS_setpriority],
    &[In(0, ALL, &[2])],
    EPERM,
    "PRIO_USER means all of the user's processes",
);
const IO_OF_A_USER: FilterRule = line(
    &[libc::SYS_ioprio_set],
    &[In(0, ALL, &[3])],
    EPERM,
    "IOPRIO_WHO_USER means all of the user's processes",
);

const NO_SECOND_LISTENER: FilterRule = line(
    &[libc::SYS_seccomp],
    &[Has(1, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as u32)],
    EBUSY,
    "a listener of its own could let pass what is asked of the supervisor. Other filters can only refuse more",
);

/// Without namespaces: everything of the user is in sight.
const SUPERVISED: &[FilterRule] = &[
    line(
        &[
            libc::SYS_prlimit64,
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setattr,
        ],
        &[NotIn(0, ALL, &[0])],
        EPERM,
        "other processes, which Landlock does not keep from it; 0 is the caller",
    ),
    line(
        &[libc::SYS_setpriority, libc::SYS_ioprio_set],
        &[NotIn(1, ALL, &[0])],
        EPERM,
        "other processes; 0 is the caller",
    ),
    OF_A_USER,
    IO_OF_A_USER,
    line(
        &[
            libc::SYS_shmget,
            libc::SYS_shmat,
            libc::SYS_shmctl,
            libc::SYS_semget,
            libc::SYS_semop,
            libc::SYS_semtimedop,
            libc::SYS_semctl,
            libc::SYS_msgget,
            libc::SYS_msgsnd,
            libc::SYS_msgrcv,
            libc::SYS_msgctl,
        ],
        &[],
        ENOSYS,
        "memory and queues of other processes by number, which Landlock does not know; kernels can be built without",
    ),
    line(
        &[libc::SYS_mq_open, libc::SYS_mq_unlink],
        &[],
        ENOSYS,
        "queues of other processes by name; the same",
    ),
    NO_SECOND_LISTENER,
    #[cfg(target_arch = "x86_64")]
    line(
        &[
            libc::SYS_chmod,
            libc::SYS_chown,
            libc::SYS_lchown,
            libc::SYS_utime,
            libc::SYS_utimes,
            libc::SYS_futimesat,
        ],
        &[],
        FilterAction::Ask,
        "metadata, which Landlock does not mediate",
    ),
    line(
        &[
            libc::SYS_fchmod,
            libc::SYS_fchmodat,
            SYS_FCHMODAT2,
            libc::SYS_fchown,
            libc::SYS_fchownat,
            libc::SYS_utimensat,
            libc::SYS_setxattr,
            libc::SYS_lsetxattr,
            libc::SYS_fsetxattr,
            SYS_SETXATTRAT,
            libc::SYS_removexattr,
            libc::SYS_lremovexattr,
            libc::SYS_fremovexattr,
            SYS_REMOVEXATTRAT,
        ],
        &[],
        FilterAction::Ask,
        "metadata, which Landlock does not mediate",
    ),
    line(
        &[
            libc::SYS_getxattr,
            libc::SYS_lgetxattr,
            libc::SYS_fgetxattr,
            SYS_GETXATTRAT,
            libc::SYS_listxattr,
            libc::SYS_llistxattr,
            libc::SYS_flistxattr,
            SYS_LISTXATTRAT,
        ],
        &[],
        FilterAction::Ask,
        "what extended attributes hold is contents, and Landlock does not mediate reading them",
    ),
    line(
        &[SYS_FILE_SETATTR],
        &[],
        EPERM,
        "attributes of inodes, for which the next line refuses the old ways",
    ),
    line(
        &[libc::SYS_ioctl],
        // FS_IOC_SETFLAGS, FS_IOC_SETVERSION, EXT4_IOC_SETVERSION, FS_IOC_FSSETXATTR,
        // FS_IOC_ENABLE_VERITY, FS_IOC_SET_ENCRYPTION_POLICY, FAT_IOCTL_SET_ATTRIBUTES
        &[In(
            1,
            ALL,
            &[
                0x4008_6602,
                0x4008_7602,
                0x4008_6604,
                0x401c_5820,
                0x4080_6685,
                0x800c_6613,
                0x4004_7211,
            ],
        )],
        EPERM,
        "they change inodes of the user through descriptors that may only read",
    ),
    line(
        &[libc::SYS_ioctl],
        // Those of Btrfs are all of type 0x94, but FICLONE, FICLONERANGE and FIDEDUPERANGE, which
        // cp(1) uses.
        &[
            In(1, 0xff00, &[0x9400]),
            NotIn(1, ALL, &[0x4004_9409, 0x4020_940d, 0xc018_9436]),
        ],
        EPERM,
        "subvolumes are made and removed through descriptors that may only read, and Landlock does not see it",
    ),
];

const INET_SOCKETS: &[FilterRule] = &[
    line(
        &[libc::SYS_socket],
        &[
            In(0, ALL, &[INET, INET6]),
            NotIn(1, SOCKET_TYPE, &[STREAM, DGRAM]),
        ],
        EPERM,
        "raw sockets and packets read and forge other programs' traffic",
    ),
    line(
        &[libc::SYS_socket],
        // Any, ICMP, TCP, UDP, ICMPv6, UDP-Lite, MPTCP.
        &[
            In(0, ALL, &[INET, INET6]),
            NotIn(2, ALL, &[0, 1, 6, 17, 58, 136, 262]),
        ],
        EPROTONOSUPPORT,
        "rare protocols are loaded on demand, and have a record of holes",
    ),
    line(
        &[libc::SYS_socket],
        &[
            In(0, ALL, &[NETLINK]),
            NotIn(2, ALL, &[libc::NETLINK_ROUTE.cast_unsigned()]),
        ],
        EPROTONOSUPPORT,
        "the other protocols of netlink(7) are the system's",
    ),
];

/// Once the listener was sent.
pub(super) const NO_MARK: FilterRule = line(
    &[libc::SYS_sendmsg],
    &[In(3, ALL, &[MARK])],
    EPERM,
    "the supervisor would not be asked; the call has no such argument, so nobody needs it",
);

const ASKED_SOCKETS: FilterRule = line(
    &[libc::SYS_socket],
    &[In(0, ALL, &[INET, INET6])],
    FilterAction::Ask,
    "the supervisor makes it, bound to the loopback device before the command has it, or says no, and the result says so",
);

/// Rules for an intercepted network: calls that name an address, and calls that return one.
const INTERCEPTED: &[FilterRule] = &[
    line(
        &[libc::SYS_socket],
        &[
            In(0, ALL, &[INET, INET6]),
            NotIn(1, SOCKET_TYPE, &[STREAM, DGRAM]),
        ],
        EPERM,
        "raw sockets say themselves where their packets go",
    ),
    line(
        &[libc::SYS_socket],
        // Any, TCP, UDP.
        &[In(0, ALL, &[INET, INET6]), NotIn(2, ALL, &[0, 6, 17])],
        EPROTONOSUPPORT,
        "only TCP and UDP can be led elsewhere; who asks for multipath TCP falls back to TCP",
    ),
    line(
        &[libc::SYS_sendto],
        &[Has(3, FAST_OPEN)],
        EOPNOTSUPP,
        "TCP fast open connects without connect(2); who is refused falls back to it",
    ),
    line(
        &[libc::SYS_sendmsg],
        &[Has(2, FAST_OPEN)],
        EOPNOTSUPP,
        "the same",
    ),
    line(
        &[libc::SYS_sendmmsg],
        &[Has(3, FAST_OPEN)],
        EOPNOTSUPP,
        "the same",
    ),
    line(
        &[libc::SYS_setsockopt],
        // SO_BINDTODEVICE, SO_BINDTOIFINDEX
        &[In(1, ALL, &[SOL_SOCKET]), In(2, ALL, &[25, 62])],
        EPERM,
        "by another device even a loopback address leads out",
    ),
    line(
        &[libc::SYS_setsockopt],
        // IP_OPTIONS, IP_MULTICAST_IF, IP_ADD_MEMBERSHIP, IP_ADD_SOURCE_MEMBERSHIP,
        // MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP, IP_UNICAST_IF
        &[In(1, ALL, &[0]), In(2, ALL, &[4, 32, 35, 39, 42, 46, 50])],
        EPERM,
        "a source route and a device go before the address, and memberships are told to others",
    ),
    line(
        &[libc::SYS_setsockopt],
        // IPV6_2292PKTOPTIONS, IPV6_MULTICAST_IF, IPV6_ADD_MEMBERSHIP, IPV6_JOIN_ANYCAST,
        // MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP, IPV6_PKTINFO, IPV6_RTHDR, IPV6_UNICAST_IF
        &[
            In(1, ALL, &[41]),
            In(2, ALL, &[6, 17, 20, 27, 42, 46, 50, 57, 76]),
        ],
        EPERM,
        "the same of IPv6, where a source route is a routing header",
    ),
    line(
        &[libc::SYS_connect],
        &[],
        FilterAction::Ask,
        "where to lies in memory",
    ),
    line(
        &[libc::SYS_sendto],
        &[Given(4)],
        FilterAction::Ask,
        "where to lies in memory",
    ),
    line(
        &[libc::SYS_sendmsg],
        &[NotIn(3, ALL, &[MARK])],
        FilterAction::Ask,
        "whether there is an address lies in memory; with the mark the listener itself is sent, and no call after it",
    ),
    line(
        &[libc::SYS_sendmmsg],
        &[],
        FilterAction::Ask,
        "whether there is an address lies in memory",
    ),
    line(
        &[libc::SYS_bind, libc::SYS_listen],
        &[],
        FilterAction::Ask,
        "connections of the command to its own servers are let through, so they have to be known",
    ),
    line(
        &[libc::SYS_getpeername],
        &[],
        FilterAction::Ask,
        "it is told where it wanted to go, not where it was led",
    ),
    line(
        &[libc::SYS_recvfrom],
        &[Given(4)],
        FilterAction::Ask,
        "resolvers drop an answer that does not come from whom they asked",
    ),
    line(
        &[libc::SYS_recvmsg, libc::SYS_recvmmsg],
        &[],
        FilterAction::Ask,
        "the same; whether the address is wanted lies in memory",
    ),
];
