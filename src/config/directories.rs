//! Allowed directories, and the paths that flags and the profile name.
#![expect(
    clippy::disallowed_methods,
    reason = "start-up looks for what the operator names"
)]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use replay_files::policy::{Access, Grant};

use super::profile::Profile;
use crate::cli::{DirectoryArgs, Options};

/// Allowed directories of the flags, then of the profile.
pub(super) fn grants(here: &Path, args: &DirectoryArgs, profile: &Profile) -> Result<Vec<Grant>> {
    let mut grants = args
        .allow
        .iter()
        .map(|typed| parse_suffixed(here, "--allow", typed))
        .collect::<Result<Vec<_>>>()?;
    for (paths, access) in [
        (&args.allow_read, Access::ReadOnly),
        (&args.allow_write, Access::ReadWrite),
        (&profile.read_write, Access::ReadWrite),
        (&profile.read_only, Access::ReadOnly),
    ] {
        grants.extend(paths.iter().map(|path| Grant {
            path: absolute(here, path),
            access,
        }));
    }
    Ok(grants)
}

/// Moves the working directory to the front if it is writable. Relative paths start from the first
/// directory.
pub(super) fn here_first(here: &Path, grants: &mut [Grant]) {
    let is_here =
        |path: &Path| path == here || std::fs::canonicalize(path).is_ok_and(|path| path == here);
    if let Some(at) = grants
        .iter()
        .position(|grant| grant.access == Access::ReadWrite && is_here(&grant.path))
    {
        grants[..=at].rotate_right(1);
    }
}

/// Allows the working directory for a program that a user runs, if [`adds_here`] returns true.
pub(super) fn allow_here(options: &mut Options) -> Result<()> {
    if options.directories.sandbox_profile.is_none() && adds_here(options)? {
        // Relative paths start from the first directory.
        options.directories.allow.insert(0, PathBuf::from(".:rw"));
    }
    Ok(())
}

/// Returns true if the working directory is added as writable. Requires that no directory is
/// writable, and that no read-only directory contains the working directory.
fn adds_here(options: &Options) -> Result<bool> {
    let here = std::env::current_dir().context("the working directory cannot be read")?;
    let true_here = std::fs::canonicalize(&here).unwrap_or_else(|_| here.clone());
    let holds = |path: &Path| {
        true_here.starts_with(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    };
    let says = |grant: &Grant| grant.access == Access::ReadWrite || holds(&grant.path);
    let typed = grants(&here, &options.directories, &Profile::default())?;
    Ok(!typed.iter().any(says))
}

/// Path of an operator's file, and its target if it is a symlink.
pub(super) fn own_file(here: &Path, typed: &Path) -> impl Iterator<Item = PathBuf> {
    let path = absolute(here, typed);
    let real = std::fs::canonicalize(&path).ok();
    std::iter::once(path).chain(real)
}

/// Splits `DIR[:ro|:rw]`. Only a final `:ro` or `:rw` is a suffix; any other colon belongs to the
/// name.
fn parse_suffixed(here: &Path, flag: &str, typed: &Path) -> Result<Grant> {
    let (path, access) = access_of(typed);
    if path.as_os_str().is_empty() {
        bail!("{flag} `{}` does not name a directory", typed.display());
    }
    let path = absolute(here, path);
    let slip = mistyped_suffix(&path).filter(|_| is_missing(&path));
    if let Some(slip) = slip {
        bail!(
            "{flag} `{}`: `:{slip}` is not a suffix, and no such directory exists; use `:ro` or \
             `:rw`",
            typed.display()
        );
    }
    Ok(Grant { path, access })
}

/// Text after the last colon, if it looks like a mistyped suffix.
fn mistyped_suffix(path: &Path) -> Option<&str> {
    let (_, last) = path.as_os_str().to_str()?.rsplit_once(':')?;
    let is_of_rights = |last: &str| {
        last.bytes()
            .all(|byte| b"rwox".contains(&byte.to_ascii_lowercase()))
    };
    let is_meant = is_of_rights(last)
        || ["read", "write"]
            .iter()
            .any(|word| last.eq_ignore_ascii_case(word));
    (is_meant && !["ro", "rw"].contains(&last)).then_some(last)
}

/// Returns true if the path certainly does not exist.
fn is_missing(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Converts a directory for storage in a file: absolute, with the typed suffix. Fails if the text
/// names no directory. `flag` is for error messages.
pub(crate) fn own_directory(flag: &str, typed: &Path) -> Result<PathBuf> {
    let here = std::env::current_dir().context("the working directory cannot be read")?;
    let path = parse_suffixed(&here, flag, typed)?.path;
    // Drops `.` components.
    let mut own: OsString = path.components().collect::<PathBuf>().into();
    let dir = access_of(typed).0;
    own.push(OsStr::from_bytes(
        &typed.as_os_str().as_bytes()[dir.as_os_str().len()..],
    ));
    Ok(own.into())
}

/// Splits `DIR[:ro|:rw]` into directory and access.
pub(crate) fn access_of(typed: &Path) -> (&Path, Access) {
    let bytes = typed.as_os_str().as_bytes();
    let (path, access) = match bytes.split_last_chunk::<3>() {
        Some((path, b":rw")) => (path, Access::ReadWrite),
        Some((path, b":ro")) => (path, Access::ReadOnly),
        _ => (bytes, Access::ReadOnly),
    };
    (Path::new(OsStr::from_bytes(path)), access)
}

/// Makes a path absolute. An empty path stays empty, and the policy refuses it.
pub(super) fn absolute(here: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        PathBuf::new()
    } else {
        here.join(path)
    }
}

/// Makes a path absolute and resolves `..`. The last component need not exist.
pub(super) fn without_parents(here: &Path, path: &Path) -> PathBuf {
    let path = absolute(here, path);
    if !path.components().any(|part| part == Component::ParentDir) {
        return path;
    }
    let above = || {
        Some(
            std::fs::canonicalize(path.parent()?)
                .ok()?
                .join(path.file_name()?),
        )
    };
    std::fs::canonicalize(&path)
        .ok()
        .or_else(above)
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_with_parent_component_is_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::create_dir_all(dir.join("project/src")).unwrap();
        let at = |path: &str| without_parents(&dir.join("project"), Path::new(path));
        assert_eq!(at("../project/src"), dir.join("project/src"));
        assert_eq!(at("../cache"), dir.join("cache"));
        assert_eq!(
            at("src/../new/../other"),
            dir.join("project/src/../new/../other")
        );
        assert_eq!(at("cache"), dir.join("project/cache"));
        assert_eq!(at(""), PathBuf::new());
    }

    #[test]
    fn only_final_suffix_sets_access() {
        let here = Path::new("/here");
        let grant = |typed: &str| {
            parse_suffixed(here, "--allow", Path::new(typed))
                .map(|grant| (grant.path, grant.access))
                .unwrap()
        };
        assert_eq!(grant("/a:rw"), ("/a".into(), Access::ReadWrite));
        assert_eq!(grant("/a:ro"), ("/a".into(), Access::ReadOnly));
        assert_eq!(grant("a"), ("/here/a".into(), Access::ReadOnly));
        assert_eq!(grant("/a:rw:b"), ("/a:rw:b".into(), Access::ReadOnly));
        assert_eq!(grant("/a:rw:rw"), ("/a:rw".into(), Access::ReadWrite));
        assert_eq!(grant("/a :rw"), ("/a ".into(), Access::ReadWrite));
        assert!(parse_suffixed(here, "--allow", Path::new(":rw")).is_err());
    }

    #[test]
    fn unknown_suffix_on_missing_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let said = |typed: &str| {
            parse_suffixed(dir.path(), "--allow", Path::new(typed)).map(|grant| grant.path)
        };
        let refusal = |typed: &str, slip: &str| {
            format!(
                "--allow `{typed}`: `:{slip}` is not a suffix, and no such directory exists; use \
                 `:ro` or `:rw`"
            )
        };
        for (typed, slip) in [
            (".:rwx", "rwx"),
            ("a:RW", "RW"),
            ("a:", ""),
            ("a:write", "write"),
            ("a:x:rw", "x"),
        ] {
            assert_eq!(said(typed).unwrap_err().to_string(), refusal(typed, slip));
        }
        assert_eq!(said("a:b").unwrap(), dir.path().join("a:b"));
        std::fs::create_dir(dir.path().join("a:rwx")).unwrap();
        assert_eq!(said("a:rwx").unwrap(), dir.path().join("a:rwx"));
    }

    #[test]
    fn own_directory_is_relative_to_working_directory() {
        let here = std::env::current_dir().unwrap();
        let here = here.to_str().unwrap();
        for (typed, expected) in [
            ("src/bob:rw", format!("{here}/src/bob:rw")),
            (".:ro", format!("{here}:ro")),
            ("/a", "/a".to_owned()),
        ] {
            assert_eq!(
                own_directory("--own", Path::new(typed)).unwrap(),
                Path::new(&expected)
            );
        }
        assert_eq!(
            own_directory("--own", Path::new(":rw"))
                .unwrap_err()
                .to_string(),
            "--own `:rw` does not name a directory"
        );
    }
}
