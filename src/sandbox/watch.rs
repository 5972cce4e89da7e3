//! Watches how much memory the processes of one command hold together, where no cgroup can.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::reach::descendants;
use crate::limits::MEMORY_WATCH_MS;

/// The watch over one command.
#[derive(Debug)]
pub struct Watch {
    most_bytes: u64,
    next: Instant,
}

impl Watch {
    /// A watch that fires above `most_bytes`.
    pub fn new(most_bytes: u64) -> Self {
        Self { most_bytes, next: Instant::now() }
    }

    /// Whether the descendants of this process hold more than they may. Looks at most ten times a second.
    pub fn is_over(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        self.next = now + Duration::from_millis(MEMORY_WATCH_MS);
        let processes: HashSet<Pid> = descendants().into_iter().collect();
        let page = rustix::param::page_size() as u64;
        let pages: u64 = processes.into_iter().map(|pid| anonymous_pages(pid).unwrap_or(0)).sum();
        pages.saturating_mul(page) > self.most_bytes
    }
}

/// Resident pages that are not of files, so that a library counts for nobody (proc(5), `statm`: resident less shared).
fn anonymous_pages(pid: Pid) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut fields = text.split_ascii_whitespace().skip(1).map(|field| field.parse::<u64>().ok());
    let (resident, shared) = (fields.next()??, fields.next()??);
    Some(resident.saturating_sub(shared))
}
