//! Packets of `MySQL`: three bytes of length, a sequence number, and the payload. Payloads of 16
//! MiB or more, which span several packets, are refused.

use crate::protocol::dialogue::Fault;

/// Commands (`PAGE_PROTOCOL_COMMAND_PHASE`).
pub(super) mod command {
    pub(crate) const QUIT: u8 = 0x01;
    pub(crate) const INIT_DB: u8 = 0x02;
    pub(crate) const QUERY: u8 = 0x03;
    pub(crate) const FIELD_LIST: u8 = 0x04;
    pub(crate) const STATISTICS: u8 = 0x09;
    pub(crate) const PROCESS_INFO: u8 = 0x0a;
    pub(crate) const PING: u8 = 0x0e;
    pub(crate) const CHANGE_USER: u8 = 0x11;
    pub(crate) const BINLOG_DUMP: u8 = 0x12;
    pub(crate) const TABLE_DUMP: u8 = 0x13;
    pub(crate) const PREPARE: u8 = 0x16;
    pub(crate) const EXECUTE: u8 = 0x17;
    pub(crate) const LONG_DATA: u8 = 0x18;
    pub(crate) const CLOSE: u8 = 0x19;
    pub(crate) const RESET: u8 = 0x1a;
    pub(crate) const SET_OPTION: u8 = 0x1b;
    pub(crate) const FETCH: u8 = 0x1c;
    pub(crate) const BINLOG_DUMP_GTID: u8 = 0x1e;
    pub(crate) const RESET_CONNECTION: u8 = 0x1f;
    pub(crate) const CLONE: u8 = 0x20;
    /// `MariaDB`'s bulk execution with many rows of parameters.
    pub(crate) const BULK_EXECUTE: u8 = 0xfa;
}

pub(super) fn length(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    match bytes
        .first_chunk::<4>()
        .map(|head| u32::from_le_bytes([head[0], head[1], head[2], 0]))
    {
        Some(0xff_ffff) => Err("a MySQL message has 16 MiB or more"),
        length => Ok(length.map(|length| 4 + length as usize)),
    }
}

pub(super) fn sequence(message: &[u8]) -> u8 {
    message.get(3).copied().unwrap_or_default()
}

/// Returns the first byte of the payload: the code of a command or an answer.
pub(super) fn code(message: &[u8]) -> Option<u8> {
    payload(message).first().copied()
}

pub(super) fn payload(message: &[u8]) -> &[u8] {
    message.get(4..).unwrap_or_default()
}

pub(super) fn message(sequence: u8, payload: &[u8]) -> Vec<u8> {
    [
        &(payload.len() as u32).to_le_bytes()[..3],
        &[sequence],
        payload,
    ]
    .concat()
}

pub(super) fn renumbered(message: &[u8], sequence: u8) -> Vec<u8> {
    let mut bytes = message.to_vec();
    if let Some(byte) = bytes.get_mut(3) {
        *byte = sequence;
    }
    bytes
}

/// Builds a general error (`ERR_Packet`; 1105 is `ER_UNKNOWN_ERROR`).
pub(super) fn error(sequence: u8, text: &str) -> Vec<u8> {
    message(
        sequence,
        &[&[0xff, 0x51, 0x04][..], b"#HY000", text.as_bytes()].concat(),
    )
}

pub(super) fn bytes<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], Fault> {
    let (found, after) = rest
        .split_at_checked(length)
        .ok_or("a MySQL packet is shorter than its content")?;
    *rest = after;
    Ok(found)
}

/// Reads a text that ends with NUL or with the packet.
pub(super) fn text<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = memchr::memchr(0, rest).unwrap_or(rest.len());
    let found = &rest[..end];
    *rest = rest.get(end + 1..).unwrap_or_default();
    found
}

/// Reads an integer of one to nine bytes (`PAGE_PROTOCOL_BASIC_DT_INTEGERS`).
pub(super) fn integer(rest: &mut &[u8]) -> Result<u64, Fault> {
    let first = bytes(rest, 1)?[0];
    let length = match first {
        0..=0xfa => return Ok(u64::from(first)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return Err("a MySQL number has an invalid length"),
    };
    let mut number = [0; 8];
    number[..length].copy_from_slice(bytes(rest, length)?);
    Ok(u64::from_le_bytes(number))
}
