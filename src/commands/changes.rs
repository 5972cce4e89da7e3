//! `replay changes`: lists, shows and undoes the changes of agents' calls in a directory.
#![expect(clippy::disallowed_methods, reason = "paths that a person types")]

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use replay_base::budget::Room;
use replay_base::cancel::CancelToken;
use replay_base::text::escape::show_path;
use replay_files::journal::{Changer, JournalError, Options, RootedPath};
use replay_files::policy::{Access, Grant, Policy};

use super::process::{print, print_content, quoted_path, status};
use crate::cli::{ChangesAction, ChangesOf, UndoArguments};
use crate::compose::{FoundStore, recorded_below, stores_of};
use crate::config::state_directory;
use crate::tools::notes::changes::{Names, expired_calls_note};
use crate::tools::notes::diff::difference;

/// Title of an undo in the list of calls.
const TITLE: &str = "replay changes undo";

/// Runs the subcommand. The exit status is 1 if an undo was refused.
pub(super) fn run(of: &ChangesOf, action: Option<&ChangesAction>) -> Result<ExitCode> {
    let dir =
        std::fs::canonicalize(&of.dir).map_err(|error| unusable_directory(&of.dir, &error))?;
    let found = choose_store(&dir, of.store.as_deref())?;
    let changes = matches!(action, Some(ChangesAction::Undo(asked)) if !asked.dry_run);
    let mut store = if changes {
        found.open()?
    } else {
        found.open_read_only()?
    };
    if changes {
        store.recover()?;
        store.guard = Some(protected_paths(&found.roots)?);
    }
    let names = Names {
        store: &store,
        below: Some(&dir),
    };
    match action {
        None => list(&names, of, ChangesAction::USUAL),
        Some(ChangesAction::List { last }) => list(&names, of, *last),
        Some(ChangesAction::Show { call }) => show(&names, *call),
        Some(ChangesAction::Diff { call }) => diff(&names, *call),
        Some(ChangesAction::Undo(asked)) => undo(&names, of, asked),
    }
}

/// Returns the command line of an action on this journal, for the same working directory.
fn command_line(of: &ChangesOf, action: &str) -> String {
    let dir = (of.dir != Path::new(".")).then_some(&of.dir);
    let options = [("--dir", dir), ("--store", of.store.as_ref())];
    let mut line = format!("replay changes {action}").trim_end().to_owned();
    for (option, path) in options {
        if let Some(path) = path {
            let _ = write!(line, " {option} {}", quoted_path(path));
        }
    }
    line
}

fn unusable_directory(dir: &Path, error: &std::io::Error) -> anyhow::Error {
    let reason = match error.kind() {
        ErrorKind::NotFound => "does not exist".to_owned(),
        _ => format!("cannot be opened: {error}"),
    };
    anyhow!(
        "--dir `{}` {reason}; give a directory in which agents changed files",
        show_path(dir)
    )
}

/// Chooses the store of the directory.
fn choose_store(dir: &Path, asked: Option<&Path>) -> Result<FoundStore> {
    let state = state_directory();
    let (mut found, left_out) = stores_of(dir, state.as_deref());
    if asked.is_none() && found.iter().any(|store| !store.is_empty()) {
        found.retain(|store| !store.is_empty());
    }
    if let Some(asked) = asked {
        if let Some(at) = found.iter().position(|store| store.name() == asked) {
            return Ok(found.swap_remove(at));
        }
        let path = std::fs::canonicalize(asked).with_context(|| {
            format!(
                "--store `{}` is neither a path nor a store of `{}`{}",
                asked.display(),
                dir.display(),
                store_list(&found)
            )
        })?;
        return FoundStore::read(&path);
    }
    let left_out: String = left_out.iter().fold(String::new(), |mut text, why| {
        let _ = write!(text, "\nleft out: {why}");
        text
    });
    if found.len() > 1 {
        bail!(
            "several stores keep changes of `{}`; choose one with --store NAME{}{left_out}",
            dir.display(),
            store_list(&found)
        );
    }
    if let Some(store) = found.pop() {
        return Ok(store);
    }
    let below = recorded_below(dir, state.as_deref());
    if !below.is_empty() {
        bail!(
            "no store keeps changes of all of `{}`; agents changed files below it, which these \
             commands list:{}{left_out}",
            dir.display(),
            command_list(&below)
        );
    }
    let state = state.map_or_else(
        || "the state directory".to_owned(),
        |state| format!("`{}`", state.display()),
    );
    Err(anyhow!(
        "no changes in `{}` can be undone: no store for it is in {state} or in a directory above. \
         A server that may write there (--allow DIR:rw) makes one, unless it has --undo \
         off{left_out}",
        dir.display()
    ))
}

/// Lists the commands that show the changes of these directories, one per line.
fn command_list(dirs: &[PathBuf]) -> String {
    let command = |dir: &PathBuf| {
        let of = ChangesOf {
            dir: dir.clone(),
            store: None,
        };
        format!("\n  {}", command_line(&of, ""))
    };
    dirs.iter().map(command).collect()
}

/// Returns the judge of the paths that are protected by default in these directories.
fn protected_paths(roots: &[PathBuf]) -> Result<Arc<dyn Changer>> {
    let grant = |root: &PathBuf| Grant {
        path: root.clone(),
        access: Access::ReadWrite,
    };
    let grants: Vec<Grant> = roots.iter().map(grant).collect();
    let policy = Policy::open(&grants, &[]).context("the protected paths cannot be determined")?;
    Ok(policy.changer())
}

/// Lists stores by name, one per line.
fn store_list(stores: &[FoundStore]) -> String {
    stores.iter().fold(String::new(), |mut text, store| {
        let roots: Vec<_> = store.roots.iter().map(|root| show_path(root)).collect();
        let tenant = if store.tenant.is_empty() {
            String::new()
        } else {
            format!(", token {}", store.tenant)
        };
        let _ = write!(
            text,
            "\n  {}  {}{tenant}",
            store.name().display(),
            roots.join(", ")
        );
        text
    })
}

fn list(names: &Names<'_>, of: &ChangesOf, last: u64) -> Result<ExitCode> {
    let (numbers, undone) = (names.store.numbers()?, names.store.undone()?);
    let mut newest = numbers.iter().rev();
    let mut text = String::new();
    for number in newest
        .by_ref()
        .take(usize::try_from(last).unwrap_or(usize::MAX))
    {
        let entry = match names.store.entry(*number) {
            // A server may have dropped the entry in between.
            Err(JournalError::Unknown { .. }) => continue,
            entry => entry?,
        };
        if let Some(call) = names.listed(&entry, &undone) {
            let _ = writeln!(text, "{call}");
        }
    }
    match newest.len() {
        _ if text.is_empty() => text.push_str("no call has changed anything\n"),
        0 => text.extend(expired_calls_note(names.store).map(|gone| format!("[{gone}]\n"))),
        older => {
            let all = command_line(of, &format!("list --last {}", numbers.len()));
            let _ = writeln!(text, "[{older} older: {all}]");
        }
    }
    let _ = writeln!(text, "[kept in {}]", show_path(names.store.display_path()));
    print(text)
}

fn show(names: &Names<'_>, number: u64) -> Result<ExitCode> {
    let entry = names.store.entry(number)?;
    let mut text = format!("{}\n", names.call(&entry, &names.store.undone()?));
    for change in names.store.changes(&entry) {
        let _ = writeln!(text, "{}", names.change(&change));
    }
    for place in names.store.not_kept(&entry) {
        let _ = writeln!(
            text,
            "[cannot be undone, since the old content was not kept: {}]",
            names.place(&place)
        );
    }
    print(text)
}

fn diff(names: &Names<'_>, number: u64) -> Result<ExitCode> {
    let entry = names.store.entry(number)?;
    let versions = names.store.versions(number)?;
    let cancel = CancelToken::default();
    let room = Room {
        account: None,
        cancel: &cancel,
    };
    for change in names.store.changes(&entry) {
        let told = format!(
            "{}\n{}",
            names.change(&change),
            difference(names, &versions, &change, &room)?
        );
        print_content(&told)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn undo(names: &Names<'_>, of: &ChangesOf, asked: &UndoArguments) -> Result<ExitCode> {
    let store = names.store;
    let numbers = asked
        .since
        .map_or_else(|| Ok(asked.calls.clone()), |since| store.standing(since))?;
    let places = |paths: &[PathBuf]| {
        paths
            .iter()
            .map(|path| place(names, path))
            .collect::<Result<Vec<_>>>()
    };
    let (paths, except) = (places(&asked.paths)?, places(&asked.except)?);
    let options = Options {
        paths: &paths,
        except: &except,
        dry_run: true,
        force: asked.force,
        ..Options::default()
    };
    let mut done = store.undo(&numbers, TITLE, options)?;
    let goes_on = done.conflicts.is_empty() || asked.force;
    if !asked.dry_run && goes_on && !done.undone.is_empty() {
        done = store.undo(
            &numbers,
            TITLE,
            Options {
                dry_run: false,
                ..options
            },
        )?;
    }
    let conflicts: Vec<String> = done
        .conflicts
        .iter()
        .map(|conflict| names.conflict(conflict))
        .collect();
    // `--force` cannot restore a file whose target place is gone.
    if !done.conflicts.is_empty() && (!asked.force || !asked.dry_run && done.number.is_none()) {
        let refused = "nothing was undone, because these files are not as the calls left them";
        let next = "--except leaves these paths out, undoing later calls first may help, and \
            --force overwrites the later changes";
        // Writing to stderr may fail; the exit status reports it, too.
        let _ = writeln!(stderr(), "{refused}:\n{}\n{next}", conflicts.join("\n"));
        return Ok(status(false));
    }
    if done.undone.is_empty() {
        let _ = writeln!(stderr(), "{}", nothing_left(names, of, &numbers)?);
        return Ok(status(false));
    }
    let mut text = String::new();
    for change in &done.undone {
        let _ = writeln!(text, "{}", names.undone(change, done.number.is_none()));
    }
    for conflict in conflicts {
        let _ = writeln!(text, "[forced: {conflict}]");
    }
    for line in names.left_alone(&done) {
        let _ = writeln!(text, "[{line}]");
    }
    let _ = match done.number {
        Some(number) => writeln!(
            text,
            "[undone; `{}` takes that back]",
            command_line(of, &format!("undo {number}"))
        ),
        None => writeln!(text, "[dry run: nothing was undone]"),
    };
    print(text)
}

/// Explains why an undo changes nothing, with the next step.
fn nothing_left(names: &Names<'_>, of: &ChangesOf, numbers: &[u64]) -> Result<String> {
    let undos = names.store.newest_undos()?;
    let undone = match numbers {
        [call] => undos.get(call).map(|undo| (call, undo)),
        _ => None,
    };
    Ok(match undone {
        Some((call, undo)) => format!(
            "call {call} was already undone by call {undo}; `{}` brings it back",
            command_line(of, &format!("undo {undo}"))
        ),
        None => format!(
            "nothing is left to undo in these calls; `{}` lists what each call changed",
            command_line(of, "")
        ),
    })
}

/// Resolves a path relative to the directory. Its last components may no longer exist.
fn place(names: &Names<'_>, path: &Path) -> Result<RootedPath> {
    let absolute = names.below.unwrap_or(Path::new("/")).join(path);
    // The last component is not followed: if it is a symlink, the path means the link.
    let above = if absolute.file_name().is_some() {
        absolute.parent()
    } else {
        Some(&*absolute)
    };
    let found = above
        .into_iter()
        .flat_map(Path::ancestors)
        .find_map(|above| {
            let below = absolute.strip_prefix(above).ok()?;
            let real = std::fs::canonicalize(above).ok()?;
            names
                .store
                .place(&real.join(below).components().collect::<PathBuf>())
        });
    found.with_context(|| {
        format!(
            "--path `{}` is not in a directory whose changes this store keeps",
            path.display()
        )
    })
}
