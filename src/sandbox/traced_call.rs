//! System calls of a traced child whose tracer changes an argument before the call begins.
//!
//! The kernel evaluates filters after the tracer (seccomp(2)), so they see the new argument. On
//! arm64 before Linux 6.12.115 they see the old first argument, which the kernel keeps apart
//! (`orig_x0`; the commit is "arm64: ptrace: Keep `orig_x0` in-sync with x0 on syscall entry").

use std::io;

use libc::c_long;
use nix::errno::Errno;
use nix::sys::ptrace::regset::NT_PRSTATUS;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use replay_sys as sys;

use crate::bpf::{Assembler, Program, Test, Word};

/// A way to change a register of a traced child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterWrite {
    /// `PTRACE_SETREGSET`.
    Set,
    /// `PTRACE_SETREGS`, the same in older words.
    #[cfg(target_arch = "x86_64")]
    All,
    /// `PTRACE_POKEUSER`.
    #[cfg(target_arch = "x86_64")]
    One,
    /// `PTRACE_SET_SYSCALL_INFO`, since Linux 6.16.
    CallInfo,
}

impl RegisterWrite {
    pub const EACH: &[Self] = &[
        Self::Set,
        #[cfg(target_arch = "x86_64")]
        Self::All,
        #[cfg(target_arch = "x86_64")]
        Self::One,
        Self::CallInfo,
    ];
}

/// The moment at which a tracer stops its child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracerStop {
    /// Entry of the call (`PTRACE_SYSCALL`).
    Entry,
    /// A filter of the child asks its tracer (`SECCOMP_RET_TRACE`).
    Filter,
}

/// A system call, and the argument that its tracer changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedCall {
    pub number: c_long,
    /// 0 to 5.
    pub argument: usize,
    pub value: u64,
    pub stop: TracerStop,
    pub write: RegisterWrite,
}

impl ChangedCall {
    /// Forks a child that makes `call`, changes the argument, and returns what the kernel answered:
    /// a value, or the number of an error. The child ends with its first such call.
    ///
    /// Fails if this process has several threads, if the kernel refuses to trace or to change the
    /// registers, or if the child never makes the call.
    pub fn run(&self, call: impl FnOnce() -> io::Result<()>) -> io::Result<Result<i64, i32>> {
        let Some(child) = sys::fork()? else {
            let filters = match self.stop {
                TracerStop::Entry => Ok(()),
                TracerStop::Filter => install(&asks_tracer(self.number)),
            };
            let _ = filters
                .and_then(|()| Ok(ptrace::traceme()?))
                .and_then(|()| Ok(raise(Signal::SIGSTOP)?))
                .and_then(|()| call());
            sys::exit_now(1);
        };
        let answer = self.trace(child);
        let _ = kill(child, Signal::SIGKILL);
        let _ = waitpid(child, None);
        answer
    }

    fn trace(&self, child: Pid) -> io::Result<Result<i64, i32>> {
        let not_seen = || io::Error::other("the traced child did not make the call");
        if !matches!(
            waitpid(child, None)?,
            WaitStatus::Stopped(_, Signal::SIGSTOP)
        ) {
            return Err(not_seen());
        }
        ptrace::setoptions(
            child,
            Options::PTRACE_O_TRACESYSGOOD
                | Options::PTRACE_O_TRACESECCOMP
                | Options::PTRACE_O_EXITKILL,
        )?;
        loop {
            match self.stop {
                TracerStop::Entry => ptrace::syscall(child, None)?,
                TracerStop::Filter => ptrace::cont(child, None)?,
            }
            match waitpid(child, None)? {
                WaitStatus::PtraceSyscall(_) | WaitStatus::PtraceEvent(..) => {}
                _ => return Err(not_seen()),
            }
            if number(&ptrace::getregset::<NT_PRSTATUS>(child)?) == self.number {
                break;
            }
        }
        self.change(child)?;
        ptrace::syscall(child, None)?;
        if !matches!(waitpid(child, None)?, WaitStatus::PtraceSyscall(_)) {
            return Err(not_seen());
        }
        let answer = result(&ptrace::getregset::<NT_PRSTATUS>(child)?);
        // The last page of values is for errors (syscall(2)).
        Ok(match i32::try_from(answer) {
            Ok(error @ -4095..=-1) => Err(-error),
            _ => Ok(answer),
        })
    }

    fn change(&self, child: Pid) -> io::Result<()> {
        let mut registers = ptrace::getregset::<NT_PRSTATUS>(child)?;
        *argument(&mut registers, self.argument)? = self.value;
        match self.write {
            RegisterWrite::Set => ptrace::setregset::<NT_PRSTATUS>(child, registers)?,
            #[cfg(target_arch = "x86_64")]
            RegisterWrite::All => sys::attack::set_registers(child, &registers)?,
            #[cfg(target_arch = "x86_64")]
            RegisterWrite::One => {
                let start = std::ptr::from_ref(&registers).addr();
                let offset =
                    std::ptr::from_mut(argument(&mut registers, self.argument)?).addr() - start;
                let place = std::ptr::without_provenance_mut(offset);
                ptrace::write_user(child, place, self.value.cast_signed())?;
            }
            RegisterWrite::CallInfo => {
                sys::attack::change_call(child, self.argument, self.value)?;
            }
        }
        Ok(())
    }
}

/// Returns true if a tracer can change an argument that the filter has approved. True also if the
/// trial fails. For a process of one thread, before it enters a pid namespace.
pub(crate) fn tracers_pass_filters() -> bool {
    // There, filter and call read the same registers.
    !cfg!(target_arch = "x86_64") && !is_seen_by_filter().unwrap_or(false)
}

/// Returns true if a filter that refuses getpgid(2) of any process but 0 sees the changed argument.
fn is_seen_by_filter() -> io::Result<bool> {
    let call = ChangedCall {
        number: libc::SYS_getpgid,
        argument: 0,
        value: u64::from(std::process::id()),
        stop: TracerStop::Entry,
        write: RegisterWrite::Set,
    };
    let answer = call.run(|| {
        let mut code = Assembler::default();
        let (allowed, refused) = (code.label(), code.label());
        code.load(Word::Number);
        code.jump_unless(Test::Is(libc::SYS_getpgid as u32), &allowed);
        code.load(Word::Low(0));
        code.jump_unless(Test::Is(0), &refused);
        code.place(allowed);
        code.answer(libc::SECCOMP_RET_ALLOW);
        install(&code.finish(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32))?;
        rustix::process::getpgid(None)?;
        Ok(())
    })?;
    Ok(answer == Err(Errno::EPERM as i32))
}

fn install(filter: &Program) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    sys::seccomp::install(filter.instructions())
}

/// Builds a filter that stops the caller of a call for its tracer.
fn asks_tracer(number: c_long) -> Program {
    let mut code = Assembler::default();
    let allowed = code.label();
    code.load(Word::Number);
    code.jump_unless(Test::Is(number.cast_unsigned() as u32), &allowed);
    code.answer(libc::SECCOMP_RET_TRACE);
    code.place(allowed);
    code.finish(libc::SECCOMP_RET_ALLOW)
}

// Registers of a call: syscall(2).

#[cfg(target_arch = "x86_64")]
fn number(registers: &libc::user_regs_struct) -> c_long {
    registers.orig_rax.cast_signed()
}

#[cfg(target_arch = "aarch64")]
fn number(registers: &libc::user_regs_struct) -> c_long {
    registers.regs[8].cast_signed()
}

#[cfg(target_arch = "x86_64")]
fn result(registers: &libc::user_regs_struct) -> i64 {
    registers.rax.cast_signed()
}

#[cfg(target_arch = "aarch64")]
fn result(registers: &libc::user_regs_struct) -> i64 {
    registers.regs[0].cast_signed()
}

fn argument(registers: &mut libc::user_regs_struct, index: usize) -> io::Result<&mut u64> {
    #[cfg(target_arch = "x86_64")]
    let register = match index {
        0 => Some(&mut registers.rdi),
        1 => Some(&mut registers.rsi),
        2 => Some(&mut registers.rdx),
        3 => Some(&mut registers.r10),
        4 => Some(&mut registers.r8),
        5 => Some(&mut registers.r9),
        _ => None,
    };
    #[cfg(target_arch = "aarch64")]
    let register = registers.regs[..6].get_mut(index);
    register.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use replay_sys::testing::fork_among_threads;

    use super::*;

    /// Runs a test in a process of one thread. `0` is success.
    fn in_one_thread(test: impl FnOnce() -> bool) {
        let Some(child) = fork_among_threads().unwrap() else {
            sys::exit_now(i32::from(!test()));
        };
        assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
    }

    #[test]
    fn changed_argument_reaches_call_each_way() {
        for &write in RegisterWrite::EACH {
            for stop in [TracerStop::Entry, TracerStop::Filter] {
                let call = ChangedCall {
                    number: libc::SYS_getpgid,
                    argument: 0,
                    // More than any process number (proc_sys_kernel(5), `pid_max`).
                    value: 1 << 23,
                    stop,
                    write,
                };
                in_one_thread(|| {
                    let answer = call.run(|| {
                        rustix::process::getpgid(None)?;
                        Ok(())
                    });
                    match answer {
                        Ok(answer) => answer == Err(libc::ESRCH),
                        // Linux 6.15 and older.
                        Err(error) => {
                            write == RegisterWrite::CallInfo
                                && error.raw_os_error() == Some(libc::EIO)
                        }
                    }
                });
            }
        }
    }

    #[test]
    fn call_that_is_not_made_is_error() {
        let call = ChangedCall {
            number: libc::SYS_getpgid,
            argument: 0,
            value: 0,
            stop: TracerStop::Entry,
            write: RegisterWrite::Set,
        };
        in_one_thread(|| call.run(|| Ok(())).is_err());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn filter_sees_changed_argument() {
        in_one_thread(|| is_seen_by_filter().unwrap_or(false));
    }
}
