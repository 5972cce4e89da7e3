//! `replay audit show`: prints the calls of a log as a table. It joins the start and end of each
//! call, and escapes characters that change a terminal, which jq(1) would print.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{BufRead, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use replay_base::limits::MAX_AUDIT_UNENDED;
use replay_base::text::count::duration;
use replay_base::text::escape::{harmless, show as shown};
use replay_files::policy::AccessKind;
use serde::Deserialize;
use serde_json::Value;

use super::lines::Lines;
use crate::cli::{CallFilter, UNENDED};

/// Members of a line that the table uses. Some exist only in certain kinds of line.
#[derive(Deserialize)]
struct Row {
    at: String,
    event: String,
    #[serde(default)]
    call: u64,
    #[serde(default)]
    client: String,
    #[serde(default)]
    tool: String,
    #[serde(default)]
    outcome: String,
    detail: Option<String>,
    /// ID of a background command.
    #[serde(default)]
    id: String,
    #[serde(default)]
    duration_us: u64,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    paths: Vec<TouchedPathRow>,
    #[serde(default)]
    grants: Vec<GrantRow>,
}

#[derive(Deserialize)]
struct TouchedPathRow {
    path: Value,
    real: Option<Value>,
    access: String,
}

#[derive(Deserialize)]
struct GrantRow {
    client: String,
    path: Value,
}

/// Maximum number of characters of the arguments shown for a call. Shown only if the call touched
/// no path or ran a program.
const ARGUMENTS_CHARS: usize = 80;
/// Maximum number of paths shown for a call.
const PATHS: usize = 3;
/// Substrings of the names of arguments that are paths.
const PATH_ARGUMENTS: [&str; 8] = [
    "path",
    "dir",
    "file",
    "cwd",
    "source",
    "destination",
    "project",
    "root",
];

/// Prints the selected calls and returns the number of lines. Without a filter, also prints starts
/// and ends of servers. A call without an end is printed at the end of its server's part of the
/// log.
///
/// Does not check the chain ([`mod@super::verify`] does). Fails if the file cannot be read or is
/// not a log, or if the filter is invalid.
pub(super) fn show(
    input: &mut impl BufRead,
    wanted: &CallFilter,
    out: &mut impl Write,
) -> Result<u64> {
    let since = wanted
        .since
        .as_deref()
        .map(|text| time(text, SystemTime::now()))
        .transpose()?;
    let mut printer = Printer {
        most: wanted.last.map(|last| last as usize),
        kept: VecDeque::new(),
        lines: 0,
        out,
    };
    let mut begun = BTreeMap::new();
    let mut projects = HashMap::new();
    let mut lines = Lines::new(input);
    let (mut number, mut is_log) = (0_u64, false);
    while let Some(line) = lines.read()? {
        number += 1;
        let Ok(mut row) = serde_json::from_slice::<Row>(&line.bytes) else {
            tracing::debug!(number, "not a line of an audit log");
            // The first line may be torn; then the second line says so.
            if !is_log && number > 1 {
                bail!("line 1: it is not a line of an audit log");
            }
            if !wanted.json && is_log {
                printer.print(format!("(line {number} cannot be read)"))?;
            }
            continue;
        };
        if !is_log && number > 1 && !wanted.json {
            printer.print("(line 1 cannot be read)".to_owned())?;
        }
        is_log = true;
        match row.event.as_str() {
            "start" => {
                std::mem::take(&mut begun)
                    .into_values()
                    .try_for_each(|text| printer.print(text))?;
                projects = first_of_each(&row.grants);
            }
            "client" => projects.extend(first_of_each(&row.grants)),
            "call" => drop(begun.remove(&row.call)),
            "begin" => UNENDED.clone_into(&mut row.outcome),
            _ => {}
        }
        if !is_wanted(
            &row,
            wanted,
            since,
            projects.get(&row.client).map(PathBuf::as_path),
        ) {
            continue;
        }
        let text = if wanted.json {
            harmless(&String::from_utf8_lossy(&line.bytes)).into_owned()
        } else {
            table(&row)
        };
        if row.event == "begin" {
            begun.insert(row.call, text);
            // No server has so many concurrent calls, but a forged file may.
            if begun.len() > MAX_AUDIT_UNENDED
                && let Some((_, text)) = begun.pop_first()
            {
                printer.print(text)?;
            }
        } else {
            printer.print(text)?;
        }
    }
    if !is_log && number > 0 {
        bail!("line 1: it is not a line of an audit log");
    }
    begun
        .into_values()
        .try_for_each(|text| printer.print(text))?;
    printer.end()
}

/// Base directory for the relative paths of each client: its first grant.
fn first_of_each(grants: &[GrantRow]) -> HashMap<String, PathBuf> {
    let mut projects = HashMap::new();
    for grant in grants {
        if let Some(path) = grant.path.as_str() {
            projects
                .entry(grant.client.clone())
                .or_insert_with(|| path.into());
        }
    }
    projects
}

/// Prints lines, or buffers the last ones until the end.
struct Printer<'a, W> {
    most: Option<usize>,
    kept: VecDeque<String>,
    lines: u64,
    out: &'a mut W,
}

impl<W: Write> Printer<'_, W> {
    fn print(&mut self, text: String) -> Result<()> {
        self.lines += 1;
        let Some(most) = self.most else {
            return Ok(writeln!(self.out, "{text}")?);
        };
        if self.kept.len() == most {
            self.kept.pop_front();
        }
        self.kept.push_back(text);
        Ok(())
    }

    /// Prints the buffered lines and returns the number of lines.
    fn end(self) -> Result<u64> {
        for text in self.kept {
            writeln!(self.out, "{text}")?;
        }
        Ok(self.lines)
    }
}

/// Parses a time, or a duration before `now`.
fn time(text: &str, now: SystemTime) -> Result<SystemTime> {
    let ago = || {
        humantime::parse_duration(text)
            .ok()
            .and_then(|ago: Duration| now.checked_sub(ago))
    };
    match humantime::parse_rfc3339_weak(text).ok().or_else(ago) {
        Some(time) => Ok(time),
        None => {
            bail!(
                "`--since {text}` is not a time; give one such as 2026-07-28T12:00:00Z (UTC), or \
                 2h for two hours ago"
            )
        }
    }
}

fn is_wanted(
    row: &Row,
    wanted: &CallFilter,
    since: Option<SystemTime>,
    project: Option<&Path>,
) -> bool {
    let is =
        |asked: &Option<String>, found: &str| asked.as_ref().is_none_or(|asked| asked == found);
    let is_recent =
        || since.is_none_or(|since| humantime::parse_rfc3339(&row.at).is_ok_and(|at| at >= since));
    is(&wanted.tool, &row.tool)
        && is(&wanted.outcome, &row.outcome)
        && is(&wanted.client, &row.client)
        && is_recent()
        && wanted
            .path
            .as_deref()
            .is_none_or(|asked| is_about(row, asked, project))
}

/// Returns true if a call touched the path or something below it, was denied it, or named it in its
/// arguments. A path that does not exist appears only in arguments.
fn is_about(row: &Row, asked: &Path, project: Option<&Path>) -> bool {
    let asked = &*cleaned(asked);
    let touched = row
        .paths
        .iter()
        .flat_map(|touched| [Some(&touched.path), touched.real.as_ref()])
        .flatten();
    let members = row.arguments.as_object().into_iter().flatten();
    let named = members.filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        PATH_ARGUMENTS.iter().any(|part| name.contains(part))
    });
    // A single path or a list of paths.
    let named = named.flat_map(|(_, value)| {
        value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice)
    });
    touched.chain(named).filter_map(Value::as_str).any(|path| {
        let path = cleaned(&project.unwrap_or(Path::new("")).join(path));
        if path.is_relative() && asked.is_absolute() {
            // The log lacks the start of this server, and so the base directory.
            asked.ends_with(&path)
        } else if asked.is_absolute() {
            path.starts_with(asked)
        } else {
            path.ancestors().any(|above| above.ends_with(asked))
        }
    })
}

/// Resolves `.` and `..` lexically.
fn cleaned(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut cleaned, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(cleaned.pop()),
            part => cleaned.push(part),
        }
        cleaned
    })
}

/// Formats a row. The fields are untrusted, such as an agent's arguments, so terminal escape
/// sequences are made harmless.
fn table(row: &Row) -> String {
    let at = row
        .at
        .get(..19)
        .map_or_else(|| row.at.clone(), |at| format!("{at}Z").replace('T', " "));
    let safe = |text: &str| shown(text.as_bytes()).into_owned();
    if !matches!(row.event.as_str(), "call" | "begin") {
        let about = [&row.client, &row.id].map(|text| safe(text)).join(" ");
        let detail = row
            .detail
            .as_deref()
            .map(|detail| format!(": {}", safe(detail)))
            .unwrap_or_default();
        return format!(
            "{}  -- {} {}{detail}",
            safe(&at),
            safe(&row.event),
            about.trim()
        )
        .trim_end()
        .to_owned();
    }
    let arguments = || {
        let arguments = row.arguments.to_string();
        let mut start: String = arguments.chars().take(ARGUMENTS_CHARS).collect();
        if start.len() < arguments.len() {
            start.push_str("...");
        }
        safe(&start)
    };
    let what = if row.paths.is_empty() {
        arguments()
    } else {
        let path = |touched: &TouchedPathRow| {
            let path = touched
                .path
                .as_str()
                .map_or_else(|| Cow::Owned(touched.path.to_string()), Cow::Borrowed);
            format!("{} {}", safe(&touched.access), safe(&path))
        };
        let mut paths: Vec<String> = row.paths.iter().take(PATHS).map(path).collect();
        if row.paths.len() > PATHS {
            paths.push(format!("and {} more", row.paths.len() - PATHS));
        }
        // Arguments describe a run better than paths.
        if row
            .paths
            .iter()
            .any(|touched| touched.access == AccessKind::Run.as_str())
        {
            paths.push(arguments());
        }
        paths.join(", ")
    };
    let (client, tool, outcome) = (safe(&row.client), safe(&row.tool), safe(&row.outcome));
    let detail = row
        .detail
        .as_deref()
        .map(|detail| format!("[{}] ", safe(detail)))
        .unwrap_or_default();
    let took = if row.event == "begin" {
        "-".to_owned()
    } else {
        duration(Duration::from_micros(row.duration_us))
    };
    format!(
        "{}  {client:<8} {tool:<16} {outcome:<9} {took:>12}  {detail}{what}",
        safe(&at)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn shown_of(log: &str, wanted: &CallFilter) -> Result<String, String> {
        let mut out = Vec::new();
        let shown =
            show(&mut log.as_bytes(), wanted, &mut out).map_err(|error| error.to_string())?;
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count() as u64, shown);
        Ok(text)
    }

    #[test]
    fn path_filter_finds_denied_call_by_cleaned_path() {
        let start = r#"{"at":"","event":"start","grants":[{"client":"bob","path":"/src/bob"}]}"#;
        let line = |path: &str| {
            format!(
                r#"{{"at":"","event":"call","client":"bob","paths":[{{"path":"{path}","access":"denied"}}]}}"#
            )
        };
        let found = |log: &str, asked: &str| {
            shown_of(
                log,
                &CallFilter {
                    path: Some(asked.into()),
                    ..CallFilter::default()
                },
            )
            .unwrap()
            .lines()
            .count()
        };
        let (climbs, other) = (line("../alice/a.txt"), line("alice/a.txt"));
        let whole = format!("{start}\n{climbs}\n{other}\n");
        let asked = [
            "/src/alice/a.txt",
            "/src/alice",
            "/src/x/../alice/a.txt",
            "/src/bob",
            "../alice/a.txt",
            "/a.txt",
        ];
        assert_eq!(asked.map(|asked| found(&whole, asked)), [1, 1, 1, 1, 2, 0]);
        // The start of the server is in an older file.
        assert_eq!(
            ["/src/alice/a.txt", "/src/b.txt"].map(|asked| found(&climbs, asked)),
            [1, 0]
        );
    }

    #[test]
    fn table_shows_arguments_of_run_calls() {
        let line = r#"{"at":"","event":"call","arguments":{"command":"\u001b[2J"},"paths":[{"path":"/w","access":"run"}]}"#;
        let text = shown_of(line, &CallFilter::default()).unwrap();
        assert!(
            text.ends_with("run /w, {\"command\":\"\\u001b[2J\"}\n"),
            "{text}"
        );
        let line = r#"{"at":"","event":"call","arguments":{"path":"/w"},"paths":[{"path":"/w","access":"list"}]}"#;
        assert!(
            shown_of(line, &CallFilter::default())
                .unwrap()
                .ends_with("  list /w\n")
        );
    }

    #[test]
    fn show_rejects_file_without_log_lines() {
        let said = Err("line 1: it is not a line of an audit log".to_owned());
        let event = r#"{"at":"","event":"end"}"#;
        let good = Ok("(line 1 cannot be read)\n  -- end\n".to_owned());
        for (log, expected) in [
            ("a\nb\nc\n", &said),
            ("a", &said),
            (&*format!("to\n{event}\n"), &good),
        ] {
            assert_eq!(shown_of(log, &CallFilter::default()), *expected, "{log}");
        }
    }
}
