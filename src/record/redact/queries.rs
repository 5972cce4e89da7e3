//! Secrets in queries of URLs and in forms.

use std::borrow::Cow;

use super::names::{decoded, is_secret_argument};
use super::walk::{Edit, Replace, below, beneath, linked, text, variables, within};
use super::{cards, meaning, settings};

/// Pairs of a query or a form (`;` is as good as `&`: HTML 4, B.2.2).
pub(super) fn parameters(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    let query = graphql(bytes);
    let given = query.as_deref().map(settings::variables).unwrap_or_default();
    let mut start = 0;
    for piece in pieces(bytes) {
        let end = start + piece.len();
        if let Some(at) = memchr::memchr(b'=', piece) {
            let (name, value) = (String::from_utf8_lossy(&piece[..at]), &piece[at + 1..]);
            let other = if is_secret_argument(&name, value) {
                replace(&text(&name, value))
            } else if is_card(&name, value) {
                replace(&text(cards::NAME, value))
            } else if memchr::memchr2(b'%', b':', value).is_some() {
                let plain = String::from_utf8_lossy(value);
                let place = below(0, decoded(&name));
                let (plain, mut replace) = (decoded(&plain), beneath(place, replace));
                let is_address = plain.starts_with('/') || plain.contains("://");
                let other = if name == "variables" && !given.is_empty() {
                    variables(plain.as_bytes(), &given, &mut replace)
                } else if is_address {
                    linked(plain.as_bytes(), &mut replace)
                } else {
                    within(plain.as_bytes(), &mut replace)
                };
                other.map(|other| encoded(&other))
            } else {
                None
            };
            edit.put(start + at + 1..end, other);
        }
        start = end + 1;
    }
    edit.end()
}

fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| matches!(byte, b'&' | b';'))
}

/// The query of GraphQL among these parameters, whose variables stand in another one (GraphQL over HTTP, "URL").
fn graphql(bytes: &[u8]) -> Option<String> {
    memchr::memmem::find(bytes, b"variables=")?;
    let query = pieces(bytes).find_map(|piece| piece.strip_prefix(b"query="))?;
    let query = String::from_utf8_lossy(query).replace('+', " ");
    let query: Cow<'_, str> = decoded(&query);
    settings::is_query(query.as_bytes()).then(|| query.into_owned())
}

/// Whether a parameter is the number of a card; `+` is a space there.
pub(super) fn is_card(name: &str, value: &[u8]) -> bool {
    value.first().is_some_and(|first| first.is_ascii_digit() || *first == b'r')
        && cards::is_number(decoded(&String::from_utf8_lossy(value).replace('+', " ")).as_bytes())
        && meaning::is_card(None, &decoded(name))
}

/// Percent-encodes what is not unreserved (RFC 3986, 2.3), but `+`, which was not decoded.
pub(super) fn encoded(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~+".contains(byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out
}
