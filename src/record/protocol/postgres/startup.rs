//! Who a connection is of, and what it is opened with.

use super::application::NAME;
use super::message::{opening, parameter, parameters};
use crate::record::call::{Side, Wire};
use crate::record::protocol::script::Who;

/// The startup message of a login.
pub(in crate::record) fn startup_of(wire: &Wire) -> Option<&[u8]> {
    let first = wire.messages.iter().find(|message| message.from == Side::Client)?;
    Some(&*first.bytes).filter(|first| first.first() == Some(&0) && opening(first).is_ok())
}

/// The database of a startup message: the user's, if it names none.
fn database(startup: &[u8]) -> Option<&[u8]> {
    parameter(startup, b"database").or_else(|| parameter(startup, b"user"))
}

/// Who a startup message is of. The name that a program gives itself chooses nothing.
pub(in crate::record) fn who(startup: &[u8]) -> Who {
    let settings = parameters(startup).filter_map(|(name, value)| {
        let name = std::str::from_utf8(name).ok().filter(|name| !["user", "database", NAME].contains(name))?;
        Some((name.to_owned(), value.to_vec()))
    });
    Who {
        user: parameter(startup, b"user").unwrap_or_default().to_vec(),
        database: database(startup).unwrap_or_default().to_vec(),
        settings: settings.collect(),
    }
}
