//! Autorun files: files that programs outside the sandbox run automatically. These are hooks, git
//! configuration that names programs, and scripts that `npm install` runs. A table lists their
//! paths and the parts to compare. Works on text and bytes, without file access.

mod compared;
mod facets;
mod git_config;
mod table;

pub use compared::Content;
pub use facets::{Facets, differences};
pub use git_config::{hooks_directory, hooks_path};
/// Protected names in every git repository: hooks are programs, and the others can name programs or
/// further configuration (gitrepository-layout(5)).
pub const PROTECTED_IN_REPOSITORIES: [&str; 4] =
    ["hooks", "config", "config.worktree", "commondir"];
/// The git directory of a work tree, or a file or link that points to it.
pub const DOT_GIT: &str = ".git";

pub use table::{AUTORUN_RULES, AutorunRule, Compared, HOOK, named_directory, rule_for_path};
