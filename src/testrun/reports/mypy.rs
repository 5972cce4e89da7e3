//! mypy, by `--output json` (columns count from 0) or by its text, with or without columns and ends.

use std::collections::VecDeque;

use serde::Deserialize;

use super::found::Found;
use super::{Checked, Sources, clean, lines};
use crate::cancel::Bound;
use crate::limits::{MAX_TEST_NAME_BYTES, MAX_TEST_TEXT_BYTES, MAX_TOLD_LINES};
use crate::testrun::model::{Diagnostic, Related, Severity};

#[derive(Deserialize)]
struct Finding {
    file: String,
    line: Option<i64>,
    column: Option<i64>,
    end_line: Option<i64>,
    end_column: Option<i64>,
    message: String,
    hint: Option<String>,
    code: Option<String>,
    severity: String,
}

/// How the message begins that mypy itself failed (`mypy.errors.report_internal_error`).
const CRASH: &str = "INTERNAL ERROR";

/// Reads stdout, and stderr for its own errors.
pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> Checked {
    let mut found = Found::new(sources.root);
    let mut crash = None;
    for bytes in [sources.stdout, sources.stderr] {
        for line in lines::lines(bytes, bound) {
            if let Ok(line) = serde_json::from_slice::<Finding>(line) {
                add(&mut found, of_json(line));
                continue;
            }
            let line = String::from_utf8_lossy(line);
            match of_text(&mut found, &line) {
                Some(diagnostic) if diagnostic.message.starts_with(CRASH) => crash = Some(diagnostic),
                // What it advises to who has a terminal.
                Some(diagnostic) if crash.is_none() || diagnostic.severity != Severity::Note => {
                    add(&mut found, diagnostic);
                }
                _ => {}
            }
        }
    }
    if let Some(mut diagnostic) = crash {
        found.checked.broke = true;
        CRASH.clone_into(&mut diagnostic.message);
        for line in last_words(sources, bound) {
            diagnostic.message.push_str("\n  ");
            diagnostic.message.push_str(&line);
        }
        found.add(diagnostic);
    }
    found.checked
}

/// The end of what mypy wrote besides diagnostics where it failed itself: the traceback, and what stands on stderr.
fn last_words(sources: &Sources<'_>, bound: Bound<'_>) -> Vec<String> {
    // What it says of itself, in the same words each time.
    const USUAL: [&str; 4] = ["https://", "Please report a bug", "If this issue continues", "version: "];
    let is_own = |line: &str| {
        !line.contains(CRASH) && !line.contains("note: ") && !USUAL.iter().any(|usual| line.starts_with(usual))
    };
    let mut last = VecDeque::new();
    for bytes in [sources.stderr, sources.stdout] {
        for line in lines::lines(bytes, bound).filter(|line| !line.starts_with(b"{")) {
            let line = String::from_utf8_lossy(line);
            if is_own(&line) {
                last.push_back(clean::name(line.trim_end(), MAX_TEST_NAME_BYTES).0);
            }
            if last.len() >= MAX_TOLD_LINES {
                last.pop_front();
            }
        }
    }
    let mut room = MAX_TEST_TEXT_BYTES / 2;
    let fits = |line: &&String| {
        room = room.saturating_sub(line.len() + 3);
        room > 0
    };
    let kept = last.iter().rev().take_while(fits).count();
    last.drain(..last.len() - kept);
    last.into()
}

/// A note tells more of the error in the same line.
fn add(found: &mut Found<'_>, diagnostic: Diagnostic) {
    if diagnostic.severity == Severity::Note
        && let Some(file) = &diagnostic.file
    {
        let related = Related { message: diagnostic.message.clone(), ..Related::default() };
        if found.relate(file, diagnostic.line, related) {
            return;
        }
    }
    found.add(diagnostic);
}

fn of_json(line: Finding) -> Diagnostic {
    let known = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    let from_zero = |number: Option<i64>| known(number.and_then(|number| number.checked_add(1)));
    let mut diagnostic = Diagnostic::new(severity(&line.severity).unwrap_or(Severity::Error), line.message);
    diagnostic.file = Some(line.file);
    (diagnostic.line, diagnostic.column) = (known(line.line), from_zero(line.column));
    (diagnostic.end_line, diagnostic.end_column) = (known(line.end_line), from_zero(line.end_column));
    diagnostic.code = line.code;
    diagnostic.related = line.hint.into_iter().map(|message| Related { message, ..Related::default() }).collect();
    diagnostic
}

fn severity(word: &str) -> Option<Severity> {
    match word {
        "error" => Some(Severity::Error),
        "warning" => Some(Severity::Warning),
        "note" => Some(Severity::Note),
        _ => None,
    }
}

/// `file:line:column:end_line:end_column: error: message  [code]`; all numbers but the line may be missing, and the
/// line too for what concerns the whole file.
fn of_text(found: &mut Found<'_>, line: &str) -> Option<Diagnostic> {
    if let Some(files) = checked_files(line) {
        found.checked.files_checked = Some(files);
        return None;
    }
    let word = |word: &'static str| line.split_once(word).map(|(place, message)| (place, word, message));
    let parts = word(": error: ").or_else(|| word(": note: ")).or_else(|| word(": warning: "));
    let Some((place, word, message)) = parts else {
        // `mypy: error: ...` and `usage: ...` of its command line.
        let message = line.strip_prefix("mypy: error: ").or_else(|| line.strip_prefix("error: "));
        return message.map(|message| Diagnostic::new(Severity::Error, message));
    };
    let mut place = place.rsplitn(5, ':').collect::<Vec<_>>();
    place.reverse();
    let first = place.iter().position(|part| part.parse::<u32>().is_ok()).unwrap_or(place.len());
    let numbers: Vec<u32> = place[first..].iter().filter_map(|part| part.parse().ok()).collect();
    let file = place[..first].join(":");
    let mut diagnostic = Diagnostic::new(severity(word.trim_matches([':', ' '])).unwrap_or(Severity::Error), message);
    if file != "mypy" {
        diagnostic.file = Some(file);
    }
    diagnostic.line = numbers.first().copied();
    diagnostic.column = numbers.get(1).copied();
    diagnostic.end_line = numbers.get(2).copied();
    // mypy's end is the last column that belongs to it.
    diagnostic.end_column = numbers.get(3).and_then(|column| column.checked_add(1));
    if let Some((message, code)) =
        message.rsplit_once("  [").and_then(|(message, code)| Some((message, code.strip_suffix(']')?)))
    {
        diagnostic.code = Some(code.to_owned());
        message.clone_into(&mut diagnostic.message);
    }
    Some(diagnostic)
}

/// `Success: no issues found in 3 source files`, `Found 7 errors in 2 files (checked 2 source files)`.
fn checked_files(line: &str) -> Option<u64> {
    let rest = match line.strip_prefix("Found ") {
        Some(rest) => rest.split_once("(checked ")?.1,
        None => line.strip_prefix("Success: no issues found in ")?,
    };
    rest.split(' ').next()?.parse().ok()
}
