//! Player of Redis connections.

use super::command::{CommandKind, command_kind};
use super::resp::FrameScanner;
use crate::call::Side;
use crate::protocol::dialogue::Fault;
use crate::protocol::responder::{Prompter, Responder, messages_from};
use crate::protocol::wire::PlayStep;

#[derive(Default)]
pub(super) struct RedisResponder {
    scan: FrameScanner,
    /// The commands since `MULTI`.
    transaction: Vec<Vec<u8>>,
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
        let answer = match command_kind {
            CommandKind::Empty => return Ok(Vec::new()),
            CommandKind::Quit if !is_inside => b"+OK\r\n".to_vec(),
            _ if !is_inside && command_kind != CommandKind::Begin => {
                answer(prompter, bytes, command_kind)
            }
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
