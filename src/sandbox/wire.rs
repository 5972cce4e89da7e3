//! How the server, the launcher and the supervisor of one command speak with each other.
//!
//! Server and launcher share a stream socket: frames of a length (four bytes, little endian) and
//! JSON, descriptors with the first byte. The server sends a [`Plan`](super::Plan), the launcher
//! answers with one [`Hello`], then the server sends a [`Request`] for each command and hears
//! nothing more there: its end means that the server is gone.
//!
//! With a request goes one end of a socket (`SOCK_SEQPACKET`) to the command's supervisor: the
//! words below go one way, each packet the other way is one [`Event`] as JSON. When the server's
//! end closes, the command is ended.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::denied::Denied;
use super::fault::Fault;
use super::plan::Place;
use super::raw_string::RawString;
use super::sys::seccomp::send_marked;
use crate::journal::Settled;
use crate::limits::{MAX_FRAME_BYTES, MAX_ORDER_BYTES, MAX_PACKET_BYTES, MAX_SHORT_PACKET_BYTES};

/// Server to supervisor: a signal that asks everything of the command to end. Its number follows,
/// one byte: SIGTERM, SIGINT, SIGHUP or SIGQUIT.
pub const TERMINATE: u8 = b'T';
/// Server to supervisor: SIGKILL to everything of the command.
pub const KILL: u8 = b'K';
/// Server to supervisor: SIGINT to everything of the command, which is all; it may live on. Said
/// before the program runs it means nothing.
pub const INTERRUPT: u8 = b'I';
/// Server to supervisor: how is the program? Eight bytes follow, a number (little endian) that
/// comes back with [`Event::Status`]. Of questions close together only the highest may be answered.
pub const STATUS: u8 = b'S';
/// Ends the entry of the journal. With it come a number, as with [`STATUS`], and what the next
/// entry is called, in UTF-8.
pub const ACCOUNT: u8 = b'A';
/// Most descriptors in one message.
const MAX_FDS: usize = 7;

/// The launcher's answer to the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hello {
    /// The walls stand, and a trivial command ran inside them, if the plan says so.
    Ready {
        /// HOME of commands, if it is a private one.
        home: Option<RawString>,
        /// TMPDIR of commands, if it is a private one.
        tmp: Option<RawString>,
        /// Version of the Landlock interface; `None` if it is not used.
        landlock_abi: Option<u32>,
        /// What holds commands to their memory; `None` if it is not limited.
        memory: Option<MemoryHold>,
        /// What this tier leaves open on this system, a line each.
        gaps: Vec<String>,
    },
    /// The walls cannot be built.
    Cannot {
        /// What was tried and what the kernel said.
        reason: String,
    },
}

/// What holds commands to their memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryHold {
    /// The kernel: each command has a cgroup.
    Cgroup {
        /// Whether that holds the number of processes of all commands, too.
        processes: bool,
    },
    /// A look at its processes now and then.
    Watch {
        /// Why there is no cgroup.
        reason: String,
    },
}

/// What a command is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    /// A program (an absolute path) and its arguments.
    Program(Vec<RawString>),
    /// The same by a name that is looked for on the PATH of commands.
    Named(Vec<RawString>),
    /// A text for the shell that SHELL of the plan's environment names. Where commands of others
    /// can read arguments, it is not among them.
    Script(RawString),
}

/// One command. With it go the supervisor's end of the command's socket, what its [`Intercept`]
/// speaks of, and then, unless it gets a terminal, its standard input (if `stdin`), output and
/// error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Request {
    pub run: Run,
    /// The working directory: a readable place below an allowed directory.
    pub dir: Place,
    /// Variables beside, or instead of, those of the plan.
    pub environment: Vec<(RawString, RawString)>,
    /// Whether a descriptor for standard input comes with it; otherwise it is `/dev/null`.
    pub stdin: bool,
    /// Rows and columns of the terminal that all three streams shall be. Its other side comes back
    /// with [`Event::Started`].
    pub terminal: Option<(u16, u16)>,
    /// Whether the server wants to hear [`Event::Started`].
    pub announce: bool,
    /// Whether the program stays, and mostly waits: what commands do meanwhile is not its doing.
    pub stays: bool,
    /// Whether its calls over the network are intercepted, and how.
    pub intercept: Option<Intercept>,
    /// Paths that are read-only from this command on, beside those of the plan.
    pub guard: Guard,
    /// What its entry in the journal is called.
    pub title: String,
    /// The entry that its call has made before, with which it goes on.
    pub call: Option<u64>,
    /// Whether it only runs dry: it changes nothing, and [`Event::WouldChange`] says what it would
    /// have changed.
    pub is_dry_run: bool,
}

/// Paths in read-write directories that the server found after the plan was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// As those of the plan.
    pub protected: Vec<RawString>,
    /// Read-only as far as they are there when a command starts. Programs outside replace them, so
    /// that another file there later is no sign of a command.
    pub pinned: Vec<RawString>,
}

/// What stands for a port that is known only where the command is.
pub const PROXY_PORT: &str = "{proxy port}";

/// Which connections are made for the server from where a command is, as far as its network
/// reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dial {
    #[default]
    Never,
    /// Those that it wants.
    Wanted,
    /// Where the server lets all pass: those to this machine too, before it has heard of them.
    Ahead,
}

/// How the calls of a command over the network are intercepted. With it go the supervisor's end of
/// a socket ([`super::intercept`]), and then, if `bundle`, an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intercept {
    pub dial: Dial,
    /// Whether servers that the command starts can be reached from other machines, if its network
    /// is that of the system. Otherwise none of its sockets knows anything but the loopback device.
    pub open: bool,
    /// Whether certificates come with it that take the place of the system's, where a command has a
    /// root of its own.
    pub bundle: bool,
    /// Nothing is turned: the command is only told of the socket for TCP. In the values of the
    /// request's variables [`PROXY_PORT`] stands for its port.
    pub proxy_only: bool,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code (0 to 255).
    Code(i32),
    /// A signal with this number ended it.
    Signal(i32),
}

/// A program and what it has started, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vitals {
    /// The state of the program's first thread, as a letter of proc(5) (`/proc/PID/stat`): `R`
    /// runs, `S` and `D` wait, `T` is stopped, `Z` has ended. With `Z` all else but the processes
    /// is 0.
    pub state: char,
    /// Memory of the program that is resident, in bytes.
    pub rss_bytes: u64,
    /// Processor time of all its threads, for itself and in the kernel for it, in milliseconds. It
    /// counts in ticks, of which mostly 100 make a second.
    pub cpu_ms: u64,
    /// The same of its children that have ended and were waited for, and theirs, in milliseconds.
    pub children_cpu_ms: u64,
    /// Threads of the program.
    pub threads: u32,
    /// The program and everything that it has started and that is there, no more than
    /// [`crate::limits::MAX_COUNTED_PROCESSES`], and fewer if it takes longer than
    /// [`crate::limits::COUNTING_MS`] to find them.
    pub processes: u32,
}

/// What a supervisor says. Its last word is [`Event::Refused`], [`Event::Broken`] or
/// [`Event::Ended`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The program runs. The terminal's other side comes with it, if there is one.
    Started,
    /// To the supervisor alone: the listener of the program's calls comes with it, and a byte is to
    /// come back.
    Listens,
    /// How the program is.
    Status {
        number: u64,
        /// `None` if /proc does not tell.
        vitals: Option<Vitals>,
    },
    /// What the program changed until it was asked, since it was asked before.
    Accounted {
        number: u64,
        changed: Option<Changed>,
        /// Refusals of the walls since it was asked before, each once.
        denied: Vec<Denied>,
    },
    /// Of a dry run, before its last words: a file with a [`super::DryRunReport`] comes with it.
    WouldChange,
    /// The program was not started.
    Refused { step: String, cause: Cause },
    /// The program was ended because it could not be followed; it may have begun.
    Broken { step: String, cause: Cause },
    /// The program has ended, and so has everything that it had started.
    Ended {
        exit: Exit,
        /// How many processes were still there when the program ended, and were ended.
        left: u32,
        /// What the walls refused to it, each thing once.
        denied: Vec<Denied>,
        /// What it changed, if it changed something.
        changed: Option<Changed>,
    },
}

/// That a command changed something in the allowed directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The number of the entry in the journal; `None` if nothing could be noted, or all is again as
    /// it was before the call.
    pub call: Option<u64>,
    /// Why something could not be noted.
    pub fault: Option<String>,
    /// What of it runs outside. The server finds that.
    #[serde(skip)]
    pub settled: Settled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// What the kernel said, a number of errno(3).
    Errno(i32),
    /// A reason that is not the kernel's.
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
    /// That a program was not started for this reason.
    pub fn refused(fault: &Fault) -> Self {
        Self::failed(fault, false)
    }

    /// The same, or, if it may have begun, that it was ended for this reason.
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
    /// Whether the command's system calls are looked at for what they call over the network.
    pub fn intercepts_calls(&self) -> bool {
        self.intercept
            .is_some_and(|intercept| !intercept.proxy_only)
    }

    /// The same request with a port in the place of [`PROXY_PORT`].
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

/// The same, of at most so many bytes.
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

/// Sends [`Event::Listens`] with the listener, past the filter that the listener is asked by.
pub fn send_listener(socket: impl AsFd, listener: BorrowedFd<'_>) -> io::Result<()> {
    send_marked(
        socket.as_fd(),
        &serde_json::to_vec(&Event::Listens)?,
        listener,
    )
}

/// Sends one packet of anything.
///
/// On a socket that does not block, [`io::ErrorKind::WouldBlock`] when there is no room.
pub fn send_packet<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let packet = serde_json::to_vec(message)?;
    if !fds.is_empty() {
        return send_some(&socket, &packet, fds).map(drop);
    }
    // Whose messages are looked at by its supervisor may have none yet.
    loop {
        match rustix::net::send(&socket, &packet, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            result => return Ok(result.map(drop)?),
        }
    }
}

/// Receives one packet; `None` when the other end is closed.
///
/// On a socket that does not block, [`io::ErrorKind::WouldBlock`] when there is none.
pub fn receive_event(socket: impl AsFd) -> io::Result<Option<(Event, Option<OwnedFd>)>> {
    Ok(receive_into(socket, &mut vec![0; MAX_PACKET_BYTES])?
        .map(|(event, mut fds)| (event, fds.pop())))
}

/// Receives one packet of anything short, as [`receive_event`] does.
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
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut into = [io::IoSliceMut::new(buffer)];
        match recvmsg(&socket, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
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
    fn frames_carry_bytes_and_descriptors() {
        let (here, there) = pair(SocketType::STREAM);
        let (read, write) = rustix::pipe::pipe().unwrap();
        let line = RawString(OsString::from_vec(b"caf\xe9 \x01".to_vec()));
        let request = Request {
            run: Run::Script(line),
            dir: Place {
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
    fn packets_carry_one_event_each() {
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
        // As a listener travels, past what looks at messages.
        send_listener(&there, there.as_fd()).unwrap();
        let (listens, fd) = receive_event(&here).unwrap().unwrap();
        assert_eq!((listens, fd.is_some()), (Event::Listens, true));
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_it_is_read() {
        let (here, there) = pair(SocketType::STREAM);
        rustix::io::write(&here, &u32::MAX.to_le_bytes()).unwrap();
        let error = receive::<Event>(&there).unwrap_err();
        assert_eq!(error.to_string(), "a frame of 4294967295 bytes is too long");
    }
}
