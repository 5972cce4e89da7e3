//! Reachability: checks if an agent could reach a file by any name. Then it is no place for an
//! audit log or for secrets.
//!
//! A log outside the agent's directories is kept from it like any other file. Below an allowed
//! directory the log is hidden: `policy` denies it, and a mount covers it for commands
//! (`sandbox/hidden_paths`). Both know only its true path, so there must be no other. The check
//! therefore compares the identity of directories and their position on the filesystem, not their
//! names.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the operator's, named on the command line"
)]

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use replay_base::limits::MAX_LINKS;
use replay_base::mounts::{self, Mount, Position};
use replay_base::remaining_path::RemainingPath;
use replay_sandbox::{Cache, Tier};

use crate::tools::Services;

/// Reach of an agent: the allowed directories, and the directories that commands see beside them.
#[derive(Default)]
pub(crate) struct Reach {
    /// The allowed directories, by true path.
    roots: Vec<PathBuf>,
    /// Directories that commands see beside the allowed ones, if any commands run.
    system: Vec<PathBuf>,
    /// `true` if commands run without a sandbox.
    is_open: bool,
    /// `true` if commands run at all.
    runs: bool,
    /// `true` if commands run where no file can be hidden from them.
    shows_all: bool,
}

type Id = (u64, u64);

impl Reach {
    /// Returns the reach of these servers' agents. `system` lists the directories that commands see
    /// beside the allowed ones.
    pub(crate) fn of<'a>(
        all: impl Iterator<Item = &'a Services>,
        system: impl Iterator<Item = PathBuf>,
    ) -> Self {
        let mut reach = Self::default();
        for services in all {
            reach.roots.extend(
                services
                    .policy
                    .roots()
                    .iter()
                    .map(|root| root.path().to_owned()),
            );
            reach.roots.extend(
                services
                    .policy
                    .linked()
                    .iter()
                    .map(|linked| linked.outermost().to_owned()),
            );
            let (tier, runs) = (
                services.commands.standing.tier,
                services.commands.launcher.is_some(),
            );
            reach
                .system
                .extend(services.commands.cache.as_ref().map(Cache::shown_path));
            reach.is_open |= tier == Some(Tier::Off);
            reach.runs |= runs;
            reach.shows_all |=
                runs && tier != Some(Tier::Namespaces) && services.policy.hidden().next().is_some();
        }
        if reach.runs {
            reach
                .system
                .extend(system.filter_map(|path| std::fs::canonicalize(path).ok()));
        }
        reach
    }

    /// Adds what another server may reach.
    pub(crate) fn add(&mut self, other: Self) {
        self.roots.extend(other.roots);
        self.system.extend(other.system);
        self.is_open |= other.is_open;
        self.runs |= other.runs;
        self.shows_all |= other.shows_all;
    }

    /// Returns true if commands run without a sandbox.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns true if a true path lies below an allowed directory.
    pub(crate) fn covers(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| real.starts_with(root))
    }

    /// Fails, with the remedy, if an agent could reach the file named by `flag`. Its true path
    /// below an allowed directory is no failure, as it is hidden there.
    pub(crate) fn keeps_out(&self, flag: &str, path: &Path) -> Result<()> {
        let name = path.display();
        if self.is_open {
            bail!(
                "{flag} `{name}` could be read by commands without walls (--sandbox off); leave \
                 that out, or use --tools files"
            );
        }
        let spelt = std::path::absolute(path).with_context(|| format!("`{name}` has no place"))?;
        let real =
            std::fs::canonicalize(&spelt).with_context(|| format!("`{name}` cannot be found"))?;
        if self.runs && is_shown_of_etc(&real)? {
            bail!(
                "{flag} `{name}` could be read by commands, which see files of /etc that \
                 everybody may read; move it, such as below ~/.local/state, or run chmod 600 on it"
            );
        }
        if let Some(link) = self.link_of_an_agent(&spelt)? {
            bail!(
                "{flag} `{name}` goes through the link `{}`, which an agent could change; give \
                 the path without links, `{}`",
                link.display(),
                real.display()
            );
        }
        let is_below_root = self.covers(&real);
        if is_below_root && self.shows_all {
            bail!(
                "{flag} `{name}` is in an allowed directory, where it cannot be hidden from \
                 commands; move it, such as below ~/.local/state"
            );
        }
        let mounts = mounts()?;
        let (above, position) = (above(&real), Position::of(&real, &mounts));
        let reaches = |at: &Path| {
            id(at).is_some_and(|id| above.contains(&id))
                || position.as_ref().is_some_and(|position| {
                    Position::of(at, &mounts).is_some_and(|at| position.is_below(&at))
                })
        };
        let roots = self.roots.iter().map(|root| (root, "an allowed directory"));
        for (place, what) in roots.chain(
            self.system
                .iter()
                .map(|place| (place, "a directory that commands see")),
        ) {
            let inner = mounts
                .iter()
                .map(|mount| &mount.place)
                .filter(|at| at.starts_with(place));
            for at in std::iter::once(place).chain(inner) {
                let is_reached = if is_below_root && real.starts_with(at) {
                    let other = position
                        .as_ref()
                        .and_then(|position| position.another_way(&real, at, &mounts));
                    // Something else may be mounted over it.
                    other.is_some_and(|other| {
                        id(&other).is_some_and(|other| above.first() == Some(&other))
                    })
                } else {
                    reaches(at)
                };
                if is_reached {
                    let again = if is_below_root {
                        ", another way than by its own name"
                    } else {
                        ""
                    };
                    bail!(
                        "{flag} `{name}` could be reached by an agent{again}: it is below `{}`, \
                         {what}; move it, such as below ~/.local/state",
                        at.display()
                    );
                }
            }
        }
        Ok(())
    }

    /// Like [`Self::keeps_out`] for a file that is hidden nowhere, so it must not lie below an
    /// allowed directory.
    pub(crate) fn keeps_apart(&self, flag: &str, path: &Path) -> Result<()> {
        self.keeps_out(flag, path)?;
        if std::fs::canonicalize(path).is_ok_and(|real| self.covers(&real)) {
            let name = path.display();
            bail!(
                "{flag} `{name}` is in an allowed directory; move it, such as below ~/.local/state"
            );
        }
        Ok(())
    }

    /// Fails where file tools, or other commands, could reach the cache of a server's commands.
    pub(crate) fn keeps_cache_apart(&self, services: &Services) -> Result<()> {
        services
            .commands
            .cache
            .iter()
            .try_for_each(|cache| self.keeps_apart("--cache", cache.path()))
    }

    /// The first symbolic link on the way to `path` that lies in an allowed directory.
    fn link_of_an_agent(&self, path: &Path) -> Result<Option<PathBuf>> {
        let roots: Vec<Id> = self.roots.iter().filter_map(|root| id(root)).collect();
        let mut rest = RemainingPath::new(path.as_os_str().as_bytes());
        let mut at = PathBuf::from("/");
        while let Some(part) = rest.next() {
            if part == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            let Ok(target) = std::fs::read_link(&next) else {
                at = next;
                continue;
            };
            if at.ancestors().filter_map(id).any(|id| roots.contains(&id)) {
                return Ok(Some(next));
            }
            let Ok(is_absolute) = rest.follow(target.as_os_str().as_bytes()) else {
                bail!(
                    "`{}` goes through more than {MAX_LINKS} symbolic links",
                    path.display()
                );
            };
            if is_absolute {
                at = "/".into();
            }
        }
        Ok(None)
    }
}

/// Returns true if a path lies in one of these directories by any name, or passes a link in one,
/// which an agent could redirect.
pub(crate) fn is_led_by_agents(path: &Path, roots: &[PathBuf]) -> bool {
    let reach = Reach {
        roots: roots.to_vec(),
        ..Reach::default()
    };
    let roots: Vec<Id> = roots.iter().filter_map(|root| id(root)).collect();
    let lies_in_one = std::fs::canonicalize(path)
        .is_ok_and(|real| above(&real).iter().any(|id| roots.contains(id)));
    lies_in_one || !matches!(reach.link_of_an_agent(path), Ok(None))
}

/// A file and the directories above it.
fn above(real: &Path) -> Vec<Id> {
    real.ancestors().filter_map(id).collect()
}

/// Returns true if commands see this path of `/etc` in every tier.
fn is_shown_of_etc(real: &Path) -> Result<bool> {
    let mode = std::fs::metadata(real)
        .with_context(|| format!("`{}` cannot be seen", real.display()))?
        .mode();
    Ok(is_shown(real, mode))
}

fn is_shown(real: &Path, mode: u32) -> bool {
    real.starts_with("/etc") && mode & 0o007 != 0
}

fn id(path: &Path) -> Option<Id> {
    let known = std::fs::metadata(path).ok()?;
    Some((known.dev(), known.ino()))
}

/// Returns the mounts in order; empty without /proc.
fn mounts() -> Result<Vec<Mount>> {
    match mounts::table() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        table => table.context("/proc/self/mountinfo cannot be read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn path_through_link_in_root_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        let at = |path: &str| root.join(path);
        std::fs::create_dir_all(at("w/sub")).unwrap();
        std::fs::create_dir_all(at("logs")).unwrap();
        std::os::unix::fs::symlink(at("w"), at("other")).unwrap();
        std::os::unix::fs::symlink(at("logs"), at("w/out")).unwrap();
        std::os::unix::fs::symlink(at("w/out"), at("logs/round")).unwrap();
        for file in ["w/sub/a", "logs/a"] {
            std::fs::write(at(file), "").unwrap();
        }
        let reach = || Reach {
            roots: vec![at("w")],
            runs: true,
            ..Reach::default()
        };
        let kept = |path: &str| reach().keeps_out("--audit", &at(path)).is_ok();
        assert_eq!(
            [
                "logs/a",
                "w/sub/a",
                "other/sub/a",
                "w/out/a",
                "logs/round/a"
            ]
            .map(kept),
            [true, true, true, false, false]
        );
        let refused = |reach: Reach, path: &str| reach.keeps_out("--audit", &at(path)).is_err();
        assert!(refused(
            Reach {
                is_open: true,
                ..reach()
            },
            "logs/a"
        ));
        let shows_all = || Reach {
            shows_all: true,
            ..reach()
        };
        assert!(refused(shows_all(), "w/sub/a") && !refused(shows_all(), "logs/a"));
        // Seen by commands, and not as part of an allowed directory.
        assert!(refused(
            Reach {
                system: vec![at("logs")],
                ..reach()
            },
            "logs/a"
        ));
        // An allowed directory is mounted over what commands see above it.
        assert!(!refused(
            Reach {
                system: vec![root.clone()],
                ..reach()
            },
            "w/sub/a"
        ));
    }

    #[test]
    fn bind_mounts_are_compared_by_filesystem_position() {
        let lines = [
            "1 0 8:1 / / rw - ext4 a rw",
            "2 1 8:1 /x/data /data rw - ext4 a rw",
            "3 1 8:2 / /disk rw - ext4 b rw",
        ];
        let mounts: Vec<Mount> = lines
            .iter()
            .filter_map(|line| Mount::parse(line.as_bytes()))
            .collect();
        let position = |path: &str| Position::of(Path::new(path), &mounts).unwrap();
        let log = position("/data/logs/log");
        let below = [
            "/x",
            "/x/data/logs",
            "/data",
            "/x/data/other",
            "/disk/x",
            "/y",
        ]
        .map(|at| log.is_below(&position(at)));
        assert_eq!(below, [true, true, true, false, false, false]);
    }

    #[test]
    fn nested_mount_exposes_part_of_directory() {
        let lines = [
            "1 0 8:1 / / rw - ext4 a rw",
            "2 1 8:1 /w/logs /w/in rw - ext4 a rw",
            "3 1 8:2 / /w/disk rw - ext4 b rw",
        ];
        let mounts: Vec<Mount> = lines
            .iter()
            .filter_map(|line| Mount::parse(line.as_bytes()))
            .collect();
        let way = |real: &str, at: &str| {
            Position::of(Path::new(real), &mounts).unwrap().another_way(
                Path::new(real),
                Path::new(at),
                &mounts,
            )
        };
        assert_eq!(
            [
                ("/w/in/log", "/w"),
                ("/w/in/log", "/w/in"),
                ("/w/logs/log", "/w"),
                ("/w/disk/log", "/w")
            ]
            .map(|(real, at)| way(real, at)),
            [Some(PathBuf::from("/w/logs/log")), None, None, None]
        );
    }

    #[test]
    fn commands_see_world_readable_files_of_etc() {
        let cases = [
            ("/etc/a/log", 0o644),
            ("/etc/a/log", 0o600),
            ("/etc/a/log", 0o640),
            ("/etcetera/log", 0o644),
        ];
        assert_eq!(
            cases.map(|(path, mode)| is_shown(Path::new(path), mode)),
            [true, false, false, false]
        );
        let world_readable = Path::new("/etc/passwd");
        let reach = |runs| Reach {
            runs,
            ..Reach::default()
        };
        assert_eq!(
            [true, false].map(|runs| reach(runs).keeps_out("--audit", world_readable).is_ok()),
            [false, true]
        );
    }
}
