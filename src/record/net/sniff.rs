//! Protocol detection from the first bytes of one side.

use replay_base::limits::MAX_POSTGRES_STARTUP_BYTES;

use crate::call::Protocol;

/// Detects the client's protocol from its first bytes and the port; `None` if unknown so far. It
/// never detects `MySQL`, where the server speaks first; see [`detect_greeting`].
pub fn detect_client(first: &[u8], port: u16) -> Option<Protocol> {
    let known = [
        (is_redis(first, port), Protocol::Redis),
        (is_postgres(first), Protocol::Postgres),
        (is_mongo(first), Protocol::Mongo),
    ];
    known
        .into_iter()
        .find(|(is_one, _)| *is_one)
        .map(|(_, protocol)| protocol)
}

/// Detects the protocol from the first bytes of a server that speaks first; `None` if unknown so
/// far.
pub fn detect_greeting(first: &[u8], port: u16) -> Option<Protocol> {
    let (head, payload) = first.split_at_checked(4)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    if head[3] != 0 || length < 3 {
        return None;
    }
    let is_mysql = match payload.first()? {
        // HandshakeV10: a version as text, then at least 4 + 8 + 1 + 2 bytes.
        10 => {
            let end = payload.iter().position(|byte| *byte == 0)?;
            let version = &payload[1..end];
            !version.is_empty()
                && version.iter().all(|byte| (b' '..=b'~').contains(byte))
                && length >= end + 16
        }
        // An error in place of a greeting, such as 1040 (too many connections) or 1129 (host is
        // blocked).
        0xff => {
            let code = u16::from_le_bytes([*payload.get(1)?, *payload.get(2)?]);
            port == 3306 && (1000..5000).contains(&code) && length < 1024
        }
        _ => false,
    };
    is_mysql.then_some(Protocol::MySql)
}

/// Returns true if these bytes begin a TLS handshake of a client (RFC 8446, 4 and 5.1).
pub fn is_client_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [0x16, 3, 0..=4, _, _, 1, ..])
}

/// Returns true if these bytes begin the identification of SSH (RFC 4253, 4.2).
pub fn is_ssh(first: &[u8]) -> bool {
    first.starts_with(b"SSH-")
}

/// Returns true if the server speaks first on this port (IANA service names): FTP, SSH, SMTP, POP3,
/// IMAP, `MySQL`.
pub fn is_server_first(port: u16) -> bool {
    matches!(port, 21 | 22 | 25 | 110 | 143 | 587 | 3306)
}

/// Returns true for an array of strings, or on the Redis port for an inline command.
fn is_redis(first: &[u8], port: u16) -> bool {
    if let Some(rest) = first.strip_prefix(b"*") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (count, rest) = rest.split_at(digits);
        let begins = &rest[..rest.len().min(3)];
        return (1..=7).contains(&digits)
            && count[0] != b'0'
            && !begins.is_empty()
            && b"\r\n$".starts_with(begins);
    }
    let word = first
        .split(u8::is_ascii_whitespace)
        .next()
        .unwrap_or_default();
    port == 6379
        && first.len() > word.len()
        && !word.is_empty()
        && word.iter().all(u8::is_ascii_alphabetic)
}

/// Returns true for a startup message of version 3 or a request for encryption or cancellation
/// (`PostgreSQL`, Message Formats).
fn is_postgres(first: &[u8]) -> bool {
    let Some(([a, b, c, d], rest)) = first.split_first_chunk() else {
        return false;
    };
    let Some((code, _)) = rest.split_first_chunk() else {
        return false;
    };
    let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
    match u32::from_be_bytes(*code) {
        80_877_103 | 80_877_104 => length == 8,
        80_877_102 => (12..=268).contains(&length),
        code => code >> 16 == 3 && (9..=MAX_POSTGRES_STARTUP_BYTES).contains(&length),
    }
}

/// Returns true for a message header with a client's operation code: length, two identifiers, code.
fn is_mongo(first: &[u8]) -> bool {
    let Some((head, _)) = first.split_first_chunk::<16>() else {
        return false;
    };
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    (21..=48_000_000).contains(&word(0))
        && word(8) == 0
        && matches!(word(12), 2001 | 2002 | 2004..=2007 | 2012 | 2013)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_protocol_is_detected_from_first_bytes() {
        let startup = b"\0\0\0\x1a\0\x03\0\0user\0u\0database\0d\0\0";
        let hello = [
            &[41, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0][..],
            &[0; 25],
        ]
        .concat();
        let cases: [(&[u8], u16, Option<Protocol>); 14] = [
            (b"*1\r\n$4\r\nPING\r\n", 7000, Some(Protocol::Redis)),
            (b"*12\r", 7000, Some(Protocol::Redis)),
            (b"*1", 7000, None),
            (b"* hello", 7000, None),
            (b"PING\r\n", 6379, Some(Protocol::Redis)),
            (b"PING\r\n", 7000, None),
            (startup, 1, Some(Protocol::Postgres)),
            (&startup[..8], 1, Some(Protocol::Postgres)),
            (&startup[..7], 1, None),
            (b"\0\0\0\x08\x04\xd2\x16\x2f", 1, Some(Protocol::Postgres)),
            (b"\0\0\0\x08\x04\xd2\x16\x30", 1, Some(Protocol::Postgres)),
            (&hello, 1, Some(Protocol::Mongo)),
            (&hello[..15], 1, None),
            (b"GET / HTTP/1.1\r\n\r\n", 5432, None),
        ];
        for (first, port, expected) in cases {
            assert_eq!(
                detect_client(first, port),
                expected,
                "{}",
                first.escape_ascii()
            );
        }
    }

    #[test]
    fn mysql_server_is_detected_by_greeting() {
        let greeting = b"\x4a\0\0\0\n8.0.36\0\x08\0\0\0abcdefgh\0\xff\xff";
        assert_eq!(detect_greeting(greeting, 7000), Some(Protocol::MySql));
        assert_eq!(detect_greeting(&greeting[..9], 7000), None);
        assert_eq!(
            detect_greeting(b"\x10\0\0\0\xff\x10\x04Too many", 3306),
            Some(Protocol::MySql)
        );
        assert_eq!(detect_greeting(b"220 mail ESMTP\r\n", 25), None);
        assert_eq!(detect_greeting(b"", 3306), None);
    }
}
