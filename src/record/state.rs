//! What a connection to a database was told before a call, where the answer depends on it: the database that is in use, the
//! user, where names are looked for.
//!
//! It stands at the beginning of a call as one message of the client, so that it is in the key and in the file: `SELECT n`
//! (Redis, other than 0; with `AUTH user` behind it), `COM_INIT_DB` (`MySQL`, if there is a database; variables that were set
//! behind its name), a startup message of user, database and settings
//! (`PostgreSQL`). Calls without one, as in files of other tools, say nothing of it.
//!
//! A state may say hints, too: what may have changed the answer, or not, as the last call of a function of the program's own.
//! They are in no key. Where the answers to a call differ with them, they choose (`book/queue`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::exchange::{Content, Exchange, Message, Protocol, Side};
use super::redact::command;
use super::{mysql, postgres};
use crate::text::escape::hex;

/// Whether the messages of this call begin with the state of its connection.
pub(super) fn leads(exchange: &Exchange) -> bool {
    let Content::Wire(protocol, wire) = &exchange.content else { return false };
    leads_messages(*protocol, &wire.messages)
}

/// Version of the startup messages that say all settings of a connection to `PostgreSQL`: 3.1, which no client speaks. Those of
/// 3.0, in files of earlier versions, say only where names are looked for and with whose rights.
pub(super) const FULL_STATE_VERSION: u32 = 196_609;

/// Whether the messages of this call begin with a state that says all settings.
pub(super) fn is_full(exchange: &Exchange) -> bool {
    let Content::Wire(Protocol::Postgres, wire) = &exchange.content else { return false };
    let first = wire.messages.iter().find(|message| message.from == Side::Client);
    leads(exchange) && first.is_some_and(|first| first.bytes.get(4..8) == Some(&FULL_STATE_VERSION.to_be_bytes()))
}

/// Whether the first of the client's messages is the state of the connection, and not a call itself.
pub(super) fn leads_messages(protocol: Protocol, messages: &[Message]) -> bool {
    let mut client = messages.iter().filter(|message| message.from == Side::Client);
    let (Some(first), Some(second)) = (client.next(), client.next()) else { return false };
    match protocol {
        Protocol::Redis => command(&first.bytes)
            .is_some_and(|(words, _)| words.first().is_some_and(|word| word.eq_ignore_ascii_case(b"SELECT"))),
        // Length and sequence number, then the command: COM_INIT_DB.
        Protocol::MySql => first.bytes.get(3..5) == Some(&[0, 2]),
        // Only an opening message has no type. Passwords and other opening messages after it are of a login.
        Protocol::Postgres => {
            first.bytes.first() == Some(&0) && !matches!(second.bytes.first(), None | Some(b'p' | b'\0'))
        }
        _ => false,
    }
}

/// What the name of a hint begins with in a state.
pub(super) const HINT: &str = "perhaps ";

/// The name of the hint that says which function of a program's own was called last, and with what.
pub(super) const LAST_CALL: &str = "last call()";
/// The name of the hint that says in which order such functions were called and variables set.
pub(super) const ORDER: &str = "order of calls()";
/// The name of the hint that says what the open transaction has written.
pub(super) const WRITES: &str = "writes of its transaction";
/// Bytes of a digest of what was written: enough to tell apart what the transactions of one recording wrote.
const WRITES_BYTES: usize = 2;

/// What a call says that may have changed its answer, by name.
pub(super) type Hints = BTreeMap<String, String>;

/// What a transaction has written, after what it had written before and a write that says this.
pub(super) fn chained(before: &str, said: &[u8]) -> String {
    hex(&Sha256::new().chain_update(before).chain_update(said).finalize()[..WRITES_BYTES])
}

/// The hints of a call.
pub(super) fn hints(exchange: &Exchange) -> Hints {
    let Content::Wire(protocol, wire) = &exchange.content else { return Hints::new() };
    let first = wire.messages.iter().find(|message| message.from == Side::Client);
    let Some(first) = first.filter(|_| leads_messages(*protocol, &wire.messages)) else { return Hints::new() };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let hint = |(name, value): (&[u8], &[u8])| Some((text(name.strip_prefix(HINT.as_bytes())?), text(value)));
    match protocol {
        Protocol::Postgres => postgres::said_in_state(&first.bytes).filter_map(hint).collect(),
        Protocol::MySql => mysql::said_in_state(&first.bytes).filter_map(hint).collect(),
        _ => Hints::new(),
    }
}

/// A state without hints, if it says anything else.
pub(super) fn firm(protocol: Protocol, state: &[u8]) -> Option<Cow<'_, [u8]>> {
    if memchr::memmem::find(state, HINT.as_bytes()).is_none() {
        return Some(Cow::Borrowed(state));
    }
    match protocol {
        Protocol::Postgres => Some(postgres::firm(state)),
        Protocol::MySql => mysql::firm(state),
        _ => Some(Cow::Borrowed(state)),
    }
}

/// Makes of what is said in a call what is compared: no hints, and a statement is the same whichever way it is carried out.
pub(super) fn compare(protocol: Protocol, messages: &mut Vec<Message>) {
    let Some(at) = messages.iter().position(|message| message.from == Side::Client) else { return };
    if leads_messages(protocol, messages) {
        match firm(protocol, &messages[at].bytes).map(Cow::into_owned) {
            Some(firm) => messages[at].bytes = firm,
            None => drop(messages.remove(at)),
        }
    }
    if protocol == Protocol::Postgres {
        postgres::unify(messages);
    }
}
