//! `replay why`: tells which rule decides about a path, a connection or a program. Names the flag
//! that would allow it, and its side effects. Every answer comes from the server's own policy,
//! rules or walls.
#![expect(
    clippy::disallowed_methods,
    reason = "a person asks, who may look at the disk"
)]

mod paths;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use replay_environment::OperatorDownload;
use replay_files::policy::{Policy, Quoted};
use replay_sandbox::exec::place_of;
use replay_sandbox::{Network, Tier, own_host_names};
use serde::Serialize;

use super::process::{catch_signals, print, quoted, quoted_path, status};
use super::sandbox::{launcher, output, request};
use crate::cli::{Access, Sandbox, WhyArgs};
use crate::compose::alone;
use crate::config::Config;
use crate::tools::Services;
use replay_network::rules::{
    Destination, Host, RequestLine, Transport, Verdict, canonical, danger,
};

/// Answer to one question.
#[derive(Debug, Serialize)]
struct RuleAnswer {
    allowed: bool,
    /// The rule that decided.
    rule: String,
    /// The flag that would allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<String>,
    /// Side effects of that flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    besides: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl RuleAnswer {
    fn allowed(rule: impl Into<String>) -> Self {
        Self {
            allowed: true,
            rule: rule.into(),
            flag: None,
            besides: None,
            notes: Vec::new(),
        }
    }

    fn denied(rule: impl Into<String>) -> Self {
        Self {
            allowed: false,
            ..Self::allowed(rule)
        }
    }

    fn with_flag(self, flag: impl Into<String>, besides: impl Into<String>) -> Self {
        Self {
            flag: Some(flag.into()),
            besides: Some(besides.into()),
            ..self
        }
    }

    fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Denies access to the cache of commands, which no flag can allow.
    fn deny_cache(self, config: &Config, path: &Path) -> Self {
        match &config.sandbox.cache {
            Some(cache) if path.starts_with(&cache.dir) => Self {
                notes: vec![
                    "this is the cache of commands (--cache): commands use it below their HOME, \
                     and tools cannot"
                        .to_owned(),
                ],
                ..Self::denied(self.rule)
            },
            _ => self,
        }
    }

    /// Adds what commands get of a denied path of the operator's home. A flag for the directory around
    /// it would show more.
    fn with_home(self, config: &Config, path: &Path) -> Self {
        let (files, downloads) = (&config.sandbox.home_files, &config.sandbox.downloads);
        let bare = |denied: Self| Self::denied(denied.rule);
        let is_in = |download: &OperatorDownload| path.starts_with(&download.place);
        let shown = downloads.shown.iter().map(|layer| &layer.download);
        if let Some(file) = files.iter().find(|file| file.source == path) {
            let note = format!("commands have it as ~/{}: {}", file.path, file.describe());
            bare(self).with_notes([note])
        } else if let Some(download) = shown.clone().find(|download| is_in(download)) {
            let OperatorDownload { name, below, .. } = download;
            let note = format!("commands have its directory as ~/{below} (--downloads {name})");
            bare(self).with_notes([note])
        } else if let Some(download) = downloads.unseen.iter().find(|unseen| is_in(unseen)) {
            let besides = format!("commands can read all of {}", Quoted(&download.place));
            bare(self).with_flag(format!("--downloads {}", download.name), besides)
        } else {
            self
        }
    }

    fn text(&self) -> String {
        let Self {
            allowed,
            rule,
            flag,
            besides,
            notes,
        } = self;
        let mut text = format!("{}: {rule}\n", if *allowed { "allowed" } else { "denied" });
        let told = [
            ("what would allow it", flag),
            ("what that allows, too", besides),
        ];
        for (name, words) in told
            .into_iter()
            .filter_map(|(name, words)| Some((name, words.as_ref()?)))
        {
            let _ = writeln!(text, "{name}: {words}");
        }
        for note in notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }
}

/// Prints the answer. The exit status is 1 for a denial.
pub(super) fn run(asked: &WhyArgs) -> Result<ExitCode> {
    let options = asked.server.options();
    let config = match asked.access {
        Access::Read | Access::Write => Config::for_files(&options)?,
        Access::Connect | Access::Run => Config::for_server(&options)?,
    };
    let signals = catch_signals()?;
    let server = alone(&config)?;
    let services = server.services();
    let answer = match asked.access {
        Access::Read => paths::read(&config, &services.policy, Path::new(&asked.what)),
        Access::Write => paths::write(&config, &services.policy, Path::new(&asked.what)),
        Access::Connect if is_socket(&absolute(Path::new(&asked.what))) => {
            socket(&config, &absolute(Path::new(&asked.what)))
        }
        Access::Connect if is_path(&asked.what) => {
            RuleAnswer::denied("the path is not a unix socket; give a host as HOST:PORT or URL")
        }
        Access::Connect => connect(&config, services, &asked.what)?,
        Access::Run => program(&config, services, &asked.what, signals.as_fd())?,
    };
    if asked.json {
        print(format!("{}\n", serde_json::to_string_pretty(&answer)?))?;
    } else {
        print(answer.text())?;
    }
    Ok(status(answer.allowed))
}

/// Resolves a path against the working directory, as a shell does.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns true if the argument is a path, not a host or a URL.
fn is_path(what: &OsStr) -> bool {
    let what = what.as_bytes();
    memchr::memchr(b'/', what).is_some() && memchr::memmem::find(what, b"://").is_none()
}

fn is_socket(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.file_type().is_socket())
}

/// Answer for a unix socket, which commands use by connecting.
fn socket(config: &Config, path: &Path) -> RuleAnswer {
    let is_same = |allowed: &PathBuf| allowed.canonicalize().ok() == path.canonicalize().ok();
    if config.sandbox.sockets.iter().any(is_same) {
        return RuleAnswer::allowed(format!("--allow-socket {}", quoted_path(path)));
    }
    if config.sandbox.mode == Sandbox::Off {
        return RuleAnswer::allowed("commands run without walls (--sandbox off)");
    }
    RuleAnswer::denied(
        "it is a unix socket, and commands connect only to sockets of commands of the same server",
    )
    .with_flag(
        format!("--allow-socket {}", quoted_path(path)),
        "commands can do whatever the listening program allows: a socket of docker, tmux or D-Bus \
         leads out of the walls, an ssh-agent logs in with your keys",
    )
}

/// Parses `[udp://]HOST[:PORT]` or a URL into a destination and a request.
fn destination(what: &OsStr) -> Result<(Destination, Option<(bool, String)>)> {
    let what = what.to_str().context("the host is not UTF-8")?;
    let (scheme, rest) = what.split_once("://").unwrap_or(("", what));
    let (transport, port) = match scheme {
        "" | "tcp" | "https" => (Transport::Tcp, 443),
        "http" => (Transport::Tcp, 80),
        "udp" => (Transport::Udp, 53),
        other => bail!("`{other}://` is unknown; use one of tcp://, udp://, http:// and https://"),
    };
    let (authority, path) = rest.split_once('/').map_or((rest, None), |(host, path)| {
        (host, Some(format!("/{path}")))
    });
    let (host, port) = if let Ok(address) = authority.parse() {
        (Host::Address(address), port)
    } else {
        let split = authority
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let (host, port) = split.unwrap_or((authority, port));
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        let named = || canonical(bare).map(Host::Name);
        let host = bare.parse().map(Host::Address).ok().or_else(named);
        (
            host.with_context(|| format!("`{what}` names no host; give HOST:PORT or a URL"))?,
            port,
        )
    };
    let asked = path
        .filter(|_| scheme.starts_with("http"))
        .map(|path| (scheme == "https", path));
    Ok((
        Destination {
            transport,
            host,
            port,
        },
        asked,
    ))
}

fn connect(config: &Config, services: &Services, what: &OsStr) -> Result<RuleAnswer> {
    let (mut to, asked) = destination(what)?;
    let (rules, standing) = (&config.sandbox.rules, &services.commands.standing);
    let is_own_name = |name: &str| {
        own_host_names()
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    };
    if matches!(&to.host, Host::Name(name) if is_own_name(name)) {
        // Programs resolve this name themselves.
        let addresses: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let at = |address| Destination {
            host: Host::Address(address),
            ..to.clone()
        };
        let allowed = addresses.map(at).into_iter().find(|to| rules.allows(to));
        to = allowed.unwrap_or_else(|| at(addresses[0]));
    }
    if standing.refused.is_some() {
        return Ok(RuleAnswer::denied(standing.word()));
    }
    let rule = to.rule().to_string();
    let flag = format!("--allow-host {}", quoted(&rule));
    let besides = format!(
        "commands, Python sessions and tests can send {rule} everything that \
        they can read"
    );
    let danger = if let Host::Address(address) = to.host {
        danger(address)
    } else {
        None
    };
    let danger = danger.map(|danger| format!("this address {danger}"));
    let is_own = matches!(to.host, Host::Address(address) if address.to_canonical().is_loopback());
    let own = || {
        RuleAnswer::denied(
            "commands have a private loopback, which reaches servers that commands start, and no \
             server of this machine",
        )
        .with_flag(flag.clone(), besides.clone())
    };
    if rules.is_empty() {
        return Ok(match (standing.tier, standing.effective_network()) {
            _ if standing.by_rule => {
                RuleAnswer::allowed("the mock set of --network answers; no real server is reached")
            }
            (Some(Tier::Off), _) => {
                RuleAnswer::allowed("commands run without walls (--sandbox off)")
            }
            (_, Network::Host) => {
                RuleAnswer::allowed("commands have the system's network (--network host)")
            }
            (_, Network::Loopback) if is_own => return Ok(own()),
            (_, Network::Loopback) => {
                RuleAnswer::denied("commands have only a private loopback (--network loopback)")
                    .with_flag(flag, besides)
            }
            (_, Network::None) => RuleAnswer::denied("commands have no network (--network none)")
                .with_flag(flag, besides),
        }
        .with_notes(danger));
    }
    let deciding = rules.deciding(&to).unwrap_or_default();
    if rules.denies(&to) {
        return Ok(
            RuleAnswer::denied(format!("--deny-host {}", quoted(deciding))).with_flag(
                format!("no --deny-host {}", quoted(deciding)),
                "everything else that this rule denies and --allow-host allows",
            ),
        );
    }
    if !rules.allows(&to) {
        if is_own && standing.tier == Some(Tier::Namespaces) {
            return Ok(own());
        }
        return Ok(RuleAnswer::denied("no --allow-host rule matches it")
            .with_flag(flag, besides)
            .with_notes(danger));
    }
    let by = format!("--allow-host {}", quoted(deciding));
    let (Some((_, opening)), Some((is_tls, path))) = (rules.opens(&to), &asked) else {
        let some = rules.opens(&to).map(|(_, rule)| {
            format!(
                "only requests that match {rule} are allowed: ask again with \
                a URL"
            )
        });
        return Ok(RuleAnswer::allowed(by)
            .with_notes(some)
            .with_notes(private_address_note(&to)));
    };
    let line = RequestLine {
        is_tls: *is_tls,
        method: "GET",
        path,
        may_switch: false,
    };
    let request = to.rule_for(line).to_string();
    Ok(match rules.judge(&to, line) {
        Verdict::Allowed => {
            RuleAnswer::allowed(format!("{by}, for GET")).with_notes(private_address_note(&to))
        }
        Verdict::Denied => RuleAnswer::denied("--deny-host names this request"),
        Verdict::Missing | Verdict::OddPath | Verdict::OddMethod => RuleAnswer::denied(format!(
            "only some requests are allowed there ({opening}), and GET of this path is not among \
             them"
        ))
        .with_flag(
            format!("--allow-host {}", quoted(&request)),
            "requests with this method to this path, with any query",
        ),
    })
}

/// Note about an allowed host name.
fn private_address_note(to: &Destination) -> Option<String> {
    let is_name = matches!(to.host, Host::Name(_));
    is_name.then(|| {
        "if the name resolves to a private address, that address must be allowed, too".to_owned()
    })
}

/// The shell inside the walls finds the program with the PATH of commands.
const FIND: &str = r#"command -v -- "$1""#;

fn program(
    config: &Config,
    services: &Services,
    what: &OsStr,
    signals: std::os::fd::BorrowedFd<'_>,
) -> Result<RuleAnswer> {
    let commands = &services.commands;
    if commands.standing.refused.is_some() {
        return Ok(RuleAnswer::denied(commands.standing.word()));
    }
    let root = services
        .policy
        .project()
        .context("there is no directory to run the program in; add --allow DIR")?;
    let argv = ["/bin/sh", "-c", FIND, "sh"]
        .map(Into::into)
        .into_iter()
        .chain([what.into()])
        .collect::<Vec<_>>();
    let found = output(
        launcher(commands)?,
        &request(argv, place_of(root)?, false),
        signals,
    )?;
    let found = Path::new(OsStr::from_bytes(found.trim_ascii_end()));
    if !found.as_os_str().is_empty() {
        let at = if found.is_absolute() {
            found.to_owned()
        } else {
            root.path().join(found)
        };
        let seen = config
            .sandbox
            .system
            .iter()
            .find(|seen| at.starts_with(&seen.path));
        return Ok(RuleAnswer::allowed(match seen {
            Some(seen) => format!(
                "commands find {}, in {} ({})",
                Quoted(found),
                seen.path.display(),
                seen.why
            ),
            None if policy_allows(&services.policy, &at) => {
                format!(
                    "commands find {}; {}",
                    Quoted(found),
                    paths::allowed_by(&services.policy, &at)
                )
            }
            None => format!("commands find {}", Quoted(found)),
        }));
    }
    let Some(outside) = find_program(what) else {
        let name = what.display();
        return Ok(RuleAnswer::denied(format!(
            "the program `{name}` is neither on the PATH of commands nor on the PATH of this shell"
        )));
    };
    Ok(
        RuleAnswer::denied(format!("commands do not see {}", Quoted(&outside))).with_flag(
            format!("--system {}", quoted_path(&outside)),
            format!("commands can read {}, and secrets in it", Quoted(&outside)),
        ),
    )
}

fn policy_allows(policy: &Policy, path: &Path) -> bool {
    policy.governing(path).is_ok_and(|root| root.is_some())
}

/// Finds a program outside the walls, as this shell would.
pub(super) fn find_program(what: &OsStr) -> Option<PathBuf> {
    let places: Vec<OsString> = if what.as_bytes().contains(&b'/') {
        vec![absolute(Path::new(what)).into()]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|dir| dir.join(what).into())
            .collect()
    };
    let is_program = |path: &&PathBuf| {
        rustix::fs::access(path.as_path(), rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
    };
    places
        .into_iter()
        .map(PathBuf::from)
        .collect::<Vec<_>>()
        .iter()
        .find(is_program)
        .cloned()
}
