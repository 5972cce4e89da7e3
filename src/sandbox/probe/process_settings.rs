//! Settings of other processes, and of this one beyond what it was given.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use replay_sys::attack as sys;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use super::attempt::{Attempt, attempt};
use super::outcome::{Stopped, any, blocked, not_possible, through};

const PRIO_PROCESS: i64 = 0;
const IOPRIO_WHO_PROCESS: i64 = 1;

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "limits of others",
        "prlimit(2), to the limits that they have",
        |s| {
            any(s.others(), |pid| {
                // An old value given back as the new one changes nothing.
                let wanted = Rlimit {
                    current: Some(1024),
                    maximum: Some(1024),
                };
                let old = prlimit(Some(process_id(pid)?), Resource::Core, wanted)?;
                prlimit(Some(process_id(pid)?), Resource::Core, old)?;
                through("")
            })
        },
    ),
    attempt("priority of others", "setpriority(2)", |s| {
        any(s.others(), |pid| {
            sys::setpriority(PRIO_PROCESS, pid.into(), 1)?;
            through("")
        })
    }),
    attempt("scheduling of others", "sched_setscheduler(2)", |s| {
        any(s.others(), |pid| {
            sys::make_batch(pid)?;
            through("")
        })
    }),
    attempt(
        "processors of others",
        "sched_setaffinity(2), to those that they have",
        |s| {
            any(s.others(), |pid| {
                let processors = rustix::thread::sched_getaffinity(Some(process_id(pid)?))?;
                rustix::thread::sched_setaffinity(Some(process_id(pid)?), &processors)?;
                through("")
            })
        },
    ),
    attempt(
        "disk priority of others",
        "ioprio_set(2), to the one that they have",
        |s| {
            any(s.others(), |pid| {
                let priority = sys::ioprio_get(IOPRIO_WHO_PROCESS, pid.into())?;
                sys::ioprio_set(IOPRIO_WHO_PROCESS, pid.into(), priority)?;
                through("")
            })
        },
    ),
    attempt(
        "priority of everything of the user",
        "setpriority(2) with PRIO_USER",
        |_| {
            const PRIO_USER: i64 = 2;
            sys::setpriority(PRIO_USER, rustix::process::getuid().as_raw().into(), 0)?;
            through("")
        },
    ),
    attempt("process group of others", "setpgid(2)", |s| {
        any(s.others(), |pid| {
            sys::setpgid(pid.into(), 0)?;
            through("")
        })
    }),
    attempt(
        "settings of others in procfs",
        "oom_score_adj, comm, coredump_filter, timerslack_ns, clear_refs",
        |s| {
            let files = [
                "oom_score_adj",
                "comm",
                "coredump_filter",
                "timerslack_ns",
                "clear_refs",
                "setgroups",
            ];
            let all = s
                .others()
                .into_iter()
                .flat_map(|(who, pid)| files.map(|file| (format!("{file} of {who}"), (pid, file))));
            any(all, |(pid, file)| {
                OpenOptions::new()
                    .write(true)
                    .open(format!("/proc/{pid}/{file}"))?;
                through("opened")
            })
        },
    ),
    attempt(
        "own likelihood to be ended",
        "/proc/self/oom_score_adj below what was given",
        |_| {
            let path = Path::new("/proc/self/oom_score_adj");
            let before: i32 = fs::read_to_string(path)?
                .trim()
                .parse()
                .map_err(|_| Stopped::Held("unreadable".to_owned()))?;
            let mut options = OpenOptions::new();
            let mut file = options.read(true).write(true).open(path)?;
            write!(file, "{}", before - 1)?;
            let mut after = String::new();
            file.rewind()?;
            file.read_to_string(&mut after)?;
            if after.trim() == before.to_string() {
                blocked("unchanged")
            } else {
                through(format!("{before} to {after}"))
            }
        },
    ),
    attempt("own limits", "setrlimit(2) above the hard limit", |_| {
        let kinds = [
            ("open files", Resource::Nofile),
            ("processes", Resource::Nproc),
            ("core", Resource::Core),
        ];
        any(kinds.map(|(name, kind)| (name.to_owned(), kind)), |kind| {
            let now = getrlimit(kind);
            let Some(maximum) = now.maximum else {
                return not_possible("no limit");
            };
            setrlimit(
                kind,
                Rlimit {
                    current: now.current,
                    maximum: Some(maximum + 1),
                },
            )?;
            through("")
        })
    }),
    attempt("core dumps", "whether the limit is anything but 0", |_| {
        let limit = getrlimit(Resource::Core);
        if limit.current == Some(0) && limit.maximum == Some(0) {
            blocked("0")
        } else {
            through(format!("{limit:?}"))
        }
    }),
    attempt(
        "real-time priority",
        "sched_setscheduler(2) to SCHED_FIFO, and nice below 0",
        |_| {
            sys::make_real_time().or_else(|_| sys::setpriority(PRIO_PROCESS, 0, -1))?;
            through("")
        },
    ),
];

fn process_id(pid: i32) -> Result<Pid, Stopped> {
    Pid::from_raw(pid).ok_or_else(|| Stopped::NotPossible("no such process".to_owned()))
}
