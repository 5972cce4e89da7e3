//! Stopping, ending and waking other processes. Last, since what ends the supervisor ends this
//! battery.

use std::io::Write as _;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use replay_sys::attack as sys;
use rustix::event::{Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal};

use super::attempt::{Attempt, attempt};
use super::outcome::{Stopped, Try, any, blocked, through};
use super::stage::Stage;

/// Continues who is not stopped: the harmless signal that needs the same right as the others, or
/// less.
const HARMLESS: i64 = libc::SIGCONT as i64;
const WINDOW: i64 = libc::SIGWINCH as i64;

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "kill",
        "kill(2) with nothing, and with signals that do nothing",
        |s| {
            any(s.strangers(), |pid| {
                sys::kill(pid.into(), 0)
                    .or_else(|_| sys::kill(pid.into(), HARMLESS))
                    .or_else(|_| sys::kill(pid.into(), WINDOW))?;
                through("")
            })
        },
    ),
    attempt("kill a thread", "tkill(2) and tgkill(2)", |s| {
        any(s.strangers(), |pid| {
            sys::tkill(pid.into(), WINDOW)
                .or_else(|_| sys::tgkill(pid.into(), pid.into(), WINDOW))?;
            through("")
        })
    }),
    attempt(
        "kill a group",
        "kill(2) of the server's process group",
        |s| {
            any(s.strangers(), |pid| {
                sys::kill(-i64::from(pid), WINDOW)?;
                through("")
            })
        },
    ),
    attempt("signal by pidfd", "pidfd_send_signal(2)", |s| {
        any(s.strangers(), |pid| {
            let pid = Pid::from_raw(pid)
                .ok_or_else(|| Stopped::NotPossible("no such process".to_owned()))?;
            pidfd_send_signal(pidfd_open(pid, PidfdFlags::empty())?, Signal::WINCH)?;
            through("")
        })
    }),
    attempt(
        "queue a signal",
        "rt_sigqueueinfo(2) and rt_tgsigqueueinfo(2)",
        |s| {
            any(s.strangers(), |pid| {
                sys::queue_signal(pid, libc::SIGWINCH, false)
                    .or_else(|_| sys::queue_signal(pid, libc::SIGWINCH, true))?;
                through("")
            })
        },
    ),
    attempt(
        "signal on input",
        "F_SETOWN and F_SETSIG, so that the kernel sends SIGKILL by itself",
        |s| {
            let (reader, mut writer) = UnixStream::pair()?;
            sys::signal_on_input(reader.as_fd(), s.target, libc::SIGKILL)?;
            writer.write_all(b"x")?;
            blocked("arranged; whether it came shows outside")
        },
    ),
    attempt(
        "end a bystander",
        "SIGKILL to a process of the same user",
        |s| {
            sys::kill(s.target.into(), libc::SIGKILL.into())?;
            through("")
        },
    ),
    attempt(
        "signal the supervisor",
        "every signal to the process above this one, SIGKILL and SIGSTOP last",
        |s| {
            let pid = i64::from(s.supervisor);
            let mut refused = None;
            for signal in (1..=64).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
            {
                if let Err(error) = sys::kill(pid, signal.into()) {
                    refused.get_or_insert(error);
                }
            }
            for signal in [libc::SIGSTOP, libc::SIGKILL] {
                if let Err(error) = sys::kill(pid, signal.into()) {
                    refused.get_or_insert(error);
                }
            }
            unharmed(s, refused)
        },
    ),
];

/// Checks that the supervisor and its commands are still there. Without the supervisor this process
/// may end before it can report.
fn unharmed(stage: &Stage, refused: Option<std::io::Error>) -> Try {
    // A supervisor that ends takes this process along at once; one that was stopped shows in its
    // state.
    let pause = Timespec::try_from(Duration::from_millis(200)).unwrap_or(Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    });
    let _ = poll(&mut [], Some(&pause));
    let status =
        std::fs::read_to_string(format!("/proc/{}/stat", stage.supervisor)).unwrap_or_default();
    let state = status
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    if matches!(state, Some('T' | 'Z' | 'X')) {
        return through(format!("it is in state {state:?}"));
    }
    if getppid().is_none() {
        return through("it is gone");
    }
    match refused {
        Some(error) => Err(error.into()),
        None => blocked("the signals had no effect"),
    }
}
