//! How a supervisor reaches everything that a command has started, and nothing else.

use std::collections::{HashSet, VecDeque};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

/// What bounds the processes of one command. Each is the proof that signals stay within.
#[derive(Debug)]
pub enum KillScope {
    /// This process is number 1 of a pid namespace: `kill(-1)` means all others in it.
    PidNamespace(FirstProcess),
    /// This process has entered a Landlock domain that keeps signals inside: `kill(-1)` means the
    /// processes of that domain.
    Scope(SignalScope),
    /// Nothing bounds them; they are found as the descendants of this process, which orphans come
    /// back to.
    Descendants,
}

/// Proof that this process is number 1 of its pid namespace.
#[derive(Debug)]
pub struct FirstProcess(());

impl FirstProcess {
    /// `None` if it is not.
    pub fn check() -> Option<Self> {
        (getpid() == Pid::from_raw(1)).then_some(Self(()))
    }
}

/// Proof that this process is in a Landlock domain that scopes signals.
#[derive(Debug)]
pub struct SignalScope(());

impl SignalScope {
    /// Tries it: once in the domain, this process may not even ask about its parent, which is
    /// outside.
    ///
    /// `None` if the parent can be signalled, and then `kill(-1)` would be a disaster.
    pub fn check() -> Option<Self> {
        let parent = nix::unistd::getppid();
        (parent.as_raw() > 0 && kill(parent, None) == Err(Errno::EPERM)).then_some(Self(()))
    }
}

impl KillScope {
    /// Sends `signal` to every process of the command.
    pub fn signal(&self, signal: Signal) {
        match self {
            // The only failure is that nobody is there.
            Self::PidNamespace(_) | Self::Scope(_) => drop(kill(Pid::from_raw(-1), signal)),
            Self::Descendants => {
                for pid in descendants() {
                    let _ = kill(pid, signal);
                }
            }
        }
    }

    /// Whether one signal is sure to reach all: nobody can be born unseen meanwhile.
    pub fn is_atomic(&self) -> bool {
        !matches!(self, Self::Descendants)
    }
}

/// The children of this process, their children, and so on, as they are found (proc(5):
/// `task/TID/children`).
pub fn descendants() -> Vec<Pid> {
    each_descendant().collect()
}

/// The same, of which no more is looked for than is taken.
pub fn each_descendant() -> impl Iterator<Item = Pid> {
    below(vec![getpid()])
}

/// The children of this process that are none of these, with all that descends from them.
pub fn strays(known: &HashSet<i32>) -> Vec<Pid> {
    let mut found: Vec<Pid> = children(getpid())
        .into_iter()
        .filter(|child| !known.contains(&child.as_raw()))
        .collect();
    let below: Vec<Pid> = below(found.clone()).collect();
    found.extend(below);
    found
}

/// All that descend from these, each once.
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
fn children(parent: Pid) -> Vec<Pid> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{parent}/task")) else {
        return Vec::new();
    };
    let lists = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect::<Vec<_>>()
        })
        .map(Pid::from_raw)
        .collect()
}
