//! Where Python is in a project: its virtual environment, and directories with modules of its own.
//! Only what is allowed is looked at, by its names; what lies outside is not there.

use std::path::{Path, PathBuf};

use crate::fs;
use crate::limits::MAX_MODULE_PLACES;
use crate::policy::{Kind, Policy};
use crate::text::escape::show_path;

/// Names of virtual environments, the usual one first.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// The interpreter of a virtual environment that was named by its directory; `None` where the path
/// is none. Relative paths are taken below `directory`.
pub(super) fn of_environment(policy: &Policy, directory: &Path, named: &str) -> Option<PathBuf> {
    let bin = directory.join(named).join("bin");
    // It is a link, as a rule to outside: only its name is looked at.
    names(policy, &bin)?
        .iter()
        .any(|name| name == "python")
        .then(|| bin.join("python"))
}

/// The virtual environment nearest to a directory, if it has a module that can be imported by this
/// name.
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

/// A directory of the project in which a module of this name lies: of the session's directory,
/// those directly below it, and those above.
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

/// A word of Python that means this path.
pub(super) fn literal(path: &Path) -> String {
    format!("{:?}", show_path(path))
}

/// Whether a directory is a package: it has modules in it.
fn is_package(policy: &Policy, directory: &Path) -> bool {
    names(policy, directory).is_some_and(|names| names.iter().any(|name| has_extension(name, "py")))
}

/// Whether an entry of a directory is a module of this name: a package, a source file, or one that
/// was compiled (`NAME.cpython-312-x86_64-linux-gnu.so`).
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
        .filter(|opened| opened.kind() == Kind::Directory)?;
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
    fn modules_are_known_by_their_files() {
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
