//! Matching line by line, without the common indent and without whitespace at line ends.
//!
//! The new text takes the indent of the block it replaces. Where the old text is indented with
//! spaces inside and the file with tabs (or the reverse), one fixed width must explain every line,
//! and maps the new text too.

use super::bounds::check;
use super::error::EditErrorKind;
use super::literal;
use crate::cancel::Bound;
use crate::limits::{COMPARED_LINES_PER_CANDIDATE, MAX_COMPARED_LINES, MAX_LISTED_LINES};
use crate::text::lines;
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::ops::Range;

/// Candidates looked at between two looks at the clock.
const CANDIDATES_PER_CHECK: usize = 256;

/// All places of an old text; `block` is the first.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    pub(super) block: Block<'a>,
    pub(super) count: usize,
    /// Where the first few begin.
    pub(super) starts: Vec<usize>,
}

/// Lines of the file that an old text stands for.
#[derive(Debug)]
pub(super) struct Block<'a> {
    old: Vec<&'a str>,
    /// The lines, each with its ending.
    lines: Vec<&'a str>,
    start: usize,
    /// Whether the last line's ending is replaced too.
    takes_ending: bool,
    /// Whether the old text ends with a line feed that the file's last line lacks.
    lacks_ending: bool,
    mapping: Mapping,
}

/// How indents of the old text become indents of the file, beyond the common one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mapping {
    Same,
    /// So many spaces are one tab of the file.
    ToTabs(usize),
    /// One tab is so many spaces of the file.
    ToSpaces(usize),
}

/// Spaces and tabs at the beginning of a line.
fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// A line without its indent, its ending and the whitespace before that.
fn body(line: &str) -> &str {
    line.trim_matches([' ', '\t', '\r', '\n'])
}

/// The longest indent that all lines with a body begin with.
fn common_indent<'a>(lines: &[&'a str]) -> &'a str {
    let mut indents = lines
        .iter()
        .filter(|line| !body(line).is_empty())
        .map(|line| indent(line));
    let first = indents.next().unwrap_or_default();
    indents.fold(first, shared)
}

/// The common beginning of two indents.
fn shared<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    &a[..same]
}

/// Lines of a text given by an agent, without endings, and whether the last one has an ending.
fn given_lines(text: &str) -> (Vec<&str>, bool) {
    let mut pieces: Vec<&str> = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect();
    let ended = pieces.len() > 1 && pieces.last().is_some_and(|last| last.is_empty());
    if ended {
        pieces.pop();
    }
    (pieces, ended)
}

/// Finds every block that `old` stands for; `None` when there is none, or when `old` is blank.
pub(super) fn find<'a>(
    text: &'a str,
    old: &'a str,
    bound: Bound<'_>,
) -> Result<Option<Blocks<'a>>, EditErrorKind> {
    let (old, ended) = given_lines(old);
    // The longest line is likely to be rare; every block has it at the same place.
    let Some((index, anchor)) = old
        .iter()
        .map(|line| body(line))
        .enumerate()
        .max_by_key(|(index, line)| (line.len(), std::cmp::Reverse(*index)))
        .filter(|(_, line)| !line.is_empty())
    else {
        return Ok(None);
    };
    let bytes = text.as_bytes();
    let finder = Finder::new(anchor.as_bytes());
    let mut found: Option<Blocks<'a>> = None;
    let (mut from, mut looked, mut end_of_last) = (0, 0_usize, 0);
    let mut compared = 0;
    while let Some(at) = finder.find(&bytes[from..]) {
        let at = from + at;
        looked += 1;
        if looked % CANDIDATES_PER_CHECK == 0 {
            check(bound)?;
            // A file of equal lines would have every line compared with every old line.
            if compared > MAX_COMPARED_LINES + looked * COMPARED_LINES_PER_CANDIDATE {
                return Err(EditErrorKind::TooManySteps);
            }
        }
        let line = lines::line_start(bytes, at)..lines::line_end(bytes, at);
        from = line.end.max(at + 1);
        // Blocks that overlap count as two, but counting goes on behind the second.
        let many = found.as_ref().is_some_and(|found| found.count > 1);
        if body(&text[line.clone()]) != anchor || (many && line.start < end_of_last) {
            continue;
        }
        let Some(start) = (0..index).try_fold(line.start, |start, _| {
            (start > 0).then(|| lines::line_start(bytes, start - 1))
        }) else {
            continue;
        };
        let Some(block) = Block::at(text, start, &old, ended, &mut compared) else {
            continue;
        };
        end_of_last = line.end
            + block.lines[index + 1..]
                .iter()
                .map(|line| line.len())
                .sum::<usize>();
        match &mut found {
            Some(found) => {
                found.count += 1;
                if found.starts.len() < MAX_LISTED_LINES {
                    found.starts.push(start);
                }
            }
            None => {
                found = Some(Blocks {
                    block,
                    count: 1,
                    starts: vec![start],
                });
            }
        }
    }
    Ok(found)
}

impl<'a> Block<'a> {
    fn at(
        text: &'a str,
        start: usize,
        old: &[&'a str],
        ended: bool,
        compared: &mut usize,
    ) -> Option<Self> {
        let mut here = text[start..].split_inclusive('\n');
        let mut lines = Vec::new();
        for old in old {
            *compared += 1;
            // Behind the last line feed there is an empty line, which a blank old line stands for.
            let line = here
                .next()
                .or(if body(old).is_empty() { Some("") } else { None })?;
            if body(line) != body(old) {
                return None;
            }
            lines.push(line);
        }
        let mapping = Mapping::of(old, &lines)?;
        let has_ending = lines.last().is_some_and(|last| last.ends_with('\n'));
        Some(Self {
            old: old.to_vec(),
            lines,
            start,
            takes_ending: ended && has_ending,
            lacks_ending: ended && !has_ending,
            mapping,
        })
    }

    /// The bytes that are replaced.
    pub(super) fn range(&self) -> Range<usize> {
        let all: usize = self.lines.iter().map(|line| line.len()).sum();
        let kept = match self.lines.last() {
            Some(last) if !self.takes_ending => lines::split_ending(last).1.len(),
            _ => 0,
        };
        self.start..self.start + all - kept
    }

    /// The new text with the block's indent and line endings. Lines that the edit leaves as they
    /// are keep their bytes.
    pub(super) fn rewrite(&self, new: &str) -> String {
        let (new, ended) = given_lines(new);
        let indents = Indents::new(self, &new);
        let new_lines: Vec<Cow<'_, str>> = new.iter().map(|line| indents.apply(line)).collect();
        let old_lines: Vec<Cow<'_, str>> =
            self.old.iter().map(|line| indents.apply(line)).collect();
        let contents: Vec<&str> = self
            .lines
            .iter()
            .map(|line| lines::split_ending(line).0)
            .collect();
        let mut old: Vec<&str> = contents.clone();
        let mut out: Vec<&str> = new_lines.iter().map(AsRef::as_ref).collect();
        let head = old_lines
            .iter()
            .zip(&new_lines)
            .take_while(|(a, b)| a == b)
            .count();
        let most = old_lines.len().min(new_lines.len()) - head;
        let tail = old_lines.iter().rev().zip(new_lines.iter().rev());
        let tail = tail.take_while(|(a, b)| a == b).count().min(most);
        out[..head].copy_from_slice(&contents[..head]);
        let (to, from) = (out.len() - tail, contents.len() - tail);
        out[to..].copy_from_slice(&contents[from..]);
        if self.takes_ending {
            old.push("");
        }
        if ended && !self.lacks_ending {
            out.push("");
        }
        let all = self.lines.concat();
        let endings: Vec<&str> = literal::endings(&all).collect();
        let inside = if self.takes_ending {
            endings.len()
        } else {
            old.len() - 1
        };
        let spare = endings.first().copied().unwrap_or("\n");
        literal::join(&old, &out, &endings[..inside.min(endings.len())], spare)
    }
}

impl Mapping {
    /// The mapping that explains every indent of the block, if there is one.
    fn of(old: &[&str], lines: &[&str]) -> Option<Self> {
        let (old_base, base) = (common_indent(old).len(), common_indent(lines).len());
        let mut mapping = None;
        for (old, line) in old
            .iter()
            .zip(lines)
            .filter(|(old, _)| !body(old).is_empty())
        {
            let (given, own) = (&indent(old)[old_base..], &indent(line)[base..]);
            let here = match (given, own) {
                ("", "") => continue,
                _ if given == own => Self::Same,
                _ if is_all(given, ' ') && is_all(own, '\t') && given.len() % own.len() == 0 => {
                    Self::ToTabs(given.len() / own.len())
                }
                _ if is_all(given, '\t') && is_all(own, ' ') && own.len() % given.len() == 0 => {
                    Self::ToSpaces(own.len() / given.len())
                }
                _ => return None,
            };
            if *mapping.get_or_insert(here) != here {
                return None;
            }
        }
        Some(mapping.unwrap_or(Self::Same))
    }

    fn apply(self, indent: &str) -> Cow<'_, str> {
        match self {
            Self::ToTabs(width) if is_all(indent, ' ') => {
                Cow::Owned("\t".repeat(indent.len() / width) + &" ".repeat(indent.len() % width))
            }
            Self::ToSpaces(width) if is_all(indent, '\t') => {
                Cow::Owned(" ".repeat(indent.len() * width))
            }
            _ => Cow::Borrowed(indent),
        }
    }
}

fn is_all(indent: &str, c: char) -> bool {
    !indent.is_empty() && indent.chars().all(|other| other == c)
}

/// How given lines are indented anew.
struct Indents<'a> {
    /// The indent that given lines lose.
    given: &'a str,
    /// The block's indent, which they get.
    own: &'a str,
    mapping: Mapping,
}

impl<'a> Indents<'a> {
    fn new(block: &Block<'a>, new: &[&'a str]) -> Self {
        // A line in both texts shows that they are indented alike; else the new text's own indent
        // is set aside.
        let alike = new
            .iter()
            .any(|line| !body(line).is_empty() && block.old.contains(line));
        Self {
            given: common_indent(if alike { &block.old } else { new }),
            own: common_indent(&block.lines),
            mapping: block.mapping,
        }
    }

    fn apply<'l>(&self, line: &'l str) -> Cow<'l, str> {
        if body(line).is_empty() {
            return Cow::Borrowed("");
        }
        let indent = indent(line);
        let common = shared(indent, self.given).len();
        // A line that is less deep than the given block goes as much less deep in the file.
        let less = match (self.given.len() - common, self.mapping) {
            (less, Mapping::Same) => less,
            (less, Mapping::ToTabs(width)) => less / width,
            (less, Mapping::ToSpaces(width)) => less * width,
        };
        let own = &self.own[..self.own.len().saturating_sub(less)];
        let deeper = self.mapping.apply(&indent[common..]);
        Cow::Owned([own, &deeper, &line[indent.len()..]].concat())
    }
}
