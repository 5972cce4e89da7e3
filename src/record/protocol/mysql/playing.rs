//! `MySQL`, as it is played.

use super::answer;
use super::handshake::{self, Hello, Login};
use super::packet::{self, command};
use super::statements::{self, Statements};
use crate::record::call::{Exchange, Side};
use crate::record::protocol::dialogue::Fault;
use crate::record::protocol::role::{Prompter, Role, said};
use crate::record::protocol::wire::PlayStep;

/// Answers commands from the book.
pub(crate) struct Playing {
    prompter: Prompter,
    /// The capabilities that the client has, once it has said who it is.
    capabilities: Option<u32>,
    statements: Statements,
    /// The question that a file is the rest of, and the packets of the file.
    file: Option<Vec<Vec<u8>>>,
    kept: usize,
    /// Whether the program left while it waited for what was answered last.
    held: bool,
}

impl Playing {
    pub(crate) fn new(prompter: Prompter) -> Self {
        Self { prompter, capabilities: None, statements: Statements::default(), file: None, kept: 0, held: false }
    }

    fn hello(&mut self, bytes: &[u8]) -> Result<Vec<PlayStep>, Fault> {
        match handshake::hello(bytes)? {
            Hello::Encryption => {
                self.prompter.link.tls = true;
                Ok(vec![PlayStep::StartTls { early: Vec::new() }])
            }
            Hello::Login(login) => {
                self.capabilities = Some(login.capabilities);
                Ok(self.login(&login, packet::sequence(bytes)))
            }
        }
    }

    /// Everybody is let in to whom a recording says so.
    fn login(&mut self, login: &Login, sequence: u8) -> Vec<PlayStep> {
        let prompter = &mut self.prompter;
        if !prompter.sessions().iter().any(|found| is_greeting(said(found, Side::Server).next())) {
            prompter.script.opened(&login.who);
            return vec![PlayStep::Send(handshake::accept(login, None, sequence))];
        }
        let who = |found: &Exchange| {
            let question =
                said(found, Side::Client).next().filter(|_| is_greeting(said(found, Side::Server).next()))?;
            if let Ok(Hello::Login(recorded)) = handshake::hello(question) { Some(recorded.who) } else { None }
        };
        let found = match prompter.login(&login.question, &login.who, who) {
            Ok(found) => found,
            Err(text) => return vec![PlayStep::Send(packet::error(sequence.wrapping_add(1), &text)), PlayStep::Close],
        };
        prompter.script.opened(&login.who);
        let verdict = said(&found, Side::Server).next_back();
        let mut steps = vec![PlayStep::Send(handshake::accept(login, verdict, sequence))];
        if verdict.is_some_and(|verdict| packet::payload(verdict).first() == Some(&0xff)) {
            steps.push(PlayStep::Close);
        }
        steps
    }

    fn answered(&mut self, questions: Vec<Vec<u8>>, sequence: u8) -> Result<Vec<PlayStep>, Fault> {
        let out = self.answer(questions, sequence)?;
        let held = self.held.then_some(PlayStep::Hold);
        Ok(std::iter::once(PlayStep::Send(out)).chain(held).collect())
    }

    fn answer(&mut self, questions: Vec<Vec<u8>>, sequence: u8) -> Result<Vec<u8>, Fault> {
        let found = self.prompter.ask_or(questions.iter().map(Vec::as_slice), |is_inside| {
            // A packet that is answered without a recording follows the one that asked.
            plain(questions.last()?, sequence, is_inside)
        });
        let found = match found {
            Ok(found) => found,
            Err(text) => return Ok(packet::error(sequence.wrapping_add(1), &text)),
        };
        let mut out = said(&found, Side::Server).collect::<Vec<_>>().concat();
        if found.abandoned {
            self.held = true;
            return Ok(out);
        }
        let code = |question: &Vec<u8>| packet::payload(question).first().copied();
        if let Some(prepare) = questions.last()
            && code(prepare) == Some(command::PREPARE)
            && let Some(mut prepared) = answer::prepared(packet::payload(&out))
        {
            prepared.id = self.statements.unused();
            out[5..9].copy_from_slice(&prepared.id.to_le_bytes());
            self.statements.prepared(prepare, &prepared)?;
        }
        let asks_for_file = |message: &[u8]| packet::payload(message).first() == Some(&0xfb);
        let is_query = questions.last().and_then(code) == Some(command::QUERY);
        if is_query && said(&found, Side::Server).next_back().is_some_and(asks_for_file) {
            self.file = Some(questions);
        }
        Ok(out)
    }
}

/// What a server says to what needs no recording: OK, and whether a transaction is open.
fn plain(question: &[u8], sequence: u8, is_inside: bool) -> Option<Vec<Vec<u8>>> {
    let is_inside = match *packet::payload(question).first()? {
        command::PING => is_inside,
        command::RESET_CONNECTION => false,
        _ => statements::control(question)?.leaves_open(is_inside),
    };
    // `SERVER_STATUS_AUTOCOMMIT`, and whether it is in a transaction.
    Some(vec![packet::message(sequence.wrapping_add(1), &[0, 0, 0, 2 | u8::from(is_inside), 0, 0, 0])])
}

fn is_greeting(first: Option<&[u8]>) -> bool {
    first.is_some_and(|first| packet::payload(first).first() == Some(&10) && first.get(3) == Some(&0))
}

impl Role for Playing {
    fn prompter(&self) -> &Prompter {
        &self.prompter
    }

    fn open(&mut self) -> Vec<PlayStep> {
        let sessions = self.prompter.sessions();
        let greeted = |found: &&std::sync::Arc<_>| is_greeting(said(found, Side::Server).next());
        if let Some(found) = sessions.iter().find(greeted) {
            let recorded = said(found, Side::Server).next().unwrap_or_default();
            let encrypted = found.tls && !self.prompter.link.tls;
            let greeting = handshake::greeting(recorded, encrypted).unwrap_or_else(|_| handshake::own_greeting());
            return vec![PlayStep::Send(greeting)];
        }
        let refusal = sessions.iter().find(|found| said(found, Side::Client).next().is_none());
        if let Some(message) = refusal.and_then(|found| said(found, Side::Server).next()) {
            self.prompter.script.logged_in();
            return vec![PlayStep::Send(message.to_vec()), PlayStep::Close];
        }
        vec![PlayStep::Send(handshake::own_greeting())]
    }

    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        Ok(packet::length(bytes))
    }

    fn message(&mut self, bytes: Vec<u8>) -> Result<Vec<PlayStep>, Fault> {
        let Some(capabilities) = self.capabilities else { return self.hello(&bytes) };
        let sequence = packet::sequence(&bytes);
        if let Some(mut questions) = self.file.take() {
            let ended = bytes.len() == 4;
            self.kept += bytes.len() + size_of::<Vec<u8>>();
            questions.push(bytes);
            if !ended {
                self.file = Some(questions);
                return Ok(Vec::new());
            }
            self.kept = 0;
            return self.answered(questions, sequence);
        }
        let code = packet::payload(&bytes).first().copied().unwrap_or_default();
        match code {
            command::QUIT => return Ok(vec![PlayStep::Close]),
            command::CHANGE_USER => {
                let login = handshake::change_user(&bytes, capabilities)?;
                return Ok(match self.prompter.ask([login.question.as_slice()]) {
                    Ok(found) if found.abandoned => vec![PlayStep::Hold],
                    Ok(found) => {
                        let verdict = said(&found, Side::Server).next_back();
                        if verdict.is_some_and(|verdict| packet::payload(verdict).first() == Some(&0)) {
                            self.prompter.script.opened(&login.who);
                        }
                        vec![PlayStep::Send(handshake::accept(&login, verdict, sequence))]
                    }
                    Err(text) => vec![PlayStep::Send(packet::error(sequence.wrapping_add(1), &text)), PlayStep::Close],
                });
            }
            _ => {}
        }
        let answered = answer::begin(code)?.is_some();
        let questions = self.statements.questions(bytes)?;
        if !answered {
            return Ok(Vec::new());
        }
        self.answered(questions, sequence)
    }

    fn kept(&self) -> usize {
        self.kept + self.statements.kept()
    }

    fn refuse(&mut self, fault: Fault) -> Vec<u8> {
        packet::error(1, fault)
    }
}
