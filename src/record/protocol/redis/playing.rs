//! Redis, as it is played.

use super::command::{Manner, manner};
use super::resp::Scan;
use crate::record::call::Side;
use crate::record::protocol::dialogue::Fault;
use crate::record::protocol::role::{Prompter, Role, said};
use crate::record::protocol::wire::PlayStep;

/// Answers commands from recordings.
pub(crate) struct Playing {
    prompter: Prompter,
    scan: Scan,
    /// The commands since `MULTI`.
    transaction: Option<Vec<Vec<u8>>>,
}

impl Playing {
    pub(crate) fn new(prompter: Prompter) -> Self {
        Self { prompter, scan: Scan::default(), transaction: None }
    }

    /// A command after `MULTI`: what it gives is known when the transaction is whole.
    fn queue(&mut self, question: Vec<u8>, manner: Manner) -> Vec<PlayStep> {
        let Some(commands) = &mut self.transaction else { return Vec::new() };
        commands.push(question);
        if !matches!(manner, Manner::Finish | Manner::Quit | Manner::Reset) {
            return send(b"+QUEUED\r\n");
        }
        let commands = self.transaction.take().unwrap_or_default();
        let found = self.prompter.ask(commands.iter().map(Vec::as_slice));
        let mut steps = match found {
            Ok(found) if found.abandoned() => vec![PlayStep::Hold],
            // The replies to the commands before were sent when they came; what was pushed in between came first.
            Ok(found) => send(said(&found, Side::Server).next_back().unwrap_or_default()),
            Err(text) => error(&text),
        };
        if manner == Manner::Quit {
            steps.push(PlayStep::Close);
        }
        steps
    }
}

fn send(bytes: &[u8]) -> Vec<PlayStep> {
    vec![PlayStep::Send(bytes.to_vec())]
}

fn error(text: &str) -> Vec<PlayStep> {
    send(format!("-ERR {text}\r\n").as_bytes())
}

impl Role for Playing {
    fn prompter(&self) -> &Prompter {
        &self.prompter
    }

    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        self.scan.length(Side::Client, bytes)
    }

    fn message(&mut self, bytes: Vec<u8>) -> Result<Vec<PlayStep>, Fault> {
        let (manner, question) = (manner(&bytes), bytes);
        if manner == Manner::Empty {
            return Ok(Vec::new());
        }
        if self.transaction.is_some() {
            return Ok(self.queue(question, manner));
        }
        match manner {
            Manner::Begin => {
                self.transaction = Some(vec![question]);
                return Ok(send(b"+OK\r\n"));
            }
            Manner::Quit => return Ok(vec![PlayStep::Send(b"+OK\r\n".to_vec()), PlayStep::Close]),
            _ => {}
        }
        let found = self.prompter.ask([question.as_slice()]);
        Ok(match found {
            Ok(found) => {
                // What is published comes whatever else is asked.
                let is_stream = matches!(manner, Manner::Subscription(_));
                let overtaken = self.prompter.script.overtaken(&found).filter(|_| !is_stream);
                let mut steps: Vec<_> = overtaken.map(PlayStep::UntilMore).into_iter().collect();
                steps.extend(send(&said(&found, Side::Server).collect::<Vec<_>>().concat()));
                if found.abandoned() {
                    steps.push(PlayStep::Hold);
                }
                steps
            }
            Err(text) => error(&text),
        })
    }

    fn kept(&self) -> usize {
        self.transaction.iter().flatten().map(|command| size_of::<Vec<u8>>() + command.len()).sum()
    }

    fn refuse(&mut self, fault: Fault) -> Vec<u8> {
        format!("-ERR Protocol error: {fault}\r\n").into_bytes()
    }
}
