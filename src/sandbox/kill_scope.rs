//! Scopes that let a supervisor signal all processes of its command, and no others.

use std::collections::{HashSet, VecDeque};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

/// Scope of one command's processes. Each variant proves that signals stay within.
#[derive(Debug)]
pub(crate) enum KillScope {
    /// This process is process 1 of a pid namespace: `kill(-1)` signals all others in it.
    PidNamespace(FirstProcess),
    /// This process has entered a Landlock domain that scopes signals: `kill(-1)` signals the
    /// processes of that domain.
    Scope(SignalScope),
    /// No kernel scope: the processes are found as descendants of this process, to which orphans
    /// are reparented.
    Descendants,
}

/// Proof that this process is process 1 of its pid namespace.
#[derive(Debug)]
pub(crate) struct FirstProcess(());

impl FirstProcess {
    /// Checks it; `None` if it is not.
    pub(crate) fn check() -> Option<Self> {
        (getpid() == Pid::from_raw(1)).then_some(Self(()))
    }
}

/// Proof that this process is in a Landlock domain that scopes signals.
#[derive(Debug)]
pub(crate) struct SignalScope(());

impl SignalScope {
    /// Checks it: in the domain, this process cannot even probe its parent, which is outside.
    ///
    /// `None` if the parent can be signalled; then `kill(-1)` would reach foreign processes.
    pub(crate) fn check() -> Option<Self> {
        let parent = nix::unistd::getppid();
        (parent.as_raw() > 0 && kill(parent, None) == Err(Errno::EPERM)).then_some(Self(()))
    }
}

impl KillScope {
    /// Sends `signal` to every process of the command.
    pub(crate) fn signal(&self, signal: Signal) {
        match self {
            // The only possible failure is that no process is left.
            Self::PidNamespace(_) | Self::Scope(_) => drop(kill(Pid::from_raw(-1), signal)),
            Self::Descendants => {
                for pid in descendants() {
                    let _ = kill(pid, signal);
                }
            }
        }
    }

    /// Returns true if one signal reaches all processes: none can be born unseen meanwhile.
    pub(crate) fn is_atomic(&self) -> bool {
        !matches!(self, Self::Descendants)
    }
}

/// Returns the descendants of this process, as currently found (proc(5): `task/TID/children`).
pub(crate) fn descendants() -> Vec<Pid> {
    each_descendant().collect()
}

/// Iterates lazily over the descendants of this process.
pub(crate) fn each_descendant() -> impl Iterator<Item = Pid> {
    below(vec![getpid()])
}

/// Returns the threads of a process (proc(5): `task`).
pub(crate) fn threads(pid: Pid) -> Vec<Pid> {
    tasks(pid)
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

/// Returns the children of this process that are not in `known`, with their descendants.
pub(crate) fn strays(known: &HashSet<i32>) -> Vec<Pid> {
    let mut found: Vec<Pid> = children(getpid())
        .into_iter()
        .filter(|child| !known.contains(&child.as_raw()))
        .collect();
    let below: Vec<Pid> = below(found.clone()).collect();
    found.extend(below);
    found
}

/// Iterates over all descendants of these processes, each once.
fn below(mut waiting: Vec<Pid>) -> impl Iterator<Item = Pid> {
    let mut found = VecDeque::new();
    let mut seen = HashSet::new();
    std::iter::from_fn(move || {
        while found.is_empty() {
            for child in children(waiting.pop()?) {
                if seen.insert(child) {
                    found.push_back(child);
                    waiting.push(child);
                }
            }
        }
        found.pop_front()
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel's own list of processes"
)]
fn tasks(pid: Pid) -> impl Iterator<Item = std::fs::DirEntry> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    tasks.into_iter().flatten().flatten()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel's own list of processes"
)]
fn children(parent: Pid) -> Vec<Pid> {
    let lists =
        tasks(parent).filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect::<Vec<_>>()
        })
        .map(Pid::from_raw)
        .collect()
}
