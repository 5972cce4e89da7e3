//! Properties of placeholders, redaction of arbitrary bytes, and linear run time.

use std::time::Duration;

use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use super::*;
use crate::redact::stand_in::{is_uuid, places};

fn placeholder_text(secret: &str) -> String {
    String::from_utf8(placeholder(secret.as_bytes())).unwrap()
}

#[test]
fn placeholder_keeps_length_and_form() {
    for (secret, expected) in [
        ("a", "*"),
        ("ab", "r*"),
        ("abc", "r*b"),
        ("geheim", "r*addb"),
        ("correct-hors", "redacte*4059"),
        ("correct-horse", "redacted-9dca"),
        ("correct-horse-battery", "redacted-6224--------"),
        ("correcthorsebattery", "redactedx10efxxxxxx"),
        ("q1w2e3r4t5y6u7i8o9p0", "redactedx05960492115"),
        (
            "c2VjcmV0IG9mIHRoZSBwcm9ncmFtLg==",
            "redactedx966b5a7ddfb88c2a762a7==",
        ),
        ("123", "733"),
        ("482913", "733200"),
        ("48291377", "73320076"),
        ("4111111111111111", "7332000000005018"),
        ("370773112370773112370", "733218021386490394920"),
        (
            "0f8fad5b-d9cb-469f-a165-70867728950e",
            "edac7c81-2e1e-4b64-a17d-6090dcfb5ecc",
        ),
        (
            "0F8FAD5B-D9CB-469F-A165-70867728950E",
            "EDAC7EAB-71D8-4F46-ACCC-6DFE429CBCDC",
        ),
        (
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "edac707e23ede2756aa3f5f7cc9759117c491b3e",
        ),
    ] {
        assert_eq!(placeholder_text(secret), expected, "{secret}");
    }
}

#[test]
fn placeholders_are_found_in_text_except_numbers() {
    let (uuid, token) = (
        placeholder_text("0f8fad5b-d9cb-469f-a165-70867728950e"),
        placeholder_text("q1w2e3r4t5y6u7i8o9p0"),
    );
    let text = format!(
        "SELECT '{uuid}', \"ghp_{token}\" FROM t WHERE id = 7332 AND red_acted = 'redacted'"
    );
    let found: Vec<&str> = places(text.as_bytes())
        .into_iter()
        .map(|at| &text[at])
        .collect();
    assert_eq!(found, [uuid, token]);
}

#[test]
fn words_and_numbers_are_no_placeholders() {
    for value in [
        "",
        "redacted",
        "read",
        "r",
        "7",
        "73",
        "7332000001000000",
        "edac7",
        "edac7edac7edac7edac7",
        "red*",
        "a*b",
        "2026",
    ] {
        assert!(!is_placeholder(value.as_bytes()), "{value}");
    }
}

proptest! {
    #[test]
    fn placeholder_of_any_secret_is_stable(secret in prop::collection::vec(any::<u8>(), 1..100)) {
        let other = placeholder(&secret);
        prop_assert_eq!(other.len(), secret.len());
        prop_assert_eq!(&placeholder(&other), &other);
        prop_assert!(is_placeholder(&other) || secret.len() < 3 && secret.iter().all(u8::is_ascii_digit));
    }

    #[test]
    fn placeholder_keeps_digits_and_uuid_form(secret in "[0-9]{1,40}|[0-9a-f]{16,80}|[0-9A-F]{16,80}|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}") {
        let other = placeholder_text(&secret);
        let is_digits = secret.bytes().all(|byte| byte.is_ascii_digit());
        prop_assert_eq!(other.bytes().all(|byte| byte.is_ascii_digit()), is_digits);
        prop_assert_eq!(is_uuid(other.as_bytes()), is_uuid(secret.as_bytes()));
        prop_assert!(other.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'));
        prop_assert!(is_placeholder(other.as_bytes()) || secret.len() < 3);
    }

    #[test]
    fn redaction_of_any_bytes_is_idempotent(
        path in "/[a-z?&=%#:@._-]{0,40}",
        name in "[a-z-]{1,12}|cookie|authorization|set-cookie",
        value in prop::collection::vec(any::<u8>(), 0..60),
        body in "[-{}\\[\\]\",:=&%a-f0-9\r\n]{0,80}|(password|token|key|\"|:|,|[0-9]{4}|=|&){0,20}",
        kind in "application/json|application/x-www-form-urlencoded|multipart/x|text/plain|grpc",
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut http = call(&path, &[("content-type", &kind)], &body, &[("content-type", &kind)], &body);
        let Content::Http(content) = &mut http.content else { panic!() };
        content.request.headers.push((name, value));
        redacted(&Secrets::default(), &http);
        for protocol in [Protocol::Postgres, Protocol::MySql, Protocol::Redis, Protocol::Mongo, Protocol::Generic] {
            redacted(&Secrets::default(), &wire(protocol, true, &[(Side::Client, &bytes), (Side::Server, &bytes)]));
            redacted(&Secrets::default(), &wire(protocol, true, &[(Side::Client, &op_msg(&bytes)), (Side::Server, &bytes)]));
        }
    }
}

/// Returns the CPU time of this thread for redacting calls.
fn redaction_time(mut all: Vec<Exchange>) -> Duration {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(
            u64::try_from(now.tv_sec).unwrap(),
            u32::try_from(now.tv_nsec).unwrap(),
        )
    };
    let before = now();
    Secrets::default().calls(&mut all);
    now().saturating_sub(before)
}

#[test]
fn redaction_time_is_linear_in_length() {
    /// Length ratio of the texts, and the maximum ratio of the times.
    const TIMES: usize = 8;
    const MOST_TIMES: u32 = 32;
    const SHORT_BYTES: usize = 8 * 1024;
    redaction_time(vec![call("/", &[], "ghp_", &[], "")]);
    let check = |what: &str, piece: &str, made: &dyn Fn(&str) -> Exchange| {
        let of = |bytes: usize| redaction_time(vec![made(&piece.repeat(bytes / piece.len()))]);
        let (short, long) = (
            of(SHORT_BYTES).max(Duration::from_millis(1)),
            of(TIMES * SHORT_BYTES),
        );
        assert!(
            long <= MOST_TIMES * short,
            "{what} `{piece}`: {short:?}, and {long:?} for {TIMES} times as much"
        );
    };
    let typed =
        |kind: &'static str| move |text: &str| call("/", &[("content-type", kind)], text, &[], "");
    for piece in [
        "sk-",
        "eyJ",
        ".eyJ",
        "eyJghp_q1w2e3r4t5y6u7i8o9p0q1w2e3r4t5y6u7i8",
        "://a:",
        "://",
        "-----BEGIN PRIVATE KEY-----",
        "Bearer ",
        "redacted",
        "edac7",
        "$argon2id$",
        ":AA",
    ] {
        check("text", piece, &typed("text/plain"));
    }
    for piece in [
        "{\"password\":",
        "[",
        "\"password\":[",
        "\"a",
        "\\\"",
        "{\"token\":\"q1w2e3r4t5y6u7i8o9p0\"},",
        "\"{\\\"a\\\":",
    ] {
        check("JSON", piece, &typed("application/json"));
    }
    for piece in ["password=abc&", "&", "=", "password={\"a\":1}&", "%7B%22"] {
        check("form", piece, &typed("application/x-www-form-urlencoded"));
    }
    check(
        "parts",
        "--b\r\nContent-Disposition: x; name=\"password\"\r\n\r\nabc\r\n",
        &typed("multipart/form-data"),
    );
    check("cookies", "session=q1w2e3r4t5y6u7i8o9p0; ", &|text| {
        call("/", &[("cookie", text)], "", &[], "")
    });
    check("documents", "\u{2}password\0\u{4}\0\0\0abc\0", &|text| {
        let document = [
            &(text.len() as u32 + 5).to_le_bytes()[..],
            text.as_bytes(),
            b"\0",
        ]
        .concat();
        wire(
            Protocol::Mongo,
            false,
            &[(Side::Client, &op_msg(&document))],
        )
    });
    check("commands", "*2\r\n$4\r\nAUTH\r\n$3\r\nabc\r\n", &|text| {
        wire(Protocol::Redis, false, &[(Side::Client, text.as_bytes())])
    });
}
