//! Finds the stores with changes of a directory, for `replay changes`.
//!
//! An agent can forge a store, and an undo would then write its content with the user's rights. A
//! store beside a tree is therefore trusted only with a note in the operator's state directory. The
//! server writes this note when it creates the store.
#![expect(
    clippy::disallowed_methods,
    reason = "places of the operator's, looked at for a person"
)]

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use replay_files::journal::{Bytes, Id, JournalError, Root, STORES, Store};

/// Largest size of the file that lists the directories of a store, in bytes.
const MAX_STORE_ROOTS_BYTES: u64 = 1024 * 1024;

/// Path below the state directory of the user (`XDG_STATE_HOME`).
pub(super) const IN_STATE: &str = "replay/undo";
/// File in a store that names its owner.
pub(super) const ROOTS: &str = "roots";
pub(super) const VERSION: u32 = 1;

/// Content of [`ROOTS`]: the owner of a store.
#[derive(Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) version: u32,
    /// Name of the token; empty without tokens.
    pub(super) tenant: String,
    pub(super) roots: Vec<Bytes>,
}

/// Name of the directory for stores outside the state directory.
pub(super) fn elsewhere() -> String {
    format!("{STORES}{}", geteuid().as_raw())
}

/// A store with changes of these directories.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FoundStore {
    pub path: PathBuf,
    pub roots: Vec<PathBuf>,
    /// Name of the token; empty without tokens.
    pub tenant: String,
}

impl FoundStore {
    /// Returns true if the store contains no calls.
    pub(crate) fn is_empty(&self) -> bool {
        entries(&self.path.join("log")).is_ok_and(|logs| logs.is_empty())
    }
}

/// Extension of notes in the operator's state directory. `NAME.at` contains path and identity of
/// the store NAME.
const NOTE: &str = "at";

#[derive(Serialize, Deserialize)]
struct Note {
    path: Bytes,
    /// Inode number and birth time. The device number can change at a reboot, so it is not part of
    /// the identity.
    inode: u64,
    born: i64,
}

/// Returns inode number and birth time of a directory, without following symlinks.
fn identity(path: &Path) -> Result<(u64, i64)> {
    let Id(_, inode, born) =
        Id::of(open_plain(path)?).with_context(|| format!("`{}`", path.display()))?;
    Ok((inode, born))
}

/// Writes the note of a new store.
pub(super) fn note(state: &Path, name: &str, store: &Path) -> Result<()> {
    let (inode, born) = identity(store)?;
    let text = serde_json::to_string(&Note {
        path: Bytes(store.as_os_str().as_bytes().to_vec()),
        inode,
        born,
    })?;
    let note = state.join(format!("{name}.{NOTE}"));
    let new = state.join(format!("{name}.{}", std::process::id()));
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &note));
    written.with_context(|| {
        format!(
            "`{}`, which must confirm that a server made this store",
            note.display()
        )
    })
}

/// Reads a note and returns the path of its store. Fails if another directory is there now.
pub(super) fn store_of_note(note: &Path) -> Result<PathBuf> {
    let shown = note.display();
    let text = text_of(note).with_context(|| format!("`{shown}`"))?;
    let note: Note =
        serde_json::from_slice(&text).with_context(|| format!("`{shown}` is not a store"))?;
    let path = note.path.path().to_owned();
    if identity(&path)? != (note.inode, note.born) {
        bail!(
            "`{}` is not the store that a server made there; if you trust it, give this path as \
             --store",
            path.display()
        );
    }
    Ok(path)
}

pub(super) fn note_of(state: &Path, name: &str) -> PathBuf {
    state.join(format!("{name}.{NOTE}"))
}

/// Stores of all notes.
pub(super) fn noted_stores(state: &Path) -> Vec<Result<PathBuf>> {
    let is_note = |path: &PathBuf| path.extension() == Some(OsStr::new(NOTE));
    let mut notes = entries(state).unwrap_or_default();
    notes.retain(is_note);
    notes.iter().map(|note| store_of_note(note)).collect()
}

/// Finds the stores with changes of a directory, given by its canonical path. Also returns error
/// messages about rejected stores.
pub(crate) fn stores_of(dir: &Path, state: Option<&Path>) -> (Vec<FoundStore>, Vec<String>) {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for store in state.map(registered_stores).unwrap_or_default() {
        match store {
            Ok(store) if store.roots.iter().any(|root| dir.starts_with(root)) => found.push(store),
            Ok(_) => {}
            Err(error) => left_out.push(format!("{error:#}")),
        }
    }
    for place in dir
        .ancestors()
        .skip(1)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .map(|above| above.join(elsewhere()))
    {
        let unknown = entries(&place).unwrap_or_default();
        let unknown = unknown
            .iter()
            .filter(|path| !found.iter().any(|known: &FoundStore| known.path == **path));
        left_out.extend(unknown.map(|path| {
            format!(
                "`{}`, which no server has registered; if you trust it, give this path as --store",
                path.display()
            )
        }));
    }
    (found, left_out)
}

/// Returns the directories at or below this one that have a registered store with calls.
pub(crate) fn recorded_below(dir: &Path, state: Option<&Path>) -> Vec<PathBuf> {
    let stores = state.map(registered_stores).unwrap_or_default();
    let mut below: Vec<PathBuf> = stores
        .into_iter()
        .flatten()
        .filter(|store| !store.is_empty())
        .flat_map(|store| store.roots)
        .filter(|root| root.starts_with(dir))
        .collect();
    below.sort();
    below.dedup();
    below
}

/// Reads the stores of a state directory, and those of its notes.
fn registered_stores(state: &Path) -> Vec<Result<FoundStore>> {
    let state = state.join(IN_STATE);
    let stores = match private_entries(&state) {
        Ok(stores) => stores,
        Err(error) => return vec![Err(error)],
    };
    let own = stores.into_iter().filter(|path| path.extension().is_none());
    own.map(Ok)
        .chain(noted_stores(&state))
        .map(|store| FoundStore::read(&store?))
        .collect()
}

/// Lists a directory that only this user can access; empty if it does not exist.
fn private_entries(place: &Path) -> Result<Vec<PathBuf>> {
    if std::fs::symlink_metadata(place).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(Vec::new());
    }
    entries(&private(place)?)
}

fn entries(place: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(place).with_context(|| format!("listing `{}`", place.display()))?;
    let mut names: Vec<OsString> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect();
    names.sort();
    Ok(names.iter().map(|name| place.join(name)).collect())
}

/// Reads a file that may come from an agent. Does not block on special files, and limits the size.
fn text_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut text = Vec::new();
    std::fs::File::from(openat(CWD, path, flags, Mode::empty())?)
        .take(MAX_STORE_ROOTS_BYTES)
        .read_to_end(&mut text)?;
    Ok(text)
}

impl FoundStore {
    /// Reads the owner of a store.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = path.join(ROOTS);
        let shown = file.display();
        let text = text_of(&file)
            .with_context(|| format!("`{}` is not a store: its `{ROOTS}`", path.display()))?;
        let no_roots = || format!("`{shown}` does not name the directories of the store");
        let said: Value = serde_json::from_slice(&text).with_context(no_roots)?;
        if said["version"] != VERSION {
            let version = &said["version"];
            bail!(
                "`{shown}` is of version {version}, and this program reads version {VERSION}; use the program that wrote it"
            );
        }
        let Owner { tenant, roots, .. } = serde_json::from_value(said).with_context(no_roots)?;
        let is_plain = |root: &Path| {
            let mut parts = root.components();
            parts.next() == Some(Component::RootDir)
                && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        if let Some(root) = roots.iter().map(Bytes::path).find(|root| !is_plain(root)) {
            bail!(
                "`{shown}` has `{}`; it must be an absolute path without `..`",
                root.display()
            );
        }
        Ok(Self {
            path: path.to_owned(),
            roots: roots.iter().map(|root| root.path().to_owned()).collect(),
            tenant,
        })
    }

    pub(crate) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Opens the store for an undo.
    pub(crate) fn open(&self) -> Result<Store> {
        self.opened(Store::open)
    }

    /// Opens the store read-only, without creating or repairing anything.
    pub(crate) fn open_read_only(&self) -> Result<Store> {
        self.opened(Store::look)
    }

    fn opened(
        &self,
        open: impl FnOnce(BorrowedFd<'_>, &OsStr, &Path, Arc<[Root]>) -> Opened,
    ) -> Result<Store> {
        let opened = self.roots.iter().map(|root| {
            Ok(Root {
                handle: open_plain(root)?,
                shown: root.clone(),
            })
        });
        let roots: Vec<Root> = opened
            .collect::<Result<_>>()
            .context("a directory of the store cannot be opened")?;
        let dir = open_plain(self.path.parent().unwrap_or(Path::new("/")))?;
        Ok(open(dir.as_fd(), self.name(), &self.path, roots.into())?)
    }
}

type Opened = std::result::Result<Store, JournalError>;

/// Opens a directory without following symlinks anywhere in its path.
pub(super) fn open_plain(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = match openat2(CWD, path, flags, Mode::empty(), resolve) {
        // openat2 is missing, or a rename interfered. Opening name by name always works.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {
            let top = openat(CWD, "/", flags, Mode::empty());
            let names = path
                .components()
                .filter(|part| matches!(part, Component::Normal(_)));
            names.fold(top, |dir, name| {
                openat(dir?, name.as_os_str(), flags, Mode::empty())
            })
        }
        opened => opened,
    };
    opened.with_context(|| format!("`{}`", path.display()))
}

/// Canonical path of a directory. Fails if another user owns it or can access it.
pub(super) fn private(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let path = std::fs::canonicalize(path).with_context(|| format!("`{shown}`"))?;
    let found = std::fs::symlink_metadata(&path).with_context(|| format!("`{shown}`"))?;
    if found.uid() != geteuid().as_raw() || found.mode() & 0o077 != 0 {
        bail!(
            "`{shown}` belongs to another user or is open to others; make it your own, with mode \
             700"
        );
    }
    Ok(path)
}
