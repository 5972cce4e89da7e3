//! Planning: finds the matches of an edit and their new texts.

use replay_base::limits::{EDIT_BYTES_PER_PLACE, EDIT_PLACES_STEP, MAX_LISTED_LINES};
use replay_base::text::lines::lines_of;
use replay_pattern::{self, Pattern, Replacement, slip};

use super::bounds::{check, few_enough, fits, out_of_time};
use super::changes::{Changes, Rule, Texts};
use super::error::{Cause, EditErrorKind, MatchKind};
use super::request::{Edit, Options};
use super::{blocks, diagnosis, literal};
use std::time::Instant;

/// Finds the matches of one edit, by the rules of the tools' contract.
pub(super) fn plan(
    text: &str,
    edit: &Edit,
    options: Options<'_>,
) -> Result<Changes, EditErrorKind> {
    if edit.old_text.is_empty() {
        return Err(EditErrorKind::Empty {
            is_regex: edit.is_regex,
        });
    }
    check(options.bound)?;
    let mut is_given_up = false;
    let changes = if edit.is_regex {
        by_pattern(text, edit, options)?
    } else if edit.case_insensitive {
        ignoring_case(text, edit, options)?
    } else {
        match by_text(text, edit, options) {
            // The diagnosis may still find something similar.
            Err(EditErrorKind::TooManySteps) => {
                is_given_up = true;
                None
            }
            found => found?,
        }
    };
    if let Some(changes) = &changes {
        few_enough(changes.len() as usize)?;
        fits(changes.result_bytes(text.len()))?;
    }
    changes.ok_or_else(|| {
        if edit.is_regex {
            EditErrorKind::PatternNotFound {
                literal_line: literal::first(text, &edit.old_text)
                    .map(|at| lines_of([text.as_bytes()], &[at])[0]),
                slip: slip(&edit.old_text),
            }
        } else {
            let until = Instant::now() + options.closest_block;
            let until = options
                .bound
                .deadline
                .map_or(until, |deadline| deadline.min(until));
            match diagnosis::diagnose(text, edit, until) {
                Cause::Nothing | Cause::OutOfTime if is_given_up => EditErrorKind::TooManySteps,
                cause => EditErrorKind::TextNotFound(Box::new(cause)),
            }
        }
    })
}

/// Returns the maximum number of replacements.
fn limit(edit: &Edit) -> usize {
    match edit.limit {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    }
}

fn not_unique(text: &str, kind: MatchKind, count: usize, starts: &[usize]) -> EditErrorKind {
    EditErrorKind::NotUnique {
        kind,
        count,
        lines: lines_of(
            [text.as_bytes()],
            &starts[..starts.len().min(MAX_LISTED_LINES)],
        ),
    }
}

fn by_text(
    text: &str,
    edit: &Edit,
    options: Options<'_>,
) -> Result<Option<Changes>, EditErrorKind> {
    let guarded = edit.limit == 1;
    let mut found = literal::exact(text, &edit.old_text, limit(edit), options)?;
    // A match that begins with a line feed must not separate it from its CR.
    let splits_crlf = edit.old_text.starts_with('\n')
        && found
            .spans
            .iter()
            .any(|span| text[..span.start].ends_with('\r'));
    if guarded && found.count > 1 {
        return Err(not_unique(
            text,
            MatchKind::Exact,
            found.count,
            &found.starts(),
        ));
    }
    if found.count > 0 && !splits_crlf {
        fits(found.spans.len().saturating_mul(edit.new_text.len()))?;
        let texts = literal::new_texts(text, edit, &mut found, options)?;
        return Ok(Some(
            Changes::new(found.spans, texts, Rule::Exact).holding(found.share),
        ));
    }
    if let Some((found, texts)) = literal::across_line_endings(text, edit, limit(edit), options)? {
        if guarded && found.count > 1 {
            return Err(not_unique(
                text,
                MatchKind::Exact,
                found.count,
                &found.starts(),
            ));
        }
        return Ok(Some(
            Changes::new(found.spans, texts, Rule::LineEndings).holding(found.share),
        ));
    }
    if !guarded {
        return Ok(None);
    }
    let Some(found) = blocks::find(text, &edit.old_text, options.bound)? else {
        return Ok(None);
    };
    if found.count > 1 {
        return Err(not_unique(
            text,
            MatchKind::Whitespace,
            found.count,
            &found.starts,
        ));
    }
    let new = found.block.rewrite(&edit.new_text);
    Ok(Some(Changes::new(
        vec![found.block.range()],
        Texts::Same(new),
        Rule::Whitespace,
    )))
}

fn ignoring_case(
    text: &str,
    edit: &Edit,
    options: Options<'_>,
) -> Result<Option<Changes>, EditErrorKind> {
    let mut found = literal::ignoring_case(text, &edit.old_text, limit(edit), options)?;
    if edit.limit == 1 && found.count > 1 {
        return Err(not_unique(
            text,
            MatchKind::Exact,
            found.count,
            &found.starts(),
        ));
    }
    if found.count == 0 {
        return Ok(None);
    }
    fits(found.spans.len().saturating_mul(edit.new_text.len()))?;
    let texts = literal::new_texts(text, edit, &mut found, options)?;
    Ok(Some(
        Changes::new(found.spans, texts, Rule::CaseInsensitive).holding(found.share),
    ))
}

fn by_pattern(
    text: &str,
    edit: &Edit,
    options: Options<'_>,
) -> Result<Option<Changes>, EditErrorKind> {
    let bound = options.bound;
    let flags = replay_pattern::Options {
        case_insensitive: edit.case_insensitive,
    };
    let pattern = Pattern::new(&edit.old_text, flags)?;
    let new = Replacement::parse(&edit.new_text, &pattern)?;
    let (mut spans, mut all, mut ends) = (Vec::new(), String::new(), Vec::new());
    let mut share = options.share();
    let mut matches = if new.refers_to_groups() {
        pattern.find_iter(text, bound)
    } else {
        pattern.spans_iter(text, bound)
    };
    for found in matches.by_ref().take(limit(edit)) {
        let found = found.map_err(|error| out_of_time(error, bound))?;
        fits(all.len().saturating_add(new.expanded_bytes(&found)))?;
        new.expand(&found, text, &mut all);
        ends.push(all.len());
        spans.push(found.range());
        few_enough(spans.len())?;
        if spans.len().is_multiple_of(EDIT_PLACES_STEP) || all.len() > share.bytes() {
            options.cover(
                &mut share,
                2 * all.len() + spans.len() * EDIT_BYTES_PER_PLACE,
            )?;
        }
    }
    let more = edit.limit > 0 && matches.next().is_some_and(|found| found.is_ok());
    Ok((!spans.is_empty()).then(|| {
        Changes::new(spans, Texts::Each(all, ends), Rule::Regex)
            .and_more(more)
            .holding(share)
    }))
}
