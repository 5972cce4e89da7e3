//! Checks arguments against a tool's schema, and parses them.
//!
//! The schema is the single source: types, ranges, required fields and aliases are enforced from
//! it. So the published and the enforced schema cannot differ, and every error can name its field
//! (`edits[0].oldText`).

use std::fmt::{self, Write as _};

use replay_base::limits::MAX_SHOWN_NAME_BYTES;
use replay_base::text::nearest::{nearest, shortened};
use replay_mcp::protocol::fault;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::error::Error;

/// The schemas of a tool, as JSON text. A test compares them with its types.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schemas {
    /// Schema that arguments are checked against.
    pub arguments: &'static str,
    /// The same, as clients see it.
    pub published: &'static str,
    /// Schema of the structured output, if it is an object.
    pub output: Option<&'static str>,
}

/// Alternative names of a property, which agents bring from their training. Accepted, but never
/// published.
pub(super) const ALIASES: &str = "x-aliases";

/// Marks a list whose objects are published without their properties, which stand elsewhere.
pub(super) const BRIEF: &str = "x-brief";

/// Marks a property that is accepted and never published.
pub(super) const HIDDEN: &str = "x-hidden";

/// Argument that every tool takes, and few publish: the maximum of its reply in tokens.
const MAX_TOKENS: &str = "maxTokens";

/// Arguments by which agents explain themselves; they are dropped.
const HARMLESS: [&str; 3] = ["description", "explanation", "reason"];

/// Parses a tool's arguments, which must match `schema`, and [`MAX_TOKENS`]. The error names the
/// field, the value and the allowed values.
pub(super) fn read_params<P: DeserializeOwned>(
    tool: &str,
    schema: &Value,
    arguments: Option<&RawValue>,
) -> Result<(P, Option<u64>), Error> {
    let mut arguments = match arguments {
        None => Value::Object(Map::new()),
        Some(raw) => serde_json::from_str(raw.get()).map_err(|error| {
            Error::params(format!(
                "`arguments` of {tool} cannot be read: {}",
                fault(&error)
            ))
        })?,
    };
    if arguments.is_null() {
        arguments = Value::Object(Map::new());
    }
    if !arguments.is_object() {
        let got = describe(&arguments);
        return Err(Error::params(format!(
            "`arguments` of {tool} is {got}; it must be an object"
        )));
    }
    let common = take_max_tokens(&mut arguments, schema);
    check(&mut arguments, schema, ValuePath::Root, tool)?;
    if let Some(mut asked) = common {
        let schema = json!({"type": "integer", "minimum": 1});
        check(
            &mut asked,
            &schema,
            ValuePath::Member(&ValuePath::Root, MAX_TOKENS),
            tool,
        )?;
        arguments[MAX_TOKENS] = asked;
    }
    let max_tokens = arguments[MAX_TOKENS].as_u64();
    let params = serde_json::from_value(arguments).map_err(|error| {
        let reason = fault(&error);
        Error::params(format!(
            "the arguments of {tool} cannot be read: {reason}; tools/list has their schema"
        ))
    })?;
    Ok((params, max_tokens))
}

/// Takes [`MAX_TOKENS`] out of the arguments of a tool whose schema lacks it.
fn take_max_tokens(arguments: &mut Value, schema: &Value) -> Option<Value> {
    let is_published = schema["properties"].get(MAX_TOKENS).is_some();
    let members = arguments.as_object_mut().filter(|_| !is_published)?;
    let asked = members
        .shift_remove(MAX_TOKENS)
        .or_else(|| members.shift_remove("max_tokens"));
    asked.filter(|asked| !asked.is_null())
}

/// Path of a value, formatted only for errors.
#[derive(Clone, Copy)]
enum ValuePath<'a> {
    Root,
    Member(&'a ValuePath<'a>, &'a str),
    Item(&'a ValuePath<'a>, usize),
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, name) => out.write_str(&shortened(name)),
            Self::Member(parent, name) => write!(out, "{parent}.{}", shortened(name)),
            Self::Item(parent, index) => write!(out, "{parent}[{index}]"),
        }
    }
}

/// Checks `value` against `schema`, and converts aliases and quoted numbers to their canonical
/// form.
fn check(value: &mut Value, schema: &Value, path: ValuePath<'_>, tool: &str) -> Result<(), Error> {
    if let Some(options) = schema["anyOf"].as_array() {
        return check_any(value, options, path, tool);
    }
    let Some(kind) = schema["type"].as_str() else {
        return Ok(());
    };
    unquote(value, kind);
    if kind == "array" && is_of(value, schema["items"]["type"].as_str().unwrap_or_default()) {
        *value = Value::Array(vec![value.take()]);
    }
    if kind == "integer" {
        make_whole(value);
    }
    let fits = match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    };
    if kind == "integer" && value.as_f64().is_some_and(|number| number.fract() == 0.0) && !fits {
        let (got, allowed) = (describe(value), allowed_integers(schema));
        return Err(Error::params(format!(
            "`{path}` of {tool} is {got}; it must be a whole number {allowed}"
        )));
    }
    if !fits {
        let (got, wanted) = (describe(value), article(kind));
        return Err(Error::params(format!(
            "`{path}` of {tool} is {got}; it must be {wanted}"
        )));
    }
    match value {
        Value::Object(members) => check_object(members, schema, path, tool),
        Value::Array(items) => check_array(items, schema, path, tool),
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or(i64::MAX);
            let (least, most) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
            if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
                let allowed = match (least, most) {
                    (Some(least), Some(most)) => format!("from {least} to {most}"),
                    (Some(least), None) => format!("{least} or more"),
                    _ => format!("{} or less", most.unwrap_or(i64::MAX)),
                };
                return Err(Error::params(format!(
                    "`{path}` of {tool} is {value}; it must be {allowed}"
                )));
            }
            Ok(())
        }
        Value::String(text) => match schema["enum"].as_array() {
            Some(allowed) if !allowed.iter().any(|allowed| allowed == text.as_str()) => {
                let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
                let allowed = allowed.join("`, `");
                let text = shortened(text);
                Err(Error::params(format!(
                    "`{path}` of {tool} is \"{text}\"; it must be one of `{allowed}`"
                )))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Returns the range of an integer: that of the schema, or of the type that it is parsed into.
fn allowed_integers(schema: &Value) -> String {
    let least = schema["minimum"].as_i64().unwrap_or(i64::MIN);
    let most = schema["maximum"].as_u64();
    let most = most.unwrap_or(if least < 0 { i64::MAX as u64 } else { u64::MAX });
    format!("from {least} to {most}")
}

/// Checks `value` against the option of its type.
fn check_any(
    value: &mut Value,
    options: &[Value],
    path: ValuePath<'_>,
    tool: &str,
) -> Result<(), Error> {
    // A quoted list, where both a text and a list are allowed, is a list.
    for kind in options.iter().filter_map(|option| option["type"].as_str()) {
        unquote(value, kind);
    }
    let kinds: Vec<&str> = options
        .iter()
        .filter_map(|option| option["type"].as_str())
        .collect();
    let Some(option) = options.iter().find(|option| {
        option["type"]
            .as_str()
            .is_some_and(|kind| is_of(value, kind))
    }) else {
        let wanted: Vec<&str> = kinds.iter().map(|kind| article(kind)).collect();
        let (got, wanted) = (describe(value), wanted.join(" or "));
        return Err(Error::params(format!(
            "`{path}` of {tool} is {got}; it must be {wanted}"
        )));
    };
    check(value, option, path, tool)
}

/// Returns true if a value has this type of JSON Schema.
fn is_of(value: &Value, kind: &str) -> bool {
    match value {
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => matches!(kind, "integer" | "number"),
        Value::Null => false,
    }
}

fn check_array(
    items: &mut [Value],
    schema: &Value,
    path: ValuePath<'_>,
    tool: &str,
) -> Result<(), Error> {
    let (count, least) = (items.len() as u64, schema["minItems"].as_u64().unwrap_or(0));
    let most = schema["maxItems"].as_u64().unwrap_or(u64::MAX);
    if count < least {
        return Err(Error::params(format!(
            "`{path}` of {tool} has {count} items; it needs at least {least}"
        )));
    }
    if count > most {
        return Err(Error::params(format!(
            "`{path}` of {tool} has {count} items; at most {most} are allowed"
        )));
    }
    for (index, item) in items.iter_mut().enumerate() {
        check(item, &schema["items"], ValuePath::Item(&path, index), tool)?;
    }
    Ok(())
}

fn check_object(
    members: &mut Map<String, Value>,
    schema: &Value,
    path: ValuePath<'_>,
    tool: &str,
) -> Result<(), Error> {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    if !members.keys().all(|name| properties.contains_key(name)) {
        rename_aliases(members, properties);
        members
            .retain(|name, _| properties.contains_key(name) || !HARMLESS.contains(&name.as_str()));
        if let Some(unknown) = members.keys().find(|name| !properties.contains_key(*name)) {
            return Err(unknown_parameter(
                ValuePath::Member(&path, unknown),
                unknown,
                properties,
                tool,
            ));
        }
    }
    // Agents send null for an omitted argument.
    members.retain(|_, value| !value.is_null());
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    if let Some(missing) = required
        .iter()
        .filter_map(Value::as_str)
        .find(|name| !members.contains_key(*name))
    {
        let wanted = properties[missing]["type"]
            .as_str()
            .map_or("a value", article);
        let wanted = format!("{wanted}{}", elements(&properties[missing]["items"]));
        return Err(Error::params(format!(
            "`{}` of {tool} is missing; it must be {wanted}",
            ValuePath::Member(&path, missing)
        )));
    }
    for (name, value) in members.iter_mut() {
        check(
            value,
            &properties[name],
            ValuePath::Member(&path, name),
            tool,
        )?;
    }
    Ok(())
}

/// Describes the objects of an array by their visible properties; empty for other elements.
fn elements(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        return String::new();
    };
    let is_required = |name: &str| {
        let required = schema["required"].as_array();
        required.is_some_and(|required| required.iter().any(|known| known == name))
    };
    let visible = properties
        .iter()
        .filter(|(_, property)| property.get(HIDDEN).is_none());
    let (needed, optional): (Vec<&str>, Vec<&str>) = visible
        .map(|(name, _)| name.as_str())
        .partition(|name| is_required(name));
    let list = |names: &[&str]| format!("`{}`", names.join("`, `"));
    match (&needed[..], &optional[..]) {
        ([], []) => " of objects".to_owned(),
        ([], optional) => format!(" of objects with any of {}", list(optional)),
        (needed, []) => format!(" of objects with {}", list(needed)),
        (needed, optional) => format!(
            " of objects with {} and any of {}",
            list(needed),
            list(optional)
        ),
    }
}

/// Renames aliased arguments to their canonical names. A canonical argument takes precedence.
fn rename_aliases(members: &mut Map<String, Value>, properties: &Map<String, Value>) {
    for (canonical, property) in properties {
        for alias in property[ALIASES]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if properties.contains_key(alias) {
                continue;
            }
            if let Some(value) = members.shift_remove(alias)
                && members.get(canonical).is_none_or(Value::is_null)
            {
                members.insert(canonical.clone(), value);
            }
        }
    }
}

fn unknown_parameter(
    place: ValuePath<'_>,
    name: &str,
    properties: &Map<String, Value>,
    tool: &str,
) -> Error {
    let mut message = format!("`{place}` is no parameter of {tool}");
    let known = || {
        properties
            .iter()
            .filter(|(_, property)| property.get(HIDDEN).is_none())
            .map(|(name, _)| name)
    };
    // Differences in case do not count as typos, so names are compared in lower case.
    let lower: Vec<(String, &String)> =
        known().map(|known| (known.to_lowercase(), known)).collect();
    let near = if name.len() > MAX_SHOWN_NAME_BYTES {
        None
    } else {
        nearest(
            &name.to_lowercase(),
            lower.iter().map(|(lower, _)| &**lower),
        )
    };
    let near = near.and_then(|near| lower.iter().find(|(lower, _)| lower == near));
    // A write to a `String` cannot fail.
    let _ = match near {
        Some((_, known)) => write!(message, "; the nearest one is `{known}`"),
        None if properties.is_empty() => write!(message, "; it takes none"),
        None => {
            let known: Vec<&str> = known().map(String::as_str).collect();
            write!(message, "; it takes `{}`", known.join("`, `"))
        }
    };
    Error::params(message)
}

/// Parses arrays, numbers and booleans that some clients send as text. The text must be exactly
/// such a value.
fn unquote(value: &mut Value, kind: &str) {
    if !matches!(kind, "array" | "object" | "integer" | "number" | "boolean") {
        return;
    }
    let Value::String(text) = &*value else { return };
    let Ok(inner) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let fits = match kind {
        "array" => inner.is_array(),
        "object" => inner.is_object(),
        "boolean" => inner.is_boolean(),
        _ => inner.is_number(),
    };
    if fits {
        *value = inner;
    }
}

/// Converts `2.0` to `2`: JSON Schema counts both as integers, and some clients write every number
/// with a decimal point.
fn make_whole(value: &mut Value) {
    if let Some(number) = value
        .as_f64()
        .filter(|number| value.is_f64() && number.fract() == 0.0)
        && let Ok(whole) = format!("{number:.0}").parse::<i64>()
    {
        *value = whole.into();
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() <= 40 => format!("the string {value}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn article(kind: &str) -> &str {
    match kind {
        "object" => "an object",
        "array" => "an array",
        "string" => "a string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        other => other,
    }
}
