//! Journal of a client's messages, one JSON line each.

use std::io::Write;

use serde_json::{Value, json};

use super::observer::{SeenMessage, SessionObserver};
use super::sink::Sink;

/// Writes every message with its answer, in the order of the answers. `number` is the order of
/// arrival.
pub struct Journal(Sink);

impl Journal {
    /// Creates a journal on `sink`, which should not buffer.
    pub fn new(sink: Box<dyn Write + Send>) -> Self {
        Self(Sink::new("the journal", sink))
    }
}

impl SessionObserver for Journal {
    fn answered(&self, seen: &SeenMessage) {
        let id: Value = seen
            .id
            .as_ref()
            .and_then(|id| serde_json::from_str(id.as_json()).ok())
            .unwrap_or_default();
        let mut entry =
            json!({"number": seen.number, "method": seen.method, "params": seen.params});
        if !id.is_null() {
            entry["id"] = id;
            entry["ms"] = (seen.time.as_micros() as f64 / 1000.0).into();
        }
        if let Some(revision) = seen.revision {
            entry["revision"] = revision.as_str().into();
        }
        match (&seen.reply, &mut entry) {
            (Some(Value::Object(reply)), Value::Object(entry)) => entry.extend(reply.clone()),
            (None, Value::Object(entry)) if seen.id.is_some() => {
                drop(entry.insert("silent".to_owned(), true.into()));
            }
            _ => {}
        }
        self.0.write(&entry);
    }
}
