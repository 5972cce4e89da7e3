//! From an edit to the places it replaces, and from those to the new text.

use super::error::{EditErrorKind, MatchKind};
use super::{Edit, Options, Rule, blocks, closest, literal};
use crate::cancel::Bound;
use crate::limits::{MAX_EDIT_BYTES, MAX_EDIT_PLACES, MAX_LISTED_LINES};
use crate::pattern::{self, Pattern, PatternError, Replacement};
use memchr::memchr_iter;
use std::borrow::Cow;
use std::ops::Range;
use std::time::Instant;

/// What takes the places of the spans.
#[derive(Debug)]
pub(super) enum Texts<'a> {
    /// The same text everywhere.
    Same(Cow<'a, str>),
    /// One text for each span: they lie one after another, and these are their ends.
    Each(String, Vec<usize>),
}

/// The replacements of one edit: spans in ascending order that do not overlap, and their new texts.
#[derive(Debug)]
pub(super) struct Changes<'a> {
    spans: Vec<Range<usize>>,
    texts: Texts<'a>,
    rule: Rule,
}

impl<'a> Changes<'a> {
    pub(super) fn new(spans: Vec<Range<usize>>, texts: Texts<'a>, rule: Rule) -> Self {
        Self { spans, texts, rule }
    }

    pub(super) fn rule(&self) -> Rule {
        self.rule
    }

    pub(super) fn len(&self) -> u64 {
        self.spans.len() as u64
    }

    fn text(&self, index: usize) -> &str {
        match &self.texts {
            Texts::Same(text) => text,
            Texts::Each(all, ends) => {
                let start = index.checked_sub(1).map_or(0, |before| ends[before]);
                &all[start..ends[index]]
            }
        }
    }

    /// The range of the result from the first new text to the last.
    pub(super) fn covered(&self) -> Range<usize> {
        let gaps = self.spans.windows(2).map(|pair| pair[1].start - pair[0].end);
        let start = self.spans.first().map_or(0, |first| first.start);
        start..start + gaps.sum::<usize>() + self.new_bytes()
    }

    fn new_bytes(&self) -> usize {
        match &self.texts {
            Texts::Same(text) => text.len() * self.spans.len(),
            Texts::Each(all, _) => all.len(),
        }
    }

    /// Where a range of the old text is in the new one. An edge inside a replaced place moves to the place's edge.
    pub(super) fn moved(&self, range: &Range<usize>) -> Range<usize> {
        self.moved_edge(range.start, false)..self.moved_edge(range.end, true)
    }

    fn moved_edge(&self, offset: usize, is_end: bool) -> usize {
        let (mut added, mut removed) = (0, 0);
        for (index, span) in self.spans.iter().enumerate() {
            if span.start >= offset {
                break;
            }
            let new = self.text(index).len();
            if span.end > offset {
                return span.start + added - removed + if is_end { new } else { 0 };
            }
            added += new;
            removed += span.len();
        }
        offset + added - removed
    }

    /// The new text, in one allocation.
    pub(super) fn splice(&self, text: &str) -> String {
        let gone: usize = self.spans.iter().map(ExactSizeIterator::len).sum();
        let mut out = String::with_capacity(text.len() - gone + self.new_bytes());
        let mut from = 0;
        for (index, span) in self.spans.iter().enumerate() {
            out.push_str(&text[from..span.start]);
            out.push_str(self.text(index));
            from = span.end;
        }
        out.push_str(&text[from..]);
        out
    }
}

/// The lines of ascending offsets, counted from 1.
pub(super) fn lines_of(text: &str, offsets: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let count = |offset: &usize| {
        let offset = (*offset).min(text.len());
        line += memchr_iter(b'\n', &text.as_bytes()[from..offset]).count();
        from = offset;
        line
    };
    offsets.iter().map(count).collect()
}

/// Finds the places of one edit, by the rules of the tools' contract.
pub(super) fn plan<'a>(text: &str, edit: &'a Edit, options: Options<'_>) -> Result<Changes<'a>, EditErrorKind> {
    if edit.old_text.is_empty() {
        return Err(EditErrorKind::Empty { is_regex: edit.is_regex });
    }
    check(options.bound)?;
    let changes = if edit.is_regex {
        by_pattern(text, edit, options.bound)?
    } else if edit.case_insensitive {
        ignoring_case(text, edit, options.bound)?
    } else {
        by_text(text, edit, options.bound)?
    };
    if let Some(changes) = &changes {
        few_enough(changes.len() as usize)?;
        fits(text.len().saturating_add(changes.new_bytes()))?;
    }
    changes.ok_or_else(|| {
        if edit.is_regex {
            EditErrorKind::PatternNotFound {
                literal_line: literal::first(text, &edit.old_text).map(|at| lines_of(text, &[at])[0]),
            }
        } else {
            let until = Instant::now() + options.closest_block;
            let until = options.bound.deadline.map_or(until, |deadline| deadline.min(until));
            EditErrorKind::TextNotFound(Box::new(closest::diagnose(text, edit, until)))
        }
    })
}

pub(super) fn check(bound: Bound<'_>) -> Result<(), EditErrorKind> {
    if bound.is_over() {
        return Err(EditErrorKind::TimedOut);
    }
    Ok(())
}

/// Whether `bytes` of new text are no more than can be held.
pub(super) fn fits(bytes: usize) -> Result<(), EditErrorKind> {
    if bytes as u64 > MAX_EDIT_BYTES {
        return Err(EditErrorKind::TooLarge);
    }
    Ok(())
}

/// Whether so many places can be remembered.
fn few_enough(places: usize) -> Result<(), EditErrorKind> {
    if places > MAX_EDIT_PLACES {
        return Err(EditErrorKind::TooMany);
    }
    Ok(())
}

/// As many places as the limit allows.
fn limit(edit: &Edit) -> usize {
    match edit.limit {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    }
}

fn not_unique(text: &str, kind: MatchKind, count: usize, starts: &[usize]) -> EditErrorKind {
    EditErrorKind::NotUnique { kind, count, lines: lines_of(text, &starts[..starts.len().min(MAX_LISTED_LINES)]) }
}

fn by_text<'a>(text: &str, edit: &'a Edit, bound: Bound<'_>) -> Result<Option<Changes<'a>>, EditErrorKind> {
    let guarded = edit.limit == 1;
    let found = literal::exact(text, &edit.old_text, limit(edit));
    // A text that begins with a line feed must not tear it from its CR.
    let splits_crlf =
        edit.old_text.starts_with('\n') && found.spans.iter().any(|span| text[..span.start].ends_with('\r'));
    if guarded && found.count > 1 {
        return Err(not_unique(text, MatchKind::Exact, found.count, &found.starts()));
    }
    if found.count > 0 && !splits_crlf {
        fits(found.spans.len().saturating_mul(edit.new_text.len()))?;
        let texts = literal::new_texts(text, edit, &found.spans);
        return Ok(Some(Changes::new(found.spans, texts, Rule::Exact)));
    }
    if let Some((found, texts)) = literal::across_line_endings(text, edit, limit(edit))? {
        if guarded && found.count > 1 {
            return Err(not_unique(text, MatchKind::Exact, found.count, &found.starts()));
        }
        return Ok(Some(Changes::new(found.spans, texts, Rule::LineEndings)));
    }
    if !guarded {
        return Ok(None);
    }
    let Some(found) = blocks::find(text, &edit.old_text, bound)? else {
        return Ok(None);
    };
    if found.count > 1 {
        return Err(not_unique(text, MatchKind::Whitespace, found.count, &found.starts));
    }
    let new = found.block.rewrite(&edit.new_text);
    Ok(Some(Changes::new(vec![found.block.range()], Texts::Same(Cow::Owned(new)), Rule::Whitespace)))
}

fn ignoring_case<'a>(text: &str, edit: &'a Edit, bound: Bound<'_>) -> Result<Option<Changes<'a>>, EditErrorKind> {
    let found = literal::ignoring_case(text, &edit.old_text, limit(edit), bound)?;
    if edit.limit == 1 && found.count > 1 {
        return Err(not_unique(text, MatchKind::Exact, found.count, &found.starts()));
    }
    if found.count == 0 {
        return Ok(None);
    }
    fits(found.spans.len().saturating_mul(edit.new_text.len()))?;
    let texts = literal::new_texts(text, edit, &found.spans);
    Ok(Some(Changes::new(found.spans, texts, Rule::CaseInsensitive)))
}

fn by_pattern<'a>(text: &str, edit: &'a Edit, bound: Bound<'_>) -> Result<Option<Changes<'a>>, EditErrorKind> {
    let options = pattern::Options { case_insensitive: edit.case_insensitive };
    let pattern = Pattern::new(&edit.old_text, options)?;
    let new = Replacement::parse(&edit.new_text, &pattern)?;
    let (mut spans, mut all, mut ends) = (Vec::new(), String::new(), Vec::new());
    let matches = if new.refers_to_groups() { pattern.find_iter(text, bound) } else { pattern.spans_iter(text, bound) };
    for found in matches.take(limit(edit)) {
        let found = found.map_err(|error| out_of_time(error, bound))?;
        fits(all.len().saturating_add(new.expanded_bytes(&found)))?;
        new.expand(&found, text, &mut all);
        ends.push(all.len());
        spans.push(found.range());
        few_enough(spans.len())?;
    }
    Ok((!spans.is_empty()).then(|| Changes::new(spans, Texts::Each(all, ends), Rule::Regex)))
}

/// The engine gives one error for both of its bounds.
pub(super) fn out_of_time(error: PatternError, bound: Bound<'_>) -> EditErrorKind {
    check(bound).err().unwrap_or(EditErrorKind::Pattern(error))
}
