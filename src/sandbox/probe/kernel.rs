//! Attempts on machine-wide resources and on kernel features that commands do not need.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use replay_sys::attack as sys;
use replay_sys::attack::kernel;
use rustix::fs::{CWD, FileType, Mode};

#[cfg(target_arch = "aarch64")]
use super::arm32::call_as_32_bits;
use super::attempt::{Attempt, attempt};
#[cfg(target_arch = "x86_64")]
use super::network::foreign;
use super::outcome::{Try, any, blocked, through};

/// Files of the kernel that change the machine when they are written.
const SWITCHES: [&str; 15] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/sysrq",
    "/proc/sys/kernel/panic",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/fs/suid_dumpable",
    "/proc/sys/fs/file-max",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/net/ipv4/ping_group_range",
    "/proc/sys/user/max_user_namespaces",
    "/proc/irq/default_smp_affinity",
    "/proc/sysrq-trigger",
];

/// Devices that stand for more than themselves. None of them does anything when it is only opened.
const DEVICES: [&str; 31] = [
    "mem",
    "kmem",
    "port",
    "kmsg",
    "kvm",
    "fuse",
    "net/tun",
    "vhost-net",
    "vhost-vsock",
    "uinput",
    "uhid",
    "loop-control",
    "loop0",
    "mapper/control",
    "btrfs-control",
    "userfaultfd",
    "autofs",
    "vsock",
    "console",
    "tty0",
    "tty1",
    "vcs1",
    "vga_arbiter",
    "cpu/0/msr",
    "dri/card0",
    "dri/renderD128",
    "nvidiactl",
    "nvidia0",
    "nvidia-uvm",
    "kfd",
    "input/event0",
];

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "switches of the kernel",
        "open(2) of files in /proc/sys and the like for writing",
        |_| open_each(&SWITCHES),
    ),
    attempt(
        "switches in sysfs",
        "open(2) of files in /sys for writing",
        |_| {
            open_each(&[
                "/sys/kernel/mm/ksm/run",
                "/sys/kernel/mm/transparent_hugepage/enabled",
                "/sys/kernel/uevent_helper",
                "/sys/power/state",
                "/sys/kernel/profiling",
                "/sys/module/printk/parameters/time",
                "/sys/devices/system/cpu/cpu1/online",
                "/sys/class/net/lo/flags",
            ])
        },
    ),
    attempt(
        "control groups",
        "cgroup.procs and release_agent for writing, and a group of its own",
        |_| {
            let mut found = Vec::new();
            let list = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
            let own = list
                .lines()
                .find_map(|line| line.strip_prefix("0::"))
                .map(|own| format!("/sys/fs/cgroup{own}"));
            let above = own
                .iter()
                .flat_map(|own| Path::new(own).ancestors().take(3))
                .map(|dir| dir.display().to_string());
            let dirs: Vec<String> = above.chain(subdirectories("/sys/fs/cgroup")).collect();
            for dir in dirs
                .into_iter()
                .filter(|dir| dir.starts_with("/sys/fs/cgroup"))
            {
                for name in [
                    "memory.max",
                    "cgroup.procs",
                    "release_agent",
                    "notify_on_release",
                    "cgroup.subtree_control",
                    "tasks",
                ] {
                    if OpenOptions::new()
                        .write(true)
                        .open(Path::new(&dir).join(name))
                        .is_ok()
                    {
                        found.push(format!("{dir}/{name}"));
                    }
                }
                let own = Path::new(&dir).join("replay-probe");
                if fs::create_dir(&own).is_ok() {
                    let _ = fs::remove_dir(&own);
                    found.push(format!("a group in {dir}"));
                }
            }
            if found.is_empty() {
                blocked("nothing there, or not for writing")
            } else {
                through(found.join(", "))
            }
        },
    ),
    attempt(
        "kernel tracing and debugging",
        "reading /sys/kernel/debug, tracing and /sys/firmware",
        |_| {
            let dirs = [
                "/sys/kernel/debug",
                "/sys/kernel/tracing",
                "/sys/kernel/security",
                "/sys/firmware/efi/efivars",
            ];
            any(dirs.map(|dir| (dir.to_owned(), dir)), |dir| {
                let count = fs::read_dir(dir)?.count();
                if count == 0 {
                    blocked("empty")
                } else {
                    through(format!("{count} entries"))
                }
            })
        },
    ),
    attempt(
        "memory of the machine",
        "reading /proc/kcore, /proc/kmsg, /proc/kpagecount and the like",
        |_| {
            any(
                [
                    "/proc/kcore",
                    "/proc/kmsg",
                    "/proc/kpagecount",
                    "/proc/slabinfo",
                    "/proc/vmallocinfo",
                ]
                .map(|p| (p.to_owned(), p)),
                |path| {
                    let mut options = OpenOptions::new();
                    let length = options
                        .read(true)
                        .custom_flags(libc::O_NONBLOCK)
                        .open(path)?
                        .read(&mut [0; 16])?;
                    if length == 0 {
                        blocked("empty")
                    } else {
                        through(format!("{length} bytes"))
                    }
                },
            )
        },
    ),
    attempt(
        "addresses of the kernel",
        "/proc/kallsyms with anything but zeros",
        |_| {
            for line in BufReader::new(File::open("/proc/kallsyms")?)
                .lines()
                .take(100)
            {
                let line = line?;
                if !line.starts_with("0000000000000000") {
                    return through(line);
                }
            }
            blocked("zeros")
        },
    ),
    #[cfg(target_arch = "x86_64")]
    attempt("every file system", "ustat(2) and sysfs(2)", |s| {
        let free = sys::free_blocks(s.root.0);
        any(
            [
                ("free blocks", free.map(i64::from)),
                ("kinds", sys::sysfs(3)),
            ]
            .map(|(name, told)| (name.to_owned(), told)),
            |told| through(told?.to_string()),
        )
    }),
    attempt("devices", "open(2) of devices of the machine", |s| {
        let all = DEVICES.map(|name| Path::new("/dev").join(name));
        let not_given = all.iter().filter(|path| !s.devices.contains(path));
        any(
            not_given.map(|path| (path.display().to_string(), path)),
            |path| {
                let mut options = OpenOptions::new();
                options
                    .read(true)
                    .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
                    .open(path)?;
                through("")
            },
        )
    }),
    attempt(
        "a device by another name",
        "link(2) and mknod(2) of a device, and open(2) of it",
        |s| {
            let place = s.rw.join(format!("{}-device", s.nonce));
            let ways: [(&str, &dyn Fn() -> io::Result<()>); 2] = [
                ("link", &|| fs::hard_link("/dev/null", &place)),
                ("mknod", &|| {
                    // /dev/null: harmless if it can be made.
                    let null = rustix::fs::makedev(1, 3);
                    let (kind, mode) = (FileType::CharacterDevice, Mode::RUSR | Mode::WUSR);
                    Ok(rustix::fs::mknodat(CWD, &place, kind, mode, null)?)
                }),
            ];
            any(ways.map(|(name, way)| (name.to_owned(), way)), |way| {
                let made = way().and_then(|()| File::open(&place));
                let _ = fs::remove_file(&place);
                made?;
                through("")
            })
        },
    ),
    attempt("kernel messages", "syslog(2)", |_| {
        kernel::kernel_messages()?;
        through("")
    }),
    attempt(
        "io_uring",
        "io_uring_setup(2), whose requests no filter sees",
        |_| {
            kernel::io_uring()?;
            through("")
        },
    ),
    attempt(
        "io_uring of others",
        "io_uring_enter(2) and io_uring_register(2) without a ring",
        |_| {
            // EBADF from a kernel that would have looked for the ring.
            privileged_result(sys::io_uring_enter(-1, 0, 0, 0), libc::EBADF)
        },
    ),
    attempt("bpf", "bpf(2): a map, a program for sockets", |_| {
        kernel::bpf_map().or_else(|_| kernel::bpf_program())?;
        through("")
    }),
    attempt("perf", "perf_event_open(2) on itself", |_| {
        kernel::perf(0)?;
        through("")
    }),
    attempt("userfaultfd", "userfaultfd(2)", |_| {
        const UFFD_USER_MODE_ONLY: i64 = 1;
        sys::userfaultfd(UFFD_USER_MODE_ONLY)?;
        through("")
    }),
    attempt("reboot", "reboot(2) with bad magic", |_| {
        privileged_result(kernel::reboot_without_magic(), libc::EINVAL)
    }),
    attempt("another kernel", "kexec_load(2) with bad flags", |_| {
        privileged_result(kernel::load_kernel_with_bad_flags(), libc::EINVAL)
    }),
    attempt("load a module", "init_module(2) without a module", |_| {
        kernel::load_no_module().or_else(|error| match error.raw_os_error() {
            Some(libc::EFAULT | libc::ENOEXEC | libc::EINVAL) => Ok(0),
            _ => Err(error),
        })?;
        through("")
    }),
    attempt("remove a module", "delete_module(2) of none", |_| {
        privileged_result(kernel::remove_no_module(), libc::ENOENT)
    }),
    attempt("swap", "swapon(2) of nothing", |_| {
        privileged_result(kernel::swap_on_nothing(), libc::ENOENT)
    }),
    attempt("accounting", "acct(2) to nothing", |_| {
        privileged_result(kernel::account_to_nothing(), libc::ENOENT)
    }),
    attempt("set the clock", "settimeofday(2) to no time", |_| {
        kernel::set_no_time()?;
        through("")
    }),
    attempt(
        "name the machine",
        "sethostname(2) to the same name",
        |_| {
            kernel::set_same_name()?;
            through("")
        },
    ),
    #[cfg(target_arch = "x86_64")]
    attempt("processor ports", "iopl(2)", |_| {
        sys::ports()?;
        through("")
    }),
    #[cfg(target_arch = "x86_64")]
    attempt(
        "32-bit calls",
        "getpid(2) and unshare(2) by int 0x80",
        |_| {
            foreign(sys::Foreign::I386(20), [0; 3])
                .or_else(|_| foreign(sys::Foreign::I386(310), [0; 3]))
        },
    ),
    #[cfg(target_arch = "aarch64")]
    attempt(
        "32-bit calls",
        "getpid(2) and socket(2) by a program of 32 bits",
        |_| call_as_32_bits(),
    ),
    #[cfg(target_arch = "x86_64")]
    attempt("x32 calls", "getpid(2) by its x32 number", |_| {
        foreign(sys::Foreign::X32(39), [0; 3])
    }),
];

fn open_each(paths: &[&'static str]) -> Try {
    any(
        paths.iter().map(|path| ((*path).to_owned(), *path)),
        |path| {
            OpenOptions::new().write(true).open(path)?;
            through("")
        },
    )
}

/// Through if it worked or failed with an error that the kernel gives only to those who may.
fn privileged_result(result: std::io::Result<libc::c_long>, allowed: i32) -> Try {
    match result {
        Err(error) if error.raw_os_error() != Some(allowed) => Err(error.into()),
        _ => through("it would have been done"),
    }
}

fn subdirectories(dir: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.path().to_str().map(str::to_owned))
        .collect()
}
