//! Config -> server: opens the allowed directories, builds the walls and assembles the server.

mod domain;
mod launcher;
pub(crate) mod linked_git;
mod missing;
mod search_cache;
mod undo;
mod undo_stores;

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use replay_base::budget::{Account, Budget};
use replay_files::fs::Writer;
use replay_files::policy::{Pins, Policy, Root};
use replay_proxy::Publisher;
use replay_python::Sessions;
use replay_sandbox::exec::{Launcher, Logs};
use replay_sandbox::{Network, Tier, WallStatus};
use replay_search::memory::Memory;
use replay_testrun::History;

use crate::calls::{Isolation, Reach};
use crate::cli;
use crate::config::{CallsConfig, Config};
use crate::secrets;
use crate::server::{ClientSelection, Front, Server, StartingService, instructions};
use crate::tools::{BackgroundCalls, Calls, Commands, Registry, Services};

pub(crate) use domain::wall_in;
pub(crate) use launcher::{plan, private_directory};
pub(crate) use undo::undo_places;
pub use undo::{globs_of, skips_of};
pub(crate) use undo_stores::{FoundStore, recorded_below, stores_of};

/// Builds the only server of this process. Fails if a directory cannot be opened. If no walls can
/// be built, the server refuses commands.
pub fn alone(config: &Config) -> Result<Arc<Server>> {
    server(
        config,
        Budget::new(config.memory.call_bytes).account(),
        &mut Pins::default(),
        Some(&mut |_, _| ()),
        false,
    )
}

/// Builds the only server of this process, like [`alone`], and opens the published ports.
pub(crate) fn alone_with_ports(config: &Config) -> Result<Arc<Server>> {
    greeting(config, &mut |_, _| ())
}

/// Builds the only server of this process, and calls `greet` while the launcher builds the walls.
/// `greet` may serve the future server until the descriptor becomes readable.
pub(crate) fn greeting(config: &Config, greet: Greet<'_>) -> Result<Arc<Server>> {
    server(
        config,
        Budget::new(config.memory.call_bytes).account(),
        &mut Pins::default(),
        Some(greet),
        true,
    )
}

/// Builds one of several servers of this process. `pins` holds their directories.
pub(crate) fn server_beside(
    config: &Config,
    account: Account,
    pins: &mut Pins,
) -> Result<Arc<Server>> {
    server(config, account, pins, None, true)
}

/// Called on the only thread, before the process has a Landlock domain. Must not touch files.
type Greet<'a> = &'a mut dyn FnMut(&Arc<StartingService>, BorrowedFd<'_>);

/// Builds a server. `greet` is `None` for one of several. Published ports are opened if `publishes`.
fn server(
    config: &Config,
    account: Account,
    pins: &mut Pins,
    mut greet: Option<Greet<'_>>,
    publishes: bool,
) -> Result<Arc<Server>> {
    let mut policy = Policy::open_pinned(&config.grants, &config.restrictions(), pins)?;
    if !config.hide.is_empty() {
        policy.hide_by_patterns(&config.hide, undo::globs_of)?;
        warn_of_history(&policy);
    }
    let runs_commands = config.toolsets.iter().any(|set| set.runs_commands());
    let is_walled = config.sandbox.mode != cli::Sandbox::Off;
    if runs_commands && is_walled && config.sandbox.linked_git == cli::LinkedGit::Auto {
        policy.follow_links_of_git();
    }
    policy.hide(&launcher::depots(config, &policy)?)?;
    let journal = undo::open(config, &mut policy, &account)?;
    let read_only = !policy.roots().is_empty() && !policy.roots().iter().any(Root::writable);
    let registry = Registry::declared(&config.toolsets, read_only, is_walled);
    let (held, are_refused) = launcher::initial_instruction(config);
    let words = instructions(&policy, &registry, &held, are_refused);
    let clients = ClientSelection::new(
        config.clients.clone(),
        config.client_choice.clone(),
        config.errors,
        config.reply_style,
    );
    let front = Front::new(registry, words, clients, greet.is_some());
    let mut commands = if runs_commands {
        let coming = StartingService::new(Arc::clone(&front), account.clone());
        launcher::start(
            config,
            &policy,
            journal.as_ref().ok(),
            &account,
            &mut |ready| {
                if let Some(greet) = &mut greet {
                    greet(&coming, ready);
                }
            },
        )?
    } else {
        Commands::none()
    };
    if publishes && let Some(launcher) = &commands.launcher {
        commands.publisher = publish(config, launcher)?;
    }
    let journal = undo::check_hidden(journal, &policy, &commands);
    if config.undo.freezes && !read_only && !policy.roots().is_empty() {
        if let Err(reason) = &journal {
            bail!("--freeze-autorun needs undo, which is not available: {reason}");
        }
        if commands.standing.tier == Some(Tier::Off) {
            bail!("--freeze-autorun needs the walls around commands; leave --sandbox off out");
        }
    }
    let calls = calls(config, &commands.standing);
    let python = Sessions::new(
        config.python.max_sessions,
        config.python.idle_timeout,
        policy
            .default_directory()
            .map_or_else(|| PathBuf::from("."), Path::to_owned),
    );
    let python = if config.python.has_spare {
        python
    } else {
        python.without_spare()
    };
    let writer = Writer::new(config.durability);
    let mut services = Services {
        account,
        reply_tokens: config.reply_tokens,
        policy,
        journal,
        writer,
        memory: Memory::off(),
        python,
        commands,
        background_calls: BackgroundCalls::default(),
        calls,
        logs: Logs::default(),
        tests: History::default(),
    };
    let system = config.sandbox.system.iter().map(|seen| seen.path.clone());
    let reach = secrets::Reach::of(std::iter::once(&services), system);
    config.sandbox.secret_files.iter().try_for_each(|file| {
        let is_of_proxy = config.sandbox.proxy_file.as_ref() == Some(file);
        let flag = if is_of_proxy {
            "--upstream-proxy"
        } else {
            "--credential"
        };
        reach.keeps_apart(flag, file)
    })?;
    reach.keeps_cache_apart(&services)?;
    services.memory = Memory::new(
        config.memory.search_bytes,
        search_cache::place(config, &services.policy, &reach),
    );
    let logs = !config.sandbox.rules.is_empty() && services.commands.launcher.is_some();
    config
        .net_log
        .iter()
        .filter(|_| logs)
        .try_for_each(|path| reach.keeps_apart("--net-log", path))?;
    Ok(Server::new(front, services))
}

/// Opens the ports of `--publish`.
fn publish(config: &Config, launcher: &Launcher) -> Result<Option<Publisher>> {
    let rules = &config.sandbox.publish;
    if rules.is_empty() {
        return Ok(None);
    }
    let ports = launcher.ports().context(
        "--publish needs netlink sockets of the kind sock_diag, which this kernel does not have; \
         leave the flag out",
    )?;
    Ok(Some(Publisher::start(rules, Arc::clone(ports))?))
}

/// Warns about hidden files in the git history, which cannot be hidden.
fn warn_of_history(policy: &Policy) {
    for path in policy
        .hidden_by_patterns()
        .iter()
        .flat_map(|hide| &hide.found.tracked)
    {
        tracing::warn!("{}", in_history(path));
    }
}

/// Warning about a hidden file that git tracks.
pub(crate) fn in_history(path: &Path) -> String {
    format!(
        "`{}` is hidden, but committed to git: commands can read it in the repository, and `git \
         add -A` fails; run `git rm --cached`, and replace its secrets",
        path.display()
    )
}

/// Settings for recorded calls. They may reach the same network as commands, unless configured
/// otherwise.
fn calls(config: &Config, standing: &WallStatus) -> Calls {
    let reach = match (config.calls.reach, standing.effective_network()) {
        (Some(reach), _) => reach,
        (None, Network::None) if !standing.by_rule => Reach::Nothing,
        (None, _) => Reach::AsCommands,
    };
    let resolves =
        reach == Reach::AsServer || reach == Reach::AsCommands && standing.network == Network::Host;
    let CallsConfig {
        roots,
        open,
        keep_secrets,
        isolation,
        ..
    } = config.calls.clone();
    let mut calls = Calls::default();
    (calls.reach, calls.resolves, calls.roots) = (reach, resolves, roots);
    (calls.open, calls.keep_secrets) = (open, keep_secrets);
    calls
        .upstream_proxy
        .clone_from(&config.sandbox.upstream_proxy);
    calls.isolation = isolation.map(|asked| match asked {
        cli::Isolation::Strict => Isolation::Strict,
        cli::Isolation::Seccomp => Isolation::Seccomp,
        cli::Isolation::Env => Isolation::Env,
    });
    calls
}

/// Finds git repositories and repairs the journal in the background. Call it after the walls are
/// built. Code that needs the results waits for them.
pub(crate) fn look_around(services: &Services) {
    let repositories = Arc::clone(services.policy.repositories());
    let journal = services.journal.clone();
    let look = move || {
        if let Ok(journal) = journal
            && let Err(fault) = journal.mend()
        {
            tracing::warn!("{fault}");
        }
        repositories.paths();
    };
    if let Err(error) = std::thread::Builder::new()
        .name("repositories".to_owned())
        .spawn(look)
    {
        tracing::debug!("git repositories are looked for when the first command is run: {error}");
    }
}
