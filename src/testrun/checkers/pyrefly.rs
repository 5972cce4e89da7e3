//! pyrefly: parses `--output-format json`.

use crate::prelude::*;

pub(crate) struct Pyrefly;

impl ProjectTool for Pyrefly {
    fn about(&self) -> ToolDescription {
        ToolDescription::python("pyrefly", "pyrefly")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level
            .sign_of_file("pyrefly.toml")
            .or_else(|| level.section("pyproject.toml", "[tool.pyrefly"))
    }
}

impl Checker for Pyrefly {
    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let words = ["check", "--output-format", "json"].map(str::to_owned);
        Ok(words.into_iter().chain(wanted.paths()).collect())
    }

    fn parse(&self, sources: &Sources<'_>, _: Bound<'_>) -> CheckResults {
        findings::from_json(sources, |report: PyreflyReport| {
            report.errors.into_iter().map(diagnostic).collect()
        })
    }

    fn silenced(&self, source: CheckSource<'_>, _: &str) -> Option<String> {
        const COMMENT: &str = "# pyrefly: ignore-errors";
        let is_own = source.text.lines().any(|line| line.trim() == COMMENT);
        python::type_ignore_comment(source.text)
            .or_else(|| is_own.then(|| format!("the file has `{COMMENT}`")))
    }
}

#[derive(Deserialize)]
struct PyreflyReport {
    errors: Vec<PyreflyFinding>,
}

#[derive(Deserialize)]
struct PyreflyFinding {
    path: String,
    line: u32,
    column: u32,
    stop_line: u32,
    stop_column: u32,
    name: String,
    concise_description: String,
    severity: String,
}

fn diagnostic(finding: PyreflyFinding) -> Diagnostic {
    let severity = match finding.severity.as_str() {
        "error" => Severity::Error,
        "warn" => Severity::Warning,
        _ => Severity::Note,
    };
    let mut diagnostic = Diagnostic::new(severity, finding.concise_description);
    diagnostic.file = Some(finding.path);
    diagnostic.code = Some(finding.name);
    (diagnostic.line, diagnostic.column) = (Some(finding.line), Some(finding.column));
    (diagnostic.end_line, diagnostic.end_column) =
        (Some(finding.stop_line), Some(finding.stop_column));
    diagnostic
}
