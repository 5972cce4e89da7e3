//! Flags of the audit log, and what reads one.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use super::Range;
use crate::limits;
use crate::server::Ending;

/// `--audit` and what belongs to it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Audit")]
pub struct AuditArgs {
    /// Add a line for each call to this file, chained by hashes, before the call is answered; no call is served that cannot be
    /// written down. Below an allowed directory the file is hidden from tools and commands
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub audit: Option<PathBuf>,
    /// Chain the lines with HMAC-SHA256 and the key in this file, so that whoever can write the log cannot write it anew.
    /// Nobody else may be able to read it (chmod 600)
    #[arg(long, requires = "audit", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub audit_key: Option<PathBuf>,
    /// Where --audit is a new file, go on in it with the chain of this one, as after a rotation; `replay audit verify` takes
    /// both. It need not exist
    #[arg(long, requires = "audit", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub audit_previous: Option<PathBuf>,
}

/// The outcome of a call that began and has no end, as `replay audit show` has it.
pub const UNENDED: &str = "unended";

/// Lines at the end of a log.
const LAST: Range = Range { min: 1, max: limits::MAX_AUDIT_LAST };

/// `replay audit ...`.
#[derive(Clone, Debug, Subcommand)]
pub enum AuditAction {
    /// Check that no line of a log was changed, left out, put in or moved; the exit status is 1 if one was
    Verify {
        /// The log, or all files of it, the oldest first (--audit-previous)
        #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        files: Vec<PathBuf>,
        /// The key that the server was given as --audit-key
        #[arg(long = "audit-key", alias = "key", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        key: Option<PathBuf>,
        /// A hash that was once the last one: the log must still hold the line that it belongs to
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
    /// Print the calls of a log as a table
    Show {
        /// The log
        #[arg(value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
        #[command(flatten)]
        #[expect(missing_docs, reason = "a doc comment here would replace the command's own")]
        wanted: Wanted,
    },
}

fn outcomes() -> impl Iterator<Item = &'static str> {
    Ending::ALL.map(Ending::as_str).into_iter().chain([UNENDED])
}

/// Which calls are shown, and how.
#[derive(Clone, Debug, Default, Args)]
pub struct Wanted {
    /// Those of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Those that touched or asked for this path or something below it; a relative one is compared with the end
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// Those that ended so; `unended` are those that began and whose server was killed, or serves them now
    #[arg(long, value_name = "OUTCOME", value_parser = PossibleValuesParser::new(outcomes()))]
    pub outcome: Option<String>,
    /// Those of this client: the name of a token, or stdio
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
    /// Those from this time on: such as 2026-07-28T12:00:00Z, or 2h for the last two hours
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Print the lines as they stand
    #[arg(long)]
    pub json: bool,
    /// The last ones of them only
    #[arg(long, value_name = "COUNT", value_parser = LAST.parser())]
    pub last: Option<u64>,
}
