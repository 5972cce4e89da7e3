//! `list_changes`: what calls have changed, and how one of them did.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change_notes::{journal, line, one, shown};
use super::python::Open;
use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::journal::{Change, Entry, Journal, Version};
use crate::limits::{MAX_EDIT_MS, MAX_LISTED_CALLS, MAX_NAMED_CHANGES, MAX_SHOWN_CHANGES_BYTES, MAX_SHOWN_FILE_BYTES};
use crate::text::diff;
use crate::text::encoding;
use crate::text::escape::show_path;

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
        match (calls.last(), older.next()) {
            (None, _) => text.push_str("[no call has changed anything]"),
            (Some(last), Some(_)) => {
                let _ = write!(text, "[older calls: before: {}]", last.call);
            }
            (Some(_), None) => {
                let bounds = journal.bounds();
                let (mib, days) = (bounds.bytes / (1024 * 1024), bounds.age.as_secs() / 86_400);
                if journal.gone() > 0 {
                    let _ = write!(
                        text,
                        "[up to call {} nothing is kept any more: --undo-mib {mib}, --undo-days {days}]",
                        journal.gone()
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
    let versions = journal.store.versions(entry.number)?;
    for (place, change) in changes.iter().take(MAX_NAMED_CHANGES) {
        if text.len() > MAX_SHOWN_CHANGES_BYTES {
            break;
        }
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let _ = writeln!(text, "{}", one(context.services, journal, place, change));
        let from = if let Change::Renamed { from } = change { from } else { place };
        let before = if *change == Change::Created { None } else { versions.before(from)? };
        let after = if *change == Change::Deleted { None } else { versions.after(place)? };
        text.push_str(&difference(context, &shown(context.services, journal, place), before, after)?);
        left -= 1;
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
fn difference(
    context: &Context<'_>,
    path: &str,
    before: Option<Version>,
    after: Option<Version>,
) -> Result<String, Error> {
    let sizes = [&before, &after].map(|side| if let Some(Version::File { size, .. }) = side { *size } else { 0 });
    let bytes: u64 = sizes.iter().sum();
    let _held = context.room().take(usize::try_from(bytes.min(2 * MAX_SHOWN_FILE_BYTES)).unwrap_or(usize::MAX))?;
    let text = |side: Option<Version>| match side {
        None => Ok(Vec::new()),
        Some(Version::Directory) => Err(String::new()),
        Some(Version::Link(target)) => Err(format!("[a link to {}]\n", show_path(target.path()))),
        Some(Version::Special) => Err("[no regular file]\n".to_owned()),
        Some(Version::Unknown) => Err("[no diff: a content was not kept, or changed since]\n".to_owned()),
        Some(Version::File { size, .. }) if size > MAX_SHOWN_FILE_BYTES => {
            Err(format!("[no diff: {} bytes before, {} after]\n", sizes[0], sizes[1]))
        }
        Some(file) => file.bytes().map_err(|error| format!("[no diff: {error}]\n")),
    };
    let (before, after) = match (text(before), text(after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(why), _) | (_, Err(why)) => return Ok(why),
    };
    if encoding::is_binary(&before) || encoding::is_binary(&after) {
        return Ok(format!("[binary: {} bytes before, {} after]\n", sizes[0], sizes[1]));
    }
    let deadline = Instant::now() + Duration::from_millis(MAX_EDIT_MS);
    Ok(diff::unified(path, &String::from_utf8_lossy(&before), &String::from_utf8_lossy(&after), Some(deadline)))
}
