//! argv as it was typed: the one declaration of flags, from which help, man page and completions are derived.

mod audit;
mod calls;
pub mod help;
mod http;
mod python;
mod ranges;
mod telemetry;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::Deserialize;

pub use ranges::*;

use crate::limits;
use crate::mock::{Fault, PRESETS};
use crate::tools::TOOLS;

pub use audit::{AuditAction, AuditArgs, UNENDED, Wanted};
pub use calls::{CallsAction, CallsRun, Isolation, OnMissArg, SetsPath};
pub use http::{BURST, CALLS, CONNECTIONS, HttpArgs, NamedToken, NewToken, RATE, TokenAction, TokenFile};
pub use python::PythonArgs;
pub use telemetry::{HealthArgs, TelemetryArgs};

/// An MCP server that gives an agent files, search, edits and a shell, held inside the allowed directories.
///
/// An agent's client starts `replay --mcp-server --allow DIR:rw` and talks to it over stdin and stdout, or over HTTP where
/// it is told so. Nothing outside the allowed directories is read or written, whatever links, races or spellings an agent
/// comes up with.
#[derive(Debug, Parser)]
#[command(name = "replay", version, arg_required_else_help = true, subcommand_negates_reqs = true)]
pub struct Cli {
    /// Serve the Model Context Protocol on stdin and stdout, or with --http over HTTP
    #[arg(long, required = true)]
    pub mcp_server: bool,
    /// Serve what a manifest of `replay mock` declares beside the tools
    #[arg(long, value_name = "MANIFEST", value_hint = clap::ValueHint::FilePath)]
    pub mock: Option<PathBuf>,
    /// Record the session for `replay mock --cassette`; values of variables that look like secrets are left out
    #[arg(long, value_name = "CASSETTE", value_hint = clap::ValueHint::FilePath)]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment here would replace the program's own")]
    pub options: Options,
    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment here would replace the program's own")]
    pub http: HttpArgs,
    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment here would replace the program's own")]
    pub audit: AuditArgs,
    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment here would replace the program's own")]
    pub telemetry: TelemetryArgs,
    #[command(subcommand)]
    #[expect(missing_docs, reason = "a doc comment here would replace the program's own")]
    pub command: Option<Command>,
}

/// Flags that every mode understands.
#[derive(Clone, Debug, Parser)]
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
    /// Keep a path below an allowed directory read-only, whether it exists yet or not; some paths that programs trust,
    /// such as .git/hooks, always are. Commands are held to it by `namespaces`; where that cannot be, a path given here
    /// refuses them
    #[arg(long, global = true, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub protect: Vec<PathBuf>,
    /// Let agents change a path that is read-only by default, or all such paths below it. Repeatable; `replay sandbox explain`
    /// lists them
    #[arg(long, global = true, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub unprotect: Vec<PathBuf>,
    /// The kernel walls around commands. `require` (the default) takes the best that can be built, and refuses commands
    /// when there is none; `off` runs them without one
    #[arg(long, global = true, value_enum, value_name = "MODE")]
    pub sandbox: Option<Sandbox>,
    /// The network of commands: a loopback of their own by default, which only `namespaces` can give; asked for, commands are
    /// refused without
    #[arg(long, global = true, value_enum, value_name = "KIND")]
    pub network: Option<NetworkArg>,
    /// Give commands the system's network; the same as --network host
    #[arg(long, global = true)]
    pub allow_network: bool,
    /// How far a program is held whose calls are recorded or answered. `seccomp` looks at its system calls, and its servers can
    /// be reached from outside; `strict` gives it a network of its own as well, out of which nothing leads; `env` only sets
    /// `HTTP_PROXY` and its like, so that databases and direct connections are not seen. By default the best that there is, never
    /// `env`; asked for, it is that or more, or nothing is run
    #[arg(long, global = true, value_enum, value_name = "KIND")]
    pub isolation: Option<Isolation>,
    /// Pass a variable of the server's environment to commands (a name, or a glob with `*`), or set one. Repeatable; a
    /// glob never passes names such as *TOKEN* or *_KEY, an exact name does. Programs of `replay calls` get all of them
    #[arg(long, global = true, value_name = "NAME|NAME=VALUE")]
    pub env: Vec<OsString>,
    /// HOME of commands: an empty one that lives as long as the server (the default), or the real one, with all that is
    /// in it, for reading
    #[arg(long, global = true, value_enum, value_name = "KIND")]
    pub home: Option<Home>,
    /// Author and committer of the commits that commands make, as `NAME <MAIL>`
    #[arg(long, global = true, value_name = "IDENTITY")]
    pub git_identity: Option<String>,
    /// Show commands one more directory of programs, read-only. Repeatable
    #[arg(long, global = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub system: Vec<PathBuf>,
    /// Do not show commands the compilers and interpreters below the home that are in PATH, such as those of rustup and
    /// pyenv
    #[arg(long, global = true)]
    pub no_toolchains: bool,
    /// Processes and threads of all commands together (4096 by default); only `namespaces` can hold it, so that commands are
    /// refused without if it is given
    #[arg(long, global = true, value_name = "COUNT", value_parser = PROCESSES.parser())]
    pub limit_processes: Option<u64>,
    /// Largest file that commands may write, in bytes
    #[arg(long, global = true, value_name = "BYTES", value_parser = FILE_BYTES.parser())]
    pub limit_file_bytes: Option<u64>,
    /// Processor time of each process of a command, in seconds
    #[arg(long, global = true, value_name = "SECS", value_parser = CPU_SECS.parser())]
    pub limit_cpu_secs: Option<u64>,
    /// Memory of all processes of a command together, in bytes; held by a cgroup where the server has one to itself, else
    /// looked at ten times a second
    #[arg(long, global = true, value_name = "BYTES", value_parser = MEMORY_BYTES.parser())]
    pub limit_memory_bytes: Option<u64>,
    /// Open files of each process of a command (16384 by default)
    #[arg(long, global = true, value_name = "COUNT", value_parser = OPEN_FILES.parser())]
    pub limit_open_files: Option<u64>,
    /// Commands that may run at the same time (16 by default)
    #[arg(long, global = true, value_name = "COUNT", value_parser = COMMANDS.parser())]
    pub max_commands: Option<u64>,
    /// Commands that may run in the background at the same time (16 by default)
    #[arg(long, global = true, value_name = "COUNT", value_parser = COMMANDS.parser())]
    pub max_background_commands: Option<u64>,
    /// Output kept of each background command, in bytes (16777216 by default)
    #[arg(long, global = true, value_name = "BYTES", value_parser = OUTPUT_BYTES.parser())]
    pub background_output_bytes: Option<u64>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "flattened: its fields have their own")]
    pub python: PythonArgs,
    /// Which sets of tools to serve
    #[arg(long, global = true, value_enum, value_delimiter = ',', value_name = "SET,...",
        default_values_t = [ToolsetArg::Files, ToolsetArg::Command])]
    pub tools: Vec<ToolsetArg>,
    /// How failures of tools reach clients of handshake revisions: as JSON-RPC errors with codes, or as results with
    /// isError, for clients that hide protocol errors from their model
    #[arg(long, global = true, value_enum, default_value_t = Errors::Codes, value_name = "STYLE")]
    pub errors: Errors,
    /// Time limit of a command that asks for none, in seconds (30 by default)
    #[arg(long, global = true, value_name = "SECS", value_parser = TIMEOUT_SECS.parser())]
    pub command_timeout_secs: Option<u64>,
    /// Largest time limit that a command may ask for, in seconds (60 by default)
    #[arg(long, global = true, value_name = "SECS", value_parser = TIMEOUT_SECS.parser())]
    pub max_command_timeout_secs: Option<u64>,
    /// Output kept of a command, in bytes for each of its two streams (524288 by default)
    #[arg(long, global = true, value_name = "BYTES", value_parser = OUTPUT_BYTES.parser())]
    pub output_cap_bytes: Option<u64>,
    /// Do not wait for the disk when a file is written, which saves most of the time of a small edit. A file is still
    /// whole after kill -9, but not after a power cut: for trees that can be made again
    #[arg(long, global = true)]
    pub no_fsync: bool,
    /// Memory that all calls together may hold for files, requests, replies and recordings, in MiB; what needs more waits, or is
    /// refused. With several tokens each leaves others as much as it takes itself. By default a quarter of the memory of
    /// the machine, or of its cgroup
    #[arg(long, global = true, value_name = "MIB", value_parser = MEMORY_MIB.parser())]
    pub memory_mib: Option<u64>,
    /// Memory for what searches find out about files, so that the next one reads less, in MiB, of --memory-mib a quarter at
    /// most; 0 remembers nothing
    #[arg(long, global = true, value_name = "MIB", default_value_t = limits::DEFAULT_SEARCH_MEMORY_MIB,
        value_parser = SEARCH_MEMORY_MIB.parser())]
    pub search_memory_mib: u64,
    /// Longest message accepted on stdin, in bytes
    #[arg(long, global = true, value_name = "BYTES", default_value_t = limits::MAX_LINE_BYTES)]
    pub max_line_bytes: usize,
    /// A call that makes no step for so many seconds, as on a network filesystem that hangs, is given up and answered
    /// with an error
    #[arg(long, global = true, value_name = "SECS", default_value_t = limits::STALL_TIMEOUT_SECS, value_parser = clap::value_parser!(u64).range(1..))]
    pub stall_timeout_secs: u64,
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
    /// Search a tree with the tools and with what is installed here (rg, grep, fd, find), and print how long each took.
    /// Nothing is written to it
    Bench {
        /// The directory to search
        #[arg(long, value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
        tree: PathBuf,
        /// What to search for: a pattern that means the same to all of them
        #[arg(long, value_name = "REGEX", default_value = "TODO")]
        pattern: String,
        /// Rounds, after one to warm up
        #[arg(long, value_name = "COUNT", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
    },
    /// Serve an MCP server that exists only in a manifest, until stdin closes
    #[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
    Mock {
        /// Which server
        #[command(flatten)]
        serve: Box<MockServe>,
        /// What to do instead of serving
        #[command(subcommand)]
        action: Option<MockAction>,
    },
    /// Record what a program calls over the network, and answer it from the recording
    Calls {
        /// What to do
        #[command(subcommand)]
        action: CallsAction,
    },
    /// Look at the walls around commands
    Sandbox {
        /// What to do
        #[command(subcommand)]
        action: SandboxAction,
    },
    /// Make tokens for a server over HTTP, list them, replace them and take them away
    Token {
        /// What to do
        #[command(subcommand)]
        action: TokenAction,
    },
    /// Read an audit log (--audit)
    #[command(subcommand)]
    Audit(AuditAction),
    /// Ask a server over HTTP whether it is well; the exit status is 1 if it is not
    Health(HealthArgs),
    /// Print a document that is derived from the declarations
    #[command(hide = true)]
    Generate {
        /// Which one
        document: Document,
    },
}

/// `replay mock`: exactly one source, and how it behaves.
#[derive(Clone, Debug, Parser)]
#[command(group = ArgGroup::new("source").required(true).multiple(false))]
pub struct MockServe {
    /// Serve this manifest: YAML, or a snapshot of tools/list in JSON (.json)
    #[arg(long, group = "source", value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub tools_from: Option<PathBuf>,
    /// Serve a manifest that is built in; `replay mock presets` lists them
    #[arg(long, group = "source", value_name = "NAME", value_parser = PossibleValuesParser::new(PRESETS.map(|preset| preset.name)))]
    pub preset: Option<String>,
    /// Serve what `replay mock record` or `replay --mcp-server --record` has recorded
    #[arg(long, group = "source", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub cassette: Option<PathBuf>,
    /// What becomes of a request that the cassette does not have: `passthrough` and `record` ask the server of --target
    #[arg(long, value_enum, default_value_t = OnMissArg::Fail, requires = "cassette", value_name = "WAY")]
    pub on_miss: OnMissArg,
    /// The command of the server behind the cassette, for /bin/sh
    #[arg(long, requires = "cassette", value_name = "CMD")]
    pub target: Option<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "flattened: its fields have their own")]
    pub redact: Redact,
    /// Write every message and its answer to this file, a JSON line each
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub journal: Option<PathBuf>,
    /// Compare what the client does with this file; at the end a report is printed on stderr, and the exit status is 1
    /// if something is missing or too much
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub expect: Option<PathBuf>,
    /// Write the report of --expect to this file, too: for clients that hide stderr and the exit status
    #[arg(long, requires = "expect", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// What goes wrong with every tools/call (`replay mock presets --faults` says what each does): none, hang, wedged, slow:MS, recover-after:N, reply-after-cancel:MS,
    /// silent, badjson, truncated, wrong-id, duplicate, slowloris, stdout-noise or exit
    #[arg(long, value_name = "KIND")]
    pub fault: Option<Fault>,
    /// Serve over HTTP at this address of loopback instead of stdin and stdout; port 0 takes a free one, which the log names
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub http: Option<SocketAddr>,
    /// The same as --log-level trace
    #[arg(long)]
    pub debug: bool,
    /// The same as --log-level debug
    #[arg(long)]
    pub verbose: bool,
}

/// What is left out of cassettes.
#[derive(Clone, Debug, Default, Parser)]
pub struct Redact {
    /// Leave out the value of this variable wherever it stands, beside those whose names look like secrets. Repeatable
    #[arg(long, value_name = "NAME")]
    pub redact_env: Vec<String>,
    /// Leave out what a pattern matches, and write `[NAME]` instead. Repeatable
    #[arg(long, value_name = "NAME=REGEX")]
    pub redact: Vec<String>,
}

/// `replay mock ...`.
#[derive(Clone, Debug, Subcommand)]
pub enum MockAction {
    /// Say what is wrong with a manifest, by file, line and column; the exit status is 1 if something is
    Check {
        /// The manifest
        #[arg(value_hint = clap::ValueHint::FilePath)]
        manifest: PathBuf,
    },
    /// Write a commented manifest to start from
    Init {
        /// Where; an existing file is left as it is
        #[arg(default_value = "mock.yaml", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
    },
    /// List the built-in servers, and the attack that each models
    Presets {
        /// Print the manifest of this one instead
        #[arg(value_parser = PossibleValuesParser::new(PRESETS.map(|preset| preset.name)), hide_possible_values = true)]
        name: Option<String>,
        /// Say what each --fault does instead
        #[arg(long, conflicts_with = "name")]
        faults: bool,
    },
    /// Print the JSON schema of manifests, for editors
    Schema,
    /// Stand between a client and a real server, and record what they say
    Record {
        /// The command of the server, for /bin/sh
        #[arg(long, value_name = "CMD")]
        target: String,
        /// The cassette; an existing one is replaced
        #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        output: PathBuf,
        #[command(flatten)]
        #[expect(missing_docs, reason = "flattened: its fields have their own")]
        redact: Redact,
    },
    /// Print a manifest that answers as a cassette does, to be edited
    Distill {
        /// The cassette
        #[arg(value_hint = clap::ValueHint::FilePath)]
        cassette: PathBuf,
    },
}

/// `replay sandbox ...`.
#[derive(Clone, Debug, Subcommand)]
pub enum SandboxAction {
    /// Print what holds commands and what does not: every rule and why it is there, limits, environment, gaps
    Explain,
    /// Attack the walls on this machine, and print what held; the exit status is 1 if something got through that is
    /// promised to hold. Flags such as --sandbox and --network say which walls
    Probe,
    /// Run a program inside the walls, with this terminal or these pipes as its own; the exit status is the program's
    #[command(after_help = "Example: replay sandbox run --allow .:rw -- sh -c 'ls -la /'")]
    Run {
        /// The program and its arguments, after `--`
        #[arg(required = true, last = true, value_name = "PROGRAM")]
        program: Vec<OsString>,
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
    /// The table of tools in docs/tools.md
    ToolsTable,
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
    /// The JSON schema of manifests of `replay mock`
    MockSchema,
}

impl Document {
    /// The shell whose completions it is.
    pub fn shell(self) -> Option<Shell> {
        match self {
            Self::Bash => Some(Shell::Bash),
            Self::Zsh => Some(Shell::Zsh),
            Self::Fish => Some(Shell::Fish),
            Self::Man | Self::ManTools | Self::ToolsTable | Self::MockSchema => None,
        }
    }
}

/// `--sandbox`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandbox {
    /// The best walls that can be built here, or no command
    Require,
    /// A root of its own in namespaces, or no command
    Namespaces,
    /// Landlock on the system's own root, or no command
    Landlock,
    /// Run commands without a wall
    Off,
}

/// `--network`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkArg {
    /// None at all
    None,
    /// A loopback of their own
    Loopback,
    /// The system's
    Host,
}

/// `--home`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// Empty at start, writable, removed with the server
    Private,
    /// The real one; whatever it holds can be read
    #[value(alias = "read_only")]
    ReadOnly,
}

/// `--tools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolsetArg {
    /// Reading, writing, searching and editing
    Files,
    /// `execute_command`
    Command,
    /// Recording what programs call, and answering it
    Calls,
    /// Python sessions
    Python,
    /// Running tests, and checking types
    Tests,
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
