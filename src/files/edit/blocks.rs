//! Line by line matching, without the common indent and trailing whitespace.
//!
//! The new text gets the indent of the block that it replaces. If the old text is indented with
//! spaces and the file with tabs (or the reverse), one fixed width must explain every line. The
//! same width then maps the new text.

use replay_base::cancel::Bound;
use replay_base::limits::{COMPARED_LINES_PER_CANDIDATE, MAX_LISTED_LINES};
use replay_base::text::lines;

use super::bounds::check;
use super::error::EditErrorKind;
use super::literal;
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::ops::Range;

/// Lines that one search without indent may compare, beside [`COMPARED_LINES_PER_CANDIDATE`].
const MAX_COMPARED_LINES: usize = 200_000;

/// Number of candidates between two checks of the clock.
const CANDIDATES_PER_CHECK: usize = 256;

/// All matches of an old text; `block` is the first.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    pub(super) block: Block<'a>,
    pub(super) count: usize,
    /// Start offsets of the first few matches.
    pub(super) starts: Vec<usize>,
}

/// Lines of the file that match an old text.
#[derive(Debug)]
pub(super) struct Block<'a> {
    old: Vec<&'a str>,
    /// Lines, each with its ending.
    lines: Vec<&'a str>,
    start: usize,
    /// `true` if the ending of the last line is replaced too.
    takes_ending: bool,
    /// `true` if the old text ends with a line feed that the file's last line lacks.
    lacks_ending: bool,
    mapping: Mapping,
}

/// Mapping of indents of the old text to indents of the file, beyond the common indent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mapping {
    Same,
    /// This number of spaces becomes one tab.
    ToTabs(usize),
    /// One tab becomes this number of spaces.
    ToSpaces(usize),
}

/// Returns the spaces and tabs at the beginning of a line.
fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns a line without indent, trailing whitespace and ending.
fn body(line: &str) -> &str {
    line.trim_matches([' ', '\t', '\r', '\n'])
}

/// Returns the longest common indent of all non-blank lines.
fn common_indent<'a>(lines: &[&'a str]) -> &'a str {
    let mut indents = lines
        .iter()
        .filter(|line| !body(line).is_empty())
        .map(|line| indent(line));
    let first = indents.next().unwrap_or_default();
    indents.fold(first, shared)
}

/// Returns the common prefix of two indents.
fn shared<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    &a[..same]
}

/// Returns the lines of an agent's text without endings, and whether the last one has an ending.
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

/// Finds every block that matches `old`; `None` if there is none, or if `old` is blank.
pub(super) fn find<'a>(
    text: &'a str,
    old: &'a str,
    bound: Bound<'_>,
) -> Result<Option<Blocks<'a>>, EditErrorKind> {
    let (old, ended) = given_lines(old);
    // The longest line is likely to be rare; it has the same position in every block.
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
            // Without a limit, a file of equal lines would compare every line with every old line.
            if compared > MAX_COMPARED_LINES + looked * COMPARED_LINES_PER_CANDIDATE {
                return Err(EditErrorKind::TooManySteps);
            }
        }
        let line = lines::line_start(bytes, at)..lines::line_end(bytes, at);
        from = line.end.max(at + 1);
        // Two overlapping blocks count as two, but the count continues after the second.
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
            // After the last line feed there is an empty line, which a blank old line matches.
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

    /// Returns the byte range to replace.
    pub(super) fn range(&self) -> Range<usize> {
        let all: usize = self.lines.iter().map(|line| line.len()).sum();
        let kept = match self.lines.last() {
            Some(last) if !self.takes_ending => lines::split_ending(last).1.len(),
            _ => 0,
        };
        self.start..self.start + all - kept
    }

    /// Returns the new text with the block's indent and line endings. Unchanged lines keep their
    /// bytes.
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
    /// Returns the mapping that explains every indent of the block, if there is one.
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

/// Reindentation of an agent's lines.
struct Indents<'a> {
    /// Indent that the agent's lines lose.
    given: &'a str,
    /// Indent of the block, which they get.
    own: &'a str,
    mapping: Mapping,
}

impl<'a> Indents<'a> {
    fn new(block: &Block<'a>, new: &[&'a str]) -> Self {
        // A line common to both texts shows that they have the same indent; otherwise the new
        // text's own indent is removed.
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
        // A line with less indent than the agent's block gets correspondingly less indent in the
        // file.
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
