//! Frames of an unknown protocol, as learned from a recording.

/// Layout of frames, as numbers.
///
/// - The place of the length, and its bytes. Lines have none.
/// - 1 if the length is little-endian, and the bytes that it does not count.
/// - The bytes of the number of a call. Without a number the server answers in order.
/// - The place of the number in a request, and in an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Framing(pub [u8; 7]);

impl Framing {
    /// Returns true for widths that frames may have.
    pub(crate) fn is_valid(self) -> bool {
        matches!(self.0, [_, 0 | 2 | 4, _, _, 0 | 2 | 4 | 8, ..])
    }

    /// Returns the place of the number in a frame; empty if it has none.
    pub(crate) fn number_at(self, is_answer: bool) -> std::ops::Range<usize> {
        let [.., bytes, asked, answered] = self.0;
        let at = usize::from(if is_answer { answered } else { asked });
        at..at + usize::from(bytes)
    }

    /// Returns the number of a call in a request, or in an answer to it.
    pub(crate) fn number_in(self, frame: &[u8], is_answer: bool) -> Option<&[u8]> {
        let number = frame.get(self.number_at(is_answer))?;
        Some(number).filter(|number| !number.is_empty())
    }
}
