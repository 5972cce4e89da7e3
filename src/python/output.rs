//! Output of a cell: beginning and end for the reply, and up to a limit all bytes for a file.

use std::collections::VecDeque;
use std::fmt::Write as _;

use replay_base::text::fold::fold;

/// Output of a cell that is kept in a file when its reply does not show it all, in bytes for each
/// of its two streams.
const MAX_PYTHON_LOG_BYTES: usize = 16 * 1024 * 1024;
/// Longest stream of a cell that is shown without what it wrote over, in bytes.
const MAX_PYTHON_FOLDED_BYTES: usize = 2 * 1024 * 1024;
/// Output between cells that the next reply shows, in bytes.
const MAX_PYTHON_LATE_BYTES: usize = 8 * 1024;

/// Capture of one output stream.
#[derive(Debug)]
pub(super) struct Capture {
    /// The first bytes of the stream.
    log: Vec<u8>,
    /// The last bytes that do not fit into `log`.
    tail: VecDeque<u8>,
    total: u64,
    cap: usize,
}

/// Output of one stream after the end of its cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Text for the reply, with invalid UTF-8 replaced. Holds the whole output, or beginning and
    /// end with a line between them that counts the omitted bytes.
    pub text: String,
    /// Total bytes written.
    pub total_bytes: u64,
    /// The first bytes, unchanged, at most [`MAX_PYTHON_LOG_BYTES`]; `None` if `text` shows all
    /// bytes unchanged.
    pub log: Option<Vec<u8>>,
    /// Byte offset in `text` of the closing bracket of the omission line; 0 if nothing is omitted.
    mark: usize,
}

impl Captured {
    /// Adds the path of the file with the output, or with its beginning, to the omission line.
    pub(super) fn name_file(&mut self, path: &str) {
        if self.mark > 0 {
            self.text
                .insert_str(self.mark, &format!("; all of it: {path}"));
        }
    }
}

/// Shortens a text to `cap` bytes: beginning and end, with a line between them that counts the
/// omitted bytes.
pub fn beginning_and_end(text: String, cap: usize) -> String {
    if text.len() <= cap {
        return text;
    }
    let mut capture = Capture::new(cap);
    capture.push(text.as_bytes());
    capture.finish().text
}

impl Capture {
    /// Creates a capture that shows at most `cap` bytes.
    pub(super) fn new(cap: usize) -> Self {
        Self {
            log: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            cap: cap.min(MAX_PYTHON_LOG_BYTES),
        }
    }

    /// Returns the total bytes written so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(MAX_PYTHON_LOG_BYTES - self.log.len()));
        self.log.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.cap)..];
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.cap);
        self.tail.drain(..over);
    }

    /// Returns the output and resets the capture.
    pub(super) fn finish(&mut self) -> Captured {
        let Self {
            log,
            tail,
            total,
            cap,
        } = std::mem::replace(self, Self::new(self.cap));
        if let Some(folded) = without_overwritten(&log, total) {
            let mut text = beginning_and_end(String::from_utf8_lossy(&folded).into_owned(), cap);
            let newline = if text.ends_with('\n') { "" } else { "\n" };
            let _ = write!(
                text,
                "{newline}[... of {total} bytes without overwritten text"
            );
            let mark = text.len();
            text.push_str(" ...]\n");
            return Captured {
                text,
                total_bytes: total,
                log: Some(log),
                mark,
            };
        }
        if total <= cap as u64 {
            let text = String::from_utf8_lossy(&log).into_owned();
            return Captured {
                text,
                total_bytes: total,
                log: None,
                mark: 0,
            };
        }
        let half = cap / 2;
        let head = whole_lines(&log[..half]);
        let mut last: Vec<u8> = tail.into();
        if last.len() < half {
            let from = log.len().saturating_sub(half - last.len());
            last = [&log[from.max(head.len())..], &last].concat();
        }
        let last = from_line(&last[last.len().saturating_sub(half)..]);
        let mut text = String::from_utf8_lossy(head).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let left_out = total - (head.len() + last.len()) as u64;
        // Writing to a String cannot fail.
        let _ = write!(text, "[... {left_out} of {total} bytes left out");
        let mark = text.len();
        text.push_str(" ...]\n");
        text.push_str(&String::from_utf8_lossy(last));
        Captured {
            text,
            total_bytes: total,
            log: Some(log),
            mark,
        }
    }
}

/// Returns the final terminal contents if lines were overwritten with carriage returns, and only if
/// these are much shorter. Plain counting output stays as it is, because it may be the purpose of
/// the cell.
fn without_overwritten(log: &[u8], total: u64) -> Option<Vec<u8>> {
    let is_over = |at: usize| log.get(at + 1).is_some_and(|next| *next != b'\n');
    let is_meant = log.len() as u64 == total && log.len() <= MAX_PYTHON_FOLDED_BYTES;
    let folded =
        (is_meant && memchr::memchr_iter(b'\r', log).any(is_over)).then(|| fold(log, 1))?;
    (folded.len() < log.len()).then_some(folded)
}

/// Cuts an incomplete line at the end, or else an incomplete character.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let from = bytes.len() / 2;
    if let Some(end) = memchr::memrchr(b'\n', &bytes[from..]) {
        &bytes[..=from + end]
    } else {
        let end = (0..4).find_map(|back| {
            let at = bytes.len().checked_sub(back + 1)?;
            (bytes[at] & 0xC0 != 0x80).then_some(if bytes[at] < 0x80 { at + 1 } else { at })
        });
        &bytes[..end.unwrap_or(bytes.len())]
    }
}

/// Cuts an incomplete line at the beginning, or else an incomplete character.
fn from_line(bytes: &[u8]) -> &[u8] {
    match memchr::memchr(b'\n', &bytes[..bytes.len() / 2]) {
        Some(end) => &bytes[end + 1..],
        None => {
            &bytes[bytes
                .iter()
                .take(4)
                .take_while(|byte| **byte & 0xC0 == 0x80)
                .count()..]
        }
    }
}

/// Output between cells, or of an earlier cell's thread. Keeps the last bytes.
#[derive(Debug, Default)]
pub(super) struct LateOutput {
    bytes: VecDeque<u8>,
    left_out: u64,
}

impl LateOutput {
    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(MAX_PYTHON_LATE_BYTES)..];
        self.bytes.extend(kept);
        let over = self.bytes.len().saturating_sub(MAX_PYTHON_LATE_BYTES);
        self.bytes.drain(..over);
        self.left_out += (over + bytes.len() - kept.len()) as u64;
    }

    /// Takes the buffered output. Each byte is returned once.
    pub(super) fn take(&mut self) -> String {
        let Self { bytes, left_out } = std::mem::take(self);
        let bytes: Vec<u8> = bytes.into();
        let text = String::from_utf8_lossy(&bytes);
        if left_out == 0 {
            text.into_owned()
        } else {
            format!("[... {left_out} bytes left out ...]\n{text}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn captured(cap: usize, parts: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(cap);
        for part in parts {
            capture.push(part);
        }
        capture.finish()
    }

    #[test]
    fn output_below_cap_is_shown_whole() {
        let expected = Captured {
            text: "a\n\u{fffd}é".into(),
            total_bytes: 5,
            log: None,
            mark: 0,
        };
        assert_eq!(captured(5, &[b"a\n", b"\xff\xc3", b"\xa9"]), expected);
        assert_eq!(captured(5, &[]), Captured::default());
    }

    #[test]
    fn output_above_cap_keeps_lines_at_both_ends() {
        let all: Vec<u8> = (10..40)
            .flat_map(|number| format!("{number}\n").into_bytes())
            .collect();
        let shown = captured(20, &[&all]);
        assert_eq!(
            shown.text,
            "10\n11\n12\n[... 72 of 90 bytes left out ...]\n37\n38\n39\n"
        );
        assert_eq!((shown.total_bytes, shown.log), (90, Some(all)));
    }

    #[test]
    fn omission_line_names_file_with_whole_output() {
        let mut shown = captured(4, &[b"a\nb\nc\nd\n"]);
        shown.name_file("outputs/x.txt");
        assert_eq!(
            shown.text,
            "a\n[... 4 of 8 bytes left out; all of it: outputs/x.txt ...]\nd\n"
        );
        let mut whole = captured(8, &[b"a\nb\n"]);
        whole.name_file("outputs/x.txt");
        assert_eq!(whole.text, "a\nb\n");
    }

    #[test]
    fn text_above_cap_keeps_both_ends() {
        assert_eq!(beginning_and_end("abcd".into(), 4), "abcd");
        assert_eq!(
            beginning_and_end("abcde".into(), 4),
            "ab\n[... 1 of 5 bytes left out ...]\nde"
        );
    }

    #[test]
    fn overwritten_lines_are_only_in_file() {
        let all = (0..=100)
            .map(|part| format!("\r{part:3}% of it"))
            .collect::<Vec<_>>()
            .concat()
            + "\ndone\n";
        let mut shown = captured(4096, &[all.as_bytes()]);
        assert_eq!(shown.log.as_deref(), Some(all.as_bytes()));
        shown.name_file("outputs/x.txt");
        let mark = "[... of 1117 bytes without overwritten text; all of it: outputs/x.txt ...]";
        assert_eq!(shown.text, format!("100% of it\ndone\n{mark}\n"));
        // Output that only counts up may be the purpose of the cell.
        let counted = (0..100)
            .map(|number| format!("{number}\r\n"))
            .collect::<Vec<_>>()
            .concat();
        assert_eq!(captured(4096, &[counted.as_bytes()]).text, counted);
    }

    #[test]
    fn output_cut_keeps_characters_whole() {
        let shown = captured(10, &["éééééééé".as_bytes()]);
        assert_eq!(shown.text, "éé\n[... 8 of 16 bytes left out ...]\néé");
    }

    #[test]
    fn output_above_log_limit_keeps_last_lines() {
        let mut capture = Capture::new(64);
        let line = [b'x'; 999].into_iter().chain([b'\n']).collect::<Vec<u8>>();
        let lines = MAX_PYTHON_LOG_BYTES / line.len() + 10;
        (0..lines).for_each(|_| capture.push(&line));
        capture.push(b"the\nlast\nwords\n");
        let shown = capture.finish();
        assert_eq!(shown.total_bytes, (lines * 1000 + 15) as u64);
        assert!(
            shown.text.ends_with("x\nthe\nlast\nwords\n"),
            "{}",
            shown.text
        );
        assert_eq!(shown.log.map(|log| log.len()), Some(MAX_PYTHON_LOG_BYTES));
        assert_eq!(capture.finish(), Captured::default());
    }

    #[test]
    fn late_output_is_bounded_and_returned_once() {
        let mut late = LateOutput::default();
        late.push(b"a");
        late.push(b"b\n");
        assert_eq!(
            [late.take(), late.take()],
            ["ab\n".to_owned(), String::new()]
        );
        late.push(&vec![b'x'; MAX_PYTHON_LATE_BYTES]);
        late.push(b"end");
        let text = late.take();
        assert!(text.starts_with("[... 3 bytes left out ...]\nxxx") && text.ends_with("xend"));
    }
}
