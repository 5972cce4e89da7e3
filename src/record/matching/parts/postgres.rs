//! Messages of clients of `PostgreSQL` ("Message Formats").

use super::{Taken, readable};

/// Type and length.
const HEAD_BYTES: usize = 5;

impl Taken {
    /// `Query`, `Parse`, `Bind`, `Describe` and `Execute`, in which statements stand by their text.
    pub(super) fn postgres(&mut self, bytes: &[u8]) -> Option<()> {
        let body = bytes.get(HEAD_BYTES..)?;
        let kind = &bytes[..1];
        let until = |at: usize| Some(at + memchr::memchr(0, body.get(at..)?)?);
        let start = match kind[0] {
            b'Q' | b'E' => 0,
            b'P' | b'B' => until(0)? + 1,
            b'D' => 1,
            _ => return None,
        };
        let end = until(start)?;
        self.head(kind);
        self.head(&body[..start]);
        // The types of its parameters stand behind a statement where it is carried out, but not where it is prepared.
        let text = &body[start..end];
        let types = memchr::memmem::rfind(text, b" -- types ").unwrap_or(text.len());
        self.statement(&text[..types], false);
        self.head(&text[types..]);
        let rest = &body[end..];
        if kind == b"B" {
            return self.bound(rest);
        }
        self.head(rest);
        Some(())
    }

    /// The end of the name of the statement, the formats of the parameters, the parameters, and the formats of what comes back.
    fn bound(&mut self, rest: &[u8]) -> Option<()> {
        let count = |at: usize| Some(usize::from(u16::from_be_bytes(*rest.get(at..)?.first_chunk()?)));
        let formats = count(1)?;
        let is_binary = |number: usize| match formats {
            0 => Some(false),
            1 => Some(count(3)? == 1),
            _ => Some(count(3 + 2 * number)? == 1),
        };
        let values = 3 + 2 * formats;
        self.head(rest.get(..values + 2)?);
        let mut at = values + 2;
        for number in 0..count(values)? {
            let length = i32::from_be_bytes(*rest.get(at..)?.first_chunk()?);
            at += 4;
            // -1 is NULL.
            let Ok(length) = usize::try_from(length) else {
                self.head(b"null");
                continue;
            };
            let value = rest.get(at..at.checked_add(length)?)?;
            self.value(format!("param.{}", number + 1), value, readable(value, is_binary(number)?));
            at += length;
        }
        self.head(rest.get(at..)?);
        Some(())
    }
}
