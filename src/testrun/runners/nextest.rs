//! `cargo nextest`, by its `JUnit` XML.

mod report;

use std::path::Path;

use super::cargo;
use crate::cancel::Bound;
use crate::policy::{Checked, Read};
use crate::testrun::changes::{Affected, Changes};
use crate::testrun::command::{Plan, REPORT, Wanted, by_name};
use crate::testrun::context::RunContext;
use crate::testrun::error::TestrunError;
use crate::testrun::model::{TestReport, TestStatus};
use crate::testrun::project::cargo::{CargoPart, CargoTargets, own_harness};
use crate::testrun::project::files::Target;
use crate::testrun::project::language::Language;
use crate::testrun::project::program::Program;
use crate::testrun::reports::reading::{Sources, TestResults};
use crate::testrun::runner::{Asked, Facts, Runner};
use crate::testrun::selection::Selection;
use crate::testrun::tool::Tool;

const CONFIG: &str = "nextest.toml";

pub struct Nextest;

impl Tool for Nextest {
    fn name(&self) -> &'static str {
        "nextest"
    }

    fn title(&self) -> &'static str {
        "cargo-nextest where it is installed"
    }

    fn language(&self) -> Option<Language> {
        Some(Language::Rust)
    }

    fn program(&self, _: &RunContext<'_>, _: &Checked<Read>) -> Program {
        Program::on_path("cargo")
    }

    fn how_to_get(&self, _: &RunContext<'_>, _: &[String]) -> String {
        RunContext::not_found_hint("cargo")
    }
}

impl Runner for Nextest {
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
        cargo::missed(asked, targets, results, true)
    }

    fn switched_off(&self, context: &RunContext<'_>, root: &Path, selection: &Selection) -> Option<Vec<String>> {
        Some(cargo::switched_off(context, root, selection))
    }

    fn found_as(&self) -> &'static str {
        cargo::NAME
    }

    fn plan(&self, wanted: &Wanted<'_>) -> Result<Plan, TestrunError> {
        let mut plan = Plan::of(wanted);
        let path = format!("{}/{REPORT}", wanted.place);
        // What passed shows there whether its process came to the end of the test.
        let text = format!("[profile.replay.junit]\npath = {path:?}\nstore-success-output = true\n");
        plan.files.push((CONFIG, text));
        plan.add(["nextest", "run", "--profile=replay"]);
        plan.add([format!("--tool-config-file=replay:{}/{CONFIG}", wanted.place)]);
        let filters = cargo::select(&mut plan, wanted)?;
        match wanted.selection {
            Selection::Failed(failed) if by_name(failed) => {
                let exact = cargo::paths(failed).map(|name| format!("test(={})", name.replace([')', '\\'], "?")));
                plan.add([format!("--filterset={}", exact.collect::<Vec<_>>().join(" + "))]);
            }
            _ if filters.is_empty() => {}
            _ => {
                plan.add(["--"]);
                plan.add(filters);
            }
        }
        Ok(plan)
    }

    /// The names of the targets that nextest would run.
    fn facts(&self, context: &RunContext<'_>, project: &Checked<Read>, wanted: &Wanted<'_>) -> Facts {
        let parts = cargo::parts(wanted).unwrap_or_default();
        let texts = cargo::manifest_texts(context, project, false);
        let is_meant = |name: &String| {
            let of_part = |part: &CargoPart| match &part.what {
                CargoTargets::Test(test) => test == name,
                CargoTargets::All | CargoTargets::Module(_) => true,
            };
            parts.is_empty() || parts.iter().any(of_part)
        };
        let name = |names: Vec<String>| {
            let first = names.first()?;
            let stem = first.strip_suffix(".rs").and_then(|path| path.rsplit('/').next());
            Some(stem.unwrap_or(first).to_owned())
        };
        let targets = texts.iter().flat_map(|text| own_harness(text, &["[[test]]", "[[bin]]"]));
        let own_harness = targets.filter_map(name).filter(is_meant).collect();
        Facts { own_harness, ..Facts::default() }
    }

    fn nothing_ran(&self, _: &TestResults, exit_code: Option<i32>) -> TestStatus {
        // A filter that matches nothing exits with 4.
        if matches!(exit_code, Some(0 | 4)) { TestStatus::NoTests } else { TestStatus::ConfigError }
    }

    fn note(&self, _: &Selection, results: &TestResults, _: &Path) -> Option<String> {
        cargo::own_harness_note("NOT run by cargo-nextest (`runner: \"cargo\"` does)", results)
    }

    fn hint(&self, _: &RunContext<'_>, report: &TestReport, has_own_harness: bool) -> Option<String> {
        (report.status == TestStatus::ConfigError && has_own_harness).then(|| {
            "a test program with a harness of its own (`harness = false`) may not list its tests as cargo-nextest asks it to; \
             `runner: \"cargo\"` runs it"
                .to_owned()
        })
    }
}
