//! `run_python_code`: one cell in a Python session.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::python::{Open, ground, seconds, session, shown};
use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::limits::{CELL_GRACE_MS, DEFAULT_CELL_SECS, MAX_CELL_SECS, PYTHON_OUTPUT_CAP_BYTES};
use crate::protocol::Content;
use crate::python::{Bounds, News, Ran, Session, Shown};

/// Runs a cell.
pub struct RunPythonCode;

/// Arguments of `run_python_code`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// Python code
    code: String,
    /// Seconds until it is interrupted (default 30)
    #[schemars(range(min = 1, max = MAX_CELL_SECS), extend("x-aliases" = ["timeout_secs"]))]
    timeout: Option<u64>,
    /// Session to run it in (default: the active one)
    #[schemars(extend("x-aliases" = ["session"]))]
    session_id: Option<String>,
}

/// What came of a cell.
#[derive(Debug, Serialize)]
pub struct Output {
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
    /// Its other forms that are text, by media type.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    result_data: BTreeMap<String, String>,
    /// What was shown beside it, by media type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    displays: Vec<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    /// What earlier cells have left running has written.
    #[serde(rename = "late_output", skip_serializing_if = "Option::is_none")]
    late: Option<String>,
    session_id: String,
    timed_out: bool,
    /// Variables and imports are gone.
    state_lost: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// Why a cell failed.
#[derive(Debug, Serialize)]
pub struct Failure {
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

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let ground = ground(context, Self::NAME)?;
        let session = session(context, params.session_id.as_deref())?;
        let timeout = Duration::from_secs(params.timeout.unwrap_or(DEFAULT_CELL_SECS));
        let bounds = Bounds {
            timeout,
            grace: Duration::from_millis(CELL_GRACE_MS),
            output_cap_bytes: PYTHON_OUTPUT_CAP_BYTES.min(context.services.commands.output_cap_bytes),
        };
        let progress = context.progress;
        let mut on_news = |news: News<'_>| {
            if progress.is_wanted() {
                let (done, all) = (news.elapsed.as_millis() as u64, timeout.as_millis() as u64);
                if news.text.is_empty() {
                    let text =
                        format!("running for {:.1} s, {} bytes of output", news.elapsed.as_secs_f64(), news.bytes);
                    progress.report_now(done, Some(all), &text);
                } else {
                    progress.report_now(done, Some(all), news.text);
                }
            }
        };
        let ran = session.run(&ground, &params.code, &bounds, context.cancel, &mut on_news)?;
        if ran.cell.cancelled {
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
    let Ran { mut cell, changes, logs, lost, mut notes } = ran;
    let shown_files = cell.shown.iter().flat_map(|shown| &shown.files).chain(&logs).map(String::as_bytes);
    let outputs = shown(context, session, shown_files);
    let new_files = shown(context, session, changes.new.iter().map(|path| &**path));
    let modified_files = shown(context, session, changes.modified.iter().map(|path| &**path));
    let images: Vec<Content> = cell.shown.iter_mut().flat_map(pictures).collect();
    if let Some(partial) = changes.partial {
        notes.push(format!("new and modified files are not all told: {partial}"));
    }
    if cell.unshown > 0 {
        notes.push(format!("{} more values were displayed", cell.unshown));
    }
    let mut error = cell.error.take().map(|raised| {
        if raised.name == "SyntaxError" && code.lines().any(|line| line.trim_start().starts_with(['!', '%'])) {
            notes.push(
                "lines that begin with ! or % are IPython's: use subprocess.run or execute_command, and install_packages"
                    .to_owned(),
            );
        }
        Failure { name: raised.name, message: raised.value, traceback: raised.traceback }
    });
    if cell.timed_out {
        let seconds = timeout.as_secs();
        let what = if cell.killed {
            "it did not heed the interrupt, so the session was ended: its variables are lost"
        } else {
            "it was interrupted; variables are kept"
        };
        let traceback = error.take().map(|error| error.traceback).unwrap_or_default();
        let message = format!("the code ran longer than its timeout of {seconds} s; {what}; it was not run again");
        error = Some(Failure { name: "TimeoutError".to_owned(), message, traceback });
    } else if let Some(lost) = lost.as_ref().filter(|_| cell.ended.is_some() || cell.killed) {
        error = Some(Failure { name: "SessionEnded".to_owned(), message: lost.clone(), traceback: String::new() });
    }
    let state_lost = lost.is_some();
    if let Some(lost) = lost {
        notes.push(format!("{lost}; variables and imports from before are gone"));
    }
    let (mut result, mut result_data, mut displays) = (None, BTreeMap::new(), Vec::new());
    for shown in cell.shown {
        let mut data = shown.data;
        // Of a picture there is no more to say.
        if !shown.is_result && !shown.files.is_empty() && data.keys().eq(["text/plain"]) {
            continue;
        }
        if shown.is_result {
            result = data.remove("text/plain");
            result_data = data;
        } else if !data.is_empty() {
            displays.push(data);
        }
    }
    let is_error = error.is_some() || cell.timed_out;
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
        notes,
    };
    let mut reply = Reply::json(Open(output))?;
    reply.content.extend(images);
    reply.is_error = is_error;
    Ok(reply)
}

/// Takes the pictures out of what was shown. What a session says is a picture need not be base64.
fn pictures(shown: &mut Shown) -> Vec<Content> {
    let mut found = Vec::new();
    for mime in ["image/png", "image/jpeg"] {
        if let Some(data) = shown.data.remove(mime)
            && STANDARD.decode(&data).is_ok()
        {
            found.push(Content::Image { data, mime: mime.to_owned() });
        }
    }
    found
}
