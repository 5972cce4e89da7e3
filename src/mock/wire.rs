//! Answers that no server may give: a fault's last step, when the right answer is known.

use std::sync::Arc;
use std::time::Duration;

use super::fault::Fault;
use crate::limits::SLOWLORIS_PAUSE_MS;
use crate::protocol::{Body, Id, Outcome, render};
use crate::server::Exchange;

/// What is sent instead of `outcome`; `None` when all was sent here. `pause` waits, and says whether to go on.
pub fn spoil(
    fault: Fault,
    exchange: &Exchange<'_>,
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
        Fault::BadJson => {
            let mut bytes = written(id);
            bytes.truncate(bytes.len() - 1);
            bytes.extend_from_slice(b",oops: [1,}");
            line(bytes)
        }
        Fault::Truncated => {
            let mut bytes = written(id);
            bytes.truncate(bytes.len() / 2);
            line(bytes)
        }
        Fault::WrongId => line(written(&Id::text("an id that nobody has asked with"))),
        Fault::Duplicate => {
            let once = written(id);
            line([&once[..], b"\n", &once[..]].concat())
        }
        Fault::StdoutNoise => line([b"DEBUG handling a request\n", &written(id)[..]].concat()),
        Fault::SlowLoris => {
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
