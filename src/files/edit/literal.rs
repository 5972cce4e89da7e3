//! Literal search: exact, across line endings, and ignoring case; and the new texts for each match.

use replay_base::budget::Share;
use replay_base::limits::{
    EDIT_BYTES_PER_PLACE, EDIT_PLACES_STEP, MAX_EDIT_PLACES, MAX_LISTED_LINES,
};
use replay_base::text::lines;
use replay_pattern::Pattern;

use super::bounds::{check, fits, out_of_time};
use super::changes::Texts;
use super::error::EditErrorKind;
use super::request::{Edit, Options};
use memchr::memmem::{self, Finder};
use std::borrow::Cow;
use std::ops::Range;

/// Matches of a literal text. With a limit of one, all are counted, but only the first few are
/// stored.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) spans: Vec<Range<usize>>,
    pub(super) count: usize,
    /// Share of the memory budget, including old and new texts of other matches.
    pub(super) share: Share,
}

impl Places {
    pub(super) fn starts(&self) -> Vec<usize> {
        self.spans.iter().map(|span| span.start).collect()
    }

    /// Counts matches, and stores as many as the edit or the error message can use.
    fn gather(
        places: impl Iterator<Item = Range<usize>>,
        limit: usize,
        options: Options<'_>,
    ) -> Result<Self, EditErrorKind> {
        let mut found = Self {
            share: options.share(),
            ..Self::default()
        };
        // One match more than allowed proves that there are too many.
        let all = limit.min(MAX_EDIT_PLACES + 1);
        let (most, kept) = if limit == 1 {
            (usize::MAX, MAX_LISTED_LINES)
        } else {
            (all, all)
        };
        for place in places.take(most) {
            found.count += 1;
            if found.spans.len() < kept {
                found.spans.push(place);
                if found.spans.len().is_multiple_of(EDIT_PLACES_STEP) {
                    options.cover(&mut found.share, found.spans.len() * EDIT_BYTES_PER_PLACE)?;
                }
            }
        }
        Ok(found)
    }

    /// Counts overlapping matches separately if the text must be unique.
    fn with_overlap(
        mut self,
        limit: usize,
        next: impl FnOnce(usize) -> Option<Range<usize>>,
    ) -> Self {
        if let (1, 1, [only]) = (limit, self.count, self.spans.as_slice())
            && let Some(second) = next(only.start)
            && second.start < only.end
        {
            self.spans.push(second);
            self.count = 2;
        }
        self
    }
}

/// Returns the offset of the first match.
pub(super) fn first(text: &str, old: &str) -> Option<usize> {
    memmem::find(text.as_bytes(), old.as_bytes())
}

/// Finds `old` character by character.
pub(super) fn exact(
    text: &str,
    old: &str,
    limit: usize,
    options: Options<'_>,
) -> Result<Places, EditErrorKind> {
    let finder = Finder::new(old.as_bytes());
    let width = old.len();
    let places = finder.find_iter(text.as_bytes()).map(|at| at..at + width);
    Ok(
        Places::gather(places, limit, options)?.with_overlap(limit, |only| {
            // Only matches that begin inside the first one can overlap.
            let window = &text.as_bytes()[only + 1..(only + 2 * width).min(text.len())];
            finder
                .find(window)
                .map(|at| only + 1 + at..only + 1 + at + width)
        }),
    )
}

/// Finds `old` ignoring case.
pub(super) fn ignoring_case(
    text: &str,
    old: &str,
    limit: usize,
    options: Options<'_>,
) -> Result<Places, EditErrorKind> {
    let bound = options.bound;
    // Long texts would need large automata, so only a prefix is searched, and the rest is compared.
    let head = &old[..old.floor_char_boundary(HEAD_BYTES)];
    let tail: Vec<char> = old[head.len()..].chars().map(fold).collect();
    let pattern = Pattern::literal_ignoring_case(head)?;
    let next = |from: usize| -> Result<Option<Range<usize>>, EditErrorKind> {
        let mut from = from;
        loop {
            check(bound)?;
            let found = pattern
                .find_at(text, from)
                .map_err(|error| out_of_time(error, bound))?;
            let Some(range) = found.map(|found| found.range()) else {
                return Ok(None);
            };
            let mut rest = text[range.end..].char_indices();
            let same = tail
                .iter()
                .all(|c| rest.next().is_some_and(|(_, other)| fold(other) == *c));
            if same {
                return Ok(Some(range.start..range.end + rest.offset()));
            }
            from = range.start + text[range.start..].chars().next().map_or(1, char::len_utf8);
        }
    };
    let (mut failed, mut from) = (None, 0);
    let places = std::iter::from_fn(|| match next(from) {
        Ok(place) => {
            from = place.as_ref().map_or(from, |place| place.end);
            place
        }
        Err(error) => {
            failed = Some(error);
            None
        }
    });
    let found = Places::gather(places, limit, options)?.with_overlap(limit, |only| {
        let after = only + text[only..].chars().next().map_or(1, char::len_utf8);
        next(after).ok().flatten()
    });
    failed.map_or(Ok(found), Err)
}

/// Length of the prefix in bytes.
const HEAD_BYTES: usize = 256;

/// Folds the case of a character, via upper case so that variants such as the long s fold too.
fn fold(c: char) -> char {
    let single = |mut mapped: std::char::ToLowercase| match (mapped.next(), mapped.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    };
    let mut upper = c.to_uppercase();
    let upper = match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => c,
    };
    single(upper.to_lowercase()).unwrap_or(c)
}

/// Finds `old` with `\r\n` and `\n` treated as equal; each new text gets the line endings of its
/// match.
pub(super) fn across_line_endings(
    text: &str,
    edit: &Edit,
    limit: usize,
    options: Options<'_>,
) -> Result<Option<(Places, Texts)>, EditErrorKind> {
    let old = lines::to_lf(&edit.old_text);
    let mixed = matches!(old, Cow::Owned(_)) || memmem::find(text.as_bytes(), b"\r\n").is_some();
    if !old.contains('\n') || !mixed {
        return Ok(None);
    }
    let mut copy = options.share();
    options.cover(&mut copy, text.len())?;
    let flat = lines::to_lf(text);
    let mut found = exact(&flat, &old, limit, options)?;
    if found.count == 0 {
        return Ok(None);
    }
    fits(found.spans.len().saturating_mul(edit.new_text.len()))?;
    // Every removed CR before an offset shifts it; offsets and CRs both ascend.
    let mut pairs = memmem::find_iter(text.as_bytes(), b"\r\n").peekable();
    let mut passed = 0;
    let mut original = |offset: usize| {
        while pairs.peek().is_some_and(|at| at - passed < offset) {
            pairs.next();
            passed += 1;
        }
        offset + passed
    };
    let ambiguous = limit == 1 && found.count > 1;
    for span in &mut found.spans {
        let start = original(span.start);
        // Ambiguous matches may overlap, and only their starts are shown.
        let end = if ambiguous { start } else { original(span.end) };
        *span = start..end;
    }
    let new = lines::to_lf(&edit.new_text);
    let old: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let (mut all, mut ends) = (String::new(), Vec::new());
    for span in &found.spans {
        let endings: Vec<&str> = endings(&text[span.clone()]).collect();
        all.push_str(&join(&old, &new, &endings, "\n"));
        ends.push(all.len());
        options.cover(
            &mut found.share,
            ends.len() * EDIT_BYTES_PER_PLACE + 2 * all.len(),
        )?;
    }
    Ok(Some((found, Texts::Each(all, ends))))
}

/// Returns the line endings of a text, in order.
pub(super) fn endings(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
        .map(|line| lines::split_ending(line).1)
        .filter(|ending| !ending.is_empty())
}

/// Joins new pieces of lines with the endings of the old ones.
///
/// Equal pieces at the beginning and at the end keep their endings. The pieces between get those of
/// the old lines in order; additional ones repeat the last. `spare` is used if there is none.
pub(super) fn join(old: &[&str], new: &[&str], endings: &[&str], spare: &str) -> String {
    let most = old.len().min(new.len()).saturating_sub(1);
    let head = old
        .iter()
        .zip(new)
        .take_while(|(a, b)| a == b)
        .count()
        .min(most);
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let tail = tail.min(most - head).min(endings.len());
    let breaks = new.len().saturating_sub(1);
    let mut out = String::new();
    let mut last = None;
    for (index, piece) in new.iter().enumerate() {
        out.push_str(piece);
        if index == breaks {
            break;
        }
        let from_end = breaks - index;
        let own = if from_end <= tail {
            endings.get(endings.len() - from_end)
        } else {
            endings[..endings.len() - tail].get(index)
        };
        let ending = own
            .copied()
            .or(last)
            .or(endings.first().copied())
            .unwrap_or(spare);
        last = Some(ending);
        out.push_str(ending);
    }
    out
}

/// Returns the new texts of an edit. If the old text has no line ending and the match lies in a
/// CRLF line, the new text gets CRLF endings. The same holds for files with CR endings only.
/// Otherwise the new text is inserted unchanged.
pub(super) fn new_texts(
    text: &str,
    edit: &Edit,
    found: &mut Places,
    options: Options<'_>,
) -> Result<Texts, EditErrorKind> {
    let new = edit.new_text.as_str();
    let as_it_stands = edit.old_text.contains('\n') || !new.contains('\n') || new.contains('\r');
    if !as_it_stands && memchr::memchr(b'\n', text.as_bytes()).is_none() && text.contains('\r') {
        return Ok(Texts::Same(new.replace('\n', "\r")));
    }
    if as_it_stands || memmem::find(text.as_bytes(), b"\r\n").is_none() {
        return Ok(Texts::Same(new.to_owned()));
    }
    let crlf = new.replace('\n', "\r\n");
    let places = found.spans.len();
    options.cover(
        &mut found.share,
        places * EDIT_BYTES_PER_PLACE + 2 * places * crlf.len(),
    )?;
    let (mut all, mut ends) = (String::new(), Vec::with_capacity(places));
    for span in &found.spans {
        all.push_str(if is_crlf_at(text, span.end) {
            &crlf
        } else {
            new
        });
        ends.push(all.len());
    }
    Ok(Texts::Each(all, ends))
}

/// Returns true if the line of `at` ends with `\r\n`; for the last line, the one before decides.
fn is_crlf_at(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let feed = memchr::memchr(b'\n', &bytes[at..]).map(|feed| at + feed);
    let feed = feed.or_else(|| memchr::memrchr(b'\n', &bytes[..at]));
    feed.is_some_and(|feed| feed > 0 && bytes[feed - 1] == b'\r')
}
