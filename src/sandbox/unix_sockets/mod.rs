//! Connections of commands to unix(7) sockets.
//!
//! A program outside acts for whoever connects to it. So commands connect to two kinds of sockets:
//! those that commands of this server listen with, and those that the operator allows
//! (`--allow-socket`).
//!
//! The kernel asks about connect(2). It would read the address again if the call went on. So the
//! supervisor connects itself, with its own copy of the address, on a descriptor of the same socket
//! (`pidfd_getfd(2)`). It opens the file first, looks the file up in a table ([`table`]) that all
//! supervisors share, and connects to that file, whatever name it has then.
//!
//! A socket enters the table when a command listens with it. bind(2) and listen(2) go on as the
//! kernel has them. In between the supervisor proves that the file at the bound name is the file of
//! this socket. It connects to the file, and accepts that connection at the socket. A file that
//! another thread put in the place does not pass. One that is older than the call of bind(2) is not
//! even connected to.
//!
//! The filter refuses unix sockets for datagrams: they send to any name without connecting.
#![expect(
    clippy::disallowed_methods,
    reason = "opens what the command named, in its place"
)]

mod owners;
mod table;

use std::collections::HashMap;
use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat, openat};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrAny, SocketAddrUnix, SocketFlags, accept_with,
    connect, listen, recv, send, socket_with,
};

use replay_base::limits::MAX_DENIED;
use replay_sys::seccomp::{Notification, let_go_on, respond, still_valid};
use replay_sys::sockets::address;
use replay_sys::time_limit::limited;
use rustix::time::{ClockId, clock_gettime};

use super::caller::{Caller, CallerMemory, CallerPath, NameIn, link, path_of};
use super::descriptors::at_most;
use super::intercept::call::{Network, Span, decode};
use super::intercept::{CallerDescriptor, LastCaller, MAX_ADDRESS_BYTES};
use super::opens::waiting::{Completed, Waiting};
pub(crate) use owners::SocketOwners;
pub(crate) use table::{Owner, SocketFiles};
use table::{Slot, SocketFile, nanoseconds};

/// Sockets that one command may listen with, and sockets that it has bound before it listens.
const MAX_LISTENING: usize = 128;
/// `sizeof(sa_family_t)`: a path stands behind it.
const FAMILY_BYTES: usize = 2;
/// `sizeof(struct sockaddr_un)`.
const UNIX_ADDRESS_BYTES: usize = 110;

/// Serves connect(2), bind(2) and listen(2) of one command.
#[derive(Debug)]
pub struct UnixSockets {
    files: Arc<SocketFiles>,
    owner: Owner,
    /// By the inode number of the socket.
    bound: HashMap<u64, BoundSocket>,
    listening: HashMap<u64, ListeningSocket>,
    last_caller: LastCaller,
    waiting: Waiting,
    /// Files of refused connections that nobody has been told of.
    refused: Vec<PathBuf>,
}

/// Socket file that a bind(2) creates.
#[derive(Debug)]
struct BoundSocket {
    dir: OwnedFd,
    name: OsString,
    /// Time of the call, on the clock of inodes.
    asked_ns: u64,
    /// Thread of the call.
    thread: u32,
    /// The file, once it is there. It may get another name before listen(2).
    file: Option<OwnedFd>,
}

impl BoundSocket {
    fn open(&self) -> Result<OwnedFd, Errno> {
        openat(
            &self.dir,
            &self.name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )
    }

    /// Returns the proven file of the socket: the one that appeared first under the bound name, or
    /// the one that has the name now.
    fn file_of(mut self, socket: &OwnedFd) -> Option<(OwnedFd, SocketFile)> {
        let first = self.file.take();
        let now = self.open().ok();
        first.into_iter().chain(now).find_map(|file| {
            let id = SocketFile::of(&file).ok()?;
            let is_proven =
                !id.is_older_than(self.asked_ns) && is_file_of(socket, &file).unwrap_or(false);
            is_proven.then_some((file, id))
        })
    }
}

#[derive(Debug)]
struct ListeningSocket {
    slot: Slot,
    /// Keeps the inode number taken.
    file: OwnedFd,
}

/// A call that was read.
struct SocketCall {
    socket: CallerDescriptor,
    family: AddressFamily,
    /// Bytes of the address in the caller's memory.
    address: Vec<u8>,
    /// The path of the address, if it is a unix socket's and has one.
    path: Option<CallerPath>,
}

/// Answer to a call.
enum ConnectAnswer {
    Value(i64),
    GoOn,
    /// A thread answers.
    Later,
}

impl UnixSockets {
    pub fn new(files: Arc<SocketFiles>, owner: Owner) -> Self {
        Self {
            files,
            owner,
            bound: HashMap::new(),
            listening: HashMap::new(),
            last_caller: LastCaller::default(),
            waiting: Waiting::default(),
            refused: Vec::new(),
        }
    }

    /// Answers a call. `None` if it is another call, or one that `is_intercepted` and about a
    /// socket of IP.
    pub fn serve(
        &mut self,
        listener: &Arc<OwnedFd>,
        asked: &Notification,
        is_intercepted: bool,
    ) -> Option<io::Result<()>> {
        let call = decode(asked.nr, &asked.args)?;
        let (Network::Connect { socket, .. }
        | Network::Bind { socket, .. }
        | Network::Listen { socket, .. }) = call
        else {
            return None;
        };
        let asking = self.read_call(asked, call, socket);
        let is_unix = |asking: &SocketCall| asking.family == AddressFamily::UNIX;
        let is_other = |asking: &SocketCall| {
            ![AddressFamily::INET, AddressFamily::INET6].contains(&asking.family)
        };
        if is_intercepted && !asking.as_ref().is_ok_and(is_other) {
            return None;
        }
        let is_connect = matches!(call, Network::Connect { .. });
        let answer = match asking {
            // Whether bind(2) and listen(2) go on decides nothing.
            Err(Errno::PERM | Errno::ACCESS) if !is_connect => Ok(ConnectAnswer::GoOn),
            Err(errno) => Err(errno),
            Ok(_) if !still_valid(listener, asked.id) => Err(Errno::SRCH),
            Ok(asking) if is_connect => self.connect(listener, asked, asking),
            Ok(asking) if !is_unix(&asking) => Ok(ConnectAnswer::GoOn),
            Ok(SocketCall {
                socket,
                path: Some(path),
                ..
            }) => self.bind(asked.pid, &socket, &path),
            Ok(SocketCall { socket, .. }) if matches!(call, Network::Listen { .. }) => {
                self.listen(&socket)
            }
            Ok(_) => Ok(ConnectAnswer::GoOn),
        };
        Some(match answer {
            Ok(ConnectAnswer::Later) => Ok(()),
            Ok(ConnectAnswer::GoOn) => let_go_on(listener, asked.id),
            Ok(ConnectAnswer::Value(value)) => respond(listener, asked.id, Ok(value)),
            Err(errno) => respond(listener, asked.id, Err(errno.raw_os_error())),
        })
    }

    /// Returns the files of refused connections since the last call, each once.
    pub fn take_refused(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.refused)
    }

    /// Returns true if [`UnixSockets::look`] has work to do now and then.
    pub fn has_to_look(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Looks after connections that wait.
    pub fn look(&mut self, listener: &OwnedFd) {
        self.waiting.look(listener);
    }

    /// Reads all that a call means. It is the caller's only if the caller still waits afterwards.
    fn read_call(
        &mut self,
        asked: &Notification,
        call: Network,
        socket: i32,
    ) -> Result<SocketCall, Errno> {
        let socket = self.last_caller.fetch(asked.pid, socket)?;
        let family = socket_domain(&socket)?;
        let (Network::Connect { to, .. } | Network::Bind { to, .. }) = call else {
            return Ok(SocketCall {
                socket,
                family,
                address: Vec::new(),
                path: None,
            });
        };
        let address = read(asked, to)?;
        let path = if family == AddressFamily::UNIX {
            path(&address)?
        } else {
            None
        };
        let caller = Caller::new(asked.pid);
        let path = path.map(|path| caller.path_from_here(path)).transpose()?;
        Ok(SocketCall {
            socket,
            family,
            address,
            path,
        })
    }

    fn connect(
        &mut self,
        listener: &Arc<OwnedFd>,
        asked: &Notification,
        asking: SocketCall,
    ) -> Result<ConnectAnswer, Errno> {
        let SocketCall {
            socket,
            address: bytes,
            path,
            ..
        } = asking;
        let Some(path) = path else {
            return self.connect_to(
                listener,
                asked,
                &socket,
                address(&bytes).ok_or(Errno::INVAL)?,
                None,
            );
        };
        let file = Caller::new(asked.pid).find(&path, true)?.object()?;
        let is_socket = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::Socket;
        if is_socket && !self.files.holds(SocketFile::of(&file)?) {
            self.note_refused(path_of(&file)?);
            return Err(Errno::CONNREFUSED);
        }
        let to = SocketAddrUnix::new(link(&file))?.into();
        self.connect_to(listener, asked, &socket, to, Some(file))
    }

    /// Connects, on a thread if it takes time. `file` stays open until then.
    fn connect_to(
        &mut self,
        listener: &Arc<OwnedFd>,
        asked: &Notification,
        socket: &CallerDescriptor,
        to: SocketAddrAny,
        file: Option<OwnedFd>,
    ) -> Result<ConnectAnswer, Errno> {
        let flags = fcntl_getfl(socket)?;
        let waits = !flags.contains(OFlags::NONBLOCK);
        // Another thread of the caller may change the flag meanwhile.
        let attempt = || limited(|| connect(socket, &to));
        if waits {
            // The flag is the open file's, so the caller's too, for a moment in which it waits for
            // this call.
            fcntl_setfl(socket, flags | OFlags::NONBLOCK)?;
        }
        let mut done = attempt();
        if waits && matches!(done, Err(Errno::INPROGRESS)) {
            // On this machine it mostly is done by now. Asked again, the kernel says how it went.
            done = attempt();
        }
        if waits {
            fcntl_setfl(socket, flags)?;
        }
        match done {
            Ok(()) => return Ok(ConnectAnswer::Value(0)),
            Err(Errno::INTR) => {}
            // Of a unix socket whose queue is full, the third.
            Err(Errno::INPROGRESS | Errno::ALREADY | Errno::AGAIN) if waits => {}
            Err(errno) => return Err(errno),
        }
        // Another thread may not drop the caller's descriptor.
        let socket = socket.try_clone().map_err(|_| Errno::MFILE)?;
        let work = move || {
            let _open = &file;
            connect(&socket, &to).map(|()| Completed::Value(0))
        };
        self.waiting.begin(listener, asked, work)?;
        Ok(ConnectAnswer::Later)
    }

    /// Remembers where the file of a socket will be.
    fn bind(
        &mut self,
        thread: u32,
        socket: &OwnedFd,
        path: &CallerPath,
    ) -> Result<ConnectAnswer, Errno> {
        // The kernel says what is wrong with it.
        let Ok(NameIn { dir, name }) = Caller::new(thread).find_above(path) else {
            return Ok(ConnectAnswer::GoOn);
        };
        if self.bound.len() >= at_most(MAX_LISTENING, 16) {
            self.bound.clear();
        }
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let asked_ns = nanoseconds(now.tv_sec, now.tv_nsec.cast_unsigned());
        self.bound.insert(
            fstat(socket)?.st_ino,
            BoundSocket {
                dir,
                name,
                asked_ns,
                thread,
                file: None,
            },
        );
        Ok(ConnectAnswer::GoOn)
    }

    /// Opens the files that bind(2) has made since the last call. Any next call may rename them.
    pub fn open_bound(&mut self, asking: u32) {
        self.bound.retain(|_, bound| {
            if bound.file.is_none() {
                bound.file = bound.open().ok();
            }
            // A thread that calls again has ended its call of bind(2), which failed without a file.
            bound.file.is_some() || bound.thread != asking
        });
    }

    /// Adds the file of a socket to the table.
    fn listen(&mut self, socket: &OwnedFd) -> Result<ConnectAnswer, Errno> {
        let number = fstat(socket)?.st_ino;
        let bound = self.bound.remove(&number);
        let Some((file, id)) = bound.and_then(|bound| bound.file_of(socket)) else {
            return Ok(ConnectAnswer::GoOn);
        };
        let most = at_most(MAX_LISTENING, 16);
        if self.listening.len() >= most {
            self.forget_deleted();
        }
        if self.listening.len() >= most {
            return Err(Errno::NOBUFS);
        }
        let slot = self.files.add(self.owner, id)?;
        // The kernel refuses a second bind(2), or a closed socket had this number.
        if let Some(before) = self
            .listening
            .insert(number, ListeningSocket { slot, file })
        {
            self.files.remove(before.slot);
        }
        Ok(ConnectAnswer::GoOn)
    }

    /// Removes files without a name, which nobody finds any more.
    fn forget_deleted(&mut self) {
        let is_deleted = |_: &u64, listening: &mut ListeningSocket| {
            fstat(&listening.file).is_ok_and(|stat| stat.st_nlink == 0)
        };
        for (_, deleted) in self.listening.extract_if(is_deleted) {
            self.files.remove(deleted.slot);
        }
    }

    fn note_refused(&mut self, place: PathBuf) {
        if self.refused.len() < MAX_DENIED && !self.refused.contains(&place) {
            self.refused.push(place);
        }
    }
}

impl Drop for UnixSockets {
    fn drop(&mut self) {
        for (_, listening) in self.listening.drain() {
            self.files.remove(listening.slot);
        }
    }
}

/// Returns true if connections to this file arrive at this socket, which is bound. It listens
/// afterwards.
fn is_file_of(socket: &OwnedFd, file: &OwnedFd) -> Result<bool, Errno> {
    let close = SocketFlags::CLOEXEC;
    listen(socket, 1)?;
    let probe = socket_with(
        AddressFamily::UNIX,
        socket_type(socket)?,
        close | SocketFlags::NONBLOCK,
        None,
    )?;
    connect(&probe, &SocketAddrUnix::new(link(file))?)?;
    let flags = fcntl_getfl(socket)?;
    fcntl_setfl(socket, flags | OFlags::NONBLOCK)?;
    // Another thread of the caller may clear the flag, and accept the connection first.
    let accepted = limited(|| accept_with(socket, close));
    fcntl_setfl(socket, flags)?;
    let (accepted, nonce) = (
        accepted?,
        RandomState::new().build_hasher().finish().to_ne_bytes(),
    );
    send(&probe, &nonce, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
    let mut heard = [0; 8];
    let (got, _) = recv(&accepted, &mut heard, RecvFlags::DONTWAIT)?;
    Ok(got == nonce.len() && heard == nonce)
}

/// Reads an address out of the caller's memory.
fn read(asked: &Notification, span: Span) -> Result<Vec<u8>, Errno> {
    if span.length > MAX_ADDRESS_BYTES {
        return Err(Errno::INVAL);
    }
    CallerMemory::of(asked.pid).bytes(span.address, span.length as usize)
}

/// Returns the path of an address; `None` if it has none.
fn path(bytes: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
    let Some((family, path)) = bytes.split_at_checked(FAMILY_BYTES) else {
        return Ok(None);
    };
    let is_unix = family == (libc::AF_UNIX as libc::sa_family_t).to_ne_bytes();
    if !is_unix || path.first().is_none_or(|first| *first == 0) {
        return Ok(None);
    }
    if bytes.len() > UNIX_ADDRESS_BYTES {
        return Err(Errno::INVAL);
    }
    let end = path
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(path.len());
    Ok(Some(path[..end].to_vec()))
}
