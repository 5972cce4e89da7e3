//! A connection to `PostgreSQL`, as it is recorded.
//!
//! What a client says is read when the server answers it, in the order in which the server reads
//! it: then it is known what the server ignores, and names stand for what they stand for there.

use std::collections::VecDeque;
use std::time::SystemTime;

use super::message::{self, Opening};
use super::statement_names::{Input, StatementNames};
use crate::record::call::Side;
use crate::record::protocol::dialogue::{Dialogue, Disposition, Draft, Fault, Log};

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// The client has not said who it is.
    #[default]
    Opening,
    /// The server is to say in one byte whether it encrypts.
    Encryption,
    /// The client wants to cancel something of another connection.
    Cancel,
    /// Authentication, up to the first `ReadyForQuery`.
    Startup,
    Calls,
}

struct Running {
    draft: Draft,
    /// Type of the message that asks for it.
    kind: u8,
    /// Whether it waits for data that is copied in.
    copies: bool,
}

#[derive(Default)]
pub(super) struct PostgresDialogue {
    /// Whether encryption is relayed that the client asks for.
    relay_tls: bool,
    phase: Phase,
    names: StatementNames,
    /// What the client said and the server has not begun to answer, and when.
    asked: VecDeque<(Vec<u8>, SystemTime)>,
    running: Option<Running>,
    /// A `Bind`, whose `Execute` may follow.
    bound: Option<Draft>,
    /// Calls that are complete up to `ReadyForQuery`. After it they stay until the next call:
    /// notifications that come when nothing is asked belong to the last of them that ended with
    /// `ReadyForQuery`.
    done: Vec<Draft>,
    /// The server ignores everything up to the next `Sync`, after an error.
    skipping: bool,
}

impl PostgresDialogue {
    pub(super) fn new(relay_tls: bool) -> Self {
        Self {
            relay_tls,
            ..Self::default()
        }
    }

    fn opening(&mut self, bytes: Vec<u8>, log: &Log) -> Result<Disposition, Fault> {
        match message::opening(&bytes)? {
            Opening::Encryption if self.relay_tls && !log.link.tls => {
                self.phase = Phase::Encryption
            }
            Opening::Encryption | Opening::Gss => return Ok(Disposition::Back(b"N".to_vec())),
            Opening::Cancel => self.phase = Phase::Cancel,
            Opening::Startup => {
                let draft = Draft::asked([bytes], log.at).of_session(true);
                self.running = Some(Running {
                    draft,
                    kind: 0,
                    copies: false,
                });
                self.phase = Phase::Startup;
            }
        }
        Ok(Disposition::On)
    }

    fn started(&mut self, bytes: Vec<u8>, log: &mut Log) {
        let ready = matches!(bytes[0], b'Z' | b'E');
        if let Some(running) = self
            .running
            .as_mut()
            .filter(|_| !message::is_challenge(&bytes))
        {
            running.draft.push(Side::Server, bytes);
        }
        if ready && let Some(running) = self.running.take() {
            self.phase = Phase::Calls;
            log.done(running.draft);
        }
    }

    /// Reads on to what is to be answered next.
    fn begin(&mut self) -> Result<Option<Running>, Fault> {
        while let Some((bytes, at)) = self.asked.pop_front() {
            let kind = bytes[0];
            if self.skipping && !matches!(kind, b'S' | b'D' | b'E') {
                continue;
            }
            let draft = match self.names.read(&bytes)? {
                // A `Bind` is looked up together with its `Execute`, even where one of them failed.
                Input::Execute(question, true) if let Some(mut draft) = self.bound.take() => {
                    draft.push(Side::Client, question);
                    if self.skipping {
                        self.bound = Some(draft);
                        continue;
                    }
                    draft
                }
                Input::Sync => {
                    self.end_run();
                    self.skipping = false;
                    Draft::asked([], at)
                }
                _ if self.skipping => continue,
                Input::Prepare(question) | Input::DescribePortal(question, _) => {
                    Draft::asked([question], at).of_session(true)
                }
                Input::Query(question) | Input::Bind(question) | Input::Execute(question, _) => {
                    self.end_run();
                    Draft::asked([question], at)
                }
                Input::Close => Draft::asked([], at),
                // Data that nothing asked for is ignored by the server.
                Input::Flush | Input::CopyData(_) | Input::CopyEnd(_) | Input::Terminate => {
                    continue;
                }
            };
            return Ok(Some(Running {
                draft,
                kind,
                copies: false,
            }));
        }
        Ok(None)
    }

    /// Nothing more belongs to a `Bind`.
    fn end_run(&mut self) {
        let is_alone = !self.skipping;
        self.done
            .extend(self.bound.take().map(|draft| draft.of_session(is_alone)));
    }

    fn answered(&mut self, bytes: Vec<u8>, log: &mut Log) -> Result<(), Fault> {
        let kind = bytes[0];
        if kind == b'W' {
            return Err("it became a stream of another kind (replication)");
        }
        let is_unasked = matches!(kind, b'N' | b'A' | b'S');
        let is_call =
            |asked: &(Vec<u8>, SystemTime)| matches!(asked.0[0], b'Q' | b'F' | b'B' | b'E');
        let running = match self.running.take() {
            None if is_unasked && !self.asked.front().is_some_and(is_call) => None,
            None => self.begin()?,
            running => running,
        };
        let Some(mut running) = running else {
            return if is_unasked || kind == b'E' {
                self.came_unasked(bytes);
                Ok(())
            } else {
                Err("PostgreSQL answered something that was not asked")
            };
        };
        let simple = matches!(running.kind, b'Q' | b'F');
        if simple || matches!(running.kind, b'B' | b'E') {
            self.release(log);
        }
        if !is_unasked {
            self.copied(&mut running);
        }
        if running.kind == b'S' {
            // What is no `ReadyForQuery` says that what was deferred to the end of the transaction
            // failed.
            self.came_unasked(bytes);
        } else {
            running.draft.push(Side::Server, bytes);
        }
        let is_whole = match running.kind {
            _ if is_unasked => false,
            b'S' | b'Q' | b'F' => kind == b'Z',
            b'E' => matches!(kind, b'C' | b'E' | b's' | b'I'),
            // A statement's parameters come before its columns.
            _ => kind != b't',
        };
        if kind == b'G' {
            let (draft, kind) = (running.draft.successor(), running.kind);
            self.done.push(running.draft);
            self.running = Some(Running {
                draft,
                kind,
                copies: true,
            });
        } else if !is_whole {
            self.running = Some(running);
        } else if running.copies {
            // Without all of the data it would be taken for the answer to the question.
            log.unanswered();
        } else {
            match running.kind {
                b'S' | b'C' => {}
                b'B' => self.bound = Some(running.draft),
                _ => self.done.push(running.draft),
            }
        }
        self.skipping |= kind == b'E' && !simple;
        if kind == b'Z' {
            for draft in self
                .done
                .iter_mut()
                .filter(|draft| draft.answered_at.is_none())
            {
                draft.session |= message::only_sets(draft.said(Side::Server).map(Vec::as_slice));
                draft.answered_at = Some(log.at);
            }
        }
        Ok(())
    }

    /// What belongs to the call before it.
    fn came_unasked(&mut self, bytes: Vec<u8>) {
        let before = self.done.iter_mut().rfind(|draft| match draft.answered_at {
            Some(_) => {
                bytes[0] == b'A' && draft.said(Side::Server).any(|message| message[0] == b'Z')
            }
            None => !draft.session,
        });
        if let Some(draft) = before {
            draft.push(Side::Server, bytes);
        }
    }

    /// Reads on to the end of data that is copied in, if that has come. A `Sync` in it is ignored
    /// by the server.
    fn copied(&mut self, running: &mut Running) {
        let mut data = Vec::new();
        while running.copies
            && let Some((bytes, _)) = self
                .asked
                .pop_front_if(|(bytes, _)| b"dcfSH".contains(&bytes[0]))
        {
            match bytes[0] {
                b'd' => data.extend_from_slice(&bytes[5..]),
                b'c' | b'f' => {
                    running
                        .draft
                        .push(Side::Client, message::message(b'd', &[&data]));
                    running.draft.push(Side::Client, bytes);
                    running.copies = false;
                }
                _ => {}
            }
        }
    }

    /// Nothing more belongs to the calls that have an end.
    fn release(&mut self, log: &mut Log) {
        self.done
            .extract_if(.., |draft| draft.answered_at.is_some())
            .for_each(|draft| log.done(draft));
    }
}

impl Dialogue for PostgresDialogue {
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        match (self.phase, from) {
            (Phase::Opening, Side::Client) => message::opening_length(bytes),
            (Phase::Encryption, Side::Server) => Ok(Some(1)),
            (Phase::Encryption, Side::Client) => {
                Err("a client of PostgreSQL did not wait to be told about encryption")
            }
            // A server that has no room for one more connection says so at once.
            (Phase::Startup | Phase::Calls, _) | (Phase::Opening, Side::Server) => {
                message::length(bytes)
            }
            (Phase::Cancel, _) => Ok(Some(bytes.len())),
        }
    }

    fn holds(&self, _from: Side) -> bool {
        matches!(self.phase, Phase::Opening | Phase::Encryption)
    }

    fn message(&mut self, from: Side, bytes: Vec<u8>, log: &mut Log) -> Result<Disposition, Fault> {
        match (self.phase, from) {
            (Phase::Opening, Side::Client) => return self.opening(bytes, log),
            (Phase::Opening, Side::Server)
            | (Phase::Startup, Side::Client)
            | (Phase::Cancel, _) => {}
            (Phase::Encryption, _) => {
                (self.phase, self.relay_tls) = (Phase::Opening, false);
                if bytes == b"S" {
                    log.link.tls = true;
                    return Ok(Disposition::Encrypt);
                }
            }
            (Phase::Startup, Side::Server) => self.started(bytes, log),
            (Phase::Calls, Side::Client) => self.asked.push_back((bytes, log.at)),
            (Phase::Calls, Side::Server) => {
                self.answered(bytes, log)
                    .inspect_err(|_| self.release(log))?;
            }
        }
        Ok(Disposition::On)
    }

    fn kept(&self) -> usize {
        let drafts = self
            .done
            .iter()
            .chain(&self.bound)
            .chain(self.running.as_ref().map(|running| &running.draft));
        drafts.map(Draft::size).sum::<usize>()
            + self.names.kept()
            + self
                .asked
                .iter()
                .map(|asked| size_of_val(asked) + asked.0.len())
                .sum::<usize>()
    }

    fn end(&mut self, log: &mut Log) {
        self.release(log);
        if self.phase != Phase::Calls {
            return;
        }
        let mut left: Vec<_> = self.running.take().into_iter().collect();
        for running in &mut left {
            self.copied(running);
        }
        while let Ok(Some(running)) = self.begin() {
            match running.kind {
                b'B' => self.bound = Some(running.draft),
                _ => left.push(running),
            }
        }
        self.end_run();
        for draft in std::mem::take(&mut self.done) {
            let is_answered = draft.said(Side::Server).next().is_some();
            if is_answered {
                log.done(draft)
            } else {
                log.left(draft)
            }
        }
        for Running {
            draft,
            kind,
            copies,
        } in left
        {
            match kind {
                b'S' | b'C' => {}
                _ if copies => log.unanswered(),
                // Nobody misses the answer to what only prepares, unless it waited for it.
                _ if draft.session && log.left_by == Side::Server => {}
                _ => log.left(draft),
            }
        }
    }
}
