//! Prepared statements of one connection, and commands in the form in which they are looked up.

use std::collections::HashMap;

use super::answer::Prepared;
use super::marks::Marks;
use super::packet::{self, command};
use super::settings::{self, Settings};
use crate::limits::MAX_WIRE_STATEMENTS;
use crate::record::dialogue::Fault;

/// The number that `MariaDB`'s clients give for the statement that was prepared last.
const LAST: u32 = u32::MAX;

struct Statement {
    /// The command that prepared it.
    prepare: Vec<u8>,
    /// The database that was in use then: its names are looked for there.
    database: Option<Vec<u8>>,
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
    /// The database in use.
    database: Option<Vec<u8>>,
    settings: Settings,
    marks: Marks,
    kept: usize,
}

impl Statements {
    /// Bytes that they take.
    pub(super) fn kept(&self) -> usize {
        self.kept + self.settings.size() + self.marks.size()
    }

    /// A number that no statement has.
    pub(super) fn unused(&self) -> u32 {
        let mut id = self.last.wrapping_add(1);
        while id == 0 || id == LAST || self.known.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        id
    }

    /// From here on this database is in use; none if it has no name.
    pub(super) fn enter(&mut self, database: &[u8]) {
        self.database = Some(database.to_vec()).filter(|name| !name.is_empty());
    }

    /// A command was answered with these messages: what it has set and selected, unless it failed altogether.
    pub(super) fn concluded<'a>(&mut self, question: &[u8], answers: impl IntoIterator<Item = &'a [u8]>) {
        if !answers.into_iter().any(|answer| packet::payload(answer).first() == Some(&0)) {
            return;
        }
        if let Some(database) = selected(question) {
            self.enter(&database);
        }
        self.carried_out(question);
    }

    /// A command was carried out that may have set variables, or all of them to what they were at first.
    pub(super) fn carried_out(&mut self, question: &[u8]) {
        let payload = packet::payload(question);
        match payload.first() {
            Some(&(command::RESET_CONNECTION | command::CHANGE_USER)) => self.settings = Settings::default(),
            _ => self.settings.change(settings::changes(payload)),
        }
    }

    /// An answer to these messages begins so. `said` is what they say wherever they are asked: without secrets.
    pub(super) fn answered(&mut self, questions: &[&[u8]], answer: &[u8], said: impl Fn() -> Vec<u8>) {
        let Some(payload) = questions.last().map(|last| packet::payload(last)) else { return };
        match payload.split_first() {
            Some((&command::QUERY, text)) => self.marks.carried_out(text, &[], answer, said),
            Some((&command::EXECUTE, values)) => {
                let mut prepares = questions.iter().map(|question| packet::payload(question));
                let text = prepares.rfind(|payload| payload.first() == Some(&command::PREPARE));
                let text = text.map_or(&[][..], |payload| &payload[1..]);
                if packet::payload(answer).first() == Some(&0) {
                    self.settings.change(settings::changes_by(text, values));
                }
                self.marks.carried_out(text, values, answer, said);
            }
            Some((&(command::RESET_CONNECTION | command::CHANGE_USER), _)) => self.marks = Marks::default(),
            _ => {}
        }
    }

    /// A statement was prepared.
    pub(super) fn prepared(&mut self, prepare: &[u8], as_what: &Prepared) -> Result<(), Fault> {
        if self.known.len() == MAX_WIRE_STATEMENTS {
            return Err("it has more than 65,536 prepared statements");
        }
        self.kept += prepare.len();
        self.last = as_what.id;
        let parameters = usize::from(as_what.counts.0);
        let (types, long) = (Vec::new(), Vec::new());
        let (prepare, database) = (prepare.to_vec(), self.database.clone());
        self.known.insert(as_what.id, Statement { prepare, database, parameters, types, long });
        Ok(())
    }

    /// The messages by which a command is looked up, with the database before them if the answer depends on it; none if
    /// nothing is looked up for it.
    pub(super) fn questions(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Fault> {
        let payload = packet::payload(&message);
        let code = payload.first().copied().unwrap_or_default();
        let of_a_statement = matches!(code, command::EXECUTE..=command::RESET | command::FETCH | command::BULK_EXECUTE);
        let Some(id) = payload.get(1..5).filter(|_| of_a_statement) else {
            if is_of_any_database(payload) {
                return Ok(vec![message]);
            }
            // What a pool sends again and again is answered the same each time.
            let is_session = is_session_payload(payload);
            let mut settings = match payload.split_first() {
                Some((&command::QUERY, text)) if is_session && settings::assigned(text).is_empty() => {
                    self.settings.read_by(text)
                }
                Some((&command::QUERY, text)) if is_of_transaction(text) => Vec::new(),
                _ if is_session => Vec::new(),
                _ => self.settings.text(),
            };
            if code == command::QUERY {
                settings.extend(self.marks.text(&payload[1..]));
                if !is_session && !is_of_transaction(&payload[1..]) {
                    settings.extend(self.marks.hints(&payload[1..]));
                }
            }
            return Ok(state(self.database.as_deref(), &settings).into_iter().chain([message]).collect());
        };
        let id = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
        let id = if id == LAST { self.last } else { id };
        match code {
            command::CLOSE => {
                if let Some(gone) = self.known.remove(&id) {
                    self.kept =
                        self.kept.saturating_sub(gone.prepare.len() + gone.long.iter().map(Vec::len).sum::<usize>());
                }
                return Ok(Vec::new());
            }
            command::LONG_DATA => {
                if let Some(statement) = self.known.get_mut(&id) {
                    let data = packet::whole_payload(&message);
                    self.kept += message.len();
                    statement.long.push(packet::message(0, &anonymous(data)));
                }
                return Ok(Vec::new());
            }
            _ => {}
        }
        let payload = anonymous(packet::whole_payload(&message));
        let Some(statement) = self.known.get_mut(&id) else { return Ok(vec![packet::message(0, &payload)]) };
        let text = packet::payload(&statement.prepare).get(1..).unwrap_or_default();
        // What only sets something, or begins or ends a transaction, is the same whatever was set before.
        let reads = settings::assigned(text).is_empty() && !is_of_transaction(text);
        let more = if reads { [self.settings.text(), self.marks.hints(text)].concat() } else { Vec::new() };
        let state = state(statement.database.as_deref(), &[self.marks.text(text), more].concat());
        let mut questions: Vec<_> = state.into_iter().chain([statement.prepare.clone()]).collect();
        match code {
            command::EXECUTE => {
                let long = std::mem::take(&mut statement.long);
                self.kept = self.kept.saturating_sub(long.iter().map(Vec::len).sum());
                questions.extend(long);
                questions.push(packet::message(0, &statement.typed(payload)?));
            }
            command::RESET => {
                let long = std::mem::take(&mut statement.long);
                self.kept = self.kept.saturating_sub(long.iter().map(Vec::len).sum());
                questions.push(packet::message(0, &payload));
            }
            _ => questions.push(packet::message(0, &payload)),
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

/// What a call begins with: `COM_INIT_DB`, with variables behind the name.
fn state(database: Option<&[u8]>, settings: &[u8]) -> Option<Vec<u8>> {
    let named = database.is_some() || !settings.is_empty();
    named.then(|| packet::message(0, &[&[command::INIT_DB], database.unwrap_or_default(), settings].concat()))
}

/// The database that a command selects, if it is one that does: `COM_INIT_DB`, or the last `USE` of a query.
pub(super) fn selected(question: &[u8]) -> Option<Vec<u8>> {
    let payload = packet::payload(question);
    match payload.split_first()? {
        (&command::QUERY, text) => {
            statements(text).into_iter().rev().find_map(|one| selected_by(&[&[command::QUERY], one].concat()))
        }
        _ => selected_by(payload),
    }
}

/// The statements of a query, which stand between semicolons (`CLIENT_MULTI_STATEMENTS`): not those in quotes and comments.
pub(super) fn statements(text: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let skipped = match byte {
            b'\'' | b'"' | b'`' => quoted(rest, *byte),
            b'#' => line(rest),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace) => line(rest),
            b'/' if rest.starts_with(b"/*") => memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2),
            b';' => {
                found.push(text[start..at].trim_ascii());
                start = at + 1;
                1
            }
            _ => 1,
        };
        at += skipped;
    }
    found.push(text[start..].trim_ascii());
    found.retain(|one| !one.is_empty());
    found
}

/// How many bytes a line has.
fn line(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1)
}

/// How many bytes stand in quotes, with them. A backslash takes the next byte its meaning, but not in names.
pub(super) fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if quote != b'`' => at += 2,
            byte if *byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn selected_by(payload: &[u8]) -> Option<Vec<u8>> {
    match payload.split_first()? {
        (&command::INIT_DB, name) => Some(name.to_vec()),
        (&command::QUERY, text) => {
            let text = without_comments(text);
            let (word, name) = text.split_at_checked(4)?;
            if !word[..3].eq_ignore_ascii_case(b"use") || !(word[3].is_ascii_whitespace() || word[3] == b'`') {
                return None;
            }
            let name = if word[3] == b'`' { &text[3..] } else { name }.trim_ascii();
            let name = name.strip_suffix(b";").unwrap_or(name).trim_ascii();
            let quoted = name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`"));
            // A backtick in a quoted name is written twice.
            Some(quoted.map_or_else(|| name.to_vec(), undoubled)).filter(|name| !name.is_empty())
        }
        _ => None,
    }
}

fn undoubled(name: &[u8]) -> Vec<u8> {
    let mut found: Vec<u8> = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((byte, after)) = rest.split_first() {
        found.push(*byte);
        rest = if *byte == b'`' { after.strip_prefix(b"`").unwrap_or(after) } else { after };
    }
    found
}

/// Whether a command is answered the same whichever database is in use.
fn is_of_any_database(payload: &[u8]) -> bool {
    match payload.first() {
        Some(
            &(command::PING
            | command::INIT_DB
            | command::RESET_CONNECTION
            | command::SET_OPTION
            | command::STATISTICS
            | command::CHANGE_USER
            | command::PROCESS_INFO),
        ) => true,
        Some(&command::QUERY) => statements(&payload[1..]).len() == 1 && selected_by(payload).is_some(),
        _ => false,
    }
}

/// Whether a command is answered the same whoever asks.
pub(super) fn is_of_any_user(payload: &[u8]) -> bool {
    match payload.first() {
        Some(
            &(command::PING
            | command::RESET_CONNECTION
            | command::SET_OPTION
            | command::STATISTICS
            | command::CHANGE_USER),
        ) => true,
        Some(&command::QUERY) => is_session_payload(payload) && selected_by(payload).is_none(),
        _ => false,
    }
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
pub(super) fn is_session(questions: &[Vec<u8>]) -> bool {
    questions.last().is_some_and(|question| is_session_payload(packet::payload(question)))
}

fn is_session_payload(payload: &[u8]) -> bool {
    match payload.first() {
        Some(
            &(command::PING
            | command::INIT_DB
            | command::RESET_CONNECTION
            | command::SET_OPTION
            | command::PREPARE
            | command::RESET
            | command::CHANGE_USER
            | command::STATISTICS),
        ) => true,
        Some(&command::QUERY) => {
            let text = without_comments(&payload[1..]);
            let begins = |word: &[u8]| text.len() > word.len() && text[..word.len()].eq_ignore_ascii_case(word);
            statements(text).len() == 1
                && (begins(b"set ") || begins(b"select @@") || begins(b"show variables") || begins(b"use "))
        }
        _ => false,
    }
}

/// Whether a text begins or ends a transaction or a part of one: variables do not matter to it.
fn is_of_transaction(text: &[u8]) -> bool {
    let word = without_comments(text).split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    let known = [&b"begin"[..], b"start", b"commit", b"rollback", b"savepoint", b"release"];
    statements(text).len() == 1 && known.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// A query without the comments and spaces before it.
pub(super) fn without_comments(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii_start();
    // A comment that begins so is carried out.
    while text.starts_with(b"/*") && !text.starts_with(b"/*!") {
        let Some(end) = memchr::memmem::find(text, b"*/") else { break };
        text = text[end + 2..].trim_ascii_start();
    }
    text
}
