//! Configuration of the system (/etc) as commands see it.
//!
//! Other users than root get /etc itself, read-only: its file modes decide. Root can read all of
//! it, so root's commands get a copy of the world-readable files. Mounting masks over the rest
//! would fail: a file that is replaced outside, as passwd(1) does with /etc/shadow, loses its mask.
#![expect(
    clippy::disallowed_methods,
    reason = "the system's own configuration, read before any command runs"
)]

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use replay_sys::{self as sys, MountAttributes};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, readlinkat,
    sendfile, symlinkat, unlinkat,
};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use super::fault::{Fault, StepContext};
use super::mount::{clone_tree, directory, read_only, set};
use super::plan::Network;

/// Most that is copied of /etc, in bytes.
const MAX_ETC_BYTES: u64 = 32 * 1024 * 1024;
/// Largest file that is copied of /etc, in bytes.
const MAX_ETC_FILE_BYTES: u64 = 1024 * 1024;
/// Deepest directory that is copied of /etc.
const MAX_ETC_DEPTH: usize = 16;

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Source of /etc in the view.
pub(crate) enum EtcSource {
    Mount(OwnedFd),
    /// The world-readable files of /etc, to be copied.
    Copy(OwnedFd),
}

impl EtcSource {
    /// Chooses the source: a copy for root, the mount for other users.
    pub(crate) fn choose() -> Result<Self, Fault> {
        if rustix::process::geteuid().is_root() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            return openat(CWD, "/etc", flags, Mode::empty())
                .step("open /etc")
                .map(Self::Copy);
        }
        clone_tree(Path::new("/etc"))
            .step("mount /etc")
            .map(Self::Mount)
    }

    /// Puts /etc below the new root, which has no mounts yet, and then applies `changes`. A forked
    /// child, which is returned, makes the copy while this process continues. It has no additional
    /// capabilities.
    pub(crate) fn put(
        &self,
        root: &OwnedFd,
        changes: &dyn Fn(&OwnedFd) -> Result<(), Fault>,
    ) -> Result<Option<Pid>, Fault> {
        directory(root, Path::new("etc"))?;
        match self {
            Self::Mount(tree) => {
                move_mount(
                    tree,
                    "",
                    root,
                    "etc",
                    MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
                )
                .step("mount /etc")?;
                set(tree, read_only(), true).step("mount /etc")?;
                changes(root).map(|()| None)
            }
            Self::Copy(from) => {
                // Without later mounts of this process below it, where a name could lead into an
                // allowed directory.
                let flags = OpenTreeFlags::OPEN_TREE_CLONE
                    | OpenTreeFlags::OPEN_TREE_CLOEXEC
                    | OpenTreeFlags::AT_EMPTY_PATH;
                let root = open_tree(root, "", flags).step("copy /etc")?;
                let to = open_dir(&root, Path::new("etc")).step("open /etc")?;
                let Some(copying) = sys::fork().step("fork")? else {
                    let mut room = MAX_ETC_BYTES;
                    copy(from, &to, &mut room, MAX_ETC_DEPTH);
                    sys::exit_now(i32::from(changes(&root).is_err()));
                };
                Ok(Some(copying))
            }
        }
    }
}

/// Waits until the copy is complete.
pub(crate) fn wait_for_copy(copying: Pid) -> Result<(), Fault> {
    match waitpid(copying, None) {
        Ok(WaitStatus::Exited(_, 0)) => Ok(()),
        _ => Err(Fault::because(
            "copy /etc",
            "the files about the system could not be written",
        )),
    }
}

fn open_dir(at: &OwnedFd, name: &Path) -> rustix::io::Result<OwnedFd> {
    openat(
        at,
        name,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Copies world-readable files. A file that cannot be copied is missing, which is safe.
fn copy(from: &OwnedFd, to: &OwnedFd, room: &mut u64, depth: usize) {
    let Ok(entries) = Dir::read_from(from) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match entry.file_type() {
            FileType::Symlink => {
                if let Ok(target) = readlinkat(from, name, Vec::new()) {
                    let _ = symlinkat(target, to, name);
                }
            }
            FileType::Directory if depth > 0 => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let Ok(below) = openat(from, name, flags, Mode::empty()) else {
                    continue;
                };
                if !is_public(&below, 0o005)
                    || mkdirat(to, name, Mode::from_raw_mode(0o755)).is_err()
                {
                    continue;
                }
                if let Ok(made) = openat(to, name, flags, Mode::empty()) {
                    copy(&below, &made, room, depth - 1);
                }
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let Ok(file) = openat(from, name, flags, Mode::empty()) else {
                    continue;
                };
                if is_public(&file, 0o004) {
                    copy_file(&file, to, name, room);
                }
            }
            _ => {}
        }
    }
}

fn is_public(file: &OwnedFd, bits: u32) -> bool {
    fstat(file).is_ok_and(|stat| stat.st_mode & bits == bits)
}

fn copy_file(file: &OwnedFd, to: &OwnedFd, name: &std::ffi::CStr, room: &mut u64) {
    let Ok(stat) = fstat(file) else { return };
    let bytes = stat.st_size.cast_unsigned();
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile
        || bytes > MAX_ETC_FILE_BYTES.min(*room)
    {
        return;
    }
    *room -= bytes;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let Ok(copy) = openat(to, name, flags, Mode::from_raw_mode(0o644)) else {
        return;
    };
    let mut left = bytes as usize;
    while left > 0 {
        match sendfile(&copy, file, None, left) {
            Ok(0) | Err(_) => break,
            Ok(sent) => left -= sent,
        }
    }
    if left > 0 {
        let _ = unlinkat(to, name, AtFlags::empty());
    } else if stat.st_mode & 0o111 != 0 {
        let _ = fchmod(&copy, Mode::from_raw_mode(0o755));
    }
}

/// Opens the system's resolv.conf and returns its path, if it lies outside /etc. Commands on the
/// system's network need it at the same path.
pub(crate) fn resolver(network: Network) -> Option<(PathBuf, OwnedFd)> {
    if network != Network::Host {
        return None;
    }
    let place = resolver_path()?;
    let tree = clone_tree(&place).ok()?;
    Some((place, tree))
}

/// Path of the system's resolv.conf, if it lies outside /etc.
pub(crate) fn resolver_path() -> Option<PathBuf> {
    std::fs::canonicalize(RESOLV_CONF)
        .ok()
        .filter(|place| !place.starts_with("/etc"))
}

/// Replaces resolv.conf with `text`, which names no reachable server.
pub(crate) fn no_resolver(root: &OwnedFd, text: &str) -> Result<(), Fault> {
    let step = "put a resolv.conf";
    let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(root, "run/resolv.conf", flags, Mode::from_raw_mode(0o644)).step(step)?;
    rustix::io::write(&file, text.as_bytes()).step(step)?;
    let Ok(stat) = rustix::fs::statat(root, "etc/resolv.conf", AtFlags::SYMLINK_NOFOLLOW) else {
        return Ok(());
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            replace(root, "etc/resolv.conf", "run/resolv.conf", text.as_bytes()).step(step)
        }
        // The target of a symlink out of /etc does not exist here, so the text is written to the
        // target.
        FileType::Symlink => {
            let target = readlinkat(root, "etc/resolv.conf", Vec::new()).step(step)?;
            let target =
                Path::new("/etc").join(std::ffi::OsStr::new(target.to_str().unwrap_or_default()));
            let mut place = PathBuf::new();
            for part in target.components() {
                match part {
                    std::path::Component::ParentDir => drop(place.pop()),
                    std::path::Component::Normal(name) => place.push(name),
                    _ => {}
                }
            }
            if place.starts_with("etc") || place.as_os_str().is_empty() {
                return Ok(());
            }
            directory(root, place.parent().unwrap_or(Path::new("")))?;
            let file = openat(root, &place, flags, Mode::from_raw_mode(0o644)).step(step)?;
            rustix::io::write(&file, text.as_bytes())
                .step(step)
                .map(drop)
        }
        _ => Ok(()),
    }
}

/// Names that the hosts file of commands with network rules maps to their loopback.
pub fn own_host_names() -> [String; 2] {
    let system = rustix::system::uname();
    let machine = system.nodename().to_string_lossy().into_owned();
    ["localhost".to_owned(), machine]
}

/// Writes a hosts file with only the names of this machine.
pub(crate) fn own_names(root: &OwnedFd) -> Result<(), Fault> {
    let names = own_host_names().join(" ");
    let text = format!("127.0.0.1 {names}\n::1 localhost\n");
    replace(root, "etc/hosts", "run/hosts", text.as_bytes()).step("put a hosts")
}

/// Writes a passwd entry with `home` and an existing shell, for programs that ignore HOME.
pub(crate) fn own_entry(root: &OwnedFd, home: &str) -> Result<(), Fault> {
    let step = "put a passwd";
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(root, "etc/passwd", flags, Mode::empty()) else {
        return Ok(());
    };
    let stat = fstat(&file).step(step)?;
    let bytes = stat.st_size.cast_unsigned();
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || bytes > MAX_ETC_FILE_BYTES
    {
        return Ok(());
    }
    let mut passwd = Vec::new();
    File::from(file)
        .take(MAX_ETC_FILE_BYTES)
        .read_to_end(&mut passwd)
        .step(step)?;
    let (user, group) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    replace(
        root,
        "etc/passwd",
        "run/passwd",
        &at_home(&passwd, user, group, home),
    )
    .step(step)
}

/// Returns passwd(5) contents in which this user's home is `home`. A missing user is added.
fn at_home(passwd: &[u8], user: u32, group: u32, home: &str) -> Vec<u8> {
    let own = user.to_string();
    let mut text = Vec::with_capacity(passwd.len() + 128);
    let mut is_known = false;
    for line in passwd
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        if let [name, password, number, group, about, _, _] = fields[..]
            && number == own.as_bytes()
        {
            is_known = true;
            text.extend(
                [
                    name,
                    password,
                    number,
                    group,
                    about,
                    home.as_bytes(),
                    b"/bin/sh",
                ]
                .join(&b':'),
            );
        } else {
            text.extend(line);
        }
        text.push(b'\n');
    }
    if !is_known {
        text.extend(format!("replay:x:{user}:{group}::{home}:/bin/sh\n").into_bytes());
    }
    text
}

/// Replaces the contents of the file `name` below the new root. A copied file is overwritten. A
/// mounted one is covered by a bind mount of `spare`, which is created.
fn replace(root: &OwnedFd, name: &str, spare: &str, text: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(own) = openat(root, name, flags, Mode::empty()) {
        return File::from(own).write_all(text);
    }
    let made = openat(
        root,
        spare,
        flags | OFlags::CREATE,
        Mode::from_raw_mode(0o644),
    )?;
    File::from(made).write_all(text)?;
    let tree = open_tree(
        root,
        spare,
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC,
    )?;
    move_mount(
        &tree,
        "",
        root,
        name,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )?;
    set(&tree, MountAttributes::READ_ONLY, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn passwd_change_affects_only_own_entry() {
        let passwd =
            b"root:x:0:0:root:/root:/bin/bash\nme:x:1000:100:caf\xe9,,:/home/me:/usr/bin/fish\nodd:1000\n+::::::\n";
        let told = |user, text: &[u8]| at_home(text, user, 7, "/home/replay");
        let expected =
            b"root:x:0:0:root:/root:/bin/bash\nme:x:1000:100:caf\xe9,,:/home/replay:/bin/sh\nodd:1000\n+::::::\n";
        assert_eq!(told(1000, passwd), expected);
        // A different user ID with the same prefix; and a last line without a newline.
        let expected = b"ten:x:10:10::/ten:/bin/sh\nreplay:x:1:7::/home/replay:/bin/sh\n";
        assert_eq!(told(1, b"ten:x:10:10::/ten:/bin/sh"), expected);
        assert_eq!(told(1, b""), b"replay:x:1:7::/home/replay:/bin/sh\n");
    }
}
