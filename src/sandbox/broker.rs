//! Metadata broker of commands.
//!
//! Landlock does not mediate chmod(2), chown(2), utimensat(2), setxattr(2) and similar calls.
//! Without namespaces, the seccomp filter sends these calls to the command's supervisor, which
//! performs or refuses them. The broker works by descriptor:
//!
//! - It reads the path once and opens the object.
//! - It checks the position of the *descriptor*.
//! - It changes the object behind the descriptor. No name is looked up between check and change, so
//!   no other process can swap the object.
//!
//! The kernel never continues the caller's own call. Extended attributes are contents, so reads of
//! them take the same way (`xattr.rs`). In namespaces mounts enforce all this. There the broker
//! only checks calls that could create a set-group-ID file, because a filter cannot see paths.
//!
//! The supervisor runs as the same user, so it can do no more than the caller. It must not hold
//! more capabilities either.

mod xattr;

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use replay_base::limits::{MAX_DENIED, MAX_XATTR_VALUE_BYTES};
use replay_files::hide::Hide;
use replay_sys::seccomp::{
    Notification, let_go_on, receive, respond, share_processor, still_valid,
};
use rustix::event::PollFlags;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags, chmodat, chownat, fstat,
    readlinkat, removexattr, setxattr, utimensat,
};
use rustix::io::Errno;
use rustix::path::DecInt;

use super::caller::{Caller, link, links};
use super::denied::{Denied, display_path};
use super::intercept::Interceptor;
use super::intercept::call::decode as network;
use super::opens::{Opens, Places};
use super::supervisor_table::SupervisorLine;
use super::system_call::{Change, Object, SystemCall, Times, decode};
use super::thread_names::ThreadNames;
use super::unix_sockets::UnixSockets;

/// Longest name of an extended attribute, in bytes (`XATTR_NAME_MAX` of `linux/limits.h`).
const MAX_XATTR_NAME_BYTES: usize = 255;

/// Bytes of `struct xattr_args` of `linux/xattr.h`: a pointer, a size and flags.
const XATTR_ARGS_BYTES: usize = 16;
/// Attribute that also changes the mode (acl(5)).
const ACCESS_CONTROL_LIST: &[u8] = b"system.posix_acl_access";
/// Maximum size that the kernel accepts for an extensible structure.
const MAX_STRUCTURE_BYTES: u64 = 4096;

/// Observer of calls before they are performed.
pub trait Witness {
    /// Decides if the call may continue. `None` if the call is not the observer's concern.
    fn note(&mut self, asked: &Notification, call: Option<SystemCall>)
    -> Option<Result<(), Errno>>;
}

/// `None` observes no call.
impl<W: Witness> Witness for Option<W> {
    fn note(
        &mut self,
        asked: &Notification,
        call: Option<SystemCall>,
    ) -> Option<Result<(), Errno>> {
        self.as_mut()?.note(asked, call)
    }
}

/// Broker for the calls of one command.
#[derive(Debug)]
pub struct Broker {
    listener: Arc<OwnedFd>,
    /// Open directory of /proc links. Opening it takes a good part of a call.
    links: Result<OwnedFd, Errno>,
    writable: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    denied: Vec<Denied>,
    interceptor: Option<Interceptor>,
    /// Performs links, renames and opens for the command.
    opens: Option<Opens>,
    unix_sockets: Option<UnixSockets>,
    /// `true` if mounts enforce read-only paths, and the broker only does the rest.
    is_in_view: bool,
    is_over: bool,
}

/// A change whose arguments have been read.
enum PreparedChange {
    Mode(u32),
    Owner(Option<Uid>, Option<Gid>),
    Times(Timestamps),
    Set(CString, Vec<u8>, XattrFlags),
    Remove(CString),
}

impl Broker {
    /// Creates a broker that reads calls from `listener` (see
    /// `sys::seccomp::install_with_listener`). It permits changes at or below `writable`, but not
    /// at or below `read_only`. The longer path wins; of equal ones the read-only one. Attributes
    /// are readable at or below `readable`. All paths are canonical.
    pub fn new(
        listener: OwnedFd,
        writable: Vec<PathBuf>,
        read_only: Vec<PathBuf>,
        readable: Vec<PathBuf>,
    ) -> Self {
        // Without it calls are only slower.
        let _ = share_processor(&listener);
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

    /// Creates a broker for a command in its own root.
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

    /// Adds support for links and renames.
    #[must_use]
    pub fn naming(self, places: Places) -> Self {
        let opens = Opens::new(None, places.within(self.writable.clone()), None);
        Self {
            opens: Some(opens),
            ..self
        }
    }

    /// Adds support for names of threads.
    #[must_use]
    pub(crate) fn naming_threads(self, thread_names: Option<ThreadNames>) -> Self {
        let opens = self.opens;
        Self {
            opens: opens.map(|opens| opens.naming_threads(thread_names)),
            ..self
        }
    }

    /// Adds the interceptor of network calls.
    #[must_use]
    pub fn with_interceptor(self, interceptor: Interceptor) -> Self {
        Self {
            interceptor: Some(interceptor),
            ..self
        }
    }

    /// Adds support for connections to unix sockets.
    #[must_use]
    pub fn with_unix_sockets(self, unix_sockets: Option<UnixSockets>) -> Self {
        Self {
            unix_sockets,
            ..self
        }
    }

    /// Returns true if the last poll of the listener showed that no caller is left.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Descriptors for poll(2): the listener, whose `POLLHUP` is permanent ([`Broker::is_over`]),
    /// and one for the rest. They are not nested in one epoll descriptor: the kernel keeps caller
    /// and supervisor on one processor only if the listener itself is polled.
    pub fn waits_for(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [
            Some(self.listener.as_fd()),
            self.interceptor.as_ref().map(AsFd::as_fd),
        ]
    }

    /// Answers a pending call, according to the poll(2) results. A call that was abandoned is not
    /// an error. Does not block.
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

    /// Returns true if [`Broker::look`] has periodic work.
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

    /// Does periodic work for pending calls.
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

    /// Ends the broker after the command's end.
    pub fn end(&mut self) {
        let kept: Vec<Denied> = self.opens.iter().flat_map(Opens::remaining).collect();
        for denied in kept {
            self.record(denied);
        }
        if let Some(interceptor) = &mut self.interceptor {
            interceptor.end();
        }
    }

    /// Answers a pending call. Without a caller, kernels before Linux 6.11 would block forever.
    fn serve_one(&mut self, witness: &mut dyn Witness) -> io::Result<()> {
        let gone = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        };
        let asked = match receive(&self.listener) {
            Ok(asked) => asked,
            Err(error) => return gone(error),
        };
        if let Some(unix_sockets) = &mut self.unix_sockets {
            unix_sockets.open_bound(asked.pid);
        }
        let call = decode(asked.nr, &asked.args);
        let noted = witness.note(&asked, call);
        if let Some(Err(errno)) = noted {
            return respond(&self.listener, asked.id, Err(errno.raw_os_error())).or_else(gone);
        }
        if let (Some(opens), Some(call)) = (&mut self.opens, call)
            && let Some(served) = opens.serve(&self.listener, &asked, call)
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
                self.record(Denied::Socket(display_path(place)));
            }
            return served.or_else(gone);
        }
        if let (Some(interceptor), Some(network), false) = (
            &mut self.interceptor,
            network(asked.nr, &asked.args),
            call == Some(SystemCall::DatagramSocket),
        ) {
            return interceptor.take(&self.listener, asked, network);
        }
        if noted.is_some() && call.is_none_or(|call| self.may_go_on(call)) {
            return let_go_on(&self.listener, asked.id).or_else(gone);
        }
        let answer = match call {
            Some(SystemCall::Invalid(number)) => Err(Errno::from_raw_os_error(number)),
            Some(SystemCall::Socket) => {
                self.record(Denied::Network);
                Err(Errno::ACCESS)
            }
            Some(SystemCall::DatagramSocket) => {
                self.record(Denied::DatagramSocket);
                Err(Errno::ACCESS)
            }
            Some(SystemCall::Change(object, change)) => {
                self.change(&asked, object, change).map(|()| 0)
            }
            Some(SystemCall::Read(object, read)) => self.read(&asked, object, read),
            _ => Err(Errno::NOSYS),
        };
        let answer = answer.map_err(Errno::raw_os_error);
        respond(&self.listener, asked.id, answer).or_else(gone)
    }

    /// Returns true if the kernel may continue a call that was noted. In namespaces mounts enforce
    /// read-only paths also for changes of metadata.
    fn may_go_on(&self, call: SystemCall) -> bool {
        match call {
            // A register, which no other thread can change meanwhile.
            SystemCall::Change(_, Change::Mode(mode)) => {
                self.is_in_view && mode & libc::S_ISGID == 0
            }
            SystemCall::Change(_, Change::Owner(..) | Change::Times(_) | Change::Remove { .. }) => {
                self.is_in_view
            }
            SystemCall::Change(_, Change::Set { .. } | Change::SetAt { .. })
            | SystemCall::Read(..)
            | SystemCall::Socket
            | SystemCall::DatagramSocket
            | SystemCall::Invalid(_) => false,
            SystemCall::Open { .. }
            | SystemCall::Make(_)
            | SystemCall::Symlink { .. }
            | SystemCall::Link { .. }
            | SystemCall::Rename { .. }
            | SystemCall::Remove { .. }
            | SystemCall::Bind { .. }
            | SystemCall::Truncate(_)
            | SystemCall::Write(_) => true,
        }
    }

    /// Takes the recorded refusals, by path and by network. They are unique and limited in number.
    pub fn take_denied(&mut self) -> Vec<Denied> {
        std::mem::take(&mut self.denied)
    }

    /// Returns true if the broker itself answered the removal of a protected path.
    pub fn has_answered(&self, place: &Path) -> bool {
        self.opens
            .as_ref()
            .is_some_and(|opens| opens.has_answered(place))
    }

    /// Records a refusal.
    fn record(&mut self, denied: Denied) {
        if self.denied.len() < MAX_DENIED && !self.denied.contains(&denied) {
            self.denied.push(denied);
        }
    }

    /// Performs the kernel's steps in the kernel's order, so that errors match the kernel's.
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
        // The memory above was read by thread number. It was the caller's only if the caller still
        // waits.
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
            self.record(Denied::Metadata(display_path(
                OsString::from_vec(path).into(),
            )));
            return Err(Errno::ACCESS);
        }
        apply(&ready, links, &opened, status.st_mode)
    }

    /// Returns true if the command may change the object at `place`, a path from the kernel.
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

/// Returns true if `place` (a link of `/proc/PID/fd`, proc(5)) is an `allowed` path, or an object
/// without a path. A deleted file counts at its former path.
fn holds(
    place: &[u8],
    without_names: bool,
    kind: FileType,
    allowed: impl Fn(&Path) -> bool,
) -> bool {
    if !place.starts_with(b"/") {
        // A string like `(unreachable)/etc` is a path too, so objects without a path have to be
        // recognized.
        return match kind {
            FileType::Fifo => place.starts_with(b"pipe:["),
            FileType::Socket => place.starts_with(b"socket:["),
            _ => place.starts_with(b"anon_inode:"),
        };
    }
    // The kernel appends this to the path of a deleted file. A real file name can end so too.
    let former = place.strip_suffix(b" (deleted)");
    if former.is_some() && without_names && place.starts_with(b"/memfd:") {
        return true;
    }
    let allowed = |place| allowed(Path::new(OsStr::from_bytes(place)));
    allowed(place) && former.is_none_or(allowed)
}

/// Reads the memory that the arguments point to; `None` if the call has no effect on any object.
fn prepare(caller: &Caller, change: Change) -> Result<Option<PreparedChange>, Errno> {
    Ok(Some(match change {
        Change::Mode(mode) => PreparedChange::Mode(mode & 0o7777),
        Change::Owner(uid, gid) => PreparedChange::Owner(
            Some(uid).filter(|uid| *uid != u32::MAX).map(Uid::from_raw),
            Some(gid).filter(|gid| *gid != u32::MAX).map(Gid::from_raw),
        ),
        Change::Times(times) => match read_times(caller, times)? {
            Some(times) => PreparedChange::Times(times),
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
        Change::Remove { name } => PreparedChange::Remove(read_name(caller, name)?),
    }))
}

/// Reads the times of a call; `None` if both stay unchanged, which the kernel accepts before it
/// resolves the path.
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
            // Otherwise some number of microseconds could collide with a special value of
            // nanoseconds.
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
) -> Result<PreparedChange, Errno> {
    let flags = XattrFlags::from_bits(flags as u32).ok_or(Errno::INVAL)?;
    if flags.bits() & !(XattrFlags::CREATE | XattrFlags::REPLACE).bits() != 0 {
        return Err(Errno::INVAL);
    }
    let name = read_name(caller, name)?;
    if size > MAX_XATTR_VALUE_BYTES as u64 {
        return Err(Errno::TOOBIG);
    }
    Ok(PreparedChange::Set(
        name,
        caller.memory().bytes(value, size as usize)?,
        flags,
    ))
}

/// Reads `struct xattr_args`: address of the value, size, and flags.
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

/// Returns the eight-byte number at an index; 0 past the end.
fn word(bytes: &[u8], index: usize) -> u64 {
    bytes
        .as_chunks()
        .0
        .get(index)
        .map_or(0, |word| u64::from_ne_bytes(*word))
}

/// Changes the object behind a descriptor. Its link in `/proc` refers to the object itself, even if
/// that is a symlink.
fn apply(
    ready: &PreparedChange,
    links: &OwnedFd,
    opened: &OwnedFd,
    current: u32,
) -> Result<(), Errno> {
    let kind = FileType::from_raw_mode(current);
    match ready {
        // On a directory, set-group-ID makes new files inherit the group. On a file it is an escape
        // through any user who runs it, like set-user-ID everywhere. That holds even before the
        // group may execute it, since an access control list can change that.
        PreparedChange::Mode(mode) if mode & libc::S_ISUID != 0 => Err(Errno::PERM),
        PreparedChange::Mode(mode) if kind != FileType::Directory && mode & libc::S_ISGID != 0 => {
            Err(Errno::PERM)
        }
        PreparedChange::Set(name, ..)
            if kind != FileType::Directory
                && current & libc::S_ISGID != 0
                && name.to_bytes() == ACCESS_CONTROL_LIST =>
        {
            Err(Errno::PERM)
        }
        PreparedChange::Mode(mode) => chmodat(
            links,
            DecInt::from_fd(opened),
            Mode::from_raw_mode(*mode),
            AtFlags::empty(),
        ),
        PreparedChange::Owner(uid, gid) => {
            chownat(links, DecInt::from_fd(opened), *uid, *gid, AtFlags::empty())
        }
        PreparedChange::Times(times) => {
            utimensat(links, DecInt::from_fd(opened), times, AtFlags::empty())
        }
        // File capabilities, security labels, and attributes reserved for the system.
        PreparedChange::Set(name, ..) | PreparedChange::Remove(name) if is_of_the_system(name) => {
            Err(Errno::PERM)
        }
        // These calls take no directory descriptor.
        PreparedChange::Set(name, value, flags) => setxattr(link(opened), name, value, *flags),
        PreparedChange::Remove(name) => removexattr(link(opened), name),
    }
}

fn is_of_the_system(name: &CString) -> bool {
    [b"security.".as_slice(), b"trusted."]
        .iter()
        .any(|prefix| name.as_bytes().starts_with(prefix))
}

#[cfg(test)]
mod tests;
