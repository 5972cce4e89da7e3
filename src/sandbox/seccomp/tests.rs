#![expect(clippy::cast_sign_loss, reason = "registers have no sign")]

use std::collections::BTreeSet;

use libc::c_long;
use pretty_assertions::assert_eq;

use super::super::bpf::tests::run;
use super::table::{FilterAction, lines};
use super::*;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;
const EPERM: u32 = errno(libc::EPERM);
const EACCES: u32 = errno(libc::EACCES);
const EBUSY: u32 = errno(libc::EBUSY);
const ENOSYS: u32 = errno(libc::ENOSYS);
const EPROTONOSUPPORT: u32 = errno(libc::EPROTONOSUPPORT);
/// Bits that the kernel drops from an `int`, which must make no difference.
const DROPPED: u64 = 0xdead_beef_0000_0000;

const ENCLOSED: FilterSettings = FilterSettings {
    sockets: Sockets::Inet,
    unix: true,
    supervised: false,
    intercepted: false,
    journaled: false,
    opened: false,
    devices: false,
    names_threads: false,
    keeps_registers: false,
};
const SUPERVISED: FilterSettings = FilterSettings {
    sockets: Sockets::None,
    unix: false,
    supervised: true,
    intercepted: false,
    journaled: false,
    opened: false,
    devices: false,
    names_threads: false,
    keeps_registers: false,
};

fn all_settings() -> Vec<FilterSettings> {
    usual_settings()
        .into_iter()
        .flat_map(|settings| {
            [
                settings,
                FilterSettings {
                    intercepted: true,
                    ..settings
                },
            ]
        })
        .collect()
}

fn usual_settings() -> Vec<FilterSettings> {
    let mut all = Vec::new();
    for sockets in [Sockets::None, Sockets::Inet] {
        for (unix, supervised) in [(false, false), (false, true), (true, false), (true, true)] {
            all.push(FilterSettings {
                sockets,
                unix,
                supervised,
                intercepted: false,
                journaled: false,
                opened: false,
                devices: false,
                names_threads: false,
                keeps_registers: false,
            });
        }
    }
    all
}

fn ask<const N: usize>(settings: FilterSettings, call: c_long, args: [u64; N]) -> u32 {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&args);
    let program = filter(settings);
    let answer = run(&program, ARCH, call as u32, all);
    assert_eq!(
        answer,
        run(&program, ARCH, call as u32, all.map(|arg| arg | DROPPED)),
        "of {call} with {args:?}"
    );
    answer
}

/// Calls that the prototype of these walls refused, and the further ones of its report.
const REFUSED: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    467, // open_tree_attr
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_fanotify_init,
    libc::SYS_vhangup,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Calls that programs cannot do without, or that other walls hold.
const FREE: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_execve,
    libc::SYS_fcntl,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_kill,
    libc::SYS_getpriority,
    libc::SYS_sched_getaffinity,
    libc::SYS_ioprio_get,
    libc::SYS_landlock_restrict_self,
    libc::SYS_memfd_secret,
    libc::SYS_name_to_handle_at,
    libc::SYS_sendto,
    libc::SYS_getsockopt,
    libc::SYS_adjtimex,
    libc::SYS_inotify_add_watch,
    468,  // file_getattr
    2000, // a call of the future
];

#[test]
fn the_table_is_complete() {
    for settings in usual_settings() {
        let wrong: Vec<_> = REFUSED
            .iter()
            .filter(|call| ask(settings, **call, []) != EPERM)
            .collect();
        assert_eq!(wrong, Vec::<&c_long>::new(), "allowed with {settings:?}");
        assert_eq!(
            [libc::SYS_clone3, libc::SYS_openat2].map(|call| ask(settings, call, [])),
            [ENOSYS; 2]
        );
        #[cfg(target_arch = "x86_64")]
        assert_eq!(
            [libc::SYS_ustat, libc::SYS_sysfs].map(|call| ask(settings, call, [])),
            [ENOSYS; 2]
        );
        // F_SETLEASE and F_SETDELEG; F_GETLEASE only asks.
        let leases =
            [1024, 1040, 1025].map(|command| ask(settings, libc::SYS_fcntl, [3, command, 0]));
        assert_eq!(leases, [errno(libc::EINVAL), errno(libc::EINVAL), ALLOW]);
        let named = [
            libc::SYS_linkat,
            libc::SYS_symlinkat,
            libc::SYS_renameat,
            libc::SYS_renameat2,
        ];
        assert_eq!(named.map(|call| ask(settings, call, [])), [ASK; 4]);
        assert_eq!(
            ask(settings, libc::SYS_landlock_create_ruleset, []),
            errno(libc::EOPNOTSUPP)
        );
        assert_eq!(ask(settings, libc::SYS_nfsservctl, []), ENOSYS);
        let wrong: Vec<_> = FREE
            .iter()
            .filter(|call| ask(settings, **call, []) != ALLOW)
            .collect();
        assert_eq!(wrong, Vec::<&c_long>::new(), "refused with {settings:?}");
    }
}

#[test]
fn every_line_says_why_and_no_call_is_refused_twice() {
    for settings in all_settings() {
        let mut always = BTreeSet::new();
        for line in lines(settings) {
            assert!(!line.why.is_empty() && !line.calls.is_empty());
            for call in line.calls {
                assert!(
                    !always.contains(call),
                    "{call} is refused already where it is refused because: {}",
                    line.why
                );
                if line.when.is_empty() {
                    always.insert(*call);
                }
            }
        }
    }
}

/// The table, read line by line: the first line whose calls and clauses fit decides.
fn by_the_table(settings: FilterSettings, call: u32, args: [u64; 6]) -> u32 {
    let low = |argument: u8| args[usize::from(argument)] as u32;
    let holds = |clause: &Clause| match *clause {
        Clause::Has(argument, bits) => low(argument) & bits != 0,
        Clause::In(argument, mask, values) => values.contains(&(low(argument) & mask)),
        Clause::NotIn(argument, mask, values) => !values.contains(&(low(argument) & mask)),
        Clause::Given(argument) => args[usize::from(argument)] != 0,
    };
    let fits = |line: &&FilterRule| {
        line.calls.contains(&c_long::from(call)) && line.when.iter().all(holds)
    };
    match lines(settings).iter().find(fits).map(|line| line.answer) {
        None => ALLOW,
        Some(FilterAction::Ask) => ASK,
        Some(FilterAction::Errno(number)) => errno(number),
    }
}

#[test]
fn compiled_filter_agrees_with_table() {
    // Numbers that clauses speak of, and such that none does.
    let mut words: BTreeSet<u32> = [0, 1, 2, 3, 5, 0x94ff, 0o4755, u32::MAX].into();
    for line in all_settings().into_iter().flat_map(lines) {
        for clause in line.when {
            match *clause {
                Clause::Has(_, bits) => words.extend([bits, !bits]),
                Clause::In(_, _, values) | Clause::NotIn(_, _, values) => words.extend(values),
                Clause::Given(_) => {}
            }
        }
    }
    // The last one is a pointer, and no number.
    let words: Vec<u64> = words.into_iter().map(u64::from).chain([1 << 40]).collect();
    for settings in all_settings() {
        let program = filter(settings);
        for call in (0..600).chain([FIRST_FOREIGN - 1]) {
            for (index, word) in words.iter().enumerate() {
                // Every word meets every other one in the first two arguments somewhere, and each
                // comes in all places.
                for other in if call == libc::SYS_socket as u32 {
                    &words[..]
                } else {
                    &words[index..=index]
                } {
                    let args = [*word, *other, *other, *word, *other, *word];
                    let expected = by_the_table(settings, call, args);
                    assert_eq!(
                        run(&program, ARCH, call, args),
                        expected,
                        "of {call} with {args:x?} and {settings:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn supervised_calls_are_decoded_by_a_supervisor() {
    for settings in all_settings() {
        let asked = lines(settings)
            .into_iter()
            .filter(|line| line.answer == FilterAction::Ask);
        let calls: Vec<c_long> = asked.flat_map(|line| line.calls.iter().copied()).collect();
        assert!(!calls.is_empty(), "{settings:?}");
        for call in calls {
            let network = (settings.intercepted || settings.unix)
                && super::super::intercept::call::decode(call as i32, &[0; 6]).is_some();
            let known =
                network || super::super::system_call::decode(call as i32, &[0; 6]).is_some();
            assert!(known, "{call} with {settings:?}");
        }
    }
}

#[test]
fn the_kernel_takes_a_program_of_this_length() {
    for settings in all_settings() {
        let length = filter(settings).instructions().len();
        assert!(length < 800, "{length} of 4096 instructions (BPF_MAXINSNS)");
    }
}

#[test]
fn other_ways_to_number_calls_are_absent() {
    const I386: u32 = 0x4000_0003;
    let program = filter(ENCLOSED);
    let read = libc::SYS_read as u32;
    assert_eq!(run(&program, ARCH, read, [0; 6]), ALLOW);
    assert_eq!(run(&program, I386, read, [0; 6]), ENOSYS);
    assert_eq!(run(&program, ARCH, read | 0x4000_0000, [0; 6]), ENOSYS);
    assert_eq!(run(&program, ARCH, u32::MAX, [0; 6]), ENOSYS);
}

#[test]
fn namespaces_are_not_made() {
    let new = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    for flag in new.map(|flag| flag as u32).map(u64::from) {
        assert_eq!(ask(ENCLOSED, libc::SYS_unshare, [flag | 0x200]), EPERM);
        assert_eq!(ask(ENCLOSED, libc::SYS_clone, [flag | 0x11]), EPERM);
    }
    assert_eq!(
        ask(ENCLOSED, libc::SYS_unshare, [libc::CLONE_NEWTIME as u64]),
        EPERM
    );
    assert_eq!(
        ask(ENCLOSED, libc::SYS_unshare, [libc::CLONE_FILES as u64]),
        ALLOW
    );
    let thread = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD;
    assert_eq!(ask(ENCLOSED, libc::SYS_clone, [thread as u64]), ALLOW);
    assert_eq!(
        ask(
            ENCLOSED,
            libc::SYS_clone,
            [(libc::CLONE_VFORK | libc::SIGCHLD) as u64]
        ),
        ALLOW
    );
}

#[test]
fn files_that_set_ids_are_not_made() {
    let create = (libc::O_CREAT | libc::O_WRONLY) as u64;
    let nameless = (libc::O_TMPFILE | libc::O_WRONLY) as u64;
    // Of changes of mode in namespaces and without, of new files, and of new directories.
    for (mode, enclosed, supervised, file, dir) in [
        (0o4755, EPERM, EPERM, EPERM, EPERM),
        (0o6755, EPERM, EPERM, EPERM, EPERM),
        (0o2755, ASK, ASK, EPERM, ALLOW),
        (0o1755, ALLOW, ASK, ALLOW, ALLOW),
    ] {
        for (settings, change) in [(ENCLOSED, enclosed), (SUPERVISED, supervised)] {
            assert_eq!(ask(settings, libc::SYS_fchmod, [3, mode]), change);
            assert_eq!(ask(settings, libc::SYS_fchmodat, [3, 1, mode]), change);
            assert_eq!(ask(settings, 452, [3, 1, mode, 0]), change);
            assert_eq!(ask(settings, libc::SYS_openat, [3, 1, create, mode]), file);
            assert_eq!(
                ask(settings, libc::SYS_openat, [3, 1, nameless, mode]),
                file
            );
            assert_eq!(ask(settings, libc::SYS_mkdirat, [3, 1, mode]), dir);
            assert_eq!(
                ask(settings, libc::SYS_mknodat, [3, 1, mode | 0o100_000, 0]),
                file
            );
            // Without a file to make, the register holds whatever was in it.
            assert_eq!(ask(settings, libc::SYS_openat, [3, 1, 0, mode]), ALLOW);
            #[cfg(target_arch = "x86_64")]
            {
                assert_eq!(ask(settings, libc::SYS_chmod, [1, mode]), change);
                assert_eq!(ask(settings, libc::SYS_open, [1, create, mode]), file);
                assert_eq!(ask(settings, libc::SYS_open, [1, 0, mode]), ALLOW);
                assert_eq!(ask(settings, libc::SYS_creat, [1, mode]), file);
                assert_eq!(ask(settings, libc::SYS_mkdir, [1, mode]), dir);
                assert_eq!(ask(settings, libc::SYS_mknod, [1, mode | 0o100_000]), file);
            }
        }
    }
    for set in [
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        463,
    ] {
        assert_eq!(
            [ENCLOSED, SUPERVISED].map(|settings| ask(settings, set, [3, 1])),
            [ASK, ASK]
        );
    }
}

#[test]
fn devices_are_not_made() {
    for (kind, answer) in [
        (0, ALLOW),
        (0o100_000, ALLOW),
        (0o010_000, ALLOW),
        (0o140_000, ALLOW),
        (0o060_000, EPERM),
        (0o020_000, EPERM),
    ] {
        assert_eq!(
            ask(ENCLOSED, libc::SYS_mknodat, [3, 1, kind | 0o644, 5]),
            answer,
            "type {kind:o}"
        );
        #[cfg(target_arch = "x86_64")]
        assert_eq!(
            ask(ENCLOSED, libc::SYS_mknod, [1, kind | 0o644, 5]),
            answer,
            "type {kind:o}"
        );
    }
}

#[test]
fn terminals_and_inodes_are_not_steered() {
    for (command, enclosed, supervised) in [
        (0x5412, EPERM, EPERM),      // TIOCSTI
        (0x541c, EPERM, EPERM),      // TIOCLINUX
        (0x5423, EPERM, EPERM),      // TIOCSETD
        (0x5413, ALLOW, ALLOW),      // TIOCGWINSZ
        (0x540e, ALLOW, ALLOW),      // TIOCSCTTY
        (0x4008_6602, ALLOW, EPERM), // FS_IOC_SETFLAGS
        (0x8008_6601, ALLOW, ALLOW), // FS_IOC_GETFLAGS
        (0x401c_5820, ALLOW, EPERM), // FS_IOC_FSSETXATTR
        (0x5000_940e, ALLOW, EPERM), // BTRFS_IOC_SUBVOL_CREATE
        (0x4004_9409, ALLOW, ALLOW), // FICLONE
        (0x4020_940d, ALLOW, ALLOW), // FICLONERANGE
    ] {
        let answers =
            [ENCLOSED, SUPERVISED].map(|settings| ask(settings, libc::SYS_ioctl, [0, command, 0]));
        assert_eq!(answers, [enclosed, supervised], "{command:#x}");
    }
}

#[test]
fn journaled_ioctl_that_changes_contents_is_refused() {
    const ENOTTY: u32 = errno(libc::ENOTTY);
    for (command, answer) in [
        (0x4030_5839, ENOTTY),        // FS_IOC_ZERO_RANGE
        (0x4030_582b, ENOTTY),        // FS_IOC_UNRESVSP64
        (0xc028_660f, ENOTTY),        // EXT4_IOC_MOVE_EXT
        (0x6611, ENOTTY),             // EXT4_IOC_SWAP_BOOT
        (0xc0c0_586d, ENOTTY),        // XFS_IOC_SWAPEXT
        (0x5000_940a, ENOTTY),        // BTRFS_IOC_SNAP_DESTROY and its like
        (2, ALLOW),                   // FIGETBSZ
        (0x8008_6601, ALLOW),         // FS_IOC_GETFLAGS
        (0x4004_9409, ALLOW),         // FICLONE
        (0x4020_940d, ALLOW),         // FICLONERANGE
        (0xc018_9436, ALLOW),         // FIDEDUPERANGE
        (0x541b, ALLOW),              // FIONREAD
        (0x5421, ALLOW),              // FIONBIO
        (0x8912, ALLOW),              // SIOCGIFCONF
        (0x5412, errno(libc::EPERM)), // TIOCSTI
    ] {
        let settings = FilterSettings {
            journaled: true,
            ..ENCLOSED
        };
        assert_eq!(
            ask(settings, libc::SYS_ioctl, [0, command, 0]),
            answer,
            "{command:#x}"
        );
    }
}

#[test]
fn journaled_device_ioctl_is_allowed_with_devices() {
    const ENOTTY: u32 = errno(libc::ENOTTY);
    for (command, without, with) in [
        (0xae00, ENOTTY, ALLOW),       // KVM_GET_API_VERSION
        (0xc048_4629, ENOTTY, ALLOW),  // NVIDIA's resource manager
        (0x3000_0001, ENOTTY, ALLOW),  // UVM_INITIALIZE
        (0xc040_6400, ENOTTY, ALLOW),  // DRM_IOCTL_VERSION
        (0x8008_4b01, ENOTTY, ALLOW),  // AMDKFD_IOC_GET_VERSION
        (0xc028_660f, ENOTTY, ENOTTY), // EXT4_IOC_MOVE_EXT
        (0xc0c0_586d, ENOTTY, ENOTTY), // XFS_IOC_SWAPEXT
        (0x5000_940a, ENOTTY, ENOTTY), // BTRFS_IOC_SNAP_DESTROY and its like
        (0x8008_6601, ALLOW, ALLOW),   // FS_IOC_GETFLAGS
    ] {
        let answers = [false, true].map(|devices| {
            let settings = FilterSettings {
                journaled: true,
                devices,
                ..ENCLOSED
            };
            ask(settings, libc::SYS_ioctl, [0, command, 0])
        });
        assert_eq!(answers, [without, with], "{command:#x}");
    }
}

#[test]
fn named_threads_ask_for_writing_opens_alone() {
    let settings = FilterSettings {
        names_threads: true,
        ..ENCLOSED
    };
    let (read, write, both) = (libc::O_RDONLY, libc::O_WRONLY, libc::O_RDWR);
    for (flags, answer) in [
        (read, ALLOW),
        (write, libc::SECCOMP_RET_USER_NOTIF),
        (both, libc::SECCOMP_RET_USER_NOTIF),
        (both | libc::O_PATH, ALLOW),
    ] {
        let flags = flags.cast_unsigned().into();
        assert_eq!(ask(settings, libc::SYS_openat, [3, 1, flags]), answer);
    }
}

#[test]
fn tracer_sets_registers_unless_kernel_forgets_argument() {
    let [get, set] = [libc::PTRACE_GETREGSET, libc::PTRACE_SETREGSET].map(u64::from);
    for (keeps_registers, answer) in [(false, ALLOW), (true, EPERM)] {
        for settings in [ENCLOSED, SUPERVISED] {
            let settings = FilterSettings {
                keeps_registers,
                ..settings
            };
            assert_eq!(ask(settings, libc::SYS_ptrace, [get, 7]), ALLOW);
            assert_eq!(ask(settings, libc::SYS_ptrace, [set, 7]), answer);
        }
    }
}

#[test]
fn journaled_asynchronous_write_is_refused() {
    for call in [libc::SYS_io_setup, libc::SYS_io_submit] {
        let answers = [false, true].map(|journaled| {
            ask(
                FilterSettings {
                    journaled,
                    ..ENCLOSED
                },
                call,
                [1, 0],
            )
        });
        assert_eq!(answers, [ALLOW, errno(libc::ENOSYS)]);
    }
}

#[test]
fn rename_that_leaves_whiteout_is_refused() {
    for settings in all_settings() {
        let answer = |flags: u32| ask(settings, libc::SYS_renameat2, [0, 0, 0, 0, flags.into()]);
        let is_refused =
            [0, libc::RENAME_WHITEOUT].map(|flags| answer(flags) == errno(libc::EINVAL));
        assert_eq!(is_refused, [false, true]);
    }
}

#[test]
fn other_processes_are_not_steered() {
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ] {
        let answers = |settings| [0, 1, 4321].map(|pid| ask(settings, call, [pid, 0, 0]));
        assert_eq!(answers(SUPERVISED), [ALLOW, EPERM, EPERM]);
        assert_eq!(answers(ENCLOSED), [ALLOW, EPERM, ALLOW]);
    }
    // Which processes the first argument means: one, a group, all of a user.
    for (call, kinds) in [
        (libc::SYS_setpriority, [0, 1, 2]),
        (libc::SYS_ioprio_set, [1, 2, 3]),
    ] {
        let answers = |settings, who| kinds.map(|kind| ask(settings, call, [kind, who, 5]));
        assert_eq!(answers(SUPERVISED, 0), [ALLOW, ALLOW, EPERM]);
        assert_eq!(answers(SUPERVISED, 4321), [EPERM, EPERM, EPERM]);
        assert_eq!(answers(ENCLOSED, 0), [ALLOW, ALLOW, EPERM]);
        assert_eq!(answers(ENCLOSED, 4321), [ALLOW, ALLOW, EPERM]);
        assert_eq!(answers(ENCLOSED, 1), [EPERM, EPERM, EPERM]);
    }
}

#[test]
fn ipc_without_namespaces_is_unimplemented() {
    for call in [
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_msgget,
        libc::SYS_semop,
        libc::SYS_mq_unlink,
    ] {
        assert_eq!(
            [ENCLOSED, SUPERVISED].map(|settings| ask(settings, call, [])),
            [ALLOW, ENOSYS]
        );
    }
    for call in [
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        452, // fchmodat2
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_utimensat,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        466, // removexattrat
        libc::SYS_getxattr,
        libc::SYS_lgetxattr,
        libc::SYS_fgetxattr,
        464, // getxattrat
        libc::SYS_listxattr,
        libc::SYS_llistxattr,
        libc::SYS_flistxattr,
        465, // listxattrat
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chown,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lchown,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utime,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utimes,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat,
    ] {
        assert_eq!(
            [ENCLOSED, SUPERVISED].map(|settings| ask(settings, call, [])),
            [ALLOW, ASK],
            "{call}"
        );
    }
    assert_eq!(
        [ENCLOSED, SUPERVISED].map(|settings| ask(settings, 469, [])),
        [ALLOW, EPERM]
    ); // file_setattr
}

#[test]
fn filters_of_their_own_are_free_but_listeners_are_not() {
    const FILTER: u64 = 1;
    const LISTEN: u64 = 8;
    assert_eq!(
        [0, LISTEN].map(|flags| ask(SUPERVISED, libc::SYS_seccomp, [FILTER, flags])),
        [ALLOW, EBUSY]
    );
    assert_eq!(
        [0, LISTEN].map(|flags| ask(ENCLOSED, libc::SYS_seccomp, [FILTER, flags])),
        [ALLOW, EBUSY]
    );
}

#[test]
fn personalities_are_asked_for_and_kept_harmless() {
    const READ_IMPLIES_EXEC: u64 = 0x0040_0000;
    const MMAP_PAGE_ZERO: u64 = 0x0010_0000;
    let values = [
        0xffff_ffff,
        0,
        8,
        0x0004_0000,
        0x0006_0008,
        READ_IMPLIES_EXEC,
        MMAP_PAGE_ZERO,
    ];
    let answers = values.map(|value| ask(ENCLOSED, libc::SYS_personality, [value]));
    assert_eq!(answers, [ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, EPERM, EPERM]);
}

#[test]
fn sockets_of_every_family_type_and_protocol() {
    const CLOEXEC: u64 = 0o2_000_000;
    for settings in usual_settings() {
        let inet = settings.sockets == Sockets::Inet;
        // Every number that a family has or may get; MAX is -1.
        for family in (0..64).chain([u64::from(u32::MAX)]) {
            let expected = match family {
                1 if settings.unix => ALLOW,
                2 | 10 | 16 if inet => ALLOW,
                2 | 10 if settings.supervised => ASK,
                _ => EACCES,
            };
            assert_eq!(
                ask(settings, libc::SYS_socket, [family, 1 | CLOEXEC, 0]),
                expected,
                "{family} with {settings:?}"
            );
        }
        if !inet {
            continue;
        }
        for kind in 0..16 {
            let expected = if matches!(kind, 1 | 2) { ALLOW } else { EPERM };
            assert_eq!(
                ask(settings, libc::SYS_socket, [2, kind | CLOEXEC, 0]),
                expected,
                "type {kind}"
            );
            assert_eq!(
                ask(settings, libc::SYS_socket, [10, kind | CLOEXEC, 0]),
                expected,
                "type {kind}"
            );
        }
        for protocol in 0..300 {
            let expected = if [0, 1, 6, 17, 58, 136, 262].contains(&protocol) {
                ALLOW
            } else {
                EPROTONOSUPPORT
            };
            assert_eq!(
                ask(settings, libc::SYS_socket, [2, 1, protocol]),
                expected,
                "protocol {protocol}"
            );
            let expected = if protocol == 0 {
                ALLOW
            } else {
                EPROTONOSUPPORT
            };
            assert_eq!(
                ask(settings, libc::SYS_socket, [16, 3, protocol]),
                expected,
                "netlink protocol {protocol}"
            );
        }
    }
}

#[test]
fn pairs_of_sockets_are_connected_ones() {
    for settings in all_settings() {
        for family in 0..64 {
            for kind in 0..16 {
                let connected = matches!(kind, 1 | 5);
                let expected = match (family, connected) {
                    (1, true) => ALLOW,
                    (1, false) => ASK,
                    _ => EACCES,
                };
                let answer = ask(settings, libc::SYS_socketpair, [family, kind | 0o4000, 0]);
                assert_eq!(
                    answer, expected,
                    "family {family}, type {kind}, {settings:?}"
                );
            }
        }
    }
}

#[test]
fn unix_sockets_connect_by_supervisor() {
    for settings in usual_settings()
        .into_iter()
        .filter(|settings| settings.unix)
    {
        for kind in 0..16 {
            let expected = if matches!(kind, 1 | 5) { ALLOW } else { ASK };
            assert_eq!(
                ask(settings, libc::SYS_socket, [1, kind | 0o4000, 0]),
                expected,
                "type {kind}, {settings:?}"
            );
        }
        for call in [libc::SYS_connect, libc::SYS_bind, libc::SYS_listen] {
            assert_eq!(
                ask(settings, call, [3, 4096, 16]),
                ASK,
                "{call} with {settings:?}"
            );
        }
        for call in [libc::SYS_sendmsg, libc::SYS_accept4, libc::SYS_recvmsg] {
            assert_eq!(
                ask(settings, call, [3, 4096, 0]),
                ALLOW,
                "{call} with {settings:?}"
            );
        }
    }
}

#[test]
fn interception_supervises_only_calls_with_addresses() {
    let settings = FilterSettings {
        intercepted: true,
        ..SUPERVISED
    };
    let program = filter(settings);
    let ask = |call: c_long, args: [u64; 6]| run(&program, ARCH, call as u32, args);
    let (inet, unix, dgram, raw) = (2, 1, 2, 3);
    assert_eq!(
        ask(libc::SYS_socket, [inet, dgram | 0o4000, 0, 0, 0, 0]),
        ASK
    );
    assert_eq!(ask(libc::SYS_socket, [inet, raw, 1, 0, 0, 0]), EPERM);
    assert_eq!(
        ask(libc::SYS_socket, [inet, 1, 262, 0, 0, 0]),
        EPROTONOSUPPORT
    );
    assert_eq!(ask(libc::SYS_socket, [unix, 1, 0, 0, 0, 0]), EACCES);
    // Kinds are refused in any case; whether the others are asked about is a rule of its own.
    for (sockets, expected) in [(Sockets::Inet, ALLOW), (Sockets::Asked, ASK)] {
        let program = filter(FilterSettings {
            sockets,
            intercepted: true,
            ..ENCLOSED
        });
        let ask = |family, kind, protocol| {
            run(
                &program,
                ARCH,
                libc::SYS_socket as u32,
                [family, kind, protocol, 0, 0, 0],
            )
        };
        for family in [inet, 10] {
            assert_eq!(
                [(1, 0), (1, 6), (dgram, 17)].map(|(kind, protocol)| ask(family, kind, protocol)),
                [expected; 3]
            );
            assert_eq!(
                [ask(family, raw, 1), ask(family, 5, 132), ask(family, 6, 33)],
                [EPERM; 3]
            );
            assert_eq!(
                [
                    ask(family, dgram, 1),
                    ask(family, dgram, 136),
                    ask(family, 1, 262)
                ],
                [EPROTONOSUPPORT; 3]
            );
        }
        assert_eq!(
            [ask(unix, 1, 0), ask(16, raw, 0), ask(40, 1, 0)],
            [ALLOW, ALLOW, EACCES]
        );
    }
    let fast = libc::MSG_FASTOPEN as u64;
    for (call, at) in [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ] {
        let mut args = [3, 4096, 1, 0, 4096, 16];
        assert_eq!(ask(call, args), ASK);
        args[at] |= fast;
        assert_eq!(ask(call, args), errno(libc::EOPNOTSUPP));
    }
    for call in [libc::SYS_sendto, libc::SYS_recvfrom] {
        assert_eq!(ask(call, [3, 4096, 1, 0, 0, 0]), ALLOW);
        assert_eq!(ask(call, [3, 4096, 1, 0, 1 << 32, 16]), ASK);
    }
    for call in [
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_getpeername,
        libc::SYS_recvmsg,
    ] {
        assert_eq!(ask(call, [3, 4096, 16, 0, 0, 0]), ASK);
    }
    let set = |level, option| ask(libc::SYS_setsockopt, [3, level, option, 4096, 4, 0]);
    for (level, options) in [
        (1, &[25, 62][..]),
        (0, &[4, 32, 35, 39, 42, 46, 50]),
        (41, &[6, 17, 20, 27, 42, 46, 50, 57, 76]),
    ] {
        for option in 0..80 {
            let expected = if options.contains(&option) {
                EPERM
            } else {
                ALLOW
            };
            assert_eq!(set(level, option), expected, "option {option} of {level}");
        }
    }
    assert_eq!(set(6, 1), ALLOW);
    for call in [
        libc::SYS_accept4,
        libc::SYS_getsockname,
        libc::SYS_write,
        libc::SYS_shutdown,
        libc::SYS_close,
    ] {
        assert_eq!(ask(call, [3, 4096, 16, 0, 0, 0]), ALLOW);
    }
    // The listener is sent by a call with the mark, and then nobody sends anything so.
    let marked = [3, 4096, 0, u64::from(MARK), 0, 0];
    assert_eq!(ask(libc::SYS_sendmsg, marked), ALLOW);
    let seal = |call: c_long, args| run(&sealing(), ARCH, call as u32, args);
    assert_eq!(seal(libc::SYS_sendmsg, marked), EPERM);
    assert_eq!(
        seal(libc::SYS_sendmsg, marked.map(|arg| arg | DROPPED)),
        EPERM
    );
    assert_eq!(seal(libc::SYS_sendmsg, [3, 4096, 0, 0, 0, 0]), ALLOW);
    assert_eq!(seal(libc::SYS_connect, marked), ALLOW);
    let only = super::interception();
    assert_eq!(
        run(&only, ARCH, libc::SYS_socket as u32, [unix, 1, 0, 0, 0, 0]),
        ALLOW
    );
    assert_eq!(
        run(&only, ARCH, libc::SYS_socket as u32, [inet, 1, 0, 0, 0, 0]),
        ASK
    );
    assert_eq!(
        run(
            &only,
            ARCH,
            libc::SYS_connect as u32,
            [3, 4096, 16, 0, 0, 0]
        ),
        ASK
    );
    assert_eq!(run(&only, ARCH, libc::SYS_mount as u32, [0; 6]), ALLOW);
    assert_eq!(
        run(&only, ARCH, libc::SYS_seccomp as u32, [1, 8, 0, 0, 0, 0]),
        EBUSY
    );
}

#[test]
fn computing_filter_kills_on_other_calls() {
    let program = computing();
    let ask = |arch, call: c_long, args| run(&program, arch, call as u32, args);
    let ended = libc::SECCOMP_RET_KILL_PROCESS;
    for call in 0..1024 {
        let expected = if COMPUTING.contains(&call) || call == libc::SYS_mmap {
            ALLOW
        } else {
            ended
        };
        assert_eq!(ask(ARCH, call, [0; 6]), expected, "{call}");
        assert_eq!(ask(ARCH + 1, call, [0; 6]), ended, "{call}");
    }
    let map = |protection: i32, flags: i32| {
        ask(
            ARCH,
            libc::SYS_mmap,
            [
                0,
                4096,
                protection as u64 | DROPPED,
                flags as u64 | DROPPED,
                0,
                0,
            ],
        )
    };
    let (read_write, private) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    assert_eq!(map(read_write, private), ALLOW);
    assert_eq!(map(read_write | libc::PROT_EXEC, private), ended);
    assert_eq!(
        map(read_write, libc::MAP_SHARED | libc::MAP_ANONYMOUS),
        ended
    );
}
