//! Whether an agent could reach a file, by any name: then it is no place for an audit log.
//!
//! The log must lie outside everything that the file tools and commands see, so what keeps the agent inside its directories
//! keeps it away from the log too: there is no rule of its own that could have a hole. What is compared is which directory
//! something is, not what it is called, so a bind mount or a link makes no difference.
#![expect(clippy::disallowed_methods, reason = "the log is the operator's file, named on the command line")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::sandbox::Tier;
use crate::tools::Services;

/// What an agent may reach: directories, and what commands see beside them.
pub struct Reach {
    /// Each with what it is to the operator.
    places: Vec<(PathBuf, &'static str)>,
    /// Whether commands run without walls.
    is_open: bool,
    /// Whether commands run at all.
    runs: bool,
}

type Id = (u64, u64);

impl Reach {
    /// Of these servers, whose commands see `system` beside the allowed directories.
    pub fn of<'a>(all: impl Iterator<Item = &'a Services>, system: impl Iterator<Item = PathBuf>) -> Self {
        let (mut places, mut is_open, mut runs) = (Vec::new(), false, false);
        for services in all {
            let roots = services.policy.roots().iter();
            places.extend(roots.map(|root| (root.path().to_owned(), "an allowed directory")));
            is_open |= services.commands.standing.tier == Some(Tier::Off);
            runs |= services.commands.launcher.is_some();
        }
        if runs {
            places.extend(system.map(|path| (path, "a directory that commands see")));
        }
        Self { places, is_open, runs }
    }

    /// Fails, with the way out, if the file named by `flag` could be reached.
    pub fn keeps_out(&self, flag: &str, path: &Path) -> Result<()> {
        let name = path.display();
        if self.is_open {
            bail!(
                "{flag} `{name}` cannot be kept from commands that run without walls (--sandbox off); leave that out, or the \
                 tools that run commands (--tools files)"
            );
        }
        if self.runs && is_shown_of_etc(path)? {
            bail!(
                "{flag} `{name}` could be read by commands, which are shown what of /etc everybody may read; put it elsewhere, \
                 such as below ~/.local/state, or take that from others (chmod 600)"
            );
        }
        let (above, mounted) = (above(path)?, mounted()?);
        for (place, what) in &self.places {
            let inner = mounted.iter().filter(|at| at.starts_with(place));
            if std::iter::once(place).chain(inner).filter_map(|at| id(at)).any(|id| above.contains(&id)) {
                bail!(
                    "{flag} `{name}` lies where an agent could reach it: below `{}`, {what}; put it elsewhere, such as below \
                     ~/.local/state",
                    place.display()
                );
            }
        }
        Ok(())
    }
}

/// The directories above a file, by its name as it was spelt and by where it lies.
fn above(path: &Path) -> Result<Vec<Id>> {
    let spelt = std::path::absolute(path).with_context(|| format!("`{}` has no place", path.display()))?;
    let real = std::fs::canonicalize(&spelt).with_context(|| format!("`{}` cannot be found", path.display()))?;
    Ok(spelt.ancestors().chain(real.ancestors()).filter_map(id).collect())
}

/// Whether it is what commands are shown of `/etc`, in every tier.
fn is_shown_of_etc(path: &Path) -> Result<bool> {
    let real = std::fs::canonicalize(path).with_context(|| format!("`{}` cannot be found", path.display()))?;
    let mode = std::fs::metadata(&real).with_context(|| format!("`{}` cannot be seen", path.display()))?.mode();
    Ok(is_shown(&real, mode))
}

fn is_shown(real: &Path, mode: u32) -> bool {
    real.starts_with("/etc") && mode & 0o007 != 0
}

fn id(path: &Path) -> Option<Id> {
    let known = std::fs::metadata(path).ok()?;
    Some((known.dev(), known.ino()))
}

/// Where something is mounted: the fifth field of each line of mountinfo, with four characters as octal escapes
/// (`proc_pid_mountinfo(5)`). Nothing where there is no /proc.
fn mounted() -> Result<Vec<PathBuf>> {
    let text = match std::fs::read("/proc/self/mountinfo") {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.context("/proc/self/mountinfo cannot be read")?,
    };
    let fifth = |line: &[u8]| line.split(|byte| *byte == b' ').nth(4).map(unescaped);
    Ok(text.split(|byte| *byte == b'\n').filter_map(fifth).collect())
}

fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| first == b'\\');
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &behind[3..] } else { behind };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_file_is_reached_by_any_name_of_a_directory_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("w/sub")).unwrap();
        std::fs::create_dir_all(at("logs")).unwrap();
        std::os::unix::fs::symlink(at("w"), at("other")).unwrap();
        std::os::unix::fs::symlink(at("logs"), at("w/out")).unwrap();
        for file in ["w/sub/a", "logs/a"] {
            std::fs::write(at(file), "").unwrap();
        }
        let reach = |is_open| Reach { places: vec![(at("w"), "an allowed directory")], is_open, runs: true };
        let kept = |path: &str| reach(false).keeps_out("--audit", &at(path)).is_ok();
        assert_eq!(["logs/a", "w/sub/a", "other/sub/a", "w/out/a"].map(kept), [true, false, false, false]);
        assert!(reach(true).keeps_out("--audit", &at("logs/a")).is_err());
    }

    #[test]
    fn commands_are_shown_what_everybody_may_read_of_etc() {
        let cases = [("/etc/a/log", 0o644), ("/etc/a/log", 0o600), ("/etc/a/log", 0o640), ("/etcetera/log", 0o644)];
        assert_eq!(cases.map(|(path, mode)| is_shown(Path::new(path), mode)), [true, false, false, false]);
        let world_readable = Path::new("/etc/passwd");
        let reach = |runs| Reach { places: Vec::new(), is_open: false, runs };
        assert_eq!([true, false].map(|runs| reach(runs).keeps_out("--audit", world_readable).is_ok()), [false, true]);
    }

    #[test]
    fn names_in_mountinfo_are_escaped() {
        assert_eq!(unescaped(br"/a\040b\134c\9"), Path::new(r"/a b\c\9"));
    }
}
