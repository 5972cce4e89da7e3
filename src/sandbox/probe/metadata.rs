//! Attempts to read and change metadata of files outside the sandbox.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use replay_sys::attack as sys;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Timespec, Timestamps,
    UTIME_NOW, XattrFlags,
};

use super::attempt::{Attempt, attempt};
use super::outcome::{Stopped, blocked, each, not_possible, through};
use super::stage::Stage;
use super::stage::text;

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("stat outside", "stat(2), lstat(2), statx(2)", |s| {
        let metadata = fs::metadata(s.beyond("secret"))?;
        through(format!("{} bytes", metadata.len()))
    }),
    attempt("access outside", "access(2): whether it exists", |s| {
        rustix::fs::access(s.beyond("secret"), Access::EXISTS)?;
        through("it exists")
    }),
    attempt("readlink outside", "readlink(2)", |s| {
        through(
            fs::read_link(s.beyond("link-victim"))?
                .display()
                .to_string(),
        )
    }),
    attempt("chdir outside", "chdir(2)", |s| {
        std::env::set_current_dir(&s.outside)?;
        through("")
    }),
    attempt("O_PATH outside", "open(2) with O_PATH, and fstat(2)", |s| {
        let file = rustix::fs::open(
            s.beyond("secret"),
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        through(format!("{} bytes", rustix::fs::fstat(&file)?.st_size))
    }),
    attempt("statfs outside", "statfs(2)", |s| {
        rustix::fs::statfs(&s.outside)?;
        through("")
    }),
    attempt(
        "inotify outside",
        "inotify_add_watch(2) of a directory outside",
        |s| {
            let watch = inotify::init(CreateFlags::CLOEXEC)?;
            inotify::add_watch(&watch, &s.outside, WatchFlags::CREATE)?;
            through("")
        },
    ),
    attempt(
        "fanotify outside",
        "fanotify_mark(2) of a directory outside",
        |s| {
            const FAN_REPORT_FID: libc::c_long = 0x200;
            let group = sys::fanotify_group(FAN_REPORT_FID)?;
            sys::fanotify_watch(std::os::fd::AsFd::as_fd(&group), &text(&s.outside)?)?;
            through("")
        },
    ),
    attempt(
        "read an attribute outside",
        "getxattr(2), lgetxattr(2), getxattrat(2), and by a link or descriptor",
        |s| {
            let link = s.rw.join("link-attribute");
            let _ = symlink(victim(s), &link);
            each([
                ("getxattr", &|| {
                    reads_canary(s, &|value| {
                        Ok(rustix::fs::getxattr(victim(s), ATTRIBUTE, value)?)
                    })
                }),
                ("lgetxattr", &|| {
                    reads_canary(s, &|value| {
                        Ok(rustix::fs::lgetxattr(victim(s), ATTRIBUTE, value)?)
                    })
                }),
                ("link", &|| {
                    reads_canary(s, &|value| {
                        Ok(rustix::fs::getxattr(&link, ATTRIBUTE, value)?)
                    })
                }),
                ("getxattrat", &|| {
                    reads_canary(s, &|value| {
                        Ok(sys::getxattrat(&text(&victim(s))?, ATTRIBUTE, value)?)
                    })
                }),
                ("descriptor", &|| {
                    let open =
                        rustix::fs::open(victim(s), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
                    let shown = format!("/proc/self/fd/{}", open.as_raw_fd());
                    reads_canary(s, &|value| {
                        Ok(rustix::fs::getxattr(&shown, ATTRIBUTE, value)?)
                    })
                }),
            ])
        },
    ),
    attempt(
        "list attributes outside",
        "listxattr(2), llistxattr(2)",
        |s| {
            let listed = |names: &[u8]| {
                let found = names
                    .split(|byte| *byte == 0)
                    .any(|name| name == ATTRIBUTE.to_bytes());
                if found {
                    Ok(())
                } else {
                    Err(Stopped::NotPossible("no attributes here".to_owned()))
                }
            };
            each([
                ("listxattr", &|| {
                    let mut names = [0; 256];
                    let length = rustix::fs::listxattr(victim(s), &mut names[..])?;
                    listed(&names[..length])
                }),
                ("llistxattr", &|| {
                    let mut names = [0; 256];
                    let length = rustix::fs::llistxattr(victim(s), &mut names[..])?;
                    listed(&names[..length])
                }),
            ])
        },
    ),
    attempt(
        "change the mode outside",
        "chmod(2), fchmodat2(2), and through a link in an allowed directory",
        |s| {
            let link = s.rw.join("link-mode");
            let _ = symlink(victim(s), &link);
            each([
                ("chmod", &|| {
                    Ok(fs::set_permissions(
                        victim(s),
                        fs::Permissions::from_mode(0o777),
                    )?)
                }),
                ("fchmodat2", &|| {
                    sys::fchmodat2(&text(&victim(s))?, 0o777)
                        .map(drop)
                        .map_err(Into::into)
                }),
                ("link", &|| {
                    Ok(fs::set_permissions(
                        &link,
                        fs::Permissions::from_mode(0o777),
                    )?)
                }),
            ])
        },
    ),
    attempt(
        "change the owner outside",
        "chown(2), lchown(2), fchownat(2) of an O_PATH descriptor",
        |s| {
            let (user, group) = (
                Some(rustix::process::getuid()),
                Some(rustix::process::getgid()),
            );
            each([
                ("chown", &|| Ok(rustix::fs::chown(victim(s), user, group)?)),
                ("lchown", &|| {
                    Ok(rustix::fs::chownat(
                        CWD,
                        s.beyond("link-victim"),
                        user,
                        group,
                        AtFlags::SYMLINK_NOFOLLOW,
                    )?)
                }),
                ("AT_EMPTY_PATH", &|| {
                    let file =
                        rustix::fs::open(victim(s), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
                    Ok(rustix::fs::chownat(
                        &file,
                        "",
                        user,
                        group,
                        AtFlags::EMPTY_PATH,
                    )?)
                }),
            ])
        },
    ),
    attempt(
        "change times outside",
        "utimensat(2), and of a link itself",
        |s| {
            each([
                ("utimensat", &|| {
                    Ok(rustix::fs::utimensat(
                        CWD,
                        victim(s),
                        &now(),
                        AtFlags::empty(),
                    )?)
                }),
                ("link", &|| {
                    Ok(rustix::fs::utimensat(
                        CWD,
                        s.beyond("link-victim"),
                        &now(),
                        AtFlags::SYMLINK_NOFOLLOW,
                    )?)
                }),
            ])
        },
    ),
    attempt(
        "change attributes outside",
        "setxattr(2), lsetxattr(2), setxattrat(2), removexattr(2)",
        |s| {
            let flags = XattrFlags::empty();
            each([
                ("setxattr", &|| {
                    Ok(rustix::fs::setxattr(victim(s), "user.probe", b"1", flags)?)
                }),
                ("lsetxattr", &|| {
                    Ok(rustix::fs::lsetxattr(victim(s), "user.probe", b"1", flags)?)
                }),
                ("setxattrat", &|| {
                    sys::setxattrat(&text(&victim(s))?, c"user.probe")
                        .map(drop)
                        .map_err(Into::into)
                }),
                ("removexattr", &|| {
                    Ok(rustix::fs::removexattr(victim(s), "user.victim")?)
                }),
            ])
        },
    ),
    attempt("change flags outside", "file_setattr(2)", |s| {
        sys::file_setattr(&text(&victim(s))?)?;
        through("")
    }),
    attempt(
        "change the mode behind an own filter",
        "chmod(2) after a filter that wants to be asked was added",
        |s| {
            const PR_SET_NO_NEW_PRIVS: i32 = 38;
            sys::kernel::control(PR_SET_NO_NEW_PRIVS, [1, 0, 0, 0])?;
            // Of two filters the stricter one counts; neither of these may weaken the one that is
            // there.
            let _ = sys::kernel::filter_all(libc::SECCOMP_RET_ALLOW, true);
            let _ = sys::kernel::filter_all(libc::SECCOMP_RET_LOG, false);
            fs::set_permissions(victim(s), fs::Permissions::from_mode(0o777))?;
            through("")
        },
    ),
    attempt(
        "change the mode outside in a race",
        "chmod(2) below a directory that turns into a link and back",
        |s| {
            let (dir, link) = (s.rw.join("race"), s.rw.join("race-link"));
            fs::create_dir(&dir)?;
            fs::write(dir.join("attributed"), "x")?;
            symlink(&s.outside, &link)?;
            let Some(swapper) = replay_sys::fork()? else {
                while rustix::fs::renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE)
                    .is_ok()
                {}
                replay_sys::exit_now(0);
            };
            let until = Instant::now() + Duration::from_millis(300);
            let mut changed = 0;
            while Instant::now() < until {
                let done =
                    fs::set_permissions(dir.join("attributed"), fs::Permissions::from_mode(0o707));
                changed += u32::from(done.is_ok());
            }
            sys::kill(swapper.as_raw().into(), libc::SIGKILL.into())?;
            // The outer half looks as well.
            match fs::metadata(victim(s)) {
                Ok(metadata) if metadata.permissions().mode() & 0o777 == 0o707 => {
                    through(format!("in {changed} changes"))
                }
                _ => blocked(format!("{changed} changes, all inside")),
            }
        },
    ),
    attempt(
        "change the mode of the system",
        "chmod(2) of a program of the system, to the mode it has",
        |_| {
            if !rustix::process::geteuid().is_root() {
                return not_possible("needs root");
            }
            let program = fs::canonicalize("/usr/bin/env")?;
            let mode = fs::metadata(&program)?.permissions();
            fs::set_permissions(&program, mode)?;
            through("")
        },
    ),
    attempt(
        "leave a set-user-ID program of root",
        "a copy of a program in an allowed directory, with 04755",
        |s| {
            if !rustix::process::geteuid().is_root() {
                return not_possible("needs root");
            }
            let program = s.rw.join("left-behind");
            fs::write(&program, "x")?;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o4755))?;
            let left = fs::metadata(&program)?.permissions().mode() & 0o4000;
            if left == 0 {
                blocked("the bit was dropped")
            } else {
                through("")
            }
        },
    ),
    attempt(
        "leave a set-group-ID program",
        "chmod(2), fchmod(2), fchmodat2(2), open(2), mknod(2), and by a list",
        |s| {
            let fresh = |name: &str| -> Result<PathBuf, Stopped> {
                let program = s.rw.join(name);
                let _ = fs::remove_file(&program);
                fs::write(&program, "x")?;
                Ok(program)
            };
            let left = |path: &Path| -> Result<(), Stopped> {
                let mode = fs::metadata(path)?.permissions().mode();
                if mode & 0o2010 == 0o2010 {
                    Ok(())
                } else {
                    Err(Stopped::Held(format!("mode {mode:o}")))
                }
            };
            let new = |name: &str, make: &dyn Fn(&Path) -> io::Result<()>| -> Result<(), Stopped> {
                let path = s.rw.join(name);
                let _ = fs::remove_file(&path);
                make(&path)?;
                left(&path)
            };
            let set = || fs::Permissions::from_mode(0o2755);
            each([
                ("chmod", &|| {
                    fresh("g1")
                        .and_then(|path| Ok(fs::set_permissions(&path, set()).map(|()| path)?))
                        .and_then(|path| left(&path))
                }),
                ("fchmod", &|| {
                    let path = fresh("g2")?;
                    fs::File::open(&path)?.set_permissions(set())?;
                    left(&path)
                }),
                ("fchmodat2", &|| {
                    let path = fresh("g3")?;
                    sys::fchmodat2(&text(&path)?, 0o2755)?;
                    left(&path)
                }),
                ("open", &|| {
                    new("g4", &|path| {
                        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                        Ok(rustix::fs::open(path, flags, Mode::from_raw_mode(0o2755)).map(drop)?)
                    })
                }),
                ("mknod", &|| {
                    new("g5", &|path| {
                        Ok(rustix::fs::mknodat(
                            CWD,
                            path,
                            FileType::RegularFile,
                            Mode::from_raw_mode(0o2755),
                            0,
                        )?)
                    })
                }),
                ("openat2 and an access control list", &|| {
                    new("g6", &|path| {
                        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                        let mode = Mode::from_raw_mode(0o2644);
                        let file =
                            rustix::fs::openat2(CWD, path, flags, mode, ResolveFlags::empty())?;
                        rustix::io::write(&file, b"x")?;
                        Ok(rustix::fs::fsetxattr(
                            &file,
                            c"system.posix_acl_access",
                            &EXECUTABLE,
                            XattrFlags::empty(),
                        )?)
                    })
                }),
            ])
        },
    ),
];

/// Access control list in the kernel's format (`linux/posix_acl_xattr.h`): version 2, then tag,
/// permissions and identity of each entry. The owner may do everything; group and others may read
/// and execute.
const EXECUTABLE: [u8; 28] =
    *b"\x02\0\0\0\x01\0\x07\0\xff\xff\xff\xff\x04\0\x05\0\xff\xff\xff\xff\x20\0\x05\0\xff\xff\xff\xff";

/// Extended attribute of the victim that holds the canary, if the filesystem supports it.
const ATTRIBUTE: &CStr = c"user.victim";

/// Through if this gets the canary.
fn reads_canary(
    stage: &Stage,
    get: &dyn Fn(&mut [u8]) -> Result<usize, Stopped>,
) -> Result<(), Stopped> {
    let mut value = [0; 64];
    let length = get(&mut value)?;
    stage.secret(&value[..length]).map(drop)
}

fn victim(stage: &Stage) -> PathBuf {
    stage.beyond("attributed")
}

/// Both times of now.
pub(super) fn now() -> Timestamps {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    Timestamps {
        last_access: now,
        last_modification: now,
    }
}
