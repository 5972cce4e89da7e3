//! Takes secrets out of calls before they are written, and out of those that are asked before they
//! are looked up: a replay needs none, and has other ones.
//!
//! Three things tell a secret: its *place* (`secret_names` has the rule; `http`, `json` and `wires`
//! know the places), its *shape* (`shapes` is the table), and its *value*: those of the program's
//! environment under names of secrets, what the set's file declares, and what was found by its
//! place in one call of HTTP and stands in another. What stands for a secret (`stand_in`) is a
//! function of its value alone, so the same secret is the same everywhere, in calls that are
//! recorded and in those that are asked.

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
pub use stand_in::is_stand_in;
pub(in crate::record) use stand_in::{is_made, is_signed, is_uuid, places};

use secret_names::NameKind;
use shapes::Shapes;
use stand_in::stand_in;

use crate::record::call::{Content, Exchange, Http, HttpResponse, Message, Protocol, Side, Wire};
use crate::record::http::coding;

/// Secrets of one recording that are looked for in its other calls, at most.
const MAX_FOLLOWED: usize = 65_536;

/// The rules of one set of calls.
#[derive(Debug, Default)]
pub struct Secrets {
    /// Names that the set declares, as words without marks.
    names: Vec<String>,
    /// Patterns that the set declares.
    patterns: Option<Shapes>,
    /// Values of the program's environment.
    values: Option<Values>,
}

impl Secrets {
    /// The rules for a program with this environment, and what the set's file declares: names, and
    /// patterns between slashes. Fails when one cannot be used, with what to write instead.
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
                let which = which.map_or_else(|| patterns.join("/`, `/"), |which| patterns[which].to_owned());
                format!(
                    "`redact` has the pattern `/{which}/`, which cannot be used: {reason}; write a regular expression between slashes"
                )
            })?;
            secrets.patterns = Some(built);
        }
        let is_one = |(name, value): &(String, String)| {
            secret_names::is_secret_variable(name, value)
                || secrets.names.contains(&joined(name)) && !value.is_empty()
        };
        secrets.values = Values::new(
            environment
                .filter(is_one)
                .map(|(_, value)| value.into_bytes()),
        );
        Ok(secrets)
    }

    /// Takes the secrets out of the calls of a recording. A second time changes nothing. What is
    /// returned is to be told.
    pub fn calls(&self, calls: &mut [Exchange]) -> Vec<String> {
        let seen = RefCell::default();
        for call in calls.iter_mut() {
            self.redact(call, &seen);
        }
        let answered = follow(seen.into_inner(), calls);
        let told = format!(
            "a secret of another place stood in {answered} answers, which say what stands for it instead"
        );
        (answered > 0).then_some(told).into_iter().collect()
    }

    /// What a call asks, without secrets: that by which it is looked up.
    pub fn asked(&self, call: &Exchange) -> Exchange {
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
            let known = Shapes::known(!(is_database && side == Side::Server)).replace(text);
            self.patterns
                .as_ref()
                .is_some_and(|shapes| shapes.replace(text))
                || known
        });
        if let Some(values) = &self.values {
            texts(call, &mut |_, text| values.replace(text));
        }
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

/// Replaces secrets that were found by their place wherever else they stand: in answers all of
/// them, and what an answer has, the program may show again, so everywhere. Returns in how many
/// answers one stood.
fn follow(seen: HashMap<Vec<u8>, bool>, calls: &mut [Exchange]) -> usize {
    let (given, asked): (Vec<_>, Vec<_>) = seen.into_iter().partition(|(_, is_given)| *is_given);
    let mut given: Vec<Vec<u8>> = given.into_iter().map(|(value, _)| value).collect();
    let mut answered = 0;
    if let Some(values) = Values::new(asked.into_iter().map(|(value, _)| value)) {
        for call in calls.iter_mut() {
            let mut is_in = false;
            texts(call, &mut |side, text| {
                if side == Side::Server {
                    let found = values.found(text);
                    is_in |= !found.is_empty();
                    given.extend(found);
                }
                false
            });
            answered += usize::from(is_in);
        }
    }
    if let Some(values) = Values::new(given.into_iter()) {
        for call in calls {
            texts(call, &mut |_, text| values.replace(text));
        }
    }
    answered
}

/// A line about a call without tokens of a known shape, for whoever reads it.
pub(in crate::record) fn told(line: &str) -> String {
    let mut line = line.as_bytes().to_vec();
    Shapes::known(true).replace(&mut line);
    String::from_utf8_lossy(&line).into_owned()
}

/// A path and its query without the secrets in it.
pub(in crate::record) fn path(path: &str) -> String {
    let found = Redactor {
        secrets: &Secrets::default(),
        is_answer: false,
        seen: &RefCell::default(),
    };
    http::path(path, found).unwrap_or_else(|| path.to_owned())
}

/// A name without marks and capitals.
fn joined(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// Where secrets are found: by which rules, and what becomes of them.
#[derive(Clone, Copy)]
struct Redactor<'a> {
    secrets: &'a Secrets,
    is_answer: bool,
    /// Those that may stand elsewhere, and whether an answer gave them.
    seen: &'a RefCell<HashMap<Vec<u8>, bool>>,
}

impl Redactor<'_> {
    /// What stands for a secret.
    fn secret(&self, value: &[u8]) -> Vec<u8> {
        let mut seen = self.seen.borrow_mut();
        if is_made(value) && (seen.len() < MAX_FOLLOWED || seen.contains_key(value)) {
            *seen.entry(value.to_vec()).or_default() |= self.is_answer;
        }
        // Of a token that has a shape its beginning stays, wherever it stands.
        let mut shaped = value.to_vec();
        if Shapes::known(true).replace(&mut shaped) {
            shaped
        } else {
            stand_in(value)
        }
    }
}

#[derive(Debug)]
struct Values(AhoCorasick);

impl Values {
    /// `None` of none.
    fn new(values: impl Iterator<Item = Vec<u8>>) -> Option<Self> {
        let values: Vec<Vec<u8>> = values.filter(|value| !is_stand_in(value)).collect();
        let built = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&values);
        built.ok().filter(|_| !values.is_empty()).map(Self)
    }

    fn found(&self, text: &[u8]) -> Vec<Vec<u8>> {
        self.0
            .find_iter(text)
            .map(|at| text[at.range()].to_vec())
            .collect()
    }

    /// Puts what stands for it in the place of each, at the same length; whether there is any.
    fn replace(&self, text: &mut [u8]) -> bool {
        let found: Vec<_> = self.0.find_iter(&*text).map(|at| at.range()).collect();
        for at in &found {
            let other = stand_in(&text[at.clone()]);
            text[at.clone()].copy_from_slice(&other);
        }
        !found.is_empty()
    }
}

/// Shows all texts of a call, in which bytes may be replaced by as many; `replace` says whether it
/// did that.
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

/// A body that was kept in its content coding, without it.
fn plain_body(response: &HttpResponse) -> Option<Vec<u8>> {
    let is_coded = coding::has_note(&response.headers, coding::CODED);
    is_coded
        .then(|| coding::decoded(&response.headers, &response.body))
        .flatten()
}

/// Keeps such a body without its coding: that nothing leaks counts for more than its very bytes.
fn uncover(response: &mut HttpResponse, plain: Vec<u8>) {
    response.body = plain;
    response
        .headers
        .retain(|(name, value)| name != coding::BODY_NOTE || value != coding::CODED.as_bytes());
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

/// A length of a body that was changed. Where it was another one (a coding was taken off), it is of
/// something else.
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
            _ => {}
        }
    }
}

fn is_hash(value: &[u8]) -> bool {
    let [with, without] =
        [true, false].map(|with_hashes| Shapes::known(with_hashes).replace(&mut value.to_vec()));
    with && !without
}

#[cfg(test)]
mod tests;
