//! Reader: parses untrusted bytes in a sandboxed process.
//!
//! This program is started again with the file as its standard input. It enters its sandbox before
//! it reads a byte (`sandbox::enclose`) and sends its result through a pipe. It needs no launcher,
//! so it works where commands are off.
#![expect(
    clippy::disallowed_methods,
    reason = "exec starts processes: this program is started again, by its own file"
)]

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_FAULT_BYTES;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use thiserror::Error;

use super::poll::readable;
use crate::enclose;

/// Memory of the reader program itself, in bytes.
const READER_OWN_MEMORY_BYTES: usize = 16 * 1024 * 1024;
/// Limit of a reader's processor time, in seconds.
const READER_CPU_SECS: u64 = 20;
/// Timeout for a reader's answer, in seconds.
const READER_TIMEOUT_SECS: u64 = 50;

/// First argument that makes this program a reader. Only the server uses it.
pub const READER_ARGUMENT: &str = "__reader";

/// Resource limits of one reader.
#[derive(Clone, Copy, Debug)]
pub struct ReaderLimits {
    /// Memory in addition to what the program itself needs.
    pub memory_bytes: usize,
    /// Maximum size of the file.
    pub file_bytes: usize,
    /// Maximum size of the answer.
    pub answer_bytes: usize,
}

/// Reason for a missing answer.
#[derive(Debug, Error)]
pub enum ReaderError {
    #[error("the helper process that reads it cannot be started: {0}")]
    Start(#[source] io::Error),
    #[error("the helper process that reads it cannot be sandboxed: {0}")]
    Unwalled(String),
    #[error("the helper process that reads it failed: {0}")]
    Failed(String),
    #[error(
        "reading takes more than {READER_CPU_SECS} s of CPU time, or {READER_TIMEOUT_SECS} s in \
         all"
    )]
    TooSlow,
    #[error("its content is more than {0} bytes")]
    TooLong(usize),
    #[error("the call was cancelled")]
    Cancelled,
}

/// First byte of a reader's output: an answer follows.
const ANSWER: u8 = b'=';
const UNWALLED: u8 = b'!';
const FAILED: u8 = b'?';

/// Returns a reader's answer to a question about a regular file. The callers define question and
/// answer. They must validate the answer like an argument: the author of the file may control it.
pub fn read_apart(
    file: BorrowedFd<'_>,
    question: &str,
    limits: ReaderLimits,
    cancel: &CancelToken,
) -> Result<Vec<u8>, ReaderError> {
    let ReaderLimits {
        memory_bytes,
        file_bytes,
        answer_bytes,
    } = limits;
    let numbers = [
        std::process::id() as usize,
        memory_bytes + READER_OWN_MEMORY_BYTES,
        file_bytes,
    ];
    let start = || {
        let (here, there) = pipe_with(PipeFlags::CLOEXEC)?;
        let child = Command::new("/proc/self/exe")
            .arg(READER_ARGUMENT)
            .args(numbers.map(|number| number.to_string()))
            .arg(question)
            .env_clear()
            .stdin(Stdio::from(file.try_clone_to_owned()?))
            .stdout(Stdio::from(there))
            .spawn()?;
        io::Result::Ok((here, Running(child)))
    };
    let (here, mut running) = start().map_err(ReaderError::Start)?;
    let mut said = Vec::new();
    receive_answer(&here, &mut said, answer_bytes, cancel)?;
    // The reader cannot close its streams, so this is its end.
    let status = running.0.wait().map_err(ReaderError::Start)?;
    match said.first().filter(|_| status.success()) {
        Some(&ANSWER) => {
            said.remove(0);
            Ok(said)
        }
        Some(&UNWALLED) => Err(ReaderError::Unwalled(printable_line(&said))),
        Some(&FAILED) => Err(ReaderError::Failed(printable_line(&said))),
        _ => Err(exit_error(status)),
    }
}

/// Returns untrusted text without control characters, limited in length.
fn printable_line(said: &[u8]) -> String {
    String::from_utf8_lossy(&said[1..])
        .chars()
        .filter(|next| !next.is_control())
        .take(MAX_FAULT_BYTES)
        .collect()
}

fn receive_answer(
    here: &OwnedFd,
    said: &mut Vec<u8>,
    most: usize,
    cancel: &CancelToken,
) -> Result<(), ReaderError> {
    let until = Instant::now() + Duration::from_secs(READER_TIMEOUT_SECS);
    let fault = |errno: Errno| ReaderError::Start(errno.into());
    let wake = cancel.wake_fd().map_err(fault)?;
    loop {
        let news = readable([Some(here.as_fd()), Some(wake)], Some(until));
        let [has_news, _] = news.map_err(|error| ReaderError::Start(io::Error::other(error)))?;
        if cancel.is_cancelled() {
            return Err(ReaderError::Cancelled);
        }
        if !has_news && Instant::now() >= until {
            return Err(ReaderError::TooSlow);
        }
        if has_news {
            said.reserve(64 * 1024);
            match rustix::io::read(here, spare_capacity(said)) {
                Ok(0) => return Ok(()),
                // The first byte is not part of the answer.
                Ok(_) if said.len() > most + 1 => return Err(ReaderError::TooLong(most)),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(fault(errno)),
            }
        }
    }
}

fn exit_error(status: ExitStatus) -> ReaderError {
    match status.signal() {
        Some(libc::SIGXCPU) => ReaderError::TooSlow,
        Some(libc::SIGSYS) => {
            ReaderError::Failed("it made a forbidden system call, or was out of memory".to_owned())
        }
        Some(signal) => ReaderError::Failed(format!("it crashed (signal {signal})")),
        None => ReaderError::Failed(format!("it ended with {status}")),
    }
}

/// A running reader. Dropping this kills it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // No effect on a process that was waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Main function of a reader. `words` are the arguments after the first; `answer` does the work.
pub fn serve_reader(
    words: impl Iterator<Item = OsString>,
    answer: impl FnOnce(&str, Vec<u8>) -> Vec<u8>,
) -> ExitCode {
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let [parent, memory, most, question] = &words[..] else {
        return ExitCode::FAILURE;
    };
    let parent = parent.parse().ok().and_then(Pid::from_raw);
    let (Some(parent), Ok(memory), Ok(most)) = (parent, memory.parse(), most.parse()) else {
        return ExitCode::FAILURE;
    };
    set_hook(Box::new(|_| {}));
    let said = match enclose(parent, memory, READER_CPU_SECS) {
        Err(fault) => [&[UNWALLED], fault.to_string().as_bytes()].concat(),
        Ok(()) => match read_input(most)
            .map(|content| catch_unwind(AssertUnwindSafe(|| answer(question, content))))
        {
            Ok(Ok(answer)) => [&[ANSWER], &answer[..]].concat(),
            Ok(Err(_)) => [&[FAILED][..], b"it panicked"].concat(),
            Err(errno) => [&[FAILED], errno.to_string().as_bytes()].concat(),
        },
    };
    if write_answer(&said).is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Reads the file, up to the maximum size.
fn read_input(most: usize) -> Result<Vec<u8>, Errno> {
    let mut content = Vec::with_capacity(64 * 1024);
    loop {
        content.reserve(64 * 1024);
        let offset = content.len() as u64;
        match rustix::io::pread(rustix::stdio::stdin(), spare_capacity(&mut content), offset) {
            Ok(0) => return Ok(content),
            Ok(_) if content.len() > most => return Err(Errno::FBIG),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn write_answer(mut said: &[u8]) -> Result<(), Errno> {
    while !said.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), said) {
            Ok(length) => said = &said[length..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
