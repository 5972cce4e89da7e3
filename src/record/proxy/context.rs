//! One connection of the program.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use super::session::Hub;
use super::{Misfit, Note};
use crate::budget::Share;
use crate::limits::MAX_RECORDED_BODY_BYTES;
use crate::record::call::{Exchange, Link, Refusal, Target};
use crate::record::matching::describe;
use crate::sandbox::intercept::ProgramName;

/// As [`MAX_RECORDED_BODY_BYTES`] has it.
pub const TOO_LONG: &str = "a body is longer than 128 MiB, or than --memory-mib leaves room for";
const _: () = assert!(MAX_RECORDED_BODY_BYTES == 128 << 20);

#[derive(Clone)]
pub struct Context {
    pub shared: Arc<Hub>,
    pub link: Link,
    pub keep: bool,
    /// Which connection to its target it is, from 1.
    pub nth: u64,
    /// Who made it.
    pub by: ProgramName,
}

impl Context {
    /// Keeps what was said, if anything is to be kept of this connection.
    pub fn keep(&self, exchanges: impl IntoIterator<Item = Exchange>) {
        for exchange in exchanges {
            if self.keep {
                self.shared.keep(exchange);
            } else if !exchange.is_silent() {
                self.shared.count(|counts| counts.passed += 1);
            }
        }
    }

    /// A call is not kept, since a body of it is too long.
    pub fn too_long(&self, exchange: &Exchange) {
        self.shared.count(|counts| counts.dropped += 1);
        self.shared.note(Note::Lost {
            what: format!("{}: {TOO_LONG}", describe(exchange)),
        });
    }

    /// So many descriptors that this connection takes; or what connect(2) fails with, which is
    /// told.
    pub fn descriptors(&self, count: usize) -> Result<Share, i32> {
        self.shared.descriptors(count).map_err(|error| {
            self.not_reached(&error);
            Refusal::NO_ROOM
        })
    }

    /// The real server was not reached for this reason. What a rule says, or this process for want
    /// of descriptors, is nothing that the server has said, so it is not kept.
    pub fn not_reached(&self, error: &io::Error) -> Refusal {
        let refusal = Refusal::of(error);
        match (error.raw_os_error(), self.shared.wires.door()) {
            (Some(Refusal::NO_ROOM), Some(door)) => {
                door.ended(
                    &self.link.target,
                    Misfit::Many(self.shared.most_connections()),
                    self.by,
                );
            }
            (Some(libc::EACCES), Some(_)) | (Some(Refusal::NO_ROOM), None) => {}
            _ => self.refused(refusal),
        }
        refusal
    }

    /// The real server was not reached, or not trusted.
    pub fn refused(&self, refusal: Refusal) {
        self.shared.kept().refused(refusal, &self.link.target);
        self.keep([self.link.refused(refusal, self.nth, SystemTime::now())]);
    }

    pub fn encrypted(&self) -> Self {
        Self {
            link: Link {
                tls: true,
                ..self.link.clone()
            },
            ..self.clone()
        }
    }

    /// The same connection, with what goes to the real server kept or not as the operator wants it.
    pub fn forwarded(&self) -> Self {
        Self {
            keep: self.shared.beyond() == Some(true),
            ..self.clone()
        }
    }

    pub fn tunnel(&self, target: Target) -> Self {
        Self {
            link: Link {
                target,
                tls: false,
                connection: self.link.connection,
            },
            ..self.clone()
        }
    }

    pub async fn stopped(&self) {
        let mut stop = self.shared.stop.clone();
        let _ = stop.wait_for(|stop| *stop).await;
    }
}
