//! The launcher's own user, mount, ipc and network namespaces, shared by all commands of a server.

use std::io::Write as _;
use std::os::fd::OwnedFd;

use nix::sys::wait::{WaitStatus, waitpid};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, socketpair};
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags};

use super::fault::{Fault, Step};
use super::plan::Network;
use super::sys::{self, SingleThread};

/// Enters the namespaces. From here on this process has all powers inside them and none outside.
pub fn enter(alone: &SingleThread, network: Network) -> Result<(), Fault> {
    let powers = rustix::thread::capabilities(None).step("capget")?.effective;
    if powers.contains(CapabilitySet::SETUID | CapabilitySet::SETGID) {
        enter_with_all_ids(alone)?;
    } else {
        enter_with_own_id()?;
    }
    let mut rest = UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if network != Network::Host {
        rest |= UnshareFlags::NEWNET;
    }
    sys::unshare(rest).step("unshare mount, ipc and network namespaces")?;
    if network == Network::Loopback {
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None).step("socket")?;
        sys::loopback_up(&socket).step("switch the loopback device on")?;
    }
    Ok(())
}

/// A user namespace in which this user is the only one (`user_namespaces(7)`): what everybody may make.
fn enter_with_own_id() -> Result<(), Fault> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    sys::unshare(UnshareFlags::NEWUSER).step("unshare the user namespace")?;
    write("setgroups", "deny")?;
    write("uid_map", &format!("{user} {user} 1"))?;
    write("gid_map", &format!("{group} {group} 1"))
}

/// A user namespace in which everybody is who they are outside: root's commands meet files of others and may give files
/// to others. The map has to be written from outside, by a copy of this process.
fn enter_with_all_ids(alone: &SingleThread) -> Result<(), Fault> {
    let maps = [("uid_map", read("uid_map")?), ("gid_map", read("gid_map")?)];
    let (here, there) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).step("socketpair")?;
    let parent = rustix::process::getpid().as_raw_nonzero();
    let Some(copy) = sys::fork(alone).step("fork")? else {
        drop(here);
        let written = await_turn(&there) && maps.iter().all(|(name, map)| write_of(parent.get(), name, map).is_ok());
        sys::exit_now(i32::from(!written));
    };
    drop(there);
    sys::unshare(UnshareFlags::NEWUSER).step("unshare the user namespace")?;
    rustix::io::write(&here, b"x").step("user namespace")?;
    match waitpid(copy, None) {
        Ok(WaitStatus::Exited(_, 0)) => Ok(()),
        _ => Err(Fault::because("write the maps of the user namespace", "the kernel did not take them")),
    }
}

fn await_turn(socket: &OwnedFd) -> bool {
    matches!(rustix::io::read(socket, &mut [0; 1]), Ok(1))
}

/// A map of the namespace that this process is in, as one that maps everybody in it to themselves.
fn read(name: &str) -> Result<String, Fault> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let text = std::fs::read_to_string(format!("/proc/self/{name}")).step_with(|| format!("read {name}"))?;
    let lines = text.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (first, count) = (fields.next()?, fields.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    });
    Ok(lines.collect())
}

fn write(name: &str, text: &str) -> Result<(), Fault> {
    write_of(rustix::process::getpid().as_raw_nonzero().get(), name, text).step_with(|| format!("write {name}"))
}

/// In one call, as the kernel wants it.
fn write_of(process: i32, name: &str, text: &str) -> std::io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    std::fs::File::options().write(true).open(format!("/proc/{process}/{name}"))?.write_all(text.as_bytes())
}
