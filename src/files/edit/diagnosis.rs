//! Diagnosis of a failed search: the closest text, and its differences from the old text.
//!
//! Rare parts of the old text lead to a few candidates, which are compared line by line. Time is
//! limited, also for files of many megabytes. Nothing found here is ever applied.

use replay_base::cancel::Bound;
use replay_base::text::alike::{self, Divergence};
use replay_base::text::lines;
use replay_pattern::Pattern;

use super::error::{Cause, CharacterDifference, Difference};
use super::request::Edit;
use super::{blocks, literal};
use memchr::memmem::Finder;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::collections::BTreeSet;
use std::time::Instant;
use unicode_normalization::UnicodeNormalization as _;

/// Most lines of a difference shown with a failed edit.
const MAX_CLOSEST_DIFF_LINES: usize = 20;
/// Longest line shown with a failed edit, in characters.
const MAX_SHOWN_LINE_CHARS: usize = 200;

/// Bytes searched between two checks of the clock.
const STRETCH_BYTES: usize = 1024 * 1024;
/// Maximum number of lines, and of words, of the old text to search for.
const MAX_ANCHORS: usize = 8;
/// Shortest part of a line to search for, in bytes.
const MIN_PIECE_BYTES: usize = 3;
/// Maximum number of matches examined per anchor.
const MAX_PLACES: usize = 32;
/// Longest text that is searched ignoring case, in bytes: that search cannot be interrupted.
const MAX_CASE_BYTES: usize = 4 * 1024 * 1024;
/// Shortest new text whose presence is significant, in bytes.
const MIN_PRESENT_BYTES: usize = 4;
/// Invisible characters at the beginning and end of a line.
const ASCII_BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
/// Bytes compared around a match in a very long line.
const MARGIN_BYTES: usize = 64;

/// Returns the reason why the old text of `edit` is not in `text`.
pub(super) fn diagnose(text: &str, edit: &Edit, until: Instant) -> Cause {
    if let Some(line) = new_text_line(text, edit, until) {
        return Cause::AlreadyApplied { line };
    }
    let search = Search {
        text,
        old: &edit.old_text,
        until,
    };
    if let Some(found) = search.alike() {
        return found;
    }
    let mut best: Option<(u64, Candidate)> = None;
    for candidate in search.candidates() {
        let score = search.score(&candidate);
        if best.as_ref().is_none_or(|(most, _)| score > *most) {
            best = Some((score, candidate));
        }
        if search.is_late() {
            break;
        }
    }
    match best {
        Some((score, candidate)) if score >= search.min_score() => {
            search.describe(&candidate, None)
        }
        _ if search.is_late() => Cause::OutOfTime,
        _ => Cause::Nothing,
    }
}

/// Returns the line of the new text, unless that is too short or part of the old text.
fn new_text_line(text: &str, edit: &Edit, until: Instant) -> Option<usize> {
    let new = edit.new_text.as_str();
    if new.trim().len() < MIN_PRESENT_BYTES || edit.old_text.contains(new) {
        return None;
    }
    let at = literal::first(text, new).or_else(|| {
        let found = blocks::find(
            text,
            new,
            Bound {
                deadline: Some(until),
                cancel: None,
            },
        )
        .ok()??;
        found.starts.first().copied()
    })?;
    Some(lines::lines_of([text.as_bytes()], &[at])[0])
}

/// A range of the file that may be the intended one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    start: usize,
    end: usize,
    /// Line of the old text that led here, and its expected position in the file.
    index: usize,
    from: usize,
}

struct Search<'a> {
    text: &'a str,
    old: &'a str,
    until: Instant,
}

impl Search<'_> {
    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Returns a place that looks the same as the old text.
    fn alike(&self) -> Option<Cause> {
        let text = Some(self.text).filter(|text| text.len() <= MAX_CASE_BYTES)?;
        let range = alike::find(text, self.old)?;
        let divergence = Divergence::of(&text[range.clone()], self.old)?;
        let bytes = text.as_bytes();
        let (start, end) = (
            lines::line_start(bytes, range.start),
            lines::line_end(bytes, range.end.max(1) - 1),
        );
        let candidate = Candidate {
            start,
            end,
            index: 0,
            from: range.start,
        };
        Some(self.describe(&candidate, Some(self.character(range.start, divergence))))
    }

    /// Returns the position of the first differing character after `start`.
    fn character(&self, start: usize, divergence: Divergence) -> CharacterDifference {
        let at = start + divergence.at;
        let line_start = lines::line_start(self.text.as_bytes(), at);
        let line = lines::line_at(self.text.as_bytes(), at);
        CharacterDifference {
            line,
            column: self.text[line_start..at].chars().count() + 1,
            divergence,
        }
    }

    /// Returns the first deceptive character of a block, line by line without indent.
    fn deceptive(&self, candidate: &Candidate) -> Option<CharacterDifference> {
        let mut at = candidate.start;
        for (line, old) in self
            .block(candidate)
            .split_inclusive('\n')
            .zip(self.old_lines())
        {
            let found = line.trim_matches(ASCII_BLANKS);
            let start = at + (line.len() - line.trim_start_matches(ASCII_BLANKS).len());
            if let Some(divergence) = Divergence::of(found, old.trim_matches(ASCII_BLANKS)) {
                return Some(self.character(start, divergence))
                    .filter(|found| found.divergence.is_deceptive());
            }
            at += line.len();
        }
        None
    }

    fn old_lines(&self) -> Vec<&str> {
        let old = self.old.strip_suffix('\n').unwrap_or(self.old);
        old.split('\n').collect()
    }

    /// Returns places that contain a whole line of the old text, then those that contain a word of
    /// it.
    fn candidates(&self) -> BTreeSet<Candidate> {
        let mut found = BTreeSet::new();
        for anchors in [self.line_anchors(), self.word_anchors()] {
            for (index, offset, anchor) in anchors {
                self.places(anchor, |at| {
                    found.insert(self.candidate(at.saturating_sub(offset), at, index));
                });
                if self.is_late() {
                    return found;
                }
            }
        }
        if found.is_empty() && self.text.len() <= MAX_CASE_BYTES {
            found.extend(self.ignoring_case());
        }
        if found.is_empty() {
            // Short lines, which have many matches, and pieces of long ones.
            for (index, offset, piece) in distinct(self.trimmed_lines(), 1)
                .into_iter()
                .chain(self.piece_anchors())
            {
                self.places(piece, |at| {
                    found.insert(self.candidate(at.saturating_sub(offset), at, index));
                });
            }
        }
        found
    }

    /// Returns the longest lines: (index of the line, offset in it, text).
    fn line_anchors(&self) -> Vec<(usize, usize, &str)> {
        longest(self.trimmed_lines())
    }

    fn trimmed_lines(&self) -> Vec<(usize, usize, &str)> {
        let lines = self.old_lines().into_iter().enumerate();
        lines
            .map(|(index, line)| (index, line.len() - line.trim_start().len(), line.trim()))
            .collect()
    }

    fn word_anchors(&self) -> Vec<(usize, usize, &str)> {
        let mut words = Vec::new();
        let mut from = 0;
        for (index, line) in self.old_lines().into_iter().enumerate() {
            for word in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
                // The offset is computed from the addresses, because `split` returns no positions.
                let offset = word.as_ptr().addr() - line.as_ptr().addr();
                words.push((
                    index,
                    offset,
                    &self.old[from + offset..from + offset + word.len()],
                ));
            }
            from += line.len() + 1;
        }
        longest(words)
    }

    /// Returns thirds of the longest lines. A typo in the only long word of a text leaves neither a
    /// line nor a word to search for.
    fn piece_anchors(&self) -> Vec<(usize, usize, &str)> {
        let mut pieces = Vec::new();
        for (index, offset, line) in self.line_anchors() {
            let third = line.len().div_ceil(3);
            let cuts = [0, third, third * 2, line.len()]
                .map(|at| line.ceil_char_boundary(at.min(line.len())));
            for pair in cuts.windows(2) {
                let piece = &line[pair[0]..pair[1]];
                if piece.trim().len() >= MIN_PIECE_BYTES {
                    pieces.push((index, offset + pair[0], piece));
                }
            }
        }
        longest(pieces)
    }

    fn ignoring_case(&self) -> Option<Candidate> {
        let (index, offset, anchor) = self.line_anchors().first().copied()?;
        let head = &anchor[..anchor.floor_char_boundary(MARGIN_BYTES)];
        let pattern = Pattern::literal_ignoring_case(head).ok()?;
        let at = pattern.find_at(self.text, 0).ok()??.range().start;
        Some(self.candidate(at.saturating_sub(offset), at, index))
    }

    fn places(&self, anchor: &str, mut each: impl FnMut(usize)) {
        let bytes = self.text.as_bytes();
        let finder = Finder::new(anchor.as_bytes());
        let (mut from, mut left) = (0, MAX_PLACES);
        while from < bytes.len() && left > 0 && !self.is_late() {
            let end = (from + STRETCH_BYTES).min(bytes.len());
            let window = &bytes[from..(end + anchor.len() - 1).min(bytes.len())];
            for at in finder.find_iter(window).take(left) {
                each(from + at);
                left -= 1;
            }
            from = end;
        }
    }

    /// Returns the lines around a match if line `index` of the old text is there. `from` is the
    /// expected start of that line.
    fn candidate(&self, from: usize, at: usize, index: usize) -> Candidate {
        let bytes = self.text.as_bytes();
        let mut start = lines::line_start(bytes, at);
        for _ in 0..index {
            start = lines::line_start(bytes, start.saturating_sub(1));
        }
        let mut end = lines::line_end(bytes, start);
        for _ in 1..self.old_lines().len() {
            end = lines::line_end(bytes, end);
        }
        // Only the surroundings of the match in a very long line, as in minified files.
        if index == 0 && end - start > self.old.len() * 2 + MARGIN_BYTES * 4 {
            start = self
                .text
                .floor_char_boundary(start.max(from.saturating_sub(MARGIN_BYTES)));
            end = end.min(
                self.text
                    .ceil_char_boundary(from + self.old.len() + MARGIN_BYTES),
            );
        }
        Candidate {
            start,
            end,
            index,
            from,
        }
    }

    fn block(&self, candidate: &Candidate) -> &str {
        &self.text[candidate.start..candidate.end]
    }

    /// Returns points for each line of the old text, by its similarity to the file's line.
    fn score(&self, candidate: &Candidate) -> u64 {
        let lines = self.old_lines();
        let block = self.block(candidate).lines();
        let whole: u64 = lines
            .iter()
            .zip(block)
            .map(|(old, line)| likeness(old, line))
            .sum();
        // The old text may be a part of a line.
        let old = lines[candidate.index];
        let from = self.text.floor_char_boundary(candidate.from);
        let part = &self.text[from..self.text.floor_char_boundary(from + old.len())];
        whole.max(likeness(old, part))
    }

    /// Returns the score above which a block is worth showing: a third of the maximum.
    fn min_score(&self) -> u64 {
        let own = self
            .old_lines()
            .iter()
            .map(|line| likeness(line, line))
            .sum::<u64>();
        own.div_ceil(3).max(1)
    }

    fn describe(&self, candidate: &Candidate, character: Option<CharacterDifference>) -> Cause {
        let block = self.block(candidate);
        let first = lines::line_at(self.text.as_bytes(), candidate.start);
        let last = first + block.trim_end_matches('\n').matches('\n').count();
        let diff = self.diff(block);
        let same = |difference: &Difference| {
            let old = difference.fold(self.old);
            !old.is_empty() && difference.fold(block).contains(&old)
        };
        match Difference::ALL.into_iter().find(same) {
            Some(difference) => {
                let character = character.or_else(|| self.deceptive(candidate));
                Cause::Differs {
                    difference,
                    character,
                    first,
                    last,
                    diff,
                }
            }
            None => Cause::Closest { first, last, diff },
        }
    }

    fn diff(&self, block: &str) -> String {
        let old = self.old_lines();
        let new: Vec<&str> = block
            .strip_suffix('\n')
            .unwrap_or(block)
            .split('\n')
            .collect();
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(self.until));
        let mut shown = Vec::new();
        for op in ops {
            if let DiffOp::Equal { old_index, len, .. } = op {
                // One line of context on each side is enough.
                let mut context = vec![old_index, old_index + len - 1];
                context.dedup();
                shown.extend(
                    context
                        .into_iter()
                        .map(|at| format!(" {}", visible(old[at], 0))),
                );
                continue;
            }
            let (gone, come) = (&old[op.old_range()], &new[op.new_range()]);
            let from = |at: usize| match (gone.get(at), come.get(at)) {
                (Some(a), Some(b)) => a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count(),
                _ => 0,
            };
            shown.extend(
                gone.iter()
                    .enumerate()
                    .map(|(at, line)| format!("-{}", visible(line, from(at)))),
            );
            shown.extend(
                come.iter()
                    .enumerate()
                    .map(|(at, line)| format!("+{}", visible(line, from(at)))),
            );
        }
        if shown.len() > MAX_CLOSEST_DIFF_LINES {
            shown.truncate(MAX_CLOSEST_DIFF_LINES - 1);
            shown.push("...".to_owned());
        }
        shown.join("\n")
    }
}

/// Returns the longest distinct anchors, longest first. Very short ones match anywhere and are used
/// only if there are no others.
fn longest(anchors: Vec<(usize, usize, &str)>) -> Vec<(usize, usize, &str)> {
    let shortest = if anchors.iter().any(|(.., text)| text.len() > 2) {
        3
    } else {
        1
    };
    distinct(anchors, shortest)
}

/// Returns the longest distinct anchors of at least `shortest` bytes, longest first.
fn distinct(mut anchors: Vec<(usize, usize, &str)>, shortest: usize) -> Vec<(usize, usize, &str)> {
    anchors.retain(|(.., text)| text.len() >= shortest);
    anchors.sort_by_key(|(index, _, text)| (std::cmp::Reverse(text.len()), *index));
    anchors.dedup_by_key(|(.., text)| *text);
    anchors.truncate(MAX_ANCHORS);
    anchors
}

/// Returns points for two lines: the number of common bytes at their beginnings and ends, without
/// surrounding whitespace.
fn likeness(old: &str, line: &str) -> u64 {
    let (a, b) = (old.trim().as_bytes(), line.trim().as_bytes());
    let alike = |(x, y): &(&u8, &u8)| x.eq_ignore_ascii_case(y);
    let head = a.iter().zip(b).take_while(alike).count();
    let tail = a[head..]
        .iter()
        .rev()
        .zip(b[head..].iter().rev())
        .take_while(alike)
        .count();
    // A whole equal line counts more than two halves.
    (head + tail) as u64 * 2 + u64::from(a == b && !a.is_empty())
}

/// Returns a line for a message: long lines are cut to the part around character `differs`, and CRs
/// are made visible.
fn visible(line: &str, differs: usize) -> String {
    let line = line.replace('\r', "\\r");
    let lead = MAX_SHOWN_LINE_CHARS / 4;
    let skip = if differs > MAX_SHOWN_LINE_CHARS - lead {
        differs - lead
    } else {
        0
    };
    let mut rest = line.chars().skip(skip);
    let part: String = rest.by_ref().take(MAX_SHOWN_LINE_CHARS).collect();
    let front = if skip > 0 { "..." } else { "" };
    let back = if rest.next().is_some() { "..." } else { "" };
    format!("{front}{part}{back}")
}

impl Difference {
    const ALL: [Self; 8] = [
        Self::LineEndings,
        Self::Indentation,
        Self::Whitespace,
        Self::Case,
        Self::Punctuation,
        Self::NormalForm,
        Self::LookAlike,
        Self::Several,
    ];

    /// Returns the text without differences of this kind; always without differences in line
    /// endings.
    fn fold(self, text: &str) -> String {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        match self {
            Self::LineEndings => text,
            Self::Indentation => {
                let lines: Vec<&str> = text
                    .lines()
                    .map(|line| line.trim_matches(ASCII_BLANKS))
                    .collect();
                lines.join("\n")
            }
            Self::Whitespace => text.split_whitespace().collect(),
            Self::Case => text.to_lowercase(),
            Self::Punctuation => text.chars().map(alike::plain).collect(),
            Self::NormalForm => text.nfc().collect(),
            Self::LookAlike => alike::skeleton(&text),
            Self::Several => alike::skeleton(&text)
                .to_lowercase()
                .split_whitespace()
                .collect(),
        }
    }
}
