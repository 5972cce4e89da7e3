//! Explanation of the walls: the text of `replay sandbox explain`, and the parts of a plan that a
//! tier cannot enforce. Pure functions of plain data.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use replay_base::limits::{COMMAND_OPEN_FILES, MEMORY_WATCH_MS};

use super::common_git;
use super::plan::{Extent, Network, Plan, PlannedRoot, Tier};
use super::raw_string::RawString;
use super::status::WallStatus;
use super::wire::{CgroupView, MemoryHold};
use replay_environment::toolchains::is_export;
use replay_environment::variables::is_harmless;
use replay_environment::{Definitions, Devices, HomeFile, Visible};

/// Explicit requests of the operator. If a tier cannot enforce one of them, commands are refused.
/// Unenforceable defaults are only gaps, which [`gaps`] lists.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExplicitRequests<'a> {
    /// Paths given with `--protect`, and files that other flags name.
    pub protected: &'a [&'a Path],
    pub loopback: bool,
    /// A limit on the number of processes.
    pub processes: bool,
}

/// An explicit request of the operator that the Landlock tier cannot enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unenforceable {
    /// A path given with `--protect`, or a file that configures the server.
    Protected {
        /// Absolute.
        path: PathBuf,
    },
    /// An allowed directory that is read-only.
    ReadOnlyRoot {
        path: PathBuf,
        /// The read-write directory that contains it.
        inside: PathBuf,
    },
    /// A read-write directory inside another one. Without a mount that pins it, a command could
    /// move it. Then the tools, later commands and the next start would use a different directory.
    NestedRoot {
        path: PathBuf,
        /// The read-write directory that contains it.
        inside: PathBuf,
    },
    /// A path hidden from commands.
    Hidden { path: PathBuf },
    /// A loopback device: without a network namespace it would be the system's.
    Loopback,
    /// A limit on the number of processes: without a user namespace it would count all processes of
    /// the user.
    Processes,
}

impl Unenforceable {
    /// Text for the reason of a refusal.
    pub fn describe(&self) -> String {
        match self {
            Self::Protected { path } => {
                format!(
                    "`{}` cannot be kept read-only (--protect, or it configures the server)",
                    path.display()
                )
            }
            Self::ReadOnlyRoot { path, inside } => {
                format!(
                    "`{}` cannot be read-only inside `{}`, which is read-write",
                    path.display(),
                    inside.display()
                )
            }
            Self::NestedRoot { path, inside } => {
                format!(
                    "`{}` cannot be fixed inside `{}`: commands could move it",
                    path.display(),
                    inside.display()
                )
            }
            Self::Hidden { path } => {
                format!(
                    "`{}`, which has files of undo or of other servers' commands, cannot be \
                     hidden from commands: allow a directory without it (TMPDIR moves the files \
                     of commands)",
                    path.display()
                )
            }
            Self::Loopback => {
                "without namespaces commands have no private loopback (--network loopback)".into()
            }
            Self::Processes => {
                "without namespaces the number of processes cannot be limited (--limit-processes)"
                    .into()
            }
        }
    }
}

/// Returns the explicit requests that the plan's tier cannot enforce; commands must then be
/// refused.
pub fn unenforceable(plan: &Plan, asked: ExplicitRequests<'_>) -> Vec<Unenforceable> {
    if plan.tier != Tier::Landlock {
        return Vec::new();
    }
    let protected = asked
        .protected
        .iter()
        .filter(|path| is_writable(plan, path));
    let protected = protected.map(|path| Unenforceable::Protected {
        path: path.to_path_buf(),
    });
    let nested = plan.roots.iter().filter_map(|root| {
        let path = root.place.path.as_path().to_path_buf();
        let inside = writable_above(plan, root)?
            .place
            .path
            .as_path()
            .to_path_buf();
        Some(if root.writable {
            Unenforceable::NestedRoot { path, inside }
        } else {
            Unenforceable::ReadOnlyRoot { path, inside }
        })
    });
    let hidden = plan.hidden.iter().map(|place| Unenforceable::Hidden {
        path: place.path.as_path().to_path_buf(),
    });
    let loopback = asked.loopback.then_some(Unenforceable::Loopback);
    let processes = asked.processes.then_some(Unenforceable::Processes);
    protected
        .chain(nested)
        .chain(hidden)
        .chain(loopback)
        .chain(processes)
        .collect()
}

/// Returns the reason why commands are refused in the plan's tier, and the remedy. `None` if the
/// tier enforces all explicit requests.
pub fn refusal(plan: &Plan, asked: ExplicitRequests<'_>) -> Option<String> {
    let open = unenforceable(plan, asked);
    // Landlock rules are additive: paths below a read-write directory are read-write.
    let about_paths =
        |open: &Unenforceable| !matches!(open, Unenforceable::Loopback | Unenforceable::Processes);
    let (why, narrower) = if open.iter().any(about_paths) {
        (
            ", because Landlock rules only add rights",
            " give a narrower read-write directory,",
        )
    } else {
        ("", "")
    };
    let words: Vec<_> = open.iter().map(Unenforceable::describe).collect();
    (!open.is_empty()).then(|| {
        format!(
            "{}{why}; leave it out,{narrower} or run where user namespaces work",
            words.join(", and ")
        )
    })
}

/// Returns a read-write directory that contains another one.
fn writable_above<'a>(plan: &'a Plan, nested: &PlannedRoot) -> Option<&'a PlannedRoot> {
    let path = nested.place.path.as_path();
    plan.roots.iter().find(|root| {
        let above = root.place.path.as_path();
        root.writable && above != path && path.starts_with(above)
    })
}

/// Returns a read-write directory that contains a path, at any depth.
fn writable_over<'a>(plan: &'a Plan, path: &Path) -> Option<&'a PlannedRoot> {
    plan.roots
        .iter()
        .find(|root| root.writable && path.starts_with(root.place.path.as_path()))
}

fn is_writable(plan: &Plan, path: &Path) -> bool {
    writable_over(plan, path).is_some()
}

/// Metadata that Landlock does not mediate without namespaces; file contents are safe.
const SEEN_OUTSIDE: [&str; 4] = [
    "for a path outside, commands can find out whether it exists (access), its size, times and \
     owner (stat, O_PATH), the target of a link (readlink) and the free space (statfs)",
    "commands can change into a directory outside (chdir), and see which names are used in a \
     readable one (inotify), but not list it",
    "commands can list all processes with their arguments (/proc/PID/cmdline), and wait for their \
     end (pidfd_open), but not signal or trace them",
    "commands can list the System V objects of the system (/proc/sysvipc), but not use them",
];

/// Lists the gaps of a tier for this plan, one line each. The launcher adds the gaps of this
/// system. A cgroup can limit more than memory.
pub fn gaps(plan: &Plan, asked: ExplicitRequests<'_>, memory: Option<&MemoryHold>) -> Vec<String> {
    let mut gaps: Vec<String> = unenforceable(plan, asked)
        .iter()
        .map(Unenforceable::describe)
        .collect();
    match plan.tier {
        Tier::Namespaces => {}
        Tier::Landlock => {
            let open = |path: &&Path| is_writable(plan, path) && !asked.protected.contains(path);
            if let Some(first) = plan.protected.iter().map(RawString::as_path).find(open) {
                gaps.push(format!(
                    "commands can write paths that file tools protect by default, such as `{}` \
                     and the configuration of git repositories",
                    first.display()
                ));
            }
            gaps.extend(SEEN_OUTSIDE.map(Into::into));
            if plan.limits.processes.is_some() && !asked.processes && !counts_processes(memory) {
                gaps.push("the number of processes is not limited".into());
            }
            if plan.network == Network::Loopback && !asked.loopback {
                gaps.push(
                    "commands have no private loopback, so they have no network at all".into(),
                );
            }
        }
        Tier::Off => gaps.push("commands can do whatever the server's user can".into()),
    }
    gaps
}

/// Reasons for the rules of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Why<'a> {
    /// Name, release and architecture of the kernel.
    pub kernel: &'a str,
    /// Paths that commands see besides the allowed directories, each with a reason.
    pub system: &'a [Visible],
    /// Files of the private home that stand for the operator's.
    pub home: &'a [HomeFile],
    /// Own scripts of PATH, which commands do not see.
    pub scripts: &'a [String],
    /// Devices of the machine for commands, and those that they do not get.
    pub devices: &'a Devices,
    /// Read-only paths in read-write directories.
    pub protected: &'a [Protected],
    /// Settings that differ from the default.
    pub asked: ExplicitRequests<'a>,
}

/// A path that is read-only in a read-write directory.
#[derive(Clone, Debug)]
pub struct Protected {
    /// Absolute.
    pub path: PathBuf,
    /// The flag that protects it, or a note that it is protected by default.
    pub by: &'static str,
    /// The program that obeys this file, if known.
    pub program: Option<&'static str>,
}

/// Lists every rule, limit and gap for a human reader.
pub fn explain(plan: &Plan, standing: &WallStatus, why: &Why<'_>) -> String {
    let mut text = String::new();
    heading(&mut text, plan, standing, why.kernel);
    rules(&mut text, plan, standing, why);
    environment(&mut text, plan, standing);
    limits(&mut text, plan, standing.memory.as_ref());
    text.push_str("\nnot held\n");
    let mut open = standing.gaps.clone();
    open.extend(
        gaps(plan, why.asked, standing.memory.as_ref())
            .into_iter()
            .filter(|gap| !standing.gaps.contains(gap)),
    );
    for gap in &open {
        line(&mut text, gap);
    }
    if open.is_empty() {
        line(&mut text, "nothing that is known");
    }
    text
}

/// Writing to a String cannot fail.
fn line(text: &mut String, words: impl std::fmt::Display) {
    let _ = writeln!(text, "  {words}");
}

fn row(text: &mut String, name: impl std::fmt::Display, words: impl std::fmt::Display) {
    let name = name.to_string();
    let _ = writeln!(text, "  {name:<24} {words}");
}

fn heading(text: &mut String, plan: &Plan, standing: &WallStatus, kernel: &str) {
    text.push_str("walls\n");
    match (&standing.refused, standing.tier) {
        (refused, None) => {
            let none = || standing.word().into_owned();
            row(
                text,
                "commands",
                refused
                    .as_ref()
                    .map_or_else(none, |reason| format!("refused: {reason}")),
            );
            row(
                text,
                "shown below",
                format!("rules in the tier `{}`", plan.tier.as_str()),
            );
        }
        (_, Some(Tier::Off)) => row(text, "tier", "off: commands run outside any kernel wall"),
        (_, Some(_)) => row(text, "tier", plan.tier.as_str()),
    }
    for (tier, reason) in &standing.tried {
        row(text, format!("not {}", tier.as_str()), reason);
    }
    row(text, "kernel", kernel);
    match standing.landlock_abi {
        Some(abi) => row(text, "Landlock", format!("version {abi} of its interface")),
        None => row(text, "Landlock", "not in use"),
    }
    let shown = WallStatus {
        tier: Some(plan.tier),
        network: plan.network,
        ..standing.clone()
    };
    let network = match shown.effective_network() {
        _ if standing.by_rule => {
            "by rule: the hosts of --allow-host, each connection made by the server"
        }
        Network::None => "none",
        Network::Loopback => "loopback: a private one, shared by all commands of a server",
        Network::Host => "host: the system's network",
    };
    row(text, "network", network);
}

fn rules(text: &mut String, plan: &Plan, standing: &WallStatus, why: &Why<'_>) {
    text.push_str("\nallowed directories\n");
    let is_of_git =
        |root: &&PlannedRoot| matches!(root.extent, Extent::OfGit | Extent::CommonOfGit);
    let allowed: Vec<_> = plan
        .roots
        .iter()
        .filter(|root| root.extent == Extent::Allowed)
        .collect();
    let of_git: Vec<_> = plan.roots.iter().filter(is_of_git).collect();
    for root in &allowed {
        row(
            text,
            rights(root.writable),
            root.place.path.as_path().display(),
        );
    }
    if allowed.is_empty() {
        line(text, "none");
    }
    if !of_git.is_empty() {
        text.push_str("\nlinked git repositories, for commands only (--git none: nothing)\n");
    }
    for root in of_git {
        let path = root.place.path.as_path().display();
        if root.writable && root.extent == Extent::CommonOfGit {
            let (directories, files) = (
                common_git::SHARED.join(", "),
                common_git::SHARED_FILES.join(", "),
            );
            row(
                text,
                rights(true),
                format!("{path}: {directories}, {files}"),
            );
            row(text, rights(false), format!("{path}: the rest"));
        } else {
            row(text, rights(root.writable), path);
        }
    }
    for (root, cache) in plan
        .roots
        .iter()
        .filter(|root| root.extent == Extent::Cache)
        .zip(&plan.cache)
    {
        text.push_str(
            "\ncaches of package managers that stay after the server, for commands \
            only\n",
        );
        let mib = cache.bytes / (1024 * 1024);
        row(
            text,
            rights(true),
            format!(
                "{}, of which {mib} MiB are kept (--cache-mib)",
                root.place.path.as_path().display()
            ),
        );
    }
    let held = if plan.tier == Tier::Namespaces {
        ""
    } else {
        " for the file tools"
    };
    let _ = writeln!(text, "\nread-only inside them{held}");
    for Protected { path, by, program } in why.protected {
        let program = program
            .map(|program| format!(" ({program})"))
            .unwrap_or_default();
        row(text, by, format!("{}{program}", path.display()));
    }
    if why.protected.is_empty() {
        line(text, "nothing");
    }
    if let Some(hide) = &plan.hide {
        text.push_str("\nhidden from tools and commands\n");
        hide.patterns
            .iter()
            .for_each(|pattern| row(text, "--hide", pattern));
    }
    if plan.tier == Tier::Off {
        return;
    }
    text.push_str("\nunix sockets\n");
    match plan.tier {
        Tier::Namespaces => row(
            text,
            "connect",
            "only to sockets of commands of this server",
        ),
        Tier::Landlock | Tier::Off => row(
            text,
            "connect",
            "none: commands cannot create named unix sockets",
        ),
    }
    for socket in &plan.sockets {
        row(
            text,
            "--allow-socket",
            format!(
                "{}: also this socket of a program outside",
                socket.path.as_path().display()
            ),
        );
    }
    text.push_str("\nprograms, read-only (as far as they exist)\n");
    for seen in why.system {
        row(text, &seen.why, seen.path.display());
    }
    of_your_home(text, why);
    of_your_caches(text, plan);
    devices(text, why.devices);
    text.push_str("\nbeside them\n");
    row(text, "/etc", "read-only, files that everybody may read");
    match plan.tier {
        Tier::Namespaces => {
            row(
                text,
                "/tmp, /dev/shm",
                "read-write, private, shared by the commands of a server",
            );
            if let Some(place) = &plan.cargo_home {
                row(
                    text,
                    place.as_path().display(),
                    "read-write, the .cargo of their HOME, so that cargo does not rebuild inside",
                );
            }
            row(text, "/proc", "only their own processes");
            if let Some(cgroup) = &standing.cgroup {
                row(text, "/sys/fs/cgroup", cgroup_in_words(cgroup));
            }
            row(
                text,
                "/dev",
                "null, zero, full, random, urandom, tty and their own terminals",
            );
        }
        Tier::Landlock | Tier::Off => row(
            text,
            "TMPDIR",
            "read-write, private, shared by the commands of a server",
        ),
    }
}

fn cgroup_in_words(cgroup: &CgroupView) -> String {
    match cgroup {
        CgroupView::Shown => {
            "read-only, the cgroup of this server, with its cpu.max and memory.max".to_owned()
        }
        CgroupView::Missing { reason } => format!("not there: {reason}"),
    }
}

/// Lists what commands get of the operator's home, and without what.
fn of_your_home(text: &mut String, why: &Why<'_>) {
    if why.home.is_empty() && why.scripts.is_empty() {
        return;
    }
    text.push_str("\nof your home, without secrets (--environment none: nothing)\n");
    for file in why.home {
        row(text, format!("~/{}", file.path), file.describe());
    }
    for script in why.scripts {
        let words = "left out, since an own script may hold secrets (--system shows it)";
        row(text, script, words);
    }
}

/// Lists the caches of --downloads.
fn of_your_caches(text: &mut String, plan: &Plan) {
    if plan.layers.is_empty() {
        return;
    }
    text.push_str("\nyour caches (--downloads); changes of commands are their own, and removed with the server\n");
    for layer in &plan.layers {
        let mut words = layer.place.path.as_path().display().to_string();
        if !layer.private.is_empty() {
            let _ = write!(
                words,
                ", without {} entries that may be private",
                layer.private.len()
            );
        }
        row(
            text,
            format!("~/{}", layer.below.as_path().display()),
            words,
        );
    }
}

/// Lists the devices of commands, and those that they do not get.
fn devices(text: &mut String, devices: &Devices) {
    if devices.nodes.is_empty() && devices.unseen.is_empty() {
        return;
    }
    text.push_str("\ndevices of the machine, which no undo and no limit covers\n");
    for (path, by) in &devices.nodes {
        let by = if path.as_os_str() == by.as_str() {
            ""
        } else {
            by
        };
        let flag = format!("--device {by}");
        row(
            text,
            flag.trim_end(),
            format!("{}: read, write, ioctl", path.display()),
        );
    }
    for path in &devices.system {
        row(text, rights(false), path.display());
    }
    if devices.names_threads {
        row(
            text,
            "read-write",
            "/proc/self/task/*/comm: names of their own threads",
        );
    }
    for (name, note) in &devices.unseen {
        row(
            text,
            "left out",
            format!("{note} (--device {name} gives it)"),
        );
    }
}

const fn rights(writable: bool) -> &'static str {
    if writable { "read-write" } else { "read-only" }
}

fn environment(text: &mut String, plan: &Plan, standing: &WallStatus) {
    text.push_str("\nenvironment\n");
    if plan.private_home {
        let place = standing
            .home
            .as_ref()
            .map(|home| format!("{}: ", home.as_path().display()))
            .unwrap_or_default();
        row(
            text,
            "HOME",
            format!("{place}private, removed with the server"),
        );
    }
    if plan.tier != Tier::Off {
        let place = standing
            .tmp
            .as_ref()
            .map(|tmp| format!("{}: ", tmp.as_path().display()))
            .unwrap_or_default();
        row(
            text,
            "TMPDIR",
            format!("{place}private, removed with the server"),
        );
    }
    for (name, value) in &plan.environment {
        let definitions = Definitions::embedded();
        let harmless =
            is_harmless(definitions, &name.0, &value.0) || is_export(definitions, &name.0);
        let shown = if harmless {
            value.as_path().display().to_string()
        } else {
            "(set)".into()
        };
        row(text, name.as_path().display(), shown);
    }
}

fn counts_processes(memory: Option<&MemoryHold>) -> bool {
    matches!(memory, Some(MemoryHold::Cgroup { processes: true }))
}

fn limits(text: &mut String, plan: &Plan, memory: Option<&MemoryHold>) {
    let limits = &plan.limits;
    let held = plan.tier == Tier::Namespaces || counts_processes(memory);
    text.push_str("\nlimits\n");
    let mut limit = |name: &str, value: Option<u64>, unit: &str| match value {
        Some(value) => row(text, name, format!("{value} {unit}")),
        None => row(text, name, "as for the server"),
    };
    limit(
        "processes",
        limits.processes.filter(|_| held),
        "of all commands together",
    );
    limit("largest file", limits.file_bytes, "bytes");
    limit(
        "processor time",
        limits.cpu_secs,
        "seconds for each process",
    );
    let by = match memory {
        Some(MemoryHold::Cgroup { .. }) => ", held by a cgroup for each".to_owned(),
        Some(MemoryHold::Watch { reason }) => {
            format!(", looked at every {MEMORY_WATCH_MS} ms ({reason})")
        }
        None => String::new(),
    };
    limit(
        "memory",
        limits.memory_bytes,
        &format!("bytes for all processes of a command{by}"),
    );
    limit(
        "open files",
        Some(limits.open_files.unwrap_or(COMMAND_OPEN_FILES)),
        "for each process",
    );
    limit("core dumps", Some(0), "bytes");
    limit(
        "oom_score_adj",
        Some(limits.oom_score_adj.into()),
        "of 1000",
    );
}

#[cfg(test)]
mod tests;
