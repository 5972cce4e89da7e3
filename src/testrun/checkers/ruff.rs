//! Ruff: parses `--output-format json`. It checks no types, so a call has to name it.

use crate::prelude::*;

pub(crate) struct Ruff;

impl ProjectTool for Ruff {
    fn about(&self) -> ToolDescription {
        ToolDescription::python("ruff", "Ruff (only with `checker: \"ruff\"`)")
    }
}

impl Checker for Ruff {
    fn checks_types(&self) -> bool {
        false
    }

    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        // Its cache would lie in the project.
        let words = ["check", "--no-cache", "--output-format", "json"].map(str::to_owned);
        Ok(words.into_iter().chain(wanted.paths()).collect())
    }

    fn parse(&self, sources: &Sources<'_>, _: Bound<'_>) -> CheckResults {
        findings::from_json(sources, |report: Vec<RuffFinding>| {
            report.into_iter().map(diagnostic).collect()
        })
    }

    fn silenced(&self, source: CheckSource<'_>, _: &str) -> Option<String> {
        const COMMENT: &str = "# ruff: noqa";
        let is_own = source.text.lines().any(|line| line.trim() == COMMENT);
        is_own.then(|| format!("the file has `{COMMENT}`"))
    }
}

#[derive(Deserialize)]
struct RuffFinding {
    /// `None` for a syntax error of older versions.
    code: Option<String>,
    message: String,
    filename: String,
    location: RuffPosition,
    end_location: RuffPosition,
}

#[derive(Deserialize)]
struct RuffPosition {
    row: u32,
    column: u32,
}

fn diagnostic(finding: RuffFinding) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(Severity::Error, finding.message);
    diagnostic.file = Some(finding.filename);
    diagnostic.code = finding.code;
    (diagnostic.line, diagnostic.column) =
        (Some(finding.location.row), Some(finding.location.column));
    (diagnostic.end_line, diagnostic.end_column) = (
        Some(finding.end_location.row),
        Some(finding.end_location.column),
    );
    diagnostic
}
