//! Redaction of secrets in recorded calls before they are written. Looked-up calls are redacted
//! too, because a replay has other secrets than the recording.
//!
//! Three properties identify a secret:
//!
//! * its *place*: `secret_names` has the rule; `http`, `json` and `logins` know the places
//! * its *shape*: `shapes` has the table
//! * its *value*: secrets of the program's environment, declarations in the set's file, and values
//!   found by place in another HTTP call
//!
//! A placeholder (`stand_in`) depends only on the secret's value. One secret therefore has the same
//! placeholder in all recorded and looked-up calls.

mod edit;
mod http;
mod json;
mod leftovers;
mod logins;
mod secret_names;
mod shapes;
mod stand_in;

use std::cell::RefCell;
use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};

pub use leftovers::{Leftover, left_over};
pub use stand_in::is_placeholder;
pub(crate) use stand_in::{is_signed, is_uuid, looks_random, places};

use secret_names::NameKind;
use shapes::Shapes;
use stand_in::placeholder;

use crate::call::{Content, Exchange, Http, HttpResponse, Message, Protocol, Side, Wire};
use crate::http::coding;
use crate::protocol::frames;

/// Maximum number of secrets from one call that are searched in the other calls.
const MAX_FOLLOWED: usize = 65_536;

/// Redaction rules for one set of calls.
#[derive(Debug, Default)]
pub struct Secrets {
    /// Names that the set declares, normalized to lower-case letters and digits.
    names: Vec<String>,
    /// Patterns that the set declares.
    patterns: Option<Shapes>,
    /// Secret values in the program's environment.
    values: Option<SecretMatcher>,
}

impl Secrets {
    /// Builds the rules from the program's environment and the set's declarations: names, and
    /// patterns between slashes. An invalid declaration gives an error with a correct example.
    pub fn new(
        environment: impl Iterator<Item = (String, String)>,
        declared: &[String],
    ) -> Result<Self, String> {
        let mut secrets = Self::default();
        let mut patterns = Vec::new();
        for rule in declared {
            match rule
                .strip_prefix('/')
                .and_then(|rest| rest.strip_suffix('/'))
            {
                Some(pattern) => patterns.push(pattern),
                None if joined(rule).is_empty() => {
                    return Err(format!(
                        "`redact` has `{rule}`: write a name, such as `internal_ref`, or a `/pattern/`"
                    ));
                }
                None => secrets.names.push(joined(rule)),
            }
        }
        if !patterns.is_empty() {
            let built = Shapes::new(&patterns, true).map_err(|(which, reason)| {
                let which = which.map_or_else(
                    || patterns.join("/`, `/"),
                    |which| patterns[which].to_owned(),
                );
                format!(
                    "`redact` has the invalid pattern `/{which}/`: {reason}; write a regular \
                     expression between slashes"
                )
            })?;
            secrets.patterns = Some(built);
        }
        let is_one = |(name, value): &(String, String)| {
            secret_names::is_secret_variable(name, value)
                || secrets.names.contains(&joined(name)) && !value.is_empty()
        };
        secrets.values = SecretMatcher::new(
            environment
                .filter(is_one)
                .map(|(_, value)| value.into_bytes()),
        );
        Ok(secrets)
    }

    /// Redacts the calls of a recording; a second pass changes nothing. Returns notes for the user.
    pub fn calls(&self, calls: &mut [Exchange]) -> Vec<String> {
        let seen = RefCell::default();
        for call in calls.iter_mut() {
            self.redact(call, &seen);
        }
        let answered = follow(seen.into_inner(), calls);
        let told = format!(
            "{answered} answers contained a secret of another call; it was replaced there, too"
        );
        (answered > 0).then_some(told).into_iter().collect()
    }

    /// Returns the redacted request of a call, for lookups.
    pub fn redact_request(&self, call: &Exchange) -> Exchange {
        let of = |http: &Http| {
            Box::new(Http {
                request: http.request.clone(),
                response: None,
            })
        };
        let content = match &call.content {
            Content::Http(http) => Content::Http(of(http)),
            Content::Grpc(http) => Content::Grpc(of(http)),
            Content::Wire(Protocol::Generic, _) => call.content.clone(),
            Content::Wire(protocol, wire) => {
                let said = wire
                    .messages
                    .iter()
                    .filter(|message| message.from == Side::Client);
                Content::Wire(
                    *protocol,
                    Wire {
                        messages: said.cloned().collect(),
                        session: wire.session,
                        meta: wire.meta.clone(),
                        ..Wire::default()
                    },
                )
            }
            Content::Dns(dns) => Content::Dns(dns.clone()),
        };
        let mut asked = Exchange {
            target: call.target.clone(),
            content,
            ..*call
        };
        self.redact(&mut asked, &RefCell::default());
        asked
    }

    fn redact(&self, call: &mut Exchange, seen: &RefCell<HashMap<Vec<u8>, bool>>) {
        let found = |is_answer| Redactor {
            secrets: self,
            is_answer,
            seen,
        };
        match &mut call.content {
            Content::Http(http) | Content::Grpc(http) => by_place(http, found(false), found(true)),
            Content::Wire(protocol, wire) => in_wire(*protocol, wire, found(false), found(true)),
            Content::Dns(_) => {}
        }
        let is_database = matches!(call.content, Content::Wire(..));
        texts(call, &mut |side, text| {
            self.shapes(text, !(is_database && side == Side::Server))
        });
        if let Some(values) = &self.values {
            texts(call, &mut |_, text| values.replace(text));
        }
    }

    /// Redacts a name that is written beside the calls, such as that of a test.
    pub fn name(&self, name: &str) -> String {
        let mut name = name.as_bytes().to_vec();
        self.shapes(&mut name, true);
        if let Some(values) = &self.values {
            values.replace(&mut name);
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    /// Replaces secrets of known and declared shapes.
    fn shapes(&self, text: &mut [u8], with_hashes: bool) -> bool {
        let known = Shapes::built_in(with_hashes).replace(text);
        let declared = self.patterns.as_ref();
        declared.is_some_and(|shapes| shapes.replace(text)) || known
    }

    fn kind(&self, name: &str) -> NameKind {
        let is_declared = !self.names.is_empty() && self.names.contains(&joined(name));
        if is_declared {
            NameKind::Secret
        } else {
            secret_names::kind(name)
        }
    }
}

/// Replaces secrets that were found by place everywhere else. Secrets from requests are replaced in
/// answers. Values that an answer contains are replaced in all calls, since the program may send
/// them. Returns the number of answers that contained a secret.
fn follow(seen: HashMap<Vec<u8>, bool>, calls: &mut [Exchange]) -> usize {
    let (given, asked): (Vec<_>, Vec<_>) = seen.into_iter().partition(|(_, is_given)| *is_given);
    let mut given: Vec<Vec<u8>> = given.into_iter().map(|(value, _)| value).collect();
    let mut answered = 0;
    if let Some(values) = SecretMatcher::new(asked.into_iter().map(|(value, _)| value)) {
        for call in calls.iter_mut() {
            let mut is_in = false;
            texts(call, &mut |side, text| {
                if side == Side::Server {
                    let found = values.matches(text);
                    is_in |= !found.is_empty();
                    given.extend(found);
                }
                false
            });
            answered += usize::from(is_in);
        }
    }
    if let Some(values) = SecretMatcher::new(given.into_iter()) {
        for call in calls {
            texts(call, &mut |_, text| values.replace(text));
        }
    }
    answered
}

/// Returns a log line about a call with its tokens of known shape redacted.
pub(crate) fn redact_log_line(line: &str) -> String {
    let mut line = line.as_bytes().to_vec();
    Shapes::built_in(true).replace(&mut line);
    String::from_utf8_lossy(&line).into_owned()
}

/// Returns a path with the secrets in its query redacted.
pub(crate) fn path(path: &str) -> String {
    let found = Redactor {
        secrets: &Secrets::default(),
        is_answer: false,
        seen: &RefCell::default(),
    };
    http::path(path, found).unwrap_or_else(|| path.to_owned())
}

/// Normalizes a name to lower-case letters and digits.
fn joined(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// Context of one redaction: rules, direction and the secrets found so far.
#[derive(Clone, Copy)]
struct Redactor<'a> {
    secrets: &'a Secrets,
    is_answer: bool,
    /// Secrets that may occur elsewhere; `true` if an answer contained the secret.
    seen: &'a RefCell<HashMap<Vec<u8>, bool>>,
}

impl Redactor<'_> {
    /// Returns the placeholder for a secret and notes the secret.
    fn secret(&self, value: &[u8]) -> Vec<u8> {
        let mut seen = self.seen.borrow_mut();
        if looks_random(value) && (seen.len() < MAX_FOLLOWED || seen.contains_key(value)) {
            *seen.entry(value.to_vec()).or_default() |= self.is_answer;
        }
        // A token with a known shape keeps its prefix in every place.
        let mut shaped = value.to_vec();
        if Shapes::built_in(true).replace(&mut shaped) {
            shaped
        } else {
            placeholder(value)
        }
    }
}

#[derive(Debug)]
struct SecretMatcher(AhoCorasick);

impl SecretMatcher {
    /// Builds a matcher for these values; `None` without values.
    fn new(values: impl Iterator<Item = Vec<u8>>) -> Option<Self> {
        let values: Vec<Vec<u8>> = values.filter(|value| !is_placeholder(value)).collect();
        let built = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&values);
        built.ok().filter(|_| !values.is_empty()).map(Self)
    }

    fn matches(&self, text: &[u8]) -> Vec<Vec<u8>> {
        self.0
            .find_iter(text)
            .map(|at| text[at.range()].to_vec())
            .collect()
    }

    /// Replaces each value by a placeholder of equal length. Returns true if there was one.
    fn replace(&self, text: &mut [u8]) -> bool {
        let found: Vec<_> = self.0.find_iter(&*text).map(|at| at.range()).collect();
        for at in &found {
            let other = placeholder(&text[at.clone()]);
            text[at.clone()].copy_from_slice(&other);
        }
        !found.is_empty()
    }
}

/// Passes all texts of a call to `replace`, which may overwrite bytes and returns true if it did.
fn texts(call: &mut Exchange, replace: &mut dyn FnMut(Side, &mut [u8]) -> bool) {
    let http = match &mut call.content {
        Content::Http(http) | Content::Grpc(http) => http,
        Content::Wire(_, wire) => {
            for message in &mut wire.messages {
                replace(message.from, &mut message.bytes);
            }
            return;
        }
        Content::Dns(_) => return,
    };
    let mut path = std::mem::take(&mut http.request.path).into_bytes();
    replace(Side::Client, &mut path);
    http.request.path = String::from_utf8(path)
        .unwrap_or_else(|path| String::from_utf8_lossy(path.as_bytes()).into_owned());
    for (_, value) in &mut http.request.headers {
        replace(Side::Client, value);
    }
    replace(Side::Client, &mut http.request.body);
    if let Some(response) = &mut http.response {
        for (_, value) in response.headers.iter_mut().chain(&mut response.trailers) {
            replace(Side::Server, value);
        }
        if let Some(mut plain) = plain_body(response) {
            if replace(Side::Server, &mut plain) {
                uncover(response, plain);
            }
        } else {
            replace(Side::Server, &mut response.body);
        }
    }
}

/// Returns the decoded form of a body that was stored encoded.
fn plain_body(response: &HttpResponse) -> Option<Vec<u8>> {
    response
        .is_coded
        .then(|| coding::decoded(&response.headers, &response.body))
        .flatten()
}

/// Stores such a body decoded: a leak would be worse than changed bytes.
fn uncover(response: &mut HttpResponse, plain: Vec<u8>) {
    (response.body, response.is_coded) = (plain, false);
}

fn by_place(call: &mut Http, asked: Redactor<'_>, answered: Redactor<'_>) {
    let request = &mut call.request;
    if let Some(other) = http::path(&request.path, asked) {
        request.path = other;
    }
    fields(&mut request.headers, asked);
    if let Some(other) = http::body(&request.headers, &request.body, asked) {
        resize(&mut request.headers, request.body.len(), other.len());
        request.body = other;
    }
    let Some(response) = &mut call.response else {
        return;
    };
    let plain = plain_body(response);
    fields(&mut response.headers, answered);
    fields(&mut response.trailers, answered);
    let Some(other) = http::body(
        &response.headers,
        plain.as_deref().unwrap_or(&response.body),
        answered,
    ) else {
        return;
    };
    if plain.is_some() {
        uncover(response, other);
    } else {
        resize(&mut response.headers, response.body.len(), other.len());
        response.body = other;
    }
}

fn fields(fields: &mut [(String, Vec<u8>)], found: Redactor<'_>) {
    for (name, value) in fields {
        if let Some(other) = http::field(name, value, found) {
            *value = other;
        }
    }
}

/// Updates a content length that matched the old body. A different length belongs to the encoded
/// body.
fn resize(headers: &mut [(String, Vec<u8>)], before: usize, after: usize) {
    let (before, after) = (before.to_string(), after.to_string());
    for (name, value) in headers {
        if name.eq_ignore_ascii_case("content-length") && *value == before.as_bytes() {
            *value = after.clone().into_bytes();
        }
    }
}

fn in_wire(protocol: Protocol, wire: &mut Wire, asked: Redactor<'_>, answered: Redactor<'_>) {
    for Message { from, bytes } in &mut wire.messages {
        let is_asked = *from == Side::Client;
        match protocol {
            Protocol::Redis if is_asked => {
                if let Some(other) = logins::login(bytes) {
                    *bytes = other;
                }
            }
            Protocol::Mongo => {
                logins::documents(bytes, if is_asked { asked } else { answered });
            }
            _ if is_asked => {
                if let Some(at) = frames::credentials(protocol, bytes) {
                    // Frames with lengths need a password of the same one.
                    let other = match protocol {
                        Protocol::Smtp => stand_in::signature(&bytes[at.clone()]),
                        _ => stand_in::placeholder(&bytes[at.clone()]),
                    };
                    bytes.splice(at, other);
                }
            }
            _ => {}
        }
    }
}

fn is_hash(value: &[u8]) -> bool {
    let [with, without] =
        [true, false].map(|with_hashes| Shapes::built_in(with_hashes).replace(&mut value.to_vec()));
    with && !without
}

#[cfg(test)]
mod tests;
