//! Flags of `replay changes`: list, show and undo changes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Range;

/// Range of the number of listed calls.
const LISTED: Range = Range {
    min: 1,
    max: 1_000_000,
};

/// Journal to read: a directory and its store.
#[derive(Clone, Debug, Args)]
pub struct ChangesOf {
    /// Directory in which agents changed files, or one below it
    #[arg(long, global = true, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Name or path of the store, if the directory has several
    ///
    /// There is one for each set of allowed directories and each token.
    #[arg(long, global = true, value_name = "NAME|PATH", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
}

/// Subcommands of `replay changes`.
#[derive(Clone, Debug, Subcommand)]
pub enum ChangesAction {
    /// List the calls, newest first: number, time, tool, changes; this is the default
    List {
        /// Maximum number of calls
        #[arg(long, value_name = "COUNT", default_value_t = ChangesAction::USUAL, value_parser = LISTED.parser())]
        last: u64,
    },
    /// Print every file that a call changed
    Show {
        /// Number of the call
        call: u64,
    },
    /// Print the changes of a call as a unified diff
    Diff {
        /// Number of the call
        call: u64,
    },
    /// Undo the changes of calls; the exit status is 1 if nothing was undone
    ///
    /// The undo is refused as a whole if other changes followed. An undo is a call, and can be
    /// undone.
    #[command(
        override_usage = "replay changes undo [OPTIONS] <CALL>...\n       replay changes undo [OPTIONS] --since <CALL>",
        after_help = "Example: replay changes undo 41 --path src"
    )]
    Undo(UndoArguments),
}

impl ChangesAction {
    /// Default number of listed calls.
    pub const USUAL: u64 = 20;
}

/// `replay changes undo`.
#[derive(Clone, Debug, Args)]
pub struct UndoArguments {
    /// Numbers of the calls
    #[arg(
        value_name = "CALL",
        required_unless_present = "since",
        conflicts_with = "since"
    )]
    pub calls: Vec<u64>,
    /// Undo this call and all later ones
    #[arg(long, value_name = "CALL")]
    pub since: Option<u64>,
    /// Undo only changes at or below this path, relative to --dir; repeatable
    #[arg(long = "path", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Exclude changes at or below this path; repeatable
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub except: Vec<PathBuf>,
    /// Only show what would be undone
    #[arg(long)]
    pub dry_run: bool,
    /// Undo even if other changes followed, which are lost; undoing the undo restores them
    #[arg(long)]
    pub force: bool,
}
