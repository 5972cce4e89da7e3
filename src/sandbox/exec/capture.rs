//! Output of one stream of a command, captured up to a cap.

use std::borrow::Cow;
use std::sync::Arc;

use replay_base::limits::OUTPUT_CAP_BYTES;
use replay_base::text::fold::fold;

use super::output::CapturedLog;
use super::ring::{OutputFiles, Ring};

/// Last bytes that are kept of an output that is longer than what is kept of it.
const MAX_OUTPUT_END_BYTES: usize = OUTPUT_CAP_BYTES / 2;

/// The beginning and the end of a stream, and its total length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes, at most the cap.
    pub bytes: Vec<u8>,
    /// The last bytes, if `bytes` is not the whole stream: at most half of the cap, and at most
    /// [`MAX_OUTPUT_END_BYTES`].
    pub end: Vec<u8>,
    /// Length of the stream as far as it was read, in bytes.
    pub total_bytes: u64,
    /// `true` if `bytes` is not the whole stream.
    pub truncated: bool,
    /// File with the whole stream or its last bytes, if `truncated`.
    pub file: Option<Arc<Ring>>,
}

/// Capture of one stream of a foreground command.
#[derive(Debug)]
pub(super) struct Capture<'a> {
    captured: Captured,
    cap: usize,
    /// Files for output beyond the cap.
    files: Option<&'a OutputFiles>,
    file: Option<Ring>,
}

impl<'a> Capture<'a> {
    pub(super) fn new(cap: usize, files: Option<&'a OutputFiles>) -> Self {
        Self {
            captured: Captured::default(),
            cap,
            files,
            file: None,
        }
    }

    /// Returns the output so far. Its end may be longer than that of a finished capture.
    pub(super) fn so_far(&self) -> &Captured {
        &self.captured
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        let (first, was_truncated) = (self.captured.bytes.len(), self.captured.truncated);
        self.captured.push(chunk, self.cap);
        if self.captured.truncated && !was_truncated {
            let file = self.files.map(OutputFiles::ring).transpose();
            self.file = file.unwrap_or_else(|error| {
                tracing::warn!("the file for the output of a command cannot be created: {error}");
                None
            });
            self.file
                .iter_mut()
                .for_each(|file| file.push(&self.captured.bytes[..first]));
        }
        self.file.iter_mut().for_each(|file| file.push(chunk));
    }

    /// Finishes the capture at the end of the stream.
    pub(super) fn finish(self) -> Captured {
        Captured {
            file: self.file.map(Arc::new),
            ..self.captured.settled()
        }
    }

    /// Finishes the capture for another reader of the stream. Returns an incomplete character at
    /// the end separately, for that reader.
    pub(super) fn finish_whole_characters(mut self) -> (Captured, Vec<u8>) {
        self.captured.settle();
        let partial = self.captured.take_partial_character();
        self.file
            .iter_mut()
            .for_each(|file| file.shorten(partial.len()));
        (self.finish(), partial)
    }
}

impl Captured {
    /// Adds a chunk. Keeps at most `cap` bytes from the beginning, and at most two and a half times
    /// that in total.
    fn push(&mut self, chunk: &[u8], cap: usize) {
        let (first, rest) = chunk.split_at(cap.saturating_sub(self.bytes.len()).min(chunk.len()));
        self.bytes.extend_from_slice(first);
        self.total_bytes += chunk.len() as u64;
        if rest.is_empty() {
            return;
        }
        let most = self.most_at_end();
        if !self.truncated {
            self.truncated = true;
            self.end
                .extend_from_slice(&self.bytes[self.bytes.len() - most..]);
        }
        self.end
            .extend_from_slice(&rest[rest.len().saturating_sub(most)..]);
        // Amortized: each byte is moved once, however small the chunks are.
        if self.end.len() > 2 * most {
            self.settle();
        }
    }

    fn settled(mut self) -> Self {
        self.settle();
        self
    }

    fn settle(&mut self) {
        let most = self.most_at_end();
        self.end.drain(..self.end.len().saturating_sub(most));
    }

    /// Removes an incomplete character from the end, for the reader of its second half.
    fn take_partial_character(&mut self) -> Vec<u8> {
        let last = if self.truncated {
            &mut self.end
        } else {
            &mut self.bytes
        };
        let partial = last.split_off(without_partial_character(last).len());
        self.total_bytes -= partial.len() as u64;
        partial
    }

    /// Returns the cap of `end`. Called when `bytes` is full.
    fn most_at_end(&self) -> usize {
        (self.bytes.len() / 2).min(MAX_OUTPUT_END_BYTES)
    }

    /// Returns the capture of a whole stream.
    pub fn whole(bytes: Vec<u8>) -> Self {
        Self {
            total_bytes: bytes.len() as u64,
            bytes,
            ..Self::default()
        }
    }

    /// Returns the beginning and the end of a stream that is longer than `cap` bytes.
    pub fn cut(bytes: &[u8], cap: usize) -> Self {
        let mut captured = Self::default();
        captured.push(bytes, cap);
        captured.settled()
    }

    /// Returns the text: all of it, or beginning and end. Between the two, a line tells the number
    /// of omitted bytes. Beginning and end are cut at line ends if possible. A split character is
    /// dropped, and invalid UTF-8 becomes U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        if !self.truncated {
            return String::from_utf8_lossy(&self.bytes);
        }
        Cow::Owned(String::from_utf8_lossy(&self.ends().concat()).into_owned())
    }

    /// Returns the text with repetitions folded where that is shorter. Line numbers are those of
    /// the log.
    pub fn folded(&self) -> String {
        let folded = if self.truncated {
            let [head, between, end] = self.ends();
            let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
            let before = self.log().lines().saturating_sub(lines(&end));
            [fold(&head, 1), between, fold(&end, before + 1)].concat()
        } else {
            fold(&self.bytes, 1)
        };
        String::from_utf8_lossy(&folded).into_owned()
    }

    /// Returns the whole output, as far as memory and file hold it.
    pub fn log(&self) -> CapturedLog {
        let Some(file) = &self.file else {
            let bytes = if self.truncated {
                self.ends().concat()
            } else {
                self.bytes.clone()
            };
            return bytes.into();
        };
        let (bytes, from) = match self.gap(file) {
            None => (self.bytes[..file.oldest() as usize].to_vec(), file.oldest()),
            Some((head, from)) => {
                let between = format!("\n[... {} bytes left out ...]\n", from - head as u64);
                ([&self.bytes[..head], between.as_bytes()].concat(), from)
            }
        };
        CapturedLog {
            bytes,
            file: Some((Arc::clone(file), from)),
        }
    }

    /// Returns the number of bytes missing between beginning and end of the log.
    pub fn missing_bytes(&self) -> u64 {
        match &self.file {
            None => self.total_bytes.saturating_sub(self.bytes.len() as u64),
            Some(file) => self.gap(file).map_or(0, |(head, from)| from - head as u64),
        }
    }

    /// Returns the gap in the log, at character boundaries: the length of the beginning, and the
    /// position where the end starts. `None` if no byte is missing.
    fn gap(&self, file: &Ring) -> Option<(usize, u64)> {
        let oldest = file.oldest();
        let first = (oldest > self.bytes.len() as u64).then(|| file.read(oldest, 3))?;
        let first = first.map(|page| page.bytes).unwrap_or_default();
        let rest = first
            .iter()
            .take_while(|byte| **byte & 0xC0 == 0x80)
            .count();
        Some((
            without_partial_character(&self.bytes).len(),
            oldest + rest as u64,
        ))
    }

    /// Returns the beginning, a separator line and the end.
    fn ends(&self) -> [Vec<u8>; 3] {
        let head = &self.bytes[..self.bytes.len() - self.end.len()];
        let head = head
            .iter()
            .rposition(|byte| *byte == b'\n')
            .filter(|at| *at >= head.len() / 2)
            .map_or_else(|| without_partial_character(head), |at| &head[..=at]);
        let end = self
            .end
            .iter()
            .position(|byte| *byte == b'\n')
            .filter(|at| *at < self.end.len() / 2)
            .map_or_else(
                || {
                    &self.end[self
                        .end
                        .iter()
                        .take(3)
                        .take_while(|byte| **byte & 0xC0 == 0x80)
                        .count()..]
                },
                |at| &self.end[at + 1..],
            );
        let left_out = self.total_bytes - (head.len() + end.len()) as u64;
        let newline = if head.is_empty() || head.ends_with(b"\n") {
            ""
        } else {
            "\n"
        };
        let between = format!("{newline}[... {left_out} bytes left out ...]\n");
        [head.to_vec(), between.into_bytes(), end.to_vec()]
    }
}

/// Returns `bytes` without an incomplete UTF-8 sequence at the end; invalid bytes stay.
pub(super) fn without_partial_character(bytes: &[u8]) -> &[u8] {
    // A sequence has at most four bytes, so an incomplete one begins within the last three.
    let from = bytes.len().saturating_sub(3);
    for start in (from..bytes.len()).rev() {
        let tail = &bytes[start..];
        if let Err(error) = std::str::from_utf8(tail)
            && error.valid_up_to() == 0
            && error.error_len().is_none()
        {
            return &bytes[..start];
        }
    }
    bytes
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the directory of files without names"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &[u8], cap: usize) -> Captured {
        Captured::cut(text, cap)
    }

    #[test]
    fn capture_over_cap_keeps_beginning_and_end() {
        let mut captured = Captured::default();
        for part in [&b"abc"[..], b"defg", b"h"] {
            captured.push(part, 5);
        }
        captured.settle();
        let expected = Captured {
            end: b"gh".to_vec(),
            total_bytes: 8,
            truncated: true,
            ..Captured::whole(b"abcde".to_vec())
        };
        assert_eq!(captured, expected);
        assert_eq!(cut(b"abc", 3), Captured::whole(b"abc".to_vec()));
        assert_eq!(cut(b"abcd", 3).end, b"d");
    }

    #[test]
    fn truncated_text_is_cut_at_line_ends() {
        let lines = (0..100)
            .map(|line| format!("line {line:02}\n"))
            .collect::<Vec<_>>()
            .concat();
        let text = cut(lines.as_bytes(), 60).text().into_owned();
        assert_eq!(
            text,
            "line 00\nline 01\nline 02\n[... 752 bytes left out ...]\nline 97\nline 98\nline 99\n"
        );
        assert_eq!(
            cut(b"0123456789abcdef", 8).text(),
            "0123\n[... 8 bytes left out ...]\ncdef"
        );
    }

    #[test]
    fn truncated_text_drops_split_character() {
        assert_eq!(
            cut("a€€€€b".as_bytes(), 6).text(),
            "a\n[... 12 bytes left out ...]\nb"
        );
        assert_eq!(
            cut(b"a\xffbcdefg", 4).text(),
            "a\u{fffd}\n[... 4 bytes left out ...]\nfg"
        );
        let mut half = cut(b"0123456789abc\xe2\x82", 8);
        assert_eq!(
            (
                half.take_partial_character(),
                half.total_bytes,
                &half.end[..]
            ),
            (b"\xe2\x82".to_vec(), 13, &b"bc"[..])
        );
        // Nothing was cut here: the program itself wrote an incomplete character.
        assert_eq!(cut(b"a\xe2\x82", 9).text(), "a\u{fffd}");
    }

    #[test]
    fn folded_line_numbers_match_log() {
        let lines = (0..900)
            .map(|line| format!("line {line}\n"))
            .collect::<Vec<_>>()
            .concat();
        let captured = cut(lines.as_bytes(), 6000);
        let (log, folded) = (
            String::from_utf8(captured.log().bytes).unwrap(),
            captured.folded(),
        );
        let marked: Vec<&str> = folded
            .lines()
            .filter(|line| line.starts_with("[… "))
            .collect();
        assert_eq!(marked.len(), 2, "{folded}");
        for mark in marked {
            let (_, numbers) = mark.split_once(", lines ").unwrap();
            let (from, to) = numbers
                .strip_suffix(" …]")
                .unwrap()
                .split_once(" to ")
                .unwrap();
            let (from, to) = (from.parse::<usize>().unwrap(), to.parse::<usize>().unwrap());
            let all: Vec<&str> = log.lines().collect();
            let (before, behind) = (all[from - 2], all[to]);
            assert!(
                folded.contains(&format!("{before}\n{mark}\n{behind}\n")),
                "{mark} in {folded}"
            );
        }
    }

    proptest! {
        /// The log and the folded text hold each captured byte, for any cut.
        #[test]
        fn log_contains_every_captured_byte(text in prop::collection::vec(any::<u8>(), 0..400), cap in 0_usize..300, repeat in 1_usize..40) {
            let text = [text.repeat(repeat), b"10%\r20%\r\x1b[1mdone\x1b[m\n".repeat(repeat)].concat();
            let captured = cut(&text, cap);
            let log = captured.log().bytes;
            if captured.truncated {
                let count = (0..log.len()).filter(|&at| log[at..].starts_with(b"[... ")).any(|at| {
                    let head = log[..at].strip_suffix(b"\n").unwrap_or(&log[..at]);
                    let end = log[at..].iter().position(|byte| *byte == b'\n').map_or(log.len(), |end| at + end + 1);
                    text.starts_with(head) && text.ends_with(&log[end..])
                });
                prop_assert!(count);
            } else {
                prop_assert_eq!(log, text);
            }
        }

        /// Log, incomplete character and remaining output together are the whole stream, for any
        /// split.
        #[test]
        fn stream_split_between_readers_loses_no_byte(
            text in any::<String>(), at in any::<prop::sample::Index>(), cap in 0_usize..64, kept in 8_u64..200, pieces in 1_usize..9
        ) {
            let (before, after) = text.as_bytes().split_at(at.index(text.len() + 1));
            let files = OutputFiles::new(std::fs::File::open(std::env::temp_dir()).unwrap().into(), kept);
            let mut capture = Capture::new(cap, Some(&files));
            before.chunks(pieces).for_each(|piece| capture.push(piece));
            let (captured, partial) = capture.finish_whole_characters();
            let log = captured.log();
            let log = log.read(0, log.len()).unwrap();
            let rest = [&partial, after].concat();
            if captured.missing_bytes() == 0 {
                prop_assert_eq!([&log[..], &rest].concat(), text.as_bytes());
            } else {
                let mark = format!("\n[... {} bytes left out ...]\n", captured.missing_bytes());
                let length = without_partial_character(&captured.bytes).len();
                prop_assert!(log[length..].starts_with(mark.as_bytes()) && text.as_bytes().starts_with(&log[..length]));
                let end = [&log[length + mark.len()..], &rest].concat();
                prop_assert!(text.as_bytes().ends_with(&end));
                prop_assert_eq!(length + captured.missing_bytes() as usize + end.len(), text.len());
            }
        }

        #[test]
        fn truncated_text_matches_both_ends_of_stream(
            text in any::<String>(), cap in 0_usize..64, pieces in 1_usize..9
        ) {
            let mut captured = Captured::default();
            for part in text.as_bytes().chunks(pieces) {
                captured.push(part, cap);
            }
            captured.settle();
            prop_assert_eq!(&captured, &cut(text.as_bytes(), cap));
            let shown = captured.text();
            if captured.truncated {
                let left_out = text.len() - captured.bytes.len();
                let (head, rest) = shown.split_once("[... ").unwrap();
                let (count, end) = rest.split_once(" bytes left out ...]\n").unwrap();
                prop_assert!(text.starts_with(head.strip_suffix('\n').unwrap_or(head)) && text.ends_with(end));
                prop_assert!(head.len() + end.len() <= cap + 1 && count.parse::<usize>().unwrap() >= left_out);
            } else {
                prop_assert_eq!(&*shown, text.as_str());
            }
        }
    }
}
