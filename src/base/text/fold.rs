//! Shortens the output of programs without losing information. Keeps the final state of overwritten
//! lines, and the first and last of evenly counting lines. Removes colours.
//!
//! A terminal would show the same states ([ECMA-48] 8.3 for the sequences), except for columns. A
//! line that is begun again is replaced as a whole. Lines are alike if they have the same texts
//! between their numbers (runs of ASCII digits). Each number must advance by a constant step, which
//! may be 0. So every line of such a run follows from the first, the last and the count. Any other
//! line is always shown.
//!
//! [ECMA-48]: https://ecma-international.org/publications-and-standards/standards/ecma-48/

use std::borrow::Cow;
use std::ops::Range;

use crate::limits::TERMINAL_ROWS;

/// Least that folding an output, or a run of its lines, saves, in bytes: for less, all of it is
/// shown.
const MIN_FOLDED_BYTES: usize = 128;

const ESCAPE: u8 = 0x1b;

/// Folds `bytes`, or returns them unchanged if that saves less than [`MIN_FOLDED_BYTES`].
/// `first_line` is the number of their first line for the marks.
pub fn fold(bytes: &[u8], first_line: usize) -> Vec<u8> {
    let rows = rows(bytes, first_line);
    let mut folded = Vec::new();
    let mut next = 0;
    for run in runs(&rows) {
        put(&mut folded, &rows[next..=run.start]);
        folded.extend_from_slice(mark(&rows, &run).as_bytes());
        next = run.end - 1;
    }
    put(&mut folded, &rows[next..]);
    // The last line has no newline.
    folded.pop();
    if folded.len() + MIN_FOLDED_BYTES > bytes.len() {
        bytes.to_vec()
    } else {
        folded
    }
}

/// Returns the final states of all lines: `bytes` without colours and without what was overwritten.
pub fn plain(bytes: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr3(ESCAPE, b'\r', 0x08, bytes).is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    put(&mut plain, &rows(bytes, 1));
    // The last line has no newline.
    plain.pop();
    Cow::Owned(plain)
}

fn put(folded: &mut Vec<u8>, rows: &[Row]) {
    for row in rows {
        folded.extend_from_slice(&row.text);
        folded.push(b'\n');
    }
}

/// Returns the line that replaces all of a run except its first and last line.
fn mark(rows: &[Row], run: &Range<usize>) -> String {
    let (count, from, to) = (
        run.len() - 2,
        rows[run.start + 1].line,
        rows[run.end - 2].line,
    );
    format!("[… {count} lines like these, lines {from} to {to} …]\n")
}

/// The final state of a line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Row {
    text: Vec<u8>,
    /// Number of the output line that wrote it.
    line: usize,
}

/// Screen of the simulated terminal: rows, of which the last ones are reachable, and a cursor.
struct Screen {
    rows: Vec<Row>,
    at: usize,
    line: usize,
    /// `true` if the cursor is at the beginning of its row, so that output replaces the row.
    is_at_start: bool,
    /// Number of characters that the cursor has moved back.
    back: usize,
}

impl Screen {
    fn row(&mut self) -> &mut Row {
        &mut self.rows[self.at]
    }

    fn start(&mut self) {
        self.is_at_start = true;
        self.back = 0;
    }

    fn write(&mut self, byte: u8) {
        if std::mem::take(&mut self.is_at_start) {
            let line = self.line;
            *self.row() = Row {
                text: Vec::new(),
                line,
            };
        }
        for _ in 0..std::mem::take(&mut self.back) {
            let text = &mut self.row().text;
            // All bytes of a character.
            while text.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {}
        }
        self.row().text.push(byte);
    }

    fn down(&mut self) {
        self.at += 1;
        self.line += 1;
        if self.at == self.rows.len() {
            self.rows.push(Row {
                text: Vec::new(),
                line: self.line,
            });
        }
        self.start();
    }

    /// Executes a control sequence, as far as it moves to a row or its beginning, or erases.
    fn control(&mut self, parameters: &[u8], last: u8) {
        let number = std::str::from_utf8(parameters)
            .ok()
            .and_then(|text| text.parse().ok());
        let count = number.unwrap_or(1).max(1);
        match (last, number.unwrap_or(0)) {
            (b'A' | b'F', _) => {
                let first = self.rows.len().saturating_sub(usize::from(TERMINAL_ROWS));
                self.at = self.at.saturating_sub(count).max(first.min(self.at));
            }
            (b'B' | b'E', _) => self.at = self.at.saturating_add(count).min(self.rows.len() - 1),
            (b'K', 2) => self.row().text.clear(),
            (b'K', 0) if self.is_at_start => self.row().text.clear(),
            (b'J', 0) => {
                if self.is_at_start {
                    self.row().text.clear();
                }
                self.rows.truncate(self.at + 1);
            }
            _ => {}
        }
        if matches!(last, b'E' | b'F') || (last == b'G' && count == 1) {
            self.start();
        }
    }
}

fn rows(bytes: &[u8], first_line: usize) -> Vec<Row> {
    let first = Row {
        text: Vec::new(),
        line: first_line,
    };
    let mut screen = Screen {
        rows: vec![first],
        at: 0,
        line: first_line,
        is_at_start: true,
        back: 0,
    };
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => {
                if at > 0 && bytes[at - 1] == b'\r' && !screen.row().text.ends_with(b"\r") {
                    screen.row().text.push(b'\r');
                }
                screen.down();
            }
            b'\r' => screen.start(),
            0x08 => screen.back += 1,
            ESCAPE => {
                if let Some(sequence) = Sequence::at(&bytes[at..]) {
                    if let Some((parameters, last)) = sequence.control {
                        screen.control(parameters, last);
                    }
                    at += sequence.length;
                    continue;
                }
                screen.write(byte);
            }
            byte => screen.write(byte),
        }
        at += 1;
    }
    screen.rows
}

/// An escape sequence, a control sequence or a control string.
struct Sequence<'a> {
    length: usize,
    /// Parameters and final byte of a control sequence.
    control: Option<(&'a [u8], u8)>,
}

impl<'a> Sequence<'a> {
    /// Parses the sequence at the beginning of `bytes`. `None` if it does not end within its line,
    /// so that it hides nothing.
    fn at(bytes: &'a [u8]) -> Option<Self> {
        let second = *bytes.get(1)?;
        let rest = bytes.get(2..)?;
        match second {
            // CSI (5.4): parameters, intermediates, a final byte.
            b'[' => {
                let parameters = rest
                    .iter()
                    .take_while(|byte| matches!(byte, 0x30..=0x3F))
                    .count();
                let between = rest[parameters..]
                    .iter()
                    .take_while(|byte| matches!(byte, 0x20..=0x2F))
                    .count();
                let last = *rest
                    .get(parameters + between)
                    .filter(|byte| matches!(byte, 0x40..=0x7E))?;
                let control = (between == 0).then_some((&rest[..parameters], last));
                Some(Self {
                    length: 3 + parameters + between,
                    control,
                })
            }
            // DCS, SOS, OSC, PM, APC (5.6), up to ST, or to BEL like in xterm.
            b'P' | b'X' | b']' | b'^' | b'_' => {
                let end = rest
                    .iter()
                    .position(|byte| matches!(*byte, 0x07 | b'\n' | ESCAPE))?;
                let terminator = match rest[end..] {
                    [0x07, ..] => 1,
                    [ESCAPE, b'\\', ..] => 2,
                    _ => return None,
                };
                Some(Self {
                    length: 2 + end + terminator,
                    control: None,
                })
            }
            // Other escape sequences (ECMA-35, 13.1).
            _ => {
                let between = bytes[1..]
                    .iter()
                    .take_while(|byte| matches!(byte, 0x20..=0x2F))
                    .count();
                bytes
                    .get(1 + between)
                    .filter(|byte| matches!(byte, 0x30..=0x7E))?;
                Some(Self {
                    length: 2 + between,
                    control: None,
                })
            }
        }
    }
}

/// Returns the runs of rows that are reduced to their first and last row.
fn runs(rows: &[Row]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    while start + 1 < rows.len() {
        let end = run_end(rows, start);
        let run = start..end;
        if run.len() > 3 {
            let left_out: usize = rows[start + 1..end - 1]
                .iter()
                .map(|row| row.text.len() + 1)
                .sum();
            if left_out >= mark(rows, &run).len() + MIN_FOLDED_BYTES {
                found.push(run);
                start = end;
                continue;
            }
        }
        // The last row of a run may be the first of the next.
        start = (end - 1).max(start + 1);
    }
    found
}

/// Returns the end of the run that begins with this row, with the step from it to the next.
fn run_end(rows: &[Row], start: usize) -> usize {
    let first = fields(&rows[start].text);
    let second = fields(&rows[start + 1].text);
    let Some(steps) = steps(&first, &second) else {
        return start + 1;
    };
    let is_next = |&at: &usize| {
        let (row, behind) = (&rows[at], at - start);
        let Ok(steps_behind) = i64::try_from(behind) else {
            return false;
        };
        row.line == rows[start].line + behind
            && Some(&row.text) == expected(&first, &steps, steps_behind).as_ref()
    };
    let follow = (start + 1..rows.len()).take_while(is_next).count();
    start + 1 + follow
}

/// A number, or a text without numbers.
#[derive(Debug, PartialEq, Eq)]
enum Field<'a> {
    Text(&'a [u8]),
    /// Number of digits if it begins with a zero; otherwise 1.
    Number {
        value: i64,
        digits: usize,
    },
}

fn fields(text: &[u8]) -> Vec<Field<'_>> {
    // Eighteen digits fit into an `i64`.
    let field = |part: &'_ [u8]| {
        let digits = std::str::from_utf8(part)
            .ok()
            .filter(|text| text.len() <= 18 && text.as_bytes()[0].is_ascii_digit());
        digits.and_then(|text| text.parse().ok())
    };
    text.chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit())
        .map(|part| match field(part) {
            Some(value) => Field::Number {
                value,
                digits: if part[0] == b'0' { part.len() } else { 1 },
            },
            None => Field::Text(part),
        })
        .collect()
}

/// Returns the step of each number; `None` if the texts between them differ.
fn steps(first: &[Field<'_>], second: &[Field<'_>]) -> Option<Vec<i64>> {
    let step = |(first, second): (&Field<'_>, &Field<'_>)| match (first, second) {
        (Field::Number { value: first, .. }, Field::Number { value: second, .. }) => {
            Some(second - first)
        }
        _ => (first == second).then_some(0),
    };
    if first.len() != second.len() {
        return None;
    }
    first.iter().zip(second).map(step).collect()
}

/// Returns the line at a distance from the first; `None` if a number would be negative.
fn expected(first: &[Field<'_>], steps: &[i64], behind: i64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    for (field, step) in first.iter().zip(steps) {
        match field {
            Field::Text(part) => text.extend_from_slice(part),
            Field::Number { value, digits } => {
                let value = value.saturating_add(step.saturating_mul(behind));
                if value < 0 {
                    return None;
                }
                text.extend_from_slice(format!("{value:0digits$}").as_bytes());
            }
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests;
