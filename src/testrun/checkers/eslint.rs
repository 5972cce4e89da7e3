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

    fn parse(&self, sources: &Sources<'_>, _: Bound<'_>) -> CheckResults {
        // ESLint reports an ignored file that is named with a warning.
        let is_ignored = |finding: &EslintFinding| {
            finding.rule_id.is_none() && finding.message.starts_with("File ignored ")
        };
        let mut listed = BTreeSet::new();
        let checked = findings::from_json(sources, |mut files: Vec<EslintFile>| {
            files.retain(|file| !file.messages.iter().any(is_ignored));
            listed.extend(files.iter().map(|file| file.file_path.clone()));
            files
                .into_iter()
                .flat_map(EslintFile::diagnostics)
                .collect()
        });
        let listed = Some(listed).filter(|_| !checked.broke);
        CheckResults {
            files_checked: listed.as_ref().map(|listed| listed.len() as u64),
            listed,
            ..checked
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EslintFile {
    file_path: String,
    messages: Vec<EslintFinding>,
}

impl EslintFile {
    fn diagnostics(self) -> impl Iterator<Item = Diagnostic> {
        let file = self.file_path;
        self.messages.into_iter().map(move |finding| Diagnostic {
            file: Some(file.clone()),
            code: finding.rule_id,
            line: finding.line,
            column: finding.column,
            end_line: finding.end_line,
            end_column: finding.end_column,
            ..Diagnostic::new(Severity::of(finding.severity == 2), finding.message)
        })
    }
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
