//! Names that look like the requested one, but differ in some characters.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use replay_base::text::alike::{Divergence, find, skeleton};
use replay_base::text::escape::show;
use replay_base::text::glob::GlobMatcher;
use replay_files::policy::{Checked, FileKind, Read};
use replay_search::names;

use super::Context;
use super::selection::{Selection, call, scope};
use crate::error::Error;

/// Maximum number of names shown.
const NAMED: usize = 3;

/// Names found by a search that only look like the requested one.
#[derive(Debug)]
pub(super) struct AlikeNames<'a> {
    /// The requested part of a name; `folded` is its form without case.
    wanted: &'a str,
    folded: String,
    found: Mutex<(usize, Vec<String>)>,
}

impl<'a> AlikeNames<'a> {
    pub(super) fn new(wanted: &'a str) -> Self {
        Self {
            wanted,
            folded: skeleton(wanted).to_lowercase(),
            found: Mutex::default(),
        }
    }

    /// Checks a name that does not contain the requested part.
    pub(super) fn look(&self, name: &OsStr) {
        let Some(name) = name
            .to_str()
            .filter(|name| !(name.is_ascii() && self.wanted.is_ascii()))
        else {
            return;
        };
        if skeleton(name).to_lowercase().contains(&self.folded) {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.0 += 1;
            if found.1.len() < NAMED {
                found.1.push(name.to_owned());
            }
        }
    }

    /// Returns a note on these names, and the first of them as data.
    pub(super) fn note(self, parameter: &str) -> Option<(String, Vec<String>)> {
        let (count, mut names) = self
            .found
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        names.sort();
        let first = names.first()?;
        let place = find(&first.to_lowercase(), &self.wanted.to_lowercase());
        let lower = first.to_lowercase();
        let difference =
            place.and_then(|place| Divergence::of(&lower[place], &self.wanted.to_lowercase()));
        let difference = difference
            .map(|one| format!(": it has {}", one.words(parameter)))
            .unwrap_or_default();
        let shown = show(first.as_bytes());
        let more = match count - 1 {
            0 => String::new(),
            more => format!("; {more} more look alike"),
        };
        Some((
            format!("no name matches {parameter}, but `{shown}` looks alike{difference}{more}"),
            names,
        ))
    }
}

/// Returns a note on files whose name looks like the last part of a glob, and the first of them as
/// data.
pub(super) fn alike_to_globs(
    context: &Context<'_>,
    directory: Checked<Read>,
    globs: &[String],
) -> Result<Option<(String, Vec<String>)>, Error> {
    // Most globs have no characters with lookalikes, so the walk is skipped.
    let is_likely = |part: &&str| !part.is_ascii() || part.contains([' ', '\'', '"']);
    let parts: Vec<&str> = globs
        .iter()
        .filter_map(|glob| glob.rsplit('/').next())
        .filter(is_likely)
        .collect();
    let Ok(matcher) = GlobMatcher::new(
        &parts.iter().map(|part| skeleton(part)).collect::<Vec<_>>(),
        false,
    ) else {
        return Ok(None);
    };
    if parts.is_empty() {
        return Ok(None);
    }
    let scope = scope(
        context,
        Selection {
            directory: Some(directory),
            ..Selection::default()
        },
    )?;
    let is_alike = |name: &OsStr| {
        name.to_str()
            .is_some_and(|name| matcher.is_match(skeleton(name).as_bytes()))
    };
    let found = names(call(context, &|_| {}), &scope, NAMED, &|name, kind| {
        kind != FileKind::Directory && is_alike(name)
    })?;
    let paths: Vec<String> = found
        .paths
        .iter()
        .map(|path| show(path).into_owned())
        .collect();
    let Some(first) = found.paths.iter().next() else {
        return Ok(None);
    };
    let name = Path::new(OsStr::from_bytes(first))
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    let difference = Divergence::of(name, &skeleton(name));
    let difference = difference
        .map(|one| format!(": it has {}", one.words("globs")))
        .unwrap_or_default();
    let shown = show(first);
    Ok(Some((
        format!("no name matches globs, but `{shown}` looks alike{difference}"),
        paths,
    )))
}
