//! What programs outside the walls run without being asked: hooks, configuration of git that names
//! programs, scripts that npm runs when it installs. The table says by its path what is such a
//! thing, and what of it is compared. Text and bytes alone, no disk.

mod compared;
mod facets;
mod git_config;
mod table;

pub use compared::Content;
pub use facets::{Facets, differences};
pub use git_config::{hooks_directory, hooks_path};
/// Protected names in the directory of every git repository: hooks are programs, and the others can
/// name programs, or another directory with configuration (gitrepository-layout(5)).
pub const PROTECTED_IN_REPOSITORIES: [&str; 4] =
    ["hooks", "config", "config.worktree", "commondir"];
/// The directory of a repository in its work tree, or a file or link that says where that is.
pub const DOT_GIT: &str = ".git";

pub use table::{Compared, HOOK, SINKS, Sink, named, named_directory};
