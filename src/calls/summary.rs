//! What a set holds, a line for each kind of call: how often, how long.

use std::fmt::Write as _;
use std::time::Duration;

use crate::record::{Exchange, Protocol, describe};

/// One kind of call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The protocol's name.
    pub protocol: &'static str,
    /// Where it went.
    pub target: String,
    /// What was asked.
    pub call: String,
    /// How often.
    pub times: usize,
    /// How long all of them took together.
    pub took: Duration,
    /// How long the longest one took.
    pub longest: Duration,
}

/// All of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// In the order in which each was called first.
    pub lines: Vec<Line>,
    /// All calls.
    pub calls: usize,
    /// From the first byte of the first call to the last byte of the last answer.
    pub took: Duration,
}

impl Summary {
    /// Of these calls.
    pub fn of(exchanges: &[Exchange]) -> Self {
        let mut lines: Vec<Line> = Vec::new();
        for exchange in exchanges {
            let took = exchange.answered_at.duration_since(exchange.sent_at).unwrap_or_default();
            let (protocol, target, call) =
                (name(exchange.content.protocol()), exchange.target.to_string(), describe(exchange));
            let known = |line: &&mut Line| line.protocol == protocol && line.target == target && line.call == call;
            match lines.iter_mut().find(known) {
                Some(line) => {
                    line.times += 1;
                    line.took += took;
                    line.longest = line.longest.max(took);
                }
                None => lines.push(Line { protocol, target, call, times: 1, took, longest: took }),
            }
        }
        let begin = exchanges.iter().map(|exchange| exchange.sent_at).min();
        let end = exchanges.iter().map(|exchange| exchange.answered_at).max();
        let took = begin.zip(end).and_then(|(begin, end)| end.duration_since(begin).ok()).unwrap_or_default();
        Self { lines, calls: exchanges.len(), took }
    }

    /// Names of the protocols, each once, in the order in which they were spoken first.
    pub fn protocols(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for line in &self.lines {
            if !names.contains(&line.protocol) {
                names.push(line.protocol);
            }
        }
        names
    }
}

/// A protocol's name for people and in replies.
pub fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http => "HTTP",
        Protocol::Grpc => "gRPC",
        Protocol::Dns => "DNS",
        Protocol::Postgres => "Postgres",
        Protocol::MySql => "MySQL",
        Protocol::Redis => "Redis",
        Protocol::Mongo => "MongoDB",
        Protocol::Generic => "Generic",
    }
}

/// The lines as a table for a terminal.
pub fn table(summary: &Summary) -> String {
    const HEAD: [&str; 6] = ["protocol", "target", "times", "mean", "longest", "call"];
    let mut rows = vec![HEAD.map(str::to_owned)];
    for line in &summary.lines {
        rows.push([
            line.protocol.to_owned(),
            line.target.clone(),
            line.times.to_string(),
            milliseconds(line.took / u32::try_from(line.times).unwrap_or(u32::MAX)),
            milliseconds(line.longest),
            line.call.clone(),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    let mut text = String::new();
    for row in &rows {
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Numbers stand at the right.
            let _ = if column < 2 { write!(text, "{cell:<width$}  ") } else { write!(text, "{cell:>width$}  ") };
        }
        let _ = writeln!(text, "{}", row[5]);
    }
    text
}

/// Such as `12.3 ms`.
pub(super) fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::record::{Content, Dns, Target};

    fn asked(name: &str, at_ms: u64, took_ms: u64) -> Exchange {
        let sent_at = UNIX_EPOCH + Duration::from_millis(at_ms);
        Exchange {
            target: Target { host: "192.0.2.1".to_owned(), port: 53 },
            tls: false,
            connection: 1,
            sent_at,
            answered_at: sent_at + Duration::from_millis(took_ms),
            content: Content::Dns(Dns { name: name.to_owned(), kind: "A".to_owned(), code: 0, answers: Vec::new() }),
        }
    }

    #[test]
    fn calls_of_a_kind_are_one_line() {
        let summary = Summary::of(&[asked("a.test", 0, 4), asked("b.test", 10, 1), asked("a.test", 20, 2)]);
        assert_eq!((summary.calls, summary.took), (3, Duration::from_millis(22)));
        assert_eq!(summary.protocols(), ["DNS"]);
        let text = table(&summary);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect()).collect();
        assert_eq!(
            lines,
            [
                vec!["protocol", "target", "times", "mean", "longest", "call"],
                vec!["DNS", "192.0.2.1:53", "2", "3.0 ms", "4.0 ms", "A a.test"],
                vec!["DNS", "192.0.2.1:53", "1", "1.0 ms", "1.0 ms", "A b.test"],
            ]
        );
    }
}
