//! Prepared statements of one connection, and commands in the form in which they are looked up.

use std::collections::HashMap;

use super::answer::Prepared;
use super::packet::{self, command};
use crate::limits::MAX_WIRE_STATEMENTS;
use crate::record::protocol::control::Control;
use crate::record::protocol::dialogue::Fault;
use crate::record::protocol::sql::{self, Token};

/// The number that `MariaDB`'s clients give for the statement that was prepared last.
const LAST: u32 = u32::MAX;

struct Statement {
    /// The command that prepared it.
    prepare: Vec<u8>,
    parameters: usize,
    /// Types of the parameters, as they were given last: a client gives them once.
    types: Vec<u8>,
    /// Parameters that were sent ahead.
    long: Vec<Vec<u8>>,
}

/// The statements by their numbers.
#[derive(Default)]
pub(super) struct Statements {
    known: HashMap<u32, Statement>,
    last: u32,
}

impl Statements {
    /// Bytes that they take.
    pub(super) fn kept(&self) -> usize {
        let of = |statement: &Statement| statement.prepare.len() + statement.long.iter().map(Vec::len).sum::<usize>();
        self.known.values().map(of).sum()
    }

    /// A number that no statement has.
    pub(super) fn unused(&self) -> u32 {
        let mut id = self.last.wrapping_add(1);
        while id == 0 || id == LAST || self.known.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        id
    }

    /// A statement was prepared.
    pub(super) fn prepared(&mut self, prepare: &[u8], as_what: &Prepared) -> Result<(), Fault> {
        if self.known.len() == MAX_WIRE_STATEMENTS {
            return Err("it has more than 65,536 prepared statements");
        }
        self.last = as_what.id;
        let parameters = usize::from(as_what.counts.0);
        let (types, long) = (Vec::new(), Vec::new());
        self.known.insert(as_what.id, Statement { prepare: prepare.to_vec(), parameters, types, long });
        Ok(())
    }

    /// The messages by which a command is looked up; none if nothing is looked up for it.
    pub(super) fn questions(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Fault> {
        let code = packet::code(&message).unwrap_or_default();
        let of_a_statement = matches!(code, command::EXECUTE..=command::RESET | command::FETCH | command::BULK_EXECUTE);
        let Some(id) = packet::payload(&message).get(1..5).filter(|_| of_a_statement) else {
            return Ok(vec![message]);
        };
        let id = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
        let id = if id == LAST { self.last } else { id };
        if code == command::CLOSE {
            self.known.remove(&id);
            return Ok(Vec::new());
        }
        let payload = anonymous(packet::whole_payload(&message));
        let mut questions = Vec::new();
        match (code, self.known.get_mut(&id)) {
            (command::LONG_DATA, statement) => {
                statement.into_iter().for_each(|statement| statement.long.push(packet::message(0, &payload)));
            }
            (_, None) => questions.push(packet::message(0, &payload)),
            (command::EXECUTE, Some(statement)) => {
                questions.push(statement.prepare.clone());
                questions.append(&mut statement.long);
                questions.push(packet::message(0, &statement.typed(payload)?));
            }
            (_, Some(statement)) => {
                statement.long.retain(|_| code != command::RESET);
                questions.extend([statement.prepare.clone(), packet::message(0, &payload)]);
            }
        }
        Ok(questions)
    }
}

impl Statement {
    /// An execution that gives the types of its parameters, whether the client gave them again or not.
    fn typed(&mut self, payload: Vec<u8>) -> Result<Vec<u8>, Fault> {
        if self.parameters == 0 {
            return Ok(payload);
        }
        // Command, number, flags, count of iterations; one bit for each parameter; whether types follow, two bytes each.
        let flag = 1 + 4 + 1 + 4 + self.parameters.div_ceil(8);
        let after = flag + 1;
        match payload.get(flag) {
            Some(1) => {
                let types = payload.get(after..after + 2 * self.parameters);
                self.types = types.ok_or("an execution of a prepared statement is too short")?.to_vec();
                Ok(payload)
            }
            Some(0) if !self.types.is_empty() => {
                Ok([&payload[..flag], &[1], self.types.as_slice(), &payload[after..]].concat())
            }
            _ => Ok(payload),
        }
    }
}

/// The tokens of the statements of a query.
fn read(text: &[u8]) -> Vec<Vec<Token>> {
    sql::statements(text, true, &[])
}

fn words(statement: &[Token]) -> Vec<&str> {
    statement.iter().map(|token| if let Token::Word(word) = token { word.as_str() } else { "" }).collect()
}

/// The database that a command selects, if it is one that does: `COM_INIT_DB`, or the last `USE` of a query.
pub(super) fn selected(question: &[u8]) -> Option<Vec<u8>> {
    match packet::payload(question).split_first()? {
        (&command::INIT_DB, name) => Some(name.to_vec()),
        (&command::QUERY, text) => read(text).iter().rev().find_map(|one| match words(one).as_slice() {
            ["use", name] => Some(name.as_bytes().to_vec()),
            _ => None,
        }),
        _ => None,
    }
}

/// The control statement that a command is.
pub(super) fn control(question: &[u8]) -> Option<Control> {
    match packet::payload(question).split_first()? {
        (&command::QUERY, text) => Control::of_text(text, true),
        _ => None,
    }
}

/// Whether a command is answered the same whichever database is in use and whoever asks.
pub(super) fn is_of_any_context(question: &[u8]) -> bool {
    let is_prepare = packet::code(question) == Some(command::PREPARE);
    is_session(question) && !is_prepare || control(question).is_some()
}

/// A command without the number of its statement.
fn anonymous(mut payload: Vec<u8>) -> Vec<u8> {
    if let Some(id) = payload.get_mut(1..5) {
        id.fill(0);
    }
    payload
}

/// Whether a command belongs to the connection: it is sent when one is opened or taken from a pool, and its answer says
/// nothing that a test could want to know.
pub(super) fn is_session(question: &[u8]) -> bool {
    match packet::payload(question).split_first() {
        Some((
            &(command::PING
            | command::INIT_DB
            | command::RESET_CONNECTION
            | command::SET_OPTION
            | command::PREPARE
            | command::RESET
            | command::CHANGE_USER
            | command::STATISTICS),
            _,
        )) => true,
        Some((&command::QUERY, text)) => match read(text).as_slice() {
            [one] => match words(one).as_slice() {
                ["set" | "use", _, ..] | ["show", "variables", ..] => true,
                ["select", variable, ..] => variable.starts_with("@@"),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}
