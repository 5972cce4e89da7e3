//! Messages as text for people.

#[cfg(test)]
mod tests;

use crate::call::{Protocol, Side, Wire};
use crate::protocol::dissector::parts_of;
use crate::protocol::part_list::{Part, Role};
use crate::protocol::registry;

/// Formats the client's messages, by protocol where possible.
pub fn client_text(protocol: Protocol, wire: &Wire) -> String {
    let texts = wire
        .messages_by(Side::Client)
        .map(|bytes| text(protocol, bytes))
        .filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("; ")
}

/// Formats a message: the command or statement with its values, or the readable part of its bytes.
pub fn text(protocol: Protocol, bytes: &[u8]) -> String {
    let rest = registry::of(protocol).map_or(0, |known| (known.head)(bytes));
    match parts_of(protocol, bytes).filter(|_| rest < bytes.len()) {
        // Binary spans leave spaces.
        Some(parts) if protocol.is_in_turns() => {
            let text = format_parts(&parts);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        Some(parts) => format_parts(&parts),
        None => readable(bytes.get(rest..).unwrap_or(bytes)),
    }
}

/// Joins the text, and the values beside it. Values of documents have names; fields that drivers
/// add and binary spans are left out.
fn format_parts(parts: &[Part]) -> String {
    let is_added = |part: &&Part| {
        if part.name.starts_with("bytes.") {
            return true;
        }
        let field = part
            .name
            .strip_prefix("body.")
            .and_then(|name| name.split('.').next());
        matches!(
            field,
            Some("lsid" | "$clusterTime" | "txnNumber" | "$readPreference")
        )
    };
    let in_text: Vec<u8> = parts
        .iter()
        .filter(|part| part.is_in_text())
        .flat_map(|part| part.bytes.clone())
        .collect();
    let beside = parts
        .iter()
        .filter(|part| !part.is_in_text() && !part.text.is_empty() && !is_added(part));
    let beside = beside.map(|part| match part.name.strip_prefix("body.") {
        Some(name) if part.role == Role::Bound => format!("{name}={}", part.text),
        _ => part.text.clone(),
    });
    let words =
        std::iter::once(readable(&in_text)).chain(beside.map(|text| readable(text.as_bytes())));
    words
        .filter(|words| !words.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Converts bytes to text; each run of other bytes becomes one space.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words = text
        .split(|c: char| c.is_control() || c == '\u{fffd}')
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
