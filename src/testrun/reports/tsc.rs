//! `tsc --pretty false` of TypeScript 5 to 7, and what speaks like it: `path(line,column): error TS2322: message`, with
//! further lines of the message indented; without a place for what concerns the whole project.

use super::found::Found;
use super::{Checked, Sources, lines};
use crate::cancel::Bound;
use crate::limits::MAX_TEST_TEXT_BYTES;
use crate::testrun::model::{Diagnostic, Severity};

/// Reads stdout; with `--listFiles` or `--listFilesOnly` also how many files there are.
pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> Checked {
    let mut found = Found::new(sources.root);
    let mut last: Option<Diagnostic> = None;
    let mut files = 0_u64;
    for line in lines::lines(sources.stdout, bound) {
        let line = String::from_utf8_lossy(line);
        if line.starts_with("  ") {
            if let Some(last) = last.as_mut().filter(|last| last.message.len() < MAX_TEST_TEXT_BYTES) {
                last.message.push('\n');
                last.message.push_str(&line);
            }
        } else if let Some(next) = diagnostic(&line) {
            if let Some(whole) = last.replace(next) {
                found.add(whole);
            }
        } else if line.starts_with('/') && !line.contains("/node_modules/") {
            files += 1;
        }
    }
    if let Some(diagnostic) = last {
        found.add(diagnostic);
    }
    found.checked.files_checked = (files > 0).then_some(files);
    found.checked
}

fn diagnostic(line: &str) -> Option<Diagnostic> {
    let (place, rest) = match line.split_once("): ") {
        Some((place, rest)) if head(rest).is_some() => (Some(place), rest),
        _ => (None, line),
    };
    let (severity, code, message) = head(rest)?;
    let mut diagnostic = Diagnostic::new(severity, message);
    diagnostic.code = Some(code.to_owned());
    if let Some(place) = place {
        let (file, position) = place.rsplit_once('(')?;
        let (line, column) = position.split_once(',')?;
        diagnostic.file = Some(file.to_owned());
        (diagnostic.line, diagnostic.column) = (Some(line.parse().ok()?), Some(column.parse().ok()?));
    }
    Some(diagnostic)
}

/// `error TS2322: message`, taken apart.
fn head(text: &str) -> Option<(Severity, &str, &str)> {
    let (word, rest) = text.split_once(' ')?;
    let severity = match word {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        "message" | "suggestion" => Severity::Note,
        _ => return None,
    };
    let (code, message) = rest.split_once(": ")?;
    let digits = code.strip_prefix("TS")?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some((severity, code, message))
}
