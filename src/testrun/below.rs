//! Projects below the directory that was told, which is none itself or lacks a program: what to give as `cwd` instead.

use std::fmt::{self, Display, Write as _};
use std::path::{Path, PathBuf};

use super::detect::{self, Tree as _};
use super::ground::Ground;
use super::model::{Checker, TestRunner};
use super::project::Disk;
use crate::limits::MAX_NAMED_PROJECTS;
use crate::text::escape::show_path;
use crate::text::glob::is_glob;

/// Projects, the likeliest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// What to give as `cwd`, and what runs there.
    named: Vec<(String, &'static str)>,
    /// How many more there are.
    more: usize,
}

impl Below {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    fn of(mut named: Vec<(String, &'static str)>) -> Self {
        let more = named.len().saturating_sub(MAX_NAMED_PROJECTS);
        named.truncate(MAX_NAMED_PROJECTS);
        Self { named, more }
    }
}

impl Display for Below {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (dir, what)) in self.named.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(out, "{comma}`{dir}` ({what})")?;
        }
        if self.more > 0 { write!(out, " and {} more", self.more) } else { Ok(()) }
    }
}

/// A runner or a checker, as far as projects that have it are looked for.
pub trait Tool: Copy + PartialEq {
    /// As it is asked for.
    fn name(self) -> &'static str;
    /// Whether it is for files of this name; `true` for names that say nothing.
    fn suits(self, file: &str) -> bool;
    /// The projects below a directory.
    fn below(disk: Disk<'_>, cwd: &Path) -> Vec<(String, Vec<Self>)>;
    /// Whether it is installed in a directory itself.
    fn is_in(self, disk: Disk<'_>, dir: &Path) -> bool;
    /// Whether one of [`Self::below`] that has it is a project of its own, and no part of one around it.
    fn is_used_by(self, disk: Disk<'_>, dir: &Path) -> bool;
}

impl Tool for TestRunner {
    fn name(self) -> &'static str {
        self.name()
    }

    fn suits(self, file: &str) -> bool {
        detect::suits_runner(self, file)
    }

    fn below(disk: Disk<'_>, cwd: &Path) -> Vec<(String, Vec<Self>)> {
        detect::runners_below(&disk, cwd)
    }

    fn is_in(self, disk: Disk<'_>, dir: &Path) -> bool {
        match self {
            Self::Vitest => disk.of_node(dir, "vitest", "vitest").is_some(),
            Self::Jest => disk.of_node(dir, "jest", "jest").is_some(),
            Self::Pytest => is_in_venv(disk, dir, "pytest"),
            Self::Junit | Self::CargoTest | Self::Nextest | Self::Go => false,
        }
    }

    fn is_used_by(self, disk: Disk<'_>, dir: &Path) -> bool {
        detect::is_project(&disk, dir, self)
    }
}

impl Tool for Checker {
    fn name(self) -> &'static str {
        self.name()
    }

    fn suits(self, file: &str) -> bool {
        detect::suits_checker(self, file)
    }

    fn below(disk: Disk<'_>, cwd: &Path) -> Vec<(String, Vec<Self>)> {
        detect::checkers_below(&disk, cwd)
    }

    fn is_in(self, disk: Disk<'_>, dir: &Path) -> bool {
        match self {
            Self::Tsc => disk.of_node(dir, "typescript", "tsc").is_some(),
            Self::Mypy => is_in_venv(disk, dir, "mypy"),
            Self::Pyright => disk.of_node(dir, "pyright", "pyright").is_some() || is_in_venv(disk, dir, "pyright"),
            Self::CargoCheck | Self::GoVet => false,
        }
    }

    fn is_used_by(self, _: Disk<'_>, _: &Path) -> bool {
        // Each of them is known by a file of a project.
        true
    }
}

/// The checker of the nearest directory from `from` upwards in which one for Python is installed, and that directory. None if
/// it has several, or they are not for these files.
pub fn only_checker(disk: Disk<'_>, from: &Path, files: &[String]) -> Option<(Checker, PathBuf)> {
    for dir in from.ancestors() {
        disk.names(dir)?;
        let installed = [Checker::Mypy, Checker::Pyright].into_iter().filter(|checker| checker.is_in(disk, dir));
        match *installed.collect::<Vec<_>>() {
            [] => {}
            [only] => return files.iter().all(|file| only.suits(file)).then(|| (only, dir.to_path_buf())),
            _ => return None,
        }
    }
    None
}

fn is_in_venv(disk: Disk<'_>, dir: &Path, program: &str) -> bool {
    let names = |venv: &str| disk.names(&dir.join(venv).join("bin")).unwrap_or_default();
    [".venv", "venv"].iter().any(|venv| names(venv).iter().any(|name| name == program))
}

/// The projects below `cwd`: first those that have the files that were named, then those whose runner or checker is for such
/// files, then the others.
pub fn projects<T: Tool>(ground: &Ground<'_>, cwd: &Path, files: &[String]) -> Below {
    let disk = ground.disk();
    let is_there = |dir: &str, file: &String| {
        let path = file.split("::").next().unwrap_or(file);
        !is_glob(path) && ground.policy.is_there(cwd.join(dir).join(path))
    };
    let mut ranked: Vec<(u8, String, &'static str)> = T::below(disk, cwd)
        .into_iter()
        .filter_map(|(dir, tools)| {
            let suits = tools.iter().find(|tool| files.iter().all(|file| tool.suits(file)));
            let rank = match suits {
                Some(_) if files.iter().all(|file| is_there(&dir, file)) => 0,
                Some(_) => 1,
                None => 2,
            };
            let tool = suits.or_else(|| tools.first())?;
            Some((rank, shown(ground, &cwd.join(&dir)), tool.name()))
        })
        .collect();
    ranked.sort_by_key(|(rank, ..)| *rank);
    Below::of(ranked.into_iter().map(|(_, dir, what)| (dir, what)).collect())
}

/// The next step where a tool is missing that projects below have: those in which it is installed, else those that use it.
/// None if there are none.
pub fn who_has<T: Tool>(ground: &Ground<'_>, cwd: &Path, tool: T) -> Option<String> {
    let disk = ground.disk();
    let mut users: Vec<String> =
        T::below(disk, cwd).into_iter().filter(|(_, tools)| tools.contains(&tool)).map(|(dir, _)| dir).collect();
    let owners: Vec<String> = users.iter().filter(|dir| tool.is_in(disk, &cwd.join(dir))).cloned().collect();
    // Mere tests lack the same as the project that they are of.
    users.retain(|dir| tool.is_used_by(disk, &cwd.join(dir)));
    let what = if owners.is_empty() { "use it" } else { "have it" };
    if !owners.is_empty() {
        users = owners;
    }
    let more = users.len().saturating_sub(MAX_NAMED_PROJECTS);
    users.truncate(MAX_NAMED_PROJECTS);
    let mut named = String::new();
    for (at, dir) in users.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(named, "{comma}`{}`", shown(ground, &cwd.join(dir)));
    }
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| {
        format!("{} is not here, but projects below {what}: give one of these as `cwd`: {named}{more}", tool.name())
    })
}

/// A directory as `cwd` takes it: from the first allowed directory on, or absolute.
fn shown(ground: &Ground<'_>, dir: &Path) -> String {
    let below = ground.policy.project().and_then(|root| dir.strip_prefix(root.path()).ok());
    show_path(below.unwrap_or(dir)).to_string()
}
