//! Config -> server: opens the allowed directories, builds the walls and puts the parts together.

mod domain;
mod launcher;
pub mod linked_git;
mod search_cache;
mod undo;
mod undo_stores;

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};

use crate::budget::{Account, Budget};
use crate::calls::{Isolation, Reach};
use crate::cli;
use crate::config::{CallsConfig, Config};
use crate::exec::Logs;
use crate::fs::Writer;
use crate::policy::{Pins, Policy, Root};
use crate::python::Sessions;
use crate::sandbox::{Network, Tier, WallStatus};
use crate::search::memory::Memory;
use crate::secrets;
use crate::server::{Coming, Front, Server, instructions};
use crate::testrun::History;
use crate::tools::{Calls, Commands, Registry, Services};

pub use domain::wall_in;
pub use launcher::{plan, private_directory};
pub use undo::undo_places;
pub use undo::{globs_of, skips_of};
pub use undo_stores::{FoundStore, stores_of};

/// The server that this configuration asks for, in a process that has no other. Fails when a
/// directory cannot be opened; that no wall can be built is a refusal of commands.
pub fn alone(config: &Config) -> Result<Arc<Server>> {
    greeting(config, &mut |_, _| ())
}

/// The same; `greet` has the time in which the launcher builds walls: what is coming may be served
/// until the descriptor is readable.
pub fn greeting(config: &Config, greet: Greet<'_>) -> Result<Arc<Server>> {
    server(
        config,
        Budget::new(config.memory_bytes).account(),
        &mut Pins::default(),
        greet,
    )
}

/// The same for one of several servers of this process, whose directories `pins` holds.
pub fn server_beside(config: &Config, account: Account, pins: &mut Pins) -> Result<Arc<Server>> {
    server(config, account, pins, &mut |_, _| ())
}

/// Called on the only thread, in no domain yet: it must touch no file.
type Greet<'a> = &'a mut dyn FnMut(&Arc<Coming>, BorrowedFd<'_>);

fn server(
    config: &Config,
    account: Account,
    pins: &mut Pins,
    greet: Greet<'_>,
) -> Result<Arc<Server>> {
    let mut policy = Policy::open_pinned(&config.grants, &config.restrictions(), pins)?;
    if !config.hide.is_empty() {
        policy.hide_by_patterns(&config.hide, undo::globs_of)?;
        told_of_history(&policy);
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
    let (held, are_refused) = launcher::told(config);
    let words = instructions(&policy, &registry, (&held, are_refused));
    let front = Front::new(registry, words);
    let commands = if runs_commands {
        let coming = Coming::new(Arc::clone(&front), account.clone());
        launcher::start(
            config,
            &policy,
            journal.as_ref().ok(),
            &account,
            &mut |ready| greet(&coming, ready),
        )?
    } else {
        Commands::none()
    };
    let journal = undo::beside(journal, &policy, &commands);
    if config.undo.freezes && !read_only && !policy.roots().is_empty() {
        if let Err(reason) = &journal {
            bail!("--freeze-sinks needs what undo keeps, and nothing is kept: {reason}");
        }
        if commands.standing.tier == Some(Tier::Off) {
            bail!(
                "--freeze-sinks cannot be held with --sandbox off, where nobody stands between commands and the kernel"
            );
        }
    }
    let calls = calls(config, &commands.standing);
    let python = Sessions::new(
        config.max_python_sessions,
        config.python_idle_timeout,
        first_writable(&policy),
    );
    let python = if config.has_python_spare {
        python
    } else {
        python.without_spare()
    };
    let writer = Writer::new(config.durability);
    let mut services = Services {
        account,
        reply_bytes: config.reply_bytes,
        shown_output_bytes: config.shown_output_bytes,
        policy,
        journal,
        writer,
        memory: Memory::off(),
        python,
        commands,
        calls,
        logs: Logs::default(),
        tests: History::default(),
    };
    let system = config.sandbox.system.iter().map(|seen| seen.path.clone());
    let reach = secrets::Reach::of(std::iter::once(&services), system);
    config
        .sandbox
        .secret_files
        .iter()
        .try_for_each(|file| reach.keeps_apart("--credential", file))?;
    reach.keeps_cache_apart(&services)?;
    services.memory = Memory::new(
        config.search_memory_bytes,
        search_cache::place(config, &services.policy, &reach),
    );
    let logs = !config.sandbox.rules.is_empty() && services.commands.launcher.is_some();
    config
        .net_log
        .iter()
        .filter(|_| logs)
        .try_for_each(|path| reach.keeps_apart("--net-log", path))?;
    Ok(Server::new(front, services, config.errors))
}

/// What is in the history of git cannot be hidden.
fn told_of_history(policy: &Policy) {
    for path in policy
        .hidden_by_patterns()
        .iter()
        .flat_map(|hide| &hide.found.tracked)
    {
        tracing::warn!("{}", in_history(path));
    }
}

/// What is said of a hidden file that git has.
pub fn in_history(path: &Path) -> String {
    format!(
        "`{}` is hidden and git has it: commands can read what was committed, and `git add -A` fails; take it out with \
         `git rm --cached`, and change what was secret in it",
        path.display()
    )
}

/// Where programs run that are not told where.
fn first_writable(policy: &Policy) -> PathBuf {
    let root = policy
        .roots()
        .iter()
        .find(|root| root.writable())
        .or_else(|| policy.project());
    root.map_or_else(|| PathBuf::from("."), |root| root.path().to_owned())
}

/// What recordings of calls may reach: what the operator lets commands reach, unless it was said
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
    calls.isolation = isolation.map(|asked| match asked {
        cli::Isolation::Strict => Isolation::Strict,
        cli::Isolation::Seccomp => Isolation::Seccomp,
        cli::Isolation::Env => Isolation::Env,
    });
    calls
}

/// Looks for git repositories, and mends the journal, while nobody waits for that. To be called
/// once the walls stand; whoever needs them before that is over waits.
pub fn look_around(services: &Services) {
    let repositories = Arc::clone(services.policy.repositories());
    let journal = services.journal.clone();
    let look = move || {
        if let Ok(journal) = journal
            && let Err(fault) = journal.mend()
        {
            tracing::warn!("{fault}");
        }
        repositories.found();
    };
    if let Err(error) = std::thread::Builder::new()
        .name("repositories".to_owned())
        .spawn(look)
    {
        tracing::debug!("git repositories are looked for when the first command is run: {error}");
    }
}
