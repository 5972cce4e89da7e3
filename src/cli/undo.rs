//! Flags of undo: the journal of changes.

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::help::UNDO;
use super::{UNDO_DAYS, UNDO_MIB};

/// Journal of changes for undo: on or off, and its limits.
#[derive(Clone, Debug, Args)]
pub struct UndoArgs {
    /// Keep what calls change in the read-write directories, so that it can be undone [default: on]
    #[arg(long, help_heading = UNDO, value_enum, value_name = "MODE")]
    pub undo: Option<Undo>,
    /// Keep so many MiB at most (2048 by default); the oldest calls go first
    #[arg(long, help_heading = UNDO, value_name = "MIB", value_parser = UNDO_MIB.parser(), hide_short_help = true)]
    pub undo_mib: Option<u64>,
    /// Keep it for so many days (14 by default)
    #[arg(long, help_heading = UNDO, value_name = "DAYS", value_parser = UNDO_DAYS.parser(), hide_short_help = true)]
    pub undo_days: Option<u64>,
    /// Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]
    #[arg(long, help_heading = UNDO, value_enum, value_name = "MODE", hide_short_help = true)]
    pub undo_full: Option<UndoFull>,
    /// Keep nothing of these files, such as target/**; replies tell
    ///
    /// A glob over paths below the allowed directory. Repeatable. For trees that programs make
    /// again and whose keeping costs too much.
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
    /// The change is not made
    Refuse,
    /// The change is made without being kept, and the reply tells
    Drop,
}
