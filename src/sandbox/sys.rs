//! System calls that no safe crate offers. All `unsafe` code of the sandbox is here and in `sys/`.
#![expect(
    unsafe_code,
    reason = "raw system calls; each block says why it is sound"
)]

pub mod attack;
pub mod heap;
pub mod landlock;
pub mod leases;
pub mod pages;
pub mod resolver;
pub mod seccomp;
pub mod shared_words;
pub mod sockets;
pub mod time_limit;
pub mod wakeups;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

use nix::unistd::{ForkResult, Pid};
use rustix::thread::UnshareFlags;

/// Attributes for [`mount_setattr`] (`mount_setattr(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountAttributes(u64);

impl MountAttributes {
    /// Read-only mount.
    pub const READ_ONLY: Self = Self(libc::MOUNT_ATTR_RDONLY);
    /// Set-user-ID bits and file capabilities are ignored.
    pub const NO_SET_UID: Self = Self(libc::MOUNT_ATTR_NOSUID);
    /// Device nodes cannot be opened.
    pub const NO_DEVICES: Self = Self(libc::MOUNT_ATTR_NODEV);

    /// Bits as in `mount_setattr(2)`.
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Proof that this process has one thread, and that no other will start.
#[derive(Debug)]
pub struct SingleThread(());

impl SingleThread {
    /// Counts the threads of this process; fails if it has more than one.
    ///
    /// # Safety
    ///
    /// While the value lives, no thread may be started: neither in this process, nor in a forked
    /// child that uses the value.
    pub unsafe fn check() -> io::Result<Self> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the kernel's own list of this process's threads"
        )]
        let threads = std::fs::read_dir("/proc/self/task")?.count();
        if threads == 1 {
            return Ok(Self(()));
        }
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a process with several threads cannot be copied",
        ))
    }
}

/// Forks this process. `None` in the child.
pub fn fork(_alone: &SingleThread) -> io::Result<Option<Pid>> {
    // SAFETY: this thread is the only one, so the copy is a whole program. No missing thread holds
    // a lock in it, and it may allocate and lock as it likes.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(Some(child)),
        ForkResult::Child => Ok(None),
    }
}

/// Forks a child that exits at once; safe with any number of threads.
pub fn fork_to_end() -> io::Result<Pid> {
    // SAFETY: as for `fork_into_namespaces`, but for the threads: the copy does nothing but end,
    // which needs no lock.
    let result = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if result == 0 {
        exit_now(0);
    }
    check(result)?;
    Ok(Pid::from_raw(result as i32))
}

/// Forks a child that is process 1 of a new pid namespace and has its own mount and ipc namespaces.
/// `None` in the child.
///
/// unshare(2) would work only once: a process whose children already go to another pid namespace
/// may not unshare it again.
pub fn fork_into_namespaces(_alone: &SingleThread) -> io::Result<Option<Pid>> {
    let flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::SIGCHLD;
    // SAFETY: without CLONE_VM and with no stack given this is fork(2), and as there this thread is
    // the only one. The C library does not know, so its record of this thread's number is the
    // parent's in the copy. Only raise(3) reads it, and nothing here calls that.
    // Arguments 2 to 5 are pointers that these flags do not use; their order differs between
    // architectures, and all are zero.
    let result = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    check(result)?;
    Ok((result != 0).then(|| Pid::from_raw(result as i32)))
}

/// Forks a child into the version 2 cgroup with the directory `group`. `None` in the child.
///
/// A later move of the process would wait for all processors, and it might have forked meanwhile.
pub fn fork_into_group(_alone: &SingleThread, group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    // `CLONE_INTO_CGROUP` of `linux/sched.h`: more than the libc crate has room for.
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    // SAFETY: all fields are numbers, for which zero is a value.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = INTO_CGROUP;
    arguments.exit_signal = libc::SIGCHLD as u64;
    arguments.cgroup = u64::from(group.as_raw_fd().cast_unsigned());
    // SAFETY: as for `fork_into_namespaces`; `arguments` lives through the call and its size goes
    // with it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw const arguments,
            size_of_val(&arguments),
        )
    };
    check(result)?;
    Ok((result != 0).then(|| Pid::from_raw(result as i32)))
}

/// Moves this process to new namespaces, or gives it its own copy of a shared resource
/// (unshare(2)).
///
/// # Safety
///
/// With [`UnshareFlags::FILES`] this thread gets its own descriptor table. It must not use
/// descriptors of other threads afterwards, nor they those of this one. Other flags are always
/// safe.
pub unsafe fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the caller guarantees the same.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Exits this process at once, without destructors and handlers. For a child that must not continue
/// as its parent.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit(2) is always possible, and nothing runs after it.
    unsafe { libc::_exit(code) }
}

/// Closes every descriptor from `first` on.
///
/// # Safety
///
/// No owner of a closed descriptor may be used or dropped afterwards, nor what borrows from it.
pub unsafe fn close_from(first: u32) -> io::Result<()> {
    close_range(first, 0)
}

/// Sets close-on-exec on every descriptor from `first` on.
pub fn close_on_exec_from(_alone: &SingleThread, first: u32) -> io::Result<()> {
    match close_range(first, libc::CLOSE_RANGE_CLOEXEC) {
        // Before Linux 5.11 the call can only close them.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            // SAFETY: this thread is the only one, so no other can close a descriptor.
            unsafe { each_close_on_exec_from(first) }
        }
        done => done,
    }
}

/// Sets close-on-exec on every descriptor from `first` on, one by one.
///
/// # Safety
///
/// No other thread may close descriptors during the call.
unsafe fn each_close_on_exec_from(first: u32) -> io::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the kernel's own list of this process's descriptors"
    )]
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok());
        if let Some(number) = number.filter(|number| *number >= first) {
            // SAFETY: the list shows open descriptors. This thread closes none here, and the caller
            // guarantees that no other does.
            let fd = unsafe { BorrowedFd::borrow_raw(number.cast_signed()) };
            rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?;
        }
    }
    Ok(())
}

fn close_range(first: u32, flags: u32) -> io::Result<()> {
    // SAFETY: takes three numbers and touches no memory of this process.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flags) };
    check(result)
}

/// Resets these signals to their default action.
pub fn default_signals(signals: impl IntoIterator<Item = libc::c_int>) {
    for signal in signals {
        // SAFETY: SIG_DFL runs no code of this process. The failures are the two that cannot be
        // changed, and the C library's own.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Sets attributes on the mount of `mount`, and on those below it if `recursive`.
pub fn mount_setattr(
    mount: BorrowedFd<'_>,
    attributes: MountAttributes,
    recursive: bool,
) -> io::Result<()> {
    change_mount(mount, [attributes.0, 0, 0, 0], recursive)
}

/// Sets attributes on a detached mount tree, makes it private, and maps the owners of its files
/// through a user namespace (`MOUNT_ATTR_IDMAP`).
///
/// Fails with `EINVAL` if the filesystem does not support ID-mapped mounts. Requires capabilities
/// over the filesystem itself.
pub fn map_owners(
    mount: BorrowedFd<'_>,
    attributes: MountAttributes,
    owners: BorrowedFd<'_>,
) -> io::Result<()> {
    let namespace = u64::from(owners.as_raw_fd().cast_unsigned());
    change_mount(
        mount,
        [
            attributes.0 | libc::MOUNT_ATTR_IDMAP,
            0,
            libc::MS_PRIVATE,
            namespace,
        ],
        true,
    )
}

/// Calls `mount_setattr(2)`. `change` is a struct `mount_attr`: bits to set, bits to clear,
/// propagation, user namespace.
fn change_mount(mount: BorrowedFd<'_>, change: [u64; 4], recursive: bool) -> io::Result<()> {
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: `change` lives through the call and its size goes with it; the empty path is a C
    // string.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            ptr::from_ref(&change),
            size_of_val(&change),
        )
    };
    check(result)
}

/// Enables the loopback device of this network namespace. `socket` is any network socket.
pub fn loopback_up(socket: impl AsFd) -> io::Result<()> {
    // SAFETY: all fields are numbers or bytes, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = (*from).cast_signed();
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    // SAFETY: netdevice(7): reads one ifreq, whose name ends with a zero.
    let result = unsafe {
        libc::ioctl(
            socket.as_fd().as_raw_fd(),
            libc::SIOCSIFFLAGS,
            ptr::from_mut(&mut request),
        )
    };
    check(result.into())
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
