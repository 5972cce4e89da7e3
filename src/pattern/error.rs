//! Errors of patterns.

use crate::limits::{MAX_PATTERN_BYTES, MAX_PATTERN_DEPTH};
use std::fmt;

/// Longest piece of a pattern shown with its fault, in characters.
const MAX_SHOWN_PATTERN_CHARS: usize = 60;

/// Reason why a pattern is refused or gave up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Longer than [`MAX_PATTERN_BYTES`].
    #[error(
        "a pattern of {bytes} bytes is too long: at most {MAX_PATTERN_BYTES} bytes are allowed"
    )]
    TooLong { bytes: usize },
    /// Groups inside groups, too often.
    #[error("the pattern's groups are nested deeper than {MAX_PATTERN_DEPTH}, at offset {offset}")]
    TooDeep {
        /// Bytes before the group that is too deep.
        offset: usize,
    },
    /// Not well-formed.
    #[error("invalid regular expression: {reason} at offset {offset}\n{caret}")]
    Syntax {
        /// Description in the words of V8 (`src/regexp/regexp-error.h`), which agents know from
        /// Node.
        reason: &'static str,
        /// Bytes before the fault.
        offset: usize,
        caret: Caret,
        /// Alternative to write instead.
        hint: &'static str,
    },
    /// The compiled form would take too much memory.
    #[error("the pattern is too large when its repetitions are written out")]
    TooLarge,
    /// Matching took more steps, memory or time than allowed.
    #[error("the pattern is too costly: it ran out of its budget of steps or time on this text")]
    TooCostly,
}

impl PatternError {
    /// Returns the next step.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TooLong { .. } | Self::TooLarge => {
                "use a shorter pattern or smaller repetition counts"
            }
            Self::TooDeep { .. } => "use fewer groups inside one another",
            Self::Syntax { hint, .. } => hint,
            Self::TooCostly => {
                "avoid a repetition inside a repetition such as `(a+)+`, and put literal text near the beginning"
            }
        }
    }
}

/// A piece of a pattern over a `^` that points at one of its characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caret {
    piece: String,
    column: usize,
}

impl Caret {
    /// Points at the character at byte `offset` of `source`, or behind its end. Of a long source
    /// only what lies around it is kept; characters that would break the line are shown as spaces.
    pub(super) fn at(source: &str, offset: usize) -> Self {
        const AROUND: usize = MAX_SHOWN_PATTERN_CHARS / 2;
        let before = source[..offset].chars().count();
        let skipped = before.saturating_sub(AROUND);
        let mut shown = source.chars().skip(skipped);
        let mut piece = String::from(if skipped > 0 { "..." } else { "" });
        let column = piece.len() + before - skipped;
        piece.extend(
            shown
                .by_ref()
                .take(before - skipped + AROUND)
                .map(|c| if c.is_control() { ' ' } else { c }),
        );
        if shown.next().is_some() {
            piece.push_str("...");
        }
        Self { piece, column }
    }
}

impl fmt::Display for Caret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "  {}\n  {:>width$}",
            self.piece,
            '^',
            width = self.column + 1
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn error_caret_is_below_its_character() {
        assert_eq!(Caret::at("é(b", 2).to_string(), "  é(b\n   ^");
        assert_eq!(Caret::at("a\n[", 3).to_string(), "  a [\n     ^");
        assert_eq!(Caret::at("", 0).to_string(), "  \n  ^");
        let long = format!("{}({}", "a".repeat(100), "b".repeat(100));
        assert_eq!(
            Caret::at(&long, 100).to_string(),
            format!(
                "  ...{}({}...\n  {}^",
                "a".repeat(30),
                "b".repeat(29),
                " ".repeat(33)
            )
        );
    }
}
