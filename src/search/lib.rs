//! Tree searches: for lines of files and for names, in path order, without a list of the whole
//! tree.
//!
//! [`Scope`] holds the directories and filters, [`grep()`] searches contents, [`names()`] searches
//! paths. The threads of a walk search each file through the directory that they hold open. Results
//! leave in order as soon as everything before them is known, so a search with enough results ends
//! early.
#![forbid(unsafe_code)]

pub mod documents;
pub mod error;
pub mod grep;
mod left_out;
pub mod lines;
pub mod memory;
pub mod names;
pub mod scope;
mod types;
mod used_glob;
mod window;

pub use error::SearchError;
pub use grep::{FileHits, GrepOptions, Hits, Mode, grep, grep_one, grep_open};
pub use left_out::LeftOut;
pub use names::{First, NameMatches, Paths, first, names};
pub use scope::{Exclude, Scope, SearchRequest, directories_above, with_slash};
pub use used_glob::UsedGlob;

use memory::Memory;
use replay_base::budget::{Account, Room};
use replay_base::cancel::CancelToken;
use replay_files::policy::Policy;

/// Context of the call that a search is for.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Policy that opens the files.
    pub policy: &'a Policy,
    pub cancel: &'a CancelToken,
    /// Account that is charged for memory; `None` if memory is not counted.
    pub account: Option<&'a Account>,
    /// Memory of earlier searches.
    pub memory: &'a Memory,
    /// Callback for progress: the number of files or entries so far.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl<'a> Call<'a> {
    /// Returns the memory budget with the cancel token.
    pub fn room(&self) -> Room<'a> {
        Room {
            account: self.account,
            cancel: self.cancel,
        }
    }
}

#[cfg(test)]
mod tests;
