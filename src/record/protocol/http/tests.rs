use pretty_assertions::assert_eq;

use super::*;

/// Returns the fields by which JSON values are compared.
fn read(text: &str) -> Option<Vec<(Role, String, Vec<u8>)>> {
    let parts = json(text.as_bytes())?;
    Some(
        parts
            .into_iter()
            .map(|part| (part.role, part.name, part.bytes))
            .collect(),
    )
}

#[test]
fn json_key_order_and_space_are_ignored() {
    let one = read(r#" {"b": [1, 2.0, "\u0041"], "a": {"x": null}} "#);
    assert!(one.is_some());
    assert_eq!(one, read(r#"{"a":{"x":null},"b":[1,2.0,"A"]}"#));
    let differ = [
        r#"{"a":1}"#,
        r#"{"a":1.0}"#,
        r#"{"a":"1"}"#,
        r#"{"a":[1]}"#,
        r#"{"a":[[1]]}"#,
        r#"{"a":{}}"#,
        r#"{"a":[]}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":2,"a":1}"#,
        "9007199254740993",
        "9007199254740992",
        "1e999",
        "2e999",
    ];
    for (index, one) in differ.iter().enumerate() {
        assert!(read(one).is_some(), "{one}");
        for two in &differ[index + 1..] {
            assert_ne!(read(one), read(two), "{one} {two}");
        }
    }
}

#[test]
fn invalid_json_is_rejected() {
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\"}",
        "{a:1}",
        "nul",
        "01",
        "1 2",
        "\"a",
        "\"\\",
        "\"\\ud800\"",
        "[1]x",
        "{\"a\":1,}",
        "'a'",
        "\u{e9}",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    let nested = |depth| [vec!["["; depth], vec!["]"; depth]].concat().concat();
    assert!(read(&nested(MAX_JSON_BODY_DEPTH)).is_some());
    assert_eq!(
        [MAX_JSON_BODY_DEPTH + 2, 100_000].map(|depth| read(&nested(depth))),
        [None, None]
    );
}

#[test]
fn request_parts_have_noise_names() {
    let request = HttpRequest {
        version: crate::call::HttpVersion::Http11,
        method: "POST".to_owned(),
        scheme: "http".to_owned(),
        authority: "shop".to_owned(),
        path: "/o?t=1&flag".to_owned(),
        headers: [
            ("Content-Type", "application/json"),
            ("Range", "a"),
            ("COOKIE", "sid=x; T=y"),
            ("range", "b"),
        ]
        .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
        .to_vec(),
        body: br#"{"order":{"items":[{"id":7},{"id":"8"}]}}"#.to_vec(),
    };
    let mut taken = PartList::default();
    parts(&request, &mut taken);
    let values = taken
        .parts
        .iter()
        .filter(|part| part.is_value() || part.role == Role::Field);
    let values: Vec<_> = values
        .map(|part| (part.role, part.name.as_str(), part.text.as_str()))
        .collect();
    let expected = [
        (Role::Bound, "query.flag", ""),
        (Role::Bound, "query.t", "1"),
        (Role::Word, "body.order.items.id", "7"),
        (Role::Bound, "body.order.items.id", "8"),
        (Role::Field, "header.cookie sid", "x"),
        (Role::Field, "header.cookie t", "y"),
        (Role::Field, "header.range", "a, b"),
    ];
    assert_eq!(values, expected);
}
