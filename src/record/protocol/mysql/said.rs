//! What a recorded call says of its connection.

use super::answer;
use super::handshake::{self, Hello, Login};
use super::packet::{self, command};
use super::statements::{is_of_any_context, selected};
use crate::record::call::{Protocol, Side, Wire};

/// Who was let in by a call: a login, or a change to another user.
pub(in crate::record) fn login_of(wire: &Wire) -> Option<Login> {
    let (first, verdict) = (wire.said(Side::Server).next()?, wire.said(Side::Server).next_back()?);
    if packet::code(verdict) != Some(0) {
        return None;
    }
    let asked = wire.said(Side::Client).next()?;
    if handshake::is_greeting(first) {
        return if let Ok(Hello::Login(login)) = handshake::hello(asked) { Some(login) } else { None };
    }
    let is_change = packet::code(asked) == Some(command::CHANGE_USER);
    // Without the answer to the challenge, which is in no recording.
    is_change.then(|| handshake::change_user(asked, 0).ok()).flatten()
}

/// Whether a transaction is open after a call (`SERVER_STATUS_IN_TRANS`), unless it was answered by an error.
pub(in crate::record) fn leaves_open(wire: &Wire) -> Option<bool> {
    let flags = answer::status(packet::payload(wire.said(Side::Server).next_back()?))?;
    Some(flags & 1 != 0)
}

/// Whether a call makes a connection what it was at first (`COM_RESET_CONNECTION`).
pub(in crate::record) fn resets(wire: &Wire) -> bool {
    wire.said(Side::Client).next_back().and_then(packet::code) == Some(command::RESET_CONNECTION)
}

/// The database that a call selects.
pub(in crate::record) fn selected_by(protocol: Protocol, wire: &Wire) -> Option<Vec<u8>> {
    if protocol == Protocol::MySql { selected(wire.said(Side::Client).next_back()?) } else { None }
}

/// Whether a message carries a statement out.
pub(in crate::record) fn carries_out(message: &[u8]) -> bool {
    matches!(packet::code(message), Some(command::QUERY | command::EXECUTE))
}

/// Whether the answer to a call depends on the database and on who asks.
pub(in crate::record) fn is_of_context(wire: &Wire) -> bool {
    wire.said(Side::Client).next_back().is_some_and(|last| !is_of_any_context(last))
}
