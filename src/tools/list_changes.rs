//! `list_changes`: what calls have changed, and how one of them did.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change_notes::{journal, line, one, shown};
use super::python::Open;
use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::journal::{Entry, Journal, Side};
use crate::limits::{MAX_EDIT_MS, MAX_LISTED_CALLS, MAX_NAMED_CHANGES, MAX_SHOWN_CHANGES_BYTES, MAX_SHOWN_FILE_BYTES};
use crate::text::diff;
use crate::text::encoding;

/// Calls where nothing is said.
const USUAL_CALLS: u64 = 20;

pub struct ListChanges;

/// Arguments of `list_changes`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// Show this call alone, with a diff
    call: Option<u64>,
    /// Only calls before this one
    before: Option<u64>,
    /// Calls (default 20)
    #[schemars(range(min = 1, max = MAX_LISTED_CALLS))]
    limit: Option<u64>,
}

/// The calls, newest first.
#[derive(Debug, Serialize)]
pub struct Output {
    calls: Vec<Call>,
    /// Of the one call that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Call {
    call: u64,
    at: String,
    tool: String,
    /// What it undid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    undoes: Vec<u64>,
    /// In a line.
    changed: String,
}

impl Tool for ListChanges {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "list_changes";
    const TITLE: &'static str = "List changes";
    const DESCRIPTION: &'static str = "What calls changed in files, newest first, each with the number that undo_changes takes; \
        with `call`, that one's diff.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let journal = journal(context.services, Self::NAME)?;
        if let Some(number) = params.call {
            return alone(context, journal, &journal.store.entry(number)?);
        }
        let numbers = journal.store.numbers()?;
        let most = params.limit.unwrap_or(USUAL_CALLS) as usize;
        let mut older = numbers.iter().rev().filter(|number| params.before.is_none_or(|before| **number < before));
        let mut calls = Vec::new();
        while calls.len() < most
            && let Some(number) = older.next()
        {
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            // It may have been let go of meanwhile.
            let Ok(entry) = journal.store.entry(*number) else { continue };
            calls.push(told(context, journal, &entry));
        }
        let mut text: String = calls.iter().fold(String::new(), |mut text, call| {
            let _ = writeln!(text, "{}  {}  {}: {}", call.call, call.at, call.tool, call.changed);
            text
        });
        let first = numbers.first().copied();
        match (calls.last(), older.next()) {
            (None, _) => text.push_str("[no call has changed anything]"),
            (Some(last), Some(_)) => {
                let _ = write!(text, "[older calls: before: {}]", last.call);
            }
            (Some(_), None) => {
                let bounds = journal.bounds();
                let (mib, days) = (bounds.bytes / (1024 * 1024), bounds.age.as_secs() / 86_400);
                if let Some(first) = first.filter(|first| *first > 1) {
                    let _ = write!(
                        text,
                        "[calls before {first} are not kept any more: the newest {mib} MiB and {days} days are]"
                    );
                }
            }
        }
        let text = text.trim_end().to_owned();
        Ok(Reply::text(text).with(Open(Output { calls, diff: None })))
    }
}

fn told(context: &Context<'_>, journal: &Journal, entry: &Entry) -> Call {
    let changes = journal.store.changes(entry);
    let mut changed = line(context.services, journal, &changes);
    if !entry.undoes.is_empty() {
        let undone: Vec<String> = entry.undoes.iter().map(u64::to_string).collect();
        changed = format!("undid {}: {changed}", undone.join(", "));
    }
    if !entry.is_over() {
        changed = "still at work".to_owned();
    }
    Call {
        call: entry.number,
        at: humantime::format_rfc3339_seconds(entry.began()).to_string(),
        tool: entry.title.clone(),
        undoes: entry.undoes.clone(),
        changed,
    }
}

/// One call, with the difference that it made.
fn alone(context: &Context<'_>, journal: &Journal, entry: &Entry) -> Result<Reply<Open<Output>>, Error> {
    let call = told(context, journal, entry);
    let changes = journal.store.changes(entry);
    let (mut text, mut left) = (String::new(), changes.len());
    // A few at a time: each may take memory.
    for part in changes.chunks(8).take(MAX_NAMED_CHANGES.div_ceil(8)) {
        if text.len() > MAX_SHOWN_CHANGES_BYTES {
            break;
        }
        let _held = context.room().take(part.len() * 2 * MAX_SHOWN_FILE_BYTES as usize)?;
        for ((place, change), sides) in part.iter().zip(journal.store.sides(entry, part, MAX_SHOWN_FILE_BYTES)?) {
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let _ = writeln!(text, "{}", one(context.services, journal, place, change));
            text.push_str(&difference(&shown(context.services, journal, place), sides));
            left -= 1;
        }
    }
    if text.len() > MAX_SHOWN_CHANGES_BYTES {
        text.truncate(text.floor_char_boundary(MAX_SHOWN_CHANGES_BYTES));
        let _ = write!(text, "\n[cut off at {MAX_SHOWN_CHANGES_BYTES} bytes]");
    }
    if left > 0 {
        let _ = write!(text, "[{left} more changes]");
    }
    let text = text.trim_end().to_owned();
    let Call { call: number, at, tool, changed, .. } = &call;
    let head = format!("{number}  {at}  {tool}: {changed}");
    let content = if text.is_empty() { head } else { format!("{head}\n{text}") };
    Ok(Reply::text(content).with(Open(Output { calls: vec![call], diff: Some(text) })))
}

/// A unified diff, or why there is none.
fn difference(path: &str, (before, after): (Side, Side)) -> String {
    let bytes = |side: Side| match side {
        Side::Nothing => Ok(Vec::new()),
        Side::Bytes(bytes) => Ok(bytes),
        Side::Other(why) => Err(why),
    };
    let (before, after) = match (bytes(before), bytes(after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err("a directory"), _) | (_, Err("a directory")) => return String::new(),
        (Err(why), _) | (_, Err(why)) => return format!("[no diff: {why}]\n"),
    };
    if encoding::is_binary(&before) || encoding::is_binary(&after) {
        return format!("[binary: {} bytes before, {} after]\n", before.len(), after.len());
    }
    let deadline = Instant::now() + Duration::from_millis(MAX_EDIT_MS);
    diff::unified(path, &String::from_utf8_lossy(&before), &String::from_utf8_lossy(&after), Some(deadline))
}
