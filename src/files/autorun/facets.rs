//! Facets: the relevant parts of a file by name, for comparing two versions.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// Relevant parts of a file: the name and hash of each. `None` for an unreadable part, which equals
/// nothing.
pub type Facets = BTreeMap<String, Option<[u8; 32]>>;

pub(super) fn hash(value: &[u8]) -> [u8; 32] {
    Sha256::digest(value).into()
}

/// Returns the names of the parts that differ.
pub fn differences(before: &Facets, after: &Facets) -> Vec<String> {
    let is_same = |name: &String| {
        after
            .get(name)
            .is_some_and(|new| new.is_some() && before.get(name) == Some(new))
    };
    let changed = after.keys().filter(|name| !is_same(name)).cloned();
    let removed = before
        .keys()
        .filter(|name| !after.contains_key(*name))
        .map(|name| format!("{name} removed"));
    changed.chain(removed).collect()
}
