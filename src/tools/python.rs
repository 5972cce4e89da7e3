//! What the tools of the Python set share.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::command_notes::refused;
use super::{Context, Services};
use crate::error::Error;
use crate::exec::{ExecError, Exit};
use crate::journal;
use crate::limits::DEFAULT_CELL_SECS;
use crate::policy::{Touch, note};
use crate::python::{Changes, Host, Session, shown_path};
use crate::text::escape::show_path;

/// An object whose members the output schema leaves open. Clients that make types of output schemas
/// then give it to their users as a dictionary, as those of such servers expect.
#[derive(Debug)]
pub struct Open<T>(pub T);

impl<T: Serialize> Serialize for Open<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<T> JsonSchema for Open<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Open".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "additionalProperties": true})
    }
}

/// What sessions stand on; an error where no program may run.
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

/// A client has come that sees the tools for Python: the first session is not to wait for its
/// interpreter.
pub fn expect_use(services: &Services) {
    if let Some(host) = host_of(services, &journal::Changes::none()) {
        services.python.expect_use(&host);
    }
}

/// How long Python code may run, for a call that asks for so many seconds or for none.
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

/// Whether programs reach other machines.
pub(super) fn has_network(context: &Context<'_>) -> bool {
    context.services.commands.standing.reaches_hosts()
}

/// The session that is meant, for a tool that may start its interpreter.
pub(super) fn session(context: &Context<'_>, name: Option<&str>) -> Result<Arc<Session>, Error> {
    Ok(context.services.python.find_to_start(name)?)
}

/// Paths below a session's directory, each as the file tools take it.
pub(super) fn shown<'a>(
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

/// Notes for whoever looks on which files a program has written in a session's directory.
pub(super) fn note_written(context: &Context<'_>, session: &Session, changes: &Changes) {
    let directory = absolute(context, session);
    for path in changes.new.iter().chain(&changes.modified) {
        note(&directory.join(OsStr::from_bytes(path)), None, Touch::Write);
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

/// Where a program in the walls may write that belongs to no allowed directory.
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

/// How a process ended, in words.
pub(super) fn how(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    }
}

/// Seconds to the microsecond.
pub(super) fn seconds(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}
