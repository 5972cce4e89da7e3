//! Where secrets stand in what is said over HTTP.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::fields::{callers, is_secret_header};
use super::names::{is_password, is_secret_argument};
use super::placeholder::MARKED;
use super::plain::{addresses, prose};
use super::queries::parameters;
use super::{blank, cards, cookies, credential_files, json, multipart, paths, settings, shapes, xml};

/// Longest text that stands for a secret and has a blank in it, in bytes.
const LONGEST_MARKED_BYTES: usize = 64;

/// A secret where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secret<'a> {
    /// The name of its field, key or parameter, as it is spelt.
    pub(super) name: &'a str,
    /// What it is, as it is spelt.
    pub(super) value: &'a [u8],
    /// What it is a part of.
    pub(super) form: Form,
    /// Whether it may have been thought of by a person.
    pub(super) guessable: bool,
    /// What it stands in, beside its name: the hash of the keys and places in lists that lead to it. Zero at the top.
    pub(super) place: u64,
}

impl<'a> Secret<'a> {
    /// A password that has no name, or one of many.
    pub(super) fn password(value: &'a [u8], form: Form) -> Self {
        Self { name: "password", value, form, guessable: true, place: 0 }
    }
}

/// The place of what stands under a key, or at a number, in this place.
pub(super) fn below(place: u64, step: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    (place, step).hash(&mut hasher);
    hasher.finish()
}

/// Says what stands for a secret in a part that stands in this place.
pub(super) fn beneath(place: u64, replace: Replace<'_>) -> impl FnMut(&Secret<'_>) -> Option<Vec<u8>> + '_ {
    move |secret| replace(&Secret { place: below(place, secret.place), ..*secret })
}

/// What a secret is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Credentials in a field of HTTP.
    Field,
    /// Who signs a request, in a field of HTTP: a name, and no secret that an answer would repeat.
    Caller,
    /// What is made for one request, in a field of HTTP.
    Signature,
    /// A cookie that is a secret.
    Cookie,
    /// A cookie that is none: it stays, and chooses an answer where several were recorded.
    Setting,
    /// A parameter, or a text of JSON.
    Text,
    /// A number of JSON.
    Number,
    /// A token that is known by its shape, wherever it stands: what stands for it is as long.
    Token,
    /// An address: nothing but what an address may hold can stand for it.
    Address,
}

/// Says what stands for a secret; `None` if it stays.
pub(super) type Replace<'a> = &'a mut dyn FnMut(&Secret<'_>) -> Option<Vec<u8>>;

/// Texts with some parts replaced.
pub(super) struct Edit<'a> {
    bytes: &'a [u8],
    out: Vec<u8>,
    kept: usize,
    changed: bool,
}

impl<'a> Edit<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, out: Vec::new(), kept: 0, changed: false }
    }

    /// Replaces a part that lies behind those before it.
    pub(super) fn put(&mut self, at: Range<usize>, other: Option<Vec<u8>>) {
        if let Some(other) = other {
            self.out.extend_from_slice(&self.bytes[self.kept..at.start]);
            self.out.extend_from_slice(&other);
            self.kept = at.end;
            self.changed = true;
        }
    }

    /// Up to where it is known what stands there.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    pub(super) fn end(mut self) -> Option<Vec<u8>> {
        self.out.extend_from_slice(if self.changed { &self.bytes[self.kept..] } else { &[] });
        self.changed.then_some(self.out)
    }
}

/// A part of a call: by what `named` does with its secrets that have names, and tokens that are known by their shape.
fn with_shapes(
    bytes: &[u8],
    named: impl Fn(&[u8], Replace<'_>) -> Option<Vec<u8>>,
    replace: Replace<'_>,
) -> Option<Vec<u8>> {
    let other = named(bytes, replace);
    let shapes = shapes::replaced(other.as_deref().unwrap_or(bytes), || named(bytes, &mut blank), replace);
    shapes.or(other)
}

/// The query of a path, and tokens in it.
pub(super) fn path(path: &str, replace: Replace<'_>) -> Option<String> {
    let named = |path: &[u8], replace: Replace<'_>| {
        let path = String::from_utf8_lossy(path);
        named_in_path(&path, replace).map(String::into_bytes)
    };
    with_shapes(path.as_bytes(), named, replace).map(|path| String::from_utf8_lossy(&path).into_owned())
}

/// The query of a path, and a token before it.
fn named_in_path(path: &str, replace: Replace<'_>) -> Option<String> {
    let (before, query) = path.split_once('?').map_or((path, None), |(before, query)| (before, Some(query)));
    let token = paths::token(before).and_then(|at| {
        let value = &before.as_bytes()[at.clone()];
        let other = replace(&Secret { name: "path", value, form: Form::Address, guessable: false, place: 0 })?;
        Some([&before[..at.start], &String::from_utf8_lossy(&other), &before[at.end..]].concat())
    });
    let other = query.and_then(|query| parameters(query.as_bytes(), replace));
    if token.is_none() && other.is_none() {
        return None;
    }
    let before = token.unwrap_or_else(|| before.to_owned());
    let other = other.map(|other| String::from_utf8_lossy(&other).into_owned());
    Some(match other.as_deref().or(query) {
        Some(query) => format!("{before}?{query}"),
        None => before,
    })
}

/// A field of HTTP.
pub(super) fn field(name: &str, value: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    with_shapes(value, |value, replace| named_field(name, value, replace), replace)
}

/// The secrets of a field that have a name.
pub(super) fn named_field(name: &str, value: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    if is_secret_header(name) {
        return credentials(&name.to_ascii_lowercase(), value, replace);
    }
    let is_address = ["location", "content-location", "referer", "link", "refresh"];
    let lower = name.to_ascii_lowercase();
    // Services copy from addresses that are signed.
    if is_address.contains(&lower.as_str()) || lower.contains("-copy-source") || lower.contains("-rename-source") {
        return linked(value, replace);
    }
    addresses(value, replace)
}

/// Parameters of addresses and passwords in them.
pub(super) fn linked(value: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let without = links(value, replace);
    let rest = addresses(without.as_deref().unwrap_or(value), replace);
    rest.or(without)
}

/// A secret value of which stays what is none: the scheme of authentication, names and attributes of cookies.
fn credentials(name: &str, value: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(value);
    let start = value.len() - value.trim_ascii_start().len();
    let end = value.trim_ascii_end().len().max(start);
    let text = &value[start..end];
    let secret =
        |at: &Range<usize>, form, guessable| Secret { name, value: &value[at.clone()], form, guessable, place: 0 };
    match name {
        "cookie" | "set-cookie" => return cookies::values(value, name == "set-cookie", replace),
        _ => {
            let scheme = text.iter().position(|byte| *byte == b' ').filter(|at| {
                let is_scheme = text[..*at].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
                name.ends_with("authorization") && is_scheme
            });
            let at = start + scheme.map_or(0, |at| at + 1)..end;
            let guessable = scheme.is_some_and(|at| !text[..at].eq_ignore_ascii_case(b"bearer")) || is_password(name);
            for (at, form) in signed(scheme.map_or(&[], |at| &text[..at]), value, at) {
                edit.put(at.clone(), replace(&secret(&at, form, guessable)));
            }
        }
    }
    edit.end()
}

/// The parts of credentials, which stand here: where requests are signed, who signs and what is said before and after.
fn signed(scheme: &[u8], value: &[u8], all: Range<usize>) -> Vec<(Range<usize>, Form)> {
    let Some(names) = callers(scheme) else { return vec![(all, Form::Field)] };
    let Some(caller) = names.iter().find_map(|name| parameter(value, all.clone(), name)) else {
        // `OAuth` is also said before a token that is not signed.
        let is_token = !names.is_empty() && !value[all.clone()].contains(&b'=');
        return vec![(all, if is_token { Form::Field } else { Form::Signature })];
    };
    let is_between = |byte: &u8| b"\"'/, ".contains(byte);
    let name_start =
        caller.start - value[all.start..caller.start].iter().rev().take_while(|byte| **byte != b'=').count();
    let before = &value[all.start..name_start];
    let before = all.start..before.iter().rposition(|byte| *byte == b',').map_or(all.start, |comma| all.start + comma);
    let after = caller.end + value[caller.end..all.end].iter().take_while(|byte| is_between(byte)).count()..all.end;
    let parts = [(before, Form::Signature), (caller, Form::Caller), (after, Form::Signature)];
    parts.into_iter().filter(|(at, _)| !at.is_empty()).collect()
}

/// The value of a parameter among those that stand here (RFC 9110, 11.2), up to the first `/` if it has no quotes.
fn parameter(value: &[u8], all: Range<usize>, name: &str) -> Option<Range<usize>> {
    let mut start = all.start;
    while start < all.end {
        let rest = &value[start..all.end];
        let equals = memchr::memchr(b'=', rest)?;
        // What is no pair, such as what stands for those before the caller, is passed over.
        let word = rest[..equals].rsplit(|byte| *byte == b',').next().unwrap_or_default();
        let is_named = word.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        let quote = equals + 1 + (rest.len() - equals - 1 - rest[equals + 1..].trim_ascii_start().len());
        let (from, to) = if rest.get(quote) == Some(&b'"') {
            (quote + 1, quote + 1 + memchr::memchr(b'"', &rest[quote + 1..])?)
        } else {
            (quote, memchr::memchr(b',', &rest[quote..]).map_or(rest.len(), |length| quote + length))
        };
        if is_named {
            let to = if from > quote { to } else { memchr::memchr(b'/', &rest[from..to]).map_or(to, |at| from + at) };
            return (from < to).then_some(start + from..start + to);
        }
        start += memchr::memchr(b',', &rest[to..])? + to + 1;
    }
    None
}

/// Parameters of addresses in a text, in queries and in fragments.
fn links(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(|byte| b"?#&;".contains(byte)).map(|next| at + next + 1) {
        let ends = |byte: &u8| b"?#&;<>\" ,".contains(byte);
        let end = bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length);
        if let Some(equals) = memchr::memchr(b'=', &bytes[start..end]) {
            let name = String::from_utf8_lossy(&bytes[start..start + equals]);
            let value = start + equals + 1;
            // What stands for a secret may have a space in it.
            let marked = bytes[value..].starts_with(MARKED.as_bytes());
            let marked =
                marked.then(|| memchr::memchr(b']', &bytes[value..bytes.len().min(value + LONGEST_MARKED_BYTES)]));
            let value = value..marked.flatten().map_or(end, |length| value + length + 1);
            if !value.is_empty() && is_secret_argument(&name, &bytes[value.clone()]) {
                let other = replace(&text(&name, &bytes[value.clone()]));
                edit.put(value, other);
            }
        }
        at = end;
    }
    edit.end()
}

/// A secret of this name.
pub(super) fn text<'a>(name: &'a str, value: &'a [u8]) -> Secret<'a> {
    let is_card = name == cards::NAME;
    let form = if is_card { Form::Address } else { Form::Text };
    Secret { name, value, form, guessable: is_card || is_password(name), place: 0 }
}

/// A body, whatever it is.
pub(super) fn body(headers: &[(String, Vec<u8>)], body: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    with_shapes(body, |body, replace| named_in_body(headers, body, replace), replace)
}

fn named_in_body(headers: &[(String, Vec<u8>)], body: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let Some((text, is_big_endian, has_mark)) = of_utf16(body) else { return text_body(headers, body, replace) };
    let other = text_body(headers, text.as_bytes(), replace)?;
    let other = String::from_utf8_lossy(&other).into_owned();
    let mark = has_mark.then_some(0xfeff);
    let units = mark.into_iter().chain(other.encode_utf16());
    let bytes = |unit: u16| if is_big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
    Some(units.flat_map(bytes).collect())
}

/// A text that is UTF-16: whether the first byte of each unit is the greater one, and whether a mark says so (RFC 2781, 3.2).
/// Without one it is known by how JSON and XML begin.
fn of_utf16(body: &[u8]) -> Option<(String, bool, bool)> {
    let (is_big_endian, has_mark) = match body.get(..2)? {
        [0xfe, 0xff] => (true, true),
        [0xff, 0xfe] => (false, true),
        [0, b'{' | b'[' | b'<'] => (true, false),
        [b'{' | b'[' | b'<', 0] => (false, false),
        _ => return None,
    };
    let units = body[if has_mark { 2 } else { 0 }..].chunks_exact(2);
    let whole = units.remainder().is_empty();
    let unit = |pair: &[u8]| {
        let pair = [pair[0], pair[1]];
        if is_big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    };
    let units: Vec<u16> = units.map(unit).collect();
    String::from_utf16(&units).ok().filter(|_| whole).map(|text| (text, is_big_endian, has_mark))
}

/// A form, or a text that is JSON or holds some. What other bodies hold may have its length beside it.
pub(super) fn text_body(headers: &[(String, Vec<u8>)], body: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let field = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let field = field.map(|(_, value)| String::from_utf8_lossy(value)).unwrap_or_default();
    let kind = field.to_ascii_lowercase();
    // Programs say it is a form where nobody told them what it is.
    let first = body.trim_ascii_start().first();
    let looks_so = matches!(first, Some(b'{' | b'[')) && !credential_files::begins_section(body);
    let is_form = kind.starts_with("application/x-www-form-urlencoded");
    let is_vague = is_form || kind.is_empty() || kind.starts_with("text/plain");
    if is_vague && first == Some(&b'<') {
        return elements(body, replace);
    }
    if is_form && !looks_so {
        return parameters(body, replace);
    }
    let media_type = kind.split(';').next().unwrap_or_default().trim();
    let is_file = media_type == "application/octet-stream";
    if !looks_so && (is_vague || is_file && std::str::from_utf8(body).is_ok()) {
        return lines_or_texts(body, replace);
    }
    if kind.starts_with("multipart/") {
        return multipart::parts(&field, body, replace);
    }
    if media_type.contains("toml") || media_type.contains("yaml") && !looks_so {
        return settings::lines(body, replace);
    }
    if media_type == "application/graphql" {
        return settings::arguments(body, replace);
    }
    if media_type.ends_with("/xml") || media_type.ends_with("+xml") || body.trim_ascii_start().starts_with(b"<?xml") {
        return elements(body, replace);
    }
    let has_lengths = kind.contains("grpc") || kind.contains("protobuf");
    let is_text = kind.is_empty() || kind.starts_with("text/") || kind.contains("json") || kind.contains("javascript");
    if !has_lengths && (is_text || looks_so) { texts(body, replace, true) } else { None }
}

/// A text of any form: lines of an environment, and JSON in it.
pub(super) fn lines_or_texts(body: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let lines = settings::environment(body, replace);
    texts(lines.as_deref().unwrap_or(body), replace, true).or(lines)
}

/// JSON; `outermost` if JSON may stand in its texts.
fn texts(bytes: &[u8], replace: Replace<'_>, outermost: bool) -> Option<Vec<u8>> {
    each_text(bytes, json::values(bytes), replace, outermost)
}

/// The variables of a query of GraphQL, as JSON, some of which are given to these arguments.
pub(super) fn variables(bytes: &[u8], given: &HashMap<&str, &str>, replace: Replace<'_>) -> Option<Vec<u8>> {
    const BEGIN: &[u8] = b"{\"variables\":";
    let whole = [BEGIN, bytes, b"}"].concat();
    let other = each_text(&whole, json::values_with(&whole, given), replace, true)?;
    other.get(BEGIN.len()..other.len().checked_sub(1)?).map(<[u8]>::to_vec)
}

fn each_text(bytes: &[u8], values: Vec<json::Found<'_>>, replace: Replace<'_>, outermost: bool) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    for found in values {
        let value = &bytes[found.at.clone()];
        let other = if value.is_empty() {
            None
        } else if !found.key.is_empty() {
            let secret = text(&found.key, value);
            let form = if found.is_number { Form::Number } else { secret.form };
            replace(&Secret { form, place: found.place(), ..secret })
        } else if outermost {
            let inner = json::unescaped(value);
            let inner = said(inner.as_bytes(), &mut beneath(found.place(), replace));
            inner.map(|inner| json::escaped(&String::from_utf8_lossy(&inner)))
        } else {
            prose(value, &mut beneath(found.place(), replace))
        };
        edit.put(found.at, other);
    }
    edit.end()
}

/// XML.
fn elements(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut edit = Edit::new(bytes);
    for found in xml::values(bytes) {
        let value = &bytes[found.at.clone()];
        let other = if found.name.is_empty() { prose(value, replace) } else { replace(&text(&found.name, value)) };
        edit.put(found.at, other);
    }
    edit.end()
}

/// What a text of JSON may hold: what any value may, and numbers of cards.
fn said(value: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    held(value, prose, replace)
}

fn holds_json(value: &[u8]) -> bool {
    matches!(value.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// What a value under any name may hold: JSON, or an address.
pub(super) fn within(value: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    held(value, addresses, replace)
}

fn held(value: &[u8], plain: fn(&[u8], Replace<'_>) -> Option<Vec<u8>>, replace: Replace<'_>) -> Option<Vec<u8>> {
    if settings::is_query(value)
        && let Some(other) = settings::arguments(value, replace)
    {
        return Some(other);
    }
    if holds_json(value) {
        return texts(value, replace, false);
    }
    if is_link(value) { linked(value, replace) } else { plain(value, replace) }
}

/// Whether this is the address of a page, and nothing else.
fn is_link(value: &[u8]) -> bool {
    [&b"http://"[..], b"https://", b"/"].iter().any(|begin| value.starts_with(begin))
        && value.contains(&b'=')
        && !String::from_utf8_lossy(value).replace(MARKED, "").contains(char::is_whitespace)
}
