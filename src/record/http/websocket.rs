//! Removal of what hides messages of `WebSocket`: client masks (RFC 6455, 5.2) and compression.
//! Masks are random, so equal messages differ in bytes on every run. A frame with a zero mask has
//! the same meaning.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

/// Streaming rewriter of the frames that a client sends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unmask {
    /// Incomplete header of the current frame.
    head: Vec<u8>,
    mask: [u8; 4],
    /// Remaining payload bytes; `done` counts the processed ones.
    left: u64,
    done: u64,
}

impl Unmask {
    /// Returns the bytes with zero masks.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
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

/// Returns mask offset and payload length of a frame header, or `None` while it is incomplete.
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

/// Removes the offer of extensions, such as compression (RFC 7692), from a request for `WebSocket`
/// at the start of these bytes.
pub(crate) fn remove_extensions(bytes: &mut Vec<u8>) {
    const END: &[u8] = b"\r\n\r\n";
    let Some(end) = memchr::memmem::find(bytes, END).map(|at| at + END.len()) else {
        return;
    };
    let fields = || bytes[..end].split_inclusive(|byte| *byte == b'\n');
    let has_name = |field: &&[u8], name: &[u8]| {
        let found = field.split(|byte| *byte == b':').next();
        found.is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    let is_upgrade = |field: &[u8]| {
        has_name(&field, b"upgrade") && field[8..].trim_ascii().eq_ignore_ascii_case(b"websocket")
    };
    if fields().any(is_upgrade) {
        let kept = fields().filter(|field| !has_name(field, b"sec-websocket-extensions"));
        let head: Vec<u8> = kept.collect::<Vec<_>>().concat();
        bytes.splice(..end, head);
    }
}

/// Returns `Sec-WebSocket-Accept` for a key (RFC 6455, 4.2.2). Each handshake has a new key, so a
/// recorded value is useless.
pub(crate) fn accept(key: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(key.trim_ascii());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(hash.finalize())
}

#[cfg(test)]
mod tests;
