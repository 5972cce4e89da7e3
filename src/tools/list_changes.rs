//! `list_changes`: lists the changes of calls, or the diff of one call.

use std::fmt::Write as _;

use replay_base::budget::Exhausted;
use replay_files::journal::{Change, Entry, Journal, RootedPath};
use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notes::changes::{Call, Names, expired_calls_note, journal};
use super::notes::diff::{HIDDEN, difference, join_diffs};
use super::open_object::Open;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Calls that `list_changes` tells of at once.
const MAX_LISTED_CALLS: u64 = 100;

/// Default number of calls.
const USUAL_CALLS: u64 = 20;

pub(super) struct ListChanges;

/// Arguments of `list_changes`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Only this call, with its diff
    call: Option<u64>,
    /// Only calls before this one
    before: Option<u64>,
    /// Calls (default 20)
    #[schemars(range(min = 1, max = MAX_LISTED_CALLS))]
    limit: Option<u64>,
}

/// The calls, newest first.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    calls: Vec<Call>,
    /// Diff of the single requested call.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Tool for ListChanges {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "list_changes";
    const TITLE: &'static str = "List changes";
    const DESCRIPTION: &'static str = "What calls changed in files, newest first, with numbers for undo_changes; \
        with `call`, its diff.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let journal = journal(context.services, Self::NAME)?;
        if let Some(number) = params.call {
            let entry = journal.store.entry(number).map_err(Error::from);
            let shown = entry.and_then(|entry| show_call(context, journal, &entry));
            return match shown {
                Err(Error::Memory(short)) => show_counts(context, journal, number, short),
                shown => shown,
            };
        }
        let names = Names::new(context.services, journal);
        let (numbers, undone) = (journal.store.numbers()?, journal.store.undone()?);
        let most = params.limit.unwrap_or(USUAL_CALLS) as usize;
        let mut older = numbers
            .iter()
            .rev()
            .filter(|number| params.before.is_none_or(|before| **number < before));
        let mut calls = Vec::new();
        while calls.len() < most
            && let Some(number) = older.next()
        {
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            // The entry may have been dropped meanwhile.
            let listed = journal
                .store
                .entry(*number)
                .map_err(Error::from)
                .and_then(|entry| {
                    let _held = context.room().take(entry.list_bytes())?;
                    Ok(names.listed(&entry, &undone))
                });
            match listed {
                Ok(listed) => calls.extend(listed),
                Err(Error::Memory(short)) => {
                    calls.extend(names.unread(*number, short, &undone));
                }
                Err(_) => {}
            }
        }
        let mut text: String = calls.iter().fold(String::new(), |mut text, call| {
            let _ = writeln!(text, "{call}");
            text
        });
        let mut notes = Vec::new();
        match (calls.last(), older.next()) {
            (None, _) => notes.push("no call has changed anything".to_owned()),
            (Some(last), Some(_)) => {
                notes.push(format!("older calls: before: {}", last.number));
            }
            (Some(_), None) => notes.extend(expired_calls_note(&journal.store)),
        }
        for note in &notes {
            let _ = write!(text, "[{note}]");
        }
        let text = text.trim_end().to_owned();
        let output = Open(Output { calls, diff: None });
        Ok(Reply::text(text).with_structured(output).with_notes(notes))
    }
}

/// Returns one call whose list of files does not fit into memory.
fn show_counts(
    context: &Context<'_>,
    journal: &Journal,
    number: u64,
    short: Exhausted,
) -> Result<Reply<Open<Output>>, Error> {
    let names = Names::new(context.services, journal);
    let call = names
        .unread(number, short, &journal.store.undone()?)
        .ok_or(Error::Memory(short))?;
    let cut = format!("cut off: its files and the diff need more memory than is free: {short}");
    let text = format!("{call}\n[{cut}]");
    let output = Open(Output {
        calls: vec![call],
        diff: None,
    });
    Ok(Reply::text(text)
        .with_structured(output)
        .with_notes(vec![cut]))
}

/// Returns one call with its diff.
fn show_call(
    context: &Context<'_>,
    journal: &Journal,
    entry: &Entry,
) -> Result<Reply<Open<Output>>, Error> {
    let names = Names::new(context.services, journal);
    let _held = context.room().take(entry.list_bytes())?;
    let changes = journal.store.changes(entry);
    let versions = journal.store.versions(entry.number)?;
    let is_hidden = |place: &RootedPath| context.services.policy.hides(&journal.store.path(place));
    let one = |change: &(RootedPath, Change)| {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let was_hidden = matches!(&change.1, Change::Renamed { from } if is_hidden(from));
        let difference = if was_hidden || is_hidden(&change.0) {
            HIDDEN.to_owned()
        } else {
            difference(&names, &versions, change, &context.room())?
        };
        Ok(format!("{}\n{difference}", names.change(change)))
    };
    let text = join_diffs(changes.len(), changes.iter().map(one))?;
    let call = names.call(entry, &journal.store.undone()?);
    let content = if text.is_empty() {
        call.to_string()
    } else {
        format!("{call}\n{text}")
    };
    Ok(Reply::text(content).with_structured(Open(Output {
        calls: vec![call],
        diff: Some(text),
    })))
}
