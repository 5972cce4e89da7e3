//! Groups of flags that several subcommands share, and their values.
//!
//! `--help` and completions show the first paragraph of each flag. `replay help` and the man page
//! show all of it. `hide_short_help` keeps rarely used flags out of `--help`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, FromArgMatches, ValueEnum, ValueHint};
use replay_base::limits;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::help::{COMMANDS as OF_COMMANDS, DIRECTORIES, LIMITS, SERVER, WALLS};
use super::ranges::{
    CACHE_MIB, COMMANDS, CPU_SECS, FILE_BYTES, MEMORY_BYTES, MEMORY_MIB, OPEN_FILES, OUTPUT_BYTES,
    PROCESSES, REPLY_TOKENS, SEARCH_MEMORY_MIB, TIMEOUT_SECS,
};
use super::{CredentialArgs, PythonArgs, UndoArgs};
use replay_network::rules::SETS;
use replay_proxy::PublishRule;

/// All settings of the tools, as a server and `replay call` read them.
#[derive(Clone, Debug, Args)]
pub struct Options {
    #[command(flatten)]
    pub directories: DirectoryArgs,
    #[command(flatten)]
    pub protection: ProtectionArgs,
    #[command(flatten)]
    pub walls: WallArgs,
    #[command(flatten)]
    pub network: NetworkArgs,
    #[command(flatten)]
    pub calls: IsolationArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub commands: CommandArgs,
    #[command(flatten)]
    pub undo: UndoArgs,
    #[command(flatten)]
    pub python: PythonArgs,
    #[command(flatten)]
    pub tools: ToolsArgs,
    #[command(flatten)]
    pub client: ClientArgs,
    #[command(flatten)]
    pub replies: ReplyArgs,
    #[command(flatten)]
    pub writes: WriteArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub log: LogArgs,
}

impl Default for Options {
    fn default() -> Self {
        let command = Self::augment_args(clap::Command::new("replay").no_binary_name(true));
        let none: [&str; 0] = [];
        Self::from_arg_matches(&command.get_matches_from(none)).unwrap_or_else(|error| error.exit())
    }
}

/// Settings that decide what a program can access.
#[derive(Clone, Debug, Args)]
pub struct AccessArgs {
    #[command(flatten)]
    pub directories: DirectoryArgs,
    #[command(flatten)]
    pub protection: ProtectionArgs,
    #[command(flatten)]
    pub walls: WallArgs,
    #[command(flatten)]
    pub network: NetworkArgs,
    #[command(flatten)]
    pub log: LogArgs,
}

impl AccessArgs {
    /// These settings, with defaults for all others.
    pub fn options(&self) -> Options {
        let Self {
            directories,
            protection,
            walls,
            network,
            log,
        } = self.clone();
        Options {
            directories,
            protection,
            walls,
            network,
            log,
            ..Options::default()
        }
    }
}

/// Settings of a program behind the walls.
#[derive(Clone, Debug, Args)]
pub struct ConfinedArgs {
    #[command(flatten)]
    pub access: AccessArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

impl ConfinedArgs {
    /// These settings, with defaults for all others.
    pub fn options(&self) -> Options {
        Options {
            limits: self.limits.clone(),
            ..self.access.options()
        }
    }
}

/// Allowed directories.
#[derive(Clone, Debug, Args)]
pub struct DirectoryArgs {
    /// Allow a directory: read-only, or with `:rw` at its end also for writing
    ///
    /// Repeatable. Relative paths in calls start from the first directory.
    #[arg(long, help_heading = DIRECTORIES, value_name = "DIR[:ro|:rw]", value_hint = ValueHint::DirPath)]
    pub allow: Vec<PathBuf>,
    /// Allow a directory for reading; a suffix is part of its name
    #[arg(long, help_heading = DIRECTORIES, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub allow_read: Vec<PathBuf>,
    /// Allow a directory for reading and writing; a suffix is part of its name
    #[arg(long, help_heading = DIRECTORIES, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub allow_write: Vec<PathBuf>,
    /// Read more directories and settings from a JSON profile
    #[arg(long, help_heading = DIRECTORIES, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sandbox_profile: Option<PathBuf>,
}

/// Read-only paths in allowed directories.
#[derive(Clone, Debug, Args)]
pub struct ProtectionArgs {
    /// Keep a path below an allowed directory read-only
    ///
    /// The path need not exist yet; a relative one begins where `replay` is started. Paths that
    /// programs trust, such as .git/hooks, are read-only without this flag. The file tools always
    /// obey it. Only the tier `namespaces` can make commands obey it, so without that tier commands
    /// are refused.
    #[arg(long, help_heading = WALLS, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub protect: Vec<PathBuf>,
    /// Let agents change a path that is read-only by default
    ///
    /// This includes all such paths below it. Repeatable. `replay sandbox explain` lists the paths.
    #[arg(long, help_heading = WALLS, value_name = "PATH", value_hint = ValueHint::AnyPath, hide_short_help = true)]
    pub unprotect: Vec<PathBuf>,
}

/// Walls around commands, apart from their network.
#[derive(Clone, Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags that say nothing but that they are there"
)]
pub struct WallArgs {
    /// Protect files that programs outside the walls run
    ///
    /// Such files are git hooks, programs that a git configuration names, npm install scripts,
    /// .envrc, .husky, .mcp.json, and tasks and settings of VS Code. New files of these kinds
    /// count, too. Without this flag replies and the audit log report such changes.
    #[arg(long, help_heading = WALLS, hide_short_help = true)]
    pub freeze_autorun: bool,
    /// Hide paths that match this pattern from tools, commands and Python
    ///
    /// Repeatable. A pattern without a slash is a name at any depth below the allowed directories,
    /// such as .env or '*.pem'. One with a slash is a path in an allowed directory, such as
    /// config/secrets. Everything in a hidden directory is hidden. Only the tier `namespaces` can
    /// hide from commands.
    #[arg(long, help_heading = WALLS, value_name = "PATTERN")]
    pub hide: Vec<String>,
    /// Choose the access of commands to the git repository of an allowed directory, if it lies
    /// outside [default: auto]
    ///
    /// `.git` of a linked worktree or of a submodule is a file that names such a repository.
    #[arg(long, help_heading = WALLS, value_enum, value_name = "KIND", hide_short_help = true)]
    pub git: Option<LinkedGit>,
    /// Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names
    ///
    /// `git commit -S` signs with the agent's first key, unless user.signingKey names another.
    /// Commands get only the list of keys and git signatures, so they cannot log in with a key.
    #[arg(long, help_heading = WALLS, hide_short_help = true)]
    pub ssh_sign: bool,
    /// Let commands connect to this unix socket of a program outside
    ///
    /// Repeatable. The program must listen before the server starts. If it restarts, restart the
    /// server, too. Commands can use everything that the program offers: the socket of docker gives
    /// them this machine. Only the tier `namespaces` has unix sockets.
    #[arg(long, help_heading = WALLS, value_name = "PATH", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub allow_socket: Vec<PathBuf>,
    /// Choose the kernel walls around commands [default: require]
    ///
    /// `require` builds the best walls that the machine allows, and refuses commands if it allows
    /// none. `off` runs commands without walls.
    #[arg(long, help_heading = WALLS, value_enum, value_name = "MODE")]
    pub sandbox: Option<Sandbox>,
    /// Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]
    ///
    /// It takes a command line after -c, as sh(1) does.
    #[arg(long, help_heading = WALLS, value_name = "PATH", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub shell: Option<PathBuf>,
    /// Set a variable for commands, or pass one of the server's environment
    ///
    /// Repeatable. NAME may be a glob with `*`. A glob never passes secrets such as *TOKEN* or
    /// *_KEY; an exact name does. Programs of `replay calls` get the whole environment.
    #[arg(long, help_heading = WALLS, value_name = "NAME|NAME=VALUE")]
    pub env: Vec<OsString>,
    /// Choose HOME of commands [default: private]
    #[arg(long, help_heading = WALLS, value_enum, value_name = "KIND", hide_short_help = true)]
    pub home: Option<Home>,
    /// Keep the caches of package managers in this directory when the server ends
    ///
    /// It is created if it does not exist, and must lie outside the allowed directories. Only
    /// commands use it, as ~/.cache, ~/.npm and the like. Later commands run files that earlier
    /// commands left there. So give each trust level its own directory.
    #[arg(long, help_heading = WALLS, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cache: Option<PathBuf>,
    /// Limit these caches to this many MiB (8192 by default); the least recently used are deleted
    /// first
    #[arg(long, help_heading = WALLS, value_name = "MIB", value_parser = CACHE_MIB.parser(), hide_short_help = true)]
    pub cache_mib: Option<u64>,
    /// Set author and committer of commits by commands, as `NAME <MAIL>`
    #[arg(long, help_heading = WALLS, value_name = "IDENTITY", hide_short_help = true)]
    pub git_identity: Option<String>,
    /// Show commands one more program, or directory of programs, read-only
    ///
    /// Repeatable.
    #[arg(long, help_heading = WALLS, value_name = "PATH", value_hint = ValueHint::AnyPath, hide_short_help = true)]
    pub system: Vec<PathBuf>,
    /// Let commands use devices of this machine: `nvidia`, `amd`, `dri`, `wsl` or `kvm`, or a path below /dev
    ///
    /// Repeatable. Only character devices, and none of memory, disks, inputs or consoles. Modes of the
    /// files still count. A device leads into a driver of the kernel, which no undo and no limit covers.
    #[arg(long, help_heading = WALLS, value_name = "NAME|PATH", value_hint = ValueHint::AnyPath, hide_short_help = true)]
    pub device: Vec<PathBuf>,
    /// Choose what commands get of this machine's configuration and programs [default: public]
    ///
    /// `public`: git's and the package managers' settings without secrets, installed programs of PATH below the
    /// home, and browsers of test tools. `full`: own scripts of PATH, too. `none`: only known compilers and
    /// interpreters. `replay sandbox explain` lists what commands get and what is left out.
    #[arg(long, help_heading = WALLS, value_name = "SCOPE", hide_short_help = true)]
    pub environment: Option<EnvironmentScope>,
    /// Show commands these caches of package managers; what they change in them is their own
    ///
    /// Comma-separated: `go`, `npm`, `pnpm`, `uv`, `maven`, `gradle`, `go-build`, `nuget`, `hf`, and those of your
    /// own table. A cache may hold private packages; those of npm and uv are left out. Without this flag commands
    /// begin with empty caches. `replay doctor` lists the caches that exist. Only the tier `namespaces`.
    #[arg(long, help_heading = WALLS, value_name = "LIST", value_delimiter = ',')]
    pub downloads: Vec<String>,
    /// Hide the compilers and interpreters below the home from commands
    ///
    /// Without this flag commands see those that are in PATH, such as the ones of rustup and pyenv.
    #[arg(long, help_heading = WALLS, hide_short_help = true)]
    pub no_toolchains: bool,
    /// Hide the downloads of cargo and Go from commands
    ///
    /// Without this flag commands without a network see the downloaded crates of crates.io and Go
    /// modules, read-only.
    #[arg(long, help_heading = WALLS, hide_short_help = true)]
    pub no_toolchain_caches: bool,
}

/// Network of commands.
#[derive(Clone, Debug, Args)]
pub struct NetworkArgs {
    /// Choose the network of commands [default: loopback]
    ///
    /// Only the tier `namespaces` can give commands a loopback of their own. Without that tier, the
    /// default gives them no network, and an explicit `loopback` refuses commands.
    #[arg(long, help_heading = WALLS, value_parser = NetworkParser, value_name = "KIND")]
    pub network: Option<NetworkArg>,
    /// Let commands reach a host (ports 80 and 443) or HOST:PORT, such as `db.example.com:5432`, or
    /// a set, such as `@npm`; nothing else of the network
    ///
    /// Repeatable. RULE is a host, an address, a network or a set such as @npm (`replay net sets`
    /// lists them). `*.` before a host stands for its subdomains. A rule without `:PORT` or `:*` is
    /// for ports 80 and 443. A rule can also name requests, such as
    /// `GET,HEAD https://api.example.com/v1/**`, or datagrams, such as `udp://ntp.example.com:123`.
    /// An allowed name leads to a private address only if that is allowed, too. Commands keep a
    /// loopback of their own. A rule that names a loopback address with its port opens that port of
    /// this machine.
    #[arg(long, help_heading = WALLS, value_name = "RULE")]
    pub allow_host: Vec<String>,
    /// Let commands reach the hosts of a set; the same as --allow-host @SET
    ///
    /// Everyone who can publish at these hosts may be able to read data that commands send there.
    /// `replay net sets` lists the sets.
    #[arg(long, help_heading = WALLS, value_name = "SET", value_parser = PossibleValuesParser::new(SETS.iter().flat_map(|set| set.names)))]
    pub allow_hosts: Vec<String>,
    /// Deny these hosts, even if --allow-host allows them
    ///
    /// Repeatable.
    #[arg(long, help_heading = WALLS, value_name = "RULE", hide_short_help = true)]
    pub deny_host: Vec<String>,
    /// Open a port on which commands listen to programs of this machine, on its loopback
    ///
    /// Repeatable. `8123` opens it with the same number, `3000:80` opens port 80 of commands as 3000.
    /// `auto` opens every port from 1024 on while a command listens there. A page that a browser
    /// opens there runs with the network of the browser. Only the tier `namespaces` with the network
    /// `loopback`, or with --allow-host, has ports of its own.
    #[arg(long, help_heading = WALLS, value_name = "[HOST_PORT:]PORT")]
    pub publish: Vec<PublishRule>,
    /// Reach what --allow-host allows through this proxy, or through none with `off` [default:
    /// `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`]
    ///
    /// URL begins with http://, https:// or socks5://. Hosts in `NO_PROXY` are reached without it.
    /// A URL with a password lies in a file of mode 0600, which `file:PATH` names, or in the variable.
    /// Commands need no proxy settings, and get none.
    #[arg(long, help_heading = WALLS, value_name = "URL|file:PATH|off", hide_short_help = true)]
    pub upstream_proxy: Option<String>,
    #[command(flatten)]
    pub credentials: CredentialArgs,
    /// Log each decision about a connection of a command to this file, one JSON line each
    ///
    /// The log is for --allow-host. It never delays a connection: lines that cannot be written in
    /// time are lost, and the log reports their number. Agents must not be able to reach the file.
    #[arg(long, help_heading = WALLS, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub net_log: Option<PathBuf>,
}

/// Isolation of programs whose calls are recorded or answered.
#[derive(Clone, Debug, Args)]
pub struct IsolationArgs {
    /// Choose the interception of a program whose calls are recorded or answered
    ///
    /// The default is the best kind that the machine allows, but never `env`. If the machine does
    /// not allow the given kind, the program does not run.
    #[arg(long, help_heading = WALLS, value_enum, value_name = "KIND")]
    pub isolation: Option<Isolation>,
}

/// Resource limits of commands.
#[derive(Clone, Debug, Args)]
#[expect(
    clippy::struct_field_names,
    reason = "each field is the flag of its name"
)]
pub struct LimitArgs {
    /// Limit the processes and threads of all commands together (4096 by default)
    ///
    /// Only the tier `namespaces` can hold this limit. If the flag is given and that tier cannot be
    /// built, commands are refused.
    #[arg(long, help_heading = LIMITS, value_name = "COUNT", value_parser = PROCESSES.parser(), hide_short_help = true)]
    pub limit_processes: Option<u64>,
    /// Limit the size of a file that commands write, in bytes
    #[arg(long, help_heading = LIMITS, value_name = "BYTES", value_parser = FILE_BYTES.parser(), hide_short_help = true)]
    pub limit_file_bytes: Option<u64>,
    /// Limit the processor time of each process of a command, in seconds
    #[arg(long, help_heading = LIMITS, value_name = "SECS", value_parser = CPU_SECS.parser(), hide_short_help = true)]
    pub limit_cpu_secs: Option<u64>,
    /// Limit the memory of all processes of a command together, in bytes
    ///
    /// A cgroup enforces this limit where the server has one to itself. Elsewhere the server checks
    /// it ten times a second.
    #[arg(long, help_heading = LIMITS, value_name = "BYTES", value_parser = MEMORY_BYTES.parser(), hide_short_help = true)]
    pub limit_memory_bytes: Option<u64>,
    /// Limit the open files of each process of a command (16384 by default)
    #[arg(long, help_heading = LIMITS, value_name = "COUNT", value_parser = OPEN_FILES.parser(), hide_short_help = true)]
    pub limit_open_files: Option<u64>,
}

/// Execution of commands that agents ask for.
#[derive(Clone, Debug, Args)]
pub struct CommandArgs {
    /// Wait this many seconds for a command without its own timeout (30 by default); then it
    /// continues in the background
    #[arg(long, help_heading = OF_COMMANDS, value_name = "SECS", value_parser = TIMEOUT_SECS.parser())]
    pub command_timeout_secs: Option<u64>,
    /// Limit the timeout that a command can request, in seconds (600 by default)
    #[arg(long, help_heading = OF_COMMANDS, value_name = "SECS", value_parser = TIMEOUT_SECS.parser())]
    pub max_command_timeout_secs: Option<u64>,
    /// Show this many bytes of each output stream of a command (524288 by default); a log has all
    /// of it
    #[arg(long, help_heading = OF_COMMANDS, value_name = "BYTES", value_parser = OUTPUT_BYTES.parser(), hide_short_help = true)]
    pub output_cap_bytes: Option<u64>,
    /// Limit the concurrent commands (16 by default)
    #[arg(long, help_heading = OF_COMMANDS, value_name = "COUNT", value_parser = COMMANDS.parser(), hide_short_help = true)]
    pub max_commands: Option<u64>,
    /// Limit the concurrent background commands (16 by default)
    #[arg(long, help_heading = OF_COMMANDS, value_name = "COUNT", value_parser = COMMANDS.parser(), hide_short_help = true)]
    pub max_background_commands: Option<u64>,
    /// Keep this many bytes of output of each background command, and of each longer stream than is
    /// shown (16777216 by default)
    #[arg(long, help_heading = OF_COMMANDS, value_name = "BYTES", value_parser = OUTPUT_BYTES.parser(), hide_short_help = true)]
    pub background_output_bytes: Option<u64>,
}

/// Served tools.
#[derive(Clone, Debug, Args)]
pub struct ToolsArgs {
    /// Serve these sets of tools
    #[arg(long, help_heading = SERVER, value_enum, value_delimiter = ',', value_name = "SET,...",
        default_values_t = [ToolsetArg::Files, ToolsetArg::Command, ToolsetArg::Tests])]
    pub tools: Vec<ToolsetArg>,
}

/// Durability of writes.
#[derive(Clone, Debug, Args)]
pub struct WriteArgs {
    /// Do not wait for the disk when a file is written
    ///
    /// This saves most of the time of a small edit. A file is still whole after kill -9, but not
    /// after a power cut. Use it for files that can be generated again.
    #[arg(long, help_heading = SERVER, hide_short_help = true)]
    pub no_fsync: bool,
}

/// Memory of all calls together.
#[derive(Clone, Debug, Args)]
pub struct MemoryArgs {
    /// Limit the memory of all calls together, in MiB
    ///
    /// This counts files, requests, replies and recordings. A call that needs more waits, or is
    /// refused. With several tokens each leaves the others as much as it takes. The default is a
    /// quarter of the memory of the machine, or of its cgroup.
    #[arg(long, help_heading = SERVER, value_name = "MIB", value_parser = MEMORY_MIB.parser(), hide_short_help = true)]
    pub memory_mib: Option<u64>,
}

/// Conversation with a client.
#[derive(Clone, Debug, Args)]
pub struct ClientArgs {
    /// Report failures of tools to older clients in this style
    ///
    /// This affects the revisions of the protocol that begin with a handshake. Use `results` for
    /// clients that hide JSON-RPC errors from their model. By default the profile of the client
    /// decides; unknown clients get `codes`.
    #[arg(long, help_heading = SERVER, value_enum, value_name = "STYLE", hide_short_help = true)]
    pub errors: Option<Errors>,
    /// Limit the length of a message, in bytes
    #[arg(long, help_heading = SERVER, value_name = "BYTES", default_value_t = limits::MAX_LINE_BYTES, hide_short_help = true)]
    pub max_line_bytes: usize,
    /// Fail a call without progress after this many seconds, as on a network filesystem that hangs
    #[arg(long, help_heading = SERVER, value_name = "SECS", default_value_t = limits::STALL_TIMEOUT_SECS,
        value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    pub stall_timeout_secs: u64,
}

/// Form and size of replies, and the memory of searches.
#[derive(Clone, Debug, Args)]
pub struct ReplyArgs {
    /// Answer every client as this one, whatever it is called (`auto` by default)
    ///
    /// The names are in docs/clients.md. `auto` goes by the name that a client gives of itself,
    /// `none` answers each as an unknown one.
    #[arg(long, help_heading = SERVER, value_name = "NAME", default_value = "auto", hide_default_value = true, hide_short_help = true)]
    pub client: String,
    /// Add this TOML file to the table of clients (docs/clients.md)
    #[arg(long, help_heading = SERVER, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub clients: Option<PathBuf>,
    /// Answer in this style
    ///
    /// By default the clients of the table, which pass replies to a model, get `lean` replies, and
    /// others `exact` ones (docs/replies.md).
    #[arg(long, help_heading = SERVER, value_enum, value_name = "STYLE", hide_short_help = true)]
    pub replies: Option<Replies>,
    /// Cut replies longer than about this many tokens (8000 by default)
    ///
    /// 0 cuts none. `maxTokens` of a call takes precedence. Of exact replies only files, lists and
    /// trees are cut, at 100000 tokens of three bytes. Their output of commands is cut only if the
    /// flag is given, and `limit` and `depth` of a call take precedence.
    #[arg(long, help_heading = SERVER, value_name = "TOKENS", value_parser = REPLY_TOKENS.parser(), hide_short_help = true)]
    pub reply_tokens: Option<u64>,
    /// Limit the memory for what searches learn about files, in MiB
    ///
    /// Later searches then read less. The memory is part of --memory-mib, at most a quarter; 0
    /// turns it off.
    #[arg(long, help_heading = SERVER, value_name = "MIB", default_value_t = limits::DEFAULT_SEARCH_MEMORY_MIB,
        value_parser = SEARCH_MEMORY_MIB.parser(), hide_short_help = true)]
    pub search_memory_mib: u64,
    /// Do not keep the search memory for later sessions
    ///
    /// By default it is stored in ~/.cache/replay-search, which no agent can reach. The first
    /// search of the next session then reads less.
    #[arg(long, help_heading = SERVER, hide_short_help = true)]
    pub no_search_cache: bool,
}

/// Log of the server.
#[derive(Clone, Debug, Args)]
pub struct LogArgs {
    /// Minimum level of log messages, on stderr
    #[arg(long, value_enum, default_value_t = LogLevel::Info, value_name = "LEVEL")]
    pub log_level: LogLevel,
}

/// `--sandbox`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandbox {
    /// The best walls that the machine allows, or no commands
    Require,
    /// Separate root in namespaces, or no commands
    Namespaces,
    /// Landlock on the system's root, or no commands
    Landlock,
    /// No walls
    Off,
}

/// `--network`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkArg {
    None,
    Loopback,
    Host,
    /// Answers from the mock set with this path.
    Replay(String),
}

/// Values with their descriptions. SET is the path of a mock set.
const NETWORKS: [(&str, &str); 4] = [
    ("none", "No network"),
    ("loopback", "A loopback of their own"),
    ("host", "The system's network"),
    (
        "replay:SET",
        "What a mock set of `replay calls` answers, from ./keploy or DIR/SET",
    ),
];

const NETWORK_KINDS: [&str; 4] = [NETWORKS[0].0, NETWORKS[1].0, NETWORKS[2].0, NETWORKS[3].0];

impl NetworkArg {
    fn of(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Self::None),
            "loopback" => Some(Self::Loopback),
            "host" => Some(Self::Host),
            _ => text
                .strip_prefix("replay:")
                .filter(|set| !set.is_empty())
                .map(|set| Self::Replay(set.to_owned())),
        }
    }
}

impl<'de> Deserialize<'de> for NetworkArg {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::of(&text).ok_or_else(|| D::Error::unknown_variant(&text, &NETWORK_KINDS))
    }
}

#[derive(Clone)]
struct NetworkParser;

impl NetworkParser {
    fn kinds() -> PossibleValuesParser {
        PossibleValuesParser::new(NETWORKS.map(|(kind, help)| PossibleValue::new(kind).help(help)))
    }
}

impl TypedValueParser for NetworkParser {
    type Value = NetworkArg;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        typed: &OsStr,
    ) -> Result<NetworkArg, clap::Error> {
        if let Some(network) = typed.to_str().and_then(NetworkArg::of) {
            return Ok(network);
        }
        let refused = Self::kinds().parse_ref(command, arg, typed);
        Err(refused
            .err()
            .unwrap_or_else(|| clap::Error::new(ErrorKind::InvalidValue)))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            NETWORKS
                .map(|(kind, help)| PossibleValue::new(kind).help(help))
                .into_iter(),
        ))
    }
}

/// `--git`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkedGit {
    /// The parts that git needs, if the repository points back to the directory
    Auto,
    /// No part of the repository
    None,
}

/// `--home`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// Empty directory, which the server removes at its end
    Private,
    /// The real HOME; commands can read all files in it
    #[value(alias = "read_only")]
    ReadOnly,
}

/// `--environment`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentScope {
    /// Known compilers and interpreters alone, without configuration
    None,
    /// Public programs, and settings without their secrets
    Public,
    /// Own scripts of PATH, too, which may hold secrets
    Full,
}

/// `--tools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolsetArg {
    /// Files: read, write, search, edit
    Files,
    /// Shell commands: `execute_command`, `follow_command`
    Command,
    /// Recording and replay of network calls
    Calls,
    /// Python sessions
    Python,
    /// Tests and type checks
    Tests,
    /// Every set
    All,
}

/// `--isolation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Isolation {
    /// Intercept system calls of the program, which has the system's network
    Seccomp,
    /// Intercept system calls, in a network namespace without other connections
    Strict,
    /// Only set `HTTP_PROXY` and the like, so databases and direct connections are not seen
    Env,
}

/// `--errors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Errors {
    /// JSON-RPC errors
    Codes,
    /// Results with isError
    Results,
}

/// `--replies`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Replies {
    /// The documented texts and structures, for programs
    Exact,
    /// One short text, for a model
    Lean,
}

/// `--log-level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// No messages
    Off,
    /// Errors of the server
    Error,
    /// Problems that an operator should know
    Warn,
    /// Normal operation of the server
    Info,
    /// Every call, and cancellations
    Debug,
    /// Everything
    Trace,
}
