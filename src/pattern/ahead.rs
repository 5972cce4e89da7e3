//! Lookahead sets: the characters that can begin a match at an instruction. The matcher skips
//! attempts that cannot succeed.

use super::ast::Class;
use super::program::{Ahead, CharSet, NO_LIMIT, Op, Program, Run, Skip};
use super::text::{is_word, next};

/// Instructions looked at for one answer.
const MAX_LOOKS: usize = 48;
/// Ranges gathered for one answer.
const MAX_RANGES: usize = 2000;

/// Finds where attempts can begin and what runs can do without.
pub(super) fn prepare(program: &mut Program) {
    for at in 0..program.ops.len() {
        let Op::Run(mut run) = program.ops[at] else {
            continue;
        };
        if run.back || !(run.greedy || run.max > run.min) {
            continue;
        }
        let Some(set) = program.sets.get(run.set as usize) else {
            continue;
        };
        // Behind a run of word characters `\b` is the beginning of something else.
        let in_word = run.min > 0
            && set
                .ranges()
                .iter()
                .all(|&(first, last)| all_words(first, last));
        let Some(found) = gather(program, at + 1, in_word) else {
            continue;
        };
        run.possessive = run.greedy && !meets(set, &found.class);
        if !run.possessive {
            let ahead = found.ahead();
            let known = program.ahead.iter().position(|other| *other == ahead);
            run.ahead = known.unwrap_or(program.ahead.len()) as u32;
            if known.is_none() {
                program.ahead.push(ahead);
            }
        }
        program.ops[at] = Op::Run(Run { ..run });
    }
    program.skip = skip(program);
    program.lead = lead(program);
}

/// The run that comes first, but for assertions: these can only fail.
fn lead(program: &Program) -> Option<u32> {
    let is_behind = |op: &Op| {
        matches!(
            op,
            Op::Save { .. } | Op::Word { .. } | Op::LookClass { .. } | Op::LookLiteral { .. }
        )
    };
    let first = program.ops.iter().position(|op| !is_behind(op))?;
    matches!(
        program.ops[first],
        Op::Run(Run {
            max: NO_LIMIT,
            back: false,
            ..
        })
    )
    .then_some(first as u32)
}

fn skip(program: &Program) -> Skip {
    let first = program
        .ops
        .iter()
        .find(|op| !matches!(op, Op::Save { .. } | Op::LookClass { back: true, .. }));
    match first {
        Some(&Op::Literal { at, len, .. }) => {
            let text = &program.literals[at as usize..(at + len) as usize];
            Skip::Literal(Box::new(memchr::memmem::Finder::new(text).into_owned()))
        }
        Some(Op::Start { lines: true }) => Skip::LineStart,
        _ => match gather(program, 0, false).map(|found| found.ahead()) {
            Some(ahead) if ahead.bytes.contains(&false) => Skip::Ahead(Box::new(ahead)),
            _ => Skip::Nothing,
        },
    }
}

fn all_words(first: char, last: char) -> bool {
    last.is_ascii() && (first..=last).all(is_word)
}

fn meets(set: &CharSet, class: &Class) -> bool {
    let (mut a, mut b) = (
        set.ranges().iter().peekable(),
        class.ranges().iter().peekable(),
    );
    while let (Some(&&(first, last)), Some(&&(other_first, other_last))) = (a.peek(), b.peek()) {
        if last < other_first {
            a.next();
        } else if other_last < first {
            b.next();
        } else {
            return true;
        }
    }
    false
}

/// Characters, and perhaps the end of the text, one of which must stand at a position for a match.
struct NextChars {
    class: Class,
    end: bool,
}

impl NextChars {
    fn ahead(&self) -> Ahead {
        let mut bytes = [false; 256];
        for &(first, last) in self.class.ranges() {
            for c in (u32::from(first)..=u32::from(last)).take_while(|c| *c < 128) {
                bytes[c as usize] = true;
            }
            if !last.is_ascii() {
                bytes[128..].fill(true);
            }
        }
        Ahead {
            bytes,
            end: self.end,
        }
    }
}

/// Returns the characters that can stand at instruction `from`. `None` if any can, or if the
/// analysis would cost too much.
fn gather(program: &Program, from: usize, in_word: bool) -> Option<NextChars> {
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut end = false;
    let mut waiting = vec![from];
    let mut seen = Vec::new();
    while let Some(at) = waiting.pop() {
        if seen.contains(&at) {
            continue;
        }
        seen.push(at);
        if seen.len() > MAX_LOOKS || ranges.len() > MAX_RANGES {
            return None;
        }
        match *program.ops.get(at)? {
            Op::Literal {
                at, back: false, ..
            } => {
                let (c, _) = next(&program.literals, at as usize)?;
                ranges.push((c, c));
            }
            Op::Class { set, back: false } => {
                ranges.extend(program.sets.get(set as usize)?.ranges());
            }
            Op::Run(run) if !run.back => {
                ranges.extend(program.sets.get(run.set as usize)?.ranges());
                if run.min == 0 {
                    waiting.push(at + 1);
                }
            }
            Op::Split { first, second } => waiting.extend([first as usize, second as usize]),
            Op::Count { min: 0, exit, .. } => waiting.extend([at + 1, exit as usize]),
            Op::Again { top, .. } => {
                let Some(Op::Count { exit, .. }) = program.ops.get(top as usize) else {
                    return None;
                };
                waiting.extend([top as usize + 1, *exit as usize]);
            }
            Op::Jump { to } | Op::Look { end: to, .. } => waiting.push(to as usize),
            Op::Word { negated: false } if in_word => {
                ranges.extend([
                    ('\0', '/'),
                    (':', '@'),
                    ('[', '^'),
                    ('`', '`'),
                    ('{', char::MAX),
                ]);
                end = true;
            }
            Op::End { lines } => {
                end = true;
                if lines {
                    ranges.extend([('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')]);
                }
            }
            // A loop that reaches its count here has at least one round.
            Op::Count { .. }
            | Op::Save { .. }
            | Op::Unset { .. }
            | Op::Start { .. }
            | Op::Word { .. }
            | Op::LookClass { .. }
            | Op::LookLiteral { .. }
            | Op::Zero { .. }
            | Op::Enter { .. }
            | Op::Mark { .. }
            | Op::Progress { .. } => waiting.push(at + 1),
            Op::Literal { .. }
            | Op::Class { .. }
            | Op::Run(_)
            | Op::Reference { .. }
            | Op::Accept => return None,
        }
    }
    Some(NextChars {
        class: Class::new(ranges),
        end,
    })
}
