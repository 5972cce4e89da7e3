//! A cgroup for each command (cgroups(7), version 2), if the server's own cgroup is delegated to
//! it. The kernel then counts all memory of the command, including shared memory and files in
//! memory, and enforces the limit.
//!
//! A cgroup with processes of its own cannot enable controllers for its children (the kernel's
//! cgroup-v2.rst, "No Internal Process Constraint"). So the server and its launcher move to a
//! sibling of the command cgroups. If another process lives in the server's cgroup, the server
//! leaves it alone, and memory is polled instead.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::kill;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getppid};
use replay_sys as sys;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::fault::{Fault, StepContext};

/// Name prefix of every cgroup; the launcher's process number follows.
const PREFIX: &str = "replay-";
/// Name suffix of the cgroup of a server and its launcher.
const SERVER: &str = "-server";
/// Upper bound for the size of the kernel's files, except the list of processes.
const MOST_BYTES: usize = 4096;

/// Limits for all commands together, and for each of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Memory of each command, in bytes.
    pub memory_bytes: u64,
    /// Processes and threads of all commands, if limited.
    pub processes: Option<u64>,
}

/// The cgroups of one server's commands.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The server's original cgroup.
    own: OwnedFd,
    /// Parent of the command cgroups, inside `own`.
    base: OwnedFd,
    bounds: Bounds,
    counts_processes: bool,
    /// The server and the launcher, if they were moved.
    moved: Vec<Pid>,
    launcher: Pid,
    next: u64,
    /// Cgroups of running commands, by process number of the supervisor.
    used: HashMap<i32, String>,
}

/// The cgroup of one command.
#[derive(Debug)]
pub(crate) struct Group {
    name: String,
    dir: OwnedFd,
    events: File,
}

impl Groups {
    /// Opens the server's own cgroup. Must be called before this process enters a cgroup namespace.
    pub(crate) fn open_own() -> Result<OwnedFd, String> {
        let read = |path: &str| {
            #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
            std::fs::read_to_string(path).unwrap_or_default()
        };
        let place = directory(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
            .ok_or("no cgroup of version 2 is visible")?;
        open_dir(CWD, &place)
            .map_err(|errno| format!("the server's cgroup cannot be opened: {errno}"))
    }

    /// Prepares the server's own cgroup and tries it. On failure it restores the previous state and
    /// returns the reason, so that memory is polled instead.
    pub(crate) fn prepare(own: OwnedFd, bounds: Bounds) -> Result<Self, String> {
        let mut groups = Self::below(own, bounds, getppid(), getpid())?;
        match groups.attempt() {
            Ok(()) => Ok(groups),
            Err(fault) => {
                groups.leave();
                Err(fault.to_string())
            }
        }
    }

    /// Like [`Groups::prepare`], below `own` and without a trial.
    fn below(own: OwnedFd, bounds: Bounds, server: Pid, launcher: Pid) -> Result<Self, String> {
        let has = |file: &str, controller: &str| {
            read_file(&own, file)
                .is_ok_and(|text| text.split_ascii_whitespace().any(|word| word == controller))
        };
        if !has("cgroup.controllers", "memory") {
            return Err("the server's cgroup has no memory controller".into());
        }
        let hands_down = has("cgroup.subtree_control", "memory");
        let family = [server, launcher];
        if !hands_down
            && processes(&own).is_none_or(|found| found.iter().any(|pid| !family.contains(pid)))
        {
            return Err("other processes live in the server's cgroup".into());
        }
        sweep(&own);
        let not_ours =
            |errno: Errno| format!("the server's cgroup is not delegated to it: {errno}");
        let name = format!("{PREFIX}{launcher}");
        let base = make(&own, &name).map_err(not_ours)?;
        let mut groups = Self {
            base,
            bounds,
            counts_processes: false,
            moved: Vec::new(),
            launcher,
            next: 0,
            used: HashMap::new(),
            own,
        };
        let done = if hands_down {
            Ok(())
        } else {
            groups.move_out(family)
        }
        .and_then(|()| groups.hand_down());
        match done {
            Ok(()) => Ok(groups),
            Err(errno) => {
                groups.leave();
                Err(not_ours(errno))
            }
        }
    }

    /// Moves the server and the launcher out of their cgroup, so that it can enable controllers.
    fn move_out(&mut self, family: [Pid; 2]) -> Result<(), Errno> {
        let beside = make(&self.own, &format!("{PREFIX}{}{SERVER}", self.launcher))?;
        for pid in family {
            write_file(&beside, "cgroup.procs", pid)?;
            self.moved.push(pid);
        }
        write_file(&self.own, "cgroup.subtree_control", "+memory")?;
        // Otherwise the number of processes is limited as without cgroups.
        let _ = write_file(&self.own, "cgroup.subtree_control", "+pids");
        Ok(())
    }

    fn hand_down(&mut self) -> Result<(), Errno> {
        write_file(&self.base, "cgroup.subtree_control", "+memory")?;
        if let Some(most) = self.bounds.processes {
            self.counts_processes = write_file(&self.base, "pids.max", most).is_ok();
        }
        Ok(())
    }

    /// Starts a trial process in a cgroup.
    fn attempt(&mut self) -> Result<(), Fault> {
        let group = self.make()?;
        let copy = sys::fork_into_group(group.as_fd()).step("start a process in a cgroup")?;
        let Some(copy) = copy else { sys::exit_now(0) };
        let status = waitpid(copy, None);
        self.give_up(&group);
        match status {
            Ok(WaitStatus::Exited(_, 0)) => Ok(()),
            _ => Err(Fault::because(
                "start a process in a cgroup",
                "it did not come to its end",
            )),
        }
    }

    /// Returns true if the number of processes of all commands is limited.
    pub(crate) fn counts_processes(&self) -> bool {
        self.counts_processes
    }

    /// Makes a cgroup for one command.
    pub(crate) fn make(&mut self) -> Result<Group, Fault> {
        let step = "make a cgroup for the command";
        let name = self.next.to_string();
        self.next += 1;
        let dir = make(&self.base, &name).step(step)?;
        let group = Group {
            events: File::from(open_file(&dir, "memory.events", OFlags::RDONLY).step(step)?),
            dir,
            name,
        };
        for (file, value, is_everywhere) in settings(self.bounds) {
            match write_file(&group.dir, file, value) {
                // This kernel lacks swap accounting or this file.
                Err(Errno::NOENT | Errno::ACCESS | Errno::PERM) if !is_everywhere => {}
                Err(errno) => {
                    self.give_up(&group);
                    return Err(errno).step(step);
                }
                Ok(()) => {}
            }
        }
        Ok(group)
    }

    /// Assigns a cgroup to the command of this supervisor.
    pub(crate) fn used_by(&mut self, supervisor: Pid, group: Group) {
        self.used.insert(supervisor.as_raw(), group.name);
    }

    /// Removes a cgroup in which no process was started.
    pub(crate) fn give_up(&self, group: &Group) {
        let _ = unlinkat(&self.base, &group.name, AtFlags::REMOVEDIR);
    }

    /// Removes the cgroups of supervisors that have ended.
    pub(crate) fn tidy(&mut self, is_there: impl Fn(i32) -> bool) {
        let base = &self.base;
        // A cgroup whose last process is still exiting stays until the next call.
        self.used.retain(|supervisor, name| {
            is_there(*supervisor)
                || unlinkat(base, name.as_str(), AtFlags::REMOVEDIR) == Err(Errno::BUSY)
        });
    }

    /// Restores the original state. Called after the last command has ended.
    pub(crate) fn leave(&mut self) {
        self.tidy(|_| false);
        let name = format!("{PREFIX}{}", self.launcher);
        let _ = unlinkat(&self.own, &name, AtFlags::REMOVEDIR);
        if self.moved.is_empty() {
            return;
        }
        for change in ["-memory", "-pids"] {
            let _ = write_file(&self.own, "cgroup.subtree_control", change);
        }
        for pid in self.moved.drain(..) {
            // The server may be gone.
            let _ = write_file(&self.own, "cgroup.procs", pid);
        }
        let _ = unlinkat(&self.own, name + SERVER, AtFlags::REMOVEDIR);
    }
}

impl Group {
    /// Returns true if a process of this cgroup was killed for exceeding the cgroup's limit.
    /// Returns false if only the whole system was out of memory.
    pub(crate) fn was_ended(&self) -> bool {
        let mut buffer = [0; MOST_BYTES];
        let read = self.events.read_at(&mut buffer, 0).unwrap_or(0);
        std::str::from_utf8(&buffer[..read]).is_ok_and(was_ended)
    }
}

/// For [`sys::fork_into_group`].
impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// Files and values to write for each command. The flag is true if every kernel has the file.
fn settings(bounds: Bounds) -> [(&'static str, u64, bool); 3] {
    [
        ("memory.max", bounds.memory_bytes, true),
        ("memory.swap.max", 0, false),
        ("memory.oom.group", 1, false),
    ]
}

/// Parses `memory.events`: a name and a number per line. `oom` counts failures to stay below this
/// cgroup's own limit.
fn was_ended(events: &str) -> bool {
    let number = |name: &str| {
        let mut words = events.lines().filter_map(|line| line.split_once(' '));
        words
            .find(|(known, _)| *known == name)
            .and_then(|(_, number)| number.parse::<u64>().ok())
            .unwrap_or(0)
    };
    number("oom") > 0 && number("oom_kill") > 0
}

/// Finds the version 2 cgroup directory of a process, from its `/proc/PID/cgroup` and
/// `/proc/PID/mountinfo` (proc(5)).
pub(crate) fn directory(cgroup: &str, mountinfo: &str) -> Option<PathBuf> {
    let group = Path::new(cgroup.lines().find_map(|line| line.strip_prefix("0::"))?);
    mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        // A mount point that needs escapes is unusual, and `..` means that the cgroup is outside
        // this process's view.
        let plain = !place.contains('\\') && !cgroup.contains("/..");
        let below = group
            .strip_prefix(root)
            .ok()
            .filter(|_| plain && kind.starts_with("cgroup2 "))?;
        Some(if below.as_os_str().is_empty() {
            place.into()
        } else {
            Path::new(place).join(below)
        })
    })
}

/// Removes the cgroups of launchers that are gone. The kernel keeps those that still have
/// processes.
fn sweep(own: &OwnedFd) {
    let Ok(entries) = Dir::read_from(own) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        let Some(number) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let launcher = number
            .strip_suffix(SERVER)
            .unwrap_or(number)
            .parse()
            .map(Pid::from_raw);
        if !launcher.is_ok_and(|pid| kill(pid, None) == Err(nix::errno::Errno::ESRCH)) {
            continue;
        }
        if let Ok(base) = open_dir(own, name)
            && let Ok(below) = Dir::read_from(&base)
        {
            for group in below
                .flatten()
                .filter(|group| group.file_name().to_bytes().iter().all(u8::is_ascii_digit))
            {
                let _ = unlinkat(&base, group.file_name(), AtFlags::REMOVEDIR);
            }
        }
        let _ = unlinkat(own, name, AtFlags::REMOVEDIR);
    }
}

/// Makes a cgroup, or reuses a leftover one of the same name.
fn make(at: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    match mkdirat(at, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => open_dir(at, name),
        Err(errno) => Err(errno),
    }
}

#[expect(clippy::disallowed_methods, reason = "a directory of the kernel")]
fn open_dir(at: impl AsFd, name: impl AsRef<Path>) -> Result<OwnedFd, Errno> {
    openat(
        at,
        name.as_ref(),
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

#[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
fn open_file(at: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(at, OsStr::new(name), flags | OFlags::CLOEXEC, Mode::empty())
}

fn read_file(at: &OwnedFd, name: &str) -> Result<String, Errno> {
    let file = File::from(open_file(at, name, OFlags::RDONLY)?);
    std::io::read_to_string(file).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Writes in one call, as the kernel requires.
fn write_file(at: &OwnedFd, name: &str, value: impl std::fmt::Display) -> Result<(), Errno> {
    rustix::io::write(
        &open_file(at, name, OFlags::WRONLY)?,
        value.to_string().as_bytes(),
    )
    .map(drop)
}

/// Lists the processes of a cgroup; a process that this one cannot see has the number 0.
fn processes(group: &OwnedFd) -> Option<Vec<Pid>> {
    let list = read_file(group, "cgroup.procs").ok()?;
    list.lines()
        .map(|line| line.parse().ok().map(Pid::from_raw))
        .collect()
}

#[cfg(test)]
mod tests;
