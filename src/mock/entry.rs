//! Optional members of list entries.

use serde_json::{Map, Value};

/// Adds a member if the value is present.
pub(crate) fn put<T: Clone + Into<Value>>(
    entry: &mut Map<String, Value>,
    key: &str,
    value: Option<&T>,
) {
    if let Some(value) = value {
        entry.insert(key.to_owned(), value.clone().into());
    }
}
