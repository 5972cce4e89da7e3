//! Errors of edits, with hints for the next call.

use replay_base::budget::Exhausted;
use replay_base::limits::{MAX_EDIT_BYTES, MAX_EDIT_PLACES};
use replay_base::text::alike::Divergence;
use replay_base::text::encoding::EncodingError;

use replay_pattern::{PatternError, ReplacementError};
use std::fmt;

/// A failed edit. Neither it nor the edits before it have changed anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditError {
    /// Index of the edit in the call, from 0.
    pub index: usize,
    pub kind: EditErrorKind,
}

/// Kind of the ambiguous matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    Exact,
    /// Line by line without indent.
    Whitespace,
}

/// Diagnosis of a text that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The new text is present.
    AlreadyApplied {
        /// Its line, from 1.
        line: usize,
    },
    /// A block differs in one respect.
    Differs {
        difference: Difference,
        /// First deceptive character, if there is one.
        character: Option<CharacterDifference>,
        /// First line of the block, from 1.
        first: usize,
        /// Last line of the block.
        last: usize,
        /// Diff from the old text (`-`) to the file (`+`), a few lines.
        diff: String,
    },
    /// A block is similar.
    Closest {
        /// First line of the block, from 1.
        first: usize,
        /// Last line of the block.
        last: usize,
        /// Diff from the old text (`-`) to the file (`+`), a few lines.
        diff: String,
    },
    /// No line and no word of the old text was found.
    Nothing,
    /// The time limit passed before anything was found.
    OutOfTime,
}

/// A differing character of the file, with the old text's character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharacterDifference {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    pub divergence: Divergence,
}

/// Kind of the only difference of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Line endings: CR, LF or CRLF.
    LineEndings,
    /// Whitespace at the beginning or end of lines.
    Indentation,
    Whitespace,
    /// Upper and lower case.
    Case,
    /// Quotes, dashes, no-break spaces and similar characters.
    Punctuation,
    /// Composed and decomposed characters.
    NormalForm,
    /// Invisible characters, letters of other scripts, full-width forms.
    LookAlike,
    /// More than one of these.
    Several,
}

/// Reason why an edit failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditErrorKind {
    /// The old text is empty.
    #[error("`oldText` is empty")]
    Empty {
        /// `true` for a pattern.
        is_regex: bool,
    },
    /// A literal text that must be unique has several matches.
    #[error("oldText is not unique: found {count} {} ({})", noun(*.kind), format_lines(.lines, *.count))]
    NotUnique {
        /// Kind of the matches.
        kind: MatchKind,
        /// Number of matches.
        count: usize,
        /// Lines of the first few matches, from 1.
        lines: Vec<usize>,
    },
    /// A literal text has no match.
    #[error("oldText not found: {0}")]
    TextNotFound(Box<Cause>),
    /// A pattern has no match.
    #[error("pattern not found: it matches nothing in the file")]
    PatternNotFound {
        /// Line where the text of the pattern itself occurs, which suggests that it was meant
        /// literally.
        literal_line: Option<usize>,
        /// Part of the pattern that JavaScript probably reads differently from its author.
        slip: Option<&'static str>,
    },
    /// The pattern is invalid or too costly.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The new text of a regex edit is invalid.
    #[error(transparent)]
    Replacement(#[from] ReplacementError),
    /// The content cannot be decoded or encoded.
    #[error(transparent)]
    Encoding(EncodingError),
    /// The result would exceed the maximum size of editable files.
    #[error("the edited file would have more than {MAX_EDIT_BYTES} bytes, the maximum")]
    TooLarge,
    /// There are too many matches.
    #[error("the edit would replace more than {MAX_EDIT_PLACES} places, the maximum")]
    TooMany,
    /// There is not enough memory for the edit.
    #[error(transparent)]
    Memory(#[from] Exhausted),
    #[error("the edit was stopped at its time limit")]
    TimedOut,
    /// There is no exact match, and a search without indentation takes too many steps.
    #[error(
        "oldText not found exactly; its lines occur too often in the file for a search without \
         indentation"
    )]
    TooManySteps,
}

fn noun(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Exact => "occurrences",
        MatchKind::Whitespace => "whitespace-normalized matches",
    }
}

fn format_lines(lines: &[usize], count: usize) -> String {
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
    /// Returns true if what was to be replaced is not in the file.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self.kind,
            EditErrorKind::TextNotFound(_) | EditErrorKind::PatternNotFound { .. }
        )
    }

    pub(super) fn new(index: usize, kind: EditErrorKind) -> Self {
        Self { index, kind }
    }

    /// Returns a hint for the next call.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.kind {
            EditErrorKind::Empty { is_regex: true } => {
                "give the pattern to find; to write a whole file use `write_file`".to_owned()
            }
            EditErrorKind::Empty { is_regex: false } => {
                "give the text to replace; to insert text, use a neighbouring line as `oldText` \
                 and repeat it in `newText`; to write a whole file use `write_file`"
                    .to_owned()
            }
            EditErrorKind::NotUnique { .. } => {
                "add surrounding lines to `oldText` so that it matches one place, or set `limit`: \
                 0 replaces all, 2 or more the first ones"
                    .to_owned()
            }
            EditErrorKind::TextNotFound(cause) => cause.hint(),
            EditErrorKind::PatternNotFound {
                slip: Some(slip), ..
            } => (*slip).to_owned(),
            EditErrorKind::PatternNotFound {
                literal_line: Some(line),
                ..
            } => {
                format!(
                    "line {line} contains the pattern as plain text: leave `isRegex` out to \
                    match it literally"
                )
            }
            EditErrorKind::PatternNotFound {
                literal_line: None, ..
            } => {
                "`^` and `$` match at each line, `.` matches no line ending, and a match may span \
                 lines; for known text leave `isRegex` out"
                    .to_owned()
            }
            EditErrorKind::Pattern(error) => error.hint().to_owned(),
            EditErrorKind::Replacement(error) => error.hint(),
            EditErrorKind::Encoding(error) => error.hint().to_owned(),
            EditErrorKind::TooLarge => {
                "use a shorter `newText`, or replace fewer places".to_owned()
            }
            EditErrorKind::TooMany => {
                "replace them in steps with `limit`, or use a command such as sed".to_owned()
            }
            EditErrorKind::Memory(error) => error.hint().to_owned(),
            EditErrorKind::TooManySteps => {
                "copy oldText from the file exactly, or leave out lines that repeat".to_owned()
            }
            EditErrorKind::TimedOut => {
                "use a longer literal `oldText`, or fewer edits in one call".to_owned()
            }
        };
        let after_others = self.index > 0
            && matches!(
                &self.kind,
                EditErrorKind::NotUnique { .. } | EditErrorKind::TextNotFound(_)
            );
        let note = if after_others {
            "\nline numbers are those after the earlier edits of this call"
        } else {
            ""
        };
        Some(hint + note)
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.to_string();
        // An excerpt on the last line must not be followed by more text.
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
                let Some(CharacterDifference {
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
            Self::Nothing => f.write_str("the file has no similar text"),
            Self::OutOfTime => f.write_str("no similar text was found within the time limit"),
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
