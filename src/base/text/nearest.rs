//! Unknown names: the nearest known name, and shortening for messages.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use crate::limits::MAX_SHOWN_NAME_BYTES;

/// Returns the known name with the smallest Damerau-Levenshtein distance to `word`, if at most half
/// of it differs. `None` for words longer than [`MAX_SHOWN_NAME_BYTES`]: the effort grows with the
/// length, and no real name is that long.
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

/// Returns true if file names differ in case, in the extension, in one character, or in a quarter of
/// them at most.
pub fn differs_little(one: &str, other: &str) -> bool {
    let stem = |name: &str| {
        Path::new(&name.to_lowercase())
            .file_stem()
            .map(OsStr::to_owned)
    };
    stem(one) == stem(other) || strsim::damerau_levenshtein(one, other) <= (one.len() / 4).max(1)
}

/// Returns a name for a message, shortened to [`MAX_SHOWN_NAME_BYTES`] with an ellipsis if longer.
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
    fn nearest_finds_name_with_typo() {
        let near = |word: &str| nearest(word, ["read_file", "write_file", "ping"].into_iter());
        assert_eq!(near("raed_file"), Some("read_file"));
        assert_eq!(near("pong"), Some("ping"));
        assert_eq!(near("unlike all of them"), None);
        assert_eq!(near(&"read_file".repeat(1_000_000)), None);
    }

    #[test]
    fn little_differences_are_of_case_extension_or_few_characters() {
        for near in ["LIB.rs", "lib.ts", "lib", "lob.rs", "libs.rs"] {
            assert!(differs_little("lib.rs", near), "{near}");
        }
        for far in ["main.rs", "lab.ts", "bill.rs"] {
            assert!(!differs_little("lib.rs", far), "{far}");
        }
    }

    #[test]
    fn shortened_cuts_between_characters() {
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
