//! Pseudoterminals for commands.

use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::fault::{Fault, StepContext};

/// Opens a pseudoterminal of this size: slave, then master. Neither becomes this process's
/// controlling terminal.
pub(crate) fn open(rows: u16, columns: u16) -> Result<(OwnedFd, OwnedFd), Fault> {
    let server = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
        .step("open /dev/ptmx")?;
    unlockpt(&server).step("unlock the terminal")?;
    tcsetwinsize(
        &server,
        Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        },
    )
    .step("size of the terminal")?;
    let program = ioctl_tiocgptpeer(
        &server,
        OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC,
    )
    .step("open the terminal")?;
    Ok((program, server))
}
