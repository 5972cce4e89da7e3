//! ty: parses `--output-format gitlab`, `GitLab`'s code quality report
//! (<https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>).

use crate::prelude::*;

pub(crate) struct Ty;

impl ProjectTool for Ty {
    fn about(&self) -> ToolDescription {
        ToolDescription::python("ty", "ty")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level
            .sign_of_file("ty.toml")
            .or_else(|| level.section("pyproject.toml", "[tool.ty"))
    }
}

impl Checker for Ty {
    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let words = ["check", "--output-format", "gitlab"].map(str::to_owned);
        Ok(words.into_iter().chain(wanted.paths()).collect())
    }

    fn parse(&self, sources: &Sources<'_>, _: Bound<'_>) -> CheckResults {
        findings::from_json(sources, |report: Vec<TyFinding>| {
            report.into_iter().map(diagnostic).collect()
        })
    }

    fn silenced(&self, source: CheckSource<'_>, _: &str) -> Option<String> {
        python::type_ignore_comment(source.text)
    }
}

#[derive(Deserialize)]
struct TyFinding {
    check_name: String,
    description: String,
    severity: String,
    location: TyLocation,
}

#[derive(Deserialize)]
struct TyLocation {
    path: String,
    positions: TyPositions,
}

#[derive(Deserialize)]
struct TyPositions {
    begin: TyPosition,
    end: TyPosition,
}

#[derive(Deserialize)]
struct TyPosition {
    line: u32,
    column: u32,
}

fn diagnostic(finding: TyFinding) -> Diagnostic {
    let severity = match finding.severity.as_str() {
        "info" => Severity::Note,
        "minor" => Severity::Warning,
        _ => Severity::Error,
    };
    let TyLocation { path, positions } = finding.location;
    let named = format!("{}: ", finding.check_name);
    let message = finding.description.strip_prefix(&named);
    let mut diagnostic = Diagnostic::new(severity, message.unwrap_or(&finding.description));
    if !path.is_empty() {
        diagnostic.file = Some(path);
        let TyPositions { begin, end } = positions;
        (diagnostic.line, diagnostic.column) = (Some(begin.line), Some(begin.column));
        (diagnostic.end_line, diagnostic.end_column) = (Some(end.line), Some(end.column));
    }
    diagnostic.code = Some(finding.check_name);
    diagnostic
}
