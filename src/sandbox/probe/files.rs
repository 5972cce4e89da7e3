//! Reading, changing and naming what lies outside.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

use replay_sys::attack as sys;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};

use super::attempt::{Attempt, attempt};
use super::outcome::{Try, any, blocked, not_possible, through};
use super::stage::Stage;
use super::stage::{identity, text};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "read outside",
        "open(2) and read(2) of a file outside",
        |s| s.reads(s.beyond("secret")),
    ),
    attempt(
        "read keys outside",
        "the same of a file that only its owner may read",
        |s| s.reads(s.beyond("keys/id")),
    ),
    attempt(
        "read outside by ..",
        "../ out of an allowed directory",
        |s| s.reads(s.rw.join("../beyond/secret")),
    ),
    attempt(
        "read outside by .. of a descriptor",
        "openat(2) of ../ from an open allowed directory",
        |s| {
            let dir = File::open(&s.rw)?;
            let mut file: File = rustix::fs::openat(
                &dir,
                "../beyond/secret",
                OFlags::RDONLY | OFlags::CLOEXEC,
                Mode::empty(),
            )?
            .into();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            s.secret(&bytes)
        },
    ),
    attempt(
        "read outside by a link",
        "a symbolic link in an allowed directory",
        |s| {
            let link = s.rw.join("link-out");
            symlink(s.beyond("secret"), &link)?;
            s.reads(link)
        },
    ),
    attempt(
        "read outside by /proc/self/root",
        "the root as procfs shows it",
        |s| s.reads(proc_root("self", s)),
    ),
    attempt(
        "read outside by /proc/1/root",
        "the root of the first process",
        |s| s.reads(proc_root("1", s)),
    ),
    attempt(
        "read outside by /proc/thread-self/cwd",
        "the working directory as procfs shows it, and up",
        |s| {
            std::env::set_current_dir(&s.rw)?;
            s.reads("/proc/thread-self/cwd/../beyond/secret")
        },
    ),
    attempt("list outside", "getdents(2) of a directory outside", |s| {
        lists(&s.outside, "secret")
    }),
    attempt(
        "list above",
        "getdents(2) of the directory that an allowed one lies in",
        |s| lists(&s.rw.join(".."), "beyond"),
    ),
    attempt(
        "read password hashes",
        "/etc/shadow, /etc/gshadow, /etc/sudoers, keys of the SSH server",
        |_| {
            let secret = [
                "/etc/shadow",
                "/etc/gshadow",
                "/etc/sudoers",
                "/etc/ssh/ssh_host_ed25519_key",
                "/etc/shadow-",
            ];
            any(secret.map(|path| (path.to_owned(), path)), |path| {
                let length = fs::read(path)?.len();
                if length == 0 {
                    blocked("empty")
                } else {
                    through(format!("{length} bytes"))
                }
            })
        },
    ),
    attempt(
        "open by handle",
        "open_by_handle_at(2) of a file outside",
        |s| {
            let fd = sys::open_by_handle(&text(&s.beyond("secret"))?, File::open(&s.rw)?.as_fd())?;
            let mut bytes = Vec::new();
            File::from(fd).read_to_end(&mut bytes)?;
            s.secret(&bytes)
        },
    ),
    attempt("create outside", "open(2) with O_CREAT", |s| {
        File::create_new(s.beyond("created"))?;
        through("")
    }),
    attempt(
        "create an unnamed file outside",
        "open(2) with O_TMPFILE",
        |s| {
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::open(&s.outside, flags, Mode::from_raw_mode(0o600))?;
            through("")
        },
    ),
    attempt("write outside", "open(2) for writing", |s| {
        writes(&s.beyond("written"))
    }),
    attempt(
        "write outside by a link",
        "the same through a symbolic link in an allowed directory",
        |s| {
            let link = s.rw.join("link-write");
            symlink(s.beyond("written"), &link)?;
            writes(&link)
        },
    ),
    attempt("truncate outside", "truncate(2)", |s| {
        sys::truncate(&text(&s.beyond("truncated"))?)?;
        through("")
    }),
    attempt(
        "truncate outside by open",
        "open(2) with O_TRUNC alone",
        |s| {
            OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_TRUNC)
                .open(s.beyond("truncated"))?;
            through("")
        },
    ),
    attempt("remove outside", "unlink(2)", |s| {
        through_if_ok(fs::remove_file(s.beyond("removed")))
    }),
    attempt("remove a directory outside", "rmdir(2)", |s| {
        through_if_ok(fs::remove_dir(s.beyond("empty")))
    }),
    attempt("make a directory outside", "mkdir(2)", |s| {
        through_if_ok(fs::create_dir(s.beyond("made")))
    }),
    attempt("make a link outside", "symlink(2)", |s| {
        through_if_ok(symlink("/", s.beyond("link")))
    }),
    attempt("make a pipe outside", "mknod(2)", |s| {
        rustix::fs::mknodat(
            CWD,
            s.beyond("pipe-made"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )?;
        through("")
    }),
    attempt(
        "write into a pipe outside",
        "a FIFO that somebody outside reads",
        |s| {
            let mut options = OpenOptions::new();
            let mut pipe = options
                .write(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(s.beyond("pipe"))?;
            pipe.write_all(b"through")?;
            through("")
        },
    ),
    attempt(
        "hard link from outside",
        "link(2) into an allowed directory",
        |s| through_if_ok(fs::hard_link(s.beyond("linked"), s.rw.join("hard-link"))),
    ),
    attempt(
        "hard link from an O_PATH descriptor",
        "linkat(2) with AT_EMPTY_PATH, and by /proc/self/fd",
        |s| {
            let file = rustix::fs::open(
                s.beyond("linked"),
                OFlags::PATH | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            if rustix::fs::linkat(
                &file,
                "",
                CWD,
                s.rw.join("hard-link-2"),
                AtFlags::EMPTY_PATH,
            )
            .is_err()
            {
                let shown = format!("/proc/self/fd/{}", file.as_raw_fd());
                rustix::fs::linkat(
                    CWD,
                    shown,
                    CWD,
                    s.rw.join("hard-link-3"),
                    AtFlags::SYMLINK_FOLLOW,
                )?;
            }
            through("")
        },
    ),
    attempt(
        "open an O_PATH descriptor again",
        "/proc/self/fd of a descriptor that may not read",
        |s| {
            let file = rustix::fs::open(
                s.beyond("secret"),
                OFlags::PATH | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            s.reads(format!("/proc/self/fd/{}", file.as_raw_fd()))
        },
    ),
    attempt(
        "move in",
        "rename(2) from outside into an allowed directory",
        |s| through_if_ok(fs::rename(s.beyond("moved"), s.rw.join("moved-in"))),
    ),
    attempt(
        "move out",
        "rename(2) from an allowed directory to outside",
        |s| {
            let inside = s.rw.join("to-move-out");
            fs::write(&inside, "x")?;
            through_if_ok(fs::rename(inside, s.beyond("moved-out")))
        },
    ),
    attempt(
        "exchange",
        "renameat2(2) with RENAME_EXCHANGE of outside and inside",
        |s| {
            let inside = s.rw.join("to-exchange");
            fs::write(&inside, "x")?;
            rustix::fs::renameat_with(
                CWD,
                &inside,
                CWD,
                s.beyond("exchanged"),
                RenameFlags::EXCHANGE,
            )?;
            through("")
        },
    ),
    attempt(
        "rename an allowed directory",
        "rename(2) of the directory itself",
        |s| {
            let other = s.rw2.with_extension("renamed");
            fs::rename(&s.rw2, &other)?;
            through_if_ok(fs::rename(other, &s.rw2))
        },
    ),
    attempt(
        "rename the directory above",
        "rename(2) of the directory that the allowed ones lie in",
        |s| {
            let Some(above) = s.rw.parent() else {
                return not_possible("the allowed directory is the root");
            };
            let other = above.with_extension("renamed");
            fs::rename(above, &other)?;
            fs::rename(other, above)?;
            if identity(&above.join(".."))? == s.above {
                through("")
            } else {
                blocked("in a root of its own")
            }
        },
    ),
    attempt("make a disk", "mknod(2) of a block device", |s| {
        node(s, "block", FileType::BlockDevice, 254, 0)
    }),
    attempt("make the memory's device", "mknod(2) of /dev/mem", |s| {
        node(s, "memory", FileType::CharacterDevice, 1, 1)
    }),
    attempt("open a disk", "open(2) of every disk for reading", |s| {
        any(
            s.disks
                .iter()
                .map(|path| (path.display().to_string(), path)),
            |path| {
                OpenOptions::new()
                    .read(true)
                    .custom_flags(libc::O_NONBLOCK)
                    .open(path)?;
                through("")
            },
        )
    }),
    attempt(
        "change the system",
        "a new file in each of its directories",
        |s| {
            let dirs = [
                "/",
                "/bin",
                "/sbin",
                "/lib",
                "/lib64",
                "/usr",
                "/usr/bin",
                "/usr/lib",
                "/usr/local/bin",
                "/etc",
                "/boot",
                "/etc/cron.d",
                "/etc/profile.d",
                "/opt",
                "/root",
                "/home",
                "/srv",
                "/var",
                "/var/spool/cron",
                "/run",
                "/mnt",
            ];
            any(dirs.map(|dir| (dir.to_owned(), dir)), |dir| {
                let path = Path::new(dir).join(format!("replay-probe-{}", s.nonce));
                File::create_new(&path)?;
                let own = identity(Path::new("/"))? != s.root;
                // In a root of its own the outer half looks whether it came out.
                if own {
                    return blocked("in a root of its own");
                }
                fs::remove_file(&path)?;
                through("")
            })
        },
    ),
    attempt(
        "write to programs of the system",
        "open(2) of a program and ld.so.preload for writing",
        |_| {
            any(
                [
                    "/usr/bin/true",
                    "/etc/passwd",
                    "/etc/ld.so.preload",
                    "/etc/hosts",
                ]
                .map(|path| (path.to_owned(), path)),
                |path| {
                    OpenOptions::new().append(true).open(path)?;
                    through("")
                },
            )
        },
    ),
];

/// The end of an attempt whose call alone is the effect.
fn through_if_ok(result: std::io::Result<()>) -> Try {
    result?;
    through("")
}

fn proc_root(process: &str, stage: &Stage) -> String {
    format!("/proc/{process}/root{}", stage.beyond("secret").display())
}

fn lists(dir: &Path, wanted: &str) -> Try {
    for entry in fs::read_dir(dir)? {
        if entry?.file_name() == wanted {
            return through(format!("`{wanted}` is listed"));
        }
    }
    blocked("only what belongs there")
}

fn writes(path: &Path) -> Try {
    OpenOptions::new()
        .append(true)
        .open(path)?
        .write_all(b"through")?;
    through("")
}

/// Makes a device node in an allowed directory and opens it.
fn node(stage: &Stage, name: &str, kind: FileType, major: u32, minor: u32) -> Try {
    let path = stage.rw.join(format!("node-{name}"));
    rustix::fs::mknodat(
        CWD,
        &path,
        kind,
        Mode::from_raw_mode(0o600),
        rustix::fs::makedev(major, minor),
    )?;
    let opened = File::open(&path);
    fs::remove_file(&path)?;
    through(if opened.is_ok() {
        "made and opened"
    } else {
        "made"
    })
}
