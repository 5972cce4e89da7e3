//! Flags of undo: the journal of changes.

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::help::UNDO;
use super::{UNDO_DAYS, UNDO_MIB};

/// Journal of changes for undo: on or off, and its limits.
#[derive(Clone, Debug, Args)]
pub struct UndoArgs {
    /// Journal the changes of calls in the read-write directories, so that they can be undone
    /// [default: on]
    #[arg(long, help_heading = UNDO, value_enum, value_name = "MODE")]
    pub undo: Option<Undo>,
    /// Limit the journal to this many MiB (2048 by default); the oldest calls are dropped first
    #[arg(long, help_heading = UNDO, value_name = "MIB", value_parser = UNDO_MIB.parser(), hide_short_help = true)]
    pub undo_mib: Option<u64>,
    /// Keep changes for this many days (14 by default)
    #[arg(long, help_heading = UNDO, value_name = "DAYS", value_parser = UNDO_DAYS.parser(), hide_short_help = true)]
    pub undo_days: Option<u64>,
    /// Choose the handling of a change that cannot be journaled, as on a full disk [default:
    /// refuse]
    #[arg(long, help_heading = UNDO, value_enum, value_name = "MODE", hide_short_help = true)]
    pub undo_full: Option<UndoFull>,
    /// Do not journal changes of these files, such as target/**; replies report them
    ///
    /// Repeatable. A glob over paths below the allowed directory. Use it for generated files whose
    /// journal costs too much.
    #[arg(long, help_heading = UNDO, value_name = "GLOB", hide_short_help = true)]
    pub undo_skip: Vec<String>,
}

/// `--undo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// Calls can be undone
    On,
    /// The journal is off
    Off,
}

/// `--undo-full`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoFull {
    /// The change fails
    Refuse,
    /// The change is made, and the reply reports that it cannot be undone
    Drop,
}
