//! Logs: output of programs that no reply holds in full. In memory or in unlinked files, limited in
//! size, gone with the server.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Captured;
use super::output::CapturedLog;

/// Logs that are kept.
const MAX_LOGS: usize = 64;
/// Bytes of logs that are kept in all.
const MAX_LOGS_BYTES: usize = 32 * 1024 * 1024;
/// Largest part of a test run's log that is kept, in bytes: its beginning and its end.
const MAX_LOG_BYTES: usize = 4 * 1024 * 1024;

/// Prefix of the URIs of logs.
pub const LOGS: &str = "replay://logs/";

/// The output of one program.
#[derive(Debug, PartialEq, Eq)]
pub struct Log {
    pub uri: String,
    /// File name of the log.
    pub name: String,
    pub kept: CapturedLog,
}

/// The logs of a server.
#[derive(Debug, Default)]
pub struct Logs(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    /// Logs, oldest first.
    logs: VecDeque<Arc<Log>>,
}

impl Logs {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The protected value is consistent at any point, also after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all logs. Ids are not reused.
    pub fn clear(&self) {
        self.lock().logs.clear();
    }

    /// Adds the output of a tool's program; the oldest logs are removed to make room.
    pub fn keep(&self, tool: &str, kept: CapturedLog) -> Arc<Log> {
        let mut inner = self.lock();
        inner.last_id += 1;
        let name = format!("{tool}-{}.log", inner.last_id);
        let log = Arc::new(Log {
            uri: format!("{LOGS}{name}"),
            name,
            kept,
        });
        inner.logs.push_back(Arc::clone(&log));
        let mut bytes: usize = inner.logs.iter().map(|log| log.kept.len()).sum();
        // Both streams of one command are kept.
        while (inner.logs.len() > MAX_LOGS || bytes > MAX_LOGS_BYTES && inner.logs.len() > 2)
            && let Some(oldest) = inner.logs.pop_front()
        {
            bytes -= oldest.kept.len();
        }
        log
    }

    /// Adds a command with the beginning and end of its two streams.
    pub fn keep_run(
        &self,
        tool: &str,
        command: &str,
        stdout: &Captured,
        stderr: &Captured,
    ) -> Arc<Log> {
        // Writing to a String cannot fail.
        let mut text = format!("$ {command}\n");
        for (name, stream) in [("stdout", stdout), ("stderr", stderr)] {
            let _ = writeln!(text, "[{name}: {} bytes]", stream.total_bytes);
            text.push_str(&ends(&stream.text(), MAX_LOG_BYTES / 2));
            if !text.ends_with('\n') {
                text.push('\n');
            }
            if stream.truncated {
                let _ = writeln!(
                    text,
                    "[only the first {} bytes were stored]",
                    stream.bytes.len()
                );
            }
        }
        self.keep(tool, text.into_bytes().into())
    }

    /// Returns all logs, oldest first.
    pub fn all(&self) -> Vec<Arc<Log>> {
        self.lock().logs.iter().cloned().collect()
    }

    /// Returns the log with this URI and the start offset in bytes: `?offset=BYTE` behind the name.
    pub fn find_from(&self, uri: &str) -> Option<(Arc<Log>, usize)> {
        let (uri, offset) = uri
            .split_once("?offset=")
            .map_or((uri, Some(0)), |(uri, at)| (uri, at.parse().ok()));
        let log = self.find(uri)?;
        offset
            .filter(|offset| *offset <= log.kept.len())
            .map(|offset| (log, offset))
    }

    /// Returns the log with this URI.
    pub fn find(&self, uri: &str) -> Option<Arc<Log>> {
        self.lock().logs.iter().find(|log| log.uri == uri).cloned()
    }
}

/// Returns the text, shortened to its beginning and end with the number of omitted bytes between.
fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 4);
    let tail = text.ceil_char_boundary(text.len() - (most - most / 4));
    format!(
        "{}\n[{} bytes left out]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_log_removes_oldest() {
        let kept = Logs::default();
        for run in 0..MAX_LOGS + 2 {
            kept.keep_run(
                "run_tests",
                "x",
                &Captured::whole(run.to_string().into()),
                &Captured::default(),
            );
        }
        let logs = kept.all();
        assert_eq!(
            (logs.len(), logs[0].uri.as_str()),
            (MAX_LOGS, "replay://logs/run_tests-3.log")
        );
        assert_eq!(
            logs[0].kept.bytes,
            b"$ x\n[stdout: 1 bytes]\n2\n[stderr: 0 bytes]\n"
        );
        assert!(kept.find("replay://logs/run_tests-2.log").is_none());
        assert_eq!(kept.find(&logs[1].uri).as_ref(), Some(&logs[1]));
        let large = Captured::whole(vec![b'x'; MAX_LOG_BYTES]);
        for _ in 0..MAX_LOGS {
            kept.keep_run("run_tests", "x", &large, &large);
        }
        assert!(kept.all().iter().map(|log| log.kept.len()).sum::<usize>() <= MAX_LOGS_BYTES);
    }

    #[test]
    fn long_log_keeps_beginning_and_end() {
        assert_eq!(ends("äbcdefgh", 8), "ä\n[1 bytes left out]\ncdefgh");
        assert_eq!(ends("abcdefgh", 8), "abcdefgh");
    }
}
