//! BSON documents (`bsonspec.org`, version 1.1): elements with undecoded values.

use std::borrow::Cow;

use crate::protocol::dialogue::Fault;

pub(crate) mod kind {
    pub(crate) const STRING: u8 = 0x02;
    pub(crate) const DOCUMENT: u8 = 0x03;
    pub(crate) const ARRAY: u8 = 0x04;
    pub(crate) const OBJECT_ID: u8 = 0x07;
    pub(crate) const DOUBLE: u8 = 0x01;
    pub(crate) const INT32: u8 = 0x10;
    pub(crate) const INT64: u8 = 0x12;
}

const BROKEN: Fault = "a MongoDB document is malformed";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element<'a> {
    pub(crate) kind: u8,
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> Element<'a> {
    /// Returns the value without its length and delimiters.
    pub(crate) fn content(&self) -> &'a [u8] {
        let (before, behind) = match self.kind {
            kind::STRING | 0x0d | 0x0e => (4, 1),
            0x05 => (5, 0),
            0x0b => (0, 1),
            0x0f => (4, 0),
            _ => (0, 0),
        };
        self.value
            .get(before..self.value.len().saturating_sub(behind))
            .unwrap_or_default()
    }
}

pub(crate) fn length(bytes: &[u8]) -> Result<usize, Fault> {
    let head = bytes.first_chunk::<4>().ok_or(BROKEN)?;
    let length = usize::try_from(i32::from_le_bytes(*head)).map_err(|_| BROKEN)?;
    if length >= 5 && length <= bytes.len() && bytes[length - 1] == 0 {
        Ok(length)
    } else {
        Err(BROKEN)
    }
}

pub(crate) fn elements(document: &[u8]) -> Result<Vec<Element<'_>>, Fault> {
    let length = length(document)?;
    let mut rest = &document[4..length - 1];
    let mut found = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        let name_end = memchr::memchr(0, after).ok_or(BROKEN)?;
        let (name, after) = (&after[..name_end], &after[name_end + 1..]);
        let size = size(kind, after)?;
        let (value, after) = after.split_at_checked(size).ok_or(BROKEN)?;
        found.push(Element { kind, name, value });
        rest = after;
    }
    Ok(found)
}

/// Returns the length of the value of this type at the start of the bytes.
fn size(kind: u8, bytes: &[u8]) -> Result<usize, Fault> {
    let counted = |extra: usize| {
        let head = bytes.first_chunk::<4>().ok_or(BROKEN)?;
        let length = usize::try_from(i32::from_le_bytes(*head)).map_err(|_| BROKEN)?;
        length.checked_add(extra).ok_or(BROKEN)
    };
    Ok(match kind {
        0x06 | 0x0a | 0x7f | 0xff => 0,
        0x08 => 1,
        0x10 => 4,
        0x01 | 0x09 | 0x11 | 0x12 => 8,
        0x07 => 12,
        0x13 => 16,
        // These lengths include themselves.
        0x03 | 0x04 | 0x0f => {
            counted(0).and_then(|length| if length < 5 { Err(BROKEN) } else { Ok(length) })?
        }
        0x02 | 0x0d | 0x0e => counted(4)?,
        0x05 => counted(5)?,
        0x0c => counted(4 + 12)?,
        0x0b => {
            let first = memchr::memchr(0, bytes).ok_or(BROKEN)? + 1;
            first + memchr::memchr(0, &bytes[first..]).ok_or(BROKEN)? + 1
        }
        _ => return Err(BROKEN),
    })
}

pub(crate) fn document(elements: &[Element<'_>]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    for Element { kind, name, value } in elements {
        bytes.extend([&[*kind], *name, b"\0", value].concat());
    }
    bytes.push(0);
    let length = (bytes.len() as u32).to_le_bytes();
    bytes[..4].copy_from_slice(&length);
    bytes
}

/// Rebuilds a document with new values from `each`; elements without a new value are dropped.
pub(super) fn rewrite<'a>(
    document: &'a [u8],
    each: impl Fn(usize, &Element<'a>) -> Result<Option<Cow<'a, [u8]>>, Fault>,
) -> Result<Vec<u8>, Fault> {
    let mut values = Vec::new();
    for (index, element) in elements(document)?.into_iter().enumerate() {
        values.extend(each(index, &element)?.map(|value| (element, value)));
    }
    let elements: Vec<_> = values
        .iter()
        .map(|(element, value)| Element { value, ..*element })
        .collect();
    Ok(self::document(&elements))
}

/// Collects the elements of a document and its subdocuments that are not documents or arrays
/// themselves.
pub(crate) fn leaves<'a>(document: &'a [u8], found: &mut Vec<Element<'a>>) -> Result<(), Fault> {
    for element in elements(document)? {
        match element.kind {
            kind::DOCUMENT | kind::ARRAY => leaves(element.value, found)?,
            _ => found.push(element),
        }
    }
    Ok(())
}

pub(super) fn string(text: &str) -> Vec<u8> {
    [
        &(text.len() as u32 + 1).to_le_bytes()[..],
        text.as_bytes(),
        b"\0",
    ]
    .concat()
}
