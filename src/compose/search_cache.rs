//! Directory of the search cache, which keeps index data for later sessions.
#![expect(
    clippy::disallowed_methods,
    reason = "a place of the operator's, looked at before any agent speaks"
)]

use std::os::unix::ffi::OsStrExt as _;

use anyhow::{Context as _, Result};
use replay_base::text::escape::hex;
use replay_files::policy::Policy;
use replay_search::memory::CacheLocation;
use sha2::{Digest as _, Sha256};

use super::undo::make_private;
use super::undo_stores::open_plain;
use crate::config::Config;
use crate::secrets::Reach;

/// Opens the directory, creating it if necessary. Returns `None` if an agent could access the
/// cache: below an allowed directory, or without walls around commands.
pub(super) fn place(config: &Config, policy: &Policy, reach: &Reach) -> Option<CacheLocation> {
    let path = config
        .memory
        .search_cache
        .as_ref()
        .filter(|_| config.memory.search_bytes > 0)?;
    let opened = (|| {
        // Do not create anything in an allowed directory.
        let above = path
            .ancestors()
            .find(|above| std::fs::metadata(above).is_ok())
            .context("it has no parent directory")?;
        reach.keeps_apart("the search cache", above)?;
        let path = make_private(path)?;
        reach.keeps_apart("the search cache", &path)?;
        Ok::<_, anyhow::Error>(CacheLocation {
            dir: open_plain(&path)?,
            name: name(policy),
            identity: identity()?,
        })
    })();
    opened
        .inspect_err(|error| {
            tracing::debug!("nothing of searches is kept for later sessions: {error:#}");
        })
        .ok()
}

/// Cache name for this set of allowed directories.
fn name(policy: &Policy) -> String {
    let mut roots: Vec<_> = policy
        .roots()
        .iter()
        .map(|root| root.path().as_os_str().as_bytes())
        .collect();
    roots.sort_unstable();
    hex(&Sha256::digest(roots.join(&0))[..16])
}

/// Hash of all that must stay the same for cached results to be valid and permitted: the boot, the
/// program, and the read permissions of this process.
fn identity() -> Result<[u8; 32]> {
    let read = |path: &str| std::fs::read_to_string(path).with_context(|| format!("`{path}`"));
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(read("/proc/sys/kernel/random/boot_id")?);
    // Without a security module there is no label.
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
