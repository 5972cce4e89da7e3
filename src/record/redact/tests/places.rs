//! Secrets by place: names, logins, environment values, declarations, and repeated occurrences.

use flate2::Compression;
use flate2::write::GzEncoder;
use pretty_assertions::assert_eq;
use std::io::Write as _;

use super::*;
use crate::redact::secret_names::{is_secret_name, kind};

fn secrets(environment: &[(&str, &str)], declared: &[&str]) -> Result<Secrets, String> {
    let environment = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let declared: Vec<String> = declared.iter().map(|rule| (*rule).to_owned()).collect();
    Secrets::new(environment, &declared)
}

fn placeholder_text(secret: &str) -> String {
    String::from_utf8(placeholder(secret.as_bytes())).unwrap()
}

#[test]
fn secret_names_are_classified_by_ending() {
    let all = [
        (
            "password passwd user_password userPassword DB_PASSWORD user[password] user.password password2 passwords",
            NameKind::Secret,
        ),
        (
            "passwordConfirmation password_hash newPassword secret clientSecret client-secret SECRET_KEY_BASE",
            NameKind::Secret,
        ),
        (
            "access_token X-Auth-Token accessToken csrf-token refreshTokens apiKey X-Api-Key DD-APPLICATION-KEY",
            NameKind::Secret,
        ),
        (
            "api_keys Authorization Proxy-Authorization X-Hub-Signature-256 Stripe-Signature X-Shopify-Hmac-Sha256",
            NameKind::Secret,
        ),
        (
            "otp pin cvv jwt verification_code smtp_pass SSN iban creditCard credentials",
            NameKind::Secret,
        ),
        (
            "token tokens session_id PHPSESSID JSESSIONID",
            NameKind::Worded,
        ),
        (
            "session code auth sid connect.sid error_code",
            NameKind::Doubtful,
        ),
        (
            "token_type tokenCount secret_name max_tokens_limit password_policy keyId expires api_key_id",
            NameKind::Other,
        ),
        (
            "next_page_token pageToken syncToken Idempotency-Key Sec-WebSocket-Key key name pincode_area bypass",
            NameKind::Other,
        ),
    ];
    for (names, expected) in all {
        for name in names.split(' ') {
            assert_eq!(kind(name), expected, "{name}");
            assert_eq!(
                is_secret_name(name),
                matches!(expected, NameKind::Secret | NameKind::Worded),
                "{name}"
            );
        }
    }
}

/// CONNECT of MQTT with a will of an empty topic, the user `app` and this password.
fn mqtt_connect(level: u8, password: &str) -> Vec<u8> {
    let properties = if level == 5 { &[0][..] } else { b"" };
    let head = [b"\0\x04MQTT", &[level, 0xc6, 0, 60][..], properties].concat();
    let will = [b"\0\x01c", properties, b"\0\0\0\x01w\0\x03app\0"].concat();
    let password = [&[password.len() as u8], password.as_bytes()].concat();
    let body = [head, will, password].concat();
    [&[0x10, body.len() as u8], &body[..]].concat()
}

/// Start-ok of AMQP with this response.
fn start_ok(response: &str) -> Vec<u8> {
    let length = (response.len() as u32).to_be_bytes();
    let mechanism = b"\0\x0a\0\x0b\0\0\0\0\x05PLAIN";
    let body = [mechanism, &length[..], response.as_bytes(), b"\x02en"].concat();
    let head = [&[1, 0, 0], &(body.len() as u32).to_be_bytes()[..]].concat();
    [&head[..], &body, b"\xce"].concat()
}

/// CONNECT of NATS with a password and with a token, and a message that is no login.
fn nats_logins(password: &str) -> Vec<Vec<u8>> {
    let with_user = format!("CONNECT {{\"user\": \"app\", \"pass\": \"{password}\"}}\r\n");
    let with_token = format!("CONNECT {{\"pass\":null,\"auth_token\":\"{password}\"}}\r\n");
    let message = "PUB a 15\r\n{\"pass\":\"here\"}\r\n".to_owned();
    [with_user, with_token, message]
        .map(String::into_bytes)
        .to_vec()
}

#[test]
fn logins_keep_user_without_password() {
    let password = placeholder_text("geheim");
    let cases = [
        (
            Protocol::Redis,
            vec![resp(&["AUTH", "geheim"])],
            vec![resp(&["AUTH", &password])],
        ),
        (
            Protocol::Redis,
            vec![resp(&["auth", "app", "geheim"])],
            vec![resp(&["auth", "app", &password])],
        ),
        (
            Protocol::Redis,
            vec![b"AUTH geheim\r\n".to_vec()],
            vec![resp(&["AUTH", &password])],
        ),
        (
            Protocol::Redis,
            vec![
                [
                    resp(&["HELLO", "3", "AUTH", "app", "geheim", "SETNAME", "x"]),
                    resp(&["GET", "auth"]),
                ]
                .concat(),
            ],
            vec![
                [
                    resp(&["HELLO", "3", "AUTH", "app", &password, "SETNAME", "x"]),
                    resp(&["GET", "auth"]),
                ]
                .concat(),
            ],
        ),
        (
            Protocol::Smtp,
            vec![
                b"AUTH PLAIN AGFwcABnZWhlaW0=\r\n".to_vec(),
                b"Z2VoZWlt\r\n".to_vec(),
                b"RSET\r\n".to_vec(),
            ],
            vec![
                b"AUTH PLAIN redactedx0000xx=\r\n".to_vec(),
                b"redacted-0000\r\n".to_vec(),
                b"RSET\r\n".to_vec(),
            ],
        ),
        (
            Protocol::Mqtt,
            vec![mqtt_connect(4, "geheim"), mqtt_connect(5, "geheim")],
            vec![mqtt_connect(4, &password), mqtt_connect(5, &password)],
        ),
        (
            Protocol::Amqp,
            vec![start_ok("\0app\0geheim"), start_ok("geheim")],
            vec![start_ok(&format!("\0app\0{password}")), start_ok(&password)],
        ),
        (
            Protocol::Nats,
            nats_logins("geheim"),
            nats_logins(&password),
        ),
        (
            Protocol::Mongo,
            vec![op_msg(&bson(&[
                ("saslStart", "1"),
                ("mechanism", "PLAIN"),
                ("payload", "\0app\0geheim"),
            ]))],
            vec![op_msg(&bson(&[
                ("saslStart", "1"),
                ("mechanism", "PLAIN"),
                ("payload", "\0\0\0\0\0\0\0\0\0\0\0"),
            ]))],
        ),
    ];
    for (protocol, said, expected) in cases {
        let of = |messages: &[Vec<u8>]| {
            let messages: Vec<(Side, &[u8])> = messages
                .iter()
                .map(|bytes| (Side::Client, &bytes[..]))
                .collect();
            wire(protocol, true, &messages)
        };
        assert_eq!(
            parts(&redacted(&Secrets::default(), &of(&said))),
            parts(&of(&expected))
        );
    }
}

#[test]
fn environment_secrets_are_redacted_in_all_places() {
    let environment = [
        ("DB_PASSWORD", "correct-horse-42x"),
        ("STRIPE_KEY", "q1w2e3r4t5y6u7i8o9p0"),
        ("SESSION_TOKEN_PATH", "/run/token/0a1b2c3d"),
        ("API_TOKEN", "development"),
        ("PIN", "12345678"),
        ("HOME_TOKEN", "/home/a1/b2/c3"),
        ("GREETING", "good-morning-42x"),
    ];
    let said = "'correct-horse-42x' 'q1w2e3r4t5y6u7i8o9p0' '/run/token/0a1b2c3d' 'development' '12345678' '/home/a1/b2/c3' 'good-morning-42x'";
    let expected = said.replace("correct-horse-42x", &placeholder_text("correct-horse-42x"));
    let expected = expected.replace(
        "q1w2e3r4t5y6u7i8o9p0",
        &placeholder_text("q1w2e3r4t5y6u7i8o9p0"),
    );
    let rules = secrets(&environment, &[]).unwrap();
    for (protocol, make) in [
        (Protocol::Postgres, query as fn(&str) -> Vec<u8>),
        (Protocol::MySql, com_query),
    ] {
        let both = |text: &str| {
            wire(
                protocol,
                false,
                &[(Side::Client, &make(text)), (Side::Server, text.as_bytes())],
            )
        };
        assert_eq!(redacted(&rules, &both(said)), both(&expected));
    }
    let of = |text: &str| {
        wire(
            Protocol::Redis,
            false,
            &[
                (Side::Client, &resp(&["SET", "k", text])),
                (Side::Server, text.as_bytes()),
            ],
        )
    };
    assert_eq!(redacted(&rules, &of(said)), of(&expected));
    assert_eq!(
        redacted(&rules, &call("/", &[], said, &[("x", said)], said)),
        call("/", &[], &expected, &[("x", &expected)], &expected)
    );
}

#[test]
fn declared_names_and_patterns_are_redacted() {
    let rules = secrets(
        &[("INTERNAL_REF", "ab-cd")],
        &["internal-ref", "/CUST-[0-9]{6}/", "/ref: (\\w+)/"],
    )
    .unwrap();
    let asked =
        "{\"internalRef\":\"words here\",\"note\":\"CUST-123456, ref: abcdef\",\"id\":\"ab-cd\"}";
    let expected = format!(
        "{{\"internalRef\":\"{}\",\"note\":\"{}, ref: {}\",\"id\":\"{}\"}}",
        placeholder_text("words here"),
        placeholder_text("CUST-123456"),
        placeholder_text("abcdef"),
        placeholder_text("ab-cd")
    );
    let json = [("content-type", "application/json")];
    assert_eq!(
        redacted(&rules, &call("/", &json, asked, &[], "")),
        call("/", &json, &expected, &[], "")
    );
}

#[test]
fn invalid_declaration_error_shows_valid_form() {
    let refused = |rule: &str| secrets(&[], &[rule]).unwrap_err();
    assert_eq!(
        refused("--"),
        "`redact` has `--`: write a name, such as `internal_ref`, or a `/pattern/`"
    );
    assert_eq!(
        refused("/(a/"),
        "`redact` has the invalid pattern `/(a/`: unclosed group; write a regular expression \
         between slashes"
    );
}

#[test]
fn answered_token_has_same_placeholder_everywhere() {
    let token = "v8m2k5j8h1g4f7d0s3a6q9w2";
    let json = [("content-type", "application/json")];
    let calls = |token: &str| {
        let session = resp(&["SET", &format!("session:{token}"), "alice"]);
        let row = [b"D\0\0\0\x22\0\x01\0\0\0\x18", token.as_bytes()].concat();
        vec![
            wire(
                Protocol::Redis,
                false,
                &[(Side::Client, &session), (Side::Server, b"+OK\r\n")],
            ),
            call(
                "/login",
                &json,
                "{\"user\":\"alice\"}",
                &json,
                &format!("{{\"access_token\":\"{token}\"}}"),
            ),
            call(
                &format!("/sessions/{token}"),
                &[("authorization", &format!("Bearer {token}"))],
                "",
                &[],
                "ok",
            ),
            wire(
                Protocol::Postgres,
                false,
                &[
                    (Side::Client, &query(&format!("SELECT '{token}'"))),
                    (Side::Server, &row),
                ],
            ),
        ]
    };
    let mut made = calls(token);
    assert_eq!(Secrets::default().calls(&mut made), Vec::<String>::new());
    assert_eq!(made, calls(&placeholder_text(token)));
}

#[test]
fn request_secret_in_answers_is_redacted() {
    let key = "v8m2k5j8h1g4f7d0s3a6q9w2";
    let calls = |asked: &str, read: &str| {
        let row = [b"D\0\0\0\x22\0\x01\0\0\0\x18", read.as_bytes()].concat();
        vec![
            wire(
                Protocol::Postgres,
                false,
                &[
                    (Side::Client, &query("SELECT key FROM settings")),
                    (Side::Server, &row),
                ],
            ),
            call(
                "/",
                &[("x-api-key", asked)],
                "",
                &[],
                &format!("you sent {read}"),
            ),
        ]
    };
    let mut made = calls(key, key);
    let told = "2 answers contained a secret of another call; it was replaced there, too";
    assert_eq!(Secrets::default().calls(&mut made), [told]);
    assert_eq!(made, calls(&placeholder_text(key), &placeholder_text(key)));
}

#[test]
fn mongo_redaction_keeps_lengths_and_answered_hashes() {
    let hash = format!(
        "$2{}$12${}",
        "b", "q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6q1W2e3R4t5Y6u7I8o9P0a"
    );
    let of = |password: &str, token: &str, stored: &str| {
        let asked = op_msg(&bson(&[
            ("insert", "users"),
            ("name", "alice"),
            ("password", password),
            ("resetToken", token),
        ]));
        let answer = op_msg(&bson(&[("password", stored), ("resetToken", token)]));
        wire(
            Protocol::Mongo,
            false,
            &[(Side::Client, &asked), (Side::Server, &answer)],
        )
    };
    let made = redacted(&Secrets::default(), &of("geheim", "b7f3c9d1e5a2", &hash));
    assert_eq!(
        made,
        of(
            &placeholder_text("geheim"),
            &placeholder_text("b7f3c9d1e5a2"),
            &hash
        )
    );
}

#[test]
fn all_documents_of_mongo_message_are_redacted() {
    let of = |password: &str| {
        // A document of 256 bytes, whose length begins with a zero byte.
        let long = bson(&[("text", &"a".repeat(256 - 5 - 1 - 5 - 4 - 1))]);
        assert_eq!(long.len(), 256);
        let secret = bson(&[("password", password)]);
        let inside = [b"documents\0", &long[..], &long, &secret].concat();
        let section = [&[1][..], &(inside.len() as u32 + 4).to_le_bytes(), &inside].concat();
        let mut asked = op_msg(&bson(&[("insert", "users")]));
        asked.extend(section);
        let words = |words: &[u32]| {
            words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let query = [
            &words(&[0, 1, 0, 2004, 0])[..],
            b"a.users\0",
            &words(&[0, 1]),
            &long,
            &secret,
        ]
        .concat();
        let reply = [&words(&[0, 1, 0, 1, 0, 0, 0, 0, 2])[..], &long, &secret].concat();
        wire(
            Protocol::Mongo,
            false,
            &[
                (Side::Client, &asked),
                (Side::Client, &query),
                (Side::Server, &reply),
            ],
        )
    };
    assert_eq!(
        redacted(&Secrets::default(), &of("geheim")),
        of(&placeholder_text("geheim"))
    );
}

#[test]
fn encoded_body_is_decoded_only_for_secret() {
    let coded = |text: &str| {
        let mut coder = GzEncoder::new(Vec::new(), Compression::default());
        coder.write_all(text.as_bytes()).unwrap();
        coder.finish().unwrap()
    };
    let fields = [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    let of = |body: Vec<u8>, is_coded: bool| {
        let mut made = call("/", &[], "", &fields, "");
        let Content::Http(http) = &mut made.content else {
            panic!()
        };
        let response = http.response.as_mut().unwrap();
        (response.body, response.is_coded) = (body, is_coded);
        made
    };
    let plain = of(coded("{\"name\":\"alice\"}"), true);
    assert_eq!(redacted(&Secrets::default(), &plain), plain);
    for (body, expected) in [
        (
            "{\"password\":\"geheim\"}".to_owned(),
            format!("{{\"password\":\"{}\"}}", placeholder_text("geheim")),
        ),
        (
            format!("[\"ghp_{}\"]", "q1w2e3r4t5y6u7i8o9p0q1w2e3r4t5y6u7i8"),
            format!(
                "[\"ghp_{}\"]",
                placeholder_text("q1w2e3r4t5y6u7i8o9p0q1w2e3r4t5y6u7i8")
            ),
        ),
    ] {
        let expected = of(expected.into_bytes(), false);
        assert_eq!(
            redacted(&Secrets::default(), &of(coded(&body), true)),
            expected
        );
    }
}

#[test]
fn content_length_follows_redacted_body() {
    let asked = "{\"password\":\"a\\u0042c\\/def\"}";
    let json = |length: usize| {
        [
            ("content-type", "application/json".to_owned()),
            ("content-length", length.to_string()),
        ]
    };
    let of = |body: &str| {
        let fields = json(body.len());
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        call("/", &fields, body, &fields, body)
    };
    let expected = format!("{{\"password\":\"{}\"}}", placeholder_text("aBc/def"));
    assert_eq!(redacted(&Secrets::default(), &of(asked)), of(&expected));
}

#[test]
fn possible_secrets_are_listed_as_leftovers() {
    let key = "Zk3v9Qm2Xc7Bn4Lp8Rt1Wd6";
    let asked = format!(
        "<Password>{key}</Password><Id>0f8fad5b-d9cb-469f-a165-70867728950e</Id><At>2026-11-22T10:00:00Z</At>"
    );
    let made = call(
        "/orders/2026/alice",
        &[("x-id", "a")],
        &asked,
        &[("etag", key)],
        "{\"password\":\"geheim\"}",
    );
    let made = redacted(&Secrets::default(), &made);
    assert_eq!(
        left_over(&made),
        [Leftover {
            place: "body".to_owned(),
            value: key.to_owned()
        }]
    );
    let made = wire(
        Protocol::Postgres,
        false,
        &[(Side::Client, &query(&format!("SELECT '{key}', '{key}'")))],
    );
    let made = redacted(&Secrets::default(), &made);
    assert_eq!(
        left_over(&made),
        [Leftover {
            place: "message".to_owned(),
            value: key.to_owned()
        }]
    );
}
