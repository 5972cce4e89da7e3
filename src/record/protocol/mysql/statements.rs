//! Prepared statements of one connection, the normal form of commands for lookup, and effects of
//! calls on the connection.

use std::collections::HashMap;

use replay_base::limits::MAX_WIRE_STATEMENTS;

use super::answer::{self, PreparedStatement};
use super::handshake::{self, HandshakeRequest, Login};
use super::packet::{self, command};
use crate::call::{Protocol, Side, Wire};
use crate::protocol::control::Control;
use crate::protocol::dialogue::Fault;
use crate::protocol::sql::{self, Token};

/// The id by which `MariaDB`'s clients mean the latest prepared statement.
const LAST: u32 = u32::MAX;

struct Statement {
    /// The command that prepared it.
    prepare: Vec<u8>,
    parameters: usize,
    /// Types of the parameters as last sent: a client sends them once.
    types: Vec<u8>,
    long: Vec<Vec<u8>>,
}

#[derive(Default)]
pub(super) struct Statements {
    known: HashMap<u32, Statement>,
    last: u32,
}

impl Statements {
    pub(super) fn buffered_bytes(&self) -> usize {
        let of = |statement: &Statement| {
            statement.prepare.len() + statement.long.iter().map(Vec::len).sum::<usize>()
        };
        self.known.values().map(of).sum()
    }

    pub(super) fn unused(&self) -> u32 {
        let mut id = self.last.wrapping_add(1);
        while id == 0 || id == LAST || self.known.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        id
    }

    pub(super) fn prepared(
        &mut self,
        prepare: &[u8],
        as_what: &PreparedStatement,
    ) -> Result<(), Fault> {
        if self.known.len() == MAX_WIRE_STATEMENTS {
            return Err("the connection has more than 65,536 prepared statements");
        }
        self.last = as_what.id;
        let parameters = usize::from(as_what.counts.0);
        let (types, long) = (Vec::new(), Vec::new());
        self.known.insert(
            as_what.id,
            Statement {
                prepare: prepare.to_vec(),
                parameters,
                types,
                long,
            },
        );
        Ok(())
    }

    /// Returns the messages for the lookup of a command; none if it is not looked up.
    pub(super) fn questions(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Fault> {
        let code = packet::code(&message).unwrap_or_default();
        let of_a_statement = matches!(
            code,
            command::EXECUTE..=command::RESET | command::FETCH | command::BULK_EXECUTE
        );
        let Some(id) = packet::payload(&message)
            .get(1..5)
            .filter(|_| of_a_statement)
        else {
            return Ok(vec![message]);
        };
        let id = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
        let id = if id == LAST { self.last } else { id };
        if code == command::CLOSE {
            self.known.remove(&id);
            return Ok(Vec::new());
        }
        let payload = clear_statement_id(packet::payload(&message).to_vec());
        let mut questions = Vec::new();
        match (code, self.known.get_mut(&id)) {
            (command::LONG_DATA, statement) => {
                if let Some(statement) = statement {
                    statement.long.push(packet::message(0, &payload));
                }
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
    /// Adds the types of the parameters to an execution that lacks them.
    fn typed(&mut self, payload: Vec<u8>) -> Result<Vec<u8>, Fault> {
        if self.parameters == 0 {
            return Ok(payload);
        }
        // Command, id, flags, iteration count; one bit per parameter; flag for types, two bytes
        // each.
        let flag = 1 + 4 + 1 + 4 + self.parameters.div_ceil(8);
        let after = flag + 1;
        match payload.get(flag) {
            Some(1) => {
                let types = payload.get(after..after + 2 * self.parameters);
                self.types = types
                    .ok_or("an execution of a prepared statement is too short")?
                    .to_vec();
                Ok(payload)
            }
            Some(0) if !self.types.is_empty() => Ok([
                &payload[..flag],
                &[1],
                self.types.as_slice(),
                &payload[after..],
            ]
            .concat()),
            _ => Ok(payload),
        }
    }
}

fn read(text: &[u8]) -> Vec<Vec<Token>> {
    sql::statements(text, true, &[])
}

fn words(statement: &[Token]) -> Vec<&str> {
    statement
        .iter()
        .map(|token| {
            if let Token::Word(word) = token {
                word.as_str()
            } else {
                ""
            }
        })
        .collect()
}

pub(super) fn control(question: &[u8]) -> Option<Control> {
    match packet::payload(question).split_first()? {
        (&command::QUERY, text) => Control::of_text(text, true),
        _ => None,
    }
}

/// Clears the statement id in a command.
fn clear_statement_id(mut payload: Vec<u8>) -> Vec<u8> {
    if let Some(id) = payload.get_mut(1..5) {
        id.fill(0);
    }
    payload
}

/// Returns true if a command belongs to the connection. Such commands are sent when a connection is
/// opened or taken from a pool, and their answers do not matter to tests.
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

/// Returns the login of a call that succeeded: a login, or a change to another user.
pub(crate) fn login_of(wire: &Wire) -> Option<Login> {
    let (first, verdict) = (
        wire.messages_by(Side::Server).next()?,
        wire.messages_by(Side::Server).next_back()?,
    );
    if packet::code(verdict) != Some(0) {
        return None;
    }
    let asked = wire.messages_by(Side::Client).next()?;
    if handshake::is_greeting(first) {
        return if let Ok(HandshakeRequest::Login(login)) = handshake::hello(asked) {
            Some(login)
        } else {
            None
        };
    }
    let is_change = packet::code(asked) == Some(command::CHANGE_USER);
    // Capabilities are 0, since recordings omit the auth response.
    is_change
        .then(|| handshake::change_user(asked, 0).ok())
        .flatten()
}

/// Returns true if a transaction is open after a call (`SERVER_STATUS_IN_TRANS`); `None` after an
/// error.
pub(crate) fn leaves_open(wire: &Wire) -> Option<bool> {
    let flags = answer::status(packet::payload(wire.messages_by(Side::Server).next_back()?))?;
    Some(flags & 1 != 0)
}

/// Returns true if a call resets the connection (`COM_RESET_CONNECTION`).
pub(crate) fn resets(wire: &Wire) -> bool {
    wire.messages_by(Side::Client)
        .next_back()
        .and_then(packet::code)
        == Some(command::RESET_CONNECTION)
}

/// Returns the database that a call selects: by `COM_INIT_DB`, or by the last `USE` of a query.
pub(crate) fn selected_by(protocol: Protocol, wire: &Wire) -> Option<Vec<u8>> {
    let question = wire
        .messages_by(Side::Client)
        .next_back()
        .filter(|_| protocol == Protocol::MySql)?;
    match packet::payload(question).split_first()? {
        (&command::INIT_DB, name) => Some(name.to_vec()),
        (&command::QUERY, text) => {
            read(text)
                .iter()
                .rev()
                .find_map(|one| match words(one).as_slice() {
                    ["use", name] => Some(name.as_bytes().to_vec()),
                    _ => None,
                })
        }
        _ => None,
    }
}

pub(crate) fn carries_out(message: &[u8]) -> bool {
    matches!(
        packet::code(message),
        Some(command::QUERY | command::EXECUTE)
    )
}

/// Returns true if the answer to a call depends on the database and the user.
pub(crate) fn is_of_context(wire: &Wire) -> bool {
    wire.messages_by(Side::Client)
        .next_back()
        .is_some_and(|last| {
            let is_prepare = packet::code(last) == Some(command::PREPARE);
            (is_prepare || !is_session(last)) && control(last).is_none()
        })
}
