//! The single declaration of all flags, from which help, man page and completions are derived.

mod audit;
mod calls;
mod changes;
mod credentials;
mod help;
mod http;
mod mock;
mod options;
mod python;
mod ranges;
mod renamed;
mod setup;
mod telemetry;
mod undo;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Args, Parser, Subcommand, ValueEnum, ValueHint};

pub(crate) use ranges::*;

use replay_base::text::nearest::nearest;

use crate::tools::TOOLS;

pub(crate) use audit::{AuditAction, AuditArgs, CallFilter, UNENDED};
pub(crate) use calls::{CallsAction, CallsRun, OnMissArg, StoredSets};
pub(crate) use changes::{ChangesAction, ChangesOf, UndoArguments};
pub(crate) use credentials::{CredentialArgs, DeclaredCredential};
pub use help::parse;
pub(crate) use http::{
    BURST, CALLS, CONNECTIONS, HttpArgs, NamedToken, NewToken, RATE, TokenAction, TokenFile,
};
pub(crate) use mock::{
    ClientChecks, FrontArgs, MatchArg, MockAction, MockServe, RealServer, Redact,
};
pub(crate) use options::{
    AccessArgs, ClientArgs, CommandArgs, ConfinedArgs, DirectoryArgs, EnvironmentScope, Errors,
    Home, Isolation, IsolationArgs, LinkedGit, LogArgs, LogLevel, MemoryArgs, NetworkArg, Options,
    ProtectionArgs, Replies, ReplyArgs, Sandbox, ToolsArgs, ToolsetArg, WriteArgs,
};
pub(crate) use python::PythonArgs;
pub(crate) use renamed::{RENAMED_KEYS, warn_of_http_names, warn_of_old_name, with_new_names};
pub(crate) use setup::{KnownClient, SetupArgs};
pub(crate) use telemetry::{HealthArgs, TelemetryArgs};
pub(crate) use undo::{Undo, UndoArgs, UndoFull};

/// An MCP server that gives an agent files, search, edits and a shell, confined to the allowed
/// directories
///
/// An agent's client starts `replay --mcp-server --allow DIR:rw` and talks to it over stdin and
/// stdout, or over HTTP. The server reads and writes nothing outside the allowed directories,
/// despite links, races or unusual spellings.
#[derive(Debug, Parser)]
#[command(
    name = "replay",
    version,
    arg_required_else_help = true,
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Flags of a server: `replay` without a subcommand.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// Serve the tools: on stdin and stdout, or with --http over HTTP
    #[arg(long, required = true, help_heading = help::SERVER)]
    pub mcp_server: bool,
    /// Serve the tools of this manifest of `replay mock`, too
    #[arg(long, help_heading = help::SERVER, value_name = "MANIFEST", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub mock: Option<PathBuf>,
    /// Record the session for `replay mock --cassette`
    ///
    /// Values of variables that look like secrets are left out.
    #[arg(long, help_heading = help::SERVER, value_name = "CASSETTE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub options: Options,
    #[command(flatten)]
    pub http: HttpArgs,
    #[command(flatten)]
    pub audit: AuditArgs,
    #[command(flatten)]
    pub telemetry: TelemetryArgs,
}

/// Subcommands of `replay`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the configuration that makes an MCP client start this server, or write it (--write)
    ///
    /// The server gets the working directory, or those of --allow. The entry names this program and
    /// the directories by absolute paths.
    #[command(after_help = "Example: replay setup claude --write --allow .:rw -- --tools all")]
    Setup(SetupArgs),
    /// Check what this machine supports, and print fixes for missing parts
    ///
    /// The exit status is 0 if commands can run behind walls, else 1.
    Doctor(Box<DoctorArgs>),
    /// Run one tool and print its answer; the exit status is 1 if the tool failed
    #[command(after_help = "Example: replay call grep_files directory=. regex='fn main' --allow .")]
    Call(Box<CallArgs>),
    /// List the tools
    ///
    /// Give it the flags of the server (`replay help`): they decide which tools are served.
    Tools(Box<ListToolsArgs>),
    /// Compare the speed of the tools with rg, grep, fd, find, sed and bubblewrap on your machine
    Bench(BenchArgs),
    /// Serve an MCP server that exists only in a manifest, until stdin closes
    #[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
    Mock {
        #[command(flatten)]
        serve: Box<MockServe>,
        #[command(subcommand)]
        action: Option<MockAction>,
    },
    /// Record what a program calls over the network, and replay the answers
    Calls {
        #[command(subcommand)]
        action: CallsAction,
    },
    /// Explain the walls around commands, attack them, or run a program inside
    Sandbox {
        #[command(subcommand)]
        action: SandboxAction,
    },
    /// Ask which rule decides about a path, a connection or a program; the exit status is 1 for a
    /// denial
    ///
    /// Give it the flags of the server (`replay help`). The answer names the flag that would allow
    /// the access, and its other effects.
    #[command(after_help = "Example: replay why write .git/hooks/pre-commit --allow .:rw")]
    Why(Box<WhyArgs>),
    /// Find the rules about the network (--allow-host) that a program needs, or list the sets that
    /// they can name
    Net {
        #[command(subcommand)]
        action: NetAction,
    },
    /// Make, list, replace and revoke tokens of a server over HTTP
    Token {
        #[command(subcommand)]
        action: TokenAction,
    },
    /// List, show and undo changes by agents' calls in the files of a directory
    #[command(after_help = "Example: replay changes undo 41 --path src")]
    Changes {
        #[command(flatten)]
        of: ChangesOf,
        #[command(subcommand)]
        action: Option<ChangesAction>,
    },
    /// Check or show an audit log (--audit)
    #[command(subcommand)]
    Audit(AuditAction),
    /// Ask a server over HTTP whether it is healthy; the exit status is 1 if it is not
    Health(HealthArgs),
    /// Print the completions of a shell
    #[command(
        after_help = "Example: replay completions bash >~/.local/share/bash-completion/completions/replay"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `replay net`.
#[derive(Clone, Debug, Subcommand)]
pub enum NetAction {
    /// List the sets of hosts, and the rules of each
    Sets,
    /// Run a program with access to all hosts, and print the rules that it needed; the exit status
    /// is the program's
    ///
    /// It runs inside the walls, as the commands of a server do. Without --allow DIR:rw it may
    /// write to the working directory. It cannot reach the hosts of --deny-host. It cannot reach
    /// this machine or its metadata service, unless --allow-host names their addresses.
    #[command(after_help = "Example: replay net learn -- npm ci")]
    Learn {
        #[command(flatten)]
        confined: Box<ConfinedArgs>,
        /// Write the rules to this file instead of stdout (`-`), which also has the program's
        /// output
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: Option<PathBuf>,
        /// The program and its arguments, after `--`
        #[arg(required = true, last = true, value_name = "PROGRAM")]
        program: Vec<OsString>,
    },
}

/// `replay sandbox ...`.
#[derive(Clone, Debug, Subcommand)]
pub enum SandboxAction {
    /// Print all rules for commands with reasons, limits, environment and gaps
    Explain(Box<ConfinedArgs>),
    /// Attack the walls on this machine and print the results; the exit status is 1 if an attack
    /// succeeds
    ///
    /// Flags such as --sandbox and --network choose the walls.
    Probe(Box<ConfinedArgs>),
    /// Run a program inside the walls, on this terminal; the exit status is the program's
    #[command(after_help = "Example: replay sandbox run --allow .:rw -- sh -c 'ls -la /'")]
    Run {
        #[command(flatten)]
        confined: Box<ConfinedArgs>,
        /// The program and its arguments, after `--`
        #[arg(required = true, last = true, value_name = "PROGRAM")]
        program: Vec<OsString>,
    },
}

/// `replay doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub confined: ConfinedArgs,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// `replay tools`.
#[derive(Clone, Debug, Args)]
#[command(mut_args = help::without_server_flags)]
pub struct ListToolsArgs {
    #[command(flatten)]
    pub server: AccessArgs,
    #[command(flatten)]
    pub tools: ToolsArgs,
    /// Print the list as clients get it, with schemas
    #[arg(long)]
    pub json: bool,
}

/// `replay why`.
#[derive(Clone, Debug, Args)]
#[command(mut_args = help::without_server_flags)]
pub struct WhyArgs {
    /// Kind of access
    #[arg(value_enum)]
    pub access: Access,
    /// A path; for connect HOST:PORT, udp://HOST:PORT or a URL; for run the name or the path of a
    /// program
    pub what: OsString,
    #[command(flatten)]
    pub server: AccessArgs,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Access {
    /// By the file tools
    Read,
    /// By the file tools, a file or a directory
    Write,
    /// By commands
    Connect,
    /// By commands
    Run,
}

/// `replay call`.
#[derive(Clone, Debug, Args)]
pub struct CallArgs {
    /// The tool, as `replay tools` lists it
    #[arg(value_parser = ToolName, hide_possible_values = true)]
    pub tool: String,
    /// Its arguments: `key=value` each, or one JSON object
    #[arg(value_name = "KEY=VALUE|JSON")]
    pub arguments: Vec<String>,
    #[command(flatten)]
    pub options: Options,
    /// Print the whole result as JSON instead of its text
    #[arg(long)]
    pub json: bool,
}

/// `replay bench`.
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// The directory to search; nothing is written to it (edits are made in a temporary directory)
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub tree: PathBuf,
    /// The pattern to search for; take one that means the same to all programs
    #[arg(long, value_name = "REGEX", default_value = "TODO")]
    pub pattern: String,
    /// Rounds, after one to warm up
    #[arg(long, value_name = "COUNT", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Instead count the tokens of replies, lean and exact, and of what a shell prints
    #[arg(long)]
    pub tokens: bool,
}

/// Name of a tool. Shell completion lists all; the error for an unknown name suggests the nearest
/// one.
#[derive(Clone)]
struct ToolName;

impl ToolName {
    fn parser() -> PossibleValuesParser {
        PossibleValuesParser::new(TOOLS.iter().map(|make| make().name().to_owned()))
    }
}

impl TypedValueParser for ToolName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        typed: &OsStr,
    ) -> Result<String, clap::Error> {
        Self::parser()
            .parse_ref(command, arg, typed)
            .map_err(|mut error| {
                error.remove(ContextKind::ValidValue);
                // The suggestion of clap may have little in common with the word.
                error.remove(ContextKind::SuggestedValue);
                let names: Vec<String> =
                    TOOLS.iter().map(|make| make().name().to_owned()).collect();
                let typed = typed.to_string_lossy();
                let near = nearest(&typed, names.iter().map(String::as_str));
                let near = near.map(|name| format!("the nearest is '{name}'").into());
                let list = "'replay tools --tools all' lists the tools".into();
                let tips = near.into_iter().chain([list]).collect();
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
                error
            })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values: Vec<_> = Self::parser().possible_values()?.collect();
        Some(Box::new(values.into_iter()))
    }
}
