//! Ignored parts of calls: fields by name, values by pattern.

use std::collections::BTreeSet;
use std::sync::Arc;

use replay_pattern::{Options, Pattern};

#[derive(Clone, Debug, Default)]
pub(super) struct NoiseFields {
    /// `body.order.id`, `query.t`, `header.range`. Paths omit array indexes, so `items[3].id` is
    /// `body.items.id`. In database calls `literal.3`, `param.2`, `arg.2`, `comment.1`.
    pub(super) names: BTreeSet<String>,
    /// Patterns of values, with their sources.
    pub(super) values: Vec<(String, Arc<Pattern>)>,
}

impl NoiseFields {
    /// Creates fields with these names, and these patterns of values. Fails if a pattern is
    /// invalid.
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
                        "the noise pattern `{}` is invalid: {error}",
                        source.escape_debug()
                    )
                })
        });
        Ok(Self {
            names: names.into_iter().collect(),
            values: values.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        !self.names.is_empty() && self.names.contains(name)
    }

    /// Returns the path of the outermost ignored document around a name; empty if there is none.
    pub(super) fn document<'a>(&self, name: &'a str) -> &'a str {
        let mut ends = name
            .match_indices('.')
            .map(|(at, _)| &name[..at])
            .take_while(|_| !self.names.is_empty());
        ends.find(|path| self.names.contains(*path))
            .unwrap_or_default()
    }

    /// Returns the pattern that ignores a value. A search that fails ignores nothing: a miss is
    /// better than a wrong answer.
    pub(super) fn pattern_of(&self, value: &str) -> Option<&str> {
        let is_in = |pattern: &Pattern| matches!(pattern.find_at(value, 0), Ok(Some(_)));
        self.values
            .iter()
            .find(|(_, pattern)| is_in(pattern))
            .map(|(source, _)| source.as_str())
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
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

    pub(super) fn is_empty(&self) -> bool {
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
