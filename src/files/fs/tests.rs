//! Tests of file access by effect, on real trees.
#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

mod changing;
mod hidden;
mod moved;
mod moving;
mod others;
mod race;
mod reading;
mod walking;
mod writing;

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use replay_base::cancel::CancelToken;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::*;
use crate::journal::Changes;
use crate::policy::testing::Tree as Fixture;
use crate::policy::{Checked, Entry, Read, Write};

/// Changes that are not recorded.
static UNRECORDED: Changes<'static> = Changes::none();

fn read(tree: &Fixture, path: &str) -> Checked<Read> {
    tree.policy.read(tree.at(path)).unwrap()
}

fn write(tree: &Fixture, path: &str) -> Checked<Write> {
    tree.policy.write(tree.at(path)).unwrap()
}

fn entry(tree: &Fixture, path: &str) -> Checked<Entry> {
    tree.policy.entry(tree.at(path)).unwrap()
}

fn text(tree: &Fixture, path: &str) -> String {
    std::fs::read_to_string(tree.at(path)).unwrap()
}

fn names(tree: &Fixture, path: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(tree.at(path))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns everything outside the allowed directory: names, contents, modes and mtimes.
fn outside(tree: &Fixture) -> Vec<(PathBuf, u32, i64, i64, Vec<u8>)> {
    use std::os::unix::fs::MetadataExt;
    let mut found = Vec::new();
    for dir in ["O", "A-evil", "A ", "a"] {
        for entry in walkdir::WalkDir::new(tree.at(dir)) {
            let path = entry.unwrap().into_path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let bytes = std::fs::read(&path).unwrap_or_default();
            found.push((path, meta.mode(), meta.mtime(), meta.mtime_nsec(), bytes));
        }
    }
    found.sort();
    found
}

/// Creates `depth` nested directories below `path`, and a file in the last one.
fn dig(tree: &Fixture, path: &str, depth: usize) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at: OwnedFd = openat(CWD, tree.at(path), flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(&at, "d", Mode::RWXU).unwrap();
        at = openat(&at, "d", flags, Mode::empty()).unwrap();
    }
    openat(
        &at,
        "last",
        OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::RWXU,
    )
    .unwrap();
}
