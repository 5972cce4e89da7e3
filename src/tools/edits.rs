//! Shared parts of `edit_file` and `edit_files`: edits as arguments, their application, and
//! reports.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use replay_base::budget::{Exhausted, Room};
use replay_base::cancel::Bound;
use replay_base::limits::{CHANGE_ATTEMPTS, MAX_EDIT_MS};
use replay_files::edit::{self, Applied, Edit, EditError, Options, Rule};
use replay_files::fs::{DirLocks, FsError};
use replay_files::policy::{Checked, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_limit::TextLimit;
use crate::error::Error;

/// Places that the reply to an edit names.
const MAX_SPANS: usize = 10;

/// One edit as an agent writes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct EditParam {
    /// Text to find; must occur exactly once if limit is 1
    #[schemars(extend("x-aliases" = ["old_text", "old_string", "oldString", "old_str"]))]
    old_text: String,
    /// Replacement (default: empty). Regex: $1 or \1 groups, $& whole match, $$ a dollar
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["new_text", "new_string", "newString", "new_str"]))]
    new_text: Option<String>,
    /// Most replacements (default 1; 0: all)
    #[schemars(range(min = 0))]
    limit: Option<u64>,
    /// oldText is a JavaScript regex; ^ and $ match at each line
    #[schemars(extend("x-aliases" = ["is_regex", "regex"]))]
    is_regex: Option<bool>,
    /// Ignore case
    #[schemars(extend("x-aliases" = ["case_insensitive", "ignoreCase"]))]
    case_insensitive: Option<bool>,
    /// Same as `limit: 0`.
    #[schemars(extend("x-hidden" = true, "x-aliases" = ["replace_all"]))]
    replace_all: Option<bool>,
}

impl From<EditParam> for Edit {
    fn from(param: EditParam) -> Self {
        let all = param.replace_all == Some(true);
        Self {
            old_text: param.old_text,
            new_text: param.new_text.unwrap_or_default(),
            limit: param.limit.unwrap_or(u64::from(!all)),
            is_regex: param.is_regex.unwrap_or_default(),
            case_insensitive: param.case_insensitive.unwrap_or_default(),
        }
    }
}

/// Result of one edit.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EditReport {
    pub(super) replacements: u64,
    pub(super) first_line: usize,
    pub(super) last_line: usize,
    rule: &'static str,
}

impl From<&edit::EditReport> for EditReport {
    fn from(report: &edit::EditReport) -> Self {
        let edit::EditReport {
            replacements,
            first_line,
            last_line,
            rule,
            more: _,
        } = *report;
        Self {
            replacements,
            first_line,
            last_line,
            rule: rule.name(),
        }
    }
}

/// Returns the lines that edits changed: `12-14, 40`.
pub(super) fn lines(edits: impl Iterator<Item = EditReport>) -> String {
    let spans: Vec<String> = edits
        .map(|edit| {
            let (first, last) = (edit.first_line, edit.last_line);
            let span = if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            };
            match edit.replacements {
                1 => span,
                count => format!("{span} ({count} places)"),
            }
        })
        .collect();
    match spans.len().checked_sub(MAX_SPANS + 1) {
        None => spans.join(", "),
        Some(more) => format!("{} and {} more", spans[..MAX_SPANS].join(", "), more + 1),
    }
}

/// Applies the edits within the time limit for one file.
pub(super) fn apply<'a>(
    bytes: impl Into<Cow<'a, [u8]>>,
    edits: &[Edit],
    room: Room<'_>,
) -> Result<Applied<'a>, EditError> {
    edit::apply(bytes, edits, options(room))
}

/// Returns a unified diff of the edits.
pub(super) fn preview(
    path: &str,
    before: &[u8],
    applied: &Applied<'_>,
    room: Room<'_>,
) -> Result<String, Exhausted> {
    Ok(edit::preview(path, before, applied, options(room))?
        .unwrap_or_else(|| "(no changes)".to_owned()))
}

/// Cuts a diff to whole lines within the limit. Also returns a note on the rest, if any.
pub(super) fn truncate_diff(mut diff: String, limit: TextLimit) -> (String, Option<String>) {
    if limit.holds(&diff) {
        return (diff, None);
    }
    let (bytes, kept) = (diff.len(), limit.lines_of(&diff));
    let lines = diff[kept..].lines().count();
    diff.truncate(kept);
    let left = bytes - kept;
    let note = format!(
        "{lines} more lines of the diff, {left} bytes, are left out; try the edits on fewer places or files"
    );
    (diff, Some(note))
}

/// Retries a change while other programs change the file. The last attempt locks the directory from
/// read to rename, against other servers. Each attempt reads the file again.
pub(super) fn attempts<T>(
    target: &Checked<Write>,
    mut attempt: impl FnMut(Option<&DirLocks>) -> Result<T, Error>,
) -> Result<T, Error> {
    for _ in 1..CHANGE_ATTEMPTS {
        match attempt(None) {
            Err(Error::Fs(FsError::Changed { .. })) => {}
            done => return done,
        }
    }
    let held = DirLocks::of(target)?;
    attempt(held.as_ref())
}

fn options(room: Room<'_>) -> Options<'_> {
    let deadline = Some(Instant::now() + Duration::from_millis(MAX_EDIT_MS));
    Options {
        bound: Bound {
            deadline,
            cancel: Some(room.cancel),
        },
        room: Some(room),
        ..Options::default()
    }
}

/// Notes on the edits: matches by a looser rule, edits cut short by a limit, and replacement texts
/// with invalid group references.
pub(super) fn notes(applied: &Applied<'_>, edits: &[Edit]) -> Option<String> {
    let mut notes = Vec::new();
    for (index, (report, edit)) in applied.per_edit.iter().zip(edits).enumerate() {
        if report.rule == Rule::Whitespace {
            let (first, last) = (report.first_line, report.last_line);
            let lines = if first == last {
                format!("line {first}")
            } else {
                format!("lines {first}-{last}")
            };
            notes.push(format!(
                "edits[{index}] matched only with indentation ignored; newText was indented to fit ({lines} of the result)"
            ));
        }
        if report.more {
            let count = report.replacements;
            let matches = if count == 1 {
                "match".to_owned()
            } else {
                format!("{count} matches")
            };
            notes.push(format!(
                "edits[{index}] replaced the first {matches} only; `limit: 0` replaces all"
            ));
        }
        let slip = replay_pattern::replacement_slip(&edit.new_text).filter(|_| edit.is_regex);
        notes.extend(slip.map(|slip| format!("edits[{index}]: {slip}")));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Describes the edits of a file that does not exist.
pub(super) fn describe_intended(path: &str, edits: &[Edit]) -> String {
    let list: Vec<String> = edits
        .iter()
        .enumerate()
        .map(|(index, edit)| {
            format!(
                "edits[{index}]: replace {:?} with {:?}",
                edit.old_text, edit.new_text
            )
        })
        .collect();
    format!(
        "{path} does not exist; intended edits:\n{}",
        list.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use replay_base::cancel::CancelToken;

    use super::*;

    fn notes_of(text: &'static str, edit: Edit) -> Option<String> {
        let edits = [edit];
        let room = Room {
            account: None,
            cancel: &CancelToken::new(),
        };
        notes(&apply(text.as_bytes(), &edits, room).unwrap(), &edits)
    }

    #[test]
    fn notes_report_limited_edits() {
        let regex = |limit, new: &str| Edit {
            is_regex: true,
            limit,
            ..Edit::new("(a)", new)
        };
        let first = |what: &str| {
            Some(format!(
                "edits[0] replaced the first {what} only; `limit: 0` replaces all"
            ))
        };
        assert_eq!(notes_of("a a a", regex(1, "$1b")), first("match"));
        assert_eq!(notes_of("a a a", regex(2, "b")), first("2 matches"));
        assert_eq!(notes_of("a a a", regex(3, "b")), None);
        assert_eq!(notes_of("a a a", regex(0, "b")), None);
        let slip = "edits[0]: `${1}` in newText stands as it is; a group is `$1`, and `$<name>` if it has a name";
        assert_eq!(notes_of("a", regex(1, "${1}")), Some(slip.to_owned()));
        assert_eq!(notes_of("(a)", Edit::new("(a)", "${1}")), None);
    }
}
