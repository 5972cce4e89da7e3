//! Access of commands to git repositories that allowed directories are linked to.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use replay_files::policy::{GitDirectory, LinkedRepository, PROTECTED_IN_REPOSITORIES, Policy};
use replay_sandbox::{CanonicalPath, Extent, PlannedRoot, Tier, cannot_hold};

/// gc must not touch the read-only parts, such as `info` and the data of other worktrees, or it
/// would fail (git-config(1)).
pub(crate) const GC: [(&str, &str); 4] = [
    ("gc.reflogExpire", "never"),
    ("gc.reflogExpireUnreachable", "never"),
    ("gc.worktreePruneExpire", "never"),
    ("repack.updateServerInfo", "false"),
];

/// Returns true if commands share a repository directory with other worktrees.
pub(crate) fn is_partly_writable(roots: &[PlannedRoot]) -> bool {
    roots
        .iter()
        .any(|root| root.writable && root.extent == Extent::CommonOfGit)
}

/// Reason why this tier cannot keep parts of the repository read-only, if it cannot.
fn refusal(linked: &LinkedRepository, tier: Tier) -> Option<&'static str> {
    match tier {
        Tier::Namespaces | Tier::Landlock if !linked.writable => None,
        Tier::Namespaces => linked
            .common
            .as_ref()
            .and_then(|(common, _)| cannot_hold(&common.path)),
        Tier::Landlock | Tier::Off => Some("which needs the namespaces tier"),
    }
}

/// Paths of these repositories that commands see, without duplicates.
pub(crate) fn planned(policy: &Policy, tier: Tier) -> Result<Vec<PlannedRoot>> {
    let mut all: Vec<PlannedRoot> = Vec::new();
    for linked in policy
        .linked()
        .iter()
        .filter(|linked| refusal(linked, tier).is_none())
    {
        let common = linked.common.as_ref().map(|(common, worktrees)| {
            [
                (common, linked.writable, Extent::CommonOfGit),
                (worktrees, false, Extent::OfGit),
            ]
        });
        let own = (&linked.own, linked.writable, Extent::OfGit);
        for (GitDirectory { path, handle }, writable, extent) in
            common.into_iter().flatten().chain([own])
        {
            let stat = rustix::fs::fstat(handle)
                .with_context(|| format!("`{}` cannot be looked at", path.display()))?;
            let place = CanonicalPath {
                path: path.into(),
                dev: stat.st_dev,
                ino: stat.st_ino,
            };
            match all.iter_mut().find(|known| known.place == place) {
                Some(known) => known.writable |= writable,
                None => all.push(PlannedRoot {
                    place,
                    writable,
                    extent,
                }),
            }
        }
    }
    Ok(all)
}

/// Paths that must not be created if they do not exist. Programs outside replace the configuration
/// by a rename, so a configuration is protected only if it exists. Directories of work trees are
/// searched as in any repository.
pub(crate) fn protected(policy: &Policy) -> impl Iterator<Item = PathBuf> {
    let common = policy
        .linked()
        .iter()
        .filter(|linked| linked.writable)
        .filter_map(|linked| linked.common.as_ref());
    let names = || {
        PROTECTED_IN_REPOSITORIES
            .iter()
            .filter(|name| **name != "config")
    };
    common.flat_map(move |(common, _)| names().map(|name| common.path.join(name)))
}

/// A message for the operator on each repository, including those that were not followed. The flag
/// is true for a warning.
pub(crate) fn lines(policy: &Policy, tier: Tier) -> Vec<(bool, String)> {
    let linked = policy.linked().iter().map(|linked| {
        let (tree, outermost) = (linked.work_tree.display(), linked.outermost().display());
        if let Some(why) = refusal(linked, tier) {
            let words = format!(
                "git does not work in `{tree}`: only a part of `{outermost}` may be written, \
                 {why}; `--allow {outermost}:rw` allows all of it"
            );
            return (true, words);
        }
        let may = match (&linked.common, linked.writable) {
            (_, false) => "read it".to_owned(),
            (None, true) => "write it, but for hooks and configuration".to_owned(),
            (Some(_), true) => {
                format!(
                    "write what worktrees share and `{}`, and read the rest",
                    linked.own.path.display()
                )
            }
        };
        (
            false,
            format!(
                "git in `{tree}` uses `{outermost}`: commands may {may} (--git none: nothing of it)"
            ),
        )
    });
    let unfollowed = policy.unfollowed().iter().map(|(path, reason)| {
        let words = format!(
            "git does not work in commands there: `{}` is not followed, since {reason}; if you \
             trust the file, allow the directory in it",
            path.display()
        );
        (true, words)
    });
    linked.chain(unfollowed).collect()
}
