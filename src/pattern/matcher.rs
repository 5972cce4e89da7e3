//! Backtracking matcher: tries the choices in order and goes back to the last untried one
//! (ECMA-262, 22.2.2).
//!
//! Untried choices lie on an explicit stack, with the values to restore, so deep matches need no
//! deep recursion. Only a lookaround inside a lookaround recurses.

use super::PatternError;
use super::budget::{Budget, Costly, Meter};
use super::fold::canonical;
use super::program::{Ahead, CharSet, DECODE, IN, NO_LIMIT, Op, Program, Run, Skip};
use super::text::{is_line_end, is_word, next, previous, step};
use regex_automata::Input;
use regex_automata::meta::Regex;
use std::cell::Cell;
use std::ops::Range;

/// Most memory for the choices that one search can go back to, in bytes.
const MAX_PATTERN_STACK_BYTES: usize = 64 * 1024 * 1024;

/// A slot that is not set.
const UNSET: u32 = u32::MAX;
/// Most that is on the stack.
const MAX_STACK: usize = MAX_PATTERN_STACK_BYTES / size_of::<Entry>();
/// Entries for which memory is kept from one search to the next.
const KEPT_STACK: usize = 64 * 1024;
/// A step stands for so many characters of a run, and for four times as many bytes of a reference.
const CHARACTERS_PER_STEP: usize = 4;

/// Undo entry of the stack: a choice to return to, or a value to restore.
#[derive(Debug, Clone, Copy)]
enum Entry {
    /// Another way to go on.
    Choice { op: u32, at: u32 },
    /// The value that a slot had.
    Slot { slot: u32, value: u32 },
    /// The value that a register had.
    Register { register: u32, value: u32 },
    /// A run that can give back characters, as far as `least`.
    Greedy { op: u32, least: u32, at: u32 },
    /// A run that can take up to `left` more.
    Lazy { op: u32, left: u32, at: u32 },
}

/// Memory that searches reuse.
#[derive(Debug, Default)]
struct Scratch {
    slots: Vec<u32>,
    registers: Vec<u32>,
    stack: Vec<Entry>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
}

/// Search for a program's matches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search<'a> {
    /// Program to run.
    pub(super) program: &'a Program,
    /// Matches, perhaps among others, wherever the program does.
    pub(super) starts: Option<&'a Regex>,
    pub(super) budget: &'a Budget<'a>,
    /// Number of bytes of text that may be searched at no charge.
    pub(super) allowance: usize,
}

impl Search<'_> {
    /// Looks for the first match that begins at or after `from`, a boundary of characters, and
    /// hands it to `found`.
    ///
    /// The error is [`PatternError::TooCostly`].
    pub(super) fn first<T>(
        &self,
        text: &[u8],
        from: usize,
        found: impl FnOnce(Slots<'_>) -> T,
    ) -> Result<Option<T>, PatternError> {
        // Positions are kept in 32 bits.
        if text.len() >= UNSET as usize {
            return Err(PatternError::TooCostly);
        }
        let program = self.program;
        let mut scratch = SCRATCH.take();
        scratch.slots.clear();
        scratch.slots.resize(program.slots, UNSET);
        scratch.registers.clear();
        scratch.registers.resize(program.registers, 0);
        scratch.stack.clear();
        let meter = Meter::new(self.budget, self.allowance);
        let mut matcher = Matcher {
            program,
            text,
            scratch: &mut scratch,
            meter,
            has_led: false,
            has_referred: false,
        };
        let outcome = matcher.first_from(from, self.starts);
        let settled = matcher.meter.finish();
        let outcome = outcome.and_then(|outcome| settled.map(|()| outcome));
        let result = outcome.map(|range| {
            range.map(|range| {
                found(Slots {
                    range,
                    slots: &scratch.slots,
                })
            })
        });
        if scratch.stack.capacity() > KEPT_STACK {
            scratch.stack = Vec::new();
        }
        SCRATCH.set(scratch);
        result.map_err(|Costly| PatternError::TooCostly)
    }
}

/// Capture slots of a match.
pub(super) struct Slots<'a> {
    /// The span of the whole.
    pub(super) range: Range<usize>,
    slots: &'a [u32],
}

impl Slots<'_> {
    /// The spans of the groups from the first on.
    pub(super) fn groups(&self) -> impl Iterator<Item = Option<Range<usize>>> {
        self.slots[2..]
            .chunks_exact(2)
            .map(|pair| span(pair[0], pair[1]))
    }
}

fn span(start: u32, end: u32) -> Option<Range<usize>> {
    (start != UNSET && end != UNSET).then_some(start as usize..end as usize)
}

struct Matcher<'a, 's> {
    program: &'a Program,
    text: &'a [u8],
    scratch: &'s mut Scratch,
    meter: Meter<'a>,
    /// `true` if the attempt has reached the leading run.
    has_led: bool,
    /// `true` if the attempt has reached a back-reference, whose comparison depends on the start of
    /// the attempt.
    has_referred: bool,
}

impl Matcher<'_, '_> {
    fn first_from(
        &mut self,
        from: usize,
        starts: Option<&Regex>,
    ) -> Result<Option<Range<usize>>, Costly> {
        let mut at = from;
        // As far as this it is known what the approximation matches.
        let mut known = from;
        loop {
            if let Some(starts) = starts.filter(|_| at >= known) {
                let Some(found) = starts.find(Input::new(self.text).range(at..)) else {
                    return Ok(None);
                };
                self.meter.steps((found.end() - at) / CHARACTERS_PER_STEP)?;
                at = found.start();
                known = found.end().max(at + 1);
            }
            let Some(start) = self.skip(at) else {
                return Ok(None);
            };
            self.meter.steps((start - at) / CHARACTERS_PER_STEP / 4)?;
            (self.has_led, self.has_referred) = (false, false);
            if let Some(end) = self.run(0, start)? {
                return Ok(Some(start..end));
            }
            match next(self.text, start) {
                Some((_, after)) => at = after.max(self.passed(start)),
                None => return Ok(None),
            }
        }
    }

    /// Returns the end of the leading run of a failed attempt.
    ///
    /// An attempt that begins inside the run reaches the same ends, or fewer. It fails behind them
    /// too, unless the rest of the program looked at a capture.
    fn passed(&self, start: usize) -> usize {
        let Some(lead) = self
            .program
            .lead
            .filter(|_| self.has_led && !self.has_referred)
        else {
            return start;
        };
        let Op::Run(run) = self.program.ops[lead as usize] else {
            return start;
        };
        take_all(
            &self.program.sets[run.set as usize],
            self.text,
            start,
            NO_LIMIT,
            0,
            false,
        )
    }

    /// The first position from `at` on where an attempt is worth it.
    fn skip(&self, at: usize) -> Option<usize> {
        let text = self.text;
        match &self.program.skip {
            Skip::Nothing => Some(at),
            Skip::Literal(finder) => finder.find(&text[at..]).map(|found| at + found),
            Skip::Ahead(ahead) => self.skip_to(ahead, at),
            Skip::LineStart => {
                let mut at = at;
                while at > 0 && !previous(text, at).is_some_and(|(c, _)| is_line_end(c)) {
                    let found = memchr::memchr3(b'\n', b'\r', 0xE2, &text[at..])?;
                    at = next(text, at + found)?.1;
                }
                Some(at)
            }
        }
    }

    fn skip_to(&self, ahead: &Ahead, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        // All bytes of wide characters are alike to `ahead`, so none is found in the middle of one.
        match rest.iter().position(|&byte| ahead.bytes[usize::from(byte)]) {
            Some(found) => Some(at + found),
            None => ahead.end.then_some(self.text.len()),
        }
    }

    fn push(&mut self, entry: Entry) -> Result<(), Costly> {
        if self.scratch.stack.len() == MAX_STACK {
            return Err(Costly);
        }
        self.scratch.stack.push(entry);
        Ok(())
    }

    fn save(&mut self, slot: u32, value: u32) -> Result<(), Costly> {
        let old = std::mem::replace(&mut self.scratch.slots[slot as usize], value);
        self.push(Entry::Slot { slot, value: old })
    }

    fn register(&self, register: u32) -> u32 {
        self.scratch.registers[register as usize]
    }

    fn set_register(&mut self, register: u32, value: u32) -> Result<(), Costly> {
        let old = std::mem::replace(&mut self.scratch.registers[register as usize], value);
        self.push(Entry::Register {
            register,
            value: old,
        })
    }

    /// Runs from instruction `op` at position `at` to the end of the program or of the lookaround;
    /// where that was reached. If it was not, everything is as it was before.
    fn run(&mut self, op: usize, at: usize) -> Result<Option<usize>, Costly> {
        let base = self.scratch.stack.len();
        let (mut op, mut at) = (op, at);
        loop {
            self.meter.step()?;
            match self.advance(op, at)? {
                Advance::To(next_op, next_at) => (op, at) = (next_op, next_at),
                Advance::Accepted => return Ok(Some(at)),
                Advance::Failed => match self.go_back(base)? {
                    Some(choice) => (op, at) = choice,
                    None => return Ok(None),
                },
            }
        }
    }

    #[inline]
    fn advance(&mut self, op: usize, at: usize) -> Result<Advance, Costly> {
        let (program, text) = (self.program, self.text);
        let on_if = |holds: bool| {
            if holds {
                Advance::To(op + 1, at)
            } else {
                Advance::Failed
            }
        };
        let on_at = |at: Option<usize>| at.map_or(Advance::Failed, |at| Advance::To(op + 1, at));
        Ok(match program.ops[op] {
            Op::Literal {
                at: from,
                len,
                back,
            } => on_at(literal(program, text, at, from, len, back)),
            Op::Class { set, back } => on_at(class(&program.sets[set as usize], text, at, back)),
            Op::Run(run) => self.start_run(&run, op, at)?,
            Op::Split { first, second } => {
                self.push(Entry::Choice {
                    op: second,
                    at: at as u32,
                })?;
                Advance::To(first as usize, at)
            }
            Op::Jump { to } => Advance::To(to as usize, at),
            Op::Save { slot } => {
                self.save(slot, at as u32)?;
                Advance::To(op + 1, at)
            }
            Op::Unset { first, end } => {
                self.meter
                    .steps((end - first) as usize / CHARACTERS_PER_STEP)?;
                for slot in first..end {
                    if self.scratch.slots[slot as usize] != UNSET {
                        self.save(slot, UNSET)?;
                    }
                }
                Advance::To(op + 1, at)
            }
            Op::Start { lines } => on_if(at == 0 || lines && is_line_start(text, at)),
            Op::End { lines } => on_if(
                at == text.len() || lines && next(text, at).is_some_and(|(c, _)| is_line_end(c)),
            ),
            Op::Word { negated } => {
                let before = previous(text, at).is_some_and(|(c, _)| is_word(c));
                let after = next(text, at).is_some_and(|(c, _)| is_word(c));
                on_if((before != after) != negated)
            }
            Op::Reference {
                at: from,
                len,
                ignore_case,
                back,
            } => {
                let groups = &program.references[from as usize..(from + len) as usize];
                on_at(self.reference(groups, at, ignore_case, back)?)
            }
            Op::Look { negated, end } => {
                on_if(self.look(op + 1, at, negated)?).resumed_at(end as usize)
            }
            Op::LookClass { set, negated, back } => {
                on_if(class(&program.sets[set as usize], text, at, back).is_some() != negated)
            }
            Op::LookLiteral {
                at: from,
                len,
                negated,
                back,
            } => on_if(literal(program, text, at, from, len, back).is_some() != negated),
            Op::Zero { register } => {
                self.set_register(register, 0)?;
                Advance::To(op + 1, at)
            }
            Op::Count {
                register,
                min,
                max,
                greedy,
                exit,
            } => {
                let rounds = self.register(register);
                if rounds < min {
                    Advance::To(op + 1, at)
                } else if rounds >= max {
                    Advance::To(exit as usize, at)
                } else {
                    let (first, second) = if greedy {
                        (op as u32 + 1, exit)
                    } else {
                        (exit, op as u32 + 1)
                    };
                    self.push(Entry::Choice {
                        op: second,
                        at: at as u32,
                    })?;
                    Advance::To(first as usize, at)
                }
            }
            Op::Enter { register } => {
                self.set_register(register, self.register(register).saturating_add(1))?;
                self.set_register(register + 1, at as u32)?;
                Advance::To(op + 1, at)
            }
            Op::Again { register, min, top } => {
                let idle =
                    self.register(register) > min && self.register(register + 1) == at as u32;
                on_if(!idle).resumed_at(top as usize)
            }
            Op::Mark { register } => {
                self.set_register(register, at as u32)?;
                Advance::To(op + 1, at)
            }
            Op::Progress { register } => on_if(self.register(register) != at as u32),
            Op::Accept => Advance::Accepted,
        })
    }

    /// Restores the values on top of the stack, down to a choice, and takes it. `None` if there is
    /// none above `base`.
    #[inline]
    fn go_back(&mut self, base: usize) -> Result<Option<(usize, usize)>, Costly> {
        while self.scratch.stack.len() > base {
            let Some(entry) = self.scratch.stack.pop() else {
                break;
            };
            match entry {
                Entry::Choice { op, at } => return Ok(Some((op as usize, at as usize))),
                Entry::Slot { slot, value } => self.scratch.slots[slot as usize] = value,
                Entry::Register { register, value } => {
                    self.scratch.registers[register as usize] = value;
                }
                Entry::Greedy { op, least, at } => {
                    if let Some(at) = self.give_back(op, least, at)? {
                        return Ok(Some((op as usize + 1, at)));
                    }
                }
                Entry::Lazy { op, left, at } => {
                    if let Some(at) = self.take_more(op, left, at)? {
                        return Ok(Some((op as usize + 1, at)));
                    }
                }
            }
        }
        Ok(None)
    }

    fn start_run(&mut self, run: &Run, op: usize, at: usize) -> Result<Advance, Costly> {
        if self.program.lead == Some(op as u32) {
            self.has_led = true;
        }
        let set = &self.program.sets[run.set as usize];
        let Some(least) = take(set, self.text, at, run.min, run.back) else {
            // No more than was there to take.
            self.meter
                .steps((self.text.len().min(run.min as usize)) / CHARACTERS_PER_STEP)?;
            return Ok(Advance::Failed);
        };
        let mut end = least;
        if run.max > run.min {
            if run.greedy {
                end = take_all(set, self.text, least, run.max, run.max - run.min, run.back);
                if end != least && !run.possessive {
                    self.push(Entry::Greedy {
                        op: op as u32,
                        least: least as u32,
                        at: end as u32,
                    })?;
                }
            } else {
                let left = if run.max == NO_LIMIT {
                    NO_LIMIT
                } else {
                    run.max - run.min
                };
                self.push(Entry::Lazy {
                    op: op as u32,
                    left,
                    at: least as u32,
                })?;
            }
        }
        self.meter.steps(end.abs_diff(at) / CHARACTERS_PER_STEP)?;
        Ok(Advance::To(op + 1, end))
    }

    fn ahead(&self, op: u32) -> Option<&Ahead> {
        match self.program.ops[op as usize] {
            Op::Run(run) => self.program.ahead.get(run.ahead as usize),
            _ => None,
        }
    }

    /// The end of a greedy run once it has given back the least number of characters with which it
    /// may go on.
    fn give_back(&mut self, op: u32, least: u32, at: u32) -> Result<Option<usize>, Costly> {
        let back = matches!(
            self.program.ops[op as usize],
            Op::Run(Run { back: true, .. })
        );
        let ahead = self.ahead(op);
        let mut end = at as usize;
        let found = loop {
            if end == least as usize {
                break None;
            }
            match step(self.text, end, !back) {
                Some((_, before)) => end = before,
                None => break None,
            }
            if ahead.is_none_or(|ahead| ahead.admits(self.text, end)) {
                break Some(end);
            }
        };
        self.meter
            .steps(end.abs_diff(at as usize) / CHARACTERS_PER_STEP)?;
        if let Some(end) = found.filter(|end| *end != least as usize) {
            self.push(Entry::Greedy {
                op,
                least,
                at: end as u32,
            })?;
        }
        Ok(found)
    }

    /// The end of a lazy run once it has taken the least number of further characters with which it
    /// may go on.
    fn take_more(&mut self, op: u32, left: u32, at: u32) -> Result<Option<usize>, Costly> {
        let Op::Run(run) = self.program.ops[op as usize] else {
            return Ok(None);
        };
        let set = &self.program.sets[run.set as usize];
        let ahead = self.ahead(op);
        let (mut end, mut left) = (at as usize, left);
        let found = loop {
            match step(self.text, end, run.back) {
                Some((c, after)) if left > 0 && set.contains(c) => end = after,
                _ => break None,
            }
            if left != NO_LIMIT {
                left -= 1;
            }
            if ahead.is_none_or(|ahead| ahead.admits(self.text, end)) {
                break Some(end);
            }
        };
        self.meter
            .steps(end.abs_diff(at as usize) / CHARACTERS_PER_STEP)?;
        if let Some(end) = found {
            self.push(Entry::Lazy {
                op,
                left,
                at: end as u32,
            })?;
        }
        Ok(found)
    }

    /// Returns true if a lookaround holds. A positive lookaround that holds keeps its captures but
    /// drops its choices.
    fn look(&mut self, op: usize, at: usize, negated: bool) -> Result<bool, Costly> {
        let base = self.scratch.stack.len();
        let found = self.run(op, at)?.is_some();
        if !found {
            return Ok(negated);
        }
        let stack = &mut self.scratch.stack;
        if negated {
            while stack.len() > base {
                match stack.pop() {
                    Some(Entry::Slot { slot, value }) => self.scratch.slots[slot as usize] = value,
                    Some(Entry::Register { register, value }) => {
                        self.scratch.registers[register as usize] = value;
                    }
                    _ => {}
                }
            }
            return Ok(false);
        }
        let mut kept = base;
        for at in base..stack.len() {
            if matches!(stack[at], Entry::Slot { .. } | Entry::Register { .. }) {
                stack[kept] = stack[at];
                kept += 1;
            }
        }
        stack.truncate(kept);
        Ok(true)
    }

    /// Returns the end of a back-reference that begins at `at`.
    fn reference(
        &mut self,
        groups: &[u32],
        at: usize,
        ignore_case: bool,
        back: bool,
    ) -> Result<Option<usize>, Costly> {
        self.has_referred = true;
        let slots = &self.scratch.slots;
        let set = groups
            .iter()
            .find_map(|&group| span(slots[2 * group as usize], slots[2 * group as usize + 1]));
        let Some(wanted) = set.and_then(|range| self.text.get(range)) else {
            return Ok(Some(at));
        };
        self.meter.steps(wanted.len() / CHARACTERS_PER_STEP / 4)?;
        let rest = if back {
            &self.text[..at]
        } else {
            &self.text[at..]
        };
        if !ignore_case {
            let same = if back {
                rest.ends_with(wanted)
            } else {
                rest.starts_with(wanted)
            };
            return Ok(same.then(|| {
                if back {
                    at - wanted.len()
                } else {
                    at + wanted.len()
                }
            }));
        }
        self.meter.steps(wanted.len() / CHARACTERS_PER_STEP)?;
        let (mut in_wanted, mut end) = (if back { wanted.len() } else { 0 }, at);
        while let Some((c, after)) = step(wanted, in_wanted, back) {
            match step(self.text, end, back) {
                Some((other, other_after)) if c == other || canonical(c) == canonical(other) => {
                    end = other_after;
                }
                _ => return Ok(None),
            }
            in_wanted = after;
        }
        Ok(Some(end))
    }
}

/// Outcome of one instruction.
enum Advance {
    To(usize, usize),
    Failed,
    Accepted,
}

impl Advance {
    /// Goes on at another instruction, if it goes on.
    #[inline]
    fn resumed_at(self, op: usize) -> Self {
        match self {
            Self::To(_, at) => Self::To(op, at),
            other => other,
        }
    }
}

/// Returns true if a line begins at `at`, which is not 0. Other than in ECMA-262, no line begins
/// between CR and LF.
fn is_line_start(text: &[u8], at: usize) -> bool {
    previous(text, at).is_some_and(|(c, _)| is_line_end(c))
        && !(text[at - 1] == b'\r' && text.get(at) == Some(&b'\n'))
}

#[inline]
fn literal(
    program: &Program,
    text: &[u8],
    at: usize,
    from: u32,
    len: u32,
    back: bool,
) -> Option<usize> {
    let wanted = &program.literals[from as usize..(from + len) as usize];
    if back {
        return text[..at].ends_with(wanted).then(|| at - wanted.len());
    }
    // Most attempts fail at the first byte, which is no work for memcmp.
    let rest = &text[at..];
    (rest.first() == wanted.first() && (len == 1 || rest.starts_with(wanted)))
        .then(|| at + wanted.len())
}

#[inline]
fn class(set: &CharSet, text: &[u8], at: usize, back: bool) -> Option<usize> {
    step(text, at, back)
        .filter(|(c, _)| set.contains(*c))
        .map(|(_, after)| after)
}

/// Takes `count` characters of a set.
#[inline]
fn take(set: &CharSet, text: &[u8], at: usize, count: u32, back: bool) -> Option<usize> {
    let mut at = at;
    for _ in 0..count {
        at = class(set, text, at, back)?;
    }
    Some(at)
}

/// Takes all characters of a set, but no more than `count` unless `max` is [`NO_LIMIT`].
fn take_all(set: &CharSet, text: &[u8], at: usize, max: u32, count: u32, back: bool) -> usize {
    let mut at = at;
    if max != NO_LIMIT {
        for _ in 0..count {
            let Some(after) = class(set, text, at, back) else {
                break;
            };
            at = after;
        }
        return at;
    }
    if back {
        while let Some(&byte) = text[..at].last() {
            match set.bytes[usize::from(byte)] {
                IN => at -= 1,
                DECODE => match previous(text, at) {
                    Some((c, before)) if set.contains(c) => at = before,
                    _ => break,
                },
                _ => break,
            }
        }
        return at;
    }
    while let Some(&byte) = text.get(at) {
        match set.bytes[usize::from(byte)] {
            IN => at += 1,
            DECODE => match next(text, at) {
                Some((c, after)) if set.contains(c) => at = after,
                _ => break,
            },
            _ => break,
        }
    }
    at
}

#[cfg(test)]
mod tests;
