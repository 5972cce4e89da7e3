//! argv as it was typed: the one declaration of flags, from which help, man page and completions are derived.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::limits;
use crate::tools::TOOLS;

/// An MCP server that gives an agent files, search, edits and a shell, held inside the allowed directories.
///
/// An agent's client starts `replay --mcp-server --allow DIR:rw` and talks to it over stdin and stdout. Nothing outside
/// the allowed directories is read or written, whatever links, races or spellings an agent comes up with.
#[derive(Debug, Parser)]
#[command(name = "replay", version, arg_required_else_help = true, subcommand_negates_reqs = true)]
pub struct Cli {
    /// Serve the Model Context Protocol on stdin and stdout
    #[arg(long, required = true)]
    pub mcp_server: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment here would replace the program's own")]
    pub options: Options,
    #[command(subcommand)]
    #[expect(missing_docs, reason = "a doc comment here would replace the program's own")]
    pub command: Option<Command>,
}

/// Flags that every mode understands.
#[derive(Debug, Parser)]
pub struct Options {
    /// Allow a directory: read-only, or with a final `:rw` also for writing. Repeatable; relative paths of calls are
    /// taken below the first one
    #[arg(long, global = true, value_name = "DIR[:ro|:rw]", value_hint = clap::ValueHint::DirPath)]
    pub allow: Vec<PathBuf>,
    /// Allow a directory for reading; a suffix is part of its name
    #[arg(long, global = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub allow_read: Vec<PathBuf>,
    /// Allow a directory for reading and writing; a suffix is part of its name
    #[arg(long, global = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub allow_write: Vec<PathBuf>,
    /// Take more directories and settings from a JSON profile
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub sandbox_profile: Option<PathBuf>,
    /// Keep a path below an allowed directory read-only for the file tools, whether it exists yet or not; some paths
    /// that programs trust, such as .git/hooks, always are
    #[arg(long, global = true, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub protect: Vec<PathBuf>,
    /// The kernel wall around commands. `require` refuses commands for as long as there is none; `off` runs them
    /// without one
    #[arg(long, global = true, value_enum, default_value_t = Sandbox::Require, value_name = "MODE")]
    pub sandbox: Sandbox,
    /// Which sets of tools to serve
    #[arg(long, global = true, value_enum, value_delimiter = ',', value_name = "SET,...",
        default_values_t = [ToolsetArg::Files, ToolsetArg::Command])]
    pub tools: Vec<ToolsetArg>,
    /// How failures of tools reach clients of handshake revisions: as JSON-RPC errors with codes, or as results with
    /// isError, for clients that hide protocol errors from their model
    #[arg(long, global = true, value_enum, default_value_t = Errors::Codes, value_name = "STYLE")]
    pub errors: Errors,
    /// Time limit of a command that asks for none, in seconds
    #[arg(long, global = true, value_name = "SECS", default_value_t = limits::DEFAULT_COMMAND_TIMEOUT_SECS,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub command_timeout_secs: u64,
    /// Largest time limit that a command may ask for, in seconds
    #[arg(long, global = true, value_name = "SECS", default_value_t = limits::MAX_COMMAND_TIMEOUT_SECS,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub max_command_timeout_secs: u64,
    /// Output kept of a command, in bytes for each of its two streams
    #[arg(long, global = true, value_name = "BYTES", default_value_t = limits::OUTPUT_CAP_BYTES)]
    pub output_cap_bytes: usize,
    /// Longest message accepted on stdin, in bytes
    #[arg(long, global = true, value_name = "BYTES", default_value_t = limits::MAX_LINE_BYTES)]
    pub max_line_bytes: usize,
    /// Least severity of the log on stderr
    #[arg(long, global = true, value_enum, default_value_t = LogLevel::Info, value_name = "LEVEL")]
    pub log_level: LogLevel,
}

/// What to do instead of serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one tool and print what it answers; the exit status is 1 when the tool failed
    Call {
        /// Name of the tool, as `replay tools` lists it
        #[arg(value_parser = PossibleValuesParser::new(tool_names()), hide_possible_values = true)]
        tool: String,
        /// Arguments: `key=value` each, or one JSON object
        #[arg(value_name = "KEY=VALUE|JSON")]
        arguments: Vec<String>,
        /// Print the whole result as JSON instead of its text
        #[arg(long)]
        json: bool,
    },
    /// List the tools
    Tools {
        /// Print the list as clients get it, schemas included
        #[arg(long)]
        json: bool,
    },
    /// Print a document that is derived from the declarations
    #[command(hide = true)]
    Generate {
        /// Which one
        document: Document,
    },
}

/// For completions; a name that is none of them is an error of the command line.
fn tool_names() -> Vec<String> {
    TOOLS.iter().map(|make| make().name().to_owned()).collect()
}

/// A derived document.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Document {
    /// replay.1
    Man,
    /// replay-tools.7
    ManTools,
    /// The table of tools in README.md
    ReadmeTools,
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
}

impl Document {
    /// The shell whose completions it is.
    pub fn shell(self) -> Option<Shell> {
        match self {
            Self::Bash => Some(Shell::Bash),
            Self::Zsh => Some(Shell::Zsh),
            Self::Fish => Some(Shell::Fish),
            Self::Man | Self::ManTools | Self::ReadmeTools => None,
        }
    }
}

/// `--sandbox`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sandbox {
    /// No wall, no command
    Require,
    /// Run commands without a wall
    Off,
}

/// `--tools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolsetArg {
    /// Reading, writing, searching and editing
    Files,
    /// `execute_command`
    Command,
    /// Every set
    All,
}

/// `--errors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Errors {
    /// JSON-RPC errors
    Codes,
    /// Results with isError
    Results,
}

/// `--log-level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Nothing
    Off,
    /// The server's own faults
    Error,
    /// What an operator should know
    Warn,
    /// The start-up line
    Info,
    /// Every call, and cancellations
    Debug,
    /// Everything
    Trace,
}
