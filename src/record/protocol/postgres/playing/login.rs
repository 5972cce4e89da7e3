//! The beginning of a connection, as it is played: encryption, requests to cancel something, logins.

use std::sync::Arc;

use super::Playing;
use crate::record::call::{Content, Exchange, Side};
use crate::record::protocol::dialogue::Fault;
use crate::record::protocol::postgres::application::nameless;
use crate::record::protocol::postgres::message::{self, Opening};
use crate::record::protocol::postgres::startup::{self, database};
use crate::record::protocol::role::said;
use crate::record::protocol::wire::PlayStep;

impl Playing {
    /// What the first message of a connection is answered.
    pub(super) fn opening(&mut self, bytes: &[u8]) -> Result<Vec<PlayStep>, Fault> {
        let startups: Vec<_> = self.prompter.sessions().into_iter().filter(|found| startup(found).is_some()).collect();
        match message::opening(bytes)? {
            Opening::Cancel => {
                self.prompter.origin.cancels.ask(bytes.get(8..).unwrap_or_default());
                Ok(vec![PlayStep::Close])
            }
            Opening::Encryption if !self.prompter.origin.tls && startups.iter().any(|found| found.tls) => {
                self.prompter.origin.tls = true;
                Ok(vec![PlayStep::Send(b"S".to_vec()), PlayStep::StartTls { early: Vec::new() }])
            }
            Opening::Encryption | Opening::Gss => Ok(vec![PlayStep::Send(b"N".to_vec())]),
            Opening::Startup => {
                self.started = true;
                startup::open(&mut self.prompter.history, bytes);
                let mut steps = self.welcome(bytes, &startups);
                if let Some(PlayStep::Send(said)) = steps.first_mut() {
                    self.tell_key(said);
                }
                Ok(steps)
            }
        }
    }

    /// Puts a key into the answer to a login that no other connection has, and listens to it.
    fn tell_key(&mut self, said: &mut [u8]) {
        let mut at = 0;
        while let Ok(Some(length)) = message::length(&said[at..]) {
            let Some(message) = said.get_mut(at..at + length) else { return };
            if message.first() == Some(&b'K') {
                message.copy_from_slice(&message::with_own_key(message, self.prompter.origin.connection));
                let key = message::cancel_key(message).unwrap_or_default();
                self.cancels = self.prompter.origin.cancels.listen(key);
            }
            at += length;
        }
    }

    /// What answers a startup message: the same, or else one of the same user to the same database.
    fn welcome(&mut self, asked: &[u8], startups: &[Arc<Exchange>]) -> Vec<PlayStep> {
        let same = |recorded: &[u8]| {
            message::parameter(recorded, b"user") == message::parameter(asked, b"user")
                && database(recorded) == database(asked)
        };
        let is_exact = |recorded| nameless(recorded) == nameless(asked);
        let exact: Vec<_> = startups.iter().filter(|found| startup(found).is_some_and(is_exact)).collect();
        // Where the same was refused and let in, each has its turn.
        let refused = exact.iter().filter(|found| is_refusal(found)).count();
        let in_turn = if refused == 0 || refused == exact.len() { None } else { self.prompter.ask([asked]).ok() };
        let alike = || startups.iter().find(|found| startup(found).is_some_and(same));
        let first = || {
            let found = exact.first().copied().or_else(alike).map(Arc::clone);
            found.inspect(|_| self.prompter.book.logged_in())
        };
        let Some(found) = in_turn.or_else(first) else {
            let target = &self.prompter.origin.target;
            if startups.is_empty() && self.prompter.book.protocol(target) == Some(self.prompter.protocol) {
                return vec![PlayStep::Send(message::welcome())];
            }
            let user = |startup: &[u8]| message::parameter(startup, b"user").unwrap_or_default().to_vec();
            let database = |startup: &[u8]| database(startup).unwrap_or_default().to_vec();
            let text = self.prompter.unknown_login(&user(asked), &database(asked), |found| {
                startup(found).map(|startup| (user(startup), database(startup)))
            });
            return vec![PlayStep::Send(message::error("FATAL", &text)), PlayStep::Close];
        };
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
