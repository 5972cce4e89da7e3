//! Lossless conversion between bytes and text.
//!
//! A file is UTF-8, UTF-16 with a byte order mark, a known 8-bit (or East Asian multi-byte)
//! encoding, or not text. A guessed encoding is accepted only if re-encoding the text gives the
//! same bytes.

use crate::limits;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

/// Byte order mark of UTF-8, which is not part of the first line.
pub const UTF8_BOM: &[u8] = &[0xEF, 0xBB, 0xBF];
const UTF16LE_BOM: &[u8] = &[0xFF, 0xFE];
const UTF16BE_BOM: &[u8] = &[0xFE, 0xFF];

/// Labels listed in the error for an unknown label.
const COMMON_LABELS: &str = "utf-8, utf-16le, utf-16be, windows-1252, iso-8859-2, windows-1251, shift_jis, euc-jp, gb18030, big5, euc-kr";

/// Encoding of a file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// UTF-8, with or without a byte order mark.
    pub const UTF_8: Self = Self(UTF_8);
    /// UTF-16, little endian.
    pub const UTF_16LE: Self = Self(UTF_16LE);
    /// UTF-16, big endian.
    pub const UTF_16BE: Self = Self(UTF_16BE);

    /// Returns the name in the WHATWG Encoding Standard, such as `windows-1252`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns true if the encoding is UTF-8, so that no conversion is needed.
    pub fn is_utf8(self) -> bool {
        self.0 == UTF_8
    }
}

/// Text of a file, with the data needed to write it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// Text without the byte order mark.
    pub text: String,
    /// Encoding of the bytes.
    pub encoding: Encoding,
    /// `true` if the bytes began with a byte order mark.
    pub had_bom: bool,
}

/// Error of decoding or encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The bytes contain NULs, unlike text.
    #[error("the content is binary: byte {offset} is NUL")]
    Binary {
        /// Offset of the first NUL.
        offset: usize,
    },
    /// The bytes are neither Unicode nor in an encoding that reproduces them.
    #[error(
        "the content is not text in a known encoding: byte {offset} (line {line}) is not valid {encoding}"
    )]
    Undecodable {
        /// Offset of the first invalid byte.
        offset: usize,
        /// Line of that byte, from 1.
        line: usize,
        /// Encoding tried last.
        encoding: &'static str,
    },
    /// Re-encoding would give different bytes, so bytes outside of the edit would change too.
    #[error("the content cannot be written back unchanged as {encoding}, its likely encoding")]
    NotReversible { encoding: &'static str },
    /// The encoding lacks a character.
    #[error("the character {character:?} (U+{:04X}) on line {line} does not exist in {encoding}", u32::from(*character))]
    Unmappable {
        character: char,
        /// Line in the text, from 1.
        line: usize,
        encoding: &'static str,
    },
    /// The label is unknown.
    #[error(
        "unknown encoding `{label}`: known ones are {COMMON_LABELS} and the other labels of the WHATWG Encoding Standard"
    )]
    UnknownLabel {
        /// Requested label.
        label: String,
    },
}

impl EncodingError {
    /// Returns a hint.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Binary { .. } => {
                "a binary file has no lines to edit; use a command that knows its format"
            }
            Self::Undecodable { .. } | Self::NotReversible { .. } => {
                "convert the file to UTF-8 first, for example with `iconv`, or edit it with a command"
            }
            Self::Unmappable { .. } => {
                "use characters that the file's encoding has, or convert the file to UTF-8 first"
            }
            Self::UnknownLabel { .. } => "use one of the listed names",
        }
    }
}

/// Returns the encoding with a label of the WHATWG Encoding Standard, such as `latin1`, `UTF-16` or
/// `cp1251`.
pub fn by_name(label: &str) -> Result<Encoding, EncodingError> {
    match encoding_rs::Encoding::for_label(label.as_bytes()) {
        // The standard's "replacement" stands for encodings it refuses to decode.
        Some(found) if found != encoding_rs::REPLACEMENT => Ok(Encoding(found)),
        // The label comes from a client, and may be megabytes long.
        _ => Err(EncodingError::UnknownLabel {
            label: label.chars().take(40).collect(),
        }),
    }
}

/// Returns true if `bytes` look binary: a NUL near the beginning and no UTF-16 byte order mark.
pub fn is_binary(bytes: &[u8]) -> bool {
    first_nul(bytes).is_some() && !is_utf16(bytes)
}

fn first_nul(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(0, &bytes[..bytes.len().min(limits::BINARY_SNIFF_BYTES)])
}

/// Returns true if `bytes` begin with a byte order mark of UTF-16.
pub fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(UTF16LE_BOM) || bytes.starts_with(UTF16BE_BOM)
}

/// Decodes a file.
///
/// With `forced`, a WHATWG label, that encoding is used without guessing (a matching byte order
/// mark is still removed). Otherwise a byte order mark decides, then valid UTF-8, then a guess that
/// must be reversible.
pub fn detect_and_decode(bytes: Vec<u8>, forced: Option<&str>) -> Result<Decoded, EncodingError> {
    if let Some(label) = forced {
        return decode_as(bytes, by_name(label)?);
    }
    if bytes.starts_with(UTF16LE_BOM) {
        return decode_utf16(&bytes, Encoding::UTF_16LE);
    }
    if bytes.starts_with(UTF16BE_BOM) {
        return decode_utf16(&bytes, Encoding::UTF_16BE);
    }
    if let Some(offset) = first_nul(&bytes) {
        return Err(EncodingError::Binary { offset });
    }
    decode_without_nul(bytes)
}

fn decode_without_nul(bytes: Vec<u8>) -> Result<Decoded, EncodingError> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(strip_utf8_bom(text)),
        Err(error) => {
            let fault = error.utf8_error().valid_up_to();
            guess(error.as_bytes(), fault)
        }
    }
}

fn strip_utf8_bom(mut text: String) -> Decoded {
    let had_bom = text.as_bytes().starts_with(UTF8_BOM);
    if had_bom {
        text.drain(..UTF8_BOM.len());
    }
    Decoded {
        text,
        encoding: Encoding::UTF_8,
        had_bom,
    }
}

fn decode_as(bytes: Vec<u8>, encoding: Encoding) -> Result<Decoded, EncodingError> {
    if encoding.is_utf8() {
        return match String::from_utf8(bytes) {
            Ok(text) => Ok(strip_utf8_bom(text)),
            Err(error) => Err(undecodable(
                error.as_bytes(),
                error.utf8_error().valid_up_to(),
                encoding,
            )),
        };
    }
    if encoding == Encoding::UTF_16LE || encoding == Encoding::UTF_16BE {
        return decode_utf16(&bytes, encoding);
    }
    reversible(&bytes, encoding)
}

fn decode_utf16(bytes: &[u8], encoding: Encoding) -> Result<Decoded, EncodingError> {
    let bom = if encoding == Encoding::UTF_16LE {
        UTF16LE_BOM
    } else {
        UTF16BE_BOM
    };
    let (body, had_bom) = match bytes.strip_prefix(bom) {
        Some(body) => (body, true),
        None => (bytes, false),
    };
    let offset_of_body = bytes.len() - body.len();
    let (pairs, rest) = body.as_chunks::<2>();
    let read = if encoding == Encoding::UTF_16LE {
        u16::from_le_bytes
    } else {
        u16::from_be_bytes
    };
    let mut text = String::with_capacity(body.len());
    let mut at = 0;
    for unit in char::decode_utf16(pairs.iter().map(|pair| read(*pair))) {
        match unit {
            Ok('\0') => {
                return Err(EncodingError::Binary {
                    offset: offset_of_body + at,
                });
            }
            Ok(character) => {
                at += character.len_utf16() * 2;
                text.push(character);
            }
            Err(_) => return Err(undecodable_after(&text, offset_of_body + at, encoding)),
        }
    }
    if rest.is_empty() {
        Ok(Decoded {
            text,
            encoding,
            had_bom,
        })
    } else {
        Err(undecodable_after(&text, bytes.len() - 1, encoding))
    }
}

fn undecodable_after(text: &str, offset: usize, encoding: Encoding) -> EncodingError {
    EncodingError::Undecodable {
        offset,
        line: super::lines::line_at(text.as_bytes(), text.len()),
        encoding: encoding.name(),
    }
}

fn undecodable(bytes: &[u8], offset: usize, encoding: Encoding) -> EncodingError {
    EncodingError::Undecodable {
        offset,
        line: super::lines::line_at(bytes, offset),
        encoding: encoding.name(),
    }
}

fn guess(bytes: &[u8], fault: usize) -> Result<Decoded, EncodingError> {
    // Damaged UTF-8 is not 8-bit text, which rarely contains well-formed sequences by chance.
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += chunk.invalid().len();
    }
    if good > bad {
        return Err(undecodable(bytes, fault, Encoding::UTF_8));
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    reversible(bytes, Encoding(detector.guess(None, Utf8Detection::Deny)))
}

fn reversible(bytes: &[u8], encoding: Encoding) -> Result<Decoded, EncodingError> {
    let mut decoder = encoding.0.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut text = String::with_capacity(room.unwrap_or(bytes.len()));
    let (result, read) = decoder.decode_to_string_without_replacement(bytes, &mut text, true);
    if result != encoding_rs::DecoderResult::InputEmpty {
        return Err(undecodable_after(&text, read, encoding));
    }
    let back = encode(&text, encoding, false);
    if back.as_deref() != Ok(bytes) {
        return Err(EncodingError::NotReversible {
            encoding: encoding.name(),
        });
    }
    text.shrink_to_fit();
    Ok(Decoded {
        text,
        encoding,
        had_bom: false,
    })
}

/// Encodes text, with a byte order mark if `bom` is set and the encoding has one.
///
/// Fails with [`EncodingError::Unmappable`] if the encoding lacks a character.
pub fn encode(text: &str, encoding: Encoding, bom: bool) -> Result<Vec<u8>, EncodingError> {
    if encoding.is_utf8() {
        let mut bytes = Vec::with_capacity(text.len() + UTF8_BOM.len());
        if bom {
            bytes.extend_from_slice(UTF8_BOM);
        }
        bytes.extend_from_slice(text.as_bytes());
        return Ok(bytes);
    }
    if encoding == Encoding::UTF_16LE || encoding == Encoding::UTF_16BE {
        let low_first = encoding == Encoding::UTF_16LE;
        let mut bytes = Vec::with_capacity(text.len() * 2 + 2);
        if bom {
            bytes.extend_from_slice(if low_first { UTF16LE_BOM } else { UTF16BE_BOM });
        }
        for unit in text.encode_utf16() {
            bytes.extend_from_slice(&if low_first {
                unit.to_le_bytes()
            } else {
                unit.to_be_bytes()
            });
        }
        return Ok(bytes);
    }
    let mut encoder = encoding.0.new_encoder();
    let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
    let mut bytes = Vec::with_capacity(room.unwrap_or(text.len()));
    match encoder.encode_from_utf8_to_vec_without_replacement(text, &mut bytes, true) {
        (encoding_rs::EncoderResult::Unmappable(character), read) => {
            let before = read.saturating_sub(character.len_utf8());
            Err(EncodingError::Unmappable {
                character,
                line: super::lines::line_at(text.as_bytes(), before),
                encoding: encoding.name(),
            })
        }
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests;
