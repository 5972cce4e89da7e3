use super::*;

fn frame(payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut out = vec![0x82];
    if payload.len() < 126 {
        out.push(0x80 | payload.len() as u8);
    } else {
        out.push(0xFE);
        out.extend((payload.len() as u16).to_be_bytes());
    }
    out.extend(mask);
    out.extend(
        payload
            .iter()
            .enumerate()
            .map(|(at, byte)| byte ^ mask[at % 4]),
    );
    out
}

#[test]
fn masks_are_removed_at_any_split() {
    let long = vec![b'x'; 300];
    let sent = [
        frame(b"hello", [1, 2, 3, 4]),
        frame(&long, [9, 8, 7, 6]),
        frame(b"", [5; 4]),
    ]
    .concat();
    let plain = [
        frame(b"hello", [0; 4]),
        frame(&long, [0; 4]),
        frame(b"", [0; 4]),
    ]
    .concat();
    for cut in 0..sent.len() {
        let mut unmask = Unmask::default();
        let mut got = unmask.take(&sent[..cut]);
        got.extend(unmask.take(&sent[cut..]));
        assert_eq!(got, plain, "cut at {cut}");
    }
}

#[test]
fn accept_key_matches_rfc_example() {
    assert_eq!(
        accept(b"dGhlIHNhbXBsZSBub25jZQ=="),
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    );
}

#[test]
fn websocket_request_loses_only_extensions() {
    let mut head = b"GET /ws HTTP/1.1\r\nHost: h\r\nSec-WebSocket-Extensions: permessage-deflate; \
        client_max_window_bits\r\nupgrade: WebSocket\r\nsec-websocket-extensions:x\r\n\
        Sec-WebSocket-Key: k\r\n\r\nrest"
        .to_vec();
    remove_extensions(&mut head);
    assert_eq!(
        head.escape_ascii().to_string(),
        "GET /ws HTTP/1.1\\r\\nHost: h\\r\\nupgrade: WebSocket\\r\\nSec-WebSocket-Key: k\\r\\n\\r\\nrest"
    );
}

#[test]
fn other_requests_keep_websocket_extensions() {
    for kept in [
        "GET / HTTP/1.1\r\nSec-WebSocket-Extensions: a\r\n\r\n",
        "GET / HTTP/1.1\r\nSec-WebSocket-Extensions: a\r\nUpgrade: h2c\r\n\r\n",
        "GET / HTTP/1.1\r\nSec-WebSocket-Extensions: a\r\nUpgrade: websocket\r\n",
        "POST / HTTP/1.1\r\n\r\n\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: a\r\n\r\n",
    ] {
        let mut bytes = kept.as_bytes().to_vec();
        remove_extensions(&mut bytes);
        assert_eq!(str::from_utf8(&bytes), Ok(kept));
    }
}
