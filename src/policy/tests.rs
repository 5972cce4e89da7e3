//! The rules by effect, on real trees.
#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

mod law;
mod links;
mod places;
pub(crate) mod race;

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::*;

/// A tree with two allowed directories, one nested in each, and one directory that is outside all
/// of them.
pub(crate) struct Tree {
    _dir: tempfile::TempDir,
    pub(crate) base: PathBuf,
    pub(crate) policy: Policy,
}

impl Tree {
    /// `A` rw, `R` ro, `A/ro` ro inside rw, `R/rw` rw inside ro; `O` outside with a secret;
    /// `A/keys` protected.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        for (path, text) in [
            ("A/f", "A-f"),
            ("A/sub/deep/f", "A-deep"),
            ("A/ro/f", "ro"),
            ("A/keys/k", "key"),
            ("R/f", "R-f"),
            ("R/sub/f", "R-sub"),
            ("R/rw/f", "rw"),
            ("O/secret", "TOPSECRET"),
            ("A-evil/secret", "TOPSECRET"),
            ("A /secret", "TOPSECRET"),
            ("a/secret", "TOPSECRET"),
        ] {
            let path = base.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let grant = |path: &str, access| Grant {
            path: base.join(path),
            access,
        };
        let grants = [
            grant("A", Access::ReadWrite),
            grant("R", Access::ReadOnly),
            grant("A/ro", Access::ReadOnly),
            grant("R/rw", Access::ReadWrite),
        ];
        let policy = Policy::open(&grants, &[base.join("A/keys")]).unwrap();
        Self {
            _dir: dir,
            base,
            policy,
        }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        // Not `join`: it would drop the doubled slashes and dots that a test is about.
        PathBuf::from(format!("{}/{path}", self.base.display()))
    }

    pub(crate) fn link(&self, name: &str, target: &str) {
        let target = target.replace('$', &format!("{}/", self.base.display()));
        std::os::unix::fs::symlink(target, self.at(name)).unwrap();
    }

    /// The text of a file, `dir` for a directory, and what may be done there; or the name of the
    /// error.
    fn read(&self, path: &str) -> String {
        match self.policy.read(self.at(path)) {
            Ok(checked) => {
                let what = match checked.kind() {
                    FileKind::Directory => "dir".into(),
                    _ => std::fs::read_to_string(fd_path(&checked.how.handle)).unwrap(),
                };
                format!("{what} {}", if checked.writable() { "rw" } else { "ro" })
            }
            Err(error) => name(&error),
        }
    }

    /// Returns the target of a write, or the name of the error.
    fn write(&self, path: &str) -> String {
        self.target(self.policy.write(self.at(path)))
    }

    fn target(&self, checked: Result<Checked<Write>, PolicyError>) -> String {
        match checked {
            Ok(checked) => {
                let mut path = true_path(checked.dir());
                path.extend(checked.parents());
                path.push(checked.name());
                assert_eq!(path, checked.place());
                path.strip_prefix(&self.base).unwrap().display().to_string()
            }
            Err(error) => name(&error),
        }
    }

    fn entry(&self, path: &str) -> String {
        match self.policy.entry(self.at(path)) {
            Ok(checked) => {
                let path = true_path(checked.dir()).join(checked.name());
                path.strip_prefix(&self.base).unwrap().display().to_string()
            }
            Err(error) => name(&error),
        }
    }
}

pub(crate) fn fd_path(fd: &impl AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", fd.as_raw_fd()).into()
}

/// Returns the real path of an open handle.
pub(crate) fn true_path(fd: &impl AsRawFd) -> PathBuf {
    std::fs::read_link(fd_path(fd)).unwrap()
}

fn name(error: &PolicyError) -> String {
    let debug = format!("{error:?}");
    debug.split([' ', '{']).next().unwrap().to_string()
}
