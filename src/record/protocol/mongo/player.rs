//! Player of `MongoDB` connections.

use super::message::{self, RequestKind};
use crate::call::Side;
use crate::protocol::dialogue::Fault;
use crate::protocol::responder::{Prompter, Responder, messages_from};

const NO_PROOF: &str = "MongoDB authentication cannot be replayed, since the server must prove \
    that it knows the password; record with a server without access control, and connect without \
    a user name";

#[derive(Default)]
pub(super) struct MongoResponder {
    number: u32,
}

impl MongoResponder {
    /// Numbers replies, each of which refers to the one before.
    fn reply<'a>(&mut self, asked: &[u8], replies: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
        let mut responds_to = message::number(asked);
        let numbered = replies.flat_map(|reply| {
            self.number = self.number.wrapping_add(1);
            message::renumbered(
                reply,
                self.number,
                std::mem::replace(&mut responds_to, self.number),
            )
        });
        numbered.collect()
    }

    fn error(&mut self, asked: &[u8], text: &str, code: i32) -> Vec<u8> {
        let error = message::reply(asked, &message::error(text, code));
        self.reply(asked, std::iter::once(error.as_slice()))
    }
}

impl Responder for MongoResponder {
    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        message::length(bytes)
    }

    fn message(&mut self, prompter: &mut Prompter, bytes: Vec<u8>) -> Result<Vec<u8>, Fault> {
        let (question, request_kind) = message::question(&bytes)?;
        if request_kind == RequestKind::Proof {
            prompter.script.missed(
                &prompter.link.target,
                "authentication, which cannot be replayed",
            );
            return Ok(self.error(&bytes, NO_PROOF, 18));
        }
        Ok(match prompter.ask(&[question]) {
            _ if message::has_more_to_come(&bytes) => Vec::new(),
            Ok(found) => self.reply(&bytes, messages_from(&found, Side::Server)),
            Err(text) => self.error(&bytes, &text, 1),
        })
    }

    fn refuse(&self, _fault: Fault) -> Vec<u8> {
        // A reply needs the number of its request.
        Vec::new()
    }
}
