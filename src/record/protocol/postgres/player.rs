//! Player of `PostgreSQL` connections.

use std::sync::Arc;

use super::message::{self, Opening};
use super::statement_names::{Input, StatementNames};
use super::{forms, startup};
use crate::call::{Content, Exchange, Side, Wire};
use crate::protocol::control::Control;
use crate::protocol::dialogue::Fault;
use crate::protocol::responder::{Prompter, Responder, messages_from};
use crate::protocol::wire::PlayStep;

/// A `Bind` and the messages after it that belong to it.
struct PendingRun {
    /// `Bind`, and `Execute` if it came.
    question: Wire,
    describe: Option<Wire>,
}

/// Data that the client copies in.
struct CopyIn {
    /// The request that started the copy.
    question: Wire,
    data: Vec<u8>,
    /// `true` if that was a simple `Query`.
    simple: bool,
}

#[derive(Default)]
pub(super) struct PostgresResponder {
    started: bool,
    names: StatementNames,
    run: Option<PendingRun>,
    copy: Option<CopyIn>,
    /// Transaction status, as in `ReadyForQuery`.
    state: u8,
    /// `true` after an error: everything is ignored up to `Sync`.
    skipping: bool,
    /// Description of the latest results, if the call was recorded as a `Query` and requested in
    /// the other form.
    described: Option<Vec<u8>>,
}

impl PostgresResponder {
    pub(super) fn new() -> Self {
        Self {
            state: b'I',
            ..Self::default()
        }
    }

    fn opening(&mut self, prompter: &mut Prompter, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
        let is_encrypted = |found: &Arc<Exchange>| found.tls && recorded(found).is_some();
        match message::opening(bytes)? {
            // Cancelled calls were answered at once in the recording.
            Opening::Cancel => prompter.then = Some(PlayStep::Close),
            Opening::Encryption
                if !prompter.link.tls && prompter.sessions().iter().any(is_encrypted) =>
            {
                prompter.encrypt();
                return Ok(b"S".to_vec());
            }
            Opening::Encryption | Opening::Gss => return Ok(b"N".to_vec()),
            Opening::Startup => {
                self.started = true;
                return Ok(welcome(prompter, bytes));
            }
        }
        Ok(Vec::new())
    }

    /// Answers a message, unless it is ignored.
    fn part(&mut self, prompter: &mut Prompter, part: Input) -> Vec<u8> {
        if let Some(copy) = self.copy.as_mut().filter(|_| !self.skipping) {
            match part {
                Input::CopyData(data) => copy.data.extend(data),
                Input::CopyEnd(end) => return self.finish_copy(prompter, end),
                // During a copy the server ignores these.
                Input::Flush | Input::Sync => {}
                _ => {
                    self.copy = None;
                    return self.part(prompter, part);
                }
            }
            return Vec::new();
        }
        let mut out = match part {
            Input::DescribePortal(_, true) | Input::Execute(_, true) => Vec::new(),
            _ => self.end_run(prompter),
        };
        match (part, &mut self.run) {
            (Input::Sync, _) => {
                self.skipping = false;
                prompter.script.synchronised();
                out.extend(message::ready(self.state));
            }
            _ if self.skipping => {}
            (Input::Query(question), _) => out.extend(self.simple(prompter, &question)),
            (Input::Prepare(question), _) => out.extend(self.prepare(prompter, &question)),
            (Input::Bind(bind), _) => {
                self.run = Some(PendingRun {
                    question: bind,
                    describe: None,
                });
            }
            (Input::DescribePortal(question, true), Some(run)) => run.describe = Some(question),
            (Input::Execute(question, true), Some(run)) => {
                run.question.messages.extend(question.messages);
                out.extend(self.end_run(prompter));
            }
            (Input::DescribePortal(question, _) | Input::Execute(question, _), _) => {
                out.extend(self.answer_requests(prompter, &question, false));
            }
            (Input::Close, _) => out.extend(message::message(b'3', &[])),
            (Input::Terminate, _) => prompter.then = Some(PlayStep::Close),
            (Input::Flush | Input::CopyData(_) | Input::CopyEnd(_), _) => {}
        }
        out
    }

    /// Looks up a run, which is now complete.
    fn end_run(&mut self, prompter: &mut Prompter) -> Vec<u8> {
        let Some(run) = self.run.take() else {
            return Vec::new();
        };
        let before = self.state;
        let mut bound = self.answer_requests(prompter, &run.question, false);
        let Some(describe) = run.describe.filter(|_| bound.first() == Some(&b'2')) else {
            return bound;
        };
        // The description of the results comes between the answers to `Bind` and to `Execute`.
        let results = bound.split_off(message::HEAD.min(bound.len()));
        if let Some(described) = self.described.take() {
            return [bound, described, results].concat();
        }
        let after = (
            std::mem::take(&mut self.skipping),
            std::mem::replace(&mut self.state, before),
        );
        let described = self.answer_requests(prompter, &describe, false);
        if self.skipping {
            return [bound, described].concat();
        }
        (self.skipping, self.state) = after;
        [bound, described, results].concat()
    }

    fn ask(&mut self, prompter: &mut Prompter, question: &Wire) -> Result<Arc<Exchange>, String> {
        let (asked, state) = (first(question), self.state);
        let found = prompter.ask_or(question.clone(), |_| plain(asked, state))?;
        let found = self.convert_form(prompter, asked, found)?;
        // Noise in the request may differ from the recording.
        if let Some(recorded) = messages_from(&found, Side::Client).next() {
            self.names.rename_portal(asked, recorded);
        }
        Ok(found)
    }

    /// Converts a recording to the form of a request that begins with this message.
    fn convert_form(
        &mut self,
        prompter: &mut Prompter,
        asked: &[u8],
        found: Arc<Exchange>,
    ) -> Result<Arc<Exchange>, String> {
        self.described = None;
        match asked.first() {
            Some(b'B') if forms::is_query(&found) => {
                self.described = Some(forms::result_description(&found));
                Ok(forms::convert(&found, Some(message::message(b'2', &[]))))
            }
            Some(b'Q') if !forms::is_query(&found) => {
                let described =
                    forms::describe_request(&found).and_then(|describe| prompter.peek(&describe));
                let columns = described.as_deref().and_then(forms::columns);
                if columns.is_none()
                    && messages_from(&found, Side::Server)
                        .any(|message| message.first() == Some(&b'D'))
                {
                    return Err(
                        "the recording of this call does not describe its results".to_owned()
                    );
                }
                Ok(forms::convert(&found, columns))
            }
            _ => Ok(found),
        }
    }

    /// Answers `Parse` or `Describe` of a statement, which may have been recorded as a `Query`.
    fn prepare(&mut self, prompter: &mut Prompter, question: &Wire) -> Vec<u8> {
        let query =
            forms::query_of_preparation(question).filter(|_| prompter.peek(question).is_none());
        match query.and_then(|query| prompter.peek(&query)) {
            Some(found) if self.state != b'E' => match first(question).first() {
                Some(b'P') => message::message(b'1', &[]),
                _ => [
                    message::message(b't', &[&[0, 0]]),
                    forms::result_description(&found),
                ]
                .concat(),
            },
            _ => self.answer_requests(prompter, question, false),
        }
    }

    /// Returns true if a request fails because its transaction has failed.
    fn is_aborted(&self, question: Option<&Control>) -> bool {
        let leaves = matches!(
            question,
            Some(Control::Commit | Control::Rollback | Control::RollBackTo(_))
        );
        self.state == b'E' && !leaves
    }

    /// Answers a simple query up to `ReadyForQuery`, unless it starts a copy.
    fn simple(&mut self, prompter: &mut Prompter, question: &Wire) -> Vec<u8> {
        let mut out = self.answer_requests(prompter, question, true);
        if self.copy.is_none() && prompter.then.is_none() {
            out.extend(message::ready(self.state));
        }
        out
    }

    /// Answers requests. After an error in the extended protocol everything is ignored up to the
    /// next `Sync`.
    fn answer_requests(
        &mut self,
        prompter: &mut Prompter,
        question: &Wire,
        simple: bool,
    ) -> Vec<u8> {
        let control = control(first(question));
        let found = if self.is_aborted(control.as_ref()) {
            Err(message::aborted())
        } else {
            self.ask(prompter, question)
                .map_err(|text| message::error("ERROR", &text))
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                self.skipping = !simple;
                self.state = if self.state == b'I' { b'I' } else { b'E' };
                return error;
            }
        };
        self.state = message::state_after(
            self.state,
            control == Some(Control::Commit),
            messages_from(&found, Side::Server),
        );
        let mut out = Vec::new();
        for answer in messages_from(&found, Side::Server) {
            match answer.first() {
                Some(b'Z') => continue,
                Some(b'E') => self.skipping = !simple,
                Some(b'G') => {
                    self.copy = Some(CopyIn {
                        question: question.clone(),
                        data: Vec::new(),
                        simple,
                    });
                }
                _ => {}
            }
            out.extend_from_slice(answer);
        }
        out
    }

    fn finish_copy(&mut self, prompter: &mut Prompter, end: Vec<u8>) -> Vec<u8> {
        let Some(CopyIn {
            mut question,
            data,
            simple,
        }) = self.copy.take()
        else {
            return Vec::new();
        };
        let copied = Wire::asking([message::message(b'd', &[&data]), end]);
        question.messages.extend(copied.messages);
        if simple {
            self.simple(prompter, &question)
        } else {
            self.answer_requests(prompter, &question, false)
        }
    }
}

fn welcome(prompter: &mut Prompter, asked: &[u8]) -> Vec<u8> {
    let who = startup::who(asked);
    let found = match prompter.login(asked, &who, |found| recorded(found).map(startup::who)) {
        Ok(found) => found,
        Err(text) => return message::error("FATAL", &text),
    };
    prompter.script.opened(&who);
    let answers: Vec<_> = messages_from(&found, Side::Server)
        .filter(|message| !message::is_challenge(message))
        .collect();
    let has = |kind: u8| answers.iter().any(|message| message.first() == Some(&kind));
    let mut bytes = answers.concat();
    if has(b'E') {
        prompter.then = Some(PlayStep::Close);
        return bytes;
    }
    if bytes.first() != Some(&b'R') {
        bytes.splice(0..0, message::message(b'R', &[&[0; 4]]));
    }
    if !has(b'Z') {
        bytes.extend(message::ready(b'I'));
    }
    bytes
}

/// Returns the startup message of a recording, if it is a login.
fn recorded(found: &Exchange) -> Option<&[u8]> {
    if let Content::Wire(_, wire) = &found.content {
        startup::startup_of(wire)
    } else {
        None
    }
}

/// Returns the first message of a question.
fn first(question: &Wire) -> &[u8] {
    let first = question.messages_by(Side::Client).next();
    first.unwrap_or_default()
}

fn control(question: &[u8]) -> Option<Control> {
    let at = message::statement(question).filter(|_| {
        matches!(question[0], b'Q' | b'P' | b'B')
            || question.starts_with(b"D") && question[5] == b'S'
    })?;
    Control::of_text(&question[at], false)
}

/// Returns the answer that needs no recording.
fn plain(question: &[u8], state: u8) -> Option<Vec<Vec<u8>>> {
    let control = control(question)?;
    let tag = match control {
        Control::Commit if state == b'E' => Control::Rollback.tag(),
        _ => control.tag(),
    };
    let done = message::message(b'C', &[tag.as_bytes(), b"\0"]);
    let ready = message::ready(if control.leaves_open(state != b'I') {
        b'T'
    } else {
        b'I'
    });
    Some(match question.first()? {
        b'P' => vec![message::message(b'1', &[])],
        b'D' => vec![
            message::message(b't', &[&[0, 0]]),
            message::message(b'n', &[]),
        ],
        b'B' => vec![message::message(b'2', &[]), done, ready],
        _ => vec![done, ready],
    })
}

impl Responder for PostgresResponder {
    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        if self.started {
            message::length(bytes)
        } else {
            message::opening_length(bytes)
        }
    }

    fn message(&mut self, prompter: &mut Prompter, bytes: Vec<u8>) -> Result<Vec<u8>, Fault> {
        if !self.started {
            return self.opening(prompter, &bytes);
        }
        // Definitions of names come after the requests before them.
        let defines = matches!(bytes[0], b'P' | b'C');
        let mut out = if defines {
            self.end_run(prompter)
        } else {
            Vec::new()
        };
        if !(defines && self.skipping) {
            let part = self.names.read(&bytes)?;
            out.extend(self.part(prompter, part));
        }
        Ok(out)
    }

    fn buffered_bytes(&self) -> usize {
        let copy = self.copy.as_ref().map_or(0, |copy| copy.data.len());
        let run = self
            .run
            .iter()
            .flat_map(|run| &run.question.messages)
            .map(|message| message.bytes.len())
            .sum::<usize>();
        self.names.buffered_bytes() + copy + run
    }

    fn refuse(&self, fault: Fault) -> Vec<u8> {
        message::error("FATAL", fault)
    }
}
