//! JSON schemas of a tool, derived from its types. Tests write them to `schemas/` beside this file,
//! which the program embeds.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, transform};
use serde_json::{Map, Value, json};

use super::schema::{ALIASES, BRIEF, HIDDEN};
use super::tool::{HandOver, Tool};

/// Schemas of a tool, as committed in `schemas/`.
#[derive(Debug)]
pub struct SchemaFile {
    /// Name of the file in `schemas/`.
    pub name: String,
    /// Content: an object with the members of [`Schemas`](super::schema::Schemas), indented.
    pub json: String,
}

/// Derives the schemas of a tool.
pub(super) fn schema_file<T: Tool>() -> SchemaFile {
    let arguments = declared::<T::Params>();
    let mut schemas = Map::new();
    schemas.insert("arguments".to_owned(), arguments.clone());
    schemas.insert("published".to_owned(), published(arguments));
    if let Some(mut output) = output::<T::Output>() {
        if T::HAND_OVER != HandOver::Never {
            go_on(&mut output);
        }
        schemas.insert("output".to_owned(), output);
    }
    SchemaFile {
        name: format!("{}.json", T::NAME),
        json: format!("{:#}\n", Value::Object(schemas)),
    }
}

/// Adds the reply of a call that goes on in the background, which has none of the members.
fn go_on(output: &mut Value) {
    let Some(object) = output.as_object_mut() else {
        return;
    };
    object.shift_remove("required");
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.insert("commandId".to_owned(), json!({"type": "string"}));
    }
}

/// Returns the schema of `P` with inlined subschemas and aliases.
fn declared<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema: Schema = settings.into_generator().into_root_schema_for::<P>();
    simplify(&mut schema);
    schema.to_value()
}

/// Removes parts that cost tokens and do not help an agent: titles, number formats, null defaults,
/// nullable unions.
fn simplify(schema: &mut Schema) {
    transform::transform_subschemas(&mut simplify, schema);
    // Lines of a doc comment are one text.
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    schema.remove("title");
    schema.remove("format");
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    // `Option` of an enumeration lists null among its values.
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    // `Option<Vec<T>>` of a referenced type becomes a union with null.
    if let Some(Value::Array(options)) = schema.get("anyOf") {
        let options: Vec<&Value> = options
            .iter()
            .filter(|option| option["type"] != "null")
            .collect();
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                schema.ensure_object().entry(key).or_insert(value);
            }
        }
    }
}

/// Returns the schema for tools/list: without aliases, and with the essentials of an object in
/// order.
fn published(mut schema: Value) -> Value {
    strip(&mut schema);
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
        object
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

fn strip(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.remove(ALIASES);
            if members.remove(BRIEF).is_some() {
                members.insert("items".to_owned(), json!({"type": "object"}));
            }
            // The description of an item is the comment of its Rust type, which does not help an
            // agent.
            if let Some(Value::Object(items)) = members.get_mut("items") {
                items.shift_remove("description");
            }
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                properties.retain(|_, property| property.get(HIDDEN).is_none());
            }
            members.values_mut().for_each(strip);
        }
        Value::Array(members) => members.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Returns the output schema of `O` if it is an object, the root type that 2025-06-18 and
/// 2025-11-25 require.
fn output<O: JsonSchema>() -> Option<Value> {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<O>();
    simplify(&mut schema);
    bare(&mut schema);
    (schema.get("type").and_then(Value::as_str) == Some("object")).then(|| schema.to_value())
}

/// Removes descriptions from an output schema: its field names suffice, and every client pays for
/// it on every request.
fn bare(schema: &mut Schema) {
    transform::transform_subschemas(&mut bare, schema);
    schema.remove("description");
    schema.remove("minimum");
}
