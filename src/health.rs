//! `replay health`: asks a server over HTTP how it is, for whoever looks after it and has no other client at hand.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::cli::HealthArgs;
use crate::config;
use crate::outbound::{Question, Target, ask};

/// Fails, with the reason, unless the server says that it is well.
pub fn check(args: &HealthArgs) -> Result<()> {
    let mut target = Target::parse(&args.url).with_context(|| "the URL of the server")?;
    if target.path == "/" {
        target = target.below("health");
    }
    let trust = target.is_encrypted.then(|| config::trust(args.cacert.as_deref(), "--cacert FILE")).transpose()?;
    let question = Question { method: "GET", headers: "Accept: application/json\r\n", body: b"" };
    let deadline = Instant::now() + Duration::from_secs(args.timeout_secs);
    let answer = ask(&target, trust.as_ref(), question, deadline)?;
    if answer.status != 200 {
        bail!("`{}` answers with {}", args.url, answer.status);
    }
    Ok(())
}
