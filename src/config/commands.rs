//! Settings of commands and their walls, merged from the command line and the profile.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use replay_base::limits;
use replay_environment::toolchains::{CARGO_HOME, Toolchains};
use replay_environment::{
    Definitions, Devices, EnvRules, Hint, HomeFile, MachineDevices, Visible, variables,
};
use replay_files::policy::Grant;
use replay_sandbox::explain::ExplicitRequests;
use replay_sandbox::{Limits, Network, own_host_names};
use serde_json::Value;

use super::credentials;
use super::directories::without_parents;
use super::downloads::{self, Downloads, Homes};
use super::machine::{self, VisibleMachine};
use super::process_state::ProcessState;
use super::profile::Profile;
use super::publish;
use super::upstream_proxy;
use super::withheld::{self, CommandEnvironment, Withheld};
use crate::cli::{CredentialArgs, Home, LinkedGit, NetworkArg, Options, Sandbox};
use replay_network::rules::{Credentials, Rule, Rules};
use replay_network::upstream_proxy::{ProxySettingError, UpstreamProxy, is_proxy_variable};
use replay_proxy::PublishRules;

/// Settings of package managers without a network: no retries, which would take half a minute, and
/// no update checks.
const WITHOUT_NETWORK: [(&str, &str); 4] = [
    ("npm_config_fetch_retries", "0"),
    ("npm_config_update_notifier", "false"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_RETRIES", "0"),
];

/// Settings of package managers with a network by rules: one quick retry, since a blocked
/// connection stays blocked.
const NETWORK_BY_RULE: [(&str, &str); 7] = [
    ("npm_config_fetch_retry_mintimeout", "1000"),
    ("npm_config_fetch_retry_maxtimeout", "1000"),
    ("npm_config_update_notifier", "false"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_RETRIES", "1"),
    ("UV_HTTP_RETRIES", "1"),
    ("CARGO_NET_RETRY", "1"),
];

/// Share of the memory limit for the heap of a runtime, in percent; the rest is for its stacks and code.
const HEAP_PERCENT: u64 = 75;

/// Settings of runtimes that size their heap by the machine's memory: Go, Node.js, .NET and Java. A
/// limit that is no cgroup is not visible to them.
fn heap_limits(bytes: u64) -> [(&'static str, String); 4] {
    let heap = bytes / 100 * HEAP_PERCENT;
    [
        ("GOMEMLIMIT", heap.to_string()),
        (
            "NODE_OPTIONS",
            format!("--max-old-space-size={}", heap / (1024 * 1024)),
        ),
        ("DOTNET_GCHeapHardLimit", format!("{heap:x}")),
        ("JAVA_TOOL_OPTIONS", format!("-XX:MaxRAM={bytes}")),
    ]
}

/// Environment of git, since commands have no terminal (git(1), git-var(1)). An editor would block,
/// and a dummy editor would accept any message. `git status` does not write the index, so that
/// read-only commands change nothing.
const GIT: [(&str, &str); 2] = [
    (
        "GIT_EDITOR",
        "test -t 0 && exec ${VISUAL:-${EDITOR:-vi}} \"$@\"; echo 'commands have no editor: give the text with -m, -F or --no-edit, or \
         a program as GIT_EDITOR or GIT_SEQUENCE_EDITOR' >&2; false",
    ),
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// Git's background work (`git maintenance run --auto`) runs in the foreground, since no process
/// survives its command. Linked worktrees that commands cannot see must not be pruned.
const GIT_KEEPS: [(&str, &str); 3] = [
    ("gc.autoDetach", "false"),
    ("maintenance.autoDetach", "false"),
    ("gc.worktreePruneExpire", "never"),
];

/// Settings of the walls around commands that do not depend on the tier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct SandboxConfig {
    /// The requested walls.
    pub mode: Sandbox,
    /// `true` if a trivial command tests the walls at the start.
    pub is_tried: bool,
    /// The network of commands; [`Network::Host`] without walls.
    pub network: Network,
    /// Rules for hosts of the system's network that commands may reach.
    pub rules: Rules,
    /// Secrets that commands use without reading them.
    pub credentials: Credentials,
    /// Files that the secrets were read from.
    pub secret_files: Vec<PathBuf>,
    /// Ports of commands that programs of this machine reach.
    pub publish: PublishRules,
    /// Proxy of the operator, for connections that the server makes.
    pub upstream_proxy: Option<Arc<UpstreamProxy>>,
    /// File that this proxy was read from.
    pub proxy_file: Option<PathBuf>,
    /// Variables that name no usable proxy, each with the reason.
    pub proxy_faults: Vec<ProxySettingError>,
    /// Path of the mock set that replaces the network.
    pub recording: Option<String>,
    /// `true` if the operator explicitly requested a loopback.
    pub loopback_asked: bool,
    /// Access of commands to repositories outside, for linked worktrees and submodules.
    pub linked_git: LinkedGit,
    /// Socket of the ssh-agent that signs for git.
    pub ssh_agent: Option<PathBuf>,
    /// Unix sockets of programs outside that commands may connect to.
    pub sockets: Vec<PathBuf>,
    /// Resource limits of one command.
    pub limits: Limits,
    /// `true` if the operator explicitly requested a limit on processes.
    pub processes_asked: bool,
    /// `true` if commands get a HOME of their own; otherwise `environment` contains the server's.
    pub private_home: bool,
    /// Environment of every command. Lacks TMPDIR, and HOME if that is private; without walls it
    /// has both.
    pub environment: Vec<(OsString, OsString)>,
    /// Paths that commands see, read-only and executable, each with a reason. They need not exist.
    pub system: Vec<Visible>,
    /// Notes on failed commands.
    pub hints: Vec<Hint>,
    /// Symlinks to create in the private home: their relative paths, and their targets in `system`.
    pub home_links: Vec<(PathBuf, PathBuf)>,
    /// Caches of the operator's package managers.
    pub downloads: Downloads,
    /// Path outside of cargo's directory, if the private one is also mounted there. Replaces such
    /// symlinks.
    pub cargo_home: Option<PathBuf>,
    /// Definitions of what commands get of the machine.
    pub definitions: Definitions,
    /// Files of the private home that stand for the operator's.
    pub home_files: Vec<HomeFile>,
    /// Own scripts of PATH, which commands do not see, for messages.
    pub left_out_scripts: Vec<String>,
    /// PATH entries that commands do not see, for messages.
    pub unseen_path: Vec<String>,
    /// Variables of the operator that commands do not get.
    pub withheld: Vec<Withheld>,
    /// Persistent cache of package managers.
    pub cache: Option<CacheConfig>,
    /// Devices of the machine for commands, and those that they do not get.
    pub devices: Devices,
    /// Reason to refuse commands with any walls, if there is one.
    pub refused: Option<String>,
}

/// Persistent cache of package managers: directory and maximum size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    pub dir: PathBuf,
    pub bytes: u64,
}

impl SandboxConfig {
    /// Resolves the settings; with `learns` commands reach everything. Fails on contradictory or
    /// impossible values.
    pub(super) fn resolve(
        options: &Options,
        profile: &Profile,
        world: &ProcessState,
        grants: &[Grant],
        learns: bool,
    ) -> Result<Self> {
        let mode = options
            .walls
            .sandbox
            .or(profile.sandbox)
            .unwrap_or(Sandbox::Require);
        let (network, loopback_asked, recording) = network(options, profile, mode)?;
        let hosts = rules(options, profile, mode, learns)?;
        let (credentials, mut secret_files) =
            declared_credentials(options, profile, world, &hosts)?;
        let upstream = upstream_proxy::resolve(
            options.network.upstream_proxy.as_deref(),
            profile.upstream_proxy.as_deref(),
            &world.here,
            |name| world.variable(name),
        )?;
        secret_files.extend(upstream.file.clone());
        if let Some(proxy) = &upstream.proxy {
            upstream_proxy::refuse_in_rules(&hosts, proxy)?;
        }

        let home = options.walls.home.or(profile.home).unwrap_or(Home::Private);
        let private_home = mode != Sandbox::Off && home == Home::Private;
        let cache = cache(options, profile, world, private_home)?;
        let roots = true_roots(grants);
        let is_by_rule = !hosts.is_empty() || recording.is_some();
        // With a network, cargo downloads crates itself, possibly from a private registry.
        let is_offline = private_home
            && cache.is_none()
            && network != Network::Host
            && !is_by_rule
            && !options.walls.no_toolchain_caches;
        let VisibleMachine {
            definitions,
            found,
            programs,
            scope,
        } = machine::visible(
            options,
            profile,
            world,
            mode,
            &roots,
            private_home,
            is_offline,
        )?;

        let homes = Homes {
            private_home,
            has_cache: cache.is_some(),
        };
        let downloads = downloads::resolve(options, profile, world, homes, &definitions, &roots)?;
        let mut rules = EnvRules {
            whole: world.own,
            ..env_rules(options, profile, &found, &roots, mode)?
        };
        rules.set.extend(downloads.variables());
        let world = &world.with_path(&programs.path);
        let kept: &[&str] = match (mode, private_home) {
            (Sandbox::Off, _) => &["HOME", "TMPDIR"],
            (_, false) => &["HOME"],
            (_, true) => &[],
        };
        let usual: &[_] = match network {
            _ if is_by_rule => &NETWORK_BY_RULE,
            Network::Host => &[],
            Network::None | Network::Loopback => &WITHOUT_NETWORK,
        };
        let reaches_proxies = network == Network::Host && !is_by_rule;
        let usual = Usual {
            kept,
            settings: usual,
            reaches_proxies,
        };
        let mut environment = command_variables(world, &rules, &definitions, &usual);
        let bounds = limits(options, profile);
        if let Some(bytes) = bounds.memory_bytes.filter(|_| mode != Sandbox::Off) {
            let known = |name: &str| environment.iter().any(|(known, _)| known == name);
            let missing: Vec<_> = heap_limits(bytes)
                .into_iter()
                .filter(|(name, _)| !known(name))
                .collect();
            let missing = missing.into_iter();
            environment.extend(missing.map(|(name, value)| (name.into(), value.into())));
        }
        if !world.own {
            credentials::configure_git(&mut environment, GIT_KEEPS.into_iter())?;
        }
        credentials::stand_in(&mut environment, &credentials)?;
        let is_free = |place: &PathBuf| {
            let is_taken = environment.iter().any(|(name, _)| name == CARGO_HOME)
                || found.system.iter().any(|seen| seen.path == *place)
                || roots
                    .iter()
                    .any(|root| root.starts_with(place) || place.starts_with(root));
            private_home && !is_taken
        };
        let cargo_home = found.cargo_home.clone().filter(is_free);
        let home_files = if private_home {
            machine::home_files(
                world,
                &definitions,
                scope,
                &rules,
                &environment,
                &roots,
                &credentials,
            )
        } else {
            Vec::new()
        };
        let withheld = if mode == Sandbox::Off {
            Vec::new()
        } else {
            let given = CommandEnvironment {
                definitions: &definitions,
                rules: &rules,
                variables: &environment,
                downloads: &downloads,
                has_cache: cache.is_some(),
            };
            withheld::resolve(world, given)
        };
        let leads_to_machine = |rule: &String| {
            let names = ["127.", "localhost", "[::1]"];
            names.iter().any(|name| rule.starts_with(name))
        };
        let has_loopback =
            network != Network::Host && !hosts.texts().0.iter().any(leads_to_machine);
        let ssh_agent = (options.walls.ssh_sign || profile.ssh_sign)
            .then(|| ssh_agent(world))
            .transpose()?;

        Ok(Self {
            mode,
            is_tried: true,
            network,
            rules: hosts,
            credentials,
            secret_files,
            publish: publish::resolve(options, profile, mode, network)?,
            upstream_proxy: upstream.proxy,
            proxy_file: upstream.file,
            proxy_faults: upstream.faults,
            recording,
            loopback_asked,
            linked_git: options.walls.git.or(profile.git).unwrap_or(LinkedGit::Auto),
            ssh_agent,
            sockets: options
                .walls
                .allow_socket
                .iter()
                .chain(&profile.allow_socket)
                .map(|path| world.here.join(path))
                .collect(),
            limits: bounds,
            processes_asked: options
                .limits
                .limit_processes
                .or(profile.limits.processes)
                .is_some(),
            private_home,
            environment,
            home_files,
            left_out_scripts: machine::shown(world, &programs.left_out),
            unseen_path: machine::shown(world, &programs.unseen),
            withheld,
            cache,
            devices: devices(options, profile, mode, &definitions)?,
            refused: refused(profile, mode, &found.system),
            hints: if mode == Sandbox::Off {
                Vec::new()
            } else {
                downloads.hints(world, &definitions, has_loopback)
            },
            downloads,
            home_links: found.home_links,
            cargo_home,
            system: found.system,
            definitions,
        })
    }

    /// Hosts that the operator's configuration names and no rule reaches yet, each once.
    pub fn configured_hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = Vec::new();
        for host in self.home_files.iter().flat_map(|file| &file.hosts) {
            let rule = host.parse::<Rule>();
            let is_reached = rule.is_ok_and(|rule| self.rules.reach(&rule));
            if !is_reached && !hosts.contains(host) {
                hosts.push(host.clone());
            }
        }
        hosts
    }

    /// Explicit requests of the operator, including these protected paths.
    pub fn explicit_requests<'a>(&self, protected: &'a [&'a Path]) -> ExplicitRequests<'a> {
        ExplicitRequests {
            protected,
            loopback: self.loopback_asked,
            processes: self.processes_asked,
        }
    }
}

/// Finds the devices of the command line and of the profile.
fn devices(
    options: &Options,
    profile: &Profile,
    mode: Sandbox,
    definitions: &Definitions,
) -> Result<Devices> {
    let asked = [&options.walls.device[..], &profile.devices].concat();
    if mode != Sandbox::Off {
        return Ok(Devices::find(definitions, &asked, &MachineDevices)?);
    }
    if !asked.is_empty() {
        bail!(
            "--device gives commands behind walls a device; without walls (--sandbox off) they can use \
             all devices of the server's user: leave --device out"
        );
    }
    Ok(Devices::default())
}

fn ssh_agent(world: &ProcessState) -> Result<PathBuf> {
    let named = world
        .variable("SSH_AUTH_SOCK")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    named.context(
        "--ssh-sign: the variable SSH_AUTH_SOCK names no socket of an ssh-agent; start one with `eval $(ssh-agent)`, add a key \
         with `ssh-add`, and start this program from there",
    )
}

/// Resolves the credentials of the command line and the profile, and the files of their secrets.
fn declared_credentials(
    options: &Options,
    profile: &Profile,
    world: &ProcessState,
    hosts: &Rules,
) -> Result<(Credentials, Vec<PathBuf>)> {
    let CredentialArgs {
        credentials: typed,
        are_all,
    } = &options.network.credentials;
    let declared = if *are_all {
        typed.clone()
    } else {
        [&typed[..], &profile.credentials].concat()
    };
    let (credentials, files) =
        credentials::resolve(&declared, hosts, &world.here, |name| world.variable(name))?;
    credentials
        .iter()
        .try_for_each(|one| reject_fixed_variable(OsStr::new(&one.name)))?;
    Ok((credentials, files))
}

/// Variables of commands besides those that rules pass.
struct Usual<'a> {
    /// Names of the server's that they keep.
    kept: &'a [&'a str],
    /// Settings of package managers.
    settings: &'a [(&'a str, &'a str)],
    /// True if they can reach the proxies that variables name.
    reaches_proxies: bool,
}

/// Environment of commands: variables that `rules` pass or set, and `usual` ones. Adds settings of
/// package managers and of git, unless they are set. Commands that cannot reach proxies get no
/// settings of them, unless the operator names the variable.
fn command_variables(
    world: &ProcessState,
    rules: &EnvRules,
    definitions: &Definitions,
    usual: &Usual<'_>,
) -> Vec<(OsString, OsString)> {
    let is_named = |name: &OsStr| rules.pass.iter().any(|passed| name == passed.as_str());
    let is_useful = |(name, _): &&(OsString, OsString)| {
        usual.reaches_proxies || !is_proxy_variable(name) || is_named(name)
    };
    let own = world.vars.iter().filter(is_useful).cloned();
    let mut environment = variables::scrub(own, rules, definitions);
    environment.extend(
        usual
            .kept
            .iter()
            .filter_map(|name| Some((name.into(), world.variable(name)?))),
    );
    let settings = usual
        .settings
        .iter()
        .chain(GIT.iter().filter(|_| !world.own));
    let unset = |(name, _): &&(&str, &str)| environment.iter().all(|(known, _)| known != name);
    let missing: Vec<_> = settings.filter(unset).collect();
    environment.extend(
        missing
            .into_iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    environment
}

/// Network of commands: from the command line, else from the profile, else loopback. Also returns
/// true for an explicit loopback, and the mock set that replaces the network. Both sources may
/// agree, but not differ.
fn network(
    options: &Options,
    profile: &Profile,
    mode: Sandbox,
) -> Result<(Network, bool, Option<String>)> {
    if let (Some(allow), Some(network)) = (profile.allow_network, &profile.network)
        && allow != (*network == NetworkArg::Host)
    {
        bail!(
            "the profile's `allow_network` is {allow}, which contradicts its `network`; leave one \
             of them out"
        );
    }
    let allowed = profile.allow_network.map(|allow| {
        if allow {
            NetworkArg::Host
        } else {
            NetworkArg::Loopback
        }
    });
    let said = options.network.network.clone().or(profile.network.clone());
    let loopback_asked = said == Some(NetworkArg::Loopback);
    let asked = said.or(allowed);
    if mode == Sandbox::Off {
        if asked.is_some_and(|network| network != NetworkArg::Host) {
            bail!(
                "without walls (--sandbox off) commands have the whole network; add --network \
                 host, or leave --sandbox off out"
            );
        }
        return Ok((Network::Host, false, None));
    }
    let (network, recording) = match asked.unwrap_or(NetworkArg::Loopback) {
        NetworkArg::None => (Network::None, None),
        NetworkArg::Loopback => (Network::Loopback, None),
        NetworkArg::Host => (Network::Host, None),
        NetworkArg::Replay(set) => (Network::Loopback, Some(set)),
    };
    Ok((network, loopback_asked, recording))
}

/// Merges the rules of the command line and of the profile.
fn rules(options: &Options, profile: &Profile, mode: Sandbox, learns: bool) -> Result<Rules> {
    let sets: Vec<String> = options
        .network
        .allow_hosts
        .iter()
        .chain(&profile.allow_hosts)
        .map(|set| format!("@{set}"))
        .collect();
    let allow = [&sets[..], &options.network.allow_host, &profile.allow_host].concat();
    let deny = [&options.network.deny_host[..], &profile.deny_host].concat();
    let rules = Rules::new(&allow, &deny)?;
    let rules = if learns { rules.learning() } else { rules };
    if rules.is_empty() {
        return Ok(rules);
    }
    rules.refuse_own_names(&own_host_names())?;
    if mode == Sandbox::Off {
        bail!(
            "--allow-host and --deny-host need the walls around commands; leave --sandbox off out"
        );
    }
    if allow.is_empty() && !learns {
        bail!("--deny-host narrows --allow-host, which is missing; add --allow-host");
    }
    if options.network.network.is_some()
        || profile.network.is_some()
        || profile.allow_network == Some(true)
    {
        bail!("--allow-host and --network both set the network of commands; leave one of them out");
    }
    Ok(rules)
}

fn limits(options: &Options, profile: &Profile) -> Limits {
    let profile = &profile.limits;
    Limits {
        processes: options
            .limits
            .limit_processes
            .or(profile.processes)
            .or(Some(limits::MAX_COMMAND_PROCESSES)),
        file_bytes: options.limits.limit_file_bytes.or(profile.file_bytes),
        cpu_secs: options.limits.limit_cpu_secs.or(profile.cpu_secs),
        memory_bytes: options.limits.limit_memory_bytes.or(profile.memory_bytes),
        open_files: options.limits.limit_open_files.or(profile.open_files),
        oom_score_adj: limits::COMMAND_OOM_SCORE_ADJ,
    }
}

fn cache(
    options: &Options,
    profile: &Profile,
    world: &ProcessState,
    private_home: bool,
) -> Result<Option<CacheConfig>> {
    let Some(dir) = options.walls.cache.as_ref().or(profile.cache.as_ref()) else {
        return Ok(None);
    };
    if !private_home {
        bail!(
            "--cache needs the private HOME of commands; leave out --sandbox off and --home \
             read-only"
        );
    }
    let mib = options
        .walls
        .cache_mib
        .or(profile.limits.cache_mib)
        .unwrap_or(limits::DEFAULT_CACHE_MIB);
    Ok(Some(CacheConfig {
        dir: without_parents(&world.here, dir),
        bytes: mib * 1024 * 1024,
    }))
}

/// Paths of the grants, as typed and with symlinks resolved.
fn true_roots(grants: &[Grant]) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    for grant in grants {
        for path in [
            Some(grant.path.clone()),
            std::fs::canonicalize(&grant.path).ok(),
        ]
        .into_iter()
        .flatten()
        {
            if !path.as_os_str().is_empty() && !roots.contains(&path) {
                roots.push(path);
            }
        }
    }
    roots
}

/// Shell of commands. The default is bash, since users and models write bash scripts.
fn shell(asked: Option<&PathBuf>) -> Result<OsString> {
    const USUAL: &str = "/bin/bash";
    match asked {
        Some(path) if path.is_absolute() && path.is_file() => Ok(path.into()),
        Some(path) => {
            bail!(
                "--shell `{}` is not a program; give the absolute path of one, such as /bin/sh",
                path.display()
            )
        }
        None if Path::new(USUAL).is_file() => Ok(USUAL.into()),
        None => Ok(variables::FALLBACK_SHELL.into()),
    }
}

fn env_rules(
    options: &Options,
    profile: &Profile,
    found: &Toolchains,
    roots: &[PathBuf],
    mode: Sandbox,
) -> Result<EnvRules> {
    let mut rules = EnvRules {
        drop: profile.env.drop.clone(),
        ..EnvRules::default()
    };
    rules.visible = (mode != Sandbox::Off).then(|| {
        let seen = found.system.iter().map(|seen| seen.path.clone());
        // Certificates are in `/etc`.
        seen.chain(roots.iter().cloned())
            .chain(["/etc".into()])
            .collect()
    });
    rules.shell = Some(shell(
        options.walls.shell.as_ref().or(profile.shell.as_ref()),
    )?);
    rules.set.extend(found.variables.iter().cloned());
    if let Some(identity) = options
        .walls
        .git_identity
        .as_ref()
        .or(profile.git_identity.as_ref())
    {
        rules.set.extend(git_identity(identity)?);
    }
    for name in &profile.env.pass {
        rules.pass.push(passable(name, "env.pass")?);
    }
    for (name, value) in &profile.env.set {
        let Value::String(value) = value else {
            bail!("the profile's `env.set.{name}` must be a string")
        };
        rules.set.push(settable(name.into(), value.into())?);
    }
    for typed in &options.walls.env {
        let bytes = typed.as_bytes();
        if let Some(end) = memchr::memchr(b'=', bytes) {
            let [name, value] =
                [&bytes[..end], &bytes[end + 1..]].map(|part| OsString::from_vec(part.to_vec()));
            rules.set.push(settable(name, value)?);
        } else {
            let name = typed
                .to_str()
                .with_context(|| format!("--env `{}` is not UTF-8", typed.display()))?;
            rules.pass.push(passable(name, "--env")?);
        }
    }
    Ok(rules)
}

/// Rejects HOME and TMPDIR, which the walls determine.
fn reject_fixed_variable(name: &OsStr) -> Result<()> {
    if name == "HOME" || name == "TMPDIR" {
        let remedy = if name == "HOME" {
            "--home read-only gives commands the real one"
        } else {
            "it is always private"
        };
        bail!("`{}` of commands cannot be set: {remedy}", name.display());
    }
    Ok(())
}

fn passable(name: &str, by: &str) -> Result<String> {
    if !variables::is_name(OsStr::new(name)) {
        bail!("`{by}`: `{name}` is not a valid variable name");
    }
    reject_fixed_variable(OsStr::new(name))?;
    Ok(name.to_owned())
}

fn settable(name: OsString, value: OsString) -> Result<(OsString, OsString)> {
    if !variables::is_name(&name) || value.as_bytes().contains(&0) {
        bail!(
            "`{}` is not a valid variable name, or its value contains a NUL byte",
            name.display()
        );
    }
    reject_fixed_variable(&name)?;
    Ok((name, value))
}

/// Environment variables of git's author and committer (git-commit(1)).
fn git_identity(identity: &str) -> Result<[(OsString, OsString); 4]> {
    let parts = identity
        .strip_suffix('>')
        .and_then(|rest| rest.split_once('<'));
    let plain = |text: &str| !text.is_empty() && !text.contains(['<', '>', '\n', '\0']);
    match parts.map(|(name, mail)| (name.trim(), mail.trim())) {
        Some((name, mail)) if plain(name) && plain(mail) => Ok([
            ("GIT_AUTHOR_NAME".into(), name.into()),
            ("GIT_AUTHOR_EMAIL".into(), mail.into()),
            ("GIT_COMMITTER_NAME".into(), name.into()),
            ("GIT_COMMITTER_EMAIL".into(), mail.into()),
        ]),
        _ => bail!("the git identity `{identity}` is not of the form `Name <mail>`"),
    }
}

/// Reason to refuse commands that no wall can remove.
fn refused(profile: &Profile, mode: Sandbox, system: &[Visible]) -> Option<String> {
    let reason = if profile.allow_exec == Some(false) {
        "the profile has `allow_exec: false`"
    } else if profile.allow_fork == Some(false) {
        "the profile has `allow_fork: false`, but a shell must start programs; use \
         `limits.processes` to limit their number"
    } else if mode != Sandbox::Off && system.is_empty() {
        "the profile has `import_baseline: false` and names no directory of programs (`system`), \
         so there is no shell"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

#[cfg(test)]
mod tests;
