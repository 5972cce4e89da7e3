//! The beginning of a connection, as it is played: encryption, requests to cancel something, logins.

use super::Playing;
use crate::record::call::{Content, Exchange, Side};
use crate::record::protocol::dialogue::Fault;
use crate::record::protocol::postgres::message::{self, Opening};
use crate::record::protocol::postgres::startup;
use crate::record::protocol::role::said;
use crate::record::protocol::wire::PlayStep;

impl Playing {
    /// What the first message of a connection is answered.
    pub(super) fn opening(&mut self, bytes: &[u8]) -> Result<Vec<PlayStep>, Fault> {
        match message::opening(bytes)? {
            // What is cancelled was answered at once by what says so.
            Opening::Cancel => Ok(vec![PlayStep::Close]),
            Opening::Encryption if !self.prompter.link.tls && self.is_encrypted() => {
                self.prompter.link.tls = true;
                Ok(vec![PlayStep::Send(b"S".to_vec()), PlayStep::StartTls { early: Vec::new() }])
            }
            Opening::Encryption | Opening::Gss => Ok(vec![PlayStep::Send(b"N".to_vec())]),
            Opening::Startup => {
                self.started = true;
                Ok(self.welcome(bytes))
            }
        }
    }

    /// Whether logins were recorded that were encrypted.
    fn is_encrypted(&self) -> bool {
        self.prompter.sessions().iter().any(|found| found.tls && startup(found).is_some())
    }

    /// What answers a startup message.
    fn welcome(&mut self, asked: &[u8]) -> Vec<PlayStep> {
        let (who, prompter) = (startup::who(asked), &mut self.prompter);
        let found = prompter.login(asked, &who, |found| startup(found).map(startup::who));
        let found = match found {
            Ok(found) => found,
            Err(text) => return vec![PlayStep::Send(message::error("FATAL", &text)), PlayStep::Close],
        };
        prompter.script.opened(&who);
        let answers = || said(&found, Side::Server).filter(|message| !message::is_challenge(message));
        let mut bytes = answers().collect::<Vec<_>>().concat();
        if is_refusal(&found) {
            return vec![PlayStep::Send(bytes), PlayStep::Close];
        }
        if bytes.first() != Some(&b'R') {
            bytes.splice(0..0, message::authenticated());
        }
        if !answers().any(|message| message.first() == Some(&b'Z')) {
            bytes.extend(message::ready(b'I'));
        }
        vec![PlayStep::Send(bytes)]
    }
}

/// Whether a login was refused.
fn is_refusal(found: &Exchange) -> bool {
    said(found, Side::Server).any(|message| message.first() == Some(&b'E'))
}

/// The startup message that a recording answers, if it is one of that kind.
fn startup(found: &Exchange) -> Option<&[u8]> {
    if let Content::Wire(_, wire) = &found.content { startup::startup_of(wire) } else { None }
}
