//! The stores of a directory, for a person who looks for what agents changed there.
//!
//! What lies beside the tree is believed only where no agent could have made it: a forged store would have the person's own hands write
//! whatever it says.
#![expect(clippy::disallowed_methods, reason = "places of the operator's, looked at for a person")]

use std::ffi::OsStr;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::journal::{Bytes, Root, Store};
use crate::limits::MAX_STORE_ROOTS_BYTES;

/// Below the directory where programs keep their state.
pub(super) const IN_STATE: &str = "replay/undo";
/// Says whose store it is, beside the entries.
pub(super) const ROOTS: &str = "roots";
pub(super) const VERSION: u32 = 1;

/// Whose store it is, as [`ROOTS`] says.
#[derive(Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) version: u32,
    /// The name of a token; empty for whoever needs none.
    pub(super) tenant: String,
    pub(super) roots: Vec<Bytes>,
}

/// What the directory for stores is called elsewhere.
pub(super) fn elsewhere() -> String {
    format!(".replay-undo-{}", geteuid().as_raw())
}

/// A store that keeps what calls changed in these directories.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundStore {
    pub path: PathBuf,
    pub roots: Vec<PathBuf>,
    /// The name of a token; empty for whoever needs none.
    pub tenant: String,
}

/// The stores that keep changes of a directory, given by its true path, and what looks like one and was left out, with the reason.
pub fn stores_of(dir: &Path, state: Option<&Path>) -> (Vec<FoundStore>, Vec<String>) {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    let above = dir.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev();
    let beside = above.map(|above| (above.join(elsewhere()), Some(above)));
    for (place, above) in state.map(|state| (state.join(IN_STATE), None)).into_iter().chain(beside) {
        let stores = match stores_in(&place) {
            Ok(stores) => stores,
            Err(error) if error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::NotFound) => {
                continue;
            }
            Err(error) => {
                left_out.push(format!("{error:#}"));
                continue;
            }
        };
        for store in stores {
            match FoundStore::read(&store) {
                Ok(store) if !store.roots.iter().any(|root| dir.starts_with(root)) => {}
                Ok(store) if above.is_some_and(|above| !is_out_of_reach(&store, above, &found)) => left_out.push(format!(
                    "`{}`, where an agent could have made it; if it is a server's, name it by --store and this path",
                    store.path.display()
                )),
                Ok(store) => found.push(store),
                Err(error) => left_out.push(format!("{error:#}")),
            }
        }
    }
    (found, left_out)
}

/// Whether a store in a directory above the tree writes nowhere but below that directory, and lies in no tree of an agent that is known.
fn is_out_of_reach(store: &FoundStore, above: &Path, known: &[FoundStore]) -> bool {
    store.roots.iter().all(|root| root.starts_with(above) && root != above)
        && !known.iter().flat_map(|known| &known.roots).any(|root| store.path.starts_with(root))
}

fn stores_in(place: &Path) -> Result<Vec<PathBuf>> {
    std::fs::symlink_metadata(place)?;
    let place = private(place)?;
    let entries = std::fs::read_dir(&place).with_context(|| format!("listing `{}`", place.display()))?;
    let mut stores: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    stores.sort();
    Ok(stores)
}

/// A file that an agent may have put there: what is no file is not waited for, and what is too long is not read whole.
fn text_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut text = Vec::new();
    std::fs::File::from(openat(CWD, path, flags, Mode::empty())?).take(MAX_STORE_ROOTS_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

impl FoundStore {
    /// Reads whose store a directory is.
    pub fn read(path: &Path) -> Result<Self> {
        let file = path.join(ROOTS);
        let shown = file.display();
        let text = text_of(&file).with_context(|| format!("`{}` is no store: `{ROOTS}` in it", path.display()))?;
        let no_roots = || format!("`{shown}` does not say of which directories the store is");
        let said: Value = serde_json::from_slice(&text).with_context(no_roots)?;
        if said["version"] != VERSION {
            let version = &said["version"];
            bail!(
                "`{shown}` is of version {version}, and this program reads version {VERSION}; use the program that wrote it"
            );
        }
        let Owner { tenant, roots, .. } = serde_json::from_value(said).with_context(no_roots)?;
        Ok(Self { path: path.to_owned(), roots: roots.iter().map(|root| root.path().to_owned()).collect(), tenant })
    }

    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    pub fn open(&self) -> Result<Store> {
        let opened = self.roots.iter().map(|root| Ok(Root { handle: open_dir(root)?, shown: root.clone() }));
        let roots: Vec<Root> =
            opened.collect::<Result<_>>().context("a directory that the store is of cannot be opened")?;
        let dir = open_dir(self.path.parent().unwrap_or(Path::new("/")))?;
        Ok(Store::open(dir.as_fd(), self.name(), &self.path, roots.into())?)
    }
}

/// The true path of a directory that is this user's alone.
pub(super) fn private(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let path = std::fs::canonicalize(path).with_context(|| format!("`{shown}`"))?;
    let found = std::fs::symlink_metadata(&path).with_context(|| format!("`{shown}`"))?;
    if found.uid() != geteuid().as_raw() || found.mode() & 0o077 != 0 {
        bail!("`{shown}` is another user's or open to others; make it yours and take that away (chmod 700)");
    }
    Ok(path)
}

pub(super) fn open_dir(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).with_context(|| format!("`{}`", path.display()))
}
