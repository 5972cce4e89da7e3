//! `cargo test`, by its text.

mod report;

use std::path::Path;

use super::cargo;
use super::nextest::Nextest;
use crate::cancel::Bound;
use crate::policy::{Checked, Read};
use crate::testrun::changes::{Affected, Changes};
use crate::testrun::command::{Plan, Wanted, by_name};
use crate::testrun::context::RunContext;
use crate::testrun::error::TestrunError;
use crate::testrun::project::cargo::own_harness;
use crate::testrun::project::files::Target;
use crate::testrun::project::language::Language;
use crate::testrun::project::program::Program;
use crate::testrun::project::signs::{Level, Sign};
use crate::testrun::reports::reading::{Sources, TestResults};
use crate::testrun::runner::{Asked, Counted, Facts, Runner};
use crate::testrun::selection::Selection;
use crate::testrun::tool::Tool;

pub struct CargoTest;

impl Tool for CargoTest {
    fn name(&self) -> &'static str {
        cargo::NAME
    }

    fn title(&self) -> &'static str {
        "cargo test"
    }

    fn language(&self) -> Option<Language> {
        Some(Language::Rust)
    }

    fn sign(&self, level: &Level<'_>) -> Sign {
        level.named("Cargo.toml")
    }

    fn program(&self, _: &RunContext<'_>, _: &Checked<Read>) -> Program {
        Program::on_path("cargo")
    }

    fn how_to_get(&self, _: &RunContext<'_>, _: &[String]) -> String {
        RunContext::not_found_hint("cargo")
    }
}

impl Runner for CargoTest {
    fn takes_whole_projects(&self) -> bool {
        true
    }

    fn refuse_filter(&self, filter: &str) -> Option<String> {
        cargo::refuse_filter(filter)
    }

    fn affected(&self, project: &Path, changes: &Changes) -> Option<Affected> {
        Some(changes.packages(project, cargo::is_source))
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    fn is_test_name(&self, path: &Path) -> bool {
        cargo::is_test_name(path)
    }

    fn missed<'t>(&self, asked: &Asked<'_>, targets: &[&'t Target], results: &TestResults) -> Vec<&'t Target> {
        cargo::missed(asked, targets, results, false)
    }

    fn switched_off(&self, context: &RunContext<'_>, root: &Path, selection: &Selection) -> Option<Vec<String>> {
        Some(cargo::switched_off(context, root, selection))
    }

    fn substitute(
        &self,
        context: &RunContext<'_>,
        project: &Checked<Read>,
    ) -> Result<Option<(&'static dyn Runner, &'static str)>, TestrunError> {
        let why = "by cargo-nextest, since it is installed; it runs no doc tests (`runner: \"cargo\"` does)";
        Ok(context.is_installed(project, "cargo-nextest")?.then_some((&Nextest, why)))
    }

    fn plan(&self, wanted: &Wanted<'_>) -> Result<Plan, TestrunError> {
        let mut plan = Plan { reports: false, ..Plan::of(wanted) };
        plan.add(["test"]);
        let filters = cargo::select(&mut plan, wanted)?;
        match wanted.selection {
            Selection::Failed(failed) if by_name(failed) => {
                plan.add(["--", "--exact"]);
                plan.add(cargo::paths(failed));
            }
            _ if filters.is_empty() => {}
            _ => {
                plan.add(["--"]);
                plan.add(filters);
            }
        }
        Ok(plan)
    }

    /// Cargo tells which programs it runs: all that have a harness of their own are asked for.
    fn facts(&self, context: &RunContext<'_>, project: &Checked<Read>, _: &Wanted<'_>) -> Facts {
        let tables = ["[lib]", "[[bin]]", "[[test]]", "[[bench]]", "[[example]]"];
        let texts = cargo::manifest_texts(context, project, true);
        let own_harness = texts.iter().flat_map(|text| own_harness(text, &tables)).flatten().collect();
        Facts { own_harness, ..Facts::default() }
    }

    fn count(&self, line: &[u8], counted: &mut Counted) {
        let Ok(line) = std::str::from_utf8(line) else { return };
        if let Some(rest) = line.strip_prefix("running ") {
            let count = rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"));
            counted.total += count.and_then(|count| count.parse::<u64>().ok()).unwrap_or_default();
        } else if line.starts_with("test ") && !line.starts_with("test result: ") && line.contains(" ... ") {
            counted.done += 1;
        }
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn note(&self, _: &Selection, results: &TestResults, _: &Path) -> Option<String> {
        cargo::own_harness_note("NOT counted", results)
    }
}
