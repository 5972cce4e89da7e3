//! Fields of a query or a form.

use serde_json::{Value, json};

/// Fields in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Parses a query, or a body of `application/x-www-form-urlencoded`.
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns the value of a field that occurs once and is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(key, _)| key == name);
        match (values.next(), values.next()) {
            (Some((_, value)), None) if !value.is_empty() => Some(value),
            _ => None,
        }
    }

    /// Returns a field that occurs more than once, which RFC 6749, 3.1 forbids. `resource` may
    /// (RFC 8707, 2).
    pub(crate) fn repeated(&self) -> Option<&str> {
        let keys = self.0.iter().map(|(key, _)| key).enumerate();
        let mut repeated =
            keys.filter(|(index, key)| self.0[..*index].iter().any(|(before, _)| before == *key));
        repeated
            .find(|(_, key)| *key != "resource")
            .map(|(_, key)| key.as_str())
    }

    /// Returns those of these fields that occur, for observers.
    pub(crate) fn shown(&self, names: &[&str]) -> Value {
        let mut shown = json!({});
        for name in names {
            if let Some(value) = self.get(name) {
                shown[name] = value.into();
            }
        }
        shown
    }

    /// Returns all values of a field.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(move |(key, _)| key == name);
        values.map(|(_, value)| value.as_str())
    }
}

/// Adds fields to the query of a URL.
pub(crate) fn with_query<'a>(
    url: &str,
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields);
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{}", query.finish())
}
