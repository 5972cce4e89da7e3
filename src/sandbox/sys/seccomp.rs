//! seccomp(2) and its notifications (`seccomp_unotify(2)`).
#![expect(
    unsafe_code,
    reason = "no safe crate loads filters or answers notifications"
)]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` of `linux/seccomp.h`: the supervisor and its charge take
/// turns, so the kernel may leave them on one processor.
const SYNC_WAKE_UP: u64 = 1;

/// An instruction, as `struct sock_filter` of `linux/filter.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub code: u16,
    /// Instructions to skip if the test holds.
    pub jt: u8,
    /// Instructions to skip if it does not.
    pub jf: u8,
    pub k: u32,
}

/// A system call that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Names the wait; no two are the same.
    pub id: u64,
    /// The thread that waits, as this process's pid namespace numbers it.
    pub pid: u32,
    /// The number of the call.
    pub nr: i32,
    pub args: [u64; 6],
}

/// Puts a filter on the calling thread and all that it starts later; its notifications are read
/// from what is returned. It must have given up new privileges.
///
/// A thread has at most one such listener: the second is an error (`EBUSY`).
pub fn install_with_listener(program: &[Instruction]) -> io::Result<OwnedFd> {
    let listen = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Since Linux 5.19 a call that was taken up ends only with its answer or its thread, so a
    // signal does not repeat it.
    let fd = match set_filter(
        program,
        listen | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
    ) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set_filter(program, listen)?,
        other => other?,
    };
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made this descriptor, with close-on-exec set; nobody else knows
    // it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Keeps a thread and the receiver of its notifications on one processor, where they take turns.
/// Each wake of another processor costs about 25 microseconds in a virtual machine.
///
/// The receiver calls it: the filter of the thread may refuse the ioctl. Error `EINVAL` before
/// Linux 6.6.
pub fn share_processor(listener: &OwnedFd) -> io::Result<()> {
    // SAFETY: the call takes a number.
    let done = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS,
            SYNC_WAKE_UP,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns true if this process already has a filter of this program, which refuses any listener.
/// Installs nothing.
pub fn refuses_listeners() -> bool {
    let nothing = std::ptr::null::<libc::sock_fprog>();
    let (mode, listen) = (
        libc::SECCOMP_SET_MODE_FILTER,
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
    );
    // SAFETY: the kernel fails to read a program from there (EFAULT), and no other memory is
    // touched.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, mode, listen, nothing) };
    done < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EBUSY)
}

/// Takes up the next call that waits; blocks until there is one.
///
/// [`io::ErrorKind::NotFound`] if it was gone before it could be taken up.
pub fn receive(listener: &OwnedFd) -> io::Result<Notification> {
    // The kernel writes a structure of the size that the number of the ioctl says.
    // SAFETY: plain numbers, for which all bytes zero are a value; the kernel asks for zeroes.
    let mut raw: libc::seccomp_notif = unsafe { mem::zeroed() };
    // SAFETY: `raw` is what this ioctl fills, and lives past the call.
    let done = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut raw,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Notification {
        id: raw.id,
        pid: raw.pid,
        nr: raw.data.nr,
        args: raw.data.args,
    })
}

/// Answers a call in the kernel's place: a value, or a number of errno(3) that is not 0. The call
/// itself is never carried out: what its arguments point to may have changed since it was judged.
///
/// [`io::ErrorKind::NotFound`] if nobody waits for it any more.
pub fn respond(listener: &OwnedFd, id: u64, answer: Result<i64, i32>) -> io::Result<()> {
    let (val, error) = match answer {
        Ok(value) => (value, 0),
        Err(errno) => (0, -errno.abs()),
    };
    send(
        listener,
        libc::seccomp_notif_resp {
            id,
            val,
            error,
            flags: 0,
        },
    )
}

/// Lets the kernel continue the call. Its arguments in memory may have changed since the check, so
/// this is only for calls that are harmless with any arguments.
///
/// [`io::ErrorKind::NotFound`] if nobody waits for it any more.
pub fn let_go_on(listener: &OwnedFd, id: u64) -> io::Result<()> {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    send(
        listener,
        libc::seccomp_notif_resp {
            id,
            val: 0,
            error: 0,
            flags,
        },
    )
}

/// Answers a call with a copy of the descriptor `given` in the caller. The number of the copy is
/// the result of the call, and is returned. Since Linux 5.14.
///
/// [`io::ErrorKind::NotFound`] if nobody waits for it any more.
pub fn answer_with(
    listener: &OwnedFd,
    id: u64,
    given: BorrowedFd<'_>,
    close_on_exec: bool,
) -> io::Result<i32> {
    let raw = libc::seccomp_notif_addfd {
        id,
        flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
        srcfd: given.as_raw_fd().cast_unsigned(),
        newfd: 0,
        newfd_flags: if close_on_exec {
            libc::O_CLOEXEC.cast_unsigned()
        } else {
            0
        },
    };
    // SAFETY: `raw` is what this ioctl reads, and lives past the call; the kernel takes a reference
    // of its own.
    match unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ADDFD,
            &raw const raw,
        )
    } {
        number @ 0.. => Ok(number),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns true if the kernel supports answering calls with descriptors.
pub fn can_answer_with(listener: &OwnedFd) -> bool {
    // Nobody waits under this number, which is looked for only after what is not known was refused.
    answer_with(listener, 0, listener.as_fd(), true)
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn send(listener: &OwnedFd, mut raw: libc::seccomp_notif_resp) -> io::Result<()> {
    // SAFETY: `raw` is what this ioctl reads, and lives past the call.
    match unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &raw mut raw,
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns true if the thread still waits for this answer. Data read before then came from this
/// thread, not from another process with a reused pid.
pub fn still_valid(listener: &OwnedFd, id: u64) -> bool {
    // SAFETY: the ioctl reads one number, which lives past the call.
    unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
            &raw const id,
        ) == 0
    }
}

/// Puts one more filter on the calling thread and all that it starts later.
pub fn install(program: &[Instruction]) -> io::Result<()> {
    set_filter(program, 0).map(drop)
}

/// Sends bytes and a descriptor by sendmsg(2), with `mark` as an argument after the last one. The
/// kernel ignores it; a filter can tell this call from others by it.
pub fn send_marked(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    given: BorrowedFd<'_>,
    mark: u32,
) -> io::Result<()> {
    // Words, so that the header that stands at its beginning is aligned; of one descriptor that is
    // enough (cmsg(3)).
    let mut control = [0_u64; 4];
    let mut piece = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: plain numbers and pointers, for which all bytes zero are a value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut piece, 1);
    header.msg_control = control.as_mut_ptr().cast();
    // SAFETY: these compute with a length alone.
    let (space, length) = unsafe { (libc::CMSG_SPACE(4), libc::CMSG_LEN(4)) };
    header.msg_controllen = space as _;
    // SAFETY: `control` is longer than `space` and lives on; the header is the first one in it.
    unsafe {
        let entry = libc::CMSG_FIRSTHDR(&raw const header);
        (*entry).cmsg_level = libc::SOL_SOCKET;
        (*entry).cmsg_type = libc::SCM_RIGHTS;
        (*entry).cmsg_len = length as _;
        libc::CMSG_DATA(entry)
            .cast::<libc::c_int>()
            .write_unaligned(given.as_raw_fd());
    }
    // SAFETY: the kernel reads what `header` leads to, all of which lives past the call.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendmsg,
            socket.as_raw_fd(),
            &raw const header,
            libc::MSG_NOSIGNAL,
            libc::c_ulong::from(mark),
        )
    };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn set_filter(program: &[Instruction], flags: libc::c_ulong) -> io::Result<libc::c_long> {
    let mut code: Vec<libc::sock_filter> = program
        .iter()
        .map(|step| libc::sock_filter {
            code: step.code,
            jt: step.jt,
            jf: step.jf,
            k: step.k,
        })
        .collect();
    let len =
        u16::try_from(code.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog {
        len,
        filter: code.as_mut_ptr(),
    };
    // SAFETY: `program` points to `len` instructions, which live past the call; the kernel copies
    // and checks them.
    let done = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(done)
    }
}
