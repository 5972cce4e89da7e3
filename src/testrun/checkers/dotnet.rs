//! `dotnet build`, with the messages of `MSBuild`.

use crate::by_language::dotnet;
use crate::prelude::*;

pub(crate) struct DotnetBuild;

impl ProjectTool for DotnetBuild {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::DotNet, "dotnet", "dotnet build", "dotnet")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        dotnet::sign(level)
    }
}

impl Checker for DotnetBuild {
    /// Builds everything anew: a build skips projects without changes, and their warnings.
    fn arguments(&self, _: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let words = ["build", "-nologo", "--no-incremental", "-clp:NoSummary"];
        let words = words.into_iter().chain(dotnet::NO_SERVERS);
        Ok(words.map(str::to_owned).collect())
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> CheckResults {
        let mut found = DiagnosticCollector::new(sources.root);
        for line in lines::lines(sources.stdout, bound) {
            let line = String::from_utf8_lossy(line);
            let Some(line) = dotnet::build_line(&line) else {
                continue;
            };
            let severity = Severity::of(line.is_error);
            found.add(Diagnostic {
                file: line.file.map(str::to_owned),
                line: line.line,
                column: line.column,
                code: Some(line.code.to_owned()),
                ..Diagnostic::new(severity, line.message)
            });
        }
        found.checked
    }
}
