//! Record batches of Kafka (kafka.apache.org/documentation/#recordbatch), and the types of its fields.

use crate::protocol::frames::payload;
use crate::protocol::part_list::PartList;
use std::ops::Range;

/// Bytes of a batch before its records.
const HEAD_BYTES: usize = 61;
/// Places in a batch: version, checksum of all after it, attributes, offset of the last record,
/// number of records.
const MAGIC: usize = 16;
const CHECKSUM: usize = 17;
const ATTRIBUTES: usize = 21;
const LAST: usize = 23;
const COUNT: usize = 57;
const VERSION: u8 = 2;
/// Bits of the attributes that name a compression.
const COMPRESSION: u8 = 7;

/// Reader of fields (kafka.apache.org/protocol).
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// `true` if lengths are compact and tagged fields follow.
    is_flexible: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(rest: &'a [u8], is_flexible: bool) -> Self {
        Self { rest, is_flexible }
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a length with a sign (zigzag), which is negative for null.
    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn compact(&mut self) -> Option<i64> {
        i64::try_from(self.unsigned()?).ok()?.checked_sub(1)
    }

    /// Reads a text; it is empty if it is null.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = if self.is_flexible {
            self.compact()?
        } else {
            i16::from_be_bytes(self.array()?).into()
        };
        self.sized(length)
    }

    /// Reads bytes; they are empty if they are null.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        self.sized(length)
    }

    /// Reads the number of items of a list, which is negative for null.
    pub(super) fn count(&mut self) -> Option<i64> {
        if self.is_flexible {
            self.compact()
        } else {
            Some(i32::from_be_bytes(self.array()?).into())
        }
    }

    fn sized(&mut self, length: i64) -> Option<&'a [u8]> {
        self.take(usize::try_from(length.max(0)).ok()?)
    }

    /// Skips tagged fields.
    pub(super) fn tags(&mut self) -> Option<()> {
        let count = if self.is_flexible {
            self.unsigned()?
        } else {
            0
        };
        for _ in 0..count {
            let _tag = self.unsigned()?;
            let length = self.unsigned()?;
            self.take(usize::try_from(length).ok()?)?;
        }
        Some(())
    }
}

/// Returns the length of the batch at the start of these bytes.
fn length(bytes: &[u8]) -> Option<usize> {
    let number = |at: usize| {
        let number = i32::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
        usize::try_from(number).ok()
    };
    let (length, last, count) = (12 + number(8)?, number(LAST)?, number(COUNT)?);
    let is_known = bytes[MAGIC] == VERSION && bytes[ATTRIBUTES] == 0;
    let is_whole = (HEAD_BYTES..=bytes.len()).contains(&length);
    (is_known && is_whole && (1..=last + 1).contains(&count)).then_some(length)
}

/// Adds the records of batches: keys, values and headers. Offsets, times, producers and checksums do
/// not count. Of a compressed batch only its attributes and the number of its records count.
pub(super) fn parts(mut batches: &[u8], taken: &mut PartList) -> Option<()> {
    while !batches.is_empty() {
        let (batch, rest) = batches.split_at(length(batches)?);
        taken.head(&batch[ATTRIBUTES..ATTRIBUTES + 2]);
        taken.head(&batch[COUNT..HEAD_BYTES]);
        if batch[ATTRIBUTES + 1] & COMPRESSION == 0 {
            let mut records = Reader::new(&batch[HEAD_BYTES..], true);
            while !records.rest.is_empty() {
                record(&mut records, taken)?;
            }
        }
        batches = rest;
    }
    Some(())
}

fn record(records: &mut Reader<'_>, taken: &mut PartList) -> Option<()> {
    let length = records.signed()?;
    let mut fields = Reader::new(records.sized(length)?, true);
    let _attributes = fields.take(1)?;
    let (_time, _offset) = (fields.unsigned()?, fields.unsigned()?);
    optional(&mut fields, taken)?;
    optional(&mut fields, taken)?;
    for _ in 0..fields.signed()? {
        optional(&mut fields, taken)?;
        optional(&mut fields, taken)?;
    }
    Some(())
}

/// Adds a value that may be null.
fn optional(fields: &mut Reader<'_>, taken: &mut PartList) -> Option<()> {
    let length = fields.signed()?;
    taken.head(&[u8::from(length < 0)]);
    payload(fields.sized(length)?, taken);
    Some(())
}

/// Returns the places of all batches in an answer.
fn places(answer: &[u8]) -> Vec<Range<usize>> {
    let (mut places, mut at) = (Vec::new(), 0);
    while at < answer.len() {
        let length = length(&answer[at..]);
        places.extend(length.map(|length| at..at + length));
        at += length.unwrap_or(1);
    }
    places
}

/// Renews the checksums of all batches in an answer.
pub(super) fn renew_checksums(answer: &mut [u8]) {
    for place in places(answer) {
        let batch = &mut answer[place];
        let checksum = checksum(&batch[ATTRIBUTES..]);
        batch[CHECKSUM..ATTRIBUTES].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Returns the offset after each batch in an answer.
pub(super) fn ends(answer: &[u8]) -> Vec<i64> {
    let end = |place: Range<usize>| {
        let batch = &answer[place];
        let base = i64::from_be_bytes(*batch.first_chunk()?);
        let last = i32::from_be_bytes(*batch[LAST..].first_chunk()?);
        base.checked_add(i64::from(last) + 1)
    };
    places(answer).into_iter().filter_map(end).collect()
}

/// Writes a compact length.
pub(super) fn compact(length: usize) -> Vec<u8> {
    let (mut bytes, mut left) = (Vec::new(), length + 1);
    while left > 0x7f {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes
}

/// Returns the CRC-32C of these bytes (RFC 3720, B.4).
fn checksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        TABLE[usize::from(sum as u8 ^ byte)] ^ (sum >> 8)
    })
}

const fn table() -> [u32; 256] {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut sum, mut bit) = (at as u32, 0);
        while bit < 8 {
            sum = (sum >> 1) ^ (POLYNOMIAL & (sum & 1).wrapping_neg());
            bit += 1;
        }
        table[at] = sum;
        at += 1;
    }
    table
}
