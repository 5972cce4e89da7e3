//! Globs over names, in which `*` stands for any text.

/// Returns true if the glob matches the name.
pub(crate) fn matches(glob: &str, name: &[u8]) -> bool {
    // Fast path: most names differ in the first byte, and each start tests a hundred globs per
    // variable.
    if glob
        .as_bytes()
        .first()
        .is_some_and(|first| *first != b'*' && name.first() != Some(first))
    {
        return false;
    }
    let mut parts = glob.split('*').map(str::as_bytes);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match memchr::memmem::find(rest, part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns true if one of the globs matches the name.
pub(crate) fn any_matches(globs: &[String], name: &[u8]) -> bool {
    globs.iter().any(|glob| matches(glob, name))
}
