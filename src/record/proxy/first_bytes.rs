//! Protocol detection at the start of a connection.

use crate::call::Protocol;
use crate::net::sniff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    Tls,
    Http1,
    Http2,
    Wire(Protocol),
    /// More bytes are needed.
    More,
    Unknown,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Maximum length of a method, in bytes (`UPDATEREDIRECTREF` of RFC 4437 is the longest registered
/// one).
const LONGEST_METHOD: usize = 18;

pub(super) fn opening(bytes: &[u8], port: u16) -> Opening {
    match bytes {
        // A handshake record with a version from SSL 3.0 to TLS 1.x (RFC 8446, 5.1).
        [] | [0x16] => return Opening::More,
        [0x16, 3, ..] => return Opening::Tls,
        _ => {}
    }
    if PREFACE.starts_with(bytes) && bytes.len() < PREFACE.len() && bytes.len() > 3 {
        return Opening::More;
    }
    if bytes.starts_with(PREFACE) {
        return Opening::Http2;
    }
    let method = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase() || **byte == b'-')
        .count();
    if (3..=LONGEST_METHOD).contains(&method) {
        match &bytes[method..] {
            [b' ', b'/' | b'*' | b'h' | b'H', ..] => return Opening::Http1,
            [b' ', ..] if bytes.starts_with(b"CONNECT ") => return Opening::Http1,
            [b' '] => return Opening::More,
            _ => {}
        }
    }
    if let Some(protocol) = sniff::detect_client(bytes, port) {
        return Opening::Wire(protocol);
    }
    // A method may arrive in pieces.
    if method == bytes.len() && method <= LONGEST_METHOD {
        Opening::More
    } else {
        Opening::Unknown
    }
}

/// Returns true if the server's first bytes are a SETTINGS frame of HTTP/2 (RFC 9113, 3.4 and 6.5).
pub(super) fn is_settings(said: &[u8]) -> bool {
    const SETTINGS: u8 = 4;
    let [high, middle, low, SETTINGS, _, 0, 0, 0, 0, ..] = said else {
        return false;
    };
    u32::from_be_bytes([0, *high, *middle, *low]).is_multiple_of(6)
}
