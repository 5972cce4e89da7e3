//! Allowed directories, opened once, and the rules over them.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use replay_base::text::escape::show_path;

use super::FileKind;
use super::error::AllowedList;
use super::linked_git::LinkedRepository;
use super::mounts::Mounts;
use super::repositories::Repositories;
use super::root::Root;
use super::rules::{Cause, Hidden, Rules};
use crate::hide::Hide;
use crate::journal::Changer;

/// Policy: the allowed directories, open, and the rules over them.
#[derive(Debug)]
pub struct Policy {
    pub(super) roots: Vec<Root>,
    pub(super) rules: Arc<Rules>,
    pub(super) allowed: Arc<AllowedList>,
    pub(super) mounts: Mounts,
    /// Of allowed directories whose `.git` leads elsewhere; with the path of what was not followed,
    /// why.
    pub(super) linked: Vec<LinkedRepository>,
    pub(super) unfollowed: Vec<(PathBuf, String)>,
    /// Root of the client, where relative paths begin.
    pub(super) client_root: OnceLock<PathBuf>,
}

impl Policy {
    /// The allowed directories in the order given, each once.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// The first directory given.
    pub fn project(&self) -> Option<&Root> {
        self.roots.first()
    }

    /// Lets relative paths begin at the first of these that is a directory and inside an allowed
    /// one. Only the first call has an effect.
    pub fn begin_at(&self, client_roots: &[PathBuf]) {
        let directory = |path: &PathBuf| {
            // Without `//` and `.`; a path with `..` would show up in replies.
            let clean: PathBuf = path.components().collect();
            let climbs = path.components().any(|part| part == Component::ParentDir);
            let found = self
                .read((clean.is_absolute() && !climbs).then_some(&clean)?)
                .ok()?;
            (found.kind() == FileKind::Directory).then_some(clean)
        };
        if let Some(root) = client_roots.iter().find_map(directory) {
            tracing::info!(
                "relative paths begin at {}, a root of the client",
                show_path(&root)
            );
            let _ = self.client_root.set(root);
        }
    }

    /// The root of the client, if it gave one.
    pub fn client_root(&self) -> Option<&Path> {
        self.client_root.get().map(PathBuf::as_path)
    }

    /// Directory where relative paths begin: the root of the client, else the first directory given.
    pub fn base(&self) -> Option<&Path> {
        self.client_root()
            .or_else(|| self.project().map(Root::path))
    }

    /// Default working directory of programs: the root of the client if it is writable or nothing
    /// is, else the first writable directory, else the first.
    pub fn default_directory(&self) -> Option<&Path> {
        let writable = || {
            self.roots
                .iter()
                .find(|root| root.writable())
                .map(Root::path)
        };
        let own = self.client_root().filter(|path| {
            let above = self
                .roots
                .iter()
                .filter(|root| path.starts_with(root.path()));
            let innermost = above.max_by_key(|root| root.path().as_os_str().len());
            innermost.is_some_and(Root::writable)
        });
        own.or_else(writable).or_else(|| self.base())
    }

    /// Other paths that the operator gave for allowed directories, through links, each with the
    /// true one.
    pub fn other_names(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let names = self
            .rules
            .names
            .iter()
            .map(|name| (name.path.as_path(), self.roots[name.root].path()));
        names.filter(|(name, path)| name != path)
    }

    /// Returns true if everything below the allowed directories is on local filesystems. These
    /// depend on no other machine and no other program, and so do not hang.
    pub fn is_local(&self) -> bool {
        self.mounts.are_local(&self.roots)
    }

    /// Returns the protected paths: absolute, as given and with links resolved. They need not
    /// exist. Hidden paths are not included.
    pub fn protected(&self) -> impl Iterator<Item = &Path> {
        self.rules
            .protected
            .iter()
            .map(|p| p.path.as_path())
            .filter(|path| !self.rules.conceals(path))
    }

    /// Returns the hidden files that tools or commands could otherwise reach.
    pub fn hidden(&self) -> impl Iterator<Item = &Hidden> {
        let is_linked = |path: &Path| {
            self.linked
                .iter()
                .any(|linked| path.starts_with(linked.outermost()))
        };
        let is_reached = move |path: &Path| self.rules.over(path).is_some() || is_linked(path);
        self.rules
            .hidden
            .iter()
            .filter(move |hidden| is_reached(&hidden.path))
    }

    /// Returns the patterns of hidden paths, if any.
    pub fn hidden_by_patterns(&self) -> Option<&Hide> {
        self.rules.hide.as_ref()
    }

    /// Returns true if a place is hidden by a path or a pattern.
    pub fn hides(&self, place: &Path) -> bool {
        self.rules.hides(place)
    }

    /// Repositories outside that allowed directories are work trees of. They are for commands: no
    /// tool reaches them.
    pub fn linked(&self) -> &[LinkedRepository] {
        &self.linked
    }

    /// Files called `.git` that lead out of the allowed directories and are not followed, each with
    /// the reason.
    pub fn unfollowed(&self) -> &[(PathBuf, String)] {
        &self.unfollowed
    }

    /// Returns each protected path with its cause.
    pub fn causes(&self) -> impl Iterator<Item = (&Path, Cause)> {
        self.rules
            .protected
            .iter()
            .filter(|p| !self.rules.conceals(&p.path))
            .map(|p| (p.path.as_path(), p.why))
    }

    /// Returns the judge of each step of an undo. Nothing more can be hidden then.
    pub fn changer(&self) -> Arc<dyn Changer> {
        Arc::<Rules>::clone(&self.rules)
    }

    /// The git repositories below the read-write directories.
    pub fn repositories(&self) -> &Arc<Repositories> {
        &self.rules.repositories
    }

    /// Returns the protected paths that the operator named, and those that configure the server.
    pub fn protected_by_operator(&self) -> impl Iterator<Item = &Path> {
        self.rules
            .protected
            .iter()
            .filter(|p| p.why.is_asked())
            .map(|p| p.path.as_path())
    }
}
