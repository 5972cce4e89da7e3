//! A list in a sentence.

/// The first of some names, at most so many, and how many more there are; `None` if there is none.
pub fn listed(mut names: Vec<String>, most: usize) -> Option<String> {
    let more = names.len().saturating_sub(most);
    names.truncate(most);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!names.is_empty()).then(|| format!("{}{more}", names.join(", ")))
}
