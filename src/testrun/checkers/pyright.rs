//! Pyright and basedpyright: parses `--outputjson`, whose lines and characters count from 0.

mod exclusions;

use crate::prelude::*;

pub(crate) struct Pyright;

impl ProjectTool for Pyright {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::Python, "pyright", "pyright", "pyright")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level
            .sign_of_file("pyrightconfig.json")
            .or_else(|| level.section("pyproject.toml", "[tool.pyright"))
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        let (disk, dir) = (context.disk(), project.display_path());
        match node::find(disk, dir, "pyright", "pyright") {
            Some((argv, version)) => ToolProgram::Found(argv, version),
            None if python::interpreter(disk, dir).is_some() => {
                ToolProgram::Found(python::module(disk, dir, "pyright"), None)
            }
            None => ToolProgram::on_path("pyright"),
        }
    }

    fn is_in(&self, disk: AllowedDisk<'_>, dir: &Path) -> bool {
        node::find(disk, dir, "pyright", "pyright").is_some()
            || python::is_installed(disk, dir, "pyright")
    }

    fn install_step(&self, context: &RunContext<'_>, project: &Path, argv: &[String]) -> String {
        let or_with = match context.pip(project, argv) {
            Some(pip) => format!(", or with `{pip} install pyright`"),
            None => ", or with `pip install pyright` in the project's .venv".to_owned(),
        };
        context.install_hint("npm install -D pyright", &or_with)
    }
}

impl Checker for Pyright {
    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let mut words = vec!["--outputjson".to_owned()];
        if let Some(python) = python::interpreter(wanted.context.disk(), wanted.dir()) {
            words.extend(["--pythonpath".to_owned(), python]);
        }
        words.extend(wanted.paths());
        Ok(words)
    }

    /// Parses stdout. If it holds no document, the reason is on stderr.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> CheckResults {
        let mut found = DiagnosticCollector::new(sources.root);
        let (mut version, mut files) = (None, None);
        lines::document::<PyrightFinding>(
            sources.stdout,
            "generalDiagnostics",
            bound,
            |finding| found.add(diagnostic(finding)),
            |key, value| match key {
                "version" => version = serde_json::from_str(value).ok(),
                "summary" => {
                    files = serde_json::from_str::<PyrightSummary>(value)
                        .ok()
                        .and_then(|summary| summary.files_analyzed);
                }
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

    fn configuration(&self, text: &TextOf<'_>) -> Option<(&'static str, String)> {
        let own = text("pyrightconfig.json").map(|text| ("pyrightconfig.json", text));
        own.or_else(|| Some(("pyproject.toml", text("pyproject.toml")?)))
    }

    fn silenced(&self, source: CheckSource<'_>, configuration: &str) -> Option<String> {
        python::type_ignore_comment(source.text)
            .or_else(|| exclusions::left_out(source.path, configuration))
    }
}

#[derive(Deserialize)]
struct PyrightFinding {
    file: Option<String>,
    #[serde(default)]
    severity: String,
    #[serde(default)]
    message: String,
    range: Option<PyrightRange>,
    rule: Option<String>,
}

#[derive(Deserialize)]
struct PyrightRange {
    start: PyrightPosition,
    end: PyrightPosition,
}

#[derive(Deserialize)]
struct PyrightPosition {
    line: u32,
    character: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PyrightSummary {
    files_analyzed: Option<u64>,
}

fn diagnostic(finding: PyrightFinding) -> Diagnostic {
    let severity = match finding.severity.as_str() {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        _ => Severity::Note,
    };
    let mut diagnostic = Diagnostic::new(severity, finding.message);
    diagnostic.file = finding.file;
    diagnostic.code = finding.rule;
    if let Some(PyrightRange { start, end }) = finding.range {
        (diagnostic.line, diagnostic.column) =
            (start.line.checked_add(1), start.character.checked_add(1));
        (diagnostic.end_line, diagnostic.end_column) =
            (end.line.checked_add(1), end.character.checked_add(1));
    }
    diagnostic
}
