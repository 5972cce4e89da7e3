//! Files inside allowed directories: checked access, edits, and the journal of changes.
#![forbid(unsafe_code)]

pub mod autorun;
pub mod edit;
pub mod fs;
pub mod hide;
pub mod journal;
pub mod policy;
pub mod set_aside;
