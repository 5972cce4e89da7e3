//! `WebSocket` frames (RFC 6455, section 5), as a server reads and writes them.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Size of one read of a payload, in bytes: the length in the header is not trusted.
const PIECE_BYTES: usize = 64 * 1024;
/// Maximum payload of a control frame, in bytes (5.5).
const MAX_CONTROL_BYTES: usize = 125;

/// Close code of a connection (7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    Normal = 1000,
    GoingAway = 1001,
    /// A protocol error.
    Protocol = 1002,
    /// A binary message.
    Kind = 1003,
    /// A text that is not UTF-8.
    NotText = 1007,
    /// The client's token was revoked.
    Policy = 1008,
    /// The message is too long.
    TooBig = 1009,
    /// The server has no memory for the message now.
    Later = 1013,
}

/// Opcode of a frame (5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation = 0,
    /// A text, or its first fragment.
    Text = 1,
    /// Binary data, or its first fragment.
    Binary = 2,
    /// The other side closes.
    Close = 8,
    /// Must be answered by a pong.
    Ping = 9,
    /// The answer to a ping.
    Pong = 10,
}

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub kind: Opcode,
    /// `true` for the last fragment of its message.
    pub is_last: bool,
    /// Length of the payload, in bytes.
    pub length: u64,
    mask: [u8; 4],
}

/// Returns the value of `Sec-WebSocket-Accept` for a key (4.2.2).
pub(super) fn accept(key: &str) -> String {
    let mut digest = Sha1::new();
    digest.update(key.trim().as_bytes());
    digest.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest.finalize())
}

/// Reads the header of a client's frame. The inner error is a protocol error.
pub(super) async fn head(source: &mut (impl AsyncRead + Unpin)) -> io::Result<Result<Head, Close>> {
    let mut first = [0; 2];
    source.read_exact(&mut first).await?;
    let kind = match first[0] & 0x0F {
        0 => Opcode::Continuation,
        1 => Opcode::Text,
        2 => Opcode::Binary,
        8 => Opcode::Close,
        9 => Opcode::Ping,
        10 => Opcode::Pong,
        _ => return Ok(Err(Close::Protocol)),
    };
    let is_last = first[0] & 0x80 != 0;
    let is_control = matches!(kind, Opcode::Close | Opcode::Ping | Opcode::Pong);
    let short = first[1] & 0x7F;
    let has_extension = first[0] & 0x70 != 0;
    let is_masked = first[1] & 0x80 != 0;
    if has_extension
        || !is_masked
        || is_control && (!is_last || usize::from(short) > MAX_CONTROL_BYTES)
    {
        return Ok(Err(Close::Protocol));
    }
    let length = match short {
        126 => u64::from(source.read_u16().await?),
        127 => source.read_u64().await?,
        short => u64::from(short),
    };
    let mut mask = [0; 4];
    source.read_exact(&mut mask).await?;
    Ok(Ok(Head {
        kind,
        is_last,
        length,
        mask,
    }))
}

/// Reads a payload in unmasked pieces. Stops when `take` returns false. Returns true if `take` got
/// all pieces.
pub(super) async fn payload(
    source: &mut (impl AsyncRead + Unpin),
    head: Head,
    take: &mut (dyn FnMut(&[u8]) -> bool + Send),
) -> io::Result<bool> {
    let mut left = head.length;
    let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(left).unwrap_or(PIECE_BYTES))];
    let mut mask = head.mask;
    while left > 0 {
        let most = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = source.read(&mut piece[..most]).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (byte, mask) in piece[..count].iter_mut().zip(mask.iter().cycle()) {
            *byte ^= mask;
        }
        mask.rotate_left(count % 4);
        left -= count as u64;
        if !take(&piece[..count]) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the header of an unfragmented server frame, which has no mask.
pub(super) fn frame_head(kind: Opcode, length: usize) -> Vec<u8> {
    let mut head = vec![0x80 | kind as u8];
    match length {
        0..=125 => head.push(length as u8),
        126..=0xFFFF => {
            head.push(126);
            head.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            head.push(127);
            head.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_value_matches_rfc_example() {
        assert_eq!(
            accept("dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }

    #[test]
    fn frame_lengths_are_encoded_as_in_rfc() {
        assert_eq!(frame_head(Opcode::Text, 5), [0x81, 5]);
        assert_eq!(frame_head(Opcode::Text, 256), [0x81, 126, 1, 0]);
        assert_eq!(
            frame_head(Opcode::Text, 65_536),
            [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn only_masked_frames_are_accepted() {
        // "Hello", masked (5.7).
        let mut source = &[
            0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58,
        ][..];
        let head = super::head(&mut source).await.unwrap().unwrap();
        assert_eq!(
            (head.kind, head.is_last, head.length),
            (Opcode::Text, true, 5)
        );
        let mut text = Vec::new();
        let mut take = |piece: &[u8]| {
            text.extend_from_slice(piece);
            true
        };
        assert!(payload(&mut source, head, &mut take).await.unwrap());
        assert_eq!(text, b"Hello");
        let breaches: [&[u8]; 5] = [
            &[0x81, 0x05, b'H', b'e', b'l', b'l', b'o'],
            &[0xC1, 0x80, 0, 0, 0, 0],
            &[0x83, 0x80, 0, 0, 0, 0],
            &[0x09, 0x80, 0, 0, 0, 0],
            &[0x89, 0xFE, 0, 126, 0, 0, 0, 0],
        ];
        for mut breach in breaches {
            assert_eq!(
                super::head(&mut breach).await.unwrap(),
                Err(Close::Protocol),
                "{breach:?}"
            );
        }
        assert!(super::head(&mut &[0x81][..]).await.is_err());
    }
}
