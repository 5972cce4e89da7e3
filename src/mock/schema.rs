//! The JSON schema of manifests, made from the types, and a manifest's own schemas: what is checked, and in which words
//! it is said.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::manifest::File;
use crate::schema::{Fault, Kind};

/// The schema of a manifest, for editors and for the check at start.
pub fn of_manifest() -> Value {
    let mut schema = of::<File>();
    schema["title"] = "Manifest of replay mock".into();
    schema
}

/// The schema of a type that people write.
pub fn of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

/// Unknown keys are wrong everywhere, aliases are keys, and what may be left out need not be nullable.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                if key == "properties" || key == "$defs" {
                    member.as_object_mut().into_iter().flatten().for_each(|(_, schema)| tidy(schema));
                } else {
                    tidy(member);
                }
            }
            members.remove("default");
            members.remove("unevaluatedProperties");
            if members.get("type").and_then(Value::as_str) == Some("object") && members.contains_key("properties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            let aliased: Vec<(Value, Value)> = properties(members)
                .filter_map(|(_, schema)| Some((schema.get("x-aliases")?.clone(), schema.clone())))
                .collect();
            if let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) {
                for schema in properties.values_mut().filter_map(Value::as_object_mut) {
                    schema.remove("x-aliases");
                }
                for (aliases, mut schema) in aliased {
                    schema.as_object_mut().map(|schema| schema.remove("x-aliases"));
                    for alias in aliases.as_array().into_iter().flatten().filter_map(Value::as_str) {
                        properties.insert(alias.to_owned(), schema.clone());
                    }
                }
            }
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(mut any)) = members.remove("anyOf") {
                any.retain(|schema| schema["type"] != "null");
                match <[Value; 1]>::try_from(any) {
                    Ok([only]) => members.extend(only.as_object().cloned().unwrap_or_default()),
                    Err(any) => drop(members.insert("anyOf".to_owned(), any.into())),
                }
            }
        }
        _ => {}
    }
}

fn properties(members: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    members.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// What is wrong, as `path: what was got and what is allowed`; `root` stands for the whole.
pub fn describe(fault: &Fault<'_>, root: &str) -> String {
    let path = dotted(root, &fault.place);
    let got = shorten(&fault.value.to_string());
    match &fault.kind {
        Kind::Required(property) => format!("`{path}` lacks `{property}`"),
        Kind::Type(kinds) => format!("`{path}` is {got}; it must be of type {}", kinds.join(" or ")),
        Kind::Unexpected(names) => format!("`{path}` has `{}`, which it must not have", names.join("`, `")),
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
            let only = if members.len() == 1 { members.iter().next() } else { None };
            match only.map(|(key, value)| (key.as_str(), value)) {
                Some(("regex", Value::String(regex))) => json!({"type": "string", "pattern": regex}),
                Some(("type", Value::String(kind))) => json!({"type": kind}),
                Some(("schema", schema)) => schema.clone(),
                Some(("equals", value)) => json!({"const": value}),
                _ => {
                    let required: Vec<&String> = members.keys().collect();
                    let properties: Map<String, Value> =
                        members.iter().map(|(key, value)| (key.clone(), of_match(value))).collect();
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
