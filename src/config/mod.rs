//! Cli -> Config: what was typed, resolved against the world. May fail; reads the environment,
//! which nothing else does.
#![expect(
    clippy::disallowed_methods,
    reason = "start-up reads the environment and the operator's own profile"
)]

mod commands;
mod credentials;
mod http;
mod memory;
mod profile;
mod telemetry;
mod undo;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tracing::level_filters::LevelFilter;

pub use commands::{CacheConfig, SandboxConfig};
pub use credentials::configure_git;
pub use http::{HttpConfig, TokenEntry, encryption, entries, tokens};
pub use profile::{derived_profile_keys, profile_keys};
pub use telemetry::{telemetry, trust};
pub use undo::{UndoConfig, state_directory};

use commands::World;
use profile::Profile;

use crate::calls::Reach;
use crate::cli::{
    CallsAction, Errors, Isolation, LogLevel, NetworkArg, OnMissArg, Options, ToolsetArg,
};
use crate::fs::Durability;
use crate::limits;
use crate::network::proxy::Learned;
use crate::policy::{Access, Grant, Hidden, Restrictions};
use crate::server::ErrorStyle;
use crate::tools::{TOOLS, Toolset};
use crate::transport::Limits;

/// Everything the program needs to know, with nothing left to look up.
#[derive(Debug)]
pub struct Config {
    /// The allowed directories in the order given.
    pub grants: Vec<Grant>,
    /// Paths to keep read-only, beside the defaults.
    pub protect: Vec<PathBuf>,
    /// Paths that are not read-only although they are by default.
    pub unprotect: Vec<PathBuf>,
    /// Patterns of what agents must not see (`--hide`).
    pub hide: Vec<String>,
    /// Files that say how this server is: read-only in allowed directories.
    pub own_files: Vec<PathBuf>,
    /// Files of the operator's that no agent may see, should they lie in an allowed directory.
    pub hidden: Vec<Hidden>,
    /// What the walls around commands shall be.
    pub sandbox: SandboxConfig,
    /// Where temporary files are kept, private directories of commands among them.
    pub temporary: PathBuf,
    /// Where the private directory of commands is made instead.
    pub ground: Option<PathBuf>,
    /// The sets to serve.
    pub toolsets: Vec<Toolset>,
    /// How tools' failures are reported.
    pub errors: ErrorStyle,
    /// Time limit of a command that asks for none.
    pub command_timeout: Duration,
    /// Largest time limit of a command.
    pub max_command_timeout: Duration,
    /// Output kept of each stream.
    pub output_cap_bytes: usize,
    /// Text of a reply to a call that does not say how much it wants.
    pub reply_bytes: usize,
    /// The same of a command's output, which has a cap of its own.
    pub shown_output_bytes: usize,
    /// Commands at the same time, beside those in the background.
    pub max_commands: usize,
    /// Commands in the background at the same time.
    pub max_background_commands: usize,
    /// Output kept of each background command.
    pub background_output_bytes: u64,
    /// Python sessions at the same time.
    pub max_python_sessions: usize,
    /// Largest time limit of Python code.
    pub max_cell: Duration,
    /// Whether an interpreter waits for the next Python session.
    pub has_python_spare: bool,
    /// When a Python session that nobody uses is ended.
    pub python_idle_timeout: Duration,
    /// Whether a write waits for the disk.
    pub durability: Durability,
    /// What all calls together may hold.
    pub memory_bytes: usize,
    /// What may be remembered of files between searches; 0 for nothing.
    pub search_memory_bytes: usize,
    /// Where that is kept for later sessions, which only a server over stdio does: see
    /// [`search_cache`].
    pub search_cache: Option<PathBuf>,
    /// What is kept of what calls change.
    pub undo: UndoConfig,
    /// How calls are recorded and answered.
    pub calls: CallsConfig,
    /// Where decisions about connections of commands are logged.
    pub net_log: Option<PathBuf>,
    /// What keeps what commands reach, to learn which rules they need.
    pub learned: Option<Arc<Learned>>,
    /// What the client is held to.
    pub client_limits: Limits,
    pub log_level: LevelFilter,
}

/// How calls are recorded and answered.
#[derive(Clone, Debug, Default)]
pub struct CallsConfig {
    /// Authorities that real servers are verified with, as PEM.
    pub roots: Vec<u8>,
    /// What real servers can be reached, if that is not what commands reach.
    pub reach: Option<Reach>,
    /// Whether servers that a program starts can be reached from other machines.
    pub open: bool,
    /// Whether secrets stay in recordings.
    pub keep_secrets: bool,
    /// How far programs are to be held at least, or that they are not.
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

/// What a client is held to, be it one of the tools or of a mock.
pub fn client_limits(options: &Options) -> Limits {
    Limits {
        max_line_bytes: options.max_line_bytes,
        stall_timeout: Duration::from_secs(options.stall_timeout_secs),
    }
}

/// How failures reach clients, be it of the tools or of a mock.
pub fn error_style(options: &Options) -> ErrorStyle {
    match options.errors {
        Errors::Codes => ErrorStyle::Codes,
        Errors::Results => ErrorStyle::Results,
    }
}

/// What a configuration is for.
#[derive(Clone, Copy)]
struct Meant {
    /// Commands are those of whoever typed the options, and get the whole environment.
    own: bool,
    /// The directories of the profile are allowed as well.
    is_whole: bool,
    /// The hosts of the profile are, too.
    with_hosts: bool,
}

/// Where what searches remember is kept for later sessions, if it is to be: below the place where
/// programs of this user keep what they can do without. `replay` there is what documentation calls
/// the directory of `--cache`, so it is beside that.
pub fn search_cache(options: &Options) -> Option<PathBuf> {
    let world = World {
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
        .filter(|_| !options.no_search_cache)?;
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
        Self::resolve_for(
            options,
            Meant {
                own: false,
                is_whole: true,
                with_hosts: true,
            },
        )
    }

    fn resolve_for(options: &Options, meant: Meant) -> Result<Self> {
        let here = std::env::current_dir().context("the working directory cannot be read")?;
        let world = World {
            here: here.clone(),
            vars: std::env::vars_os().collect(),
            own: meant.own,
        };
        let mut profile = options
            .sandbox_profile
            .as_deref()
            .map(Profile::load)
            .transpose()?
            .unwrap_or_default();
        if !meant.is_whole {
            profile.read_write.clear();
            profile.read_only.clear();
            profile.unprotect.clear();
        }
        if !meant.with_hosts {
            profile.allow_net.clear();
        }
        let mut grants = Vec::new();
        for allow in &options.allow {
            grants.push(suffixed(&here, "--allow", allow)?);
        }
        let mut grant = |paths: &[PathBuf], access| {
            grants.extend(paths.iter().map(|path| Grant {
                path: absolute(&here, path),
                access,
            }));
        };
        grant(&options.allow_read, Access::ReadOnly);
        grant(&options.allow_write, Access::ReadWrite);
        grant(&profile.read_write, Access::ReadWrite);
        grant(&profile.read_only, Access::ReadOnly);
        let asked = &profile.limits;
        let timeout_secs = options.command_timeout_secs.or(asked.command_timeout_secs);
        let max_timeout_secs = options
            .max_command_timeout_secs
            .or(asked.max_command_timeout_secs);
        let (timeout_secs, max_timeout_secs) = timeouts(timeout_secs, max_timeout_secs)?;
        let reply_tokens = options.reply_tokens.or(asked.reply_tokens);
        let output_cap_bytes = options.output_cap_bytes.or(asked.output_cap_bytes);
        let background_output_bytes = options
            .background_output_bytes
            .or(asked.background_output_bytes);
        let count = |typed: Option<u64>, asked: Option<u64>, usual| {
            typed.or(asked).map_or(usual, |count| count as usize)
        };
        let toolsets = toolsets(&options.tools);
        let memory = options
            .memory_mib
            .map_or_else(memory::usual_bytes, |mib| mib * 1024 * 1024);
        let search_memory =
            (options.search_memory_mib * 1024 * 1024).min(memory / limits::SEARCH_MEMORY_SHARE);
        let sandbox = SandboxConfig::resolve(options, &profile, &world, &grants)?;
        let opens = sandbox.rules.are_about_requests() || !sandbox.credentials.is_empty();
        Ok(Self {
            calls: CallsConfig::resolve(&toolsets, options.isolation, opens),
            protect: options
                .protect
                .iter()
                .chain(&profile.protect)
                .map(|path| absolute(&here, path))
                .collect(),
            unprotect: options
                .unprotect
                .iter()
                .chain(&profile.unprotect)
                .map(|path| absolute(&here, path))
                .collect(),
            hide: options.hide.iter().chain(&profile.hide).cloned().collect(),
            own_files: options
                .sandbox_profile
                .iter()
                .flat_map(|path| own_file(&here, path))
                .collect(),
            hidden: Vec::new(),
            sandbox,
            undo: UndoConfig::resolve(options, &profile, &world, &grants)?,
            net_log: options
                .net_log
                .as_ref()
                .or(profile.net_log.as_ref())
                .map(|path| absolute(&here, path)),
            learned: options.learned.clone(),
            temporary: std::env::temp_dir(),
            ground: None,
            grants,
            toolsets,
            errors: error_style(options),
            command_timeout: Duration::from_secs(timeout_secs),
            max_command_timeout: Duration::from_secs(max_timeout_secs),
            output_cap_bytes: count(output_cap_bytes, None, limits::OUTPUT_CAP_BYTES),
            reply_bytes: reply_bytes(reply_tokens.unwrap_or(limits::REPLY_TOKENS)),
            shown_output_bytes: reply_bytes(reply_tokens.unwrap_or(0)),
            max_commands: count(
                options.max_commands,
                asked.max_commands,
                limits::MAX_COMMANDS,
            ),
            max_background_commands: count(
                options.max_background_commands,
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
            durability: if options.no_fsync {
                Durability::Kernel
            } else {
                Durability::Disk
            },
            memory_bytes: (memory - search_memory) as usize,
            search_memory_bytes: search_memory as usize,
            search_cache: None,
            client_limits: client_limits(options),
            log_level: level_filter(options.log_level),
        })
    }
}

impl Config {
    /// For `replay calls`: the working directory is allowed if no other one may be written to, and
    /// a program that is recorded reaches what this process reaches. The program is the user's own:
    /// it gets the environment that it would get without this one.
    pub fn for_calls(mut options: Options, action: &CallsAction) -> Result<Self> {
        options.tools = vec![ToolsetArg::Calls];
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
        let is_strict = match options.isolation.filter(|_| run.is_some()) {
            Some(isolation) => isolation == Isolation::Strict,
            // Somebody may want to reach a program that is recorded; tests have no need of anybody.
            None => !matches!(action, CallsAction::Record { .. }),
        };
        let said = options.network.is_some()
            || options.allow_network
            || !options.allow_net.is_empty()
            || !options.net.is_empty();
        if !said && !is_strict {
            options.network = Some(NetworkArg::Host);
        }
        let mut config = Self::resolve_for(
            &options,
            Meant {
                own: run.is_some(),
                is_whole: true,
                with_hosts: true,
            },
        )?;
        here_first(&mut config.grants)?;
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
        // It is the user's own program.
        (config.undo.is_on, config.undo.freezes) = (false, false);
        config.calls.open = !is_strict;
        config.calls.keep_secrets = keep_secrets;
        Ok(config)
    }

    /// For `replay net learn`: commands as a server has them, in the working directory if no other
    /// one may be written to.
    pub fn for_learning(mut options: Options, learned: Arc<Learned>) -> Result<Self> {
        allow_here(&mut options)?;
        options.learned = Some(learned);
        let mut config = Self::resolve(&options)?;
        here_first(&mut config.grants)?;
        // It is the user's own program.
        (config.undo.is_on, config.undo.freezes) = (false, false);
        Ok(config)
    }

    /// What of the allowed directories is kept from agents, or is not.
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
            freezes_sinks: self.undo.freezes,
        }
    }

    /// The same, with the manifest of a mock that is served beside the tools.
    #[must_use]
    pub fn beside(mut self, manifest: Option<&Path>) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        self.own_files
            .extend(manifest.into_iter().flat_map(|path| own_file(&here, path)));
        self
    }

    /// The same for one call: walls are built only for a tool that needs them, or tells about them.
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

/// Relative paths are those of whoever types them, where the working directory may be written to:
/// they are taken below the first directory.
fn here_first(grants: &mut [Grant]) -> Result<()> {
    let here = std::env::current_dir().context("the working directory cannot be read")?;
    let is_here =
        |path: &Path| path == here || std::fs::canonicalize(path).is_ok_and(|path| path == here);
    if let Some(at) = grants
        .iter()
        .position(|grant| grant.access == Access::ReadWrite && is_here(&grant.path))
    {
        grants[..=at].rotate_right(1);
    }
    Ok(())
}

/// Allows the working directory to a program that a person runs, where [`adds_here`] says so.
fn allow_here(options: &mut Options) -> Result<()> {
    if options.sandbox_profile.is_none() && adds_here(options)? {
        // Relative paths are taken below the first one.
        options.allow.insert(0, PathBuf::from(".:rw"));
    }
    Ok(())
}

/// Whether such a program may write to the working directory: where no directory may be written to,
/// and none that it lies in was allowed for reading, as it would be if it were meant to stay as it
/// is.
fn adds_here(options: &Options) -> Result<bool> {
    let here = std::env::current_dir().context("the working directory cannot be read")?;
    let true_here = std::fs::canonicalize(&here).unwrap_or_else(|_| here.clone());
    let mut grants = Vec::new();
    for allow in &options.allow {
        grants.push(suffixed(&here, "--allow", allow)?);
    }
    grants.extend(options.allow_read.iter().map(|path| Grant {
        path: absolute(&here, path),
        access: Access::ReadOnly,
    }));
    let holds = |path: &Path| {
        true_here.starts_with(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    };
    let says = |grant: &Grant| grant.access == Access::ReadWrite || holds(&grant.path);
    Ok(options.allow_write.is_empty() && !grants.iter().any(says))
}

/// A file of the operator's under the name that was typed, and where it is: it may be a link from
/// elsewhere.
fn own_file(here: &Path, typed: &Path) -> impl Iterator<Item = PathBuf> {
    let path = absolute(here, typed);
    let real = std::fs::canonicalize(&path).ok();
    std::iter::once(path).chain(real)
}

/// What the logger calls a `--log-level`.
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

/// Both time limits, in seconds. A default that was not asked for gives way to the other one.
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
            "--command-timeout-secs is {asked} and --max-command-timeout-secs is {most}; the first must not be more"
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

/// Splits `DIR[:ro|:rw]`; only a final `:ro` or `:rw` is a suffix, any other colon belongs to the
/// name.
fn suffixed(here: &Path, flag: &str, typed: &Path) -> Result<Grant> {
    let (path, access) = access_of(typed);
    if path.as_os_str().is_empty() {
        bail!("{flag} `{}` names no directory", typed.display());
    }
    let path = absolute(here, path);
    let slip = meant_as_suffix(&path).filter(|_| is_missing(&path));
    if let Some(slip) = slip {
        bail!(
            "{flag} `{}`: `:{slip}` is no suffix, and no such directory is there; there are `:ro` and `:rw`",
            typed.display()
        );
    }
    Ok(Grant { path, access })
}

/// What stands behind the last colon, if somebody may have meant rights by it.
fn meant_as_suffix(path: &Path) -> Option<&str> {
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

/// Whether it is certain that nothing has this name.
fn is_missing(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// A directory as a file keeps it: absolute, as `--allow` would take it from the working directory,
/// and with the suffix that was typed to `flag`. Fails if it names none.
pub fn own_directory(flag: &str, typed: &Path) -> Result<PathBuf> {
    let here = std::env::current_dir().context("the working directory cannot be read")?;
    let path = suffixed(&here, flag, typed)?.path;
    // Without the `.` that a person types.
    let mut own: OsString = path.components().collect::<PathBuf>().into();
    let dir = access_of(typed).0;
    own.push(OsStr::from_bytes(
        &typed.as_os_str().as_bytes()[dir.as_os_str().len()..],
    ));
    Ok(own.into())
}

/// The directory of `DIR[:ro|:rw]`, and what it may be used for.
pub fn access_of(typed: &Path) -> (&Path, Access) {
    let bytes = typed.as_os_str().as_bytes();
    let (path, access) = match bytes.split_last_chunk::<3>() {
        Some((path, b":rw")) => (path, Access::ReadWrite),
        Some((path, b":ro")) => (path, Access::ReadOnly),
        _ => (bytes, Access::ReadOnly),
    };
    (Path::new(OsStr::from_bytes(path)), access)
}

/// An empty path stays empty, for the policy to refuse.
fn absolute(here: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        PathBuf::new()
    } else {
        here.join(path)
    }
}

/// The same without `..`, which would hide where it lies; the last name need not be there yet.
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
    fn a_path_by_way_of_a_parent_is_told_by_where_it_lies() {
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
    fn only_a_final_suffix_is_one() {
        let here = Path::new("/here");
        let grant = |typed: &str| {
            suffixed(here, "--allow", Path::new(typed))
                .map(|grant| (grant.path, grant.access))
                .unwrap()
        };
        assert_eq!(grant("/a:rw"), ("/a".into(), Access::ReadWrite));
        assert_eq!(grant("/a:ro"), ("/a".into(), Access::ReadOnly));
        assert_eq!(grant("a"), ("/here/a".into(), Access::ReadOnly));
        assert_eq!(grant("/a:rw:b"), ("/a:rw:b".into(), Access::ReadOnly));
        assert_eq!(grant("/a:rw:rw"), ("/a:rw".into(), Access::ReadWrite));
        assert_eq!(grant("/a :rw"), ("/a ".into(), Access::ReadWrite));
        assert!(suffixed(here, "--allow", Path::new(":rw")).is_err());
    }

    #[test]
    fn rights_that_there_are_not_are_no_name_of_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let said =
            |typed: &str| suffixed(dir.path(), "--allow", Path::new(typed)).map(|grant| grant.path);
        let refusal = |typed: &str, slip: &str| {
            format!(
                "--allow `{typed}`: `:{slip}` is no suffix, and no such directory is there; there are `:ro` and `:rw`"
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
    fn a_directory_of_a_token_is_taken_from_where_it_is_typed() {
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
            "--own `:rw` names no directory"
        );
    }
}
