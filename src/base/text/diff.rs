//! Unified diffs, as written by `diff -u` and read by `patch`.
//!
//! Lines are compared with their endings, so a changed line ending is a changed line, and CRs
//! appear in the output.

use super::lines;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};
use std::fmt::Write as _;
use std::time::Instant;

/// Longest diff that is shown, in bytes; a longer one is cut off and says so.
const MAX_DIFF_BYTES: usize = 10 * 1024 * 1024;

/// Number of unchanged lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// Returns the difference between two texts: `--- path`, `+++ path`, then hunks. Empty if they are
/// equal.
///
/// Both headers carry the same path. If the `deadline` passes, the result is still correct but may
/// be longer than necessary. Equal beginnings and ends are skipped first, so a small change in a
/// large text is cheap.
pub fn unified(path: &str, old: &str, new: &str, deadline: Option<Instant>) -> String {
    let mut out = String::new();
    if old == new {
        return out;
    }
    let common = CommonEnds::of(old.as_bytes(), new.as_bytes());
    let old_lines = to_lines(&old[common.from..old.len() - common.tail]);
    let new_lines = to_lines(&new[common.from..new.len() - common.tail]);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, deadline);
    let _ = writeln!(out, "--- {path}\n+++ {path}");
    for group in group_diff_ops(ops, CONTEXT_LINES) {
        write_hunk(
            &mut out,
            &group,
            &old_lines,
            &new_lines,
            common.lines_before,
        );
        if out.len() > MAX_DIFF_BYTES {
            let _ = writeln!(
                out,
                "[the diff is longer than {MAX_DIFF_BYTES} bytes and cut off here]"
            );
            break;
        }
    }
    out
}

/// Common beginning and end of both texts, in whole lines, without the context of a hunk.
struct CommonEnds {
    /// Bytes skipped at the beginning.
    from: usize,
    /// Bytes skipped at the end.
    tail: usize,
    /// Lines in the skipped beginning.
    lines_before: usize,
}

/// Returns the number of lines of both texts that [`unified`] compares, without equal beginnings
/// and ends.
pub fn compared_lines(old: &str, new: &str) -> usize {
    let common = CommonEnds::of(old.as_bytes(), new.as_bytes());
    let lines = |text: &str| {
        memchr::memchr_iter(
            b'\n',
            &text.as_bytes()[common.from..text.len() - common.tail],
        )
        .count()
    };
    lines(old) + lines(new)
}

impl CommonEnds {
    fn of(old: &[u8], new: &[u8]) -> Self {
        let same = common_prefix(old, new);
        let mut from = lines::line_start(old, same);
        for _ in 0..CONTEXT_LINES {
            from = lines::line_start(old, from.saturating_sub(1));
        }
        let rest = old.len().min(new.len()) - same;
        let same_end = common_suffix(&old[old.len() - rest..], &new[new.len() - rest..]);
        // The tail begins at the first line that lies completely in the equal end, after the
        // context lines.
        let mut start = old.len() - same_end;
        if start > 0 && same_end > 0 {
            start = lines::line_end(old, start - 1);
        }
        for _ in 0..CONTEXT_LINES {
            start = lines::line_end(old, start);
        }
        Self {
            from,
            tail: old.len() - start,
            lines_before: memchr::memchr_iter(b'\n', &old[..from]).count(),
        }
    }
}

/// Returns the length of the equal beginning. Blocks are compared first, which the compiler turns
/// into `memcmp`.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 4096;
    let blocks = a
        .chunks(BLOCK)
        .zip(b.chunks(BLOCK))
        .take_while(|(x, y)| x == y);
    let done = (blocks.count() * BLOCK).min(a.len()).min(b.len());
    done + a[done..]
        .iter()
        .zip(&b[done..])
        .take_while(|(x, y)| x == y)
        .count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 4096;
    let blocks = a
        .rchunks(BLOCK)
        .zip(b.rchunks(BLOCK))
        .take_while(|(x, y)| x == y);
    let done = (blocks.count() * BLOCK).min(a.len()).min(b.len());
    let (a, b) = (&a[..a.len() - done], &b[..b.len() - done]);
    done + a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count()
}

fn to_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn write_hunk(out: &mut String, group: &[DiffOp], old: &[&str], new: &[&str], before: usize) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return;
    };
    let range = |start: usize, end: usize| {
        let (count, start) = (end - start, start + before);
        // POSIX diff -u: a count of 1 is omitted, and an empty range names the line before it.
        match count {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            _ => format!("{},{count}", start + 1),
        }
    };
    let _ = writeln!(
        out,
        "@@ -{} +{} @@",
        range(first.old_range().start, last.old_range().end),
        range(first.new_range().start, last.new_range().end)
    );
    for op in group {
        if let DiffOp::Equal { .. } = op {
            write_lines(out, ' ', &old[op.old_range()]);
        } else {
            write_lines(out, '-', &old[op.old_range()]);
            write_lines(out, '+', &new[op.new_range()]);
        }
    }
}

fn write_lines(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        if out.len() > MAX_DIFF_BYTES {
            return;
        }
        out.push(sign);
        if line.len() > MAX_DIFF_BYTES {
            // A single line may be a whole file of a gigabyte.
            out.push_str(&line[..line.floor_char_boundary(MAX_DIFF_BYTES)]);
            out.push('\n');
            return;
        }
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Returns the changed lines of a unified diff of one file, each with its number: `-12: old`, in the
/// old text, and `+12: new`, in the new one.
pub fn changed_lines(unified: &str) -> String {
    let (mut changed, mut old, mut new) = (String::new(), Side::default(), Side::default());
    for line in unified.lines() {
        if old.left + new.left == 0 {
            let places = line
                .strip_prefix("@@ -")
                .and_then(|rest| rest.split_once(" +"));
            if let Some((of_old, of_new)) = places {
                (old, new) = (Side::read(of_old), Side::read(of_new));
            }
            continue;
        }
        let (sign, text) = line.split_at(line.len().min(1));
        let at = match sign {
            "-" => old.take(),
            "+" => new.take(),
            "\\" => continue,
            _ => {
                (_, _) = (old.take(), new.take());
                continue;
            }
        };
        // A write to a `String` cannot fail.
        let _ = writeln!(changed, "{sign}{at}: {text}");
    }
    changed
}

/// Lines of one side of a hunk that are still to come.
#[derive(Default)]
struct Side {
    next: usize,
    left: usize,
}

impl Side {
    /// Reads `12,3` or `12`.
    fn read(place: &str) -> Self {
        let place = place.split(' ').next().unwrap_or_default();
        let (first, count) = place.split_once(',').unwrap_or((place, "1"));
        Self {
            next: first.parse().unwrap_or_default(),
            left: count.parse().unwrap_or_default(),
        }
    }

    fn take(&mut self) -> usize {
        self.left = self.left.saturating_sub(1);
        self.next += 1;
        self.next - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_diff_is_truncated() {
        let long = ["x\n".repeat(MAX_DIFF_BYTES), "x".repeat(3 * MAX_DIFF_BYTES)];
        for new in long {
            let diff = unified("f", "a\n", &new, None);
            assert!(
                diff.len() < MAX_DIFF_BYTES + 200 && diff.ends_with("cut off here]\n"),
                "{}",
                diff.len()
            );
        }
    }

    use proptest::prelude::*;

    #[test]
    fn hunks_have_headers_context_and_counts() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        assert_eq!(
            unified("/p/f", old, new, None),
            "--- /p/f\n+++ /p/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
        assert_eq!(unified("f", old, old, None), "");
    }

    #[test]
    fn diff_shows_missing_newline_and_crlf() {
        assert_eq!(
            unified("f", "a\nb", "a\nb\n", None),
            "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
        );
        assert_eq!(
            unified("f", "a\r\nb\r\n", "a\nb\r\n", None),
            "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n"
        );
        assert_eq!(
            unified("f", "", "x\n", None),
            "--- f\n+++ f\n@@ -0,0 +1 @@\n+x\n"
        );
        assert_eq!(
            unified("f", "x\n", "", None),
            "--- f\n+++ f\n@@ -1 +0,0 @@\n-x\n"
        );
    }

    /// Applies a unified diff, strictly by the format.
    fn patch(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut out, mut at) = (String::new(), 0);
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            let (sign, body) = line.split_at(1);
            let bare = lines.peek().is_some_and(|next| next.starts_with('\\'));
            let body = if bare {
                body.trim_end_matches('\n')
            } else {
                body
            };
            match sign {
                "@" => {
                    let from = body.split(' ').nth(1).expect("old range");
                    let mut numbers = from[1..]
                        .split(',')
                        .map(|n| n.parse::<usize>().expect("a number"));
                    let start = numbers.next().expect("start");
                    let start = if numbers.next() == Some(0) {
                        start
                    } else {
                        start - 1
                    };
                    old[at..start].iter().for_each(|line| out.push_str(line));
                    at = start;
                }
                " " | "-" => {
                    assert_eq!(old[at], body);
                    at += 1;
                    if sign == " " {
                        out.push_str(body);
                    }
                }
                "+" => out.push_str(body),
                _ => assert_eq!(line, "\\ No newline at end of file\n"),
            }
        }
        old[at..].iter().for_each(|line| out.push_str(line));
        out
    }

    proptest! {
        #[test]
        fn applied_diff_gives_new_text(
            old in proptest::collection::vec("[ab]{0,2}\r?\n", 0..30), tail in "[ab]?",
            cut in 0..30_usize, gone in 0..6_usize, put in proptest::collection::vec("[ab]{0,2}\n?", 0..4),
        ) {
            let mut new = old.clone();
            let cut = cut.min(new.len());
            let gone = gone.min(new.len() - cut);
            new.splice(cut..cut + gone, put);
            let (old, new) = (old.concat() + &tail, new.concat());
            let diff = unified("f", &old, &new, None);
            prop_assert_eq!(if diff.is_empty() { old } else { patch(&old, &diff) }, new);
        }
    }

    #[test]
    fn changed_lines_have_numbers() {
        let old = "a\n-- b\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        let new = "a\n++ b\nc\nd\ne\nf\ng\nh\ni\nj\nx\nk";
        let diff = unified("p", old, new, None);
        assert_eq!(
            changed_lines(&diff),
            "-2: -- b\n+2: ++ b\n-11: k\n+11: x\n+12: k\n"
        );
        assert_eq!(changed_lines(""), "");
    }
}
