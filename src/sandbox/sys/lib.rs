//! System calls that no safe crate offers. All `unsafe` code of the project is here.
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
#[cfg(feature = "testing")]
pub mod testing;
pub mod time_limit;
pub mod wakeups;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::panic::catch_unwind;
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

/// Fails if this process has several threads. The only thread of a process cannot get company
/// before it forks.
fn check_single_thread() -> io::Result<()> {
    // SAFETY: takes a number. The flag changes nothing: the call fails with `EINVAL` if the process
    // has several threads (unshare(2)).
    let result = unsafe { libc::syscall(libc::SYS_unshare, libc::CLONE_THREAD) };
    let Err(error) = check(result) else {
        return Ok(());
    };
    // The seccomp filters of containers refuse unshare(2). /proc counts a directory per thread.
    let has_one = || rustix::fs::stat("/proc/self/task").is_ok_and(|tasks| tasks.st_nlink == 3);
    if error.raw_os_error() != Some(libc::EINVAL) && has_one() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "a process with several threads cannot be copied",
    ))
}

/// Forks this process. `None` in the child. Fails if the process has several threads.
pub fn fork() -> io::Result<Option<Pid>> {
    check_single_thread()?;
    // SAFETY: this thread is the only one, so the copy is a whole program. No missing thread holds
    // a lock in it, and it may allocate and lock as it likes.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(Some(child)),
        ForkResult::Child => Ok(None),
    }
}

/// Forks a child that runs `main` and exits. It has only the standard streams, with `stdin` as its
/// standard input. Fails if the process has several threads.
pub fn fork_with_stdin(stdin: &OwnedFd, main: fn()) -> io::Result<Pid> {
    if let Some(child) = fork()? {
        return Ok(child);
    }
    // The owners of the closed descriptors must not be dropped, so nothing unwinds to them.
    let _ = catch_unwind(|| {
        rustix::stdio::dup2_stdin(stdin)?;
        close_range(3, 0)?;
        main();
        io::Result::Ok(())
    });
    exit_now(0)
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
/// may not unshare it again. Fails if the process has several threads.
pub fn fork_into_namespaces() -> io::Result<Option<Pid>> {
    check_single_thread()?;
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
/// Fails if the process has several threads.
pub fn fork_into_group(group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    // `CLONE_INTO_CGROUP` of `linux/sched.h`: more than the libc crate has room for.
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    check_single_thread()?;
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
/// (unshare(2)). Fails with `EINVAL` for [`UnshareFlags::FILES`]: threads own descriptors of one
/// table.
pub fn unshare(flags: UnshareFlags) -> io::Result<()> {
    if flags.contains(UnshareFlags::FILES) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: without `FILES` all threads keep their descriptors.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Returns true if two threads share one table of descriptors (kcmp(2), `KCMP_FILES`). False also
/// if this process may not compare them.
pub fn shares_descriptors(one: u32, other: u32) -> bool {
    const KCMP_FILES: libc::c_long = 2;
    // SAFETY: takes numbers and touches no memory of this process.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) };
    order == 0
}

/// Exits this process at once, without destructors and handlers. For a child that must not continue
/// as its parent.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit(2) is always possible, and nothing runs after it.
    unsafe { libc::_exit(code) }
}

/// Sets close-on-exec on every descriptor from `first` on.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    match close_range(first, libc::CLOSE_RANGE_CLOEXEC) {
        // Before Linux 5.11 the call can only close them.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => each_close_on_exec_from(first),
        done => done,
    }
}

fn each_close_on_exec_from(first: u32) -> io::Result<()> {
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
            // SAFETY: takes three numbers and closes nothing. The number may be closed meanwhile,
            // which is no error here.
            unsafe { libc::fcntl(number.cast_signed(), libc::F_SETFD, libc::FD_CLOEXEC) };
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
        *to = libc::c_char::from_ne_bytes([*from]);
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
