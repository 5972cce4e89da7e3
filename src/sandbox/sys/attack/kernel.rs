//! Calls that change the machine, spoilt on purpose so that they change nothing when they are let
//! through, and calls that open large parts of the kernel.
#![expect(
    unsafe_code,
    reason = "raw system calls; each block says why it is sound"
)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use libc::{c_int, c_long, c_ulong};

use super::{checked, made};

/// reboot(2) with numbers that are not its magic: EINVAL from a kernel that would have done it.
pub fn reboot_without_magic() -> io::Result<c_long> {
    // SAFETY: takes numbers here, and these do nothing.
    checked(unsafe { libc::syscall(libc::SYS_reboot, 1, 2, 3, 0) })
}

/// `kexec_load(2)` with flags that do not exist: EINVAL from a kernel that would have done it.
pub fn load_kernel_with_bad_flags() -> io::Result<c_long> {
    // SAFETY: no segments, so nothing is read; the flags are refused.
    checked(unsafe { libc::syscall(libc::SYS_kexec_load, 0, 0, 0, 0xdead) })
}

/// `init_module(2)` without a module: EFAULT or ENOEXEC from a kernel that would have done it.
pub fn load_no_module() -> io::Result<c_long> {
    // SAFETY: an image of no bytes and an empty string.
    checked(unsafe { libc::syscall(libc::SYS_init_module, 0, 0, c"".as_ptr()) })
}

/// `delete_module(2)` of one that does not exist: ENOENT from a kernel that would have done it.
pub fn remove_no_module() -> io::Result<c_long> {
    // SAFETY: a string that outlives the call.
    checked(unsafe { libc::syscall(libc::SYS_delete_module, c"replay_probe_absent".as_ptr(), 0) })
}

/// swapon(2) of a file that does not exist.
pub fn swap_on_nothing() -> io::Result<c_long> {
    // SAFETY: a string that outlives the call.
    checked(unsafe { libc::syscall(libc::SYS_swapon, c"/replay-probe-absent".as_ptr(), 0) })
}

/// acct(2) into a file that does not exist.
pub fn account_to_nothing() -> io::Result<c_long> {
    // SAFETY: a string that outlives the call.
    checked(unsafe { libc::syscall(libc::SYS_acct, c"/replay-probe-absent".as_ptr()) })
}

/// settimeofday(2) to no time.
pub fn set_no_time() -> io::Result<c_long> {
    // SAFETY: both pointers may be null.
    checked(unsafe { libc::syscall(libc::SYS_settimeofday, 0, 0) })
}

/// sethostname(2) to the name that is there.
pub fn set_same_name() -> io::Result<c_long> {
    let mut name = [0u8; 65];
    // SAFETY: a buffer of 65 bytes, of which the last is left for the NUL; then its text and
    // length.
    unsafe {
        checked(libc::gethostname(name.as_mut_ptr().cast(), 64).into())?;
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(64);
        checked(libc::syscall(libc::SYS_sethostname, name.as_ptr(), length))
    }
}

/// syslog(2): reads the kernel's messages.
pub fn kernel_messages() -> io::Result<c_long> {
    const SYSLOG_ACTION_READ_ALL: c_int = 3;
    let mut buffer = [0u8; 256];
    // SAFETY: a buffer of this length.
    checked(unsafe {
        libc::syscall(
            libc::SYS_syslog,
            SYSLOG_ACTION_READ_ALL,
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    })
}

/// `io_uring_setup(2)`.
pub fn io_uring() -> io::Result<OwnedFd> {
    let mut parameters = [0u8; 120];
    // SAFETY: a struct io_uring_params is 120 bytes.
    made(unsafe { libc::syscall(libc::SYS_io_uring_setup, 4, parameters.as_mut_ptr()) })
}

/// bpf(2): a map of one number.
pub fn bpf_map() -> io::Result<OwnedFd> {
    const BPF_MAP_CREATE: c_int = 0;
    const BPF_MAP_TYPE_ARRAY: u32 = 2;
    let mut attributes = [0u32; 32];
    attributes[..4].copy_from_slice(&[BPF_MAP_TYPE_ARRAY, 4, 4, 1]);
    // SAFETY: a union bpf_attr of this length, only read by this command.
    made(unsafe {
        libc::syscall(
            libc::SYS_bpf,
            BPF_MAP_CREATE,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    })
}

/// bpf(2): a program that returns 0, for sockets.
pub fn bpf_program() -> io::Result<OwnedFd> {
    const BPF_PROG_LOAD: c_int = 5;
    const SOCKET_FILTER: u64 = 1;
    // r0 = 0; exit
    let program: [u64; 2] = [0xb7, 0x95];
    let attributes: [u64; 6] = [
        SOCKET_FILTER | 2 << 32,
        program.as_ptr() as u64,
        c"GPL".as_ptr() as u64,
        0,
        0,
        0,
    ];
    // SAFETY: a union bpf_attr of this length that points at two instructions and a string.
    made(unsafe {
        libc::syscall(
            libc::SYS_bpf,
            BPF_PROG_LOAD,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    })
}

/// `perf_event_open(2)`: counts what happens to a process (0: itself), the kernel left out.
pub fn perf(process: i32) -> io::Result<OwnedFd> {
    const SOFTWARE: u32 = 1;
    const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 0b110_0000;
    let mut attributes = [0u64; 16];
    attributes[0] = u64::from(SOFTWARE) | 128 << 32;
    attributes[5] = EXCLUDE_KERNEL_AND_HYPERVISOR;
    // SAFETY: a struct perf_event_attr of 128 bytes, as it says itself.
    made(unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            process,
            -1,
            -1,
            0,
        )
    })
}

/// Puts a byte into the input of a terminal, as if it had been typed (TIOCSTI, `ioctl_tty(2)`).
pub fn type_into(terminal: BorrowedFd<'_>) -> io::Result<c_long> {
    let typed = *b"x";
    // SAFETY: the call reads one byte.
    checked(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSTI, typed.as_ptr()) }.into())
}

/// The same with bits above the 32 that the kernel looks at, which some filters compare.
pub fn type_into_with_high_bits(terminal: BorrowedFd<'_>) -> io::Result<c_long> {
    let typed = *b"x";
    let command = libc::TIOCSTI as c_ulong | 1 << 32;
    // SAFETY: the call reads one byte.
    checked(unsafe {
        libc::syscall(
            libc::SYS_ioctl,
            terminal.as_raw_fd(),
            command,
            typed.as_ptr(),
        )
    })
}

/// Pastes on a console (TIOCLINUX, subcode 3).
pub fn paste_into(terminal: BorrowedFd<'_>) -> io::Result<c_long> {
    const TIOCLINUX: c_ulong = 0x541c;
    let subcode = [3u8];
    // SAFETY: the call reads one byte.
    checked(unsafe {
        libc::syscall(
            libc::SYS_ioctl,
            terminal.as_raw_fd(),
            TIOCLINUX,
            subcode.as_ptr(),
        )
    })
}

/// Makes a terminal the controlling one of this session (TIOCSCTTY).
pub fn take_terminal(terminal: BorrowedFd<'_>) -> io::Result<c_long> {
    // SAFETY: takes a number.
    checked(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0) }.into())
}

/// prctl(2) with numbers, for operations whose arguments are numbers.
pub fn control(operation: c_int, arguments: [c_ulong; 4]) -> io::Result<c_long> {
    let [second, third, fourth, fifth] = arguments;
    // SAFETY: the operations used (seccomp, no_new_privs, securebits, the heap's start) take
    // numbers. The last of them is refused without privilege, and its number is the current address
    // of the heap.
    checked(unsafe { libc::prctl(operation, second, third, fourth, fifth) }.into())
}

/// Adds a filter of one instruction, which gives every call this action (seccomp(2)); with `listen`
/// a descriptor to answer from.
pub fn filter_all(action: u32, listen: bool) -> io::Result<c_long> {
    const RET: u16 = 0x06;
    let instruction = libc::sock_filter {
        code: RET,
        jt: 0,
        jf: 0,
        k: action,
    };
    let program = libc::sock_fprog {
        len: 1,
        filter: (&raw const instruction).cast_mut(),
    };
    let flags = if listen {
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER
    } else {
        0
    };
    // SAFETY: a program of one instruction, which the kernel copies.
    checked(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    })
}

/// Sets the groups of this process to the first one alone (setgroups(2)).
pub fn set_groups() -> io::Result<c_long> {
    let groups: [libc::gid_t; 1] = [0];
    // SAFETY: a list of one.
    checked(unsafe { libc::setgroups(groups.len(), groups.as_ptr()) }.into())
}

/// Sends data with the first packet of a connection to a port of 127.0.0.1 (`MSG_FASTOPEN`).
pub fn send_fast_open(socket: BorrowedFd<'_>, port: u16) -> io::Result<c_long> {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes([127, 0, 0, 1]),
        },
        sin_zero: [0; 8],
    };
    // SAFETY: two bytes and an address of its own length.
    checked(unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            b"hi".as_ptr().cast(),
            2,
            libc::MSG_FASTOPEN,
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    } as c_long)
}

/// Switches an interface off (SIOCSIFFLAGS, netdevice(7)).
pub fn switch_off(socket: BorrowedFd<'_>, interface: &CStr) -> io::Result<c_long> {
    let mut request = [0u8; 40];
    let name = interface.to_bytes();
    request[..name.len().min(15)].copy_from_slice(&name[..name.len().min(15)]);
    // SAFETY: a struct ifreq is 40 bytes; the flags in it are zero.
    checked(
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, request.as_mut_ptr()) }.into(),
    )
}
