//! Notes on the changes of calls, as text and as counts.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::ops::Not;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use replay_base::budget::Exhausted;
use replay_base::text::count::counted;
use replay_base::text::escape::{show, show_path};
use replay_files::fs;
use replay_files::journal::{
    AutorunChanges, ByCommands, Change, Conflict, Ended, Entry, EntryCounts, Journal, Outcome,
    Outside, RootedPath, Store,
};
use replay_files::policy::Root;
use replay_sandbox::Changed;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::ignored::IgnoredChanges;
use crate::error::Error;
use crate::tools::open_object::Open;
use crate::tools::{Context, Services};

/// Maximum number of changes listed by name; above it only counts are shown.
pub(crate) const NAMED: usize = 3;
/// Paths named in the note at the end of a call.
const NAMED_AT_END: usize = 10;
const NAMED_CALLS: usize = 10;
/// Maximum number of changes whose places are looked at when a call ends.
const LOOKED_AT: usize = 1000;
const NAMED_OTHERS: usize = 10;
/// Longest log of a repository that is read for its last line, in bytes.
const MAX_GIT_LOG_BYTES: u64 = 4 * 1024 * 1024;
/// Actions of a call on repositories that are told.
const MAX_GIT_ACTIONS: usize = 5;
/// Most new files and directories of a call that are looked at for a repository.
const MAX_NEW_REPOSITORIES: usize = 64;
/// Part of an action in such a log that is told, in bytes.
const MAX_GIT_ACTION_BYTES: usize = 80;
/// Maximum number of listed paths, and of parts of each. An agent may choose the name of a part, so
/// its length is limited as well.
const NAMED_OUTSIDE: usize = 8;
const NAMED_OUTSIDE_BYTES: usize = 100;

/// Returns the journal after crash recovery; an error if there is none.
pub(crate) fn journal<'a>(
    services: &'a Services,
    tool: &'static str,
) -> Result<&'a Journal, Error> {
    let hint = if services.policy.roots().iter().any(Root::writable) {
        "the operator switches it on (--undo on), or makes room for it; until then copy what you \
         may want back"
    } else {
        "calls change nothing in read-only directories; the operator can make one writable \
         (--allow DIR:rw)"
    };
    let refused = |reason: &str| Error::Refused {
        what: tool,
        reason: format!("nothing is kept for undo: {reason}"),
        hint,
    };
    let journal = services
        .journal
        .as_deref()
        .map_err(|reason| refused(reason))?;
    journal.mend().map_err(refused)?;
    Ok(journal)
}

/// Numbers of changes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Counts {
    #[serde(skip_serializing_if = "is_zero")]
    pub edited: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub created: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub deleted: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub moved: usize,
    /// Only mode, owner, times or attributes.
    #[serde(skip_serializing_if = "is_zero")]
    pub touched: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Counts {
    pub(crate) fn of(changes: &[(RootedPath, Change)]) -> Self {
        let mut counts = Self::default();
        for (_, change) in changes {
            counts.add(change, 1);
        }
        counts
    }

    pub(crate) fn add(&mut self, change: &Change, more: usize) {
        *match change {
            Change::Edited => &mut self.edited,
            Change::Created => &mut self.created,
            Change::Deleted => &mut self.deleted,
            Change::Renamed { .. } => &mut self.moved,
            Change::Metadata => &mut self.touched,
        } += more;
    }

    /// Returns the counts with the number of the call, for observers.
    pub(crate) fn with_number(self, number: u64) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["call"] = number.into();
        value
    }

    /// Formats the counts as `3 edited, 1 deleted`.
    pub(crate) fn words(self) -> String {
        self.format_counts(["edited", "created", "deleted", "moved", "touched"])
    }

    /// Formats the counts of an undo as `3 reverted, 1 restored`.
    pub(crate) fn undone(self) -> String {
        self.format_counts([
            "reverted",
            "removed",
            "restored",
            "moved back",
            "restored in their metadata",
        ])
    }

    fn format_counts(self, words: [&str; 5]) -> String {
        let Self {
            edited,
            created,
            deleted,
            moved,
            touched,
        } = self;
        let all = [edited, created, deleted, moved, touched]
            .into_iter()
            .zip(words);
        let some = all.filter(|(count, _)| *count > 0);
        some.map(|(count, word)| format!("{count} {word}"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl From<EntryCounts> for Counts {
    fn from(counts: EntryCounts) -> Self {
        let EntryCounts {
            edited,
            created,
            deleted,
            moved,
            touched,
        } = counts;
        Self {
            edited,
            created,
            deleted,
            moved,
            touched,
        }
    }
}

/// Changes of a command that the journal holds.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(crate) struct ChangesMade {
    /// Call number for `undo_changes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    #[serde(flatten)]
    counts: Counts,
    /// Changes that cannot be undone, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
    /// Changed parts that programs outside run. Not in the schema, which each client pays for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    outside: Option<Open<AutorunChanges>>,
}

impl ChangesMade {
    /// Changes to files that programs outside the sandbox run.
    pub(crate) fn into_outside(self) -> Option<AutorunChanges> {
        self.outside.map(|Open(settled)| settled)
    }
}

/// Returns a note on the changes of a call's commands, and the same as data. `None` if nothing was
/// changed. There is no note if a model needs none.
pub(crate) fn changes_made(context: &Context<'_>) -> Option<(Option<String>, ChangesMade)> {
    let ByCommands {
        number: call,
        fault,
        settled,
    } = context.changes.by_commands();
    describe_changes(
        context,
        Some(&Changed {
            call,
            fault,
            settled,
        }),
    )
}

/// Returns the same for changes with a journal entry of their own, such as those of a cell.
pub(crate) fn describe_changes(
    context: &Context<'_>,
    changed: Option<&Changed>,
) -> Option<(Option<String>, ChangesMade)> {
    let Changed {
        call,
        fault,
        settled,
    } = changed.filter(|changed| **changed != Changed::default())?;
    let journal = context.services.journal.as_deref().ok()?;
    if call.is_none() && fault.is_none() {
        // The changes occurred between two cells.
        context.changes.made(Ended {
            settled: settled.clone(),
            ..Ended::default()
        });
        return None;
    }
    let ended = call.and_then(|call| journal.store.ended_entry(call).ok().flatten());
    let entry = ended.as_ref().map(|ended| &*ended.entry);
    let changes = entry
        .map(|entry| journal.store.changes(entry))
        .unwrap_or_default();
    let is_kept = entry.map_or(Ok(()), |entry| journal.keep(entry));
    let call = call.filter(|_| is_kept.is_ok());
    let lost = is_kept
        .err()
        .or_else(|| fault.clone())
        .or_else(|| journal.not_kept(entry?));
    let names = Names::new(context.services, journal);
    let lean = entry.filter(|_| context.is_lean()).map(|_| {
        context.tells_undo.store(true, Ordering::Relaxed);
        lean_changes(context, names, &changes).map(|mut told| {
            let undo = match call {
                Some(call) if context.can_undo => format!("; undo {call}"),
                Some(call) => format!("; call {call}, which the operator can undo"),
                None => String::new(),
            };
            told.push_str(&undo);
            told
        })
    });
    let exact = entry.filter(|_| !context.is_lean()).map(|_| {
        let who = if context.can_undo {
            "undo with"
        } else {
            "the operator can undo"
        };
        let undo = call.map_or_else(String::new, |call| format!(": {who} call {call}"));
        format!("changed: {}{undo}", names.line_at_end(&changes))
    });
    let not_kept = lost
        .as_ref()
        .map(|lost| format!("not kept for undo: {lost}"));
    let note = [exact, lean.flatten(), not_kept]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ");
    let counts = Counts::of(&changes);
    context.changes.made(Ended {
        number: call,
        changes,
        lost: None,
        settled: settled.clone(),
    });
    let outside = Some(Open(settled.clone())).filter(|settled| !settled.0.is_nothing());
    Some((
        Some(note).filter(|note| !note.is_empty()),
        ChangesMade {
            call,
            counts,
            lost,
            outside,
        },
    ))
}

/// Describes what a model needs to know of changes: commits, files by name, and how many others
/// there are in ignored directories. `None` if there is nothing else.
fn lean_changes(
    context: &Context<'_>,
    names: Names<'_>,
    changes: &[(RootedPath, Change)],
) -> Option<String> {
    let mut rules = IgnoredChanges::new(context);
    let (mut repositories, mut shown, mut ignored) = (BTreeSet::new(), Vec::new(), 0);
    let mut looks = 0;
    for (place, change) in changes {
        let path = names.store.path(place);
        repositories.extend(git_directory(&path));
        // A new directory is one change, with all that is in it.
        if *change == Change::Created && looks < MAX_NEW_REPOSITORIES {
            looks += 1;
            let git = path.join(".git");
            let has_log = context.services.policy.is_there(git.join("logs/HEAD"));
            repositories.extend(has_log.then_some(git));
        }
        if rules.hide(&path) {
            ignored += 1;
        } else {
            shown.push((place.clone(), change.clone()));
        }
    }
    let actions = repositories.iter().map(|git| git_actions(context, git));
    let mut told: Vec<String> = actions.flatten().take(MAX_GIT_ACTIONS).collect();
    if !shown.is_empty() {
        let more = match ignored {
            0 => String::new(),
            count => format!(" and {}", counted(count, "ignored file", "ignored files")),
        };
        told.push(format!("{}{more}", names.line_at_end(&shown)));
    }
    (!told.is_empty()).then(|| told.join("; "))
}

/// Returns the `.git` directory in which a path lies, or which it is.
fn git_directory(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .find(|above| above.ends_with(".git"))
        .map(Path::to_path_buf)
}

/// Describes what a call did to a repository, by the lines that it added to the log of HEAD
/// (gitrepository-layout(5)): `committed 1c96cb5 on fix/x`.
fn git_actions(context: &Context<'_>, git: &Path) -> Vec<String> {
    let policy = &context.services.policy;
    let read = |path: PathBuf| fs::read_all(&policy.read(&path).ok()?, MAX_GIT_LOG_BYTES).ok();
    let Some(log) = read(git.join("logs/HEAD")) else {
        return Vec::new();
    };
    let begun = SystemTime::now().checked_sub(context.asked.elapsed());
    let begun = begun.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let begun = begun.map_or(0, |at| at.as_secs());
    // The log has seconds, in which an earlier call may have ended.
    let from = {
        let lengths = &context.services.commands.git_logs;
        let mut lengths = lengths.lock().unwrap_or_else(PoisonError::into_inner);
        let before = lengths.insert(git.to_path_buf(), log.len());
        before.filter(|before| *before <= log.len()).unwrap_or(0)
    };
    let log = String::from_utf8_lossy(&log[from..]);
    let new = log.lines().rev().map_while(|line| {
        let (head, action) = line.split_once('\t')?;
        let mut words = head.rsplit(' ');
        let (_zone, at) = (words.next()?, words.next()?.parse::<u64>().ok()?);
        let id = head.split(' ').nth(1)?.get(..7)?;
        (at >= begun).then_some((id, action))
    });
    let head = read(git.join("HEAD")).unwrap_or_default();
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut branch = head.trim().strip_prefix("ref: refs/heads/");
    let mut told = Vec::new();
    for (id, action) in new.take(MAX_GIT_ACTIONS) {
        if action.starts_with("commit") {
            let on = branch.map_or_else(String::new, |branch| {
                format!(" on {}", show(branch.as_bytes()))
            });
            told.push(format!("committed {}{on}", show(id.as_bytes())));
            continue;
        }
        // The lines above it are about the branch that was left.
        let left = action.strip_prefix("checkout: moving from ");
        branch = left.map_or(branch, |left| left.split(" to ").next());
        let action = &action[..action.floor_char_boundary(MAX_GIT_ACTION_BYTES)];
        told.push(format!("git {}", show(action.as_bytes())));
    }
    told.reverse();
    told
}

/// Notes on changes to files that programs outside the sandbox run, one line each.
pub(crate) fn outside_lines(services: &Services, settled: &AutorunChanges) -> Vec<String> {
    let AutorunChanges {
        outside,
        put_back,
        failed,
    } = settled;
    let below = services.policy.base();
    let list = |all: &[Outside]| some_outside(all, below);
    let failed = failed
        .as_ref()
        .map(|failed| show(failed.as_bytes()).into_owned());
    let mut lines = Vec::new();
    match (&outside[..], failed) {
        ([], None) => {}
        ([], Some(why)) => {
            lines.push(format!(
                "whether this changed what runs outside the walls could not be seen: {why}"
            ));
        }
        (all, failed) => {
            let stays = failed
                .map(|why| format!("; it could not be put back (--freeze-autorun): {why}"))
                .unwrap_or_default();
            lines.push(format!(
                "this changed what runs outside the walls: {}{stays}",
                list(all)
            ));
        }
    }
    if !put_back.is_empty() {
        let all = list(put_back);
        lines.push(format!(
            "put back, since it changed what runs outside the walls (--freeze-autorun): {all}"
        ));
    }
    lines
}

/// Lists paths and parts, up to the limits.
fn some_outside(all: &[Outside], below: Option<&Path>) -> String {
    fn join_limited(all: impl ExactSizeIterator<Item = String>) -> String {
        let more = all.len().saturating_sub(NAMED_OUTSIDE);
        let named = all.take(NAMED_OUTSIDE).collect::<Vec<_>>().join(", ");
        if more > 0 {
            format!("{named} and {more} more")
        } else {
            named
        }
    }
    let what = |what: &String| {
        let shown = show(what.as_bytes());
        shown[..shown.floor_char_boundary(NAMED_OUTSIDE_BYTES)].to_owned()
    };
    join_limited(all.iter().map(|one| {
        format!(
            "{} ({})",
            name(&one.path, below),
            join_limited(one.what.iter().map(what))
        )
    }))
}

/// A call in the list of changes.
#[derive(Debug, Serialize)]
pub(crate) struct Call {
    #[serde(rename = "call")]
    pub number: u64,
    at: String,
    tool: String,
    /// Numbers of the calls that it undid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    undoes: Vec<u64>,
    /// `true` if it was undone completely, and not redone.
    #[serde(skip_serializing_if = "Not::not")]
    undone: bool,
    /// Its changes, in one line.
    changed: String,
}

impl fmt::Display for Call {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            at,
            tool,
            changed,
            undone,
            ..
        } = self;
        let undone = if *undone { " [undone]" } else { "" };
        write!(
            out,
            "{number}  {at}  {}: {changed}{undone}",
            show(tool.as_bytes())
        )
    }
}

/// Returns a path, relative to `below` if it lies there.
pub(crate) fn name(path: &Path, below: Option<&Path>) -> String {
    let short = below.and_then(|dir| path.strip_prefix(dir).ok());
    show_path(
        short
            .filter(|below| !below.as_os_str().is_empty())
            .unwrap_or(path),
    )
    .into_owned()
}

/// Note on calls whose changes are no longer stored.
pub(crate) fn expired_calls_note(store: &Store) -> Option<String> {
    let last = store.newest_removed()?;
    Some(format!(
        "up to call {last} nothing is kept any more (--undo-mib, --undo-days)"
    ))
}

/// Joins numbers of calls, up to a limit.
pub(crate) fn some(numbers: &[u64]) -> String {
    let named: Vec<String> = numbers
        .iter()
        .take(NAMED_CALLS)
        .map(u64::to_string)
        .collect();
    match numbers.len().saturating_sub(NAMED_CALLS) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Describes an entry whose process has ended too early.
fn interrupted(entry: &Entry) -> &'static str {
    if entry.undoes.is_empty() {
        "interrupted; the next start of the server, or `replay changes undo`, finds what it changed"
    } else {
        "interrupted; the next start of the server, or `replay changes undo`, rolls it back"
    }
}

/// Past participle of a change, such as `edited`.
pub(crate) const fn verb(change: &Change) -> &'static str {
    match change {
        Change::Edited => "edited",
        Change::Created => "created",
        Change::Deleted => "deleted",
        Change::Metadata => "touched",
        Change::Renamed { .. } => "moved",
    }
}

/// Formats places of a store, relative to one directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    pub store: &'a Store,
    pub below: Option<&'a Path>,
}

impl<'a> Names<'a> {
    /// Formats places as an agent would name them.
    pub(crate) fn new(services: &'a Services, journal: &'a Journal) -> Self {
        Self {
            store: &journal.store,
            below: services.policy.base(),
        }
    }

    pub(crate) fn place(&self, place: &RootedPath) -> String {
        name(&self.store.path(place), self.below)
    }

    /// Describes a change, such as `edited src/main.rs`.
    pub(crate) fn change(&self, (place, change): &(RootedPath, Change)) -> String {
        let path = self.place(place);
        match change {
            Change::Renamed { from } => format!("moved {} to {path}", self.place(from)),
            other => format!("{} {path}", verb(other)),
        }
    }

    /// Describes the undo of a change, such as `reverted src/main.rs`, or `would revert`.
    pub(crate) fn undone(&self, (place, change): &(RootedPath, Change), is_dry: bool) -> String {
        let path = self.place(place);
        let (done, dry, what) = match change {
            Change::Edited => ("reverted", "revert", path),
            Change::Created => ("removed", "remove", path),
            Change::Deleted => ("restored", "restore", path),
            Change::Metadata => ("restored", "restore", format!("the metadata of {path}")),
            Change::Renamed { from } => (
                "moved",
                "move",
                format!("{path} back to {}", self.place(from)),
            ),
        };
        if is_dry {
            format!("would {dry} {what}")
        } else {
            format!("{done} {what}")
        }
    }

    /// Lines on changes that an undo leaves alone: later changes by others, and git objects.
    pub(crate) fn left_alone(&self, outcome: &Outcome) -> Vec<String> {
        let list = |places: &[RootedPath]| {
            let named: Vec<String> = places
                .iter()
                .take(NAMED_OTHERS)
                .map(|place| self.place(place))
                .collect();
            match places.len().saturating_sub(NAMED_OTHERS) {
                0 => named.join(", "),
                more => format!("{} and {more} more", named.join(", ")),
            }
        };
        let Outcome {
            others, objects, ..
        } = outcome;
        let mut lines = Vec::new();
        if !others.is_empty() {
            lines.push(format!(
                "others changed since, in the same directories: {}; that stays",
                list(others)
            ));
        }
        if !objects.is_empty() {
            lines.push(format!(
                "new objects stay in {}; git gc removes those that nothing needs",
                list(objects)
            ));
        }
        lines
    }

    pub(crate) fn conflict(&self, conflict: &Conflict) -> String {
        // The reason may quote a name that the agent chose.
        format!(
            "{}: {}",
            self.place(&conflict.place),
            show(conflict.why.as_bytes())
        )
    }

    /// Describes changes in one line: by name if they are few, otherwise by counts.
    pub(crate) fn line(&self, changes: &[(RootedPath, Change)]) -> String {
        self.line_of(changes, NAMED)
    }

    /// Describes changes like [`Self::line`], with this many at most by name.
    fn line_of(&self, changes: &[(RootedPath, Change)], most: usize) -> String {
        match changes.len() {
            0 => "nothing".to_owned(),
            few if few <= most => changes
                .iter()
                .map(|change| self.change(change))
                .collect::<Vec<_>>()
                .join(", "),
            _ => Counts::of(changes).words(),
        }
    }

    /// Describes the changes of a call that has just ended. Files that are not where the call left
    /// them were moved by another call meanwhile.
    pub(crate) fn line_at_end(&self, changes: &[(RootedPath, Change)]) -> String {
        let line = self.line_of(changes, NAMED_AT_END);
        let is_moved = |(place, change): &&(RootedPath, Change)| {
            *change != Change::Deleted && self.store.is_gone(place)
        };
        match changes.iter().take(LOOKED_AT).filter(is_moved).count() {
            0 => line,
            moved if moved == changes.len() => format!("{line} (moved by another call since)"),
            moved => format!("{line} ({moved} of them moved by another call since)"),
        }
    }

    /// Returns a call for the list, unless it left no changes.
    pub(crate) fn listed(&self, entry: &Entry, undone: &HashSet<u64>) -> Option<Call> {
        let is_nothing =
            entry.is_over() && entry.undoes.is_empty() && self.store.changes(entry).is_empty();
        (!is_nothing).then(|| self.call(entry, undone))
    }

    /// Returns the list entry of a call that does not fit into memory: its changes are only counted.
    pub(crate) fn unread(
        &self,
        number: u64,
        short: Exhausted,
        undone: &HashSet<u64>,
    ) -> Option<Call> {
        let (tool, began) = self.store.title(number).ok()??;
        let at = humantime::format_rfc3339_seconds(began).to_string();
        let changed = match self.store.count_changes(number) {
            Ok(Some(counts)) => Counts::from(counts).words(),
            Ok(None) => return None,
            Err(_) => format!("too much to be read now: {short}"),
        };
        Some(Call {
            number,
            at,
            tool,
            undoes: Vec::new(),
            undone: undone.contains(&number),
            changed,
        })
    }

    /// Returns the list entry of a call. `undone` has the numbers of undone calls.
    pub(crate) fn call(&self, entry: &Entry, undone: &HashSet<u64>) -> Call {
        let changed = || self.line(&self.store.changes(entry));
        let changed = match entry.undoes[..] {
            _ if self.store.is_interrupted(entry) => interrupted(entry).to_owned(),
            _ if !entry.is_over() => "still at work".to_owned(),
            [] => changed(),
            _ => {
                let calls = if entry.undoes.len() == 1 {
                    "call"
                } else {
                    "calls"
                };
                format!("undid {calls} {} ({})", some(&entry.undoes), changed())
            }
        };
        Call {
            number: entry.number,
            at: humantime::format_rfc3339_seconds(entry.began()).to_string(),
            tool: entry.title.clone(),
            undoes: entry.undoes.clone(),
            undone: undone.contains(&entry.number),
            changed,
        }
    }
}
