//! Changes that a model need not hear of: in `.git`, and in directories that searches skip.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use replay_files::fs::IgnoredPaths;
use replay_files::policy::AccessRecord;

use crate::tools::Context;

/// Rules about ignored files of all allowed directories.
pub(crate) struct IgnoredChanges<'a>(Vec<(PathBuf, IgnoredPaths<'a>)>);

impl<'a> IgnoredChanges<'a> {
    pub(crate) fn new(context: &'a Context<'_>) -> Self {
        let policy = &context.services.policy;
        // The server's own questions are not recorded.
        let aside = AccessRecord::default();
        let _entered = aside.enter();
        let rules = |root: &Path| {
            let start = policy.read(root).ok()?;
            Some((root.to_owned(), IgnoredPaths::new(start, context.room())))
        };
        let roots = policy.roots().iter();
        Self(roots.filter_map(|root| rules(root.path())).collect())
    }

    /// Returns true if nobody needs to hear of a change of this path.
    pub(crate) fn hide(&mut self, path: &Path) -> bool {
        self.of(path)
            .is_some_and(|(rel, rules)| rules.are_around(&rel))
    }

    /// Returns the directory around a path that a program can make again.
    pub(crate) fn marked_around(&mut self, path: &Path) -> Option<PathBuf> {
        let root = self.root_of(path)?.to_owned();
        let (rel, rules) = self.of(path)?;
        let marked = rules.marked_around(&rel)?;
        Some(root.join(OsString::from_vec(marked.to_vec())))
    }

    fn root_of(&self, path: &Path) -> Option<&Path> {
        let roots = self.0.iter().map(|(root, _)| root.as_path());
        roots
            .filter(|root| path.starts_with(root))
            .max_by_key(|root| root.as_os_str().len())
    }

    fn of(&mut self, path: &Path) -> Option<(Vec<u8>, &mut IgnoredPaths<'a>)> {
        let root = self.root_of(path)?.to_owned();
        let rel = path
            .strip_prefix(&root)
            .ok()?
            .as_os_str()
            .as_bytes()
            .to_vec();
        let (_, rules) = self.0.iter_mut().find(|(known, _)| *known == root)?;
        Some((rel, rules))
    }
}
