//! Authentication of databases, and passwords in their statements.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::walk::{Edit, Replace, Secret};
use super::{REDACTED, Shown, blank, cards, mongo, mysql, redis, shapes, sql};
use crate::record::exchange::{Message, Protocol, Side, Wire};
use crate::record::postgres::{PREPARED_SECRETS, parameters as postgres_parameters};

/// Takes the secrets out of what a program says to a database: the same text for each.
pub fn wire(protocol: Protocol, wire: &mut Wire) {
    replace(protocol, wire, &mut blank);
}

/// The secrets in what a program says to a database after its login, in their order.
pub fn said(protocol: Protocol, wire: &Wire) -> Vec<Shown> {
    let mut found = Vec::new();
    walk(protocol, wire, &mut |secret: &Secret<'_>| {
        found.push(Shown::new(secret));
        None
    });
    found
}

/// Puts others in place of the secrets.
pub(super) fn replace(protocol: Protocol, wire: &mut Wire, replace: Replace<'_>) {
    for (index, bytes) in walk(protocol, wire, replace) {
        wire.messages[index].bytes = bytes;
    }
}

/// Puts others in place of the tokens in what a server says.
pub(super) fn given(protocol: Protocol, wire: &mut Wire, replace: Replace<'_>) {
    if protocol == Protocol::Redis
        && wire.messages.iter().any(|asked| asked.from == Side::Client && redis::asks(&asked.bytes))
    {
        let answers = wire.messages.iter_mut().filter(|message| message.from == Side::Server);
        for message in answers {
            if let Some(other) = redis::answer(&message.bytes, replace) {
                message.bytes = other;
            }
        }
    }
    for message in wire.messages.iter_mut().filter(|message| message.from == Side::Server) {
        if let Some(other) = shapes::replaced(&message.bytes, || None, replace) {
            message.bytes = other;
        }
    }
}

/// The messages in which secrets are replaced, by their places: those that have a name or a place, and tokens by their shape.
pub(super) fn walk(protocol: Protocol, wire: &Wire, replace: Replace<'_>) -> BTreeMap<usize, Vec<u8>> {
    let mut found = named(protocol, wire, replace);
    let mut blanked: Option<BTreeMap<usize, Vec<u8>>> = None;
    for (index, message) in wire.messages.iter().enumerate().filter(|(_, message)| message.from == Side::Client) {
        let bytes = found.get(&index).unwrap_or(&message.bytes);
        let without = || blanked.get_or_insert_with(|| named(protocol, wire, &mut blank)).get(&index).cloned();
        if let Some(other) = shapes::replaced(bytes, without, replace) {
            found.insert(index, other);
        }
    }
    found
}

/// The messages in which secrets are replaced that have a name or a place. What proves a password in a login is made for each one, tells
/// nothing apart, and becomes the same always.
fn named(protocol: Protocol, wire: &Wire, replace: Replace<'_>) -> BTreeMap<usize, Vec<u8>> {
    let messages = wire.messages.iter().enumerate().filter(|(_, message)| message.from == Side::Client);
    match protocol {
        Protocol::Redis => each(messages, |bytes| redis::message(bytes, replace)),
        Protocol::Postgres => {
            let mut copied = None;
            let first = wire.messages.iter().find(|message| message.from == Side::Client);
            let prepared = first.map(|first| prepared(&first.bytes)).unwrap_or_default();
            each(messages, |bytes| postgres(bytes, &prepared, &mut copied, replace))
        }
        Protocol::MySql => {
            let mut login = Login { is_session: wire.session, answered: false, prepared: (sql::Parameters::new(), 0) };
            each(messages, |bytes| login.message(bytes, replace))
        }
        Protocol::Mongo => each(messages, |bytes| mongo::message(bytes, replace)),
        Protocol::Http | Protocol::Grpc | Protocol::Dns | Protocol::Generic => BTreeMap::new(),
    }
}

fn each<'a>(
    messages: impl Iterator<Item = (usize, &'a Message)>,
    mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> BTreeMap<usize, Vec<u8>> {
    messages.filter_map(|(index, message)| Some((index, change(&message.bytes)?))).collect()
}

/// The parameters of a statement of `PostgreSQL` that are secrets, and no numbers of cards, from 0: those of what it prepares.
pub(in crate::record) fn secret_parameters(text: &[u8]) -> Vec<usize> {
    let (secret, _) = sql::parameters(text, Protocol::Postgres);
    secret.into_iter().filter(|(_, name)| *name != cards::NAME).map(|(number, _)| number).collect()
}

/// What a state before calls says of each statement that was prepared on the connection: which of its parameters are secrets.
fn prepared(state: &[u8]) -> sql::Prepared {
    let is_state = state.first() == Some(&0);
    let said = postgres_parameters(state).filter(|_| is_state).filter_map(|(name, value)| {
        let name = std::str::from_utf8(name.strip_prefix(PREPARED_SECRETS.as_bytes())?).ok()?;
        let numbers = std::str::from_utf8(value).ok()?.split(' ').filter_map(|number| number.parse().ok());
        Some((name.to_ascii_lowercase(), numbers.map(|number| (number, "password")).collect()))
    });
    said.collect()
}

/// `PasswordMessage`, `SASLInitialResponse`, `SASLResponse`, `GSSResponse`: all of type `p`.
/// And `Query`, `Parse`, and what names a statement by its text (`Bind`, `Describe`); and `CopyData` behind one of them.
fn postgres(
    message: &[u8],
    prepared: &sql::Prepared,
    copied: &mut Option<sql::Copied>,
    replace: Replace<'_>,
) -> Option<Vec<u8>> {
    let (head, body) = message.split_at_checked(POSTGRES_HEAD_BYTES)?;
    let body = match head[0] {
        b'p' => [REDACTED.as_bytes(), &[0]].concat(),
        b'd' => copied.as_mut()?.data(body, replace)?,
        b'Q' | b'P' | b'B' | b'D' => {
            // A name, a text; the rest of a Bind is values.
            let mut parts: Vec<Cow<'_, [u8]>> = body.splitn(3, |byte| *byte == 0).map(Cow::Borrowed).collect();
            let mut changed = false;
            if let Some(copy) = parts.iter().take(2).find_map(|part| sql::copied(part)) {
                *copied = Some(copy);
            }
            for part in parts.iter_mut().take(2) {
                if let Some(other) = sql::statement(part, Protocol::Postgres, prepared, replace) {
                    *part = Cow::Owned(other);
                    changed = true;
                }
            }
            if head[0] == b'B'
                && let [_, text, values] = body.splitn(3, |byte| *byte == 0).collect::<Vec<_>>()[..]
                && let secret = secrets_of(text, values)
                && let Some(values) = bound(values, |number, value| match secret.get(&number) {
                    Some(name) => replace(&sql::secret(name, value)?),
                    None => sql::bound(value, replace),
                })
            {
                parts[2] = Cow::Owned(values);
                changed = true;
            }
            changed.then(|| parts.join(&0))?
        }
        _ => return None,
    };
    let length = (body.len() as u32 + 4).to_be_bytes();
    Some([&head[..1], &length, &body].concat())
}

/// What a program says to a database with other texts in it, and other lengths beside them; `None` if none changes, or where it
/// is not known which lengths there are.
pub(super) fn with_texts(
    protocol: Protocol,
    message: &[u8],
    change: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    match protocol {
        Protocol::Redis => redis::with_arguments(message, change),
        Protocol::Postgres => {
            let (head, body) = message.split_at_checked(POSTGRES_HEAD_BYTES)?;
            let parts: Vec<&[u8]> = body.splitn(3, |byte| *byte == 0).collect();
            let body = match (head[0], parts.as_slice()) {
                (b'Q', [text, rest]) => [&change(text)?, &b"\0"[..], rest].concat(),
                (b'P', [name, text, rest]) => [name, &b"\0"[..], &*change(text)?, b"\0", rest].concat(),
                (b'B', [portal, text, values]) => {
                    let other = change(text);
                    let others = bound(values, |_, value| change(value));
                    if other.is_none() && others.is_none() {
                        return None;
                    }
                    let (text, values) = (other.as_deref().unwrap_or(text), others.as_deref().unwrap_or(values));
                    [portal, &b"\0"[..], text, b"\0", values].concat()
                }
                _ => return None,
            };
            Some([&head[..1], &(body.len() as u32 + 4).to_be_bytes(), &body].concat())
        }
        Protocol::MySql => {
            let (head, body) = message.split_at_checked(MYSQL_HEAD_BYTES)?;
            let (command, text) =
                body.split_first().filter(|(command, _)| matches!(**command, COM_QUERY | COM_STMT_PREPARE))?;
            let body = [&[*command][..], &change(text).filter(|_| head[MYSQL_HEAD_BYTES - 1] == 0)?].concat();
            let length = (body.len() as u32).to_le_bytes();
            (body.len() < MYSQL_FULL_BYTES).then(|| [&length[..MYSQL_HEAD_BYTES - 1], &[0], &body].concat())
        }
        _ => None,
    }
}

/// Which values of a `Bind` of this statement are secrets, and what they are called.
fn secrets_of(text: &[u8], values: &[u8]) -> sql::Parameters {
    let (mut secret, _) = sql::parameters(text, Protocol::Postgres);
    let settings = sql::settings(text);
    let places = if settings.is_empty() { None } else { places(values) }.unwrap_or_default();
    for (name, value) in settings {
        let place = places.binary_search_by_key(&name, |(number, _)| *number);
        let name = place.ok().map(|place| &values[places[place].1.clone()]);
        if let Some(called) = name.and_then(|name| sql::called(std::str::from_utf8(name).ok()?)) {
            secret.insert(value, called);
        }
    }
    secret
}

/// The values in the rest of a `Bind`, from their formats on: their numbers, and where they stand. None is NULL.
fn places(bytes: &[u8]) -> Option<Vec<(usize, Range<usize>)>> {
    let count = |at: usize| bytes.get(at..at + 2).map(|count| usize::from(u16::from_be_bytes([count[0], count[1]])));
    let values = 2 + 2 * count(0)?;
    let (mut at, mut found) = (values + 2, Vec::new());
    for number in 0..count(values)? {
        let length = i32::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
        at += 4;
        // -1 is NULL.
        let Ok(length) = usize::try_from(length) else { continue };
        let end = at.checked_add(length).filter(|end| *end <= bytes.len())?;
        found.push((number, at..end));
        at = end;
    }
    Some(found)
}

/// The rest of a `Bind`, from the formats of its values on, with others of its values.
fn bound(bytes: &[u8], mut change: impl FnMut(usize, &[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    for (number, at) in places(bytes)?.into_iter().filter(|(_, at)| !at.is_empty()) {
        let other = change(number, &bytes[at.clone()]);
        edit.put(at.start - 4..at.end, other.map(|other| [&(other.len() as u32).to_be_bytes()[..], &other].concat()));
    }
    edit.end()
}

/// Type and length.
const POSTGRES_HEAD_BYTES: usize = 5;
const MYSQL_HEAD_BYTES: usize = 4;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_SEND_LONG_DATA: u8 = 0x18;
/// Command, number of the statement, number of the parameter.
const MYSQL_LONG_DATA_HEAD_BYTES: usize = 7;
const COM_CHANGE_USER: u8 = 0x11;
/// Payload of a packet that another one follows.
const MYSQL_FULL_BYTES: usize = 0xff_ffff;
const CLIENT_SECURE_CONNECTION: u32 = 0x8000;
const CLIENT_PLUGIN_AUTH_LENENC: u32 = 0x0020_0000;
/// Capabilities, largest packet, character set and 23 bytes without meaning.
const MYSQL_RESPONSE_HEAD_BYTES: usize = 32;

/// A connection to `MySQL` as far as its login goes.
struct Login {
    is_session: bool,
    /// Whether the greeting was answered.
    answered: bool,
    /// Which parameters of the statement that was prepared last are secrets, and how many it has.
    prepared: (sql::Parameters, usize),
}

impl Login {
    /// Answers to the greeting and to what it is followed by, `COM_CHANGE_USER`, and statements.
    fn message(&mut self, message: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
        let (head, body) = message.split_at_checked(MYSQL_HEAD_BYTES)?;
        let (number, command) = (head[MYSQL_HEAD_BYTES - 1], body.first().copied().unwrap_or_default());
        if number == 0 && matches!(command, COM_QUERY | COM_STMT_PREPARE | COM_STMT_EXECUTE | COM_STMT_SEND_LONG_DATA) {
            let (secret, count) = (&self.prepared.0, self.prepared.1);
            let other = match command {
                COM_STMT_EXECUTE => mysql::executed(body, secret, count, replace),
                COM_STMT_SEND_LONG_DATA => {
                    let (head, data) = body.split_at_checked(MYSQL_LONG_DATA_HEAD_BYTES)?;
                    let name = secret.get(&usize::from(u16::from_le_bytes([head[5], head[6]])));
                    let other = name.and_then(|name| replace(&sql::secret(name, data)?));
                    other.map(|other| [head, &other].concat())
                }
                _ => {
                    if command == COM_STMT_PREPARE {
                        self.prepared = sql::parameters(&body[1..], Protocol::MySql);
                    }
                    sql::statement(body, Protocol::MySql, &sql::Prepared::new(), replace)
                }
            }?;
            let fits = other.len().max(body.len()) < MYSQL_FULL_BYTES;
            let length = (other.len() as u32).to_le_bytes();
            return fits.then(|| [&length[..MYSQL_HEAD_BYTES - 1], &[0], &other].concat());
        }
        let mut body = body.to_vec();
        if number == 0 && command == COM_CHANGE_USER {
            after_name(&mut body, 1, true)?.fill(0);
        } else if self.is_session && number > 0 {
            // A request for encryption is the head alone; a single byte is a question, such as for a key.
            if body.len() <= 1 || body.len() == MYSQL_RESPONSE_HEAD_BYTES && !self.answered {
                return None;
            }
            if std::mem::replace(&mut self.answered, true) {
                body.fill(0);
            } else {
                mysql_response(&mut body)?.fill(0);
            }
        } else {
            return None;
        }
        Some([head, &body].concat())
    }
}

/// The authentication data of `HandshakeResponse41`.
fn mysql_response(body: &mut [u8]) -> Option<&mut [u8]> {
    let capabilities = u32::from_le_bytes(*body.first_chunk()?);
    // Both forms have their length in one byte as long as it is less than 251.
    let counted = capabilities & (CLIENT_SECURE_CONNECTION | CLIENT_PLUGIN_AUTH_LENENC) != 0;
    after_name(body, MYSQL_RESPONSE_HEAD_BYTES, counted)
}

/// What follows the name that begins at this byte: with its length before it, or up to a zero.
fn after_name(body: &mut [u8], from: usize, counted: bool) -> Option<&mut [u8]> {
    let start = from + memchr::memchr(0, body.get(from..)?)? + 1;
    if counted {
        let length = usize::from(*body.get(start)?);
        return body.get_mut(start + 1..start + 1 + length);
    }
    let length = memchr::memchr(0, body.get(start..)?)?;
    body.get_mut(start..start + length)
}
