//! Allowed directories, opened once, and the rules over them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

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
}

impl Policy {
    /// The allowed directories in the order given, each once.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// The first directory given: relative paths are below it.
    pub fn project(&self) -> Option<&Root> {
        self.roots.first()
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
