//! JSON escaping of the floor server: eight bytes at a time in a general-purpose register, with
//! copies of a fixed size.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
const LOW: u64 = !HIGH;
const CHUNK: usize = 256;
const SCRATCH: usize = CHUNK * 6 + 8;

/// Sets the high bit of every byte that JSON requires to be escaped. Exact for each byte, since no
/// carry crosses a byte boundary.
fn marks(word: u64) -> u64 {
    let nonzero = |word: u64| ((word & LOW) + LOW) | word;
    let printable = ((word & LOW) + ONES * 0x60) | word;
    !(printable & nonzero(word ^ (ONES * 0x22)) & nonzero(word ^ (ONES * 0x5c))) & HIGH
}

/// Returns the escape sequence of a byte, padded to eight bytes, and its length.
fn escape(byte: u8) -> ([u8; 8], usize) {
    let letter = match byte {
        b'\n' => b'n',
        b'\t' => b't',
        b'\r' => b'r',
        b'"' | b'\\' => byte,
        _ => {
            let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit)];
            return (
                [
                    b'\\',
                    b'u',
                    b'0',
                    b'0',
                    hex(byte >> 4),
                    hex(byte & 15),
                    0,
                    0,
                ],
                6,
            );
        }
    };
    ([b'\\', letter, 0, 0, 0, 0, 0, 0], 2)
}

/// Appends `text` as a JSON string, quotes included.
pub fn escape_into(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + text.len() / 8 + 2);
    out.push(b'"');
    let mut scratch = [0; SCRATCH];
    for chunk in text.as_bytes().chunks(CHUNK) {
        let mut length = 0;
        let mut put = |bytes: [u8; 8], count: usize| {
            scratch[length..length + 8].copy_from_slice(&bytes);
            length += count;
        };
        let (words, rest) = chunk.as_chunks::<8>();
        for bytes in words {
            let word = u64::from_le_bytes(*bytes);
            let (mut marks, mut from) = (marks(word), 0);
            while marks != 0 {
                let at = (marks.trailing_zeros() / 8) as usize;
                marks &= marks - 1;
                put((word >> (8 * from)).to_le_bytes(), at - from);
                let (bytes, count) = escape(bytes[at]);
                put(bytes, count);
                from = at + 1;
            }
            if from < 8 {
                put((word >> (8 * from)).to_le_bytes(), 8 - from);
            }
        }
        for &byte in rest {
            // Fills the other seven bytes with printable characters.
            let (bytes, count) = match marks(u64::from(byte) | (0x2020_2020_2020_2020 << 8)) {
                0 => ([byte; 8], 1),
                _ => escape(byte),
            };
            put(bytes, count);
        }
        out.extend_from_slice(&scratch[..length]);
    }
    out.push(b'"');
}
