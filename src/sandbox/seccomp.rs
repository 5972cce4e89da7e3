//! The seccomp(2) filter of commands: default allow, and a table of refusals (`table.rs`) in which
//! each line says why.
//!
//! Default allow, because this is one wall of several and not the one that keeps files: Landlock
//! and, where there are any, the namespaces decide what can be reached at all, and a system call
//! that is newer than this table reaches no more than they let it. A list of what is allowed would
//! have to be right about every program that anybody runs, and would fail when their C library
//! begins to use something new. What the table holds is what those walls do not mediate: calls on
//! other processes and on the system as a whole, sockets, and parts of the kernel with a record of
//! holes. Families and types of sockets are the exception: there the list says what is allowed,
//! because families come by the dozen and are loaded on demand.

mod table;

use std::collections::BTreeMap;

use super::bpf::{Assembler, Label, Program, Test, Word};
use table::{Answer, Clause, Line};
pub use table::{MARK, Rules, Sockets};
pub(super) use table::{
    SYS_FCHMODAT2, SYS_GETXATTRAT, SYS_LISTXATTRAT, SYS_REMOVEXATTRAT, SYS_SETXATTRAT,
};

/// The calling convention that the filter knows; a call by any other is answered `ENOSYS`.
#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
/// The calling convention that the filter knows; a call by any other is answered `ENOSYS`.
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the table of refused system calls is known for x86_64 and aarch64 only");

/// Numbers from here on are the same calls under other numbers (x32 on `x86_64`), or none at all.
const FIRST_FOREIGN: u32 = 0x4000_0000;

/// The filter for a command without walls whose calls over the network are intercepted.
pub fn interception() -> Program {
    assemble(&table::interception())
}

/// The filter to be put on top of one that intercepts, once its listener was sent.
pub fn sealing() -> Program {
    assemble(&[table::NO_MARK])
}

/// The calls that work needs which only computes: memory, bytes from and to what is open, and its
/// own end.
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

/// The filter for a process that only computes. Any other call ends it, and so does memory that
/// could be executed, or that no limit counts because it could be shared.
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

/// The filter for these rules, to be loaded with `sys::seccomp::install_with_listener`.
pub fn filter(rules: Rules) -> Program {
    assemble(&table::lines(rules))
}

/// It finds the call by halving, and not line by line: the kernel tries every number once when it
/// loads a filter, which took more time than all else that is done for a command.
fn assemble(lines: &[Line]) -> Program {
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
                Answer::Errno(number) => errno(number),
                Answer::Ask => libc::SECCOMP_RET_USER_NOTIF,
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

/// What the lines about a call say, up to the first one that says it without a condition.
type Case = Vec<(&'static [Clause], Answer)>;

/// Ranges of numbers that are treated alike, each by its first; they go from 0 on without a gap.
fn ranges(lines: &[Line]) -> Vec<(u32, Case)> {
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
        // Whatever comes between two numbers of the table is free.
        for (first, case) in [(number, case), (number + 1, Case::new())] {
            ranges.pop_if(|last| last.0 == first);
            if ranges.last().is_none_or(|(_, last)| *last != case) {
                ranges.push((first, case));
            }
        }
    }
    ranges
}

/// Jumps to the case of the number in the accumulator.
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

/// Goes on if the clause holds, else to `miss`.
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
