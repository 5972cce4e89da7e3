//! Watches how much memory the processes of one command hold together, where no cgroup can.
//!
//! Private memory counts by what each process has its share of, so that a copy of a process counts only for what it has
//! changed. Shared memory is what is mapped (`Shmem` of proc(5)) or what lies in nameless files in memory that are held
//! open (`memfd_create(2)`), whichever is more: much of it is both. Not seen is what lies in pipes and sockets.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::reach::descendants;
use crate::limits::{MEMORY_WATCH_FDS, MEMORY_WATCH_MS};

/// The watch over one command.
#[derive(Debug)]
pub struct Watch {
    most_bytes: u64,
    next: Instant,
    looks: usize,
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    private: u64,
    shared: u64,
}

impl Watch {
    /// A watch that fires above `most_bytes`.
    pub fn new(most_bytes: u64) -> Self {
        Self { most_bytes, next: Instant::now(), looks: 0 }
    }

    /// Whether the descendants of this process hold more than they may. Looks at most ten times a second, and less often
    /// where there is so much to look at that it would take more than half of the time.
    pub fn is_over(&mut self) -> bool {
        let begun = Instant::now();
        if begun < self.next {
            return false;
        }
        self.looks += 1;
        let is_over = self.look(&descendants());
        self.next = Instant::now() + Duration::from_millis(MEMORY_WATCH_MS).max(begun.elapsed());
        is_over
    }

    fn look(&self, processes: &[Pid]) -> bool {
        let files = files_in_memory(processes, self.looks);
        let over = |held: &dyn Fn(Pid) -> Held| {
            let all = processes.iter().map(|pid| held(*pid));
            let sum = all.fold(Held::default(), |sum, held| Held {
                private: sum.private.saturating_add(held.private),
                shared: sum.shared.saturating_add(held.shared),
            });
            sum.private.saturating_add(sum.shared.max(files)) > self.most_bytes
        };
        // What it costs to find out who shares what grows with the memory, so it is asked only if it matters.
        over(&resident) && over(&|pid| share(pid).unwrap_or_else(|| resident(pid)))
    }
}

/// What is resident, whoever else has it as well.
fn resident(pid: Pid) -> Held {
    sizes(pid, "status", ["RssAnon:", "RssShmem:"]).unwrap_or_default()
}

/// What is resident, divided by the number of those who have it. `None` for a process that does not let itself be looked at.
fn share(pid: Pid) -> Option<Held> {
    sizes(pid, "smaps_rollup", ["Pss_Anon:", "Pss_Shmem:"])
}

/// Two lines of a file of proc(5), in which numbers are in kilobytes. `None` if the file cannot be read.
fn sizes(pid: Pid, file: &str, names: [&str; 2]) -> Option<Held> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let [private, shared] = names.map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok())
    });
    // A process that has just ended has neither.
    Some(Held { private: private?.saturating_mul(1024), shared: shared?.saturating_mul(1024) })
}

/// Bytes in nameless files in memory that these processes hold open, each file once. Of very many descriptors it looks at
/// some, and every time at others first.
fn files_in_memory(processes: &[Pid], looks: usize) -> u64 {
    if processes.is_empty() {
        return 0;
    }
    let mut files = HashMap::new();
    let first = looks % processes.len();
    let (before, from) = processes.split_at(first);
    let directories = from.iter().chain(before).filter_map(|pid| {
        #[expect(clippy::disallowed_methods, reason = "a directory of the kernel")]
        std::fs::read_dir(format!("/proc/{pid}/fd")).ok()
    });
    for descriptor in directories.flatten().flatten().take(MEMORY_WATCH_FDS) {
        let path = descriptor.path();
        if !std::fs::read_link(&path).is_ok_and(|to| to.as_os_str().as_bytes().starts_with(b"/memfd:")) {
            continue;
        }
        #[expect(clippy::disallowed_methods, reason = "what a descriptor of another process stands for")]
        if let Ok(status) = std::fs::metadata(path) {
            // Blocks of stat(2) are of 512 bytes.
            files.insert((status.dev(), status.ino()), status.blocks().saturating_mul(512));
        }
    }
    files.into_values().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    const MIB: u64 = 1024 * 1024;

    fn own() -> Pid {
        nix::unistd::getpid()
    }

    #[test]
    fn a_file_in_memory_counts_once_and_by_what_is_in_it() {
        let before = files_in_memory(&[own()], 0);
        let file = memfd_create("counted", MemfdFlags::CLOEXEC).unwrap();
        // A hole is no memory.
        ftruncate(&file, 1 << 40).unwrap();
        let mut written = 0;
        while written < 8 * MIB {
            written += rustix::io::pwrite(&file, &[1; 4096], written).unwrap() as u64;
        }
        let again = file.try_clone().unwrap();
        let held = files_in_memory(&[own(), own()], 1);
        assert!(held - before >= 8 * MIB && held - before < 12 * MIB, "{before} {held}");
        assert!(Watch::new(before + 4 * MIB).look(&[own()]));
        drop((file, again));
        assert!(files_in_memory(&[own()], 2) < before + MIB);
    }

    #[test]
    fn a_process_is_asked_what_it_holds() {
        let (all, part) = (resident(own()), share(own()).unwrap());
        assert!(all.private > 0 && part.private > 0, "{all:?} {part:?}");
        assert!(part.private <= all.private + MIB, "{all:?} {part:?}");
        // Nobody has this number (`PID_MAX_LIMIT` of `linux/threads.h`).
        assert_eq!((resident(Pid::from_raw(1 << 22)), share(Pid::from_raw(1 << 22))), (Held::default(), None));
        assert!(!Watch::new(u64::MAX).look(&[own()]));
        assert!(Watch::new(1).look(&[own()]));
        assert!(!Watch::new(0).look(&[]));
    }
}
