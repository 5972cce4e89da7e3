//! The metadata broker of commands.
//!
//! Landlock does not mediate chmod(2), chown(2), utimensat(2), setxattr(2) and their like. Where no
//! namespaces are around a command, the filter hands such a call to the command's supervisor, which
//! carries it out itself or refuses it. It reads the path once, opens the object, looks where that
//! *descriptor* is, and changes what the descriptor stands for: between the look and the change
//! there is no name that somebody could put something else under. The kernel never goes on with the
//! caller's own call. Extended attributes are contents, so to read them goes the same way
//! (`xattr.rs`). In namespaces mounts do all that, and the broker is asked only where a
//! set-group-ID file could come of a call: what a path is no filter can tell.
//!
//! The supervisor runs as the same user, so it can do no more than the caller could; it must hold
//! no more capabilities either.

mod call;
mod caller;
mod xattr;

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use rustix::event::PollFlags;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags, chmodat, chownat, fstat,
    readlinkat, removexattr, setxattr, utimensat,
};
use rustix::io::Errno;
use rustix::path::DecInt;

use super::denied::{Denied, shown};
use super::intercept::Interceptor;
use super::intercept::call::decode as network;
use super::opens::{Opens, Places};
use super::supervisor_table::SupervisorLine;
use super::sys::seccomp::{Notification, let_go_on, receive, respond, still_valid};
use super::unix_sockets::UnixSockets;
use crate::hide::Hide;
use crate::limits::{MAX_DENIED, MAX_XATTR_NAME_BYTES, MAX_XATTR_VALUE_BYTES};
pub use call::{Call, Change, Object, Read, Times, decode};
use caller::links;
pub use caller::{Caller, link};

/// Bytes of `struct xattr_args` of `linux/xattr.h`: a pointer, a size and flags.
const XATTR_ARGS_BYTES: usize = 16;
/// The attribute whose setting changes the mode as well (acl(5)).
const ACCESS_CONTROL_LIST: &[u8] = b"system.posix_acl_access";
/// The most that the kernel takes for a structure that may grow.
const MAX_STRUCTURE_BYTES: u64 = 4096;

/// Who is told of calls before they are carried out.
pub trait Witness {
    /// Whether the call may go on. `None` if it is none of those that it is there for.
    fn note(&mut self, asked: &Notification) -> Option<Result<(), Errno>>;
}

/// Nobody, if there is none.
impl<W: Witness> Witness for Option<W> {
    fn note(&mut self, asked: &Notification) -> Option<Result<(), Errno>> {
        self.as_mut()?.note(asked)
    }
}

/// Serves the calls of one command.
#[derive(Debug)]
pub struct Broker {
    listener: Arc<OwnedFd>,
    /// Kept, since the way there is a good part of a call.
    links: Result<OwnedFd, Errno>,
    writable: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    denied: Vec<Denied>,
    interceptor: Option<Interceptor>,
    /// Links, renames and opens in the command's place.
    opens: Option<Opens>,
    unix_sockets: Option<UnixSockets>,
    /// Whether mounts decide what may be changed, and it only sees to what they cannot.
    is_in_view: bool,
    is_over: bool,
}

/// A change whose arguments have been read.
enum Ready {
    Mode(u32),
    Owner(Option<Uid>, Option<Gid>),
    Times(Timestamps),
    Set(CString, Vec<u8>, XattrFlags),
    Remove(CString),
}

impl Broker {
    /// A broker that reads the calls from `listener` (see `sys::seccomp::install_with_listener`)
    /// and lets change what lies at or below `writable`, but not at or below `read_only`; where
    /// both say something, the longer one counts, and of the same path that it is read-only.
    /// Attributes can be read of what lies at or below `readable`. All of them true paths.
    pub fn new(
        listener: OwnedFd,
        writable: Vec<PathBuf>,
        read_only: Vec<PathBuf>,
        readable: Vec<PathBuf>,
    ) -> Self {
        Self {
            listener: Arc::new(listener),
            links: links(),
            writable,
            read_only,
            readable,
            denied: Vec::new(),
            interceptor: None,
            opens: None,
            unix_sockets: None,
            is_in_view: false,
            is_over: false,
        }
    }

    /// A broker for a command in a root of its own.
    pub fn in_view(
        listener: OwnedFd,
        hide: Option<Arc<Hide>>,
        places: Places,
        line: Option<Rc<SupervisorLine>>,
    ) -> Self {
        let everywhere = || vec![PathBuf::from("/")];
        Self {
            is_in_view: true,
            opens: Some(Opens::new(hide, places, line)),
            ..Self::new(listener, everywhere(), Vec::new(), everywhere())
        }
    }

    /// The same with links and renames that it makes in the command's place.
    pub fn naming(self, places: Places) -> Self {
        let opens = Opens::new(None, places.within(self.writable.clone()), None);
        Self {
            opens: Some(opens),
            ..self
        }
    }

    /// The same with somebody who serves the calls over the network.
    pub fn with(self, interceptor: Interceptor) -> Self {
        Self {
            interceptor: Some(interceptor),
            ..self
        }
    }

    /// The same with somebody who makes connections to unix sockets.
    pub fn with_unix_sockets(self, unix_sockets: Option<UnixSockets>) -> Self {
        Self {
            unix_sockets,
            ..self
        }
    }

    /// Whether nobody is left who could make a call, as was seen when the last one was looked for:
    /// there is nothing to wait for.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What to wait for with poll(2): calls, whose `POLLHUP` stays ([`Broker::is_over`]), and
    /// whatever else there is. Not one behind the other: the kernel leaves who calls and who
    /// answers on one processor only where the listener itself is waited for.
    pub fn waits_for(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [
            Some(self.listener.as_fd()),
            self.interceptor.as_ref().map(AsFd::as_fd),
        ]
    }

    /// Answers a call that waits, by what poll(2) said of these; one that was given up meanwhile is
    /// no error. Does not block.
    pub fn serve(
        &mut self,
        [calls, rest]: [PollFlags; 2],
        witness: &mut dyn Witness,
    ) -> io::Result<()> {
        if let (Some(interceptor), false) = (&mut self.interceptor, rest.is_empty()) {
            interceptor.serve(&self.listener)?;
        }
        self.is_over = calls.contains(PollFlags::HUP);
        if calls.contains(PollFlags::IN) {
            self.serve_one(witness)
        } else {
            Ok(())
        }
    }

    /// Whether [`Broker::look`] has work to do now and then.
    pub fn has_to_look(&self) -> bool {
        self.interceptor
            .as_ref()
            .is_some_and(Interceptor::has_to_look)
            || self.opens.as_ref().is_some_and(Opens::has_to_look)
            || self
                .unix_sockets
                .as_ref()
                .is_some_and(UnixSockets::has_to_look)
    }

    /// Looks after calls that wait.
    pub fn look(&mut self) {
        if let Some(interceptor) = &mut self.interceptor {
            interceptor.look(&self.listener);
        }
        if let Some(opens) = &mut self.opens {
            opens.look(&self.listener);
        }
        if let Some(unix_sockets) = &mut self.unix_sockets {
            unix_sockets.look(&self.listener);
        }
    }

    /// The command is over.
    pub fn end(&mut self) {
        let kept: Vec<Denied> = self.opens.iter().flat_map(Opens::kept).collect();
        for denied in kept {
            self.record(denied);
        }
        if let Some(interceptor) = &mut self.interceptor {
            interceptor.end();
        }
    }

    /// Answers a call that waits. With nobody left, kernels before Linux 6.11 would wait for ever.
    fn serve_one(&mut self, witness: &mut dyn Witness) -> io::Result<()> {
        let gone = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        };
        let asked = match receive(&self.listener) {
            Ok(asked) => asked,
            Err(error) => return gone(error),
        };
        let noted = witness.note(&asked);
        if let Some(Err(errno)) = noted {
            return respond(&self.listener, asked.id, Err(errno.raw_os_error())).or_else(gone);
        }
        if let Some(opens) = &mut self.opens
            && let Some(served) = opens.serve(&self.listener, &asked)
        {
            for denied in opens.take_refused() {
                self.record(denied);
            }
            return served.or_else(gone);
        }
        if let Some(unix_sockets) = &mut self.unix_sockets
            && let Some(served) =
                unix_sockets.serve(&self.listener, &asked, self.interceptor.is_some())
        {
            for place in unix_sockets.take_refused() {
                self.record(Denied::Socket(shown(place)));
            }
            return served.or_else(gone);
        }
        if let (Some(interceptor), Some(call)) =
            (&mut self.interceptor, network(asked.nr, &asked.args))
        {
            return interceptor.take(&self.listener, asked, call);
        }
        let call = decode(asked.nr, &asked.args);
        if noted.is_some() && call.as_ref().is_none_or(|call| self.may_go_on(call)) {
            return let_go_on(&self.listener, asked.id).or_else(gone);
        }
        let answer = match call {
            None => Err(Errno::NOSYS),
            Some(Call::Invalid(number)) => Err(Errno::from_raw_os_error(number)),
            Some(Call::Socket) => {
                self.record(Denied::Network);
                Err(Errno::ACCESS)
            }
            Some(Call::Change(object, change)) => self.change(&asked, object, change).map(|()| 0),
            Some(Call::Read(object, read)) => self.read(&asked, object, read),
        };
        let answer = answer.map_err(Errno::raw_os_error);
        respond(&self.listener, asked.id, answer).or_else(gone)
    }

    /// Whether a call needs nobody but the kernel: in namespaces mounts hold what may be changed.
    fn may_go_on(&self, call: &Call) -> bool {
        self.is_in_view
            && match call {
                // A register, which nobody can change meanwhile.
                Call::Change(_, Change::Mode(mode)) => mode & libc::S_ISGID == 0,
                Call::Change(_, Change::Owner(..) | Change::Times(_) | Change::Remove { .. }) => {
                    true
                }
                _ => false,
            }
    }

    /// Takes what was refused because of where it lies, and whether a network was asked for: each
    /// thing once, the first ones.
    pub fn take_denied(&mut self) -> Vec<Denied> {
        std::mem::take(&mut self.denied)
    }

    /// Returns true if the removal of a protected path was not left to the kernel.
    pub fn has_answered(&self, place: &Path) -> bool {
        self.opens
            .as_ref()
            .is_some_and(|opens| opens.has_answered(place))
    }

    /// Whether a call waits, by the state of the listener.
    fn record(&mut self, denied: Denied) {
        if self.denied.len() < MAX_DENIED && !self.denied.contains(&denied) {
            self.denied.push(denied);
        }
    }

    /// Does the kernel's work, in the kernel's order, so that errors are the kernel's too.
    fn change(
        &mut self,
        asked: &Notification,
        object: Object,
        change: Change,
    ) -> Result<(), Errno> {
        let caller = Caller::new(asked.pid);
        let Some(ready) = prepare(&caller, change)? else {
            return Ok(());
        };
        let (opened, path) = caller.open(object)?;
        // Everything above was read by the number of a thread. Only if the caller still waits, it
        // was the caller's.
        if !still_valid(&self.listener, asked.id) {
            return Err(Errno::SRCH);
        }
        let links = self.links.as_ref().map_err(|errno| *errno)?;
        let place = readlinkat(links, DecInt::from_fd(&opened), Vec::new())?;
        let status = fstat(&opened)?;
        if !self.may_change(
            place.to_bytes(),
            status.st_nlink == 0,
            FileType::from_raw_mode(status.st_mode),
        ) {
            let path = path.unwrap_or_else(|| place.into_bytes());
            self.record(Denied::Metadata(shown(OsString::from_vec(path).into())));
            return Err(Errno::ACCESS);
        }
        apply(&ready, links, &opened, status.st_mode)
    }

    /// Whether what the kernel calls `place` is the command's to change.
    fn may_change(&self, place: &[u8], without_names: bool, kind: FileType) -> bool {
        let below = |roots: &[PathBuf], place: &Path| {
            let found = roots.iter().filter(|root| place.starts_with(root));
            found.map(|root| root.as_os_str().len()).max()
        };
        holds(place, without_names, kind, |place| {
            below(&self.writable, place) > below(&self.read_only, place)
        })
    }
}

/// Whether what the kernel calls `place` (proc(5), `/proc/PID/fd`) is a path that is `allowed`, or
/// nothing with a path. A deleted file is where it was.
fn holds(
    place: &[u8],
    without_names: bool,
    kind: FileType,
    allowed: impl Fn(&Path) -> bool,
) -> bool {
    if !place.starts_with(b"/") {
        // Something like `(unreachable)/etc` is a path as well, so what is none has to be
        // recognised.
        return match kind {
            FileType::Fifo => place.starts_with(b"pipe:["),
            FileType::Socket => place.starts_with(b"socket:["),
            _ => place.starts_with(b"anon_inode:"),
        };
    }
    // A deleted file has this behind its old path. A file can also really be called so.
    let former = place.strip_suffix(b" (deleted)");
    if former.is_some() && without_names && place.starts_with(b"/memfd:") {
        return true;
    }
    let allowed = |place| allowed(Path::new(OsStr::from_bytes(place)));
    allowed(place) && former.is_none_or(allowed)
}

/// Reads what the arguments point to; `None` if there is nothing to do, whatever the object.
fn prepare(caller: &Caller, change: Change) -> Result<Option<Ready>, Errno> {
    Ok(Some(match change {
        Change::Mode(mode) => Ready::Mode(mode & 0o7777),
        Change::Owner(uid, gid) => Ready::Owner(
            Some(uid).filter(|uid| *uid != u32::MAX).map(Uid::from_raw),
            Some(gid).filter(|gid| *gid != u32::MAX).map(Gid::from_raw),
        ),
        Change::Times(times) => match read_times(caller, times)? {
            Some(times) => Ready::Times(times),
            None => return Ok(None),
        },
        Change::Set {
            name,
            value,
            size,
            flags,
        } => read_attribute(caller, name, value, size, flags)?,
        Change::SetAt {
            name,
            structure,
            size,
        } => {
            let (value, size, flags) = read_structure(caller, structure, size)?;
            read_attribute(caller, name, value, size, flags)?
        }
        Change::Remove { name } => Ready::Remove(read_name(caller, name)?),
    }))
}

/// `None` if both times shall stay, to which the kernel agrees before it looks at the path.
fn read_times(caller: &Caller, times: Times) -> Result<Option<Timestamps>, Errno> {
    const MICROS_PER_SEC: i64 = 1_000_000;
    let (address, count) = match times {
        Times::Seconds(address) => (address, 2),
        Times::Micros(address) | Times::Nanos(address) => (address, 4),
    };
    let both = |tv_nsec| {
        let time = Timespec { tv_sec: 0, tv_nsec };
        Timestamps {
            last_access: time,
            last_modification: time,
        }
    };
    if address == 0 {
        return Ok(Some(both(libc::UTIME_NOW)));
    }
    let bytes = caller.memory().bytes(address, count * 8)?;
    let number = |index| word(&bytes, index).cast_signed();
    let mut pairs = match times {
        Times::Seconds(_) => [(number(0), 0), (number(1), 0)],
        Times::Micros(_) | Times::Nanos(_) => [(number(0), number(1)), (number(2), number(3))],
    };
    if matches!(times, Times::Micros(_)) {
        for (_, part) in &mut pairs {
            // Else some number of microseconds would be one of the words that nanoseconds can be.
            if !(0..MICROS_PER_SEC).contains(part) {
                return Err(Errno::INVAL);
            }
            *part *= 1000;
        }
    }
    if pairs.iter().all(|(_, nanos)| *nanos == libc::UTIME_OMIT) {
        return Ok(None);
    }
    let [last_access, last_modification] =
        pairs.map(|(tv_sec, tv_nsec)| Timespec { tv_sec, tv_nsec });
    Ok(Some(Timestamps {
        last_access,
        last_modification,
    }))
}

fn read_attribute(
    caller: &Caller,
    name: u64,
    value: u64,
    size: u64,
    flags: u64,
) -> Result<Ready, Errno> {
    let flags = XattrFlags::from_bits(flags as u32).ok_or(Errno::INVAL)?;
    if flags.bits() & !(XattrFlags::CREATE | XattrFlags::REPLACE).bits() != 0 {
        return Err(Errno::INVAL);
    }
    let name = read_name(caller, name)?;
    if size > MAX_XATTR_VALUE_BYTES as u64 {
        return Err(Errno::TOOBIG);
    }
    Ok(Ready::Set(
        name,
        caller.memory().bytes(value, size as usize)?,
        flags,
    ))
}

/// `struct xattr_args`: where the value stands, its bytes, and flags.
fn read_structure(caller: &Caller, address: u64, size: u64) -> Result<(u64, u64, u64), Errno> {
    if size < XATTR_ARGS_BYTES as u64 {
        return Err(Errno::INVAL);
    }
    if size > MAX_STRUCTURE_BYTES {
        return Err(Errno::TOOBIG);
    }
    let bytes = caller.memory().bytes(address, size as usize)?;
    let (known, more) = bytes.split_at(XATTR_ARGS_BYTES);
    if more.iter().any(|byte| *byte != 0) {
        return Err(Errno::TOOBIG);
    }
    let sizes = word(known, 1);
    Ok((word(known, 0), sizes & u64::from(u32::MAX), sizes >> 32))
}

fn read_name(caller: &Caller, address: u64) -> Result<CString, Errno> {
    let name = caller
        .memory()
        .text(address, MAX_XATTR_NAME_BYTES)?
        .filter(|name| !name.is_empty())
        .ok_or(Errno::RANGE)?;
    CString::new(name).map_err(|_| Errno::RANGE)
}

/// The number at this place of a row of eight-byte numbers; 0 behind its end.
fn word(bytes: &[u8], index: usize) -> u64 {
    bytes
        .as_chunks()
        .0
        .get(index)
        .map_or(0, |word| u64::from_ne_bytes(*word))
}

/// Changes what a descriptor stands for. Its link in `/proc` leads to the object itself, even if
/// that is a link.
fn apply(ready: &Ready, links: &OwnedFd, opened: &OwnedFd, current: u32) -> Result<(), Errno> {
    let kind = FileType::from_raw_mode(current);
    match ready {
        // On a directory the second bit hands down the group. On a file it is a way out through
        // whoever runs it, as the first is everywhere; also before the group may execute it, which
        // an access control list can change.
        Ready::Mode(mode) if mode & libc::S_ISUID != 0 => Err(Errno::PERM),
        Ready::Mode(mode) if kind != FileType::Directory && mode & libc::S_ISGID != 0 => {
            Err(Errno::PERM)
        }
        Ready::Set(name, ..)
            if kind != FileType::Directory
                && current & libc::S_ISGID != 0
                && name.to_bytes() == ACCESS_CONTROL_LIST =>
        {
            Err(Errno::PERM)
        }
        Ready::Mode(mode) => chmodat(
            links,
            DecInt::from_fd(opened),
            Mode::from_raw_mode(*mode),
            AtFlags::empty(),
        ),
        Ready::Owner(uid, gid) => {
            chownat(links, DecInt::from_fd(opened), *uid, *gid, AtFlags::empty())
        }
        Ready::Times(times) => utimensat(links, DecInt::from_fd(opened), times, AtFlags::empty()),
        // Capabilities of programs, labels, and what only the system may know.
        Ready::Set(name, ..) | Ready::Remove(name) if is_of_the_system(name) => Err(Errno::PERM),
        // These take no directory to begin at.
        Ready::Set(name, value, flags) => setxattr(link(opened), name, value, *flags),
        Ready::Remove(name) => removexattr(link(opened), name),
    }
}

fn is_of_the_system(name: &CString) -> bool {
    [b"security.".as_slice(), b"trusted."]
        .iter()
        .any(|prefix| name.as_bytes().starts_with(prefix))
}

#[cfg(test)]
mod tests;
