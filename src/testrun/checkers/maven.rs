//! `mvn test-compile`, with the messages of its compilers.

use crate::prelude::*;

pub(crate) struct MavenCompile;

impl ProjectTool for MavenCompile {
    fn about(&self) -> ToolDescription {
        ToolDescription::wrapped("maven", "mvn test-compile", &jvm::MAVEN)
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        jvm::maven_sign(level)
    }
}

impl Checker for MavenCompile {
    fn arguments(&self, _: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let words = jvm::MAVEN_OPTIONS.into_iter().chain(["test-compile"]);
        Ok(words.map(str::to_owned).collect())
    }

    fn parse(&self, sources: &Sources<'_>, _: Bound<'_>) -> CheckResults {
        let mut found = DiagnosticCollector::new(sources.root);
        let stdout = String::from_utf8_lossy(sources.stdout);
        for (line, message) in jvm_text::compiler_lines(stdout.lines()) {
            let severity = Severity::of(line.is_error);
            found.add(Diagnostic {
                file: Some(line.file.to_owned()),
                line: Some(line.line),
                column: line.column,
                ..Diagnostic::new(severity, message)
            });
        }
        found.checked
    }
}
