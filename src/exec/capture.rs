//! What one output stream of a command produced, up to a cap.

use std::borrow::Cow;

/// The beginning of a stream, and how long all of it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes, at most the cap.
    pub bytes: Vec<u8>,
    /// Length of the whole stream as far as it was read, in bytes.
    pub total_bytes: u64,
    /// Whether `bytes` is less than the whole stream.
    pub truncated: bool,
}

impl Captured {
    /// Adds what was read, keeping no more than `cap` bytes in all.
    pub(super) fn push(&mut self, chunk: &[u8], cap: usize) {
        let room = cap.saturating_sub(self.bytes.len()).min(chunk.len());
        self.bytes.extend_from_slice(&chunk[..room]);
        self.total_bytes += chunk.len() as u64;
        self.truncated |= room < chunk.len();
    }

    /// The kept bytes as text: a character that the cap cut in two is left out, bytes that are no
    /// UTF-8 become U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        let kept = if self.truncated { without_partial_character(&self.bytes) } else { &self.bytes };
        String::from_utf8_lossy(kept)
    }
}

/// `bytes` without an unfinished UTF-8 sequence at its end; bytes that are wrong anyway stay.
pub(super) fn without_partial_character(bytes: &[u8]) -> &[u8] {
    // A sequence has at most four bytes, so an unfinished one begins within the last three.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &[u8], cap: usize) -> Captured {
        let mut captured = Captured::default();
        captured.push(text, cap);
        captured
    }

    #[test]
    fn counts_everything_and_keeps_the_beginning() {
        let mut captured = Captured::default();
        captured.push(b"abc", 5);
        captured.push(b"defg", 5);
        captured.push(b"h", 5);
        assert_eq!(captured, Captured { bytes: b"abcde".to_vec(), total_bytes: 8, truncated: true });
        assert_eq!(cut(b"abc", 3), Captured { bytes: b"abc".to_vec(), total_bytes: 3, truncated: false });
    }

    #[test]
    fn wrong_bytes_stay_visible_and_a_cut_character_goes() {
        assert_eq!(cut("a€b".as_bytes(), 3).text(), "a");
        assert_eq!(cut("a€b".as_bytes(), 4).text(), "a€");
        assert_eq!(cut(b"a\xffbc", 2).text(), "a\u{fffd}");
        // Nothing was cut here: the program itself wrote half a character.
        assert_eq!(cut(b"a\xe2\x82", 9).text(), "a\u{fffd}");
    }

    proptest! {
        #[test]
        fn a_cut_text_is_a_prefix_of_the_whole(text in any::<String>(), cap in 0_usize..64) {
            let captured = cut(text.as_bytes(), cap);
            prop_assert!(text.starts_with(&*captured.text()));
            prop_assert!(captured.text().len() + 4 > cap.min(text.len()));
        }
    }
}
