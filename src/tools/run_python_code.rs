//! `run_python_code`: runs one cell in a Python session.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use replay_base::limits::{MAX_PICTURE_BYTES, MAX_PICTURE_SIDE};
use replay_base::text::count::counted;
use replay_files::journal::AutorunChanges;
use replay_files::policy::{AccessKind, note};
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_python::{Bounds, DisplayedValue, News, Ran, Session, beginning_and_end, shorten};
use replay_sandbox::exec::{Blocked, Denied};
use replay_search::documents::{Size, picture_size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notes::cell::{CellContext, NO_NETWORK, hints};
use super::notes::changes::{ChangesMade, describe_changes};
use super::notes::command::denied_lines;
use super::open_object::Open;
use super::python::{
    absolute, file_tool_paths, has_network, host, note_written, seconds, session, time_limit,
};
use super::status_line::{OutputText, Status};
use super::{BadResult, Context, HandOver, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Least and greatest time between the interrupt of a cell and the end of its session, in
/// milliseconds. In between, it equals the cell's time limit. A call into C notices an interrupt
/// only at its end.
const CELL_GRACE_MS: [u64; 2] = [2000, 10_000];
/// Output of a cell that its reply shows, in bytes: of each stream (`--output-cap-bytes`: less) and
/// of displays.
const PYTHON_OUTPUT_CAP_BYTES: usize = 16 * 1024;
/// Longest text of a value that a reply shows, and of a traceback, in bytes.
const PYTHON_RESULT_CAP_BYTES: usize = 8 * 1024;
/// Pictures of a cell that its reply has; more are in files alone.
const MAX_CELL_PICTURES: usize = 20;

/// Shortest running time that a lean reply tells, in seconds.
const TOLD_SECS: f64 = 1.0;

pub(super) struct RunPythonCode;

/// Arguments of `run_python_code`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Python code
    code: String,
    /// Seconds until it is interrupted (default 30)
    #[schemars(range(min = 1), extend("x-aliases" = ["timeout_secs"]))]
    timeout: Option<u64>,
    /// Session to run it in (default: the active one)
    #[schemars(extend("x-aliases" = ["session"]))]
    session_id: Option<String>,
    /// Send output as progress while it runs (default true; needs a progress token)
    stream: Option<bool>,
}

/// Result of a cell.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    stdout: String,
    stderr: String,
    execution_time: f64,
    /// Files with pictures and long outputs.
    outputs: Vec<String>,
    new_files: Vec<String>,
    modified_files: Vec<String>,
    /// The value of the last expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// Other textual forms of the value, by media type.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    result_data: BTreeMap<String, String>,
    /// Other displayed values, by media type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    displays: Vec<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    /// Output of processes and threads of earlier cells.
    #[serde(rename = "late_output", skip_serializing_if = "Option::is_none")]
    late: Option<String>,
    session_id: String,
    timed_out: bool,
    /// `true` if variables and imports are lost.
    state_lost: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<Blocked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_more: Option<u64>,
    /// Changes to files that programs outside the sandbox run.
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<AutorunChanges>,
}

/// The exception of a failed cell.
#[derive(Debug, Serialize)]
pub(super) struct Failure {
    name: String,
    message: String,
    traceback: String,
}

impl Tool for RunPythonCode {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "run_python_code";
    const TITLE: &'static str = "Run Python code";
    const DESCRIPTION: &'static str = "Run Python code in a session that keeps variables and imports between calls. Gives \
        output, the last expression's value, figures as images, and new files; top-level await works. Calls for one \
        session wait for each other. At the timeout the code is interrupted, never run again.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Python;
    const WEIGHT: Weight = Weight::Waits;
    const HAND_OVER: HandOver = HandOver::GoesOn;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let host = host(context, Self::NAME)?;
        let session = session(context, params.session_id.as_deref())?;
        let timeout = time_limit(context, params.timeout)?;
        let [least, most] = CELL_GRACE_MS.map(Duration::from_millis);
        let bounds = Bounds {
            timeout,
            grace: timeout.clamp(least, most),
            output_cap_bytes: PYTHON_OUTPUT_CAP_BYTES
                .min(context.services.commands.output_cap_bytes),
        };
        let (progress, streams) = (context.progress, params.stream.unwrap_or(true));
        let mut on_news = |news: News<'_>| {
            if progress.is_wanted() {
                let (done, all) = (news.elapsed.as_millis() as u64, timeout.as_millis() as u64);
                if news.text.is_empty() || !streams {
                    let text = format!(
                        "running for {:.1} s, {} bytes of output",
                        news.elapsed.as_secs_f64(),
                        news.bytes
                    );
                    progress.report_now(done, Some(all), &text);
                } else {
                    progress.report_now(done, Some(all), news.text);
                }
            }
        };
        let ran = session.run(&host, &params.code, &bounds, context.cancel, &mut on_news)?;
        context.services.python.prepare(&host);
        if ran.cell.cancelled {
            // The client gets no reply, but observers get the changes.
            drop(describe_changes(context, ran.cell.changed.as_ref()));
            return Err(Error::Cancelled);
        }
        reply(context, &session, &params.code, timeout, ran)
    }
}

fn reply(
    context: &Context<'_>,
    session: &Session,
    code: &str,
    timeout: Duration,
    ran: Ran,
) -> Result<Reply<Open<Output>>, Error> {
    let Ran {
        mut cell,
        changes,
        logs,
        lost,
        mut notes,
    } = ran;
    let shown_files = cell
        .shown
        .iter()
        .flat_map(|shown| &shown.files)
        .chain(&logs)
        .map(String::as_bytes);
    let outputs = file_tool_paths(context, session, shown_files);
    let new_files = file_tool_paths(context, session, changes.new.iter().map(|path| &**path));
    let modified_files = file_tool_paths(
        context,
        session,
        changes.modified.iter().map(|path| &**path),
    );
    note_written(context, session, &changes);
    let images = images(&mut cell.shown, &mut notes);
    if let Some(partial) = changes.partial {
        notes.push(format!(
            "the list of new and modified files is incomplete: {partial}"
        ));
    }
    let (note_of_changes, changed) = describe_changes(context, cell.changed.as_ref()).unzip();
    notes.extend(note_of_changes.flatten());
    let blocked = Blocked::among(&cell.denied);
    for blocked in &blocked {
        note(&blocked.url(), None, AccessKind::Denied);
    }
    for denied in &cell.denied {
        if let Denied::Hidden(path)
        | Denied::Socket(path)
        | Denied::Protected(path)
        | Denied::ReadOnly(path)
        | Denied::Metadata(path) = denied
        {
            note(path.as_path(), None, AccessKind::Denied);
        }
    }
    if cell.unshown > 0 {
        notes.push(format!("{} more values were displayed", cell.unshown));
    }
    let around = CellContext {
        code,
        stderr: &cell.stderr.text,
        offline: !has_network(context),
        directory: &absolute(context, session),
        policy: &context.services.policy,
    };
    let hints = hints(cell.error.as_ref(), around, |module| {
        owner(context, session, module)
    });
    if hints.iter().any(|hint| hint == NO_NETWORK) {
        // Reported only once.
        cell.denied.retain(|denied| *denied != Denied::Network);
    }
    notes.extend(denied_lines(&cell.denied, &context.services.commands));
    notes.extend(hints);
    let mut error = cell.error.take().map(|raised| {
        let [message, traceback] = [raised.value, raised.traceback]
            .map(|text| beginning_and_end(text, PYTHON_RESULT_CAP_BYTES));
        Failure {
            name: shorten(&raised.name).into_owned(),
            message,
            traceback,
        }
    });
    if cell.timed_out {
        let seconds = timeout.as_secs();
        let what = if cell.killed {
            "the code ignored the interrupt, so the session was ended and its variables are lost"
        } else {
            "the code was interrupted; variables are kept"
        };
        let traceback = error
            .take()
            .map(|error| error.traceback)
            .unwrap_or_default();
        let message = format!(
            "the code ran longer than its timeout of {seconds} s; {what}; it was not run again"
        );
        error = Some(Failure {
            name: "TimeoutError".to_owned(),
            message,
            traceback,
        });
    } else if let Some(lost) = lost
        .as_ref()
        .filter(|_| cell.ended.is_some() || cell.killed)
    {
        error = Some(Failure {
            name: "SessionEnded".to_owned(),
            message: lost.clone(),
            traceback: String::new(),
        });
    }
    let state_lost = lost.is_some();
    if let Some(lost) = lost {
        notes.push(format!(
            "{lost}; variables and imports from before are gone"
        ));
    }
    let (mut result, mut result_data, mut displays) = (None, BTreeMap::new(), Vec::new());
    let (mut displayed, mut left_out) = (0, 0);
    for shown in cell.shown {
        let has_file = !shown.files.is_empty();
        let mut data = texts(shown.data);
        // A picture needs no further text.
        if !shown.is_result && has_file && data.keys().eq(["text/plain"]) {
            continue;
        }
        if shown.is_result {
            result = data.remove("text/plain");
            result_data = data;
        } else if !data.is_empty() {
            displayed += data.values().map(String::len).sum::<usize>();
            if displayed <= PYTHON_OUTPUT_CAP_BYTES {
                displays.push(data);
            } else {
                left_out += 1;
            }
        }
    }
    if left_out > 0 {
        notes.push(format!(
            "the texts of {left_out} displayed values are left out: print the parts that you need"
        ));
    }
    let is_error = error.is_some() || cell.timed_out;
    let traceback = error.as_ref().map_or("", |error| &error.traceback);
    let commands = &context.services.commands;
    let (missing, printed) = (&commands.missing, [traceback, &cell.stderr.text]);
    notes.extend(missing.notes(i32::from(is_error), &printed, commands.home()));
    let output = Output {
        stdout: cell.stdout.text,
        stderr: cell.stderr.text,
        execution_time: seconds(cell.elapsed),
        outputs,
        new_files,
        modified_files,
        result,
        result_data,
        displays,
        error,
        late: Some(cell.late).filter(|late| !late.is_empty()),
        session_id: session.name().to_owned(),
        timed_out: cell.timed_out,
        state_lost,
        blocked,
        blocked_more: Blocked::more(&cell.denied),
        outside: changed.and_then(ChangesMade::into_outside),
    };
    let mut reply = if context.is_lean() {
        lean_reply(output, notes)
    } else {
        Reply::json(&Open(output), notes)?
    };
    reply.content.extend(images);
    reply.bad = (is_error).then_some(BadResult::Program);
    Ok(reply)
}

/// Returns the reply for a model: output, displayed values, the value, the error, and a last line
/// about files.
fn lean_reply(output: Output, notes: Vec<String>) -> Reply<Open<Output>> {
    let mut text = OutputText::of(output.stdout, &output.stderr);
    let displayed = output.displays.iter().flat_map(BTreeMap::values);
    displayed.for_each(|display| text.add(display));
    if let Some(result) = &output.result {
        text.add(&format!("=> {result}"));
    }
    output.result_data.values().for_each(|data| text.add(data));
    if let Some(Failure {
        name,
        message,
        traceback,
    }) = &output.error
    {
        // A traceback ends with name and message.
        let is_told = traceback.contains(message.as_str()) && !message.is_empty();
        text.add(traceback);
        if !is_told {
            text.add(&format!("{name}: {message}"));
        }
    }
    if let Some(late) = &output.late {
        text.add(&format!("[output of earlier cells]\n{late}"));
    }
    let mut status = Status::default();
    if output.execution_time >= TOLD_SECS {
        status.add(format!("{:.1} s", output.execution_time));
    }
    let lists = [
        ("wrote", &output.outputs),
        ("new", &output.new_files),
        ("modified", &output.modified_files),
    ];
    for (what, paths) in lists.into_iter().filter(|(_, paths)| !paths.is_empty()) {
        status.add(format!("{what} {}", paths.join(", ")));
    }
    status.reply(text.into_text(), notes)
}

/// Selects and shortens the textual forms of a value. HTML is many times longer than plain text, so
/// it is used only if the plain text is uninformative.
fn texts(data: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let says_something = data.get("text/plain").is_some_and(|plain| !is_bare(plain));
    let is_wanted = |mime: &str, text: &str| match mime {
        "text/plain" => true,
        "text/html" => !says_something,
        _ => !says_something || text.len() <= PYTHON_RESULT_CAP_BYTES,
    };
    data.into_iter()
        .filter(|(mime, text)| is_wanted(mime, text))
        .map(|(mime, text)| (mime, beginning_and_end(text, PYTHON_RESULT_CAP_BYTES)))
        .collect()
}

/// Returns true for Python's default representation of an object.
fn is_bare(plain: &str) -> bool {
    plain.is_empty() || plain.starts_with('<') && plain.ends_with('>') && plain.contains(" object")
}

/// Finds another session whose installed packages have this module.
fn owner(context: &Context<'_>, session: &Session, module: &str) -> Option<String> {
    let (sessions, _) = context.services.python.list();
    let owner = sessions
        .iter()
        .find(|other| other.number() != session.number() && other.has_module(module));
    owner.map(|owner| owner.name().to_owned())
}

/// Returns the pictures of a cell, up to the limit of a reply.
fn images(shown: &mut [DisplayedValue], notes: &mut Vec<String>) -> Vec<Content> {
    let mut images: Vec<Content> = shown
        .iter_mut()
        .flat_map(|shown| pictures(shown, notes))
        .collect();
    let more = images.len().saturating_sub(MAX_CELL_PICTURES);
    if more > 0 {
        images.truncate(MAX_CELL_PICTURES);
        notes.push(format!(
            "{} not in this reply, but in the files that `outputs` names",
            counted(more as u64, "more picture is", "more pictures are")
        ));
    }
    images
}

/// Takes the pictures out of a displayed value. A session may mislabel data as a picture, and a
/// large picture may break a client's conversation.
fn pictures(shown: &mut DisplayedValue, notes: &mut Vec<String>) -> Vec<Content> {
    let mut found = Vec::new();
    for mime in ["image/png", "image/jpeg"] {
        let Some(data) = shown.data.remove(mime) else {
            continue;
        };
        let bytes = STANDARD.decode(&data).unwrap_or_default();
        match picture_size(&bytes) {
            Some(size) if size.width.max(size.height) <= MAX_PICTURE_SIDE && bytes.len() <= MAX_PICTURE_BYTES => {
                found.push(Content::Image { data, mime: mime.to_owned() });
            }
            Some(Size { width, height }) => notes.push(format!(
                "{} has {width} x {height} pixels: read_file shows it scaled, and with `region` a part of it",
                shown.files.first().map_or("a picture", |file| file)
            )),
            None => notes.push(format!("the value displayed as {mime} is not a valid {mime}")),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn texts_by_mime(plain: &str, others: &[(&str, &str)]) -> Vec<(String, String)> {
        let all = [&[("text/plain", plain)], others].concat();
        texts(
            all.into_iter()
                .map(|(mime, text)| (mime.to_owned(), text.to_owned()))
                .collect(),
        )
        .into_iter()
        .collect()
    }

    #[test]
    fn html_is_shown_without_plain_text() {
        let html = ("text/html", "<b>1</b>");
        let long = "x".repeat(PYTHON_RESULT_CAP_BYTES + 1);
        let told = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs
                .iter()
                .map(|(mime, text)| ((*mime).to_owned(), (*text).to_owned()))
                .collect()
        };
        assert_eq!(
            texts_by_mime("1", &[html, ("text/latex", "1")]),
            told(&[("text/latex", "1"), ("text/plain", "1")])
        );
        assert_eq!(
            texts_by_mime("1", &[html, ("text/latex", &long)]),
            told(&[("text/plain", "1")])
        );
        let bare = "<a.B object at 0x7f>";
        assert_eq!(
            texts_by_mime(bare, &[html]),
            told(&[html, ("text/plain", bare)])
        );
    }

    #[test]
    fn long_result_text_is_cut() {
        let [(_, text)] = &texts_by_mime(&"x".repeat(100_000), &[])[..] else {
            panic!("one form")
        };
        assert!(
            text.len() < PYTHON_RESULT_CAP_BYTES + 100
                && text.contains(" of 100000 bytes left out"),
            "{text}"
        );
    }
}
