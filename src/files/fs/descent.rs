//! Ordered traversal of a tree, without recursion and with a limited number of open directories.
//!
//! Only the deepest directories stay open. A shallower one is reopened through `..` of its child,
//! and only used if it is the same directory as before. So a concurrent rename ends the traversal,
//! but cannot redirect it.
#![expect(clippy::disallowed_methods, reason = "fs opens files")]

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use replay_base::limits::MAX_WALK_OPEN_DIRS;
use rustix::fs::{Mode, fstat, openat};
use rustix::io::Errno;

use crate::policy::{Id, Rules};

use super::dir::{DirEntry, LIST, list, open_below};

pub(super) enum DescentStep {
    /// An entry of the current directory.
    Entry(DirEntry),
    /// The end of a directory, with its name; its parent is the current one again.
    Left(OsString),
}

struct Frame {
    dir: Option<OwnedFd>,
    id: Id,
    name: OsString,
    todo: std::vec::IntoIter<DirEntry>,
}

pub(super) struct Descent {
    frames: Vec<Frame>,
}

impl Descent {
    /// Starts in an open directory, whose file offset must be at the beginning.
    pub(super) fn new(top: OwnedFd) -> Result<Self, Errno> {
        let mut descent = Self { frames: Vec::new() };
        descent.push(top, OsString::new())?;
        Ok(descent)
    }

    /// Returns the next step; `None` at the end of the top directory.
    pub(super) fn step(&mut self) -> Result<Option<DescentStep>, Errno> {
        let Some(frame) = self.frames.last_mut() else {
            return Ok(None);
        };
        if let Some(entry) = frame.todo.next() {
            return Ok(Some(DescentStep::Entry(entry)));
        }
        let Some(done) = self.frames.pop() else {
            return Ok(None);
        };
        let Some(parent) = self.frames.last_mut() else {
            return Ok(None);
        };
        if parent.dir.is_none() {
            let child = done.dir.ok_or(Errno::BADF)?;
            let again = openat(&child, "..", LIST, Mode::empty())?;
            if identity(&again)? != parent.id {
                return Err(Errno::STALE);
            }
            parent.dir = Some(again);
        }
        Ok(Some(DescentStep::Left(done.name)))
    }

    pub(super) fn dir(&self) -> Result<&OwnedFd, Errno> {
        self.frames
            .last()
            .and_then(|frame| frame.dir.as_ref())
            .ok_or(Errno::BADF)
    }

    /// Returns the depth of the current directory below the top one.
    pub(super) fn depth(&self) -> usize {
        self.frames.len().saturating_sub(1)
    }

    /// Opens a directory in the current one without following links, and enters it if `allowed`
    /// returns true. Fails with EXDEV if it is on a pseudo filesystem of the kernel.
    pub(super) fn enter(
        &mut self,
        name: &OsStr,
        rules: &Rules,
        allowed: impl FnOnce(Id) -> bool,
    ) -> Result<bool, Errno> {
        let dir = open_below(rules, self.dir()?, name.as_bytes())?;
        if !allowed(identity(&dir)?) {
            return Ok(false);
        }
        self.push(dir, name.into())?;
        Ok(true)
    }

    fn push(&mut self, dir: OwnedFd, name: OsString) -> Result<(), Errno> {
        let id = identity(&dir)?;
        let mut entries = list(&dir)?;
        entries.sort_unstable();
        self.frames.push(Frame {
            dir: Some(dir),
            id,
            name,
            todo: entries.into_iter(),
        });
        if let Some(far) = self.frames.len().checked_sub(MAX_WALK_OPEN_DIRS + 1) {
            self.frames[far].dir = None;
        }
        Ok(())
    }
}

fn identity(dir: &OwnedFd) -> Result<Id, Errno> {
    fstat(dir).map(|stat| (stat.st_dev, stat.st_ino))
}
