//! Evaluated properties and items: those that other keywords have looked at (draft 2020-12, 11).

use std::collections::HashSet;

use replay_base::limits::MAX_SCHEMA_DEPTH;
use serde_json::{Map, Value};

use super::{Pair, Validator};

/// Properties and items that were evaluated.
#[derive(Default)]
pub(super) struct Evaluated<'v> {
    pub(super) properties: HashSet<&'v str>,
    pub(super) items: HashSet<usize>,
}

impl Validator {
    /// Returns the properties and items evaluated by the keywords beside `unevaluatedProperties`
    /// and `unevaluatedItems`.
    pub(super) fn evaluated<'v>(
        &self,
        pair: Pair<'_, 'v>,
        members: &Map<String, Value>,
    ) -> Evaluated<'v> {
        let mut evaluated = Evaluated::default();
        for (keyword, schema) in members
            .iter()
            .filter(|(keyword, _)| !keyword.starts_with("unevaluated"))
        {
            self.look(pair, members, keyword, schema, &mut evaluated);
        }
        evaluated
    }

    /// Adds the properties and items that a schema evaluates, if the value satisfies it.
    fn within<'v>(&self, pair: Pair<'_, 'v>, evaluated: &mut Evaluated<'v>) {
        if let Value::Object(members) = pair.schema
            && pair.depth <= MAX_SCHEMA_DEPTH
            && self.fits(pair)
        {
            for (keyword, schema) in members {
                self.look(pair, members, keyword, schema, evaluated);
            }
        }
    }

    fn look<'v>(
        &self,
        pair: Pair<'_, 'v>,
        members: &Map<String, Value>,
        keyword: &str,
        schema: &Value,
        evaluated: &mut Evaluated<'v>,
    ) {
        let beside = pair.beside(schema, pair.keyword);
        match (keyword, schema, pair.value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", _, _) => {
                if let Some((_, schema)) = self.resolve(schema) {
                    self.within(pair.beside(schema, pair.keyword), evaluated);
                }
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas), _) => {
                for schema in schemas {
                    self.within(pair.beside(schema, pair.keyword), evaluated);
                }
            }
            ("if", _, _) => {
                let branch = if self.fits(beside) { "then" } else { "else" };
                self.within(beside, evaluated);
                if let Some(schema) = members.get(branch) {
                    self.within(pair.beside(schema, pair.keyword), evaluated);
                }
            }
            (
                "dependentSchemas" | "dependencies",
                Value::Object(dependent),
                Value::Object(properties),
            ) => {
                for (_, schema) in dependent
                    .iter()
                    .filter(|(name, _)| properties.contains_key(*name))
                {
                    self.within(pair.beside(schema, pair.keyword), evaluated);
                }
            }
            ("properties" | "patternProperties", _, Value::Object(properties)) => {
                let known = properties
                    .keys()
                    .filter(|name| self.is_declared(members, name));
                evaluated.properties.extend(known.map(String::as_str));
            }
            ("additionalProperties" | "unevaluatedProperties", _, Value::Object(properties)) => {
                evaluated
                    .properties
                    .extend(properties.keys().map(String::as_str));
            }
            ("prefixItems" | "items", Value::Array(schemas), Value::Array(_)) => {
                evaluated.items.extend(0..schemas.len());
            }
            ("items" | "additionalItems" | "unevaluatedItems", _, Value::Array(items)) => {
                evaluated.items.extend(0..items.len());
            }
            ("contains", _, Value::Array(items)) => {
                let fitting = items
                    .iter()
                    .enumerate()
                    .filter(|(_, value)| self.fits(Pair { value, ..beside }));
                evaluated.items.extend(fitting.map(|(index, _)| index));
            }
            _ => {}
        }
    }
}
