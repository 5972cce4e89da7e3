//! The program: argv -> Cli -> Config -> run. The only place that ends the process.

use std::io::{IsTerminal, Write as _};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _};
use replay::cli::{Cli, Command, MockAction, MockServe, Options, Redact, SandboxAction, help};
use replay::config::{self, Config};
use replay::mock::{Beside, Observed};
use replay::protocol::Revision;
use replay::sandbox::{Tier, attack};
use replay::server::{Ledger, Observer, Server, Service, Session, Traced, Way};
use replay::telemetry::Tracer;
use replay::transport::{Door, End, Writer};
use replay::{audit, bench, caller, docs, health, inspect, mocking, oneshot, probe, proxy, sandbox, start, web};

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == sandbox::LAUNCHER_ARGUMENT) {
        return match sandbox::run_launcher() {
            Ok(()) => ExitCode::SUCCESS,
            Err(fault) => {
                report(&anyhow::Error::from(fault).context("the launcher of commands"));
                ExitCode::FAILURE
            }
        };
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == attack::ATTACK_ARGUMENT) {
        return attack::inside(&std::env::args().nth(2).unwrap_or_default());
    }
    sandbox::keep_little_heap();
    let cli = parse();
    outlive_file_limit();
    run(cli).unwrap_or_else(|error| {
        if is_unread(&error) {
            return ExitCode::from(UNREAD_STATUS);
        }
        report(&error);
        ExitCode::from(2)
    })
}

/// As shells report a program that SIGPIPE (13) ended, which this one ignores: never 0, or a verdict that nobody saw would be good.
const UNREAD_STATUS: u8 = 128 + 13;

/// Whether nobody reads any more what is printed, as behind `| head`: any other pipe that breaks has a reason around it.
fn is_unread(error: &anyhow::Error) -> bool {
    let is_broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().len() == 1 && error.downcast_ref().is_some_and(is_broken)
}

/// The command line of this process; a wrong one ends it, as does a wish for help.
fn parse() -> Cli {
    let mut command = help::with_what_matters(Cli::command());
    let parsed = command.try_get_matches_from_mut(std::env::args_os()).and_then(|mut matches| {
        help::refuse_unread(&mut command, &matches)?;
        Cli::from_arg_matches_mut(&mut matches)
    });
    parsed.unwrap_or_else(|mut error| {
        let typed =
            [ContextKind::InvalidSubcommand, ContextKind::InvalidArg].into_iter().find_map(|kind| error.get(kind));
        if let Some(ContextValue::String(file)) = typed
            && [".yaml", ".yml", ".json"].iter().any(|end| file.ends_with(end))
        {
            let tip = format!("a manifest is served with '--tools-from {file}'");
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        error.exit()
    })
}

/// Says on stderr why nothing was started, the reasons below it.
fn report(error: &anyhow::Error) {
    let _ = writeln!(std::io::stderr(), "replay: {error:#}");
}

fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Some(Command::Generate { document }) => {
            std::io::stdout().write_all(&docs::generate(document)?)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Tools { json }) => {
            let config = Config::resolve(&cli.options)?;
            std::io::stdout().write_all(oneshot::tools(&start::alone(&config)?, json).as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Call { tool, arguments, json }) => {
            let config = Config::resolve(&cli.options)?.for_tool(&tool);
            logging(config.log_level);
            let server = start::alone(&config)?;
            own_walls(&server);
            let answer = oneshot::call(&server, &tool, &arguments, json)?;
            server.services().commands.end_all();
            std::io::stdout().write_all(&answer.output)?;
            Ok(if answer.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
        }
        Some(Command::Bench { tree, pattern, rounds }) => {
            let wanted = bench::Wanted { tree: &tree, pattern: &pattern, rounds };
            // Writing to stderr may fail; the table is what counts.
            let mut progress = |title: &str| drop(writeln!(std::io::stderr(), "measuring: {title}"));
            let table = bench::run(&wanted, &mut progress)?;
            std::io::stdout().write_all(table.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Mock { serve, action: None }) => serve_mock(&serve, &cli.options),
        Some(Command::Mock { action: Some(MockAction::Record { target, output, redact }), .. }) => {
            let signals = catch_signals()?;
            logging(config::level_filter(cli.options.log_level));
            let recorder = mocking::recorder(&output, &redact)?;
            Ok(ExitCode::from(proxy::record(&target, recorder, (stdin()?, stdout()?), signals.as_fd())?))
        }
        Some(Command::Mock { action: Some(action), .. }) => {
            let (text, good) = mocking::act(&action)?;
            std::io::stdout().write_all(text.as_bytes())?;
            Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Some(Command::Calls { action }) => {
            let signals = catch(&[Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT])?;
            let config = Config::for_calls(cli.options, &action)?;
            logging(config.log_level);
            let server = start::alone(&config)?;
            let here = caller::Here { signals: signals.as_fd(), temporary: &config.temporary };
            let status = caller::act(server.services(), &action, &here);
            server.services().commands.end_all();
            Ok(ExitCode::from(status?))
        }
        Some(Command::Sandbox { action: SandboxAction::Explain }) => {
            let config = Config::resolve(&cli.options)?;
            let server = start::alone(&config)?;
            let services = server.services();
            let text = inspect::explain(&config, &services.policy, &services.commands.standing)?;
            std::io::stdout().write_all(text.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Sandbox { action: SandboxAction::Probe }) => {
            let signals = catch_signals()?;
            let (text, holds) = probe::probe(cli.options, signals.as_fd())?;
            std::io::stdout().write_all(text.as_bytes())?;
            Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Some(Command::Sandbox { action: SandboxAction::Run { program } }) => {
            let config = Config::resolve(&cli.options)?;
            logging(config.log_level);
            let signals = catch_signals()?;
            Ok(ExitCode::from(inspect::run(&*start::alone(&config)?, &program, signals.as_fd())?))
        }
        Some(Command::Token { action }) => {
            std::io::stdout().write_all(web::act_on_tokens(&action)?.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Audit(action)) => {
            let good = audit::act(&action, &mut std::io::stdout().lock())?;
            Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Some(Command::Health(args)) => Ok(match health::check(&args) {
            Ok(()) => {
                std::io::stdout().write_all(b"ok\n")?;
                ExitCode::SUCCESS
            }
            Err(error) => {
                report(&error);
                // 2 means nothing to a container's HEALTHCHECK.
                ExitCode::FAILURE
            }
        }),
        None if cli.http.http.is_some() => serve_http(Config::resolve(&cli.options)?, &cli),
        None => serve(Config::resolve(&cli.options)?, &cli),
    }
}

fn serve(config: Config, cli: &Cli) -> Result<ExitCode> {
    let signals = catch_signals()?;
    logging(config.log_level);
    raise_open_files();
    // Read before the server's own walls stand: a manifest lies where the operator wants it.
    let mock = cli.mock.as_deref().map(|path| mocking::beside(path, config.errors)).transpose()?;
    let recorder = cli.record.as_deref().map(|path| mocking::recorder(path, &Redact::default())).transpose()?;
    let log = audit::open(&cli.audit)?.map(Arc::new);
    let config = &hiding(config, log.as_deref()).beside(cli.mock.as_deref());
    let ledger = Ledger::new(observers(log.as_ref()));
    let tracer = tracer(cli)?;
    let server = start::alone(config)?;
    let service: Arc<dyn Service> = match mock {
        Some(mock) => Arc::new(Beside::new(server.clone(), mock).map_err(anyhow::Error::msg)?),
        None => server.clone(),
    };
    let service = Traced::over(service, tracer.as_ref(), Way::Stdio);
    let service = match recorder {
        Some(recorder) => Arc::new(Observed::new(service, vec![Arc::new(recorder)])),
        None => service,
    };
    let service = ledger.over(service, "stdio");
    if let Some(log) = &log {
        log.start(&audit::Started { serves: "stdio".to_owned(), servers: vec![("stdio", &*server)], config })?;
    }
    announce(&[("stdio", &*server)], &own_walls(&server));
    start::look_for_repositories(server.services());
    if server.services().policy.roots().is_empty() {
        tracing::warn!(
            "no directory is allowed, so the tools can open nothing; add --allow DIR, or --allow DIR:rw to write"
        );
    }
    let door = Door::new(Session::new(service), stdin()?, Writer::to_descriptor(stdout()?)?, config.client_limits)?;
    let end = door.run(Some(signals.as_fd())).context("stdin cannot be served")?;
    let ended = server.services().commands.end_all();
    let why = if end == End::Served { "stdin has ended" } else { "stopped by a signal, or nobody reads any more" };
    tracing::debug!(ended, "{why}");
    if let Some(log) = &log {
        log.end();
    }
    if let Some(tracer) = tracer {
        tracer.end();
    }
    Ok(ExitCode::SUCCESS)
}

/// The same, with what belongs to the audit log out of the sight of agents.
fn hiding(config: Config, log: Option<&audit::AuditLog>) -> Config {
    let hidden = log.map(|log| log.hidden().to_vec()).unwrap_or_default();
    Config { hidden, ..config }
}

/// Who looks on at calls.
fn observers(log: Option<&Arc<audit::AuditLog>>) -> Vec<Arc<dyn Observer>> {
    log.cloned().into_iter().map(|log| log as Arc<dyn Observer>).collect()
}

/// Who makes spans of requests, if they are to be exported. Started before the server's own walls, which refuse TCP.
fn tracer(cli: &Cli) -> Result<Option<Arc<Tracer>>> {
    let settings = config::telemetry(&cli.telemetry)?;
    settings.map(|settings| Tracer::start(settings).context("no thread to be had")).transpose()
}

/// Serves over HTTP, and over stdin and stdout as well if that is asked for.
fn serve_http(config: Config, cli: &Cli) -> Result<ExitCode> {
    let signals = catch_signals()?;
    logging(config.log_level);
    raise_open_files();
    let tracer = tracer(cli)?;
    let log = audit::open(&cli.audit)?.map(Arc::new);
    let mut config = hiding(config, log.as_deref());
    let servers = web::prepare(cli, &mut config, log.as_ref(), tracer.clone())?;
    if let Some(log) = &log {
        log.start(&audit::Started { serves: servers.address()?, servers: servers.named(), config: &config })?;
    }
    let own_wall = servers.wall_in();
    announce(&servers.named(), &own_wall);
    let stdio = if cli.http.stdio { Some((stdin()?, stdout()?)) } else { None };
    let served = servers.serve(stdio, signals.as_fd().try_clone_to_owned()?);
    if let Some(log) = &log {
        log.end();
    }
    if let Some(tracer) = tracer {
        tracer.end();
    }
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Serves a mock until its client closes stdin, or over HTTP until a signal comes.
fn serve_mock(serve: &MockServe, options: &Options) -> Result<ExitCode> {
    let signals = catch_signals()?;
    logging(mocking::log_level(serve, options.log_level));
    raise_open_files();
    let mock = mocking::serve(serve, config::error_style(options))?;
    let (version, source) = (env!("CARGO_PKG_VERSION"), mocking::source(serve));
    let limits = config::client_limits(options);
    if let Some(address) = serve.http {
        tracing::info!("replay {version} serves the mock {source}");
        web::serve_mock(&mock.service, address, limits, signals.as_fd().try_clone_to_owned()?)?;
    } else {
        tracing::info!("replay {version} serves the mock {source} on stdin and stdout");
        let session = Session::new(mock.service);
        let door = Door::new(session, stdin()?, Writer::to_descriptor(stdout()?)?, limits)?;
        door.run(Some(signals.as_fd())).context("stdin cannot be served")?;
    }
    let Some(verifier) = mock.verifier else { return Ok(ExitCode::SUCCESS) };
    let (report, good) = verifier.verdict();
    std::io::stderr().write_all(report.as_bytes())?;
    if let Some(path) = &serve.report {
        mocking::write_report(path, &report)?;
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The signals that end this process, as a descriptor. Before any thread starts, so that all leave them to it.
fn catch_signals() -> Result<SignalFd> {
    catch(&[Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP])
}

fn catch(caught: &[Signal]) -> Result<SignalFd> {
    let signals: SigSet = caught.iter().copied().collect();
    signals.thread_block().context("signals cannot be blocked")?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).context("signals cannot be received")
}

/// A write beyond `RLIMIT_FSIZE` is then the error EFBIG for one call instead of the end of the process (setrlimit(2)).
/// Programs that are started begin with an empty mask.
fn outlive_file_limit() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // It cannot fail with a valid set; if it did, the limit would be as it was.
    let _ = signals.thread_block();
}

/// The server's own domain, as the start-up line shows it.
fn own_walls(server: &Server) -> String {
    match start::wall_in(&[server.services()], &[]) {
        Ok(abi) => format!("landlock {abi}"),
        Err(fault) => {
            tracing::warn!("the server itself has no second wall: {fault}");
            "none".to_owned()
        }
    }
}

/// An atomic edit of many files holds each of them open, and the soft limit of most systems is 1024. Commands have their own, below
/// this one (`OPEN_FILES_KEPT_SHARE`).
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!("the limit of open files cannot be raised: {error}");
    }
}

/// The start-up line: what this is, what it speaks, what it may touch, and what stands around commands.
fn announce(servers: &[(&str, &Server)], own_wall: &str) {
    // Several differ in what they may touch; the walls are the same for all.
    let Some((_, first)) = servers.first() else { return };
    let services = first.services();
    let directories = servers.iter().flat_map(|(name, server)| {
        server.services().policy.roots().iter().map(move |root| {
            let owner = if servers.len() > 1 { format!("{name}=") } else { String::new() };
            format!("{owner}{}:{}", root.path().display(), if root.writable() { "rw" } else { "ro" })
        })
    });
    let directories: Vec<String> = directories.collect();
    let standing = &services.commands.standing;
    let wall = standing.word();
    if standing.tier == Some(Tier::Off) {
        tracing::warn!("commands run outside any kernel wall (--sandbox off)");
    }
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        revisions = Revision::ALL.map(Revision::as_str).join(","),
        directories = directories.join(" "),
        wall = &*wall,
        own_wall,
        network = standing.effective_network().as_str(),
        "serving"
    );
}

/// Logs go to stderr, whatever happens; stdout is the protocol.
fn logging(level: LevelFilter) {
    // What libraries say of themselves at such levels helps nobody who runs this.
    let own = Targets::new().with_target(env!("CARGO_PKG_NAME"), level).with_default(level.min(LevelFilter::WARN));
    let lines = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        // It says so on stderr, and panics if that is what is broken: whoever reads the log may go before its server.
        .log_internal_errors(false)
        .finish();
    lines.with(own).init();
}

/// Unbuffered: lines are cut from blocks as they come.
fn stdin() -> Result<std::fs::File> {
    Ok(std::io::stdin().as_fd().try_clone_to_owned().context("stdin is closed")?.into())
}

/// Unbuffered: one write is one message.
fn stdout() -> Result<std::fs::File> {
    Ok(std::io::stdout().as_fd().try_clone_to_owned().context("stdout is closed")?.into())
}
