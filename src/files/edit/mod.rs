//! Edits of text: bytes in, bytes out. No file access, no JSON.
//!
//! Edits apply in order, each to the result of the one before, all in memory: if one fails, nothing
//! has changed. Bytes outside of the matches never change, for any encoding, line ending and end of
//! file.

mod blocks;
mod bounds;
mod changes;
mod content;
mod diagnosis;
mod error;
mod literal;
mod plan;
mod request;

pub use changes::Rule;
pub use content::Content;
pub use error::{EditError, EditErrorKind, MatchKind};
pub use request::{Edit, Options};

use content::Working;
use replay_base::budget::Exhausted;
use replay_base::limits::DECODING_COPIES;
use replay_base::text::diff;
use replay_base::text::encoding::{self, Encoding};
use std::borrow::Cow;
use std::ops::Range;

/// Memory for each line in a comparison of two texts, in bytes.
const DIFF_BYTES_PER_LINE: usize = 128;

/// Report on one edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditReport {
    /// Number of replacements, at least 1.
    pub replacements: u64,
    /// First line of the first new text in the final result, from 1.
    pub first_line: usize,
    /// Last line of the last new text in the final result.
    pub last_line: usize,
    /// Rule that found the matches.
    pub rule: Rule,
    /// `true` if the limit left out further matches of a pattern.
    pub more: bool,
}

/// Result of all edits.
#[derive(Debug, PartialEq, Eq)]
pub struct Applied<'a> {
    pub content: Content<'a>,
    /// `true` if any edit changed the content.
    pub changed: bool,
    /// One report per edit, in order.
    pub per_edit: Vec<EditReport>,
    /// Encoding of the content, before and after.
    pub encoding: Encoding,
}

/// Applies `edits` to a file's content, in order.
///
/// Owned content is in memory once; the new content exists beside it only between two edits. The
/// error contains the index of the failed edit.
pub fn apply<'a>(
    bytes: impl Into<Cow<'a, [u8]>>,
    edits: &[Edit],
    options: Options<'_>,
) -> Result<Applied<'a>, EditError> {
    let failed = |index| move |kind| EditError::new(index, kind);
    let mut working = Working::read(bytes.into(), options).map_err(failed(0))?;
    let mut done: Vec<EditOutcome> = Vec::with_capacity(edits.len());
    let mut changed = false;
    for (index, edit) in edits.iter().enumerate() {
        let text = working.text().map_err(failed(index))?;
        let changes =
            plan::plan(text, edit, options).map_err(|kind| EditError::new(index, kind))?;
        changed |= changes.change(text);
        for done in &mut done {
            done.range = changes.moved(&done.range);
        }
        done.push(EditOutcome {
            range: changes.covered(),
            replacements: changes.len(),
            rule: changes.rule(),
            more: changes.more(),
        });
        working.change(changes);
    }
    let per_edit = reports(&working, &done);
    let encoding = working.encoding;
    let last = edits.len().saturating_sub(1);
    Ok(Applied {
        content: working.finish().map_err(failed(last))?,
        changed,
        per_edit,
        encoding,
    })
}

/// Result of an edit, as byte range of the current text.
struct EditOutcome {
    range: Range<usize>,
    replacements: u64,
    rule: Rule,
    more: bool,
}

/// Converts byte ranges of the final text to lines, in one pass up to the last range.
fn reports(text: &Working<'_, '_>, done: &[EditOutcome]) -> Vec<EditReport> {
    let ends = |range: &Range<usize>| [range.start, range.start.max(range.end.saturating_sub(1))];
    let mut offsets: Vec<usize> = done.iter().flat_map(|done| ends(&done.range)).collect();
    offsets.sort_unstable();
    let lines = text.lines_of(&offsets);
    let line = |offset: usize| offsets.binary_search(&offset).map_or(1, |at| lines[at]);
    let report = |done: &EditOutcome| {
        let [first, last] = ends(&done.range).map(line);
        let EditOutcome {
            replacements,
            rule,
            more,
            ..
        } = *done;
        EditReport {
            replacements,
            first_line: first,
            last_line: last,
            rule,
            more,
        }
    };
    done.iter().map(report).collect()
}

/// Returns the unified diff between a file's content and the result of its edits; `None` if they
/// are equal.
///
/// Both are decoded, so that the diff is readable for any encoding. Fails if there is not enough
/// memory for that.
pub fn preview(
    path: &str,
    before: &[u8],
    applied: &Applied<'_>,
    options: Options<'_>,
) -> Result<Option<String>, Exhausted> {
    if applied.content.is(before) {
        return Ok(None);
    }
    let is_utf8 = applied.encoding.is_utf8();
    let copies = if is_utf8 { 1 } else { 1 + 2 * DECODING_COPIES };
    let bytes = applied.content.byte_count().max(before.len()) * copies;
    let mut share = options.share();
    options.cover(&mut share, bytes)?;
    let counted = Options {
        room: None,
        ..options
    };
    let mut compare = |old: &str, new: &str| {
        options.cover(
            &mut share,
            bytes + diff::compared_lines(old, new) * DIFF_BYTES_PER_LINE,
        )?;
        Ok(Some(diff::unified(path, old, new, options.bound.deadline)))
    };
    // Unreadable content never gets here; a byte order mark is the same on both sides.
    let Ok(mut old) = Working::read(before.into(), counted) else {
        return Ok(None);
    };
    let Ok(old) = old.text() else { return Ok(None) };
    let new = applied.content.to_vec();
    if is_utf8 {
        let Ok(mut new) = Working::read(new.into(), counted) else {
            return Ok(None);
        };
        return new.text().map_or(Ok(None), |new| compare(old, new));
    }
    let decoded = encoding::detect_and_decode(new, Some(applied.encoding.name()));
    decoded.map_or(Ok(None), |new| compare(old, &new.text))
}

#[cfg(test)]
mod tests;
