//! `get_kernel_health`: reports the state of a Python session's process.

use replay_python::Health;
use serde::Serialize;

use super::Context;
use super::python::{SessionParams, SessionTool, describe_exit, interpreter, seconds};
use crate::error::Error;

/// Reports the state of a process.
pub(super) struct GetKernelHealth;

#[derive(Debug, Serialize)]
pub(super) struct Output {
    session_id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// Resident memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage: Option<u64>,
    /// CPU usage since the last request, in percent of one processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_threads: Option<u32>,
    /// Number of processes, including those it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    num_processes: Option<u32>,
    /// Uptime in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime: Option<f64>,
    busy: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_cell_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<String>,
}

impl SessionTool for GetKernelHealth {
    type Params = SessionParams;
    type Output = Output;
    const NAME: &'static str = "get_kernel_health";
    const TITLE: &'static str = "Health of a Python session";
    const DESCRIPTION: &'static str = "Whether the interpreter of a session is healthy, dead or a zombie, what memory, \
        processor and threads it uses, and whether code runs in it. Answers whatever the code does.";

    fn run(context: &Context<'_>, params: SessionParams) -> Result<Output, Error> {
        let session = context.services.python.find(params.session_id.as_deref())?;
        if !session.was_started() {
            interpreter(context, Self::NAME, Some(session.name()))?;
        }
        let Health {
            condition,
            pid,
            status,
            cpu_percent,
            busy_for,
            exit,
        } = session.health()?;
        let status = status.as_ref();
        Ok(Output {
            session_id: session.name().to_owned(),
            status: condition.word(),
            pid,
            memory_usage: status.map(|status| status.rss_bytes),
            cpu_percent,
            num_threads: status.map(|status| status.threads),
            num_processes: status.map(|status| status.processes),
            uptime: status.map(|status| seconds(status.uptime)),
            busy: busy_for.is_some(),
            current_cell_seconds: busy_for.map(seconds),
            exit_status: exit.map(describe_exit),
        })
    }
}
