//! `.gitignore` files, each read through the open directory that contains it.
//!
//! A compiled rule can take almost a thousand times the memory of its text. So the size of a file
//! is capped, and the compiled rules are charged to the call's budget. If a file cannot be obeyed,
//! the search is refused: otherwise it would find excluded files.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use replay_base::budget::{Room, Share};
use replay_base::limits::{GLOB_BYTES_PER_BYTE, MAX_GITIGNORE_BYTES, MAX_GITIGNORE_RULES};

use crate::policy::{Checked, Read};

use super::dir::open_file;
use super::error::FsError;
use super::read::read_whole;

/// Memory for a compiled rule besides [`GLOB_BYTES_PER_BYTE`] for its text, in bytes.
const GITIGNORE_BYTES_PER_RULE: usize = 2048;

/// Name of these files.
const NAME: &str = ".gitignore";

/// Rules of one directory, linked to those of its parents.
#[derive(Debug)]
pub(super) struct Ignores {
    above: Option<Arc<Ignores>>,
    /// Path from this directory to the start of the walk, if it lies above the start.
    lead: Vec<u8>,
    /// Length of this directory's path below the start, with its slash.
    skip: usize,
    rules: Rules,
}

#[derive(Debug)]
struct Rules {
    compiled: Gitignore,
    _share: Share,
}

impl Ignores {
    /// Adds the rules of a directory above the start of a walk; `lead` is the path from there to
    /// the start.
    pub(super) fn above_start(
        above: Option<Arc<Self>>,
        dir: &Checked<Read>,
        lead: &[u8],
        room: Room<'_>,
    ) -> Result<Option<Arc<Self>>, FsError> {
        let lead = [lead, b"/"].concat();
        Ok(
            match load(dir, room).map_err(|error| error.below(dir.display_path()))? {
                Some(rules) => Some(Arc::new(Self {
                    above,
                    lead,
                    skip: 0,
                    rules,
                })),
                None => above,
            },
        )
    }

    /// Adds the rules of a directory of the walk; `rel` is its path below the start, empty for the
    /// start. Errors contain the path relative to the directory.
    pub(super) fn inside(
        above: Option<Arc<Self>>,
        dir: &OwnedFd,
        rel: &[u8],
        room: Room<'_>,
    ) -> Result<Option<Arc<Self>>, FsError> {
        let skip = if rel.is_empty() { 0 } else { rel.len() + 1 };
        Ok(match load(dir, room)? {
            Some(rules) => Some(Arc::new(Self {
                above,
                lead: Vec::new(),
                skip,
                rules,
            })),
            None => above,
        })
    }

    /// Returns true if the entry `rel` below the start is ignored: the nearest matching rule
    /// decides.
    pub(super) fn ignored(&self, rel: &[u8], is_dir: bool) -> bool {
        let mut ignores = Some(self);
        while let Some(here) = ignores {
            let rest = rel.get(here.skip..).unwrap_or_default();
            let rules = &here.rules.compiled;
            let found = if here.lead.is_empty() {
                rules.matched(OsStr::from_bytes(rest), is_dir)
            } else {
                rules.matched(OsStr::from_bytes(&[&here.lead, rest].concat()), is_dir)
            };
            match found {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => ignores = here.above.as_deref(),
            }
        }
        false
    }
}

/// Reads the rules of one `.gitignore`; `None` if it is not a regular file, or unreadable.
fn load(dir: impl AsFd, room: Room<'_>) -> Result<Option<Rules>, FsError> {
    let too_many = || FsError::TooManyRules { path: NAME.into() };
    let Ok(file) = open_file(dir, OsStr::new(NAME)) else {
        return Ok(None);
    };
    let text = match read_whole(
        file.handle.as_fd(),
        file.size(),
        MAX_GITIGNORE_BYTES,
        Path::new(NAME),
        None,
    ) {
        Ok(loaded) => loaded.bytes,
        Err(FsError::TooLarge { .. }) => return Err(too_many()),
        Err(_) => return Ok(None),
    };
    let text = String::from_utf8_lossy(&text);
    let lines = || {
        text.trim_start_matches('\u{feff}')
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
    };
    let rules = lines().count();
    if rules > MAX_GITIGNORE_RULES {
        return Err(too_many());
    }
    let wanted = rules * GITIGNORE_BYTES_PER_RULE + text.len() * GLOB_BYTES_PER_BYTE;
    let mut share = room.share();
    room.cover(&mut share, wanted)
        .map_err(|source| FsError::Memory {
            path: NAME.into(),
            source,
        })?;
    // Paths are relative to the directory itself.
    let mut builder = GitignoreBuilder::new(".");
    for line in lines() {
        // Invalid globs are skipped, like in git.
        let _ = builder.add_line(None, line);
    }
    let compiled = builder.build().map_err(|_| too_many())?;
    Ok((!compiled.is_empty()).then_some(Rules {
        compiled,
        _share: share,
    }))
}
