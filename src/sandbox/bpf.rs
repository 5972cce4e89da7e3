//! Assembler with labels for classic BPF programs of seccomp(2).
//!
//! A conditional jump of classic BPF reaches 255 instructions. Here each one only skips the
//! unconditional jump behind it, which reaches everything.

use replay_sys::seccomp::Instruction;

/// Load a word of `struct seccomp_data` (`BPF_LD | BPF_W | BPF_ABS`).
const LOAD: u16 = 0x20;
/// Mask the accumulator (`BPF_ALU | BPF_AND | BPF_K`).
const AND: u16 = 0x54;
/// Jump (`BPF_JMP | BPF_JA`).
const JUMP: u16 = 0x05;
/// Return a constant (`BPF_RET | BPF_K`).
const ANSWER: u16 = 0x06;

/// A finished program: every jump leads forward, to an instruction of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Vec<Instruction>);

impl Program {
    /// The instructions in their order.
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }
}

/// A word of `struct seccomp_data` (seccomp(2)). Both supported architectures are little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The system call number.
    Number,
    /// The calling convention (`AUDIT_ARCH_*`).
    Arch,
    /// The lower half of argument 0 to 5.
    Low(u8),
    /// The upper half of argument 0 to 5.
    High(u8),
}

impl Word {
    fn offset(self) -> u32 {
        match self {
            Self::Number => 0,
            Self::Arch => 4,
            Self::Low(argument) => 16 + 8 * u32::from(argument),
            Self::High(argument) => 20 + 8 * u32::from(argument),
        }
    }
}

/// A test of the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// Equal to this number (`BPF_JEQ`).
    Is(u32),
    /// Greater than or equal to this number (`BPF_JGE`).
    AtLeast(u32),
    /// At least one of these bits is set (`BPF_JSET`).
    HasAny(u32),
}

/// Target of forward jumps. Placing it consumes it.
#[derive(Debug)]
pub(crate) struct Label(usize);

/// Builder of a program.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<Instruction>,
    /// Unresolved jumps of each label.
    waiting: Vec<Vec<usize>>,
}

impl Assembler {
    /// Creates an unplaced label.
    pub(crate) fn label(&mut self) -> Label {
        self.waiting.push(Vec::new());
        Label(self.waiting.len() - 1)
    }

    /// Places a label here.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "nobody shall jump backward to it"
    )]
    pub(crate) fn place(&mut self, label: Label) {
        self.resolve(label.0);
    }

    /// Loads a word into the accumulator.
    pub(crate) fn load(&mut self, word: Word) {
        self.plain(LOAD, word.offset());
    }

    /// Masks the accumulator.
    pub(crate) fn and(&mut self, mask: u32) {
        self.plain(AND, mask);
    }

    /// Jumps if the test holds.
    pub(crate) fn jump_if(&mut self, test: Test, to: &Label) {
        self.test(test, 0, 1);
        self.jump(to);
    }

    /// Jumps unless the test holds.
    pub(crate) fn jump_unless(&mut self, test: Test, to: &Label) {
        self.test(test, 1, 0);
        self.jump(to);
    }

    pub(crate) fn jump(&mut self, to: &Label) {
        self.waiting[to.0].push(self.code.len());
        self.plain(JUMP, 0);
    }

    /// Ends the program with a return value (`SECCOMP_RET_*`).
    pub(crate) fn answer(&mut self, answer: u32) {
        self.plain(ANSWER, answer);
    }

    /// Finishes the program with a final return value. Unplaced labels lead to it.
    pub(crate) fn finish(mut self, answer: u32) -> Program {
        for label in 0..self.waiting.len() {
            self.resolve(label);
        }
        self.answer(answer);
        Program(self.code)
    }

    fn resolve(&mut self, label: usize) {
        let here = self.code.len();
        for from in self.waiting[label].drain(..) {
            self.code[from].k = (here - from - 1) as u32;
        }
    }

    fn plain(&mut self, code: u16, k: u32) {
        self.code.push(Instruction {
            code,
            jt: 0,
            jf: 0,
            k,
        });
    }

    fn test(&mut self, test: Test, jt: u8, jf: u8) {
        let (code, k) = match test {
            Test::Is(k) => (0x15, k),
            Test::AtLeast(k) => (0x35, k),
            Test::HasAny(k) => (0x45, k),
        };
        self.code.push(Instruction { code, jt, jf, k });
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    /// Interprets a program as the kernel would: classic BPF of `linux/filter.h`, as far as
    /// [`Assembler`] uses it.
    pub(crate) fn run(program: &Program, arch: u32, number: u32, args: [u64; 6]) -> u32 {
        let word = |offset: u32| match offset {
            0 => number,
            4 => arch,
            16..64 if offset.is_multiple_of(8) => args[(offset as usize - 16) / 8] as u32,
            20..64 if offset.is_multiple_of(4) => (args[(offset as usize - 20) / 8] >> 32) as u32,
            _ => panic!("word {offset} is not loaded by any filter"),
        };
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let Instruction { code, jt, jf, k } = program.instructions()[at];
            at += 1;
            let mut branch = |holds: bool| at += usize::from(if holds { jt } else { jf });
            match code {
                0x20 => accumulator = word(k),
                0x54 => accumulator &= k,
                0x05 => at += k as usize,
                0x06 => return k,
                0x15 => branch(accumulator == k),
                0x35 => branch(accumulator >= k),
                0x45 => branch(accumulator & k != 0),
                _ => panic!("no instruction {code:#x}"),
            }
        }
    }

    #[test]
    fn jump_reaches_any_distance() {
        let mut code = Assembler::default();
        let far = code.label();
        code.load(Word::Number);
        code.jump_if(Test::Is(7), &far);
        for _ in 0..1000 {
            code.and(u32::MAX);
        }
        code.answer(1);
        code.place(far);
        let program = code.finish(2);
        assert_eq!(
            [6, 7, 8].map(|number| run(&program, 0, number, [0; 6])),
            [1, 2, 1]
        );
    }

    #[test]
    fn unplaced_label_leads_to_end() {
        let mut code = Assembler::default();
        let nowhere = code.label();
        code.jump(&nowhere);
        code.answer(1);
        assert_eq!(run(&code.finish(2), 0, 0, [0; 6]), 2);
        assert_eq!(run(&Assembler::default().finish(3), 0, 0, [0; 6]), 3);
    }

    proptest! {
        #[test]
        fn jump_follows_test_result(number: u32, k: u32, argument: u64, which in 0_u8..6) {
            for (test, expected) in [
                (Test::Is(k), number == k),
                (Test::Is(number), true),
                (Test::AtLeast(k), number >= k),
                (Test::HasAny(k), number & k != 0),
            ] {
                let mut code = Assembler::default();
                let (yes, no) = (code.label(), code.label());
                code.load(Word::Number);
                code.jump_unless(test, &no);
                code.jump_if(test, &yes);
                code.place(no);
                code.answer(0);
                code.place(yes);
                prop_assert_eq!(run(&code.finish(1), 0, number, [0; 6]), u32::from(expected));
            }
            let mut args = [0; 6];
            args[usize::from(which)] = argument;
            let mut code = Assembler::default();
            let same = code.label();
            code.load(Word::Low(which));
            code.jump_if(Test::Is(argument as u32), &same);
            code.answer(0);
            code.place(same);
            prop_assert_eq!(run(&code.finish(1), 0, number, args), 1);
        }
    }
}
