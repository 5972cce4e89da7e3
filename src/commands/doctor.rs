//! `replay doctor`: checks what this machine supports. Builds the walls as a server does, and tests
//! them.
#![expect(
    clippy::disallowed_methods,
    reason = "a person asks, who may look at the disk"
)]

use std::fmt::Write as _;
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::signalfd::SignalFd;
use replay_base::text::count::duration;
use replay_base::text::escape::show_path;
use replay_clients::FileFormat;
use replay_sandbox::Tier;
use replay_sandbox::exec::place_of;
use replay_sandbox::wire::MemoryHold;
use serde::Serialize;
use serde_json::Value;

use super::process::{catch_signals, print, status};
use super::sandbox::{kernel, output, request};
use super::setup::clients::{FilePlace, own_program};
use super::setup::{directories_of, entry, file, package_flags};
use super::why::find_program;
use crate::cli::{KnownClient, Options, Sandbox};
use crate::compose::alone;
use crate::config::Config;
use crate::config::reasons;
use crate::tools::Services;

/// Result of one check.
#[derive(Debug, Serialize)]
struct Finding {
    about: String,
    good: bool,
    found: String,
    /// Command that fixes the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
}

impl Finding {
    fn good(about: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            good: true,
            found: found.into(),
            run: None,
        }
    }

    fn lack(about: impl Into<String>, found: impl Into<String>, run: Option<String>) -> Self {
        Self {
            good: false,
            run,
            ..Self::good(about, found)
        }
    }
}

/// Limit of what was tested on this architecture.
const TESTED_ON: &str = if cfg!(target_arch = "aarch64") {
    ": tested on emulated processors, not on hardware"
} else {
    ""
};

/// Optional programs for commands, with their uses.
const PROGRAMS: [(&str, &str); 3] = [
    ("git", "repositories"),
    ("bash", "most scripts"),
    ("python3", "Python sessions (--tools python)"),
];

const ROUNDS: usize = 7;

/// Longest look at the size of a directory.
const SIZE_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeout of a connection to the operator's proxy.
const PROXY_TIMEOUT: Duration = Duration::from_secs(3);

/// Prints the findings. The exit status is 1 if commands would be refused.
pub(super) fn run(options: &Options, is_json: bool) -> Result<ExitCode> {
    let signals = catch_signals()?;
    let mut options = options.clone();
    if [
        &options.directories.allow,
        &options.directories.allow_read,
        &options.directories.allow_write,
    ]
    .iter()
    .all(|dirs| dirs.is_empty())
    {
        options.directories.allow_read.push(".".into());
    }
    // Without a limit no cgroup would be created.
    options.limits.limit_memory_bytes.get_or_insert(1 << 30);
    let mut findings = vec![
        Finding::good(
            "program",
            format!(
                "{} {}",
                show_path(&own_program()?),
                env!("CARGO_PKG_VERSION")
            ),
        ),
        Finding::good("kernel", format!("{}{TESTED_ON}", kernel())),
    ];
    let (mut best, mut of_home) = (None, Vec::new());
    if options.walls.sandbox == Some(Sandbox::Off) {
        bail!(
            "doctor checks the walls around commands, and --sandbox off removes them; leave it \
            out"
        );
    }
    let asked = options
        .walls
        .sandbox
        .filter(|mode| *mode != Sandbox::Require);
    for (tier, mode) in [
        (Tier::Namespaces, Sandbox::Namespaces),
        (Tier::Landlock, Sandbox::Landlock),
    ] {
        if asked.is_some_and(|asked| asked != mode) {
            continue;
        }
        options.walls.sandbox = Some(mode);
        let config = Config::for_wall_test(&options)?;
        let tried = alone(&config);
        of_home = findings_of_home(&config);
        of_home.extend(unseen_devices(&config));
        let refused = match &tried {
            Ok(server) => server.services().commands.standing.refused.clone(),
            Err(error) => Some(reasons(error)),
        };
        let about = format!("walls: {}", tier.as_str());
        findings.push(match &refused {
            None => Finding::good(about, "stand"),
            Some(reason) => Finding::lack(about, reason, None),
        });
        best = best.or(tried.ok().filter(|_| refused.is_none()));
    }
    if let Some(server) = &best {
        let gaps = &server.services().commands.standing.gaps;
        findings.extend(gaps.iter().map(|gap| Finding::lack("gap", gap, None)));
        findings.extend(check_inside_walls(server.services(), &signals)?);
    }
    findings.extend(of_home);
    let config = Config::for_wall_test(&options)?;
    if let Some(server) = &best {
        let needed = package_flags(&server.services().policy, &options, &config.sandbox);
        findings.extend(
            needed
                .into_iter()
                .map(|(words, flags)| Finding::lack("packages", format!("{words}; {flags}"), None)),
        );
    }
    findings.extend(upstream_proxy(&config));
    findings.extend(KnownClient::all().filter_map(of_client));
    let tier = best
        .as_ref()
        .and_then(|server| server.services().commands.standing.tier);
    if is_json {
        let report = serde_json::json!({"commands": tier.map(Tier::as_str), "findings": findings});
        print(format!("{report:#}\n"))?;
    } else {
        print(text(&findings, tier))?;
    }
    Ok(status(tier.is_some()))
}

fn text(findings: &[Finding], tier: Option<Tier>) -> String {
    let width = findings
        .iter()
        .map(|finding| finding.about.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for Finding {
        about,
        good,
        found,
        run,
    } in findings
    {
        let _ = writeln!(
            text,
            "{} {about:width$}  {found}",
            if *good { "ok" } else { "--" }
        );
        if let Some(run) = run {
            let _ = writeln!(text, "   {:width$}  run: {run}", "");
        }
    }
    let _ = match tier {
        Some(tier) => writeln!(text, "commands run behind walls: {}", tier.as_str()),
        None => writeln!(text, "commands are refused: no walls can be built"),
    };
    text
}

/// Lists files, scripts and hosts of the operator's home that commands do not get, each with its flag.
fn findings_of_home(config: &Config) -> Vec<Finding> {
    let sandbox = &config.sandbox;
    let mut findings = Vec::new();
    for file in &sandbox.home_files {
        if let Some(missing) = &file.missing {
            let about = format!("~/{}", file.path);
            findings.push(Finding::lack(about, missing.describe(&file.path), None));
        }
    }
    let scripts = sandbox.left_out_scripts.join(", ");
    if !scripts.is_empty() {
        let found = format!("commands do not see {scripts}; --system FILE shows one");
        findings.push(Finding::lack("own scripts of PATH", found, None));
    }
    for withheld in &sandbox.withheld {
        let paths = withheld.unseen.join(", ");
        if paths.is_empty() {
            continue;
        }
        let found = match withheld.flags() {
            Some(flags) => format!("commands do not get it, nor see {paths}; {flags}"),
            None => format!(
                "commands do not get it, nor see {paths}: no flag, since it may hold secrets"
            ),
        };
        findings.push(Finding::lack(withheld.name.clone(), found, None));
    }
    let unseen = sandbox.downloads.unseen.iter();
    findings.extend(unseen.filter(|_| sandbox.cache.is_none()).map(|download| {
        let (size, name) = (size_in_words(&download.place), &download.name);
        let found = format!("commands do not see it ({size}); --downloads {name}");
        Finding::lack(show_path(&download.place), found, None)
    }));
    for host in sandbox.configured_hosts() {
        let found = format!(
            "your configuration names it, and commands do not reach it; --allow-host {host}"
        );
        findings.push(Finding::lack(host, found, None));
    }
    findings
}

/// Returns the size of a directory on the disk, as far as a short look tells.
fn size_in_words(place: &Path) -> String {
    /// A block of `st_blocks`, in bytes (stat(2)).
    const BLOCK_BYTES: u64 = 512;
    let until = Instant::now() + SIZE_TIMEOUT;
    let (mut bytes, mut left, mut more) = (0, vec![place.to_owned()], "");
    while let Some(dir) = left.pop() {
        if Instant::now() >= until {
            more = "more than ";
            break;
        }
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(stat) = entry.metadata() else { continue };
            bytes += stat.blocks() * BLOCK_BYTES;
            if stat.is_dir() {
                left.push(entry.path());
            }
        }
    }
    let (unit, name) = match bytes {
        1_000_000_000.. => (1_000_000_000, "GB"),
        _ => (1_000_000, "MB"),
    };
    let tenths = bytes * 10 / unit;
    format!("{more}{}.{} {name}", tenths / 10, tenths % 10)
}

/// Lists devices of the machine that commands do not get, each with its flag.
fn unseen_devices(config: &Config) -> Vec<Finding> {
    let unseen = config.sandbox.devices.unseen.iter();
    unseen
        .map(|(name, note)| {
            let found = format!(
                "this machine has {note}, which commands do not see; --device {name} gives it"
            );
            Finding::lack("device", found, None)
        })
        .collect()
}

/// Checks that the operator's proxies can be reached.
fn upstream_proxy(config: &Config) -> Vec<Finding> {
    const ABOUT: &str = "upstream proxy";
    let faults = config.sandbox.proxy_faults.iter();
    let mut findings: Vec<Finding> = faults
        .map(|fault| Finding::lack(ABOUT, fault.to_string(), None))
        .collect();
    let proxies = config
        .sandbox
        .upstream_proxy
        .iter()
        .flat_map(|proxy| proxy.servers());
    findings.extend(proxies.map(|server| {
        let found = format!("{server} ({}), for hosts of --allow-host", server.setting);
        match reach(&server.host, server.port) {
            Ok(()) => Finding::good(ABOUT, found),
            Err(error) => Finding::lack(ABOUT, format!("{found}: {error}"), None),
        }
    }));
    findings
}

/// Connects to a host, and closes the connection.
fn reach(host: &str, port: u16) -> io::Result<()> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PROXY_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Checks inside the walls.
fn check_inside_walls(services: &Services, signals: &SignalFd) -> Result<Vec<Finding>> {
    let commands = &services.commands;
    let launcher = super::sandbox::launcher(commands)?;
    let dir = place_of(
        services
            .policy
            .project()
            .context("no directory is allowed")?,
    )?;
    let said = |words: &[&str]| {
        let argv = words.iter().map(|word| (*word).into()).collect();
        output(
            launcher,
            &request(argv, dir.clone(), false),
            signals.as_fd(),
        )
        .context("a command behind the walls")
    };
    let mut findings = vec![match &commands.standing.memory {
        Some(MemoryHold::Watch { reason }) => {
            // sd_booted(3).
            let run = Path::new("/run/systemd/system").is_dir();
            let run =
                run.then(|| "systemd-run --user --scope -p Delegate=yes replay ...".to_owned());
            Finding::lack(
                "memory limits",
                format!("by a check ten times a second: {reason}"),
                run,
            )
        }
        _ => Finding::good("memory limits", "by a cgroup for each command"),
    }];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        Command::new("/bin/true")
            .stdin(Stdio::null())
            .status()
            .context("`/bin/true`")?;
        times[0].push(begin.elapsed());
        let begin = Instant::now();
        said(&["/bin/true"])?;
        times[1].push(begin.elapsed());
    }
    let [plain, walled] = times.map(median);
    let cost = format!(
        "`true` takes {}, without walls {}",
        duration(walled),
        duration(plain)
    );
    findings.push(Finding::good("cost", cost));
    for (name, what_for) in PROGRAMS {
        let path = said(&["/bin/sh", "-c", "command -v \"$0\" || :", name])?;
        let path = String::from_utf8_lossy(&path).trim().to_owned();
        let of_yours = find_program(name.as_ref());
        let of_yours = of_yours.as_deref().and_then(Path::parent).map(show_path);
        findings.push(match (path.is_empty(), of_yours) {
            (false, _) => Finding::good(name, path),
            (true, Some(dir)) => Finding::lack(
                name,
                format!("commands do not see it (for {what_for}); --system {dir} adds it"),
                None,
            ),
            (true, None) => {
                let run = find_program("apt-get".as_ref())
                    .map(|_| format!("sudo apt-get install {name}"));
                Finding::lack(name, format!("not installed (for {what_for})"), run)
            }
        });
    }
    Ok(findings)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Fails if one of these directories, such as `/src:rw`, is absolute and does not exist.
fn look_for(directories: &[PathBuf]) -> Result<()> {
    for directory in directories
        .iter()
        .filter(|directory| directory.is_absolute())
    {
        let text = directory.to_string_lossy();
        let path = text
            .strip_suffix(":rw")
            .or_else(|| text.strip_suffix(":ro"))
            .unwrap_or(&text);
        if !Path::new(path).is_dir() {
            bail!("its directory `{path}` does not exist");
        }
    }
    Ok(())
}

/// Checks a client: is it installed, does it have a file, would it start this server, and how its
/// replies are formed. `None` if the client is absent, or its files are not read.
fn of_client(KnownClient { client, setup }: KnownClient) -> Option<Finding> {
    let title = client.title.as_str();
    let run = || Some(format!("replay setup {} --write", client.id));
    let mut lack = None;
    for pattern in &setup.files {
        let Ok(place) = FilePlace::of(pattern) else {
            continue;
        };
        let format = FileFormat::of(&place.path);
        if format == FileFormat::Yaml {
            return None;
        }
        let shown = show_path(&place.path).into_owned();
        let there = match file::read(&place.base, &place.path) {
            Ok(None) => continue,
            Ok(Some(text)) => entry::read(format, &text),
            Err(error) => Err(error),
        };
        let found = match there.map(|there| there[&setup.servers][entry::NAME].clone()) {
            Ok(Value::Null) => {
                Finding::lack(title, format!("{shown} does not name this server"), run())
            }
            Err(error) => Finding::lack(title, format!("{shown}: {}", reasons(&error)), None),
            Ok(entry) => match setup.command_line(&entry) {
                Some(line) if find_program(line[0].as_ref()).is_some() => {
                    if let Err(error) = directories_of(&line[1..]).and_then(|all| look_for(&all)) {
                        let found = format!("{shown} starts {}: {}", line[0], reasons(&error));
                        return Some(Finding::lack(title, found, None));
                    }
                    let named = line.iter().position(|word| *word == "--client");
                    let named = named.and_then(|at| line.get(at + 1));
                    let profile = named.copied().unwrap_or(&client.id);
                    let found = format!("{shown} starts {} (--client {profile})", line[0]);
                    return Some(Finding::good(title, found));
                }
                Some(line) => {
                    let run = Some(format!("replay setup {} --write --force", client.id));
                    let found = format!("{shown} starts `{}`, which does not exist", line[0]);
                    Finding::lack(title, found, run)
                }
                None => {
                    let found = format!("{shown} names no program for this server");
                    Finding::lack(title, found, run())
                }
            },
        };
        lack.get_or_insert(found);
    }
    let installed = || {
        find_program(setup.program.as_ref()?.as_ref())
            .map(|_| Finding::lack(title, "the file has no servers yet", run()))
    };
    lack.or_else(installed)
}
