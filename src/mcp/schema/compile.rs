//! Compiler from a written schema to a validator.

use std::collections::HashMap;

use fancy_regex::Regex;
use replay_base::limits::MAX_SCHEMA_DEPTH;
use serde_json::Value;

use super::{Validator, escape, one_or_more};

/// Keywords whose value is a schema, or a list of schemas.
const SCHEMAS: [&str; 16] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value has a schema for each of its members.
const MAPS: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

const TYPES: [&str; 7] = [
    "null", "boolean", "string", "array", "object", "number", "integer",
];

/// State of reading a schema.
#[derive(Default)]
struct Reading {
    patterns: HashMap<String, Regex>,
    /// Pointers of the names in `$id` and `$anchor`.
    named: HashMap<String, String>,
    references: Vec<(String, String)>,
}

impl Validator {
    /// Reads a schema. The error names the place of what is wrong in it.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let mut reading = Reading::default();
        reading.schema(schema, "", 0)?;
        let Reading {
            patterns,
            named,
            references,
        } = reading;
        let mut led = HashMap::new();
        for (reference, at) in references {
            let pointer = lead(schema, &named, &reference).ok_or_else(|| {
                format!(
                    "at `{at}`: `{reference}` is not in this schema, and other schemas are \
                    not fetched"
                )
            })?;
            led.insert(reference, pointer);
        }
        Ok(Self {
            root: schema.clone(),
            patterns,
            references: led,
        })
    }
}

/// Returns the pointer for a reference.
fn lead(schema: &Value, named: &HashMap<String, String>, reference: &str) -> Option<String> {
    if let Some(pointer) = named.get(reference) {
        return Some(pointer.clone());
    }
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let start = if document.is_empty() {
        ""
    } else {
        named.get(document)?
    };
    let pointer = format!("{start}{}", unquoted(fragment)?);
    schema.pointer(&pointer).is_some().then_some(pointer)
}

/// Decodes a fragment of a URI (RFC 3986, 2.1).
fn unquoted(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

impl Reading {
    fn schema(&mut self, schema: &Value, at: &str, depth: usize) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("at `{at}`: {what}"));
        if depth > MAX_SCHEMA_DEPTH {
            return wrong(&format!(
                "schemas are nested more than {MAX_SCHEMA_DEPTH} deep"
            ));
        }
        let members = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(members) => members,
            other => {
                return wrong(&format!(
                    "{other} is not a schema; a schema is an object, true or false"
                ));
            }
        };
        for (keyword, value) in members {
            let at = format!("{at}/{}", escape(keyword));
            self.keyword(keyword, value, &at)?;
            match value {
                Value::Object(schemas) if MAPS.contains(&keyword.as_str()) => {
                    for (name, schema) in schemas {
                        // `dependencies` has lists of names as well.
                        if !schema.is_array() {
                            self.schema(schema, &format!("{at}/{}", escape(name)), depth + 1)?;
                        }
                    }
                }
                Value::Array(schemas) if SCHEMAS.contains(&keyword.as_str()) => {
                    for (index, schema) in schemas.iter().enumerate() {
                        self.schema(schema, &format!("{at}/{index}"), depth + 1)?;
                    }
                }
                schema if SCHEMAS.contains(&keyword.as_str()) => {
                    self.schema(schema, &at, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks a keyword before its value is read.
    fn keyword(&mut self, keyword: &str, value: &Value, at: &str) -> Result<(), String> {
        let wrong = |what: String| Err(format!("at `{at}`: {what}"));
        let parent = at.rsplit_once('/').map_or("", |(parent, _)| parent);
        match (keyword, value) {
            ("type", kinds) => {
                let known = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
                if let Some(kind) = one_or_more(kinds).find(|kind| !known(kind)) {
                    return wrong(format!(
                        "{kind} is not a type; types are {}",
                        TYPES.join(", ")
                    ));
                }
            }
            ("pattern", Value::String(pattern)) => self.pattern(pattern, at)?,
            ("patternProperties", Value::Object(patterns)) => {
                patterns
                    .keys()
                    .try_for_each(|pattern| self.pattern(pattern, at))?;
            }
            ("enum" | "required" | "allOf" | "anyOf" | "oneOf", other) if !other.is_array() => {
                return wrong(format!("{other} is not a list"));
            }
            ("properties" | "patternProperties" | "$defs" | "definitions", other)
                if !other.is_object() =>
            {
                return wrong(format!("{other} is not an object"));
            }
            ("minimum" | "maximum" | "multipleOf", other) if !other.is_number() => {
                return wrong(format!("{other} is not a number"));
            }
            (
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties" | "minContains" | "maxContains",
                other,
            ) if super::count_of(other).is_none() => {
                return wrong(format!("{other} is not a count"));
            }
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                self.references.push((reference.clone(), at.to_owned()));
            }
            ("$id" | "id", Value::String(name)) => {
                self.named.insert(name.clone(), parent.to_owned());
            }
            ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                self.named.insert(format!("#{name}"), parent.to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &str, at: &str) -> Result<(), String> {
        let compiled = Regex::new(pattern)
            .map_err(|error| format!("at `{at}`: `{pattern}` is not a valid pattern: {error}"))?;
        self.patterns.insert(pattern.to_owned(), compiled);
        Ok(())
    }
}
