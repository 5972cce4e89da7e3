//! Answers by caller and by secret.

use pretty_assertions::assert_eq;

use super::*;
use crate::redact::Secrets;

#[test]
fn session_headers_select_answer() {
    for name in [
        "X-Session-Token",
        "X-Session-Id",
        "Session",
        "X-Cookie-Token",
    ] {
        let of = |who: &str| me(&[(name, who)], who);
        let book = redacted_book(vec![of("alice"), of("bob")]);
        assert_eq!(ask(&book, &of("bob")), Ok("bob".to_owned()), "{name}");
        assert!(book.find(&of("mallory")).is_err(), "{name}");
        assert_eq!(ask(&book, &of("alice")), Ok("alice".to_owned()), "{name}");
        assert_eq!(
            ask(&redacted_book(vec![of("alice")]), &of("mallory")),
            Ok("alice".to_owned()),
            "{name}"
        );
    }
}

#[test]
fn signing_identity_selects_answer() {
    type Make<'a> = &'a dyn Fn(&str, usize) -> String;
    let ways: [Make<'_>; 8] = [
        &|who, n| {
            format!(
                "AWS4-HMAC-SHA256 Credential=AKIA{who}/2026010{n}/eu/s3/aws4_request, SignedHeaders=host, Signature={n}"
            )
        },
        &|who, n| {
            format!(
                "AWS4-HMAC-SHA256 SignedHeaders=host,Signature={n},Credential=AKIA{who}/2026010{n}/eu/s3/aws4_request"
            )
        },
        &|who, n| {
            format!(
                "AWS4-ECDSA-P256-SHA256 Credential=AKIA{who}/2026010{n}/s3/aws4_request, Signature={n}"
            )
        },
        &|who, n| {
            format!("Digest username=\"{who}\", realm=\"a, b\", nonce=\"{n}\", response=\"{n}\"")
        },
        &|who, n| {
            format!(
                "Digest realm=\"username=x, y\", nonce={n}, username = \"{who}\", response=\"{n}\""
            )
        },
        &|who, n| {
            format!(
                "OAuth oauth_consumer_key=\"k\", oauth_token=\"{who}\", oauth_signature=\"{n}\""
            )
        },
        &|who, n| format!("Hawk id=\"{who}\", ts=\"{n}\", mac=\"{n}=\""),
        &|who, n| format!("Signature keyId=\"{who}\",signature=\"{n}=\""),
    ];
    for (index, way) in ways.into_iter().enumerate() {
        let of = |who: &str, n| me(&[("Authorization", &way(who, n))], who);
        let book = redacted_book(vec![of("alice", 1), of("bob", 2), of("alice", 3)]);
        assert_eq!(ask(&book, &of("bob", 4)), Ok("bob".to_owned()), "{index}");
        assert!(book.find(&of("mallory", 5)).is_err(), "{index}");
        assert_eq!(
            ask(&book, &of("alice", 6)),
            Ok("alice".to_owned()),
            "{index}"
        );
        assert_eq!(
            ask(&book, &of("alice", 7)),
            Ok("alice".to_owned()),
            "{index}"
        );
        assert_eq!(
            ask(&redacted_book(vec![of("alice", 1)]), &of("mallory", 2)),
            Ok("alice".to_owned()),
            "{index}"
        );
    }
    let token = |who: &str| me(&[("Authorization", &format!("OAuth {who}"))], who);
    assert_eq!(
        ask(
            &redacted_book(vec![token("alice"), token("bob")]),
            &token("bob")
        ),
        Ok("bob".to_owned())
    );
}

#[test]
fn known_cookies_select_answer() {
    let of = |who: &str| {
        me(
            &[("Cookie", &format!("theme=dark; sid={who}"))],
            who.rsplit('-').next().unwrap(),
        )
    };
    let (alice, bob) = ("0123456789abcdef-alice", "0123456789abcdef-bobby");
    let mut calls = vec![of(alice), of(bob), of(alice)];
    http(&mut calls[0])
        .response
        .as_mut()
        .unwrap()
        .headers
        .push(("Set-Cookie".into(), format!("sid={bob}; Path=/").into()));
    Secrets::default().calls(&mut calls);
    // A replay gets a placeholder, and sends it back.
    let given = String::from_utf8(
        http(&mut calls[0])
            .response
            .as_ref()
            .unwrap()
            .headers
            .last()
            .unwrap()
            .1
            .clone(),
    )
    .unwrap();
    let given = given["sid=".len()..].split(';').next().unwrap();
    assert!(
        given.starts_with("redacted-") && given.len() == bob.len(),
        "{given}"
    );
    let book = Recordings::new(calls, Noise::default());
    assert_eq!(ask(&book, &of(given)), Ok("bobby".to_owned()));
    assert_eq!(
        [alice, alice].map(|who| ask(&book, &of(who)).unwrap()),
        ["alice", "alice"]
    );
    assert!(book.find(&of("0123456789abcdef-carol")).is_err());
    // A single value does not select.
    assert_eq!(
        ask(&redacted_book(vec![of(alice), of(alice)]), &of("x")),
        Ok("alice".to_owned())
    );
}

#[test]
fn unrecorded_cookie_value_is_missed() {
    for (name, one, other, third) in [
        ("sid", "aaaaaaaa1", "bbbbbbbb2", "cccccccc3"),
        (
            "session",
            "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
            "1f8e7d6c5b4a39281706f5e4d3c2b1a1",
            "2f8e7d6c5b4a39281706",
        ),
    ] {
        let of = |value: &str| me(&[("Cookie", &format!("x=1; {name}={value}"))], &value[..3]);
        let book = redacted_book(vec![of(one), of(other)]);
        let told = |asked: &Exchange| book.find(asked).unwrap_err().closest.unwrap().differences;
        let differs = |asked: &Exchange| told(asked).remove(0);
        assert!(
            differs(&of(third)).starts_with(&format!("header.cookie {name}: recorded `")),
            "{name}"
        );
        assert!(
            differs(&me(&[("Cookie", "x=1")], "")).ends_with("`, not asked"),
            "{name}"
        );
        assert_eq!(
            [other, one].map(|value| ask(&book, &of(value)).unwrap()),
            [&other[..3], &one[..3]]
        );
    }
    // Both cookies belong to one visitor.
    let of = |sid: &str, cart: &str| {
        me(
            &[("Cookie", &format!("auth={cart}; sid={sid}"))],
            &format!("{sid} {cart}"),
        )
    };
    let book = redacted_book(vec![of("alice", "one"), of("bobby", "two")]);
    assert!(book.find(&of("bobby", "one")).is_err());
    assert_eq!(ask(&book, &of("bobby", "two")), Ok("bobby two".to_owned()));
}

#[test]
fn selecting_headers_must_match_single_recording() {
    for name in [
        "Range",
        "X-Amz-Target",
        "X-HTTP-Method-Override",
        "SOAPAction",
        "If-None-Match",
        "Accept",
    ] {
        let of = |value: &str| me(&[(name, value)], value);
        let book = redacted_book(vec![of("/a")]);
        assert!(book.find(&of("/b")).is_err(), "{name}");
        assert!(book.find(&me(&[], "")).is_err(), "{name}");
        assert_eq!(ask(&book, &of("/a")), Ok("/a".to_owned()), "{name}");
    }
}

#[test]
fn several_tenant_header_values_select_answer() {
    for name in [
        "X-Tenant-Id",
        "Depth",
        "X-Amz-Copy-Source",
        "OpenAI-Organization",
        "Stripe-Account",
        "Accept-Language",
        "If-None-Match",
        "Prefer",
    ] {
        let of = |value: &str| me(&[(name, value), ("User-Agent", "x")], value);
        let book = redacted_book(vec![of("a"), of("b")]);
        assert_eq!(ask(&book, &of("b")), Ok("b".to_owned()), "{name}");
        assert!(book.find(&of("c")).is_err(), "{name}");
        assert!(book.find(&answered(get("/me"), "")).is_err(), "{name}");
        assert_eq!(ask(&book, &of("a")), Ok("a".to_owned()), "{name}");
    }
}

/// A body with two secrets, and the same body with its keys in another order.
type Bodies<'a> = &'a dyn Fn(&str, &str) -> [String; 2];

#[test]
fn json_secrets_match_in_any_key_order() {
    let bodies: [Bodies; 4] = [
        &|a, b| {
            let (a, b) = (
                format!(r#""a":{{"password":"{a}"}}"#),
                format!(r#""b":{{"password":"{b}"}}"#),
            );
            [format!("{{{a},{b}}}"), format!("{{{b},{a}}}")]
        },
        &|a, b| {
            let (a, b) = (
                format!(r#""a":[{{"token":"{a}"}}]"#),
                format!(r#""b":[1,{{"token":"{b}"}}]"#),
            );
            [format!("{{{a},{b}}}"), format!("{{{b},{a}}}")]
        },
        &|a, b| {
            let (a, b) = (
                format!(r#""a":"redis://u:{a}@h""#),
                format!(r#""b":"redis://u:{b}@h""#),
            );
            [format!("{{{a},{b}}}"), format!("{{{b},{a}}}")]
        },
        &|a, b| {
            let (a, b) = (
                format!(r#""secret":{{"x":"{a}""#),
                format!(r#""y":"{b}"}}"#),
            );
            let (x, y) = (
                a.trim_start_matches(r#""secret":{"#),
                b.trim_end_matches('}'),
            );
            [
                format!("{{{a},{b}}}"),
                format!(r#"{{"secret":{{{y},{x}}}}}"#),
            ]
        },
    ];
    for (index, body) in bodies.into_iter().enumerate() {
        let of = |a, b| answered(post(&body(a, b)[0]), a);
        let turned = |a, b| post(&body(a, b)[1]);
        let book = redacted_book(vec![of("one", "two"), of("two", "one")]);
        assert_eq!(
            ask(&book, &turned("two", "one")),
            Ok("two".to_owned()),
            "{index}"
        );
        assert!(book.find(&turned("one", "one")).is_err(), "{index}");
        assert_eq!(
            ask(&book, &turned("one", "two")),
            Ok("one".to_owned()),
            "{index}"
        );
    }
    let query = |path: &str, answer| answered(get(path), answer);
    let book = redacted_book(vec![
        query("/?a=x://u:one@h&b=x://u:two@h", "1"),
        query("/?a=x://u:two@h&b=x://u:one@h", "2"),
    ]);
    assert_eq!(
        ask(&book, &get("/?b=x://u:one@h&a=x://u:two@h")),
        Ok("2".to_owned())
    );
}
