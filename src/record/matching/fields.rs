//! Fields of requests that choose between recordings of calls that are the same in all that is in their key.
//!
//! A field that had one value in all recordings of a call does not matter: an SDK says its version there, a platform its own.
//! Where it had several (none is one, too) the program chose by it, so each value has its own answers and any other none. Not
//! so what is made anew for each request, since no replay could say it again:
//!
//! - fields that are known for it ([`NOISE`], [`NOISE_WORDS`]): traces, numbers of requests, what a connection and a body are like;
//! - what programs and proxies say of themselves ([`PASSING`]);
//! - times, whatever their field is called;
//! - values that nobody wrote by hand (a UUID, a long token), as long as none came twice: who sends one twice means something by
//!   it. A field whose name says who asks ([`WHO`]) is none of these: users have such numbers, too.
//!
//! The last three choose where they are known, and otherwise pass. Of a secret that is the only one recorded any other passes, too
//! (`shelf`). A cookie is a field.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::key::is_key_header;
use super::noise;
use crate::record::call::HttpRequest;
use crate::record::redact::{is_secret_name, is_signed, places};

/// Fields that say nothing of what is asked for: of a connection (RFC 9110, 7.6), of a body, which is compared itself, of
/// traces (W3C Trace Context and Baggage; Zipkin B3; AWS X-Ray; Jaeger; Sentry), of a single request, of a deadline (gRPC).
const NOISE: [&str; 49] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "via",
    "forwarded",
    "max-forwards",
    "http2-settings",
    "sec-websocket-key",
    "content-length",
    "content-type",
    "content-md5",
    "content-digest",
    "repr-digest",
    "digest",
    "x-amz-content-sha256",
    "date",
    "x-amz-date",
    "x-ms-date",
    "x-goog-date",
    "traceparent",
    "tracestate",
    "baggage",
    "b3",
    "sw8",
    "x-dynatrace",
    "elastic-apm-traceparent",
    "newrelic",
    "grpc-tags-bin",
    "grpc-timeout",
    "x-request-start",
    "x-opaque-id",
    "x-run-id",
    "apns-id",
    "amz-sdk-invocation-id",
    "amz-sdk-request",
    "x-goog-api-client",
    "x-goog-gcs-idempotency-token",
    "x-elastic-client-meta",
    "x-real-ip",
    "x-forwarded-by",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-server",
];
/// Beginnings of names of such fields.
const NOISE_BEGINS: [&str; 6] = ["x-b3-", "x-datadog-", "x-envoy-", "x-amz-checksum-", "x-instana-", "x-newrelic-"];
/// Words of names of such fields, or several words of them in a row.
const NOISE_WORDS: [&str; 9] = [
    "trace",
    "span-id",
    "request-id",
    "correlation",
    "correlation-id",
    "transaction-id",
    "nonce",
    "timestamp",
    "telemetry",
];
/// What programs and proxies say of themselves, and how an attempt is told from a new request.
const PASSING: [&str; 4] = ["user-agent", "x-forwarded-for", "idempotency-key", "x-idempotency-key"];
/// Words of names of fields that say who asks.
const WHO: [&str; 20] = [
    "user",
    "userid",
    "username",
    "uid",
    "client",
    "clientid",
    "device",
    "deviceid",
    "actor",
    "principal",
    "subject",
    "owner",
    "member",
    "role",
    "email",
    "groups",
    "scope",
    "orgid",
    "database",
    "application",
];
/// Fewest characters of a token that nobody wrote by hand.
const MIN_GENERATED_CHARS: usize = 16;

/// What a value is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// A time.
    Time,
    /// Nobody wrote it by hand.
    Generated,
    /// It stands for a secret, or is one.
    Secret,
    /// Anything else.
    Plain,
}

/// A field, or a cookie, by its digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shown {
    /// Its name in lower case; of a cookie behind `cookie `.
    pub(super) name: String,
    pub(super) digest: String,
}

/// What may choose.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) shown: Shown,
    look: Look,
}

impl Field {
    /// Whether it is a secret, of which a replay has another one.
    pub(super) fn is_secret(&self) -> bool {
        self.look == Look::Secret
    }
}

/// The fields and cookies of a request that may choose, in their order.
pub(super) fn of(request: &HttpRequest, noise: &noise::Fields) -> Vec<Field> {
    let mut fields = Vec::new();
    for (name, value) in plain(request) {
        // What is left out of a field is left out of each cookie in it.
        let field = name.split(' ').next().unwrap_or_default();
        let is_left_out = noise.has(&format!("header.{field}")) || noise.has(&format!("header.{name}"));
        if is_left_out || noise.has_value(&value) || is_signed(value.as_bytes()) {
            continue;
        }
        let look = look(&name, &value);
        let digest = Sha256::digest(value.as_bytes()).iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        });
        fields.push(Field { shown: Shown { name, digest }, look });
    }
    fields
}

/// Names, in lower case, and values of the fields and cookies that may choose.
pub(super) fn plain(request: &HttpRequest) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, value) in &request.headers {
        let (name, value) = (name.to_ascii_lowercase(), String::from_utf8_lossy(value).trim().to_owned());
        if name == "cookie" {
            let cookies = value.split(';').filter_map(|cookie| cookie.trim().split_once('='));
            found.extend(
                cookies.map(|(cookie, value)| (format!("cookie {}", cookie.to_ascii_lowercase()), value.to_owned())),
            );
        } else if !is_noise(&name) && !is_key_header(&name) {
            found.push((name, value));
        }
    }
    found
}

fn is_noise(name: &str) -> bool {
    let has_word = |words: &&str| format!("-{name}-").contains(&format!("-{words}-"));
    name.starts_with(':')
        || NOISE.contains(&name)
        || NOISE_BEGINS.iter().any(|begin| name.starts_with(begin))
        || NOISE_WORDS.iter().any(has_word) && !PASSING.contains(&name)
}

/// Whether a field, by its name in lower case, says who asks.
pub(super) fn says_who(name: &str) -> bool {
    name.split(['-', '_']).any(|word| WHO.contains(&word)) && !PASSING.contains(&name)
}

/// The names of those fields of these recordings that are made anew for each request.
pub(super) fn made_anew<'a>(recordings: impl Iterator<Item = &'a [Field]>) -> BTreeSet<String> {
    let mut values: BTreeMap<&str, Vec<(&str, Look)>> = BTreeMap::new();
    for field in recordings.flatten() {
        values.entry(&field.shown.name).or_default().push((&field.shown.digest, field.look));
    }
    let is_anew = |name: &str, values: &[(&str, Look)]| {
        let different: BTreeSet<&str> = values.iter().map(|(digits, _)| *digits).collect();
        let all = |look| values.iter().all(|(_, other)| *other == look);
        let is_generated = || all(Look::Generated) && !says_who(name);
        // What protects a page from forged requests is another one with every page.
        let is_of_page = ["csrf", "xsrf", "nonce"].iter().any(|word| name.contains(word));
        is_of_page
            || PASSING.contains(&name)
            || all(Look::Time)
            || is_generated() && values.len() > 1 && different.len() == values.len()
    };
    let anew = values.into_iter().filter(|(name, values)| is_anew(name, values));
    anew.map(|(name, _)| name.to_owned()).collect()
}

fn look(name: &str, value: &str) -> Look {
    if !places(value.as_bytes()).is_empty() || is_secret_name(name.strip_prefix("cookie ").unwrap_or(name)) {
        return Look::Secret;
    }
    if is_time(value) {
        return Look::Time;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=:".contains(c);
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let is_token = value.len() >= MIN_GENERATED_CHARS && value.chars().all(is_part) && digits >= 4;
    if is_token { Look::Generated } else { Look::Plain }
}

/// Seconds or milliseconds since 1970 from 2001 on, a day and a time (RFC 3339, 5.6; ISO 8601, basic), or a date of HTTP (RFC 9110,
/// 5.6.7).
fn is_time(value: &str) -> bool {
    let bytes = value.as_bytes();
    let number = value.split_once('.').map_or(value, |(whole, _)| whole);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if matches!(number.len(), 10 | 13) && number.starts_with('1') && is_number(&value.replace('.', "")) {
        return true;
    }
    let has_form = |form: &[u8]| {
        let fits = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
        bytes.len() >= form.len() && bytes.iter().zip(form).all(fits)
    };
    let is_date = || value.ends_with(" GMT") && value.get(3..5) == Some(", ");
    has_form(b"0000-00-00T00:00") || has_form(b"00000000T000000") || is_date()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn values_are_known_by_their_look() {
        for (value, expected) in [
            ("1700000000", Look::Time),
            ("1700000000.25", Look::Time),
            ("1700000000123", Look::Time),
            ("2026-01-01T00:00:00Z", Look::Time),
            ("20260101T000000Z", Look::Time),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Look::Time),
            ("550e8400-e29b-41d4-a716-446655440000", Look::Generated),
            ("0123456789abcdef", Look::Generated),
            ("7", Look::Plain),
            ("9700000000", Look::Plain),
            ("gzip, deflate, br, zstd", Look::Plain),
            ("application/vnd.example.shop+json", Look::Plain),
            ("", Look::Plain),
        ] {
            assert_eq!(look("x-a", value), expected, "{value}");
        }
    }
}
