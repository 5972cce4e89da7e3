//! `undo_changes`: reverts the changes of calls.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use replay_base::limits::MAX_NAMED_CHANGES;
use replay_base::text::escape::show;
use replay_files::journal::{Change, Ended, Journal, Options, Outcome, RootedPath};
use replay_files::policy::{AccessKind, PolicyError, note};
use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notes::changes::{Counts, Names, is_zero, journal, some};
use super::notes::ignored::IgnoredChanges;
use super::open_object::Open;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Changes that the text of an undo names; of more it says how many there are in each directory.
const MAX_UNDONE_LINES: usize = 20;
/// The same in a lean reply.
const MAX_LEAN_LINES: usize = 5;

pub(super) struct UndoChanges;

/// Arguments of `undo_changes`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Numbers of calls (default: the last one)
    #[schemars(extend("x-aliases" = ["call"]))]
    calls: Option<Vec<u64>>,
    /// Undo this call and all after it
    since: Option<u64>,
    /// Only what is at or below these paths; `!path`: all but that
    paths: Option<Vec<String>>,
    /// Only say what would be undone
    #[schemars(extend("x-aliases" = ["dry_run"]))]
    dry_run: Option<bool>,
}

/// Changes that were undone, or would be.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    /// Number of this call, by which it can be undone itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    undone: Vec<String>,
    /// Conflicts, for which nothing would be undone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conflicts: Vec<String>,
    /// Later changes by others in the same directories, which stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed_since: Vec<String>,
    /// Repositories with new files below `objects`, which stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objects_stay: Vec<String>,
    /// Number of changes beyond those listed.
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
}

impl Tool for UndoChanges {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "undo_changes";
    const TITLE: &'static str = "Undo changes";
    const DESCRIPTION: &'static str = "Undo what calls changed in files: the last one, or those named. Refused whole if anything was \
        changed again since.";
    const HINTS: Hints = Hints::Mutates;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let journal = journal(context.services, Self::NAME)?;
        let (mut paths, mut except) = (Vec::new(), Vec::new());
        for path in params.paths.iter().flatten() {
            match path.strip_prefix('!') {
                Some(path) => except.push(place(context, journal, path)?),
                None => paths.push(place(context, journal, path)?),
            }
        }
        if params.paths.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::params(
                "`paths` is empty; name what is to be undone, or leave it out for everything",
            ));
        }
        let numbers = numbers(context, journal, &params, &paths)?;
        let is_default = params.calls.is_none() && params.since.is_none();
        let last = numbers.first().copied().filter(|_| is_default);
        let steps = Cell::new(0);
        let wanted = || {
            steps.set(steps.get() + 1);
            context.progress.report(steps.get(), None, "undoing");
            !context.cancel.is_cancelled()
        };
        let hides = |place: &RootedPath| context.services.policy.hides(&journal.store.path(place));
        let options = Options {
            paths: &paths,
            except: &except,
            dry_run: true,
            hides: Some(&hides),
            wanted: Some(&wanted),
            ..Options::default()
        };
        let mut planned = journal.store.undo(&numbers, Self::NAME, options)?;
        // A directory that a program can make again stays as a later call left it.
        let made_again = marked_conflicts(context, journal, &planned);
        let with_marked = [&except[..], &made_again].concat();
        let options = Options {
            except: &with_marked,
            ..options
        };
        if !made_again.is_empty() {
            planned = journal.store.undo(&numbers, Self::NAME, options)?;
        }
        for (place, change) in &planned.undone {
            let now = journal.store.path(place);
            let policy = &context.services.policy;
            match change {
                // A created file is removed.
                Change::Created => Ok(()),
                Change::Edited | Change::Deleted | Change::Metadata => {
                    policy.may_return(&now, None)
                }
                Change::Renamed { from } => {
                    policy.may_return(&journal.store.path(from), Some(&now))
                }
            }
            .map_err(left_out)?;
        }
        if params.dry_run == Some(true) {
            return Ok(reply(context, journal, &planned, &made_again, last));
        }
        refused(context, journal, &planned)?;
        if planned.undone.is_empty() {
            let part = if params.paths.is_some() {
                " at these paths"
            } else {
                ""
            };
            return Err(Error::Unsuitable {
                message: format!("there is nothing left to undo of {}{part}", calls(&numbers)),
                hint: "list_changes says what each call changed".into(),
            });
        }
        let done = journal.store.undo(
            &numbers,
            Self::NAME,
            Options {
                dry_run: false,
                ..options
            },
        )?;
        refused(context, journal, &done)?;
        for (place, _) in &done.undone {
            note(&journal.store.path(place), None, AccessKind::Write);
        }
        let settled = done
            .number
            .map(|number| journal.settle(number, &done.undone))
            .unwrap_or_default();
        context.changes.made(Ended {
            number: done.number,
            changes: done.undone.clone(),
            lost: None,
            settled,
        });
        Ok(reply(context, journal, &done, &made_again, last))
    }
}

/// Error for a hidden path among the changes.
fn left_out(error: PolicyError) -> Error {
    match error {
        PolicyError::Hidden { .. } => Error::Unsuitable {
            message: error.to_string(),
            hint: "leave it out (`paths`: [\"!PATH\"]); the operator can undo it (`replay changes undo`)".into(),
        },
        error => error.into(),
    }
}

/// Returns the numbers of the requested calls.
fn numbers(
    context: &Context<'_>,
    journal: &Journal,
    params: &Params,
    paths: &[RootedPath],
) -> Result<Vec<u64>, Error> {
    match (&params.calls, params.since) {
        (Some(calls), None) if !calls.is_empty() => Ok(calls.clone()),
        (None, Some(since)) => Ok(journal.store.standing(since)?),
        (None, None) => last_call(context, journal, paths).map(|last| vec![last]),
        _ => Err(Error::params(
            "say either `calls`, with at least one number, or `since`; without both the last call is undone",
        )),
    }
}

/// Returns the directories of conflicts that a program can make again; none if there are others.
fn marked_conflicts(
    context: &Context<'_>,
    journal: &Journal,
    planned: &Outcome,
) -> Vec<RootedPath> {
    let mut rules = IgnoredChanges::new(context);
    let marked = planned.conflicts.iter().map(|conflict| {
        let path = journal.store.path(&conflict.place);
        journal.store.place(&rules.marked_around(&path)?)
    });
    let mut marked = marked.collect::<Option<Vec<_>>>().unwrap_or_default();
    marked.sort();
    marked.dedup();
    marked
}

/// Returns true for a path of a git repository that says where a branch or HEAD is.
fn moves_branch(path: &Path) -> bool {
    let mut below = path.iter().skip_while(|part| *part != ".git").skip(1);
    let first = below.next();
    first.is_some_and(|first| first == "refs" || first == "HEAD" || first == "packed-refs")
}

/// Returns the last call that stands and changed something at or below these paths, of which not
/// all lies in ignored directories, unless it moved a branch. An undo does not count, nor does a call that changed nothing.
fn last_call(context: &Context<'_>, journal: &Journal, paths: &[RootedPath]) -> Result<u64, Error> {
    let first = journal.store.numbers()?.first().copied();
    let standing = first.map(|first| journal.store.standing(first));
    let mut standing = standing.transpose()?.unwrap_or_default();
    standing.sort_unstable_by_key(|number| Reverse(*number));
    let mut rules = IgnoredChanges::new(context);
    let asked: Vec<PathBuf> = paths
        .iter()
        .map(|place| journal.store.path(place))
        .collect();
    for number in standing {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        // The entry may have been dropped meanwhile.
        let Ok(entry) = journal.store.entry(number) else {
            continue;
        };
        if !entry.undoes.is_empty() {
            continue;
        }
        let _held = context.room().take(entry.list_bytes())?;
        let is_meant = |(place, _): &(RootedPath, Change)| {
            let path = journal.store.path(place);
            let is_asked = asked.iter().any(|asked| path.starts_with(asked));
            is_asked || asked.is_empty() && (!rules.hide(&path) || moves_branch(&path))
        };
        if journal.store.changes(&entry).iter().any(is_meant) {
            return Ok(number);
        }
    }
    Err(Error::Unsuitable {
        message: "no call has changed anything that could be undone, but for ignored files"
            .to_owned(),
        hint: "list_changes has what calls changed, undone or not; give a number of it".into(),
    })
}

/// Returns the place of a path that may no longer exist.
fn place(context: &Context<'_>, journal: &Journal, path: &str) -> Result<RootedPath, Error> {
    let policy = &context.services.policy;
    let absolute = policy.absolute(path)?;
    let found = journal.store.place(&absolute);
    let found = found.or_else(|| {
        journal
            .store
            .place(policy.try_write(&absolute).ok()?.place())
    });
    found.ok_or_else(|| {
        Error::params(format!(
            "`paths`: `{path}` is in no directory that may be written to"
        ))
    })
}

fn refused(context: &Context<'_>, journal: &Journal, outcome: &Outcome) -> Result<(), Error> {
    if outcome.conflicts.is_empty() {
        return Ok(());
    }
    let conflicts = conflicts(context, journal, outcome);
    Err(Error::Unsuitable {
        message: format!("nothing was undone, because these files are not as the calls left them:\n{}", limited(&conflicts)),
        hint: "leave these out (`paths`: [\"!PATH\"]), or undo the later calls, too (`since`); what a person changed stays"
            .into(),
    })
}

fn conflicts(context: &Context<'_>, journal: &Journal, outcome: &Outcome) -> Vec<String> {
    let names = Names::new(context.services, journal);
    outcome
        .conflicts
        .iter()
        .map(|conflict| names.conflict(conflict))
        .collect()
}

fn reply(
    context: &Context<'_>,
    journal: &Journal,
    outcome: &Outcome,
    made_again: &[RootedPath],
    last: Option<u64>,
) -> Reply<Open<Output>> {
    let names = Names::new(context.services, journal);
    let is_dry = outcome.number.is_none();
    let mut undone: Vec<String> = outcome
        .undone
        .iter()
        .map(|change| names.undone(change, is_dry))
        .collect();
    let mut conflicts = conflicts(context, journal, outcome);
    let most = if context.is_lean() {
        MAX_LEAN_LINES
    } else {
        MAX_UNDONE_LINES
    };
    let told = if undone.len() > most {
        by_directory(&names, outcome)
    } else {
        undone.join("\n")
    };
    let state = match outcome.number {
        Some(_) if context.is_lean() => String::new(),
        Some(number) => format!("undone; this is call {number}, which can be undone too"),
        None if conflicts.is_empty() => "dry run: nothing was undone".to_owned(),
        None => {
            "nothing would be undone, because these files are not as the calls left them".to_owned()
        }
    };
    let text = if state.is_empty() {
        told
    } else if conflicts.is_empty() {
        format!("{told}\n[{state}]")
    } else {
        format!("[{state}]\n{}", limited(&conflicts))
    };
    let mut left_alone = if conflicts.is_empty() {
        names.left_alone(outcome)
    } else {
        Vec::new()
    };
    if !made_again.is_empty() {
        let stay: Vec<String> = made_again.iter().map(|place| names.place(place)).collect();
        left_alone.push(format!(
            "{} stays as it is: a later call changed it, and a program can make it again",
            stay.join(", ")
        ));
    }
    let title = |number: &u64| Some((*number, journal.store.title(*number).ok()??.0));
    if let Some((number, title)) = last.as_ref().filter(|_| context.is_lean()).and_then(title) {
        left_alone.push(format!(
            "that was call {number}, {}",
            show(title.as_bytes())
        ));
    }
    let text = left_alone
        .iter()
        .fold(text, |text, line| format!("{text}\n[{line}]"));
    let notes = std::iter::once(state).chain(left_alone).collect();
    let some = |places: &[RootedPath]| {
        places
            .iter()
            .take(MAX_NAMED_CHANGES)
            .map(|place| names.place(place))
            .collect()
    };
    let count = undone.len().max(conflicts.len()).max(outcome.others.len());
    undone.truncate(MAX_NAMED_CHANGES);
    conflicts.truncate(MAX_NAMED_CHANGES);
    let output = Output {
        call: outcome.number,
        undone,
        conflicts,
        changed_since: some(&outcome.others),
        objects_stay: some(&outcome.objects),
        more: count.saturating_sub(MAX_NAMED_CHANGES),
    };
    Reply::text(text.trim_start())
        .with_structured(Open(output))
        .with_notes(notes)
}

/// Counts the undone changes by top-level directory of the project, and by directory elsewhere.
fn by_directory(names: &Names<'_>, outcome: &Outcome) -> String {
    let mut all: BTreeMap<String, Counts> = BTreeMap::new();
    for (place, change) in &outcome.undone {
        let name = names.place(place);
        let above = if name.starts_with('/') {
            name.rsplit_once('/')
        } else {
            name.split_once('/')
        };
        all.entry(above.map_or(".", |(above, _)| above).to_owned())
            .or_default()
            .add(change, 1);
    }
    let lines: Vec<String> = all
        .iter()
        .map(|(above, counts)| format!("in {above}: {}", counts.undone()))
        .collect();
    limited(&lines)
}

fn limited(lines: &[String]) -> String {
    let mut text = lines
        .iter()
        .take(MAX_NAMED_CHANGES)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("\n");
    if let Some(more) = lines.len().checked_sub(MAX_NAMED_CHANGES + 1) {
        let _ = write!(text, "\n[{} more]", more + 1);
    }
    text
}

fn calls(numbers: &[u64]) -> String {
    match numbers {
        [] => "these calls".to_owned(),
        [one] => format!("call {one}"),
        numbers => format!("calls {}", some(numbers)),
    }
}
