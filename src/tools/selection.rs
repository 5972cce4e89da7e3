//! What searches have in common as tools: a directory and globs as arguments, and notes about what
//! was not found or read.

use super::Context;
use super::list_directory::open_directory;
use crate::error::Error;
use crate::policy::{Checked, Read};
use crate::search::{Asked, Call, Scope};
use crate::text::escape::show;

/// What to look for, as an agent says it.
#[derive(Debug, Default)]
pub struct Selection<'a> {
    /// Where relative globs begin; the project directory when it is left out.
    pub directory: Option<Checked<Read>>,
    /// `None` selects everything below the directory.
    pub globs: Option<&'a [String]>,
    /// What to leave out.
    pub exclude: &'a [String],
    /// ripgrep's names of file types; empty for all files.
    pub types: &'a [String],
    /// Leave out what `.gitignore` files name.
    pub respect_gitignore: bool,
}

impl Selection<'_> {
    /// The same without its directory.
    pub fn without_directory(&self) -> Self {
        Self {
            directory: None,
            ..*self
        }
    }
}

/// The scope that a selection stands for.
pub fn scope(context: &Context<'_>, selection: Selection<'_>) -> Result<Scope, Error> {
    let policy = &context.services.policy;
    let directory = match (selection.directory, selection.globs) {
        (None, None) => Some(open_directory(policy, ".")?),
        (directory, _) => directory,
    };
    let asked = Asked {
        directory,
        globs: selection.globs,
        exclude: selection.exclude,
        types: selection.types,
        respect_gitignore: selection.respect_gitignore,
        room: Some(context.room()),
    };
    Ok(Scope::new(policy, asked)?)
}

/// What a search needs of a call; `progress` is told how many files or entries have been looked at.
pub fn call<'a>(context: &'a Context<'_>, progress: &'a (dyn Fn(u64) + Sync)) -> Call<'a> {
    let services = context.services;
    Call {
        policy: &services.policy,
        memory: &services.memory,
        cancel: context.cancel,
        account: Some(&services.account),
        progress,
    }
}

/// Names what could not be read, the first few of it.
pub fn unreadable_note<'a>(unreadable: impl IntoIterator<Item = &'a [u8]>) -> Option<String> {
    let names: Vec<_> = unreadable.into_iter().map(show).collect();
    (!names.is_empty()).then(|| format!("[not readable: {}]", names.join(", ")))
}
