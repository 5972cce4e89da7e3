//! Compilers and interpreters below the operator's home: the files that commands may see, and the
//! variables that they need. Pure functions of paths; a closure tests for existence.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::definitions::{Definitions, Download, Toolchain};

/// A directory or file that commands see, read-only and executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visible {
    /// Absolute; it may be a link.
    pub path: PathBuf,
    /// Short reason.
    pub why: Cow<'static, str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// Directories and files that commands see.
    pub system: Vec<Visible>,
    /// Variables that commands need to find them.
    pub variables: Vec<(OsString, OsString)>,
    /// Symlinks to create in a private home: path below it, and target, which is also in `system`.
    pub home_links: Vec<(PathBuf, PathBuf)>,
    /// Cargo's directory, if it is in use.
    pub cargo_home: Option<PathBuf>,
}

/// Environment of the server that determines the toolchains in use.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub definitions: &'a Definitions,
    pub home: &'a Path,
    /// The entries of the server's PATH.
    pub path: &'a [PathBuf],
    /// `true` if commands see downloads that only help without a network.
    pub is_offline: bool,
    /// Downloads that the operator asked for.
    pub asked: &'a [String],
}

/// Variable that replaces `~/.cache` (XDG Base Directory Specification). When root runs pip, it
/// rejects a cache behind a symlink.
pub const CACHE_VARIABLE: &str = "XDG_CACHE_HOME";
/// Cargo's directory. Cargo identifies its sources by this path: another path causes a rebuild of
/// each crate.
pub const CARGO_HOME: &str = "CARGO_HOME";
/// Target directory of `cargo install`, because the operator's program directory is read-only.
pub const CARGO_INSTALL_ROOT: &str = "CARGO_INSTALL_ROOT";
/// Go's module cache.
pub const GO_MODULES: &str = "GOMODCACHE";
/// Definition of cargo.
const CARGO: &str = "cargo";

/// Finds the toolchains in use (a PATH entry lies in one, or a variable names it) and returns what
/// commands need of them.
pub fn find(
    surroundings: Surroundings<'_>,
    variable: impl Fn(&str) -> Option<OsString>,
    exists: impl Fn(&Path) -> bool,
) -> Toolchains {
    let document = surroundings.definitions.document();
    let (mut found, mut in_use) = (Toolchains::default(), Vec::new());
    for (id, toolchain) in &document.toolchain {
        let before = found.system.len();
        for dir in surroundings.directories(toolchain, &variable) {
            found.add(toolchain, &dir, &exists);
        }
        if found.system.len() > before {
            in_use.push(id.as_str());
        }
    }
    if in_use.contains(&CARGO) {
        let named = variable(CARGO_HOME)
            .map(PathBuf::from)
            .filter(|named| is_place(named));
        found.cargo_home = Some(named.unwrap_or_else(|| surroundings.home.join(".cargo")));
    }
    for (_, download) in &document.download {
        let toolchain = download.toolchain.as_deref();
        let counts = toolchain.is_none_or(|id| in_use.contains(&id))
            && (surroundings.is_offline || !download.offline)
            && !download.asked
            && !surroundings.is_asked(&download.place)
            && download.unless.iter().all(|name| variable(name).is_none());
        if counts {
            found.add_download(download, surroundings, &variable, &exists);
        }
    }
    found
}

/// Returns true if [`find`] sets this variable: its value is a path, and no secret.
pub fn is_export(definitions: &Definitions, name: &OsStr) -> bool {
    let document = definitions.document();
    let toolchains = document.toolchain.iter();
    let downloads = document.download.iter();
    [CACHE_VARIABLE, CARGO_HOME, CARGO_INSTALL_ROOT]
        .into_iter()
        .chain(toolchains.flat_map(|(_, kind)| kind.exports.keys().map(String::as_str)))
        .chain(downloads.flat_map(|(_, kind)| {
            let exports = kind.exports.iter().chain(kind.sets.keys());
            exports.map(String::as_str)
        }))
        .any(|export| name == export)
}

impl Surroundings<'_> {
    /// Returns false for a path that holds the home or all files of many programs, or a place of
    /// passwords.
    fn is_narrow(self, place: &Path) -> bool {
        let document = self.definitions.document();
        let shared = document.shared.iter().map(|below| self.home.join(below));
        let mut wide = shared.chain([self.home.to_path_buf()]);
        let mut private = document.private.iter().map(|below| self.home.join(below));
        !wide.any(|wide| wide.starts_with(place)) && !private.any(|path| place.starts_with(path))
    }

    /// Returns true if the operator asked for the download at this place below HOME.
    fn is_asked(self, place: &str) -> bool {
        let mut downloads = self.definitions.document().download.iter();
        downloads.any(|(name, download)| {
            download.asked && download.place == place && self.asked.contains(name)
        })
    }

    /// Returns the directory of a download.
    pub(crate) fn place_of(
        self,
        download: &Download,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> PathBuf {
        let named = self.named_place(download, variable);
        named.map_or_else(|| self.home.join(&download.place), |(_, _, place)| place)
    }

    /// Returns the variable that names the place of a download, the path below its value, and the
    /// place.
    pub(crate) fn named_place(
        self,
        download: &Download,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Option<(&str, &str, PathBuf)> {
        download.variables.iter().find_map(|(name, below)| {
            let first = std::env::split_paths(&variable(name)?).next()?;
            let place = if below.is_empty() {
                first
            } else {
                first.join(below)
            };
            let is_usable = is_place(&place) && self.is_narrow(&place);
            is_usable.then_some((name.as_str(), below.as_str(), place))
        })
    }

    /// Returns the directories of a toolchain, if it is in use.
    fn directories(
        self,
        toolchain: &Toolchain,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<PathBuf> {
        let named = toolchain
            .variable
            .as_deref()
            .and_then(variable)
            .map(PathBuf::from)
            .filter(|named| is_place(named));
        if let Some(named) = named {
            return vec![named];
        }
        let in_path = |place: &Path| self.path.iter().any(|entry| entry.starts_with(place));
        let is_marked = toolchain
            .marks
            .iter()
            .any(|mark| in_path(&self.home.join(mark)));
        let places = toolchain.places.iter().map(|place| self.home.join(place));
        places
            .filter(|place| is_place(place) && (is_marked || in_path(place)))
            .collect()
    }
}

impl Toolchains {
    fn add(&mut self, toolchain: &Toolchain, dir: &Path, exists: impl Fn(&Path) -> bool) {
        let before = self.system.len();
        let parts = toolchain.parts.iter().map(|part| dir.join(part));
        let parts = parts.filter(|path| exists(path));
        self.system.extend(parts.map(|path| Visible {
            path,
            why: toolchain.title.clone().into(),
        }));
        if self.system.len() > before {
            for (name, below) in &toolchain.exports {
                let value = if below.is_empty() {
                    dir.to_path_buf()
                } else {
                    dir.join(below)
                };
                self.variables.push((name.into(), value.into()));
            }
        }
    }

    fn add_download(
        &mut self,
        download: &Download,
        surroundings: Surroundings<'_>,
        variable: impl Fn(&str) -> Option<OsString>,
        exists: impl Fn(&Path) -> bool,
    ) {
        let place = surroundings.place_of(download, &variable);
        let parts: Vec<&str> = if download.parts.is_empty() {
            vec![""]
        } else {
            download.parts.iter().map(String::as_str).collect()
        };
        let mut is_found = false;
        for part in parts {
            let path = if part.is_empty() {
                place.clone()
            } else {
                place.join(part)
            };
            if !is_place(&path) || !exists(&path) {
                continue;
            }
            is_found = true;
            if download.links {
                let link = Path::new(&download.place).join(part);
                self.home_links.push((link, path.clone()));
            }
            self.system.push(Visible {
                path,
                why: download.title.clone().into(),
            });
        }
        if is_found {
            let exports = download.exports.iter();
            self.variables
                .extend(exports.map(|name| (name.into(), place.clone().into())));
            let sets = download.sets.iter();
            self.variables
                .extend(sets.map(|(name, value)| (name.into(), value.into())));
        }
    }
}

/// Returns true if a path is absolute, without `.` or `..`, and not `/`.
fn is_place(path: &Path) -> bool {
    path.is_absolute()
        && path.parent().is_some()
        && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests;
