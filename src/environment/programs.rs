//! Programs of PATH below HOME: which of them commands see, and what these need around them.
//!
//! A program counts without a question if an installer put it there: a binary, or a script of a
//! package. A script of the system's interpreter is somebody's own and may hold a token, so it is
//! left out.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the operator, read when the server starts"
)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use crate::definitions::Definitions;
use crate::toolchains::Visible;

/// Most names of a PATH entry that are looked at.
const MAX_NAMES: usize = 4096;
/// Most links on the way to a program, as in the kernel (`path_resolution(7)`).
const MAX_LINKS: usize = 40;
/// Bytes at the start of a program that tell its type and interpreter.
const HEAD_BYTES: usize = 512;
const ELF: &[u8] = b"\x7fELF";
/// Files of a directory in which somebody works.
const PROJECT_MARKS: [&str; 7] = [
    ".git",
    ".hg",
    ".env",
    ".envrc",
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
];
/// Reasons of [`Visible`].
const WHY_DIRECTORY: &str = "PATH";
const WHY_PACKAGE: &str = "package of a program of PATH";

/// Input of a search for programs.
#[derive(Clone, Copy)]
pub struct ProgramSearch<'a> {
    pub definitions: &'a Definitions,
    pub home: &'a Path,
    /// Entries of the server's PATH.
    pub path: &'a [PathBuf],
    /// Allowed directories, as typed and without links.
    pub roots: &'a [PathBuf],
    /// Parts of known toolchains that commands see.
    pub toolchains: &'a [Visible],
    /// True if commands see own scripts, too.
    pub with_scripts: bool,
}

/// Programs of PATH for commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// PATH of commands, without links.
    pub path: Vec<PathBuf>,
    /// Directories, files and links that commands see.
    pub system: Vec<Visible>,
    /// Own scripts, which commands do not see.
    pub left_out: Vec<PathBuf>,
    /// PATH entries of which commands do not see everything.
    pub unseen: Vec<PathBuf>,
}

impl Programs {
    fn add_unseen(&mut self, entry: &Path) {
        if !self.unseen.iter().any(|known| known == entry) {
            self.unseen.push(entry.to_owned());
        }
    }
}

/// A program: its file without links, and the links on the way to it.
struct Resolved {
    file: PathBuf,
    links: Vec<PathBuf>,
}

impl ProgramSearch<'_> {
    /// Finds the programs.
    pub fn find(self) -> Programs {
        let mut programs = Programs::default();
        let home = fs::canonicalize(self.home).unwrap_or_else(|_| self.home.to_owned());
        let search = ProgramSearch {
            home: &home,
            ..self
        };
        for entry in self.path.iter().filter(|entry| entry.is_absolute()) {
            search.add_entry(entry, &mut programs);
        }
        programs
    }

    fn add_entry(self, entry: &Path, programs: &mut Programs) {
        let is_known = |path: &Path| {
            let toolchains = self.toolchains.iter().map(|seen| &seen.path);
            let known = self.definitions.system().iter().chain(self.roots);
            known.chain(toolchains).any(|known| path.starts_with(known))
        };
        if is_known(entry) {
            if !programs.path.iter().any(|known| known == entry) {
                programs.path.push(entry.to_owned());
            }
            return;
        }
        let Ok(real) = fs::canonicalize(entry) else {
            return;
        };
        let Ok(stat) = fs::metadata(&real) else {
            return;
        };
        if !stat.is_dir() || programs.path.contains(&real) {
            return;
        }
        programs.path.push(real.clone());
        if is_known(&real) {
            return;
        }
        if stat.mode() & 0o002 != 0 || !self.is_searched(&real) {
            programs.add_unseen(entry);
            return;
        }
        self.add_directory(entry, &real, programs);
    }

    /// Returns true for a directory below HOME that is no place of secrets.
    fn is_searched(self, real: &Path) -> bool {
        let first = real
            .strip_prefix(self.home)
            .ok()
            .and_then(|below| below.components().next());
        let private = &self.definitions.document().private;
        first.is_some_and(|first| {
            let first = first.as_os_str();
            !private.iter().any(|name| first == name.as_str())
        })
    }

    fn add_directory(self, entry: &Path, real: &Path, programs: &mut Programs) {
        let Ok(names) = fs::read_dir(real) else {
            programs.add_unseen(entry);
            return;
        };
        let (mut pieces, mut packages, mut is_whole) = (Vec::new(), Vec::new(), true);
        let before = programs.left_out.len();
        for name in names.flatten().take(MAX_NAMES) {
            let place = real.join(name.file_name());
            let Some(resolved) = self.resolve(&place) else {
                continue;
            };
            if let Some(needs) = self.needs(&resolved.file, 0) {
                packages.extend(needs);
                pieces.extend(resolved.links);
                pieces.push(resolved.file);
            } else {
                is_whole = false;
                if is_script(&resolved.file) {
                    programs.left_out.push(place);
                }
            }
        }
        if programs.left_out.len() > before {
            programs.add_unseen(entry);
        }
        let why = |path: PathBuf| Visible {
            path,
            why: WHY_DIRECTORY.into(),
        };
        let mut found: Vec<Visible> = if is_whole {
            vec![why(real.to_owned())]
        } else {
            Vec::new()
        };
        packages.sort();
        packages.dedup();
        found.extend(packages.into_iter().map(|path| Visible {
            path,
            why: WHY_PACKAGE.into(),
        }));
        pieces.sort();
        pieces.dedup();
        found.extend(pieces.into_iter().map(why));
        for seen in found {
            let is_covered = programs
                .system
                .iter()
                .chain(self.toolchains)
                .any(|known| seen.path.starts_with(&known.path));
            if !is_covered {
                programs.system.push(seen);
            }
        }
    }

    /// Follows the links of a path one by one; `None` if it leads into an allowed directory, where
    /// an agent may change it, or nowhere.
    fn resolve(self, path: &Path) -> Option<Resolved> {
        let mut links = Vec::new();
        let mut real = PathBuf::from("/");
        let parts = |path: &Path| -> Vec<PathBuf> {
            let parts = path.components().rev();
            parts.map(|part| PathBuf::from(part.as_os_str())).collect()
        };
        let mut rest = parts(path);
        while let Some(part) = rest.pop() {
            match part.components().next() {
                Some(Component::RootDir) => real = PathBuf::from("/"),
                Some(Component::ParentDir) => drop(real.pop()),
                Some(Component::Normal(name)) => real.push(name),
                _ => continue,
            }
            if self.roots.iter().any(|root| real.starts_with(root)) {
                return None;
            }
            let stat = fs::symlink_metadata(&real).ok()?;
            if !stat.is_symlink() {
                continue;
            }
            if links.len() == MAX_LINKS {
                return None;
            }
            links.push(real.clone());
            rest.extend(parts(&fs::read_link(&real).ok()?));
            real.pop();
        }
        let is_file = fs::metadata(&real).ok()?.is_file();
        is_file.then_some(Resolved { file: real, links })
    }

    /// Returns the directories that a program needs around it; `None` if commands do not see it: it
    /// is no program, or somebody's own script.
    fn needs(self, file: &Path, depth: usize) -> Option<Vec<PathBuf>> {
        if self.is_of_system(file) {
            return Some(Vec::new());
        }
        let head = head(file)?;
        let package = self.package(file);
        if head.starts_with(ELF) {
            return Some(package);
        }
        let interpreter = interpreter(&head)?;
        // An interpreter of a package needs that package too.
        let of_interpreter = match Some(interpreter.as_path())
            .filter(|path| depth == 0 && !self.is_of_system(path))
            .and_then(|path| self.resolve(path))
        {
            Some(resolved) => {
                let mut needs = self.needs(&resolved.file, depth + 1)?;
                // The environment of the interpreter is named by the link in it.
                needs.extend(self.package(&interpreter));
                needs.extend(resolved.links);
                needs.push(resolved.file);
                needs
            }
            None => Vec::new(),
        };
        let is_installed = self.with_scripts || !package.is_empty() || !of_interpreter.is_empty();
        is_installed.then(|| [package, of_interpreter].concat())
    }

    fn is_of_system(self, path: &Path) -> bool {
        let system = self.definitions.system();
        system.iter().any(|known| path.starts_with(known))
    }

    /// Returns the directories of the package of a file, if it is in one.
    fn package(self, file: &Path) -> Vec<PathBuf> {
        let above: Vec<&Path> = file.ancestors().skip(1).collect();
        let of_modules = above
            .iter()
            .rev()
            .find(|path| path.file_name() == Some(OsStr::new("node_modules")));
        if let Some(modules) = of_modules {
            return self.packages([modules.to_path_buf()]);
        }
        let environment = above
            .iter()
            .find(|path| fs::symlink_metadata(path.join("pyvenv.cfg")).is_ok());
        if let Some(environment) = environment {
            let base = base_of_environment(environment);
            let base = base.filter(|base| !self.is_of_system(base));
            return self.packages([environment.to_path_buf()].into_iter().chain(base));
        }
        let prefix = file
            .parent()
            .filter(|dir| dir.file_name() == Some(OsStr::new("bin")))
            .and_then(Path::parent);
        let has_parts = |prefix: &&Path| {
            let parts = ["lib", "libexec", "share"];
            parts.iter().any(|part| prefix.join(part).is_dir())
        };
        let prefix = prefix.filter(has_parts);
        let prefix = prefix.filter(|prefix| !self.is_project(prefix));
        self.packages(prefix.map(Path::to_path_buf))
    }

    /// Filters directories that commands may see whole.
    fn packages(self, found: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
        let shared = &self.definitions.document().shared;
        let is_wide = |path: &Path| {
            let shared = shared.iter().map(|below| self.home.join(below));
            self.home.starts_with(path)
                || shared.into_iter().any(|shared| path == shared)
                || self
                    .roots
                    .iter()
                    .any(|root| root.starts_with(path) || path.starts_with(root))
        };
        found
            .into_iter()
            .filter(|path| path.starts_with(self.home) && !is_wide(path))
            .collect()
    }

    /// Returns true if somebody works in a directory, or in one above it below HOME.
    fn is_project(self, dir: &Path) -> bool {
        let above = dir
            .ancestors()
            .take_while(|above| *above != self.home && above.starts_with(self.home));
        above
            .flat_map(|above| PROJECT_MARKS.map(|mark| above.join(mark)))
            .any(|mark| fs::symlink_metadata(mark).is_ok())
    }
}

/// Reads the start of a program; `None` if it cannot be executed.
fn head(file: &Path) -> Option<Vec<u8>> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options()
        .read(true)
        .custom_flags(flags)
        .open(file)
        .ok()?;
    let stat = file.metadata().ok()?;
    if !stat.is_file() || stat.mode() & 0o111 == 0 {
        return None;
    }
    let mut head = Vec::with_capacity(HEAD_BYTES);
    file.take(HEAD_BYTES as u64).read_to_end(&mut head).ok()?;
    Some(head)
}

fn is_script(file: &Path) -> bool {
    head(file).is_some_and(|head| head.starts_with(b"#!"))
}

/// Returns the interpreter of a script. pip writes `/bin/sh` and an `exec` line where the path is
/// long (`_build_shebang` in distlib's scripts.py).
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let mut lines = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n');
    let first = lines.next()?;
    let word = |line: &[u8]| {
        let word = line
            .split(u8::is_ascii_whitespace)
            .find(|word| !word.is_empty())?;
        Some(PathBuf::from(OsStr::from_bytes(word)))
    };
    let interpreter = word(first)?;
    let by_exec = lines
        .next()
        .and_then(|line| line.strip_prefix(b"'''exec' "))
        .and_then(word)
        .map(|path| {
            let path = path.as_os_str().as_bytes();
            PathBuf::from(OsStr::from_bytes(
                path.trim_ascii()
                    .strip_prefix(b"\"")
                    .map_or(path, |quoted| quoted.strip_suffix(b"\"").unwrap_or(quoted)),
            ))
        });
    Some(by_exec.unwrap_or(interpreter))
}

/// Returns the installation of the Python that a virtual environment is made of: the directory above
/// that of `home` in its pyvenv.cfg (<https://docs.python.org/3/library/venv.html>).
fn base_of_environment(environment: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(environment.join("pyvenv.cfg")).ok()?;
    let home = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| PathBuf::from(value.trim()))
    })?;
    let real = fs::canonicalize(home).ok()?;
    real.parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests;
