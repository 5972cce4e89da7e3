//! Address at which a test runner announces its tests, as Keploy has it:
//! `POST /agent/scope/begin` and `/agent/scope/end` with `{"name": TEST, "pid": PID}`.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::context::Context;
use crate::call::{HttpResponse, Target};
use crate::http::h1::{self, ReceivedRequest};

/// Longest name of a test, in bytes.
const MAX_TEST_NAME_BYTES: usize = 4096;

/// Address at which intercepted programs announce tests. No server is expected here, but one at
/// 127.0.0.1 may have the port by chance.
pub const AGENT: Ipv4Addr = Ipv4Addr::new(127, 82, 80, 76);

/// Returns the target of announcements, given the port that connections arrive at.
pub(super) fn target(address: Ipv4Addr, port: u16) -> Target {
    Target {
        host: address.to_string(),
        port,
    }
}

/// Answers one request.
pub(super) fn answer(context: &Context, asked: &ReceivedRequest) -> HttpResponse {
    let workers = &context.shared.workers;
    let refuse = |status, reason: &str| h1::refusal(status, &json!({ "error": reason }));
    let begins = match (asked.request.method.as_str(), asked.request.path.as_str()) {
        ("POST", "/agent/scope/begin") => true,
        ("POST", "/agent/scope/end") => false,
        _ => return refuse(404, "not found"),
    };
    let Some((test, pid)) = scope(&asked.request.body) else {
        return refuse(400, "invalid request");
    };
    if begins {
        workers.begin(&test, pid);
    } else {
        workers.end(&test, pid);
    }
    h1::refusal(200, &json!({ "status": "ok" }))
}

/// Reads the name of a test and its process; 0 stands for all processes.
fn scope(body: &[u8]) -> Option<(String, u32)> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let name = body.get("name")?.as_str()?;
    let pid = body.get("pid").map_or(Some(0), Value::as_u64)?;
    let pid = u32::try_from(pid).ok()?;
    (name.len() <= MAX_TEST_NAME_BYTES).then(|| (name.to_owned(), pid))
}
