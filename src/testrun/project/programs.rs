//! PATH with the programs of a project itself.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use replay_files::policy::Policy;
use replay_sandbox::exec::Launcher;

use super::disk::AllowedDisk;
use super::{node, python};

/// Returns PATH for a command in this directory, with the nearest `node_modules/.bin` and virtual
/// environment first. Returns `None` if there are none, or if their paths cannot stand in a PATH.
pub fn path(policy: &Policy, launcher: &Launcher, dir: &Path) -> Option<OsString> {
    let disk = AllowedDisk(policy);
    let python = python::interpreter(disk, dir);
    let of_python = python
        .as_deref()
        .and_then(|python| Path::new(python).parent());
    let own: Vec<_> = node::programs(disk, dir)
        .into_iter()
        .chain(of_python.map(Path::to_path_buf))
        .collect();
    let usual = launcher.variable("PATH").filter(|_| !own.is_empty())?;
    env::join_paths(own.into_iter().chain(env::split_paths(usual))).ok()
}
