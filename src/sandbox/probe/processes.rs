//! Reading and steering other processes: whoever asks for the commands, and bystanders.

use std::fs::{self, File, OpenOptions};
use std::io::{IoSliceMut, Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid as NixPid;
use replay_sys::attack as sys;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::attempt::{Attempt, attempt};
use super::outcome::{Stopped, Try, any, blocked, not_possible, through};

/// The descriptor of the victim that is a file with the canary.
pub(super) const HELD_DESCRIPTOR: i32 = 9;

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "arguments of others",
        "/proc/PID/cmdline of processes outside",
        |s| any(s.strangers(), |pid| some(pid, "cmdline")),
    ),
    attempt("environment of others", "/proc/PID/environ", |s| {
        any(s.others(), |pid| some(pid, "environ"))
    }),
    attempt("memory map of others", "/proc/PID/maps and smaps", |s| {
        any(s.others(), |pid| {
            some(pid, "maps").or_else(|_| some(pid, "smaps"))
        })
    }),
    attempt(
        "memory of others by procfs",
        "/proc/PID/mem, read at an address that is mapped",
        |s| {
            any(s.others(), |pid| {
                let mut memory = File::open(format!("/proc/{pid}/mem"))?;
                if pid != s.victim {
                    return through("opened");
                }
                let mut start = [0; 4];
                memory.seek(SeekFrom::Start(s.address))?;
                memory.read_exact(&mut start)?;
                elf(start)
            })
        },
    ),
    attempt(
        "change the memory of others",
        "/proc/PID/mem, opened for writing",
        |s| {
            any(s.others(), |pid| {
                OpenOptions::new()
                    .write(true)
                    .open(format!("/proc/{pid}/mem"))?;
                through("opened")
            })
        },
    ),
    attempt(
        "process_vm_readv",
        "process_vm_readv(2) at an address that is mapped",
        |s| {
            let mut start = [0; 4];
            let theirs = RemoteIoVec {
                base: s.address as usize,
                len: start.len(),
            };
            process_vm_readv(
                NixPid::from_raw(s.victim),
                &mut [IoSliceMut::new(&mut start)],
                &[theirs],
            )?;
            elf(start)
        },
    ),
    attempt("files by the root of others", "/proc/PID/root", |s| {
        any(s.others(), |pid| {
            s.reads(format!("/proc/{pid}/root{}", s.beyond("secret").display()))
        })
    }),
    attempt(
        "files by the working directory of others",
        "/proc/PID/cwd",
        |s| any(s.others(), |pid| s.reads(format!("/proc/{pid}/cwd/secret"))),
    ),
    attempt(
        "descriptors of others by procfs",
        "/proc/PID/fd, what they are, and read",
        |s| {
            any(s.others(), |pid| {
                if pid == s.victim {
                    return s.reads(format!("/proc/{pid}/fd/{HELD_DESCRIPTOR}"));
                }
                through(
                    fs::read_link(format!("/proc/{pid}/fd/1"))?
                        .display()
                        .to_string(),
                )
            })
        },
    ),
    attempt(
        "descriptor information of others",
        "/proc/PID/fdinfo",
        |s| {
            any(s.others(), |pid| {
                let count = fs::read_dir(format!("/proc/{pid}/fdinfo"))?.count();
                through(format!("{count} listed"))
            })
        },
    ),
    attempt(
        "inject a message",
        "writing to descriptor 1 of the server, which is the protocol",
        |s| {
            OpenOptions::new()
                .write(true)
                .open(format!("/proc/{}/fd/1", s.server))?;
            through("opened")
        },
    ),
    attempt(
        "more of others in procfs",
        "auxv, stack, syscall, io, mountinfo, timers, personality, map_files",
        |s| {
            let files = [
                "auxv",
                "stack",
                "syscall",
                "io",
                "mountinfo",
                "timers",
                "personality",
                "pagemap",
            ];
            let all = s
                .others()
                .into_iter()
                .flat_map(|(who, pid)| files.map(|file| (format!("{file} of {who}"), (pid, file))));
            any(all, |(pid, file)| {
                if file == "mountinfo"
                    && fs::read(format!("/proc/{pid}/{file}"))? == fs::read("/proc/self/mountinfo")?
                {
                    return blocked("its own mounts");
                }
                some(pid, file)
            })
        },
    ),
    attempt("trace", "ptrace(2) with PTRACE_SEIZE", |s| {
        any(s.others(), |pid| {
            sys::trace(pid)?;
            through("")
        })
    }),
    attempt("pidfd of others", "pidfd_open(2)", |s| {
        any(s.strangers(), |pid| {
            opened(pid)?;
            through("")
        })
    }),
    attempt("take a descriptor", "pidfd_getfd(2)", |s| {
        any(s.others(), |pid| {
            let process = opened(pid)?;
            let number = if pid == s.victim { HELD_DESCRIPTOR } else { 0 };
            let taken = pidfd_getfd(&process, number, PidfdGetfdFlags::empty())?;
            if pid == s.victim {
                s.secret(&whole(&taken)?)
            } else {
                through("")
            }
        })
    }),
    attempt("compare with others", "kcmp(2)", |s| {
        any(s.others(), |pid| {
            sys::kcmp(
                rustix::process::getpid().as_raw_nonzero().get().into(),
                pid.into(),
                0,
                0,
                0,
            )?;
            through("")
        })
    }),
    attempt(
        "pages of others",
        "move_pages(2) and process_madvise(2)",
        |s| {
            let moved = sys::page_places(s.victim, s.address).map_err(Stopped::from);
            moved.or_else(|_| {
                sys::advise(opened(s.victim)?.as_fd(), s.address).map_err(Stopped::from)
            })?;
            through("")
        },
    ),
    attempt(
        "count what others do",
        "perf_event_open(2) on another process",
        |s| {
            any(s.others(), |pid| {
                sys::kernel::perf(pid)?;
                through("")
            })
        },
    ),
    attempt("free the memory of others", "process_mrelease(2)", |s| {
        any(s.others(), |pid| {
            // Of a process that is not ending it is EINVAL, after the question whether one may.
            match sys::process_mrelease(std::os::fd::AsRawFd::as_raw_fd(&opened(pid)?).into(), 0) {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) && pid == s.victim => {
                    not_possible("it lives")
                }
                Err(error) => Err(error.into()),
                Ok(_) => through(""),
            }
        })
    }),
    attempt(
        "list processes outside",
        "a process of the outer half in /proc",
        |s| {
            if s.own_processes()
                && !fs::read_dir("/proc")?
                    .flatten()
                    .any(|entry| entry.file_name() == s.victim.to_string().as_str())
            {
                return blocked("not listed");
            }
            s.secret(&fs::read(format!("/proc/{}/cmdline", s.victim))?)
        },
    ),
];

/// Through if such a file of a process has anything in it.
fn some(pid: i32, file: &str) -> Try {
    let length = File::open(format!("/proc/{pid}/{file}"))?.read(&mut [0; 64])?;
    if length == 0 {
        blocked("empty")
    } else {
        through(format!("{length} bytes"))
    }
}

fn elf(start: [u8; 4]) -> Try {
    if start == *b"\x7fELF" {
        through("its memory")
    } else {
        blocked(format!("{start:?}"))
    }
}

fn opened(pid: i32) -> Result<OwnedFd, Stopped> {
    let pid =
        Pid::from_raw(pid).ok_or_else(|| Stopped::NotPossible("no such process".to_owned()))?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

fn whole(file: &OwnedFd) -> Result<Vec<u8>, Stopped> {
    let mut bytes = vec![0; 256];
    let length = rustix::io::pread(file, &mut bytes[..], 0)?;
    bytes.truncate(length);
    Ok(bytes)
}
