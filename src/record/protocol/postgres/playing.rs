//! `PostgreSQL`, as it is played.

mod login;

use std::sync::Arc;

use super::names::{Names, Part};
use super::{forms, message, unasked};
use crate::record::call::{Exchange, Side};
use crate::record::protocol::control::Control;
use crate::record::protocol::dialogue::Fault;
use crate::record::protocol::role::{Prompter, Role, said};
use crate::record::protocol::wire::PlayStep;

/// A `Bind` and what came after it, before it is known whether more belongs to it.
struct Run {
    bind: Vec<u8>,
    describe: Option<Vec<u8>>,
    execute: Option<Vec<u8>>,
}

/// Data that the client sends after it was asked for some.
struct Copy {
    /// The question that asked for it.
    questions: Vec<Vec<u8>>,
    data: Vec<u8>,
    /// Whether that was a simple `Query`.
    simple: bool,
}

/// Answers calls from recordings.
pub(crate) struct Playing {
    prompter: Prompter,
    started: bool,
    names: Names,
    run: Option<Run>,
    copy: Option<Copy>,
    /// State of the transaction, as `ReadyForQuery` has it.
    state: u8,
    /// After an error everything is ignored up to `Sync`.
    skipping: bool,
    /// Whether the program left while it waited for what was answered last.
    held: bool,
    /// The description of what was answered last, if it was recorded as a `Query` and asked in another way.
    described: Option<Vec<u8>>,
    /// What came after a call unasked, up to the next `ReadyForQuery`.
    after: Vec<u8>,
    /// What is to be said unasked before anything else is.
    unasked: Vec<u8>,
}

impl Playing {
    pub(crate) fn new(prompter: Prompter) -> Self {
        Self {
            prompter,
            started: false,
            names: Names::default(),
            run: None,
            copy: None,
            state: b'I',
            skipping: false,
            held: false,
            described: None,
            after: Vec::new(),
            unasked: Vec::new(),
        }
    }

    fn part(&mut self, part: Part) -> Vec<u8> {
        match part {
            Part::Sync => return self.synchronise(),
            _ if self.skipping => return Vec::new(),
            Part::CopyData(data) => {
                if let Some(copy) = &mut self.copy {
                    copy.data.extend(data);
                }
                return Vec::new();
            }
            Part::CopyEnd(end) => return self.copied(&end),
            // While it waits for data the server ignores it.
            Part::Flush if self.copy.is_some() => return Vec::new(),
            _ => self.copy = None,
        }
        let mut out = match (&part, &self.run) {
            (Part::DescribePortal(_, true) | Part::Execute(_, true), Some(_)) => Vec::new(),
            _ => self.end_run(),
        };
        if self.skipping {
            return out;
        }
        match part {
            Part::Query(question) => out.extend(self.simple(&[question])),
            Part::Prepare(question) => out.extend(self.prepare(question)),
            Part::DescribePortal(question, false) => out.extend(self.extended(&[question])),
            Part::Bind(bind) => self.run = Some(Run { bind, describe: None, execute: None }),
            Part::DescribePortal(question, true) => {
                if let Some(run) = &mut self.run {
                    run.describe = Some(question);
                }
            }
            Part::Execute(question, joined) => match &mut self.run {
                Some(run) if joined => {
                    run.execute = Some(question);
                    out.extend(self.end_run());
                }
                _ => out.extend(self.extended(&[question])),
            },
            Part::Close => {
                out.extend(message::message(b'3', &[]));
            }
            Part::Sync | Part::Flush | Part::CopyData(_) | Part::CopyEnd(_) | Part::Terminate => {}
        }
        out
    }

    fn synchronise(&mut self) -> Vec<u8> {
        if self.copy.is_some() && !self.skipping {
            return Vec::new();
        }
        let mut out = if self.skipping { Vec::new() } else { self.end_run() };
        (self.skipping, self.run) = (false, None);
        self.prompter.script.synchronised();
        out.extend(message::ready(self.state));
        self.unasked.append(&mut self.after);
        out
    }

    /// Looks up a run, now that all of it is known.
    fn end_run(&mut self) -> Vec<u8> {
        let Some(run) = self.run.take() else { return Vec::new() };
        let questions: Vec<_> = std::iter::once(run.bind).chain(run.execute).collect();
        let mut out = self.extended(&questions);
        let Some(describe) = run.describe else { return out };
        // The description of the results comes between the answers to `Bind` and to `Execute`.
        let bound = message::length(&out).ok().flatten().filter(|_| out.first() == Some(&b'2'));
        let Some(bound) = bound.filter(|bound| *bound <= out.len()) else { return out };
        if let Some(described) = self.described.take() {
            out.splice(bound..bound, described);
            return out;
        }
        let (skipping, state) = (self.skipping, self.state);
        self.skipping = false;
        let described = self.extended(&[describe]);
        if self.skipping {
            out.truncate(bound);
            out.extend(described);
        } else {
            (self.skipping, self.state) = (skipping, state);
            out.splice(bound..bound, described);
        }
        out
    }

    /// The recording that answers these messages.
    fn ask(&mut self, questions: &[Vec<u8>]) -> Result<Arc<Exchange>, String> {
        let state = self.state;
        let plain = |_| plain(questions.first()?, state);
        let found = self.prompter.ask_or(questions.iter().map(Vec::as_slice), plain);
        self.held |= found.as_ref().is_ok_and(|found| found.abandoned());
        let found = found.and_then(|found| self.in_form_of(questions, found))?;
        // What it left out as noise is what the recorded one had.
        if let (Some(asked), Some(recorded)) = (questions.first(), said(&found, Side::Client).next()) {
            self.names.answered_as(asked, recorded);
        }
        Ok(found)
    }

    /// A recording as it would answer these messages, where it was asked in another way.
    fn in_form_of(&mut self, questions: &[Vec<u8>], found: Arc<Exchange>) -> Result<Arc<Exchange>, String> {
        self.described = None;
        match questions.first().and_then(|question| question.first()) {
            Some(b'B') if forms::is_query(&found) => {
                self.described = Some(forms::described(&found));
                Ok(forms::turned(&found, None))
            }
            Some(b'Q') if !forms::is_query(&found) => {
                let described = forms::describes(&found).and_then(|describe| self.prompter.peek([describe.as_slice()]));
                let columns = described.iter().flat_map(|found| said(found, Side::Server));
                let columns = columns.into_iter().find(|message| message.first() == Some(&b'T'));
                let has_rows = said(&found, Side::Server).any(|message| message.first() == Some(&b'D'));
                if has_rows && columns.is_none() {
                    return Err("the recording of this call does not describe its results".to_owned());
                }
                Ok(forms::turned(&found, columns))
            }
            _ => Ok(found),
        }
    }

    /// Answers `Parse` or `Describe` of a statement, which may have been recorded as a `Query`.
    fn prepare(&mut self, question: Vec<u8>) -> Vec<u8> {
        let peek = |question: &Vec<u8>| self.prompter.peek([question.as_slice()]);
        let query = forms::query_of_preparation(&question).filter(|_| peek(&question).is_none());
        match query.and_then(|query| peek(&query)) {
            Some(found) if !self.is_aborted(&[]) => forms::prepared(question[0], &found),
            _ => self.extended(&[question]),
        }
    }

    /// Whether a question is answered as every one is in a transaction that failed.
    fn is_aborted(&self, questions: &[Vec<u8>]) -> bool {
        let leaves = |control| matches!(control, Control::Commit | Control::Rollback | Control::RollBackTo(_));
        self.state == b'E' && !questions.first().and_then(|question| control(question)).is_some_and(leaves)
    }

    /// Answers a simple query up to `ReadyForQuery`, unless it asks for data.
    fn simple(&mut self, questions: &[Vec<u8>]) -> Vec<u8> {
        let mut out = self.answered(questions, true);
        self.unasked.append(&mut self.after);
        if self.copy.is_none() && !self.held {
            out.extend(message::ready(self.state));
        }
        out
    }

    /// Answers a part of the extended protocol. After an error everything is ignored up to the next `Sync`.
    fn extended(&mut self, questions: &[Vec<u8>]) -> Vec<u8> {
        self.answered(questions, false)
    }

    fn answered(&mut self, questions: &[Vec<u8>], simple: bool) -> Vec<u8> {
        let found = if self.is_aborted(questions) {
            Err(message::aborted())
        } else {
            self.ask(questions).map_err(|text| self.fail(&text))
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                self.skipping = !simple;
                return error;
            }
        };
        self.state = message::state_after(self.state, commits(questions), said(&found, Side::Server));
        let [answers, after] = unasked::parts(&found);
        self.after.extend(after.concat());
        let mut out = Vec::new();
        for answer in answers {
            match answer.first() {
                Some(b'Z') => continue,
                Some(b'E') => self.skipping = !simple,
                Some(b'G') => self.copy = Some(Copy { questions: questions.to_vec(), data: Vec::new(), simple }),
                _ => {}
            }
            out.extend_from_slice(answer);
        }
        out
    }

    /// All data was sent, or the client gave up.
    fn copied(&mut self, end: &[u8]) -> Vec<u8> {
        let Some(copy) = self.copy.take() else { return Vec::new() };
        let data = message::message(b'd', &[&copy.data]);
        let questions: Vec<_> = copy.questions.into_iter().chain([data, end.to_vec()]).collect();
        if copy.simple { self.simple(&questions) } else { self.extended(&questions) }
    }

    fn fail(&mut self, text: &str) -> Vec<u8> {
        if self.state != b'I' {
            self.state = b'E';
        }
        message::error("ERROR", text)
    }
}

/// The control statement of a question, by itself.
fn control(question: &[u8]) -> Option<Control> {
    let at = message::statement(question)
        .filter(|_| matches!(question[0], b'Q' | b'P' | b'B') || question.starts_with(b"D") && question[5] == b'S')?;
    Control::of_text(&question[at], false)
}

fn commits(questions: &[Vec<u8>]) -> bool {
    questions.first().is_some_and(|question| control(question) == Some(Control::Commit))
}

/// What a server says to what needs no recording.
fn plain(question: &[u8], state: u8) -> Option<Vec<Vec<u8>>> {
    let control = control(question)?;
    let tag = match control {
        Control::Commit if state == b'E' => Control::Rollback.tag(),
        _ => control.tag(),
    };
    let done = message::message(b'C', &[tag.as_bytes(), b"\0"]);
    let ready = message::ready(if control.leaves_open(state != b'I') { b'T' } else { b'I' });
    Some(match question.first()? {
        b'P' => vec![message::message(b'1', &[])],
        b'D' => vec![message::message(b't', &[&[0, 0]]), message::message(b'n', &[])],
        b'B' => vec![message::message(b'2', &[]), done, ready],
        _ => vec![done, ready],
    })
}

impl Role for Playing {
    fn prompter(&self) -> &Prompter {
        &self.prompter
    }

    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        if self.started { message::length(bytes) } else { message::opening_length(bytes) }
    }

    fn message(&mut self, bytes: Vec<u8>) -> Result<Vec<PlayStep>, Fault> {
        if !self.started {
            return self.opening(&bytes);
        }
        let mut before = std::mem::take(&mut self.unasked);
        // What gives names a meaning comes after what was asked before it.
        let defines = matches!(bytes[0], b'P' | b'C');
        if defines {
            before.extend(self.end_run());
        }
        if defines && self.skipping {
            return Ok(vec![PlayStep::Send(before)]);
        }
        match self.names.read(&bytes)? {
            Part::Terminate => Ok(vec![PlayStep::Close]),
            part => {
                let out = [before, self.part(part)].concat();
                let held = self.held.then_some(PlayStep::Hold);
                Ok(std::iter::once(PlayStep::Send(out)).chain(held).collect())
            }
        }
    }

    fn kept(&self) -> usize {
        let copy = self.copy.as_ref().map_or(0, |copy| copy.data.len());
        let run = self.run.as_ref().map_or(0, |run| run.bind.len());
        self.names.kept() + copy + run + self.after.len() + self.unasked.len()
    }

    fn waits(&self) -> bool {
        !self.unasked.is_empty()
    }

    fn pause(&mut self) -> Vec<PlayStep> {
        vec![PlayStep::Send(std::mem::take(&mut self.unasked))]
    }

    fn refuse(&mut self, fault: Fault) -> Vec<u8> {
        message::error("FATAL", fault)
    }
}
