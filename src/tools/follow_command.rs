//! `follow_command`: reads the output of a background command, writes to its stdin, and ends it.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use replay_base::cancel::{Bound, CancelToken};
use replay_base::limits::MAX_COMMAND_TIMEOUT_SECS;
use replay_base::limits::{COMMAND_PROGRESS_MS, KILL_GRACE_MS, KILL_WAIT_MS};
use replay_base::text::escape::show;
use replay_base::text::fold::plain;
use replay_base::text::nearest::shortened;
use replay_files::journal::Changes;
use replay_files::policy::{self, AccessKind};
use replay_mcp::protocol::{Body, Content, Outcome};
use replay_mcp::sessions::Weight;
use replay_pattern::{Options, Pattern};
use replay_sandbox::exec::{
    self, Background, BackgroundCommands, Blocked, Captured, ExecError, Exit, Foreground, State,
    place_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::background_calls::{BackgroundCalls, LongCall};
use super::missing::{FinishedCommand, Missing};
use super::notes::changes::{ChangesMade, describe_changes};
use super::notes::command::{Notes, exit_code, refused, signal};
use super::notes::output::{NamedStream, shorten_stream};
use super::notes::ports::{Listening, conflict_note, port_news};
use super::open_object::Open;
use super::status_line::Status;
use super::{BadResult, Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Most output of a background command in one reply, in bytes.
const MAX_FOLLOW_BYTES: usize = 64 * 1024;
/// Default time that a reply waits for new output of a background command, in seconds.
const DEFAULT_FOLLOW_SECS: u64 = 1;
/// Default time that a reply waits for matching output, in seconds.
const DEFAULT_MATCH_SECS: u64 = 30;
/// Longest that a reply waits for a background command, in seconds: as long as one that is waited
/// for may take.
const MAX_FOLLOW_SECS: u64 = MAX_COMMAND_TIMEOUT_SECS;

/// Reads from, writes to and ends a background command of `execute_command`.
pub(super) struct FollowCommand;

/// Arguments of `follow_command`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Of the command
    #[schemars(extend("x-aliases" = ["command_id", "id"]))]
    command_id: String,
    /// First byte (default: where the last call stopped)
    cursor: Option<u64>,
    /// Seconds to wait for the end (default: 1 for output)
    #[schemars(range(max = MAX_FOLLOW_SECS), extend("x-aliases" = ["wait_secs", "timeout"]))]
    wait_secs: Option<u64>,
    /// Wait for output matching this regex
    until: Option<String>,
    /// Wait until something listens on this port
    #[schemars(range(min = 1, max = 65535))]
    port: Option<u16>,
    /// For its stdin, newlines too
    #[schemars(extend("x-aliases" = ["input"]))]
    stdin: Option<String>,
    /// Close its stdin
    #[schemars(extend("x-aliases" = ["close_stdin"]))]
    close_stdin: Option<bool>,
    /// End it: SIGTERM, 3 s later SIGKILL
    #[schemars(extend("x-aliases" = ["kill", "stop"]))]
    end: Option<bool>,
    /// Most output
    #[schemars(range(min = 1), extend("x-aliases" = ["max_tokens"]))]
    #[expect(dead_code, reason = "it is read for all tools")]
    max_tokens: Option<u64>,
}

/// Structured result for a background command.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FollowOutput {
    /// Both streams as they came.
    output: String,
    /// Cursor for the next call.
    cursor: u64,
    skipped_bytes: u64,
    running: bool,
    /// All of what was folded or cut, for `read_file`
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    /// Offset of the line that `until` matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Open<ChangesMade>>")]
    changed: Option<ChangesMade>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Open<Blocked>>")]
    blocked: Vec<Blocked>,
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

impl Tool for FollowCommand {
    type Params = Params;
    type Output = FollowOutput;
    const NAME: &'static str = "follow_command";
    const TITLE: &'static str = "Follow a background command";
    const DESCRIPTION: &'static str = "New output of a background command (both streams as they come) and whether it \
        runs. Writes to its stdin, ends it.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Command;
    const WEIGHT: Weight = Weight::Waits;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<FollowOutput>, Error> {
        let rules = &context.services.commands;
        if let Some(reason) = &rules.standing.refused {
            return Err(refused(Self::NAME, reason));
        }
        let Some(background) = &rules.background else {
            return Err(ExecError::NoLauncher.into());
        };
        let calls = &context.services.background_calls;
        if let Some(call) = calls.find(&params.command_id) {
            return follow_call(context, &call, &params);
        }
        let command = background
            .find(&params.command_id)
            .ok_or_else(|| unknown(&params.command_id, background, calls))?;
        let written = command.written();
        if let Some(cursor) = params.cursor.filter(|cursor| *cursor > written) {
            let id = command.id();
            return Err(Error::params(format!(
                "`cursor` is {cursor}; the output of {id} has {written} bytes so far"
            )));
        }
        if params.until.is_some() && params.port.is_some() {
            return Err(Error::params(
                "`until` and `port` of follow_command cannot both be given; wait for one of them",
            ));
        }
        let pattern = params
            .until
            .as_deref()
            .map(|source| Pattern::new(source, Options::default()))
            .transpose()?;
        let default_secs = if pattern.is_some() || params.port.is_some() {
            DEFAULT_MATCH_SECS
        } else {
            DEFAULT_FOLLOW_SECS
        };
        let asked = Duration::from_secs(params.wait_secs.unwrap_or(default_secs));
        let mut until = Instant::now() + waited_at_most(context, asked);
        let mut beyond = params.cursor.unwrap_or_else(|| command.read_position());
        if let Some(text) = params.stdin.as_deref().filter(|text| !text.is_empty()) {
            write_stdin(
                &command,
                text,
                until.max(Instant::now() + Duration::from_secs(1)),
                context,
            )?;
            // Earlier output is no answer to the input.
            beyond = beyond.max(written);
        }
        if params.close_stdin == Some(true) {
            command.close_input();
        }
        let ends = params.end == Some(true);
        if ends {
            command.end();
            until = Instant::now() + Duration::from_millis(KILL_GRACE_MS + KILL_WAIT_MS);
        }
        let is_answer = params.stdin.is_some() || params.wait_secs.is_none();
        let mut search = pattern.map(|pattern| Search {
            pattern,
            from: beyond,
            beyond,
            found: None,
        });
        let awaited = match &mut search {
            Some(search) => WaitCondition::Match(search),
            None if is_answer && !ends => WaitCondition::OutputBeyond(beyond),
            None => WaitCondition::End,
        };
        let listens = if let Some(port) = params.port {
            Some((port, wait_for_port(&command, port, until, context)?))
        } else {
            wait_for(&command, awaited, until, context)?;
            None
        };
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        reply(&command, &params, search.as_ref(), listens, context)
    }
}

/// Waits until something listens on a TCP port that commands reach, or the command ends. Returns
/// true if something does. A command beside it looks, since only commands see their network.
fn wait_for_port(
    command: &Background,
    port: u16,
    until: Instant,
    context: &Context<'_>,
) -> Result<bool, Error> {
    let rules = &context.services.commands;
    let Some(launcher) = &rules.launcher else {
        return Err(ExecError::NoLauncher.into());
    };
    // State 0A is LISTEN (proc_net_tcp in the documentation of the kernel).
    let line = format!(
        "until grep -qsE ': [0-9A-F]+:{port:04X} [0-9A-F]+:[0-9A-F]+ 0A ' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done"
    );
    let policy = &context.services.policy;
    let directory = policy.read(policy.default_directory().unwrap_or(Path::new(".")))?;
    let looks = exec::Command {
        changes: &Changes::new(None, FollowCommand::NAME),
        line: &line,
        path: None,
        dir: place_of(&directory)?,
        terminal: None,
    };
    let has_ended = Cell::new(false);
    let rest = until.saturating_duration_since(Instant::now());
    let foreground = Foreground {
        over: Some(&has_ended),
        running: &rules.looks,
        ..rules.foreground(launcher, context.cancel, rest)
    };
    let found = foreground.run(&looks, &mut |elapsed, _| {
        has_ended.set(command.state() != State::Running);
        let (done, most) = (elapsed.as_millis() as u64, rest.as_millis() as u64);
        let waits = format!("waiting for port {port}");
        context.progress.report(done, Some(most), &waits);
    })?;
    Ok(found.exit == Exit::Code(0) && !found.timed_out)
}

/// Condition that a call waits for, besides the end of the command.
enum WaitCondition<'a> {
    /// Output beyond this many bytes, and a pause in it.
    OutputBeyond(u64),
    Match(&'a mut Search),
    End,
}

/// Waits for the condition, at most until `until`, and reports progress.
fn wait_for(
    command: &Background,
    mut awaited: WaitCondition<'_>,
    until: Instant,
    context: &Context<'_>,
) -> Result<(), Error> {
    let (begun, cancel) = (Instant::now(), context.cancel);
    loop {
        let next = until.min(Instant::now() + Duration::from_millis(COMMAND_PROGRESS_MS));
        match &awaited {
            WaitCondition::End => command.await_end(next, cancel)?,
            WaitCondition::OutputBeyond(beyond) | WaitCondition::Match(Search { beyond, .. }) => {
                command.await_output(*beyond, next, cancel)?;
            }
        }
        // Checked before the search: an ended command writes nothing more.
        let is_over =
            command.state() != State::Running || cancel.is_cancelled() || Instant::now() >= until;
        let is_here = match &mut awaited {
            WaitCondition::End => false,
            WaitCondition::OutputBeyond(beyond) => command.written() > *beyond,
            WaitCondition::Match(search) => search.advance(command, cancel)?,
        };
        if is_over || is_here {
            return Ok(());
        }
        let (done, most) = (
            begun.elapsed().as_millis() as u64,
            (until - begun).as_millis() as u64,
        );
        context.progress.report(
            done,
            Some(most),
            &format!("{} bytes of output", command.written()),
        );
    }
}

/// A search in growing output. Whole lines are searched once, an incomplete last line again.
struct Search {
    pattern: Pattern,
    /// Offset of the first line that was not searched completely.
    from: u64,
    /// Offset up to which output was searched.
    beyond: u64,
    /// Offset of the line that matches.
    found: Option<u64>,
}

impl Search {
    /// Searches each line as a reply shows it, without colours. Returns the offset of the line.
    fn find_shown(&self, bytes: &[u8], bound: Bound<'_>) -> Result<Option<u64>, Error> {
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let shown = plain(line);
            let text = String::from_utf8_lossy(&shown);
            if shown != line
                && self
                    .pattern
                    .spans_iter(&text, bound)
                    .next()
                    .transpose()?
                    .is_some()
            {
                return Ok(Some(at));
            }
            at += line.len() as u64;
        }
        Ok(None)
    }

    /// Searches new output. Returns true if there is a match.
    fn advance(&mut self, command: &Background, cancel: &CancelToken) -> Result<bool, Error> {
        let bound = Bound {
            deadline: None,
            cancel: Some(cancel),
        };
        while self.found.is_none() {
            let page = command
                .peek(self.from, MAX_FOLLOW_BYTES)
                .map_err(ExecError::Follow)?;
            let begin = page.next - page.bytes.len() as u64;
            let text = String::from_utf8_lossy(&page.bytes);
            if let Some(found) = self.pattern.spans_iter(&text, bound).next().transpose()? {
                // A line feed is one byte in both.
                let lines = text[..found.range().start].matches('\n').count();
                let mut feeds = page
                    .bytes
                    .iter()
                    .enumerate()
                    .filter(|(_, byte)| **byte == b'\n');
                let at = lines
                    .checked_sub(1)
                    .and_then(|before| feeds.nth(before))
                    .map_or(0, |(at, _)| at as u64 + 1);
                self.found = Some(begin + at);
            } else {
                self.found = self.find_shown(&page.bytes, bound)?.map(|at| begin + at);
            }
            self.beyond = page.next;
            let lines = page
                .bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map(|at| at + 1);
            // If a line is longer than a reply, the second half is searched again with the
            // following output.
            let half = (page.next < page.end).then_some(page.bytes.len() / 2);
            self.from = begin + lines.or(half).unwrap_or(0) as u64;
            if page.next == page.end {
                break;
            }
        }
        Ok(self.found.is_some())
    }
}

fn reply(
    command: &Background,
    params: &Params,
    search: Option<&Search>,
    listens: Option<(u16, bool)>,
    context: &Context<'_>,
) -> Result<Reply<FollowOutput>, Error> {
    // Checked before the output: an ended command writes nothing more, so its end is not reported
    // before its last output.
    let state = command.state();
    let page = command
        .read(params.cursor, MAX_FOLLOW_BYTES)
        .map_err(ExecError::Follow)?;
    let is_long = page.bytes.len() >= MAX_FOLLOW_BYTES / 2;
    let whole = Captured::whole(page.bytes);
    let shown = shorten_stream(
        context,
        FollowCommand::NAME,
        NamedStream {
            name: "output",
            captured: &whole,
        },
        context.output_limit(),
    );
    let mut notes = Notes::below(&shown.text, "(no new output)");
    notes.add_all(shown.note);
    if page.skipped > 0 {
        notes.add(format_args!(
            "{} bytes before this are no longer kept",
            page.skipped
        ));
    }
    let more = page.end - page.next;
    if more > 0 && is_long {
        let last = page
            .end
            .saturating_sub(MAX_FOLLOW_BYTES as u64 / 2)
            .max(page.next);
        notes.add(format_args!(
            "{more} bytes more: call again, or with cursor {last} for the last of them"
        ));
    }
    match listens {
        Some((port, true)) => notes.add(format_args!("something listens on port {port}")),
        Some((port, false)) => notes.add(format_args!("nothing listens on port {port} so far")),
        None => {}
    }
    let matched_at = search.and_then(|search| search.found);
    match matched_at {
        Some(at) if at >= page.next => notes.add(format_args!("`until` matches at cursor {at}")),
        None if search.is_some() => notes.add(format_args!("`until` matches nothing so far")),
        _ => {}
    }
    let (mut changed, mut blocked, mut blocked_more) = (None, Vec::new(), None);
    let mut missing = Vec::new();
    let (running, exit) = match &state {
        State::Running => {
            if let (Some(asked), Some(most)) = (params.wait_secs, context.patience)
                && asked > most.as_secs()
                && params.until.is_none()
            {
                let most = most.as_secs();
                notes.add(format_args!(
                    "without a progress token a reply takes at most {most} s: call again to wait on"
                ));
            }
            (true, None)
        }
        State::Ended(ending) => {
            if ending.timed_out {
                notes.add("timed out");
            }
            if !ending.timed_out && !ending.asked {
                notes.add_left(ending.left);
            }
            notes.add_signal(ending.exit);
            let has_failed = !ending.asked && exit_code(ending.exit) != 0;
            let commands = &context.services.commands;
            notes.add_own_denied(has_failed, &ending.denied, commands);
            if !ending.asked {
                missing = notes.add_missing(
                    &commands.missing,
                    FinishedCommand {
                        line: command.line(),
                        exit_code: exit_code(ending.exit),
                        output: &[&shown.text],
                        home: commands.home(),
                        ..FinishedCommand::default()
                    },
                );
            }
            let (note, made) = describe_changes(context, ending.changed.as_ref()).unzip();
            notes.add_all(note.flatten());
            changed = made;
            blocked = Blocked::among(&ending.denied);
            blocked_more = Blocked::more(&ending.denied);
            for blocked in &blocked {
                policy::note(&blocked.url(), None, AccessKind::Denied);
            }
            (false, Some((ending.exit, ending.asked)))
        }
        State::Lost(reason) => {
            notes.add(reason);
            (false, None)
        }
    };
    let commands = &context.services.commands;
    let (line, id) = (command.line(), command.id());
    notes.add_all(conflict_note(commands, &[&shown.text], line, Some(id)));
    let news = port_news(commands);
    notes.add_all(news.note);
    let all = notes.take();
    let is_bad = !running && exit.is_none_or(|(exit, asked)| exit_code(exit) != 0 && !asked);
    if context.is_lean() {
        let mut status = Status::default();
        status.add(match exit {
            Some((exit, _)) => format!("exit {}", exit_code(exit)),
            None if running => format!("still running; cursor {}", page.next),
            None => "exit unknown".to_owned(),
        });
        let mut reply = status.reply(shown.text, all);
        reply.bad = is_bad.then_some(BadResult::Program);
        return Ok(reply);
    }
    let text = match exit {
        Some((exit, _)) => notes.end(format_args!("exit code: {}", exit_code(exit))),
        None if running => notes.end(format_args!("still running; cursor {}", page.next)),
        None => notes.end(format_args!("exit code: unknown")),
    };
    let mut reply = Reply::text(text).with_structured(FollowOutput {
        output: shown.text,
        cursor: page.next,
        skipped_bytes: page.skipped,
        running,
        log: shown.log,
        matched_at,
        exit_code: exit.map(|(exit, _)| exit_code(exit)),
        changed,
        blocked,
        blocked_more,
        missing,
        signal: exit.and_then(|(exit, _)| signal(exit)),
        listening: news.listening,
    });
    reply.notes = all;
    reply.bad = is_bad.then_some(BadResult::Program);
    Ok(reply)
}

fn write_stdin(
    command: &Background,
    text: &str,
    until: Instant,
    context: &Context<'_>,
) -> Result<(), Error> {
    let id = command.id();
    match command.write(text.as_bytes(), until, context.cancel)? {
        _ if context.cancel.is_cancelled() => Err(Error::Cancelled),
        None => Err(Error::Unsuitable {
            message: format!(
                "{id} takes no input: it has ended, its stdin was closed, or it was started \
                 without `background: true`"
            ),
            hint: "call follow_command without `stdin` for its state and its last output".into(),
        }),
        Some(taken) if taken < text.len() => Err(Error::Unsuitable {
            message: format!(
                "{id} took only the first {taken} of {} bytes of `stdin`: it does not read",
                text.len()
            ),
            hint: "see what it is doing without `stdin`, then write the rest".into(),
        }),
        Some(_) => Ok(()),
    }
}

/// Lowers a wait to what the client waits for without progress.
fn waited_at_most(context: &Context<'_>, asked: Duration) -> Duration {
    asked.min(context.patience.unwrap_or(asked))
}

/// Waits for the result of a call that goes on in the background.
fn follow_call(
    context: &Context<'_>,
    call: &LongCall,
    params: &Params,
) -> Result<Reply<FollowOutput>, Error> {
    let (id, tool) = (&params.command_id, call.tool());
    if params.stdin.is_some() || params.close_stdin == Some(true) || params.until.is_some() {
        return Err(Error::params(format!(
            "`{id}` is a call of {tool}, which has no stdin and no output before its end; leave \
             `stdin`, `closeStdin` and `until` out"
        )));
    }
    let begun = Instant::now();
    let asked = params.wait_secs.map(Duration::from_secs);
    let mut most = waited_at_most(context, asked.unwrap_or(context.wait));
    if params.end == Some(true) {
        call.end();
        most = Duration::from_millis(KILL_GRACE_MS + KILL_WAIT_MS);
    }
    let outcome = loop {
        let pause = Duration::from_millis(COMMAND_PROGRESS_MS);
        let rest = most.saturating_sub(begun.elapsed());
        let outcome = call.await_result(Instant::now() + pause.min(rest));
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if outcome.is_some() || begun.elapsed() >= most {
            break outcome;
        }
        let message = format!("{tool} has run for {} s", call.age().as_secs());
        let (done, total) = (begun.elapsed().as_millis(), most.as_millis());
        context
            .progress
            .report(done as u64, Some(total as u64), &message);
    };
    let Some(outcome) = outcome else {
        let note = format!(
            "{tool} still runs after {} s; follow_command with commandId \"{id}\" waits on",
            call.age().as_secs()
        );
        let reply = Reply::content(vec![Content::note(note)]);
        return Ok(reply.with_structured(FollowOutput::of_call(String::new(), true)));
    };
    Ok(reply_of_call(outcome))
}

/// Returns the reply that the call would have had.
fn reply_of_call(outcome: Outcome) -> Reply<FollowOutput> {
    let (content, notes, is_error) = match outcome {
        Ok(Body::Tool(mut reply)) => {
            let once = std::mem::take(&mut reply.once).into_iter();
            reply.content.extend(once.map(Content::note));
            (reply.content, reply.notes, reply.is_error)
        }
        Ok(Body::Raw(text)) => (vec![Content::text(&*text)], Vec::new(), false),
        Ok(Body::Line(line)) => (vec![Content::text(show(&line))], Vec::new(), false),
        Err(error) => (vec![Content::text(error.message)], Vec::new(), true),
    };
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|block| match block {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let output = FollowOutput::of_call(texts.join("\n"), false);
    let mut reply = Reply::content(content).with_structured(output);
    reply.notes = notes;
    reply.bad = is_error.then_some(BadResult::Program);
    reply
}

impl FollowOutput {
    /// Structured result for a call.
    fn of_call(output: String, running: bool) -> Self {
        Self {
            output,
            cursor: 0,
            skipped_bytes: 0,
            running,
            log: None,
            matched_at: None,
            exit_code: None,
            changed: None,
            blocked: Vec::new(),
            blocked_more: None,
            missing: Vec::new(),
            signal: None,
            listening: Vec::new(),
        }
    }
}

fn unknown(id: &str, background: &BackgroundCommands, calls: &BackgroundCalls) -> Error {
    let state = |is_running| if is_running { "running" } else { "ended" };
    let calls = calls.list();
    let calls = calls.iter().map(|call| {
        format!(
            "{} ({}, {} s ago: {})",
            call.id(),
            state(call.is_running()),
            call.age().as_secs(),
            call.tool()
        )
    });
    let known: Vec<String> = background
        .list()
        .iter()
        .map(|command| {
            let state = state(command.state() == State::Running);
            let line: String = command.line().chars().take(60).collect();
            format!(
                "{} ({state}, {} s ago: {})",
                command.id(),
                command.age().as_secs(),
                show(line.as_bytes())
            )
        })
        .chain(calls)
        .collect();
    let known = if known.is_empty() {
        "no background command was started".to_owned()
    } else {
        format!("there are {}", known.join(", "))
    };
    Error::params(format!(
        "no background command has the `commandId` `{}`; {known}",
        show(shortened(id).as_bytes())
    ))
}
