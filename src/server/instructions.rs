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
    text.push_str("Relative paths begin at your client's root, else at the first one. Prefer these tools to your own. ");
    if !edits {
        text.push_str("Every directory is read-only. ");
    } else if registry.can_undo() {
        text.push_str("undo_changes takes any call back, commands too. ");
    }
    if registry.find("run_python_code").is_ok() && !are_refused {
        text.push_str("run_python_code keeps its variables between calls. ");
    }
    if registry.find("run_tests").is_ok() {
        text.push_str("run_tests and type_check find the runner, and name what failed. ");
    }
    if !commands {
        text.push_str("There is no shell.");
        return text;
    }
    if !are_refused {
        text.push_str(
            "execute_command: each command begins anew in the first writable directory; a long one \
             goes on in the background, and follow_command waits for it. ",
        );
    }
    text.push_str(held);
    text
}
