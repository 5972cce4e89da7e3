//! Player of Redis connections.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use super::command::{CommandKind, command_kind, longest_wait, protocol_version};
use super::resp::FrameScanner;
use crate::call::{Side, Wire};
use crate::protocol::dialogue::Fault;
use crate::protocol::responder::{Prompter, Responder, messages_from};
use crate::protocol::script::Push;
use crate::protocol::wire::PlayStep;

/// Wait without a limit.
const ENDLESS: Duration = Duration::from_hours(24);

#[derive(Default)]
pub(super) struct RedisResponder {
    scan: FrameScanner,
    /// The commands since `MULTI`.
    transaction: Vec<Vec<u8>>,
    /// `true` after `HELLO 3`.
    is_resp3: bool,
}

impl RedisResponder {
    /// Returns the result of a complete transaction.
    fn finish_transaction(&mut self, prompter: &mut Prompter) -> Vec<u8> {
        let commands = std::mem::take(&mut self.transaction);
        match prompter.ask(&commands) {
            Ok(found) if found.abandoned() => Vec::new(),
            // The replies to the earlier commands are sent already; pushed messages came first.
            Ok(found) => messages_from(&found, Side::Server)
                .next_back()
                .unwrap_or_default()
                .to_vec(),
            Err(text) => error(&text),
        }
    }
}

/// Answers a command that waits for an item. After the recorded items none comes.
fn answer_waiting(
    prompter: &mut Prompter,
    question: Vec<u8>,
    longest: Duration,
    nothing: &[u8],
) -> Vec<u8> {
    let question = Wire::asking([question]);
    let (is_known, is_over) = (prompter.peek(&question).is_some(), Cell::new(false));
    let none = |_| {
        is_over.set(is_known);
        is_known.then(Vec::new)
    };
    match prompter.ask_or(question, none) {
        Ok(_) if is_over.get() => {
            prompter.script.repeated();
            let longest = if longest.is_zero() { ENDLESS } else { longest };
            prompter.pushes.push_back(Push {
                bytes: nothing.to_vec(),
                // It comes before the answer to the next command.
                came: SystemTime::UNIX_EPOCH,
                after: Vec::new(),
                source: None,
                asked: None,
                delay: Duration::ZERO,
                latest: Instant::now() + longest,
            });
            Vec::new()
        }
        Ok(found) => messages_from(&found, Side::Server)
            .collect::<Vec<_>>()
            .concat(),
        Err(text) => error(&text),
    }
}

fn answer(prompter: &mut Prompter, question: Vec<u8>, command_kind: CommandKind) -> Vec<u8> {
    match prompter.ask(&[question]) {
        Ok(found) => {
            // Published messages come regardless of other requests.
            let is_stream = matches!(command_kind, CommandKind::Subscription(_));
            prompter.until_more = prompter.script.overtaken(&found).filter(|_| !is_stream);
            messages_from(&found, Side::Server)
                .collect::<Vec<_>>()
                .concat()
        }
        Err(text) => error(&text),
    }
}

fn error(text: &str) -> Vec<u8> {
    format!("-ERR {text}\r\n").into_bytes()
}

impl Responder for RedisResponder {
    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        self.scan.length(Side::Client, bytes)
    }

    fn message(&mut self, prompter: &mut Prompter, bytes: Vec<u8>) -> Result<Vec<u8>, Fault> {
        let command_kind = command_kind(&bytes);
        let is_inside = !self.transaction.is_empty();
        self.is_resp3 = protocol_version(&bytes).map_or(self.is_resp3, |version| version == b"3");
        let answer = match command_kind {
            CommandKind::Empty => return Ok(Vec::new()),
            CommandKind::Quit if !is_inside => b"+OK\r\n".to_vec(),
            _ if !is_inside && command_kind != CommandKind::Begin => match longest_wait(&bytes) {
                Some(longest) => {
                    let nothing: &[u8] = if self.is_resp3 { b"_\r\n" } else { b"*-1\r\n" };
                    answer_waiting(prompter, bytes, longest, nothing)
                }
                None => answer(prompter, bytes, command_kind),
            },
            _ => {
                self.transaction.push(bytes);
                match command_kind {
                    _ if !is_inside => b"+OK\r\n".to_vec(),
                    CommandKind::Finish | CommandKind::Quit | CommandKind::Reset => {
                        self.finish_transaction(prompter)
                    }
                    _ => b"+QUEUED\r\n".to_vec(),
                }
            }
        };
        if command_kind == CommandKind::Quit {
            prompter.then.get_or_insert(PlayStep::Close);
        }
        Ok(answer)
    }

    fn buffered_bytes(&self) -> usize {
        self.transaction
            .iter()
            .map(|command| size_of_val(command) + command.len())
            .sum()
    }

    fn refuse(&self, fault: Fault) -> Vec<u8> {
        format!("-ERR Protocol error: {fault}\r\n").into_bytes()
    }
}
