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

use crate::configuration::read;
use crate::definitions::Definitions;
use crate::toolchains::Visible;

/// Most names of a PATH entry that are looked at.
const MAX_NAMES: usize = 1024;
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
/// File of a virtual environment (<https://docs.python.org/3/library/venv.html>).
const ENVIRONMENT_MARK: &str = "pyvenv.cfg";
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
    /// PATH entries in which no program was looked for.
    pub unseen: Vec<PathBuf>,
}

impl Programs {
    fn add_unseen(&mut self, entry: &Path) {
        if !self.unseen.iter().any(|known| known == entry) {
            self.unseen.push(entry.to_owned());
        }
    }
}

/// A path without links, and the links on the way to it.
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
        let Some(Resolved { file: real, .. }) = self.resolve(entry) else {
            return;
        };
        if !real.is_dir() || programs.path.contains(&real) {
            return;
        }
        programs.path.push(real.clone());
        if is_known(&real) {
            return;
        }
        let is_open = fs::metadata(&real).is_ok_and(|stat| stat.mode() & 0o002 != 0);
        if is_open || !self.is_searched(&real) {
            programs.add_unseen(entry);
            return;
        }
        self.add_directory(entry, &real, programs);
    }

    /// Returns true for a path below HOME that is no place of secrets.
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
        let (mut pieces, mut packages) = (Vec::new(), Vec::new());
        for name in names.flatten().take(MAX_NAMES) {
            let place = real.join(name.file_name());
            let Some(resolved) = self.resolve(&place).filter(|found| found.file.is_file()) else {
                continue;
            };
            if let Some(needs) = self.needs(&resolved.file) {
                packages.extend(needs);
                pieces.extend(resolved.links);
                pieces.extend(Some(resolved.file).filter(|file| !self.is_of_system(file)));
            } else if is_script(&resolved.file) {
                programs.left_out.push(place);
            }
        }
        let why = |path: PathBuf| Visible {
            path,
            why: WHY_DIRECTORY.into(),
        };
        packages.sort();
        packages.dedup();
        let packages = packages.into_iter().map(|path| Visible {
            path,
            why: WHY_PACKAGE.into(),
        });
        let mut found: Vec<Visible> = packages.collect();
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
        let (mut links, mut followed) = (Vec::new(), 0);
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
            if followed == MAX_LINKS {
                return None;
            }
            // Commands have the system's own links.
            if !self.is_of_system(&real) {
                links.push(real.clone());
            }
            followed += 1;
            rest.extend(parts(&fs::read_link(&real).ok()?));
            real.pop();
        }
        Some(Resolved { file: real, links })
    }

    /// Returns the directories that a program needs around it; `None` if commands do not see it: it
    /// is no program, lies in a place of secrets, or is somebody's own script.
    fn needs(self, file: &Path) -> Option<Vec<PathBuf>> {
        if self.is_of_system(file) {
            return Some(Vec::new());
        }
        if !self.is_searched(file) {
            return None;
        }
        let head = head(file)?;
        if head.starts_with(ELF) {
            let package = self.modules(file).or_else(|| self.environment(file));
            return Some(package.unwrap_or_else(|| self.prefix(file)));
        }
        let interpreter = interpreter(&head)?;
        if let Some(modules) = self.modules(file) {
            return Some(modules);
        }
        let environment = self.environment(file);
        let is_of_environment = environment
            .iter()
            .flatten()
            .any(|dir| interpreter.starts_with(dir));
        environment
            .filter(|_| is_of_environment)
            .or_else(|| self.with_scripts.then(Vec::new))
    }

    fn is_of_system(self, path: &Path) -> bool {
        let system = self.definitions.system();
        system.iter().any(|known| path.starts_with(known))
    }

    /// Returns the outermost `node_modules` around a file of an installed package. One of a project is
    /// none.
    fn modules(self, file: &Path) -> Option<Vec<PathBuf>> {
        let above: Vec<&Path> = file.ancestors().skip(1).collect();
        let mut outermost = above.into_iter().rev();
        let modules =
            outermost.find(|path| path.file_name() == Some(OsStr::new("node_modules")))?;
        self.is_package(modules)
            .then(|| vec![modules.to_path_buf()])
    }

    /// Returns the virtual environment around a file, and the Python that it is made of.
    fn environment(self, file: &Path) -> Option<Vec<PathBuf>> {
        let mut above = file.ancestors().skip(1);
        let environment = above.find(|path| path.join(ENVIRONMENT_MARK).exists())?;
        let mark = self.resolve(&environment.join(ENVIRONMENT_MARK))?;
        if !self.is_package(environment) || !mark.links.is_empty() {
            return None;
        }
        let text = read(&mark.file).ok()?;
        let home = text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "home").then(|| PathBuf::from(value.trim()))
        });
        let base = home.and_then(|home| self.python_of(&home));
        Some(
            [environment.to_path_buf()]
                .into_iter()
                .chain(base)
                .collect(),
        )
    }

    /// Returns the installation of Python below HOME to which a directory of programs belongs.
    fn python_of(self, bin: &Path) -> Option<PathBuf> {
        let bin = self.resolve(bin)?.file;
        let base = bin.parent().filter(|base| !self.is_of_system(base))?;
        let python = self.resolve(&bin.join("python3"))?.file;
        let is_python =
            head(&python).is_some_and(|head| head.starts_with(ELF)) && base.join("lib").is_dir();
        (is_python && self.is_package(base)).then(|| base.to_path_buf())
    }

    /// Returns the libraries of a program in a `bin` beside them.
    fn prefix(self, file: &Path) -> Vec<PathBuf> {
        let bin = file
            .parent()
            .filter(|dir| dir.file_name() == Some(OsStr::new("bin")));
        let prefix = bin.and_then(Path::parent);
        let Some(prefix) = prefix.filter(|prefix| self.is_package(prefix)) else {
            return Vec::new();
        };
        let parts = ["lib", "libexec", "share"].map(|part| prefix.join(part));
        parts
            .into_iter()
            .filter(|part| fs::symlink_metadata(part).is_ok_and(|stat| stat.is_dir()))
            .collect()
    }

    /// Returns true for a directory without links that commands may see whole.
    fn is_package(self, dir: &Path) -> bool {
        let shared = &self.definitions.document().shared;
        let mut shared = shared.iter().map(|below| self.home.join(below));
        let is_wide = shared.any(|shared| shared.starts_with(dir))
            || self
                .roots
                .iter()
                .any(|root| root.starts_with(dir) || dir.starts_with(root));
        dir.starts_with(self.home) && self.is_searched(dir) && !is_wide && !self.is_project(dir)
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

#[cfg(test)]
mod tests;
