//! Another root, other mounts, namespaces.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;

use replay_sys::attack as sys;
use rustix::mount::{self, MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};
use rustix::thread::LinkNameSpaceType;

use super::attempt::{Attempt, attempt};
use super::outcome::{Try, any, blocked, not_possible, through};
use super::stage::text;

/// Kinds of namespaces, with the bit of clone(2) and the name below `/proc/PID/ns`.
const KINDS: [(&str, i32); 7] = [
    ("user", libc::CLONE_NEWUSER),
    ("mnt", libc::CLONE_NEWNS),
    ("pid", libc::CLONE_NEWPID),
    ("net", libc::CLONE_NEWNET),
    ("ipc", libc::CLONE_NEWIPC),
    ("uts", libc::CLONE_NEWUTS),
    ("cgroup", libc::CLONE_NEWCGROUP),
];

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "mount",
        "mount(2) of a tmpfs on an allowed directory",
        |s| mount_tmpfs(&s.rw),
    ),
    attempt(
        "mount procfs",
        "mount(2) of a proc on an allowed directory",
        |s| {
            shield();
            mount::mount("proc", &s.rw, "proc", MountFlags::empty(), None)?;
            through("")
        },
    ),
    attempt(
        "bind the root",
        "mount(2) of / on an allowed directory",
        |s| {
            shield();
            mount::mount_bind_recursive("/", &s.rw)?;
            through("")
        },
    ),
    attempt(
        "bind over a system directory",
        "mount(2) of an allowed directory on /usr/bin",
        |s| {
            shield();
            mount::mount_bind(&s.rw, "/usr/bin")?;
            through("")
        },
    ),
    attempt(
        "move the root",
        "move_mount(2) of a copy of / by open_tree(2)",
        |s| {
            shield();
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::AT_RECURSIVE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC;
            let tree = mount::open_tree(rustix::fs::CWD, "/", flags)?;
            mount::move_mount(
                &tree,
                "",
                rustix::fs::CWD,
                &s.rw,
                MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
            )?;
            through("")
        },
    ),
    attempt("copy the root", "open_tree(2) with OPEN_TREE_CLONE", |_| {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        mount::open_tree(rustix::fs::CWD, "/", flags)?;
        through("")
    }),
    attempt(
        "make a filesystem",
        "fsopen(2), fsconfig(2), fsmount(2)",
        |_| {
            let context = mount::fsopen("tmpfs", mount::FsOpenFlags::FSOPEN_CLOEXEC)?;
            mount::fsconfig_create(&context)?;
            mount::fsmount(
                &context,
                mount::FsMountFlags::FSMOUNT_CLOEXEC,
                mount::MountAttrFlags::empty(),
            )?;
            through("")
        },
    ),
    attempt(
        "make a read-only mount writable",
        "mount(2) with MS_REMOUNT, of what may be read and of the system",
        |s| {
            shield();
            any(
                ["/", "/usr", "/etc", "."].map(|path| (path.to_owned(), path)),
                |path| {
                    let path = if path == "." {
                        s.ro.as_path()
                    } else {
                        Path::new(path)
                    };
                    mount::mount_remount(path, MountFlags::BIND, "")?;
                    through("")
                },
            )
        },
    ),
    attempt("take read-only off a mount", "mount_setattr(2)", |s| {
        shield();
        any(
            [("/", Path::new("/")), ("the read-only directory", &s.ro)]
                .map(|(n, p)| (n.to_owned(), p)),
            |path| {
                sys::mount_writable(&text(path)?)?;
                through("")
            },
        )
    }),
    attempt(
        "unmount",
        "umount2(2) of /proc, /dev, /tmp, the allowed directories and /",
        |s| {
            shield();
            let places = [
                Path::new("/proc"),
                Path::new("/dev"),
                Path::new("/tmp"),
                &s.ro,
                &s.rw2,
                Path::new("/"),
            ];
            any(
                places.map(|path| (path.display().to_string(), path)),
                |path| {
                    mount::unmount(path, UnmountFlags::DETACH)?;
                    through("")
                },
            )
        },
    ),
    attempt("share mounts", "mount(2) with MS_SHARED of /", |_| {
        shield();
        mount::mount_change(
            "/",
            mount::MountPropagationFlags::SHARED | mount::MountPropagationFlags::REC,
        )?;
        through("")
    }),
    attempt("pivot_root", "pivot_root(2) to an allowed directory", |s| {
        shield();
        // It must be a mount of its own.
        let _ = mount::mount_bind(&s.rw, &s.rw);
        rustix::process::pivot_root(&s.rw, &s.rw)?;
        through("")
    }),
    attempt(
        "chroot and out",
        "chroot(2) below an open directory, and up from that",
        |s| {
            let root = File::open("/")?;
            rustix::process::chroot(&s.rw)?;
            rustix::process::fchdir(&root)?;
            for _ in 0..20 {
                rustix::process::chdir("..")?;
            }
            rustix::process::chroot(".")?;
            s.reads(s.beyond("secret"))
        },
    ),
    attempt(
        "unshare",
        "unshare(2) of every kind of namespace, each alone",
        |_| {
            any(KINDS.map(|(name, flag)| (name.to_owned(), flag)), |flag| {
                apart(|| sys::unshare(flag.into()).map(drop))
            })
        },
    ),
    attempt("unshare time", "unshare(2) of CLONE_NEWTIME", |_| {
        sys::unshare(0x80)?;
        through("")
    }),
    attempt(
        "clone into a user namespace",
        "clone(2) with CLONE_NEWUSER",
        |_| {
            sys::clone_and_end(libc::CLONE_NEWUSER as u64, false)?;
            through("")
        },
    ),
    attempt(
        "clone3 into a user namespace",
        "clone3(2) with CLONE_NEWUSER, whose flags no filter sees",
        |_| {
            sys::clone_and_end(libc::CLONE_NEWUSER as u64, true)?;
            through("")
        },
    ),
    attempt(
        "mount in a new user namespace",
        "unshare(2) of user and mount, then mount(2)",
        |s| {
            own_user(libc::CLONE_NEWNS)?;
            mount_tmpfs(&s.rw)
        },
    ),
    attempt(
        "unmount in a new user namespace",
        "the same, then umount2(2) of what covers something",
        |s| {
            own_user(libc::CLONE_NEWNS)?;
            any(
                [Path::new("/proc"), &s.ro, &s.rw].map(|path| (path.display().to_string(), path)),
                |path| {
                    mount::unmount(path, UnmountFlags::DETACH)?;
                    through("")
                },
            )
        },
    ),
    attempt(
        "configure a network in a new user namespace",
        "unshare(2) of user and net, then a raw socket",
        |_| {
            own_user(libc::CLONE_NEWNET)?;
            rustix::net::socket(
                rustix::net::AddressFamily::INET,
                rustix::net::SocketType::RAW,
                Some(rustix::net::ipproto::ICMP),
            )?;
            through("")
        },
    ),
    attempt(
        "enter namespaces",
        "setns(2) to those of every other process, by /proc/PID/ns",
        |s| {
            let kinds = KINDS
                .iter()
                .flat_map(|kind| s.others().into_iter().map(move |other| (kind, other)));
            let kinds = kinds.map(|((name, flag), (who, pid))| {
                (format!("{name} of {who}"), (*name, *flag, pid))
            });
            any(kinds, |(name, flag, pid)| {
                let namespace = File::open(format!("/proc/{pid}/ns/{name}"))?;
                apart(|| sys::setns(namespace.as_fd(), flag))
            })
        },
    ),
    attempt(
        "enter namespaces by pidfd",
        "setns(2) with a descriptor of another process",
        |s| {
            any(s.others(), |pid| {
                let Some(pid) = rustix::process::Pid::from_raw(pid) else {
                    return not_possible("no such process");
                };
                let process =
                    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
                apart(|| sys::setns(process.as_fd(), libc::CLONE_NEWNS))
            })
        },
    ),
    attempt(
        "enter the own mount namespace",
        "setns(2) to what it is in already, which would need privilege",
        |_| {
            let namespace = File::open("/proc/self/ns/mnt")?;
            rustix::thread::move_into_link_name_space(
                namespace.as_fd(),
                Some(LinkNameSpaceType::Mount),
            )?;
            through("")
        },
    ),
    attempt("map users", "writing /proc/self/uid_map", |_| {
        fs::write("/proc/self/uid_map", "0 0 1")?;
        through("")
    }),
    attempt("filesystem in user space", "open(2) of /dev/fuse", |_| {
        fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/fuse")?;
        through("")
    }),
];

/// Keeps the mounts of this process private, if it may mount. Otherwise the calls fail, and the
/// attempt is made nevertheless.
fn shield() {
    if sys::unshare(libc::CLONE_NEWNS.into()).is_ok() {
        let _ = mount::mount_change(
            "/",
            mount::MountPropagationFlags::PRIVATE | mount::MountPropagationFlags::REC,
        );
    }
}

fn mount_tmpfs(path: &Path) -> Try {
    shield();
    mount::mount("none", path, "tmpfs", MountFlags::empty(), None)?;
    through("")
}

/// A user namespace in which this process is root, and one of another kind.
fn own_user(other: i32) -> Result<(), super::Stopped> {
    let user = rustix::process::getuid().as_raw();
    sys::unshare((libc::CLONE_NEWUSER | other).into())?;
    // Without a map the capabilities are there all the same.
    let _ = fs::write("/proc/self/uid_map", format!("0 {user} 1"));
    Ok(())
}

/// In a copy of this process, since the next try needs the old state.
fn apart(act: impl Fn() -> std::io::Result<()>) -> Try {
    let (mut reader, mut writer) = std::io::pipe()?;
    if replay_sys::fork()?.is_none() {
        use std::io::Write as _;
        let number = act().map_or_else(|error| error.raw_os_error().unwrap_or(libc::EPERM), |()| 0);
        let _ = writer.write_all(&number.to_ne_bytes());
        replay_sys::exit_now(0);
    }
    drop(writer);
    let mut number = [0; 4];
    let _ = nix::sys::wait::wait();
    if std::io::Read::read_exact(&mut reader, &mut number).is_err() {
        return blocked("ended");
    }
    match i32::from_ne_bytes(number) {
        0 => through(""),
        number => Err(std::io::Error::from_raw_os_error(number).into()),
    }
}
