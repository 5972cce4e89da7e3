//! Which files a cell has made or changed: the files below the session's directory before it and after it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
use crate::fs::{Found, FsError, Order, Visitor, WalkOptions, walk};
use crate::limits::{MAX_CHANGED_FILES, MAX_SNAPSHOT_FILES, MAX_WALK_DEPTH, SNAPSHOT_MS};
use crate::policy::{Checked, Kind, Read};

/// Directories whose files are no business of a cell's reader, by name.
const SKIPPED: [&[u8]; 6] = [b".git", b"node_modules", b".venv", b"venv", b"target", b"__pycache__"];

/// What a file is known by: inode number, size in bytes, and when it was changed.
type Mark = (u64, u64, (i64, u32));

/// The regular files below a directory.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    files: HashMap<Box<[u8]>, Mark>,
    /// There are more than are looked at, or looking took too long.
    is_partial: bool,
}

/// What has changed between two snapshots: paths below the directory, sorted, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that were not there before.
    pub new: Vec<Box<[u8]>>,
    /// Files that were.
    pub modified: Vec<Box<[u8]>>,
    /// Why not everything is told.
    pub partial: Option<&'static str>,
}

impl Snapshot {
    /// Looks at the files now.
    pub(super) fn take(dir: &Checked<Read>, cancel: &CancelToken) -> Result<Self, FsError> {
        let options = WalkOptions {
            threads: None,
            order: Order::Names,
            max_depth: MAX_WALK_DEPTH,
            respect_gitignore: false,
            above: &[],
            cancel,
        };
        let until = Instant::now() + Duration::from_millis(SNAPSHOT_MS);
        let mut snapshot = Self::default();
        walk(dir, &options, &Looker, |found: Vec<(Box<[u8]>, Mark)>| {
            snapshot.is_partial |= snapshot.files.len() + found.len() > MAX_SNAPSHOT_FILES || Instant::now() >= until;
            if snapshot.is_partial {
                return ControlFlow::Break(());
            }
            snapshot.files.extend(found);
            ControlFlow::Continue(())
        })?;
        Ok(snapshot)
    }

    /// What has changed from this one to a later one.
    pub(super) fn until(&self, later: &Self) -> Changes {
        if self.is_partial || later.is_partial {
            return Changes {
                partial: Some("the directory has too many files to look at them all"),
                ..Changes::default()
            };
        }
        let mut changes = Changes::default();
        for (path, mark) in &later.files {
            match self.files.get(path) {
                None => changes.new.push(path.clone()),
                Some(before) if before != mark => changes.modified.push(path.clone()),
                Some(_) => {}
            }
        }
        for list in [&mut changes.new, &mut changes.modified] {
            list.sort_unstable();
            if list.len() > MAX_CHANGED_FILES {
                list.truncate(MAX_CHANGED_FILES);
                changes.partial = Some("more files have changed than are listed");
            }
        }
        changes
    }
}

struct Looker;

impl Visitor for Looker {
    type Local = ();
    type Out = Vec<(Box<[u8]>, Mark)>;
    type Notes = ();

    fn local(&self) {}

    fn enters(&self, rel: &[u8]) -> bool {
        let name = rel.rsplit(|byte| *byte == b'/').next().unwrap_or(rel);
        !SKIPPED.contains(&name)
    }

    fn visit(&self, (): &mut (), out: &mut Self::Out, found: &Found<'_>, (): &()) {
        if found.kind() == Kind::File
            && let Some(version) = found.version()
        {
            out.push((found.rel().into(), (version.inode, version.size, version.modified)));
        }
    }

    fn unreadable(&self, _: &mut Self::Out, _: &[u8]) {}

    fn weight(out: &Self::Out) -> usize {
        out.len() * 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn snapshot(files: &[(&str, Mark)]) -> Snapshot {
        let files = files.iter().map(|(path, mark)| (path.as_bytes().into(), *mark)).collect();
        Snapshot { files, is_partial: false }
    }

    fn paths(paths: &[&str]) -> Vec<Box<[u8]>> {
        paths.iter().map(|path| path.as_bytes().into()).collect()
    }

    #[test]
    fn new_and_modified_files_are_told_apart() {
        let before =
            snapshot(&[("a", (1, 1, (0, 0))), ("b", (2, 1, (0, 0))), ("c", (3, 1, (0, 0))), ("gone", (9, 1, (0, 0)))]);
        let after = snapshot(&[
            ("a", (1, 1, (0, 0))),
            ("b", (2, 1, (0, 1))),
            ("c", (4, 1, (0, 0))),
            ("e", (5, 0, (0, 0))),
            ("d", (6, 0, (0, 0))),
        ]);
        let expected = Changes { new: paths(&["d", "e"]), modified: paths(&["b", "c"]), partial: None };
        assert_eq!(before.until(&after), expected);
        assert_eq!(after.until(&after), Changes::default());
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let partial = Snapshot { is_partial: true, ..Snapshot::default() };
        let changes = partial.until(&snapshot(&[("a", (1, 1, (0, 0)))]));
        assert_eq!((changes.new, changes.partial.is_some()), (Vec::new(), true));
    }

    #[test]
    fn directories_of_tools_are_left_out() {
        assert!(!Looker.enters(b"a/node_modules") && !Looker.enters(b".git"));
        assert!(Looker.enters(b"a/src") && Looker.enters(b"targets"));
    }
}
