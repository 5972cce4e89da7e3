//! Takes secrets out of calls before they are written, and out of the keys by which they are found again: a replay needs
//! none, and has other ones.
//!
//! Taken out are credentials where they have a name (`names`): fields of HTTP, parameters of queries and forms, keys of
//! JSON, passwords in statements, authentication of databases. Any other value is the call itself and stays, unless it is a
//! token that an answer gave (`tokens`).

mod json;
mod names;
mod placeholder;
mod sql;
mod tokens;
mod wires;

use std::borrow::Cow;

pub use names::{is_secret_header, is_secret_parameter};
pub use placeholder::{MARKED, REDACTED};
pub(in crate::record) use wires::command;
pub use wires::wire;

use names::{is_doubtful, is_password};
use placeholder::{marked, stand_in};

use super::coding;
use super::exchange::{Content, Exchange, Http, HttpRequest};

/// The credentials that a request carries, as they stand in a file: empty if it carries none. Cookies are none of them, since
/// they change with every login.
pub fn credentials(request: &HttpRequest) -> String {
    let mut found = Vec::new();
    for (name, value) in &request.headers {
        let name = name.to_ascii_lowercase();
        if is_secret_header(&name) && !name.contains("cookie") {
            found.push(format!("{name}: {}", String::from_utf8_lossy(&field(&name, value, marked))));
        }
    }
    found.sort_unstable();
    found.join("\n")
}

/// What of a request may be no secret, but choose the answer: places in lists, told apart; empty if there is none.
pub fn places(request: &HttpRequest) -> String {
    let mut found = Vec::new();
    let mut look = |name: &str, value: &[u8]| {
        if is_doubtful(name) {
            found.push(String::from_utf8_lossy(&hidden(name, value)).into_owned());
        }
        value.to_vec()
    };
    // Nothing is replaced, only looked at.
    if let Some((_, query)) = request.path.split_once('?') {
        parameters(query.as_bytes(), &mut look);
    }
    redacted(&request.headers, &request.body, &mut look);
    found.join("\n")
}

/// Takes the secrets out of the calls of a recording. A second time changes nothing.
pub fn exchanges(exchanges: &mut [Exchange]) {
    exchanges.iter_mut().for_each(uncover);
    tokens::replace(exchanges);
    exchanges.iter_mut().for_each(exchange);
}

/// Takes the content coding off a body that was kept in it, if there are secrets in it: that nothing leaks counts for more than
/// its very bytes.
fn uncover(exchange: &mut Exchange) {
    if let Content::Http(http) = &mut exchange.content
        && let Some(response) = &mut http.response
        && coding::has_note(&response.headers, coding::CODED)
        && let Some(plain) = coding::decoded(&response.headers, &response.body)
        && redacted(&response.headers, &plain, &mut shown).is_some()
    {
        response.body = plain;
        response.headers.retain(|(name, value)| name != coding::BODY_NOTE || value != coding::CODED.as_bytes());
    }
}

/// Takes the secrets out of a call. A second time changes nothing.
pub fn exchange(exchange: &mut Exchange) {
    match &mut exchange.content {
        Content::Http(http) | Content::Grpc(http) => self::http(http),
        Content::Dns(_) => {}
        Content::Wire(protocol, said) => wire(*protocol, said),
    }
}

fn http(http: &mut Http) {
    let request = &mut http.request;
    if let Cow::Owned(redacted) = path(&request.path) {
        request.path = redacted;
    }
    headers(&mut request.headers, marked);
    if let Some(redacted) = redacted(&request.headers, &request.body, &mut hidden) {
        resize(&mut request.headers, request.body.len(), redacted.len());
        request.body = redacted;
    }
    if let Some(response) = &mut http.response {
        headers(&mut response.headers, given);
        headers(&mut response.trailers, given);
        if let Some(redacted) = redacted(&response.headers, &response.body, &mut shown) {
            resize(&mut response.headers, response.body.len(), redacted.len());
            response.body = redacted;
        }
    }
}

/// A length of a body that was changed. Where it was another one (a coding was taken off), it is of something else.
fn resize(headers: &mut [(String, Vec<u8>)], before: usize, after: usize) {
    let (before, after) = (before.to_string(), after.to_string());
    for (name, value) in headers {
        if name.eq_ignore_ascii_case("content-length") && *value == before.as_bytes() {
            *value = after.clone().into_bytes();
        }
    }
}

/// A path, or a whole URL, without the secrets of its query.
pub fn path(path: &str) -> Cow<'_, str> {
    let Some((before, query)) = path.split_once('?') else { return Cow::Borrowed(path) };
    match parameters(query.as_bytes(), &mut hidden) {
        Some(redacted) => Cow::Owned(format!("{before}?{}", String::from_utf8_lossy(&redacted))),
        None => Cow::Borrowed(path),
    }
}

/// The URL that an answer leads to.
fn location(url: &mut Vec<u8>) {
    let Some(at) = memchr::memchr(b'?', url) else { return };
    let end = memchr::memchr(b'#', url).filter(|end| *end > at).unwrap_or(url.len());
    if let Some(redacted) = parameters(&url[at + 1..end], &mut shown) {
        url.splice(at + 1..end, redacted);
    }
}

/// The body of a request with the same text for every secret, as it is compared; `None` if it has none.
pub fn body(request: &HttpRequest) -> Option<Vec<u8>> {
    redacted(&request.headers, &request.body, &mut |_, _| REDACTED.as_bytes().to_vec())
}

/// What stands for a secret of an answer: tokens are told apart.
fn shown(name: &str, value: &[u8]) -> Vec<u8> {
    if is_password(name) { hidden(name, value) } else { stand_in(value) }
}

/// What stands for a secret of a request: where it may be no secret it is told apart.
fn hidden(name: &str, value: &[u8]) -> Vec<u8> {
    let value = String::from_utf8_lossy(value);
    if is_doubtful(name) { marked(&value).into_bytes() } else { REDACTED.as_bytes().to_vec() }
}

type Replace<'a> = &'a mut dyn FnMut(&str, &[u8]) -> Vec<u8>;

/// A form, or a text that is JSON or holds some, without the secrets in it; `None` if there are none. What other bodies hold
/// may have its length beside it.
fn redacted(headers: &[(String, Vec<u8>)], body: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let kind = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kind.map(|(_, value)| String::from_utf8_lossy(value).to_ascii_lowercase()).unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        return parameters(body, replace);
    }
    let is_text = kind.is_empty() || kind.starts_with("text/") || kind.contains("json") || kind.contains("javascript");
    if is_text { texts(body, replace) } else { None }
}

fn texts(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut kept = 0;
    for found in json::secrets(bytes).into_iter().filter(|found| !found.value.is_empty()) {
        let other = replace(found.key, found.value);
        if other != found.value {
            out.extend_from_slice(&bytes[kept..found.at]);
            out.extend_from_slice(&other);
            kept = found.at + found.value.len();
        }
    }
    if kept == 0 {
        return None;
    }
    out.extend_from_slice(&bytes[kept..]);
    Some(out)
}

/// Pairs of a query or a form without their secrets; `None` if there are none.
fn parameters(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut found = false;
    let mut piece = |piece: &[u8]| {
        if let Some(at) = memchr::memchr(b'=', piece) {
            let (name, value) = (String::from_utf8_lossy(&piece[..at]), &piece[at + 1..]);
            if is_secret_parameter(&name) {
                let other = replace(&name, value);
                found |= other != value;
                return [&piece[..=at], &other].concat();
            }
        }
        piece.to_vec()
    };
    let pieces: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'&').map(&mut piece).collect();
    found.then(|| pieces.join(&b'&'))
}

/// What stands for a secret in a field of an answer.
fn given(secret: &str) -> String {
    if secret == REDACTED || secret.starts_with(MARKED) {
        return secret.to_owned();
    }
    String::from_utf8_lossy(&stand_in(secret.as_bytes())).into_owned()
}

fn headers(fields: &mut [(String, Vec<u8>)], credential: fn(&str) -> String) {
    for (name, value) in fields {
        if is_secret_header(name) {
            *value = field(&name.to_ascii_lowercase(), value, credential);
        } else if name.eq_ignore_ascii_case("location") {
            location(value);
        } else if name.eq_ignore_ascii_case("referer") {
            let text = std::str::from_utf8(value).map(path);
            if let Ok(Cow::Owned(redacted)) = text {
                *value = redacted.into_bytes();
            }
        }
    }
}

/// A secret value of which stays what is none: the scheme of authentication, names and attributes of cookies.
fn field(name: &str, value: &[u8], credential: fn(&str) -> String) -> Vec<u8> {
    let text = String::from_utf8_lossy(value);
    let cookie = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={REDACTED}"),
        None => REDACTED.to_owned(),
    };
    let redacted = match name {
        "cookie" => text.split(';').map(cookie).collect::<Vec<_>>().join(";"),
        "set-cookie" => match text.split_once(';') {
            Some((pair, attributes)) => format!("{};{attributes}", cookie(pair)),
            None => cookie(&text),
        },
        "authorization" | "proxy-authorization" => match text.trim().split_once(' ') {
            Some((scheme, secret)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
                format!("{scheme} {}", credential(secret))
            }
            _ => credential(text.trim()),
        },
        _ => credential(text.trim()),
    };
    redacted.into_bytes()
}

#[cfg(test)]
mod tests;
