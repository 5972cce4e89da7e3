//! `PostgreSQL`, as it is played.

mod login;

use std::sync::Arc;

use super::forms;
use super::message;
use super::names::{Names, Part};
use super::state::{Exit, State, exit};
use super::unasked;
use crate::record::book::describe;
use crate::record::cancels::Listening;
use crate::record::dialogue::Fault;
use crate::record::exchange::{Exchange, Side};
use crate::record::role::{Prompter, Role, said, spoken};
use crate::record::wire::{Cancellable, PlayStep};

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

/// Answers calls from the book.
#[expect(clippy::struct_excessive_bools, reason = "any of them may be so whatever the others are")]
pub(crate) struct Playing {
    prompter: Prompter,
    started: bool,
    names: Names,
    /// Where names are looked for, and with whose rights.
    setting: State,
    run: Option<Run>,
    copy: Option<Copy>,
    /// State of the transaction, as `ReadyForQuery` has it.
    state: u8,
    /// Whether something of this transaction was not recorded.
    spoiled: bool,
    /// After an error everything is ignored up to `Sync`.
    skipping: bool,
    /// Whether the program left while it waited for what was answered last.
    held: bool,
    /// Requests to cancel what is asked here.
    cancels: Option<Listening>,
    /// How many of them were of no effect, or had theirs.
    cancels_seen: u64,
    /// The description of what was answered last, if it was recorded as a `Query` and asked in another way.
    described: Option<Vec<u8>>,
    /// What is answered next was cancelled.
    cancelled: Option<Cancellable>,
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
            setting: State::default(),
            run: None,
            copy: None,
            state: b'I',
            spoiled: false,
            skipping: false,
            held: false,
            cancels: None,
            cancels_seen: 0,
            described: None,
            cancelled: None,
            after: Vec::new(),
            unasked: Vec::new(),
        }
    }

    /// Whether there were requests to cancel something before this answer or not, the next ones are of the next call. Where it
    /// is that of a call that was cancelled, it waits for one.
    fn count_cancels(&mut self, found: &Exchange) {
        let Some(listening) = &self.cancels else { return };
        let seen = self.cancels_seen;
        self.cancels_seen = listening.count().max(seen + u64::from(found.cancelled));
        if found.cancelled {
            let stayed = found.answered_at.duration_since(found.sent_at).unwrap_or_default();
            let (key, call) = (listening.key().to_vec(), describe(found));
            self.cancelled = Some(Cancellable { key, seen, call, stayed });
        }
    }

    /// What is sent, with a stop before the answer of a call that was cancelled.
    fn sent(&mut self, mut out: Vec<u8>) -> Vec<PlayStep> {
        let cancelled = self.cancelled.take().zip(message::before_cancelled(&out));
        let Some((cancelled, at)) = cancelled else { return vec![PlayStep::Send(out)] };
        let rest = out.split_off(at);
        vec![PlayStep::Send(out), PlayStep::UntilCancelled(cancelled), PlayStep::Send(rest)]
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
            Part::Query(question) => out.extend(self.query(question)),
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
                self.names.confirmed();
                out.extend(message::message(b'3', &[]));
            }
            Part::Sync | Part::Flush | Part::CopyData(_) | Part::CopyEnd(_) | Part::Terminate => {}
        }
        out
    }

    fn synchronise(&mut self) -> Vec<u8> {
        if self.copy.is_some() && !self.skipping {
            self.names.unsynchronised();
            return Vec::new();
        }
        let mut out = if self.skipping { Vec::new() } else { self.end_run() };
        (self.skipping, self.run) = (false, None);
        self.names.synchronised();
        self.setting.synchronise();
        out.extend(message::ready(self.state));
        self.unasked.append(&mut self.after);
        out
    }

    /// Looks up a run, now that all of it is known.
    fn end_run(&mut self) -> Vec<u8> {
        let Some(run) = self.run.take() else { return Vec::new() };
        let questions: Vec<_> = std::iter::once(run.bind).chain(run.execute).collect();
        // It was asked before what the run does.
        let before = run.describe.as_deref().and_then(|describe| self.told(describe));
        let mut out = self.extended(&questions);
        let Some(describe) = run.describe else { return out };
        // The description of the results comes between the answers to `Bind` and to `Execute`.
        let bound = message::length(&out).ok().flatten().filter(|_| out.first() == Some(&b'2'));
        let Some(bound) = bound else { return out };
        if let Some(described) = self.described.take() {
            out.splice(bound..bound, described);
            return out;
        }
        let (skipping, state) = (self.skipping, self.state);
        self.skipping = false;
        let described = self.extended_in(before.as_ref(), &[describe]);
        if self.skipping {
            out.truncate(bound);
            out.extend(described);
        } else {
            (self.skipping, self.state) = (skipping, state);
            out.splice(bound..bound, described);
        }
        out
    }

    /// The recording that answers these messages, in the state that the connection is in. What they set is taken over if
    /// the recording has it, and strayed into if there is none.
    fn ask(&mut self, setting: Option<&Vec<u8>>, questions: &[Vec<u8>]) -> Result<Arc<Exchange>, String> {
        let found = self.prompter.ask(setting.into_iter().chain(questions).map(Vec::as_slice));
        self.held |= found.as_ref().is_ok_and(|found| found.abandoned);
        let found = found.and_then(|found| self.in_form_of(questions, found));
        if let Ok(found) = &found {
            self.count_cancels(found);
        }
        if let Some(question) = questions.first() {
            match &found {
                Ok(found) => {
                    let asked = questions.iter().map(Vec::as_slice).collect();
                    let recorded = self.prompter.as_recorded(found, asked);
                    if let (Some(asked), Some(recorded)) = (questions.first(), recorded.first()) {
                        self.names.answered_as(asked, recorded);
                    }
                    // What it has written is what the recorded ones had.
                    self.setting.follow(recorded, said(found, Side::Server), || spoken(found));
                }
                Err(_) => self.setting.stray(question),
            }
            self.prompter.astray = self.setting.is_astray();
        }
        found
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
                let described = forms::describes(&found).and_then(|describe| {
                    let state = self.told(&describe);
                    self.prompter.peek(state.iter().map(Vec::as_slice).chain([describe.as_slice()]))
                });
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
        let peek = |question: &Vec<u8>| {
            let state = self.told(question);
            self.prompter.peek(state.iter().chain([question]).map(Vec::as_slice))
        };
        let query = forms::query_of_preparation(&question).filter(|_| peek(&question).is_none());
        match query.and_then(|query| peek(&query)) {
            Some(found) if !self.is_aborted(&[]) => {
                if question.first() == Some(&b'P') {
                    self.names.confirmed();
                }
                forms::prepared(question[0], &found)
            }
            _ => self.extended(&[question]),
        }
    }

    /// The state that a call begins with.
    fn told(&self, question: &[u8]) -> Option<Vec<u8>> {
        let target = &self.prompter.origin.target;
        let of_old = self.prompter.book.is_of_old_states(target, self.prompter.protocol);
        if of_old { self.setting.old_message() } else { self.setting.message(question) }
    }

    /// Whether a question is answered as every one is in a transaction in which something was not recorded.
    fn is_aborted(&self, questions: &[Vec<u8>]) -> bool {
        self.spoiled && self.state == b'E' && questions.first().is_none_or(|question| exit(question).is_none())
    }

    /// Answers a part of the extended protocol.
    fn extended(&mut self, questions: &[Vec<u8>]) -> Vec<u8> {
        let setting = questions.first().and_then(|question| self.told(question));
        self.extended_in(setting.as_ref(), questions)
    }

    fn extended_in(&mut self, setting: Option<&Vec<u8>>, questions: &[Vec<u8>]) -> Vec<u8> {
        if self.is_aborted(questions) {
            self.skip();
            return message::aborted();
        }
        match self.ask(setting, questions) {
            Ok(found) => {
                let state = message::state_after(self.state, commits(questions), said(&found, Side::Server));
                self.enter(state);
                let mut out = Vec::new();
                let [answers, after] = unasked::parts(&found);
                self.after.extend(after.concat());
                for answer in answers {
                    match answer.first() {
                        Some(b'Z') => continue,
                        Some(b'E') => self.skip(),
                        Some(b'1') => self.names.confirmed(),
                        Some(b'G') => self.expect_data(questions, false),
                        _ => {}
                    }
                    out.extend_from_slice(answer);
                }
                out
            }
            Err(text) => {
                self.skip();
                self.fail(&text)
            }
        }
    }

    /// Ignores everything up to the next `Sync`.
    fn skip(&mut self) {
        self.skipping = true;
        self.names.ignored();
    }

    fn query(&mut self, question: Vec<u8>) -> Vec<u8> {
        if self.spoiled && self.state == b'E' && is_any(&question, &EXITS) {
            // It follows from an error that no recording has.
            self.enter(b'I');
            self.setting.rolled_back();
            self.prompter.astray = self.setting.is_astray();
            return [message::message(b'C', &[b"ROLLBACK\0"]), message::ready(b'I')].concat();
        }
        let questions = [question];
        if self.is_aborted(&questions) {
            return [message::aborted(), message::ready(self.state)].concat();
        }
        let setting = self.told(&questions[0]);
        // Drivers say it where a rollback has ended what they prepared, which in a pool is so in some runs.
        if is_any(&questions[0], &["deallocate all"]) && self.state != b'E' {
            let asked = setting.iter().chain(&questions).map(Vec::as_slice);
            if self.prompter.peek(asked).is_none() {
                let done = message::message(b'C', &[b"DEALLOCATE ALL\0"]);
                self.setting.follow([questions[0].as_slice()], std::iter::once(done.as_slice()), Vec::new);
                return [done, message::ready(self.state)].concat();
            }
        }
        match self.ask(setting.as_ref(), &questions) {
            Ok(found) => self.simple(&found, &questions),
            Err(text) => [self.fail(&text), message::ready(self.state)].concat(),
        }
    }

    /// The answer to a simple query, up to `ReadyForQuery`, unless it asks for data.
    fn simple(&mut self, found: &Exchange, questions: &[Vec<u8>]) -> Vec<u8> {
        let state = message::state_after(self.state, commits(questions), said(found, Side::Server));
        self.enter(state);
        let mut out = Vec::new();
        let mut waits = false;
        let [answers, after] = unasked::parts(found);
        self.unasked.extend(after.concat());
        for answer in answers.into_iter().filter(|answer| answer.first() != Some(&b'Z')) {
            if answer.first() == Some(&b'G') {
                self.expect_data(questions, true);
                waits = true;
            }
            out.extend_from_slice(answer);
        }
        if !waits && !found.abandoned {
            out.extend(message::ready(self.state));
        }
        out
    }

    fn expect_data(&mut self, questions: &[Vec<u8>], simple: bool) {
        self.copy = Some(Copy { questions: questions.to_vec(), data: Vec::new(), simple });
    }

    /// All data was sent, or the client gave up.
    fn copied(&mut self, end: &[u8]) -> Vec<u8> {
        let Some(copy) = self.copy.take() else { return Vec::new() };
        let data = message::message(b'd', &[&copy.data]);
        let questions: Vec<_> = copy.questions.into_iter().chain([data, end.to_vec()]).collect();
        if !copy.simple {
            return self.extended(&questions);
        }
        match self.ask(self.told(&questions[0]).as_ref(), &questions) {
            Ok(found) => self.simple(&found, &questions),
            Err(text) => [self.fail(&text), message::ready(self.state)].concat(),
        }
    }

    fn enter(&mut self, state: u8) {
        self.state = state;
        self.spoiled &= state != b'I';
    }

    fn fail(&mut self, text: &str) -> Vec<u8> {
        if self.state != b'I' {
            (self.state, self.spoiled) = (b'E', true);
            self.setting.fail();
        }
        message::error("ERROR", text)
    }
}

/// What ends a transaction, which rolls one back that failed.
const EXITS: [&str; 4] = ["rollback", "abort", "commit", "end"];

/// Whether a query is nothing but one of these.
fn is_any(query: &[u8], statements: &[&str]) -> bool {
    let text = query.get(5..).unwrap_or_default();
    let text = text.strip_suffix(b"\0").unwrap_or(text).trim_ascii();
    let text = text.strip_suffix(b";").unwrap_or(text).trim_ascii();
    statements.iter().any(|known| text.eq_ignore_ascii_case(known.as_bytes()))
}

fn commits(questions: &[Vec<u8>]) -> bool {
    questions.first().is_some_and(|question| exit(question) == Some(Exit::Commit))
}

impl Role for Playing {
    fn open(&mut self) -> Vec<PlayStep> {
        Vec::new()
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
            return Ok(self.sent(before));
        }
        match self.names.read(&bytes)? {
            Part::Terminate => Ok(vec![PlayStep::Close]),
            part => {
                let out = [before, self.part(part)].concat();
                let held = self.held.then_some(PlayStep::Hold);
                Ok(self.sent(out).into_iter().chain(held).collect())
            }
        }
    }

    fn kept(&self) -> usize {
        let copy = self.copy.as_ref().map_or(0, |copy| copy.data.len());
        let run = self.run.as_ref().map_or(0, |run| run.bind.len());
        self.names.kept() + self.setting.size() + copy + run + self.after.len() + self.unasked.len()
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
