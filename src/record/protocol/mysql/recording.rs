//! A connection to `MySQL`, as it is recorded.

use std::collections::VecDeque;
use std::time::SystemTime;

use super::answer::{self, Answer};
use super::handshake::{self, Hello};
use super::packet::{self, command};
use super::statements::{self, Statements};
use crate::record::call::{Link, Protocol, Side};
use crate::record::protocol::dialogue::{Dialogue, Draft, Fault, Way, unanswered};
use crate::record::protocol::wire::RecordStep;

/// How far the connection is.
enum Phase {
    /// The server is to speak first.
    Greeting,
    /// The client is to say who it is, after this greeting.
    Hello(Vec<u8>),
    /// The server checks who it is.
    Login(Draft),
    /// Commands.
    Commands,
}

/// The command that is being answered.
struct Running {
    draft: Draft,
    answer: Answer,
}

/// Makes calls of what is said to `MySQL`.
pub(crate) struct Recording {
    link: Link,
    /// Whether encryption is relayed that the client asks for.
    relay_tls: bool,
    phase: Phase,
    capabilities: u32,
    statements: Statements,
    /// Commands that the server has not begun to answer.
    waiting: VecDeque<(Vec<u8>, SystemTime)>,
    running: Option<Running>,
}

impl Recording {
    pub(crate) fn new(link: Link, relay_tls: bool) -> Self {
        let statements = Statements::default();
        let waiting = VecDeque::new();
        Self { link, relay_tls, phase: Phase::Greeting, capabilities: 0, statements, waiting, running: None }
    }

    fn greeting(&mut self, bytes: &[u8], at: SystemTime, made: &mut Vec<RecordStep>) -> Result<Way, Fault> {
        if packet::payload(bytes).first() == Some(&0xff) {
            // It takes no connections, and says so in place of a greeting.
            let mut draft = Draft::new(at);
            draft.push(Side::Server, bytes.to_vec());
            draft.session = true;
            made.push(draft.finish(&self.link, Protocol::MySql, at));
            self.phase = Phase::Commands;
            return Ok(Way::On);
        }
        if packet::payload(bytes).first() != Some(&10) {
            return Err("it does not begin as a connection to MySQL does");
        }
        let greeting = handshake::greeting(bytes, self.relay_tls && !self.link.tls)?;
        self.phase = Phase::Hello(greeting.clone());
        Ok(Way::Instead(greeting))
    }

    fn hello(&mut self, bytes: &[u8], greeting: Vec<u8>, at: SystemTime) -> Result<Way, Fault> {
        match handshake::hello(bytes)? {
            Hello::Encryption => {
                self.phase = Phase::Hello(greeting);
                self.link.tls = true;
                Ok(Way::Encrypt)
            }
            Hello::Login(login) => {
                self.capabilities = login.capabilities;
                let mut draft = Draft::new(at);
                draft.push(Side::Server, greeting);
                draft.push(Side::Client, login.question);
                draft.session = true;
                self.phase = Phase::Login(draft);
                Ok(Way::On)
            }
        }
    }

    fn asked(&mut self, bytes: Vec<u8>, at: SystemTime) -> Result<(), Fault> {
        if matches!(&self.running, Some(running) if running.answer == Answer::Login) {
            return Ok(());
        }
        self.waiting.push_back((bytes, at));
        self.unanswered()
    }

    /// Takes the commands away that nothing answers, as far as their turn has come.
    fn unanswered(&mut self) -> Result<(), Fault> {
        while self.running.is_none()
            && let Some((bytes, _)) = self.waiting.front()
            && answer::begin(packet::payload(bytes).first().copied().unwrap_or_default())?.is_none()
            && let Some((bytes, _)) = self.waiting.pop_front()
        {
            self.statements.questions(bytes)?;
        }
        Ok(())
    }

    fn begins(&mut self) -> Result<Running, Fault> {
        let (bytes, at) = self.waiting.pop_front().ok_or("MySQL answered something that was not asked")?;
        let code = packet::payload(&bytes).first().copied().unwrap_or_default();
        let answer = answer::begin(code)?.ok_or("MySQL answered a command that has no answer")?;
        let questions = if code == command::CHANGE_USER {
            vec![handshake::change_user(&bytes, self.capabilities)?.question]
        } else {
            self.statements.questions(bytes)?
        };
        let mut draft = Draft::new(at);
        draft.session = questions.last().is_some_and(|question| statements::is_session(question));
        for question in questions {
            draft.push(Side::Client, question);
        }
        Ok(Running { draft, answer })
    }

    fn answered(&mut self, bytes: Vec<u8>, at: SystemTime, made: &mut Vec<RecordStep>) -> Result<(), Fault> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.begins()?,
        };
        let next = running.answer.read(&bytes, self.capabilities & handshake::NO_EOF != 0)?;
        if running.answer == Answer::Prepared
            && let Some(prepared) = answer::prepared(packet::payload(&bytes))
            && let Some(prepare) = running.draft.said(Side::Client).next_back()
        {
            self.statements.prepared(prepare, &prepared)?;
        }
        if running.answer != Answer::Login || handshake::is_verdict(&bytes) {
            running.draft.push(Side::Server, bytes);
        }
        match next {
            Some(answer) => {
                running.answer = answer;
                self.running = Some(running);
            }
            None => made.push(running.draft.finish(&self.link, Protocol::MySql, at)),
        }
        self.unanswered()
    }
}

impl Dialogue for Recording {
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        if from == Side::Client && matches!(self.phase, Phase::Greeting) {
            return Err("a client of MySQL did not wait for the greeting");
        }
        Ok(packet::length(bytes))
    }

    fn holds(&self, from: Side) -> bool {
        match self.phase {
            Phase::Greeting => true,
            Phase::Hello(_) => from == Side::Client,
            Phase::Login(_) | Phase::Commands => false,
        }
    }

    fn message(
        &mut self,
        from: Side,
        bytes: Vec<u8>,
        at: SystemTime,
        made: &mut Vec<RecordStep>,
    ) -> Result<Way, Fault> {
        match (std::mem::replace(&mut self.phase, Phase::Commands), from) {
            (Phase::Greeting, _) => return self.greeting(&bytes, at, made),
            (Phase::Hello(greeting), Side::Client) => return self.hello(&bytes, greeting, at),
            (Phase::Login(mut draft), Side::Server) if handshake::is_verdict(&bytes) => {
                draft.push(Side::Server, bytes);
                made.push(draft.finish(&self.link, Protocol::MySql, at));
            }
            (phase @ (Phase::Hello(_) | Phase::Login(_)), _) => self.phase = phase,
            (Phase::Commands, Side::Client) => self.asked(bytes, at)?,
            (Phase::Commands, Side::Server) => self.answered(bytes, at, made)?,
        }
        Ok(Way::On)
    }

    fn kept(&self) -> usize {
        let waiting = self.waiting.iter().map(|(bytes, _)| size_of::<(Vec<u8>, SystemTime)>() + bytes.len());
        let running = self.running.as_ref().map_or(0, |running| running.draft.size());
        running + self.statements.kept() + waiting.sum::<usize>()
    }

    fn end(&mut self, by: Side, at: SystemTime, made: &mut Vec<RecordStep>) {
        let running = self.running.take();
        made.extend(running.map(|running| running.draft.left(by, &self.link, Protocol::MySql, at)));
        while !self.waiting.is_empty() {
            let step = match self.begins() {
                Ok(running) => running.draft.left(by, &self.link, Protocol::MySql, at),
                Err(_) => unanswered(&self.link),
            };
            made.push(step);
        }
    }
}
