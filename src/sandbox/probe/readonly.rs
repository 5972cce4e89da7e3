//! Changing what may only be read.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use replay_sys::attack as sys;
use rustix::fs::{AtFlags, CWD, IFlags, Mode, OFlags, RenameFlags, Timestamps, XattrFlags};

use super::attempt::{Attempt, attempt};
use super::metadata::now;
use super::outcome::{Try, each, through};
use super::stage::Stage;
use super::stage::text;

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("write a read-only file", "open(2) for writing", |s| {
        OpenOptions::new().append(true).open(file(s))?;
        through("")
    }),
    attempt(
        "truncate a read-only file",
        "truncate(2), and open(2) with O_TRUNC alone",
        |s| {
            if sys::truncate(&text(&file(s))?).is_err() {
                OpenOptions::new()
                    .read(true)
                    .custom_flags(libc::O_TRUNC)
                    .open(file(s))?;
            }
            through("")
        },
    ),
    attempt(
        "create in a read-only directory",
        "open(2) with O_CREAT, and O_TMPFILE",
        |s| {
            if File::create_new(s.ro.join("created")).is_err() {
                let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::open(&s.ro, flags, Mode::from_raw_mode(0o600))?;
            }
            through("")
        },
    ),
    attempt(
        "make things in a read-only directory",
        "mkdir(2), symlink(2) and link(2)",
        |s| {
            fs::create_dir(s.ro.join("made"))
                .or_else(|_| symlink("/", s.ro.join("link")))
                .or_else(|_| fs::hard_link(file(s), s.ro.join("hard-link")))?;
            through("")
        },
    ),
    attempt(
        "hard link out of a read-only directory",
        "link(2) into a writable one, where it could be written",
        |s| through_if_ok(fs::hard_link(file(s), s.rw.join("hard-link-read-only"))),
    ),
    attempt(
        "hard link a read-only descriptor",
        "linkat(2) of /proc/self/fd into a writable directory",
        |s| {
            let open = File::open(file(s))?;
            let shown = format!("/proc/self/fd/{}", open.as_raw_fd());
            rustix::fs::linkat(
                CWD,
                shown,
                CWD,
                s.rw.join("hard-link-descriptor"),
                AtFlags::SYMLINK_FOLLOW,
            )?;
            through("")
        },
    ),
    attempt(
        "open a read-only descriptor for writing",
        "/proc/self/fd of a file opened for reading",
        |s| {
            let reading = File::open(file(s))?;
            OpenOptions::new()
                .append(true)
                .open(format!("/proc/self/fd/{}", reading.as_raw_fd()))?;
            through("")
        },
    ),
    attempt(
        "lease of a read-only file",
        "fcntl(2) with F_SETLEASE, which holds up who opens it for writing",
        |s| {
            const F_SETLEASE: i64 = 1024;
            sys::fcntl(
                File::open(file(s))?.as_raw_fd().into(),
                F_SETLEASE,
                i64::from(libc::F_RDLCK),
            )?;
            through("")
        },
    ),
    attempt(
        "lock of a read-only file",
        "flock(2), which holds up everybody else who locks it",
        |s| {
            rustix::fs::flock(
                File::open(file(s))?,
                rustix::fs::FlockOperation::NonBlockingLockExclusive,
            )?;
            through("")
        },
    ),
    attempt(
        "mode of a read-only file",
        "chmod(2), fchmod(2), fchmodat2(2), and by /proc/self/fd",
        |s| {
            let open = File::open(file(s))?;
            let shown = format!("/proc/self/fd/{}", open.as_raw_fd());
            each([
                ("chmod", &|| Ok(fs::set_permissions(file(s), mode(0o777))?)),
                ("fchmod", &|| Ok(open.set_permissions(mode(0o777))?)),
                ("fchmodat2", &|| {
                    sys::fchmodat2(&text(&file(s))?, 0o777)
                        .map(drop)
                        .map_err(Into::into)
                }),
                ("/proc/self/fd", &|| {
                    Ok(fs::set_permissions(&shown, mode(0o777))?)
                }),
            ])
        },
    ),
    attempt(
        "mode of a read-only directory",
        "chmod(2) of the allowed directory itself",
        |s| through_if_ok(fs::set_permissions(&s.ro, mode(0o777))),
    ),
    attempt(
        "owner of a read-only file",
        "chown(2) and fchown(2), to whom it belongs",
        |s| {
            let open = File::open(file(s))?;
            let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
            each([
                ("chown", &|| {
                    Ok(rustix::fs::chown(file(s), Some(user), Some(group))?)
                }),
                ("fchown", &|| {
                    Ok(rustix::fs::fchown(&open, Some(user), Some(group))?)
                }),
            ])
        },
    ),
    attempt(
        "times of a read-only file",
        "utimensat(2) and futimens(2)",
        |s| {
            let open = File::open(file(s))?;
            let times: Timestamps = now();
            each([
                ("utimensat", &|| {
                    Ok(rustix::fs::utimensat(
                        CWD,
                        file(s),
                        &times,
                        AtFlags::empty(),
                    )?)
                }),
                ("futimens", &|| Ok(rustix::fs::futimens(&open, &times)?)),
            ])
        },
    ),
    attempt(
        "attributes of a read-only file",
        "setxattr(2), fsetxattr(2), setxattrat(2), removexattr(2)",
        |s| {
            let open = File::open(file(s))?;
            let flags = XattrFlags::empty();
            each([
                ("setxattr", &|| {
                    Ok(rustix::fs::setxattr(file(s), "user.probe", b"1", flags)?)
                }),
                ("fsetxattr", &|| {
                    Ok(rustix::fs::fsetxattr(&open, "user.probe", b"1", flags)?)
                }),
                ("setxattrat", &|| {
                    sys::setxattrat(&text(&file(s))?, c"user.probe")
                        .map(drop)
                        .map_err(Into::into)
                }),
                ("removexattr", &|| {
                    Ok(rustix::fs::removexattr(file(s), "user.victim")?)
                }),
            ])
        },
    ),
    attempt(
        "flags of a read-only file",
        "FS_IOC_SETFLAGS on a descriptor for reading, file_setattr(2)",
        |s| {
            let open = File::open(file(s))?;
            each([
                ("ioctl", &|| {
                    let flags = rustix::fs::ioctl_getflags(&open)?;
                    Ok(rustix::fs::ioctl_setflags(&open, flags | IFlags::NODUMP)?)
                }),
                ("file_setattr", &|| {
                    sys::file_setattr(&text(&file(s))?)
                        .map(drop)
                        .map_err(Into::into)
                }),
            ])
        },
    ),
    attempt(
        "move into a read-only directory",
        "rename(2) and link(2) from a writable one",
        |s| {
            let mine = s.rw.join("to-read-only");
            fs::write(&mine, "x")?;
            fs::hard_link(&mine, s.ro.join("linked-in"))
                .or_else(|_| fs::rename(&mine, s.ro.join("moved-in")))?;
            through("")
        },
    ),
    attempt("rename in a read-only directory", "rename(2)", |s| {
        through_if_ok(fs::rename(file(s), s.ro.join("renamed")))
    }),
    attempt(
        "move out of a read-only directory",
        "rename(2) and an exchange into a writable one",
        |s| {
            let mine = s.rw.join("to-exchange-read-only");
            fs::write(&mine, "x")?;
            if fs::rename(file(s), s.rw.join("from-read-only")).is_err() {
                rustix::fs::renameat_with(CWD, &mine, CWD, file(s), RenameFlags::EXCHANGE)?;
            }
            through("")
        },
    ),
    attempt("remove in a read-only directory", "unlink(2)", |s| {
        through_if_ok(fs::remove_file(file(s)))
    }),
];

fn file(stage: &Stage) -> std::path::PathBuf {
    Path::new(&stage.ro).join("file")
}

fn mode(bits: u32) -> fs::Permissions {
    fs::Permissions::from_mode(bits)
}

fn through_if_ok(result: std::io::Result<()>) -> Try {
    result?;
    through("")
}
