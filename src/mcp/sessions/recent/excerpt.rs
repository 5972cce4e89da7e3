//! Excerpts of arguments and replies, which may be arbitrarily long.

use std::borrow::Cow;

use replay_base::limits::{RECENT_ARGUMENTS_BYTES, RECENT_SUBJECT_BYTES, RECENT_TEXT_BYTES};
use serde_json::{Map, Value};

use crate::protocol::{Body, Content, Outcome};

/// Longest part of a string argument that is remembered, in bytes.
const RECENT_STRING_BYTES: usize = 4 * 1024;

/// Argument names that describe a call best, in order of preference.
const DESCRIPTIVE_ARGUMENTS: [&str; 20] = [
    "command",
    "commandId",
    "code",
    "script",
    "source",
    "path",
    "paths",
    "file_path",
    "pattern",
    "regex",
    "glob",
    "directory",
    "packages",
    "name",
    "session",
    "session_id",
    "query",
    "url",
    "text",
    "input",
];
/// Maximum number of note lines below a program's output that are read as the reason of a failure.
const MAX_NOTES: usize = 8;
/// Maximum depth of arguments that is stored.
const MAX_DEPTH: usize = 16;

/// Shortens the arguments of a call to the size limit. The ledger already cut long strings.
pub(super) fn arguments(arguments: &Value) -> Value {
    let mut left = RECENT_ARGUMENTS_BYTES;
    shorten(arguments, &mut left, 0)
}

/// Returns the excerpt and full length of a long string, as stored by the ledger.
fn excerpt(value: &Value) -> Option<(&str, usize)> {
    let Value::Object(members) = value else {
        return None;
    };
    let text = members
        .get("excerpt")
        .filter(|_| members.len() == 3 && members.contains_key("sha256"))?
        .as_str()?;
    Some((text, members.get("bytes")?.as_u64()? as usize))
}

/// Copies a value within `left` bytes. Omitted items and members are replaced by their number.
fn shorten(value: &Value, left: &mut usize, depth: usize) -> Value {
    *left = left.saturating_sub(8);
    if let Some((text, bytes)) = excerpt(value) {
        return cut(text, bytes, left);
    }
    match value {
        Value::String(text) => cut(text, text.len(), left),
        Value::Array(items) => {
            let mut kept = Vec::new();
            for item in items {
                if *left == 0 || depth == MAX_DEPTH {
                    kept.push(Value::String(format!(
                        "… ({} more)",
                        items.len() - kept.len()
                    )));
                    break;
                }
                kept.push(shorten(item, left, depth + 1));
            }
            Value::Array(kept)
        }
        Value::Object(members) => {
            let mut kept = Map::new();
            for (name, member) in members {
                if *left < name.len() || *left == 0 || depth == MAX_DEPTH {
                    let more = members.len() - kept.len();
                    kept.insert("…".to_owned(), Value::String(format!("({more} more)")));
                    break;
                }
                *left -= name.len();
                kept.insert(name.clone(), shorten(member, left, depth + 1));
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Cuts a text to the limits. `bytes` is its original length.
fn cut(text: &str, bytes: usize, left: &mut usize) -> Value {
    let kept = &text[..text.floor_char_boundary(RECENT_STRING_BYTES.min(*left))];
    *left -= kept.len();
    match bytes.saturating_sub(kept.len()) {
        0 => kept.into(),
        more => format!("{kept}… ({more} bytes more)").into(),
    }
}

/// Returns the argument that describes a call in a list, on one line; empty if there is none.
pub fn subject(arguments: &Value) -> String {
    let Value::Object(members) = arguments else {
        return String::new();
    };
    let named = DESCRIPTIVE_ARGUMENTS
        .iter()
        .filter_map(|name| members.get(*name));
    let told = named.chain(members.values()).find_map(|value| match value {
        Value::String(text) if !text.trim().is_empty() => Some(Cow::Borrowed(text.as_str())),
        Value::Object(_) => excerpt(value).map(|(text, _)| Cow::Borrowed(text)),
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).take(16).collect();
            (!texts.is_empty()).then(|| Cow::Owned(texts.join(", ")))
        }
        _ => None,
    });
    line(&told.unwrap_or_default())
}

/// Returns the first line of a text, cut for a list.
fn line(text: &str) -> String {
    let line = text.trim();
    let end = line.find('\n').unwrap_or(line.len());
    let short = &line[..line[..end].floor_char_boundary(RECENT_SUBJECT_BYTES)];
    if short.len() < line.len() {
        format!("{}…", short.trim_end())
    } else {
        short.to_owned()
    }
}

/// Returns the reason of a failure, on one line: the notes below a program's output, or the start
/// of the error message.
pub(super) fn reason(outcome: &Outcome) -> Option<String> {
    let text = match outcome {
        Ok(Body::Tool(reply)) => reply.content.iter().find_map(|block| match block {
            Content::Text(text) | Content::Note(text) => Some(text.as_str()),
            _ => None,
        })?,
        Ok(_) => return None,
        Err(error) => &error.message,
    };
    let mut notes: Vec<&str> = text
        .lines()
        .rev()
        .map_while(|line| line.strip_prefix('[')?.strip_suffix(']'))
        .take(MAX_NOTES)
        .collect();
    notes.reverse();
    let reason = if notes.is_empty() {
        line(text)
    } else {
        line(&notes.join("; "))
    };
    (!reason.is_empty()).then_some(reason)
}

/// Returns the text of a reply, without the middle if it is long.
pub(super) fn reply_text(outcome: &Outcome) -> String {
    let mut cut = Cut::default();
    match outcome {
        Ok(Body::Tool(reply)) => {
            for (index, block) in reply.content.iter().enumerate() {
                if index > 0 {
                    cut.push("\n");
                }
                match block {
                    Content::Text(text) | Content::Note(text) => cut.push(text),
                    Content::Image { data, mime } | Content::Audio { data, mime, .. } => {
                        cut.push(&format!("[{mime}, {} bytes in base64]", data.len()));
                    }
                    Content::Blob { uri, mime, blob } => {
                        cut.push(&format!("[{uri}, {mime}, {} bytes in base64]", blob.len()));
                    }
                    Content::Link {
                        uri, mime, size, ..
                    } => cut.push(&format!("[{uri}, {mime}, {size} bytes]")),
                }
            }
        }
        Ok(Body::Raw(text)) => cut.push(text),
        Ok(Body::Line(bytes)) => cut.push(&String::from_utf8_lossy(
            &bytes[..bytes.len().min(RECENT_TEXT_BYTES)],
        )),
        Err(error) => cut.push(&error.message),
    }
    cut.text()
}

/// Returns the background command that a call started.
pub(super) fn started(reply: &Outcome) -> Option<String> {
    let Ok(Body::Tool(reply)) = reply else {
        return None;
    };
    reply.started.clone()
}

/// Returns the undo number of a call's changes, and their size.
pub(super) fn undo(reply: &Outcome) -> Option<Value> {
    let Ok(Body::Tool(reply)) = reply else {
        return None;
    };
    reply.undo.as_deref().cloned()
}

/// Builder of a text that drops the middle while it grows.
#[derive(Debug, Default)]
struct Cut {
    head: String,
    /// Text after the head, trimmed to slightly more than needed.
    tail: String,
    is_head_full: bool,
    bytes: usize,
}

impl Cut {
    const TAIL_BYTES: usize = RECENT_TEXT_BYTES / 4;
    const HEAD_BYTES: usize = RECENT_TEXT_BYTES - Self::TAIL_BYTES;

    fn push(&mut self, mut text: &str) {
        self.bytes += text.len();
        if !self.is_head_full {
            let room = text.floor_char_boundary(Self::HEAD_BYTES - self.head.len());
            self.head.push_str(&text[..room]);
            text = &text[room..];
            self.is_head_full = !text.is_empty();
        }
        let from = text.ceil_char_boundary(text.len().saturating_sub(Self::TAIL_BYTES));
        self.tail.push_str(&text[from..]);
        let over = self.tail.len().saturating_sub(Self::TAIL_BYTES);
        self.tail.drain(..self.tail.ceil_char_boundary(over));
    }

    fn text(self) -> String {
        let left_out = self.bytes - self.head.len() - self.tail.len();
        match left_out {
            0 => self.head + &self.tail,
            _ => format!(
                "{}\n… {left_out} bytes are left out …\n{}",
                self.head, self.tail
            ),
        }
    }
}
