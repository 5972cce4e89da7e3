//! Opens the allowed directories, once, at start.
#![expect(
    clippy::disallowed_methods,
    reason = "the handles of the allowed directories are opened here, before any agent speaks"
)]

use std::collections::hash_map::{Entry, HashMap};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replay_base::mounts::{self, Mount, Position};
use replay_base::remaining_path::{RemainingPath, TooManyLinks};
use rustix::fs::{CWD, FileType, Mode, fstat, openat, readlinkat, stat};
use rustix::io::Errno;

use super::defaults::{CONFIG, DOT_GIT, PROTECTED_IN_REPOSITORIES, protected_by_default};
use super::directories::Policy;
use super::error::{AllowedList, GrantFlag, StartError};
use super::linked_git;
use super::mounts::Mounts;
use super::repositories::Repositories;
use super::resolve::{PATH_DIR, PATH_ONLY};
use super::root::Root;
use super::rules::{Cause, Hidden, Id, Name, Protected, RootRule, Rules, below};
use super::spelling::Spelling;
use crate::hide::{GlobsOf, Hide};

/// Access rights of an allowed directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    ReadOnly,
    ReadWrite,
}

/// An allowed directory as the operator gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// An absolute path; it may be or go through a link, and then works under both names.
    pub path: PathBuf,
    pub access: Access,
}

/// Restrictions of agents inside the allowed directories, and exceptions from them. All paths are
/// absolute.
#[derive(Debug, Clone, Copy, Default)]
pub struct Restrictions<'a> {
    /// Read-only, beside the defaults (`--protect`).
    pub protect: &'a [PathBuf],
    /// Not read-only, although it is one of the defaults or above some (`--unprotect`).
    pub unprotect: &'a [PathBuf],
    /// Files that configure this server: read-only where they lie in an allowed directory.
    pub own: &'a [PathBuf],
    /// Files that no agent may see.
    pub hidden: &'a [Hidden],
    /// `true` if existing files that programs outside run are read-only for commands (`autorun`).
    pub freezes_autorun: bool,
    pub flag: GrantFlag,
}

/// Cache of every allowed directory of this process, each opened once. A later request for the same
/// path gets the same directory, even if another one has its name by then.
///
/// A writer of a directory can replace a nested one by a link before it is opened. So links that
/// lie in a read-write directory are not followed.
#[derive(Debug, Default)]
pub struct Pins {
    pinned: Vec<Pin>,
    /// Of grants that are still to be pinned: those that may be written to.
    expected: Vec<Pin>,
}

#[derive(Debug)]
struct Pin {
    typed: PathBuf,
    path: PathBuf,
    handle: Arc<OwnedFd>,
    id: Id,
    /// Position of the directory on its filesystem, and of the mounts below it.
    positions: Vec<Position>,
    writable: bool,
}

impl Pins {
    /// Says which grants there will be: what is writable by one of them is so for all that are
    /// pinned from now on. One that cannot be found fails when it is pinned.
    pub fn expect<'a>(&mut self, grants: impl Iterator<Item = &'a Grant>) {
        let table = mounts::table().unwrap_or_default();
        for grant in grants.filter(|grant| grant.access == Access::ReadWrite) {
            let Ok(typed) = absolute(&grant.path) else {
                continue;
            };
            if let Some(pin) = self
                .pinned
                .iter_mut()
                .chain(&mut self.expected)
                .find(|pin| pin.typed == typed)
            {
                pin.writable = true;
            } else if let Ok(found) = find(&typed, &[], &table) {
                self.expected.push(Pin {
                    writable: true,
                    ..found
                });
            }
        }
    }

    /// Drops expected grants that were never pinned.
    pub fn expect_nothing(&mut self) {
        self.expected.clear();
    }

    /// The directory of a grant.
    fn pin(&mut self, grant: &Grant) -> Result<&Pin, StartError> {
        let typed = absolute(&grant.path)?;
        let writable = grant.access == Access::ReadWrite;
        let index = if let Some(index) = self.pinned.iter().position(|pin| pin.typed == typed) {
            if fstat(&self.pinned[index].handle).is_ok_and(|stat| stat.st_nlink == 0) {
                return Err(StartError::Gone { path: typed });
            }
            index
        } else {
            self.expect(std::iter::once(grant));
            let table = mounts::table().unwrap_or_default();
            let of_agents: Vec<&Pin> = self
                .pinned
                .iter()
                .chain(&self.expected)
                .filter(|pin| pin.writable)
                .collect();
            let found = find(&typed, &of_agents, &table)?;
            if writable
                && !self
                    .expected
                    .iter()
                    .any(|pin| pin.typed == typed && pin.id == found.id)
            {
                return Err(StartError::Moved { path: typed });
            }
            is_storage(&found, &table)?;
            self.pinned.push(found);
            self.pinned.len() - 1
        };
        self.pinned[index].writable |= writable;
        Ok(&self.pinned[index])
    }
}

impl Policy {
    /// Opens every directory of `grants`; the same directory twice is one, read-write if either is.
    ///
    /// `protect` adds protected paths (absolute, below an allowed directory) to the defaults below
    /// each read-write directory.
    pub fn open(grants: &[Grant], protect: &[PathBuf]) -> Result<Self, StartError> {
        Self::open_with(
            grants,
            &Restrictions {
                protect,
                ..Restrictions::default()
            },
        )
    }

    /// Like [`Policy::open`], with restrictions.
    pub fn open_with(
        grants: &[Grant],
        restrictions: &Restrictions<'_>,
    ) -> Result<Self, StartError> {
        Self::open_pinned(grants, restrictions, &mut Pins::default())
    }

    /// Like [`Policy::open_with`], beside other grants of this process.
    pub fn open_pinned(
        grants: &[Grant],
        restrictions: &Restrictions<'_>,
        pins: &mut Pins,
    ) -> Result<Self, StartError> {
        let mut roots: Vec<Root> = Vec::new();
        let mut rules = Rules::default();
        let table = mounts::table().unwrap_or_default();
        rules.devices = table
            .iter()
            .find(|mount| mount.is_of_devices())
            .map(|mount| mount.device);
        pins.expect(grants.iter());
        for grant in grants {
            let writable = grant.access == Access::ReadWrite;
            let Pin {
                typed,
                path,
                handle,
                id,
                ..
            } = pins.pin(grant)?;
            let index = roots
                .iter()
                .position(|root| root.path == *path)
                .unwrap_or(roots.len());
            if index == roots.len() {
                rules.roots.push(RootRule {
                    path: path.clone(),
                    id: *id,
                    writable,
                    handle: Some(Arc::clone(handle)),
                });
                rules.names.push(Name {
                    path: path.clone(),
                    root: index,
                });
                roots.push(Root {
                    path: path.clone(),
                    writable,
                    handle: Arc::clone(handle),
                });
            }
            roots[index].writable |= writable;
            rules.roots[index].writable |= writable;
            if rules.exactly(typed).is_none() {
                rules.names.push(Name {
                    path: typed.clone(),
                    root: index,
                });
            }
        }
        let allowed = Arc::new(AllowedList {
            text: rules.describe(),
            flag: restrictions.flag,
        });
        let mounts = Mounts::open(&roots);
        let (linked, unfollowed) = (Vec::new(), Vec::new());
        let mut policy = Self {
            roots,
            rules: Arc::new(rules),
            allowed,
            mounts,
            linked,
            unfollowed,
            client_root: std::sync::OnceLock::new(),
        };
        let unprotected = policy.unprotected_paths(restrictions.unprotect)?;
        let protected = policy.protected_paths(restrictions, &unprotected)?;
        let writable = policy.roots.iter().filter(|root| root.writable);
        let writable = writable
            .map(|root| (root.path.clone(), Arc::clone(&root.handle)))
            .collect();
        let repositories =
            Repositories::below(writable, unprotected.clone(), restrictions.freezes_autorun);
        let repositories = Arc::new(repositories);
        if let Some(rules) = Arc::get_mut(&mut policy.rules) {
            (rules.protected, rules.repositories, rules.unprotected) =
                (protected, repositories, unprotected);
        }
        policy.hide(restrictions.hidden)?;
        Ok(policy)
    }

    /// Finds the repositories that allowed directories are linked to. Must be called before the
    /// policy is used.
    pub fn follow_links_of_git(&mut self) {
        for root in &self.roots {
            match linked_git::find(root, &self.roots) {
                Ok(found) => self.linked.extend(found),
                Err(reason) => self.unfollowed.push((root.path.join(DOT_GIT), reason)),
            }
        }
        let Some(rules) = Arc::get_mut(&mut self.rules) else {
            return;
        };
        let own = self
            .linked
            .iter()
            .filter(|linked| linked.writable)
            .map(|linked| &linked.own);
        let own = own.map(|own| (own.path.clone(), Arc::clone(&own.handle)));
        let writable = self.roots.iter().filter(|root| root.writable);
        let writable = writable.map(|root| (root.path.clone(), Arc::clone(&root.handle)));
        let below = writable.chain(own).collect();
        let freezes = rules.repositories.freezes_autorun();
        rules.repositories = Arc::new(Repositories::below(
            below,
            rules.unprotected.clone(),
            freezes,
        ));
    }

    /// Hides the paths that these patterns name, now and later. Must be called before the policy is
    /// used.
    pub fn hide_by_patterns(
        &mut self,
        patterns: &[String],
        globs_of: GlobsOf,
    ) -> Result<(), StartError> {
        let roots = self.roots.iter().map(|root| root.path.clone()).collect();
        let failed = |reason| StartError::Pattern { reason };
        let mut hide = Hide::new(patterns, roots, globs_of).map_err(failed)?;
        hide.survey(
            self.roots
                .iter()
                .map(|root| (&*root.path, root.handle.as_fd())),
        )
        .map_err(failed)?;
        let in_use =
            || failed("it comes too late: the server already serves its directories".to_owned());
        Arc::get_mut(&mut self.rules).ok_or_else(in_use)?.hide = Some(hide);
        Ok(())
    }

    /// Hides more paths. Fails once the rules are in use, for example by [`Policy::changer`].
    pub fn hide(&mut self, hidden: &[Hidden]) -> Result<(), StartError> {
        let Some(rules) = Arc::get_mut(&mut self.rules) else {
            return hidden.first().map_or(Ok(()), |hidden| {
                Err(StartError::InUse {
                    path: hidden.path.clone(),
                })
            });
        };
        for path in hidden.iter().map(|hidden| &hidden.path) {
            // As protected as any: nothing is made, moved or removed at their places, or above
            // them.
            rules.protected.push(Protected {
                path: path.clone(),
                any_case: false,
                why: Cause::Hidden,
            });
            if rules.over(path).is_some()
                && let (Some(dir), Some(name)) = (path.parent(), path.file_name())
            {
                let stat = stat(dir).map_err(|errno| failed(dir, errno))?;
                rules
                    .homes
                    .push(((stat.st_dev, stat.st_ino), name.to_owned()));
            }
        }
        rules.hidden.extend_from_slice(hidden);
        Ok(())
    }

    /// Each path as given and, where it goes through a link today, the place that it leads to.
    fn protected_paths(
        &self,
        restrictions: &Restrictions<'_>,
        unprotected: &[PathBuf],
    ) -> Result<Vec<Protected>, StartError> {
        let is_kept = |path: &Path| !unprotected.iter().any(|free| path.starts_with(free));
        let defaults = self
            .defaults()
            .filter(|(path, _)| is_kept(path))
            .map(|(path, who)| (path, Cause::Default(who)));
        let asked = restrictions
            .protect
            .iter()
            .map(|path| Ok((absolute(path)?, Cause::Asked)));
        let own = restrictions
            .own
            .iter()
            .map(|path| Ok((absolute(path)?, Cause::Configures)));
        let mut all: Vec<Protected> = Vec::new();
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        for path in defaults.map(Ok).chain(asked).chain(own) {
            let (path, why) = path?;
            let led_to = self
                .look_for(&path)
                .map(|spot| below(&spot.place, &spot.tail));
            match (why, &led_to) {
                (Cause::Asked, Err(_)) => return Err(StartError::ProtectsNothing { path }),
                // It lies where no agent reaches it.
                (Cause::Configures, Err(_)) => continue,
                _ => {}
            }
            for path in std::iter::once(path).chain(led_to.ok()) {
                match known.entry(path) {
                    Entry::Occupied(known) if why.is_asked() => all[*known.get()].why = why,
                    Entry::Occupied(_) => {}
                    Entry::Vacant(new) => {
                        all.push(Protected {
                            path: new.key().clone(),
                            any_case: !why.is_asked(),
                            why,
                        });
                        new.insert(all.len() - 1);
                    }
                }
            }
        }
        Ok(all)
    }

    /// Returns the paths that are protected by default, each with the program that obeys it.
    /// Configuration of repositories is not included: it is protected at the place where it is
    /// found.
    fn defaults(&self) -> impl Iterator<Item = (PathBuf, &'static str)> {
        let writable = self.roots.iter().filter(|root| root.writable);
        writable.flat_map(|root| {
            let git = PROTECTED_IN_REPOSITORIES
                .iter()
                .filter(|name| **name != CONFIG);
            let git = git.map(|name| (root.path.join(DOT_GIT).join(name), "git"));
            git.chain(protected_by_default().map(|(name, who)| (root.path.join(name), who)))
        })
    }

    /// Returns the default paths that the operator unprotects, as given and with links resolved.
    /// Fails for a path that is neither a default one nor above one.
    fn unprotected_paths(&self, asked: &[PathBuf]) -> Result<Vec<PathBuf>, StartError> {
        let mut all = Vec::new();
        for path in asked {
            let path = absolute(path)?;
            let led_to = self
                .look_for(&path)
                .map(|spot| below(&spot.place, &spot.tail))
                .ok();
            let both: Vec<PathBuf> = std::iter::once(path.clone())
                .chain(led_to.clone())
                .collect();
            let frees = |path: &PathBuf| {
                self.defaults()
                    .any(|(default, _)| default.starts_with(path))
                    || path.file_name().is_some_and(|name| name == DOT_GIT)
                    || self.rules.protecting_in_repository(path) == Some(path)
                    || is_of_bare_repository(path)
            };
            if led_to.is_none() || !both.iter().any(frees) {
                let whole = self
                    .defaults()
                    .map(|(default, _)| default)
                    .find(|default| path.starts_with(default));
                return Err(StartError::FreesNothing { path, whole });
            }
            all.extend(both);
        }
        Ok(all)
    }
}

/// Returns true if a path is a bare repository, or a protected entry of one.
fn is_of_bare_repository(path: &Path) -> bool {
    let is_repository = |dir: &Path| {
        ["HEAD", "objects", "refs"]
            .iter()
            .all(|name| stat(dir.join(name)).is_ok())
    };
    let is_protected = path
        .file_name()
        .is_some_and(|name| PROTECTED_IN_REPOSITORIES.iter().any(|known| name == *known));
    is_repository(path) || is_protected && path.parent().is_some_and(is_repository)
}

/// The path without empty parts, `.` and a slash at the end.
fn absolute(path: &Path) -> Result<PathBuf, StartError> {
    if path.as_os_str().is_empty() {
        return Err(StartError::Empty);
    }
    if !path.is_absolute() {
        return Err(StartError::NotAbsolute { path: path.into() });
    }
    match Spelling::of(path, None) {
        Ok(spelling) => Ok(spelling.into_path()),
        Err(_) => Err(failed(path, Errno::NAMETOOLONG)),
    }
}

/// The directory that a path leads to, name by name. Fails at a link that lies in one of
/// `of_agents`, or in what is the same place of a filesystem.
fn find(typed: &Path, of_agents: &[&Pin], table: &[Mount]) -> Result<Pin, StartError> {
    let failed = |errno| failed(typed, errno);
    let top = openat(CWD, "/", PATH_DIR, Mode::empty()).map_err(failed)?;
    let mut way = vec![(id(&top).map_err(failed)?, Arc::new(top))];
    let mut path = PathBuf::from("/");
    let mut rest = RemainingPath::new(typed.as_os_str().as_bytes());
    while let Some(part) = rest.next() {
        if part == ".." {
            way.truncate(way.len().saturating_sub(1).max(1));
            path.pop();
            continue;
        }
        let here = Arc::clone(&way[way.len() - 1].1);
        let link = match openat(&here, &part, PATH_DIR, Mode::empty()) {
            Ok(next) => {
                way.push((id(&next).map_err(failed)?, Arc::new(next)));
                path.push(part);
                continue;
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {
                openat(&here, &part, PATH_ONLY, Mode::empty()).map_err(failed)?
            }
            Err(errno) => return Err(failed(errno)),
        };
        if FileType::from_raw_mode(fstat(&link).map_err(failed)?.st_mode) != FileType::Symlink {
            return Err(failed(Errno::NOTDIR));
        }
        let position = Position::of(&path, table);
        let holds = |pin: &&&Pin| {
            let is_below = position
                .iter()
                .any(|at| pin.positions.iter().any(|of| at.is_below(of)));
            is_below || way.iter().any(|(id, _)| *id == pin.id)
        };
        if let Some(pin) = of_agents.iter().find(holds) {
            let (path, link, inside) = (typed.to_owned(), path.join(part), pin.typed.clone());
            return Err(StartError::ThroughLink { path, link, inside });
        }
        let target = readlinkat(&link, "", Vec::new()).map_err(failed)?;
        let followed = rest.follow(target.as_bytes());
        if followed.map_err(|TooManyLinks| failed(Errno::LOOP))? {
            way.truncate(1);
            path = "/".into();
        }
    }
    let (id, handle) = way.swap_remove(way.len() - 1);
    let below = table
        .iter()
        .filter(|mount| mount.place.starts_with(&path))
        .map(Mount::position);
    let positions = Position::of(&path, table)
        .into_iter()
        .chain(below)
        .collect();
    Ok(Pin {
        typed: typed.to_owned(),
        path,
        handle,
        id,
        positions,
        writable: false,
    })
}

fn id(dir: &OwnedFd) -> rustix::io::Result<Id> {
    fstat(dir).map(|stat| (stat.st_dev, stat.st_ino))
}

/// Fails for what is no directory of a project's.
fn is_storage(pin: &Pin, table: &[Mount]) -> Result<(), StartError> {
    let Pin {
        typed,
        path,
        handle,
        id,
        ..
    } = pin;
    if path == Path::new("/") {
        return Err(StartError::WholeDisk);
    }
    // /dev/shm is ordinary memory-backed storage, and what lies below it a project like any other.
    let kernel = ["/proc", "/sys", "/dev"]
        .iter()
        .any(|tree| path.starts_with(tree));
    let storage = path.starts_with("/dev/shm") && path != Path::new("/dev/shm");
    let of_devices = table
        .iter()
        .any(|mount| mount.is_of_devices() && mount.device == id.0);
    if kernel && !storage
        || of_devices
        || mounts::is_kernels(handle).map_err(|errno| failed(typed, errno))?
    {
        return Err(StartError::Kernel {
            path: typed.clone(),
        });
    }
    Ok(())
}

fn failed(path: &Path, errno: Errno) -> StartError {
    let path = path.to_path_buf();
    match errno {
        Errno::NOENT => StartError::Missing { path },
        Errno::NOTDIR => StartError::NotADirectory { path },
        errno => StartError::Io {
            path,
            source: errno.into(),
        },
    }
}
