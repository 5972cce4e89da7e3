//! Protocol detection from the first bytes.

use super::super::first_bytes::{Opening, is_settings, opening};

#[test]
fn http2_server_is_detected_by_settings_frame() {
    let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
    assert!(is_settings(&settings) && is_settings(&[0, 0, 0, 4, 0, 0, 0, 0, 0]));
    assert!(!is_settings(b"220 mail.example ESMTP\r\n") && !is_settings(&settings[..8]));
}

#[test]
fn protocol_is_detected_from_first_bytes() {
    for (bytes, expected) in [
        (&b"\x16\x03\x01"[..], Opening::Tls),
        (b"GET / HTTP/1.1\r\n", Opening::Http1),
        (b"M-SEARCH * HTTP/1.1\r\n", Opening::Http1),
        (b"OPTIONS * ", Opening::Http1),
        (b"CONNECT example.com:443 HTTP/1.1", Opening::Http1),
        (b"GET http://example.com/ HTTP/1.1", Opening::Http1),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Opening::Http2),
        (b"PRI * HT", Opening::More),
        (b"PO", Opening::More),
        (b"GET ", Opening::More),
        (b"\x16", Opening::More),
        (b"hello", Opening::Unknown),
        (b"EHLO example.com\r\n", Opening::Unknown),
    ] {
        assert_eq!(opening(bytes, 1), expected, "{}", bytes.escape_ascii());
    }
}
