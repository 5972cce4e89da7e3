//! `replay mock`: reads and watches the operator's files behind a mock.
#![expect(
    clippy::disallowed_methods,
    reason = "a manifest is the operator's file, named on the command line"
)]

mod front;
mod proxy;
mod target;
mod watch;

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, anyhow, bail};
use replay_base::limits::MAX_MANIFEST_BYTES;
use replay_clients::FailureForm;
use replay_mcp::sessions::{Service, Session};
use replay_mcp::transport::{StdioServer, Writer};
use replay_mock::{
    AskedFault, Cassette, CassetteMatch, CassetteMiss, CassettePlayer, CassetteRecorder, Catalog,
    ExpectationVerifier, FaultRule, FaultRules, FileProblem, HttpFault, Journal, LoadError,
    MANIFEST_SCHEMA, Manifest, Mock, MockFault, Observed, Observers, PRESETS, Proxy, Redactor,
    STARTER, SessionObserver, distill, is_secret, load, load_expectations, preset,
};
use tracing::level_filters::LevelFilter;

use super::process::{catch_signals, logging, print, print_content, status, stdin, stdout};
use crate::cli::{
    ClientChecks, LogLevel, MatchArg, MockAction, MockServe, OnMissArg, RealServer, Redact,
};
use crate::config::reasons;
use crate::config::{client_limits, failure_form, level_filter};

/// Serves a mock until its client closes stdin, or over HTTP until a signal.
pub(super) fn serve(serve: &MockServe) -> Result<ExitCode> {
    let signals = catch_signals()?;
    logging(log_level(serve, serve.log.log_level));
    let mock = prepare(serve, failure_form(&serve.client).unwrap_or_default())?;
    let (version, source) = (env!("CARGO_PKG_VERSION"), source(serve));
    let limits = client_limits(&serve.client);
    if let Some(address) = serve.http {
        tracing::info!("replay {version} serves the mock {source}");
        let signals = signals.as_fd().try_clone_to_owned()?;
        front::serve(&mock, address, limits, signals)?;
    } else {
        tracing::info!("replay {version} serves the mock {source} on stdin and stdout");
        front::warn_of_unserved(&mock.manifest);
        let session = Session::new(mock.service);
        let stdio_server =
            StdioServer::new(session, stdin()?, Writer::to_descriptor(stdout()?)?, limits)?;
        stdio_server
            .run(Some(signals.as_fd()))
            .context("stdin cannot be served")?;
    }
    Ok(status(mock.checks.conclude(&serve.checks)?))
}

/// A mock service, and the checks of its client.
struct MockService {
    service: Arc<dyn Service>,
    /// The manifest; empty for a cassette.
    manifest: Manifest,
    checks: Checks,
}

/// Faults and observers of the command line.
struct Checks {
    faults: Arc<FaultRules>,
    observers: Arc<Observers>,
    /// Set with `--expect`.
    verifier: Option<Arc<ExpectationVerifier>>,
    /// `true` once a journal or cassette could not be written.
    is_incomplete: Arc<AtomicBool>,
}

impl Checks {
    /// Prepares the checks. `served` warns of expected tools that no catalog has.
    fn new(
        asked: &ClientChecks,
        faults: Arc<FaultRules>,
        served: Option<&Catalog>,
        is_incomplete: Arc<AtomicBool>,
    ) -> Result<Self> {
        let mut observers: Vec<Arc<dyn SessionObserver>> = Vec::new();
        if let Some(path) = &asked.journal {
            let file = RecordFile {
                file: create(path)?,
                is_begun: true,
                is_incomplete: Arc::clone(&is_incomplete),
            };
            observers.push(Arc::new(Journal::new(Box::new(file))));
        }
        let mut verifier = None;
        if let Some(path) = &asked.expect {
            let of_file = Arc::new(self::verifier(path, served)?);
            observers.push(Arc::clone(&of_file) as Arc<dyn SessionObserver>);
            verifier = Some(of_file);
        }
        Ok(Self {
            faults,
            observers: Arc::new(Observers::new(observers)),
            verifier,
            is_incomplete,
        })
    }

    /// Reports at the end of the session. Returns true if all expectations are met, and the records
    /// are complete.
    fn conclude(&self, asked: &ClientChecks) -> Result<bool> {
        let is_complete = !self.is_incomplete.load(Ordering::Relaxed);
        for fault in self.faults.unused() {
            tracing::warn!("--fault {fault} was applied to no call");
        }
        let Some(verifier) = &self.verifier else {
            return Ok(is_complete);
        };
        let (report, good) = verifier.verdict();
        std::io::stderr().write_all(report.as_bytes())?;
        if let Some(path) = &asked.report {
            // A client that starts servers may hide their stderr.
            create(path)?
                .write_all(report.as_bytes())
                .with_context(|| format!("`{}` cannot be written", path.display()))?;
        }
        Ok(good && is_complete)
    }
}

/// Log level; `--debug` and `--verbose` override it.
fn log_level(serve: &MockServe, level: LogLevel) -> LevelFilter {
    match (serve.debug, serve.verbose) {
        (true, _) => LevelFilter::TRACE,
        (false, true) => LevelFilter::DEBUG,
        (false, false) => level_filter(level),
    }
}

/// The source of the mock, for the start-up message.
fn source(asked: &MockServe) -> String {
    let path = asked.tools_from.as_ref().or(asked.cassette.as_ref());
    path.map(|path| path.display().to_string())
        .or_else(|| asked.preset.clone())
        .unwrap_or_default()
}

/// Builds the service from the single source on the command line. A manifest is watched for
/// changes.
fn prepare(asked: &MockServe, errors: FailureForm) -> Result<MockService> {
    if asked.cassette.is_none() {
        // clap requires nothing of a source that another one excludes.
        let flags = [
            ("--match", asked.matching.is_some()),
            ("--on-miss", asked.on_miss != OnMissArg::Fail),
            ("--target", asked.target.is_some()),
        ];
        if let Some((flag, _)) = flags.iter().find(|(_, is_given)| *is_given) {
            bail!("{flag} goes with --cassette FILE");
        }
    }
    let (faults, http_faults) = fault_rules(&asked.checks, asked.http.is_some())?;
    let (mut served, mut manifest) = (None, Manifest::default());
    let is_incomplete = Arc::default();
    let mut service: Arc<dyn Service> = match (&asked.tools_from, &asked.preset, &asked.cassette) {
        (Some(path), ..) => {
            let bytes = read(path)?;
            let catalog;
            (manifest, catalog) = read_manifest(path, &bytes)?;
            let mock = Mock::new(catalog, Arc::clone(&faults), errors, true);
            follow(path, bytes, &mock, &manifest);
            served = Some(mock.catalog());
            mock
        }
        (_, Some(name), _) => {
            let text = preset(name)
                .with_context(|| format!("there is no preset `{name}`"))?
                .text;
            let catalog;
            (manifest, catalog, _) = build(name, text.as_bytes())?;
            let mock = Mock::new(catalog, Arc::clone(&faults), errors, false);
            served = Some(mock.catalog());
            mock
        }
        (.., Some(path)) => Arc::new(player(path, asked, &is_incomplete)?),
        _ => bail!("one of --tools-from, --preset and --cassette is required"),
    };
    if asked.cassette.is_some() && asked.checks.fault.len() > http_faults.len() {
        bail!(
            "a cassette answers as it was recorded; --fault goes with --tools-from and --preset, \
             but for faults of HTTP"
        );
    }
    manifest.faults.extend(http_faults);
    let checks = Checks::new(&asked.checks, faults, served.as_deref(), is_incomplete)?;
    if !checks.observers.is_empty() {
        service = Arc::new(Observed::new(service, Arc::clone(&checks.observers)));
    }
    Ok(MockService {
        service,
        manifest,
        checks,
    })
}

/// Returns the faults of calls, and those of HTTP. Fails if there are any of HTTP without HTTP.
fn fault_rules(
    asked: &ClientChecks,
    is_over_http: bool,
) -> Result<(Arc<FaultRules>, Vec<FaultRule>)> {
    let mut http = Vec::new();
    for fault in &asked.fault {
        match fault {
            AskedFault::Call(_) => {}
            AskedFault::Http(_, kind) if !is_over_http => {
                bail!(
                    "--fault {kind} is a fault of HTTP; it needs --http, or a --target that is a URL"
                )
            }
            fault @ AskedFault::Http(..) => http.extend(fault.over_http(asked.fault_times)),
        }
    }
    let rules = FaultRules::new(&asked.fault, asked.fault_times).map_err(anyhow::Error::msg)?;
    Ok((Arc::new(rules), http))
}

fn player(
    path: &Path,
    asked: &MockServe,
    is_incomplete: &Arc<AtomicBool>,
) -> Result<CassettePlayer> {
    let bytes = read(path)?;
    let matching = asked.matching.map(|way| match way {
        MatchArg::Hash => CassetteMatch::Hash,
        MatchArg::Params => CassetteMatch::Params,
        MatchArg::Order => CassetteMatch::Order,
    });
    let cassette = Cassette::read(&path.display().to_string(), &bytes, matching)?;
    let upstream = |way: &str| {
        let target = asked
            .target
            .as_ref()
            .with_context(|| format!("--on-miss {way} needs --target"))?;
        Ok::<_, anyhow::Error>(Box::new(target::UpstreamProgram::start(target)?))
    };
    let on_miss = match asked.on_miss {
        OnMissArg::Fail => CassetteMiss::Fail,
        OnMissArg::Passthrough => CassetteMiss::Ask(upstream("passthrough")?),
        OnMissArg::Record => {
            let target = upstream("record")?;
            let cannot = || format!("`{}` cannot be written", path.display());
            let mut end = OpenOptions::new()
                .append(true)
                .open(path)
                .with_context(cannot)?;
            // An incomplete last exchange of a killed recorder would spoil the next one.
            let whole = Cassette::whole_bytes(&bytes);
            end.set_len(whole as u64).with_context(cannot)?;
            if !bytes[..whole].ends_with(b"\n") {
                end.write_all(b"\n").with_context(cannot)?;
            }
            let end = RecordFile {
                file: end,
                is_begun: true,
                is_incomplete: Arc::clone(is_incomplete),
            };
            CassetteMiss::Record(
                target,
                CassetteRecorder::behind(Box::new(end), redactor(&asked.redact)?),
            )
        }
    };
    let mut hides = redactor(&asked.redact)?;
    for (name, pattern) in &cassette.redacted {
        hides
            .add_pattern(name, pattern)
            .map_err(|reason| anyhow!("`{}`: {reason}", path.display()))?;
    }
    Ok(CassettePlayer::new(cassette, on_miss, hides))
}

/// Creates a recorder that writes a new file. `is_incomplete` is set if a write fails.
pub(super) fn recorder(
    path: &Path,
    redact: &Redact,
    is_incomplete: &Arc<AtomicBool>,
) -> Result<CassetteRecorder> {
    let redactor = redactor(redact)?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(path);
    let file = RecordFile {
        file: file.with_context(|| format!("`{}` cannot be created", path.display()))?,
        is_begun: false,
        is_incomplete: Arc::clone(is_incomplete),
    };
    Ok(CassetteRecorder::new(Box::new(file), redactor))
}

/// A journal or a cassette.
struct RecordFile {
    file: File,
    /// `false` until the first write, which replaces the old content of the file.
    is_begun: bool,
    /// Set if a write fails.
    is_incomplete: Arc<AtomicBool>,
}

impl RecordFile {
    fn try_to_write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // A pipe has no content to replace.
        if !std::mem::replace(&mut self.is_begun, true) && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write(bytes)
    }
}

impl Write for RecordFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.try_to_write(bytes)
            .inspect_err(|_| self.is_incomplete.store(true, Ordering::Relaxed))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

fn redactor(asked: &Redact) -> Result<Redactor> {
    let mut redactor = Redactor::default();
    for (name, value) in std::env::vars() {
        if is_secret(&name) || asked.redact_env.contains(&name) {
            redactor.add_value(&name, &value);
        }
    }
    for typed in &asked.redact {
        let (name, pattern) = typed
            .split_once('=')
            .with_context(|| format!("--redact `{typed}` is not NAME=REGEX"))?;
        redactor
            .add_pattern(name, pattern)
            .map_err(anyhow::Error::msg)?;
    }
    Ok(redactor)
}

fn verifier(path: &Path, served: Option<&Catalog>) -> Result<ExpectationVerifier> {
    let file = path.display().to_string();
    let (expectations, source) = load_expectations(&file, &read(path)?)?;
    let verifier = ExpectationVerifier::new(&expectations, &source)?;
    let later = served
        .and_then(|catalog| catalog.later.as_ref())
        .map(|later| &*later.catalog);
    let tools = served
        .into_iter()
        .chain(later)
        .flat_map(|catalog| &catalog.tools);
    let names: Vec<&str> = tools.map(|tool| &*tool.name).collect();
    let problems = if served.is_some() {
        verifier.unknown_tools(&source, &names)
    } else {
        Vec::new()
    };
    if !problems.is_empty() {
        tracing::warn!("{}", LoadError { file, problems });
    }
    Ok(verifier)
}

/// Reloads the manifest whenever its file changes, unless the new content has errors.
fn follow(path: &Path, mut last: Vec<u8>, mock: &Arc<Mock>, served: &Manifest) {
    let of_front = |it: &Manifest| format!("{:?}{:?}{:?}", it.auth, it.faults, it.card);
    let at_start = of_front(served);
    let (file, mock) = (path.to_owned(), Arc::clone(mock));
    let changed = move || {
        let Ok(bytes) = read(&file) else { return };
        if bytes == last {
            return;
        }
        match read_manifest(&file, &bytes) {
            Ok((manifest, catalog)) => match mock.reload(catalog) {
                Ok(()) if of_front(&manifest) != at_start => tracing::warn!(
                    "{} has changed and was reloaded, but for `auth`, `faults` and `card`, which \
                     stay as they were at the start",
                    file.display()
                ),
                Ok(()) => tracing::info!("{} has changed and was reloaded", file.display()),
                Err(reason) => tracing::error!(
                    "the manifest was not reloaded, so the old one is served: {}: {reason}",
                    file.display()
                ),
            },
            Err(error) => tracing::error!(
                "the manifest was not reloaded, so the old one is \
                served: {}",
                reasons(&error)
            ),
        }
        last = bytes;
    };
    if let Err(error) = watch::on_change(path, changed) {
        tracing::warn!(
            "{} cannot be watched for changes, so restart after a change: {error}",
            path.display()
        );
    }
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("`{}` cannot be created", path.display()))
}

/// Creates the mock that is served beside the tools. Must run before the server enters its own
/// walls: the thread that watches the file stays outside them, and opens only this file.
pub(super) fn load_beside(path: &Path, errors: FailureForm) -> Result<Arc<Mock>> {
    let bytes = read(path)?;
    let (manifest, catalog) = read_manifest(path, &bytes)?;
    front::warn_of_unserved(&manifest);
    let mock = Mock::new(catalog, Arc::default(), errors, true);
    follow(path, bytes, &mock, &manifest);
    Ok(mock)
}

/// Runs `replay mock ACTION`.
pub(super) fn run(action: &MockAction) -> Result<ExitCode> {
    match action {
        MockAction::Check { manifest } => {
            let (text, good) = check(manifest)?;
            print(text)?;
            Ok(status(good))
        }
        MockAction::Init { file } => {
            let mut new = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(file)
                .map_err(|error| match error.kind() {
                    ErrorKind::AlreadyExists => {
                        anyhow!(
                            "`{}` exists already and was not changed; name another file",
                            file.display()
                        )
                    }
                    _ => anyhow!("`{}` cannot be created: {error}", file.display()),
                })?;
            new.write_all(STARTER.as_bytes())
                .with_context(|| format!("`{}` cannot be written", file.display()))?;
            let file = file.display();
            print(format!(
                "{file} is written; serve it with: replay mock --tools-from {file}\n"
            ))
        }
        MockAction::Presets { faults: true, .. } => print(
            MockFault::MEANINGS
                .map(|(name, meaning)| format!("{name:<23}{meaning}\n"))
                .into_iter()
                .chain(["\nover HTTP, for --fault and for `faults` of a manifest:\n".to_owned()])
                .chain(
                    HttpFault::meanings().map(|(name, meaning)| format!("{name:<23}{meaning}\n")),
                )
                .collect::<String>(),
        ),
        MockAction::Presets {
            name: Some(name), ..
        } => print_content(preset(name).map(|preset| preset.text).unwrap_or_default()),
        MockAction::Presets { name: None, .. } => print(
            PRESETS
                .map(|preset| format!("{:<14}{}\n", preset.name, preset.about))
                .concat(),
        ),
        MockAction::Record { server, output } => {
            proxy(server, &ClientChecks::default(), Some(output))
        }
        MockAction::Proxy {
            server,
            checks,
            output,
            front,
        } => match (is_url(&server.target), output) {
            (true, output) => front::proxy(server, checks, front, output.as_deref()),
            (false, _) if front.is_given() => {
                bail!(
                    "--http, --faults-from and --cacert go with a --target that is a URL, which begins \
                     with http:// or https://; a command takes --fault"
                )
            }
            (false, output) => proxy(server, checks, output.as_deref()),
        },
        MockAction::Distill { cassette } => print_content(distill(&Cassette::read(
            &cassette.display().to_string(),
            &read(cassette)?,
            None,
        )?)),
        MockAction::Schema => print_content(MANIFEST_SCHEMA),
    }
}

fn is_url(target: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| target.starts_with(scheme))
}

/// Proxies a real server until it ends. Returns its exit status, or 1 if an expectation is not met.
fn proxy(server: &RealServer, asked: &ClientChecks, output: Option<&Path>) -> Result<ExitCode> {
    let signals = catch_signals()?;
    logging(level_filter(server.log.log_level));
    let checks = Checks::new(asked, fault_rules(asked, false)?.0, None, Arc::default())?;
    let recorder = output
        .map(|path| recorder(path, &server.redact, &checks.is_incomplete))
        .transpose()?;
    let client = Writer::to_descriptor(stdout()?)?;
    let (faults, observers) = (Arc::clone(&checks.faults), Arc::clone(&checks.observers));
    let proxy = Proxy::new(client, faults, observers, recorder);
    let ended = proxy::pass_lines(&server.target, &proxy, stdin()?, signals.as_fd())?;
    let good = checks.conclude(asked)?;
    Ok(if good {
        ExitCode::from(ended)
    } else {
        status(false)
    })
}

fn check(path: &Path) -> Result<(String, bool)> {
    let name = path.display().to_string();
    let lines = |problems: Vec<FileProblem>, kind: &str| {
        let error = LoadError {
            file: name.clone(),
            problems,
        };
        error
            .to_string()
            .lines()
            .flat_map(|line| [kind, line, "\n"].map(str::to_owned))
            .collect::<String>()
    };
    match build(&name, &read(path)?) {
        Err(error) => Ok((lines(error.problems, "error: "), false)),
        Ok((_, _, warnings)) if warnings.is_empty() => Ok((format!("{name}: good\n"), true)),
        Ok((_, _, warnings)) => Ok((lines(warnings, "warning: "), true)),
    }
}

fn read_manifest(path: &Path, bytes: &[u8]) -> Result<(Manifest, Catalog)> {
    let (manifest, catalog, warnings) = build(&path.display().to_string(), bytes)?;
    if !warnings.is_empty() {
        tracing::warn!(
            "{}",
            LoadError {
                file: path.display().to_string(),
                problems: warnings
            }
        );
    }
    Ok((manifest, catalog))
}

fn build(name: &str, bytes: &[u8]) -> Result<(Manifest, Catalog, Vec<FileProblem>), LoadError> {
    let (manifest, source) = load(name, bytes)?;
    let (catalog, warnings) = Catalog::build(&manifest, &source)?;
    Ok((manifest, catalog, warnings))
}

/// Reads a file up to one byte more than allowed. A longer file is refused.
fn read(path: &Path) -> Result<Vec<u8>> {
    let cannot = || format!("`{}` cannot be read", path.display());
    let file = File::open(path).map_err(|error| {
        anyhow!(
            "{}: {error}; `replay mock init` creates a manifest, `replay mock record` a cassette",
            cannot()
        )
    })?;
    let metadata = file.metadata().with_context(cannot)?;
    if metadata.is_file() && metadata.len() > MAX_MANIFEST_BYTES {
        bail!(
            "`{}` is {} bytes; at most {MAX_MANIFEST_BYTES} are read",
            path.display(),
            metadata.len()
        );
    }
    let mut bytes = Vec::new();
    file.take(MAX_MANIFEST_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(cannot)?;
    Ok(bytes)
}
