//! What is left out of calls of one shape when they are compared: fields by their names, values by
//! patterns.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::pattern::{Options, Pattern};

#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// `body.order.id`, `query.t`, `header.range`: arrays do not show in a path, so `items[3].id`
    /// is `body.items.id`. Of databases `literal.3`, `param.2`, `arg.2`, `comment.1`.
    pub(super) names: BTreeSet<String>,
    /// What values look like, with the text of each pattern.
    pub(super) values: Vec<(String, Arc<Pattern>)>,
}

impl Fields {
    /// Those of these names, and of values in which one of these patterns is found. Fails when one
    /// cannot be used.
    pub(super) fn new(
        names: impl IntoIterator<Item = String>,
        values: &[String],
    ) -> Result<Self, String> {
        let values = values.iter().map(|source| {
            let pattern = Pattern::new(
                source,
                Options {
                    case_insensitive: false,
                },
            );
            pattern
                .map(|pattern| (source.clone(), Arc::new(pattern)))
                .map_err(|error| {
                    format!(
                        "the noise `{}` cannot be used: {error}",
                        source.escape_debug()
                    )
                })
        });
        Ok(Self {
            names: names.into_iter().collect(),
            values: values.collect::<Result<_, _>>()?,
        })
    }

    pub fn has(&self, name: &str) -> bool {
        !self.names.is_empty() && self.names.contains(name)
    }

    /// The first document around a place that is left out as a whole, by the name of either; empty
    /// if there is none.
    pub(super) fn document<'a>(&self, name: &'a str) -> &'a str {
        let mut ends = name
            .match_indices('.')
            .map(|(at, _)| &name[..at])
            .take_while(|_| !self.names.is_empty());
        ends.find(|path| self.names.contains(*path))
            .unwrap_or_default()
    }

    /// The pattern by which a value is left out. One that cannot be searched in time is not: a miss
    /// is better than a wrong answer.
    pub(super) fn pattern_of(&self, value: &str) -> Option<&str> {
        let is_in = |pattern: &Pattern| matches!(pattern.find_at(value, 0), Ok(Some(_)));
        self.values
            .iter()
            .find(|(_, pattern)| is_in(pattern))
            .map(|(source, _)| source.as_str())
    }

    pub fn is_same(&self, other: &Self) -> bool {
        let sources = |fields: &Self| {
            fields
                .values
                .iter()
                .map(|(source, _)| source.clone())
                .collect::<Vec<_>>()
        };
        self.names == other.names
            && (self.values.is_empty() && other.values.is_empty()
                || sources(self) == sources(other))
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.values.is_empty()
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.names.extend(more.names.iter().cloned());
        for (source, pattern) in &more.values {
            if !self.values.iter().any(|(known, _)| known == source) {
                self.values.push((source.clone(), Arc::clone(pattern)));
            }
        }
    }
}
