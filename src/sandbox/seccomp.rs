//! seccomp(2) filter of commands: default allow, and a table of refusals (`table.rs`), each line
//! with its reason.
//!
//! The default is to allow, because the filter is one barrier of several. Landlock and the
//! namespaces decide which files and processes are reachable, and a new system call reaches no more
//! than they permit. An allow list would have to be right about every program, and would break when
//! C libraries start to use new calls.
//!
//! The table lists calls that those barriers do not mediate. These are calls on other processes and
//! on the whole system, sockets, and parts of the kernel with many past vulnerabilities. Socket
//! families and types are the exception: the table lists the allowed ones, because there are dozens
//! and the kernel loads them on demand.

mod table;

use std::collections::BTreeMap;

use super::bpf::{Assembler, Label, Program, Test, Word};
use table::{Clause, FilterAction, FilterRule};
pub use table::{FilterSettings, MARK, Sockets};
pub(super) use table::{
    SYS_FCHMODAT2, SYS_GETXATTRAT, SYS_LISTXATTRAT, SYS_REMOVEXATTRAT, SYS_SETXATTRAT,
};

/// Supported calling convention (`AUDIT_ARCH_*`); a call by any other fails with `ENOSYS`.
#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
/// Supported calling convention (`AUDIT_ARCH_*`); a call by any other fails with `ENOSYS`.
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the table of refused system calls is known for x86_64 and aarch64 only");

/// System call numbers from here on belong to x32 on `x86_64`, or to no call.
const FIRST_FOREIGN: u32 = 0x4000_0000;

/// Builds the filter for a command without walls whose network calls are intercepted.
pub fn interception() -> Program {
    assemble(&table::interception())
}

/// Builds the filter that is stacked on an intercepting one after its listener was sent.
pub fn sealing() -> Program {
    assemble(&[table::NO_MARK])
}

/// System calls of a process that only computes: memory, I/O on open descriptors, and exit.
const COMPUTING: [libc::c_long; 14] = [
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigreturn,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Builds the filter for a process that only computes. It is killed by any other call, by
/// executable memory, and by shared memory, which escapes its memory limit.
pub fn computing() -> Program {
    let mut code = Assembler::default();
    let (allowed, maps, refused) = (code.label(), code.label(), code.label());
    code.load(Word::Arch);
    code.jump_unless(Test::Is(ARCH), &refused);
    code.load(Word::Number);
    for call in COMPUTING {
        code.jump_if(Test::Is(call.cast_unsigned() as u32), &allowed);
    }
    code.jump_if(Test::Is(libc::SYS_mmap.cast_unsigned() as u32), &maps);
    code.jump(&refused);
    code.place(maps);
    code.load(Word::Low(2));
    code.jump_if(Test::HasAny(libc::PROT_EXEC.cast_unsigned()), &refused);
    code.load(Word::Low(3));
    code.jump_if(Test::HasAny(libc::MAP_SHARED.cast_unsigned()), &refused);
    code.place(allowed);
    code.answer(libc::SECCOMP_RET_ALLOW);
    code.finish(libc::SECCOMP_RET_KILL_PROCESS)
}

/// Builds the filter for these settings, to be loaded with `sys::seccomp::install_with_listener`.
pub fn filter(settings: FilterSettings) -> Program {
    assemble(&table::lines(settings))
}

/// Assembles a filter with binary search, not line by line. The kernel evaluates every system call
/// number once when it loads a filter. With a linear search this dominated the start of a command.
fn assemble(lines: &[FilterRule]) -> Program {
    let mut code = Assembler::default();
    let foreign = code.label();
    code.load(Word::Arch);
    code.jump_unless(Test::Is(ARCH), &foreign);
    code.load(Word::Number);
    code.jump_if(Test::AtLeast(FIRST_FOREIGN), &foreign);
    let ranges = ranges(lines);
    let cases: BTreeMap<&Case, Label> = ranges
        .iter()
        .map(|(_, case)| (case, code.label()))
        .collect();
    find(&mut code, &ranges, &cases);
    for (case, label) in cases {
        code.place(label);
        for (when, answer) in case {
            let miss = code.label();
            for clause in *when {
                demand(&mut code, *clause, &miss);
            }
            code.answer(match *answer {
                FilterAction::Errno(number) => errno(number),
                FilterAction::Ask => libc::SECCOMP_RET_USER_NOTIF,
            });
            code.place(miss);
        }
        if case.last().is_none_or(|(when, _)| !when.is_empty()) {
            code.answer(libc::SECCOMP_RET_ALLOW);
        }
    }
    code.place(foreign);
    code.finish(errno(libc::ENOSYS))
}

/// Lines for a system call, up to the first unconditional one.
type Case = Vec<(&'static [Clause], FilterAction)>;

/// Ranges of system call numbers with equal treatment, each by its first number. They start at 0
/// and have no gap.
fn ranges(lines: &[FilterRule]) -> Vec<(u32, Case)> {
    let mut cases: BTreeMap<u32, Case> = BTreeMap::new();
    for line in lines {
        for call in line.calls {
            let case = cases.entry(call.cast_unsigned() as u32).or_default();
            if case.last().is_none_or(|(when, _)| !when.is_empty()) {
                case.push((line.when, line.answer));
            }
        }
    }
    let mut ranges = vec![(0, Case::new())];
    for (number, case) in cases {
        // Numbers between two entries of the table are allowed.
        for (first, case) in [(number, case), (number + 1, Case::new())] {
            ranges.pop_if(|last| last.0 == first);
            if ranges.last().is_none_or(|(_, last)| *last != case) {
                ranges.push((first, case));
            }
        }
    }
    ranges
}

/// Emits jumps to the case of the number in the accumulator.
fn find(code: &mut Assembler, ranges: &[(u32, Case)], cases: &BTreeMap<&Case, Label>) {
    let (below, above) = ranges.split_at(ranges.len() / 2);
    match (below, above) {
        ([], [(_, case)]) => code.jump(&cases[case]),
        (_, [(first, case)]) => {
            code.jump_if(Test::AtLeast(*first), &cases[case]);
            find(code, below, cases);
        }
        (_, [(first, _), ..]) => {
            let upper = code.label();
            code.jump_if(Test::AtLeast(*first), &upper);
            find(code, below, cases);
            code.place(upper);
            find(code, above, cases);
        }
        (_, []) => {}
    }
}

/// Emits a test that continues if the clause holds, else jumps to `miss`.
fn demand(code: &mut Assembler, clause: Clause, miss: &Label) {
    match clause {
        Clause::Has(argument, bits) => {
            code.load(Word::Low(argument));
            code.jump_unless(Test::HasAny(bits), miss);
        }
        Clause::In(argument, mask, values) => {
            let holds = code.label();
            compare(code, argument, mask, values, &holds);
            code.jump(miss);
            code.place(holds);
        }
        Clause::NotIn(argument, mask, values) => compare(code, argument, mask, values, miss),
        Clause::Given(argument) => {
            let holds = code.label();
            code.load(Word::Low(argument));
            code.jump_unless(Test::Is(0), &holds);
            code.load(Word::High(argument));
            code.jump_if(Test::Is(0), miss);
            code.place(holds);
        }
    }
}

fn compare(code: &mut Assembler, argument: u8, mask: u32, values: &[u32], equal: &Label) {
    code.load(Word::Low(argument));
    code.and(mask);
    for value in values {
        code.jump_if(Test::Is(*value), equal);
    }
}

const fn errno(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | (number.cast_unsigned() & libc::SECCOMP_RET_DATA)
}

#[cfg(test)]
mod tests;
