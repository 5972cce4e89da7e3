//! The JSON schemas of manifests, and a manifest's own schemas: what is checked, and in which words
//! it is said.

use serde_json::{Map, Value, json};

use crate::schema::{Fault, Kind};

/// The schema of a manifest, for editors and for the check at start. Derived from its type, which a
/// test compares.
pub const MANIFEST_SCHEMA: &str = include_str!("../../completions/mock.schema.json");

/// The same of a file of expectations.
pub const EXPECTATIONS_SCHEMA: &str = include_str!("expectations.schema.json");

/// What is wrong, as `path: what was got and what is allowed`; `root` stands for the whole.
pub fn describe(fault: &Fault<'_>, root: &str) -> String {
    let path = dotted(root, &fault.place);
    let got = shorten(&fault.value.to_string());
    match &fault.kind {
        Kind::Required(property) => format!("`{path}` lacks `{property}`"),
        Kind::Type(kinds) => format!(
            "`{path}` is {got}; it must be of type {}",
            kinds.join(" or ")
        ),
        Kind::Unexpected(names) => format!(
            "`{path}` has `{}`, which it must not have",
            names.join("`, `")
        ),
        Kind::Enum(options) => format!("`{path}` is {got}; it must be one of {options}"),
        Kind::Const(value) => format!("`{path}` is {got}; it must be {value}"),
        Kind::Pattern(pattern) => format!("`{path}` is {got}; it must match {pattern}"),
        Kind::Other(must) => format!("`{path}` is {got}; it must {must}"),
    }
}

/// A JSON pointer as people write it: `a/0/b` is `a[0].b`.
pub fn dotted(root: &str, pointer: &str) -> String {
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

/// At most the first 120 characters.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(120) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// The schema that the arguments must fit for a `match`: a pattern of values becomes a JSON schema.
pub fn of_match(pattern: &Value) -> Value {
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
                        .map(|(key, value)| (key.clone(), of_match(value)))
                        .collect();
                    json!({"type": "object", "required": required, "properties": properties})
                }
            }
        }
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().map(of_match).collect();
            json!({"type": "array", "prefixItems": items, "items": false, "minItems": items.len()})
        }
        literal => json!({"const": literal}),
    }
}
