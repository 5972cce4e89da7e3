//! Lists in sentences.

/// Joins the first `most` names and the number of the others; `None` if there are none.
pub(crate) fn listed(mut names: Vec<String>, most: usize) -> Option<String> {
    let more = names.len().saturating_sub(most);
    names.truncate(most);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!names.is_empty()).then(|| format!("{}{more}", names.join(", ")))
}
