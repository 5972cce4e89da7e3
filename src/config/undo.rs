//! What is kept of what calls change.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::commands::World;
use super::profile::Profile;
use crate::cli::{Options, Undo, UndoFull};
use crate::limits::{DEFAULT_UNDO_DAYS, DEFAULT_UNDO_MIB};
use crate::policy::Grant;
use crate::text::glob::GlobMatcher;

const SECS_PER_DAY: u64 = 86_400;

/// Whether and where it is kept, and how much of it.
#[derive(Clone, Debug)]
pub struct UndoConfig {
    pub is_on: bool,
    /// Whose changes these are: the name of a token; empty for whoever needs none.
    pub tenant: String,
    /// On the disk.
    pub bytes: u64,
    pub age: Duration,
    /// Whether a change is made that cannot be kept.
    pub drops: bool,
    /// Whether what programs outside run is put back (`--freeze-sinks`).
    pub freezes: bool,
    /// Globs over paths below the allowed directories: nothing is kept of those.
    pub skip: Vec<String>,
    /// Where programs keep their state, if that is known.
    pub state: Option<PathBuf>,
    /// What agents of this process may reach: no place for it.
    pub allowed: Vec<PathBuf>,
    /// The only places that the process may use, once its own walls stand.
    pub places: Option<Vec<PathBuf>>,
}

/// Where programs of this user keep their state, if that is known.
pub fn state_directory() -> Option<PathBuf> {
    state(&World { here: PathBuf::new(), vars: std::env::vars_os().collect(), own: true })
}

fn state(world: &World) -> Option<PathBuf> {
    let named = world.variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| Some(world.home()?.join(".local/state")))
}

impl UndoConfig {
    pub(super) fn resolve(options: &Options, profile: &Profile, world: &World, grants: &[Grant]) -> Result<Self> {
        let args = &options.undo;
        let skip: Vec<String> = args.undo_skip.iter().chain(&profile.undo_skip).cloned().collect();
        GlobMatcher::new(&skip, false).context("--undo-skip")?;
        let is_on = args.undo.or(profile.undo) != Some(Undo::Off);
        let drops = args.undo_full.or(profile.undo_full) == Some(UndoFull::Drop);
        let freezes = options.freeze_sinks || profile.freeze_sinks;
        if freezes && (!is_on || drops || !skip.is_empty()) {
            bail!(
                "--freeze-sinks puts back what commands change, for which everything has to be kept: leave out --undo off, \
                 --undo-full drop and --undo-skip"
            );
        }
        Ok(Self {
            is_on,
            tenant: String::new(),
            bytes: args.undo_mib.or(profile.limits.undo_mib).unwrap_or(DEFAULT_UNDO_MIB) * 1024 * 1024,
            age: Duration::from_secs(
                args.undo_days.or(profile.limits.undo_days).unwrap_or(DEFAULT_UNDO_DAYS) * SECS_PER_DAY,
            ),
            drops,
            freezes,
            skip,
            state: state(world),
            allowed: grants.iter().map(|grant| grant.path.clone()).collect(),
            places: None,
        })
    }
}
