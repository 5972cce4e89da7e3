//! All file access. Every function takes descriptors that the policy has opened; none takes a path.
//!
//! Reading: `read`, `info`, `dir`, `walk` (parallel) and `tree` (ordered). Changing: `write`
//! (atomic replacement of one or several files), `dirs`, `remove`, `rename`. Links are never
//! followed.

pub mod dir;
pub mod dirs;
pub mod error;
pub mod info;
pub mod locks;
pub mod original;
pub mod read;
pub mod remove;
pub mod rename;
pub mod tree;
pub mod walk;
pub mod write;

mod attributes;
mod closer;
mod commit;
mod derived_dir;
mod descent;
mod gitignore;
mod giving;
mod ignored_paths;
mod listing;
mod sweep;
mod temp;
#[cfg(test)]
mod tests;
mod version;

pub use commit::{Prepared, commit_all};
pub use derived_dir::DIRECTORY_MARKS;
pub use dir::{DirEntry, entries, entry_info};
pub use dirs::{create_dir, is_plain_way};
pub use error::FsError;
pub use ignored_paths::IgnoredPaths;
pub use info::{info, info_of_open};
pub use listing::{Entries, Listing, OpenDir, Order};
pub use locks::DirLocks;
pub use original::{Current, Stamp, current};
pub use read::{Loaded, OpenFile, Reader, load, read_all};
pub use remove::remove;
pub use rename::move_no_clobber;
pub use tree::{Tree, TreeEntry, TreeOptions, tree};
pub use version::Version;
pub use walk::{Ended, Visitor, WalkEntry, WalkOptions, walk};
pub use write::{CallWriter, Durability, Writer};
