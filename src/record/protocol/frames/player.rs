//! Player of a server with frames.

use std::sync::Arc;
use std::time::Duration;

use super::FrameFormat;
use crate::call::{Side, Wire};
use crate::protocol::dialogue::Fault;
use crate::protocol::responder::{MISS_LINGER_MS, Prompter, Responder, messages_from};
use crate::protocol::wire::PlayStep;

pub(crate) struct FrameResponder {
    format: FrameFormat,
    /// The frame before the next one.
    last: Vec<u8>,
}

impl FrameResponder {
    pub(crate) fn new(format: FrameFormat) -> Self {
        Self {
            format,
            last: Vec::new(),
        }
    }

    fn answer(&self, prompter: &mut Prompter, asked: Option<&[u8]>) -> Vec<u8> {
        let question = Wire::asking(asked.map(<[u8]>::to_vec));
        if self.format.is_in_order {
            prompter.put_pushes_first();
        }
        let Ok(found) = prompter.ask_or(question, |_| None) else {
            let linger = Duration::from_millis(MISS_LINGER_MS);
            prompter.then = Some(PlayStep::CloseAfter(linger));
            return Vec::new();
        };
        let unnumbered = prompter
            .pushes
            .iter_mut()
            .filter(|push| push.asked.is_none());
        for push in unnumbered {
            push.asked = asked.map(Arc::from);
        }
        let recorded = messages_from(&found, Side::Client).next();
        let mut said = Vec::new();
        for frame in messages_from(&found, Side::Server) {
            if frame.is_empty() {
                prompter.then = Some(PlayStep::Close);
            }
            let mut frame = frame.to_vec();
            if let (Some(recorded), Some(asked)) = (recorded, asked) {
                self.format.renumber(recorded, asked, &mut frame);
            }
            said.extend(frame);
        }
        said
    }
}

impl Responder for FrameResponder {
    fn open(&mut self, prompter: &mut Prompter) -> Vec<u8> {
        let has_greeting = prompter.peek(&Wire::default()).is_some();
        if has_greeting {
            self.answer(prompter, None)
        } else {
            Vec::new()
        }
    }

    fn may_encrypt(&self) -> bool {
        true
    }

    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        self.format.length(Side::Client, bytes, &self.last)
    }

    fn message(&mut self, prompter: &mut Prompter, bytes: Vec<u8>) -> Result<Vec<u8>, Fault> {
        let answer = match self.format.heartbeats.first(&bytes) {
            Some((_, answer)) => {
                if self.format.heartbeats.ends(&bytes) {
                    prompter.then = Some(PlayStep::Close);
                }
                answer
            }
            None => self.answer(prompter, Some(&bytes)),
        };
        self.last = bytes;
        Ok(answer)
    }

    fn buffered_bytes(&self) -> usize {
        self.last.len()
    }

    fn refuse(&self, _fault: Fault) -> Vec<u8> {
        Vec::new()
    }
}
