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
    ];
    assert_eq!(those(&others, is_secret_key), [""; 0]);
    assert_eq!(those(&others, is_secret_parameter), [""; 0]);
    assert_eq!(
        ["token", "otp", "id", "token_id", "note"].map(kind),
        [Kind::Secret, Kind::Secret, Kind::Doubtful, Kind::Description, Kind::Other]
    );
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
    let joined = json("id-4242424242424242 /4242424242424242/ x4242424242424242");
    assert_eq!(kept("application/json", &joined), joined);
    let xml = kept("text/xml", "<note>4242 4242 4242 4242</note>");
    assert!(xml.starts_with("<note>redacted-") && kept("text/xml", &xml) == xml, "{xml}");
    let number = r#"{"number":4242424242424242,"exp":12,"id":4242424242424242}"#;
    assert!(!kept("application/json", number).starts_with(r#"{"number":4242"#));
    assert!(kept("application/json", number).ends_with(r#","exp":12,"id":4242424242424242}"#));
    let form = kept(
        "application/x-www-form-urlencoded",
        "card[number]=4242+4242+4242+4242&card[exp]=12&item_id=4242424242424242",
    );
    assert!(
        form.starts_with("card[number]=redacted-") && form.ends_with("-&card[exp]=12&item_id=4242424242424242"),
        "{form}"
    );
}
