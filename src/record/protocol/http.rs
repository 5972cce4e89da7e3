//! Parser of HTTP requests: method and path, pairs of queries and forms, values of JSON and
//! gRPC, header fields.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::grpc;
use super::part_list::{Part, PartList, Role};
use crate::call::HttpRequest;

/// Deepest nesting of a JSON body that is compared without regard to the order of its keys, in
/// levels.
const MAX_JSON_BODY_DEPTH: usize = 128;

/// Header fields that are not compared: those about the program, the connection, the body, deadlines
/// and traces (RFC 9110, 6.6, 7.6, 8 and 10.1; gRPC; W3C Trace Context).
const OF_SENDING: &str = "\
    host connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect via http2-settings \
    sec-websocket-key content-length content-type date grpc-timeout traceparent tracestate user-agent";

/// Parses a request. The media type decides how the body is parsed; without one JSON is tried.
pub(crate) fn parts(request: &HttpRequest, taken: &mut PartList) {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    taken.text(format!("{} ", request.method).as_bytes());
    taken.put(Role::Rest, String::new(), path.as_bytes(), path.to_owned());
    pairs("query", query.as_bytes(), taken);
    if !request.body.is_empty() {
        taken.head(media_type(request).as_bytes());
        body(request, taken);
    }
    for (name, value) in fields(request) {
        taken.put(
            Role::Field,
            format!("header.{name}"),
            value.clone().as_bytes(),
            value,
        );
    }
}

/// Returns the media type of a request in lower case, without parameters; empty if it has none.
pub(crate) fn media_type(request: &HttpRequest) -> String {
    content_type(request)
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

fn content_type(request: &HttpRequest) -> String {
    let field = request
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    field
        .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        .unwrap_or_default()
}

fn body(request: &HttpRequest, taken: &mut PartList) {
    let (bytes, kind) = (request.body.as_slice(), media_type(request));
    if kind == "application/x-www-form-urlencoded" {
        return pairs("body", bytes, taken);
    }
    let is_json = kind.is_empty() || kind == "application/json" || kind.ends_with("+json");
    let values = if kind.starts_with("application/grpc") {
        grpc::parts(bytes)
    } else {
        is_json.then(|| json(bytes)).flatten()
    };
    if let Some(values) = values {
        return taken.parts.extend(values);
    }
    // Each request has a new random boundary.
    let boundary = if kind.starts_with("multipart/") {
        boundary(&content_type(request))
    } else {
        None
    };
    let pieces = boundary.and_then(|boundary| between(bytes, &boundary));
    taken.head_of(
        "body.".to_owned(),
        if pieces.is_some() { b"pieces" } else { b"" },
    );
    for piece in pieces.unwrap_or_else(|| vec![bytes]) {
        taken.put(Role::Rest, "body.".to_owned(), piece, String::new());
    }
}

/// Adds pairs, sorted by name; pairs of one name keep their order. The `=` is part of the name,
/// since servers may distinguish `a` from `a=`.
fn pairs(prefix: &str, text: &[u8], taken: &mut PartList) {
    let here = format!("{prefix}.");
    taken.head_of(here.clone(), b"");
    let pair = |piece: &[u8]| memchr::memchr(b'=', piece).unwrap_or(piece.len());
    let mut pairs: Vec<_> = text
        .split(|byte| *byte == b'&')
        .filter(|piece| !piece.is_empty())
        .map(|piece| piece.split_at(pair(piece)))
        .collect();
    pairs.sort_by_key(|(name, _)| *name);
    for (name, value) in pairs {
        let (mark, value) = value.split_at(value.len().min(1));
        taken.put(
            Role::Rest,
            here.clone(),
            &[name, mark].concat(),
            String::new(),
        );
        let text = String::from_utf8_lossy(value).into_owned();
        taken.value(
            format!("{here}{}", String::from_utf8_lossy(name)),
            value,
            text,
        );
    }
}

fn boundary(content_type: &str) -> Option<String> {
    let mut parameters = content_type
        .split(';')
        .skip(1)
        .filter_map(|parameter| parameter.trim().split_once('='));
    let (_, value) = parameters.find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    let value = value.trim().trim_matches('"');
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns the pieces between the boundary lines (RFC 2046, 5.1.1); `None` if the body has another
/// form.
fn between<'a>(bytes: &'a [u8], boundary: &str) -> Option<Vec<&'a [u8]>> {
    let mark = format!("--{boundary}");
    let mut pieces = Vec::new();
    let mut rest = bytes.strip_prefix(mark.as_bytes())?;
    let between = format!("\r\n{mark}");
    loop {
        if rest.starts_with(b"--") {
            pieces.push(&rest[2..]);
            return Some(pieces);
        }
        let end = memchr::memmem::find(rest, between.as_bytes())?;
        pieces.push(&rest[..end]);
        rest = &rest[end + between.len()..];
    }
}

/// Returns fields and cookies by lower-case names; a cookie has the prefix `cookie `.
fn fields(request: &HttpRequest) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut add = |name: String, value: &str| {
        let all: &mut String = found
            .entry(name)
            .and_modify(|all: &mut String| all.push_str(", "))
            .or_default();
        all.push_str(value);
    };
    for (name, value) in &request.headers {
        let (name, value) = (
            name.to_ascii_lowercase(),
            String::from_utf8_lossy(value).trim().to_owned(),
        );
        // `*/*` means the same as no field (RFC 9110, 12.5.1).
        let says_nothing = name == "accept" && value == "*/*";
        if name == "cookie" {
            for (name, value) in value
                .split(';')
                .filter_map(|cookie| cookie.trim().split_once('='))
            {
                add(format!("cookie {}", name.to_ascii_lowercase()), value);
            }
        } else if !says_nothing
            && !name.starts_with(':')
            && OF_SENDING.split(' ').all(|sent| sent != name)
        {
            add(name, &value);
        }
    }
    found
}

/// Returns the values of a JSON text; `None` if it is invalid or nested too deeply. White space and
/// the order of keys are ignored. A number is compared as text, since floats would make two large
/// numbers equal.
pub(crate) fn json(bytes: &[u8]) -> Option<Vec<Part>> {
    let text = std::str::from_utf8(bytes).ok()?;
    // The code below relies on valid JSON.
    serde_json::from_str::<&RawValue>(text).ok()?;
    let mut json = Json { rest: text };
    let first = json.token()?;
    json.value(first, "body", 0)
}

/// A JSON text that is read token by token.
struct Json<'a> {
    rest: &'a str,
}

impl<'a> Json<'a> {
    /// Returns the next punctuation mark, quoted string, or word.
    fn token(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_ascii_start();
        let length = match text.as_bytes().first()? {
            b'"' => {
                let mut at = 1;
                loop {
                    at += memchr::memchr2(b'"', b'\\', text.as_bytes().get(at..)?)?;
                    if text.as_bytes()[at] == b'"' {
                        break at + 1;
                    }
                    at += 2;
                }
            }
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => text
                .find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
                .unwrap_or(text.len()),
        };
        let (token, rest) = text.split_at_checked(length)?;
        self.rest = rest;
        Some(token)
    }

    fn value(&mut self, token: &str, path: &str, depth: usize) -> Option<Vec<Part>> {
        if depth > MAX_JSON_BODY_DEPTH {
            return None;
        }
        let part = |role, bytes: &str| Part {
            role,
            name: format!("{path}."),
            bytes: bytes.as_bytes().to_vec(),
            text: String::new(),
        };
        let is_end = |token: &&str| !matches!(*token, "}" | "]");
        let mut parts = Vec::new();
        match token.as_bytes().first()? {
            b'{' => {
                let mut members = Vec::new();
                while let Some(token) = Some(self.token()?).filter(is_end) {
                    if token == "," {
                        continue;
                    }
                    let key: String = serde_json::from_str(token).ok()?;
                    let first = self.token().and_then(|_| self.token())?;
                    let value = self.value(first, &format!("{path}.{key}"), depth + 1)?;
                    members.push((key, value));
                }
                // Members of one name stay in the order of the text.
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                parts.push(part(Role::Head, "{"));
                for (key, value) in members {
                    parts.push(part(Role::Rest, &key));
                    parts.extend(value);
                }
                parts.push(part(Role::Head, "}"));
            }
            b'[' => {
                parts.push(part(Role::Head, "["));
                while let Some(token) = Some(self.token()?).filter(is_end) {
                    if token != "," {
                        parts.extend(self.value(token, path, depth + 1)?);
                    }
                }
                parts.push(part(Role::Head, "]"));
            }
            first => {
                let is_text = *first == b'"';
                let text = if is_text {
                    serde_json::from_str(token).ok()?
                } else {
                    token.to_owned()
                };
                let role = if is_text { Role::Bound } else { Role::Word };
                parts.push(Part {
                    role,
                    name: path.to_owned(),
                    bytes: text.clone().into_bytes(),
                    text,
                });
            }
        }
        Some(parts)
    }
}

#[cfg(test)]
mod tests;
