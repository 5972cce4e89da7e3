//! Arguments of a call for the ledger, with long strings replaced by hashes.

use replay_base::limits::MAX_KEPT_ARGUMENT_BYTES;
use replay_base::text::escape::hex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Length of the excerpt of a longer argument, in bytes.
const ARGUMENT_EXCERPT_BYTES: usize = 4096;
/// Largest size of a call's arguments as JSON without long strings, in bytes. Of larger ones the
/// hash and length are kept.
const MAX_KEPT_ARGUMENTS_BYTES: usize = 32 * 1024;

/// Shortens the arguments, and returns a second version with excerpts of long strings if requested.
pub(super) fn shorten_arguments(
    raw: Option<&RawValue>,
    with_excerpts: bool,
) -> (Value, Option<Value>) {
    let Some(raw) = raw else {
        return (Value::Null, with_excerpts.then_some(Value::Null));
    };
    let whole = || {
        (
            stand_in(raw.get(), false),
            with_excerpts.then(|| stand_in(raw.get(), true)),
        )
    };
    // Too short to need shortening.
    if raw.get().len() <= MAX_KEPT_ARGUMENT_BYTES
        && let Ok(arguments) = serde_json::from_str::<Value>(raw.get())
    {
        return (arguments, None);
    }
    // A parsed value takes many times the memory of its text. This many values exceed the limit in
    // any case.
    if values(raw.get()) > MAX_KEPT_ARGUMENTS_BYTES {
        return whole();
    }
    // This fails for text that is nested too deeply.
    let Ok(arguments) = serde_json::from_str::<Value>(raw.get()) else {
        return whole();
    };
    let excerpts = with_excerpts.then(|| bounded(shortened(&arguments, true), raw, true));
    (bounded(shortened(&arguments, false), raw, false), excerpts)
}

/// Returns the value, or a hash if it is still too long.
fn bounded(value: Value, raw: &RawValue, with_excerpt: bool) -> Value {
    let most = if with_excerpt {
        4 * MAX_KEPT_ARGUMENTS_BYTES
    } else {
        MAX_KEPT_ARGUMENTS_BYTES
    };
    if value.to_string().len() <= most {
        value
    } else {
        stand_in(raw.get(), with_excerpt)
    }
}

/// Estimates the number of values in a text, keys included, from below.
fn values(text: &str) -> usize {
    let (mut count, mut quoted, mut escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b',' | b':' | b'[' | b'{' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

fn shortened(value: &Value, with_excerpt: bool) -> Value {
    match value {
        Value::String(text) if text.len() > MAX_KEPT_ARGUMENT_BYTES => stand_in(text, with_excerpt),
        Value::Array(items) => items
            .iter()
            .map(|item| shortened(item, with_excerpt))
            .collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| (key.clone(), shortened(member, with_excerpt)))
            .collect(),
        other => other.clone(),
    }
}

/// Returns the replacement of a text: its hash, its length, and its beginning if requested.
fn stand_in(text: &str, with_excerpt: bool) -> Value {
    let mut value = json!({"sha256": hex(&Sha256::digest(text)), "bytes": text.len()});
    if with_excerpt {
        value["excerpt"] = text[..text.floor_char_boundary(ARGUMENT_EXCERPT_BYTES)].into();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn of(text: &str) -> (Value, Option<Value>) {
        shorten_arguments(Some(&RawValue::from_string(text.to_owned()).unwrap()), true)
    }

    #[test]
    fn long_string_is_replaced_by_hash() {
        let long = "é".repeat(3000);
        let digest = hex(&Sha256::digest(&long));
        let (kept, excerpts) = of(&json!({"path": "a", "edits": [{"new": long}, 5]}).to_string());
        assert_eq!(
            kept,
            json!({"path": "a", "edits": [{"new": {"sha256": digest, "bytes": 6000}}, 5]})
        );
        let excerpt = "é".repeat(2048);
        let shown = json!({"new": {"sha256": digest, "bytes": 6000, "excerpt": excerpt}});
        assert_eq!(excerpts, Some(json!({"path": "a", "edits": [shown, 5]})));
    }

    #[test]
    fn oversized_or_deep_arguments_become_hash() {
        let many = json!({"paths": vec!["x".repeat(1000); 100]}).to_string();
        let deep = "[".repeat(500) + &"]".repeat(500);
        for text in [many, deep] {
            let expected = json!({"sha256": hex(&Sha256::digest(&text)), "bytes": text.len()});
            assert_eq!(of(&text).0, expected);
        }
        assert_eq!(shorten_arguments(None, false), (Value::Null, None));
    }

    #[test]
    fn too_many_values_are_not_parsed() {
        // The parsed value would be short enough, since only the last of equal names counts.
        let many = format!("{{{}\"a\":1}}", "\"a\":1,".repeat(MAX_KEPT_ARGUMENTS_BYTES));
        assert_eq!(
            of(&many).0,
            json!({"sha256": hex(&Sha256::digest(&many)), "bytes": many.len()})
        );
        for (text, count) in [
            ("1", 1),
            (r#"{"a":[1,2],"b":"\",:[{"}"#, 7),
            (r#"["\\\\",1]"#, 3),
            ("", 1),
        ] {
            assert_eq!(values(text), count, "{text}");
        }
    }
}
