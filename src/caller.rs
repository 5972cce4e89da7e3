//! `replay calls`: the recorder and the player of calls, from the command line.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::fd::BorrowedFd;
use std::thread;

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};

use crate::calls::{Loaded, Play, Ran, add_noise, keep, load, page, sets, table};
use crate::cancel::CancelToken;
use crate::cli::{CallsAction, CallsRun, OnMissArg};
use crate::record::proxy::OnMiss;
use crate::record::summary::Summary;
use crate::record::{Exchange, Noise, Recording, Report, names};
use crate::sandbox::Exit;
use crate::tools::Services;
use crate::tools::calling::{Wanted, folder, left_out, notes, run_command};

/// Carries it out; the exit status. What is told goes to stderr where stdout is the program's.
pub fn act(services: &Services, action: &CallsAction, signals: BorrowedFd<'_>) -> Result<u8> {
    match action {
        CallsAction::Record { sets, run, .. } => record(services, &sets.path, run, signals),
        CallsAction::Test { sets, mock, on_miss, run } => {
            test(services, &sets.path, mock.as_deref(), *on_miss, run, signals)
        }
        CallsAction::List { sets } => {
            let mut text = String::new();
            for set in sets::list(&services.policy, &sets.path)? {
                let _ = writeln!(text, "{}\t{}", set.name, humantime::format_rfc3339_seconds(set.modified));
            }
            print(&text)
        }
        CallsAction::Noise { name, other, sets, write } => noise(services, &sets.path, name, other, *write),
        CallsAction::Show { name, sets, html } => {
            let loaded = loaded(services, &sets.path, name)?;
            let exchanges: Vec<Exchange> = loaded.recordings.into_iter().map(|recording| recording.exchange).collect();
            print(&if *html { page(name, &exchanges) } else { table(&exchanges) })
        }
    }
}

/// A set that is named.
fn loaded(services: &Services, path: &str, name: &str) -> Result<Loaded> {
    names::check(name).map_err(|error| anyhow::anyhow!("{error}"))?;
    let loaded = load(&services.policy, path, name)?;
    loaded.with_context(|| format!("there is no mock set `{name}` in {path}"))
}

fn noise(services: &Services, path: &str, name: &str, other: &str, write: bool) -> Result<u8> {
    let recordings = loaded(services, path, name)?.recordings;
    let exchanges = |recordings: &[Recording]| recordings.iter().map(|it| it.exchange.clone()).collect::<Vec<_>>();
    let (ours, theirs) = (exchanges(&recordings), exchanges(&loaded(services, path, other)?.recordings));
    let (noise, lessons) = Noise::learn(&ours, &theirs);
    let mut text = String::new();
    let mut unlike = Vec::new();
    for lesson in &lessons {
        for change in &lesson.changes {
            let (one, two) = &change.values;
            let _ = writeln!(text, "{}\t{}\t{one}\t{two}", lesson.place, change.field);
        }
        if lesson.calls.0 != lesson.calls.1 {
            let (one, two) = lesson.calls;
            unlike.push(format!("nothing is learned of {}: {one} calls in {name}, {two} in {other}", lesson.place));
        }
    }
    print(&text)?;
    let said = if noise.is_empty() {
        "no field of the calls is another each time".to_owned()
    } else if write {
        let file = add_noise(&services.policy, &services.writer, path, name, &recordings, &noise)?;
        format!("noise of {name}: {}", file.display())
    } else {
        "add --write to have it left out of replays".to_owned()
    };
    tell(&said, &unlike);
    Ok(0)
}

fn record(services: &Services, path: &str, run: &CallsRun, signals: BorrowedFd<'_>) -> Result<u8> {
    sets::prepare(&services.policy, path)?;
    let line = shell_line(&run.program)?;
    let mut ran = run_here(services, &line, run, Play::Record, signals)?;
    let exchanges = std::mem::take(&mut ran.recorded.exchanges);
    let folder = folder(services);
    let named = (line.as_str(), folder.as_str());
    let (kept, exchanges) =
        keep(&services.policy, &services.writer, path, named, exchanges, services.calls.keep_secrets)?;
    let protocols = Summary::of(&exchanges).protocol_words().join(", ");
    let mut text = match exchanges.len() {
        0 => "no calls were captured".to_owned(),
        count => format!("recorded {count} calls ({protocols})"),
    };
    let _ = write!(text, " as {}: {}", kept.name, kept.path.display());
    tell(&text, &[left_out(&kept), notes(services, &ran)].concat());
    Ok(status(&ran))
}

fn test(
    services: &Services,
    path: &str,
    mock: Option<&str>,
    on_miss: OnMissArg,
    run: &CallsRun,
    signals: BorrowedFd<'_>,
) -> Result<u8> {
    let known = sets::list(&services.policy, path)?;
    let name = match mock {
        Some(name) => {
            names::check(name).map_err(|error| anyhow::anyhow!("{error}"))?;
            name.to_owned()
        }
        None => sets::latest(known.clone()).with_context(|| format!("there is no mock set in {path}"))?.name,
    };
    let Some(loaded) = load(&services.policy, path, &name)? else {
        let known: Vec<&str> = known.iter().map(|set| set.name.as_str()).collect();
        bail!("there is no mock set `{name}` in {path}; there are: {}", known.join(", "));
    };
    let on_miss = match on_miss {
        OnMissArg::Fail => OnMiss::Fail,
        OnMissArg::Passthrough => OnMiss::Passthrough,
        OnMissArg::Record => OnMiss::Record,
    };
    let line = shell_line(&run.program)?;
    let play = Play::Replay { recordings: loaded.recordings, noise: loaded.noise, on_miss };
    let mut ran = run_here(services, &line, run, play, signals)?;
    let report = ran.report.take().unwrap_or_default();
    let mut text = format!("replayed {} calls of {name}", report.replayed);
    if report.missed_count > 0 {
        let _ = write!(text, ", {} missed", report.missed_count);
    }
    if !report.unused.is_empty() {
        let _ = write!(text, ", {} recordings were not used", report.unused.len());
    }
    let new = std::mem::take(&mut ran.recorded.exchanges);
    if !new.is_empty() {
        let folder = folder(services);
        let named = (line.as_str(), folder.as_str());
        let (kept, new) = keep(&services.policy, &services.writer, path, named, new, services.calls.keep_secrets)?;
        let _ = write!(text, "; {} new calls are in {}", new.len(), kept.path.display());
    }
    let mut more = notes(services, &ran);
    more.extend(loaded.torn);
    more.extend(missed(&report));
    tell(&text, &more);
    let status = status(&ran);
    Ok(if status == 0 && report.missed_count > 0 { 1 } else { status })
}

fn missed(report: &Report) -> impl Iterator<Item = String> {
    report.missed.iter().map(|miss| format!("missed: {miss}"))
}

/// Runs the program with the streams of this process. A signal for this process ends it, and what it has called is kept.
fn run_here(services: &Services, line: &str, run: &CallsRun, play: Play, signals: BorrowedFd<'_>) -> Result<Ran> {
    let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let wanted = Wanted { line, timeout_secs: Some(run.timeout_secs), streams: Some(streams) };
    let cancel = CancelToken::new();
    let over = CancelToken::new();
    thread::scope(|scope| {
        let ended = over.wake_fd().context("the program cannot be waited for")?;
        let cancel = &cancel;
        scope.spawn(move || {
            let mut fds =
                [PollFd::from_borrowed_fd(signals, PollFlags::IN), PollFd::from_borrowed_fd(ended, PollFlags::IN)];
            while matches!(poll(&mut fds, None), Err(rustix::io::Errno::INTR)) {}
            if !fds[0].revents().is_empty() {
                cancel.cancel();
            }
        });
        let ran = run_command(services, &wanted, play, cancel, &mut |_, _, _| {});
        over.cancel();
        Ok(ran?)
    })
}

/// One word is a line for the shell already.
fn shell_line(program: &[OsString]) -> Result<String> {
    let words: Option<Vec<&str>> = program.iter().map(|word| word.to_str()).collect();
    let words = words.context("the program's arguments are not UTF-8")?;
    Ok(match words.as_slice() {
        [line] => (*line).to_owned(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    })
}

fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./=:,@%+".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn status(ran: &Ran) -> u8 {
    let status = match ran.outcome.exit {
        Exit::Code(code) => code,
        // As shells report it.
        Exit::Signal(signal) => 128 + signal,
    };
    u8::try_from(status).unwrap_or(u8::MAX)
}

fn print(text: &str) -> Result<u8> {
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(0)
}

/// Nobody may be reading stderr.
fn tell(text: &str, more: &[String]) {
    let mut stderr = std::io::stderr();
    let _ = writeln!(stderr, "replay: {text}");
    for line in more {
        let _ = writeln!(stderr, "replay: {line}");
    }
}
