//! What an agent is told at the start: what it may touch, and which tool to prefer for what.

use std::fmt::Write as _;

use crate::tools::Services;

/// The `instructions` of initialize and server/discover.
pub fn instructions(services: &Services) -> String {
    let mut text = String::from("Files, search, edits and a shell inside the allowed directories:\n");
    let roots = services.policy.roots();
    if roots.is_empty() {
        text.push_str("(none: the server was started without --allow, so every path is refused)\n");
    }
    for root in roots {
        let access = if root.writable() { "read-write" } else { "read-only" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "- {} ({access})", root.path().display());
    }
    text.push_str(
        "Relative paths are taken below the first one. Find files by name with glob_search, text with grep_files \
         (JavaScript regex). Read large files with offset and limit. Change files with edit_file (edit_files for many), \
         and keep oldText short but unique; write_file is for new files and full rewrites. ",
    );
    text.push_str(if services.commands.refused.is_none() {
        "Use execute_command for builds and tests, not for reading or editing. It runs OUTSIDE any kernel wall: the \
         operator switched it off with --sandbox off."
    } else {
        "execute_command is refused: no kernel wall stands around it."
    });
    text
}
