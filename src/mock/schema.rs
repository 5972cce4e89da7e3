//! JSON schemas of manifests and expectations, schemas of `match` patterns, and messages about
//! violations.

use replay_mcp::schema::{Constraint, Fault};
use serde_json::{Map, Value, json};

/// Schema of a manifest, for editors and for validation at startup. A test compares it with the
/// type.
pub const MANIFEST_SCHEMA: &str = include_str!("../../schemas/mock.schema.json");

/// Schema of a file of expectations.
pub(crate) const EXPECTATIONS_SCHEMA: &str = include_str!("expectations.schema.json");

/// Describes a violation as `path: value found and values allowed`; `root` names the whole.
pub(crate) fn describe(fault: &Fault<'_>, root: &str) -> String {
    let path = dotted(root, &fault.place);
    let got = shorten(&fault.value.to_string());
    match &fault.kind {
        Constraint::Required(property) => format!("`{path}` lacks `{property}`"),
        Constraint::Type(kinds) => format!(
            "`{path}` is {got}; it must be of type {}",
            kinds.join(" or ")
        ),
        Constraint::Unexpected(names) => format!("`{path}` must not have `{}`", names.join("`, `")),
        Constraint::Enum(options) => format!("`{path}` is {got}; it must be one of {options}"),
        Constraint::Const(value) => format!("`{path}` is {got}; it must be {value}"),
        Constraint::Pattern(pattern) => format!("`{path}` is {got}; it must match {pattern}"),
        Constraint::Other(must) => format!("`{path}` is {got}; it must {must}"),
    }
}

/// Formats a JSON pointer for people: `/a/0/b` becomes `a[0].b`.
pub(crate) fn dotted(root: &str, pointer: &str) -> String {
    let mut path = root.to_owned();
    for step in pointer.split('/').skip(1) {
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            path.extend(["[", step, "]"]);
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&step.replace("~1", "/").replace("~0", "~"));
        }
    }
    path
}

/// Truncates a text to its first 120 characters.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(120) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// Converts a `match` pattern to the JSON schema that the arguments must fit.
pub(crate) fn match_schema(pattern: &Value) -> Value {
    match pattern {
        Value::Object(members) => {
            let only = if members.len() == 1 {
                members.iter().next()
            } else {
                None
            };
            match only.map(|(key, value)| (key.as_str(), value)) {
                Some(("regex", Value::String(regex))) => {
                    json!({"type": "string", "pattern": regex})
                }
                Some(("type", Value::String(kind))) => json!({"type": kind}),
                Some(("schema", schema)) => schema.clone(),
                Some(("equals", value)) => json!({"const": value}),
                _ => {
                    let required: Vec<&String> = members.keys().collect();
                    let properties: Map<String, Value> = members
                        .iter()
                        .map(|(key, value)| (key.clone(), match_schema(value)))
                        .collect();
                    json!({"type": "object", "required": required, "properties": properties})
                }
            }
        }
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().map(match_schema).collect();
            json!({"type": "array", "prefixItems": items, "items": false, "minItems": items.len()})
        }
        literal => json!({"const": literal}),
    }
}
