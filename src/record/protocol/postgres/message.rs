//! Parsing and building of `PostgreSQL` messages.

use std::ops::Range;

use replay_base::limits::MAX_POSTGRES_STARTUP_BYTES;

use crate::protocol::dialogue::Fault;

/// Length of the message type and the length field.
pub(super) const HEAD: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// `SSLRequest`.
    Encryption,
    /// `GSSENCRequest`.
    Gss,
    /// `CancelRequest`, sent on a connection of its own.
    Cancel,
    Startup,
}

/// Returns the length of a client's first message, which has no type.
pub(super) fn opening_length(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    let Some(length) = be32(bytes, 0) else {
        return Ok(None);
    };
    if (8..=MAX_POSTGRES_STARTUP_BYTES).contains(&length) {
        Ok(Some(length))
    } else {
        Err("the connection does not begin as PostgreSQL connections do")
    }
}

pub(super) fn length(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    match be32(bytes, 1) {
        None => Ok(None),
        Some(length) if length >= 4 && bytes[0].is_ascii_graphic() => Ok(Some(length + 1)),
        Some(_) => Err("a PostgreSQL message has no type or is shorter than its header"),
    }
}

/// Returns the code of an opening message: a protocol version or a request code.
pub(super) fn opening_of(message: &[u8]) -> Option<u32> {
    be32(message, 4).map(|code| code as u32)
}

pub(super) fn opening(message: &[u8]) -> Result<Opening, Fault> {
    match opening_of(message) {
        Some(80_877_103) => Ok(Opening::Encryption),
        Some(80_877_104) => Ok(Opening::Gss),
        Some(80_877_102) => Ok(Opening::Cancel),
        Some(version) if version >> 16 == 3 => Ok(Opening::Startup),
        _ => Err("the client speaks a version of PostgreSQL's protocol other than 3"),
    }
}

pub(super) fn parameters(startup: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut words = startup
        .get(8..)
        .unwrap_or_default()
        .split(|byte| *byte == 0);
    std::iter::from_fn(move || Some((words.next().filter(|name| !name.is_empty())?, words.next()?)))
}

pub(super) fn parameter<'a>(startup: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    parameters(startup)
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

/// Reads a text that ends with NUL.
pub(super) fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Fault> {
    let end = memchr::memchr(0, rest).ok_or("a PostgreSQL string has no end")?;
    let found = &rest[..end];
    *rest = &rest[end + 1..];
    Ok(found)
}

pub(super) fn bytes<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], Fault> {
    let (found, after) = rest
        .split_at_checked(length)
        .ok_or("a PostgreSQL message is shorter than its content")?;
    *rest = after;
    Ok(found)
}

/// Reads a number of two bytes.
pub(super) fn count(rest: &mut &[u8]) -> Result<usize, Fault> {
    let found = bytes(rest, 2)?;
    Ok(usize::from(u16::from_be_bytes([found[0], found[1]])))
}

fn be32(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes([word[0], word[1], word[2], word[3]]) as usize)
}

/// Returns the range of the statement in a client's message, or of the portal name in its place.
pub(super) fn statement(message: &[u8]) -> Option<Range<usize>> {
    let until = |at: usize| Some(at + memchr::memchr(0, message.get(at..)?)?);
    let start = match message.first()? {
        b'Q' | b'E' => HEAD,
        b'P' | b'B' => until(HEAD)? + 1,
        // The kind of the object comes first.
        b'D' => HEAD + 1,
        _ => return None,
    };
    Some(start..until(start)?)
}

/// Fields of a `Bind` after the statement.
pub(super) struct BindFields<'a> {
    /// Count and formats of the parameters.
    pub(super) formats: &'a [u8],
    /// The parameters; NULL is `None`.
    pub(super) values: Vec<Option<&'a [u8]>>,
    /// Count and formats of the results.
    pub(super) results: &'a [u8],
}

impl<'a> BindFields<'a> {
    pub(super) fn read(all: &'a [u8]) -> Result<Self, Fault> {
        let mut rest = all;
        let formats = count(&mut rest)?;
        bytes(&mut rest, 2 * formats)?;
        let formats = &all[..2 + 2 * formats];
        let mut values = Vec::new();
        for _ in 0..count(&mut rest)? {
            let length = bytes(&mut rest, 4)?;
            let length = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
            // -1 is NULL.
            values.push(
                usize::try_from(length)
                    .ok()
                    .map(|length| bytes(&mut rest, length))
                    .transpose()?,
            );
        }
        Ok(Self {
            formats,
            values,
            results: rest,
        })
    }

    pub(super) fn of(message: &'a [u8]) -> Option<Self> {
        let end = statement(message)
            .filter(|_| message.first() == Some(&b'B'))?
            .end;
        Self::read(&message[end + 1..]).ok()
    }

    pub(super) fn result_formats(&self) -> Vec<u16> {
        let formats = self.results.get(2..).unwrap_or_default();
        let formats = formats.as_chunks().0.iter();
        formats.map(|format| u16::from_be_bytes(*format)).collect()
    }

    /// Returns true if a parameter, counted from 0, is binary.
    pub(super) fn is_binary(&self, number: usize) -> bool {
        let formats = &self.formats[2..];
        let at = if formats.len() == 2 { 0 } else { 2 * number };
        formats.get(at..at + 2) == Some(&[0, 1])
    }
}

pub(super) fn message(kind: u8, body: &[&[u8]]) -> Vec<u8> {
    let length = 4 + body.iter().map(|part| part.len()).sum::<usize>();
    let mut bytes = Vec::with_capacity(length + 1);
    bytes.push(kind);
    bytes.extend((length as u32).to_be_bytes());
    for part in body {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// Builds `ReadyForQuery` with the transaction status: `I` idle, `T` in a transaction, `E` in a
/// failed one.
pub(super) fn ready(state: u8) -> Vec<u8> {
    message(b'Z', &[&[state]])
}

/// Builds `ErrorResponse` (its fields: section "Error and Notice Message Fields").
pub(super) fn error(severity: &str, text: &str) -> Vec<u8> {
    // internal_error, a code that programs do not handle specially.
    error_of("XX000", severity, text)
}

/// Builds the error of a failed transaction (`in_failed_sql_transaction`).
pub(super) fn aborted() -> Vec<u8> {
    error_of(
        "25P02",
        "ERROR",
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

fn error_of(code: &str, severity: &str, text: &str) -> Vec<u8> {
    message(
        b'E',
        &[format!("S{severity}\0V{severity}\0C{code}\0M{text}\0\0").as_bytes()],
    )
}

/// Returns true if it is the error for statements in a failed transaction.
pub(crate) fn is_aborted(message: &[u8]) -> bool {
    let fields = message.get(5..).unwrap_or_default();
    message.first() == Some(&b'E')
        && fields
            .split(|byte| *byte == 0)
            .any(|field| field == b"C25P02")
}

/// Returns true if it is an authentication challenge, whose answer depends on a password or on
/// random data.
pub(super) fn is_challenge(message: &[u8]) -> bool {
    message.first() == Some(&b'R') && be32(message, 5) != Some(0)
}

/// Returns the transaction status after an answer. A call may be replayed in another status than in
/// its recording. So only transaction control and errors change it, including an error of a
/// statement that would end the transaction (`ends`).
pub(super) fn state_after<'a>(state: u8, ends: bool, answer: impl Iterator<Item = &'a [u8]>) -> u8 {
    let (mut controlled, mut failed, mut recorded) = (None, false, None);
    for message in answer {
        match message.first() {
            Some(b'Z') => recorded = message.get(HEAD).copied(),
            Some(b'E') => failed = true,
            _ => match tag(message) {
                Some(b"BEGIN" | b"START TRANSACTION") => controlled = Some(b'T'),
                Some(b"COMMIT" | b"ROLLBACK" | b"PREPARE TRANSACTION") => controlled = Some(b'I'),
                _ => {}
            },
        }
    }
    match (controlled, failed, state) {
        (Some(to), _, _) => recorded.unwrap_or(to),
        (None, true, b'T' | b'E') if ends => recorded.unwrap_or(b'I'),
        (None, true, b'T' | b'E') => b'E',
        _ => state,
    }
}

/// Returns the tag of a `CommandComplete`.
fn tag(message: &[u8]) -> Option<&[u8]> {
    message
        .get(HEAD..)
        .filter(|_| message[0] == b'C')
        .map(|body| body.strip_suffix(b"\0").unwrap_or(body))
}

/// Returns true if an answer is that of a command that changes session state and returns no rows.
pub(super) fn only_sets<'a>(answer: impl Iterator<Item = &'a [u8]>) -> bool {
    const SETTERS: [&[u8]; 7] = [
        b"SET",
        b"RESET",
        b"DISCARD ALL",
        b"DEALLOCATE",
        b"DEALLOCATE ALL",
        b"LISTEN",
        b"UNLISTEN",
    ];
    let mut sets = false;
    for message in answer {
        match message.first() {
            Some(b'C') if tag(message).is_some_and(|tag| SETTERS.contains(&tag)) => sets = true,
            Some(b'C' | b'D' | b'E' | b'G' | b'I') => return false,
            _ => {}
        }
    }
    sets
}
