//! The outer half: things that attempts are after, and whether anything happened to them.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use replay_sys::attack::ipc;
use rustix::fs::{CWD, FileType, Mode, XattrFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::processes::HELD_DESCRIPTOR;
use super::stage::Stage;
use super::stage::identity;

/// Usual socket paths of a machine's services.
const SERVICES: [&str; 14] = [
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/journal/socket",
    "/run/systemd/userdb/io.systemd.Multiplexer",
    "/run/snapd.socket",
    "/run/cups/cups.sock",
    "/run/nscd/socket",
    "/run/postgresql/.s.PGSQL.5432",
    "/run/mysqld/mysqld.sock",
    "/tmp/.X11-unix/X0",
    "/run/user/1000/bus",
];

/// Files, sockets, messages and processes that no command may touch. Dropping it removes all of
/// them but the files.
#[derive(Debug)]
pub struct Victims {
    stage: Stage,
    before: BTreeMap<PathBuf, Facts>,
    processes: Vec<Child>,
    streams: Vec<UnixListener>,
    datagrams: Vec<UnixDatagram>,
    tcp: Vec<TcpListener>,
    udp: UdpSocket,
    queue: Option<OwnedFd>,
    pipe: File,
    terminal: Option<OwnedFd>,
}

/// Properties of a file, by name, read without changing it.
type Facts = BTreeMap<&'static str, String>;

impl Victims {
    /// Lays everything out in an empty directory, as `user` and `group` if this is root and the
    /// commands will not be. The paths of it must be text.
    pub fn lay_out(base: &Path, owner: Option<(u32, u32)>) -> io::Result<Self> {
        let nonce = format!("{:x}-{}", identity(base)?.1, std::process::id());
        let canary = format!("canary-{nonce}");
        let mut stage = Stage {
            outside: base.join("beyond"),
            rw: base.join("rw"),
            rw2: base.join("rw2"),
            ro: base.join("ro"),
            canary: canary.clone(),
            root: identity(Path::new("/"))?,
            above: identity(&base.join(".."))?,
            network: namespace("net"),
            processes: namespace("pid"),
            devices: Vec::new(),
            disks: disks(),
            services: SERVICES
                .iter()
                .map(PathBuf::from)
                .filter(|path| is_socket(path))
                .collect(),
            memory: Path::new("/dev/shm").join(format!("replay-probe-{nonce}")),
            abstract_stream: format!("replay-probe-{nonce}"),
            abstract_datagrams: format!("replay-probe-{nonce}-datagrams"),
            nonce,
            ..Stage::default()
        };
        files(&stage)?;
        let streams = vec![
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&stage.abstract_stream)?)?,
            UnixListener::bind(stage.beyond("socket"))?,
            UnixListener::bind(stage.ro.join("socket"))?,
            UnixListener::bind(stage.rw.join("socket-of-outsider"))?,
        ];
        let datagrams = vec![
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&stage.abstract_datagrams)?)?,
            UnixDatagram::bind(stage.beyond("datagrams"))?,
            UnixDatagram::bind(stage.ro.join("datagrams"))?,
        ];
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let mut tcp = vec![TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?];
        (stage.tcp, stage.udp) = (tcp[0].local_addr()?.port(), udp.local_addr()?.port());
        if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
            stage.tcp6 = Some(listener.local_addr()?.port());
            tcp.push(listener);
        }
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(stage.beyond("pipe"))?;
        fs::write(&stage.memory, &canary)?;
        stage.segment = ipc::make_segment(canary.as_bytes(), 0o600)?;
        let flags = i64::from(libc::IPC_CREAT | 0o600);
        stage.messages = replay_sys::attack::msgget(libc::IPC_PRIVATE.into(), flags)? as i32;
        stage.semaphores = replay_sys::attack::semget(libc::IPC_PRIVATE.into(), 1, flags)? as i32;
        let name = format!("/replay-probe-{}", stage.nonce);
        let queue = ipc::open_queue(&text(&name), true).ok();
        stage.queue = queue.is_some().then_some(name);
        let terminal = terminal(&mut stage).ok();
        let mut victims = Self {
            before: BTreeMap::new(),
            processes: Vec::new(),
            streams,
            datagrams,
            tcp,
            udp,
            queue,
            pipe,
            terminal,
            stage,
        };
        if let Some(owner) = owner {
            victims.give_to(base, owner)?;
        }
        set_uid_programs(&mut victims.stage);
        victims.start(owner)?;
        victims.unblock()?;
        victims.before = victims.look()?;
        Ok(victims)
    }

    /// Returns the parameters of the inner half. `server` is the process that asks for the command,
    /// `launcher` the one that starts it, if that is known.
    pub fn stage(&self, server: u32, launcher: Option<u32>) -> Stage {
        Stage {
            server: server.cast_signed(),
            launcher: launcher.map(u32::cast_signed),
            ..self.stage.clone()
        }
    }

    fn give_to(&self, base: &Path, owner: (u32, u32)) -> io::Result<()> {
        let (user, group) = (Some(owner.0), Some(owner.1));
        for path in walk(base)? {
            std::os::unix::fs::lchown(path, user, group)?;
        }
        chown(&self.stage.memory, user, group)?;
        if let Some(terminal) = &self.stage.terminal {
            chown(terminal, user, group)?;
        }
        if let Some(queue) = &self.queue {
            std::os::unix::fs::fchown(queue, user, group)?;
        }
        ipc::give(
            self.stage.segment,
            self.stage.messages,
            self.stage.semaphores,
            owner,
        )
    }

    fn start(&mut self, owner: Option<(u32, u32)>) -> io::Result<()> {
        for _ in 0..2 {
            let mut command = Command::new("/bin/sh");
            let script = format!("exec {HELD_DESCRIPTOR}<\"$1\"; echo; read x");
            command
                .args(["-c", &script, "sh"])
                .arg(self.stage.beyond("secret"))
                .arg(&self.stage.canary);
            command
                .env_clear()
                .env("REPLAY_PROBE", &self.stage.canary)
                .current_dir(&self.stage.outside);
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            if let Some((user, group)) = owner {
                command.uid(user).gid(group);
            }
            let mut child = command.spawn()?;
            // It says when the descriptor is there.
            if let Some(stdout) = &mut child.stdout {
                stdout.read_exact(&mut [0])?;
            }
            self.processes.push(child);
        }
        self.stage.victim = self.processes[0].id().cast_signed();
        self.stage.target = self.processes[1].id().cast_signed();
        let maps =
            fs::read_to_string(format!("/proc/{}/maps", self.stage.victim)).unwrap_or_default();
        let start = maps.split('-').next().unwrap_or_default();
        self.stage.address = u64::from_str_radix(start, 16).unwrap_or(0);
        Ok(())
    }

    fn unblock(&self) -> io::Result<()> {
        self.streams
            .iter()
            .try_for_each(|socket| socket.set_nonblocking(true))?;
        self.datagrams
            .iter()
            .try_for_each(|socket| socket.set_nonblocking(true))?;
        self.tcp
            .iter()
            .try_for_each(|socket| socket.set_nonblocking(true))?;
        self.udp.set_nonblocking(true)
    }

    /// Everything that may not change, as it is now.
    fn look(&self) -> io::Result<BTreeMap<PathBuf, Facts>> {
        let mut found = BTreeMap::new();
        let mut paths = walk(&self.stage.outside)?;
        paths.extend(walk(&self.stage.ro)?);
        paths.push(self.stage.memory.clone());
        for path in paths {
            let facts = facts(&path)?;
            found.insert(path, facts);
        }
        Ok(found)
    }

    /// Returns the damage to the victims, one line each; empty if there is none. With `network`
    /// they may have been reached over TCP and UDP.
    pub fn damage(&mut self, network: bool) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        let now = self.look()?;
        for (path, before) in &self.before {
            let Some(now) = now.get(path) else {
                found.push(format!("{} is gone", path.display()));
                continue;
            };
            for (what, value) in before {
                if now.get(what) != Some(value) {
                    let now = now.get(what).map_or("nothing", String::as_str);
                    found.push(format!(
                        "{}: {what} was {value} and is {now}",
                        path.display()
                    ));
                }
            }
        }
        found.extend(
            now.keys()
                .filter(|path| !self.before.contains_key(*path))
                .map(|p| format!("{} is new", p.display())),
        );
        for (number, child) in self.processes.iter_mut().enumerate() {
            if let Some(status) = child.try_wait()? {
                found.push(format!("bystander {} was ended: {status}", number + 1));
            }
        }
        found.extend(self.heard(network));
        let left = PathBuf::from("/").join(format!("replay-probe-{}", self.stage.nonce));
        if fs::symlink_metadata(&left).is_ok() {
            found.push(format!("{} is new", left.display()));
        }
        Ok(found)
    }

    /// Returns descriptions of messages that reached the sockets and queues.
    fn heard(&mut self, network: bool) -> Vec<String> {
        let mut found = Vec::new();
        let mut bytes = [0; 64];
        for socket in &self.streams {
            if socket.accept().is_ok() {
                found.push(format!("a connection came at {:?}", socket.local_addr()));
            }
        }
        for socket in &self.datagrams {
            if socket.recv(&mut bytes).is_ok() {
                found.push(format!("a datagram came at {:?}", socket.local_addr()));
            }
        }
        if !network {
            let tcp = self.tcp.iter().any(|socket| socket.accept().is_ok());
            found.extend(tcp.then(|| "a TCP connection came".to_owned()));
            found.extend(
                self.udp
                    .recv(&mut bytes)
                    .is_ok()
                    .then(|| "a UDP datagram came".to_owned()),
            );
        }
        if self.pipe.read(&mut bytes).is_ok_and(|length| length > 0) {
            found.push("bytes came through the pipe".to_owned());
        }
        if ipc::waiting_messages(self.stage.messages).is_ok_and(|count| count > 0) {
            found.push("a System V message came".to_owned());
        }
        if self
            .queue
            .as_ref()
            .is_some_and(|queue| ipc::waiting_in_queue(queue.as_fd()).is_ok_and(|count| count > 0))
        {
            found.push("a POSIX message came".to_owned());
        }
        let terminal = self.terminal.as_ref();
        if terminal.is_some_and(|master| {
            rustix::io::read(master, &mut bytes[..]).is_ok_and(|length| length > 0)
        }) {
            found.push("something was written to the terminal".to_owned());
        }
        if ipc::read_segment(self.stage.segment).map_or(true, |bytes| {
            !bytes.starts_with(self.stage.canary.as_bytes())
        }) {
            found.push("the System V memory was changed".to_owned());
        }
        found
    }
}

impl Drop for Victims {
    fn drop(&mut self) {
        for child in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
        ipc::remove(
            self.stage.segment,
            self.stage.messages,
            self.stage.semaphores,
        );
        if let Some(name) = &self.stage.queue {
            ipc::remove_queue(&text(name));
        }
        let _ = fs::remove_file(&self.stage.memory);
    }
}

fn files(stage: &Stage) -> io::Result<()> {
    for dir in [
        &stage.rw,
        &stage.rw2,
        &stage.ro,
        &stage.beyond("keys"),
        &stage.beyond("empty"),
    ] {
        fs::create_dir_all(dir)?;
    }
    for name in [
        "secret",
        "keys/id",
        "written",
        "truncated",
        "removed",
        "linked",
        "moved",
        "exchanged",
        "attributed",
    ] {
        fs::write(stage.beyond(name), &stage.canary)?;
    }
    fs::set_permissions(stage.beyond("keys/id"), fs::Permissions::from_mode(0o600))?;
    fs::write(stage.ro.join("file"), "read-only")?;
    symlink("/etc/hostname", stage.beyond("link-victim"))?;
    rustix::fs::mknodat(
        CWD,
        stage.beyond("pipe"),
        FileType::Fifo,
        Mode::from_raw_mode(0o600),
        0,
    )?;
    for path in [stage.beyond("attributed"), stage.ro.join("file")] {
        // Not every filesystem has attributes; the attempts say so then.
        let _ = rustix::fs::setxattr(
            path,
            "user.victim",
            stage.canary.as_bytes(),
            XattrFlags::empty(),
        );
    }
    Ok(())
}

/// A pseudoterminal of which this process keeps the other side.
fn terminal(stage: &mut Stage) -> io::Result<OwnedFd> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    rustix::io::ioctl_fionbio(&master, true)?;
    let name = ptsname(&master, Vec::new())?;
    stage.terminal = Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.as_bytes())));
    Ok(master)
}

/// Programs that would give rights to who starts them; only root can make them, and what fails is
/// left out.
fn set_uid_programs(stage: &mut Stage) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (id, cat) = (
        stage.ro.join("set-user-id"),
        stage.ro.join("with-capabilities"),
    );
    if fs::copy("/usr/bin/id", &id)
        .and_then(|_| fs::set_permissions(&id, fs::Permissions::from_mode(0o4755)))
        .is_ok()
    {
        stage.set_uid = Some(id);
    }
    // struct vfs_cap_data of revision 2 with the effective bit, capabilities(7): CAP_SYS_ADMIN and
    // CAP_DAC_READ_SEARCH.
    let mut capability = [0; 20];
    capability[..4].copy_from_slice(&0x0200_0001u32.to_le_bytes());
    capability[4..8].copy_from_slice(&(1u32 << 21 | 1 << 2).to_le_bytes());
    let named = fs::copy("/bin/cat", &cat).is_ok()
        && rustix::fs::setxattr(
            &cat,
            "security.capability",
            &capability,
            XattrFlags::empty(),
        )
        .is_ok();
    stage.capable = named.then_some(cat);
}

/// Everything below a directory, itself included, without following links.
fn walk(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![root.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            for entry in fs::read_dir(&path)? {
                found.push(entry?.path());
            }
        }
        next += 1;
    }
    Ok(found)
}

fn facts(path: &Path) -> io::Result<Facts> {
    let metadata = fs::symlink_metadata(path)?;
    let contents = match metadata.file_type() {
        kind if kind.is_file() && metadata.len() <= 1 << 16 => {
            fs::read(path)?.escape_ascii().to_string()
        }
        kind if kind.is_symlink() => fs::read_link(path)?.display().to_string(),
        _ => String::new(),
    };
    let mut names = [0; 1024];
    let length = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    Ok(BTreeMap::from([
        ("mode", format!("{:o}", metadata.mode())),
        ("owner", format!("{}:{}", metadata.uid(), metadata.gid())),
        ("size", metadata.size().to_string()),
        ("links", metadata.nlink().to_string()),
        ("inode", metadata.ino().to_string()),
        (
            "time of change",
            format!("{}.{:09}", metadata.mtime(), metadata.mtime_nsec()),
        ),
        // Changes with every change of the others, also one that was undone.
        (
            "time of status change",
            format!("{}.{:09}", metadata.ctime(), metadata.ctime_nsec()),
        ),
        ("contents", contents),
        ("attributes", names[..length].escape_ascii().to_string()),
    ]))
}

fn namespace(kind: &str) -> String {
    let link = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap_or_default();
    link.to_string_lossy().into_owned()
}

fn disks() -> Vec<PathBuf> {
    let names = fs::read_dir("/sys/class/block")
        .into_iter()
        .flatten()
        .flatten();
    let paths = names.map(|entry| Path::new("/dev").join(entry.file_name()));
    paths
        .filter(|path| {
            fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
        })
        .collect()
}

fn is_socket(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// Names are made here and have no NUL.
fn text(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}
