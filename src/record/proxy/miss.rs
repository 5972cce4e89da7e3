//! Error messages for calls without a recording.

use serde_json::{Value, json};

use crate::call::Target;
use crate::matching::Miss;

pub(super) fn error_with_closest(miss: &Miss) -> Value {
    let closest = miss
        .closest
        .as_ref()
        .map(|closest| json!({ "name": closest.name, "differences": closest.differences }));
    json!({ "error": "no recording answers this call", "call": miss.asked, "closest": closest })
}

/// Returns the error for a call that could not be compared with recordings.
pub(super) fn error_for_call(call: &str) -> Value {
    json!({ "error": "no recording answers this call", "call": call, "closest": null })
}

pub(super) fn unreachable(target: &Target, error: &std::io::Error) -> Value {
    json!({
        "error": "the server cannot be reached",
        "target": target.to_string(),
        "reason": error.to_string(),
    })
}

/// Formats the error as one line, for a header field.
pub(super) fn line(value: &Value) -> String {
    let text = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut line = format!("{}: {}", text("error"), text("call"));
    if let Some(name) = value.pointer("/closest/name").and_then(Value::as_str) {
        line.push_str("; closest: ");
        line.push_str(name);
    }
    line
}
