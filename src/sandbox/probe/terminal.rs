//! Terminals of others.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

use replay_sys::attack::kernel;

use super::attempt::{Attempt, attempt};
use super::outcome::{Stopped, not_possible, through};
use super::stage::Stage;

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("controlling terminal", "open(2) of /dev/tty", |_| {
        OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        through("opened")
    }),
    attempt(
        "write to a terminal of others",
        "open(2) and write(2) of a pseudoterminal outside",
        |s| {
            terminal(s)?.write_all(b"through")?;
            through("written")
        },
    ),
    attempt("type into a terminal of others", "TIOCSTI on it", |s| {
        kernel::type_into(terminal(s)?.as_fd())?;
        through("typed")
    }),
    attempt(
        "take a terminal of others",
        "setsid(2) and TIOCSCTTY on it",
        |s| {
            let terminal = terminal(s)?;
            let _ = rustix::process::setsid();
            kernel::take_terminal(terminal.as_fd())?;
            kernel::type_into(terminal.as_fd())?;
            through("typed")
        },
    ),
    attempt(
        "type into standard streams",
        "TIOCSTI on descriptors 0, 1 and 2",
        |_| {
            kernel::type_into(std::io::stdin().as_fd())
                .or_else(|_| kernel::type_into(std::io::stdout().as_fd()))
                .or_else(|_| kernel::type_into(std::io::stderr().as_fd()))?;
            through("typed")
        },
    ),
    attempt(
        "type into an own terminal",
        "TIOCSTI on a new pseudoterminal, where it is allowed to have one",
        |_| own(|terminal| kernel::type_into(terminal.as_fd()).map(drop)),
    ),
    attempt(
        "type with other bits",
        "the same command with bits above the 32 that count",
        |_| own(|terminal| kernel::type_into_with_high_bits(terminal.as_fd()).map(drop)),
    ),
    attempt(
        "paste into a console",
        "TIOCLINUX on /dev/tty1 and on an own terminal",
        |_| {
            if let Ok(console) = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(libc::O_NOCTTY)
                .open("/dev/tty1")
            {
                kernel::paste_into(console.as_fd())?;
                return through("pasted");
            }
            own(|terminal| kernel::paste_into(terminal.as_fd()).map(drop))
        },
    ),
];

fn terminal(stage: &Stage) -> Result<File, Stopped> {
    let Some(path) = &stage.terminal else {
        return Err(Stopped::NotPossible("no pseudoterminals here".to_owned()));
    };
    Ok(OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open(path)?)
}

/// On a pseudoterminal of this process, made its controlling one.
fn own(act: impl Fn(&File) -> std::io::Result<()>) -> super::Try {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let Ok(master) = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC) else {
        return not_possible("no terminal of its own");
    };
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let name = name
        .to_str()
        .map_err(|_| Stopped::Held("a name that is no text".to_owned()))?;
    let terminal = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open(name)?;
    let _ = rustix::process::setsid();
    kernel::take_terminal(terminal.as_fd())?;
    let acted = act(&terminal);
    // Closing it would end this process, the leader of its session, before it can say how it went.
    std::mem::forget(master);
    acted?;
    through("typed")
}
