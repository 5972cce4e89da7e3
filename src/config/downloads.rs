//! `--downloads`: caches of package managers that commands see.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use replay_environment::toolchains::Surroundings;
use replay_environment::{Definitions, Hint, OperatorDownload, find_downloads};
use replay_sandbox::{CanonicalPath, PlannedLayer, is_below_link};

use super::machine::{asked_downloads, variables_of_files};
use super::process_state::ProcessState;
use super::profile::Profile;
use crate::cli::Options;
use crate::secrets::is_led_by_agents;

/// The operator's caches of package managers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Downloads {
    /// Caches that commands see.
    pub shown: Vec<DownloadLayer>,
    /// Caches that commands do not see.
    pub unseen: Vec<OperatorDownload>,
    /// Caches that were asked for and do not exist.
    pub absent: Vec<OperatorDownload>,
}

/// A cache that commands see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadLayer {
    pub download: OperatorDownload,
    /// Paths in it that commands do not see.
    pub private: Vec<PathBuf>,
}

/// HOME of commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Homes {
    pub(super) private_home: bool,
    /// True if caches of commands outlive the server.
    pub(super) has_cache: bool,
}

impl Homes {
    /// Fails if caches of the operator cannot be in it.
    fn check(self) -> Result<()> {
        if !self.private_home {
            bail!(
                "--downloads needs the private HOME of commands; leave out --sandbox off and --home \
                 read-only"
            );
        }
        if self.has_cache {
            bail!(
                "--downloads shows your caches, and --cache keeps those of commands, at the same places; \
                 leave one of them out"
            );
        }
        Ok(())
    }
}

/// Finds the caches, and what is private in those that the operator asked for.
#[expect(clippy::disallowed_methods, reason = "the operator's caches")]
pub(super) fn resolve(
    options: &Options,
    profile: &Profile,
    world: &ProcessState,
    homes: Homes,
    definitions: &Definitions,
    roots: &[PathBuf],
) -> Result<Downloads> {
    let asked = asked_downloads(options, profile);
    let names: Vec<&str> = definitions.download_names().collect();
    if let Some(unknown) = asked.iter().find(|name| !names.contains(&name.as_str())) {
        bail!(
            "--downloads `{unknown}` is unknown; it can be {}",
            names.join(", ")
        );
    }
    if !asked.is_empty() {
        homes.check()?;
    }
    let mut downloads = Downloads::default();
    let Some(home) = world.home() else {
        return Ok(downloads);
    };
    let surroundings = Surroundings {
        definitions,
        home: &home,
        path: &[],
        is_offline: true,
        asked: &[],
    };
    let variables = variables_of_files(definitions, &home, roots);
    let variable = |name: &str| {
        world
            .variable(name)
            .or_else(|| variables.get(name).cloned())
    };
    for mut download in find_downloads(surroundings, variable) {
        let is_asked = asked.contains(&download.name);
        let is_apart = is_apart(&download.place, roots);
        // A home may be reached by a link, such as /home on some systems.
        let real = std::fs::canonicalize(&download.place).ok();
        let Some(real) = real.filter(|real| real.is_dir()) else {
            downloads.absent.extend(is_asked.then_some(download));
            continue;
        };
        let is_apart = is_apart && self::is_apart(&real, roots);
        download.place = real;
        if !is_asked {
            downloads.unseen.extend(is_apart.then_some(download));
            continue;
        }
        let place = download.place.display();
        if !is_apart {
            bail!(
                "--downloads {}: `{place}` holds an allowed directory or is in one, where an agent can \
                 change it; leave {0} out",
                download.name
            );
        }
        let private = download
            .private_entries(definitions)
            .with_context(|| format!("--downloads {}: `{place}` cannot be read", download.name))?;
        downloads.shown.push(DownloadLayer { download, private });
    }
    Ok(downloads)
}

/// Returns true if no allowed directory has to do with a path.
fn is_apart(place: &Path, roots: &[PathBuf]) -> bool {
    let holds_root = roots.iter().any(|root| root.starts_with(place));
    !holds_root && !is_below_link(place) && !is_led_by_agents(place, roots)
}

impl DownloadLayer {
    #[expect(clippy::disallowed_methods, reason = "a directory of the operator's")]
    fn planned(&self) -> Result<PlannedLayer> {
        let place = &self.download.place;
        let stat = std::fs::symlink_metadata(place).with_context(|| {
            format!("--downloads {}: `{}`", self.download.name, place.display())
        })?;
        Ok(PlannedLayer {
            place: CanonicalPath {
                path: place.into(),
                dev: stat.dev(),
                ino: stat.ino(),
            },
            below: Path::new(&self.download.below).into(),
            private: self.private.iter().map(Into::into).collect(),
        })
    }
}

impl Downloads {
    /// Variables that commands need for the caches that they see.
    pub(super) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        let shown = self.shown.iter();
        shown.flat_map(|layer| layer.download.variables.clone())
    }

    /// Plans the layers that commands see. Fails if one is gone.
    pub fn planned(&self) -> Result<Vec<PlannedLayer>> {
        self.shown.iter().map(DownloadLayer::planned).collect()
    }

    /// Returns the notes on failed commands that fit this machine.
    #[expect(clippy::disallowed_methods, reason = "the operator's home")]
    pub(super) fn hints(
        &self,
        world: &ProcessState,
        definitions: &Definitions,
        has_loopback: bool,
    ) -> Vec<Hint> {
        let home = world.home();
        let exists = |below: &String| {
            let path = home.as_ref().map(|home| home.join(below));
            path.is_some_and(|path| std::fs::symlink_metadata(path).is_ok())
        };
        let fits =
            |hint: &&Hint| (has_loopback || !hint.loopback) && hint.exists.iter().all(exists);
        let hints = definitions.hints().filter(fits);
        hints.filter_map(|hint| self.completed(hint)).collect()
    }

    /// Places below HOME of all caches, each with its name if commands do not see it.
    pub fn places(&self) -> Vec<(String, Option<String>)> {
        let shown = self.shown.iter();
        let shown = shown.map(|layer| (layer.download.below.clone(), None));
        let unseen = self.unseen.iter();
        shown
            .chain(unseen.map(|download| (download.below.clone(), Some(download.name.clone()))))
            .collect()
    }

    /// Returns the flag that saves loading packages of these sets of --allow-hosts: the operator's own
    /// caches of them, or else a cache of commands. The two exclude each other.
    pub fn flag_for(&self, sets: &[&str]) -> Option<String> {
        let is_for = |download: &&OperatorDownload| {
            let hosts = download.hosts.as_deref();
            hosts.is_some_and(|hosts| sets.contains(&hosts))
        };
        let unseen = self.unseen.iter().filter(is_for);
        let names: Vec<&str> = unseen.map(|download| download.name.as_str()).collect();
        match (names.is_empty(), self.shown.is_empty()) {
            (false, _) => Some(format!("--downloads {}", names.join(","))),
            (true, true) => Some("--cache DIRECTORY".to_owned()),
            (true, false) => None,
        }
    }

    /// Warnings for the start of the server.
    pub fn warnings(&self, has_network: bool) -> Vec<String> {
        let mut warnings: Vec<String> = self
            .absent
            .iter()
            .map(|absent| {
                let (name, place) = (&absent.name, absent.place.display());
                format!("--downloads {name}: there is no directory `{place}` yet")
            })
            .collect();
        let shown: Vec<&str> = self
            .shown
            .iter()
            .map(|layer| layer.download.name.as_str())
            .collect();
        if has_network && !shown.is_empty() {
            warnings.push(format!(
                "commands see your caches ({}) and have a network: private packages in them can leave this \
                 machine",
                shown.join(", ")
            ));
        }
        warnings
    }

    /// Completes a hint about a cache; `None` if commands see it, or it does not exist.
    fn completed(&self, hint: &Hint) -> Option<Hint> {
        let Some(name) = &hint.download else {
            return Some(hint.clone());
        };
        let unseen = self.unseen.iter().find(|unseen| unseen.name == *name)?;
        let mut completed = hint.clone();
        completed.note = format!(
            "commands do not see the operator's {}; the operator can show them (--downloads {name})",
            unseen.title
        );
        Some(completed)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn download(name: &str) -> OperatorDownload {
        OperatorDownload {
            name: name.to_owned(),
            title: format!("{name} packages"),
            hosts: Some(name.to_owned()),
            place: "/home/me/cache".into(),
            below: "cache".to_owned(),
            variables: Vec::new(),
            named_by: None,
        }
    }

    #[test]
    fn warnings_tell_absent_caches_and_open_network() {
        let downloads = Downloads {
            shown: vec![DownloadLayer {
                download: download("npm"),
                private: Vec::new(),
            }],
            absent: vec![download("maven")],
            ..Downloads::default()
        };
        let absent = "--downloads maven: there is no directory `/home/me/cache` yet";
        assert_eq!(downloads.warnings(false), [absent]);
        let open = "commands see your caches (npm) and have a network: private packages in them can leave \
                    this machine";
        assert_eq!(downloads.warnings(true), [absent, open]);
        assert_eq!(Downloads::default().warnings(true), [""; 0]);
    }

    #[test]
    fn flag_shows_own_cache_or_makes_one() {
        let downloads = Downloads {
            unseen: vec![download("npm"), download("maven")],
            ..Downloads::default()
        };
        let flag = |sets: &[&str]| downloads.flag_for(sets);
        assert_eq!(flag(&["npm", "pypi"]).as_deref(), Some("--downloads npm"));
        assert_eq!(flag(&["pypi"]).as_deref(), Some("--cache DIRECTORY"));
    }

    #[test]
    fn hint_is_about_unseen_cache() {
        let downloads = Downloads {
            unseen: vec![download("npm")],
            ..Downloads::default()
        };
        let notes: Vec<String> = Definitions::embedded()
            .hints()
            .filter(|hint| hint.download.is_some())
            .filter_map(|hint| downloads.completed(hint))
            .map(|hint| hint.note)
            .collect();
        assert_eq!(
            notes,
            [
                "commands do not see the operator's npm packages; the operator can show them (--downloads npm)"
            ]
        );
    }
}
