//! `replay audit verify`: checks a log line by line and reports where and how its chain breaks.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::BufRead;

use anyhow::Result;
use replay_base::limits::MAX_AUDIT_UNENDED;
use replay_base::text::count::counted;
use replay_base::text::escape::hex;
use replay_base::text::escape::show;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::chain::{Hasher, Head, Link, check};
use super::lines::{Lines, LogLine};

/// Event of the first line of a log that continues the chain of another file.
pub(super) const CONTINUED: &str = "continued";

/// The first fault of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Number of the first faulty line, from 1.
    pub line: u64,
    /// Description of the fault.
    pub what: String,
}

/// Summary of an intact log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LogSummary {
    /// Number of lines, without torn ones.
    pub lines: u64,
    pub calls: u64,
    /// Number of calls without an end: the server was killed, or still serves them.
    pub unended: u64,
    pub starts: u64,
    /// Number of torn lines that a later line accounts for.
    pub torn: u64,
    /// Times of the first and the last line.
    pub span: Option<(String, String)>,
    /// The last line.
    pub head: Head,
    /// Number of the line with the requested hash.
    pub known: Option<u64>,
    /// Last line of the file before the first of these, if that file was not given.
    pub before: Option<Head>,
}

/// Call numbers of one server run; they restart with each.
#[derive(Default)]
struct CallNumbers {
    /// Calls without an end so far.
    begun: BTreeSet<u64>,
    /// The most recent calls that have ended.
    ended: BTreeSet<u64>,
    /// Number of calls without an end that were dropped from `begun`.
    lost: u64,
}

impl CallNumbers {
    /// Adds the beginning of a call. The error describes an inconsistency.
    fn begin(&mut self, call: u64) -> Result<(), String> {
        if self.ended.contains(&call) {
            return Err(format!(
                "call {call} begins after its end: lines were inserted, and the log was hashed \
                 again"
            ));
        }
        if !self.begun.insert(call) {
            return Err(format!("call {call} begins a second time: {TWICE}"));
        }
        // Only a forged log has so many.
        if self.begun.len() > MAX_AUDIT_UNENDED {
            self.begun.pop_first();
            self.lost += 1;
        }
        Ok(())
    }

    /// Adds the end of a call. Most calls have only this line, so a beginning is not required.
    fn end(&mut self, call: u64) -> Result<(), String> {
        self.begun.remove(&call);
        if !self.ended.insert(call) {
            return Err(format!("call {call} ends a second time: {TWICE}"));
        }
        if self.ended.len() > MAX_AUDIT_UNENDED {
            self.ended.pop_first();
        }
        Ok(())
    }

    fn unended(self) -> u64 {
        self.lost + self.begun.len() as u64
    }
}

/// Explanation of two lines of the same kind and number.
const TWICE: &str = "a line was inserted, or a line about a start was removed, and the log was \
    hashed again";

/// Members of a line other than its position in the chain.
#[derive(Deserialize)]
struct LineBody {
    at: String,
    event: String,
    torn_bytes: Option<u64>,
    torn_sha256: Option<String>,
    call: Option<u64>,
}

/// Verifies files, oldest first, as one log. Returns a report for a person, and true if the log is
/// intact. Fails if a file cannot be read.
pub(super) fn report(
    inputs: &mut [(String, impl BufRead)],
    hasher: &Hasher,
    head: Option<&str>,
) -> Result<(String, bool)> {
    let mut whole = LogSummary::default();
    let last = inputs.len();
    for (index, (name, input)) in inputs.iter_mut().enumerate() {
        match verify_file(whole, input, hasher, head, index + 1 == last)? {
            Ok(now) => whole = now,
            Err(Fault { line, what }) => {
                let hint = match hasher.name() {
                    _ if line > 1 || index > 0 => "",
                    "sha256" => {
                        " (a log that was written with --audit-key is verified with it, too: --audit-key FILE)"
                    }
                    _ => " (or it was written with another key, or with none)",
                };
                let place = if last > 1 {
                    format!("{name}: ")
                } else {
                    String::new()
                };
                return Ok((format!("{place}line {line}: {what}{hint}\n"), false));
            }
        }
    }
    let mut text = format!(
        "ok: {} in {}, {}",
        counted(whole.calls, "call", "calls"),
        counted(whole.lines, "line", "lines"),
        counted(whole.starts, "start of a server", "starts of servers")
    );
    // Writing to a String cannot fail.
    if whole.unended > 0 {
        let calls = counted(whole.unended, "call has", "calls have");
        let _ = write!(
            text,
            "; {calls} no end (the server was killed, or they still run)"
        );
    }
    if whole.torn > 0 {
        let _ = write!(
            text,
            ", {} torn and completed",
            counted(whole.torn, "line", "lines")
        );
    }
    if let Some(Head { seq, hash }) = &whole.before {
        let _ = write!(
            text,
            "\ncontinues line {seq} of another file, whose last hash must be {hash}"
        );
    }
    if let Some((first, last)) = &whole.span {
        let _ = write!(
            text,
            "\nfrom {} to {}",
            show(first.as_bytes()),
            show(last.as_bytes())
        );
    }
    if let Some(seq) = whole.known {
        let _ = write!(
            text,
            "\nthe hash that was given is that of line {seq} of the chain"
        );
    }
    let _ = writeln!(text, "\nhead {} ({})", whole.head.hash, hasher.name());
    Ok((text, true))
}

/// Verifies a log of one file; `head` is a hash that some line must have. Fails if the file cannot
/// be read.
#[cfg(test)]
pub(super) fn verify(
    input: &mut impl BufRead,
    hasher: &Hasher,
    head: Option<&str>,
) -> Result<Result<LogSummary, Fault>> {
    verify_file(LogSummary::default(), input, hasher, head, true)
}

/// Verifies the next file of a log. After the last file, a line of some file must have had the hash
/// `head`.
fn verify_file(
    mut whole: LogSummary,
    input: &mut impl BufRead,
    hasher: &Hasher,
    head: Option<&str>,
    is_last: bool,
) -> Result<Result<LogSummary, Fault>> {
    let mut lines = Lines::new(input);
    let mut number = 0;
    let mut calls = CallNumbers::default();
    while let Some(line) = lines.read()? {
        number += 1;
        let fault = |what: String| Ok(Err(Fault { line: number, what }));
        let mut line = line;
        let mut link = match check(&line.bytes, hasher) {
            Ok(_) if !line.is_whole => return fault(torn_line_fault(&line)),
            Ok(link) => link,
            Err(what) => {
                let Some(next) = lines.read()? else {
                    return fault(if line.is_whole {
                        what.to_owned()
                    } else {
                        torn_line_fault(&line)
                    });
                };
                match link_after_torn_line(&next, &line, &whole.head, hasher) {
                    Some(link) => {
                        (number, line) = (number + 1, next);
                        whole.torn += 1;
                        link
                    }
                    None => return fault(what.to_owned()),
                }
            }
        };
        let fault = |what: String| Ok(Err(Fault { line: number, what }));
        let Ok(event) = serde_json::from_slice::<LineBody>(&line.bytes) else {
            return fault("it is not a line of an audit log".to_owned());
        };
        let continues = number == 1 && event.event == CONTINUED;
        if continues && whole.head == Head::default() && link.seq > 1 {
            let before = Head {
                seq: link.seq - 1,
                hash: link.prev.clone(),
            };
            (whole.before, whole.head) = (Some(before.clone()), before);
        }
        let expected = whole.head.seq + 1;
        if link.seq != expected || link.prev != whole.head.hash {
            let Head { seq, hash } = &whole.head;
            if number == 1 && *seq > 0 {
                return fault(format!(
                    "it does not continue the file before, which ends with line {seq} and hash \
                     {hash}"
                ));
            }
            return fault(explain_break(&link, expected, &mut lines)?);
        }
        let counted = match (event.event.as_str(), event.call) {
            ("call", call) => {
                whole.calls += 1;
                call.map_or(Ok(()), |call| calls.end(call))
            }
            ("begin", Some(call)) => calls.begin(call),
            ("start", _) => {
                whole.starts += 1;
                whole.unended += std::mem::take(&mut calls).unended();
                Ok(())
            }
            (CONTINUED, _) if !continues => Err(
                "it is the continuation mark of another file, in the middle of this one".to_owned(),
            ),
            _ => Ok(()),
        };
        if let Err(what) = counted {
            return fault(what);
        }
        whole.lines += 1;
        match &mut whole.span {
            Some((_, last)) => *last = event.at,
            None => whole.span = Some((event.at.clone(), event.at)),
        }
        if head.is_some_and(|head| head.eq_ignore_ascii_case(&link.hash)) {
            whole.known = Some(link.seq);
        }
        whole.head = Head {
            seq: link.seq,
            hash: std::mem::take(&mut link.hash),
        };
    }
    if is_last && head.is_some() && whole.known.is_none() {
        let what = "no line has the given hash: the end of the log was cut off, or the log was \
            rewritten";
        return Ok(Err(Fault {
            line: number + 1,
            what: what.to_owned(),
        }));
    }
    if number == 0 {
        return Ok(Err(Fault {
            line: 1,
            what: "the log is empty".to_owned(),
        }));
    }
    whole.unended += calls.unended();
    Ok(Ok(whole))
}

fn torn_line_fault(line: &LogLine) -> String {
    format!(
        "it is torn: {} without an end. Its server was killed while it wrote, or the log was cut; \
         the next start records that",
        counted(line.bytes.len() as u64, "byte", "bytes")
    )
}

/// Returns the link of `line` if the line correctly describes the torn line before it.
fn link_after_torn_line(
    line: &LogLine,
    torn: &LogLine,
    head: &Head,
    hasher: &Hasher,
) -> Option<Link> {
    let link = check(&line.bytes, hasher).ok()?;
    let event: LineBody = serde_json::from_slice(&line.bytes).ok()?;
    let is_it = line.is_whole
        && event.event == "recovered"
        && event.torn_bytes == Some(torn.bytes.len() as u64)
        && event.torn_sha256 == Some(hex(&Sha256::digest(&torn.bytes)))
        && (link.seq, &link.prev) == (head.seq + 1, &head.hash);
    is_it.then_some(link)
}

/// Explains why a valid line does not follow the line before it.
fn explain_break(
    link: &Link,
    expected: u64,
    lines: &mut Lines<'_, impl BufRead>,
) -> Result<String> {
    let seq = link.seq;
    if seq < expected {
        return Ok(format!(
            "it is number {seq} again, where {expected} was expected: it was inserted or moved"
        ));
    }
    if seq == expected {
        return Ok(format!(
            "number {seq} does not follow the line before it: that line was changed and hashed \
             again, or this line is from another log"
        ));
    }
    while let Some(later) = lines.read()? {
        let later = serde_json::from_slice::<Link>(&later.bytes);
        if later.is_ok_and(|later| later.seq == expected) {
            return Ok(format!(
                "it is number {seq}, where {expected} was expected, which is further down: lines \
                 were moved"
            ));
        }
    }
    let missing = if seq == expected + 1 {
        format!("{expected} is")
    } else {
        format!("{expected} to {} are", seq - 1)
    };
    Ok(format!("it is number {seq}: {missing} missing"))
}
