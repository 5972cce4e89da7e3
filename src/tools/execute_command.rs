//! `execute_command`: runs a shell command, and returns its output and exit status. It may run in
//! the background, at once or after its timeout.

use std::path::Path;
use std::time::Duration;

use replay_base::limits::{KILL_GRACE_MS, TERMINAL_ROWS};
use replay_base::text::count::duration;
use replay_base::text::escape::show_path;
use replay_files::fs;
use replay_files::policy::{Checked, FileKind, Read};
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_sandbox::exec::{
    self, BackgroundCommands, Blocked, ExecError, Foreground, HandedOver, Outcome, Stage, Waited,
    place_of,
};
use replay_testrun::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::missing::{FinishedCommand, Missing, may_have_failed};
use super::notes::changes::{ChangesMade, changes_made};
use super::notes::command::{Notes, exit_code, refused, signal};
use super::notes::dry_run::{WouldChange, would_change};
use super::notes::output::{ShownOutput, shorten_streams};
use super::notes::ports::{Listening, conflict_note, port_news};
use super::open_object::Open;
use super::status_line::{OutputText, Status};
use super::text_limit::TextLimit;
use super::{BadResult, Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Columns of a command's terminal.
const TERMINAL_COLUMNS: u16 = 120;

/// Largest file of a project that is read for a note on a failed command, in bytes.
const MAX_PROJECT_FILE_BYTES: u64 = 64 * 1024;
/// Shortest running time that a lean reply tells.
const TOLD_TIME: Duration = Duration::from_secs(1);
/// Note on a failed dry run.
const DRY_RUN_DIFFERS: &str = "a dry run has no named sockets (EACCES), no rename of existing \
    directories (EXDEV), no writes to files of other groups (EOVERFLOW) and less room (ENOSPC): a \
    real run may succeed";

/// Runs a shell command line in an allowed directory.
pub(super) struct ExecuteCommand;

/// Arguments of `execute_command`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Command line for bash, else sh
    command: String,
    /// Directory (default: first writable one)
    #[schemars(extend("x-aliases" = ["cwd", "working_directory", "workdir"]))]
    working_directory: Option<String>,
    /// Seconds until it goes on in the background
    #[schemars(extend("x-aliases" = ["wait_secs", "yield_time"]))]
    wait_secs: Option<u64>,
    /// Seconds until it is ended (default: never)
    #[schemars(range(min = 1), extend("x-aliases" = ["timeout_secs"]))]
    timeout: Option<u64>,
    /// Reply at once, let it run on
    #[schemars(extend("x-aliases" = ["run_in_background", "runInBackground"]))]
    background: Option<bool>,
    /// Give it a terminal
    tty: Option<bool>,
    /// Only say what it would change
    #[schemars(extend("x-aliases" = ["dry_run"]))]
    dry_run: Option<bool>,
    /// Most output
    #[schemars(range(min = 1), extend("x-aliases" = ["max_tokens"]))]
    #[expect(dead_code, reason = "it is read for all tools")]
    max_tokens: Option<u64>,
}

/// Structured result of a command.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    stdout: String,
    stderr: String,
    /// Of a command that was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    timed_out: bool,
    /// Of a command in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    command_id: Option<String>,
    /// Cursor for `follow_command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<u64>,
    /// All of what was folded or cut, for `read_file`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<ChangesMade>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_change: Option<Open<WouldChange>>,
    /// Connections that no rule of the operator allows
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Open<Blocked>>")]
    blocked: Vec<Blocked>,
    /// Number of further blocked destinations
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_more: Option<u64>,
    // Not in the schema, which each client pays for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    missing: Vec<Missing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    signal: Option<i32>,
    /// Ports on which commands listen, if they have changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    listening: Vec<Listening>,
}

impl Tool for ExecuteCommand {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "execute_command";
    const TITLE: &'static str = "Run a shell command";
    const DESCRIPTION: &'static str = "Run a shell command (no stdin): stdout, stderr, exit code. For builds, git \
        and the like; for files use the file tools. Each begins anew; processes it leaves are ended: start servers with \
        background.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Command;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let rules = &context.services.commands;
        if let Some(reason) = &rules.standing.refused {
            return Err(refused(Self::NAME, reason));
        }
        let directory = directory(context, params.working_directory.as_deref())?;
        let dir = place_of(&directory)?;
        let command = exec::Command {
            changes: context.changes,
            line: &params.command,
            path: rules
                .launcher
                .as_ref()
                .and_then(|launcher| path(&context.services.policy, launcher, dir.path.as_path())),
            dir,
            terminal: (params.tty == Some(true)).then_some((TERMINAL_ROWS, TERMINAL_COLUMNS)),
        };
        let [asked, wait] =
            [params.timeout, params.wait_secs].map(|secs| secs.map(Duration::from_secs));
        let limit = context.output_limit();
        let is_dry = params.dry_run == Some(true);
        let reply = match (params.background == Some(true), is_dry) {
            (true, true) => {
                let message = "`dryRun` and `background` cannot both be true: a dry run reports \
                    changes only when the command has ended; leave one of them out";
                return Err(Error::params(message));
            }
            (true, false) => start(context, &command, asked),
            (false, is_dry) => run(context, &command, [asked, wait], is_dry, limit),
        };
        reply.map_err(|error| match error {
            Error::Exec(ExecError::Cancelled) => Error::Cancelled,
            Error::Exec(ExecError::Refused { step, cause }) if is_dry => {
                let hint = "nothing was run; without `dryRun` the command changes files, and \
                    undo_changes can take that back if undo is on";
                Error::Refused {
                    what: "dryRun",
                    reason: format!("{step}: {cause}"),
                    hint,
                }
            }
            error => error,
        })
    }
}

/// Returns the requested directory, else the first writable one, else the project.
fn directory(context: &Context<'_>, asked: Option<&str>) -> Result<Checked<Read>, Error> {
    let policy = &context.services.policy;
    let directory = match asked {
        Some(path) => policy.read(path)?,
        None => policy.read(policy.default_directory().unwrap_or(Path::new(".")))?,
    };
    if directory.kind() != FileKind::Directory {
        let message = format!(
            "`workingDirectory` {} is not a directory",
            show_path(directory.display_path())
        );
        return Err(Error::params(message));
    }
    Ok(directory)
}

fn start(
    context: &Context<'_>,
    command: &exec::Command<'_>,
    timeout: Option<Duration>,
) -> Result<Reply<Output>, Error> {
    let rules = &context.services.commands;
    let (Some(launcher), Some(background)) = (&rules.launcher, &rules.background) else {
        return Err(ExecError::NoLauncher.into());
    };
    let grace = Duration::from_millis(KILL_GRACE_MS);
    let started = background.start(launcher, command, timeout, grace, context.cancel)?;
    let id = started.id();
    let note = format!(
        "runs in the background as commandId \"{id}\"; follow_command reads its output and ends it"
    );
    // An earlier background command may listen by now; this one rarely does.
    let news = port_news(rules);
    let notes = [Some(note), news.note].into_iter().flatten();
    Ok(Reply::content(notes.map(Content::note).collect())
        .with_structured(Output {
            command_id: Some(id.to_owned()),
            listening: news.listening,
            ..Output::default()
        })
        .starting(id))
}

fn run(
    context: &Context<'_>,
    command: &exec::Command<'_>,
    [asked, wait]: [Option<Duration>; 2],
    is_dry: bool,
    limit: TextLimit,
) -> Result<Reply<Output>, Error> {
    let rules = &context.services.commands;
    let Some(launcher) = &rules.launcher else {
        return Err(ExecError::NoLauncher.into());
    };
    // Without progress, a client may give a call up before a long `timeout`.
    let wait = match (wait, context.patience) {
        (Some(wait), Some(patience)) => Some(wait.min(patience)),
        (wait, patience) => wait.or(patience),
    };
    let timeout = asked.unwrap_or_else(|| wait.unwrap_or(context.wait).min(rules.max_timeout));
    if timeout > rules.max_timeout {
        let (asked, most) = (timeout.as_secs(), rules.max_timeout.as_secs());
        return Err(Error::params(format!(
            "`timeout` is {asked} s; at most {most} s are allowed. Give `background: true`, which \
             has no maximum, or leave `timeout` out: the command moves to the background after {} \
             s",
            context.wait.as_secs()
        )));
    }
    let files = rules.background.as_ref().map(BackgroundCommands::files);
    let patience = wait.filter(|wait| *wait < timeout);
    let timeout = patience.filter(|_| !is_dry).unwrap_or(timeout);
    let foreground = Foreground {
        files,
        ..rules.foreground(launcher, context.cancel, timeout)
    };
    let mut waited = Duration::ZERO;
    let mut progress = |elapsed: Duration, stage: Stage<'_>| {
        let message = match stage {
            Stage::Waiting => {
                waited = elapsed;
                format!(
                    "waiting for a free slot: all {} are in use (--max-commands)",
                    rules.running.len()
                )
            }
            Stage::Running { .. } => {
                format!(
                    "running for {:.1} s, {} bytes of output",
                    elapsed.saturating_sub(waited).as_secs_f64(),
                    stage.bytes()
                )
            }
        };
        let total = (waited + timeout).as_millis() as u64;
        context
            .progress
            .report(elapsed.as_millis() as u64, Some(total), &message);
    };
    let mut more_time = format!(
        "for longer, give a timeout (at most {} s)",
        rules.max_timeout.as_secs()
    );
    let mut outcome = if is_dry {
        foreground.run_dry(command, &mut progress)?
    } else if asked.is_some() && patience.is_none() {
        "leave `timeout` out to let the command go on in the background".clone_into(&mut more_time);
        foreground.run(command, &mut progress)?
    } else {
        let Some(background) = &rules.background else {
            return Err(ExecError::NoLauncher.into());
        };
        let mut place = || {
            let refused = |error| {
                more_time = format!("the command could not go on in the background: {error}");
            };
            background.place().map_err(refused).ok()
        };
        let rest = asked.map(|asked| asked.saturating_sub(timeout));
        match foreground.run_or_hand_over(command, rest, &mut place, &mut progress)? {
            Waited::Over(outcome) => outcome,
            Waited::HandedOver(handed) => return handed_over(&handed, timeout, context, limit),
        }
    };
    if outcome.cancelled {
        return Err(Error::Cancelled);
    }
    let would_change = outcome
        .would_change
        .take()
        .map(|report| would_change(context, report))
        .transpose()?;
    Ok(reply(
        command,
        &outcome,
        timeout,
        &more_time,
        would_change,
        context,
        limit,
    ))
}

/// Replies with the output so far of a command that continues in the background.
fn handed_over(
    handed: &HandedOver,
    after: Duration,
    context: &Context<'_>,
    limit: TextLimit,
) -> Result<Reply<Output>, Error> {
    let HandedOver {
        command,
        stdout,
        stderr,
    } = handed;
    if context.cancel.is_cancelled() {
        // The client is gone, so nobody could end the command later.
        command.end();
        return Err(Error::Cancelled);
    }
    let (id, cursor) = (command.id(), stdout.total_bytes + stderr.total_bytes);
    let (stdout, stderr, mut notes, logs) = split_output(shorten_streams(
        context,
        ExecuteCommand::NAME,
        [stdout, stderr],
        limit,
    ));
    notes.add(format_args!(
        "still running after {} s, and goes on in the background as commandId \"{id}\", without \
         stdin; follow_command with cursor {cursor} reads more output, waits for the end, or ends \
         the command",
        after.as_secs()
    ));
    let news = port_news(&context.services.commands);
    notes.add_all(news.note);
    let all = notes.take();
    if context.is_lean() {
        return Ok(lean_reply([stdout, stderr], None, all, [None, None]).starting(id));
    }
    let mut content = vec![Content::text(notes.text())];
    content.extend(stderr_block(&stderr));
    let command_id = Some(id.to_owned());
    let output = Output {
        stdout,
        stderr,
        command_id,
        logs,
        cursor: Some(cursor),
        listening: news.listening,
        ..Output::default()
    };
    let reply = Reply::content(content).with_structured(output);
    Ok(reply.with_notes(all).starting(id))
}

/// Returns the texts, the first of them with notes, and the logs.
fn split_output([stdout, stderr]: [ShownOutput; 2]) -> (String, String, Notes, Vec<String>) {
    let mut notes = Notes::below(&stdout.text, "(no output)");
    notes.add_all([stdout.note, stderr.note].into_iter().flatten());
    let logs = [stdout.log, stderr.log].into_iter().flatten().collect();
    (stdout.text, stderr.text, notes, logs)
}

/// Returns the reply for a model: output, errors, notes, and one line about the end.
fn lean_reply(
    [stdout, stderr]: [String; 2],
    diff: Option<Content>,
    notes: Vec<String>,
    end: [Option<String>; 2],
) -> Reply<Output> {
    let text = OutputText::of(stdout, &stderr).into_text();
    let text = Some(text)
        .filter(|text| !text.is_empty())
        .map(Content::Text);
    let mut status = Status::default();
    end.into_iter().flatten().for_each(|part| status.add(part));
    let mut reply = status.reply(String::new(), notes);
    reply.content.splice(0..0, text.into_iter().chain(diff));
    reply
}

fn stderr_block(stderr: &str) -> Option<Content> {
    (!stderr.is_empty()).then(|| Content::text(format!("[stderr]\n{stderr}")))
}

fn reply(
    command: &exec::Command<'_>,
    outcome: &Outcome,
    timeout: Duration,
    more_time: &str,
    would_change: Option<(String, WouldChange)>,
    context: &Context<'_>,
    limit: TextLimit,
) -> Reply<Output> {
    let exit_code = exit_code(outcome.exit);
    let streams = [&outcome.stdout, &outcome.stderr];
    let (stdout, stderr, mut notes, logs) = split_output(shorten_streams(
        context,
        ExecuteCommand::NAME,
        streams,
        limit,
    ));
    if outcome.timed_out {
        let seconds = timeout.as_secs();
        notes.add(format_args!(
            "timed out after {seconds} s and was ended; the output until then is shown; \
             {more_time}"
        ));
    } else if outcome.left > 0 {
        let (count, plural) = (
            outcome.left,
            if outcome.left == 1 {
                "process was"
            } else {
                "processes were"
            },
        );
        notes.add(format_args!(
            "{count} background {plural} ended with the shell; to keep one running use background: true"
        ));
    }
    notes.add_signal(outcome.exit);
    notes.add_own_denied(
        may_have_failed(command.line, exit_code),
        &outcome.denied,
        &context.services.commands,
    );
    notes.add_identity(&[&stdout, &stderr]);
    let commands = &context.services.commands;
    let project_file = |name: &str| {
        let path = command.dir.path.as_path().join(name);
        let file = context.services.policy.probe(&path).ok()?;
        let bytes = fs::read_all(&file, MAX_PROJECT_FILE_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    };
    let missing = notes.add_missing(
        &commands.missing,
        FinishedCommand {
            line: command.line,
            exit_code,
            output: &[&stdout, &stderr],
            home: commands.home(),
            directory: Some(command.dir.path.as_path()),
            project_file: Some(&project_file),
        },
    );
    notes.add_lost_state(command.line);
    let commands = &context.services.commands;
    if exit_code != 0 {
        notes.add_all(conflict_note(
            commands,
            &[&stdout, &stderr],
            command.line,
            None,
        ));
    }
    let news = port_news(commands);
    notes.add_all(news.note);
    let (note, changed) = changes_made(context).unzip();
    let note = note.flatten();
    if !context.is_lean() {
        notes.add_all(note.clone());
    }
    let (would, would_change) = would_change.unzip();
    if would.is_some() && exit_code != 0 {
        notes.add(DRY_RUN_DIFFERS);
    }
    notes.add_all(would);
    let all = notes.take();
    let diff = would_change.as_ref().map(|would| would.diff.as_str());
    let diff = diff
        .filter(|diff| !diff.is_empty())
        .map(|diff| Content::text(format!("[diff]\n{diff}")));
    if context.is_lean() {
        let time = context.asked.elapsed();
        let time = (time >= TOLD_TIME).then(|| format!(", {}", duration(time)));
        // Output says enough about a quick success.
        let is_plain = exit_code == 0 && time.is_none() && note.is_none();
        let is_silent = stdout.is_empty() && stderr.is_empty();
        let exit = format!("exit {exit_code}{}", time.unwrap_or_default());
        let exit = Some(exit).filter(|_| !is_plain || is_silent);
        let mut reply = lean_reply([stdout, stderr], diff, all, [exit, note]);
        reply.bad = (exit_code != 0 || outcome.timed_out).then_some(BadResult::Program);
        return reply;
    }
    let mut content = vec![Content::text(
        notes.end(format_args!("exit code: {exit_code}")),
    )];
    content.extend(stderr_block(&stderr));
    content.extend(diff);
    let timed_out = outcome.timed_out;
    let would_change = would_change.map(Open);
    let (blocked, blocked_more) = (
        Blocked::among(&outcome.denied),
        Blocked::more(&outcome.denied),
    );
    let output = Output {
        stdout,
        stderr,
        exit_code: Some(exit_code),
        timed_out,
        logs,
        changed,
        would_change,
        blocked,
        blocked_more,
        missing,
        signal: signal(outcome.exit),
        listening: news.listening,
        ..Output::default()
    };
    let mut reply = Reply::content(content)
        .with_structured(output)
        .with_notes(all);
    reply.bad = (exit_code != 0 || timed_out).then_some(BadResult::Program);
    reply
}
