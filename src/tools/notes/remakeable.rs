//! Directories that a program can make again, and what undo keeps of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use replay_files::fs::DIRECTORY_MARKS;
use replay_files::journal::{Change, Journal, RootedPath};

use super::ignored::IgnoredChanges;
use crate::tools::Context;

/// Directory of installed packages, which can be made again by its lock file beside.
const PACKAGES: &str = "node_modules";
const LOCK_FILES: [&str; 6] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
];

/// Forgets what earlier calls saved of the directories that this one changed, if they can be made
/// again. Returns the note on it.
pub(crate) fn forget_earlier(
    context: &Context<'_>,
    number: u64,
    changes: &[(RootedPath, Change)],
) -> Option<String> {
    let journal = context.services.journal.as_ref().ok()?;
    let dirs = remakeable(context, journal, changes);
    let earlier = journal.changed_remakeable(number, dirs);
    let (_, first) = earlier.first()?;
    let note = format!(
        "`{}` can be made again, so undo keeps only the last change of it",
        context.shown(first.as_os_str().as_encoded_bytes())
    );
    let journal = Arc::clone(journal);
    let forget = move || {
        for (number, dir) in earlier {
            if let Err(error) = journal.store.forget(number, &|path| path.starts_with(&dir)) {
                tracing::warn!("{error}");
            }
        }
    };
    // Without a thread the data stays until it expires.
    let _ = thread::Builder::new()
        .name("forget".to_owned())
        .spawn(forget);
    Some(note)
}

fn remakeable(
    context: &Context<'_>,
    journal: &Journal,
    changes: &[(RootedPath, Change)],
) -> BTreeSet<PathBuf> {
    let policy = &context.services.policy;
    let mut rules = IgnoredChanges::new(context);
    let is_root = |dir: &Path| policy.roots().iter().any(|root| root.path() == dir);
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    for (place, _) in changes {
        let path = journal.store.path(place);
        if path.ancestors().any(|above| found.contains(above)) {
            continue;
        }
        let has_lock = |above: &&Path| {
            let parent = above.parent().unwrap_or(above);
            above.ends_with(PACKAGES)
                && LOCK_FILES
                    .iter()
                    .any(|lock| policy.is_there(parent.join(lock)))
        };
        let packages = path.ancestors().filter(has_lock).last();
        // The directory may have been deleted with its mark.
        let is_mark = path
            .file_name()
            .is_some_and(|name| DIRECTORY_MARKS.iter().any(|mark| name == *mark));
        let deleted = path.parent().filter(|dir| is_mark && !policy.is_there(dir));
        let dir = packages
            .map(Path::to_path_buf)
            .or(deleted.map(Path::to_path_buf))
            .or_else(|| rules.marked_around(&path));
        found.extend(dir.filter(|dir| !is_root(dir)));
    }
    found
}
