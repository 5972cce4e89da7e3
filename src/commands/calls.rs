//! `replay calls`: records the calls of a program and replays them.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;
use replay_base::budget::Room;
use replay_base::cancel::CancelToken;
use replay_base::text::count::counted;
use replay_files::journal::Changes;
use replay_files::policy::PolicyError;
use replay_sandbox::Exit;

use super::process::{
    self, NotRun, catch, exit_status, hidden_path_hint, logging, quoted, with_one_command,
};
use crate::calls::sets::Set;
use crate::calls::{
    CallsError, Isolation, Loaded, NewSet, NotKept, Play, Ran, WrittenSet, add_noise, declared,
    keep, load, page, secret_warnings, sets, table,
};
use crate::cli::{CallsAction, CallsRun, OnMissArg, StoredSets};
use crate::config::Config;
use crate::config::reasons;
use crate::tools::Services;
use crate::tools::recorded_calls::{
    CommandRequest, did_not_run, folder, left_out, notes, remarks, run_command, secrets, some_of,
    unreached,
};
use replay_record::matching::learn;
use replay_record::naming::set_name;
use replay_record::naming::summary::Summary;
use replay_record::proxy::OnMiss;
use replay_record::store::Head;
use replay_record::{Exchange, Noise, Recording, Report};

/// Resources of this process that a run uses.
#[derive(Clone, Copy, Debug)]
struct ProcessContext<'a> {
    /// Signals of this process (signalfd(2)), to forward to the program.
    signals: BorrowedFd<'a>,
    /// Directory for temporary files.
    temporary: &'a Path,
}

/// Possible cause if a program made no calls.
const UNREACHED: &str = "other programs cannot connect to a port of the program; --isolation \
    seccomp gives it the system's network";

/// Runs the subcommand and returns the exit status. Messages go to stderr, since stdout belongs to
/// the program.
pub(super) fn run(action: &CallsAction) -> Result<ExitCode> {
    let signals = catch(&[
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ])?;
    let config = Config::for_calls(action)?;
    logging(config.log_level);
    let temporary = config.temporary.clone();
    let here = ProcessContext {
        signals: signals.as_fd(),
        temporary: &temporary,
    };
    let status = with_one_command(config, |services| {
        let status = act(services, action, &here);
        services.commands.end_all();
        status
    });
    Ok(ExitCode::from(status?))
}

fn act(services: &Services, action: &CallsAction, here: &ProcessContext<'_>) -> Result<u8> {
    match action {
        CallsAction::Record { sets, run, .. } => record(services, &sets.path, run, here),
        CallsAction::Test {
            sets,
            mock,
            on_miss,
            exact,
            run,
            ..
        } => test(
            services,
            &sets.path,
            mock.as_deref(),
            *on_miss,
            *exact,
            run,
            here,
        ),
        CallsAction::List(StoredSets { sets, .. }) => {
            let mut text = String::new();
            let found = sets::list(&services.policy, &sets.path).map_err(with_hint)?;
            if found.is_empty() {
                tell(&none_in(&sets.path), &[]);
            }
            for set in found {
                let modified = humantime::format_rfc3339_seconds(set.modified);
                let _ = writeln!(
                    text,
                    "{}\t{modified}\t{}",
                    set.name,
                    call_count(services, &sets.path, &set)
                );
            }
            print(&text)
        }
        CallsAction::Noise {
            name,
            other,
            stored,
            write,
            ..
        } => noise(services, &stored.sets.path, name, other, *write),
        CallsAction::Show { name, stored, html } => {
            let sets = &stored.sets;
            let name = if let Some(name) = name {
                name.clone()
            } else {
                let known =
                    sets::candidates(sets::list(&services.policy, &sets.path).map_err(with_hint)?);
                let latest = known
                    .into_iter()
                    .next()
                    .with_context(|| none_in(&sets.path))?;
                tell(&format!("{} is the latest", latest.name), &[]);
                latest.name
            };
            let loaded = load_set(services, &sets.path, &name)?;
            let exchanges: Vec<Exchange> = loaded
                .recordings
                .into_iter()
                .map(|recording| recording.exchange)
                .collect();
            print(&if *html {
                page(&name, &exchanges)
            } else {
                table(&exchanges) + &secret_warnings(&exchanges)
            })
        }
    }
}

/// Number of calls in a set, in words; of refused connections, if there is no call. An unreadable
/// set gets a message, so that it does not hide the others.
fn call_count(services: &Services, path: &str, set: &Set) -> String {
    match load_set(services, path, &set.name) {
        Ok(loaded) => {
            let exchanges = loaded
                .recordings
                .iter()
                .map(|recording| &recording.exchange);
            let summary = Summary::of(exchanges);
            match summary.refused as u64 {
                _ if !summary.is_nothing => calls(summary.calls as u64),
                0 => "no calls".to_owned(),
                refused => counted(refused, "refused connection", "refused connections"),
            }
        }
        Err(error) => {
            tell(&reasons(&error), &[]);
            "broken".to_owned()
        }
    }
}

/// Loads the set with this name.
fn load_set(services: &Services, path: &str, name: &str) -> Result<Loaded> {
    set_name::check(name).map_err(|error| anyhow::anyhow!("{error}"))?;
    let room = Room {
        account: Some(&services.account),
        cancel: &CancelToken::new(),
    };
    if let Some(loaded) = load(&services.policy, path, name, &room).map_err(with_hint)? {
        return Ok(loaded);
    }
    let known: Vec<String> = sets::list(&services.policy, path)
        .map_err(with_hint)?
        .into_iter()
        .map(|set| set.name)
        .collect();
    if known.is_empty() {
        bail!("there is no mock set `{name}`: {}", none_in(path));
    }
    bail!(
        "there is no mock set `{name}` in {path}; there are: {}",
        some_of(&known)
    )
}

fn none_in(path: &str) -> String {
    format!(
        "no mock sets in {path}; record one with `replay calls record -- COMMAND`, or name the directory of others (--path)"
    )
}

fn noise(services: &Services, path: &str, name: &str, other: &str, write: bool) -> Result<u8> {
    let (
        Loaded {
            recordings,
            share: _held,
            ..
        },
        Loaded {
            recordings: others,
            share: _held_too,
            ..
        },
    ) = (
        load_set(services, path, name)?,
        load_set(services, path, other)?,
    );
    let exchanges = |recordings: &[Recording]| {
        recordings
            .iter()
            .map(|it| it.exchange.clone())
            .collect::<Vec<_>>()
    };
    let (ours, theirs) = (exchanges(&recordings), exchanges(&others));
    let (noise, lessons) = learn(&ours, &theirs);
    let mut text = String::new();
    let mut unlike = Vec::new();
    for lesson in &lessons {
        for change in &lesson.changes {
            let (one, two) = &change.values;
            let _ = writeln!(text, "{}\t{}\t{one}\t{two}", lesson.place, change.field);
        }
        if lesson.calls.0 != lesson.calls.1 {
            let (one, two) = lesson.calls;
            unlike.push(format!(
                "no noise was found for {}, which has {} in {name} and {two} in {other}",
                lesson.place,
                calls(one as u64)
            ));
        }
    }
    let apart = noise.unlike(&ours, &theirs);
    if apart > 0 {
        unlike.push(format!(
            "no noise was found for {} of {name} that {other} lacks or has with larger \
             differences; fix the clock, seed or id that makes them, or declare `noise`",
            counted(
                apart as u64,
                "call other than HTTP",
                "calls other than HTTP"
            )
        ));
    }
    print(&text)?;
    let said = if noise.is_empty() {
        let differs = if apart > 0 {
            "noise"
        } else {
            "call with different values"
        };
        format!("the two sets have no {differs}")
    } else if write {
        // Without `--mock` the latest set answers, which may be either of the two.
        let (mirrored, _) = learn(&theirs, &ours);
        let add = |set, recordings: &[Recording], noise: &Noise| {
            add_noise(
                &services.policy,
                services.writer.telling(&Changes::none()),
                path,
                set,
                recordings,
                noise,
            )
            .map_err(with_hint)
        };
        let files = (
            add(name, &recordings, &noise)?,
            add(other, &others, &mirrored)?,
        );
        format!(
            "noise of {name} and {other}: {}, {}",
            files.0.display(),
            files.1.display()
        )
    } else {
        "add --write to ignore these fields when either set is replayed".to_owned()
    };
    tell(&said, &unlike);
    Ok(0)
}

fn record(
    services: &Services,
    path: &str,
    run: &CallsRun,
    here: &ProcessContext<'_>,
) -> Result<u8> {
    sets::prepare(
        &services.policy,
        services.writer.telling(&Changes::none()),
        path,
    )
    .map_err(with_hint)?;
    let line = shell_line(&run.program)?;
    let declared = declared(&services.policy, path, &line).map_err(with_hint)?;
    let rules = secrets(services, &declared).map_err(with_hint)?;
    let mut ran = run_here(services, &line, run, Play::Record, here.signals)?;
    let exchanges = std::mem::take(&mut ran.recorded.exchanges);
    let folder = folder(services);
    let count = exchanges.len();
    if count == 0 {
        let why = if did_not_run(&ran) {
            "the command did not run"
        } else {
            "the program made no call, or every call failed"
        };
        let hint = hidden_path_hint(services, ran.outcome.exit, true)
            .into_iter()
            .collect();
        tell(
            &format!("recorded nothing: {why}"),
            &[vec![isolation(&ran)], notes(services, &ran), hint].concat(),
        );
        return Ok(exit_status(ran.outcome.exit));
    }
    let changes = Changes::none();
    let (policy, writer) = (&services.policy, services.writer.telling(&changes));
    let head = Head {
        redact: declared,
        ..Head::default()
    };
    let rules = (!services.calls.keep_secrets).then_some(&rules);
    let set = NewSet {
        command: &line,
        folder: &folder,
        head,
        earlier: Vec::new(),
        workers: &ran.recorded.workers,
    };
    let kept = keep(policy, writer, path, set, exchanges, rules);
    let (kept, exchanges) = kept.or_else(|lost| rescue(here, path, count, *lost))?;
    let summary = Summary::of(&exchanges);
    let mut text = if summary.is_nothing {
        "recorded only failed connections".to_owned()
    } else {
        format!(
            "recorded {} ({})",
            calls(summary.calls as u64),
            summary.protocol_words().join(", ")
        )
    };
    let _ = write!(text, " as {}: {}", kept.name, kept.path.display());
    let hint = hidden_path_hint(services, ran.outcome.exit, summary.is_nothing)
        .into_iter()
        .collect();
    let unreached = if summary.is_nothing {
        unreached(services, &ran, &exchanges)
    } else {
        Vec::new()
    };
    let again: Vec<String> = (summary.is_nothing && summary.refused > 0)
        .then(|| "start the server that refused, and record again".to_owned())
        .into_iter()
        .collect();
    tell(
        &text,
        &[
            unusual_isolation(&ran, Isolation::Seccomp),
            left_out(&kept),
            notes(services, &ran),
            unreached,
            again,
            hint,
        ]
        .concat(),
    );
    Ok(exit_status(ran.outcome.exit))
}

fn calls(count: u64) -> String {
    counted(count, "call", "calls")
}

fn test(
    services: &Services,
    path: &str,
    mock: Option<&str>,
    on_miss: OnMissArg,
    exact: bool,
    run: &CallsRun,
    here: &ProcessContext<'_>,
) -> Result<u8> {
    let line = shell_line(&run.program)?;
    let (name, choice) = match mock {
        Some(name) => (name.to_owned(), None),
        None => choose_set(services, path, &line)?,
    };
    let mut loaded = load_set(services, path, &name)?;
    loaded.noise.exactly(exact);
    if on_miss == OnMissArg::Record {
        sets::prepare(
            &services.policy,
            services.writer.telling(&Changes::none()),
            path,
        )
        .map_err(with_hint)?;
    }
    let on_miss = match on_miss {
        OnMissArg::Fail => OnMiss::Fail,
        OnMissArg::Passthrough => OnMiss::Passthrough,
        OnMissArg::Record => OnMiss::Record,
    };
    let earlier = if on_miss == OnMiss::Record {
        loaded.recordings.clone()
    } else {
        Vec::new()
    };
    let rules = || secrets(services, &loaded.head.redact).map_err(with_hint);
    let play = Play::Replay {
        recordings: loaded.recordings,
        noise: loaded.noise,
        secrets: Box::new(rules()?),
        on_miss,
    };
    let mut ran = run_here(services, &line, run, play, here.signals)?;
    let report = ran.report.clone().unwrap_or_default();
    let mut text = format!(
        "replayed {} of {name}",
        calls(report.replayed - report.refused - report.unanswered)
    );
    if report.refused > 0 {
        let _ = write!(
            text,
            ", {} refused as recorded",
            counted(report.refused, "connection was", "connections were")
        );
    }
    if report.unanswered > 0 {
        let _ = write!(
            text,
            ", {} no answer as recorded",
            counted(report.unanswered, "connection had", "connections had")
        );
    }
    if report.missed_count > 0 {
        let _ = write!(text, ", {} missed", report.missed_count);
    }
    if !report.unused.is_empty() {
        let unused = report.unused.len() as u64;
        let _ = write!(
            text,
            ", {} not used",
            counted(unused, "recording was", "recordings were")
        );
    }
    let mut elsewhere = Vec::new();
    let new = std::mem::take(&mut ran.recorded.exchanges);
    let summary = Summary::of(&new);
    if !summary.is_nothing {
        let folder = folder(services);
        let count = earlier.len() + new.len();
        let changes = Changes::none();
        let (policy, writer) = (&services.policy, services.writer.telling(&changes));
        let rules = rules()?;
        let set = NewSet {
            command: &line,
            folder: &folder,
            head: loaded.head,
            earlier,
            workers: &ran.recorded.workers,
        };
        let kept = keep(policy, writer, path, set, new, Some(&rules));
        let (kept, _) = kept.or_else(|lost| rescue(here, path, count, *lost))?;
        let new = counted(summary.calls as u64, "new call", "new calls");
        let _ = write!(
            text,
            "; {} holds those of {name} and {new}: {}",
            kept.name,
            kept.path.display()
        );
        elsewhere = left_out(&kept);
    }
    let mut more = unusual_isolation(&ran, Isolation::Strict);
    let choice = choice.filter(|choice| !(choice.is_usual && ran.has_passed()));
    more.extend(choice.map(|choice| choice.text));
    more.extend(elsewhere);
    if ran.has_passed() {
        text.extend(remarks(&ran).iter().map(|remark| format!("; {remark}")));
    } else {
        more.extend(remarks(&ran));
    }
    more.extend(notes(services, &ran));
    more.extend(loaded.torn);
    more.extend(missed(&report));
    let is_unused = report.replayed == 0 && report.missed_count == 0;
    more.extend(hidden_path_hint(services, ran.outcome.exit, is_unused));
    let was_waited_for = is_unused && !report.unused.is_empty();
    // A server whose startup calls were all answered may still be waiting for requests.
    let is_unasked = ran.counts.listening > 0 && ran.counts.own == 0;
    let is_apart = ran.isolation == Isolation::Strict && (was_waited_for || is_unasked);
    more.extend(is_apart.then(|| UNREACHED.to_owned()));
    tell(&text, &more);
    let status = exit_status(ran.outcome.exit);
    // Death by a signal says nothing about missed calls.
    let is_silent = status == 0 || matches!(ran.outcome.exit, Exit::Signal(_));
    Ok(if is_silent && report.missed_count > 0 {
        1
    } else {
        status
    })
}

/// Note on the choice among several sets.
struct Choice {
    text: String,
    /// `true` if the set was recorded with this command.
    is_usual: bool,
}

/// Chooses the set for a command if none is named. Also returns a note if there are several sets.
fn choose_set(services: &Services, path: &str, line: &str) -> Result<(String, Option<Choice>)> {
    let known = sets::candidates(sets::list(&services.policy, path).map_err(with_hint)?);
    let latest = known.first().with_context(|| none_in(path))?;
    if known.len() == 1 {
        return Ok((latest.name.clone(), None));
    }
    let same = sets::of_command(&services.policy, path, &known, line);
    let is_usual = same.is_some();
    let why = if is_usual {
        "recorded with this command"
    } else {
        "(none was recorded with this command)"
    };
    let (name, count) = (&same.unwrap_or(latest).name, known.len());
    let text = format!(
        "of {count} mock sets, {name} is the latest {why}; --mock NAME selects another set"
    );
    Ok((name.clone(), Some(Choice { text, is_usual })))
}

fn isolation(ran: &Ran) -> String {
    format!("isolation: {}", ran.isolation.as_str())
}

/// Names the isolation, unless it is the usual one of a run that passed.
fn unusual_isolation(ran: &Ran, usual: Isolation) -> Vec<String> {
    let is_told = ran.isolation != usual || !ran.has_passed();
    Vec::from_iter(is_told.then(|| isolation(ran)))
}

fn missed(report: &Report) -> impl Iterator<Item = String> {
    report.missed.iter().map(|miss| format!("missed: {miss}"))
}

/// Saves recorded calls to a new temporary directory if no set could be written. Always fails, with
/// an error that names this directory.
fn rescue(
    here: &ProcessContext<'_>,
    path: &str,
    count: usize,
    lost: NotKept,
) -> Result<(WrittenSet, Vec<Exchange>)> {
    let failed = anyhow::Error::new(lost.reason).context(format!(
        "{} could not be written to {path}",
        counted(count as u64, "recorded call", "recorded calls")
    ));
    if lost.files.is_empty() {
        return Err(failed);
    }
    let directory = here
        .temporary
        .join(format!("replay-{}-{}", lost.name, std::process::id()));
    let shown = directory.display();
    let to = Path::new(path).join(&lost.name);
    match new_directory(&directory, &lost.files) {
        Ok(()) => Err(failed.context(format!(
            "the calls are in {shown}; move it to {} once there is room",
            to.display()
        ))),
        Err(error) => Err(failed.context(format!("nor in {shown}: {error}"))),
    }
}

/// Creates a directory that only its owner can access, with files in it.
#[expect(
    clippy::disallowed_methods,
    reason = "new files in a directory that the operator named by TMPDIR"
)]
fn new_directory(directory: &Path, files: &[(String, Vec<u8>)]) -> io::Result<()> {
    let builder = |recursive| {
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(recursive);
        builder
    };
    builder(false).create(directory)?;
    for (path, bytes) in files {
        let path = directory.join(path);
        path.parent()
            .map(|parent| builder(true).create(parent))
            .transpose()?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?
            .write_all(bytes)?;
    }
    Ok(())
}

/// Adds the hint to the error.
fn with_hint(error: CallsError) -> anyhow::Error {
    match error.hint() {
        Some(hint)
            if matches!(
                error,
                CallsError::Policy(PolicyError::Denied { .. } | PolicyError::ReadOnly { .. })
            ) =>
        {
            anyhow::anyhow!("{error}; {hint}")
        }
        _ if error.is_setup() => {
            NotRun(format!("failed to setup agent: {}", error.advice())).into()
        }
        Some(_) => anyhow::anyhow!("{}", error.advice()),
        None => error.into(),
    }
}

/// Runs the program with the streams of this process. Forwards signals of this process, and keeps
/// the calls recorded until then.
fn run_here(
    services: &Services,
    line: &str,
    run: &CallsRun,
    play: Play,
    signals: BorrowedFd<'_>,
) -> Result<Ran> {
    let streams = [
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
    ];
    let timeout_secs = Some(run.timeout_secs);
    let line = with_exec(&run.program, line);
    let wanted = CommandRequest {
        changes: &Changes::new(None, "calls"),
        line: &line,
        timeout_secs,
        streams: Some(streams),
        signals: Some(signals),
    };
    let mut ran = run_command(
        services,
        &wanted,
        play,
        &CancelToken::new(),
        &mut |_, _, _| {},
    )
    .map_err(with_hint)?;
    // After an interrupt the exit status shows that signal, even if another one ended the program.
    if let (Some(signal), Exit::Signal(_)) = (ran.outcome.asked_by, ran.outcome.exit) {
        ran.outcome.exit = Exit::Signal(signal);
    }
    Ok(ran)
}

/// A single word is a shell command line already.
fn shell_line(program: &[OsString]) -> Result<String> {
    let words: Option<Vec<&str>> = program.iter().map(|word| word.to_str()).collect();
    let words = words.context("the program's arguments are not UTF-8")?;
    Ok(match words.as_slice() {
        [line] => (*line).to_owned(),
        words => words
            .iter()
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" "),
    })
}

/// Prefixes a program with `exec`, so that no shell in between dies of a forwarded signal. A single
/// word may be a pipeline, and `NAME=VALUE` is shell syntax.
fn with_exec(program: &[OsString], line: &str) -> String {
    let is_program = matches!(program, [first, _, ..] if !first.to_string_lossy().contains('='));
    if is_program {
        format!("exec {line}")
    } else {
        line.to_owned()
    }
}

fn print(text: &str) -> Result<u8> {
    process::print(text)?;
    Ok(0)
}

/// Writes to stderr and ignores failures.
fn tell(text: &str, more: &[String]) {
    process::tell(format!("replay: {text}"));
    for line in more {
        process::tell(format!("replay: {line}"));
    }
}
