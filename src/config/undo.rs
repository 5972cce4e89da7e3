//! Settings of the journal of changes.
#![expect(
    clippy::disallowed_methods,
    reason = "start-up looks for what the operator names"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use replay_base::text::glob::{GlobMatcher, Reading};
use replay_files::hide::{check_spelling, without_end};
use replay_files::policy::Grant;

use super::process_state::ProcessState;
use super::profile::Profile;
use crate::cli::{Options, Undo, UndoFull};

/// Default of `--undo-mib`.
const DEFAULT_UNDO_MIB: u64 = 2048;
/// Default of `--undo-days`.
const DEFAULT_UNDO_DAYS: u64 = 14;

const SECS_PER_DAY: u64 = 86_400;

/// Settings of the journal of changes.
#[derive(Clone, Debug)]
pub struct UndoConfig {
    pub is_on: bool,
    /// Name of the token; empty without tokens.
    pub tenant: String,
    /// Maximum size on disk.
    pub bytes: u64,
    pub age: Duration,
    /// `true` if changes that cannot be recorded are made anyway.
    pub drops: bool,
    /// `true` if files that programs outside run are restored (`--freeze-autorun`).
    pub freezes: bool,
    /// Globs of paths that are not recorded, relative to the allowed directories.
    pub skip: Vec<String>,
    /// State directory of the user, if known.
    pub state: Option<PathBuf>,
    /// Default state directory, if `XDG_STATE_HOME` names another one. `replay changes` may run
    /// without that variable.
    pub default_state: Option<PathBuf>,
    /// Directories that agents of this process may reach. The store must be elsewhere.
    pub allowed: Vec<PathBuf>,
    /// The only directories that the process may use after its own walls are built.
    pub places: Option<Vec<PathBuf>>,
}

/// Globs that match a pattern's path and everything below it. A name with brackets that exists is
/// taken literally.
fn skip(pattern: &str, allowed: &[PathBuf]) -> Result<[String; 2]> {
    check_spelling(pattern).map_err(|reason| anyhow!("--undo-skip: {reason}"))?;
    let below = pattern.trim_start_matches("./");
    if below.starts_with('/') {
        let below = allowed
            .iter()
            .find_map(|dir| Path::new(pattern).strip_prefix(dir).ok())
            .map(Path::display);
        let right = below.map_or("a path below an allowed directory".to_owned(), |below| {
            format!("`{below}`")
        });
        bail!("--undo-skip: `{pattern}` is not a path below an allowed directory: write {right}");
    }
    let exists = |name: &str| {
        allowed
            .iter()
            .any(|dir| std::fs::symlink_metadata(dir.join(name)).is_ok())
    };
    let reading = Reading::new(without_end(below), exists);
    let glob = reading
        .map_err(|error| anyhow!("--undo-skip: {error}: {}", error.hint()))?
        .to_glob();
    Ok([format!("{glob}/**"), glob])
}

/// State directory of the user, if known.
pub(crate) fn state_directory() -> Option<PathBuf> {
    state(&ProcessState::read(PathBuf::new(), true))
}

fn state(world: &ProcessState) -> Option<PathBuf> {
    let named = world
        .variable("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    named.or_else(|| default_state(world))
}

fn default_state(world: &ProcessState) -> Option<PathBuf> {
    Some(world.home()?.join(".local/state"))
}

impl UndoConfig {
    pub(super) fn resolve(
        options: &Options,
        profile: &Profile,
        world: &ProcessState,
        grants: &[Grant],
    ) -> Result<Self> {
        let args = &options.undo;
        let allowed: Vec<PathBuf> = grants.iter().map(|grant| grant.path.clone()).collect();
        let skip = args
            .undo_skip
            .iter()
            .chain(&profile.undo_skip)
            .map(|pattern| skip(pattern, &allowed));
        let skip = skip.collect::<Result<Vec<_>>>()?.concat();
        GlobMatcher::new(&skip, false).context("--undo-skip")?;
        let is_on = args.undo.or(profile.undo) != Some(Undo::Off);
        let drops = args.undo_full.or(profile.undo_full) == Some(UndoFull::Drop);
        let freezes = options.walls.freeze_autorun || profile.freeze_autorun;
        if freezes && (!is_on || drops || !skip.is_empty()) {
            bail!(
                "--freeze-autorun restores files that commands change, so undo must keep \
                 everything: leave out --undo off, --undo-full drop and --undo-skip"
            );
        }
        Ok(Self {
            is_on,
            tenant: String::new(),
            bytes: args
                .undo_mib
                .or(profile.limits.undo_mib)
                .unwrap_or(DEFAULT_UNDO_MIB)
                * 1024
                * 1024,
            age: Duration::from_secs(
                args.undo_days
                    .or(profile.limits.undo_days)
                    .unwrap_or(DEFAULT_UNDO_DAYS)
                    * SECS_PER_DAY,
            ),
            drops,
            freezes,
            skip,
            state: state(world),
            default_state: default_state(world)
                .filter(|default| state(world).as_ref() != Some(default)),
            allowed,
            places: None,
        })
    }
}
