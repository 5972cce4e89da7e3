//! One value for each shape, split so that scanners do not report this file.

use std::collections::BTreeMap;

use pretty_assertions::assert_eq;

use super::*;
use crate::redact::shapes::{HASHES, SHAPES, Shapes};

/// Returns this many letters and digits.
fn run(count: usize) -> String {
    "q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6"
        .chars()
        .cycle()
        .take(count)
        .collect()
}

fn hex(count: usize) -> String {
    "0a1b2c3d4e5f60718293".chars().cycle().take(count).collect()
}

fn capitals(count: usize) -> String {
    run(count).to_ascii_uppercase()
}

/// For each shape: text before the secret, the secret, text after it.
fn values() -> BTreeMap<&'static str, (String, String, &'static str)> {
    let of = |before: &[&str], secret: String| (before.concat(), secret, "");
    let until = |before: &[&str], secret: String, after| (before.concat(), secret, after);
    BTreeMap::from([
        ("AWS access key", of(&["AK", "IA"], capitals(16))),
        (
            "AWS secret key",
            of(&["aws_secret_", "access_key = "], run(40)),
        ),
        ("AWS session token", of(&["<Session", "Token>"], run(60))),
        ("AWS Bedrock key", of(&["AB", "SK"], run(120))),
        ("Google API key", of(&["AI", "za"], run(35))),
        ("Google access token", of(&["ya", "29."], run(40))),
        ("Google client secret", of(&["GOC", "SPX-"], run(28))),
        (
            "Azure storage key",
            until(&["Account", "Key="], run(86) + "==", ";x"),
        ),
        (
            "Azure shared access key",
            until(&["SharedAccess", "Key="], run(43) + "=", ""),
        ),
        ("Azure client secret", of(&["abc", "8Q~"], run(34))),
        (
            "signed address",
            until(&["?X-Amz-", "Signature="], hex(64), "&x=1"),
        ),
        (
            "signing caller",
            until(&["&X-Amz-", "Security-Token="], run(80), "&x=1"),
        ),
        (
            "JSON web token",
            of(
                &["ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxIn0."],
                run(43),
            ),
        ),
        (
            "private key",
            until(
                &["-----BEGIN ", "RSA PRIVATE KEY-----\n"],
                run(64) + "\n" + &run(20),
                "-----END",
            ),
        ),
        (
            "password in an address",
            until(
                &["postgres://", "app:"],
                "pa55word".to_owned(),
                "@db:5432/app",
            ),
        ),
        ("bearer token", of(&["Bea", "rer "], run(24))),
        (
            "basic credentials",
            of(&["Bas", "ic "], "YWxpY2U6cGE1NXdvcmQ=".to_owned()),
        ),
        ("GitHub token", of(&["gh", "p_"], run(36))),
        (
            "GitHub fine-grained token",
            of(&["github", "_pat_"], run(82)),
        ),
        ("GitLab token", of(&["gl", "pat-"], run(20))),
        ("Bitbucket app password", of(&["AT", "BB"], run(32))),
        ("Slack token", of(&["xo", "xb-"], run(48))),
        ("Slack app token", of(&["xa", "pp-"], run(48))),
        (
            "Slack webhook",
            of(&["/serv", "ices/T0AAAAAAA/B0AAAAAAA/"], run(24)),
        ),
        ("Stripe key", of(&["sk_", "live_"], run(24))),
        ("Stripe webhook secret", of(&["wh", "sec_"], run(32))),
        ("npm token", of(&["np", "m_"], run(36))),
        (
            "npm registry token",
            of(&["//registry.example/:_auth", "Token="], run(12)),
        ),
        ("PyPI token", of(&["py", "pi-"], run(60))),
        ("RubyGems key", of(&["ruby", "gems_"], hex(48))),
        ("crates.io token", of(&["c", "io"], run(32))),
        ("Docker Hub token", of(&["dckr", "_pat_"], run(27))),
        ("DigitalOcean token", of(&["dop", "_v1_"], hex(64))),
        ("Vault token", of(&["hv", "s."], run(24))),
        ("Shopify token", of(&["shp", "at_"], hex(32))),
        ("Anthropic key", of(&["sk-", "ant-"], run(95))),
        ("OpenAI key", of(&["sk-", "proj-"], run(48))),
        ("Hugging Face token", of(&["h", "f_"], run(34))),
        ("Groq key", of(&["gs", "k_"], run(52))),
        ("xAI key", of(&["xa", "i-"], run(80))),
        ("Replicate token", of(&["r", "8_"], run(37))),
        ("SendGrid key", of(&["S", "G."], run(22) + "." + &run(43))),
        ("Mailgun key", of(&["ke", "y-"], hex(32))),
        ("Mailchimp key", until(&[], hex(32), "-us12")),
        ("Twilio key", of(&["S", "K"], hex(32))),
        ("Telegram bot", of(&["/bot110201543", ":AA"], run(33))),
        (
            "Discord webhook",
            of(&["/web", "hooks/112233445566778899/"], run(68)),
        ),
        (
            "Discord bot",
            of(&["M", &run(23), ".", &run(6), "."], run(27)),
        ),
        ("Square token", of(&["sq0", "atp-"], run(22))),
        ("Square access token", of(&["EA", "AA"], run(60))),
        (
            "PayPal access token",
            of(&["access_token$", "sandbox$", &hex(16), "$"], hex(32)),
        ),
        ("Databricks token", of(&["da", "pi"], hex(32))),
        ("Atlassian token", of(&["ATA", "TT3x"], run(60))),
        ("Linear key", of(&["lin_", "api_"], run(40))),
        ("Figma token", of(&["fi", "gd_"], run(40))),
        ("Notion token", of(&["nt", "n_"], run(46))),
        ("Postman key", of(&["PM", "AK-"], hex(24) + "-" + &hex(34))),
        ("New Relic key", of(&["NR", "AK-"], capitals(27))),
        ("Grafana token", of(&["gl", "sa_"], run(41))),
        ("Sentry token", of(&["sn", "trys_"], run(60))),
        ("Supabase token", of(&["sb", "p_"], hex(40))),
        ("Doppler token", of(&["dp", ".pt."], run(43))),
        ("PlanetScale password", of(&["pscale", "_pw_"], run(43))),
        ("age key", of(&["AGE-SECRET", "-KEY-1"], capitals(58))),
        ("Heroku key", of(&["HR", "KU-"], run(40))),
        ("Fly token", of(&["Fly", "V1 fm2_"], run(60))),
        ("Airtable token", of(&["pa", "t", &run(14), "."], hex(64))),
        (
            "HubSpot token",
            of(
                &["pa", "t-na1-"],
                "0f8fad5b-d9cb-469f-a165-70867728950e".to_owned(),
            ),
        ),
        ("Tailscale key", of(&["ts", "key-auth-"], run(30))),
        ("bcrypt", of(&["$2", "b$12$"], run(53))),
        (
            "Argon2",
            of(
                &["$argon", "2id$"],
                "v=19$m=65536,t=3,p=4$".to_owned() + &run(22) + "$" + &run(43),
            ),
        ),
        ("crypt", of(&["$", "6$"], run(16) + "$" + &run(86))),
        (
            "Django",
            of(
                &["pbkdf2_", "sha256$"],
                "600000$".to_owned() + &run(22) + "$" + &run(43),
            ),
        ),
        (
            "Werkzeug",
            of(
                &["scr", "ypt:"],
                "32768:8:1$".to_owned() + &run(16) + "$" + &run(64),
            ),
        ),
        ("LDAP", of(&["{SS", "HA}"], run(32))),
        (
            "PostgreSQL SCRAM",
            of(
                &["SCRAM-SHA-", "256$"],
                "4096:".to_owned() + &run(24) + "$" + &run(44),
            ),
        ),
    ])
}

#[test]
fn each_shape_is_redacted_without_its_surroundings() {
    let mut values = values();
    let shapes = Shapes::built_in(true);
    for (name, _) in SHAPES.iter().chain(&HASHES) {
        let (before, secret, after) = values
            .remove(name)
            .unwrap_or_else(|| panic!("no value of {name}"));
        let mut text = format!("a '{before}{secret}{after}' b").into_bytes();
        assert!(shapes.replace(&mut text), "{name} is not found");
        let other = placeholder(secret.as_bytes());
        let expected = format!(
            "a '{before}{}{after}' b",
            String::from_utf8(other.clone()).unwrap()
        );
        assert_eq!(String::from_utf8(text.clone()).unwrap(), expected, "{name}");
        assert!(is_placeholder(&other), "{name}");
        assert_eq!(
            is_placeholder(&[before.as_bytes(), &other].concat()),
            secret.len() > 12,
            "{name}"
        );
        let once = text.clone();
        shapes.replace(&mut text);
        assert_eq!(text, once, "a second time changes {name}");
    }
    assert_eq!(values, BTreeMap::new());
}

#[test]
fn token_prefix_alone_is_not_redacted() {
    for text in [
        "sk-learn is a library for machine learning, and sk-ant is none",
        "risk_live_data_of_2026 and task_test_1",
        "SKU-12345678901234567890",
        "npm_config_registry=https://registry.example/",
        "https://a.example:8443/x?y=a@b",
        "Basic authentication or Bearer tokens",
        "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END CERTIFICATE-----",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "eyJhIjoxfQ",
        "2026-11-22T10:00:00.000000Z",
    ] {
        let mut bytes = text.as_bytes().to_vec();
        assert!(
            !Shapes::built_in(true).replace(&mut bytes),
            "{}",
            String::from_utf8_lossy(&bytes)
        );
    }
}

#[test]
fn hashes_stay_only_in_database_answers() {
    let hash = format!("$2{}$12${}", "b", run(53));
    let row = [b"D\0\0\0\x46\0\x01\0\0\0\x3c", hash.as_bytes()].concat();
    let asked = query(&format!("INSERT INTO u VALUES ('{hash}')"));
    let call = wire(
        Protocol::Postgres,
        false,
        &[(Side::Client, &asked), (Side::Server, &row)],
    );
    let other = hash.replace(
        &run(53),
        std::str::from_utf8(&placeholder(run(53).as_bytes())).unwrap(),
    );
    let expected = wire(
        Protocol::Postgres,
        false,
        &[
            (
                Side::Client,
                &query(&format!("INSERT INTO u VALUES ('{other}')")),
            ),
            (Side::Server, &row),
        ],
    );
    assert_eq!(redacted(&Secrets::default(), &call), expected);
}
