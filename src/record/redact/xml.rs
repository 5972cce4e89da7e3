//! Secrets in XML (XML 1.0, fifth edition): texts of elements and values of attributes that have such a name, whatever
//! prefix is before it, or that an element before them gives (`<name>password</name><value>...`, as in XML-RPC and lists of
//! properties). Nothing but values changes.

use std::borrow::Cow;
use std::ops::Range;

use super::names::{is_description, is_doubtful, is_secret_key};
use super::plain::may_hold;
use super::{cards, meaning};

/// A value that is a secret or may hold an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The name that makes it a secret; empty where none does.
    pub(super) name: Cow<'a, str>,
    /// Where it is, as it is spelt.
    pub(super) at: Range<usize>,
}

/// Deepest nesting that is looked into; what is deeper is taken for a part of what it is in.
const MAX_DEPTH: usize = 128;
/// Attributes whose value may name what the element holds: `<param name="password">`, `<add key="password" value="..."/>`.
const NAMES: [&str; 3] = ["name", "key", "id"];

/// Texts and values of attributes that are secrets or may hold an address, in their order.
pub(super) fn values(bytes: &[u8]) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    // The names that make secrets of what is in the elements that are open.
    let mut open: Vec<Cow<'_, str>> = Vec::new();
    let (mut at, mut too_deep) = (0, 0_usize);
    // Whether an element is open that names the next one, and what it says.
    let (mut is_naming, mut named): (bool, Option<Cow<'_, str>>) = (false, None);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let skipped = |begin: &[u8], end: &[u8]| {
            let inside = rest.strip_prefix(begin)?;
            Some(begin.len()..begin.len() + memchr::memmem::find(inside, end).unwrap_or(inside.len()))
        };
        let name = || open.last().cloned().unwrap_or_default();
        if rest[0] != b'<' {
            let end = at + memchr::memchr(b'<', rest).unwrap_or(rest.len());
            let text = &bytes[at..end];
            let start = end - text.trim_ascii_start().len();
            let at_text = start..start + text.trim_ascii().len();
            if is_naming && !at_text.is_empty() {
                named = Some(String::from_utf8_lossy(&bytes[at_text.clone()])).filter(|name| is_secret_key(name));
            }
            note(bytes, name(), at_text, &mut found);
            at = end;
        } else if let Some(inside) = skipped(b"<![CDATA[", b"]]>") {
            let end = at + inside.end;
            note(bytes, name(), at + inside.start..end, &mut found);
            at = end + 3;
        } else if let Some(inside) = skipped(b"<!--", b"-->") {
            at += inside.end + 3;
        } else if let Some(inside) = skipped(b"<?", b"?>") {
            at += inside.end + 2;
        } else if let Some(inside) = skipped(b"</", b">") {
            at += inside.end + 1;
            is_naming = false;
            if too_deep > 0 {
                too_deep -= 1;
            } else {
                open.pop();
            }
        } else if let Some(inside) = skipped(b"<!", b">") {
            at += inside.end + 1;
        } else {
            let outer = named.take().unwrap_or_else(name);
            let (end, is_empty, name) = element(bytes, at, outer, &mut found);
            let tag = bytes[at + 1..end].split(|byte| byte.is_ascii_whitespace() || *byte == b'>').next();
            is_naming = tag.is_some_and(|tag| tag == b"name" || tag == b"key");
            at = end;
            if is_empty {
                continue;
            }
            if open.len() < MAX_DEPTH {
                open.push(name);
            } else {
                too_deep += 1;
            }
        }
    }
    found
}

/// The element that begins here: where its tag ends, whether it has no content, and the name that makes a secret of it.
fn element<'a>(
    bytes: &'a [u8],
    start: usize,
    outer: Cow<'a, str>,
    found: &mut Vec<Found<'a>>,
) -> (usize, bool, Cow<'a, str>) {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"/>=".contains(byte);
    let word = |at: usize| at + bytes[at..].iter().position(is_end).unwrap_or(bytes.len() - at);
    let mut at = word(start + 1);
    let tag = local(&bytes[start + 1..at]);
    let mut secret = if is_secret_key(&tag) {
        tag
    } else if meaning::is_card((outer == cards::NAME).then_some("card"), &tag) {
        Cow::Borrowed(cards::NAME)
    } else if is_description(&tag) || is_doubtful(&outer) || outer == cards::NAME {
        Cow::default()
    } else {
        outer
    };
    let mut value = None;
    let mut is_empty = false;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'>' {
            at += 1;
            break;
        }
        is_empty = *byte == b'/';
        if is_end(byte) {
            at += 1;
            continue;
        }
        let end = word(at);
        let name = local(&bytes[at..end]);
        at = end + bytes[end..].iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b'=').count();
        let Some(quote) = bytes.get(at).filter(|byte| matches!(byte, b'"' | b'\'')) else { continue };
        let inside = at + 1..at + 1 + memchr::memchr(*quote, &bytes[at + 1..]).unwrap_or(bytes.len() - at - 1);
        at = inside.end + 1;
        let shown = String::from_utf8_lossy(&bytes[inside.clone()]);
        if NAMES.contains(&&*name) && is_secret_key(&shown) {
            secret = shown;
        } else if name == "value" && !inside.is_empty() {
            value = Some(found.len());
            found.push(Found { name: Cow::default(), at: inside });
            continue;
        }
        let is_card = meaning::is_card(None, &name);
        let name = if is_secret_key(&name) { name } else { Cow::Borrowed(if is_card { cards::NAME } else { "" }) };
        note(bytes, name, inside, found);
    }
    if let Some(value) = value.and_then(|index| found.get_mut(index)) {
        value.name.clone_from(&secret);
    }
    (at.min(bytes.len()), is_empty, secret)
}

fn note<'a>(bytes: &[u8], name: Cow<'a, str>, at: Range<usize>, found: &mut Vec<Found<'a>>) {
    let value = &bytes[at.clone()];
    let name = if name == cards::NAME && !cards::is_number(value) { Cow::default() } else { name };
    if !value.is_empty() && (!name.is_empty() || may_hold(value)) {
        found.push(Found { name, at });
    }
}

/// A name without the prefix of its namespace.
fn local(name: &[u8]) -> Cow<'_, str> {
    let start = memchr::memrchr(b':', name).map_or(0, |at| at + 1);
    String::from_utf8_lossy(&name[start..])
}
