//! `replay audit show`: the calls of a log as a table for a person.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::lines::Lines;
use crate::cli::Wanted;
use crate::text::escape::{is_unsafe, show as shown};

/// What is read of a line. Members that are missing are those of another kind of line.
#[derive(Deserialize)]
struct Row {
    at: String,
    event: String,
    #[serde(default)]
    client: String,
    #[serde(default)]
    tool: String,
    #[serde(default)]
    outcome: String,
    #[serde(default)]
    duration_us: u64,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    paths: Vec<Touched>,
}

#[derive(Deserialize)]
struct Touched {
    path: Value,
    real: Option<Value>,
    access: String,
}

/// What is shown of the arguments of a call that touched no path, in characters.
const ARGUMENTS_CHARS: usize = 80;
/// Paths that are shown of one call.
const PATHS: usize = 3;

/// Prints the calls that are wanted, and without any wish also starts and ends of servers. Whether they are what was
/// written is for [`super::verify`] to say. Fails if the log cannot be read, or if what is wanted makes no sense.
pub fn show(input: &mut impl BufRead, wanted: &Wanted, out: &mut impl Write) -> Result<()> {
    let since = wanted.since.as_deref().map(|text| time(text, SystemTime::now())).transpose()?;
    let most = wanted.last.map_or(usize::MAX, |last| last as usize);
    let mut kept = VecDeque::new();
    let mut lines = Lines::new(input);
    let mut number = 0_u64;
    while let Some(line) = lines.read()? {
        number += 1;
        let text = match serde_json::from_slice::<Row>(&line.bytes) {
            Ok(row) if !is_wanted(&row, wanted, since) => continue,
            Ok(_) if wanted.json => harmless(&String::from_utf8_lossy(&line.bytes)),
            Ok(row) => table(&row),
            Err(_) => {
                tracing::debug!(number, "no line of an audit log");
                if wanted.json {
                    continue;
                }
                format!("(line {number} cannot be read)")
            }
        };
        if wanted.last.is_none() {
            writeln!(out, "{text}")?;
            continue;
        }
        if kept.len() == most {
            kept.pop_front();
        }
        kept.push_back(text);
    }
    for text in kept {
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// The same JSON, in which no character means anything to a terminal: all such stand in strings, where they can be escaped.
fn harmless(json: &str) -> String {
    json.chars().fold(String::with_capacity(json.len()), |mut text, c| {
        if is_unsafe(c) {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\u{:04x}", u32::from(c));
        } else {
            text.push(c);
        }
        text
    })
}

/// A time, or how long ago.
fn time(text: &str, now: SystemTime) -> Result<SystemTime> {
    let ago = || humantime::parse_duration(text).ok().and_then(|ago: Duration| now.checked_sub(ago));
    match humantime::parse_rfc3339_weak(text).ok().or_else(ago) {
        Some(time) => Ok(time),
        None => {
            bail!("`--since {text}` is no time; give one such as 2026-07-28T12:00:00Z (UTC), or 2h for two hours ago")
        }
    }
}

fn is_wanted(row: &Row, wanted: &Wanted, since: Option<SystemTime>) -> bool {
    let is = |asked: &Option<String>, found: &str| asked.as_ref().is_none_or(|asked| asked == found);
    let is_recent = || since.is_none_or(|since| humantime::parse_rfc3339(&row.at).is_ok_and(|at| at >= since));
    let touches = |asked: &Path| {
        let texts = row.paths.iter().flat_map(|touched| [Some(&touched.path), touched.real.as_ref()]);
        texts.flatten().filter_map(Value::as_str).map(Path::new).any(|path| {
            if asked.is_absolute() {
                path.starts_with(asked)
            } else {
                path.ancestors().any(|above| above.ends_with(asked))
            }
        })
    };
    is(&wanted.tool, &row.tool)
        && is(&wanted.outcome, &row.outcome)
        && is(&wanted.client, &row.client)
        && is_recent()
        && wanted.path.as_deref().is_none_or(touches)
}

/// The fields come from whoever wrote the file, an agent's arguments among them: none may steer a terminal.
fn table(row: &Row) -> String {
    let at = row.at.get(..19).unwrap_or(&row.at).replace('T', " ");
    let safe = |text: &str| shown(text.as_bytes()).into_owned();
    if row.event != "call" {
        return format!("{}  -- {}", safe(&at), safe(&row.event));
    }
    let what = if row.paths.is_empty() {
        let arguments = row.arguments.to_string();
        let mut start: String = arguments.chars().take(ARGUMENTS_CHARS).collect();
        if start.len() < arguments.len() {
            start.push_str("...");
        }
        safe(&start)
    } else {
        let path = |touched: &Touched| {
            let path = touched.path.as_str().map_or_else(|| Cow::Owned(touched.path.to_string()), Cow::Borrowed);
            format!("{} {}", safe(&touched.access), safe(&path))
        };
        let mut paths: Vec<String> = row.paths.iter().take(PATHS).map(path).collect();
        if row.paths.len() > PATHS {
            paths.push(format!("and {} more", row.paths.len() - PATHS));
        }
        paths.join(", ")
    };
    let (client, tool, outcome) = (safe(&row.client), safe(&row.tool), safe(&row.outcome));
    let milliseconds = row.duration_us as f64 / 1000.0;
    format!("{}  {client:<8} {tool:<16} {outcome:<9} {milliseconds:>9.1} ms  {what}", safe(&at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn json_is_the_same_without_what_a_terminal_heeds() {
        let text = "{\"path\":\"\u{9b}2J\u{202e}\u{7f}é\"}";
        let shown = harmless(text);
        assert_eq!(shown, r#"{"path":"\u009b2J\u202e\u007fé"}"#);
        let [one, other] = [text, &shown].map(|json| serde_json::from_str::<Value>(json).unwrap());
        assert_eq!(one, other);
    }
}
