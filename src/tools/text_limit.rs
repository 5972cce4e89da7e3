//! Limit for the text of a reply: tokens in lean style, bytes in exact style.

use replay_base::limits::{BYTES_PER_TOKEN, LEAN_REPLY_TOKENS, REPLY_TOKENS};
use replay_base::text::tokens::{MAX_TOKEN_BYTES, count_tokens, tokens_prefix};
use replay_clients::{ReplyProfile, ReplyStyle};

use super::reply_size::whole_lines;

/// Room for the notes of a reply, in bytes.
const NOTES_BYTES: usize = 1500;
/// Room for the note on the rest of a file.
const FRAME_BYTES: usize = 150;
const FRAME_TOKENS: usize = 36;
/// Tokens of a long line.
const LINE_TOKENS: usize = 40;
/// Bytes of a usual token.
const USUAL_TOKEN_BYTES: usize = 4;
/// Room for the notes of a lean reply, in tokens.
const NOTES_TOKENS: usize = 200;

/// Limit for the text of a reply, without its notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextLimit {
    bytes: usize,
    tokens: usize,
}

impl TextLimit {
    /// Returns the limit of a reply to this client. `asked` is what the call asks for and `default`
    /// what the operator chose, both in tokens; 0 is no limit.
    pub(super) fn new(replies: &ReplyProfile, asked: Option<u64>, default: Option<u64>) -> Self {
        let tokens = |default: u64| match asked.unwrap_or(default) {
            0 => usize::MAX,
            tokens => usize::try_from(tokens).unwrap_or(usize::MAX),
        };
        let unlimited = Self::of_client(replies);
        match replies.style {
            ReplyStyle::Lean => {
                let tokens = tokens(default.unwrap_or(LEAN_REPLY_TOKENS));
                let tokens = tokens.saturating_sub(NOTES_TOKENS).max(tokens / 2);
                Self {
                    tokens,
                    ..unlimited
                }
            }
            ReplyStyle::Exact => {
                let bytes = tokens(default.unwrap_or(REPLY_TOKENS)).saturating_mul(BYTES_PER_TOKEN);
                unlimited.at_most(bytes)
            }
        }
    }

    /// Returns the text that the client passes on.
    pub(super) fn of_client(replies: &ReplyProfile) -> Self {
        let chars = replies.reply_chars.unwrap_or(usize::MAX);
        Self {
            bytes: chars.saturating_sub(NOTES_BYTES).max(NOTES_BYTES),
            tokens: usize::MAX,
        }
    }

    /// Returns a limit of twice as much.
    pub(super) fn doubled(self) -> Self {
        Self {
            bytes: self.bytes.saturating_mul(2),
            tokens: self.tokens.saturating_mul(2),
        }
    }

    /// Returns the limit with at most so many bytes.
    pub(super) fn at_most(self, bytes: usize) -> Self {
        Self {
            bytes: self.bytes.min(bytes),
            ..self
        }
    }

    /// Returns the limit with at most so many tokens.
    pub(super) fn at_most_tokens(self, tokens: usize) -> Self {
        Self {
            tokens: self.tokens.min(tokens),
            ..self
        }
    }

    /// Returns the length in bytes that no text which fits exceeds.
    pub(super) fn most_bytes(self) -> usize {
        self.bytes.min(self.tokens.saturating_mul(MAX_TOKEN_BYTES))
    }

    /// Advice at the end of a list of what to do about a cut: none if the client passes on no more.
    pub(super) fn or_raise(self) -> &'static str {
        if self.tokens.saturating_mul(USUAL_TOKEN_BYTES) < self.bytes {
            " or raise maxTokens"
        } else {
            ""
        }
    }

    /// Returns true if a text fits.
    pub(super) fn holds(self, text: &str) -> bool {
        text.len() <= self.bytes && (text.len() <= self.tokens || count_tokens(text) <= self.tokens)
    }

    /// Returns the length in bytes of the longest beginning of a text that fits.
    pub(super) fn bytes_of(self, text: &str) -> usize {
        let text = &text[..text.floor_char_boundary(self.bytes)];
        tokens_prefix(text, self.tokens)
    }

    /// Returns how many tokens of a text fit.
    pub(super) fn tokens_of(self, text: &str) -> usize {
        count_tokens(&text[..self.bytes_of(text)])
    }

    /// Returns true if there is no room for more than a line.
    pub(super) fn is_spent(self) -> bool {
        self.tokens < LINE_TOKENS || self.bytes < LINE_TOKENS
    }

    /// Returns true if only bytes are counted.
    pub(super) fn is_of_bytes(self) -> bool {
        self.tokens == usize::MAX
    }

    /// Returns a limit of half as much.
    pub(super) fn halved(self) -> Self {
        Self {
            bytes: self.bytes / 2,
            tokens: if self.is_of_bytes() {
                usize::MAX
            } else {
                self.tokens / 2
            },
        }
    }

    /// Returns the larger one of two limits of the same kind.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.max(other.bytes),
            tokens: self.tokens.max(other.tokens),
        }
    }

    /// Returns the length in bytes of the whole lines at the beginning of a text that fit.
    pub(super) fn lines_of(self, text: &str) -> usize {
        if self.holds(text) {
            text.len()
        } else {
            whole_lines(text, self.bytes_of(text))
        }
    }

    /// Returns what is left after a text.
    #[must_use]
    pub(super) fn after(self, text: &str) -> Self {
        let spent = if self.is_of_bytes() {
            0
        } else {
            count_tokens(text)
        };
        Self {
            bytes: self.bytes.saturating_sub(text.len()),
            tokens: if self.is_of_bytes() {
                usize::MAX
            } else {
                self.tokens.saturating_sub(spent)
            },
        }
    }

    /// Returns what is left for a part of a file between its heading and a note on the rest.
    pub(super) fn without_frame(self, heading: &str) -> Self {
        let frame = self.after(heading);
        Self {
            bytes: frame.bytes.saturating_sub(FRAME_BYTES),
            tokens: if self.is_of_bytes() {
                usize::MAX
            } else {
                frame.tokens.saturating_sub(FRAME_TOKENS)
            },
        }
    }

    /// Takes a text off the limit if it fits. Returns false, and takes nothing, if not.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let holds = self.holds(text);
        if holds {
            *self = self.after(text);
        }
        holds
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lean_limit_counts_tokens() {
        let lean = ReplyProfile::default().with_style(ReplyStyle::Lean);
        let text = "one two three\n".repeat(100);
        let of = |asked, default| TextLimit::new(&lean, asked, default).lines_of(&text);
        assert_eq!(of(None, None), text.len());
        assert_eq!(of(Some(100), None), 14 * 11);
        assert_eq!(of(None, Some(100)), 14 * 11);
        assert_eq!(of(Some(0), Some(100)), text.len());
        assert_eq!(of(Some(1000), Some(100)), text.len());
    }

    #[test]
    fn exact_limit_counts_bytes() {
        let exact = ReplyProfile::default();
        let text = "one two three\n".repeat(100);
        let limit = TextLimit::new(&exact, Some(100), None);
        assert_eq!(limit.lines_of(&text), 294);
        assert_eq!(limit.after(&text[..200]).lines_of(&text), 98);
    }

    #[test]
    fn limit_of_client_leaves_room_for_notes() {
        let small = ReplyProfile {
            reply_chars: Some(5000),
            ..ReplyProfile::default()
        };
        let text = "x\n".repeat(5000);
        assert_eq!(TextLimit::new(&small, None, None).lines_of(&text), 3500);
        assert_eq!(TextLimit::of_client(&small).at_most(99).lines_of(&text), 98);
    }

    #[test]
    fn text_is_taken_while_it_fits() {
        let mut limit = TextLimit::new(&ReplyProfile::default(), Some(3), None);
        let taken = ["12345", "6789", "x", "yz"].map(|text| limit.take(text));
        assert_eq!(taken, [true, true, false, false]);
    }
}
