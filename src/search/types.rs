//! File types by ripgrep's names (`rust`, `py`, `make`): globs over names that the `ignore` crate
//! keeps.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use globset::Glob;
use ignore::types::{Types, TypesBuilder};

use super::error::SearchError;

/// Known types of files that an error proposes for an unknown one.
const MAX_NEAR_NAMES: usize = 8;

/// Some file types; a file has to be of one of them.
#[derive(Debug)]
pub(super) struct FileTypes(Types);

impl FileTypes {
    /// Looks the names up; the first unknown one is the error.
    pub(super) fn new(names: &[String]) -> Result<Self, SearchError> {
        let mut builder = TypesBuilder::new();
        builder.add_defaults();
        let unknown = |name: &str| SearchError::UnknownType {
            name: name.chars().take(40).collect(),
            near: near(name),
        };
        let known = builder.definitions();
        for name in &names.iter().collect::<BTreeSet<_>>() {
            // `all` means any known type to ripgrep; the rest are names of the list.
            if *name != "all" && !known.iter().any(|known| known.name() == *name) {
                return Err(unknown(name));
            }
            builder.select(name);
        }
        let types = builder
            .build()
            .map_err(|_| unknown(names.first().map_or("", String::as_str)))?;
        Ok(Self(types))
    }

    /// Returns true if a file of this name has one of the types.
    pub(super) fn holds(&self, name: &OsStr) -> bool {
        self.0.matched(name, false).is_whitelist()
    }
}

/// Known names whose files end as `name` says, else those that begin as it does, else those with
/// its first letter.
fn near(name: &str) -> Vec<String> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let definitions = builder.definitions();
    let known: Vec<String> = definitions
        .iter()
        .map(|known| known.name().to_owned())
        .collect();
    let name = name
        .trim_start_matches(['.', '*'])
        .to_lowercase()
        .replace("++", "pp");
    let file = format!("x.{name}");
    let is_of =
        |glob: &String| Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(&file));
    let same: Vec<String> = definitions
        .iter()
        .filter(|known| known.name() == name || known.globs().iter().any(is_of))
        .take(MAX_NEAR_NAMES)
        .map(|known| known.name().to_owned())
        .collect();
    if !same.is_empty() {
        return same;
    }
    let like = |length: usize| -> Vec<String> {
        let start: String = name.chars().take(length).collect();
        known
            .iter()
            .filter(|known| known.starts_with(&start))
            .take(MAX_NEAR_NAMES)
            .cloned()
            .collect()
    };
    (1..=3)
        .rev()
        .map(like)
        .find(|near| !near.is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_types_match_by_name_globs() {
        let types = FileTypes::new(&["rust".into(), "make".into()]).unwrap();
        let holds = ["a.rs", "Makefile", "a.c", "rs"].map(|name| types.holds(OsStr::new(name)));
        assert_eq!(holds, [true, true, false, false]);
    }

    #[test]
    fn unknown_type_suggests_similar_names() {
        let Err(SearchError::UnknownType { name, near }) =
            FileTypes::new(&["rust".into(), "rustt".into()])
        else {
            panic!("accepted")
        };
        assert_eq!(
            (name.as_str(), near.contains(&"rust".to_owned())),
            ("rustt", true)
        );
        assert_eq!(super::near(".rs"), ["rust"]);
        assert!(super::near("c++").contains(&"cpp".to_owned()));
    }
}
