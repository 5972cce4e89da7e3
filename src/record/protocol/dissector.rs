//! Parser of calls and messages of every protocol into parts.

use super::byte_parts::byte_parts;
use super::framing;
use super::part_list::{Part, PartList, Role};
use super::{http, mongo, postgres, registry};
use crate::call::{Content, Protocol, Side, Wire};

pub(crate) fn parts(content: &Content) -> Vec<Part> {
    let mut taken = PartList::default();
    match content {
        Content::Http(http) | Content::Grpc(http) => http::parts(&http.request, &mut taken),
        Content::Dns(dns) => taken.text(format!("{} {}", dns.kind, dns.name).as_bytes()),
        Content::Wire(protocol, wire) => return parts_of_wire(*protocol, wire),
    }
    taken.parts
}

pub(crate) fn parts_of_wire(protocol: Protocol, wire: &Wire) -> Vec<Part> {
    let mut taken = PartList::default();
    let mut messages = wire
        .messages
        .iter()
        .filter(|message| message.from == Side::Client)
        .cloned()
        .collect();
    if protocol == Protocol::Postgres {
        postgres::unify(&mut messages);
    }
    for message in messages {
        self::message(protocol, &message.bytes, &mut taken);
    }
    for (name, text) in wire.meta.texts() {
        taken.head(format!("{name}={text}").as_bytes());
    }
    taken.parts
}

/// Returns the parts of one message; `None` if it is malformed.
pub(crate) fn parts_of(protocol: Protocol, bytes: &[u8]) -> Option<Vec<Part>> {
    let mut taken = PartList::default();
    (registry::of(protocol)?.parts)(bytes, &mut taken).map(|()| taken.parts)
}

fn message(protocol: Protocol, bytes: &[u8], taken: &mut PartList) {
    taken.put(Role::Message, String::new(), b"", String::new());
    match protocol {
        Protocol::Generic => return byte_parts(bytes, taken),
        Protocol::Framed(framing) => return framing::parts(framing, bytes, taken),
        _ => {}
    }
    let (before, counts) = (taken.parts.len(), taken.counts.clone());
    if registry::of(protocol)
        .and_then(|known| (known.parts)(bytes, taken))
        .is_none()
    {
        // A malformed message is compared as a whole, without the values that change in each run:
        // application names and message numbers.
        taken.parts.truncate(before);
        taken.counts = counts;
        match protocol {
            Protocol::Postgres => taken.head(&postgres::without_application_name(bytes)),
            Protocol::Mongo => taken.head(&mongo::renumbered(bytes, 0, 0)),
            _ => taken.head(bytes),
        }
    }
}
