//! The operator's machine as commands see it: directories of programs, and configuration files of
//! the private home.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use replay_base::text::escape::show_path;
use replay_environment::toolchains::{self, Surroundings, Toolchains};
use replay_environment::{
    Definitions, EnvRules, HomeFile, Machine, ProgramSearch, Programs, Visible, is_certificates,
    read_configuration,
};
use replay_network::rules::{CredentialTarget, Credentials};
use replay_sandbox::is_below_link;

use super::directories::without_parents;
use super::process_state::ProcessState;
use super::profile::{Profile, System};
use crate::cli::{EnvironmentScope, Options, Sandbox};
use crate::secrets::is_led_by_agents;

/// Source of a visible directory: a flag or the profile.
const BY_FLAG: &str = "--system";
const BY_PROFILE: &str = "`system` of the profile";
/// The operator's additions to the table of ecosystems, below the directory of configuration.
const DEFINITIONS: &str = "replay/environment.toml";

/// Paths that commands see outside the allowed directories, and why.
pub(super) struct VisibleMachine {
    pub(super) definitions: Definitions,
    /// Everything that commands see, and the toolchains in it.
    pub(super) found: Toolchains,
    pub(super) programs: Programs,
    pub(super) scope: EnvironmentScope,
}

/// Finds the paths outside the allowed directories that commands see. With `is_offline` these include
/// downloads that only help without a network.
pub(super) fn visible(
    options: &Options,
    profile: &Profile,
    world: &ProcessState,
    mode: Sandbox,
    roots: &[PathBuf],
    private_home: bool,
    is_offline: bool,
) -> Result<VisibleMachine> {
    let usual = usual_system(profile)?;
    let asked = options.walls.environment.or(profile.environment);
    let mut machine = VisibleMachine {
        definitions: definitions(world, roots)?,
        found: Toolchains::default(),
        programs: Programs::default(),
        scope: asked.unwrap_or(EnvironmentScope::Public),
    };
    if mode == Sandbox::Off {
        return Ok(machine);
    }

    let wanted = !options.walls.no_toolchains && profile.toolchains.unwrap_or(usual);
    if let Some(home) = world.home().filter(|_| wanted) {
        let asked = asked_downloads(options, profile);
        machine.add_programs(world, &home, roots, private_home, is_offline, asked);
    }
    let VisibleMachine {
        definitions, found, ..
    } = &mut machine;
    let directories = system(options, profile, world, usual, definitions)?;
    found.system.splice(0..0, directories);
    if !private_home {
        let path = world
            .home()
            .context("--home read-only: HOME is not set to a directory")?;
        found.system.push(Visible {
            path,
            why: "the real home".into(),
        });
    }

    check_system(&found.system, roots)?;
    // Commands already see these paths, with the rights of the allowed directory.
    found
        .system
        .retain(|seen| !roots.iter().any(|root| seen.path.starts_with(root)));
    Ok(machine)
}

impl VisibleMachine {
    /// Adds the toolchains in use, and the other programs of PATH below HOME. Downloads that the
    /// operator asked for are not among them.
    fn add_programs(
        &mut self,
        world: &ProcessState,
        home: &Path,
        roots: &[PathBuf],
        private_home: bool,
        is_offline: bool,
        asked: &[String],
    ) {
        let path: Vec<PathBuf> =
            std::env::split_paths(&world.variable("PATH").unwrap_or_default()).collect();
        let surroundings = Surroundings {
            definitions: &self.definitions,
            home,
            path: &path,
            is_offline,
            asked,
        };
        let variables = variables_of_files(&self.definitions, home, roots);
        let mut found = toolchains::find(
            surroundings,
            |name| {
                world
                    .variable(name)
                    .or_else(|| variables.get(name).cloned())
            },
            |path| std::fs::symlink_metadata(path).is_ok(),
        );
        let is_own = |place: &Path| !is_below_link(place) && !is_led_by_agents(place, roots);
        let is_shown = |place: &Path| !is_link(place) && is_own(place);
        found.system.retain(|seen| is_shown(&seen.path));
        found.cargo_home = found.cargo_home.filter(|place| is_shown(place));
        if self.scope != EnvironmentScope::None && private_home {
            let names = self.definitions.certificates().iter();
            let mut files: Vec<PathBuf> = names
                .filter_map(|name| Some(world.variable(name)?.into()))
                .collect();
            // Many variables name the same file.
            files.sort();
            files.dedup();
            files.retain(|file| {
                is_shown(file) && read_configuration(file).is_ok_and(|text| is_certificates(&text))
            });
            found.system.extend(files.into_iter().map(|path| Visible {
                path,
                why: "certificates".into(),
            }));
            let search = ProgramSearch {
                definitions: &self.definitions,
                home,
                path: &path,
                roots,
                toolchains: &found.system,
                with_scripts: self.scope == EnvironmentScope::Full,
            };
            self.programs = search.find();
            let programs = self.programs.system.iter();
            let own = programs.filter(|seen| is_own(&seen.path)).cloned();
            found.system.extend(own);
        }
        self.found = found;
    }
}

/// Returns the names in --downloads, or else in the profile.
pub(super) fn asked_downloads<'a>(options: &'a Options, profile: &'a Profile) -> &'a [String] {
    match &*options.walls.downloads {
        [] => &profile.downloads,
        asked => asked,
    }
}

/// Reads the files that stand for variables. An agent cannot change them.
pub(super) fn variables_of_files(
    definitions: &Definitions,
    home: &Path,
    roots: &[PathBuf],
) -> HashMap<String, OsString> {
    let files = definitions.variable_files().iter();
    let files = files.map(|below| home.join(below));
    let texts = files
        .filter(|file| !is_led_by_agents(file, roots))
        .filter_map(|file| read_configuration(&file).ok());
    let mut variables = HashMap::new();
    for text in texts {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        variables.extend(lines.map(|(name, value)| (name.trim().to_owned(), value.trim().into())));
    }
    variables
}

/// Reads the table of ecosystems with the operator's additions.
#[expect(clippy::disallowed_methods, reason = "a file of the operator's")]
fn definitions(world: &ProcessState, roots: &[PathBuf]) -> Result<Definitions> {
    let directory = world
        .variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(world.home()?.join(".config")));
    let file = directory.map(|directory| directory.join(DEFINITIONS));
    let Some(file) = file.filter(|file| std::fs::symlink_metadata(file).is_ok()) else {
        return Ok(Definitions::embedded().clone());
    };
    let shown = file.display();
    if is_led_by_agents(&file, roots) {
        bail!("`{shown}` lies in an allowed directory, where an agent can change it; move it");
    }
    let text = read_configuration(&file).map_err(|why| anyhow!("`{shown}`: {why}"))?;
    Definitions::embedded()
        .with(&text)
        .with_context(|| format!("`{shown}`"))
}

/// Returns what the private home holds of the operator's configuration.
pub(super) fn home_files(
    world: &ProcessState,
    definitions: &Definitions,
    scope: EnvironmentScope,
    rules: &EnvRules,
    environment: &[(OsString, OsString)],
    roots: &[PathBuf],
    credentials: &Credentials,
) -> Vec<HomeFile> {
    let Some(home) = world.home().filter(|_| scope != EnvironmentScope::None) else {
        return Vec::new();
    };
    let is_visible = |path: &Path| {
        let mut visible = rules.visible.iter().flatten();
        visible.any(|seen| path.starts_with(seen)) && std::fs::metadata(path).is_ok()
    };
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path: Vec<PathBuf> = path
        .map(|(_, value)| std::env::split_paths(value).collect())
        .unwrap_or_default();
    let has_program = |name: &str| path.iter().any(|dir| is_visible(&dir.join(name)));
    let stand_in = |origin: &str| {
        let (scheme, authority) = origin.split_once("://")?;
        let is_for = |target: &CredentialTarget| {
            target.scheme.word() == scheme && target.authority == authority
        };
        credentials
            .iter()
            .find(|one| one.targets.iter().any(is_for))
            .map(|one| one.stand_in.clone())
    };
    Machine {
        definitions,
        home: &home,
        variable: &|name| world.variable(name),
        is_own: &|path| !is_led_by_agents(path, roots),
        is_visible: &is_visible,
        has_program: &has_program,
        stand_in: &stand_in,
    }
    .home_files()
}

/// Paths as messages show them, with `~` for the home.
pub(super) fn shown(world: &ProcessState, paths: &[PathBuf]) -> Vec<String> {
    let home = world.home();
    let shown = |path: &PathBuf| {
        let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        let path = below.map_or_else(|| path.clone(), |below| Path::new("~").join(below));
        show_path(&path).into_owned()
    };
    paths.iter().map(shown).collect()
}

fn is_link(place: &Path) -> bool {
    std::fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink())
}

/// Returns true if commands see the usual system directories.
fn usual_system(profile: &Profile) -> Result<bool> {
    match (&profile.system, profile.import_baseline) {
        (Some(System::Word(_)), Some(false)) => {
            bail!(
                "the profile's `system` is `default` and its `import_baseline` is false; leave one of them out"
            )
        }
        (Some(System::Dirs(_)), asked) => Ok(asked == Some(true)),
        (_, asked) => Ok(asked.unwrap_or(true)),
    }
}

fn system(
    options: &Options,
    profile: &Profile,
    world: &ProcessState,
    usual: bool,
    definitions: &Definitions,
) -> Result<Vec<Visible>> {
    let mut system: Vec<Visible> = Vec::new();
    if usual {
        system.extend(definitions.system().iter().map(|path| Visible {
            path: path.clone(),
            why: "the system's programs".into(),
        }));
    }
    if let Some(System::Dirs(dirs)) = &profile.system {
        system.extend(dirs.iter().map(|dir| Visible {
            path: without_parents(&world.here, dir),
            why: BY_PROFILE.into(),
        }));
    }
    for dir in &options.walls.system {
        // Messages name paths so, and the arguments of a client go through no shell.
        let of_home = dir.strip_prefix("~").ok().zip(world.home());
        let dir = of_home.map_or_else(|| dir.clone(), |(below, home)| home.join(below));
        let path = without_parents(&world.here, &dir);
        if std::fs::metadata(&path).is_err() {
            bail!(
                "--system `{}` does not exist or cannot be read",
                path.display()
            );
        }
        system.push(Visible {
            path,
            why: BY_FLAG.into(),
        });
    }
    Ok(system)
}

/// Checks the operator's directories. A mistake could expose everything, or a directory would not
/// really be read-only.
fn check_system(system: &[Visible], roots: &[PathBuf]) -> Result<()> {
    for Visible { path, why } in system
        .iter()
        .filter(|seen| [BY_FLAG, BY_PROFILE].contains(&&*seen.why))
    {
        let shown = path.display();
        if path.parent().is_none()
            || ["/proc", "/sys", "/dev"]
                .iter()
                .any(|tree| path.starts_with(tree))
        {
            bail!(
                "`{shown}` ({why}) cannot be a directory of programs: it is the root directory or \
                 belongs to the kernel"
            );
        }
        if let Some(root) = roots.iter().find(|root| path.starts_with(root)) {
            bail!(
                "`{shown}` ({why}) is in the allowed directory `{}` and has its rights; to make \
                 it read-only use --protect",
                root.display()
            );
        }
        if is_led_by_agents(path, roots) {
            bail!(
                "`{shown}` ({why}) goes through a link in an allowed directory, which an agent \
                 can change: give the path without links"
            );
        }
    }
    Ok(())
}
