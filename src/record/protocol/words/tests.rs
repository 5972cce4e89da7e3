use super::*;

use pretty_assertions::assert_eq;

#[test]
fn client_messages_are_shown_as_text() {
    let cases: [(Protocol, &[u8], &str); 8] = [
        (Protocol::Redis, b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "GET a"),
        (Protocol::Postgres, b"Q\0\0\0\x0dSELECT 1\0", "SELECT 1"),
        (
            Protocol::Postgres,
            b"\0\0\0\x20\0\x03\0\0user\0app\0database\0shop\0\0",
            "user app database shop",
        ),
        (
            Protocol::Postgres,
            b"B\0\0\0\x26\0SELECT $1\0\0\x01\0\0\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\0",
            "SELECT $1 ab NULL",
        ),
        (Protocol::Postgres, b"p\0\0\0\x08abc\0", ""),
        (Protocol::MySql, b"\x09\0\0\0\x03SELECT 1", "SELECT 1"),
        (Protocol::Generic, b"\x00hi\xff\xffyou\n", "hi you"),
        (Protocol::Mongo, b"short", "short"),
    ];
    for (protocol, bytes, expected) in cases {
        let wire = Wire::asking([bytes.to_vec()]);
        assert_eq!(client_text(protocol, &wire), expected);
    }
}
