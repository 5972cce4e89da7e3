//! Runs a command whose network calls are recorded, or answered from recordings.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use replay_base::budget::Account;
use replay_base::cancel::CancelToken;
use replay_base::limits::{KILL_GRACE_MS, TURN_QUIET_MS};
use replay_sandbox::exec::{
    Command, Counts, Exit, Foreground, Guarded, Intercepted, Interception, Launcher, Outcome,
    PROXY_PORT, Slots, Stage, title,
};
use replay_sandbox::{Dial, Scratch};

use super::CallsError;
use super::isolation::{Isolation, proxy_variables, with_java_proxy};
use super::pytest_plugin;
use replay_network::http_client::Verifier;
use replay_network::upstream_proxy::UpstreamProxy;
use replay_proxy::{Gate, JAVA_OPTIONS, Out, RuledAccess, Trust, TrustPlace, Ways};
use replay_record::net::ca::{Authority, certificates};
use replay_record::proxy::{AGENT, Mode, OnMiss, Proxy, Recorded, Replay, Sockets};
use replay_record::redact::Secrets;
use replay_record::{Noise, Outline, Recording, Recordings, Report};

/// Disables update checks of package managers, since these are not calls of the program.
const WITHOUT_NEWS: [(&str, &str); 3] = [
    ("npm_config_update_notifier", "false"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
];

/// Variable with the address at which tests are announced, as Keploy has it.
const AGENT_URL: &str = "KEPLOY_MOCK_AGENT";

/// Server resources shared by all runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunHost<'a> {
    /// Account charged for the recording.
    pub account: &'a Account,
    pub launcher: &'a Launcher,
    /// Limits the number of concurrent commands.
    pub running: &'a Slots,
    /// Directory for files that the command reads.
    pub scratch: &'a Scratch,
    /// Path of this directory as the command sees it.
    pub tmp: &'a Path,
    /// Real servers that can be reached.
    pub reach: Reach,
    /// Decides about connections to real servers, if there are rules.
    pub gate: Option<&'a Gate>,
    /// `true` if name resolution works there.
    pub resolves: bool,
    /// Operator's proxy for real servers that this process reaches.
    pub upstream_proxy: Option<&'a Arc<UpstreamProxy>>,
    /// PEM certificates of the authorities that real servers are verified with.
    pub roots: &'a [u8],
}

/// Real servers that can be reached during a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// No servers.
    #[default]
    Nothing,
    /// Servers that the command's own network reaches.
    AsCommands,
    /// Servers that this process reaches, although the command has its own network namespace.
    AsServer,
}

/// One run of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub command: &'a Command<'a>,
    /// Time limit of the command.
    pub timeout: Duration,
    /// Maximum number of bytes kept of each output stream.
    pub output_cap_bytes: usize,
    /// File descriptors of the streams, if they are not captured.
    pub streams: Option<[BorrowedFd<'a>; 3]>,
    /// Signals of this process to forward to the command ([`Intercepted::signals`]).
    pub signals: Option<BorrowedFd<'a>>,
    /// `true` if other machines can reach servers of the command. Applies only if the command uses
    /// the system's network.
    pub open: bool,
    /// Isolation of the command.
    pub isolation: Isolation,
}

/// Treatment of the command's calls.
#[derive(Debug)]
pub(crate) enum Play {
    /// Forward calls to the real servers, and record them.
    Record,
    Replay {
        recordings: Vec<Recording>,
        /// Values that comparisons ignore.
        noise: Noise,
        /// Redacted before calls are matched.
        secrets: Box<Secrets>,
        /// Treatment of a call without a matching recording.
        on_miss: OnMiss,
    },
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Isolation that was in effect.
    pub isolation: Isolation,
    /// Result of the command.
    pub outcome: Outcome,
    pub recorded: Recorded,
    /// Report about the replay; `None` for a recording.
    pub report: Option<Report>,
    /// Other counters.
    pub counts: Counts,
}

impl Ran {
    /// Returns true if the command succeeded and all its calls were answered.
    pub(crate) fn has_passed(&self) -> bool {
        let is_missed = |report: &Report| report.missed_count > 0;
        self.outcome.exit == Exit::Code(0) && !self.report.as_ref().is_some_and(is_missed)
    }
}

/// Runs a command and reports progress to `on_progress`. The result of a command that timed out or
/// was cancelled contains its calls until then.
pub(crate) fn run(
    ground: &RunHost<'_>,
    run: &Run<'_>,
    play: Play,
    cancel: &CancelToken,
    on_progress: &mut dyn FnMut(Duration, Stage<'_>),
) -> Result<Ran, CallsError> {
    let authority = Arc::new(Authority::new()?);
    let java_options = ground.launcher.variable(JAVA_OPTIONS);
    let place = TrustPlace {
        scratch: ground.scratch,
        tmp: ground.tmp,
        java_options,
    };
    let step = |cause| CallsError::Setup {
        step: "show certificates to the command",
        cause,
    };
    let trust = Trust::show(place, &authority, ground.roots).map_err(step)?;
    let mut variables = trust.environment().map_err(step)?;
    variables.extend(WITHOUT_NEWS.map(|(name, value)| (name.into(), value.into())));
    let modules = ground.launcher.variable(pytest_plugin::PYTHON_PATH);
    let shown = pytest_plugin::show(ground.scratch, ground.tmp, modules);
    let (_plugin, modules) = shown.map_err(|cause| CallsError::Setup {
        step: "show a plugin of pytest to the command",
        cause,
    })?;
    variables.push((pytest_plugin::PYTHON_PATH.into(), modules));
    let proxy_only = run.isolation == Isolation::Env;
    let agent = if proxy_only {
        Ipv4Addr::LOCALHOST
    } else {
        AGENT
    };
    let agent = format!("http://{agent}:{PROXY_PORT}");
    variables.push((AGENT_URL.into(), agent.into()));
    if proxy_only {
        with_java_proxy(&mut variables);
        variables.extend(
            proxy_variables()
                .into_iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
    }
    let as_commands = ground.reach == Reach::AsCommands;
    let (mode, book, dial) = match play {
        Play::Record if as_commands && ground.gate.is_none() => (Mode::Record, None, Dial::Ahead),
        Play::Record => (Mode::Record, None, Dial::Wanted),
        Play::Replay {
            recordings,
            noise,
            secrets,
            on_miss,
        } => {
            let outline = Outline::of(recordings.iter().map(|recording| &recording.exchange));
            let book = Arc::new(
                Recordings::of(recordings, noise, *secrets).passing_on(on_miss != OnMiss::Fail),
            );
            let replay = Arc::new(Replay {
                book: Arc::clone(&book),
                outline,
                quiet: Duration::from_millis(TURN_QUIET_MS),
            });
            (
                Mode::Replay { replay, on_miss },
                Some(book),
                if on_miss == OnMiss::Fail {
                    Dial::Never
                } else {
                    Dial::Wanted
                },
            )
        }
    };
    let mut started: Option<io::Result<(Proxy, Arc<Ways>)>> = None;
    let mut access: Option<Arc<RuledAccess>> = None;
    let mut on_start = |interception| {
        let guarded = ground
            .gate
            .map(|gate| gate.access(&title(run.command.changes.title(), run.command.line)));
        let made = start(
            interception,
            ground,
            guarded.clone(),
            mode.clone(),
            &authority,
            trust.bundle(),
            proxy_only,
        );
        started = Some(made);
        access.clone_from(&guarded);
        guarded.map(|access| access as Arc<dyn Guarded>)
    };
    let how = Intercepted {
        environment: &variables,
        certificates: Some(trust.bundle()),
        dial: if as_commands || ground.gate.is_some() {
            dial
        } else {
            Dial::Never
        },
        open: run.open,
        streams: run.streams,
        signals: run.signals,
        proxy_only,
    };
    let foreground = Foreground {
        launcher: ground.launcher,
        running: ground.running,
        cancel,
        timeout: run.timeout,
        grace: Duration::from_millis(KILL_GRACE_MS),
        output_cap_bytes: run.output_cap_bytes,
        files: None,
        over: None,
    };
    let outcome = foreground.run_intercepted(run.command, &how, &mut on_start, on_progress);
    let (recorded, counts) = match started.transpose().map_err(|cause| CallsError::Setup {
        step: "answer calls",
        cause,
    })? {
        Some((proxy, ways)) => (proxy.finish(), ways.counts()),
        None => (Recorded::default(), Counts::default()),
    };
    let mut outcome = outcome?;
    // Includes decisions that the proxy made until its end.
    outcome
        .denied
        .extend(access.iter().flat_map(|access| access.blocked()));
    Ok(Ran {
        isolation: run.isolation,
        outcome,
        recorded,
        report: book.map(|book| book.report()),
        counts,
    })
}

/// Starts the proxy. This creates threads, but takes almost no time.
fn start(
    interception: Interception,
    ground: &RunHost<'_>,
    access: Option<Arc<RuledAccess>>,
    mode: Mode,
    authority: &Arc<Authority>,
    trusted: &[u8],
    proxy_only: bool,
) -> io::Result<(Proxy, Arc<Ways>)> {
    let out = match (ground.reach, access) {
        (Reach::Nothing, _) => Out::Nothing,
        (_, Some(access)) => Out::ByRule(access),
        (Reach::AsCommands, None) => Out::AsCommands {
            resolves: ground.resolves,
        },
        (Reach::AsServer, None) => Out::AsServer(ground.upstream_proxy.cloned()),
    };
    let (ways, mut sockets) = Ways::new(interception, out)?;
    if proxy_only {
        sockets = Sockets {
            forward: sockets.tcp,
            ..Sockets::default()
        };
    }
    // Without real servers there is nothing to verify. The bundle includes this run's own
    // authority, which signs the certificates of connections that a rule intercepts.
    let trusted = if ground.reach == Reach::Nothing {
        &[]
    } else {
        trusted
    };
    let verifier = Arc::new(Verifier::new(authority.provider(), certificates(trusted)));
    let (runtime, wires, account) = (
        ground.gate.map(Gate::handle),
        Arc::clone(&ways),
        ground.account.clone(),
    );
    let proxy = Proxy::start(
        runtime,
        sockets,
        wires,
        mode,
        Arc::clone(authority),
        verifier,
        account,
    )?;
    ways.listen(proxy.runtime())?;
    Ok((proxy, ways))
}
