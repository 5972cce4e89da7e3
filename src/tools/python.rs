//! Shared parts of the Python tools.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use replay_base::text::escape::show_path;
use replay_files::journal;
use replay_files::policy::{AccessKind, note};
use replay_mcp::sessions::Weight;
use replay_python::{Changes, Host, Kernel, Session, shown_path};
use replay_sandbox::exec::{ExecError, Exit};
use replay_testrun::path;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::notes::command::refused;
use super::{Context, Hints, Open, Reply, Services, Tool, Toolset};
use crate::error::Error;

/// Default time limit of a cell, in seconds.
const DEFAULT_CELL_SECS: u64 = 30;

/// A tool of Python sessions. Its output is an open object, and it usually waits for an interpreter.
pub(crate) trait SessionTool: Send + Sync + 'static {
    /// See [`Tool::Params`].
    type Params: DeserializeOwned + JsonSchema;
    type Output: Serialize;
    const NAME: &'static str;
    const TITLE: &'static str;
    const DESCRIPTION: &'static str;
    const WEIGHT: Weight = Weight::Waits;
    /// See [`Tool::IS_RARE`].
    const IS_RARE: bool = true;
    fn run(context: &Context<'_>, params: Self::Params) -> Result<Self::Output, Error>;
}

impl<T: SessionTool> Tool for T {
    type Params = T::Params;
    type Output = Open<T::Output>;
    const NAME: &'static str = T::NAME;
    const TITLE: &'static str = T::TITLE;
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Python;
    const WEIGHT: Weight = T::WEIGHT;
    const IS_RARE: bool = T::IS_RARE;

    fn run(context: &Context<'_>, params: Self::Params) -> Result<Reply<Self::Output>, Error> {
        Reply::json(&Open(T::run(context, params)?), Vec::new())
    }
}

/// Arguments of a tool that needs no more than a session.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SessionParams {
    /// Session (default: the active one)
    #[schemars(extend("x-aliases" = ["session", "name"]))]
    pub session_id: Option<String>,
}

/// Returns the requested session with its interpreter, which is started if there is none.
pub(super) fn interpreter(
    context: &Context<'_>,
    tool: &'static str,
    name: Option<&str>,
) -> Result<(Arc<Session>, Arc<dyn Kernel>), Error> {
    let host = host(context, tool)?;
    let session = session(context, name)?;
    let kernel = session.kernel(&host, context.cancel)?;
    Ok((session, kernel))
}

/// Returns the host of sessions; an error if commands are refused.
pub(super) fn host<'a>(context: &Context<'a>, tool: &'static str) -> Result<Host<'a>, Error> {
    if let Some(reason) = &context.services.commands.standing.refused {
        return Err(refused(tool, reason));
    }
    Ok(host_of(context.services, context.changes).ok_or(ExecError::NoLauncher)?)
}

fn host_of<'a>(services: &'a Services, changes: &'a journal::Changes<'a>) -> Option<Host<'a>> {
    let rules = &services.commands;
    let launcher = rules
        .launcher
        .as_ref()
        .filter(|_| rules.standing.refused.is_none())?;
    Some(Host {
        launcher,
        residents: &rules.residents,
        policy: &services.policy,
        writer: services.writer.telling(changes),
    })
}

/// Starts the interpreter of the first session in advance, when a client sees the Python tools.
pub(crate) fn expect_use(services: &Services) {
    if let Some(host) = host_of(services, &journal::Changes::none()) {
        services.python.expect_use(&host);
    }
}

/// Returns the timeout of Python code, given the `timeout` argument.
pub(super) fn time_limit(context: &Context<'_>, asked: Option<u64>) -> Result<Duration, Error> {
    let most = context.services.commands.max_cell;
    match asked.map(Duration::from_secs) {
        None => Ok(most.min(Duration::from_secs(DEFAULT_CELL_SECS))),
        Some(asked) if asked <= most => Ok(asked),
        Some(asked) => Err(Error::params(format!(
            "`timeout` is {} s, and Python code may take {} s at most; the operator can allow more (--max-cell-secs)",
            asked.as_secs(),
            most.as_secs()
        ))),
    }
}

/// Returns true if programs can reach other machines.
pub(super) fn has_network(context: &Context<'_>) -> bool {
    context.services.commands.standing.reaches_hosts()
}

/// Finds the requested session, for a tool that may start its interpreter.
pub(super) fn session(context: &Context<'_>, name: Option<&str>) -> Result<Arc<Session>, Error> {
    let session = context.services.python.find_to_start(name)?;
    let Services {
        policy, commands, ..
    } = context.services;
    if let Some(launcher) = &commands.launcher
        && let Some(path) = path(policy, launcher, &absolute(context, &session))
    {
        session.prefer_path(path);
    }
    Ok(session)
}

/// Converts paths below a session's directory to the form of the file tools.
pub(super) fn file_tool_paths<'a>(
    context: &Context<'_>,
    session: &Session,
    paths: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<String> {
    let directory = absolute(context, session);
    let policy = &context.services.policy;
    paths
        .into_iter()
        .map(|rel| show_path(&shown_path(policy, &directory, rel)).into_owned())
        .collect()
}

/// Notes for observers the files that a program has written in a session's directory.
pub(super) fn note_written(context: &Context<'_>, session: &Session, changes: &Changes) {
    let directory = absolute(context, session);
    for path in changes.new.iter().chain(&changes.modified) {
        note(
            &directory.join(OsStr::from_bytes(path)),
            None,
            AccessKind::Write,
        );
    }
}

pub(super) fn absolute(context: &Context<'_>, session: &Session) -> PathBuf {
    let asked = &session.settings().directory;
    context
        .services
        .policy
        .absolute(asked)
        .unwrap_or_else(|_| asked.clone())
}

/// Returns a directory outside the allowed ones in which sandboxed programs can write.
pub(super) fn private_directory(context: &Context<'_>) -> Option<PathBuf> {
    let rules = &context.services.commands;
    let tmp = rules.standing.tmp.as_ref().map(|tmp| PathBuf::from(&tmp.0));
    tmp.or_else(|| {
        rules
            .scratch
            .as_ref()
            .map(|scratch| scratch.path().join("tmp"))
    })
}

/// Describes the exit of a process.
pub(super) fn describe_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    }
}

/// Seconds with microsecond precision.
pub(super) fn seconds(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}
