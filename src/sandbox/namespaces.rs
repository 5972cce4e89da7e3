//! The launcher's own user, mount and network namespaces, shared by all commands of a server.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::sys::wait::{WaitStatus, waitpid};
use replay_sys as sys;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, socketpair};
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags};

use super::fault::{Fault, StepContext};
use super::plan::Network;

/// Share of the user's inotify limits (`/proc/sys/user/max_inotify_*`) for the commands of one
/// server, as a divisor.
const WATCHES_SHARE: u64 = 3;

/// Settings of the kernel (`proc_sys(5)`); those below `user` are limits per user of a user namespace.
const SETTINGS: &str = "/proc/sys";
const WATCHES: [&str; 2] = ["user/max_inotify_instances", "user/max_inotify_watches"];
/// `PID_MAX_LIMIT` of `linux/threads.h`.
const MOST_PIDS: u64 = 4 * 1024 * 1024;

/// Enters the namespaces. From here on this process has all capabilities inside them and none
/// outside.
pub(crate) fn enter(network: Network) -> Result<(), Fault> {
    let watches = WATCHES.map(|name| (name, share(name)));
    let powers = rustix::thread::capabilities(None).step("capget")?.effective;
    if powers.contains(CapabilitySet::SETUID | CapabilitySet::SETGID) {
        enter_with_all_ids()?;
    } else {
        enter_with_own_id()?;
    }
    // Not a wall: if the settings cannot be written, as in most containers, commands share the
    // limits of their user.
    for (name, share) in watches {
        let _ = share.map(|share| set(name, &share.to_string()));
    }
    let mut rest = UnshareFlags::NEWNS;
    if network != Network::Host {
        rest |= UnshareFlags::NEWNET;
    }
    sys::unshare(rest).step("unshare mount and network namespaces")?;
    if network == Network::Loopback {
        switch_loopback_on()?;
        allow_low_ports();
    }
    Ok(())
}

/// Enters a new network namespace with only a loopback device.
pub(crate) fn enter_own_loopback() -> Result<(), Fault> {
    sys::unshare(UnshareFlags::NEWNET).step("unshare the network namespace")?;
    switch_loopback_on()
}

/// Like [`enter_own_loopback`] without capabilities: enters a new user namespace first, without ID
/// maps.
pub(crate) fn enter_quiet() -> Result<(), Fault> {
    let own = sys::unshare(UnshareFlags::NEWNET);
    let own = own.or_else(|_| sys::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET));
    own.step("unshare the network namespace")?;
    switch_loopback_on()
}

/// Lets commands listen on every port of their own network, as root of a machine may (ip(7),
/// `ip_unprivileged_port_start`). Where the file cannot be written, low ports are refused.
fn allow_low_ports() {
    let _ = set("net/ipv4/ip_unprivileged_port_start", "0");
}

fn switch_loopback_on() -> Result<(), Fault> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .step("socket")?;
    sys::loopback_up(&socket).step("switch the loopback device on")
}

/// Enters a user namespace with only this user mapped (`user_namespaces(7)`), which needs no
/// privileges.
fn enter_with_own_id() -> Result<(), Fault> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    sys::unshare(UnshareFlags::NEWUSER).step("unshare the user namespace")?;
    write("setgroups", "deny")?;
    write("uid_map", &format!("{user} {user} 1"))?;
    write("gid_map", &format!("{group} {group} 1"))
}

/// Enters a user namespace in which every ID maps to itself. Root's commands see the owners of
/// files and may change them. A forked child has to write the map from outside.
fn enter_with_all_ids() -> Result<(), Fault> {
    let maps = [("uid_map", read("uid_map")?), ("gid_map", read("gid_map")?)];
    let (here, there) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .step("socketpair")?;
    let parent = rustix::process::getpid().as_raw_nonzero();
    let Some(copy) = sys::fork().step("fork")? else {
        drop(here);
        let written = await_turn(&there)
            && maps
                .iter()
                .all(|(name, map)| write_of(parent.get(), name, map).is_ok());
        sys::exit_now(i32::from(!written));
    };
    drop(there);
    sys::unshare(UnshareFlags::NEWUSER).step("unshare the user namespace")?;
    rustix::io::write(&here, b"x").step("user namespace")?;
    match waitpid(copy, None) {
        Ok(WaitStatus::Exited(_, 0)) => Ok(()),
        _ => Err(Fault::because(
            "write the maps of the user namespace",
            "the kernel did not take them",
        )),
    }
}

/// Creates a user namespace with only unused IDs mapped: through its map, every file belongs to
/// nobody.
pub(crate) fn of_nobody() -> Result<OwnedFd, Fault> {
    /// The highest ID except the invalid one.
    const NOBODYS: u32 = u32::MAX - 1;
    let step = "make a user namespace of nobody";
    let (here, there) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .step("socketpair")?;
    let Some(copy) = sys::fork().step("fork")? else {
        drop(here);
        let made = sys::unshare(UnshareFlags::NEWUSER).is_ok();
        let told = made && rustix::io::write(&there, b"x").is_ok();
        // The child waits until the other end is closed.
        sys::exit_now(i32::from(!told || await_turn(&there)));
    };
    drop(there);
    let namespace = || {
        if !await_turn(&here) {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        for name in ["uid_map", "gid_map"] {
            write_of(copy.as_raw(), name, &format!("{NOBODYS} {NOBODYS} 1"))?;
        }
        #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
        File::open(format!("/proc/{copy}/ns/user")).map(OwnedFd::from)
    };
    let namespace = namespace();
    drop(here);
    let _ = waitpid(copy, None);
    namespace.step(step)
}

/// Returns true if the processes of root's commands can be limited. The kernel applies no
/// `RLIMIT_NPROC` to root in any user namespace (`copy_process` in the kernel's fork.c). Since
/// Linux 6.14 each pid namespace has its own `pid_max`; before, it was global.
pub(crate) fn can_bound_root() -> bool {
    rustix::system::uname()
        .release()
        .to_str()
        .is_ok_and(has_own_pid_max)
}

fn has_own_pid_max(release: &str) -> bool {
    let mut numbers = release
        .split(|byte: char| !byte.is_ascii_digit())
        .map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (6, 14))
}

/// Limits the processes of this pid namespace, if this is root. Requires [`can_bound_root`], and a
/// first process with its own /proc.
pub(crate) fn bound_root(processes: u64) -> Result<(), Fault> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let step = "bound the number of processes";
    // The last number is never used.
    let mut most = processes.saturating_add(1);
    loop {
        #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
        let file = std::fs::File::options()
            .write(true)
            .open("/proc/sys/kernel/pid_max");
        match file.step(step)?.write_all(most.to_string().as_bytes()) {
            // The kernel's minimum grows with the number of processors, and is at least 301. A
            // limit above the maximum is no limit.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput && most < MOST_PIDS => {
                most *= 2;
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => return Ok(()),
            result => return result.step(step),
        }
    }
}

/// Returns the part of the user's current limit for one server's commands.
fn share(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let text = std::fs::read_to_string(Path::new(SETTINGS).join(name)).ok()?;
    text.trim()
        .parse::<u64>()
        .ok()
        .map(|most| (most / WATCHES_SHARE).max(1))
}

/// Writes a setting of this process's namespaces. Use of a limit inside also counts outside.
fn set(name: &str, text: &str) -> std::io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    std::fs::File::options()
        .write(true)
        .open(Path::new(SETTINGS).join(name))?
        .write_all(text.as_bytes())
}

fn await_turn(socket: &OwnedFd) -> bool {
    matches!(rustix::io::read(socket, &mut [0; 1]), Ok(1))
}

/// Reads an ID map of this process's namespace and returns it as an identity map.
fn read(name: &str) -> Result<String, Fault> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let text = std::fs::read_to_string(format!("/proc/self/{name}"))
        .step_with(|| format!("read {name}"))?;
    let lines = text.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (first, count) = (fields.next()?, fields.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    });
    Ok(lines.collect())
}

fn write(name: &str, text: &str) -> Result<(), Fault> {
    write_of(rustix::process::getpid().as_raw_nonzero().get(), name, text)
        .step_with(|| format!("write {name}"))
}

/// Writes in one call, as the kernel requires.
fn write_of(process: i32, name: &str, text: &str) -> std::io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    std::fs::File::options()
        .write(true)
        .open(format!("/proc/{process}/{name}"))?
        .write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_release_tells_own_pid_max() {
        let known = [
            "6.14.0",
            "6.18.44-fc-v657",
            "7.0-rc1",
            "6.13.9",
            "5.15.167.4-microsoft",
            "6",
            "",
            "next-6.20",
        ];
        assert_eq!(
            known.map(has_own_pid_max),
            [true, true, true, false, false, false, false, false]
        );
    }
}
