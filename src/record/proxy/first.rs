//! What a connection begins with.

use crate::record::call::Protocol;
use crate::record::net::sniff;

/// What the first bytes of a client say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// A handshake of TLS.
    Tls,
    /// A request of HTTP/1.
    Http1,
    /// The preface of HTTP/2.
    Http2,
    /// A protocol that is known.
    Wire(Protocol),
    /// More bytes are needed to tell.
    More,
    /// Nothing that is known.
    Unknown,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Longest method that is looked for, in bytes (`UPDATEREDIRECTREF` of RFC 4437 is the longest registered one).
const LONGEST_METHOD: usize = 18;

/// See [`First`].
pub fn first(bytes: &[u8], port: u16) -> First {
    match bytes {
        // handshake, then a version of SSL 3.0 to TLS 1.x (RFC 8446, 5.1).
        [] | [0x16] => return First::More,
        [0x16, 3, ..] => return First::Tls,
        _ => {}
    }
    if PREFACE.starts_with(bytes) && bytes.len() < PREFACE.len() && bytes.len() > 3 {
        return First::More;
    }
    if bytes.starts_with(PREFACE) {
        return First::Http2;
    }
    let method = bytes.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'-').count();
    if (3..=LONGEST_METHOD).contains(&method) {
        match &bytes[method..] {
            [b' ', b'/' | b'*' | b'h' | b'H', ..] => return First::Http1,
            [b' ', ..] if bytes.starts_with(b"CONNECT ") => return First::Http1,
            [b' '] => return First::More,
            _ => {}
        }
    }
    if let Some(protocol) = sniff::recognise(bytes, port) {
        return First::Wire(protocol);
    }
    // A method may come in pieces.
    if method == bytes.len() && method <= LONGEST_METHOD { First::More } else { First::Unknown }
}

/// Whether a server that has spoken first begins with the settings of HTTP/2 (RFC 9113, 3.4 and 6.5).
pub fn is_settings(said: &[u8]) -> bool {
    const SETTINGS: u8 = 4;
    let [high, middle, low, SETTINGS, _, 0, 0, 0, 0, ..] = said else { return false };
    u32::from_be_bytes([0, *high, *middle, *low]).is_multiple_of(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_http2_is_known_by_its_settings() {
        let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
        assert!(is_settings(&settings) && is_settings(&[0, 0, 0, 4, 0, 0, 0, 0, 0]));
        assert!(!is_settings(b"220 mail.example ESMTP\r\n") && !is_settings(&settings[..8]));
    }

    #[test]
    fn protocols_are_told_by_their_first_bytes() {
        for (bytes, expected) in [
            (&b"\x16\x03\x01"[..], First::Tls),
            (b"GET / HTTP/1.1\r\n", First::Http1),
            (b"M-SEARCH * HTTP/1.1\r\n", First::Http1),
            (b"OPTIONS * ", First::Http1),
            (b"CONNECT example.com:443 HTTP/1.1", First::Http1),
            (b"GET http://example.com/ HTTP/1.1", First::Http1),
            (PREFACE, First::Http2),
            (b"PRI * HT", First::More),
            (b"PO", First::More),
            (b"GET ", First::More),
            (b"\x16", First::More),
            (b"hello", First::Unknown),
            (b"EHLO example.com\r\n", First::Unknown),
        ] {
            assert_eq!(first(bytes, 1), expected, "{}", bytes.escape_ascii());
        }
    }
}
