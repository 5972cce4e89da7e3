//! What of a file counts, as named parts: two versions of a file are compared part by part.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// What of a file counts: the name of each part, and the hash of it. What could not be read is the
/// same as nothing.
pub type Facets = BTreeMap<String, Option<[u8; 32]>>;

pub(super) fn hash(value: &[u8]) -> [u8; 32] {
    Sha256::digest(value).into()
}

/// The names of the parts that are others afterwards.
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
