//! Runs a command whose calls over the network are recorded, or answered from recordings.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::CallsError;
use super::isolation::{Isolation, proxy_variables, with_java_proxy};
use crate::budget::Account;
use crate::cancel::CancelToken;
use crate::exec::{
    Command, Counts, Foreground, Guarded, Intercepted, Interception, Launcher, Outcome, Slots,
    Stage, title,
};
use crate::http_client::Verifier;
use crate::limits::{KILL_GRACE_MS, TURN_QUIET_MS};
use crate::network::proxy::{Gate, JAVA_OPTIONS, Out, RuledDoor, Trust, TrustPlace, Ways};
use crate::record::net::ca::{Authority, certificates};
use crate::record::proxy::{Mode, OnMiss, Proxy, Recorded, Replay, Sockets};
use crate::record::redact::Secrets;
use crate::record::{Book, Noise, Outline, Recording, Report};
use crate::sandbox::{Dial, Scratch};

/// What keeps package managers from looking for news of themselves, which are no calls of the
/// program that they start.
const WITHOUT_NEWS: [(&str, &str); 3] = [
    ("npm_config_update_notifier", "false"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
];

/// What the server has for all runs.
#[derive(Clone, Copy, Debug)]
pub struct RunHost<'a> {
    /// Who pays for what is recorded.
    pub account: &'a Account,
    pub launcher: &'a Launcher,
    /// The places for commands.
    pub running: &'a Slots,
    /// Where files are put for the command to read.
    pub scratch: &'a Scratch,
    /// The command's path of the directory that such files lie in.
    pub tmp: &'a Path,
    /// What real servers can be reached.
    pub reach: Reach,
    /// Who decides about them, if there are rules.
    pub gate: Option<&'a Gate>,
    /// Whether names have addresses there.
    pub resolves: bool,
    /// Authorities that real servers are verified with, as PEM.
    pub roots: &'a [u8],
}

/// What real servers can be reached while calls are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// None.
    #[default]
    Nothing,
    /// Those that the command's own network reaches.
    AsCommands,
    /// Those that this process reaches, although the command's network is one of its own.
    AsServer,
}

/// One run of a command.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub command: &'a Command<'a>,
    /// When it is ended.
    pub timeout: Duration,
    /// Bytes kept of each stream of its output.
    pub output_cap_bytes: usize,
    /// Its streams, if they are not to be captured.
    pub streams: Option<[BorrowedFd<'a>; 3]>,
    /// Signals for this process that are passed on to it ([`Intercepted::signals`]).
    pub signals: Option<BorrowedFd<'a>>,
    /// Whether its own servers can be reached from other machines, where its network is that of the
    /// system.
    pub open: bool,
    /// How far it is held.
    pub isolation: Isolation,
}

/// What becomes of its calls.
#[derive(Debug)]
pub enum Play {
    /// They go to the real servers, and are kept.
    Record,
    Replay {
        recordings: Vec<Recording>,
        /// What of calls does not count.
        noise: Noise,
        /// Without which they are looked up.
        secrets: Box<Secrets>,
        /// What becomes of a call that no recording answers.
        on_miss: OnMiss,
    },
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// How far it was held.
    pub isolation: Isolation,
    /// How the command ended.
    pub outcome: Outcome,
    pub recorded: Recorded,
    /// What was answered from recordings; `None` if nothing was to be.
    pub report: Option<Report>,
    /// What there was besides.
    pub counts: Counts,
}

/// Runs a command. `on_progress` is told how long it runs. A command that is ended, also by
/// cancelling, has made the calls that it has made: they are in what comes back.
pub fn run(
    ground: &RunHost<'_>,
    run: &Run<'_>,
    play: Play,
    cancel: &CancelToken,
    on_progress: &mut dyn FnMut(Duration, Stage),
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
    let proxy_only = run.isolation == Isolation::Env;
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
            let book =
                Arc::new(Book::of(recordings, noise, *secrets).passing_on(on_miss != OnMiss::Fail));
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
    let mut door: Option<Arc<RuledDoor>> = None;
    let mut on_start = |interception| {
        let guarded = ground
            .gate
            .map(|gate| gate.door(&title(run.command.changes.title(), run.command.line)));
        let made = start(
            interception,
            ground,
            guarded.clone(),
            mode.clone(),
            (&authority, trust.bundle()),
            proxy_only,
        );
        started = Some(made);
        door.clone_from(&guarded);
        guarded.map(|door| door as Arc<dyn Guarded>)
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
    // What the proxy judged until it ended.
    outcome
        .denied
        .extend(door.iter().flat_map(|door| door.blocked()));
    Ok(Ran {
        isolation: run.isolation,
        outcome,
        recorded,
        report: book.map(|book| book.report()),
        counts,
    })
}

/// Starts what answers. It needs threads, not time.
fn start(
    interception: Interception,
    ground: &RunHost<'_>,
    door: Option<Arc<RuledDoor>>,
    mode: Mode,
    (authority, trusted): (&Arc<Authority>, &[u8]),
    proxy_only: bool,
) -> io::Result<(Proxy, Arc<Ways>)> {
    let out = match (ground.reach, door) {
        (Reach::Nothing, _) => Out::Nothing,
        (_, Some(door)) => Out::ByRule(door),
        (Reach::AsCommands, None) => Out::AsCommands {
            resolves: ground.resolves,
        },
        (Reach::AsServer, None) => Out::AsServer,
    };
    let (ways, mut sockets) = Ways::new(interception, out)?;
    if proxy_only {
        sockets = Sockets {
            forward: sockets.tcp,
            ..Sockets::default()
        };
    }
    // Where nothing is reached, nobody is met. Where a rule has a connection opened, this authority
    // is met there, too.
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
