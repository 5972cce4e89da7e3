//! JSON Schema (draft 2020-12): validation of values, with place and kind of each fault.
//!
//! Syntax of drafts 4 to 7 is read as well (a list of `items`, `dependencies`, `exclusiveMinimum:
//! true`). `format` and `content*` are annotations, the default of 2020-12. No schema is fetched: a
//! reference must lead into the schema itself. Patterns use the crate `fancy-regex`, which has
//! JavaScript's lookaround and back-references. A pattern that costs too much matches no text.

mod compile;
mod number;
mod unevaluated;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt;

use fancy_regex::Regex;
use replay_base::limits::MAX_SCHEMA_DEPTH;
use serde_json::{Map, Value};

/// Most schemas that are held against parts of one value.
const MAX_SCHEMA_STEPS: u64 = 1_000_000;

/// Compiled schema.
#[derive(Debug)]
pub struct Validator {
    root: Value,
    patterns: HashMap<String, Regex>,
    /// Pointers to what `$ref`, `$dynamicRef` and `$recursiveRef` lead to, by their texts.
    references: HashMap<String, String>,
}

/// Constraint that a value violates.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// It lacks this property.
    Required(String),
    /// It is of another type than one of these.
    Type(Vec<String>),
    /// It has properties that it must not have.
    Unexpected(Vec<String>),
    /// It is none of these.
    Enum(Value),
    /// It is not this.
    Const(Value),
    /// No part of it matches this.
    Pattern(String),
    /// Other constraint, in words.
    Other(String),
}

/// Fault of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault<'v> {
    pub value: &'v Value,
    /// Place of the value, as a JSON pointer (RFC 6901).
    pub place: String,
    /// Keyword that the value violates, as a JSON pointer into the schema.
    pub keyword: String,
    pub kind: Constraint,
}

/// A place in a value or in a schema. It is put into words only where something is wrong there.
#[derive(Clone, Copy)]
enum ValuePlace<'a> {
    Start(&'a str),
    Member(&'a ValuePlace<'a>, &'a str),
    Item(&'a ValuePlace<'a>, usize),
}

impl fmt::Display for ValuePlace<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(pointer) => out.write_str(pointer),
            Self::Member(parent, name) => write!(out, "{parent}/{}", escape(name)),
            Self::Item(parent, index) => write!(out, "{parent}/{index}"),
        }
    }
}

/// A step of a pointer (RFC 6901, 3).
fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

/// One value beside one schema.
#[derive(Clone, Copy)]
struct Pair<'p, 'v> {
    value: &'v Value,
    place: &'p ValuePlace<'p>,
    schema: &'p Value,
    keyword: &'p ValuePlace<'p>,
    depth: usize,
    /// Schemas that were held against values so far, by all that share it.
    steps: &'p Cell<u64>,
}

impl<'p> Pair<'p, '_> {
    /// The same value beside another schema.
    fn beside(self, schema: &'p Value, keyword: &'p ValuePlace<'p>) -> Self {
        Self {
            schema,
            keyword,
            depth: self.depth + 1,
            ..self
        }
    }
}

/// Faults, as many as are asked for.
struct Faults<'v> {
    found: Vec<Fault<'v>>,
    most: usize,
}

impl<'v> Faults<'v> {
    fn are_enough(&self) -> bool {
        self.found.len() >= self.most
    }

    fn add(&mut self, pair: Pair<'_, 'v>, keyword: &str, kind: Constraint) {
        if !self.are_enough() {
            let (place, keyword) = (
                pair.place.to_string(),
                ValuePlace::Member(pair.keyword, keyword).to_string(),
            );
            self.found.push(Fault {
                value: pair.value,
                place,
                keyword,
                kind,
            });
        }
    }

    fn say(&mut self, pair: Pair<'_, 'v>, keyword: &str, must: impl Into<String>) {
        self.add(pair, keyword, Constraint::Other(must.into()));
    }
}

impl Validator {
    /// Returns true if a value is valid.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.faults(value, 1).is_empty()
    }

    /// Returns the faults of a value, at most `most`.
    pub fn faults<'v>(&self, value: &'v Value, most: usize) -> Vec<Fault<'v>> {
        let mut faults = Faults {
            found: Vec::new(),
            most,
        };
        let start = ValuePlace::Start("");
        let steps = Cell::new(0);
        let pair = Pair {
            value,
            place: &start,
            schema: &self.root,
            keyword: &start,
            depth: 0,
            steps: &steps,
        };
        self.check(pair, &mut faults);
        faults.found
    }

    fn fits(&self, pair: Pair<'_, '_>) -> bool {
        let mut faults = Faults {
            found: Vec::new(),
            most: 1,
        };
        self.check(pair, &mut faults);
        faults.found.is_empty()
    }

    fn check<'v>(&self, pair: Pair<'_, 'v>, faults: &mut Faults<'v>) {
        let members = match pair.schema {
            Value::Bool(false) => return faults.say(pair, "", "not be there"),
            Value::Object(members) => members,
            _ => return,
        };
        pair.steps.set(pair.steps.get() + 1);
        if pair.depth > MAX_SCHEMA_DEPTH || pair.steps.get() > MAX_SCHEMA_STEPS {
            return faults.say(
                pair,
                "$ref",
                "be checked with fewer schemas: these never end, or take too long",
            );
        }
        for (keyword, schema) in members {
            if faults.are_enough() {
                return;
            }
            self.keyword(pair, members, keyword, schema, faults);
        }
    }

    fn keyword<'v>(
        &self,
        pair: Pair<'_, 'v>,
        members: &Map<String, Value>,
        keyword: &str,
        schema: &Value,
        faults: &mut Faults<'v>,
    ) {
        let at = ValuePlace::Member(pair.keyword, keyword);
        let beside = pair.beside(schema, &at);
        let mut say = |must: Option<String>| {
            if let Some(must) = must {
                faults.say(pair, keyword, must);
            }
        };
        match (keyword, pair.value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", _) => {
                if let Some((pointer, schema)) = self.resolve(schema) {
                    self.check(pair.beside(schema, &ValuePlace::Start(pointer)), faults);
                }
            }
            ("type", value) => {
                let kinds: Vec<&str> = one_or_more(schema).filter_map(Value::as_str).collect();
                if !kinds.iter().any(|kind| is_of(value, kind)) {
                    faults.add(
                        pair,
                        keyword,
                        Constraint::Type(kinds.into_iter().map(str::to_owned).collect()),
                    );
                }
            }
            ("enum", value)
                if !schema
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|known| is_equal(known, value)) =>
            {
                faults.add(pair, keyword, Constraint::Enum(schema.clone()));
            }
            ("const", value) if !is_equal(schema, value) => {
                faults.add(pair, keyword, Constraint::Const(schema.clone()));
            }
            ("allOf", _) => {
                for (index, schema) in schema.as_array().into_iter().flatten().enumerate() {
                    self.check(pair.beside(schema, &ValuePlace::Item(&at, index)), faults);
                }
            }
            ("anyOf", _) if self.count_valid(beside, 1) == 0 => {
                faults.say(pair, keyword, "match one of `anyOf`");
            }
            ("oneOf", _) => match self.count_valid(beside, 2) {
                0 => faults.say(pair, keyword, "match one of `oneOf`"),
                1 => {}
                _ => faults.say(pair, keyword, "match only one of `oneOf`"),
            },
            ("not", _) if self.fits(beside) => faults.say(
                pair,
                keyword,
                "not match the schema of \
                `not`",
            ),
            ("if", _) => {
                let branch = if self.fits(beside) { "then" } else { "else" };
                if let Some(schema) = members.get(branch) {
                    self.check(
                        pair.beside(schema, &ValuePlace::Member(pair.keyword, branch)),
                        faults,
                    );
                }
            }
            (_, Value::Number(number)) => say(number::violation(keyword, schema, members, number)),
            ("pattern", Value::String(text)) => {
                if let Value::String(pattern) = schema
                    && !self.matches(pattern, text)
                {
                    faults.add(pair, keyword, Constraint::Pattern(pattern.clone()));
                }
            }
            ("minLength" | "maxLength", Value::String(text)) => {
                say(number::count_violation(
                    keyword,
                    schema,
                    text.chars().count(),
                    ["character", "characters"],
                ));
            }
            ("minItems" | "maxItems", Value::Array(items)) => {
                say(number::count_violation(
                    keyword,
                    schema,
                    items.len(),
                    ["item", "items"],
                ));
            }
            ("minProperties" | "maxProperties", Value::Object(properties)) => {
                say(number::count_violation(
                    keyword,
                    schema,
                    properties.len(),
                    ["property", "properties"],
                ));
            }
            (_, Value::Array(items)) => self.array(pair, members, keyword, items, faults),
            (_, Value::Object(properties)) => {
                self.object(pair, members, keyword, properties, faults);
            }
            _ => {}
        }
    }

    fn array<'v>(
        &self,
        pair: Pair<'_, 'v>,
        members: &Map<String, Value>,
        keyword: &str,
        items: &'v [Value],
        faults: &mut Faults<'v>,
    ) {
        let schema = &members[keyword];
        let at = ValuePlace::Member(pair.keyword, keyword);
        let each = |from: usize, faults: &mut Faults<'v>| {
            for (index, value) in items.iter().enumerate().skip(from) {
                let place = ValuePlace::Item(pair.place, index);
                self.check(
                    Pair {
                        value,
                        place: &place,
                        ..pair.beside(schema, &at)
                    },
                    faults,
                );
            }
        };
        match (keyword, schema) {
            ("prefixItems" | "items", Value::Array(schemas)) => {
                for (index, (value, schema)) in items.iter().zip(schemas).enumerate() {
                    let (place, keyword) = (
                        ValuePlace::Item(pair.place, index),
                        ValuePlace::Item(&at, index),
                    );
                    self.check(
                        Pair {
                            value,
                            place: &place,
                            ..pair.beside(schema, &keyword)
                        },
                        faults,
                    );
                }
            }
            ("items", _) => each(
                members
                    .get("prefixItems")
                    .and_then(Value::as_array)
                    .map_or(0, Vec::len),
                faults,
            ),
            ("additionalItems", _) => {
                if let Some(Value::Array(before)) = members.get("items") {
                    each(before.len(), faults);
                }
            }
            ("uniqueItems", Value::Bool(true)) => {
                let mut seen = HashSet::new();
                if !items.iter().all(|item| seen.insert(canonical(item))) {
                    faults.say(pair, keyword, "have no duplicate items");
                }
            }
            ("contains", _) => {
                let fitting = items
                    .iter()
                    .filter(|value| {
                        self.fits(Pair {
                            value,
                            ..pair.beside(schema, &at)
                        })
                    })
                    .count();
                let least = members.get("minContains").and_then(count_of).unwrap_or(1);
                let most = members
                    .get("maxContains")
                    .and_then(count_of)
                    .unwrap_or(usize::MAX);
                if fitting < least {
                    faults.say(
                        pair,
                        keyword,
                        format!("have at least {least} items that match `contains`"),
                    );
                } else if fitting > most {
                    faults.say(
                        pair,
                        keyword,
                        format!("have at most {most} items that match `contains`"),
                    );
                }
            }
            ("unevaluatedItems", _) => {
                let evaluated = self.evaluated(pair, members).items;
                for (index, value) in items
                    .iter()
                    .enumerate()
                    .filter(|(index, _)| !evaluated.contains(index))
                {
                    let place = ValuePlace::Item(pair.place, index);
                    self.check(
                        Pair {
                            value,
                            place: &place,
                            ..pair.beside(schema, &at)
                        },
                        faults,
                    );
                }
            }
            _ => {}
        }
    }

    fn object<'v>(
        &self,
        pair: Pair<'_, 'v>,
        members: &Map<String, Value>,
        keyword: &str,
        properties: &'v Map<String, Value>,
        faults: &mut Faults<'v>,
    ) {
        let schema = &members[keyword];
        let at = ValuePlace::Member(pair.keyword, keyword);
        match (keyword, schema) {
            ("properties", Value::Object(known)) => {
                for (name, schema) in known {
                    if let Some(value) = properties.get(name) {
                        let (place, keyword) = (
                            ValuePlace::Member(pair.place, name),
                            ValuePlace::Member(&at, name),
                        );
                        self.check(
                            Pair {
                                value,
                                place: &place,
                                ..pair.beside(schema, &keyword)
                            },
                            faults,
                        );
                    }
                }
            }
            ("patternProperties", Value::Object(known)) => {
                for (pattern, schema) in known {
                    let keyword = ValuePlace::Member(&at, pattern);
                    for (name, value) in properties
                        .iter()
                        .filter(|(name, _)| self.matches(pattern, name))
                    {
                        let place = ValuePlace::Member(pair.place, name);
                        self.check(
                            Pair {
                                value,
                                place: &place,
                                ..pair.beside(schema, &keyword)
                            },
                            faults,
                        );
                    }
                }
            }
            ("additionalProperties", _) => {
                let others = properties
                    .iter()
                    .filter(|(name, _)| !self.is_declared(members, name));
                self.others(pair.beside(schema, &at), others, faults, pair, keyword);
            }
            ("unevaluatedProperties", _) => {
                let evaluated = self.evaluated(pair, members).properties;
                let others = properties
                    .iter()
                    .filter(|(name, _)| !evaluated.contains(name.as_str()));
                self.others(pair.beside(schema, &at), others, faults, pair, keyword);
            }
            ("propertyNames", _) => {
                for name in properties.keys() {
                    let value = &Value::String(name.clone());
                    if !self.fits(Pair {
                        value,
                        ..pair.beside(schema, &at)
                    }) {
                        faults.say(pair, keyword, format!("have no property named `{name}`"));
                    }
                }
            }
            ("required", Value::Array(names)) => {
                for name in names
                    .iter()
                    .filter_map(Value::as_str)
                    .filter(|name| !properties.contains_key(*name))
                {
                    faults.add(pair, keyword, Constraint::Required(name.to_owned()));
                }
            }
            (
                "dependentRequired" | "dependentSchemas" | "dependencies",
                Value::Object(dependent),
            ) => {
                for (name, schema) in dependent
                    .iter()
                    .filter(|(name, _)| properties.contains_key(*name))
                {
                    let Value::Array(names) = schema else {
                        self.check(pair.beside(schema, &ValuePlace::Member(&at, name)), faults);
                        continue;
                    };
                    for name in names
                        .iter()
                        .filter_map(Value::as_str)
                        .filter(|name| !properties.contains_key(*name))
                    {
                        faults.add(pair, keyword, Constraint::Required(name.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }

    /// Properties that are left for `additionalProperties` and `unevaluatedProperties`; those that
    /// must not be there are told at once.
    fn others<'v>(
        &self,
        beside: Pair<'_, 'v>,
        others: impl Iterator<Item = (&'v String, &'v Value)>,
        faults: &mut Faults<'v>,
        pair: Pair<'_, 'v>,
        keyword: &str,
    ) {
        if beside.schema == &Value::Bool(false) {
            let names: Vec<String> = others.map(|(name, _)| name.clone()).collect();
            if !names.is_empty() {
                faults.add(pair, keyword, Constraint::Unexpected(names));
            }
            return;
        }
        for (name, value) in others {
            let place = ValuePlace::Member(pair.place, name);
            self.check(
                Pair {
                    value,
                    place: &place,
                    ..beside
                },
                faults,
            );
        }
    }

    /// Returns true if `properties` or `patternProperties` beside it declare a property.
    fn is_declared(&self, members: &Map<String, Value>, name: &str) -> bool {
        let known = |keyword: &str| members.get(keyword).and_then(Value::as_object);
        known("properties").is_some_and(|known| known.contains_key(name))
            || known("patternProperties")
                .is_some_and(|known| known.keys().any(|pattern| self.matches(pattern, name)))
    }

    /// Returns the number of schemas in a list that the value satisfies, counted up to `enough`.
    fn count_valid(&self, list: Pair<'_, '_>, enough: usize) -> usize {
        let schemas = list.schema.as_array().into_iter().flatten();
        schemas
            .filter(|schema| self.fits(Pair { schema, ..list }))
            .take(enough)
            .count()
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        self.patterns
            .get(pattern)
            .is_some_and(|pattern| pattern.is_match(text).unwrap_or(false))
    }

    /// Returns the target of a reference, with its pointer.
    fn resolve(&self, reference: &Value) -> Option<(&str, &Value)> {
        let pointer = self.references.get(reference.as_str()?)?;
        Some((pointer, self.root.pointer(pointer)?))
    }
}

fn one_or_more(schema: &Value) -> impl Iterator<Item = &Value> {
    schema
        .as_array()
        .map_or(std::slice::from_ref(schema), Vec::as_slice)
        .iter()
}

/// Returns true if a value has this type; `1.0` is an integer.
fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

fn count_of(schema: &Value) -> Option<usize> {
    // `2.0` is a count; written without its point it is read as one.
    let whole = schema
        .as_u64()
        .or_else(|| schema.as_f64()?.to_string().parse().ok());
    whole.map(|count| count as usize)
}

/// Returns true if two values are equal in JSON Schema's sense: `1` equals `1.0`, and the order of
/// members does not matter.
fn is_equal(one: &Value, other: &Value) -> bool {
    one == other || canonical(one) == canonical(other)
}

/// Returns a canonical text, which equal values share.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => number::canonical(number),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(canonical).collect::<Vec<_>>().join(",")
        ),
        Value::Object(members) => {
            let mut members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", canonical(value)))
                .collect();
            members.sort_unstable();
            format!("{{{}}}", members.join(","))
        }
        plain => plain.to_string(),
    }
}
