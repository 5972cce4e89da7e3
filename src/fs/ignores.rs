//! `.gitignore` files, each read through the open directory that holds it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::limits::MAX_GITIGNORE_BYTES;

use super::dir::open_file;
use super::read::read_whole;

/// The rules of one directory, and those of the directories above it.
#[derive(Debug)]
pub(super) struct Ignores {
    above: Option<Arc<Ignores>>,
    /// From this directory to the start of the walk, when it lies above the start.
    lead: Vec<u8>,
    /// How much of a path below the start names this directory, its slash included.
    skip: usize,
    rules: Gitignore,
}

impl Ignores {
    /// Adds the rules of a directory above the start of a walk; `lead` is the way from there to the start.
    pub(super) fn above_start(above: Option<Arc<Self>>, dir: impl AsFd, lead: &[u8]) -> Option<Arc<Self>> {
        let lead = [lead, b"/"].concat();
        match load(dir) {
            Some(rules) => Some(Arc::new(Self { above, lead, skip: 0, rules })),
            None => above,
        }
    }

    /// Adds the rules of a directory of the walk; `rel` is its path below the start, empty for the start.
    pub(super) fn inside(above: Option<Arc<Self>>, dir: &OwnedFd, rel: &[u8]) -> Option<Arc<Self>> {
        let skip = if rel.is_empty() { 0 } else { rel.len() + 1 };
        match load(dir) {
            Some(rules) => Some(Arc::new(Self { above, lead: Vec::new(), skip, rules })),
            None => above,
        }
    }

    /// Whether the entry `rel` below the start is ignored: the nearest rule that says anything decides.
    pub(super) fn ignored(&self, rel: &[u8], is_dir: bool) -> bool {
        let mut rules = Some(self);
        while let Some(here) = rules {
            let rest = rel.get(here.skip..).unwrap_or_default();
            let found = if here.lead.is_empty() {
                here.rules.matched(OsStr::from_bytes(rest), is_dir)
            } else {
                here.rules.matched(OsStr::from_bytes(&[&here.lead, rest].concat()), is_dir)
            };
            match found {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = here.above.as_deref(),
            }
        }
        false
    }
}

/// The rules of one `.gitignore`; none if there is no such regular file, or it is absurdly large.
fn load(dir: impl AsFd) -> Option<Gitignore> {
    let file = open_file(dir, OsStr::new(".gitignore")).ok()?;
    let text = read_whole(file.handle.as_fd(), file.size(), MAX_GITIGNORE_BYTES, Path::new(".gitignore")).ok()?;
    // Paths are matched as seen from the directory itself.
    let mut builder = GitignoreBuilder::new(".");
    let text = String::from_utf8_lossy(&text);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is no glob is no rule; git passes over it as well.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
