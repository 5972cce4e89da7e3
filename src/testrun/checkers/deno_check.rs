//! `deno check`: the errors of the TypeScript compiler on stderr.

use super::tsc::Tsc;
use crate::by_language::deno;
use crate::prelude::*;

pub(crate) struct DenoCheck;

impl ProjectTool for DenoCheck {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::JavaScript, "deno", "deno check", "deno")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        deno::sign(level)
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        deno::program(context, project)
    }
}

impl Checker for DenoCheck {
    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let mut words = vec!["check".to_owned()];
        words.extend(wanted.paths());
        if wanted.targets.is_empty() {
            words.push(".".to_owned());
        }
        Ok(words)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> CheckResults {
        let mut found = DiagnosticCollector::new(sources.root);
        for diagnostic in deno::diagnostics(sources.stderr, bound) {
            found.add(diagnostic);
        }
        found.checked
    }

    fn configuration(&self, text: &TextOf<'_>) -> Option<(&'static str, String)> {
        Some((
            "deno.json",
            text("deno.json").or_else(|| text("deno.jsonc"))?,
        ))
    }

    fn silenced(&self, source: CheckSource<'_>, configuration: &str) -> Option<String> {
        let why = Tsc.silenced(source, configuration)?;
        Some(why.replace("tsconfig.json", "deno.json"))
    }
}
