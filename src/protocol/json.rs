//! JSON strings, escaped straight into the output buffer.
//!
//! Escaping is what a large read costs (the disk is twenty times faster). A block that needs no
//! escape is copied: the check has no branches and becomes vector instructions. Any other block is
//! taken eight bytes at a time as one number (Warren, Hacker's Delight, section 6-1): which bytes
//! need an escape is a few operations for all eight, and every copy has a fixed size, too long
//! rather than measured.

/// What each byte becomes (RFC 8259 section 7): the bytes themselves, then zeros, and last their
/// number.
const ESCAPES: [[u8; 8]; 256] = {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = match byte as u8 {
            0x08 => b'b',
            0x09 => b't',
            0x0a => b'n',
            0x0c => b'f',
            0x0d => b'r',
            same @ (b'"' | b'\\') => same,
            _ => 0,
        };
        table[byte] = if letter != 0 {
            [b'\\', letter, 0, 0, 0, 0, 0, 2]
        } else if byte < 0x20 {
            [
                b'\\',
                b'u',
                b'0',
                b'0',
                HEX[byte >> 4],
                HEX[byte & 15],
                0,
                6,
            ]
        } else {
            [byte as u8, 0, 0, 0, 0, 0, 0, 1]
        };
        byte += 1;
    }
    table
};

const BLOCK: usize = 32;
const WORD: usize = 8;
/// Room for a block of nothing but six-byte escapes, and for what the last copy writes too much.
const SCRATCH: usize = BLOCK * 6 + WORD;

/// Appends `text` as a JSON string, quotes included.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "a lazy operator is a branch, and branches do not become vectors"
)]
pub fn escape_into(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    // Source text has an escape about every thirty bytes; too small a guess only costs one more
    // growth.
    out.reserve(bytes.len() + bytes.len() / 16 + 2);
    out.push(b'"');
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut scratch = [0; SCRATCH];
    for block in blocks {
        if block.iter().fold(false, |found, &byte| {
            found | (byte < 0x20) | (byte == b'"') | (byte == b'\\')
        }) {
            let mut length = 0;
            for word in block.as_chunks::<WORD>().0 {
                length = escape_word(&mut scratch, length, *word);
            }
            out.extend_from_slice(&scratch[..length]);
        } else {
            out.extend_from_slice(block);
        }
    }
    for &byte in rest {
        let escape = &ESCAPES[usize::from(byte)];
        out.extend_from_slice(&escape[..usize::from(escape[WORD - 1])]);
    }
    out.push(b'"');
}

/// What [`escape_into`] writes for a text, in bytes.
pub fn escaped_length(text: &str) -> usize {
    let more = text
        .bytes()
        .map(|byte| usize::from(ESCAPES[usize::from(byte)][WORD - 1] - 1));
    text.len() + more.sum::<usize>() + 2
}

/// Writes eight bytes of text at `length` and returns the new length.
fn escape_word(scratch: &mut [u8; SCRATCH], mut length: usize, bytes: [u8; WORD]) -> usize {
    let word = u64::from_le_bytes(bytes);
    let mut marks = marks(word);
    let mut from = 0;
    while marks != 0 {
        let at = (marks.trailing_zeros() / 8) as usize;
        marks &= marks - 1;
        scratch[length..length + WORD].copy_from_slice(&(word >> (8 * from)).to_le_bytes());
        length += at - from;
        let escape = &ESCAPES[usize::from(bytes[at])];
        scratch[length..length + WORD].copy_from_slice(escape);
        length += usize::from(escape[WORD - 1]);
        from = at + 1;
    }
    if from < WORD {
        scratch[length..length + WORD].copy_from_slice(&(word >> (8 * from)).to_le_bytes());
        length += WORD - from;
    }
    length
}

/// The high bit of each byte that needs an escape: below 0x20, a quote or a backslash. No carry
/// leaves the byte that it arises in, so the answer is exact for each.
fn marks(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let is_not = |byte: u8| {
        let differs = word ^ (ONES * u64::from(byte));
        ((differs & !HIGH) + !HIGH) | differs
    };
    let is_printable = ((word & !HIGH) + ONES * (0x80 - 0x20)) | word;
    !(is_printable & is_not(b'"') & is_not(b'\\')) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn escaped_text_reads_back(text in "(?s:.|[\\x00-\\x1f\"\\\\]){0,200}") {
            let mut out = Vec::new();
            escape_into(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text.clone());
            // Byte for byte what serde_json writes, so the two may be mixed in one message.
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
