//! Processes of an intercepted command, from `/proc`.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

use super::descriptor::leader;
use super::messages::{Caller, ProgramName};

/// Most ancestors of a process that are looked at.
const MAX_ANCESTORS: usize = 32;
/// Most processes whose places are kept.
const MAX_KNOWN_PROCESSES: usize = 4096;
/// Longest file of `/proc` that is read, in bytes.
const MAX_PROC_BYTES: u64 = 128 * 1024;

/// Cached descriptor of the last calling thread's `comm` file, and its process. Opening the file
/// takes longer than reading it.
#[derive(Debug, Default)]
pub(super) struct LastName {
    last: Option<(u32, File, Caller)>,
    processes: Processes,
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
            self.last = Some((pid, file, self.processes.caller(pid)));
            got
        });
        // The end of the line.
        name[got.unwrap_or(0).saturating_sub(1)] = 0;
        let last = self.last.as_ref().filter(|_| got.is_some());
        let caller = last.map(|(.., caller)| caller.clone());
        (ProgramName(name), caller.unwrap_or_default())
    }
}

/// Places of processes, by their numbers. A place is determined once, since siblings end.
#[derive(Debug, Default)]
struct Processes(HashMap<u32, (Process, String)>);

/// A process; an earlier one is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    /// Time of its start, in clock ticks since the boot.
    started: u64,
    pid: u32,
    parent: u32,
}

impl Processes {
    /// Returns the process of a thread, with its ancestors within the command.
    fn caller(&mut self, thread: u32) -> Caller {
        let outside = std::process::id();
        let first = leader(thread).ok().and_then(Process::of);
        let up = std::iter::successors(first, |process| Process::of(process.parent));
        let within = up.take_while(|process| process.pid != outside);
        let mut line: Vec<Process> = within.take(MAX_ANCESTORS).collect();
        let pids = line.iter().map(|process| process.pid).collect();
        // The first process of the command has no place.
        line.pop();
        let mut place = String::new();
        for process in line.into_iter().rev() {
            place = self.place(process, &place);
        }
        Caller { pids, place }
    }

    fn place(&mut self, process: Process, above: &str) -> String {
        if let Some((known, place)) = self.0.get(&process.pid)
            && *known == process
        {
            return place.clone();
        }
        if self.0.len() == MAX_KNOWN_PROCESSES {
            self.0.clear();
        }
        let separator = if above.is_empty() { "" } else { "." };
        let place = format!("{above}{separator}{}", process.number());
        self.0.insert(process.pid, (process, place.clone()));
        place
    }
}

impl Process {
    fn of(pid: u32) -> Option<Self> {
        let stat = read(pid, "stat")?;
        // The name before it may contain anything (proc_pid_stat(5)).
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split(' ').skip(1);
        Some(Self {
            pid,
            parent: fields.next()?.parse().ok()?,
            started: fields.nth(17)?.parse().ok()?,
        })
    }

    /// Returns the number of earlier, living children of its parent with the same arguments.
    fn number(self) -> usize {
        let arguments = read(self.pid, "cmdline");
        let is_earlier = |pid: u32| {
            Self::of(pid).is_some_and(|other| other < self) && read(pid, "cmdline") == arguments
        };
        let siblings = read(self.parent, &format!("task/{}/children", self.parent));
        let siblings = siblings.iter().flat_map(|pids| pids.split(' '));
        siblings
            .filter(|pid| pid.parse().is_ok_and(is_earlier))
            .count()
    }
}

fn read(pid: u32, file: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let file = File::open(format!("/proc/{pid}/{file}")).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_PROC_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "processes to look at")]
    fn siblings_with_same_arguments_are_numbered() {
        // Each child prints its number, and ends with the input.
        let script = "for word in a b a; do sh -c 'echo $$; read line' $word <&3 & done 3<&0; wait";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(shell.stdout.take().unwrap());
        let lines = output.lines().take(3);
        let mut pids: Vec<u32> = lines.map(|pid| pid.unwrap().parse().unwrap()).collect();
        pids.sort_unstable();
        let mut processes = Processes::default();
        let places: Vec<String> = pids
            .iter()
            .map(|pid| processes.caller(*pid).place)
            .collect();
        let expected = Caller {
            pids: vec![pids[0], shell.id()],
            place: "0".to_owned(),
        };
        assert_eq!(processes.caller(pids[0]), expected);
        assert_eq!(processes.caller(shell.id()).place, "");
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(places, ["0", "0", "1"]);
    }
}
