//! Plugin of pytest that announces each test.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use replay_sandbox::{Scratch, SharedDirectory};

/// Variable with directories of modules (Python's manual, "Command line and environment").
pub(super) const PYTHON_PATH: &str = "PYTHONPATH";
/// Directory by which pytest finds the plugin (Python Packaging User Guide, "Entry points
/// specification"). A Python that ignores the variable ignores it, too.
const PACKAGE: &str = "replay_scope-1.dist-info";
const FILES: [(&str, &str); 3] = [
    ("replay_scope.py", include_str!("replay_scope.py")),
    (
        "replay_scope-1.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: replay-scope\nVersion: 1\n",
    ),
    (
        "replay_scope-1.dist-info/entry_points.txt",
        "[pytest11]\nreplay_scope = replay_scope\n",
    ),
];

/// Writes the plugin to a directory that lives until it is dropped. Returns it with the value of
/// [`PYTHON_PATH`]; `before` is the value that the command has anyway.
pub(super) fn show(
    scratch: &Scratch,
    tmp: &Path,
    before: Option<&OsStr>,
) -> io::Result<(SharedDirectory, OsString)> {
    let shown = scratch.lend("pytest")?;
    shown.make_directory(PACKAGE)?;
    FILES
        .iter()
        .try_for_each(|(name, text)| shown.put(name, text.as_bytes()))?;
    let mut path = before.map(OsStr::to_owned).unwrap_or_default();
    if !path.is_empty() {
        path.push(":");
    }
    path.push(tmp.join(shown.name()));
    Ok((shown, path))
}
