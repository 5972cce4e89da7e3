//! Player of `MySQL` connections.

use std::sync::Arc;

use super::answer;
use super::handshake::{self, HandshakeRequest, Login};
use super::packet::{self, command};
use super::statements::{self, Statements};
use crate::call::{Exchange, Side, Wire};
use crate::protocol::dialogue::Fault;
use crate::protocol::responder::{Prompter, Responder, messages_from};
use crate::protocol::wire::PlayStep;

/// The server must speak first, but no greeting was recorded.
const UNGREETED: &str = "a connection for which no greeting was recorded";

#[derive(Default)]
pub(super) struct MySqlResponder {
    /// Capabilities of the client, after its login.
    capabilities: Option<u32>,
    statements: Statements,
}

impl MySqlResponder {
    fn hello(&mut self, prompter: &mut Prompter, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
        let login = match handshake::hello(bytes)? {
            HandshakeRequest::Encryption => {
                prompter.encrypt();
                return Ok(Vec::new());
            }
            HandshakeRequest::Login(login) => login,
        };
        self.capabilities = Some(login.capabilities);
        let found = prompter.login(&login.question, &login.who, |found| {
            let question = messages_from(found, Side::Client).next();
            let question =
                question.filter(|_| greeting(found).is_some_and(handshake::is_greeting))?;
            if let Ok(HandshakeRequest::Login(recorded)) = handshake::hello(question) {
                Some(recorded.who)
            } else {
                None
            }
        });
        Ok(login_result(
            prompter,
            &login,
            &found,
            packet::sequence(bytes),
        ))
    }

    fn answer_requests(
        &mut self,
        prompter: &mut Prompter,
        questions: &[Vec<u8>],
        sequence: u8,
    ) -> Result<Vec<u8>, Fault> {
        let asked = Wire::asking(questions.to_vec());
        let found = prompter.ask_or(asked, |is_inside| {
            // The sequence number follows that of the request.
            plain(questions.last()?, sequence, is_inside)
        });
        let mut out = match found {
            Ok(found) => messages_from(&found, Side::Server)
                .collect::<Vec<_>>()
                .concat(),
            Err(text) => return Ok(packet::error(sequence.wrapping_add(1), &text)),
        };
        if let Some(prepare) = questions.last()
            && packet::code(prepare) == Some(command::PREPARE)
            && let Some(mut prepared) = answer::prepared(packet::payload(&out))
        {
            prepared.id = self.statements.unused();
            out[5..9].copy_from_slice(&prepared.id.to_le_bytes());
            self.statements.prepared(prepare, &prepared)?;
        }
        Ok(out)
    }
}

/// Returns the result of a login. Every user with a recorded success is accepted.
fn login_result(
    prompter: &mut Prompter,
    login: &Login,
    found: &Result<Arc<Exchange>, String>,
    sequence: u8,
) -> Vec<u8> {
    let verdict = match found {
        Ok(found) if found.abandoned() => return Vec::new(),
        Ok(found) => messages_from(found, Side::Server)
            .next_back()
            .unwrap_or_default(),
        Err(text) => {
            prompter.then = Some(PlayStep::Close);
            return packet::error(sequence.wrapping_add(1), text);
        }
    };
    let next = sequence.wrapping_add(1);
    if packet::code(verdict) == Some(0) {
        prompter.script.opened(&login.who);
        if login.waits {
            // AuthMoreData: fast authentication succeeded.
            let enough = packet::message(next, &[1, 3]);
            return [enough, packet::renumbered(verdict, next.wrapping_add(1))].concat();
        }
    } else {
        prompter.then = Some(PlayStep::Close);
    }
    packet::renumbered(verdict, next)
}

fn greeting(found: &Exchange) -> Option<&[u8]> {
    messages_from(found, Side::Server).next()
}

/// Returns the answer that needs no recording: OK with the transaction status.
fn plain(question: &[u8], sequence: u8, is_inside: bool) -> Option<Vec<Vec<u8>>> {
    let is_inside = match packet::code(question)? {
        command::PING => is_inside,
        command::RESET_CONNECTION => false,
        _ => statements::control(question)?.leaves_open(is_inside),
    };
    // `SERVER_STATUS_AUTOCOMMIT`, and `SERVER_STATUS_IN_TRANS` in a transaction.
    Some(vec![packet::message(
        sequence.wrapping_add(1),
        &[0, 0, 0, 2 | u8::from(is_inside), 0, 0, 0],
    )])
}

impl Responder for MySqlResponder {
    fn open(&mut self, prompter: &mut Prompter) -> Vec<u8> {
        let sessions = prompter.sessions();
        let is_greeted =
            |found: &&Arc<Exchange>| greeting(found).is_some_and(handshake::is_greeting);
        if let Some(found) = sessions.iter().find(is_greeted) {
            let greeting = greeting(found).unwrap_or_default();
            let encrypted = found.tls && !prompter.link.tls;
            return handshake::greeting(greeting, encrypted).unwrap_or_else(|_| greeting.to_vec());
        }
        prompter.then = Some(PlayStep::Close);
        let is_refused =
            |found: &&Arc<Exchange>| messages_from(found, Side::Client).next().is_none();
        if let Some(refusal) = sessions
            .iter()
            .find(is_refused)
            .and_then(|found| greeting(found))
        {
            prompter.script.logged_in();
            refusal.to_vec()
        } else {
            prompter.script.missed(&prompter.link.target, UNGREETED);
            packet::error(0, UNGREETED)
        }
    }

    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        packet::length(bytes)
    }

    fn message(&mut self, prompter: &mut Prompter, bytes: Vec<u8>) -> Result<Vec<u8>, Fault> {
        let Some(capabilities) = self.capabilities else {
            return self.hello(prompter, &bytes);
        };
        let (sequence, code) = (packet::sequence(&bytes), packet::code(&bytes));
        if code == Some(command::CHANGE_USER) {
            let login = handshake::change_user(&bytes, capabilities)?;
            let found = prompter.ask(std::slice::from_ref(&login.question));
            return Ok(login_result(prompter, &login, &found, sequence));
        }
        if code == Some(command::QUIT) {
            prompter.then = Some(PlayStep::Close);
        }
        let questions = self.statements.questions(bytes)?;
        if answer::begin(code)?.is_some() {
            self.answer_requests(prompter, &questions, sequence)
        } else {
            Ok(Vec::new())
        }
    }

    fn buffered_bytes(&self) -> usize {
        self.statements.buffered_bytes()
    }

    fn refuse(&self, fault: Fault) -> Vec<u8> {
        packet::error(1, fault)
    }
}
