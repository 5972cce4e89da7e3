//! Recorder of `PostgreSQL` connections.
//!
//! A client's messages are parsed when the server answers them, in the order in which the server
//! processes them. Then it is known which messages the server ignores and what names mean.

use std::collections::VecDeque;
use std::time::SystemTime;

use super::message::{self, Opening};
use super::statement_names::{Input, StatementNames};
use crate::call::Side;
use crate::protocol::dialogue::{CallLog, Dialogue, Disposition, Draft, Fault};

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// Waits for the client's first message.
    #[default]
    Opening,
    /// Waits for the server's one-byte answer about encryption.
    Encryption,
    /// The client cancels a statement of another connection.
    Cancel,
    /// Authentication, up to the first `ReadyForQuery`.
    Startup,
    Calls,
}

struct RunningCall {
    draft: Draft,
    /// Type of the client's message.
    kind: u8,
    /// `true` if data is copied in.
    copies: bool,
}

#[derive(Default)]
pub(super) struct PostgresDialogue {
    phase: Phase,
    names: StatementNames,
    /// Messages of the client that the server has not begun to answer, with their times.
    asked: VecDeque<(Vec<u8>, SystemTime)>,
    running: Option<RunningCall>,
    /// A `Bind` whose `Execute` may follow.
    bound: Option<Draft>,
    /// Calls that are complete except for `ReadyForQuery`. After it they stay until the next call:
    /// later notifications belong to the last call that ended with `ReadyForQuery`.
    done: Vec<Draft>,
    /// `true` after an error: the server ignores everything up to the next `Sync`.
    skipping: bool,
}

impl PostgresDialogue {
    fn opening(&mut self, bytes: Vec<u8>, log: &CallLog) -> Result<Disposition, Fault> {
        match message::opening(&bytes)? {
            Opening::Encryption if !log.link.tls => self.phase = Phase::Encryption,
            Opening::Encryption | Opening::Gss => return Ok(Disposition::Back(b"N".to_vec())),
            Opening::Cancel => self.phase = Phase::Cancel,
            Opening::Startup => {
                let draft = Draft::with_requests([bytes], log.at).of_session(true);
                self.running = Some(RunningCall {
                    draft,
                    kind: 0,
                    copies: false,
                });
                self.phase = Phase::Startup;
            }
        }
        Ok(Disposition::On)
    }

    fn on_startup_reply(&mut self, bytes: Vec<u8>, log: &mut CallLog) {
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
            log.complete(running.draft);
        }
    }

    /// Reads on to the next message that gets an answer.
    fn begin(&mut self) -> Result<Option<RunningCall>, Fault> {
        while let Some((bytes, at)) = self.asked.pop_front() {
            let kind = bytes[0];
            if self.skipping && !matches!(kind, b'S' | b'D' | b'E') {
                continue;
            }
            let draft = match self.names.read(&bytes)? {
                // A `Bind` is looked up with its `Execute`, even if one of them failed.
                Input::Execute(question, true) if let Some(mut draft) = self.bound.take() => {
                    draft.extend(question.messages);
                    if self.skipping {
                        self.bound = Some(draft);
                        continue;
                    }
                    draft
                }
                Input::Sync => {
                    self.end_run();
                    self.skipping = false;
                    Draft::with_requests([], at)
                }
                _ if self.skipping => continue,
                Input::Prepare(question) | Input::DescribePortal(question, _) => {
                    Draft::of(question, at).of_session(true)
                }
                Input::Query(question) | Input::Bind(question) | Input::Execute(question, _) => {
                    self.end_run();
                    Draft::of(question, at)
                }
                Input::Close => Draft::with_requests([], at),
                // The server ignores unexpected copy data.
                Input::Flush | Input::CopyData(_) | Input::CopyEnd(_) | Input::Terminate => {
                    continue;
                }
            };
            return Ok(Some(RunningCall {
                draft,
                kind,
                copies: false,
            }));
        }
        Ok(None)
    }

    /// Ends the calls of a `Bind`.
    fn end_run(&mut self) {
        let is_alone = !self.skipping;
        self.done
            .extend(self.bound.take().map(|draft| draft.of_session(is_alone)));
    }

    fn on_reply(&mut self, bytes: Vec<u8>, log: &mut CallLog) -> Result<(), Fault> {
        let kind = bytes[0];
        if kind == b'W' {
            return Err("the connection became a replication stream, which is not recorded");
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
                self.add_to_previous_call(bytes, log.at);
                Ok(())
            } else {
                Err("PostgreSQL sent an answer without a request")
            };
        };
        let simple = matches!(running.kind, b'Q' | b'F');
        if simple || matches!(running.kind, b'B' | b'E') {
            self.release(log);
        }
        if !is_unasked {
            self.take_copy_data(&mut running);
        }
        if running.kind == b'S' {
            // Any message before `ReadyForQuery` reports that a deferred part of the transaction
            // failed.
            self.add_to_previous_call(bytes, log.at);
        } else {
            running.draft.push(Side::Server, bytes);
        }
        let is_whole = match running.kind {
            _ if is_unasked => false,
            b'S' | b'Q' | b'F' => kind == b'Z',
            b'E' => matches!(kind, b'C' | b'E' | b's' | b'I'),
            // The parameters of a statement come before its columns.
            _ => kind != b't',
        };
        if kind == b'G' {
            let (draft, kind) = (running.draft.successor(), running.kind);
            self.done.push(running.draft);
            self.running = Some(RunningCall {
                draft,
                kind,
                copies: true,
            });
        } else if !is_whole {
            self.running = Some(running);
        } else if running.copies {
            // Without all of its data the call would look like the answer to the first request.
            log.lose();
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
                draft.wire.session |= message::only_sets(draft.wire.messages_by(Side::Server));
                draft.answered_at = Some(log.at);
            }
        }
        Ok(())
    }

    /// Adds a message to the call before it.
    fn add_to_previous_call(&mut self, bytes: Vec<u8>, came: SystemTime) {
        let before = self.done.iter_mut().rfind(|draft| match draft.answered_at {
            Some(_) => {
                bytes[0] == b'A'
                    && draft
                        .wire
                        .messages_by(Side::Server)
                        .any(|message| message[0] == b'Z')
            }
            None => !draft.wire.session,
        });
        match before {
            Some(draft) if draft.answered_at.is_some() => draft.push_unasked(bytes, came),
            Some(draft) => draft.push(Side::Server, bytes),
            None => {}
        }
    }

    /// Reads on to the end of copied data, if it has arrived. The server ignores a `Sync` in it.
    fn take_copy_data(&mut self, running: &mut RunningCall) {
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

    /// Records the calls that are complete.
    fn release(&mut self, log: &mut CallLog) {
        self.done
            .extract_if(.., |draft| draft.answered_at.is_some())
            .for_each(|draft| log.complete(draft));
    }
}

impl Dialogue for PostgresDialogue {
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        match (self.phase, from) {
            (Phase::Opening, Side::Client) => message::opening_length(bytes),
            (Phase::Encryption, Side::Server) => Ok(Some(1)),
            (Phase::Encryption, Side::Client) => {
                Err("the PostgreSQL client did not wait for the answer about encryption")
            }
            // A server without free connections sends an error at once.
            (Phase::Startup | Phase::Calls, _) | (Phase::Opening, Side::Server) => {
                message::length(bytes)
            }
            (Phase::Cancel, _) => Ok(Some(bytes.len())),
        }
    }

    fn holds(&self, _from: Side) -> bool {
        matches!(self.phase, Phase::Opening | Phase::Encryption)
    }

    fn message(
        &mut self,
        from: Side,
        bytes: Vec<u8>,
        log: &mut CallLog,
    ) -> Result<Disposition, Fault> {
        match (self.phase, from) {
            (Phase::Opening, Side::Client) => return self.opening(bytes, log),
            (Phase::Opening, Side::Server)
            | (Phase::Startup, Side::Client)
            | (Phase::Cancel, _) => {}
            (Phase::Encryption, _) => {
                self.phase = Phase::Opening;
                if bytes == b"S" {
                    log.link.tls = true;
                    return Ok(Disposition::Encrypt);
                }
            }
            (Phase::Startup, Side::Server) => self.on_startup_reply(bytes, log),
            (Phase::Calls, Side::Client) => self.asked.push_back((bytes, log.at)),
            (Phase::Calls, Side::Server) => {
                self.on_reply(bytes, log)
                    .inspect_err(|_| self.release(log))?;
            }
        }
        Ok(Disposition::On)
    }

    fn buffered_bytes(&self) -> usize {
        let drafts = self
            .done
            .iter()
            .chain(&self.bound)
            .chain(self.running.as_ref().map(|running| &running.draft));
        drafts.map(Draft::size).sum::<usize>()
            + self.names.buffered_bytes()
            + self
                .asked
                .iter()
                .map(|asked| size_of_val(asked) + asked.0.len())
                .sum::<usize>()
    }

    fn end(&mut self, log: &mut CallLog) {
        self.release(log);
        if self.phase != Phase::Calls {
            return;
        }
        let mut left: Vec<_> = self.running.take().into_iter().collect();
        for running in &mut left {
            self.take_copy_data(running);
        }
        while let Ok(Some(running)) = self.begin() {
            match running.kind {
                b'B' => self.bound = Some(running.draft),
                _ => left.push(running),
            }
        }
        self.end_run();
        for draft in std::mem::take(&mut self.done) {
            let is_answered = draft.wire.messages_by(Side::Server).next().is_some();
            if is_answered {
                log.complete(draft);
            } else {
                log.abandon(draft);
            }
        }
        for RunningCall {
            draft,
            kind,
            copies,
        } in left
        {
            match kind {
                b'S' | b'C' => {}
                _ if copies => log.lose(),
                // A missing answer to a preparation does not matter, unless the program waited for
                // it.
                _ if draft.wire.session && log.left_by == Side::Server => {}
                _ => log.abandon(draft),
            }
        }
    }
}
