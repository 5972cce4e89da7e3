//! A control group for each command (cgroups(7), version 2), where the server's own is delegated to
//! it: the kernel then counts whatever memory the command causes, shared memory and files in memory
//! too, and ends it when there is too much.
//!
//! A group with processes of its own cannot hand controllers down (the kernel's cgroup-v2.rst, "No
//! Internal Process Constraint"), so the server and its launcher move to a group beside those of
//! the commands. If anybody else lives in the server's group, it is not the server's to arrange,
//! and memory is watched instead.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::kill;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getppid};
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::fault::{Fault, Step};
use super::sys::{self, SingleThread};

/// What the name of every group begins with; the number of the launcher follows.
const PREFIX: &str = "replay-";
/// What the name of the group of a server and its launcher ends with.
const SERVER: &str = "-server";
/// More than the kernel writes into any of the files that are read here but the list of processes.
const MOST_BYTES: usize = 4096;

/// What all commands together, and each of them, may have.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Memory of each, in bytes.
    pub memory_bytes: u64,
    /// Processes and threads of all, if they are bounded.
    pub processes: Option<u64>,
}

/// The groups of one server's commands.
#[derive(Debug)]
pub struct Groups {
    /// The server's own group, as it was.
    own: OwnedFd,
    /// The group above those of the commands, in it.
    base: OwnedFd,
    bounds: Bounds,
    counts_processes: bool,
    /// The server and the launcher, if they moved.
    moved: Vec<Pid>,
    launcher: Pid,
    next: u64,
    /// The groups of commands that run, by the number of the supervisor.
    used: HashMap<i32, String>,
}

/// The group of one command.
#[derive(Debug)]
pub struct Group {
    name: String,
    dir: OwnedFd,
    events: File,
}

impl Groups {
    /// Makes room below the server's own group, and tries it. Why memory has to be watched instead,
    /// if that fails; then everything is as before.
    pub fn prepare(bounds: Bounds, alone: &SingleThread) -> Result<Self, String> {
        let read = |path: &str| {
            #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
            std::fs::read_to_string(path).unwrap_or_default()
        };
        let place = directory(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
            .ok_or("there is no cgroup of version 2 in sight")?;
        let own = open_dir(CWD, &place)
            .map_err(|errno| format!("the server's cgroup cannot be opened: {errno}"))?;
        let mut groups = Self::below(own, bounds, getppid(), getpid())?;
        match groups.attempt(alone) {
            Ok(()) => Ok(groups),
            Err(fault) => {
                groups.leave();
                Err(fault.to_string())
            }
        }
    }

    /// As [`Groups::prepare`], below this group and without a trial.
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

    /// The server and the launcher leave their group, so that it can hand controllers down.
    fn move_out(&mut self, family: [Pid; 2]) -> Result<(), Errno> {
        let beside = make(&self.own, &format!("{PREFIX}{}{SERVER}", self.launcher))?;
        for pid in family {
            write_file(&beside, "cgroup.procs", pid)?;
            self.moved.push(pid);
        }
        write_file(&self.own, "cgroup.subtree_control", "+memory")?;
        // Without it the number of processes is held as it is without groups.
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

    /// Starts a process in a group: what cannot do that is of no use.
    fn attempt(&mut self, alone: &SingleThread) -> Result<(), Fault> {
        let group = self.make()?;
        let copy =
            sys::fork_into_group(alone, group.as_fd()).step("start a process in a cgroup")?;
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

    /// Whether the number of processes of all commands is held.
    pub fn counts_processes(&self) -> bool {
        self.counts_processes
    }

    /// A group for one command.
    pub fn make(&mut self) -> Result<Group, Fault> {
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
                // Not without swap, or not in this kernel.
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

    /// This supervisor's command is in this group.
    pub fn used_by(&mut self, supervisor: Pid, group: Group) {
        self.used.insert(supervisor.as_raw(), group.name);
    }

    /// Nobody was started in this group.
    pub fn give_up(&self, group: &Group) {
        let _ = unlinkat(&self.base, &group.name, AtFlags::REMOVEDIR);
    }

    /// Removes the groups of supervisors that are not among these any more.
    pub fn tidy(&mut self, is_there: impl Fn(i32) -> bool) {
        let base = &self.base;
        // A group whose last process the kernel is still taking apart stays for the next time.
        self.used.retain(|supervisor, name| {
            is_there(*supervisor)
                || unlinkat(base, name.as_str(), AtFlags::REMOVEDIR) == Err(Errno::BUSY)
        });
    }

    /// Makes everything as it was. No command runs any more.
    pub fn leave(&mut self) {
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
    /// Whether a process of this group was ended because the group held too much. It was not if
    /// only the whole system was out of memory.
    pub fn was_ended(&self) -> bool {
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

/// What is written for each command: the file, the value, and whether every kernel and system has
/// it.
fn settings(bounds: Bounds) -> [(&'static str, u64, bool); 3] {
    [
        ("memory.max", bounds.memory_bytes, true),
        ("memory.swap.max", 0, false),
        ("memory.oom.group", 1, false),
    ]
}

/// `memory.events`: a name and a number in each line. `oom` counts how often this group's own limit
/// could not be kept.
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

/// Where the group of version 2 of a process is: from its `/proc/PID/cgroup` and
/// `/proc/PID/mountinfo` (proc(5)).
fn directory(cgroup: &str, mountinfo: &str) -> Option<PathBuf> {
    let group = Path::new(cgroup.lines().find_map(|line| line.strip_prefix("0::"))?);
    mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        // Nobody mounts it where the name would have to be escaped, and `..` leads out of what this
        // process may see.
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

/// Removes the groups of launchers that are gone. What still has processes stays, the kernel sees
/// to that.
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

/// Makes a group, or takes one over that somebody with the same number left.
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

/// In one call, as the kernel wants it.
fn write_file(at: &OwnedFd, name: &str, value: impl std::fmt::Display) -> Result<(), Errno> {
    rustix::io::write(
        &open_file(at, name, OFlags::WRONLY)?,
        value.to_string().as_bytes(),
    )
    .map(drop)
}

/// The processes of a group; a process that this one cannot see has the number 0.
fn processes(group: &OwnedFd) -> Option<Vec<Pid>> {
    let list = read_file(group, "cgroup.procs").ok()?;
    list.lines()
        .map(|line| line.parse().ok().map(Pid::from_raw))
        .collect()
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
