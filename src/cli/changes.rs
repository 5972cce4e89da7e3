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
    /// The directory in which agents changed files, or one in it
    #[arg(long, global = true, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The store, where there are several for the directory: its name, or its path
    ///
    /// There is one for each set of allowed directories and each token.
    #[arg(long, global = true, value_name = "NAME|PATH", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
}

/// Subcommands of `replay changes`.
#[derive(Clone, Debug, Subcommand)]
pub enum ChangesAction {
    /// List the calls, newest first: number, time, tool, what changed; this is also what no
    /// subcommand does
    List {
        /// Only the last so many
        #[arg(long, value_name = "COUNT", default_value_t = ChangesAction::USUAL, value_parser = LISTED.parser())]
        last: u64,
    },
    /// Print every file that a call changed
    Show {
        /// Its number
        call: u64,
    },
    /// Print what a call changed as a unified diff
    Diff {
        /// Its number
        call: u64,
    },
    /// Make what calls changed what it was; the exit status is 1 if nothing was undone
    ///
    /// It is refused whole if anything is not as these calls left it. An undo is a call and can be
    /// undone.
    #[command(after_help = "Example: replay changes undo 41 --path src")]
    Undo(UndoArguments),
}

impl ChangesAction {
    /// Default number of listed calls.
    pub const USUAL: u64 = 20;
}

/// `replay changes undo`.
#[derive(Clone, Debug, Args)]
pub struct UndoArguments {
    /// Their numbers
    #[arg(
        value_name = "CALL",
        required_unless_present = "since",
        conflicts_with = "since"
    )]
    pub calls: Vec<u64>,
    /// Undo this call and all after it
    #[arg(long, value_name = "CALL")]
    pub since: Option<u64>,
    /// Only what is at or below this path, which begins at --dir; repeatable
    #[arg(long = "path", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// All but what is at or below this path; repeatable
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub except: Vec<PathBuf>,
    /// Only say what would be undone
    #[arg(long)]
    pub dry_run: bool,
    /// Undo in spite of what was changed since: that is taken away, and undoing the undo brings it
    /// back
    #[arg(long)]
    pub force: bool,
}
