//! Identity and settings of a connection from its startup message. The application name is ignored:
//! many programs put their process id into it.

use std::borrow::Cow;

use super::message::{opening, opening_of, parameter, parameters};
use crate::call::{Side, Wire};
use crate::protocol::script::Identity;

const NAME: &str = "application_name";
/// Version of the clients' startup messages, 3.0. Messages of other versions mark the connection
/// state before recorded calls.
const LOGIN_VERSION: u32 = 196_608;

pub(crate) fn startup_of(wire: &Wire) -> Option<&[u8]> {
    let first = wire.messages_by(Side::Client).next();
    first.filter(|first| first.first() == Some(&0) && opening(first).is_ok())
}

pub(crate) fn who(startup: &[u8]) -> Identity {
    let settings = parameters(startup).filter_map(|(name, value)| {
        let name = std::str::from_utf8(name)
            .ok()
            .filter(|name| !["user", "database", NAME].contains(name))?;
        Some((name.to_owned(), value.to_vec()))
    });
    let user = parameter(startup, b"user").unwrap_or_default();
    // The database defaults to the user name.
    let database = parameter(startup, b"database").unwrap_or(user);
    Identity {
        user: user.to_vec(),
        database: database.to_vec(),
        settings: settings.collect(),
    }
}

/// Removes the application name from a client's login message.
pub(crate) fn without_application_name(whole: &[u8]) -> Cow<'_, [u8]> {
    let is_login = whole.first() == Some(&0) && opening_of(whole) == Some(LOGIN_VERSION);
    if !is_login || parameter(whole, NAME.as_bytes()).is_none() {
        return Cow::Borrowed(whole);
    }
    let kept = parameters(whole).filter(|(name, _)| *name != NAME.as_bytes());
    let body: Vec<u8> = kept
        .flat_map(|(name, value)| [name, b"\0", value, b"\0"].concat())
        .collect();
    let length = (body.len() as u32 + 9).to_be_bytes();
    Cow::Owned([&length[..], &LOGIN_VERSION.to_be_bytes(), &body, b"\0"].concat())
}
