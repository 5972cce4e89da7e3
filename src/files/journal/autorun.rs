//! Finds autorun files that a call made or changed: files that programs outside the sandbox run
//! automatically (`autorun`). The previous state comes from the journal, the current one from the
//! disk.
//!
//! A recorded name is compared with its previous state. Objects in a new directory have no previous
//! version. Objects in a moved directory are unchanged, so they count only if they were a different
//! autorun file, or none, under the old name.
#![expect(
    clippy::disallowed_methods,
    reason = "everything starts at a handle of a root"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{MutexGuard, PoisonError};

use replay_base::limits::{JOURNAL_DEPTH, MAX_AUTORUN_BYTES, MAX_PATH_BYTES};
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, openat, openat2, readlinkat};
use rustix::io::Errno;

use super::autorun_change::Outside;
use super::bytes::Bytes;
use super::entry::{Change, RootedPath};
use super::error::JournalError;
use super::memory::Memory;
use super::object::{self, Id, Stat, stat_of};
use super::store::Store;
use super::versions::{Version, Versions};
use crate::autorun::{
    AutorunRule, Content, Facets, HOOK, differences, hooks_directory, hooks_path, named_directory,
    rule_for_path,
};

/// Names in new directories that are searched for files of programs outside after a call.
const MAX_AUTORUN_NAMES: usize = 1_000_000;

/// Autorun files that were found, and the changes that caused them: undoing these changes restores the
/// autorun files.
#[derive(Debug, Default)]
pub struct AutorunFindings {
    pub all: Vec<Outside>,
    pub by: BTreeSet<RootedPath>,
}

/// An autorun file of the table that matches a path, and the index of the first matching component.
type RuleMatch = (&'static AutorunRule, usize);

struct AutorunSearch<'a> {
    store: &'a Store,
    /// Number of the entry, if it exists; its previous versions are read on demand.
    number: Option<u64>,
    versions: Option<Versions<'a>>,
    /// New and old places of moved objects.
    moved: Vec<(&'a RootedPath, &'a RootedPath)>,
    /// Hooks directories by directory: those named by its own git configuration and by those above
    /// it, outermost first.
    hooks: HashMap<RootedPath, Rc<[RootedPath]>>,
    /// Objects that gained a hard link and are autorun files by an older name, by inode.
    linked: HashMap<u64, Vec<(Id, RootedPath, &'static AutorunRule)>>,
    names_left: usize,
    /// The last changed place at which nothing is now.
    missing: Option<RootedPath>,
    /// The current change.
    by: RootedPath,
    found: BTreeMap<PathBuf, BTreeSet<String>>,
    because: BTreeSet<RootedPath>,
}

impl Store {
    /// Returns the autorun files that an entry made or changed; `changes` are those of the entry, or of one
    /// that it undid.
    pub fn outside(
        &self,
        number: u64,
        changes: &[(RootedPath, Change)],
    ) -> Result<AutorunFindings, JournalError> {
        if changes.is_empty() {
            return Ok(AutorunFindings::default());
        }
        let moved = changes.iter().filter_map(|(to, change)| match change {
            Change::Renamed { from } => Some((to, from)),
            _ => None,
        });
        let moved: Vec<_> = moved.collect();
        let mut look = AutorunSearch {
            moved: moved.clone(),
            ..AutorunSearch::new(self, Some(number), &changes[0].0)
        };
        for (id, place) in self
            .entry_with(number, Memory::Overdrawn)?
            .linked(&self.root_ids)
        {
            if let Some((rule, _)) = look.line(&place, false) {
                look.remember_link(id, &place, rule);
                look.linked.entry(id.1).or_default().push((id, place, rule));
            }
        }
        for (place, change) in changes {
            look.by = place.clone();
            look.change(place, change)?;
        }
        for (to, from) in moved {
            look.by = to.clone();
            look.change(from, &Change::Deleted)?;
        }
        Ok(look.into_findings())
    }

    /// Returns the autorun files that would change if the object at a place were moved or deleted.
    pub(super) fn outside_if_moved(
        &self,
        from: &RootedPath,
        to: Option<&RootedPath>,
    ) -> Result<Vec<Outside>, JournalError> {
        let mut look = AutorunSearch::new(self, None, from);
        look.check_move(from, to)?;
        Ok(look.into_findings().all)
    }

    /// Returns the autorun files that would change if this file were put at a place.
    pub(super) fn outside_if_put(
        &self,
        file: BorrowedFd<'_>,
        place: &RootedPath,
    ) -> Result<Vec<Outside>, JournalError> {
        let mut look = AutorunSearch::new(self, None, place);
        let failed = || failed(self, place);
        let Some((rule, _)) = look.line(place, false) else {
            return Ok(Vec::new());
        };
        let new = content(&stat_of(file).map_err(failed())?, &file).map_err(failed())?;
        let old = look
            .open(place)
            .and_then(|old| old.map_or(Ok(None), |old| content(&stat_of(&old)?, &old)));
        let facets =
            |content: Option<Content>| content.map(|content| rule.facets(&place.path.0, &content));
        let [old, new] =
            [old.map_err(failed())?, new].map(|content| facets(content).unwrap_or_default());
        for what in differences(&old, &new) {
            look.find(place, what);
        }
        Ok(look.into_findings().all)
    }
}

impl Store {
    fn linked(&self) -> MutexGuard<'_, HashMap<Id, (RootedPath, &'static AutorunRule)>> {
        // The protected value is consistent at any point, also after a panic.
        self.linked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of the object's links that only the store holds.
    fn kept_links(&self, id: Id) -> Result<u32, Errno> {
        if stat_of(&self.kept)?.id.0 != id.0 {
            return Ok(0);
        }
        let own = entries(self.kept.as_fd())?
            .into_iter()
            .filter(|(.., inode)| *inode == id.1);
        Ok(own.count() as u32)
    }
}

fn failed(store: &Store, place: &RootedPath) -> impl FnOnce(Errno) -> JournalError {
    JournalError::io(format!(
        "{}: looking at what runs outside",
        store.path(place).display()
    ))
}

impl<'a> AutorunSearch<'a> {
    fn new(store: &'a Store, number: Option<u64>, by: &RootedPath) -> Self {
        let (versions, by, names_left) = (None, by.clone(), MAX_AUTORUN_NAMES);
        let (hooks, linked) = (HashMap::new(), HashMap::new());
        let (moved, found, because) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        Self {
            store,
            number,
            versions,
            moved,
            hooks,
            linked,
            names_left,
            missing: None,
            by,
            found,
            because,
        }
    }

    fn into_findings(self) -> AutorunFindings {
        let all = self.found.into_iter().map(|(path, what)| Outside {
            path,
            what: what.into_iter().collect(),
        });
        AutorunFindings {
            all: all.collect(),
            by: self.because,
        }
    }

    /// Remembers an autorun file with several names: later calls may change it by a name that is no autorun file.
    fn remember_link(&self, id: Id, place: &RootedPath, rule: &'static AutorunRule) {
        let mut linked = self.store.linked();
        if linked.len() < MAX_AUTORUN_NAMES {
            linked.insert(id, (place.clone(), rule));
        }
    }

    fn change(&mut self, place: &RootedPath, change: &Change) -> Result<(), JournalError> {
        // The changes of a deleted directory follow its own.
        let is_below = |missing: &RootedPath| place.is_at_or_below(missing);
        let now = if self.missing.as_ref().is_some_and(is_below) {
            None
        } else {
            let found = self.open(place).map_err(failed(self.store, place))?;
            if found.is_none() {
                self.missing = Some(place.clone());
            }
            let found = found.map(|handle| Ok((stat_of(&handle)?, handle)));
            found.transpose().map_err(failed(self.store, place))?
        };
        if let Some((stat, handle)) = &now
            && stat.is_dir()
        {
            let name = place
                .path
                .0
                .rsplit(|byte| *byte == b'/')
                .next()
                .unwrap_or_default();
            let is_new = *change != Change::Metadata;
            if is_new {
                self.walk(handle.as_fd(), place, 0)?;
            }
            // A repository was created around existing hooks.
            if is_new && [&b"objects"[..], b"refs"].contains(&name) {
                let hooks = above(place).join(&Bytes(b"hooks".to_vec()));
                let there = self.open(&hooks).ok().flatten();
                if let Some(there) = there.filter(|_| !is_below_dot_git(&hooks)) {
                    self.walk(there.as_fd(), &hooks, 0)?;
                }
            }
            return Ok(());
        }
        if let Some((stat, _)) = &now {
            self.link(stat);
            if *change == Change::Edited {
                self.edit(place, stat);
            }
        }
        self.check_place(place, now.as_ref())
    }

    /// Reports an autorun file whose other name was made by an earlier call.
    fn edit(&mut self, by: &RootedPath, stat: &Stat) {
        let Some((place, rule)) = self.store.linked().get(&stat.id).cloned() else {
            return;
        };
        let is = |now: Option<OwnedFd>| {
            now.is_some_and(|now| Id::of(now).is_ok_and(|now| now == stat.id))
        };
        // It may no longer have that name.
        if place != *by && self.open(&place).is_ok_and(is) {
            self.find(&place, hard_linked(rule));
        }
    }

    /// Reports the autorun files that share this inode: changes by a name that is no autorun file would go
    /// unnoticed.
    fn link(&mut self, stat: &Stat) {
        let linked = self.linked.get(&stat.id.1).cloned().unwrap_or_default();
        for (_, place, rule) in linked.into_iter().filter(|(id, ..)| *id == stat.id) {
            self.find(&place, hard_linked(rule));
        }
    }

    /// Examines everything in a new directory.
    fn walk(
        &mut self,
        dir: BorrowedFd<'_>,
        place: &RootedPath,
        depth: usize,
    ) -> Result<(), JournalError> {
        let failed = || failed(self.store, place);
        // The same for each file in it; after a move, the old name counts too.
        let is_moved = self.old_place(place).is_some();
        let in_hooks = !is_moved
            && self
                .hook(&place.join(&Bytes(b"x".to_vec())), false)
                .is_some();
        for (name, kind, inode) in entries(dir).map_err(failed())? {
            if self.names_left == 0 || depth > JOURNAL_DEPTH {
                self.find(place, TOO_MUCH.to_owned());
                return Ok(());
            }
            self.names_left -= 1;
            let inner = place.join(&name);
            let handle = match kind {
                FileType::Directory | FileType::Unknown => {
                    object::open_dir(dir, name.name()).map_err(failed())?
                }
                _ => None,
            };
            if let Some(handle) = handle {
                self.walk(handle.as_fd(), &inner, depth + 1)?;
            } else if is_moved
                || in_hooks
                || self.linked.contains_key(&inode)
                || rule_for_path(&inner.path.0).is_some()
                || kind != FileType::RegularFile && self.line(&inner, true).is_some()
            {
                let handle = object::handle(dir, name.name()).map_err(failed())?;
                let found = handle
                    .map(|handle| Ok((stat_of(&handle)?, handle)))
                    .transpose()
                    .map_err(failed())?;
                if let Some((stat, _)) = &found {
                    self.link(stat);
                }
                self.check_place(&inner, found.as_ref())?;
            }
        }
        Ok(())
    }

    /// Examines a non-directory at a place, and its previous version.
    fn check_place(
        &mut self,
        place: &RootedPath,
        now: Option<&(Stat, OwnedFd)>,
    ) -> Result<(), JournalError> {
        let old = self.old_place(place);
        let is_link = now.is_none_or(|(stat, _)| stat.is_link());
        let line = self.line(place, is_link);
        let old_line = match &old {
            Some(old) => self.line(old, true),
            None => line.or_else(|| self.line(place, true)),
        };
        if line.is_none() && old_line.is_none() {
            return Ok(());
        }
        if let (Some(number), None) = (self.number, &self.versions) {
            self.versions = Some(self.store.versions_with(number, Memory::Overdrawn)?);
        }
        let versions = self
            .versions
            .as_ref()
            .filter(|versions| versions.is_noted(old.as_ref().unwrap_or(place)));
        if let (None, Some(_), Some((new, begins)), Some((rule, _))) =
            (versions, &old, line, old_line)
            && new == rule
            && begins >= self.moved_depth(place)
        {
            // It was moved together with its autorun file.
            return Ok(());
        }
        let content = now.map(|(stat, handle)| content(stat, handle)).transpose();
        let content = content.map_err(failed(self.store, place))?.flatten();
        let facets = |line: Option<RuleMatch>, content: Option<&Content>| match (line, content) {
            (Some((rule, _)), Some(content)) => rule.facets(&place.path.0, content),
            _ => Facets::new(),
        };
        let after = facets(line, content.as_ref());
        let before = match versions {
            Some(versions) => {
                let version = versions.before(old.as_ref().unwrap_or(place))?;
                facets(old_line, version.and_then(content_of).as_ref())
            }
            None if old.is_some() => facets(old_line, content.as_ref()),
            None => Facets::new(),
        };
        let was = versions.and_then(|versions| versions.stat_before(old.as_ref().unwrap_or(place)));
        let place = if line.is_some() {
            place
        } else {
            old.as_ref().unwrap_or(place)
        };
        for what in differences(&before, &after) {
            self.find(place, what);
        }
        if let (Some((rule, _)), Some((stat, _))) = (line, now)
            && stat.is_file()
            && stat.links > 1
            && !(old_line.is_some()
                && was.is_some_and(|was| was.id == stat.id && was.links >= stat.links))
            && stat.links
                > 1 + self
                    .store
                    .kept_links(stat.id)
                    .map_err(failed(self.store, place))?
        {
            self.remember_link(stat.id, place, rule);
            self.find(place, hard_linked(rule));
        }
        Ok(())
    }

    fn find(&mut self, place: &RootedPath, what: String) {
        self.found
            .entry(self.store.path(place))
            .or_default()
            .insert(what);
        self.because.insert(self.by.clone());
    }

    /// Returns the old place of an object that was moved, itself or with a directory above it.
    fn old_place(&self, place: &RootedPath) -> Option<RootedPath> {
        let above = self.moved.iter().filter(|(to, _)| place.is_at_or_below(to));
        let (to, from) = above.max_by_key(|(to, _)| to.path.0.len())?;
        let rest = place.path.0.get(to.path.0.len() + 1..);
        Some(rest.map_or_else(|| (*from).clone(), |rest| from.join(&Bytes(rest.to_vec()))))
    }

    /// Returns the number of path components up to the moved object at or above the place.
    fn moved_depth(&self, place: &RootedPath) -> usize {
        let above = self.moved.iter().filter(|(to, _)| place.is_at_or_below(to));
        above.map(|(to, _)| to.depth()).max().unwrap_or(0)
    }

    fn line(&mut self, place: &RootedPath, is_link: bool) -> Option<RuleMatch> {
        let path = &place.path.0;
        let by_name =
            rule_for_path(path).or_else(|| if is_link { named_directory(path) } else { None });
        by_name.or_else(|| self.hook(place, is_link))
    }

    /// Returns the autorun file if the place lies below hooks of a repository, or is a link that replaces
    /// such a directory.
    fn hook(&mut self, place: &RootedPath, is_link: bool) -> Option<RuleMatch> {
        // Git runs hooks by their paths, which the kernel limits.
        if place.path.0.len() > MAX_PATH_BYTES {
            return None;
        }
        let names: Vec<&[u8]> = place.path.0.split(|byte| *byte == b'/').collect();
        let at = |end: usize| RootedPath {
            root: place.root,
            path: Bytes(names[..end].join(&b'/')),
        };
        let last = if is_link {
            names.len()
        } else {
            names.len() - 1
        };
        for begins in (0..last).filter(|index| names[*index].eq_ignore_ascii_case(b"hooks")) {
            if self.is_repository(&at(begins)) {
                return Some((&HOOK, begins));
            }
        }
        let above = self.hooks_above(at(names.len() - 1));
        let known = self
            .store
            .hooks
            .iter()
            .flat_map(|known| known.directories());
        let known = known.filter_map(|path| self.store.place(path));
        let is_in = |hooks: &RootedPath| place.is_at_or_below(hooks) && (is_link || place != hooks);
        let hooks = above.iter().cloned().chain(known).find(is_in)?;
        Some((&HOOK, hooks.depth().saturating_sub(1)))
    }

    /// Returns true for a git directory, judged like `is_git_directory` in git's setup.c, but more
    /// broadly: missing parts can be added again.
    fn is_repository(&self, dir: &RootedPath) -> bool {
        let has = |name: &[u8]| {
            self.open(&dir.join(&Bytes(name.to_vec())))
                .is_ok_and(|found| found.is_some())
        };
        is_below_dot_git(dir) || has(b"objects") && has(b"refs")
    }

    /// Returns the hooks directories named by the git configurations of a directory and of those
    /// above it.
    fn hooks_above(&mut self, dir: RootedPath) -> Rc<[RootedPath]> {
        let (mut unknown, mut at) = (Vec::new(), Some(dir));
        let mut hooks = loop {
            let Some(dir) = at else { break Rc::from([]) };
            if let Some(known) = self.hooks.get(&dir) {
                break Rc::clone(known);
            }
            at = dir.parent();
            unknown.push(dir);
        };
        for dir in unknown.into_iter().rev() {
            if let Some(named) = self.hooks_of(&dir) {
                hooks = hooks.iter().cloned().chain([named]).collect();
            }
            self.hooks.insert(dir, Rc::clone(&hooks));
        }
        hooks
    }

    /// Returns the hooks directory that a work tree's or a bare repository's configuration names.
    fn hooks_of(&self, dir: &RootedPath) -> Option<RootedPath> {
        let is_own = dir.path.0.ends_with(b".git");
        let read = |path: &[u8]| {
            let handle = self.open(&dir.join(&Bytes(path.to_vec()))).ok()??;
            match content(&stat_of(&handle).ok()?, &handle).ok()?? {
                Content::File { bytes, .. } => hooks_path(&bytes),
                _ => None,
            }
        };
        let said = [&b".git/config.worktree"[..], b".git/config", b"config"]
            .into_iter()
            .find_map(read);
        let said = said.filter(|_| !is_own)?;
        let root = &self.store.roots.get(dir.root)?.shown;
        let path = hooks_directory(&self.store.path(dir), &said)?;
        let below = path.strip_prefix(root).ok()?;
        Some(RootedPath {
            root: dir.root,
            path: Bytes::of(below.as_os_str()),
        })
    }

    /// Opens the object at a place without following symlinks.
    fn open(&self, place: &RootedPath) -> Result<Option<OwnedFd>, Errno> {
        let Some(root) = self.store.roots.get(place.root) else {
            return Ok(None);
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let path = if place.path.0.is_empty() {
            OsStr::new(".")
        } else {
            place.path.name()
        };
        match openat2(&root.handle, path, flags, Mode::empty(), beneath) {
            // A directory on the way may lack permissions, which its owner can restore.
            Err(Errno::ACCESS) => {
                let mut found = Some(root.handle.try_clone().map_err(|_| Errno::MFILE)?);
                for name in place.path.path() {
                    found = match found {
                        Some(dir) => object::handle(&dir, name)?,
                        None => return Ok(None),
                    };
                }
                Ok(found)
            }
            Err(Errno::LOOP | Errno::XDEV | Errno::NAMETOOLONG) => Ok(None),
            found => object::there(found),
        }
    }

    /// Finds the autorun files that a planned move would change.
    fn check_move(
        &mut self,
        from: &RootedPath,
        to: Option<&RootedPath>,
    ) -> Result<(), JournalError> {
        let Some(handle) = self.open(from).map_err(failed(self.store, from))? else {
            return Ok(());
        };
        let stat = stat_of(&handle).map_err(failed(self.store, from))?;
        if stat.is_dir() {
            return self.check_dir_move(handle.as_fd(), from, to, 0);
        }
        self.check_file_move(&stat, &handle, from, to, from.depth())
    }

    fn check_dir_move(
        &mut self,
        dir: BorrowedFd<'_>,
        from: &RootedPath,
        to: Option<&RootedPath>,
        depth: usize,
    ) -> Result<(), JournalError> {
        let top = from.depth() - depth;
        for (name, ..) in entries(dir).map_err(failed(self.store, from))? {
            if self.names_left == 0 || depth > JOURNAL_DEPTH {
                self.find(from, TOO_MUCH.to_owned());
                return Ok(());
            }
            self.names_left -= 1;
            let (inner, inner_to) = (from.join(&name), to.map(|to| to.join(&name)));
            let found = object::handle(dir, name.name());
            let Some(handle) = found.map_err(failed(self.store, &inner))? else {
                continue;
            };
            let stat = stat_of(&handle).map_err(failed(self.store, &inner))?;
            if stat.is_dir() {
                self.check_dir_move(handle.as_fd(), &inner, inner_to.as_ref(), depth + 1)?;
            } else {
                self.check_file_move(&stat, &handle, &inner, inner_to.as_ref(), top)?;
            }
        }
        Ok(())
    }

    /// `top` is the number of path components of the moved object.
    fn check_file_move(
        &mut self,
        stat: &Stat,
        handle: &OwnedFd,
        from: &RootedPath,
        to: Option<&RootedPath>,
        top: usize,
    ) -> Result<(), JournalError> {
        let (old, new) = (
            self.line(from, stat.is_link()),
            to.and_then(|to| self.line(to, stat.is_link())),
        );
        let is_along = old
            .zip(new)
            .is_some_and(|((old, begins), (new, _))| old == new && begins >= top);
        if is_along || old.is_none() && new.is_none() {
            return Ok(());
        }
        let Some(content) = content(stat, handle).map_err(failed(self.store, from))? else {
            return Ok(());
        };
        let facets =
            |line: Option<RuleMatch>| line.map(|(rule, _)| rule.facets(&from.path.0, &content));
        let differences = differences(
            &facets(old).unwrap_or_default(),
            &facets(new).unwrap_or_default(),
        );
        let place = if new.is_some() {
            to.unwrap_or(from)
        } else {
            from
        };
        for what in differences {
            self.find(place, what);
        }
        Ok(())
    }
}

const TOO_MUCH: &str = "too much to be looked through";

fn hard_linked(rule: &AutorunRule) -> String {
    format!("{}, hard-linked", rule.obeyed_by)
}

fn above(place: &RootedPath) -> RootedPath {
    let path = &place.path.0;
    let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    RootedPath {
        root: place.root,
        path: Bytes(path[..end].to_vec()),
    }
}

fn is_below_dot_git(place: &RootedPath) -> bool {
    place
        .path
        .0
        .split(|byte| *byte == b'/')
        .any(|name| name.eq_ignore_ascii_case(b".git"))
}

fn entries(dir: BorrowedFd<'_>) -> Result<Vec<(Bytes, FileType, u64)>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = object::with_access(dir, || openat(dir, ".", flags, Mode::empty()));
    let listed = Dir::read_from(opened?)?.filter_map(|entry| match entry {
        Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => None,
        entry => Some(entry.map(|entry| {
            let name = Bytes(entry.file_name().to_bytes().to_vec());
            (name, entry.file_type(), entry.ino())
        })),
    });
    listed.collect()
}

/// Reads the content of an open file or symlink.
fn content(stat: &Stat, handle: &impl AsFd) -> Result<Option<Content>, Errno> {
    if stat.is_link() {
        return Ok(Some(Content::Link(
            readlinkat(handle, "", Vec::new())?.into_bytes(),
        )));
    }
    if !stat.is_file() {
        return Ok(None);
    }
    match object::reopen(handle, OFlags::RDONLY) {
        Err(Errno::ACCESS) => Ok(Some(Content::Opaque("cannot be read"))),
        file => file_content(&file?, stat.size, stat.mode).map(Some),
    }
}

fn file_content(file: &OwnedFd, size: u64, mode: u32) -> Result<Content, Errno> {
    if size > MAX_AUTORUN_BYTES {
        return Ok(Content::Opaque("too large to be compared"));
    }
    let version = |content| Version::File {
        content,
        size,
        mode,
    };
    let bytes = file.try_clone().and_then(|file| version(file).bytes());
    let bytes = bytes.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(Content::File {
        bytes,
        is_executable: mode & 0o111 != 0,
    })
}

fn content_of(version: Version) -> Option<Content> {
    match version {
        Version::File {
            content,
            size,
            mode,
        } => file_content(&content, size, mode).ok(),
        Version::Link(target) => Some(Content::Link(target.0)),
        Version::Directory | Version::Special | Version::Unknown => None,
    }
}
