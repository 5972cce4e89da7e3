//! Talking to processes outside without a network.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::Path;

use replay_sys::attack::ipc;
use rustix::fs::{Mode, OFlags};
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, listen, sendto,
    socket, socketpair,
};

use super::attempt::{Attempt, attempt};
use super::outcome::{Stopped, any, blocked, not_possible, through};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "abstract socket",
        "connect(2) to an address without a file",
        |s| {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(&s.abstract_stream)?)?;
            through("connected")
        },
    ),
    attempt("abstract socket for datagrams", "sendto(2)", |s| {
        let address = SocketAddr::from_abstract_name(&s.abstract_datagrams)?;
        UnixDatagram::unbound()?.send_to_addr(b"through", &address)?;
        through("sent")
    }),
    attempt(
        "socket outside",
        "connect(2) to a socket in a directory outside",
        |s| {
            UnixStream::connect(s.beyond("socket"))?;
            through("connected")
        },
    ),
    attempt(
        "socket outside by a link",
        "connect(2) through a symbolic link in an allowed directory",
        |s| {
            let link = s.rw.join("link-socket");
            symlink(s.beyond("socket"), &link)?;
            UnixStream::connect(link)?;
            through("connected")
        },
    ),
    attempt(
        "socket outside by an O_PATH descriptor",
        "connect(2) to /proc/self/fd",
        |s| {
            let file = rustix::fs::open(
                s.beyond("socket"),
                OFlags::PATH | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            UnixStream::connect(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
            through("connected")
        },
    ),
    attempt(
        "datagram socket outside",
        "sendto(2) to a socket in a directory outside",
        |s| {
            UnixDatagram::unbound()?.send_to(b"through", s.beyond("datagrams"))?;
            through("sent")
        },
    ),
    attempt(
        "datagram socket outside by a pair",
        "sendto(2) on one end of socketpair(2), which needs no socket(2)",
        |s| {
            let (pair, _other) = socketpair(
                AddressFamily::UNIX,
                SocketType::DGRAM,
                SocketFlags::CLOEXEC,
                None,
            )?;
            sendto(
                &pair,
                b"through",
                SendFlags::empty(),
                &SocketAddrUnix::new(s.beyond("datagrams"))?,
            )?;
            through("sent")
        },
    ),
    attempt(
        "socket of an outsider",
        "connect(2) to a socket in a read-only directory",
        |s| {
            UnixStream::connect(s.ro.join("socket"))?;
            through("connected")
        },
    ),
    attempt(
        "socket of an outsider by a link",
        "connect(2) through a symbolic link",
        |s| {
            let link = s.rw.join("link-to-outsider");
            symlink(s.ro.join("socket"), &link)?;
            UnixStream::connect(link)?;
            through("connected")
        },
    ),
    attempt(
        "socket of an outsider by an O_PATH descriptor",
        "connect(2) to /proc/self/fd",
        |s| {
            let file = rustix::fs::open(
                s.ro.join("socket"),
                OFlags::PATH | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            UnixStream::connect(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
            through("connected")
        },
    ),
    attempt(
        "socket of an outsider by another name",
        "connect(2) to a hard link in a writable directory",
        |s| {
            let other = s.rw.join("outsider-by-another-name");
            fs::hard_link(s.rw.join("socket-of-outsider"), &other)?;
            UnixStream::connect(other)?;
            through("connected")
        },
    ),
    attempt(
        "socket of an outsider in the place of an own one",
        "rename(2) over it between bind(2) and listen(2), and after",
        |s| {
            let outsider = s.rw.join("socket-of-outsider");
            any(
                [("before", false), ("after", true)].map(|(name, after)| (name.to_owned(), after)),
                |after| {
                    let (own, link) = (s.rw.join("own"), s.rw.join("outsider-again"));
                    let _ = fs::remove_file(&own);
                    fs::hard_link(&outsider, &link)?;
                    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
                    bind(&socket, &SocketAddrUnix::new(&own)?)?;
                    if after {
                        listen(&socket, 1)?;
                    }
                    fs::rename(&link, &own)?;
                    if !after {
                        listen(&socket, 1)?;
                    }
                    UnixStream::connect(&own)?;
                    through("connected")
                },
            )
        },
    ),
    attempt(
        "datagram socket of an outsider",
        "sendto(2) to a socket in a read-only directory",
        |s| {
            UnixDatagram::unbound()?.send_to(b"through", s.ro.join("datagrams"))?;
            through("sent")
        },
    ),
    attempt(
        "datagram socket of an outsider by a pair",
        "sendto(2) on one end of socketpair(2)",
        |s| {
            let (pair, _other) = socketpair(
                AddressFamily::UNIX,
                SocketType::DGRAM,
                SocketFlags::CLOEXEC,
                None,
            )?;
            sendto(
                &pair,
                b"through",
                SendFlags::empty(),
                &SocketAddrUnix::new(s.ro.join("datagrams"))?,
            )?;
            through("sent")
        },
    ),
    attempt(
        "socket made outside",
        "bind(2) in a directory outside",
        |s| {
            UnixListener::bind(s.beyond("socket-made"))?;
            through("")
        },
    ),
    attempt(
        "services of the machine",
        "connect(2) to sockets of dockers, buses, agents, displays",
        |s| {
            any(
                s.services
                    .iter()
                    .map(|path| (path.display().to_string(), path)),
                |path| {
                    UnixStream::connect(path)?;
                    through("connected")
                },
            )
        },
    ),
    attempt("System V memory", "shmat(2) of a segment outside", |s| {
        s.secret(&ipc::read_segment(s.segment)?)
    }),
    attempt("System V messages", "msgsnd(2) to a queue outside", |s| {
        ipc::send_message(s.messages, b"through!")?;
        through("sent")
    }),
    attempt("System V semaphores", "semctl(2) on a set outside", |s| {
        let value = ipc::semaphore(s.semaphores)?;
        ipc::set_semaphore(s.semaphores, value as i32)?;
        through("")
    }),
    attempt("list System V objects", "/proc/sysvipc", |s| {
        let listed = fs::read_to_string("/proc/sysvipc/shm")?;
        let wanted = s.segment.to_string();
        let found = listed
            .lines()
            .any(|line| line.split_whitespace().nth(1) == Some(&wanted));
        if found {
            through("listed")
        } else {
            blocked("not listed")
        }
    }),
    attempt(
        "POSIX messages",
        "mq_open(3) and mq_send(3) of a queue outside",
        |s| {
            let Some(queue) = &s.queue else {
                return not_possible("no queues in this kernel");
            };
            let name =
                CString::new(queue.as_str()).map_err(|_| Stopped::Held("a NUL".to_owned()))?;
            ipc::send_to_queue(ipc::open_queue(&name, false)?.as_fd(), b"through!")?;
            through("sent")
        },
    ),
    attempt("POSIX memory", "a file in /dev/shm", |s| s.reads(&s.memory)),
    attempt("change POSIX memory", "the same, for writing", |s| {
        OpenOptions::new().write(true).open(&s.memory)?;
        through("opened")
    }),
    attempt("keyring of the session", "keyctl(2)", |_| {
        ipc::session_keyring()?;
        through("")
    }),
    attempt("make a key", "add_key(2)", |_| {
        ipc::add_key()?;
        through("")
    }),
    attempt(
        "search keys",
        "request_key(2)",
        |_| match ipc::request_key() {
            Err(error) if error.raw_os_error() == Some(libc::ENOKEY) => through("searched"),
            Err(error) => Err(error.into()),
            Ok(_) => through("found"),
        },
    ),
    attempt(
        "descriptors left open",
        "everything above 2 in /proc/self/fd",
        |_| {
            let mut found = Vec::new();
            let dir = fs::read_dir("/proc/self/fd")?;
            for entry in dir.flatten() {
                let number: i32 = entry.file_name().to_string_lossy().parse().unwrap_or(0);
                let Ok(target) = fs::read_link(entry.path()) else {
                    continue;
                };
                // The list itself, and the pipe on which this process reports.
                let own = target.ends_with("fd")
                    || target.to_string_lossy().starts_with("pipe:") && number <= 5;
                if number > 2 && !own {
                    found.push(format!("{number} is {}", target.display()));
                }
            }
            if found.is_empty() {
                blocked("none")
            } else {
                through(found.join(", "))
            }
        },
    ),
    attempt(
        "up from the streams",
        "standard input, output and error as directories",
        |s| {
            any(
                [0, 1, 2].map(|number| (format!("descriptor {number}"), number)),
                |number| {
                    s.reads(Path::new(&format!("/proc/self/fd/{number}")).join("../beyond/secret"))
                },
            )
        },
    ),
    attempt(
        "standard input",
        "whether it is anything but /dev/null",
        |_| {
            let target = fs::read_link("/proc/self/fd/0")?;
            if target == Path::new("/dev/null") {
                blocked("/dev/null")
            } else {
                through(target.display().to_string())
            }
        },
    ),
];
