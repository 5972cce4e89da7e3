//! The rules by effect, on real trees.
#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

mod law;
mod links;
mod places;
pub(crate) mod race;

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::testing::Tree;
use super::*;

impl Tree {
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
