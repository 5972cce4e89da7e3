use pretty_assertions::assert_eq;

use super::*;

/// Returns a text with each generated value as its shape between marks, on 23 November 2026.
fn blanked(text: &str) -> String {
    let mut blank = ValueBlanker::new(
        SystemTime::UNIX_EPOCH + Duration::from_mins(29_924_500),
        false,
    );
    String::from_utf8(blank.text(text.as_bytes()))
        .unwrap()
        .replace('\0', "|")
}

#[test]
fn generated_values_are_recognized_by_shape() {
    for (text, expected) in [
        ("job:3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b:a", "job:|uuid|:a"),
        ("/o/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/o/|ulid|"),
        (
            "{\"id\":\"65a1b2c3d4e5f60718293a4b\"}",
            "{\"id\":\"|object id|\"}",
        ),
        (
            "at 2026-11-23 21:50:19.1234+00:00, 2026-11-24T01:00Z",
            "at |time|, |time|",
        ),
        ("2026-11-22", "|day|"),
        ("Mon, 23 Nov 2026 21:50:19 GMT", "|date of HTTP|"),
        ("1795470019 1795470019123", "|time10| |time13|"),
        ("9f86d081884c7d659a2feaa0c55ad015", "|tokenhex32|"),
        ("abcdefab12345678cdefabcd90123456", "|tokenhex32|"),
        (
            "bb8187b85fbb868652217bab2824aaaa:00000000ffffffff",
            "|tokenhex32|:|tokenhex16|",
        ),
        ("0000000000000000", "0000000000000000"),
        ("q3Fq9sLwT7bXc2Kd8VnQpA", "|token22|"),
        ("PPMiQKkQuTCirqN6qoMfyCysMXCkvqPJ", "|token32|"),
        ("lNMXxdmsXxvjeN9-HF-adg", "|token22|"),
        ("BNkKQXPFLfYRRXKo", "|token16|"),
        ("k2vq81xj3h0dzt5mw7bn4rcp", "|token24|"),
        ("cxyfxP240_4LGPP-VM-_2WoxdUCEsAoj", "|token32|"),
        ("ordersCreatedByHTTPServer", "ordersCreatedByHTTPServer"),
        ("READ_ONLY_AND_deferrable", "READ_ONLY_AND_deferrable"),
        ("2024-01-01", "2024-01-01"),
        ("1234567890", "1234567890"),
        ("session:-q3Fq9sLwT7_Xc2Kd8VnQpA", "session:|token23|"),
        ("order-2024-rollout-plan-b2", "order-2024-rollout-plan-b2"),
        ("iphone14promax128gb", "iphone14promax128gb"),
        ("SELECT_something_very_long", "SELECT_something_very_long"),
        ("550e8400", "550e8400"),
        ("EUR-USD-GBP-JPY-CHF", "EUR-USD-GBP-JPY-CHF"),
        ("QuarterlySalesEMEA2024", "QuarterlySalesEMEA2024"),
        ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
    ] {
        assert_eq!(blanked(text), expected, "{text}");
    }
}

#[test]
fn generated_value_stays_paired_with_first_match() {
    let value = |text: &str| {
        vec![VolatileValue {
            text: text.to_owned(),
            kind: ValueKind::Id,
        }]
    };
    let mut pairs = ValuePairs::default();
    pairs.know(&value("a"), 0);
    pairs.know(&[value("a"), value("b")].concat(), 1);
    let fit = |pairs: &ValuePairs, index, one, other| {
        pairs.fit(index, |_| false, &value(one), &value(other))
    };
    assert!(fit(&pairs, 0, "a", "x"));
    assert!(!fit(&pairs, 1, "a", "x"), "it was not new there");
    assert!(!fit(&pairs, 0, "a", "b"), "that is another recording's");
    pairs.pair("mock-1", &value("a"), &value("x"));
    let fits = [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")]
        .map(|(one, other)| fit(&pairs, 1, one, other));
    assert_eq!(fits, [true, false, false, true]);
    assert_eq!(
        pairs.differences(),
        [("mock-1".to_owned(), "recorded `a`, asked `x`".to_owned())].into()
    );
}
