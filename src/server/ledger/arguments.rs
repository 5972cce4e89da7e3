//! The arguments of a call as they are kept: no long strings, and not too many.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::limits::{ARGUMENT_EXCERPT_BYTES, MAX_KEPT_ARGUMENT_BYTES, MAX_KEPT_ARGUMENTS_BYTES};
use crate::text::escape::hex;

/// The arguments as they are kept, and with excerpts of what is long if those are wanted.
pub fn kept(raw: Option<&RawValue>, with_excerpts: bool) -> (Value, Option<Value>) {
    let Some(raw) = raw else {
        return (Value::Null, with_excerpts.then_some(Value::Null));
    };
    let whole = || {
        (
            stand_in(raw.get(), false),
            with_excerpts.then(|| stand_in(raw.get(), true)),
        )
    };
    // So short that there is nothing to shorten.
    if raw.get().len() <= MAX_KEPT_ARGUMENT_BYTES
        && let Ok(arguments) = serde_json::from_str::<Value>(raw.get())
    {
        return (arguments, None);
    }
    // Each value takes many times its text when it is read, and those of so many are too long to be
    // kept in any case.
    if values(raw.get()) > MAX_KEPT_ARGUMENTS_BYTES {
        return whole();
    }
    // Too deep to be read, perhaps.
    let Ok(arguments) = serde_json::from_str::<Value>(raw.get()) else {
        return whole();
    };
    let excerpts = with_excerpts.then(|| bounded(shortened(&arguments, true), raw, true));
    (bounded(shortened(&arguments, false), raw, false), excerpts)
}

/// The value, unless it is too much even so.
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

/// At least how many values a text has, keys included.
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

/// What stands for a text: its hash, its length, its beginning.
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
        kept(Some(&RawValue::from_string(text.to_owned()).unwrap()), true)
    }

    #[test]
    fn long_strings_are_hashes_with_lengths() {
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
    fn what_is_too_much_or_cannot_be_read_is_one_hash() {
        let many = json!({"paths": vec!["x".repeat(1000); 100]}).to_string();
        let deep = "[".repeat(500) + &"]".repeat(500);
        for text in [many, deep] {
            let expected = json!({"sha256": hex(&Sha256::digest(&text)), "bytes": text.len()});
            assert_eq!(of(&text).0, expected);
        }
        assert_eq!(kept(None, false), (Value::Null, None));
    }

    #[test]
    fn many_values_are_not_even_read() {
        // It would be short enough to be kept, if it were read: only the last of equal names
        // counts.
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
