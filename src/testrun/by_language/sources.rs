//! Sources in the requested files and directories, for runners that select tests by class.

use std::path::{Path, PathBuf};

use replay_base::limits::MAX_TEST_FILES;

use crate::error::TestrunError;
use crate::project::disk::ProjectTree;
use crate::project::files::NamedPath;
use crate::project::language::Language;

/// Returns the sources of a language in these targets.
pub(crate) fn of_targets(
    tree: &dyn ProjectTree,
    targets: &[NamedPath],
    language: Language,
) -> Result<Vec<PathBuf>, TestrunError> {
    let mut found = Vec::new();
    for target in targets {
        if target.is_dir {
            add_below(tree, &target.path, language, &mut found);
        } else if target.path.to_str().and_then(Language::of) == Some(language) {
            found.push(target.path.clone());
        }
    }
    if found.len() > MAX_TEST_FILES {
        return Err(TestrunError::arguments(format!(
            "`testFiles` name more than {MAX_TEST_FILES} sources; name the directories of whole \
             projects or modules"
        )));
    }
    if found.is_empty() {
        return Err(TestrunError::arguments(format!(
            "`testFiles` name no source of {}",
            language.title()
        )));
    }
    Ok(found)
}

/// Adds the sources below a directory, up to one more than the limit.
fn add_below(tree: &dyn ProjectTree, dir: &Path, language: Language, found: &mut Vec<PathBuf>) {
    for name in tree.names(dir).unwrap_or_default() {
        if found.len() > MAX_TEST_FILES {
            return;
        }
        if Language::of(&name) == Some(language) {
            found.push(dir.join(name));
        } else if !name.contains('.') {
            add_below(tree, &dir.join(name), language, found);
        }
    }
}

/// Returns the full name of the class that a source declares by its name. `keyword` begins the line
/// with its package or namespace.
pub(crate) fn class_of(tree: &dyn ProjectTree, file: &Path, keyword: &str) -> Option<String> {
    let stem = file.file_stem()?.to_str()?;
    let text = tree.text(file)?;
    let package = text.lines().find_map(|line| {
        let rest = line
            .trim_start_matches('\u{feff}')
            .trim()
            .strip_prefix(keyword)?;
        let name = rest.strip_prefix(' ')?.trim();
        name.split([';', ' ', '{']).next()
    });
    Some(match package {
        Some(package) => format!("{package}.{stem}"),
        None => stem.to_owned(),
    })
}
