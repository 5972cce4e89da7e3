//! `go vet`, and the Go compiler: `path.go:line:column: message` on stderr, or the objects of `go vet -json`.

use serde::Deserialize;
use serde_json::Value;

use super::found::Found;
use super::stack::place_of;
use super::{Checked, Sources, lines};
use crate::cancel::Bound;
use crate::testrun::model::{Diagnostic, Severity};

#[derive(Deserialize)]
struct Finding {
    #[serde(default)]
    posn: String,
    end: Option<String>,
    #[serde(default)]
    message: String,
}

/// Reads what was found by the text of stderr or the JSON of stdout.
pub fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> Checked {
    let mut found = Found::new(sources.root);
    for line in lines::lines(sources.stderr, bound) {
        let text = String::from_utf8_lossy(line);
        if let Some((file, number, column, message)) = self::line(&text) {
            let mut diagnostic = Diagnostic::new(Severity::Error, message);
            (diagnostic.file, diagnostic.line, diagnostic.column) = (Some(file.to_owned()), Some(number), column);
            found.add(diagnostic);
        } else if let Some(message) = text.strip_prefix("go: ") {
            found.add(Diagnostic::new(Severity::Error, message));
        }
    }
    // One object for each package: {"package":{"analyzer":[{"posn","message"}]}}.
    let text = String::from_utf8_lossy(sources.stdout);
    for packages in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let Ok(Value::Object(packages)) = packages else { break };
        if bound.is_over() {
            break;
        }
        for (analyzer, findings) in packages.values().filter_map(Value::as_object).flatten() {
            for finding in findings.as_array().into_iter().flatten() {
                let Ok(finding) = Finding::deserialize(finding) else { continue };
                let mut diagnostic = Diagnostic::new(Severity::Error, finding.message);
                if let Some((file, line, column)) = place_of(&finding.posn) {
                    diagnostic.file = Some(file.to_owned());
                    (diagnostic.line, diagnostic.column) = (Some(line), Some(column));
                }
                if let Some((_, line, column)) = finding.end.as_deref().and_then(place_of) {
                    (diagnostic.end_line, diagnostic.end_column) = (Some(line), Some(column));
                }
                diagnostic.code = Some(analyzer.clone());
                found.add(diagnostic);
            }
        }
    }
    found.checked
}

/// `vet: ./path.go:3:2: message`, taken apart.
pub fn line(line: &str) -> Option<(&str, u32, Option<u32>, &str)> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let at = line.find(".go:")? + ".go".len();
    let (file, rest) = line.split_at(at);
    if file.contains(' ') || file.contains('\t') {
        return None;
    }
    let (place, message) = rest[1..].split_once(": ")?;
    let (number, column) = match place.split_once(':') {
        Some((line, column)) => (line.parse().ok()?, Some(column.parse().ok()?)),
        None => (place.parse().ok()?, None),
    };
    Some((file.strip_prefix("./").unwrap_or(file), number, column, message))
}
