//! Instructions for agents: the allowed directories, and the preferred tools.

use std::fmt::Write as _;

use replay_files::policy::Policy;

use crate::tools::Registry;

/// Returns the `instructions` of initialize and server/discover. They mention only tools that are
/// served. `held` describes the sandbox of commands.
pub(crate) fn instructions(
    policy: &Policy,
    registry: &Registry,
    held: &str,
    are_refused: bool,
) -> String {
    let (edits, commands) = (
        registry.find("edit_file").is_ok(),
        registry.find("execute_command").is_ok(),
    );
    let mut text = match (edits, commands) {
        (true, true) => "Files, search, edits and a shell inside the allowed directories:\n",
        (true, false) => "Files, search and edits inside the allowed directories:\n",
        (false, _) => "Files and search inside the allowed directories:\n",
    }
    .to_owned();
    let roots = policy.roots();
    if roots.is_empty() {
        text.push_str("(none: the server was started without --allow, so every path is refused)\n");
    }
    for root in roots {
        let access = if root.writable() {
            "read-write"
        } else {
            "read-only"
        };
        // A write to a `String` cannot fail.
        let _ = writeln!(text, "- {} ({access})", root.path().display());
    }
    text.push_str(
        "Relative paths are taken below the first one. Find files by name with glob_search, text with grep_files \
         (JavaScript regex). Read large files with offset and limit. ",
    );
    text.push_str(if edits {
        "Change files with edit_file (edit_files for many), and keep oldText short but unique; write_file is for new \
         files and full rewrites. "
    } else {
        "Every directory is read-only. "
    });
    if registry.find("run_python_code").is_ok() && !are_refused {
        text.push_str("Python with variables that stay between calls: run_python_code. ");
    }
    if registry.find("run_tests").is_ok() {
        text.push_str(
            "Run tests with run_tests and check types with type_check: they find the runner and name what failed. ",
        );
    }
    if !commands {
        text.push_str("There is no shell.");
        return text;
    }
    if !are_refused {
        let what = if registry.find("run_tests").is_ok() {
            "builds, git and everything else"
        } else {
            "builds and tests"
        };
        let _ = write!(
            text,
            "Use execute_command for {what}, not for reading or editing. "
        );
    }
    text.push_str(held);
    text
}
