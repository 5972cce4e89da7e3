//! Limits of commands and of Python sessions.

use std::time::Duration;

use anyhow::{Result, bail};
use replay_base::limits;

use super::profile;
use crate::cli::{CommandArgs, PythonArgs};

/// Limits of commands.
#[derive(Debug)]
pub struct CommandLimits {
    /// Default time limit of a command.
    pub timeout: Duration,
    /// `true` if the operator chose it.
    pub is_timeout_chosen: bool,
    /// Maximum time limit of a command.
    pub max_timeout: Duration,
    /// Maximum number of bytes kept of each output stream.
    pub output_cap_bytes: usize,
    /// Maximum number of concurrent foreground commands.
    pub max_foreground: usize,
    /// Maximum number of concurrent background commands.
    pub max_background: usize,
    /// Maximum number of bytes kept of each background command's output.
    pub background_output_bytes: u64,
}

/// Settings of Python sessions.
#[derive(Debug)]
pub struct PythonConfig {
    /// Maximum number of concurrent sessions.
    pub max_sessions: usize,
    /// Maximum time limit of Python code.
    pub max_cell: Duration,
    /// Idle timeout of a session.
    pub idle_timeout: Duration,
    /// `true` if a spare interpreter waits for the next session.
    pub has_spare: bool,
}

impl CommandLimits {
    /// Resolves the limits. Fails if the default timeout exceeds the maximum.
    pub(super) fn resolve(args: &CommandArgs, profile: &profile::Limits) -> Result<Self> {
        let chosen = args.command_timeout_secs.or(profile.command_timeout_secs);
        let (timeout, max_timeout) = timeouts(
            chosen,
            args.max_command_timeout_secs
                .or(profile.max_command_timeout_secs),
        )?;
        Ok(Self {
            timeout,
            is_timeout_chosen: chosen.is_some(),
            max_timeout,
            output_cap_bytes: count(
                args.output_cap_bytes.or(profile.output_cap_bytes),
                limits::OUTPUT_CAP_BYTES,
            ),
            max_foreground: count(
                args.max_commands.or(profile.max_commands),
                limits::MAX_COMMANDS,
            ),
            max_background: count(
                args.max_background_commands
                    .or(profile.max_background_commands),
                limits::MAX_BACKGROUND_COMMANDS,
            ),
            background_output_bytes: args
                .background_output_bytes
                .or(profile.background_output_bytes)
                .unwrap_or(limits::BACKGROUND_OUTPUT_BYTES),
        })
    }
}

impl PythonConfig {
    pub(super) fn resolve(args: &PythonArgs, profile: &profile::Limits) -> Self {
        let secs = |asked: Option<u64>, usual| Duration::from_secs(asked.unwrap_or(usual));
        Self {
            max_sessions: count(
                args.max_python_sessions.or(profile.max_python_sessions),
                limits::MAX_PYTHON_SESSIONS,
            ),
            max_cell: secs(
                args.max_cell_secs.or(profile.max_cell_secs),
                limits::MAX_CELL_SECS,
            ),
            idle_timeout: secs(
                args.python_idle_timeout_secs
                    .or(profile.python_idle_timeout_secs),
                limits::PYTHON_IDLE_TIMEOUT_SECS,
            ),
            has_spare: !args.no_python_spare,
        }
    }
}

fn count(asked: Option<u64>, usual: usize) -> usize {
    asked.map_or(usual, |count| count as usize)
}

/// Default and maximum time limit. The built-in default is lowered to an explicit maximum.
fn timeouts(timeout: Option<u64>, max_timeout: Option<u64>) -> Result<(Duration, Duration)> {
    let max = max_timeout.unwrap_or(limits::MAX_COMMAND_TIMEOUT_SECS);
    let usual = limits::DEFAULT_COMMAND_TIMEOUT_SECS.min(max_timeout.unwrap_or(u64::MAX));
    let timeout = timeout.unwrap_or(usual);
    if timeout > max {
        bail!(
            "--command-timeout-secs is {timeout}; it must not exceed --max-command-timeout-secs, \
             which is {max}"
        );
    }
    Ok((Duration::from_secs(timeout), Duration::from_secs(max)))
}
