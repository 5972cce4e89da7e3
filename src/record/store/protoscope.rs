//! The language in which gRPC messages stand in files (<https://github.com/protocolbuffers/protoscope/blob/main/language.txt>),
//! as far as a message without its schema needs it: numbers, `3:` tags, texts, `{...}` with a length, `!{...}` groups,
//! `i32`, `i64` and `z` numbers, hexadecimal in backticks.

use std::fmt::Write as _;

use super::hex;

/// Deepest nesting that is read or written.
const MAX_DEPTH: usize = 100;
const VARINT: u64 = 0;
const I64: u64 = 1;
const LEN: u64 = 2;
const START_GROUP: u64 = 3;
const END_GROUP: u64 = 4;
const I32: u64 = 5;

/// Bytes as text that gives exactly these bytes again.
pub fn write(bytes: &[u8]) -> String {
    let mut text = String::new();
    if fields(bytes, 0, &mut text) && read(&text).is_ok_and(|back| back == bytes) {
        return text;
    }
    let hex = hex(bytes);
    if hex.is_empty() { hex } else { format!("`{hex}`\n") }
}

/// Writes a run of fields; whether the bytes are one.
fn fields(mut bytes: &[u8], depth: usize, out: &mut String) -> bool {
    while !bytes.is_empty() {
        let Some(tag) = varint(&mut bytes) else { return false };
        let (number, kind) = (tag >> 3, tag & 7);
        if number == 0 || depth > MAX_DEPTH {
            return false;
        }
        let pad = "  ".repeat(depth);
        let value = match kind {
            VARINT => match varint(&mut bytes) {
                Some(value) => value.to_string(),
                None => return false,
            },
            I64 => match bytes.split_first_chunk() {
                Some((chunk, rest)) => {
                    bytes = rest;
                    format!("{}i64", i64::from_le_bytes(*chunk))
                }
                None => return false,
            },
            I32 => match bytes.split_first_chunk() {
                Some((chunk, rest)) => {
                    bytes = rest;
                    format!("{}i32", i32::from_le_bytes(*chunk))
                }
                None => return false,
            },
            LEN => {
                let Some(length) = varint(&mut bytes).and_then(|length| usize::try_from(length).ok()) else {
                    return false;
                };
                let Some((inner, rest)) = bytes.split_at_checked(length) else { return false };
                bytes = rest;
                length_prefixed(inner, depth, &pad)
            }
            _ => return false,
        };
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{pad}{number}: {value}");
    }
    true
}

/// A value with a length: a text, a message, or bytes.
fn length_prefixed(inner: &[u8], depth: usize, pad: &str) -> String {
    let text =
        std::str::from_utf8(inner).ok().filter(|text| text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
    if let Some(text) = text {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
        return format!("{{\"{escaped}\"}}");
    }
    let mut nested = String::new();
    if fields(inner, depth + 1, &mut nested) {
        return format!("{{\n{nested}{pad}}}");
    }
    format!("{{`{}`}}", hex(inner))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in 0..10 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f).checked_shl(7 * shift)?;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Text as bytes. Fails, with the reason, at what is not read here.
pub fn read(text: &str) -> Result<Vec<u8>, String> {
    let mut reader = Reader { text, at: 0 };
    let bytes = reader.run(None, 0)?;
    Ok(bytes)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn error(&self, what: &str) -> String {
        let shown: String = self.rest().chars().take(20).collect();
        format!("{what} at byte {} of the protoscope text: `{}`", self.at, shown.escape_debug())
    }

    /// Values up to the brace that closes this run, or to the end.
    fn run(&mut self, close: Option<char>, depth: usize) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        // The field whose value is next, for which a brace or a number chooses the kind.
        let mut tag = None;
        loop {
            let skipped = self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r', ',', ';']).len();
            self.at += skipped;
            let Some(first) = self.rest().chars().next() else {
                return if close.is_none() && tag.is_none() { Ok(out) } else { Err(self.error("it ends too early")) };
            };
            match first {
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '}' if close == Some('}') && tag.is_none() => {
                    self.at += 1;
                    return Ok(out);
                }
                '{' => {
                    self.at += 1;
                    let inner = self.run(Some('}'), depth + 1)?;
                    put_tag(tag.take(), LEN, &mut out);
                    put_varint(inner.len() as u64, &mut out);
                    out.extend(inner);
                }
                '!' if self.rest().starts_with("!{") => {
                    let Some(number) = tag.take() else { return Err(self.error("a group without a number")) };
                    self.at += 2;
                    let inner = self.run(Some('}'), depth + 1)?;
                    put_tag(Some(number), START_GROUP, &mut out);
                    out.extend(inner);
                    put_tag(Some(number), END_GROUP, &mut out);
                }
                '"' | '\'' => {
                    let bytes = self.quoted(first)?;
                    put_tag(tag.take(), LEN, &mut out);
                    out.extend(bytes);
                }
                '`' => {
                    let bytes = self.hex()?;
                    put_tag(tag.take(), LEN, &mut out);
                    out.extend(bytes);
                }
                _ => self.word(&mut tag, &mut out)?,
            }
        }
    }

    /// A number, a tag or a word.
    fn word(&mut self, tag: &mut Option<u64>, out: &mut Vec<u8>) -> Result<(), String> {
        let end = self.rest().find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '+')));
        let word = self.rest()[..end.unwrap_or(self.rest().len())].to_owned();
        let unknown = self.error("a word that is not read here");
        if word.is_empty() {
            return Err(unknown);
        }
        self.at += word.len();
        if self.rest().starts_with(':') {
            let number: u64 =
                word.parse().ok().filter(|number| *number < 1 << 29 && tag.is_none()).ok_or(unknown.as_str())?;
            self.at += 1;
            // A kind may be written out: `1:LEN`.
            for (name, kind) in [
                ("VARINT", VARINT),
                ("I64", I64),
                ("LEN", LEN),
                ("I32", I32),
                ("SGROUP", START_GROUP),
                ("EGROUP", END_GROUP),
            ] {
                if self.rest().starts_with(name) {
                    self.at += name.len();
                    put_varint(number << 3 | kind, out);
                    return Ok(());
                }
            }
            *tag = Some(number);
            return Ok(());
        }
        let (digits, suffix) =
            word.find('i').or_else(|| word.find('z')).map_or((word.as_str(), ""), |at| word.split_at(at));
        match (digits, suffix) {
            ("true" | "false", "") => {
                put_tag(tag.take(), VARINT, out);
                out.push(u8::from(word == "true"));
            }
            (_, "i32") => {
                let value = integer(digits).and_then(|value| i32::try_from(value).ok().map(i32::to_le_bytes));
                let value = value.or_else(|| digits.parse::<f32>().ok().map(f32::to_le_bytes)).ok_or(unknown)?;
                put_tag(tag.take(), I32, out);
                out.extend(value);
            }
            (_, "i64") => {
                let value = integer(digits).and_then(|value| i64::try_from(value).ok().map(i64::to_le_bytes));
                let value = value.or_else(|| digits.parse::<f64>().ok().map(f64::to_le_bytes)).ok_or(unknown)?;
                put_tag(tag.take(), I64, out);
                out.extend(value);
            }
            (_, "z") => {
                let value = integer(digits).and_then(|value| i64::try_from(value).ok()).ok_or(unknown)?;
                put_tag(tag.take(), VARINT, out);
                put_varint((value << 1 ^ value >> 63).cast_unsigned(), out);
            }
            (_, "") => {
                if let Some(value) = integer(digits) {
                    let value = u64::try_from(value).or_else(|_| i64::try_from(value).map(i64::cast_unsigned));
                    put_tag(tag.take(), VARINT, out);
                    put_varint(value.map_err(|_| unknown)?, out);
                } else {
                    // A number with a point is a double.
                    let value: f64 = digits.parse().map_err(|_| unknown)?;
                    put_tag(tag.take(), I64, out);
                    out.extend(value.to_le_bytes());
                }
            }
            _ => return Err(unknown),
        }
        Ok(())
    }

    fn quoted(&mut self, quote: char) -> Result<Vec<u8>, String> {
        let start = self.error("a text that does not end");
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let c = self.rest().chars().next().ok_or_else(|| start.clone())?;
            self.at += c.len_utf8();
            if c == quote {
                return Ok(out);
            }
            if c != '\\' {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            let escape = self.rest().chars().next().ok_or_else(|| start.clone())?;
            self.at += escape.len_utf8();
            match escape {
                'n' => out.push(b'\n'),
                't' => out.push(b'\t'),
                'r' => out.push(b'\r'),
                'x' | 'X' => {
                    let digits = self.rest().get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
                    out.push(digits.ok_or_else(|| self.error("no escape"))?);
                    self.at += 2;
                }
                '0'..='7' => {
                    let octal =
                        self.text.get(self.at - 1..self.at + 2).and_then(|digits| u8::from_str_radix(digits, 8).ok());
                    out.push(octal.ok_or_else(|| self.error("no escape"))?);
                    self.at += 2;
                }
                '\\' | '"' | '\'' => out.push(escape as u8),
                _ => return Err(self.error("no escape")),
            }
        }
    }

    fn hex(&mut self) -> Result<Vec<u8>, String> {
        let unknown = self.error("no hexadecimal in backticks");
        self.at += 1;
        let end = self.rest().find('`').ok_or(unknown.as_str())?;
        let digits: Vec<u8> = self.rest()[..end].bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        self.at += end + 1;
        let pairs = digits.chunks(2).map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        });
        pairs.collect::<Option<_>>().ok_or(unknown)
    }
}

fn put_tag(number: Option<u64>, kind: u64, out: &mut Vec<u8>) {
    if let Some(number) = number {
        put_varint(number << 3 | kind, out);
    }
}

fn integer(digits: &str) -> Option<i128> {
    match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn a_message_is_readable() {
        let bytes = b"\x0a\x03abc\x10\x96\x01\x1a\x04\x08\x01\x12\x00\x25\x01\x00\x00\x00";
        let text = "1: {\"abc\"}\n2: 150\n3: {\n  1: 1\n  2: {\"\"}\n}\n4: 1i32\n";
        assert_eq!(write(bytes), text);
        assert_eq!(read(text).unwrap(), bytes);
    }

    #[test]
    fn what_others_write_is_read() {
        let cases: [(&str, &[u8]); 7] = [
            ("1: true # yes\n2: -1", b"\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            ("1: -1z", b"\x08\x01"),
            ("1: 1.5", b"\x09\x00\x00\x00\x00\x00\x00\xf8\x3f"),
            ("1: 1.5i32", b"\x0d\x00\x00\xc0\x3f"),
            ("1: !{2: 3}", b"\x0b\x10\x03\x0c"),
            ("1:LEN `02` 'a\\x62'", b"\x0a\x02ab"),
            ("", b""),
        ];
        for (text, bytes) in cases {
            assert_eq!(read(text).unwrap(), bytes, "{text}");
        }
        for text in ["1:", "{", "}", "\"", "`0`", "1: a", "1: 2: 3", "!{}", "\u{e9}"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(read(&write(&bytes)).unwrap(), bytes);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-z:{}!`\"' \\\\\\n.-]{0,40}") {
            let _ = read(&text);
        }
    }
}
