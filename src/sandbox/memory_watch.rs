//! Polls the memory of one command's processes, if no cgroup can limit it.
//!
//! Private memory counts proportionally, so that a forked process counts only for its own changes.
//! Shared memory is the larger of two sums, because they overlap: mapped memory (`Shmem` of
//! proc(5)), and open nameless files in memory (`memfd_create(2)`) plus System V memory. Pipes and
//! sockets are not counted.

use std::collections::HashMap;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use nix::unistd::Pid;
use replay_base::limits::MEMORY_WATCH_MS;

use super::kill_scope::descendants;

/// Buffer for `/proc/vmstat`, in bytes: more than its length.
const KERNEL_COUNTS_BYTES: usize = 16 * 1024;
/// Descriptors of a command that one look at its memory covers.
const MEMORY_WATCH_FDS: usize = 16_384;

/// Memory polling of one command.
#[derive(Debug)]
pub(crate) struct MemoryWatch {
    most_bytes: u64,
    /// `true` if this process's ipc namespace belongs to the command.
    with_ipc: bool,
    next: Instant,
    looks: usize,
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MemoryUse {
    private: u64,
    shared: u64,
}

impl MemoryWatch {
    /// Creates a watch with the limit `most_bytes`. `with_ipc`: the command has its own ipc
    /// namespace, and this process is in it.
    pub(crate) fn new(most_bytes: u64, with_ipc: bool) -> Self {
        Self {
            most_bytes,
            with_ipc,
            next: Instant::now(),
            looks: 0,
        }
    }

    /// Returns true if the descendants of this process exceed the limit. Polls at most ten times a
    /// second, and less often if polling would take more than half of the time.
    pub(crate) fn is_over(&mut self) -> bool {
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
        let files = if self.with_ipc {
            files.saturating_add(system_v())
        } else {
            files
        };
        let over = |held: &dyn Fn(Pid) -> MemoryUse| {
            let all = processes.iter().map(|pid| held(*pid));
            let sum = all.fold(MemoryUse::default(), |sum, held| MemoryUse {
                private: sum.private.saturating_add(held.private),
                shared: sum.shared.saturating_add(held.shared),
            });
            sum.private.saturating_add(sum.shared.max(files)) > self.most_bytes
        };
        // Computing the proportional share takes time in proportion to the memory, so it is done
        // only if it can matter.
        over(&resident) && over(&|pid| share(pid).unwrap_or_else(|| resident(pid)))
    }
}

/// Returns resident memory, including memory shared with other processes.
fn resident(pid: Pid) -> MemoryUse {
    sizes(pid, "status", ["RssAnon:", "RssShmem:"]).unwrap_or_default()
}

/// Returns proportional resident memory. `None` if the process cannot be inspected.
fn share(pid: Pid) -> Option<MemoryUse> {
    sizes(pid, "smaps_rollup", ["Pss_Anon:", "Pss_Shmem:"])
}

/// Reads two lines of a file of proc(5) with numbers in kilobytes. `None` if the file cannot be
/// read.
fn sizes(pid: Pid, file: &str, names: [&str; 2]) -> Option<MemoryUse> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let [private, shared] = names.map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok())
    });
    // A process that has just ended has neither.
    Some(MemoryUse {
        private: private?.saturating_mul(1024),
        shared: shared?.saturating_mul(1024),
    })
}

/// Sums up open nameless files in memory, each file once. With too many descriptors it checks a
/// part, starting elsewhere every time.
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
        if !std::fs::read_link(&path)
            .is_ok_and(|to| to.as_os_str().as_bytes().starts_with(b"/memfd:"))
        {
            continue;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "what a descriptor of another process stands for"
        )]
        if let Ok(status) = std::fs::metadata(path) {
            // Blocks of stat(2) are of 512 bytes.
            files.insert(
                (status.dev(), status.ino()),
                status.blocks().saturating_mul(512),
            );
        }
    }
    files.into_values().fold(0, u64::saturating_add)
}

/// Sums up all System V memory, messages and semaphores of this ipc namespace.
fn system_v() -> u64 {
    let sum = |file: &str, bytes: fn(&[u64]) -> Option<u64>| {
        #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
        let text = std::fs::read_to_string(format!("/proc/sysvipc/{file}")).unwrap_or_default();
        text.lines().skip(1).fold(0, |sum: u64, line| {
            sum.saturating_add(of_system_v(line, bytes))
        })
    };
    // Memory: resident and swapped bytes. Messages: bytes and number. Semaphores: number.
    sum("shm", |fields| Some(fields.get(14)? + fields.get(15)?))
        .saturating_add(sum("msg", |fields| {
            Some(fields.get(3)? + fields.get(4)? * SYSTEM_V_HEAD_BYTES)
        }))
        .saturating_add(sum("sem", |fields| {
            Some(fields.get(3)? * SYSTEM_V_HEAD_BYTES)
        }))
}

/// Approximate kernel overhead per object, message and semaphore (`struct msg_msg`, `struct sem`).
const SYSTEM_V_HEAD_BYTES: u64 = 64;

/// Bytes of one object, from its line in a file of `/proc/sysvipc` (proc(5)).
fn of_system_v(line: &str, bytes: fn(&[u64]) -> Option<u64>) -> u64 {
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    bytes(&fields).map_or(0, |bytes| bytes + SYSTEM_V_HEAD_BYTES)
}

/// Returns the machine's count of OOM kills since boot; `None` if it cannot be read.
pub(crate) fn kernel_kills() -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let mut file = std::fs::File::open("/proc/vmstat").ok()?;
    // Each read recounts everything, so there are as few as possible.
    let mut text = Vec::with_capacity(KERNEL_COUNTS_BYTES);
    file.read_to_end(&mut text).ok()?;
    std::str::from_utf8(&text)
        .ok()?
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?
        .parse()
        .ok()
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
    fn memory_file_counts_allocated_bytes_once() {
        let before = files_in_memory(&[own()], 0);
        let file = memfd_create("counted", MemfdFlags::CLOEXEC).unwrap();
        // A hole takes no memory.
        ftruncate(&file, 1 << 40).unwrap();
        let mut written = 0;
        while written < 8 * MIB {
            written += rustix::io::pwrite(&file, &[1; 4096], written).unwrap() as u64;
        }
        let again = file.try_clone().unwrap();
        let held = files_in_memory(&[own(), own()], 1);
        assert!(
            held - before >= 8 * MIB && held - before < 12 * MIB,
            "{before} {held}"
        );
        assert!(MemoryWatch::new(before + 4 * MIB, false).look(&[own()]));
        drop((file, again));
        assert!(files_in_memory(&[own()], 2) < before + MIB);
    }

    #[test]
    fn system_v_lines_are_parsed() {
        let shm = "         0          2   600       1048576  4100  4100      0  1000  1000  1000  1000 0 0 0        77824 4096";
        assert_eq!(
            of_system_v(shm, |fields| Some(fields[14] + fields[15])),
            77824 + 4096 + 64
        );
        assert_eq!(
            of_system_v("        -1 1   600       32000", |fields| fields
                .get(3)
                .copied()),
            32064
        );
        assert_eq!(of_system_v("", |fields| fields.get(3).copied()), 0);
        assert!(kernel_kills().is_some());
    }

    #[test]
    fn own_process_memory_is_measured() {
        let (all, part) = (resident(own()), share(own()).unwrap());
        assert!(all.private > 0 && part.private > 0, "{all:?} {part:?}");
        assert!(part.private <= all.private + MIB, "{all:?} {part:?}");
        // No process has this number (`PID_MAX_LIMIT` of `linux/threads.h`).
        assert_eq!(
            (
                resident(Pid::from_raw(1 << 22)),
                share(Pid::from_raw(1 << 22))
            ),
            (MemoryUse::default(), None)
        );
        assert!(!MemoryWatch::new(u64::MAX, false).look(&[own()]));
        assert!(MemoryWatch::new(1, false).look(&[own()]));
        assert!(!MemoryWatch::new(0, false).look(&[]));
    }
}
