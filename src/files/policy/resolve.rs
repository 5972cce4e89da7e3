//! Path resolution: from a spelling to an open handle, with no gap between the check and the open.
//!
//! The fast path is one `openat2` below an allowed directory that refuses every link, so the spelt
//! position is the true one. If the path has a link or climbs with `..`, a walk takes over. It
//! opens one `O_PATH|O_NOFOLLOW` handle at a time, reads links, and puts their targets in front of
//! the rest.
//!
//! Outside the allowed directories the walk only compares text and opens no file, so no answer
//! depends on files there. For `..` the walk never asks the kernel. It shortens the position, which
//! is then opened again from the allowed directory, without links, before the next name.
#![expect(
    clippy::disallowed_methods,
    reason = "policy is where paths become handles"
)]

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::Errno;

use replay_base::limits::{MAX_RESOLVE_STEPS, RESOLVE_RETRIES};
use replay_base::remaining_path::{RemainingPath, TooManyLinks};

use super::directories::Policy;
use super::kind::FileKind;
use super::spelling::Spelling;

/// Reason why a walk ended without a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// The path led out of the allowed directories.
    Outside,
    /// The path reached a hidden file, or the place of one.
    Hidden,
    /// The path reached a filesystem of the kernel.
    Kernel,
    /// An error met inside.
    Errno(Errno),
    /// An entry disappeared during the walk, which may be retried as a whole.
    Raced,
}

/// Handling of a link in the last part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastPart {
    Follow,
    Keep,
}

/// Result of a walk: a directory inside, and the names below it.
#[derive(Debug)]
pub(super) struct WalkTarget {
    /// The true position of `dir`.
    pub(super) place: PathBuf,
    /// The deepest directory reached (`O_PATH`).
    pub(super) dir: Arc<OwnedFd>,
    /// Names below `dir`: none if the path is `dir` itself; one for anything that exists; more are
    /// missing.
    pub(super) tail: Vec<OsString>,
    /// Entry that `tail` names, if it exists.
    pub(super) found: Option<(Arc<OwnedFd>, FileKind)>,
    /// Error that kept the walk from entering the first part of `tail`, unless it is missing.
    pub(super) stuck: Option<Errno>,
    /// Spelt, or linked to, with a slash at the end.
    pub(super) wants_dir: bool,
    /// A link was followed only because of a slash at the end.
    pub(super) through_link: bool,
}

pub(super) const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
pub(super) const PATH_DIR: OFlags = PATH_ONLY.union(OFlags::DIRECTORY);

impl Policy {
    /// The allowed directory and the path below it (`.` for itself), when the spelling needs no
    /// walk to tell.
    pub(super) fn direct<'a>(&self, spelling: &'a Spelling) -> Option<(usize, &'a [u8])> {
        if spelling.climbs {
            return None;
        }
        let (root, start) = self.rules.allowed_prefix(&spelling.clean)?;
        let rest = &spelling.clean[start..];
        if self
            .rules
            .hides(&self.roots[root].path().join(OsStr::from_bytes(rest)))
        {
            // The walk knows what is hidden by its place as well.
            return None;
        }
        Some((root, if rest.is_empty() { b"." } else { rest }))
    }

    /// One `openat2` that crosses no link; `None` means that a walk must decide.
    pub(super) fn open_direct(
        &self,
        root: usize,
        below: &[u8],
        flags: OFlags,
    ) -> Option<Result<OwnedFd, Errno>> {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..RESOLVE_RETRIES {
            match openat2(
                &self.roots[root].handle,
                below,
                flags | OFlags::CLOEXEC,
                Mode::empty(),
                resolve,
            ) {
                // A rename somewhere on the machine made the kernel unsure (openat2(2), EAGAIN).
                Err(Errno::AGAIN) => {}
                // A link; or a kernel or a container's filter that does not know openat2.
                Err(Errno::LOOP | Errno::XDEV | Errno::NOSYS | Errno::PERM) => return None,
                other => return Some(other),
            }
        }
        None
    }

    /// Walks a spelling, with a few retries after races.
    pub(super) fn walk(&self, spelling: &Spelling, last: LastPart) -> Result<WalkTarget, Halt> {
        for _ in 0..RESOLVE_RETRIES {
            match Walk::new(self, spelling, last).run() {
                Err(Halt::Raced) => {}
                other => return other,
            }
        }
        Err(Halt::Raced)
    }

    /// Opens a place without following anything; every part of it must be a directory.
    pub(super) fn reopen(&self, place: &Path, budget: &mut usize) -> Result<Arc<OwnedFd>, Halt> {
        let root = &self.roots[self.rules.over(place).ok_or(Halt::Outside)?];
        let below = place.strip_prefix(root.path()).map_err(|_| Halt::Outside)?;
        let mut at = Arc::clone(&root.handle);
        for part in below {
            *budget = budget.checked_sub(1).ok_or(Halt::Errno(Errno::LOOP))?;
            match openat(&at, part, PATH_DIR, Mode::empty()) {
                Ok(next) => at = Arc::new(next),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(Halt::Raced),
                Err(errno) => return Err(Halt::Errno(errno)),
            }
        }
        Ok(at)
    }
}

enum Here {
    /// Not below any allowed directory, but on the way to one.
    Outside,
    At(Arc<OwnedFd>),
    /// Inside, at a position that `..` made; opened when it is needed.
    Unopened,
}

struct Walk<'a> {
    policy: &'a Policy,
    keep_last: bool,
    place: PathBuf,
    here: Here,
    rest: RemainingPath,
    tail: Vec<OsString>,
    found: Option<(Arc<OwnedFd>, FileKind)>,
    stuck: Option<Errno>,
    through_link: bool,
    budget: usize,
}

impl<'a> Walk<'a> {
    fn new(policy: &'a Policy, spelling: &Spelling, last: LastPart) -> Self {
        let mut rest = RemainingPath::new(&spelling.clean);
        if spelling.wants_dir {
            rest.require_dir();
        }
        Self {
            policy,
            keep_last: last == LastPart::Keep,
            place: "/".into(),
            here: Here::Outside,
            rest,
            tail: Vec::new(),
            found: None,
            stuck: None,
            through_link: false,
            budget: MAX_RESOLVE_STEPS,
        }
    }

    fn run(mut self) -> Result<WalkTarget, Halt> {
        while let Some(part) = self.rest.next() {
            match part.as_bytes() {
                b".." => self.climb()?,
                // Below a missing or unreadable directory only the text is left, and `..` removes a
                // part of it.
                _ if !self.tail.is_empty() => self.tail.push(part),
                _ => self.enter(&part)?,
            }
        }
        let dir = self.handle()?.ok_or(Halt::Outside)?;
        Ok(WalkTarget {
            place: self.place,
            dir,
            tail: self.tail,
            found: self.found,
            stuck: self.stuck,
            wants_dir: self.rest.wants_dir(),
            through_link: self.through_link,
        })
    }

    /// The handle of the current position; none outside.
    fn handle(&mut self) -> Result<Option<Arc<OwnedFd>>, Halt> {
        if let Here::Unopened = self.here {
            self.here = Here::At(self.policy.reopen(&self.place, &mut self.budget)?);
        }
        Ok(match &self.here {
            Here::At(handle) => Some(Arc::clone(handle)),
            Here::Outside | Here::Unopened => None,
        })
    }

    fn climb(&mut self) -> Result<(), Halt> {
        if self.tail.pop().is_some() {
            if self.tail.is_empty() {
                self.stuck = None;
                self.found = None;
            }
            return Ok(());
        }
        self.place.pop();
        self.here = if self.policy.rules.over(&self.place).is_some() {
            Here::Unopened
        } else if self.policy.rules.leads_in(&self.place) {
            Here::Outside
        } else {
            return Err(Halt::Outside);
        };
        Ok(())
    }

    fn enter(&mut self, part: &OsStr) -> Result<(), Halt> {
        let last = self.rest.is_empty() && !self.rest.wants_dir();
        let next = self.place.join(part);
        let root = self.policy.rules.exactly(&next);
        let Some(dir) = self.handle()? else {
            return match root {
                Some(root) => {
                    self.enter_root(root);
                    Ok(())
                }
                None if self.policy.rules.leads_in(&next) => {
                    self.place = next;
                    Ok(())
                }
                None => Err(Halt::Outside),
            };
        };
        // The pinned directory, not what bears its name by now.
        if let Some(root) = root
            && !(last && self.keep_last)
        {
            self.enter_root(root);
            return Ok(());
        }
        self.budget = self.budget.checked_sub(1).ok_or(Halt::Errno(Errno::LOOP))?;
        let handle = match openat(&dir, part, PATH_ONLY, Mode::empty()) {
            Ok(handle) => handle,
            Err(errno) => {
                self.stuck = (errno != Errno::NOENT).then_some(errno);
                self.tail.push(part.into());
                return Ok(());
            }
        };
        let stat = fstat(&handle).map_err(Halt::Errno)?;
        if self.policy.rules.is_hidden((stat.st_dev, stat.st_ino)) || self.policy.rules.hides(&next)
        {
            return Err(Halt::Hidden);
        }
        if self.policy.rules.is_kernels(stat.st_dev, &handle) {
            return Err(Halt::Kernel);
        }
        let kind = FileKind::from(FileType::from_raw_mode(stat.st_mode));
        match kind {
            _ if last && self.keep_last => {
                self.tail.push(part.into());
                self.found = Some((Arc::new(handle), kind));
            }
            FileKind::Symlink => self.follow(&handle)?,
            FileKind::Directory => {
                self.place = next;
                self.here = Here::At(Arc::new(handle));
            }
            _ => {
                self.tail.push(part.into());
                if last {
                    self.found = Some((Arc::new(handle), kind));
                } else {
                    self.stuck = Some(Errno::NOTDIR);
                }
            }
        }
        Ok(())
    }

    fn enter_root(&mut self, root: usize) {
        let root = &self.policy.roots[root];
        self.place = root.path().to_path_buf();
        self.here = Here::At(Arc::clone(&root.handle));
    }

    fn follow(&mut self, link: &impl AsFd) -> Result<(), Halt> {
        let target = readlinkat(link, "", Vec::new()).map_err(Halt::Errno)?;
        self.through_link |= self.rest.is_empty() && self.rest.wants_dir();
        let followed = self.rest.follow(target.as_bytes());
        if followed.map_err(|TooManyLinks| Halt::Errno(Errno::LOOP))? {
            self.place = "/".into();
            self.here = Here::Outside;
        }
        // A position outside is only ever entered through a name of an allowed directory.
        if matches!(self.here, Here::Outside) && !self.policy.rules.leads_in(&self.place) {
            return Err(Halt::Outside);
        }
        Ok(())
    }
}
