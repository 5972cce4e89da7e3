//! Tree of files with a policy, for tests.
#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]
#![allow(
    clippy::unwrap_used,
    clippy::new_without_default,
    clippy::missing_panics_doc
)]

use std::path::PathBuf;

use super::{Access, Grant, Policy};

/// Tree with two allowed directories, one nested in each, and a directory outside of them.
pub struct Tree {
    _dir: tempfile::TempDir,
    /// Directory of the tree.
    pub base: PathBuf,
    pub policy: Policy,
}

impl Tree {
    /// `A` rw, `R` ro, `A/ro` ro inside rw, `R/rw` rw inside ro; `O` outside with a secret;
    /// `A/keys` protected.
    pub fn new() -> Self {
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

    /// Returns a path below the tree, as it is spelled.
    pub fn at(&self, path: &str) -> PathBuf {
        // Not `join`: it would drop the doubled slashes and dots that a test is about.
        PathBuf::from(format!("{}/{path}", self.base.display()))
    }

    /// Makes a symlink. In the target, `$` is the tree's directory.
    pub fn link(&self, name: &str, target: &str) {
        let target = target.replace('$', &format!("{}/", self.base.display()));
        std::os::unix::fs::symlink(target, self.at(name)).unwrap();
    }
}
