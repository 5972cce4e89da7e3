//! `MySQL`, as it is played.

use super::answer;
use super::handshake::{self, Hello, Login};
use super::packet::{self, command};
use super::statements::{self, Statements};
use crate::record::call::{Exchange, Side};
use crate::record::protocol::dialogue::Fault;
use crate::record::protocol::role::{Prompter, Role, said};
use crate::record::protocol::wire::PlayStep;

/// Of a server that speaks first, and nobody recorded how.
const UNGREETED: &str = "a connection whose greeting no recording has";

/// Answers commands from recordings.
pub(crate) struct Playing {
    prompter: Prompter,
    /// The capabilities that the client has, once it has said who it is.
    capabilities: Option<u32>,
    statements: Statements,
}

impl Playing {
    pub(crate) fn new(prompter: Prompter) -> Self {
        Self { prompter, capabilities: None, statements: Statements::default() }
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
        let who = |found: &Exchange| {
            let question = said(found, Side::Client)
                .next()
                .filter(|_| said(found, Side::Server).next().is_some_and(handshake::is_greeting))?;
            if let Ok(Hello::Login(recorded)) = handshake::hello(question) { Some(recorded.who) } else { None }
        };
        let found = match self.prompter.login(&login.question, &login.who, who) {
            Ok(found) => found,
            Err(text) => return vec![PlayStep::Send(packet::error(sequence.wrapping_add(1), &text)), PlayStep::Close],
        };
        self.prompter.script.opened(&login.who);
        let verdict = said(&found, Side::Server).next_back().unwrap_or_default();
        let mut steps = vec![PlayStep::Send(handshake::accept(login, verdict, sequence))];
        if packet::payload(verdict).first() == Some(&0xff) {
            steps.push(PlayStep::Close);
        }
        steps
    }

    fn answered(&mut self, questions: &[Vec<u8>], sequence: u8) -> Result<Vec<PlayStep>, Fault> {
        let found = self.prompter.ask_or(questions.iter().map(Vec::as_slice), |is_inside| {
            // A packet that is answered without a recording follows the one that asked.
            plain(questions.last()?, sequence, is_inside)
        });
        let found = match found {
            Ok(found) => found,
            Err(text) => return Ok(vec![PlayStep::Send(packet::error(sequence.wrapping_add(1), &text))]),
        };
        let mut out = said(&found, Side::Server).collect::<Vec<_>>().concat();
        if found.abandoned() {
            return Ok(vec![PlayStep::Send(out), PlayStep::Hold]);
        }
        if let Some(prepare) = questions.last()
            && packet::payload(prepare).first() == Some(&command::PREPARE)
            && let Some(mut prepared) = answer::prepared(packet::payload(&out))
        {
            prepared.id = self.statements.unused();
            out[5..9].copy_from_slice(&prepared.id.to_le_bytes());
            self.statements.prepared(prepare, &prepared)?;
        }
        Ok(vec![PlayStep::Send(out)])
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

impl Role for Playing {
    fn prompter(&self) -> &Prompter {
        &self.prompter
    }

    fn open(&mut self) -> Vec<PlayStep> {
        let sessions = self.prompter.sessions();
        let first = |found: &Exchange| said(found, Side::Server).next().map(<[u8]>::to_vec);
        let greeted = sessions.iter().filter_map(|found| Some((found, first(found)?)));
        if let Some((found, greeting)) = greeted.into_iter().find(|(_, first)| handshake::is_greeting(first)) {
            let encrypted = found.tls && !self.prompter.link.tls;
            return vec![PlayStep::Send(handshake::greeting(&greeting, encrypted).unwrap_or(greeting))];
        }
        let refusal = sessions.iter().find(|found| said(found, Side::Client).next().is_none());
        let refusal = refusal.and_then(|found| first(found)).inspect(|_| self.prompter.script.logged_in());
        let refusal = refusal.unwrap_or_else(|| {
            self.prompter.script.missed(&self.prompter.link.target, UNGREETED);
            packet::error(0, UNGREETED)
        });
        vec![PlayStep::Send(refusal), PlayStep::Close]
    }

    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        Ok(packet::length(bytes))
    }

    fn message(&mut self, bytes: Vec<u8>) -> Result<Vec<PlayStep>, Fault> {
        let Some(capabilities) = self.capabilities else { return self.hello(&bytes) };
        let sequence = packet::sequence(&bytes);
        let code = packet::payload(&bytes).first().copied().unwrap_or_default();
        match code {
            command::QUIT => return Ok(vec![PlayStep::Close]),
            command::CHANGE_USER => {
                let login = handshake::change_user(&bytes, capabilities)?;
                return Ok(match self.prompter.ask([login.question.as_slice()]) {
                    Ok(found) if found.abandoned() => vec![PlayStep::Hold],
                    Ok(found) => {
                        let verdict = said(&found, Side::Server).next_back().unwrap_or_default();
                        if packet::payload(verdict).first() == Some(&0) {
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
        self.answered(&questions, sequence)
    }

    fn kept(&self) -> usize {
        self.statements.kept()
    }

    fn refuse(&mut self, fault: Fault) -> Vec<u8> {
        packet::error(1, fault)
    }
}
