//! Variables of the operator that commands do not get, and the paths in their values.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::definitions::Definitions;
use crate::toolchains::is_export;
use crate::variables::{OWN, SHELL, is_name, is_sensitive};

/// Variable of the operator that commands do not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldVariable {
    pub name: String,
    /// `true` if only its exact name passes it.
    pub is_sensitive: bool,
    /// Existing paths of its value that commands do not see.
    pub unseen: Vec<PathBuf>,
    /// Name of the cache of a package manager that it places.
    pub download: Option<String>,
}

/// Returns the variables that commands do not get, or of whose paths they do not get all. `exists` is
/// asked only about paths that commands do not see.
pub fn withheld(
    vars: &[(OsString, OsString)],
    environment: &[(OsString, OsString)],
    definitions: &Definitions,
    exists: impl Fn(&Path) -> bool,
    is_visible: impl Fn(&Path) -> bool,
) -> Vec<WithheldVariable> {
    let document = definitions.document();
    let toolchains = document.toolchain.iter();
    let toolchains = toolchains.filter_map(|(_, kind)| kind.variable.as_deref());
    let configuration = document.configuration.iter();
    let replaced: Vec<&str> = toolchains
        .chain(configuration.filter_map(|(_, kind)| kind.variable.as_deref()))
        .chain(OWN)
        .chain(["PATH", SHELL])
        .collect();
    let download = |name: &str| {
        let mut downloads = document.download.iter();
        let of_it = downloads
            .find(|(_, kind)| kind.asked && kind.variables.iter().any(|(known, _)| known == name));
        of_it.map(|(id, _)| id.clone())
    };

    let mut found: Vec<WithheldVariable> = Vec::new();
    for (variable, value) in vars {
        let Some(name) = variable.to_str().filter(|_| is_name(variable)) else {
            continue;
        };
        if replaced.contains(&name)
            || is_export(definitions, variable)
            || found.iter().any(|known| known.name == name)
        {
            continue;
        }
        let given = environment.iter().find(|(known, _)| known == variable);
        let given = given.map(|(_, value)| value);
        let paths = absolute_paths(value);
        let lost = |path: &&Path| {
            let is_given = given.is_some_and(|given| absolute_paths(given).contains(path));
            !is_given && !is_visible(path) && exists(path)
        };
        let unseen: Vec<PathBuf> = paths
            .iter()
            .filter(|path| lost(path))
            .map(|path| path.to_path_buf())
            .collect();
        if given.is_none() || !unseen.is_empty() {
            found.push(WithheldVariable {
                name: name.to_owned(),
                is_sensitive: is_sensitive(definitions, variable),
                unseen,
                download: download(name),
            });
        }
    }
    found
}

/// Returns the entries of a list of absolute paths; nothing if the value has other texts.
fn absolute_paths(value: &OsStr) -> Vec<&Path> {
    let entries = value.as_bytes().split(|byte| *byte == b':');
    let entries = entries.filter(|entry| !entry.is_empty());
    let paths: Vec<&Path> = entries
        .map(|entry| Path::new(OsStr::from_bytes(entry)))
        .collect();
    if paths.iter().all(|path| path.is_absolute()) {
        paths
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let pair = |(name, value): &(&str, &str)| (name.into(), value.into());
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn withheld_variable_has_its_unseen_paths() {
        let vars = pairs(&[
            ("HOME", "/home/me"),
            ("PATH", "/home/me/bin"),
            ("LANG", "C"),
            ("NLTK_DATA", "/home/me/nltk"),
            ("NLTK_DATA", "/home/me/second"),
            ("HF_HOME", "/home/me/hf"),
            ("PYTHONPATH", "/home/me/lib::/src/lib:/home/me/gone"),
            ("CMAKE_PREFIX_PATH", "/usr:/home/me/opt"),
            ("PYENV_ROOT", "/home/me/.pyenv"),
            ("PAGER", "less"),
            ("BROKEN", "/home/me/lib:relative"),
            ("NPM_TOKEN", "x"),
        ]);
        let environment = pairs(&[("LANG", "C"), ("CMAKE_PREFIX_PATH", "/usr")]);
        let found = withheld(
            &vars,
            &environment,
            Definitions::embedded(),
            |path| path != "/home/me/gone",
            |path| path.starts_with("/src") || path.starts_with("/usr"),
        );
        let shown: Vec<_> = found
            .iter()
            .map(|one| {
                let unseen: Vec<_> = one.unseen.iter().filter_map(|path| path.to_str()).collect();
                (
                    one.name.as_str(),
                    one.is_sensitive,
                    unseen,
                    one.download.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("NLTK_DATA", false, vec!["/home/me/nltk"], None),
                ("HF_HOME", false, vec!["/home/me/hf"], Some("hf")),
                ("PYTHONPATH", false, vec!["/home/me/lib"], None),
                ("CMAKE_PREFIX_PATH", false, vec!["/home/me/opt"], None),
                ("PAGER", false, vec![], None),
                ("BROKEN", false, vec![], None),
                ("NPM_TOKEN", true, vec![], None),
            ]
        );
    }
}
