//! Where what searches remember is kept for later sessions.
#![expect(
    clippy::disallowed_methods,
    reason = "a place of the operator's, looked at before any agent speaks"
)]

use std::os::unix::ffi::OsStrExt as _;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use super::undo::make_private;
use super::undo_stores::open_plain;
use crate::config::Config;
use crate::policy::Policy;
use crate::search::memory::Place;
use crate::secrets::Reach;
use crate::text::escape::hex;

/// Makes the directory if there is none. There is no place for it where an agent could read or
/// change what is kept: below an allowed directory, or where commands have no walls.
pub fn place(config: &Config, policy: &Policy, reach: &Reach) -> Option<Place> {
    let path = config
        .search_cache
        .as_ref()
        .filter(|_| config.search_memory_bytes > 0)?;
    let opened = (|| {
        // Nothing is made in an allowed directory either.
        let above = path
            .ancestors()
            .find(|above| std::fs::metadata(above).is_ok())
            .context("nothing is above it")?;
        reach.keeps_apart("the search cache", above)?;
        let path = make_private(path)?;
        reach.keeps_apart("the search cache", &path)?;
        Ok::<_, anyhow::Error>(Place {
            dir: open_plain(&path)?,
            name: name(policy),
            identity: identity()?,
        })
    })();
    opened
        .inspect_err(|error| {
            tracing::debug!("nothing of searches is kept for later sessions: {error:#}")
        })
        .ok()
}

/// One for the same allowed directories.
fn name(policy: &Policy) -> String {
    let mut roots: Vec<_> = policy
        .roots()
        .iter()
        .map(|root| root.path().as_os_str().as_bytes())
        .collect();
    roots.sort_unstable();
    hex(&Sha256::digest(roots.join(&0))[..16])
}

/// Of all that must be the same so that what was found out then is true now, and may be told to
/// whoever asks now: the boot, the program, and what this process may read.
fn identity() -> Result<[u8; 32]> {
    let read = |path: &str| std::fs::read_to_string(path).with_context(|| format!("`{path}`"));
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(read("/proc/sys/kernel/random/boot_id")?);
    // Without a security module there is none.
    hash.update(read("/proc/self/attr/current").unwrap_or_default());
    let status = read("/proc/self/status")?;
    for line in status.lines().filter(|line| {
        ["Uid:", "Gid:", "Groups:", "CapEff:"]
            .iter()
            .any(|of| line.starts_with(of))
    }) {
        hash.update(line);
        hash.update("\n");
    }
    Ok(hash.finalize().into())
}
