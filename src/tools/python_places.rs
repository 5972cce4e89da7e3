//! Finds Python in a project: virtual environments, and directories with modules. Only allowed
//! directories are searched, by the names of their entries.

use std::path::{Path, PathBuf};

use replay_base::text::escape::show_path;

use replay_files::fs;
use replay_files::policy::{FileKind, Policy};

/// Directories below that of a session in which a module that was not found is looked for.
const MAX_MODULE_PLACES: usize = 64;

/// Names of virtual environments, the usual one first.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// Returns the interpreter of a virtual environment, given its directory; `None` if there is none.
/// Relative paths are resolved below `directory`.
pub(super) fn of_environment(policy: &Policy, directory: &Path, named: &str) -> Option<PathBuf> {
    let bin = directory.join(named).join("bin");
    // The interpreter usually is a symlink to outside, so only its name is checked.
    names(policy, &bin)?
        .iter()
        .any(|name| name == "python")
        .then(|| bin.join("python"))
}

/// Returns the virtual environment nearest to a directory, if it has a module of this name.
pub(super) fn environment_with(policy: &Policy, directory: &Path, module: &str) -> Option<PathBuf> {
    let nearest = directory
        .ancestors()
        .take_while(|above| policy.is_there(above))
        .flat_map(|above| ENVIRONMENTS.map(|name| above.join(name)))
        .find(|environment| of_environment(policy, environment, "").is_some())?;
    let lib = nearest.join("lib");
    let is_there = names(policy, &lib)?.into_iter().any(|version| {
        let packages = lib.join(version).join("site-packages");
        names(policy, &packages)
            .is_some_and(|names| names.iter().any(|name| is_module(name, module)))
    });
    is_there.then_some(nearest)
}

/// Returns a project directory with a module of this name. Searches the subdirectories of the
/// session's directory, then its ancestors.
pub(super) fn holder_of(policy: &Policy, directory: &Path, module: &str) -> Option<PathBuf> {
    let below = names(policy, directory)?
        .into_iter()
        .filter(|name| !name.starts_with('.'))
        .take(MAX_MODULE_PLACES);
    let below = below
        .map(|name| directory.join(name))
        .filter(|path| of_environment(policy, path, "").is_none());
    let above = directory
        .ancestors()
        .skip(1)
        .take_while(|above| policy.is_there(above))
        .map(Path::to_path_buf);
    below.chain(above).find(|place| {
        names(policy, place).is_some_and(|names| {
            let mut named = names.iter().filter(|name| is_module(name, module));
            named.any(|name| name != module || is_package(policy, &place.join(name)))
        })
    })
}

/// Formats a path as a Python string literal.
pub(super) fn literal(path: &Path) -> String {
    format!("{:?}", show_path(path))
}

/// Returns true if a directory is a package: it contains modules.
fn is_package(policy: &Policy, directory: &Path) -> bool {
    names(policy, directory).is_some_and(|names| names.iter().any(|name| has_extension(name, "py")))
}

/// Returns true if a directory entry is a module of this name: a package, a source file, or a
/// compiled one (`NAME.cpython-312-x86_64-linux-gnu.so`).
fn is_module(entry: &str, module: &str) -> bool {
    let Some(rest) = entry.strip_prefix(module) else {
        return false;
    };
    rest.is_empty() || rest == ".py" || rest.starts_with('.') && has_extension(entry, "so")
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|own| own == extension)
}

fn names(policy: &Policy, directory: &Path) -> Option<Vec<String>> {
    let opened = policy
        .probe(directory)
        .ok()
        .filter(|opened| opened.kind() == FileKind::Directory)?;
    let entries = fs::entries(&opened).ok()?;
    let mut names: Vec<String> = entries
        .into_iter()
        .filter_map(|entry| entry.name.into_string().ok())
        .collect();
    names.sort_unstable();
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_names_match_python_files() {
        for entry in [
            "tiny",
            "tiny.py",
            "tiny.so",
            "tiny.cpython-312-x86_64-linux-gnu.so",
        ] {
            assert!(is_module(entry, "tiny"), "{entry}");
        }
        for entry in [
            "tiny2",
            "tiny.txt",
            "tiny-1.0.dist-info",
            "a_tiny.py",
            "tinyso",
        ] {
            assert!(!is_module(entry, "tiny"), "{entry}");
        }
    }
}
