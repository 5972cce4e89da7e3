//! `ESLint` 8 and newer: parses `--format json`. It checks no types, so a call has to name it.

use crate::prelude::*;

pub(crate) struct Eslint;

impl ProjectTool for Eslint {
    fn about(&self) -> ToolDescription {
        ToolDescription::node(
            "eslint",
            "ESLint 8 and newer (only with `checker: \"eslint\"`)",
            "eslint",
        )
    }
}

impl Checker for Eslint {
    fn checks_types(&self) -> bool {
        false
    }

    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let mut words = vec!["--format".to_owned(), "json".to_owned()];
        words.extend(wanted.paths());
        if wanted.targets.is_empty() {
            words.push(".".to_owned());
        }
        Ok(words)
    }

    /// Parses stdout. If it holds no document, the reason is on stderr.
    fn parse(&self, sources: &Sources<'_>, _: Bound<'_>) -> CheckResults {
        let mut found = DiagnosticCollector::new(sources.root);
        let Ok(files) = serde_json::from_slice::<Vec<EslintFile>>(sources.stdout) else {
            let said = String::from_utf8_lossy(sources.stderr);
            found.add(Diagnostic::new(Severity::Error, said.trim()));
            found.checked.broke = true;
            return found.checked;
        };
        let mut listed = BTreeSet::new();
        for EslintFile {
            file_path,
            messages,
        } in files
        {
            // ESLint reports an ignored file that is named with a warning.
            let is_ignored = |finding: &EslintFinding| {
                finding.rule_id.is_none() && finding.message.starts_with("File ignored ")
            };
            if messages.iter().any(is_ignored) {
                continue;
            }
            for finding in messages {
                let severity = Severity::of(finding.severity == 2);
                let mut diagnostic = Diagnostic::new(severity, finding.message);
                diagnostic.file = Some(file_path.clone());
                diagnostic.code = finding.rule_id;
                (diagnostic.line, diagnostic.column) = (finding.line, finding.column);
                (diagnostic.end_line, diagnostic.end_column) =
                    (finding.end_line, finding.end_column);
                found.add(diagnostic);
            }
            listed.insert(file_path);
        }
        found.checked.files_checked = Some(listed.len() as u64);
        found.checked.listed = Some(listed);
        found.checked
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EslintFile {
    file_path: String,
    messages: Vec<EslintFinding>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EslintFinding {
    rule_id: Option<String>,
    severity: u8,
    message: String,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
}
