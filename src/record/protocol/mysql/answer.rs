//! Parser that finds the end of the answer to a command.

use super::packet::{self, command};
use crate::protocol::dialogue::Fault;

const MORE_RESULTS: u16 = 1 << 3;
/// `SERVER_STATUS_CURSOR_EXISTS`: the client fetches the rows.
const CURSOR: u16 = 1 << 6;

/// Next expected part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerState {
    One,
    /// Answers to authentication, up to OK or an error.
    Login,
    /// OK, an error, or the start of a result.
    Result,
    /// This number of column definitions, then rows.
    Columns(u64),
    /// The message after the columns.
    ColumnsEnd,
    /// Rows up to their end, then perhaps another result.
    Rows,
    /// Definitions up to their end.
    Fields,
    /// OK or an error for a prepared statement.
    PreparedStatement,
    /// This number of definitions of parameters and columns.
    Definitions(u64),
}

/// Returns the first expected part of the answer to a command; `None` if it has no answer.
pub(super) fn begin(code: Option<u8>) -> Result<Option<AnswerState>, Fault> {
    Ok(Some(match code.unwrap_or_default() {
        command::QUIT | command::CLOSE | command::LONG_DATA => return Ok(None),
        command::QUERY | command::EXECUTE | command::BULK_EXECUTE | command::PROCESS_INFO => {
            AnswerState::Result
        }
        command::FIELD_LIST => AnswerState::Fields,
        command::PREPARE => AnswerState::PreparedStatement,
        command::FETCH => AnswerState::Rows,
        command::CHANGE_USER => AnswerState::Login,
        command::BINLOG_DUMP | command::BINLOG_DUMP_GTID | command::TABLE_DUMP | command::CLONE => {
            return Err("the connection became a replication stream, which is not recorded");
        }
        _ => AnswerState::One,
    }))
}

impl AnswerState {
    /// Parses one message of the server and returns the next expected part. With `no_eof` rows end
    /// with an OK packet (`CLIENT_DEPRECATE_EOF`).
    pub(super) fn read(self, message: &[u8], no_eof: bool) -> Result<Option<Self>, Fault> {
        let payload = packet::payload(message);
        let first = *payload.first().ok_or("MySQL sent an empty packet")?;
        if first == 0xff {
            return Ok(None);
        }
        Ok(match self {
            Self::Login if first == 0 => None,
            Self::Login => Some(self),
            Self::Result => match first {
                0 => after_result(status_of_ok(payload)?),
                0xfb => {
                    return Err(
                        "the server asks for a file of the client (`LOAD DATA LOCAL`), \
                    which is not recorded",
                    );
                }
                _ => Some(Self::Columns(packet::integer(&mut &payload[..])?)),
            },
            Self::Columns(0 | 1) => Some(if no_eof { Self::Rows } else { Self::ColumnsEnd }),
            Self::Columns(left) => Some(Self::Columns(left - 1)),
            Self::ColumnsEnd if status_of_eof(payload) & CURSOR != 0 => None,
            Self::ColumnsEnd => Some(Self::Rows),
            Self::Rows | Self::Fields if !ends(message, no_eof) => Some(self),
            Self::Rows if no_eof => after_result(status_of_ok(payload)?),
            Self::Rows => after_result(status_of_eof(payload)),
            Self::One | Self::Fields | Self::Definitions(0 | 1) => None,
            Self::PreparedStatement => {
                let prepared =
                    prepared(payload).ok_or("an answer about a prepared statement is too short")?;
                // A list that is not empty has an end marker.
                let list = |count: u16| {
                    if count == 0 {
                        0
                    } else {
                        u64::from(count) + u64::from(!no_eof)
                    }
                };
                let count = list(prepared.counts.0) + list(prepared.counts.1);
                Some(Self::Definitions(count)).filter(|_| count > 0)
            }
            Self::Definitions(left) => Some(Self::Definitions(left - 1)),
        })
    }
}

fn after_result(status: u16) -> Option<AnswerState> {
    if status & MORE_RESULTS != 0 {
        Some(AnswerState::Result)
    } else {
        None
    }
}

/// Returns true if rows end here. 0xfe also begins a row whose first value is longer than a packet.
fn ends(message: &[u8], no_eof: bool) -> bool {
    let limit = if no_eof { 0xff_ffff } else { 9 };
    message.get(4) == Some(&0xfe) && message.len() - 4 < limit
}

fn status_of_ok(payload: &[u8]) -> Result<u16, Fault> {
    let status = packet::bytes(&mut before_status(payload)?.1, 2)?;
    Ok(u16::from_le_bytes([status[0], status[1]]))
}

/// Returns the status in OK or EOF; `None` for other messages.
pub(super) fn status(payload: &[u8]) -> Option<u16> {
    match payload.first()? {
        0xfe if payload.len() == 5 => Some(status_of_eof(payload)),
        0 | 0xfe => status_of_ok(payload).ok(),
        _ => None,
    }
}

/// Returns a message without its number, and for OK or EOF without the status and the rest.
pub(crate) fn without_status(message: &[u8]) -> &[u8] {
    let payload = packet::payload(message);
    match payload.first() {
        Some(0xfe) if ends(message, true) && status(payload).is_some() => &[],
        Some(0) => before_status(payload).map_or(payload, |(before, _)| before),
        _ => payload,
    }
}

/// Splits an OK packet before its status.
fn before_status(payload: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let mut rest = &payload[1..];
    packet::integer(&mut rest)?;
    packet::integer(&mut rest)?;
    Ok(payload.split_at(payload.len() - rest.len()))
}

fn status_of_eof(payload: &[u8]) -> u16 {
    payload
        .get(3..5)
        .map_or(0, |status| u16::from_le_bytes([status[0], status[1]]))
}

/// First message of the answer to `COM_STMT_PREPARE`.
pub(super) struct PreparedStatement {
    pub(super) id: u32,
    pub(super) counts: (u16, u16),
}

pub(super) fn prepared(payload: &[u8]) -> Option<PreparedStatement> {
    let field = payload.get(..9).filter(|field| field[0] == 0)?;
    let id = u32::from_le_bytes([field[1], field[2], field[3], field[4]]);
    let (columns, parameters) = (
        u16::from_le_bytes([field[5], field[6]]),
        u16::from_le_bytes([field[7], field[8]]),
    );
    Some(PreparedStatement {
        id,
        counts: (parameters, columns),
    })
}
