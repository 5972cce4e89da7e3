//! `replay health`: asks a server over HTTP for its health, for hosts without another HTTP client.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use replay_base::limits::MAX_KEPT_NAME_BYTES;
use replay_base::text::escape::show;

use super::process::print;
use super::report;
use crate::cli::HealthArgs;
use crate::config;
use replay_network::http_client::{HttpTarget, Question, ask};

/// Prints `ok` with exit status 0, or the reason with 1. Docker's HEALTHCHECK reserves the exit
/// status 2.
pub(super) fn run(args: &HealthArgs) -> Result<ExitCode> {
    match check(args) {
        Ok(()) => print("ok\n"),
        Err(error) => {
            report(&error);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Fails, with the reason, unless the server reports that it is healthy.
fn check(args: &HealthArgs) -> Result<()> {
    let mut target = HttpTarget::parse(&args.url).with_context(|| "the URL of the server")?;
    if target.path == "/" {
        target = target.below("health");
    }
    let trust = target
        .is_encrypted
        .then(|| config::trust(args.cacert.as_deref(), "--cacert FILE"))
        .transpose()?;
    let question = Question {
        method: "GET",
        headers: "Accept: application/json\r\n",
        body: b"",
    };
    let deadline = Instant::now() + Duration::from_secs(args.timeout_secs);
    let proxy = config::proxy_of_environment();
    let answer = ask(
        &target,
        trust.as_ref(),
        proxy.as_deref(),
        question,
        deadline,
    )?;
    match answer.status {
        200 => Ok(()),
        401 => bail!(
            "`{}` answers with 401: this path needs a token; give the URL without a path, which \
             asks /health",
            args.url
        ),
        status => {
            let state = state(&answer.body)
                .map(|state| format!(": {state}"))
                .unwrap_or_default();
            bail!("`{}` answers with {status}{state}", args.url)
        }
    }
}

/// `status` in the body, such as `failing`.
fn state(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let state = body.get("status")?.as_str()?;
    Some(
        show(state.as_bytes()[..state.floor_char_boundary(MAX_KEPT_NAME_BYTES)].as_ref())
            .into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn state_comes_from_body_status() {
        let cases = [
            &b"{\"status\":\"failing\"}"[..],
            b"{\"status\":\"\x1b\"}",
            b"{\"status\":1}",
            b"<html>",
            b"",
        ];
        assert_eq!(
            cases.map(state),
            [Some("failing".to_owned()), None, None, None, None]
        );
    }
}
