//! A real server as a child process, and the lines between it and the client.
#![expect(
    clippy::disallowed_methods,
    reason = "the operator's own server is started, as he would start it"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{Context as _, Result, bail};
use replay_base::limits::MAX_LINE_BYTES;
use replay_mock::{Proxy, ServerInput};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::commands::process::interruptible;

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
            while let Some(line) = next_line(&mut lines) {
                if let Err(error) = sent.from_client(line, &server) {
                    tracing::warn!("a message was not passed to the server: {error}");
                    return;
                }
            }
            sent.client_ended();
        })?;
    let received = Arc::clone(proxy);
    let answers = thread::Builder::new()
        .name("server".to_owned())
        .spawn(move || {
            let mut lines = BufReader::new(from_server);
            while let Some(line) = next_line(&mut lines) {
                if !received.from_server(&line) {
                    break;
                }
            }
            // Closed before the wait: a server whose client is gone must notice.
            drop(lines);
            received.server_ended()
        })?;
    let mut fds = [
        PollFd::new(&pidfd, PollFlags::IN),
        PollFd::from_borrowed_fd(signals, PollFlags::IN),
    ];
    while let Err(rustix::io::Errno::INTR) = poll(&mut fds, None) {}
    if !fds[1].revents().is_empty() {
        // The server may have ended in the meantime.
        let _ = pidfd_send_signal(&pidfd, Signal::TERM);
    }
    let status = child.wait().context("the server cannot be waited for")?;
    // Wait for the last output of the server. A server killed by a signal may leave children that
    // hold the pipe, so do not wait then.
    if status.code().is_some()
        && let Ok(unanswered @ 1..) = answers.join()
    {
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
