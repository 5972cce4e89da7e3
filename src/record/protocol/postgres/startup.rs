//! Who a connection is of, and what it is opened with.

use super::application::NAME;
use super::message::{opening, parameter, parameters};
use crate::record::call::{Side, Wire};
use crate::record::matching::history::{History, digest, set};

/// The startup message of a login.
pub(in crate::record) fn startup_of(wire: &Wire) -> Option<&[u8]> {
    let first = wire.messages.iter().find(|message| message.from == Side::Client)?;
    Some(&*first.bytes).filter(|first| first.first() == Some(&0) && opening(first).is_ok())
}

/// The database of a startup message: the user's, if it names none.
pub(super) fn database(startup: &[u8]) -> Option<&[u8]> {
    parameter(startup, b"database").or_else(|| parameter(startup, b"user"))
}

/// Opens a connection as a startup message says.
pub(in crate::record) fn open(history: &mut History, startup: &[u8]) {
    let settings = parameters(startup).filter_map(|(name, value)| {
        let name = std::str::from_utf8(name).ok().filter(|name| !["user", "database", NAME].contains(name))?;
        Some((set(name), digest([Some(value)].into_iter())))
    });
    history.open(parameter(startup, b"user").unwrap_or_default(), database(startup).unwrap_or_default(), settings);
}
