//! `go vet`, and the Go compiler: `path.go:line:column: message` on stderr, or the objects of `go
//! vet -json`.

use crate::prelude::*;

pub(crate) struct GoVet;

impl ProjectTool for GoVet {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::Go, "go", "go vet", "go")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level.sign_of_file("go.mod")
    }
}

impl Checker for GoVet {
    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        Ok(["vet".to_owned()]
            .into_iter()
            .chain(packages(wanted))
            .collect())
    }

    /// Parses the text of stderr or the JSON of stdout.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> CheckResults {
        let mut found = DiagnosticCollector::new(sources.root);
        for line in lines::lines(sources.stderr, bound) {
            let text = String::from_utf8_lossy(line);
            if let Some((file, number, column, message)) = go_text::line(&text) {
                let mut diagnostic = Diagnostic::new(Severity::Error, message);
                (diagnostic.file, diagnostic.line, diagnostic.column) =
                    (Some(file.to_owned()), Some(number), column);
                found.add(diagnostic);
            } else if let Some(message) = text.strip_prefix("go: ") {
                found.add(Diagnostic::new(Severity::Error, message));
            }
        }
        // One object for each package: {"package":{"analyzer":[{"posn","message"}]}}.
        let text = String::from_utf8_lossy(sources.stdout);
        for packages in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
            let Ok(Value::Object(packages)) = packages else {
                break;
            };
            if bound.is_over() {
                break;
            }
            for (analyzer, findings) in packages.values().filter_map(Value::as_object).flatten() {
                for finding in findings.as_array().into_iter().flatten() {
                    let Ok(finding) = GoFinding::deserialize(finding) else {
                        continue;
                    };
                    let mut diagnostic = Diagnostic::new(Severity::Error, finding.message);
                    if let Some((file, line, column)) = stack::place_of(&finding.posn) {
                        diagnostic.file = Some(file.to_owned());
                        (diagnostic.line, diagnostic.column) = (Some(line), Some(column));
                    }
                    if let Some((_, line, column)) =
                        finding.end.as_deref().and_then(stack::place_of)
                    {
                        (diagnostic.end_line, diagnostic.end_column) = (Some(line), Some(column));
                    }
                    diagnostic.code = Some(analyzer.clone());
                    found.add(diagnostic);
                }
            }
        }
        found.checked
    }

    fn is_source(&self, target: &NamedPath) -> bool {
        !target.is_dir
            && target
                .path
                .extension()
                .is_some_and(|extension| extension == "go")
    }

    /// Lists the files of the packages: a build constraint excludes files silently.
    fn examined_files(&self, ended: &EndedCheck<'_>) -> Result<ExaminedFiles, TestrunError> {
        let EndedCheck {
            wanted, outcome, ..
        } = ended;
        if outcome.timed_out || wanted.targets.iter().all(|target| target.is_dir) {
            return Ok(None);
        }
        // Files with syntax errors are included:
        // https://pkg.go.dev/cmd/go#hdr-List_packages_or_modules
        let lists = ["GoFiles", "CgoFiles", "TestGoFiles", "XTestGoFiles"];
        let format = lists
            .map(|list| {
                format!("{{{{range .{list}}}}}{{{{$.Dir}}}}/{{{{.}}}}{{{{\"\\n\"}}}}{{{{end}}}}")
            })
            .concat();
        let argv: Vec<String> = ["go", "list", "-e", "-f", &format]
            .map(str::to_owned)
            .into_iter()
            .chain(packages(wanted))
            .collect();
        let line = format!("exec env {}", words(&argv));
        let progress = &mut |_, _: Stage<'_>| {};
        let outcome = wanted
            .context
            .shell(wanted.project, &line, ended.time_left, progress)?;
        let text = outcome.stdout.text();
        let files: BTreeSet<String> = text
            .lines()
            .filter(|line| line.starts_with('/'))
            .map(str::to_owned)
            .collect();
        Ok((!files.is_empty() && !outcome.stdout.truncated).then_some(files))
    }
}

#[derive(Deserialize)]
struct GoFinding {
    #[serde(default)]
    posn: String,
    end: Option<String>,
    #[serde(default)]
    message: String,
}

/// Returns the packages to check.
fn packages(wanted: &CheckInputs<'_>) -> Vec<String> {
    let packages = go::packages(wanted.dir(), wanted.targets);
    if packages.is_empty() {
        vec!["./...".to_owned()]
    } else {
        packages
    }
}
