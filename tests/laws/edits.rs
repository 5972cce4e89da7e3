//! Properties of edits: an edit changes exactly the requested bytes.

use std::time::{Duration, Instant};

use memchr::memmem;
use replay_base::cancel::Bound;
use replay_files::edit::{self, Edit, EditErrorKind, MatchKind, Options, Rule};

use super::Source;

/// Pieces of small texts that touch, overlap and end lines in every way.
const PIECES: [&str; 14] = [
    "a", "b", "A", "ab", "\n", "\r\n", "\r", "\t", "  ", "fn x() {", "}", "\u{e9}", "$1", "\\0",
];

/// Maximum time for one edit of a small text on a slow machine.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Subset of the pieces, so that texts made of them have similar parts.
struct Palette(Vec<&'static str>);

impl Palette {
    fn new(source: &mut Source<'_>) -> Self {
        Self(
            (0..=source.byte() % 4)
                .map(|_| source.choice(&PIECES))
                .collect(),
        )
    }

    fn text(&self, source: &mut Source<'_>) -> String {
        let pieces = usize::from(source.byte()) % 24;
        (0..pieces).map(|_| source.choice(&self.0)).collect()
    }

    /// Returns a part of `within`, or any other text.
    fn old_text(&self, source: &mut Source<'_>, within: &[u8]) -> String {
        let part = std::str::from_utf8(within)
            .ok()
            .filter(|_| !source.byte().is_multiple_of(4))
            .and_then(|text| {
                let from = usize::from(source.byte()) % (text.len() + 1);
                text.get(from..(from + 1 + usize::from(source.byte() % 12)).min(text.len()))
            });
        part.map_or_else(|| self.text(source), str::to_owned)
    }
}

/// Makes one or two edits of a text in bounded time. A literal that occurs once is replaced, and no
/// other bytes change. A literal that occurs more often is refused with the right count. The
/// reverse edit restores the original, and the diff leads from one text to the other.
///
/// # Panics
/// If the property is violated.
pub fn an_edit_changes_what_it_says(bytes: &[u8]) {
    let mut source = Source(bytes);
    let palette = Palette::new(&mut source);
    let any_bytes = source.byte() % 8 == 7;
    let before = if any_bytes {
        source.bytes().to_vec()
    } else {
        palette.text(&mut source).into_bytes()
    };
    let mut edit = || {
        Edit::new(
            &palette.old_text(&mut source, &before),
            &palette.text(&mut source),
        )
    };
    let (mut first, second) = (edit(), edit());
    first.limit = source.choice(&[1, 1, 2, 0]);
    first.is_regex = source.byte() % 4 == 1;
    first.case_insensitive = source.byte() % 4 == 1;
    let mut edits = vec![first];
    if source.flag() {
        edits.push(second);
    }
    let begin = Instant::now();
    let options = Options {
        bound: Bound {
            deadline: Some(begin + Duration::from_secs(1)),
            cancel: None,
        },
        ..Options::default()
    };
    let outcome = edit::apply(&before, &edits, options);
    assert!(
        begin.elapsed() < MAX_TIME,
        "{edits:?} took {:?}",
        begin.elapsed()
    );
    if let Ok(applied) = &outcome {
        assert_eq!(applied.per_edit.len(), edits.len());
        assert!(
            applied
                .per_edit
                .iter()
                .all(|it| it.replacements > 0 && it.first_line <= it.last_line)
        );
        if let Ok(Some(diff)) = edit::preview("f", &before, applied, Options::default())
            && std::str::from_utf8(&before).is_ok()
            && !before.starts_with(b"\xef\xbb\xbf")
        {
            assert_eq!(
                apply_diff(&before, &diff),
                applied.content.to_vec(),
                "{diff}"
            );
        }
    }
    if let [only] = edits.as_slice() {
        check_literal_edit(&before, only, &outcome, options);
    }
}

/// Checks a single literal edit, for which the expected result is simple.
fn check_literal_edit(
    before: &[u8],
    edit: &Edit,
    outcome: &Result<edit::Applied<'_>, edit::EditError>,
    options: Options,
) {
    let plain =
        !edit.is_regex && !edit.case_insensitive && edit.limit == 1 && !edit.old_text.is_empty();
    // Line endings have their own rules: a newline in the edit matches either kind.
    let ends_lines = |bytes: &[u8]| bytes.contains(&b'\r');
    let has_endings = ends_lines(before)
        || ends_lines(edit.old_text.as_bytes())
        || ends_lines(edit.new_text.as_bytes());
    if !plain
        || has_endings
        || std::str::from_utf8(before).is_err()
        || before.starts_with(b"\xef\xbb\xbf")
    {
        return;
    }
    let (old, new) = (edit.old_text.as_bytes(), edit.new_text.as_bytes());
    let places: Vec<usize> = (0..before.len())
        .filter(|&at| before[at..].starts_with(old))
        .collect();
    match (places.as_slice(), outcome) {
        ([at], Ok(applied)) => {
            let after = applied.content.to_vec();
            assert_eq!(
                after,
                [&before[..*at], new, &before[at + old.len()..]].concat()
            );
            assert_eq!(applied.per_edit[0].rule, Rule::Exact);
            if memmem::find_iter(&after, new).count() == 1 {
                let back = edit::apply(
                    &after,
                    &[Edit::new(&edit.new_text, &edit.old_text)],
                    options,
                );
                // Overlapping occurrences of the new text count as two.
                if let Ok(back) = back {
                    assert_eq!(back.content.to_vec(), before, "the reverse edit");
                }
            }
        }
        ([_], Err(error)) => panic!("it occurs once: {error:?}"),
        ([], _) => {}
        (_, Ok(_)) => panic!("{edit:?} was applied to one of {} places", places.len()),
        (_, Err(error)) => {
            let not_unique = matches!(
                error.kind,
                EditErrorKind::NotUnique {
                    kind: MatchKind::Exact,
                    ..
                }
            );
            assert!(not_unique, "{} places: {error:?}", places.len());
        }
    }
}

/// Applies a unified diff like `patch`: hunks by their line numbers, with the context compared.
fn apply_diff(before: &[u8], diff: &str) -> Vec<u8> {
    let lines: Vec<&[u8]> = before.split_inclusive(|&byte| byte == b'\n').collect();
    let (mut out, mut next) = (Vec::new(), 0);
    let mut rows = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(row) = rows.next() {
        if let Some(header) = row.strip_prefix("@@ -") {
            let range = header.split(' ').next().unwrap();
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            let start: usize = start.parse().unwrap();
            let from = if count == "0" { start } else { start - 1 };
            lines[next..from]
                .iter()
                .for_each(|line| out.extend_from_slice(line));
            next = from;
            continue;
        }
        let no_newline = rows.peek().is_some_and(|row| row.starts_with('\\'));
        let body = if no_newline {
            row[1..].strip_suffix('\n').unwrap()
        } else {
            &row[1..]
        }
        .as_bytes();
        match row.as_bytes()[0] {
            b'+' => out.extend_from_slice(body),
            b'\\' => {}
            kind => {
                assert_eq!(lines[next], body, "context of {diff}");
                next += 1;
                if kind == b' ' {
                    out.extend_from_slice(body);
                }
            }
        }
    }
    lines[next..]
        .iter()
        .for_each(|line| out.extend_from_slice(line));
    out
}
