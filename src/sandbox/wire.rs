//! Wire protocol between the server, the launcher and the supervisor of one command.
//!
//! Server and launcher share a stream socket. A frame is a length (four bytes, little endian) and
//! JSON; descriptors travel with the first byte. The server sends a [`Plan`](super::Plan) and the
//! launcher answers with one [`Hello`]. Then the server sends a [`Request`] for each command and
//! receives nothing more on this socket. End of stream means that the server is gone.
//!
//! A request carries one end of a socket (`SOCK_SEQPACKET`) to the command's supervisor. The server
//! sends the orders below on it; each packet of the supervisor is one [`Event`] as JSON. The
//! supervisor ends the command when the server's end closes.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use replay_base::limits::{MAX_FRAME_BYTES, MAX_ORDER_BYTES};
use replay_files::journal::AutorunChanges;
use replay_sys::seccomp::send_marked;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::denied::Denied;
use super::fault::Fault;
use super::plan::CanonicalPath;
use super::port_sockets::HeldSocket;
use super::raw_string::RawString;
use super::seccomp::MARK;

/// Longest packet of a supervisor, in bytes: as many refusals as one tells of, every byte of their
/// paths as a number.
const MAX_PACKET_BYTES: usize = 64 * 1024;
/// Longest packet about one call over the network, in bytes.
const MAX_SHORT_PACKET_BYTES: usize = 1024;

/// Server to supervisor: sends a terminating signal to all processes of the command. One byte
/// follows with its number: SIGTERM, SIGINT, SIGHUP or SIGQUIT.
pub const TERMINATE: u8 = b'T';
/// Server to supervisor: sends SIGKILL to all processes of the command.
pub const KILL: u8 = b'K';
/// Server to supervisor: sends SIGINT to all processes of the command, which may survive it.
/// Ignored before the program runs.
pub const INTERRUPT: u8 = b'I';
/// Server to supervisor: requests the program's status. Eight bytes follow, a number (little
/// endian) that [`Event::Status`] repeats. Of several pending requests, the supervisor may answer
/// only the highest.
pub const STATUS: u8 = b'S';
/// Server to supervisor: ends the current journal entry. A number follows, as with [`STATUS`], then
/// the title of the next entry in UTF-8.
pub const ACCOUNT: u8 = b'A';
/// Server to supervisor: asks which of these sockets the command holds. Up to
/// [`MAX_ASKED_SOCKETS`](super::port_sockets::MAX_ASKED_SOCKETS) inode numbers of eight bytes (little
/// endian) follow. A socket is attached, on which the supervisor answers once.
pub const PORTS: u8 = b'L';
/// Longest answer to [`PORTS`], in bytes.
const MAX_HELD_BYTES: usize = 4096;
/// Most descriptors in one message.
const MAX_FDS: usize = 7;

/// The launcher's answer to the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hello {
    /// The walls stand. If the plan asks for a trial, a trivial command ran inside them. If commands
    /// have a loopback of their own, two descriptors are attached: a netlink socket for its listening
    /// ports, and a channel for sockets ([`super::port_sockets`]).
    Ready {
        /// HOME of commands, if it is a private one.
        home: Option<RawString>,
        /// TMPDIR of commands, if it is a private one.
        tmp: Option<RawString>,
        /// Version of the Landlock interface; `None` if it is not used.
        landlock_abi: Option<u32>,
        /// Memory limit mechanism; `None` if memory is not limited.
        memory: Option<MemoryHold>,
        /// Cgroup of the server in the view of commands; `None` without a view.
        cgroup: Option<CgroupView>,
        /// Gaps of this tier on this system, one line each.
        gaps: Vec<String>,
    },
    /// The walls cannot be built.
    Cannot {
        /// The failed step and the kernel's error.
        reason: String,
    },
}

/// The server's own cgroup in the view of commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupView {
    /// Commands see it, read-only.
    Shown,
    /// Commands see no cgroup.
    Missing { reason: String },
}

impl CgroupView {
    /// Returns the state after a mount or its failure.
    pub(crate) fn of(mount: &Result<OwnedFd, String>) -> Self {
        match mount {
            Ok(_) => Self::Shown,
            Err(reason) => Self::Missing {
                reason: reason.clone(),
            },
        }
    }
}

/// Mechanism that limits the memory of commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryHold {
    /// The kernel: each command has a cgroup.
    Cgroup {
        /// `true` if the cgroups also limit the number of processes of all commands.
        processes: bool,
    },
    /// Periodic polling of the command's processes.
    Watch {
        /// Reason for the missing cgroup.
        reason: String,
    },
}

/// Program or shell script that a command runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    /// A program (an absolute path) and its arguments.
    Program(Vec<RawString>),
    /// A program name, looked up on the PATH of commands, and its arguments.
    Named(Vec<RawString>),
    /// A script for the shell that SHELL of the plan's environment names. It is not passed as an
    /// argument if commands of others can read arguments.
    Script(RawString),
}

/// One command. Its descriptors, in order:
///
/// - the supervisor's end of the command's socket
/// - the descriptors of its [`Intercept`]
/// - without a terminal: standard input (if `stdin`), output and error
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Request {
    pub run: Run,
    /// The working directory: a readable place below an allowed directory.
    pub dir: CanonicalPath,
    /// Variables to add to the plan's, or to replace there.
    pub environment: Vec<(RawString, RawString)>,
    /// `true` if a descriptor for standard input is attached; otherwise standard input is
    /// `/dev/null`.
    pub stdin: bool,
    /// Rows and columns of the terminal for all three streams, if any. [`Event::Started`] returns
    /// the terminal's master side.
    pub terminal: Option<(u16, u16)>,
    /// `true` if the server wants [`Event::Started`].
    pub announce: bool,
    /// `true` if the program is resident and mostly idle. Changes that other commands cause
    /// meanwhile are not attributed to it.
    pub stays: bool,
    /// Interception of its network calls, if any.
    pub intercept: Option<Intercept>,
    /// Paths that are read-only from this command on, in addition to those of the plan.
    pub guard: Guard,
    /// Title of its journal entry. Existing journal entry of the same call, which this command
    /// continues.
    pub title: String,
    /// Existing journal entry of the same call, which this command continues.
    pub call: Option<u64>,
    /// `true` for a dry run: the command changes nothing, and [`Event::WouldChange`] reports the
    /// changes it would have made.
    pub is_dry_run: bool,
}

/// Paths in read-write directories that the server found after the plan was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// Protected paths, as in the plan.
    pub protected: Vec<RawString>,
    /// Paths that are read-only if they exist when a command starts. Programs outside replace these
    /// files, so a different file later is not attributed to a command.
    pub pinned: Vec<RawString>,
}

/// Placeholder for the port at which the server receives connections of the command. The supervisor
/// replaces it in the values of the request's variables.
pub const PROXY_PORT: &str = "{proxy port}";

/// Connections that the supervisor makes for the server, in the command's network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dial {
    #[default]
    Never,
    /// Connections that the server requests.
    Wanted,
    /// Connections that the server requests. The server allows every connection, so the interceptor
    /// also connects to servers of this machine without asking.
    Ahead,
}

/// Interception of a command's network calls. It carries the supervisor's end of a socket
/// ([`super::intercept`]), and, if `bundle`, an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intercept {
    pub dial: Dial,
    /// `true` if other machines can reach servers that the command starts, in the system's network.
    /// Otherwise its sockets are bound to the loopback device.
    pub open: bool,
    /// `true` if a certificate bundle is attached. It replaces the system's bundle where a command
    /// has its own root.
    pub bundle: bool,
    /// `true` if no call is redirected: the command only learns the port of a TCP proxy socket.
    pub proxy_only: bool,
}

/// Exit status of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Exit code (0 to 255).
    Code(i32),
    /// Number of the signal that ended the program.
    Signal(i32),
}

/// Resource usage of a program and number of its processes, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vitals {
    /// State of the program's first thread, as a letter of proc(5) (`/proc/PID/stat`): `R` runs,
    /// `S` and `D` wait, `T` is stopped, `Z` has ended. With `Z`, all fields but `processes` are 0.
    pub state: char,
    /// Resident memory of the program, in bytes.
    pub rss_bytes: u64,
    /// User and system time of all its threads, in milliseconds. The kernel counts it in ticks,
    /// usually 100 per second.
    pub cpu_ms: u64,
    /// User and system time of its reaped children and their descendants, in milliseconds.
    pub children_cpu_ms: u64,
    /// Number of threads of the program.
    pub threads: u32,
    /// Number of live processes: the program and its descendants. At most
    /// [`replay_base::limits::MAX_COUNTED_PROCESSES`], and fewer if counting takes longer than
    /// [`replay_base::limits::COUNTING_MS`].
    pub processes: u32,
}

/// Message of a supervisor. The last one is [`Event::Refused`], [`Event::Broken`] or
/// [`Event::Ended`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The program runs. The terminal's master side is attached, if there is a terminal.
    Started,
    /// To the supervisor only: the seccomp listener of the program is attached. The supervisor
    /// acknowledges with one byte.
    Listens,
    /// Status of the program.
    Status {
        number: u64,
        /// `None` if /proc cannot be read.
        vitals: Option<Vitals>,
    },
    /// Changes that the program made since the previous request.
    Accounted {
        number: u64,
        changed: Option<Changed>,
        /// Refusals of the walls since the previous request, without duplicates.
        denied: Vec<Denied>,
    },
    /// Result of a dry run, sent before the last event. A file with a [`super::DryRunReport`] is
    /// attached.
    WouldChange,
    /// The program was not started.
    Refused { step: String, cause: Cause },
    /// The supervisor ended the program because it could not follow it. The program may have begun.
    Broken { step: String, cause: Cause },
    /// The program and all its descendants have ended.
    Ended {
        exit: Exit,
        /// Number of processes that outlived the program and that the supervisor ended.
        left: u32,
        /// Refusals of the walls, without duplicates.
        denied: Vec<Denied>,
        /// Changes of the program, if any.
        changed: Option<Changed>,
    },
}

/// Changes in the allowed directories by a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// Number of the journal entry. `None` if nothing was recorded, or the command reverted its
    /// changes.
    pub call: Option<u64>,
    /// Reason for changes that could not be recorded.
    pub fault: Option<String>,
    /// Changed files that programs outside run. The server fills this in.
    #[serde(skip)]
    pub settled: AutorunChanges,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// A kernel error number, see errno(3).
    Errno(i32),
    /// A reason other than a kernel error.
    Reason(String),
}

impl From<Cause> for io::Error {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Errno(errno) => Self::from_raw_os_error(errno),
            Cause::Reason(reason) => Self::other(reason),
        }
    }
}

impl Event {
    /// Builds [`Event::Refused`]: the program was not started.
    pub fn refused(fault: &Fault) -> Self {
        Self::failed(fault, false)
    }

    /// Builds [`Event::Broken`] if the program may have begun, else [`Event::Refused`].
    pub fn failed(fault: &Fault, may_have_begun: bool) -> Self {
        let cause = fault
            .cause
            .raw_os_error()
            .map_or_else(|| Cause::Reason(fault.cause.to_string()), Cause::Errno);
        let step = fault.step.clone();
        if may_have_begun {
            Self::Broken { step, cause }
        } else {
            Self::Refused { step, cause }
        }
    }
}

impl Request {
    /// Returns true if the supervisor inspects the command's system calls for network access.
    pub fn intercepts_calls(&self) -> bool {
        self.intercept
            .is_some_and(|intercept| !intercept.proxy_only)
    }

    /// Returns a copy of the request with `port` in place of [`PROXY_PORT`].
    #[must_use]
    pub fn with_proxy_port(&self, port: u16) -> Self {
        let mut request = self.clone();
        for (_, value) in &mut request.environment {
            if let Some(text) = value.0.to_str().filter(|text| text.contains(PROXY_PORT)) {
                *value = text.replace(PROXY_PORT, &port.to_string()).as_str().into();
            }
        }
        request
    }
}

/// Sends one frame; `fds` go with its first byte.
pub fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    send_up_to(socket, message, fds, MAX_FRAME_BYTES)
}

/// Sends one frame of a limited size; `fds` go with its first byte.
pub fn send_up_to<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    fds: &[BorrowedFd<'_>],
    most: usize,
) -> io::Result<()> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > most {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("a frame of {length} bytes is too long"),
        ));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    let mut sent = send_some(&socket, &frame, fds)?;
    while sent < frame.len() {
        sent += send_some(&socket, &frame[sent..], &[])?;
    }
    Ok(())
}

/// Receives one frame; `None` at the end of the stream.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut length = [0; 4];
    let (mut got, fds) = receive_some(&socket, &mut length)?;
    if got == 0 {
        return Ok(None);
    }
    while got < 4 {
        got += receive_rest(&socket, &mut length[got..])?;
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_ORDER_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a frame of {length} bytes is too long"),
        ));
    }
    let mut body = vec![0; length];
    let mut got = 0;
    while got < length {
        got += receive_rest(&socket, &mut body[got..])?;
    }
    Ok(Some((serde_json::from_slice(&body)?, fds)))
}

/// Sends one packet, with at most one descriptor.
pub fn send_event(socket: impl AsFd, event: &Event, fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    send_packet(socket, event, fd.as_slice())
}

/// Sends [`Event::Listens`] with the listener, past the program's own seccomp filter.
pub fn send_listener(socket: impl AsFd, listener: BorrowedFd<'_>) -> io::Result<()> {
    send_marked(
        socket.as_fd(),
        &serde_json::to_vec(&Event::Listens)?,
        listener,
        MARK,
    )
}

/// Sends one packet.
///
/// On a nonblocking socket, fails with [`io::ErrorKind::WouldBlock`] if there is no room.
pub fn send_packet<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let packet = serde_json::to_vec(message)?;
    if !fds.is_empty() {
        return send_some(&socket, &packet, fds).map(drop);
    }
    // If the supervisor inspects the sender's messages, it may not have the listener yet.
    loop {
        match rustix::net::send(&socket, &packet, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            result => return Ok(result.map(drop)?),
        }
    }
}

/// Sends an order with one descriptor.
pub(crate) fn send_order(socket: impl AsFd, order: &[u8], fd: BorrowedFd<'_>) -> io::Result<()> {
    send_some(&socket, order, &[fd]).map(drop)
}

/// Receives an order with its descriptor, if any, without waiting.
pub(crate) fn receive_order(
    socket: impl AsFd,
    order: &mut [u8],
) -> io::Result<(usize, Option<OwnedFd>)> {
    let (got, mut fds) = receive_with(&socket, order, RecvFlags::DONTWAIT)?;
    Ok((got, fds.pop()))
}

/// Answers [`PORTS`]. The answer is dropped if the server does not read.
pub(crate) fn send_held(socket: impl AsFd, held: &[HeldSocket]) {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let _ = serde_json::to_vec(held).map(|packet| rustix::net::send(&socket, &packet, flags));
}

/// Receives the answer to [`PORTS`]; `None` if the supervisor is gone.
pub(crate) fn receive_held(socket: impl AsFd) -> io::Result<Option<Vec<HeldSocket>>> {
    Ok(receive_into(socket, &mut [0; MAX_HELD_BYTES])?.map(|(held, _)| held))
}

/// Receives one packet; `None` if the other end is closed.
///
/// On a nonblocking socket, fails with [`io::ErrorKind::WouldBlock`] if there is no packet.
pub fn receive_event(socket: impl AsFd) -> io::Result<Option<(Event, Option<OwnedFd>)>> {
    Ok(receive_into(socket, &mut vec![0; MAX_PACKET_BYTES])?
        .map(|(event, mut fds)| (event, fds.pop())))
}

/// Receives one short packet, like [`receive_event`].
pub fn receive_packet<T: DeserializeOwned>(
    socket: impl AsFd,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    receive_into(socket, &mut [0; MAX_SHORT_PACKET_BYTES])
}

fn receive_into<T: DeserializeOwned>(
    socket: impl AsFd,
    packet: &mut [u8],
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let (got, fds) = receive_some(&socket, packet)?;
    if got == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&packet[..got])?, fds)))
}

fn send_some(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::NOBUFS.into());
    }
    loop {
        match sendmsg(
            &socket,
            &[io::IoSlice::new(bytes)],
            &mut ancillary,
            SendFlags::NOSIGNAL,
        ) {
            Err(Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

fn receive_some(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    receive_with(socket, buffer, RecvFlags::empty())
}

fn receive_with(
    socket: impl AsFd,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut into = [io::IoSliceMut::new(buffer)];
        match recvmsg(
            &socket,
            &mut into,
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC | flags,
        ) {
            Err(Errno::INTR) => {}
            result => break result?,
        }
    };
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    Ok((received.bytes, fds))
}

fn receive_rest(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    match receive_some(socket, buffer)?.0 {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        got => Ok(got),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use pretty_assertions::assert_eq;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap()
    }

    #[test]
    fn frame_carries_bytes_and_descriptors() {
        let (here, there) = pair(SocketType::STREAM);
        let (read, write) = rustix::pipe::pipe().unwrap();
        let line = RawString(OsString::from_vec(b"caf\xe9 \x01".to_vec()));
        let request = Request {
            run: Run::Script(line),
            dir: CanonicalPath {
                path: "/src".into(),
                dev: 1,
                ino: u64::MAX,
            },
            environment: vec![("A".into(), "b".into())],
            stdin: false,
            terminal: Some((24, 80)),
            announce: true,
            stays: false,
            intercept: Some(Intercept {
                dial: Dial::Ahead,
                open: false,
                bundle: true,
                proxy_only: false,
            }),
            guard: Guard {
                protected: vec!["/src/.git/hooks".into()],
                pinned: vec!["/src/.git/config".into()],
            },
            title: "execute_command: true".into(),
            call: Some(7),
            is_dry_run: false,
        };
        send(&here, &request, &[write.as_fd()]).unwrap();
        send(&here, &Event::Started, &[]).unwrap();
        let (got, fds) = receive::<Request>(&there).unwrap().unwrap();
        assert_eq!((&got, fds.len()), (&request, 1));
        let told = Request {
            environment: vec![("A".into(), "http://h:{proxy port}/".into())],
            ..request
        };
        assert_eq!(
            told.with_proxy_port(80).environment,
            [("A".into(), "http://h:80/".into())]
        );
        rustix::io::write(&fds[0], b"x").unwrap();
        assert_eq!(rustix::io::read(&read, &mut [0; 8]).unwrap(), 1);
        assert_eq!(receive::<Event>(&there).unwrap().unwrap().0, Event::Started);
        drop(here);
        assert!(receive::<Event>(&there).unwrap().is_none());
    }

    #[test]
    fn packet_carries_one_event() {
        let (here, there) = pair(SocketType::SEQPACKET);
        let denied = vec![Denied::Metadata("/etc".into())];
        let ended = Event::Ended {
            exit: Exit::Code(3),
            left: 2,
            denied,
            changed: Some(Changed::default()),
        };
        send_event(&there, &Event::Started, Some(there.as_fd())).unwrap();
        send_event(&there, &ended, None).unwrap();
        let (first, fd) = receive_event(&here).unwrap().unwrap();
        assert_eq!((first, fd.is_some()), (Event::Started, true));
        assert_eq!(receive_event(&here).unwrap().unwrap().0, ended);
        // The listener travels past the filter that inspects messages.
        send_listener(&there, there.as_fd()).unwrap();
        let (listens, fd) = receive_event(&here).unwrap().unwrap();
        assert_eq!((listens, fd.is_some()), (Event::Listens, true));
    }

    #[test]
    fn overlong_frame_is_refused_before_read() {
        let (here, there) = pair(SocketType::STREAM);
        rustix::io::write(&here, &u32::MAX.to_le_bytes()).unwrap();
        let error = receive::<Event>(&there).unwrap_err();
        assert_eq!(error.to_string(), "a frame of 4294967295 bytes is too long");
    }
}
