//! Mails (RFC 5322), as SMTP sends them.

use aho_corasick::{AhoCorasick, MatchKind};

use super::word;
use crate::protocol::part_list::{PartList, Role};

/// Line that ends a mail (RFC 5321, 4.1.1.4), and the same with the end of the line before it.
pub(super) const LAST_LINE: &[u8] = b".\r\n";
const END: &[u8] = b"\r\n.\r\n";
/// Header fields that differ for each mail: times and traces, names of mails (RFC 5322, 3.6), and
/// signatures of these.
const UNCOMPARED: [&str; 6] = [
    "date",
    "received",
    "message-id",
    "in-reply-to",
    "references",
    "dkim-signature",
];

/// Shortest name that each run may make anew, in bytes.
const MIN_NAME_BYTES: usize = 8;

/// Returns the length of a mail with its end; `None` while it is incomplete.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(LAST_LINE) {
        return Some(LAST_LINE.len());
    }
    memchr::memmem::find(bytes, END).map(|end| end + END.len())
}

/// Takes a mail apart: header fields, and the pieces between boundaries (RFC 2046, 5.1.1). Names
/// that the mail gives to itself are numbered.
pub(super) fn parts(mail: &[u8], taken: &mut PartList) {
    let Ok(names) = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(own_names(mail))
    else {
        return word("mail", mail, taken);
    };
    let text = numbered(&unix_lines(mail), &names);
    // Breaks of quoted-printable (RFC 2045, 6.7) fall into names, too.
    let text = numbered(&replaced(&text, b"=\n", b""), &names);
    let (head, body) = head_and_body(&text);
    for (name, value) in fields(head) {
        if !UNCOMPARED.contains(&name.as_str()) {
            taken.text(format!(" {name}: ").as_bytes());
            let shown = String::from_utf8_lossy(value).into_owned();
            taken.put(Role::Literal, format!("header.{name}"), value, shown);
        }
    }
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, after) = split(rest, b"\n--");
        word("part", piece, taken);
        rest = after;
    }
}

/// Puts the identification of a mail in place of the recorded one.
pub(super) fn put_message_id(recorded: &[u8], asked: &[u8], answer: &mut Vec<u8>) {
    if let (Some(recorded), Some(asked)) = (message_id(recorded), message_id(asked)) {
        *answer = replaced(answer, &recorded, &asked);
    }
}

fn message_id(mail: &[u8]) -> Option<Vec<u8>> {
    length(mail)?;
    let text = unix_lines(mail);
    let mut fields = fields(head_and_body(&text).0);
    let (_, value) = fields.find(|(name, _)| name == "message-id")?;
    Some(value.to_vec()).filter(|value| value.len() >= MIN_NAME_BYTES)
}

/// Returns a mail with ends of lines as in Unix, since some programs send these.
fn unix_lines(mail: &[u8]) -> Vec<u8> {
    replaced(mail, b"\r\n", b"\n")
}

/// Splits a mail; a later piece of one has no header.
fn head_and_body(mail: &[u8]) -> (&[u8], &[u8]) {
    let end = mail.iter().position(|byte| b": \n".contains(byte));
    if end.is_some_and(|end| mail[end] == b':') {
        split(mail, b"\n\n")
    } else {
        (b"", mail)
    }
}

/// Returns header fields by names in lower case. A folded value keeps its lines (2.2.3).
fn fields(head: &[u8]) -> impl Iterator<Item = (String, &[u8])> {
    let mut rest = head;
    std::iter::from_fn(move || {
        let is_end = |at: &usize| !matches!(rest.get(at + 1), Some(b' ' | b'\t'));
        let end = memchr::memmem::find_iter(rest, b"\n").find(is_end);
        let field = rest.get(..end.unwrap_or(rest.len()))?;
        rest = rest.get(field.len() + 1..).unwrap_or_default();
        let (name, value) = split(field, b":");
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        (!field.is_empty()).then(|| (name, value.trim_ascii()))
    })
}

/// Returns the names that a mail gives to itself and its parts: boundaries and content ids.
fn own_names(mail: &[u8]) -> Vec<&[u8]> {
    let mut names = Vec::new();
    let is_end = |byte: &u8| b"\"<>; \t\r\n".contains(byte);
    let lower = mail.to_ascii_lowercase();
    for mark in [&b"boundary="[..], b"content-id:", b"message-id:"] {
        for at in memchr::memmem::find_iter(&lower, mark) {
            let value = &mail[at + mark.len()..];
            let start = value.iter().position(|byte| !is_end(byte));
            let value = &value[start.unwrap_or(value.len())..];
            let end = value.iter().position(is_end).unwrap_or(value.len());
            names.push(&value[..end]);
        }
    }
    names.retain(|name| name.len() >= MIN_NAME_BYTES);
    names
}

/// Replaces each of these names by its number.
fn numbered(text: &[u8], names: &AhoCorasick) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    names.replace_all_with_bytes(text, &mut out, |name, _, out| {
        out.extend(format!("({})", name.pattern().as_usize()).bytes());
        true
    });
    out
}

/// Splits bytes at the first mark.
fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> (&'a [u8], &'a [u8]) {
    match memchr::memmem::find(bytes, mark) {
        Some(at) => (&bytes[..at], &bytes[at + mark.len()..]),
        None => (bytes, b""),
    }
}

fn replaced(text: &[u8], one: &[u8], other: &[u8]) -> Vec<u8> {
    let (mut out, mut from) = (Vec::with_capacity(text.len()), 0);
    for at in memchr::memmem::find_iter(text, one) {
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(other);
        from = at + one.len();
    }
    out.extend_from_slice(&text[from..]);
    out
}
