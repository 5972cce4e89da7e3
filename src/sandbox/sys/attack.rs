//! System calls that only the attack battery makes: most exist to be refused.
//!
//! None of them can harm the memory of this process. Functions for numbers take only numbers.
//! Functions for memory take slices, and pass their lengths to the kernel.
#![expect(
    unsafe_code,
    reason = "raw system calls; each block says why it is sound"
)]

pub mod ipc;
pub mod kernel;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, c_long};
use nix::unistd::Pid;

fn checked(value: c_long) -> io::Result<c_long> {
    if value < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(value)
    }
}

/// A descriptor that a call has just made.
fn made(value: c_long) -> io::Result<OwnedFd> {
    let fd = checked(value)?;
    // SAFETY: the kernel has just handed out this number, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Functions for system calls whose arguments are numbers in every form of the call that is used
/// here.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) = $number:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name($($argument: c_long),*) -> io::Result<c_long> {
            // SAFETY: the call takes numbers only and touches no memory of this process.
            checked(unsafe { libc::syscall($number $(, $argument)*) })
        }
    )*};
}

numbers! {
    /// unshare(2); for a process of one thread.
    unshare(flags) = libc::SYS_unshare;
    /// tkill(2).
    tkill(thread, signal) = libc::SYS_tkill;
    /// tgkill(2).
    tgkill(process, thread, signal) = libc::SYS_tgkill;
    /// kill(2).
    kill(process, signal) = libc::SYS_kill;
    /// setpgid(2).
    setpgid(process, group) = libc::SYS_setpgid;
    /// `ioprio_set(2)`.
    ioprio_set(which, who, priority) = libc::SYS_ioprio_set;
    /// `ioprio_get(2)`.
    ioprio_get(which, who) = libc::SYS_ioprio_get;
    /// setpriority(2).
    setpriority(which, who, priority) = libc::SYS_setpriority;
    /// kcmp(2).
    kcmp(one, two, kind, first, second) = libc::SYS_kcmp;
    /// `process_mrelease(2)`.
    process_mrelease(pidfd, flags) = libc::SYS_process_mrelease;
    /// userfaultfd(2).
    userfaultfd(flags) = libc::SYS_userfaultfd;
    /// setuid(2).
    setuid(user) = libc::SYS_setuid;
    /// setresuid(2).
    setresuid(real, effective, saved) = libc::SYS_setresuid;
    /// setgid(2).
    setgid(group) = libc::SYS_setgid;
    /// msgget(2).
    msgget(key, flags) = libc::SYS_msgget;
    /// semget(2).
    semget(key, count, flags) = libc::SYS_semget;
    /// fcntl(2).
    fcntl(fd, command, argument) = libc::SYS_fcntl;
    /// sysfs(2): how many kinds of file systems there are, with option 3.
    #[cfg(target_arch = "x86_64")]
    sysfs(option) = libc::SYS_sysfs;
    /// `io_uring_register(2)` without arguments.
    io_uring_enter(ring, submit, complete, flags) = libc::SYS_io_uring_enter;
}

/// ustat(2): the blocks that a file system has free, by its number.
#[cfg(target_arch = "x86_64")]
pub fn free_blocks(device: u64) -> io::Result<i32> {
    let mut told = [0_i32; 16];
    // SAFETY: a struct ustat is of 32 bytes, and there is room for twice as many.
    checked(unsafe { libc::syscall(libc::SYS_ustat, device, told.as_mut_ptr()) })?;
    Ok(told[0])
}

/// Makes a file with this mode by openat2(2).
pub fn make_by_openat2(path: &CStr, mode: u64) -> io::Result<OwnedFd> {
    let flags = (libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC) as u64;
    let how: [u64; 3] = [flags, mode, 0];
    // SAFETY: a string and a struct open_how of 24 bytes, both only read.
    made(unsafe {
        libc::syscall(
            libc::SYS_openat2,
            libc::AT_FDCWD,
            path.as_ptr(),
            how.as_ptr(),
            size_of_val(&how),
        )
    })
}

/// iopl(2): the processor's ports.
#[cfg(target_arch = "x86_64")]
pub fn ports() -> io::Result<c_long> {
    // SAFETY: takes a number only; what it would allow, inb and outb, is not used.
    checked(unsafe { libc::syscall(libc::SYS_iopl, 3) })
}

/// The number of a call in the two other tables of calls that an x86-64 kernel may have.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub enum Foreign {
    /// By `int 0x80`, in the table of 32-bit programs.
    I386(u32),
    /// In the x32 table.
    X32(u32),
}

/// A call with three numbers by way of another table; a negative errno, or the value.
#[cfg(target_arch = "x86_64")]
pub fn foreign(call: Foreign, arguments: [u32; 3]) -> i64 {
    match call {
        Foreign::I386(number) => {
            let value: i64;
            // SAFETY: the calls used take numbers only; `int 0x80` changes no register but those
            // named, and rbx, which the compiler keeps for itself, is put back.
            unsafe {
                std::arch::asm!(
                    "push rbx", "mov ebx, {first:e}", "int 0x80", "pop rbx",
                    first = in(reg) arguments[0],
                    inout("rax") i64::from(number) => value,
                    in("rcx") u64::from(arguments[1]),
                    in("rdx") u64::from(arguments[2]),
                    lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
                );
            }
            // The kernel leaves 32 bits that mean something.
            i64::from(value as i32)
        }
        Foreign::X32(number) => {
            const X32_SYSCALL_BIT: c_long = 0x4000_0000;
            let [first, second, third] = arguments;
            // SAFETY: the calls used take numbers only.
            let value = unsafe {
                libc::syscall(c_long::from(number) | X32_SYSCALL_BIT, first, second, third)
            };
            checked(value)
                .unwrap_or_else(|error| -i64::from(error.raw_os_error().unwrap_or(libc::ENOSYS)))
        }
    }
}

/// A copy of this process by clone(2) or clone3(2) with these flags, which ends at once.
pub fn clone_and_end(flags: u64, newest: bool) -> io::Result<()> {
    let arguments: [u64; 8] = [flags, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    // SAFETY: the flags name namespaces only, so both forms are fork(2) as far as memory goes; the
    // kernel reads the 64 bytes of `arguments`.
    let child = checked(unsafe {
        if newest {
            libc::syscall(
                libc::SYS_clone3,
                arguments.as_ptr(),
                size_of_val(&arguments),
            )
        } else {
            libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD as u64, 0, 0, 0, 0)
        }
    })?;
    if child == 0 {
        // SAFETY: ends the copy.
        unsafe { libc::_exit(0) }
    }
    // SAFETY: waits for the own child without asking for its status.
    unsafe { libc::waitpid(child as c_int, std::ptr::null_mut(), 0) };
    Ok(())
}

/// truncate(2) to nothing.
pub fn truncate(path: &CStr) -> io::Result<c_long> {
    // SAFETY: the path is a string that outlives the call.
    checked(unsafe { libc::syscall(libc::SYS_truncate, path.as_ptr(), 0) })
}

/// Takes the handle of a file and opens it by that (`open_by_handle_at(2)`).
pub fn open_by_handle(path: &CStr, mount: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut handle = [0u8; 136];
    handle[..4].copy_from_slice(&128u32.to_ne_bytes());
    let mut mount_id: c_int = 0;
    // SAFETY: `handle` is a struct file_handle that says that 128 bytes follow its header of 8, and
    // they do.
    checked(unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            path.as_ptr(),
            handle.as_mut_ptr(),
            &raw mut mount_id,
            0,
        )
    })?;
    // SAFETY: the same bytes, which the kernel only reads now.
    made(unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            mount.as_raw_fd(),
            handle.as_ptr(),
            libc::O_RDONLY,
        )
    })
}

/// Takes read-only off a mount with everything below it (`mount_setattr(2)`).
pub fn mount_writable(path: &CStr) -> io::Result<c_long> {
    let attributes: [u64; 4] = [0, libc::MOUNT_ATTR_RDONLY, 0, 0];
    // SAFETY: a path and a struct mount_attr of its first size, 32 bytes, both only read.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    })
}

/// Changes the mode by `fchmodat2(2)`, which filters that were written before 2023 do not know.
pub fn fchmodat2(path: &CStr, mode: u32) -> io::Result<c_long> {
    const SYS_FCHMODAT2: c_long = 452;
    // SAFETY: the path is a string that outlives the call.
    checked(unsafe { libc::syscall(SYS_FCHMODAT2, libc::AT_FDCWD, path.as_ptr(), mode, 0) })
}

/// Sets an extended attribute by `setxattrat(2)`, which filters that were written before 2025 do
/// not know.
pub fn setxattrat(path: &CStr, name: &CStr) -> io::Result<c_long> {
    const SYS_SETXATTRAT: c_long = 463;
    let value = *b"1";
    let arguments: [u64; 2] = [value.as_ptr() as u64, value.len() as u64];
    // SAFETY: strings and a struct xattr_args of 16 bytes that points to `value`; all outlive the
    // call and are read.
    checked(unsafe {
        libc::syscall(
            SYS_SETXATTRAT,
            libc::AT_FDCWD,
            path.as_ptr(),
            0,
            name.as_ptr(),
            arguments.as_ptr(),
            16,
        )
    })
}

/// Reads an extended attribute by `getxattrat(2)`, which filters that were written before 2025 do
/// not know; its length.
pub fn getxattrat(path: &CStr, name: &CStr, value: &mut [u8]) -> io::Result<usize> {
    const SYS_GETXATTRAT: c_long = 464;
    let arguments: [u64; 2] = [value.as_mut_ptr() as u64, value.len() as u64];
    // SAFETY: strings and a struct xattr_args of 16 bytes that points to `value`, which alone is
    // written; all outlive the call.
    let length = checked(unsafe {
        libc::syscall(
            SYS_GETXATTRAT,
            libc::AT_FDCWD,
            path.as_ptr(),
            0,
            name.as_ptr(),
            arguments.as_ptr(),
            16,
        )
    })?;
    usize::try_from(length).map_err(io::Error::other)
}

/// Sets the flags of a file by `file_setattr(2)` (Linux 6.17).
pub fn file_setattr(path: &CStr) -> io::Result<c_long> {
    const SYS_FILE_SETATTR: c_long = 469;
    const FS_XFLAG_NODUMP: u64 = 0x80;
    let attributes: [u64; 3] = [FS_XFLAG_NODUMP, 0, 0];
    // SAFETY: a string and a struct file_attr of its first size, 24 bytes, both only read.
    checked(unsafe {
        libc::syscall(
            SYS_FILE_SETATTR,
            libc::AT_FDCWD,
            path.as_ptr(),
            attributes.as_ptr(),
            size_of_val(&attributes),
            0,
        )
    })
}

/// A group of fanotify watches (`fanotify_init(2)`).
pub fn fanotify_group(flags: c_long) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    made(unsafe { libc::syscall(libc::SYS_fanotify_init, flags, libc::O_RDONLY) })
}

/// Watches a directory by fanotify.
pub fn fanotify_watch(group: BorrowedFd<'_>, path: &CStr) -> io::Result<c_long> {
    const FAN_MARK_ADD: c_int = 1;
    const FAN_CREATE: u64 = 0x100;
    // SAFETY: the path is a string that outlives the call.
    checked(unsafe {
        libc::syscall(
            libc::SYS_fanotify_mark,
            group.as_raw_fd(),
            FAN_MARK_ADD,
            FAN_CREATE,
            libc::AT_FDCWD,
            path.as_ptr(),
        )
    })
}

/// Attaches to a process as its debugger and lets go at once.
pub fn trace(process: i32) -> io::Result<()> {
    // SAFETY: PTRACE_SEIZE and PTRACE_DETACH with no address and no data.
    unsafe {
        checked(libc::syscall(
            libc::SYS_ptrace,
            libc::PTRACE_SEIZE,
            process,
            0,
            0,
        ))?;
        libc::syscall(libc::SYS_ptrace, libc::PTRACE_DETACH, process, 0, 0);
    }
    Ok(())
}

/// Changes the registers of a stopped child by `PTRACE_SETREGS`.
#[cfg(target_arch = "x86_64")]
pub fn set_registers(child: Pid, registers: &libc::user_regs_struct) -> io::Result<()> {
    // SAFETY: the kernel reads one structure of this type (ptrace(2)); of this process it changes
    // nothing.
    checked(unsafe {
        libc::syscall(
            libc::SYS_ptrace,
            libc::PTRACE_SETREGS,
            child.as_raw(),
            0,
            ptr::from_ref(registers),
        )
    })?;
    Ok(())
}

/// Changes an argument (0 to 5) of the call of a stopped child by `PTRACE_SET_SYSCALL_INFO` (since
/// Linux 6.16).
pub fn change_call(child: Pid, argument: usize, value: u64) -> io::Result<()> {
    let mut info = nix::sys::ptrace::syscall_info(child)?;
    // SAFETY: plain numbers. Number and arguments have the same places in both kinds of stop.
    unsafe { info.u.entry.args[argument] = value };
    // SAFETY: the kernel reads one structure of this size (ptrace(2)); of this process it changes
    // nothing.
    checked(unsafe {
        libc::syscall(
            libc::SYS_ptrace,
            libc::PTRACE_SET_SYSCALL_INFO,
            child.as_raw(),
            size_of_val(&info),
            ptr::from_ref(&info),
        )
    })?;
    Ok(())
}

/// `sched_setscheduler(2)`: the policy of batch work.
pub fn make_batch(process: i32) -> io::Result<c_long> {
    let priority: c_int = 0;
    // SAFETY: a struct sched_param of one int, only read.
    checked(unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            process,
            libc::SCHED_BATCH,
            &raw const priority,
        )
    })
}

/// `sched_setscheduler(2)`: real time, of this process.
pub fn make_real_time() -> io::Result<c_long> {
    let priority: c_int = 1;
    // SAFETY: a struct sched_param of one int, only read.
    checked(unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_FIFO,
            &raw const priority,
        )
    })
}

/// setns(2).
pub fn setns(namespace: BorrowedFd<'_>, kind: c_int) -> io::Result<()> {
    // SAFETY: takes numbers only; this process has one thread.
    checked(unsafe { libc::syscall(libc::SYS_setns, namespace.as_raw_fd(), kind) }).map(drop)
}

/// Asks where pages of a process lie (`move_pages(2)` without moving).
pub fn page_places(process: i32, address: u64) -> io::Result<c_long> {
    let pages = [address];
    let mut status: [c_int; 1] = [0];
    // SAFETY: arrays of one page and one status, as counted; no nodes means that nothing moves.
    checked(unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            process,
            1,
            pages.as_ptr(),
            0,
            status.as_mut_ptr(),
            0,
        )
    })?;
    if status[0] < 0 {
        Err(io::Error::from_raw_os_error(-status[0]))
    } else {
        Ok(0)
    }
}

/// Advises the kernel on memory of another process (`process_madvise(2)`): that it is not needed
/// soon.
pub fn advise(pidfd: BorrowedFd<'_>, address: u64) -> io::Result<c_long> {
    let range: [u64; 2] = [address, 4096];
    // SAFETY: one struct iovec, only read; the addresses are the other process's.
    checked(unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            pidfd.as_raw_fd(),
            range.as_ptr(),
            1,
            libc::MADV_COLD,
            0,
        )
    })
}

/// Sends a signal with a value (`rt_sigqueueinfo(2)`, or `rt_tgsigqueueinfo(2)` to the first
/// thread).
pub fn queue_signal(process: i32, signal: i32, to_thread: bool) -> io::Result<c_long> {
    let mut information = [0i32; 32];
    information[0] = signal;
    information[2] = libc::SI_QUEUE;
    // SAFETY: a struct siginfo is 128 bytes, and the kernel only reads it.
    checked(unsafe {
        if to_thread {
            libc::syscall(
                libc::SYS_rt_tgsigqueueinfo,
                process,
                process,
                signal,
                information.as_ptr(),
            )
        } else {
            libc::syscall(
                libc::SYS_rt_sigqueueinfo,
                process,
                signal,
                information.as_ptr(),
            )
        }
    })
}

/// Has a process signalled whenever something can be read from a descriptor (`F_SETOWN`,
/// `F_SETSIG`, `O_ASYNC`).
pub fn signal_on_input(fd: BorrowedFd<'_>, process: i32, signal: i32) -> io::Result<()> {
    const F_SETSIG: c_int = 10;
    let fd = fd.as_raw_fd();
    // SAFETY: three commands of fcntl(2) that take numbers.
    unsafe {
        checked(libc::fcntl(fd, F_SETSIG, signal).into())?;
        checked(libc::fcntl(fd, libc::F_SETOWN, process).into())?;
        checked(libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK).into())?;
    }
    Ok(())
}
