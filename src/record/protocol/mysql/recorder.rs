//! Recorder of `MySQL` connections.

use std::collections::VecDeque;
use std::time::SystemTime;

use super::answer::{self, AnswerState};
use super::handshake::{self, HandshakeRequest};
use super::packet::{self, command};
use super::statements::{self, Statements};
use crate::call::Side;
use crate::protocol::dialogue::{CallLog, Dialogue, Disposition, Draft, Fault};

#[derive(Default)]
enum Phase {
    /// Waits for the server's greeting.
    #[default]
    Greeting,
    /// Waits for the client's login, after this greeting.
    Hello(Vec<u8>),
    Commands,
}

#[derive(Default)]
pub(super) struct MySqlDialogue {
    phase: Phase,
    capabilities: u32,
    statements: Statements,
    /// Commands that the server has not begun to answer.
    waiting: VecDeque<(Vec<u8>, SystemTime)>,
    /// The call that is being answered, and the next expected part of its answer.
    running: Option<(Draft, AnswerState)>,
}

impl MySqlDialogue {
    fn greeting(&mut self, bytes: &[u8], log: &mut CallLog) -> Result<Disposition, Fault> {
        match packet::code(bytes) {
            Some(10) => {
                let greeting = handshake::greeting(bytes, !log.link.tls)?;
                self.phase = Phase::Hello(greeting.clone());
                Ok(Disposition::Instead(greeting))
            }
            // The server refuses connections, with an error instead of a greeting.
            Some(0xff) => {
                let mut draft = Draft::with_requests([], log.at).of_session(true);
                draft.push(Side::Server, bytes.to_vec());
                log.complete(draft);
                Ok(Disposition::On)
            }
            _ => Err("the connection does not begin as MySQL connections do"),
        }
    }

    fn hello(
        &mut self,
        bytes: &[u8],
        greeting: Vec<u8>,
        log: &mut CallLog,
    ) -> Result<Disposition, Fault> {
        match handshake::hello(bytes)? {
            HandshakeRequest::Encryption => {
                self.phase = Phase::Hello(greeting);
                log.link.tls = true;
                Ok(Disposition::Encrypt)
            }
            HandshakeRequest::Login(login) => {
                self.capabilities = login.capabilities;
                let mut draft = Draft::with_requests([], log.at).of_session(true);
                draft.push(Side::Server, greeting);
                draft.push(Side::Client, login.question);
                self.running = Some((draft, AnswerState::Login));
                Ok(Disposition::On)
            }
        }
    }

    /// Returns true during authentication.
    fn logs_in(&self) -> bool {
        matches!(self.running, Some((_, AnswerState::Login)))
    }

    fn begin(&mut self) -> Result<(Draft, AnswerState), Fault> {
        while let Some((bytes, at)) = self.waiting.pop_front() {
            let code = packet::code(&bytes);
            let questions = if code == Some(command::CHANGE_USER) {
                vec![handshake::change_user(&bytes, self.capabilities)?.question]
            } else {
                self.statements.questions(bytes)?
            };
            let Some(answer) = answer::begin(code)? else {
                continue;
            };
            let is_session = questions
                .last()
                .is_some_and(|question| statements::is_session(question));
            return Ok((
                Draft::with_requests(questions, at).of_session(is_session),
                answer,
            ));
        }
        Err("MySQL sent an answer without a request")
    }

    fn on_reply(&mut self, bytes: Vec<u8>, log: &mut CallLog) -> Result<(), Fault> {
        let (mut draft, answer) = match self.running.take() {
            Some(running) => running,
            None => self.begin()?,
        };
        let next = answer.read(&bytes, self.capabilities & handshake::NO_EOF != 0)?;
        if answer == AnswerState::PreparedStatement
            && let Some(prepared) = answer::prepared(packet::payload(&bytes))
            && let Some(prepare) = draft.wire.messages_by(Side::Client).next_back()
        {
            self.statements.prepared(prepare, &prepared)?;
        }
        // Only the result of a login is recorded.
        if answer != AnswerState::Login || next.is_none() {
            draft.push(Side::Server, bytes);
        }
        match next {
            Some(answer) => self.running = Some((draft, answer)),
            None => log.complete(draft),
        }
        Ok(())
    }
}

impl Dialogue for MySqlDialogue {
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        if from == Side::Client && matches!(self.phase, Phase::Greeting) {
            return Err("the MySQL client did not wait for the greeting");
        }
        packet::length(bytes)
    }

    fn holds(&self, from: Side) -> bool {
        match self.phase {
            Phase::Greeting => true,
            Phase::Hello(_) => from == Side::Client,
            Phase::Commands => false,
        }
    }

    fn message(
        &mut self,
        from: Side,
        bytes: Vec<u8>,
        log: &mut CallLog,
    ) -> Result<Disposition, Fault> {
        match (std::mem::replace(&mut self.phase, Phase::Commands), from) {
            (Phase::Greeting, _) => return self.greeting(&bytes, log),
            (Phase::Hello(greeting), Side::Client) => return self.hello(&bytes, greeting, log),
            (phase @ Phase::Hello(_), _) => self.phase = phase,
            // A proof of the password.
            (Phase::Commands, Side::Client) if self.logs_in() => {}
            (Phase::Commands, Side::Client) => self.waiting.push_back((bytes, log.at)),
            (Phase::Commands, Side::Server) => self.on_reply(bytes, log)?,
        }
        Ok(Disposition::On)
    }

    fn buffered_bytes(&self) -> usize {
        let waiting = self
            .waiting
            .iter()
            .map(|waiting| size_of_val(waiting) + waiting.0.len())
            .sum::<usize>();
        waiting
            + self.running.as_ref().map_or(0, |(draft, _)| draft.size())
            + self.statements.buffered_bytes()
    }

    fn end(&mut self, log: &mut CallLog) {
        if self.logs_in() {
            return;
        }
        while let Some((draft, _)) = self.running.take().or_else(|| self.begin().ok()) {
            log.abandon(draft);
        }
    }
}
