//! What a set holds, a line for each kind of call: how often, how long.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::record::Exchange;
use crate::record::book::describe;
use crate::record::summary::word;

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

/// The kinds of call, in the order in which each was called first.
pub fn lines(exchanges: &[Exchange]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut places: HashMap<(&str, String, String), usize> = HashMap::new();
    for exchange in exchanges {
        // A clock that was set back meanwhile says nothing.
        let took = exchange.answered_at.duration_since(exchange.sent_at).unwrap_or_default();
        let protocol = word(exchange.content.protocol());
        let (target, call) = (exchange.target.to_string(), describe(exchange));
        let place = *places.entry((protocol, target.clone(), call.clone())).or_insert(lines.len());
        match lines.get_mut(place) {
            Some(line) => {
                line.times += 1;
                line.took += took;
                line.longest = line.longest.max(took);
            }
            None => lines.push(Line { protocol, target, call, times: 1, took, longest: took }),
        }
    }
    lines
}

/// The kinds of call as a table for a terminal.
pub fn table(exchanges: &[Exchange]) -> String {
    const HEAD: [&str; 6] = ["protocol", "target", "times", "mean", "longest", "call"];
    let mut rows = vec![HEAD.map(str::to_owned)];
    for line in lines(exchanges) {
        rows.push([
            line.protocol.to_owned(),
            line.target,
            line.times.to_string(),
            milliseconds(line.took / u32::try_from(line.times).unwrap_or(u32::MAX)),
            milliseconds(line.longest),
            line.call,
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
        let text = table(&[asked("a.test", 0, 4), asked("b.test", 10, 1), asked("a.test", 20, 2)]);
        assert_eq!(
            text,
            "protocol  target        times    mean  longest  call\n\
             DNS       192.0.2.1:53      2  3.0 ms   4.0 ms  DNS A a.test\n\
             DNS       192.0.2.1:53      1  1.0 ms   1.0 ms  DNS A b.test\n"
        );
    }
}
