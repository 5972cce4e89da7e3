//! Read ends of a command's output.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use replay_base::limits::PIPE_READ_BYTES;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::ExecError;
use super::poll::readable;

/// Time for which an ended command may hold its output pipes open, in milliseconds.
const DRAIN_MS: u64 = 100;
/// Most that a pipe holds without privileges, in bytes (`/proc/sys/fs/pipe-max-size`, pipe(7)).
const MAX_PIPE_BYTES: usize = 1024 * 1024;

/// End-of-input character of a terminal, at the beginning of a line (`VEOF`, termios(3)).
pub(super) const END_OF_INPUT: u8 = 4;

/// Creates a pipe: the read end is nonblocking, the command's write end blocks.
pub(super) fn output_pipe() -> Result<(OwnedFd, OwnedFd), ExecError> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(ExecError::follow)?;
    // Only our end: the writers have their own open file description and wait when the pipe is
    // full.
    rustix::io::ioctl_fionbio(&read, true).map_err(ExecError::follow)?;
    Ok((read, write))
}

/// Result of [`read_some`].
pub(super) enum Chunk {
    /// Number of bytes read.
    Bytes(usize),
    /// No data now.
    Nothing,
    /// End of the stream.
    End,
}

/// Reads once from a nonblocking pipe or terminal.
pub(super) fn read_some(from: impl AsFd, buffer: &mut [u8]) -> Result<Chunk, ExecError> {
    loop {
        return match rustix::io::read(&from, &mut *buffer) {
            // A terminal that no process holds open any more (pty(7)).
            Ok(0) | Err(Errno::IO) => Ok(Chunk::End),
            Ok(length) => Ok(Chunk::Bytes(length)),
            Err(Errno::AGAIN) => Ok(Chunk::Nothing),
            Err(Errno::INTR) => continue,
            Err(errno) => Err(ExecError::follow(errno)),
        };
    }
}

/// Standard output and standard error (`None` once at their end).
pub(super) struct Streams {
    open: [Option<OwnedFd>; 2],
    buffer: Vec<u8>,
}

impl Streams {
    pub(super) fn new(open: [Option<OwnedFd>; 2]) -> Self {
        Self {
            open,
            buffer: vec![0; PIPE_READ_BYTES],
        }
    }

    /// Replaces both streams by a terminal.
    pub(super) fn take_terminal(&mut self, terminal: OwnedFd) -> Result<(), ExecError> {
        rustix::io::ioctl_fionbio(&terminal, true).map_err(ExecError::follow)?;
        self.open = [Some(terminal), None];
        Ok(())
    }

    /// Returns the descriptor for typing, if this is a terminal.
    pub(super) fn terminal_input(&self, is_terminal: bool) -> Result<Option<OwnedFd>, ExecError> {
        let terminal = self.open[0].as_ref().filter(|_| is_terminal);
        terminal
            .map(OwnedFd::try_clone)
            .transpose()
            .map_err(ExecError::Follow)
    }

    /// Returns the descriptors to wait for.
    pub(super) fn waited(&self) -> [Option<BorrowedFd<'_>>; 2] {
        self.open
            .each_ref()
            .map(|open| open.as_ref().map(AsFd::as_fd))
    }

    /// Passes at most one buffer of a stream to `take`; returns the number of bytes.
    pub(super) fn read(
        &mut self,
        index: usize,
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<usize, ExecError> {
        let Some(open) = &self.open[index] else {
            return Ok(0);
        };
        match read_some(open, &mut self.buffer)? {
            Chunk::Bytes(length) => {
                take(index, &self.buffer[..length]);
                Ok(length)
            }
            Chunk::Nothing => Ok(0),
            Chunk::End => {
                self.open[index] = None;
                Ok(0)
            }
        }
    }

    /// Reads the remaining output of an ended command. Stops early only if a surviving process
    /// keeps writing or holds the streams open.
    pub(super) fn drain(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Result<(), ExecError> {
        let until = Instant::now() + Duration::from_millis(DRAIN_MS);
        let mut drained = 0;
        while self.open.iter().any(Option::is_some) {
            let got = self.read(0, take)? + self.read(1, take)?;
            drained += got;
            // The content of two full pipes is read however long that takes.
            if Instant::now() >= until && (got == 0 || drained > 2 * MAX_PIPE_BYTES) {
                break;
            }
            if got == 0 {
                readable(self.waited(), Some(until))?;
            }
        }
        Ok(())
    }
}
