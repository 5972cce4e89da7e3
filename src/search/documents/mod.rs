//! Pictures and documents: converts bytes to a smaller picture, or to text. Runs in a sandboxed
//! process (`exec::read_apart`), since the parsers may crash, loop or be exploited by their input.

mod fault;
mod kind;
mod notebook;
mod office;
mod parts;
mod pdf;
mod picture;

use replay_base::limits::{MAX_FAULT_BYTES, MAX_PICTURE_BYTES, MAX_PICTURE_SIDE};
use serde::{Deserialize, Serialize};

pub use fault::Fault;
pub use kind::{DocumentKind, Size, claimed, kind, picture_size};
pub use parts::Pages;
pub use picture::{ConvertedPicture, Region};

/// Selected part of a file; the default selects everything.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Part {
    /// Region of a picture.
    pub region: Option<Region>,
    /// Pages of a document.
    pub pages: Option<Pages>,
}

/// Request to a reader.
#[derive(Debug, Deserialize, Serialize)]
pub struct Question {
    pub kind: DocumentKind,
    pub part: Part,
    /// Memory limit for decoding a picture.
    pub memory_bytes: u64,
}

/// Answer of a reader: sent as a line of JSON, followed by the payload.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ReaderAnswer {
    /// A converted picture.
    Picture(ConvertedPicture),
    /// The picture is small enough as it is.
    AsItIs,
    /// Text of a document.
    Text,
    /// Reason for a failure.
    Fault(String),
}

/// Answers a request about a file with these bytes. Request and answer are JSON.
pub fn answer(question: &str, bytes: &[u8]) -> Vec<u8> {
    let answered =
        serde_json::from_str(question).map_err(|error| Fault::broken("the question", &error));
    let (answer, payload) = answered
        .and_then(
            |Question {
                 kind,
                 part: Part { region, pages },
                 memory_bytes,
             }| {
                let text = match kind {
                    DocumentKind::Picture => return picture::convert(bytes, region, memory_bytes),
                    DocumentKind::Notebook => notebook::text(bytes, pages),
                    DocumentKind::Pdf => pdf::text(bytes, pages),
                    DocumentKind::Office => office::text(bytes, pages),
                };
                text.map(|text| (ReaderAnswer::Text, text.into_bytes()))
            },
        )
        .unwrap_or_else(|fault| (ReaderAnswer::Fault(fault.to_string()), Vec::new()));
    let mut said = serde_json::to_vec(&answer).unwrap_or_default();
    said.push(b'\n');
    said.extend(payload);
    said
}

/// Parses the answer of a reader. It is untrusted: `None` unless an honest reader could have sent
/// it.
pub fn read_answer(said: &[u8]) -> Option<(ReaderAnswer, &[u8])> {
    let end = memchr::memchr(b'\n', said)?;
    let (answer, payload) = (serde_json::from_slice(&said[..end]).ok()?, &said[end + 1..]);
    let is_honest = match &answer {
        ReaderAnswer::Picture(shown) => {
            let Size { width, height } = shown.size;
            payload.len() <= MAX_PICTURE_BYTES
                && width.max(height) <= MAX_PICTURE_SIDE
                && payload.starts_with(shown.form.magic())
                && picture_size(payload) == Some(shown.size)
        }
        ReaderAnswer::Text => std::str::from_utf8(payload).is_ok(),
        ReaderAnswer::AsItIs => payload.is_empty(),
        ReaderAnswer::Fault(reason) => {
            payload.is_empty()
                && reason.len() <= MAX_FAULT_BYTES
                && !reason.contains(char::is_control)
        }
    };
    is_honest.then_some((answer, payload))
}

#[cfg(test)]
mod tests;
