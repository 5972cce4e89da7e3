//! Processes of an intercepted command, from `/proc`.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::descriptor::leader;
use super::messages::{Caller, ProgramName};

/// Most ancestors of a process that are looked at.
const MAX_ANCESTORS: usize = 32;

/// Cached descriptor of the last calling thread's `comm` file, and its process. Opening the file
/// takes longer than reading it.
#[derive(Debug, Default)]
pub(super) struct LastName {
    last: Option<(u32, File, Caller)>,
}

impl LastName {
    /// The name of a thread.
    pub(super) fn of(&mut self, pid: u32) -> ProgramName {
        self.and_caller(pid).0
    }

    /// The name of a thread, and its process.
    pub(super) fn and_caller(&mut self, pid: u32) -> (ProgramName, Caller) {
        let mut name = [0; 16];
        let mut read = |file: &File| file.read_at(&mut name, 0).ok();
        // Of one that has ended nothing can be read, and another one may have its number.
        let again = self
            .last
            .as_ref()
            .filter(|(known, ..)| *known == pid)
            .and_then(|(_, file, _)| read(file));
        let got = again.or_else(|| {
            #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
            let file = File::open(format!("/proc/{pid}/comm")).ok()?;
            let got = read(&file);
            self.last = Some((pid, file, caller(pid)));
            got
        });
        // The end of the line.
        name[got.unwrap_or(0).saturating_sub(1)] = 0;
        let last = self.last.as_ref().filter(|_| got.is_some());
        let caller = last.map(|(.., caller)| caller.clone());
        (ProgramName(name), caller.unwrap_or_default())
    }
}

/// Returns the process of a thread, with its ancestors within the command.
fn caller(thread: u32) -> Caller {
    let outside = std::process::id();
    let first = leader(thread).ok();
    let up = std::iter::successors(first, |pid| parent(*pid));
    let within = up.take_while(|pid| *pid != outside);
    Caller {
        pids: within.take(MAX_ANCESTORS).collect(),
    }
}

fn parent(pid: u32) -> Option<u32> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may contain anything (proc_pid_stat(5)).
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(") ")?;
    let parent = fields.split(' ').nth(1)?.parse().ok()?;
    Some(parent).filter(|pid| *pid > 0)
}
