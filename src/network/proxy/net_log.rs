//! `--net-log`: writes one line of JSON for each decision about a connection.
//!
//! A separate thread writes, so no connection waits for a disk. Entries that the thread cannot
//! write in time are dropped, counted, and reported in the log.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::SystemTime;

use replay_base::limits::MAX_AUDIT_REASON_BYTES;
use replay_base::text::escape::harmless;
use serde::Serialize;

use super::watching::{Decision, Origin, Ruling, Watcher};
use replay_network::rules::Transport;

/// Lines of the log of connections that wait to be written; further ones are lost, and counted.
const MAX_NET_LOG_WAITING: usize = 4096;

pub struct NetLog {
    /// `None` when it ends.
    give: Mutex<Option<SyncSender<Vec<u8>>>>,
    lost: Arc<AtomicU64>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Serialize)]
struct LogLine<'a> {
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    command: &'a str,
    program: String,
    /// Transport, unless TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    host: &'a str,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    /// Operator's proxy that leads there.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// Entry that reports dropped decisions.
#[derive(Serialize)]
struct LostEntries {
    at: String,
    lost: u64,
}

impl std::fmt::Debug for NetLog {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("NetLog")
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}

impl NetLog {
    /// Writes to the end of this file, which is open for appending.
    pub fn start(file: File) -> io::Result<Self> {
        let (give, taken) = sync_channel(MAX_NET_LOG_WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        let writer = Builder::new()
            .name("net log".to_owned())
            .spawn(move || write(file, &taken, &counted))?;
        Ok(Self {
            give: Mutex::new(Some(give)),
            lost,
            writer: Some(writer),
        })
    }
}

impl Watcher for NetLog {
    fn decided(&self, origin: &Origin, decision: &Decision<'_>) {
        let caller = origin.caller.as_deref();
        let (word, why) = match decision.ruling {
            Ruling::Allowed => ("allowed", None),
            Ruling::Blocked(why) => ("blocked", why),
        };
        let line = line(&LogLine {
            at: now(),
            client: caller.map(|caller| &*caller.client),
            session: caller.and_then(|caller| caller.session.as_deref()),
            call: caller.map(|caller| caller.call),
            command: &origin.title,
            program: decision.by.to_string(),
            transport: (decision.transport == Transport::Udp).then_some("udp"),
            host: &decision.host[..decision.host.floor_char_boundary(MAX_AUDIT_REASON_BYTES)],
            port: decision.port,
            asked: decision.asked,
            address: decision
                .address
                .filter(|_| decision.host.parse::<IpAddr>().is_err()),
            decision: word,
            rule: decision.rule,
            via: decision.via,
            why: why.map(|why| &why[..why.floor_char_boundary(MAX_AUDIT_REASON_BYTES)]),
        });
        let give = self.give.lock().unwrap_or_else(PoisonError::into_inner);
        if give
            .as_ref()
            .is_none_or(|give| give.try_send(line).is_err())
        {
            self.lost.fetch_add(1, Relaxed);
        }
    }
}

/// Waits until all queued entries are written.
impl Drop for NetLog {
    fn drop(&mut self) {
        *self.give.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn now() -> String {
    humantime::format_rfc3339_micros(SystemTime::now()).to_string()
}

fn line(what: &impl Serialize) -> Vec<u8> {
    // It holds nothing that JSON does not.
    let line = serde_json::to_string(what).unwrap_or_default();
    let mut line = harmless(&line).into_owned().into_bytes();
    line.push(b'\n');
    line
}

fn write(mut file: File, taken: &Receiver<Vec<u8>>, lost: &AtomicU64) {
    let mut is_failing = false;
    while let Ok(line) = taken.recv() {
        let uncounted = lost.swap(0, Relaxed);
        let before = if uncounted > 0 {
            self::line(&LostEntries {
                at: now(),
                lost: uncounted,
            })
        } else {
            Vec::new()
        };
        let written = file.write_all(&[before, line].concat());
        if written.is_err() {
            lost.fetch_add(uncounted + 1, Relaxed);
        }
        if let (Err(error), false) = (&written, is_failing) {
            tracing::error!("the log of connections cannot be written now and has a gap: {error}");
        }
        is_failing = written.is_err();
    }
    let uncounted = lost.load(Relaxed);
    if uncounted > 0 {
        // If this fails, the reason is already on stderr.
        let _ = file.write_all(&self::line(&LostEntries {
            at: now(),
            lost: uncounted,
        }));
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use replay_sandbox::exec::ProgramName;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn slow_log_drops_and_counts_entries() {
        let (reader, writer) = std::io::pipe().unwrap();
        let log = NetLog::start(File::from(std::os::fd::OwnedFd::from(writer))).unwrap();
        // Nobody reads meanwhile, so the pipe is full long before the end.
        let all = 4 * MAX_NET_LOG_WAITING as u64;
        for _ in 0..all {
            let decision = Decision {
                by: ProgramName::default(),
                transport: Transport::Tcp,
                host: "example.com",
                port: 443,
                asked: None,
                address: None,
                rule: None,
                via: None,
                ruling: Ruling::Blocked(Some("a reason")),
            };
            log.decided(&Origin::default(), &decision);
        }
        let read = std::thread::spawn(move || std::io::read_to_string(reader).unwrap());
        drop(log);
        let text = read.join().unwrap();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let (counts, mut lines): (Vec<Value>, Vec<Value>) =
            lines.partition(|line| line["lost"].is_u64());
        let lost: u64 = counts.iter().filter_map(|line| line["lost"].as_u64()).sum();
        assert!(lost > 0);
        assert_eq!(lines.len() as u64 + lost, all);
        lines[0]["at"] = Value::Null;
        let expected = json!({
            "at": null, "program": "", "host": "example.com", "port": 443, "decision": "blocked", "why": "a reason"
        });
        assert_eq!(lines[0], expected);
    }
}
