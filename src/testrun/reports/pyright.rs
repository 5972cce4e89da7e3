//! Pyright, and basedpyright, by `--outputjson`: lines and characters count from 0.

use serde::Deserialize;

use super::found::Found;
use super::{Checked, Sources, lines};
use crate::cancel::Bound;
use crate::testrun::model::{Diagnostic, Severity};

#[derive(Deserialize)]
struct Finding {
    file: Option<String>,
    #[serde(default)]
    severity: String,
    #[serde(default)]
    message: String,
    range: Option<Range>,
    rule: Option<String>,
}

#[derive(Deserialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u32,
    character: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    files_analyzed: Option<u64>,
}

/// Reads stdout; without a document there, stderr says why.
pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> Checked {
    let mut found = Found::new(sources.root);
    let (mut version, mut files) = (None, None);
    lines::document::<Finding>(
        sources.stdout,
        "generalDiagnostics",
        bound,
        |finding| found.add(diagnostic(finding)),
        |key, value| match key {
            "version" => version = serde_json::from_str(value).ok(),
            "summary" => files = serde_json::from_str::<Summary>(value).ok().and_then(|summary| summary.files_analyzed),
            _ => {}
        },
    );
    if version.is_none() && found.checked.diagnostics.is_empty() {
        let said = String::from_utf8_lossy(sources.stderr);
        if !said.trim().is_empty() {
            found.add(Diagnostic::new(Severity::Error, said.trim()));
        }
    }
    found.checked.version = version;
    found.checked.files_checked = files;
    found.checked
}

fn diagnostic(finding: Finding) -> Diagnostic {
    let severity = match finding.severity.as_str() {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        _ => Severity::Note,
    };
    let mut diagnostic = Diagnostic::new(severity, finding.message);
    diagnostic.file = finding.file;
    diagnostic.code = finding.rule;
    if let Some(Range { start, end }) = finding.range {
        (diagnostic.line, diagnostic.column) = (start.line.checked_add(1), start.character.checked_add(1));
        (diagnostic.end_line, diagnostic.end_column) = (end.line.checked_add(1), end.character.checked_add(1));
    }
    diagnostic
}
