//! Builds the launcher of the best available tier, and the private directory of commands.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use replay_base::budget::{Account, Room};
use replay_base::cancel::CancelToken;
use replay_base::limits;
use replay_environment::toolchains::{CACHE_VARIABLE, CARGO_HOME, CARGO_INSTALL_ROOT};
use replay_environment::{Devices, HomeFile};
use replay_files::hide::Hide;
use replay_files::journal::Journal;
use replay_files::policy::{Hidden, LinkedRepository, Policy, Root};
use replay_sandbox::exec::{BackgroundCommands, Launcher, OutputFiles, Slots};
use replay_sandbox::explain::{gaps, refusal};
use replay_sandbox::{
    Cache, CanonicalPath, Extent, Plan, PlannedDevices, PlannedHide, PlannedRoot, Scratch, Tier,
    WallStatus, depot, instruction_before, is_inside, private_home,
};

use super::{linked_git, missing, undo};
use crate::calls::sets::DEFAULT_DIRECTORY;
use crate::calls::{Loaded, load};
use crate::cli::Sandbox;
use crate::config::reasons;
use crate::config::{CacheConfig, Config, configure_git};
use crate::secrets::open_log;
use crate::tools::Commands;
use replay_network::rules::WARNING;
use replay_proxy::{
    GIT_SIGNS, Gate, JAVA_OPTIONS, NetLog, Script, SshAgent, Terms, TrustPlace, Watcher,
};
use rustix::fs::{Access, AtFlags, CWD};

/// Path of this program for the launcher. Valid even after its file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Reason to refuse commands, if known before any wall is built.
fn refused(config: &Config) -> Option<String> {
    let is_nested = config.sandbox.mode != Sandbox::Off && is_inside();
    let nested = "this program already runs inside another replay, and the kernel allows only one \
        supervisor; run it outside, or with --sandbox off (and --isolation env to record calls)";
    config
        .sandbox
        .refused
        .clone()
        .or_else(|| is_nested.then(|| nested.to_owned()))
}

/// Instruction for the agent about commands before the walls are built. The flag is true if
/// commands are refused.
pub(super) fn initial_instruction(config: &Config) -> (String, bool) {
    let sandbox = &config.sandbox;
    match refused(config) {
        Some(reason) => (WallStatus::refused(reason, Vec::new()).instruction(), true),
        None if sandbox.mode == Sandbox::Off => (WallStatus::off().instruction(), false),
        None => (
            instruction_before(sandbox.network, is_by_rule(config), sandbox.private_home),
            false,
        ),
    }
}

/// Returns true if each connection of commands is decided by rules.
fn is_by_rule(config: &Config) -> bool {
    !config.sandbox.rules.is_empty() || config.sandbox.recording.is_some()
}

/// Starts the launcher of the best available tier that the operator permits. While a tier is being
/// tried, calls `meanwhile`, which may run until the descriptor becomes readable.
pub(super) fn start(
    config: &Config,
    policy: &Policy,
    journal: Option<&Arc<Journal>>,
    account: &Account,
    meanwhile: &mut dyn FnMut(BorrowedFd<'_>),
) -> Result<Commands> {
    let bounds = |standing: WallStatus| Commands {
        standing,
        timeout: config.commands.timeout,
        is_timeout_chosen: config.commands.is_timeout_chosen,
        max_timeout: config.commands.max_timeout,
        max_cell: config.python.max_cell,
        output_cap_bytes: config.commands.output_cap_bytes,
        running: Slots::new(config.commands.max_foreground),
        residents: Slots::new(limits::RESIDENTS_FOR_A_SESSION * config.python.max_sessions),
        ..Commands::none()
    };
    if let Some(reason) = refused(config) {
        return Ok(bounds(WallStatus::refused(reason, Vec::new())));
    }
    let tiers: &[Tier] = match config.sandbox.mode {
        Sandbox::Require => &[Tier::Namespaces, Tier::Landlock],
        Sandbox::Namespaces => &[Tier::Namespaces],
        Sandbox::Landlock => &[Tier::Landlock],
        Sandbox::Off => &[Tier::Off],
    };
    sockets(config)?;
    let cache = cache(config, policy)?;
    let (watchers, set) = (watchers(config)?, recording(config, policy, account)?);
    let mut tried = Vec::new();
    for &tier in tiers {
        if tier != Tier::Namespaces
            && let Some(hidden) = policy
                .hidden()
                .find(|hidden| config.hidden.contains(hidden))
        {
            bail!(cannot_hide(&hidden.path, tier, &tried));
        }
        if tier != Tier::Namespaces && !config.hide.is_empty() {
            bail!(
                "for commands --hide needs the namespaces tier, and {}; leave out the tools that \
                 run programs (--tools files)",
                not_namespaces(tier, &tried)
            );
        }
        if tier == Tier::Landlock && !config.sandbox.sockets.is_empty() {
            bail!(
                "--allow-socket needs the namespaces tier, and {}; leave the flag out",
                not_namespaces(tier, &tried)
            );
        }
        if tier == Tier::Landlock && !config.sandbox.publish.is_empty() {
            bail!(
                "--publish needs the namespaces tier, and {}; leave the flag out",
                not_namespaces(tier, &tried)
            );
        }
        if tier == Tier::Landlock && !config.sandbox.downloads.shown.is_empty() {
            bail!(
                "--downloads needs the namespaces tier, and {}; leave the flag out",
                not_namespaces(tier, &tried)
            );
        }
        let beside = LauncherOptions {
            watchers: &watchers,
            set: set.as_ref(),
            cache: cache.as_ref(),
        };
        match launch(config, policy, journal, account, tier, beside, meanwhile) {
            Ok(RunningLauncher {
                standing,
                launcher,
                gate,
                ssh_agent,
                scratch,
            }) => {
                if let Some(cache) = &cache {
                    cache.started();
                }
                let dir = scratch
                    .as_fd()
                    .try_clone_to_owned()
                    .context("the private directory")?;
                let (most, bytes) = (
                    config.commands.max_background,
                    config.commands.background_output_bytes,
                );
                let missing = missing::of_machine(config, policy, &scratch, &standing);
                return Ok(Commands {
                    missing,
                    devices: config.sandbox.devices.clone(),
                    launcher: Some(launcher),
                    gate,
                    ssh_agent,
                    background: Some(BackgroundCommands::new(OutputFiles::new(dir, bytes), most)),
                    scratch: Some(scratch),
                    cache,
                    ..bounds(WallStatus { tried, ..standing })
                });
            }
            Err(error) => tried.push((tier, reasons(&error))),
        }
    }
    let reasons: Vec<String> = tried
        .iter()
        .map(|(tier, reason)| format!("{}: {reason}", tier.as_str()))
        .collect();
    Ok(bounds(WallStatus::refused(
        format!(
            "no walls can be built for commands ({})",
            reasons.join("; ")
        ),
        tried,
    )))
}

/// Error message: commands of this tier would see a path that must be hidden.
fn cannot_hide(path: &Path, tier: Tier, tried: &[(Tier, String)]) -> String {
    format!(
        "`{}` is in an allowed directory, where hiding it from commands needs the namespaces \
         tier, and {}; move it, such as below ~/.local/state, or use --tools files",
        path.display(),
        not_namespaces(tier, tried)
    )
}

/// Reason for a tier other than namespaces.
fn not_namespaces(tier: Tier, tried: &[(Tier, String)]) -> String {
    match (tier, tried.first()) {
        (Tier::Off, _) => "commands run without walls (--sandbox off)".to_owned(),
        (_, Some((_, reason))) => format!("that tier cannot be built here ({reason})"),
        _ => format!("--sandbox {} selects another tier", tier.as_str()),
    }
}

/// Parent directories for private directories of commands, in order of preference.
fn temporaries(config: &Config) -> impl Iterator<Item = &Path> {
    std::iter::once(config.temporary.as_path()).chain(["/tmp", "/var/tmp"].map(Path::new))
}

/// Parents of the private directories of all servers, now and later, if they lie in an allowed
/// directory. If such a parent cannot be created there, no server uses it.
pub(super) fn depots(config: &Config, policy: &Policy) -> Result<Vec<Hidden>> {
    let mut found: Vec<Hidden> = Vec::new();
    for parent in temporaries(config).filter_map(real) {
        if !policy
            .roots()
            .iter()
            .any(|root| parent.starts_with(root.path()))
        {
            continue;
        }
        match depot(&parent) {
            Ok(path) if found.iter().all(|known| known.path != path) => {
                let stat =
                    rustix::fs::stat(&path).with_context(|| format!("`{}`", path.display()))?;
                found.push(Hidden {
                    path,
                    id: (stat.st_dev, stat.st_ino),
                });
            }
            Ok(_) => {}
            Err(fault) if [libc::EROFS, libc::EACCES, libc::EPERM].contains(&fault.errno()) => {}
            Err(fault) => {
                return Err(fault).context(
                    "the directory with the private directories of commands cannot be \
                        hidden",
                );
            }
        }
    }
    Ok(found)
}

#[expect(clippy::disallowed_methods, reason = "directories of the system")]
fn real(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

/// Creates a private directory of commands, preferably outside the allowed directories (`roots`).
/// File tools must not see it, and commands could remove their own HOME.
pub(crate) fn private_directory(config: &Config, roots: &[&Path]) -> Result<Scratch> {
    if let Some(parent) = &config.scratch_parent {
        return Ok(Scratch::create(parent)?);
    }
    let allowed = |parent: &&Path| roots.iter().any(|root| parent.starts_with(root));
    let (inside, apart): (Vec<&Path>, Vec<&Path>) = temporaries(config).partition(allowed);
    let mut reasons = Vec::new();
    for parent in apart.into_iter().chain(inside) {
        match depot(parent).and_then(|depot| Scratch::create(&depot)) {
            Ok(scratch) => return Ok(scratch),
            Err(fault) => reasons.push(fault.to_string()),
        }
    }
    bail!(
        "the private directory of commands cannot be created (TMPDIR sets its place): {}",
        reasons.join("; ")
    )
}

/// A running launcher with its gate, ssh-agent and private directory.
struct RunningLauncher {
    standing: WallStatus,
    launcher: Launcher,
    gate: Option<Arc<Gate>>,
    ssh_agent: Option<SshAgent>,
    scratch: Scratch,
}

/// Optional parts of a launcher.
#[derive(Clone, Copy)]
struct LauncherOptions<'a> {
    watchers: &'a [Arc<dyn Watcher>],
    /// The mock set of `--network`.
    set: Option<&'a Loaded>,
    cache: Option<&'a Cache>,
}

fn launch(
    config: &Config,
    policy: &Policy,
    journal: Option<&Arc<Journal>>,
    account: &Account,
    tier: Tier,
    options: LauncherOptions<'_>,
    meanwhile: &mut dyn FnMut(BorrowedFd<'_>),
) -> Result<RunningLauncher> {
    let LauncherOptions {
        watchers,
        set,
        cache,
    } = options;
    // The process starts up while its plan is made.
    let launcher = Launcher::begin(Path::new(OWN_PROGRAM))?;
    let protected: Vec<&Path> = policy.protected_by_operator().collect();
    let asked = config.sandbox.explicit_requests(&protected);
    let roots: Vec<&Path> = policy.roots().iter().map(Root::path).collect();
    let scratch = private_directory(config, &roots)?;
    let mut plan = plan(
        config,
        policy,
        journal.map(AsRef::as_ref),
        tier,
        scratch.path(),
        cache,
    )?;
    if plan.cargo_home.is_some() {
        scratch.make_in_home(".cargo").context("the private home")?;
    } else {
        scratch.link_in_home(&config.sandbox.home_links)?;
    }
    scratch.link_in_home(&cache.map(Cache::links).unwrap_or_default())?;
    let files = config.sandbox.definitions.files();
    let own = config.sandbox.home_files.iter();
    for (name, content) in files.chain(own.map(HomeFile::content)) {
        scratch.write_in_home(name, content)?;
    }
    if let Some(reason) = refusal(&plan, asked) {
        bail!(reason);
    }
    let ssh_agent = ssh_agent(config, &mut plan, &scratch)?;
    let (launcher, ready) = launcher.build_beside(&plan, meanwhile)?;
    let launcher = launcher.noting(journal.cloned());
    let launcher = if tier == Tier::Off {
        launcher
    } else {
        launcher.guarding(Arc::clone(policy.repositories()))
    };
    warn_of_devices(&config.sandbox.devices);
    let rules = &config.sandbox.rules;
    for redundant in rules.redundant() {
        tracing::warn!("{redundant}");
    }
    for set in rules.sets() {
        tracing::warn!("commands reach the hosts of {set}: {WARNING}");
    }
    let has_network = is_by_rule(config) || config.sandbox.network == replay_sandbox::Network::Host;
    for warning in config.sandbox.downloads.warnings(has_network) {
        tracing::warn!("{warning}");
    }
    for fault in config
        .sandbox
        .proxy_faults
        .iter()
        .filter(|_| is_by_rule(config))
    {
        tracing::warn!("{fault}; connections are made without this proxy");
    }
    let tmp = ready
        .tmp
        .as_ref()
        .map_or_else(|| scratch.path().join("tmp"), |tmp| PathBuf::from(&tmp.0));
    let java_options = launcher.variable(JAVA_OPTIONS);
    let place = TrustPlace {
        scratch: &scratch,
        tmp: &tmp,
        java_options,
    };
    let gate = || {
        let script = set
            .map(|set| script(config, set, &launcher, account))
            .transpose()?;
        let (watchers, has_loopback) = (watchers.to_vec(), tier == Tier::Namespaces);
        let credentials = config.sandbox.credentials.clone();
        let terms = Terms {
            rules: rules.clone(),
            credentials,
            watchers,
            script,
            has_loopback,
            upstream_proxy: config.sandbox.upstream_proxy.clone(),
        };
        let gate = Gate::start(terms, place, &config.calls.roots, account.clone());
        anyhow::Ok(Arc::new(gate.context("the network by rule")?))
    };
    let gate = is_by_rule(config).then(gate).transpose()?;
    let launcher = match &gate {
        Some(gate) => launcher.guarded_by(Arc::clone(gate) as _),
        None => launcher,
    };
    let standing = WallStatus {
        tier: Some(tier),
        refused: None,
        tried: Vec::new(),
        network: config.sandbox.network,
        by_rule: is_by_rule(config),
        private_home: config.sandbox.private_home,
        home: ready.home,
        tmp: ready.tmp,
        landlock_abi: ready.landlock_abi,
        gaps: gaps(&plan, asked, ready.memory.as_ref())
            .into_iter()
            .chain(ready.gaps)
            .collect(),
        memory: ready.memory,
        cgroup: ready.cgroup,
    };
    Ok(RunningLauncher {
        standing,
        launcher,
        gate,
        ssh_agent,
        scratch,
    })
}

/// Starts the signing agent of commands, and announces it in their environment.
fn ssh_agent(config: &Config, plan: &mut Plan, scratch: &Scratch) -> Result<Option<SshAgent>> {
    let Some(socket) = &config.sandbox.ssh_agent else {
        return Ok(None);
    };
    let home = match plan.tier {
        Tier::Namespaces => PathBuf::from(private_home(plan)),
        Tier::Landlock => bail!(
            "--ssh-sign needs unix sockets, which this tier does not have; \
            leave it out"
        ),
        Tier::Off => scratch.path().join("home"),
    };
    let agent = SshAgent::start(scratch, socket.clone()).with_context(|| {
        format!(
            "--ssh-sign: the ssh-agent at `{}` (SSH_AUTH_SOCK)",
            socket.display()
        )
    })?;
    let (name, value) = SshAgent::variable(&home);
    plan.environment.retain(|(known, _)| known.0 != name);
    plan.environment.push(((&name).into(), (&value).into()));
    plan.sockets.push(agent.file.clone());
    Ok(Some(agent))
}

/// Opens the directory of `--cache`. It must not overlap an allowed directory, or commands and file
/// tools would see more than intended.
fn cache(config: &Config, policy: &Policy) -> Result<Option<Cache>> {
    let Some(CacheConfig { dir, bytes }) = &config.sandbox.cache else {
        return Ok(None);
    };
    let linked = policy.linked().iter().map(LinkedRepository::outermost);
    if let Some(root) = policy
        .roots()
        .iter()
        .map(Root::path)
        .chain(linked)
        .find(|root| dir.starts_with(root) || root.starts_with(dir))
    {
        bail!(
            "--cache `{}` and the allowed directory `{}` contain one another; move the cache, \
             such as below ~/.cache",
            dir.display(),
            root.display()
        );
    }
    Ok(Some(Cache::open(
        dir,
        &config.undo.tenant,
        *bytes,
        &config.sandbox.definitions,
    )?))
}

/// Observers of decisions about connections.
fn watchers(config: &Config) -> Result<Vec<Arc<dyn Watcher>>> {
    let path = config
        .net_log
        .as_deref()
        .filter(|_| !config.sandbox.rules.is_empty());
    let log = path.map(|path| {
        let (file, _) =
            open_log(path).with_context(|| format!("--net-log `{}`", path.display()))?;
        anyhow::Ok(Arc::new(NetLog::start(file).context("--net-log")?) as Arc<dyn Watcher>)
    });
    let learned = config
        .learned
        .clone()
        .map(|learned| learned as Arc<dyn Watcher>);
    Ok(log.transpose()?.into_iter().chain(learned).collect())
}

/// Loads the mock set that answers instead of the network.
fn recording(config: &Config, policy: &Policy, account: &Account) -> Result<Option<Loaded>> {
    let Some(path) = &config.sandbox.recording else {
        return Ok(None);
    };
    let (directory, name) = path.rsplit_once('/').unwrap_or((DEFAULT_DIRECTORY, path));
    let room = Room {
        account: Some(account),
        cancel: &CancelToken::new(),
    };
    let loaded =
        load(policy, directory, name, &room).with_context(|| format!("--network replay:{path}"))?;
    let loaded = loaded.with_context(|| {
        format!(
            "--network replay:{path}: the set `{name}` does not exist in {directory}; `replay \
            calls list` lists the sets"
        )
    })?;
    loaded
        .torn
        .iter()
        .for_each(|torn| tracing::warn!("--network replay:{path}: {torn}"));
    Ok(Some(loaded))
}

fn script(config: &Config, set: &Loaded, launcher: &Launcher, account: &Account) -> Result<Script> {
    let mut share = account.share();
    share
        .try_grow(set.share.bytes())
        .context("the mock set of --network")?;
    Ok(Script {
        name: config.sandbox.recording.clone().unwrap_or_default(),
        recordings: set.recordings.clone(),
        noise: set.noise.clone(),
        redact: set.head.redact.clone(),
        variables: launcher.variables().collect(),
        share,
    })
}

/// Plans the walls of one tier. Fails if an allowed directory is no longer accessible.
pub(crate) fn plan(
    config: &Config,
    policy: &Policy,
    journal: Option<&Journal>,
    tier: Tier,
    scratch: &Path,
    cache: Option<&Cache>,
) -> Result<Plan> {
    let sandbox = &config.sandbox;
    let mut roots: Vec<_> = policy.roots().iter().map(planned).collect::<Result<_>>()?;
    roots.extend(linked_git::planned(policy, tier)?);
    let of_git = linked_git::protected(policy)
        .filter(|_| tier == Tier::Namespaces)
        .map(|path| (&path).into());
    let protected = policy.protected().map(Into::into).chain(of_git).collect();
    let mut environment = sandbox.environment.clone();
    if linked_git::is_partly_writable(&roots) {
        configure_git(&mut environment, linked_git::GC.into_iter())?;
    }
    if sandbox.ssh_agent.is_some() {
        configure_git(&mut environment, GIT_SIGNS.into_iter())?;
    }
    if let Some(root) = cache.map(Cache::root).transpose()? {
        if environment.iter().all(|(name, _)| name != CACHE_VARIABLE) {
            environment.push((CACHE_VARIABLE.into(), root.place.path.as_path().into()));
        }
        roots.push(root);
    }
    let mut plan = Plan {
        tier,
        is_tried: sandbox.is_tried,
        network: sandbox.network,
        answers_names: is_by_rule(config),
        roots,
        other_names: policy
            .other_names()
            .map(|(name, path)| (name.into(), path.into()))
            .collect(),
        protected,
        hidden: policy.hidden().map(concealed).collect(),
        hide: policy
            .hidden_by_patterns()
            .map(|hide| planned_hide(config, hide)),
        system: sandbox
            .system
            .iter()
            .map(|seen| (&seen.path).into())
            .collect(),
        public_only: sandbox
            .definitions
            .system()
            .iter()
            .map(Into::into)
            .collect(),
        devices: devices(&sandbox.devices)?,
        sockets: Vec::new(),
        public: Vec::new(),
        scratch: scratch.into(),
        cache: cache.map(Cache::planned).transpose()?,
        private_home: sandbox.private_home,
        layers: sandbox.downloads.planned()?,
        cargo_home: sandbox
            .cargo_home
            .as_ref()
            .filter(|_| tier == Tier::Namespaces)
            .map(Into::into),
        environment: environment
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        limits: sandbox.limits.clone(),
        journal: undo::planned(config, journal, policy, tier)?,
    };
    if tier == Tier::Namespaces {
        plan.sockets = sockets(config)?;
        let named = sandbox.sockets.iter().map(Into::into);
        plan.system
            .extend(named.chain(plan.sockets.iter().map(|socket| socket.path.clone())));
    }
    if let Some(home) = home_of_commands(&plan, scratch) {
        append_to_path(&mut plan, &home.join(PROGRAMS_OF_HOME));
        // Commands find a cache by the operator's variable, at its place in their HOME.
        let layers = sandbox.downloads.shown.iter();
        let named = layers.filter_map(|layer| layer.download.named_by.as_ref());
        let unset =
            named.filter(|(name, _)| environment.iter().all(|(known, _)| known != name.as_str()));
        let places = unset.map(|(name, below)| (name.into(), (&home.join(below)).into()));
        plan.environment.extend(places);
    }
    if let Some(place) = &plan.cargo_home {
        let installed = Path::new(private_home(&plan)).join(".cargo");
        plan.environment.extend([
            (CARGO_HOME.into(), place.clone()),
            (CARGO_INSTALL_ROOT.into(), (&installed).into()),
        ]);
    }
    Ok(plan)
}

/// Directory below the private HOME for programs that commands install.
const PROGRAMS_OF_HOME: &str = ".local/bin";

/// Returns the private HOME as commands name it, if they have one.
fn home_of_commands(plan: &Plan, scratch: &Path) -> Option<PathBuf> {
    let home = match plan.tier {
        Tier::Namespaces => PathBuf::from(private_home(plan)),
        Tier::Landlock | Tier::Off => scratch.join("home"),
    };
    // `replay sandbox explain` has no scratch directory.
    (plan.private_home && home.is_absolute()).then_some(home)
}

/// Adds a directory to the end of PATH, so that its programs replace none of the operator's.
fn append_to_path(plan: &mut Plan, directory: &Path) {
    let mut variables = plan.environment.iter_mut();
    if let Some((_, value)) = variables.find(|(name, _)| name.0 == "PATH") {
        value.0.push(":");
        value.0.push(directory);
    }
}

/// Identifies the devices of --device.
fn devices(devices: &Devices) -> Result<PlannedDevices> {
    let nodes = devices.nodes.iter();
    Ok(PlannedDevices {
        nodes: nodes.map(|(path, _)| device(path)).collect::<Result<_>>()?,
        sysfs: devices.system.iter().map(Into::into).collect(),
        names_threads: devices.names_threads,
    })
}

fn device(path: &Path) -> Result<CanonicalPath> {
    let stat = rustix::fs::stat(path).with_context(|| format!("--device `{}`", path.display()))?;
    Ok(CanonicalPath {
        path: path.into(),
        dev: stat.st_dev,
        ino: stat.st_ino,
    })
}

/// Warns about devices, and about those that the server's user cannot open.
fn warn_of_devices(devices: &Devices) {
    let given: Vec<_> = devices
        .nodes
        .iter()
        .map(|(path, _)| path.display().to_string())
        .collect();
    if given.is_empty() {
        return;
    }
    tracing::warn!(
        "commands use {} (--device): a device leads into a driver of the kernel, which no undo and no limit covers",
        given.join(", ")
    );
    for (path, by) in &devices.nodes {
        let access = Access::READ_OK | Access::WRITE_OK;
        if rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS).is_err() {
            tracing::warn!(
                "`{}` (--device {by}) can be opened for reading and writing only by others: its mode refuses the user of \
                 this server; add the user to the group of the device",
                path.display()
            );
        }
    }
}

/// Checks the sockets of --allow-socket.
#[expect(clippy::disallowed_methods, reason = "the operator's paths")]
fn sockets(config: &Config) -> Result<Vec<CanonicalPath>> {
    let place = |path: &PathBuf| {
        let path = std::fs::canonicalize(path)
            .map_err(|error| anyhow!("{error}; start the program that listens there first"))?;
        let stat = std::fs::metadata(&path)?;
        anyhow::ensure!(
            stat.file_type().is_socket(),
            "it is not a unix socket; give the socket of the program outside"
        );
        Ok(CanonicalPath {
            path: (&path).into(),
            dev: stat.dev(),
            ino: stat.ino(),
        })
    };
    let places = config.sandbox.sockets.iter();
    places
        .map(|path| place(path).with_context(|| format!("--allow-socket `{}`", path.display())))
        .collect()
}

fn planned_hide(config: &Config, hide: &Hide) -> PlannedHide {
    PlannedHide {
        patterns: config.hide.clone(),
        aliases: hide
            .found
            .aliases
            .iter()
            .map(|(one, other)| (one.into(), other.into()))
            .collect(),
        targets: hide.found.targets.iter().map(Into::into).collect(),
        ids: hide.found.ids.iter().copied().collect(),
    }
}

fn concealed(hidden: &Hidden) -> CanonicalPath {
    CanonicalPath {
        path: (&hidden.path).into(),
        dev: hidden.id.0,
        ino: hidden.id.1,
    }
}

fn planned(root: &Root) -> Result<PlannedRoot> {
    let stat = rustix::fs::fstat(root)
        .with_context(|| format!("`{}` cannot be looked at", root.path().display()))?;
    let place = CanonicalPath {
        path: root.path().into(),
        dev: stat.st_dev,
        ino: stat.st_ino,
    };
    Ok(PlannedRoot {
        place,
        writable: root.writable(),
        extent: Extent::Allowed,
    })
}
