//! `MongoDB`, as it is played.

use super::message::{self, Manner};
use crate::record::call::Side;
use crate::record::protocol::dialogue::Fault;
use crate::record::protocol::role::{Prompter, Role, said};
use crate::record::protocol::wire::PlayStep;

const NO_PROOF: &str = "authentication cannot be replayed: its answer proves that the server knows the password, which no \
                        recording has; connect without a user name, to a server without access control while recording";

/// Answers commands from recordings.
pub(crate) struct Playing {
    prompter: Prompter,
    /// The number of the last reply.
    number: u32,
}

impl Playing {
    pub(crate) fn new(prompter: Prompter) -> Self {
        Self { prompter, number: 0 }
    }

    /// One or more messages, each of which refers to the one before it.
    fn send(&mut self, asked: &[u8], replies: &[Vec<u8>]) -> Vec<PlayStep> {
        let mut responds_to = message::number(asked);
        let mut out = Vec::new();
        for reply in replies {
            self.number = self.number.wrapping_add(1);
            out.extend(message::renumbered(reply, self.number, responds_to));
            responds_to = self.number;
        }
        vec![PlayStep::Send(out)]
    }
}

impl Role for Playing {
    fn prompter(&self) -> &Prompter {
        &self.prompter
    }

    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        message::length(bytes)
    }

    fn message(&mut self, bytes: Vec<u8>) -> Result<Vec<PlayStep>, Fault> {
        let (question, manner) = message::question(&bytes)?;
        if manner == Manner::Proof {
            let target = &self.prompter.link.target;
            self.prompter.script.missed(target, "authentication, which cannot be replayed");
            return Ok(self.send(&bytes, &[message::reply(&bytes, &message::error(NO_PROOF, 18))]));
        }
        let found = self.prompter.ask([question.as_slice()]);
        if !message::is_answered(&bytes) {
            return Ok(Vec::new());
        }
        let held = found.as_ref().is_ok_and(|found| found.abandoned());
        let replies = match found {
            Ok(found) if manner == Manner::Hello => {
                let of = |reply: &[u8]| message::without_offers(reply, true).unwrap_or_else(|_| reply.to_vec());
                said(&found, Side::Server).map(of).collect()
            }
            Ok(found) => said(&found, Side::Server).map(message::without_checksum).collect(),
            Err(text) => vec![message::reply(&bytes, &message::error(&text, 1))],
        };
        let mut steps = self.send(&bytes, &replies);
        if held {
            steps.push(PlayStep::Hold);
        }
        Ok(steps)
    }

    fn kept(&self) -> usize {
        0
    }

    fn refuse(&mut self, _fault: Fault) -> Vec<u8> {
        // Without a number to refer to no reply can be understood.
        Vec::new()
    }
}
