//! Corruption of a correct answer: invalid JSON, truncation, wrong id, duplicates, slow bytes.

use std::sync::Arc;
use std::time::Duration;

use replay_mcp::protocol::{Body, Id, Outcome, render};
use replay_mcp::sessions::AdmittedRequest;

use super::fault::MockFault;

/// Pause between the bytes of an answer that comes slowly, in milliseconds.
const SLOWLORIS_PAUSE_MS: u64 = 100;

/// Returns the corrupted answer; `None` if it was sent here. `pause` waits, and returns false to
/// stop.
pub(crate) fn spoil(
    fault: MockFault,
    exchange: &AdmittedRequest<'_>,
    outcome: Outcome,
    pause: &dyn Fn(Duration) -> bool,
) -> Option<Outcome> {
    let written = |id: &Id| {
        let mut line = Vec::new();
        render(&mut line, Some(id), &outcome, exchange.ticket.revision);
        line
    };
    let line = |bytes: Vec<u8>| Some(Ok(Body::Line(Arc::from(bytes))));
    let id = &exchange.ticket.id;
    match fault {
        MockFault::BadJson => {
            let mut bytes = written(id);
            bytes.truncate(bytes.len() - 1);
            bytes.extend_from_slice(b",oops: [1,}");
            line(bytes)
        }
        MockFault::Truncated => {
            let mut bytes = written(id);
            bytes.truncate(bytes.len() / 2);
            line(bytes)
        }
        MockFault::WrongId => line(written(&Id::text("an id that no request had"))),
        MockFault::Duplicate => {
            let once = written(id);
            line([&once[..], b"\n", &once[..]].concat())
        }
        MockFault::StdoutNoise => line([b"DEBUG handling a request\n", &written(id)[..]].concat()),
        MockFault::SlowLoris => {
            let mut bytes = written(id);
            bytes.push(b'\n');
            let step = Duration::from_millis(SLOWLORIS_PAUSE_MS);
            exchange.outbox.exclusively(&mut |send| {
                for byte in &bytes {
                    send(std::slice::from_ref(byte));
                    if !pause(step) {
                        break;
                    }
                }
            });
            None
        }
        _ => Some(outcome),
    }
}
