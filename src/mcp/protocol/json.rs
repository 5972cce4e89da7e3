//! JSON strings, escaped straight into the output buffer.
//!
//! Escaping dominates the cost of a large read (the disk is twenty times faster). A block without
//! escapes is copied: the check has no branches and compiles to vector instructions. Any other
//! block is handled as 8-byte words (Warren, Hacker's Delight, section 6-1). A few operations find
//! the bytes of a word that need an escape. Every copy has a fixed size, longer than needed rather
//! than measured.

/// The escape of each byte (RFC 8259 section 7): its bytes, zeros as padding, and its length in the
/// last byte.
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
/// Room for a block of six-byte escapes only, and for the surplus of the last copy.
const SCRATCH: usize = BLOCK * 6 + WORD;

/// Appends `text` as a JSON string, quotes included.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "a lazy operator is a branch, and branches do not become vectors"
)]
pub fn escape_into(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    // Source code has an escape about every thirty bytes. Too small an estimate costs one
    // reallocation.
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

/// Length in bytes of the output of [`escape_into`].
pub(super) fn escaped_length(text: &str) -> usize {
    let more = text
        .bytes()
        .map(|byte| usize::from(ESCAPES[usize::from(byte)][WORD - 1] - 1));
    text.len() + more.sum::<usize>() + 2
}

/// Writes eight bytes of text at `length`, escaped, and returns the new length.
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

/// Sets the high bit of each byte that needs an escape: below 0x20, a quote or a backslash. No
/// carry crosses a byte boundary, so the result is exact for each byte.
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
        fn escaped_text_parses_to_original(text in "(?s:.|[\\x00-\\x1f\"\\\\]){0,200}") {
            let mut out = Vec::new();
            escape_into(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text.clone());
            // The same bytes as serde_json writes, so both may be mixed in one message.
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
