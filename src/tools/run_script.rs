//! `run_script`: runs a Python file in its own process.

use std::time::Instant;

use replay_base::text::escape::show_path;
use replay_files::journal::AutorunChanges;
use replay_files::policy::FileKind;
use replay_mcp::sessions::Weight;
use replay_python::packages::quoted;
use replay_python::{PythonError, Session};
use replay_sandbox::exec::{self, Blocked, Captured, ExecError, place_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notes::changes::{ChangesMade, changes_made};
use super::notes::command::{denied_lines, exit_code, left_note, signal};
use super::open_object::Open;
use super::python::{file_tool_paths, host, note_written, seconds, time_limit};
use super::status_line::{OutputText, Status};
use super::{BadResult, Context, HandOver, Hints, Reply, Tool, Toolset};
use crate::error::Error;

pub(super) struct RunScript;

/// Arguments of `run_script`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Python file
    #[schemars(extend("x-aliases" = ["script", "script_path", "file"]))]
    path: String,
    /// Its arguments
    #[schemars(extend("x-aliases" = ["argv", "arguments"]))]
    args: Option<Vec<String>>,
    /// Seconds until it is ended (default 30)
    #[schemars(range(min = 1), extend("x-aliases" = ["timeout_secs"]))]
    timeout: Option<u64>,
    /// Session whose interpreter, directory and packages it gets, but not its variables (default:
    /// the active one)
    #[schemars(extend("x-aliases" = ["session"]))]
    session_id: Option<String>,
}

/// Result of the script.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    stdout: String,
    stderr: String,
    exit_code: i32,
    execution_time: f64,
    timed_out: bool,
    new_files: Vec<String>,
    modified_files: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<Blocked>,
    /// Changes to files that programs outside the sandbox run.
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<AutorunChanges>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
}

/// Returns the reply for a model.
fn lean_reply(output: Output, notes: Vec<String>) -> Reply<Open<Output>> {
    let text = OutputText::of(output.stdout, &output.stderr);
    let mut status = Status::default();
    status.add(format!(
        "exit {}, {:.1} s",
        output.exit_code, output.execution_time
    ));
    let lists = [
        ("new", &output.new_files),
        ("modified", &output.modified_files),
    ];
    for (what, paths) in lists.into_iter().filter(|(_, paths)| !paths.is_empty()) {
        status.add(format!("{what} {}", paths.join(", ")));
    }
    status.reply(text.into_text(), notes)
}

impl Tool for RunScript {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "run_script";
    const TITLE: &'static str = "Run a Python script";
    const DESCRIPTION: &'static str = "Run a Python file with arguments in a process of its own, and get its output, its \
        exit code and the files it has made. It shares no variables with sessions.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Python;
    const IS_RARE: bool = true;
    const WEIGHT: Weight = Weight::Heavy;
    const HAND_OVER: HandOver = HandOver::GoesOn;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let host = host(context, Self::NAME)?;
        let services = context.services;
        let session = services.python.find(params.session_id.as_deref())?;
        let script = services
            .policy
            .read(&params.path)
            .map_err(PythonError::Policy)?;
        if script.kind() != FileKind::File {
            let message = format!("`path` {} is not a file", show_path(script.display_path()));
            return Err(Error::params(message));
        }
        let Some(path) = script.display_path().to_str() else {
            return Err(Error::params(
                "`path` of run_script is not UTF-8, which this tool does not support; rename the \
                 file",
            ));
        };
        let line = line(&session, path, params.args.as_deref().unwrap_or_default());
        let dir = place_of(session.directory(&services.policy)?)?;
        let command = exec::Command {
            changes: context.changes,
            line: &line,
            dir,
            terminal: None,
            path: None,
        };
        let timeout = time_limit(context, params.timeout)?;
        let foreground = services
            .commands
            .foreground(host.launcher, context.cancel, timeout);
        let begun = Instant::now();
        let (outcome, changes) = session.with_changes(&services.policy, context.cancel, || {
            foreground.run(&command, &mut |done, stage| {
                context.progress.stage(done, timeout, stage);
            })
        })?;
        let outcome = match outcome {
            Ok(outcome) if outcome.cancelled => return Err(Error::Cancelled),
            Err(ExecError::Cancelled) => return Err(Error::Cancelled),
            outcome => outcome.map_err(PythonError::Exec)?,
        };
        let mut notes = Vec::new();
        for (name, stream) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
            if let Captured {
                truncated: true,
                bytes,
                total_bytes,
                ..
            } = stream
            {
                let shown = bytes.len();
                notes.push(format!(
                    "{name} truncated: {shown} of {total_bytes} bytes are shown, beginning and end"
                ));
            }
        }
        if outcome.timed_out {
            notes.push(format!(
                "ended after its timeout of {} s",
                timeout.as_secs()
            ));
        } else {
            notes.extend(left_note(outcome.left));
        }
        let blocked = Blocked::among(&outcome.denied);
        notes.extend(denied_lines(&outcome.denied, &services.commands));
        let (note, changed) = changes_made(context).unzip();
        notes.extend(note.flatten());
        notes.extend(changes.partial.map(|partial| {
            format!(
                "the list of new and modified files is incomplete: \
                    {partial}"
            )
        }));
        note_written(context, &session, &changes);
        let exit_code = exit_code(outcome.exit);
        let output = Open(Output {
            stdout: outcome.stdout.text().into_owned(),
            stderr: outcome.stderr.text().into_owned(),
            exit_code,
            execution_time: seconds(begun.elapsed()),
            timed_out: outcome.timed_out,
            new_files: file_tool_paths(context, &session, changes.new.iter().map(|path| &**path)),
            modified_files: file_tool_paths(
                context,
                &session,
                changes.modified.iter().map(|path| &**path),
            ),
            blocked,
            outside: changed.and_then(ChangesMade::into_outside),
            signal: signal(outcome.exit),
        });
        let mut reply = if context.is_lean() {
            lean_reply(output.0, notes)
        } else {
            Reply::json(&output, notes)?
        };
        reply.bad = (exit_code != 0 || outcome.timed_out).then_some(BadResult::Program);
        Ok(reply)
    }
}

/// Returns the command line: the session's interpreter and variables, quoted for the shell.
fn line(session: &Session, path: &str, args: &[String]) -> String {
    let mut words = vec!["exec env".to_owned()];
    for (name, value) in &session.settings().environment {
        words.push(quoted(&format!(
            "{}={}",
            name.to_string_lossy(),
            value.to_string_lossy()
        )));
    }
    words.extend([quoted(&session.python()), "-B".to_owned(), quoted(path)]);
    words.extend(args.iter().map(|arg| quoted(arg)));
    words.join(" ")
}
