//! A real server as a child process, and the lines between it and the client.
#![expect(
    clippy::disallowed_methods,
    reason = "the operator's own server is started, as he would start it"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use replay_base::limits::MAX_LINE_BYTES;
use replay_mock::{Proxy, ServerInput};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::commands::process::interruptible;

/// Wait for the output of a server that a signal has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// Starts a server and passes lines between it and a client. Ends with the server, or at a signal.
/// Returns the exit status of the server.
pub(super) fn pass_lines(
    target: &str,
    proxy: &Arc<Proxy>,
    from_client: File,
    signals: BorrowedFd<'_>,
) -> Result<u8> {
    let (mut child, to_server, from_server) = start(target, false)?;
    let pid = Pid::from_child(&child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).context("the server cannot be watched")?;
    let sent = Arc::clone(proxy);
    // This thread is not joined, since the client may keep writing after the server's end.
    thread::Builder::new()
        .name("client".to_owned())
        .spawn(move || {
            let server: ServerInput = Arc::new(Mutex::new(Box::new(to_server)));
            let mut lines = BufReader::new(from_client);
            let mut is_rest = false;
            while let Some(line) = next_line(&mut lines) {
                let was_rest = std::mem::replace(&mut is_rest, !line.ends_with(b"\n"));
                let passed = if was_rest {
                    server
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .write_all(&line)
                } else {
                    sent.from_client(line, &server)
                };
                if let Err(error) = passed {
                    tracing::warn!("a message was not passed to the server: {error}");
                    return;
                }
            }
            sent.client_ended();
        })?;
    let received = Arc::clone(proxy);
    let (over, answers) = channel();
    thread::Builder::new()
        .name("server".to_owned())
        .spawn(move || {
            let mut lines = BufReader::new(from_server);
            let mut is_rest = false;
            while let Some(line) = next_line(&mut lines) {
                let was_rest = std::mem::replace(&mut is_rest, !line.ends_with(b"\n"));
                let is_read = if was_rest {
                    received.rest_from_server(&line)
                } else {
                    received.from_server(&line)
                };
                if !is_read {
                    break;
                }
            }
            // Closed before the wait: a server whose client is gone must notice.
            drop(lines);
            // Without a receiver nobody waits.
            let _ = over.send(received.server_ended());
        })?;
    // The second signal ends a server that ignores the first one.
    for signal in [Signal::TERM, Signal::KILL] {
        let mut fds = [
            PollFd::new(&pidfd, PollFlags::IN),
            PollFd::from_borrowed_fd(signals, PollFlags::IN),
        ];
        while let Err(rustix::io::Errno::INTR) = poll(&mut fds, None) {}
        if !fds[0].revents().is_empty() {
            break;
        }
        // It may have ended in the meantime.
        let _ = rustix::io::read(signals, &mut [0_u8; 128]);
        let _ = pidfd_send_signal(&pidfd, signal);
    }
    let status = child.wait().context("the server cannot be waited for")?;
    // The last output of the server. One killed by a signal may leave children that hold the pipe.
    let wait = match status.code() {
        Some(_) => Duration::MAX,
        None => LAST_OUTPUT,
    };
    if let Ok(unanswered @ 1..) = answers.recv_timeout(wait) {
        tracing::warn!("the server ended ({status}); unanswered requests: {unanswered}");
    }
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1))
}

/// Starts a server with /bin/sh.
pub(super) fn start(target: &str, own_group: bool) -> Result<(Child, ChildStdin, ChildStdout)> {
    if super::is_url(target) {
        bail!(
            "--target takes the command of a server on stdin and stdout here, for /bin/sh, and `{target}` \
             is a URL; only `replay mock proxy` takes a URL"
        );
    }
    let mut command = Command::new("/bin/sh");
    if own_group {
        command.process_group(0);
    }
    command.args(["-c", target]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // A child inherits the blocked signals.
    let mut child = interruptible(|| command.spawn())
        .with_context(|| format!("`{target}` cannot be started"))?;
    let stdin = child.stdin.take().context("the server has no stdin")?;
    let stdout = child.stdout.take().context("the server has no stdout")?;
    Ok((child, stdin, stdout))
}

/// Reads a line with its newline, or a part of one that exceeds the message limit. `None` at the
/// end.
pub(super) fn next_line(lines: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut bounded = lines.take(MAX_LINE_BYTES as u64);
    let read = bounded.read_until(b'\n', &mut line);
    if read.is_ok() && line.len() == MAX_LINE_BYTES {
        tracing::warn!(
            "a message of more than {MAX_LINE_BYTES} bytes is not recorded, and gets no fault"
        );
    }
    match read {
        Ok(1..) => Some(line),
        _ => None,
    }
}
