//! Why an edit failed, in words that let the caller make the next call right.

use crate::budget::Exhausted;
use crate::limits::{MAX_EDIT_BYTES, MAX_EDIT_PLACES};
use crate::pattern::{PatternError, ReplacementError};
use crate::text::alike::Divergence;
use crate::text::encoding::EncodingError;
use std::fmt;

/// A failed edit. Nothing was changed by it or by the edits before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditError {
    /// Which edit of the call, counted from 0.
    pub index: usize,
    pub kind: EditErrorKind,
}

/// How ambiguous places were matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    Exact,
    /// Line by line without indent.
    Whitespace,
}

/// What is known about a text that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The new text is there.
    AlreadyApplied {
        /// Its line, counted from 1.
        line: usize,
    },
    /// A block that is the same but for one thing.
    Differs {
        difference: Difference,
        /// The first character that an eye may not tell apart, if there is one.
        character: Option<Character>,
        /// The block's first line, counted from 1.
        first: usize,
        /// The block's last line.
        last: usize,
        /// From the old text (`-`) to the file (`+`), a few lines.
        diff: String,
    },
    /// A block that is similar.
    Closest {
        /// The block's first line, counted from 1.
        first: usize,
        /// The block's last line.
        last: usize,
        /// From the old text (`-`) to the file (`+`), a few lines.
        diff: String,
    },
    /// No line and no word of the old text leads anywhere.
    Nothing,
    /// The time was up before anything was found.
    OutOfTime,
}

/// A character of the file, and what the old text has in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Character {
    /// Its line, counted from 1.
    pub line: usize,
    /// Its column, counted from 1 in characters.
    pub column: usize,
    pub divergence: Divergence,
}

/// The one thing in which a block differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// CR, LF or CRLF.
    LineEndings,
    /// Whitespace at the beginning or end of lines.
    Indentation,
    Whitespace,
    /// Upper and lower case.
    Case,
    /// Quotes, dashes, no-break spaces and the like.
    Punctuation,
    /// Composed and decomposed characters.
    NormalForm,
    /// Invisible characters, letters of other scripts, full-width forms.
    LookAlike,
    /// More than one of these.
    Several,
}

/// What went wrong with an edit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditErrorKind {
    /// There is nothing to find.
    #[error("`oldText` is empty")]
    Empty {
        /// Whether it was to be a pattern.
        is_regex: bool,
    },
    /// Literal text that has to occur once occurs more often.
    #[error("oldText is not unique: found {count} {} ({})", noun(*.kind), listed(.lines, *.count))]
    NotUnique {
        /// How it was matched.
        kind: MatchKind,
        /// How often it occurs.
        count: usize,
        /// The lines of the first few places, counted from 1.
        lines: Vec<usize>,
    },
    /// Literal text that does not occur.
    #[error("oldText not found: {0}")]
    TextNotFound(Box<Cause>),
    /// A pattern that matches nothing.
    #[error("pattern not found: it matches nothing in the file")]
    PatternNotFound {
        /// The line where the pattern's own text occurs, which is a sign that it was meant
        /// literally.
        literal_line: Option<usize>,
        /// What in the pattern JavaScript reads otherwise than its author is likely to think.
        slip: Option<&'static str>,
    },
    /// The pattern is wrong or too costly.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The new text of a regex edit is wrong.
    #[error(transparent)]
    Replacement(#[from] ReplacementError),
    /// The content cannot be read or written as text.
    #[error(transparent)]
    Encoding(EncodingError),
    /// The result would be larger than a file that can be edited.
    #[error("the result would be more than {MAX_EDIT_BYTES} bytes")]
    TooLarge,
    /// More places than can be remembered.
    #[error("the edit would replace more than {MAX_EDIT_PLACES} places")]
    TooMany,
    /// What it takes beside the file is more than can be held now.
    #[error(transparent)]
    Memory(#[from] Exhausted),
    #[error("the edit took longer than its time limit")]
    TimedOut,
    /// No exact match, and to look for it without indentation takes too many steps.
    #[error(
        "oldText not found as it stands; its lines occur too often in the file to look for it without indentation"
    )]
    TooManySteps,
}

fn noun(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Exact => "occurrences",
        MatchKind::Whitespace => "whitespace-normalized matches",
    }
}

fn listed(lines: &[usize], count: usize) -> String {
    let mut distinct = lines.to_vec();
    distinct.dedup();
    let word = if distinct.len() == 1 && count == lines.len() {
        "line"
    } else {
        "lines"
    };
    let names: Vec<String> = distinct.iter().map(ToString::to_string).collect();
    let more = if count > lines.len() { ", ..." } else { "" };
    format!("{word} {}{more}", names.join(", "))
}

impl EditError {
    pub(super) fn new(index: usize, kind: EditErrorKind) -> Self {
        Self { index, kind }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.kind {
            EditErrorKind::Empty { is_regex: true } => {
                "give the pattern to find; to write a whole file use `write_file`".to_owned()
            }
            EditErrorKind::Empty { is_regex: false } => {
                "give the text to replace; to insert, take a line beside the place and repeat it in `newText`; to write a whole file use `write_file`".to_owned()
            }
            EditErrorKind::NotUnique { .. } => {
                "add surrounding lines to `oldText` so that it matches one place, or set `limit: 0` to replace all, or to 2 or more for the first so many".to_owned()
            }
            EditErrorKind::TextNotFound(cause) => cause.hint(),
            EditErrorKind::PatternNotFound { slip: Some(slip), .. } => (*slip).to_owned(),
            EditErrorKind::PatternNotFound { literal_line: Some(line), .. } => {
                format!("the text of the pattern itself is on line {line}: leave `isRegex` out to match it literally")
            }
            EditErrorKind::PatternNotFound { literal_line: None, .. } => {
                "the pattern sees the whole file, `^` and `$` match at each line and `.` matches no line ending; for known text leave `isRegex` out".to_owned()
            }
            EditErrorKind::Pattern(error) => error.hint().to_owned(),
            EditErrorKind::Replacement(error) => error.hint(),
            EditErrorKind::Encoding(error) => error.hint().to_owned(),
            EditErrorKind::TooLarge => "use a shorter `newText`, or replace fewer places".to_owned(),
            EditErrorKind::TooMany => "replace them in steps with `limit`, or use a command such as sed".to_owned(),
            EditErrorKind::Memory(error) => error.hint().to_owned(),
            EditErrorKind::TooManySteps => "copy oldText from the file exactly, or leave out lines that repeat".to_owned(),
            EditErrorKind::TimedOut => "use a longer literal `oldText`, or fewer edits in one call".to_owned(),
        };
        let after_others = self.index > 0
            && matches!(
                &self.kind,
                EditErrorKind::NotUnique { .. } | EditErrorKind::TextNotFound(_)
            );
        let note = if after_others {
            "\nlines are counted as they stand after the edits before this one"
        } else {
            ""
        };
        Some(hint + note)
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.to_string();
        // What ends with a line that shows a place has nothing behind that.
        let separator = if kind.contains('\n') { "\n" } else { "; " };
        write!(
            f,
            "{kind}{separator}`edits[{}]` failed and the file is unchanged",
            self.index
        )
    }
}

impl std::error::Error for EditError {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyApplied { line } => {
                write!(
                    f,
                    "newText is already present at line {line} (edit already applied?)"
                )
            }
            Self::Differs {
                difference,
                character,
                first,
                last,
                ..
            } => {
                let what = match difference {
                    Difference::LineEndings => "only the line endings differ",
                    Difference::Indentation => "only the indentation differs",
                    Difference::Whitespace => "only whitespace differs",
                    Difference::Case => "only upper and lower case differ",
                    Difference::Punctuation => "only quotes, dashes or special spaces differ",
                    Difference::NormalForm => "only the Unicode normal form differs",
                    Difference::LookAlike => {
                        "only characters that look alike or are invisible differ"
                    }
                    Difference::Several => "only whitespace, case or punctuation differ",
                };
                write!(f, "{what} at {}", span(*first, *last))?;
                let Some(Character {
                    line,
                    column,
                    divergence,
                }) = character
                else {
                    return Ok(());
                };
                write!(
                    f,
                    " (line {line}, column {column} has {})",
                    divergence.words("oldText")
                )
            }
            Self::Closest { first, last, .. } => {
                write!(f, "the closest text is at {}", span(*first, *last))
            }
            Self::Nothing => f.write_str("nothing like it is in the file"),
            Self::OutOfTime => f.write_str("nothing like it was found in the time allowed"),
        }
    }
}

fn span(first: usize, last: usize) -> String {
    if first == last {
        format!("line {first}")
    } else {
        format!("lines {first}-{last}")
    }
}

impl Cause {
    fn hint(&self) -> String {
        match self {
            Self::AlreadyApplied { .. } => "read the file before editing it again".to_owned(),
            Self::Differs { diff, .. } => {
                format!(
                    "copy the text from the file as it is (`-` is oldText, `+` the file):\n{diff}"
                )
            }
            Self::Closest { diff, .. } => {
                format!("correct oldText where it differs (`-` is oldText, `+` the file):\n{diff}")
            }
            Self::Nothing | Self::OutOfTime => {
                "check the path, or read the file again: it may have changed".to_owned()
            }
        }
    }
}
