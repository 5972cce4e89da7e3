//! Shared parts of the search tools: directory and glob arguments, and notes on unreadable files.

use replay_base::text::escape::show;
use replay_files::policy::{Checked, Read};
use replay_search::{Call, Scope, SearchRequest};

use super::Context;
use super::list_directory::open_directory;
use crate::error::Error;

/// Search arguments of an agent.
#[derive(Debug, Default)]
pub(crate) struct Selection<'a> {
    /// Start of relative globs; the project directory by default.
    pub directory: Option<Checked<Read>>,
    /// `None` selects everything below the directory.
    pub globs: Option<&'a [String]>,
    /// Globs of excluded paths.
    pub exclude: &'a [String],
    /// ripgrep's names of file types; empty for all files.
    pub types: &'a [String],
    /// `true` to exclude the files that `.gitignore` files name.
    pub skip_ignored: bool,
}

impl Selection<'_> {
    /// Returns the same selection without its directory.
    pub(crate) fn without_directory(&self) -> Self {
        Self {
            directory: None,
            ..*self
        }
    }
}

/// Returns the scope of a selection.
pub(super) fn scope(context: &Context<'_>, selection: Selection<'_>) -> Result<Scope, Error> {
    let policy = &context.services.policy;
    let directory = match (selection.directory, selection.globs) {
        (None, None) => Some(open_directory(policy, ".")?),
        (None, Some(_)) if policy.client_root().is_some() => Some(open_directory(policy, ".")?),
        (directory, _) => directory,
    };
    let asked = SearchRequest {
        directory,
        globs: selection.globs,
        exclude: selection.exclude,
        types: selection.types,
        skip_ignored: selection.skip_ignored,
        room: Some(context.room()),
    };
    Ok(Scope::new(policy, asked)?)
}

/// Returns the context of a search; `progress` gets the number of visited files or entries.
pub(super) fn call<'a>(context: &'a Context<'_>, progress: &'a (dyn Fn(u64) + Sync)) -> Call<'a> {
    let services = context.services;
    Call {
        policy: &services.policy,
        memory: &services.memory,
        cancel: context.cancel,
        account: Some(&services.account),
        progress,
    }
}

/// Note with the first unreadable paths.
pub(super) fn unreadable_note<'a>(
    unreadable: impl IntoIterator<Item = &'a [u8]>,
) -> Option<String> {
    let names: Vec<_> = unreadable.into_iter().map(show).collect();
    (!names.is_empty()).then(|| format!("not readable: {}", names.join(", ")))
}
