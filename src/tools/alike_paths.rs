//! Explains errors about a missing path: a path that looks the same, or a missing directory above.

use std::path::{Path, PathBuf};

use replay_base::text::alike::{Divergence, skeleton};
use replay_base::text::escape::show_path;
use replay_base::text::nearest::{differs_little, nearest};
use replay_files::fs;
use replay_files::policy::{AccessRecord, FileKind, Policy, PolicyError, Root};
use replay_python::PythonError;

use crate::error::Error;

/// Adds the similar path or the missing directory to the error, if there is one.
pub(super) fn explain_error(policy: &Policy, error: Error) -> Error {
    let explained = |error: PolicyError| {
        let PolicyError::NotFound { path } = error else {
            return error;
        };
        if let Some((other, difference)) = twin(policy, &path) {
            return PolicyError::LooksAlike {
                path,
                other: show_path(&other).into_owned(),
                difference,
            };
        }
        if let Some(other) = similar_path(policy, &path) {
            let other = show_path(&other).into_owned();
            return PolicyError::SimilarName { path, other };
        }
        match (missing_parent(policy, &path), policy.base()) {
            (Some(missing), Some(project)) => PolicyError::ParentNotFound {
                path,
                missing,
                project: project.to_owned(),
            },
            _ => PolicyError::NotFound { path },
        }
    };
    match error {
        Error::Policy(error) => Error::Policy(explained(error)),
        Error::Python(PythonError::Policy(error)) => {
            Error::Python(PythonError::Policy(explained(error)))
        }
        error => error,
    }
}

/// Returns the innermost allowed directory of a path.
fn root_of<'a>(policy: &'a Policy, path: &Path) -> Option<&'a Root> {
    let roots = policy
        .roots()
        .iter()
        .filter(|root| path.starts_with(root.path()));
    roots.max_by_key(|root| root.path().as_os_str().len())
}

/// Returns the first missing directory between the allowed directory and a path.
fn missing_parent(policy: &Policy, path: &Path) -> Option<PathBuf> {
    let root = root_of(policy, path)?.path();
    let between: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|above| above.starts_with(root) && *above != root)
        .collect();
    let missing = between
        .into_iter()
        .rev()
        .find(|above| !policy.is_there(above));
    missing.map(Path::to_owned)
}

/// Finds an existing path of which one name differs by a few characters.
fn similar_path(policy: &Policy, path: &Path) -> Option<PathBuf> {
    // These checks are not part of the call's audit log entry.
    let aside = AccessRecord::default();
    let _aside = aside.enter();
    let root = root_of(policy, path)?;
    let below = path.strip_prefix(root.path()).ok()?;
    let known = below
        .ancestors()
        .find(|above| policy.look(root.path().join(above)).is_ok())?;
    let mut rest = below.strip_prefix(known).ok()?.components();
    let name = rest.next()?.as_os_str().to_str()?;
    let place = root.path().join(known);
    let directory = policy
        .read(&place)
        .ok()
        .filter(|place| place.kind() == FileKind::Directory)?;
    let entries = fs::entries(&directory).ok()?;
    let names = entries.iter().filter_map(|entry| entry.name.to_str());
    let other = nearest(name, names).filter(|other| differs_little(name, other))?;
    let other: PathBuf = [place.as_path(), Path::new(other)]
        .into_iter()
        .chain(rest.map(|name| Path::new(name.as_os_str())))
        .collect();
    policy.look(&other).is_ok().then_some(other)
}

/// Finds an existing path that looks the same, and the first difference of their names.
fn twin(policy: &Policy, path: &Path) -> Option<(PathBuf, String)> {
    // These checks are not part of the call's audit log entry.
    let aside = AccessRecord::default();
    let _aside = aside.enter();
    let root = root_of(policy, path)?;
    let (mut place, mut difference) = (root.path().to_owned(), None);
    for name in path.strip_prefix(root.path()).ok()? {
        if policy.look(place.join(name)).is_ok() {
            place.push(name);
            continue;
        }
        let name = name.to_str()?;
        let wanted = skeleton(name);
        let is_alike =
            |other: &&str| !(other.is_ascii() && name.is_ascii()) && skeleton(other) == wanted;
        let directory = policy
            .read(&place)
            .ok()
            .filter(|place| place.kind() == FileKind::Directory)?;
        let entries = fs::entries(&directory).ok()?;
        let other = entries
            .iter()
            .filter_map(|entry| entry.name.to_str())
            .find(is_alike)?;
        if difference.is_none() {
            difference = Divergence::of(other, name).map(|one| one.words("the one asked for"));
        }
        place.push(other);
    }
    let is_there = policy.look(&place).is_ok();
    difference
        .filter(|_| is_there)
        .map(|difference| (place, difference))
}
