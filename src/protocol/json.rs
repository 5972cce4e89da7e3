//! JSON strings, escaped straight into the output buffer.
//!
//! Escaping is what a large read costs (the disk is twenty times faster), so text that needs no escape is
//! copied in blocks: the check of a block has no branches and becomes vector instructions.

/// What each byte needs: 0 nothing, `u` a `\u00xx` sequence, else the letter after the backslash (RFC 8259 section 7).
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0a] = b'n';
    table[0x0c] = b'f';
    table[0x0d] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

const BLOCK: usize = 32;

/// Appends `text` as a JSON string, quotes included.
pub fn escape_into(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    // Source text has an escape about every thirty bytes; too small a guess only costs one more growth.
    out.reserve(bytes.len() + bytes.len() / 16 + 2);
    out.push(b'"');
    let mut blocks = bytes.chunks_exact(BLOCK);
    for block in &mut blocks {
        if block.iter().fold(false, |found, &byte| found | (byte < 0x20) | (byte == b'"') | (byte == b'\\')) {
            escape_bytewise(out, block);
        } else {
            out.extend_from_slice(block);
        }
    }
    escape_bytewise(out, blocks.remainder());
    out.push(b'"');
}

fn escape_bytewise(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut plain_from = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        let escape = ESCAPES[usize::from(byte)];
        if escape == 0 {
            continue;
        }
        out.extend_from_slice(&bytes[plain_from..index]);
        plain_from = index + 1;
        if escape == b'u' {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        } else {
            out.extend_from_slice(&[b'\\', escape]);
        }
    }
    out.extend_from_slice(&bytes[plain_from..]);
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
