//! `check_kernel_responsiveness`: checks that a Python session answers.

use std::time::{Duration, Instant};

use replay_base::limits::PYTHON_PING_MS;
use replay_python::PythonError;
use serde::Serialize;

use super::Context;
use super::python::{SessionParams, SessionTool, describe_exit, interpreter, seconds};
use crate::error::Error;

/// Pings the interpreter of a session.
pub(super) struct CheckKernelResponsiveness;

/// Result of the ping.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    session_id: String,
    responsive: bool,
    /// Response time in seconds.
    response_time: f64,
    test_result: String,
    busy: bool,
}

impl SessionTool for CheckKernelResponsiveness {
    type Params = SessionParams;
    type Output = Output;
    const NAME: &'static str = "check_kernel_responsiveness";
    const TITLE: &'static str = "Check that a Python session answers";
    const DESCRIPTION: &'static str = "Have the interpreter of a session compute something beside the code that runs in \
        it, and measure how long the answer takes.";

    fn run(context: &Context<'_>, params: SessionParams) -> Result<Output, Error> {
        let session = context.services.python.find(params.session_id.as_deref())?;
        if !session.was_started() {
            interpreter(context, Self::NAME, Some(session.name()))?;
        }
        let begun = Instant::now();
        let kernel = session.live();
        let busy_for = kernel.as_ref().and_then(|kernel| kernel.busy_for());
        let pong = match &kernel {
            Some(kernel) => {
                match kernel.ping(Duration::from_millis(PYTHON_PING_MS), context.cancel) {
                    Err(PythonError::Over { .. }) => None,
                    pong => pong?,
                }
            }
            None => None,
        };
        let test_result = match (&pong, busy_for, session.live()) {
            (Some(pong), None, _) => format!("6 * 7 = {}; the session is idle", pong.value),
            (Some(pong), Some(busy), _) => {
                format!(
                    "6 * 7 = {}; code has been running for {:.1} s",
                    pong.value,
                    busy.as_secs_f64()
                )
            }
            (None, Some(busy), Some(_)) => format!(
                "no answer within {PYTHON_PING_MS} ms: the code, running for {:.1} s, is inside a \
                 call that blocks the interpreter; interrupt_session or restart_session ends the \
                 code",
                busy.as_secs_f64()
            ),
            (None, None, Some(_)) => format!(
                "no answer within {PYTHON_PING_MS} ms, though no code runs: the interpreter is \
                 starting, or a thread of earlier code blocks it; ask again, then use \
                 restart_session"
            ),
            (None, _, None) => match session.health()?.exit {
                Some(exit) => format!(
                    "the process has ended ({}); run_python_code starts a new one",
                    describe_exit(exit)
                ),
                None => "there is no process; run_python_code starts one".to_owned(),
            },
        };
        Ok(Output {
            session_id: session.name().to_owned(),
            responsive: pong.is_some(),
            response_time: seconds(pong.map_or_else(|| begun.elapsed(), |pong| pong.elapsed)),
            test_result,
            busy: busy_for.is_some(),
        })
    }
}
