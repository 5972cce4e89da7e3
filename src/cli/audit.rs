//! Flags of the audit log, and subcommands that read it.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use replay_base::limits;
use replay_mcp::sessions::Ending;

use super::Range;

/// Flags of the audit log.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Audit")]
pub struct AuditArgs {
    /// Log each call in this file before the call is answered
    ///
    /// A chain of hashes joins the lines. The server serves no call that it cannot log. Tools and
    /// commands do not see the file.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub audit: Option<PathBuf>,
    /// Chain the lines with HMAC-SHA256 and the key in this file
    ///
    /// Without the key nobody can rewrite the log. No other user may be able to read the key file
    /// (chmod 600).
    #[arg(long, hide_short_help = true, requires = "audit", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub audit_key: Option<PathBuf>,
    /// Continue the chain of this file if --audit is a new file, as after a rotation
    ///
    /// The file need not exist. `replay audit verify` accepts both files.
    #[arg(long, hide_short_help = true, requires = "audit", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub audit_previous: Option<PathBuf>,
}

/// Outcome in `replay audit show` of a call that began and has no end.
pub(crate) const UNENDED: &str = "unended";

/// Range of `--last`.
const LAST: Range = Range {
    min: 1,
    max: limits::MAX_AUDIT_LAST,
};

/// `replay audit ...`.
#[derive(Clone, Debug, Subcommand)]
pub enum AuditAction {
    /// Check that no line was changed, removed, added or moved; the exit status is 1 otherwise
    Verify {
        /// Log, or all its files, oldest first (--audit-previous)
        #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        files: Vec<PathBuf>,
        /// Key of the server's --audit-key
        #[arg(long = "audit-key", alias = "key", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        key: Option<PathBuf>,
        /// Check that the log contains the line with this hash, which was once the last
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
    /// Print the calls of a log as a table
    Show {
        /// The log
        #[arg(value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
        #[command(flatten)]
        wanted: CallFilter,
    },
}

fn outcomes() -> impl Iterator<Item = &'static str> {
    Ending::ALL.map(Ending::as_str).into_iter().chain([UNENDED])
}

/// Filters and output format of `replay audit show`.
#[derive(Clone, Debug, Default, Args)]
pub struct CallFilter {
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only calls that touched or asked for this path, or one below it
    ///
    /// A relative path is compared with the end of each path.
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// Only calls with this outcome
    ///
    /// An `unended` call has begun, and its server was killed or still serves it.
    #[arg(long, value_name = "OUTCOME", value_parser = PossibleValuesParser::new(outcomes()))]
    pub outcome: Option<String>,
    /// Only calls of this client: the name of a token, or stdio
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
    /// Only calls from this time on, such as 2026-07-28T12:00:00Z, or 2h for the last two hours
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Print the log lines unchanged
    #[arg(long)]
    pub json: bool,
    /// Maximum number of calls, from the end
    #[arg(long, value_name = "COUNT", value_parser = LAST.parser())]
    pub last: Option<u64>,
}
