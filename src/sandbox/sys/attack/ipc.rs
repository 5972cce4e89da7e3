//! System V and POSIX messages, memory and semaphores, and keyrings.
#![expect(
    unsafe_code,
    reason = "raw system calls; each block says why it is sound"
)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use libc::{c_int, c_long};

use super::{checked, made};

/// Bytes in a segment of shared memory of the victims.
pub const SEGMENT_BYTES: usize = 4096;

/// Makes a segment of shared memory that begins with these bytes; its number.
pub fn make_segment(text: &[u8], mode: c_int) -> io::Result<c_int> {
    // SAFETY: takes numbers only.
    let id = checked(
        unsafe { libc::shmget(libc::IPC_PRIVATE, SEGMENT_BYTES, libc::IPC_CREAT | mode) }.into(),
    )?;
    with_segment(id as c_int, 0, |bytes| {
        let length = text.len().min(bytes.len());
        bytes[..length].copy_from_slice(&text[..length]);
    })?;
    Ok(id as c_int)
}

/// The first bytes of a segment of shared memory.
pub fn read_segment(id: c_int) -> io::Result<Vec<u8>> {
    with_segment(id, libc::SHM_RDONLY, |bytes| bytes[..64].to_vec())
}

fn with_segment<T>(id: c_int, flags: c_int, act: impl FnOnce(&mut [u8]) -> T) -> io::Result<T> {
    // SAFETY: the kernel chooses an address where nothing is.
    let start = unsafe { libc::shmat(id, std::ptr::null(), flags) };
    if start.addr() == usize::MAX {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the segments that are made here have this size, and this process maps it nowhere
    // else; with SHM_RDONLY the only caller reads.
    let value = act(unsafe { std::slice::from_raw_parts_mut(start.cast(), SEGMENT_BYTES) });
    // SAFETY: the address is the one that was just given, and the slice is gone.
    unsafe { libc::shmdt(start) };
    Ok(value)
}

/// Removes a segment of shared memory, a queue of messages or a set of semaphores.
pub fn remove(segment: c_int, queue: c_int, semaphores: c_int) {
    // SAFETY: IPC_RMID ignores its pointer.
    unsafe {
        libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut());
        libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut());
        libc::semctl(semaphores, 0, libc::IPC_RMID);
    }
}

/// Gives the three to another user.
pub fn give(
    segment: c_int,
    queue: c_int,
    semaphores: c_int,
    (user, group): (u32, u32),
) -> io::Result<()> {
    // SAFETY: each structure is plain numbers, for which all zero is a value, and the calls read
    // and write structures of their own type.
    unsafe {
        let mut memory: libc::shmid_ds = std::mem::zeroed();
        checked(libc::shmctl(segment, libc::IPC_STAT, &raw mut memory).into())?;
        (memory.shm_perm.uid, memory.shm_perm.gid) = (user, group);
        checked(libc::shmctl(segment, libc::IPC_SET, &raw mut memory).into())?;
        let mut messages: libc::msqid_ds = std::mem::zeroed();
        checked(libc::msgctl(queue, libc::IPC_STAT, &raw mut messages).into())?;
        (messages.msg_perm.uid, messages.msg_perm.gid) = (user, group);
        checked(libc::msgctl(queue, libc::IPC_SET, &raw mut messages).into())?;
        let mut set: libc::semid_ds = std::mem::zeroed();
        checked(libc::semctl(semaphores, 0, libc::IPC_STAT, &raw mut set).into())?;
        (set.sem_perm.uid, set.sem_perm.gid) = (user, group);
        checked(libc::semctl(semaphores, 0, libc::IPC_SET, &raw mut set).into())?;
    }
    Ok(())
}

/// Puts one message into a queue.
pub fn send_message(queue: c_int, text: &[u8; 8]) -> io::Result<c_long> {
    let mut message = [0u8; 16];
    message[..8].copy_from_slice(&1i64.to_ne_bytes());
    message[8..].copy_from_slice(text);
    // SAFETY: a type of 8 bytes and a text of 8, as told.
    checked(
        unsafe { libc::msgsnd(queue, message.as_ptr().cast(), text.len(), libc::IPC_NOWAIT) }
            .into(),
    )
}

/// Returns the number of messages in a queue.
pub fn waiting_messages(queue: c_int) -> io::Result<u64> {
    // SAFETY: plain numbers, for which all zero is a value; the call writes a structure of this
    // type.
    unsafe {
        let mut messages: libc::msqid_ds = std::mem::zeroed();
        checked(libc::msgctl(queue, libc::IPC_STAT, &raw mut messages).into())?;
        Ok(messages.msg_qnum)
    }
}

/// The value of the first semaphore of a set.
pub fn semaphore(set: c_int) -> io::Result<c_long> {
    // SAFETY: GETVAL takes no fourth argument.
    checked(unsafe { libc::semctl(set, 0, libc::GETVAL) }.into())
}

pub fn set_semaphore(set: c_int, value: c_int) -> io::Result<c_long> {
    // SAFETY: SETVAL takes a number.
    checked(unsafe { libc::semctl(set, 0, libc::SETVAL, value) }.into())
}

/// Opens a POSIX queue of messages of 8 bytes; `make` makes it.
pub fn open_queue(name: &CStr, make: bool) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers, for which all zero is a value.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    attributes.mq_maxmsg = 4;
    attributes.mq_msgsize = 8;
    let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: a string, and attributes that are read only with O_CREAT; both outlive the call.
    made(i64::from(unsafe {
        if make {
            libc::mq_open(
                name.as_ptr(),
                flags | libc::O_CREAT | libc::O_EXCL,
                0o600,
                &raw mut attributes,
            )
        } else {
            libc::mq_open(name.as_ptr(), flags)
        }
    }))
}

/// Sends 8 bytes to a POSIX queue.
pub fn send_to_queue(queue: BorrowedFd<'_>, text: &[u8; 8]) -> io::Result<c_long> {
    // SAFETY: eight bytes, as told.
    checked(unsafe { libc::mq_send(queue.as_raw_fd(), text.as_ptr().cast(), text.len(), 0) }.into())
}

/// Returns the number of messages in a POSIX queue.
pub fn waiting_in_queue(queue: BorrowedFd<'_>) -> io::Result<c_long> {
    // SAFETY: the call writes a structure of this type.
    unsafe {
        let mut attributes: libc::mq_attr = std::mem::zeroed();
        checked(libc::mq_getattr(queue.as_raw_fd(), &raw mut attributes).into())?;
        Ok(attributes.mq_curmsgs)
    }
}

/// Removes the name of a POSIX queue.
pub fn remove_queue(name: &CStr) {
    // SAFETY: the name is a string that outlives the call.
    unsafe { libc::mq_unlink(name.as_ptr()) };
}

/// The number of the session's keyring.
pub fn session_keyring() -> io::Result<c_long> {
    const KEYCTL_GET_KEYRING_ID: c_int = 0;
    const KEY_SPEC_SESSION_KEYRING: c_int = -3;
    // SAFETY: this operation takes numbers only.
    checked(unsafe {
        libc::syscall(
            libc::SYS_keyctl,
            KEYCTL_GET_KEYRING_ID,
            KEY_SPEC_SESSION_KEYRING,
            0,
        )
    })
}

/// Puts a key into the keyring of the process itself, which ends with it.
pub fn add_key() -> io::Result<c_long> {
    const KEY_SPEC_PROCESS_KEYRING: c_int = -2;
    // SAFETY: strings, and one byte as told.
    checked(unsafe {
        libc::syscall(
            libc::SYS_add_key,
            c"user".as_ptr(),
            c"replay-probe".as_ptr(),
            b"x".as_ptr(),
            1,
            KEY_SPEC_PROCESS_KEYRING,
        )
    })
}

/// Searches the keyrings for a key that is not there.
pub fn request_key() -> io::Result<c_long> {
    // SAFETY: strings; no text for a helper means that none is started.
    checked(unsafe {
        libc::syscall(
            libc::SYS_request_key,
            c"user".as_ptr(),
            c"replay-probe-absent".as_ptr(),
            0,
            0,
        )
    })
}
