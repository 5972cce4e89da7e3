//! Variables of the operator that commands do not get, with the flag that gives each.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use replay_environment::{Definitions, EnvRules, WithheldVariable, withheld};
use replay_network::upstream_proxy::is_proxy_variable;

use super::downloads::Downloads;
use super::machine;
use super::process_state::ProcessState;

/// Variable of the operator that commands do not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    pub name: String,
    /// Existing paths of its value that commands do not see, as messages show them.
    pub unseen: Vec<String>,
    pub remedy: WithheldRemedy,
}

/// Way in which the operator gives commands a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WithheldRemedy {
    /// `--env`, and `--system` for its paths.
    Pass,
    /// `--credential`, since it may hold a secret.
    Credential,
    /// `--downloads` with this name.
    Download(String),
    /// None: its paths may hold secrets.
    None,
}

impl Withheld {
    /// Flags that give it to commands.
    pub fn flags(&self) -> Option<String> {
        let name = &self.name;
        match &self.remedy {
            WithheldRemedy::Pass => {
                let paths = self.unseen.iter().map(|path| format!(" --system {path}"));
                Some(format!("--env {name}{}", paths.collect::<String>()))
            }
            WithheldRemedy::Credential => Some(format!("--credential {name}=env:{name} --for URL")),
            WithheldRemedy::Download(download) => Some(format!("--downloads {download}")),
            WithheldRemedy::None => None,
        }
    }
}

/// Environment of commands, and its sources.
#[derive(Clone, Copy)]
pub(super) struct CommandEnvironment<'a> {
    pub(super) definitions: &'a Definitions,
    pub(super) rules: &'a EnvRules,
    pub(super) variables: &'a [(OsString, OsString)],
    pub(super) downloads: &'a Downloads,
    /// `true` with --cache, which excludes --downloads.
    pub(super) has_cache: bool,
}

/// Returns the variables that commands do not get, except proxies and those that the operator drops.
#[expect(
    clippy::disallowed_methods,
    reason = "paths of the operator's variables"
)]
pub(super) fn resolve(world: &ProcessState, commands: CommandEnvironment<'_>) -> Vec<Withheld> {
    let is_visible = |path: &Path| {
        let mut visible = commands.rules.visible.iter().flatten();
        visible.any(|seen| path.starts_with(seen))
    };
    let exists = |path: &Path| std::fs::metadata(path).is_ok();
    let found = withheld(
        &world.vars,
        commands.variables,
        commands.definitions,
        exists,
        is_visible,
    );
    let is_told = |variable: &WithheldVariable| {
        let name = OsStr::new(&variable.name);
        let mut shown = commands.downloads.shown.iter();
        let is_shown = shown.any(|layer| variable.download.as_ref() == Some(&layer.download.name));
        !is_shown && !is_proxy_variable(name) && !commands.rules.drops(name)
    };
    found
        .into_iter()
        .filter(is_told)
        .map(|variable| Withheld {
            unseen: machine::shown(world, &variable.unseen),
            remedy: remedy(&variable, world, commands),
            name: variable.name,
        })
        .collect()
}

fn remedy(
    variable: &WithheldVariable,
    world: &ProcessState,
    commands: CommandEnvironment<'_>,
) -> WithheldRemedy {
    let home = world.home();
    let is_private = |path: &PathBuf| {
        let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        let first = below.and_then(|below| below.iter().next());
        let mut private = commands.definitions.private().iter();
        first.is_some_and(|first| private.any(|name| first == name.as_str()))
    };
    let is_unseen = |name: &&String| {
        let mut unseen = commands.downloads.unseen.iter();
        unseen.any(|download| download.name == **name)
    };
    let has_paths = !variable.unseen.is_empty();
    if let Some(name) = variable
        .download
        .as_ref()
        .filter(is_unseen)
        .filter(|_| !commands.has_cache)
    {
        return WithheldRemedy::Download(name.clone());
    }
    match variable.is_sensitive {
        true if has_paths => WithheldRemedy::None,
        true => WithheldRemedy::Credential,
        false if variable.unseen.iter().any(is_private) => WithheldRemedy::None,
        false => WithheldRemedy::Pass,
    }
}
