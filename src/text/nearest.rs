//! Names that are not known: the known one that is nearest, and how much of the other is said.

use std::borrow::Cow;

use crate::limits::MAX_SHOWN_NAME_BYTES;

/// The known name that is nearest to `word` by its Damerau-Levenshtein distance, if at most half of
/// it differs. `None` for a word of more than [`MAX_SHOWN_NAME_BYTES`]: the work grows with its
/// length, and nobody has mistyped so long a name.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_SHOWN_NAME_BYTES {
        return None;
    }
    let near = known
        .map(|known| (strsim::damerau_levenshtein(known, word), known))
        .min();
    near.filter(|(distance, known)| *distance <= known.len() / 2)
        .map(|(_, known)| known)
}

/// A name as a message says it: itself, or its first [`MAX_SHOWN_NAME_BYTES`] at most and an
/// ellipsis.
pub fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_SHOWN_NAME_BYTES {
        return Cow::Borrowed(name);
    }
    let end = name.floor_char_boundary(MAX_SHOWN_NAME_BYTES);
    Cow::Owned(format!("{}…", &name[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    use pretty_assertions::assert_eq;

    #[test]
    fn a_slip_finds_its_name_and_anything_else_finds_none() {
        let near = |word: &str| nearest(word, ["read_file", "write_file", "ping"].into_iter());
        assert_eq!(near("raed_file"), Some("read_file"));
        assert_eq!(near("pong"), Some("ping"));
        assert_eq!(near("unlike all of them"), None);
        assert_eq!(near(&"read_file".repeat(1_000_000)), None);
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let most = "x".repeat(MAX_SHOWN_NAME_BYTES);
        assert_eq!(shortened(&most), most);
        assert_eq!(shortened(&format!("{most}y")), format!("{most}…"));
        let wide = "é".repeat(MAX_SHOWN_NAME_BYTES);
        assert_eq!(
            shortened(&format!("x{wide}")),
            format!("x{}…", "é".repeat((MAX_SHOWN_NAME_BYTES - 1) / 2))
        );
    }
}
