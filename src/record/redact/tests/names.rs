//! Which names are of secrets, and which values of doubtful ones.

use pretty_assertions::assert_eq;

use super::*;
use crate::record::redact::fields::{is_secret_cookie, tells_who};
use crate::record::redact::names::{Kind, is_random, is_secret_argument, is_secret_value, kind};

/// Those of which this holds.
fn those<'a>(names: &[&'a str], is_one: impl Fn(&str) -> bool) -> Vec<&'a str> {
    names.iter().copied().filter(|name| is_one(name)).collect()
}

#[test]
fn fields_of_http() {
    let secrets = [
        "Authorization",
        "X-Forwarded-Authorization",
        "DD-API-KEY",
        "DD-APPLICATION-KEY",
        "X-Master-Key",
        "X-License-Key",
        "X-OTP",
        "X-Api-Token",
        "X-ApiKeys",
        "X-MBX-APIKEY",
        "CB-ACCESS-KEY",
        "CB-ACCESS-SIGN",
        "CB-ACCESS-PASSPHRASE",
        "X-JFrog-Art-Api",
        "X-Hasura-Admin-Secret",
        "X-Parse-REST-API-Key",
        "CF-Access-Client-Secret",
        "X-Amz-Server-Side-Encryption-Customer-Key",
        "X-BasicAuth",
        "X-Session-Id",
        "X-User-Password",
        "X-Credentials",
        "Ocp-Apim-Subscription-Key",
        "x-functions-key",
        "X-Shopify-Hmac-Sha256",
        "X-Amz-Security-Token",
        "X-WP-Nonce",
        "X-Request-Signature",
        "X-Message-Token",
        "Pass",
        "Pwd",
        "Pin",
        "Bearer",
        "TOTP",
        "mfa_code",
    ];
    assert_eq!(those(&secrets, is_secret_header), secrets);
    let others = [
        "Idempotency-Key",
        "X-Idempotency-Key",
        "Sec-WebSocket-Key",
        "X-Cache-Key",
        "Surrogate-Key",
        "xkey",
        "Partition-Key",
        "x-ms-documentdb-partitionkey",
        "X-OAuth-Scopes",
        "X-Accepted-OAuth-Scopes",
        "WWW-Authenticate",
        "X-Author",
        "X-RateLimit-Remaining-Tokens",
        "X-Next-Page-Token",
        "Access-Control-Allow-Credentials",
        "ETag",
        "X-Request-Id",
        "x-amz-server-side-encryption-bucket-key-enabled",
        "X-Keyword",
        "X-Auth-Status",
        "X-Session-Count",
        "X-Session-Region",
        "Public-Key",
        "X-Token-Type",
        "Keep-Alive",
    ];
    assert_eq!(those(&others, is_secret_header), [""; 0]);
    assert_eq!(those(&["X-OTP", "CB-ACCESS-SIGN", "X-Signature", "X-Signing-Key"], tells_who), ["X-Signing-Key"]);
    assert_eq!(
        those(&["PHPSESSID", "remember_token", "lang", "_ga"], is_secret_cookie),
        ["PHPSESSID", "remember_token"]
    );
}

#[test]
fn keys_and_parameters() {
    let secrets = [
        "pass",
        "pw",
        "pwd",
        "otp",
        "otp_code",
        "cvv",
        "cvv2",
        "cvc",
        "code_verifier",
        "codeVerifier",
        "licenseKey",
        "subscription-key",
        "app_key",
        "client_assertion",
        "db_pass",
        "SMTP_PASS",
        "password2",
        "password_2",
        "userPassword",
        "newPassword",
        "resetToken",
        "verification_token",
        "deviceToken",
        "device_code",
        "verificationCode",
        "private_key",
        "AccessKey",
        "SecretAccessKey",
        "signingKey",
        "api[key]",
        "user[password]",
        "aws.secret",
        "accesstoken",
        "JWT",
    ];
    assert_eq!(those(&secrets, is_secret_key), secrets);
    assert_eq!(those(&secrets, is_secret_parameter), secrets);
    let others = [
        "key",
        "code",
        "session",
        "auth",
        "status_code",
        "countryCode",
        "zip_code",
        "errorCode",
        "passes",
        "compass",
        "bypass",
        "passenger",
        "passed",
        "next_page_token",
        "nextToken",
        "syncToken",
        "continuationToken",
        "eos_token",
        "max_tokens",
        "token_type",
        "tokenize",
        "primary_key",
        "publicKey",
        "sort_key",
        "foreignKey",
        "monkey",
        "secretary",
        "pinned",
        "shipping",
        "author",
        "authority",
        "sessions",
        "state",
        "grant_type",
        "keyboard",
        "secret_id_name",
        "option",
        "pincode",
        "image_pull_secret_name",
        "secretKeyRef",
    ];
    assert_eq!(those(&others, is_secret_key), [""; 0]);
    assert_eq!(those(&others, is_secret_parameter), [""; 0]);
    assert_eq!(
        ["token", "otp", "id", "token_id", "note"].map(kind),
        [Kind::Secret, Kind::Secret, Kind::Doubtful, Kind::Description, Kind::Other]
    );
}

#[test]
fn keys_of_services_and_of_people() {
    let secrets = [
        "stripeKey",
        "sshKey",
        "ssh_key",
        "consumerKey",
        "storageKey",
        "_csrf",
        "xsrf",
        "creds",
        "kubeconfig",
        "mnemonic",
        "seedPhrase",
        "backup_codes",
        "recovery_codes",
        "secret_text",
        "token_value",
        "ssn",
        "iban",
        "secretValue",
        "SecretBinary",
        "apiKeys",
        "pin_code",
    ];
    assert_eq!(those(&secrets, is_secret_key), secrets);
    assert_eq!(those(&secrets, is_secret_parameter), secrets);
}

#[test]
fn names_that_say_it_of_some_values() {
    const RANDOM: &str = "4/0AX4XfWh9a8b7c6d5e4f3";
    let values = ["de", "404", "TOO_MANY_REQUESTS", "user-settings-2026", "photos/2026/image-01.jpg", RANDOM];
    for name in ["code", "key", "appid"] {
        assert_eq!(those(&values, |value| is_secret_argument(name, value.as_bytes())), [RANDOM], "{name}");
    }
    assert_eq!(those(&values, |value| is_secret_value("code", value.as_bytes())), [RANDOM]);
    assert_eq!(those(&values, |value| is_secret_value("key", value.as_bytes())), [""; 0]);
    let uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
    for name in ["session", "sid", "pat"] {
        assert_eq!(
            those(&["autumn", "7", uuid, RANDOM], |value| is_secret_argument(name, value.as_bytes())),
            [uuid, RANDOM]
        );
    }
    for name in ["session", "pat"] {
        assert_eq!(
            those(&["autumn", "7", uuid, RANDOM], |value| is_secret_value(name, value.as_bytes())),
            [uuid, RANDOM]
        );
    }
    // Services call by it what is no secret.
    assert_eq!(
        those(&["SM0123456789abcdef0123456789abcdef"], |value| is_secret_value("sid", value.as_bytes())),
        [""; 0]
    );
    let values = ["basic", "OAuth2", "client-certificate", "none", "dXNlcjpwYXNz", "s3cr3t!", "u:p"];
    for is_one in [is_secret_argument, is_secret_value] {
        assert_eq!(those(&values, |value| is_one("auth", value.as_bytes())), ["dXNlcjpwYXNz", "s3cr3t!", "u:p"]);
    }
    assert_eq!(
        those(&["1234", "red", "12", "000000"], |value| is_secret_value("pin", value.as_bytes())),
        ["1234", "000000"]
    );
    assert_eq!(those(&["1234", "red"], |value| is_secret_argument("pin", value.as_bytes())), ["1234", "red"]);
    // What stands for a secret is one.
    for name in ["code", "session", "auth", "pin"] {
        assert!(is_secret_value(name, b"[redacted ba78]") && is_secret_value(name, b"redacted-ba78"), "{name}");
    }
    assert!(!is_random(b"the-quick-brown-fox-2026") && is_random(b"0123456789abcdef"));
    // Base64 with marks in it, and names with as many.
    assert!(is_random(b"q-V1StGX_8Z5jdHi-6BmyT") && is_random(b"Zk3_pQ9-xW1a_B7c-D2eF5"));
    let names = [
        "iPhone-15-Pro-Max-256GB-Blue",
        "camelCase-Names-Of-Things-2026",
        "h264-aac-mp4-1080p-60fps",
        "R2D2-C3PO-BB8-K2SO-IG88",
        "w3c-es6-h5-css3-a11y-i18n",
        "2026-01-02T03:04:05.123Z",
    ];
    assert_eq!(those(&names, |value| is_random(value.as_bytes())), [""; 0]);
}

#[test]
fn numbers_of_cards() {
    let all = [
        "4242424242424242",
        "4242 4242 4242 4242",
        "5555-5555-5555-4444",
        "378282246310005",
        "3782 822463 10005",
        "6011111111111117",
        "30569309025904",
    ];
    let is_number = |text: &str| super::super::cards::is_number(text.as_bytes());
    assert_eq!(those(&all, is_number), all);
    let others = [
        "4242424242424241",
        "1764000000000",
        "1764000000000000",
        "4242",
        "42424242 42424242",
        "4242.4242.4242.4242",
        "0000000000000000",
        "123e4567e89b12d3",
        "42 424242 4242 4242",
    ];
    assert_eq!(those(&others, is_number), [""; 0]);
    let json = |text: &str| serde_json::json!({ "note": text, "id": "4242424242424242" }).to_string();
    let left = kept("application/json", &json("pay with 4242 4242 4242 4242, please"));
    assert_eq!(left.len(), json("pay with 4242 4242 4242 4242, please").len());
    assert!(
        left.starts_with(r#"{"note":"pay with redacted-"#) && left.ends_with(r#", please","id":"4242424242424242"}"#),
        "{left}"
    );
    let joined = json("id-4242424242424242 4242424242424242 x4242424242424242");
    assert_eq!(kept("application/json", &joined), joined);
    let xml = kept("text/xml", "<note>4242 4242 4242 4242</note>");
    assert!(xml.starts_with("<note>redacted-") && kept("text/xml", &xml) == xml, "{xml}");
    let xml = "<card><number>4242424242424242</number><order>4242424242424242</order></card><n>4242424242424242</n>";
    assert_eq!(kept("text/xml", xml), xml.replacen("4242424242424242", "redacted-477b---", 1));
    let number = r#"{"number":4242424242424242,"account_number":4242424242424242,"ccNumber":4242424242424242}"#;
    let left = number.replace(r#"r":4242424242424242}"#, r#"r":"redacted-477b---"}"#);
    assert_eq!(kept("application/json", number), left);
    assert_eq!(
        kept(
            "application/x-www-form-urlencoded",
            "card[number]=4242+4242+4242+4242&card[exp]=12&item=4242424242424242",
        ),
        format!(
            "card[number]=redacted-{}------&card[exp]=12&item=4242424242424242",
            &digits(b"4242+4242+4242+4242")[..4]
        )
    );
}

#[test]
fn another_card_is_another_call() {
    let asked = |text: &str| call("/", &[("content-type", "application/json")], text, &[], "");
    for (one, other) in [
        (r#"{"card":{"number":"4242424242424242"}}"#, r#"{"card":{"number":"5555555555554444"}}"#),
        (r#"{"note":"4242 4242 4242 4242."}"#, r#"{"note":"5555 5555 5555 4444."}"#),
        (r#"{"pan":4242424242424242}"#, r#"{"pan":5555555555554444}"#),
        (r#"{"iban":"DE02120300000000202051"}"#, r#"{"iban":"DE02500105170137075030"}"#),
        (r#"{"order":"4242424242424242"}"#, r#"{"order":"5555555555554444"}"#),
        (r#"{"tokens":["the","cat"]}"#, r#"{"tokens":["a","dog"]}"#),
        (r#"{"otp":"enabled"}"#, r#"{"otp":"disabled"}"#),
    ] {
        let bodies = [one, other].map(|text| {
            let mut kept = asked(text);
            let Content::Http(live) = asked(text).content else { panic!() };
            exchange(&mut kept);
            let Content::Http(kept) = &kept.content else { panic!() };
            let kept = without_secrets(&kept.request).body.clone();
            assert_eq!(text_of(&without_secrets(&live.request).body), text_of(&kept));
            text_of(&kept)
        });
        assert_ne!(bodies[0], bodies[1]);
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_stands_for_a_token_has_its_form() {
    let tokens = [
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "0F8FAD5B-D9CB-469F-A165-70867728950E",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709",
        "0x52908400098527886e0f7030069857d2e4169ee7",
        "12345678901234567890",
        "98765432109876543210987654321098",
        "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
        "q1w2e3r4t5y6u7i8o9p0",
        "c2VjcmV0IG9mIHRoZSBwcm9ncmFtLg==",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ];
    let form = |text: &str| -> String {
        let is_hex = text.trim_start_matches("0x").bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let letter = |letter: char| match letter {
            '0'..='9' if text.bytes().all(|byte| byte.is_ascii_digit()) => '9',
            'a'..='f' | '0'..='9' if is_hex && !text.bytes().any(|byte| byte.is_ascii_uppercase()) => 'f',
            'A'..='F' | '0'..='9' if is_hex => 'F',
            'A'..='Z' | '0'..='9' if !text.bytes().any(|byte| byte.is_ascii_lowercase()) => 'Z',
            'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '+' => 'z',
            other => other,
        };
        text.chars().map(letter).collect()
    };
    let marks = Marks::default();
    for token in tokens {
        let other = text_of(&marks.stand_in(token.as_bytes(), false));
        assert_eq!(form(&other), form(token), "{other}");
        assert!(!other.starts_with('0') || token.starts_with("0x"), "{other}");
        let known = placeholder::known(other.as_bytes()).map(Cow::into_owned).unwrap_or_default();
        assert!(known.len() >= 8 && digits(token.as_bytes()).starts_with(&known), "{other}: {known}");
        assert_eq!(text_of(&marks.stand_in(other.as_bytes(), false)), other);
        assert!(placeholder::known(token.as_bytes()).is_none());
        // With any other digit it is none.
        let last = if token.len() == 36 { 35 } else { 12 };
        let mut wrong = other.clone().into_bytes();
        wrong[last] = if wrong[last] == b'1' { b'2' } else { b'1' };
        assert!(is_letters(&other) || placeholder::known(&wrong).is_none(), "{other}");
    }
    let uuid = text_of(&marks.stand_in(tokens[0].as_bytes(), false));
    assert_eq!((&uuid[..5], &uuid[14..15], &uuid[19..20]), ("edac7", "4", "a"));
    // Of what could be guessed few digits are shown, and what is short has no room for more than a mark.
    assert!(marks.stand_in(tokens[0].as_bytes(), true).starts_with(b"redacted-"));
    assert!(marks.stand_in(b"0123456789abcdef", false).starts_with(b"redacted-"));
}

/// Whether a stand-in is known by its mark alone.
fn is_letters(text: &str) -> bool {
    text.to_ascii_lowercase().starts_with("redacted")
}
