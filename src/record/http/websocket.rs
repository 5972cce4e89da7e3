//! Frames of `WebSocket` (RFC 6455, 5.2) with the client's masks taken off: a mask is random, so
//! two equal messages are different bytes on every run. A frame with a mask of zeros means the
//! same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

/// Rewrites what a client sends, in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct Unmask {
    /// The head of a frame as far as it has come.
    head: Vec<u8>,
    mask: [u8; 4],
    /// How many bytes of a payload are still to come, and how many have come.
    left: u64,
    done: u64,
}

impl Unmask {
    /// The same bytes with masks of zeros.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut input = bytes;
        while let Some((&next, rest)) = input.split_first() {
            if self.left > 0 {
                let count = usize::try_from(self.left)
                    .unwrap_or(usize::MAX)
                    .min(input.len());
                for byte in &input[..count] {
                    out.push(byte ^ self.mask[(self.done % 4) as usize]);
                    self.done += 1;
                }
                self.left -= count as u64;
                input = &input[count..];
                continue;
            }
            self.head.push(next);
            input = rest;
            let Some((mask_at, length)) = measure(&self.head) else {
                continue;
            };
            self.mask = [0; 4];
            if let Some(at) = mask_at {
                self.mask.copy_from_slice(&self.head[at..at + 4]);
                self.head[at..at + 4].fill(0);
            }
            out.append(&mut self.head);
            self.left = length;
            self.done = 0;
        }
        out
    }
}

/// Of a head that is complete: where its mask stands, and how long the payload is.
fn measure(head: &[u8]) -> Option<(Option<usize>, u64)> {
    let second = *head.get(1)?;
    let (length, end) = match second & 0x7F {
        126 => (
            u64::from(u16::from_be_bytes(head.get(2..4)?.try_into().ok()?)),
            4,
        ),
        127 => (u64::from_be_bytes(head.get(2..10)?.try_into().ok()?), 10),
        short => (u64::from(short), 2),
    };
    if second & 0x80 == 0 {
        return Some((None, length));
    }
    (head.len() >= end + 4).then_some((Some(end), length))
}

/// `Sec-WebSocket-Accept` for a key (RFC 6455, 4.2.2): the key is new each time, so a recorded
/// answer to it is of no use.
pub fn accept(key: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(key.trim_ascii());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(hash.finalize())
}

#[cfg(test)]
mod tests;
