//! JSON schemas of manifests and expectations, generated from the types. Tests write them to files,
//! which the program embeds.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::expectations::Expectations;
use super::manifest::File;

/// Returns the schema of a manifest.
pub fn manifest_schema() -> String {
    let mut schema = schema_of::<File>();
    schema["title"] = "Manifest of replay mock".into();
    format!("{schema:#}\n")
}

/// Returns the schema of a file of expectations.
pub fn expectations_schema() -> String {
    format!("{:#}\n", schema_of::<Expectations>())
}

/// Returns the schema of a type.
fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut schema);
    schema
}

/// Simplifies a generated schema: forbids unknown keys, adds aliases as keys, and drops `null` from
/// optional members.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                if key == "properties" || key == "$defs" {
                    member
                        .as_object_mut()
                        .into_iter()
                        .flatten()
                        .for_each(|(_, schema)| tidy(schema));
                } else {
                    tidy(member);
                }
            }
            members.remove("default");
            members.remove("unevaluatedProperties");
            if members.get("type").and_then(Value::as_str) == Some("object")
                && members.contains_key("properties")
            {
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
                    schema
                        .as_object_mut()
                        .map(|schema| schema.remove("x-aliases"));
                    for alias in aliases
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                    {
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
            enumerate(members);
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

/// Replaces alternatives that are constants by their values, with their meanings in the
/// description.
fn enumerate(members: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = members.get("oneOf") else {
        return;
    };
    let (mut values, mut meanings) = (Vec::new(), Vec::new());
    for alternative in alternatives {
        // Variants without a description of their own stand together.
        let constant = alternative.get("const").map(std::slice::from_ref);
        let together = alternative["enum"].as_array().map(Vec::as_slice);
        let Some(of) = constant.or(together) else {
            return;
        };
        values.extend_from_slice(of);
        if let (Some(text), [Value::String(value)]) = (alternative["description"].as_str(), of) {
            meanings.push(format!("{value}: {text}"));
        }
    }
    let own = members.get("description").and_then(Value::as_str);
    let texts: Vec<&str> = own
        .into_iter()
        .chain(meanings.iter().map(String::as_str))
        .collect();
    let description = texts.join("\n");
    members.remove("oneOf");
    members.insert("type".to_owned(), "string".into());
    members.insert("enum".to_owned(), values.into());
    members.insert("description".to_owned(), description.into());
}

fn properties(members: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    members
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}
