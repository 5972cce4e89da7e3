//! Cli -> Config: resolves the command line against the file system and the environment. No other
//! module reads the environment.
#![expect(
    clippy::disallowed_methods,
    reason = "start-up reads the environment and the operator's own profile"
)]

mod commands;
mod credentials;
mod http;
mod memory;
mod profile;
mod reasons;
mod telemetry;
mod undo;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use commands::ProcessState;
use profile::Profile;
use replay_base::limits;
use replay_files::fs::Durability;
use replay_files::policy::{Access, Grant, GrantFlag, Hidden, Restrictions};
use replay_mcp::sessions::ErrorStyle;
use replay_mcp::transport::Limits;
use replay_proxy::Learned;
use tracing::level_filters::LevelFilter;

use crate::calls::Reach;
use crate::cli::{
    CallsAction, ClientArgs, Errors, Isolation, LogLevel, NetworkArg, OnMissArg, Options,
    ToolsetArg,
};
use crate::tools::{TOOLS, Toolset};

pub use commands::{CacheConfig, SandboxConfig};
pub use credentials::configure_git;
pub use http::{HttpConfig, TokenEntry, encryption, entries, tokens};
pub use profile::{derived_profile_keys, profile_keys};
pub use reasons::reasons;
pub use telemetry::{telemetry, trust};
pub use undo::{UndoConfig, state_directory};

/// The fully resolved configuration.
#[derive(Debug)]
pub struct Config {
    /// Allowed directories in command line order.
    pub grants: Vec<Grant>,
    /// Flag that gave them.
    pub grant_flag: GrantFlag,
    /// Additional read-only paths.
    pub protect: Vec<PathBuf>,
    /// Paths that are writable although they are read-only by default.
    pub unprotect: Vec<PathBuf>,
    /// Patterns of paths hidden from agents (`--hide`).
    pub hide: Vec<String>,
    /// Configuration files of this server. Read-only if they lie in an allowed directory.
    pub own_files: Vec<PathBuf>,
    /// The operator's files that agents must not see, even in an allowed directory.
    pub hidden: Vec<Hidden>,
    /// Settings of the walls around commands.
    pub sandbox: SandboxConfig,
    /// Directory for temporary files, including private directories of commands.
    pub temporary: PathBuf,
    /// Parent of the private directory of commands, instead of the default one.
    pub ground: Option<PathBuf>,
    /// Tool sets to serve.
    pub toolsets: Vec<Toolset>,
    /// Style of reporting tool errors.
    pub errors: ErrorStyle,
    /// Default time limit of a command.
    pub command_timeout: Duration,
    /// Maximum time limit of a command.
    pub max_command_timeout: Duration,
    /// Maximum number of bytes kept of each output stream.
    pub output_cap_bytes: usize,
    /// Default maximum size of a reply in bytes.
    pub reply_bytes: usize,
    /// Default maximum size of a command's output in a reply.
    pub shown_output_bytes: usize,
    /// Maximum number of concurrent foreground commands.
    pub max_commands: usize,
    /// Maximum number of concurrent background commands.
    pub max_background_commands: usize,
    /// Maximum number of bytes kept of each background command's output.
    pub background_output_bytes: u64,
    /// Maximum number of concurrent Python sessions.
    pub max_python_sessions: usize,
    /// Maximum time limit of Python code.
    pub max_cell: Duration,
    /// `true` if a spare interpreter waits for the next Python session.
    pub has_python_spare: bool,
    /// Idle timeout of a Python session.
    pub python_idle_timeout: Duration,
    /// Durability of file writes: with or without fsync.
    pub durability: Durability,
    /// Memory limit of all calls together.
    pub memory_bytes: usize,
    /// Memory limit of the search cache; 0 disables it.
    pub search_memory_bytes: usize,
    /// Directory of the persistent search cache. Only a server over stdio has one; see
    /// [`search_cache`].
    pub search_cache: Option<PathBuf>,
    /// Settings of the journal of changes.
    pub undo: UndoConfig,
    /// Settings of recorded calls.
    pub calls: CallsConfig,
    /// Log file of decisions about connections of commands.
    pub net_log: Option<PathBuf>,
    /// Recorder of the connections of commands, to derive rules from.
    pub learned: Option<Arc<Learned>>,
    /// Limits of the client.
    pub client_limits: Limits,
    pub log_level: LevelFilter,
}

/// Settings of recorded and replayed calls.
#[derive(Clone, Debug, Default)]
pub struct CallsConfig {
    /// PEM certificates of the authorities that real servers are verified with.
    pub roots: Vec<u8>,
    /// Real servers that can be reached, if different from the network of commands.
    pub reach: Option<Reach>,
    /// `true` if other machines can reach servers that a program starts.
    pub open: bool,
    /// `true` if recordings keep secrets.
    pub keep_secrets: bool,
    /// Minimum isolation of programs; `None` for the best available.
    pub isolation: Option<Isolation>,
}

impl CallsConfig {
    fn resolve(toolsets: &[Toolset], isolation: Option<Isolation>, opens: bool) -> Self {
        let is_there = toolsets.contains(&Toolset::Calls);
        let roots = if is_there || opens {
            telemetry::authorities()
        } else {
            Vec::new()
        };
        Self {
            roots,
            isolation: isolation.filter(|_| is_there),
            ..Self::default()
        }
    }
}

/// Limits of a client of the tools or of a mock.
pub fn client_limits(client: &ClientArgs) -> Limits {
    Limits {
        max_line_bytes: client.max_line_bytes,
        stall_timeout: Duration::from_secs(client.stall_timeout_secs),
    }
}

/// Style of reporting errors to clients of the tools or of a mock.
pub fn error_style(client: &ClientArgs) -> ErrorStyle {
    match client.errors {
        Errors::Codes => ErrorStyle::Codes,
        Errors::Results => ErrorStyle::Results,
    }
}

/// Purpose of a configuration.
#[derive(Clone)]
enum Purpose<'a> {
    /// A server of agents.
    Server,
    /// One tenant of a server.
    Tenant(&'a TokenEntry),
    /// Calls of the user's own program, which gets the whole environment.
    OwnProgram,
    /// Sets of recorded calls, without a program.
    Sets,
    /// Commands that reach everything; the destinations are recorded.
    Learning(Arc<Learned>),
}

impl Purpose<'_> {
    /// Returns true if the directories of the profile are allowed, too.
    fn takes_directories(&self) -> bool {
        !matches!(self, Self::Tenant(entry) if entry.allow.is_some())
    }

    /// Returns true if the hosts of the profile are allowed, too.
    fn takes_hosts(&self) -> bool {
        !matches!(self, Self::Tenant(entry) if entry.has_own_hosts())
    }

    /// Returns true for commands of agents. Programs of the user are not journaled.
    fn is_for_agents(&self) -> bool {
        matches!(self, Self::Server | Self::Tenant(_))
    }

    fn learned(&self) -> Option<&Arc<Learned>> {
        match self {
            Self::Learning(learned) => Some(learned),
            _ => None,
        }
    }
}

/// Directory of the persistent search cache below the user's cache directory, if enabled. It is not
/// below `replay` there, since the documentation uses that name for `--cache`.
pub fn search_cache(options: &Options) -> Option<PathBuf> {
    let world = ProcessState {
        here: PathBuf::new(),
        vars: std::env::vars_os().collect(),
        own: true,
    };
    let named = world
        .variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let caches = named
        .or_else(|| Some(world.home()?.join(".cache")))
        .filter(|_| !options.replies.no_search_cache)?;
    Some(caches.join("replay-search"))
}

fn reply_bytes(tokens: u64) -> usize {
    if tokens == 0 {
        usize::MAX
    } else {
        tokens as usize * limits::BYTES_PER_TOKEN
    }
}

impl Config {
    /// Resolves relative paths against the working directory and reads the profile.
    pub fn resolve(options: &Options) -> Result<Self> {
        Self::resolve_for(options, &Purpose::Server)
    }

    fn resolve_for(options: &Options, purpose: &Purpose<'_>) -> Result<Self> {
        let here = std::env::current_dir().context("the working directory cannot be read")?;
        let world = ProcessState {
            here: here.clone(),
            vars: std::env::vars_os().collect(),
            own: matches!(purpose, Purpose::OwnProgram),
        };
        let mut profile = options
            .directories
            .sandbox_profile
            .as_deref()
            .map(Profile::load)
            .transpose()?
            .unwrap_or_default();
        if !purpose.takes_directories() {
            profile.read_write.clear();
            profile.read_only.clear();
            profile.unprotect.clear();
        }
        if !purpose.takes_hosts() {
            profile.allow_host.clear();
            profile.allow_hosts.clear();
        }
        let mut grants = Vec::new();
        for allow in &options.directories.allow {
            grants.push(parse_suffixed(&here, "--allow", allow)?);
        }
        let mut grant = |paths: &[PathBuf], access| {
            grants.extend(paths.iter().map(|path| Grant {
                path: absolute(&here, path),
                access,
            }));
        };
        grant(&options.directories.allow_read, Access::ReadOnly);
        grant(&options.directories.allow_write, Access::ReadWrite);
        grant(&profile.read_write, Access::ReadWrite);
        grant(&profile.read_only, Access::ReadOnly);
        let asked = &profile.limits;
        let timeout_secs = options
            .commands
            .command_timeout_secs
            .or(asked.command_timeout_secs);
        let max_timeout_secs = options
            .commands
            .max_command_timeout_secs
            .or(asked.max_command_timeout_secs);
        let (timeout_secs, max_timeout_secs) = timeouts(timeout_secs, max_timeout_secs)?;
        let reply_tokens = options.replies.reply_tokens.or(asked.reply_tokens);
        let output_cap_bytes = options.commands.output_cap_bytes.or(asked.output_cap_bytes);
        let background_output_bytes = options
            .commands
            .background_output_bytes
            .or(asked.background_output_bytes);
        let count = |typed: Option<u64>, asked: Option<u64>, usual| {
            typed.or(asked).map_or(usual, |count| count as usize)
        };
        let toolsets = toolsets(&options.tools.tools);
        let memory = options
            .memory
            .memory_mib
            .map_or_else(memory::usual_bytes, |mib| mib * 1024 * 1024);
        let search_memory = (options.replies.search_memory_mib * 1024 * 1024)
            .min(memory / limits::SEARCH_MEMORY_SHARE);
        let learns = purpose.learned().is_some();
        let sandbox = SandboxConfig::resolve(options, &profile, &world, &grants, learns)?;
        let mut undo = UndoConfig::resolve(options, &profile, &world, &grants)?;
        if !purpose.is_for_agents() {
            (undo.is_on, undo.freezes) = (false, false);
            here_first(&here, &mut grants);
        }
        let opens = sandbox.rules.are_about_requests() || !sandbox.credentials.is_empty();
        Ok(Self {
            grant_flag: GrantFlag::default(),
            calls: CallsConfig::resolve(&toolsets, options.calls.isolation, opens),
            protect: options
                .protection
                .protect
                .iter()
                .chain(&profile.protect)
                .map(|path| absolute(&here, path))
                .collect(),
            unprotect: options
                .protection
                .unprotect
                .iter()
                .chain(&profile.unprotect)
                .map(|path| absolute(&here, path))
                .collect(),
            hide: options
                .walls
                .hide
                .iter()
                .chain(&profile.hide)
                .cloned()
                .collect(),
            own_files: options
                .directories
                .sandbox_profile
                .iter()
                .flat_map(|path| own_file(&here, path))
                .collect(),
            hidden: Vec::new(),
            sandbox,
            undo,
            net_log: options
                .network
                .net_log
                .as_ref()
                .or(profile.net_log.as_ref())
                .map(|path| absolute(&here, path)),
            learned: purpose.learned().cloned(),
            temporary: std::env::temp_dir(),
            ground: None,
            grants,
            toolsets,
            errors: error_style(&options.client),
            command_timeout: Duration::from_secs(timeout_secs),
            max_command_timeout: Duration::from_secs(max_timeout_secs),
            output_cap_bytes: count(output_cap_bytes, None, limits::OUTPUT_CAP_BYTES),
            reply_bytes: reply_bytes(reply_tokens.unwrap_or(limits::REPLY_TOKENS)),
            shown_output_bytes: reply_bytes(reply_tokens.unwrap_or(0)),
            max_commands: count(
                options.commands.max_commands,
                asked.max_commands,
                limits::MAX_COMMANDS,
            ),
            max_background_commands: count(
                options.commands.max_background_commands,
                asked.max_background_commands,
                limits::MAX_BACKGROUND_COMMANDS,
            ),
            background_output_bytes: background_output_bytes
                .unwrap_or(limits::BACKGROUND_OUTPUT_BYTES),
            max_python_sessions: count(
                options.python.max_python_sessions,
                asked.max_python_sessions,
                limits::MAX_PYTHON_SESSIONS,
            ),
            max_cell: Duration::from_secs(
                options
                    .python
                    .max_cell_secs
                    .or(asked.max_cell_secs)
                    .unwrap_or(limits::MAX_CELL_SECS),
            ),
            python_idle_timeout: Duration::from_secs(
                options
                    .python
                    .python_idle_timeout_secs
                    .or(asked.python_idle_timeout_secs)
                    .unwrap_or(limits::PYTHON_IDLE_TIMEOUT_SECS),
            ),
            has_python_spare: !options.python.no_python_spare,
            durability: if options.writes.no_fsync {
                Durability::Kernel
            } else {
                Durability::Disk
            },
            memory_bytes: (memory - search_memory) as usize,
            search_memory_bytes: search_memory as usize,
            search_cache: None,
            client_limits: client_limits(&options.client),
            log_level: level_filter(options.log.log_level),
        })
    }
}

impl Config {
    /// Configuration of `replay calls`. Allows the working directory if no directory is writable. A
    /// recorded program reaches the same network as this process. It is the user's own program and
    /// gets the whole environment.
    pub fn for_calls(action: &CallsAction) -> Result<Self> {
        let mut options = action.options();
        options.tools.tools = vec![ToolsetArg::Calls];
        allow_here(&mut options)?;
        let (run, reaches, keep_secrets) = match action {
            CallsAction::Record {
                run, keep_secrets, ..
            } => (Some(run), true, *keep_secrets),
            CallsAction::Test { run, on_miss, .. } => {
                (Some(run), *on_miss != OnMissArg::Fail, false)
            }
            CallsAction::List { .. } | CallsAction::Noise { .. } | CallsAction::Show { .. } => {
                (None, false, false)
            }
        };
        let is_strict = match options.calls.isolation.filter(|_| run.is_some()) {
            Some(isolation) => isolation == Isolation::Strict,
            // A user may want to connect to a recorded program, but not to one under test.
            None => !matches!(action, CallsAction::Record { .. }),
        };
        let said = options.network.network.is_some()
            || !options.network.allow_host.is_empty()
            || !options.network.allow_hosts.is_empty();
        if !said && !is_strict {
            options.network.network = Some(NetworkArg::Host);
        }
        let mut config = Self::resolve_for(
            &options,
            &run.map_or(Purpose::Sets, |_| Purpose::OwnProgram),
        )?;
        if run.is_none() {
            config.toolsets.clear();
        }
        config.calls.reach = match (said, reaches) {
            (_, false) => Some(Reach::Nothing),
            (true, true) => None,
            (false, true) => Some(if is_strict {
                Reach::AsServer
            } else {
                Reach::AsCommands
            }),
        };
        config.calls.open = !is_strict;
        config.calls.keep_secrets = keep_secrets;
        Ok(config)
    }

    /// Configuration of `replay net learn`. Commands run as in a server. Allows the working
    /// directory if no directory is writable.
    pub fn for_learning(mut options: Options, learned: Arc<Learned>) -> Result<Self> {
        allow_here(&mut options)?;
        Self::resolve_for(&options, &Purpose::Learning(learned))
    }

    /// Restrictions of agents within the allowed directories.
    pub fn restrictions(&self) -> Restrictions<'_> {
        let Self {
            protect,
            unprotect,
            own_files: own,
            hidden,
            ..
        } = self;
        Restrictions {
            protect,
            unprotect,
            own,
            hidden,
            freezes_autorun: self.undo.freezes,
            flag: self.grant_flag,
        }
    }

    /// Adds the manifest of a mock that is served beside the tools.
    #[must_use]
    pub fn with_manifest(mut self, manifest: Option<&Path>) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        self.own_files
            .extend(manifest.into_iter().flat_map(|path| own_file(&here, path)));
        self
    }

    /// Narrows the configuration to one tool call, so that walls are built only if the tool needs
    /// or describes them.
    #[must_use]
    pub fn for_tool(mut self, tool: &str) -> Self {
        let known = TOOLS
            .iter()
            .map(|make| make())
            .find(|known| known.name() == tool);
        let set = known
            .filter(|known| known.name() != "list_allowed_directories")
            .map(|known| known.toolset());
        if let Some(set) = set {
            self.toolsets
                .retain(|other| *other == set || !other.runs_commands());
            if !self.toolsets.contains(&set) {
                self.toolsets.push(set);
            }
        }
        self
    }
}

/// Moves the working directory to the front if it is writable. Relative paths start from the first
/// directory.
fn here_first(here: &Path, grants: &mut [Grant]) {
    let is_here =
        |path: &Path| path == here || std::fs::canonicalize(path).is_ok_and(|path| path == here);
    if let Some(at) = grants
        .iter()
        .position(|grant| grant.access == Access::ReadWrite && is_here(&grant.path))
    {
        grants[..=at].rotate_right(1);
    }
}

/// Allows the working directory for a program that a user runs, if [`adds_here`] returns true.
fn allow_here(options: &mut Options) -> Result<()> {
    if options.directories.sandbox_profile.is_none() && adds_here(options)? {
        // Relative paths start from the first directory.
        options.directories.allow.insert(0, PathBuf::from(".:rw"));
    }
    Ok(())
}

/// Returns true if the working directory is added as writable. Requires that no directory is
/// writable, and that no read-only directory contains the working directory.
fn adds_here(options: &Options) -> Result<bool> {
    let here = std::env::current_dir().context("the working directory cannot be read")?;
    let true_here = std::fs::canonicalize(&here).unwrap_or_else(|_| here.clone());
    let mut grants = Vec::new();
    for allow in &options.directories.allow {
        grants.push(parse_suffixed(&here, "--allow", allow)?);
    }
    grants.extend(options.directories.allow_read.iter().map(|path| Grant {
        path: absolute(&here, path),
        access: Access::ReadOnly,
    }));
    let holds = |path: &Path| {
        true_here.starts_with(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    };
    let says = |grant: &Grant| grant.access == Access::ReadWrite || holds(&grant.path);
    Ok(options.directories.allow_write.is_empty() && !grants.iter().any(says))
}

/// Path of an operator's file, and its target if it is a symlink.
fn own_file(here: &Path, typed: &Path) -> impl Iterator<Item = PathBuf> {
    let path = absolute(here, typed);
    let real = std::fs::canonicalize(&path).ok();
    std::iter::once(path).chain(real)
}

/// Converts `--log-level` for the logger.
pub fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// Default and maximum time limit in seconds. The built-in default is lowered to an explicit
/// maximum.
fn timeouts(asked: Option<u64>, most: Option<u64>) -> Result<(u64, u64)> {
    let (asked, most) = match (asked, most) {
        (None, Some(most)) => (limits::DEFAULT_COMMAND_TIMEOUT_SECS.min(most), most),
        (asked, most) => (
            asked.unwrap_or(limits::DEFAULT_COMMAND_TIMEOUT_SECS),
            most.unwrap_or(limits::MAX_COMMAND_TIMEOUT_SECS),
        ),
    };
    if asked > most {
        bail!(
            "--command-timeout-secs is {asked}; it must not exceed --max-command-timeout-secs, \
             which is {most}"
        );
    }
    Ok((asked, most))
}

fn toolsets(args: &[ToolsetArg]) -> Vec<Toolset> {
    let wanted = |set: Toolset| {
        args.iter().any(|arg| match arg {
            ToolsetArg::All => true,
            ToolsetArg::Files => set == Toolset::Files,
            ToolsetArg::Command => set == Toolset::Command,
            ToolsetArg::Calls => set == Toolset::Calls,
            ToolsetArg::Python => set == Toolset::Python,
            ToolsetArg::Tests => set == Toolset::Tests,
        })
    };
    Toolset::ALL
        .into_iter()
        .filter(|&set| wanted(set))
        .collect()
}

/// Splits `DIR[:ro|:rw]`. Only a final `:ro` or `:rw` is a suffix; any other colon belongs to the
/// name.
fn parse_suffixed(here: &Path, flag: &str, typed: &Path) -> Result<Grant> {
    let (path, access) = access_of(typed);
    if path.as_os_str().is_empty() {
        bail!("{flag} `{}` does not name a directory", typed.display());
    }
    let path = absolute(here, path);
    let slip = mistyped_suffix(&path).filter(|_| is_missing(&path));
    if let Some(slip) = slip {
        bail!(
            "{flag} `{}`: `:{slip}` is not a suffix, and no such directory exists; use `:ro` or \
             `:rw`",
            typed.display()
        );
    }
    Ok(Grant { path, access })
}

/// Text after the last colon, if it looks like a mistyped suffix.
fn mistyped_suffix(path: &Path) -> Option<&str> {
    let (_, last) = path.as_os_str().to_str()?.rsplit_once(':')?;
    let is_of_rights = |last: &str| {
        last.bytes()
            .all(|byte| b"rwox".contains(&byte.to_ascii_lowercase()))
    };
    let is_meant = is_of_rights(last)
        || ["read", "write"]
            .iter()
            .any(|word| last.eq_ignore_ascii_case(word));
    (is_meant && !["ro", "rw"].contains(&last)).then_some(last)
}

/// Returns true if the path certainly does not exist.
fn is_missing(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Converts a directory for storage in a file: absolute, with the typed suffix. Fails if the text
/// names no directory. `flag` is for error messages.
pub fn own_directory(flag: &str, typed: &Path) -> Result<PathBuf> {
    let here = std::env::current_dir().context("the working directory cannot be read")?;
    let path = parse_suffixed(&here, flag, typed)?.path;
    // Drops `.` components.
    let mut own: OsString = path.components().collect::<PathBuf>().into();
    let dir = access_of(typed).0;
    own.push(OsStr::from_bytes(
        &typed.as_os_str().as_bytes()[dir.as_os_str().len()..],
    ));
    Ok(own.into())
}

/// Splits `DIR[:ro|:rw]` into directory and access.
pub fn access_of(typed: &Path) -> (&Path, Access) {
    let bytes = typed.as_os_str().as_bytes();
    let (path, access) = match bytes.split_last_chunk::<3>() {
        Some((path, b":rw")) => (path, Access::ReadWrite),
        Some((path, b":ro")) => (path, Access::ReadOnly),
        _ => (bytes, Access::ReadOnly),
    };
    (Path::new(OsStr::from_bytes(path)), access)
}

/// Makes a path absolute. An empty path stays empty, and the policy refuses it.
fn absolute(here: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        PathBuf::new()
    } else {
        here.join(path)
    }
}

/// Makes a path absolute and resolves `..`. The last component need not exist.
fn without_parents(here: &Path, path: &Path) -> PathBuf {
    let path = absolute(here, path);
    if !path.components().any(|part| part == Component::ParentDir) {
        return path;
    }
    let above = || {
        Some(
            std::fs::canonicalize(path.parent()?)
                .ok()?
                .join(path.file_name()?),
        )
    };
    std::fs::canonicalize(&path)
        .ok()
        .or_else(above)
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_with_parent_component_is_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::create_dir_all(dir.join("project/src")).unwrap();
        let at = |path: &str| without_parents(&dir.join("project"), Path::new(path));
        assert_eq!(at("../project/src"), dir.join("project/src"));
        assert_eq!(at("../cache"), dir.join("cache"));
        assert_eq!(
            at("src/../new/../other"),
            dir.join("project/src/../new/../other")
        );
        assert_eq!(at("cache"), dir.join("project/cache"));
        assert_eq!(at(""), PathBuf::new());
    }

    #[test]
    fn only_final_suffix_sets_access() {
        let here = Path::new("/here");
        let grant = |typed: &str| {
            parse_suffixed(here, "--allow", Path::new(typed))
                .map(|grant| (grant.path, grant.access))
                .unwrap()
        };
        assert_eq!(grant("/a:rw"), ("/a".into(), Access::ReadWrite));
        assert_eq!(grant("/a:ro"), ("/a".into(), Access::ReadOnly));
        assert_eq!(grant("a"), ("/here/a".into(), Access::ReadOnly));
        assert_eq!(grant("/a:rw:b"), ("/a:rw:b".into(), Access::ReadOnly));
        assert_eq!(grant("/a:rw:rw"), ("/a:rw".into(), Access::ReadWrite));
        assert_eq!(grant("/a :rw"), ("/a ".into(), Access::ReadWrite));
        assert!(parse_suffixed(here, "--allow", Path::new(":rw")).is_err());
    }

    #[test]
    fn unknown_suffix_on_missing_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let said = |typed: &str| {
            parse_suffixed(dir.path(), "--allow", Path::new(typed)).map(|grant| grant.path)
        };
        let refusal = |typed: &str, slip: &str| {
            format!(
                "--allow `{typed}`: `:{slip}` is not a suffix, and no such directory exists; use \
                 `:ro` or `:rw`"
            )
        };
        for (typed, slip) in [
            (".:rwx", "rwx"),
            ("a:RW", "RW"),
            ("a:", ""),
            ("a:write", "write"),
            ("a:x:rw", "x"),
        ] {
            assert_eq!(said(typed).unwrap_err().to_string(), refusal(typed, slip));
        }
        assert_eq!(said("a:b").unwrap(), dir.path().join("a:b"));
        std::fs::create_dir(dir.path().join("a:rwx")).unwrap();
        assert_eq!(said("a:rwx").unwrap(), dir.path().join("a:rwx"));
    }

    #[test]
    fn own_directory_is_relative_to_working_directory() {
        let here = std::env::current_dir().unwrap();
        let here = here.to_str().unwrap();
        for (typed, expected) in [
            ("src/bob:rw", format!("{here}/src/bob:rw")),
            (".:ro", format!("{here}:ro")),
            ("/a", "/a".to_owned()),
        ] {
            assert_eq!(
                own_directory("--own", Path::new(typed)).unwrap(),
                Path::new(&expected)
            );
        }
        assert_eq!(
            own_directory("--own", Path::new(":rw"))
                .unwrap_err()
                .to_string(),
            "--own `:rw` does not name a directory"
        );
    }
}
