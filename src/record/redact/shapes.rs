//! Tokens that are known by their shape, wherever they stand: in fields without a telling name, in messages that name nothing,
//! such as those of gRPC, in values of databases, in answers. What stands for one is as long as it was, so lengths beside it
//! still hold.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use super::walk::{Edit, Form, Replace, Secret};

/// How tokens of a service begin, and fewest bytes that follow (documentation of GitHub, GitLab, Stripe, Slack, AWS, Google,
/// `SendGrid`, npm, `PyPI`, `DigitalOcean`, Vault, Shopify, Anthropic, `OpenAI`).
const BEGINNINGS: [(&str, usize); 26] = [
    ("ghp_", 36),
    ("gho_", 36),
    ("ghu_", 36),
    ("ghs_", 36),
    ("ghr_", 36),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("sk_test_", 16),
    ("whsec_", 24),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xoxa-", 20),
    ("xoxr-", 20),
    ("xapp-", 20),
    ("AIza", 35),
    ("SG.", 40),
    ("npm_", 36),
    ("pypi-", 40),
    ("dop_v1_", 40),
    ("hvs.", 24),
    ("shpat_", 32),
    ("sk-ant-", 24),
    ("sk-proj-", 24),
    ("-----BEGIN ", 0),
];
/// Keys of AWS: so many letters in upper case and digits follow, and nothing more.
const AWS: [&str; 2] = ["AKIA", "ASIA"];
const AWS_BYTES: usize = 16;
/// How a JSON object begins in base64url.
const OBJECT: &str = "eyJ";
/// Fewest bytes of any of them.
const SHORTEST_BYTES: usize = 20;
/// What they begin with, made ready once: every text of a call is searched for all of them.
static FINDERS: LazyLock<[Vec<Finder<'static>>; 2]> = LazyLock::new(|| {
    [BEGINNINGS.iter().map(|(begin, _)| Finder::new(*begin)).collect(), AWS.iter().map(Finder::new).collect()]
});
/// Fewest bytes of a signature of a JSON web token that is replaced.
const SIGNATURE_BYTES: usize = 16;

/// The same with others in place of tokens. `named` is the same without the secrets that have a name: no token stands in one.
pub(super) fn replaced(bytes: &[u8], named: impl FnOnce() -> Option<Vec<u8>>, replace: Replace<'_>) -> Option<Vec<u8>> {
    let found = places(bytes);
    if found.is_empty() {
        return None;
    }
    let others = named();
    let others: Option<HashSet<&[u8]>> =
        others.as_deref().map(|others| places(others).into_iter().map(|at| &others[at]).collect());
    let mut edit = Edit::new(bytes);
    for at in found {
        let value = &bytes[at.clone()];
        if others.as_ref().is_none_or(|others| others.contains(value)) {
            edit.put(at, replace(&Secret { name: "token", value, form: Form::Token, guessable: false, place: 0 }));
        }
    }
    edit.end()
}

/// The part of a token that is replaced; the rest says what it is.
pub(super) fn tail(token: &[u8]) -> Option<&[u8]> {
    let beginnings = BEGINNINGS.iter().map(|(begin, _)| *begin).chain(AWS);
    beginnings.into_iter().find_map(|begin| token.strip_prefix(begin.as_bytes()))
}

/// Where tokens are, in their order.
fn places(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if bytes.len() < SHORTEST_BYTES {
        return found;
    }
    for ((begin, fewest), finder) in BEGINNINGS.into_iter().zip(&FINDERS[0]) {
        for at in finder.find_iter(bytes) {
            let start = at + begin.len();
            if fewest == 0 {
                found.extend(private_key(bytes, start));
                continue;
            }
            let has_dots = begin.ends_with('.');
            let is_part =
                |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte) || has_dots && **byte == b'.';
            let length = bytes[start..].iter().take_while(is_part).count();
            found.extend((length >= fewest).then_some(at..start + length));
        }
    }
    for at in FINDERS[1].iter().flat_map(|finder| finder.find_iter(bytes)) {
        let start = at + AWS[0].len();
        let is_part = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let is_key = bytes.get(start..start + AWS_BYTES).is_some_and(|rest| rest.iter().all(is_part));
        let ends = !bytes.get(start + AWS_BYTES).is_some_and(u8::is_ascii_alphanumeric);
        let is_stand_in = bytes[start..].starts_with(b"redacted-");
        found.extend(
            (is_key && ends || is_stand_in && bytes.len() >= start + AWS_BYTES).then_some(at..start + AWS_BYTES),
        );
    }
    for at in memmem::find_iter(bytes, OBJECT) {
        found.extend(web_token(bytes, at));
    }
    found.sort_by_key(|at| (at.start, std::cmp::Reverse(at.end)));
    let mut end = 0;
    found.retain(|at| at.start >= end && (at.end > end).then(|| end = at.end).is_some());
    found
}

/// A JSON web token that begins here (RFC 7515, 7.1).
fn web_token(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let part = |start: usize| start + bytes[start..].iter().take_while(is_part).count();
    let head = part(at);
    let claims = part((bytes.get(head) == Some(&b'.')).then_some(head + 1)?);
    let end = part((bytes.get(claims) == Some(&b'.')).then_some(claims + 1)?);
    let is_long = end - claims > SIGNATURE_BYTES && bytes[head + 1..].starts_with(OBJECT.as_bytes());
    (is_long && bytes.get(end) != Some(&b'.')).then_some(at..end)
}

/// What is between the lines of a private key (RFC 7468), whose first line goes on here.
fn private_key(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    const KEY: &[u8] = b"PRIVATE KEY-----";
    const END: &[u8] = b"-----END ";
    let line = &bytes[start..bytes.len().min(start + 40)];
    let from = start + memmem::find(line, KEY)? + KEY.len();
    let length = memmem::find(&bytes[from..], END).unwrap_or(bytes.len() - from);
    let inside = &bytes[from..from + length];
    // Line ends stay, also those that are written as escapes.
    let is_end = |byte: &u8| byte.is_ascii_whitespace();
    let skipped = inside.iter().take_while(|byte| is_end(byte)).count();
    let skipped = if inside.starts_with(br"\r\n") {
        4
    } else if inside.starts_with(br"\n") {
        2
    } else {
        skipped
    };
    (length > skipped + SIGNATURE_BYTES).then_some(from + skipped..from + length)
}
