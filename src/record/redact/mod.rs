//! Takes secrets out of calls before they are written, and out of the keys by which they are found again: a replay needs
//! none, and has other ones.
//!
//! Taken out are credentials where a protocol has a place for them: fields of HTTP, parameters of queries and forms,
//! authentication of databases. What stands in other bodies and in statements is the call itself and stays.

mod wires;

use std::borrow::Cow;

pub(in crate::record) use wires::command;
pub use wires::wire;

use sha2::{Digest as _, Sha256};

use super::exchange::{Content, Exchange, Http, HttpRequest};

/// What stands in place of a secret. Legal in fields, queries and cookies.
pub const REDACTED: &str = "[redacted]";
/// What it begins with where credentials of a request are told apart: four digits of their hash follow, too few to guess a
/// secret by, and enough to see that two are not the same.
pub const MARKED: &str = "[redacted ";

/// Fields whose value is a secret, in lower case.
const HEADERS: [&str; 16] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "cookie2",
    "set-cookie2",
    "x-api-key",
    "api-key",
    "apikey",
    "x-goog-api-key",
    "x-functions-key",
    "ocp-apim-subscription-key",
    "private-token",
    "x-vault-token",
    "x-gitlab-token",
    "x-shopify-access-token",
];
/// Ends of names of such fields. `-token` alone is not one of them: many are places in a list that is read in pages.
const HEADER_ENDS: [&str; 10] = [
    "-auth-token",
    "-access-token",
    "-security-token",
    "-session-token",
    "-csrf-token",
    "-xsrf-token",
    "-secret",
    "-password",
    "-api-key",
    "-authorization",
];
/// Parameters of queries and forms whose value is a secret, in lower case. They are left out of keys, so a name that is
/// used for other things as well (`key`, `token`, `code`) is none.
const PARAMETERS: [&str; 22] = [
    "access_token",
    "refresh_token",
    "id_token",
    "auth_token",
    "oauth_token",
    "oauth_signature",
    "client_secret",
    "client_assertion",
    "api_key",
    "apikey",
    "api-key",
    "x-api-key",
    "password",
    "passwd",
    "secret",
    "sig",
    "signature",
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
    "x-goog-signature",
    "x-goog-credential",
];

/// Whether a field of HTTP holds a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HEADERS.contains(&name.as_str()) || HEADER_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a parameter of a query or a form holds a secret.
pub fn is_secret_parameter(name: &str) -> bool {
    PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The credentials that a request carries, as they stand in a file: empty if it carries none. Cookies are none of them, since
/// they change with every login.
pub fn credentials(request: &HttpRequest) -> String {
    let mut found = Vec::new();
    for (name, value) in &request.headers {
        let name = name.to_ascii_lowercase();
        if is_secret_header(&name) && !name.contains("cookie") {
            found.push(format!("{name}: {}", String::from_utf8_lossy(&field(&name, value, true))));
        }
    }
    found.sort_unstable();
    found.join("\n")
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
    headers(&mut request.headers, true);
    let is_form = request.headers.iter().any(|(name, value)| {
        let is_type = name.eq_ignore_ascii_case("content-type");
        is_type && value.to_ascii_lowercase().starts_with(b"application/x-www-form-urlencoded")
    });
    if is_form && let Some(redacted) = parameters(&request.body) {
        let length = redacted.len().to_string().into_bytes();
        request.body = redacted;
        for (name, value) in &mut request.headers {
            if name.eq_ignore_ascii_case("content-length") {
                value.clone_from(&length);
            }
        }
    }
    if let Some(response) = &mut http.response {
        headers(&mut response.headers, false);
        headers(&mut response.trailers, false);
    }
}

/// A path, or a whole URL, without the secrets of its query.
pub fn path(path: &str) -> Cow<'_, str> {
    let Some((before, query)) = path.split_once('?') else { return Cow::Borrowed(path) };
    match parameters(query.as_bytes()) {
        Some(redacted) => Cow::Owned(format!("{before}?{}", String::from_utf8_lossy(&redacted))),
        None => Cow::Borrowed(path),
    }
}

/// Pairs of a query or a form without their secrets; `None` if there are none.
fn parameters(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut found = false;
    let pieces: Vec<Vec<u8>> = bytes
        .split(|byte| *byte == b'&')
        .map(|piece| match memchr::memchr(b'=', piece) {
            Some(at) if is_secret_parameter(&String::from_utf8_lossy(&piece[..at])) => {
                found |= &piece[at + 1..] != REDACTED.as_bytes();
                [&piece[..=at], REDACTED.as_bytes()].concat()
            }
            _ => piece.to_vec(),
        })
        .collect();
    found.then(|| pieces.join(&b'&'))
}

fn headers(fields: &mut [(String, Vec<u8>)], told_apart: bool) {
    for (name, value) in fields {
        if is_secret_header(name) {
            *value = field(&name.to_ascii_lowercase(), value, told_apart);
        } else if name.eq_ignore_ascii_case("location") || name.eq_ignore_ascii_case("referer") {
            let text = std::str::from_utf8(value).map(path);
            if let Ok(Cow::Owned(redacted)) = text {
                *value = redacted.into_bytes();
            }
        }
    }
}

/// A secret value of which stays what is none: the scheme of authentication, names and attributes of cookies.
fn field(name: &str, value: &[u8], told_apart: bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(value);
    let credential = |secret: &str| {
        if secret == REDACTED || secret.starts_with(MARKED) {
            secret.to_owned()
        } else if told_apart {
            let hash = Sha256::digest(secret.as_bytes());
            format!("{MARKED}{:02x}{:02x}]", hash[0], hash[1])
        } else {
            REDACTED.to_owned()
        }
    };
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
