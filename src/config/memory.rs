//! Memory of calls and of searches.
#![expect(
    clippy::disallowed_methods,
    reason = "start-up reads files of the kernel"
)]

use std::fs;
use std::path::{Component, Path, PathBuf};

use rustix::system::sysinfo;

use replay_base::limits::{MIN_MEMORY_MIB, SEARCH_MEMORY_SHARE};

use super::process_state::ProcessState;
use crate::cli::{MemoryArgs, ReplyArgs};

/// Default share of the memory of the machine or of its cgroup for calls, as a divisor.
const MEMORY_SHARE: u64 = 4;

/// Memory of calls and of searches.
#[derive(Debug)]
pub struct MemoryConfig {
    /// Memory limit of all calls together, in bytes.
    pub call_bytes: usize,
    /// Memory limit of the search cache in bytes; 0 disables it.
    pub search_bytes: usize,
    /// Directory of the persistent search cache, if any.
    pub search_cache: Option<PathBuf>,
}

impl MemoryConfig {
    pub(super) fn resolve(args: &MemoryArgs, replies: &ReplyArgs) -> Self {
        let total = args
            .memory_mib
            .map_or_else(usual_bytes, |mib| mib * 1024 * 1024);
        let search = (replies.search_memory_mib * 1024 * 1024).min(total / SEARCH_MEMORY_SHARE);
        Self {
            call_bytes: (total - search) as usize,
            search_bytes: search as usize,
            search_cache: None,
        }
    }
}

/// Directory of the persistent search cache below the user's cache directory, if enabled. It is not
/// below `replay` there, since the documentation uses that name for `--cache`.
pub(super) fn search_cache(args: &ReplyArgs) -> Option<PathBuf> {
    let world = ProcessState::read(PathBuf::new(), true);
    let named = world
        .variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let caches = named
        .or_else(|| Some(world.home()?.join(".cache")))
        .filter(|_| !args.no_search_cache)?;
    Some(caches.join("replay-search"))
}

/// Default memory limit of all calls, in bytes.
fn usual_bytes() -> u64 {
    let info = sysinfo();
    let machine = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = files(&groups)
        .into_iter()
        .filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    (limits.fold(machine, u64::min) / MEMORY_SHARE).max(MIN_MEMORY_MIB * 1024 * 1024)
}

/// Files with memory limits of this process's cgroups and their ancestors, according to
/// `/proc/self/cgroup` (cgroups(7)). A file without a limit contains `max`, or a very large number.
fn files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for group in groups.lines() {
        let mut parts = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (mount, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let path = Path::new(path);
        if path.components().any(|part| part == Component::ParentDir) {
            continue;
        }
        for above in path.ancestors() {
            files.push(
                Path::new(mount)
                    .join(above.strip_prefix("/").unwrap_or(above))
                    .join(name),
            );
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_files_include_ancestor_cgroups() {
        let of = |groups: &str| {
            files(groups)
                .iter()
                .map(|file| file.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of("0::/a/b\n"),
            [
                "/sys/fs/cgroup/a/b/memory.max",
                "/sys/fs/cgroup/a/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(
            of("5:cpu:/x\n4:memory,hugetlb:/x\n"),
            [
                "/sys/fs/cgroup/memory/x/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes"
            ]
        );
        assert_eq!(of("0::/../x\nnonsense"), Vec::<String>::new());
    }
}
