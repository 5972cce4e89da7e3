//! mypy, by `--output json` (columns count from 0) or by its text, with or without columns and ends.

use serde::Deserialize;

use super::found::Found;
use super::{Checked, Sources, lines};
use crate::cancel::Bound;
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

/// Reads stdout, and stderr for its own errors.
pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> Checked {
    let mut found = Found::new(sources.root);
    for bytes in [sources.stdout, sources.stderr] {
        for line in lines::lines(bytes, bound) {
            if let Ok(line) = serde_json::from_slice::<Finding>(line) {
                add(&mut found, of_json(line));
            } else {
                of_text(&mut found, &String::from_utf8_lossy(line));
            }
        }
    }
    found.checked
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
fn of_text(found: &mut Found<'_>, line: &str) {
    if let Some(files) = checked_files(line) {
        found.checked.files_checked = Some(files);
        return;
    }
    let word = |word: &'static str| line.split_once(word).map(|(place, message)| (place, word, message));
    let parts = word(": error: ").or_else(|| word(": note: ")).or_else(|| word(": warning: "));
    let Some((place, word, message)) = parts else {
        // `mypy: error: ...` and `usage: ...` of its command line.
        if let Some(message) = line.strip_prefix("mypy: error: ").or_else(|| line.strip_prefix("error: ")) {
            found.add(Diagnostic::new(Severity::Error, message));
        }
        return;
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
    add(found, diagnostic);
}

/// `Success: no issues found in 3 source files`, `Found 7 errors in 2 files (checked 2 source files)`.
fn checked_files(line: &str) -> Option<u64> {
    let rest = match line.strip_prefix("Found ") {
        Some(rest) => rest.split_once("(checked ")?.1,
        None => line.strip_prefix("Success: no issues found in ")?,
    };
    rest.split(' ').next()?.parse().ok()
}
