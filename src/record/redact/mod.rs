//! Takes secrets out of calls before they are written, and out of the keys by which they are found again: a replay needs
//! none, and has other ones.
//!
//! Taken out are credentials where they have a name (`names`): fields of HTTP, parameters of queries and forms, keys of
//! JSON, elements and attributes of XML, passwords in addresses and statements, authentication of databases; and tokens in
//! paths of services that are known for them (`paths`). Messages of gRPC name nothing, their fields have numbers: there, and
//! everywhere else, tokens are known by their shape (`shapes`). What a value says for itself counts too (`meaning`): a message about a
//! password is none, and numbers are those of cards (`cards`) by name alone. What stands for a token is written as it was (`guise`). Any other value is the call itself and stays, unless it is a token that an answer gave (`tokens`) or a secret of its request that an answer repeats (`echo`).

mod cards;
mod cookies;
mod credential_files;
mod echo;
mod fields;
mod guise;
mod json;
mod meaning;
mod mongo;
mod multipart;
mod mysql;
mod names;
mod needles;
mod numbers;
mod paths;
mod placeholder;
mod plain;
mod queries;
mod random;
mod redis;
mod settings;
mod shapes;
mod sql;
mod tokens;
mod walk;
mod wires;
mod xml;

use std::borrow::Cow;

pub use fields::is_secret_header;
pub(in crate::record) use mysql::value as mysql_value;
pub use names::is_secret_parameter;
pub(in crate::record) use names::{decoded, is_uuid};
pub(in crate::record) use needles::Needles;
pub(in crate::record) use numbers::{in_request as numbered_request, in_wire as numbered, numbers};
use placeholder::STAND_IN;
pub use placeholder::{MARKED, REDACTED};
pub(in crate::record) use redis::command;
pub(in crate::record) use wires::secret_parameters;
pub use wires::{said, wire};

use echo::Repeated;
use fields::{passes, tells_who};
use names::{is_identifier, is_password};
use placeholder::{Marks, digits, known, short};
use walk::{Form, Replace, Secret};

use super::book::describe;
use super::coding;
use super::exchange::{Content, Exchange, Http, HttpRequest, HttpResponse};

/// A secret of a call by where it stands and what tells it from others: digits of its hash, all of them or those that a file
/// has. Of two that are the same the digits of one begin with those of the other; none are like any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown {
    /// The name of the field, key or parameter, in lower case.
    pub name: String,
    /// What it stands in: the hash of the keys and places in lists before the name. Zero where there are none.
    pub place: u64,
    /// In hexadecimal.
    pub digits: String,
}

impl Shown {
    /// Whether both may be the same secret.
    pub fn is_like(&self, other: &Self) -> bool {
        self.digits.starts_with(&other.digits) || other.digits.starts_with(&self.digits)
    }

    fn new(secret: &Secret<'_>) -> Self {
        let name = decoded(secret.name).to_ascii_lowercase();
        Self { name, place: secret.place, digits: digits(secret.value) }
    }
}

/// The credentials that a request carries, by name. Cookies are none of them, since they change with every login (they are
/// among those that [pass](passing)), and signatures, which change with every request; who signs is.
pub fn credentials(request: &HttpRequest) -> Vec<Shown> {
    in_fields(request, tells_who, |secret| matches!(secret.form, Form::Field | Form::Caller))
}

/// The secrets in fields of a request that may be others with every page, by name; of cookies by their own.
pub fn passing(request: &HttpRequest) -> Vec<Shown> {
    in_fields(request, passes, |secret| matches!(secret.form, Form::Field | Form::Caller | Form::Cookie))
}

/// The cookies of a request that are no secrets, such as a language, by their names.
pub fn settings(request: &HttpRequest) -> Vec<Shown> {
    in_fields(request, passes, |secret| secret.form == Form::Setting)
}

/// The cookies among those that [pass](passing) that an answer of a recording gave: what stands for secrets.
pub fn given_cookies(request: &HttpRequest) -> Vec<Shown> {
    in_fields(request, passes, |secret| secret.form == Form::Cookie && is_redacted(secret))
}

/// Whether a secret that [passes](passing), by its name, is a cookie that says who asks, and none that a page is protected by.
pub fn is_of_visitor(name: &str) -> bool {
    name.strip_prefix(cookies::PREFIX).is_some_and(|cookie| !["csrf", "xsrf"].iter().any(|word| cookie.contains(word)))
}

/// A field of HTTP as text, with the same text for every secret in it.
pub fn field(name: &str, value: &[u8]) -> String {
    let without = walk::field(name, value, &mut blank);
    String::from_utf8_lossy(without.as_deref().unwrap_or(value)).trim().to_owned()
}

fn in_fields(request: &HttpRequest, is_one: fn(&str) -> bool, has: fn(&Secret<'_>) -> bool) -> Vec<Shown> {
    let mut found = Vec::new();
    for (name, value) in request.headers.iter().filter(|(name, _)| is_one(name)) {
        walk::named_field(name, value, &mut |secret| {
            if has(secret) {
                found.push(Shown::new(secret));
            }
            None
        });
    }
    found.sort();
    found
}

/// The secrets in the path and the body of a request, by name and place; those of one place in their order.
pub fn places(request: &HttpRequest) -> Vec<Shown> {
    let mut found = Vec::new();
    let mut look = |secret: &Secret<'_>| {
        found.push(Shown::new(secret));
        None
    };
    walk::path(&request.path, &mut look);
    walk::body(&request.headers, &request.body, &mut look);
    found.sort_by(|one, other| (&one.name, one.place).cmp(&(&other.name, other.place)));
    found
}

/// A request with the same text for every secret of its path and its body, as it is compared: wherever they come from.
pub fn without_secrets(request: &HttpRequest) -> Cow<'_, HttpRequest> {
    let path = walk::path(&request.path, &mut blank);
    let body = walk::body(&request.headers, &request.body, &mut blank);
    if path.is_none() && body.is_none() {
        return Cow::Borrowed(request);
    }
    Cow::Owned(HttpRequest {
        path: path.unwrap_or_else(|| request.path.clone()),
        body: body.unwrap_or_else(|| request.body.clone()),
        ..request.clone()
    })
}

/// A path, or a whole URL, without its secrets.
pub fn path(path: &str) -> Cow<'_, str> {
    walk::path(path, &mut blank).map_or(Cow::Borrowed(path), Cow::Owned)
}

/// Whether nobody chose a value: a UUID, or what is long and of digits and letters.
pub fn nobody_chose(value: &[u8]) -> bool {
    names::is_random(value) || names::is_uuid(value)
}

/// Takes the secrets out of the calls of a recording. A second time changes nothing. What is returned is to be told: which
/// answers are not what the server said, and which may have a secret left in them.
pub fn exchanges(exchanges: &mut [Exchange]) -> Vec<String> {
    exchanges.iter_mut().for_each(uncover);
    let (marks, mut seen) = marks(exchanges);
    let asked = echo::asked(exchanges);
    if tokens::replace(exchanges, &seen, &marks) {
        seen.fill(Seen { asked: true, answered: true });
    }
    let (mut replaced, mut left) = (Vec::new(), Vec::new());
    for (exchange, seen) in exchanges.iter_mut().zip(seen) {
        let repeated = redact(exchange, seen, &marks);
        if repeated.replaced {
            replaced.push(describe(exchange));
        }
        if repeated.left {
            left.push(describe(exchange));
        }
    }
    let replaced = listed(&replaced, "a secret of the request stood in the answer and was replaced there, in");
    let left =
        listed(&left, "a secret of the request may stand in the answer, where it was left as an ordinary word, in");
    let answered: Vec<String> =
        exchanges.iter().filter(|exchange| echo::is_answered(&asked, exchange)).map(describe).collect();
    let answered = listed(&answered, "a secret of a request stands in what a database answered, which was left, in");
    replaced.into_iter().chain(left).chain(answered).collect()
}

/// A note about some calls, of which the first are named.
fn listed(calls: &[String], what: &str) -> Option<String> {
    const NAMED: usize = 3;
    let named: Vec<String> = calls.iter().take(NAMED).map(|call| format!("`{call}`")).collect();
    let more = calls.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!calls.is_empty()).then(|| format!("{what} {}{more}", named.join(", ")))
}

/// Takes the secrets out of a call. A second time changes nothing.
pub fn exchange(exchange: &mut Exchange) {
    let (marks, seen) = marks(std::slice::from_ref(exchange));
    let _ = redact(exchange, seen[0], &marks);
}

/// Whether there are secrets in what was asked and answered. What has none, as most of what is long, is not looked at again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    asked: bool,
    answered: bool,
}

/// How the secrets of these calls are told apart, and where there are any.
fn marks(exchanges: &[Exchange]) -> (Marks, Vec<Seen>) {
    let mut all: Vec<(Vec<u8>, bool)> = Vec::new();
    let mut seen = Vec::with_capacity(exchanges.len());
    for exchange in exchanges {
        let before = all.len();
        match &exchange.content {
            Content::Http(http) | Content::Grpc(http) => in_request(&http.request, &mut kept(&mut all)),
            Content::Wire(protocol, wire) => drop(wires::walk(*protocol, wire, &mut kept(&mut all))),
            Content::Dns(_) => {}
        }
        let asked = all.len();
        if let Content::Http(http) | Content::Grpc(http) = &exchange.content
            && let Some(response) = &http.response
        {
            in_response(response, &mut kept(&mut all));
        }
        seen.push(Seen { asked: asked > before, answered: all.len() > asked });
    }
    (Marks::of(all.iter().map(|(secret, guessable)| (secret.as_slice(), *guessable))), seen)
}

/// Keeps the secrets that it is shown, and replaces none.
fn kept(all: &mut Vec<(Vec<u8>, bool)>) -> impl FnMut(&Secret<'_>) -> Option<Vec<u8>> + '_ {
    |secret| {
        if secret.form != Form::Setting {
            all.push((secret.value.to_vec(), secret.guessable));
        }
        None
    }
}

/// The digits of the secrets that an answer has.
pub fn of_answer(response: &HttpResponse) -> Vec<String> {
    let mut found = Vec::new();
    in_response(response, &mut |secret| {
        if secret.form != Form::Setting {
            found.push(digits(secret.value));
        }
        None
    });
    found
}

/// Looks at the secrets of a request.
fn in_request(request: &HttpRequest, look: Replace<'_>) {
    walk::path(&request.path, look);
    for (name, value) in &request.headers {
        walk::field(name, value, look);
    }
    walk::body(&request.headers, &request.body, look);
}

/// Looks at the secrets of an answer.
fn in_response(response: &HttpResponse, look: Replace<'_>) {
    for (name, value) in response.headers.iter().chain(&response.trailers) {
        walk::field(name, value, look);
    }
    walk::body(&response.headers, &response.body, look);
}

/// Takes the content coding off a body that was kept in it, if there are secrets in it: that nothing leaks counts for more than
/// its very bytes.
fn uncover(exchange: &mut Exchange) {
    if let Content::Http(http) = &mut exchange.content
        && let Some(response) = &mut http.response
        && coding::has_note(&response.headers, coding::CODED)
        && let Some(plain) = coding::decoded(&response.headers, &response.body)
        && (walk::body(&response.headers, &plain, &mut blank).is_some() || echo::is_in(&http.request, &plain))
    {
        response.body = plain;
        response.headers.retain(|(name, value)| name != coding::BODY_NOTE || value != coding::CODED.as_bytes());
    }
}

fn redact(exchange: &mut Exchange, seen: Seen, marks: &Marks) -> Repeated {
    match &mut exchange.content {
        Content::Http(http) | Content::Grpc(http) => return self::http(http, seen, marks),
        Content::Dns(_) => {}
        Content::Wire(protocol, said) => {
            wires::replace(*protocol, said, &mut |secret: &Secret<'_>| changed(secret, hidden(secret, marks)));
            wires::given(*protocol, said, &mut |secret: &Secret<'_>| changed(secret, given(secret, marks)));
        }
    }
    Repeated::default()
}

fn http(http: &mut Http, seen: Seen, marks: &Marks) -> Repeated {
    let mut repeated = Repeated::default();
    if let Some(response) = &mut http.response
        && seen.asked
    {
        repeated = echo::replace(&http.request, response, marks);
    }
    if let Some(response) = &mut http.response
        && seen.answered
    {
        let given = &mut |secret: &Secret<'_>| changed(secret, given(secret, marks));
        fields(&mut response.headers, given);
        fields(&mut response.trailers, given);
        if let Some(redacted) = walk::body(&response.headers, &response.body, given) {
            resize(&mut response.headers, response.body.len(), redacted.len());
            response.body = redacted;
        }
    }
    if !seen.asked {
        return repeated;
    }
    let request = &mut http.request;
    let hidden = &mut |secret: &Secret<'_>| changed(secret, hidden(secret, marks));
    if let Some(redacted) = walk::path(&request.path, hidden) {
        request.path = redacted;
    }
    fields(&mut request.headers, hidden);
    if let Some(redacted) = walk::body(&request.headers, &request.body, hidden) {
        resize(&mut request.headers, request.body.len(), redacted.len());
        request.body = redacted;
    }
    repeated
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

fn fields(fields: &mut [(String, Vec<u8>)], replace: Replace<'_>) {
    for (name, value) in fields {
        if let Some(redacted) = walk::field(name, value, replace) {
            *value = redacted;
        }
    }
}

fn changed(secret: &Secret<'_>, other: Vec<u8>) -> Option<Vec<u8>> {
    (other != secret.value).then_some(other)
}

/// What stands for a secret of an answer: what the program can do with it that it does with a secret.
fn given(secret: &Secret<'_>, marks: &Marks) -> Vec<u8> {
    match secret.form {
        Form::Number => b"0".to_vec(),
        Form::Setting => secret.value.to_vec(),
        Form::Text if meaning::is_message(secret.name, secret.value) => secret.value.to_vec(),
        Form::Text if is_password(secret.name) => hidden(secret, marks),
        Form::Text | Form::Field | Form::Signature if is_redacted(secret) => secret.value.to_vec(),
        Form::Text | Form::Field | Form::Signature => marks.stand_in(secret.value, secret.guessable),
        Form::Cookie | Form::Address | Form::Caller | Form::Token => hidden(secret, marks),
    }
}

/// What stands for a secret of a request.
fn hidden(secret: &Secret<'_>, marks: &Marks) -> Vec<u8> {
    match secret.form {
        // What stands for the number of a card is known for it wherever it stands.
        Form::Number if secret.name == cards::NAME => [b"\"", &marks.stand_in(secret.value, true)[..], b"\""].concat(),
        Form::Number => [b"\"", &marks.marked(secret.value, secret.guessable)[..], b"\""].concat(),
        Form::Address | Form::Cookie | Form::Token if known(secret.value).as_deref() != Some("") => {
            marks.stand_in(secret.value, secret.guessable)
        }
        Form::Address | Form::Cookie | Form::Token | Form::Setting => secret.value.to_vec(),
        Form::Field | Form::Caller | Form::Signature | Form::Text => marks.marked(secret.value, secret.guessable),
    }
}

fn is_redacted(secret: &Secret<'_>) -> bool {
    known(secret.value).is_some()
}

/// Whether a text has the stand-in of a token in it.
pub fn holds_stand_in(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-+/=".contains(letter);
    text.contains(STAND_IN) || text.split(|letter| !is_part(letter)).any(|part| guise::known(part.as_bytes()).is_some())
}

/// What stands for any secret where they are not told apart.
fn blank(secret: &Secret<'_>) -> Option<Vec<u8>> {
    if secret.form == Form::Setting {
        return None;
    }
    if secret.form == Form::Token {
        // No length changes around it.
        let mut other = REDACTED.as_bytes().to_vec();
        other.resize(secret.value.len(), b'-');
        return Some(other);
    }
    let quote = if secret.form == Form::Number { "\"" } else { "" };
    // What is a name as well stands for itself alone: another one has another answer.
    let mark = if is_identifier(secret.name) { short(secret.value) } else { REDACTED.to_owned() };
    Some(format!("{quote}{mark}{quote}").into_bytes())
}

#[cfg(test)]
mod tests;
