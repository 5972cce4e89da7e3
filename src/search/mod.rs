//! Searches of trees: for lines of files and for names, in path order, without a list of the whole
//! tree first.
//!
//! [`Scope`] is where and what; [`grep()`] searches contents, [`names()`] searches paths. A walk's
//! threads search what they come upon through the directory they hold open, and results leave in
//! order as soon as everything before them is known, so a search that has enough ends early.

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
pub use grep::{FileHits, Hits, Mode, Wanted, grep, grep_one};
pub use left_out::LeftOut;
pub use names::{First, Paths, first, names};
pub use scope::{Asked, Exclude, Scope, with_slash};
pub use used_glob::UsedGlob;

use crate::budget::{Account, Room};
use crate::cancel::CancelToken;
use crate::policy::Policy;
use memory::Memory;

/// What a search needs of the call that it is for.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Opens what is searched.
    pub policy: &'a Policy,
    pub cancel: &'a CancelToken,
    /// Who pays for the memory that it takes; `None` where nothing is counted.
    pub account: Option<&'a Account>,
    /// What is known of files from searches before.
    pub memory: &'a Memory,
    /// Told now and then how many files or entries have been looked at.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl<'a> Call<'a> {
    /// Where memory is taken from.
    pub fn room(&self) -> Room<'a> {
        Room {
            account: self.account,
            cancel: self.cancel,
        }
    }
}

#[cfg(test)]
mod tests;
