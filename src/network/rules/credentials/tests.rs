use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::rules::{Host, Transport};

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn credential(name: &str, secret: &str, place: &str) -> Credential {
    Credential::new(
        name.to_owned(),
        Secret::new(secret.into()),
        vec![place.parse().unwrap()],
    )
    .unwrap()
}

fn to(host: &str, port: u16) -> Destination {
    Destination {
        transport: Transport::Tcp,
        host: Host::Name(host.to_owned()),
        port,
    }
}

/// A request of this path.
fn request_line(is_tls: bool, path: &str) -> RequestLine<'_> {
    RequestLine {
        is_tls,
        method: "GET",
        path,
        may_switch: false,
    }
}

fn filled(
    all: &Credentials,
    (to, asked): (&Destination, RequestLine<'_>),
    value: &str,
) -> (String, Vec<Pair>) {
    let (mut value, mut written) = (value.as_bytes().to_vec(), Vec::new());
    all.fill(to, asked, &mut value, &mut written);
    (String::from_utf8(value).unwrap(), written)
}

#[test]
fn stand_in_has_length_of_secret() {
    for length in [MIN_SECRET_BYTES, 16, 17, 33, 34, 40, 300, MAX_SECRET_BYTES] {
        let one = credential("A", &"x".repeat(length), "https://a.example").stand_in;
        assert_eq!(one.len(), length);
        assert!(
            one.starts_with(&MARK[..MARK.len().min(length.saturating_sub(RANDOM_CHARACTERS))]),
            "{one}"
        );
        assert_ne!(
            one,
            credential("A", &"x".repeat(length), "https://a.example").stand_in
        );
    }
    assert!(!format!("{:?}", credential("A", SECRET, "https://a.example")).contains("ghp_"));
}

#[test]
fn invalid_secret_is_rejected() {
    let said = |secret: &str| {
        Credential::new("A".to_owned(), Secret::new(secret.into()), Vec::new())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(said("1234567"), "has 7 bytes; 8 to 8192 are allowed");
    assert_eq!(
        said(&"x".repeat(8193)),
        "has 8193 bytes; 8 to 8192 are allowed"
    );
    assert_eq!(
        said("12345678\n"),
        "contains a control character, which HTTP headers cannot have"
    );
}

#[test]
fn secret_is_filled_only_for_its_destination() {
    let one = credential("GH", SECRET, "https://api.example.com/repos/**");
    let stand_in = one.stand_in.clone();
    let all = Credentials::new(vec![one]);
    let (good, evil, other_port) = (
        to("api.example.com", 443),
        to("evil.example.com", 443),
        to("api.example.com", 80),
    );
    let value = format!("Bearer {stand_in}");
    let meant = (&good, request_line(true, "/repos/a"));
    assert_eq!(filled(&all, meant, &value).0, format!("Bearer {SECRET}"));
    for (to, asked) in [
        (&good, request_line(false, "/repos/a")),
        (&good, request_line(true, "/user")),
        (&good, request_line(true, "/repos/../user")),
        (&evil, request_line(true, "/repos/a")),
        (&other_port, request_line(false, "/repos/a")),
    ] {
        assert_eq!(
            filled(&all, (to, asked), &value),
            (value.clone(), Vec::new()),
            "{to} {asked:?}"
        );
        assert_eq!(all.astray(to, asked, value.as_bytes()), Some("GH"));
        assert_eq!(all.are_for(to), *to == good);
    }
    assert_eq!(all.astray(meant.0, meant.1, value.as_bytes()), None);
    assert_eq!(all.astray(&evil, meant.1, b"Bearer x"), None);
    let cookie = format!("a={stand_in}; b={stand_in}");
    assert_eq!(
        filled(&all, meant, &cookie).0,
        format!("a={SECRET}; b={SECRET}")
    );
}

#[test]
fn basic_token_is_decoded_in_request_and_answer() {
    let one = credential("GH", SECRET, "https://api.example.com");
    let stand_in = one.stand_in.clone();
    let all = Credentials::new(vec![one]);
    let good = to("api.example.com", 443);
    let meant = (&good, request_line(true, "/"));
    for (before, after, user) in [
        ("", "", "x"),
        ("basic  ", " ", "git"),
        ("BASIC ", "", "users"),
    ] {
        for engine in [STANDARD, STANDARD_NO_PAD] {
            let name = if before.is_empty() { "Basic " } else { before };
            let of = |secret: &str| engine.encode(format!("{user}:{secret}"));
            let value = format!("{name}{}{after}", of(&stand_in));
            let (put, written) = filled(&all, meant, &value);
            assert_eq!(put, format!("{name}{}{after}", of(SECRET)));
            let expected = Pair {
                text: Secret::new(of(SECRET).into_bytes()),
                instead: of(&stand_in).into_bytes(),
            };
            assert_eq!(written, [expected]);
            assert_eq!(
                all.astray(&good, request_line(false, "/"), value.as_bytes()),
                Some("GH")
            );
        }
    }
    let plain = format!("Basic {}", STANDARD.encode("user:another"));
    assert_eq!(filled(&all, meant, &plain), (plain.clone(), Vec::new()));
    let as_user = format!("Basic {}", STANDARD.encode(format!("{stand_in}:")));
    assert_eq!(
        filled(&all, meant, &as_user).0,
        format!("Basic {}", STANDARD.encode(format!("{SECRET}:")))
    );
}

#[test]
fn base64_secret_is_concealed_at_any_offset() {
    let secret = "~~~???>>>ghp_0123456789";
    let one = credential("GH", secret, "https://api.example.com");
    let stand_in = one.stand_in.clone();
    let all = Credentials::new(vec![one]);
    // The connection has filled nothing itself.
    let mut concealer = all.concealer(&to("api.example.com", 443), Vec::new());
    for (before, after) in [
        ("", ""),
        ("x:", ""),
        ("git:", "!"),
        (":", "12"),
        ("x", "123"),
    ] {
        for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
            let text = format!(
                "Basic {}\n",
                engine.encode(format!("{before}{secret}{after}"))
            );
            let concealed = concealer.take(text.as_bytes()).unwrap();
            let token = std::str::from_utf8(&concealed)
                .unwrap()
                .trim_end()
                .strip_prefix("Basic ")
                .unwrap();
            let plain = engine.decode(token).unwrap();
            let inner = &plain[before.len() + 1..plain.len() - after.len() - 1];
            assert_eq!(
                inner,
                &stand_in.as_bytes()[1..stand_in.len() - 1],
                "{before} {after} {text}"
            );
        }
    }
}

#[test]
fn password_replaces_stand_in() {
    let one = credential("PGPASSWORD", SECRET, "postgres://db.example.com");
    let stand_in = one.stand_in.clone();
    let all = Credentials::new(vec![one]);
    let (good, other) = (to("db.example.com", 5432), to("db.example.com", 443));
    let of = |scheme, to| {
        all.for_login(scheme, to)
            .iter()
            .map(|it| it.stand_in.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(Scheme::Postgres, &good), [stand_in]);
    assert_eq!(
        (
            of(Scheme::Postgres, &other).len(),
            of(Scheme::MySql, &good).len()
        ),
        (0, 0)
    );
    let with_port: CredentialTarget = "postgres://[::1]:5433".parse().unwrap();
    let host = Host::Address("::1".parse().unwrap());
    let there = Destination {
        transport: Transport::Tcp,
        host,
        port: 5433,
    };
    assert!(
        with_port.names(&there)
            && "postgres://[::1]"
                .parse::<CredentialTarget>()
                .unwrap()
                .names(&Destination {
                    port: 5432,
                    ..there
                })
    );
}

#[test]
fn invalid_destination_is_rejected_with_reason() {
    let cases = [
        (
            "api.example.com",
            "has no scheme; it must begin with one of https://, http://, postgres://, mysql://",
        ),
        (
            "redis://db.example.com",
            "begins with `redis://`, which does not support credentials; use one of https://, \
             http://, postgres://, mysql://",
        ),
        (
            "postgres://me@db.example.com",
            "names a user or a database; name the host, and its port if that is not 5432",
        ),
        (
            "mysql://db.example.com/it",
            "names a user or a database; name the host, and its port if that is not 3306",
        ),
        (
            "https://a b@api.example.com",
            "names a user that is not letters, digits, `-`, `.` and `_`",
        ),
        (
            "https://api.example.com:0/",
            "has the port `0`; 1 to 65535 or `*` is allowed",
        ),
    ];
    for (text, expected) in cases {
        let error = text.parse::<CredentialTarget>().unwrap_err();
        assert_eq!((error.rule.as_str(), error.why.as_ref()), (text, expected));
    }
    let place: CredentialTarget = "https://alice@git.example.com:8443".parse().unwrap();
    assert_eq!(
        (place.user.as_deref(), place.authority.as_str()),
        (Some("alice"), "git.example.com:8443")
    );
}

proptest! {
    /// A field without a stand-in does not change, and no length changes.
    #[test]
    fn field_without_stand_in_is_unchanged(value in prop::collection::vec(any::<u8>(), 0..80), is_basic in any::<bool>()) {
        let all = Credentials::new(vec![credential("GH", SECRET, "https://api.example.com")]);
        let good = to("api.example.com", 443);
        let value = if is_basic { [b"Basic ", &value[..]].concat() } else { value };
        let (mut put, mut written) = (value.clone(), Vec::new());
        all.fill(&good, request_line(true, "/"), &mut put, &mut written);
        prop_assert_eq!((put, written), (value, Vec::new()));
    }

    #[test]
    fn filled_secret_is_concealed_again(before in "[ -~]{0,20}", after in "[ -~]{0,20}", cut in 0..60_usize) {
        let one = credential("GH", SECRET, "https://api.example.com");
        let text = format!("{before}{}{after}", one.stand_in);
        let all = Credentials::new(vec![one]);
        let good = to("api.example.com", 443);
        let (put, _) = filled(&all, (&good, request_line(true, "/")), &text);
        prop_assert_eq!(put.len(), text.len());
        let mut concealer = all.concealer(&good, Vec::new());
        let (first, second) = put.as_bytes().split_at(cut.min(put.len()));
        let parts = [concealer.take(first), concealer.take(second), concealer.end()];
        prop_assert_eq!(parts.map(Option::unwrap).concat(), text.as_bytes());
    }
}
