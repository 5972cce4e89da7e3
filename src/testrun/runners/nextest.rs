//! `cargo nextest`, with its `JUnit` XML.

mod report;

use crate::prelude::*;
use crate::project::cargo::{CargoPart, CargoTargets, own_harness};

const CONFIG: &str = "nextest.toml";
/// `CARGO_METADATA_FAILED` of nextest's exit codes.
const METADATA_FAILED: i32 = 102;

pub(crate) struct Nextest;

impl ProjectTool for Nextest {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(
            Language::Rust,
            "nextest",
            "cargo-nextest where it is installed",
            "cargo",
        )
    }
}

impl Runner for Nextest {
    /// Each test has a process of its own.
    fn is_shared(&self) -> bool {
        false
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    fn count(&self, line: &[u8], counted: &mut TestCount) {
        let Ok(line) = std::str::from_utf8(line) else {
            return;
        };
        if cargo::count_units(line, counted) {
            return;
        }
        let line = line.trim_start();
        if let Some(rest) = line.strip_prefix("Starting ") {
            let count = rest.split(' ').next().and_then(|count| count.parse().ok());
            counted.total = count.unwrap_or(counted.total);
        } else if ["PASS [", "FAIL [", "LEAK [", "TIMEOUT [", "SIG"]
            .iter()
            .any(|state| line.starts_with(state))
        {
            counted.done += 1;
        }
    }

    fn missed<'t>(&self, evidence: &Evidence<'_>, named: &[&'t NamedPath]) -> Vec<&'t NamedPath> {
        cargo::missed(evidence, named, true)
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = RunPlan::of(wanted);
        let path = format!("{}/{REPORT}", wanted.place);
        // The output of passed tests shows if their processes reached the end of the test.
        let text =
            format!("[profile.replay.junit]\npath = {path:?}\nstore-success-output = true\n");
        plan.files.push((CONFIG, text));
        plan.add(["nextest", "run", "--profile=replay"]);
        plan.add([format!(
            "--tool-config-file=replay:{}/{CONFIG}",
            wanted.place
        )]);
        let filters = cargo::select(&mut plan, wanted)?;
        match wanted.named_failures() {
            Some(failed) => {
                let exact = cargo::paths(failed)
                    .map(|name| format!("test(={})", name.replace([')', '\\'], "?")));
                plan.add([format!(
                    "--filterset={}",
                    exact.collect::<Vec<_>>().join(" + ")
                )]);
            }
            None => cargo::add_filters(&mut plan, filters),
        }
        Ok(plan)
    }

    /// Returns the names of the targets that nextest would run.
    fn facts(
        &self,
        context: &RunContext<'_>,
        project: &Checked<Read>,
        wanted: &RunInputs<'_>,
    ) -> ProjectFacts {
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
            let stem = first
                .strip_suffix(".rs")
                .and_then(|path| path.rsplit('/').next());
            Some(stem.unwrap_or(first).to_owned())
        };
        let targets = texts
            .iter()
            .flat_map(|text| own_harness(text, &["[[test]]", "[[bin]]"]));
        let own_harness = targets.filter_map(name).filter(is_meant).collect();
        ProjectFacts {
            own_harness,
            ..ProjectFacts::default()
        }
    }

    /// If a filter matches no test, nextest exits with 4.
    fn ended_without_tests(&self, _: &TestResults, exit_code: Option<i32>) -> bool {
        matches!(exit_code, Some(0 | 4))
    }

    fn switched_off(
        &self,
        context: &RunContext<'_>,
        root: &Path,
        which: &TestSelection,
    ) -> Option<Vec<String>> {
        let mut off = cargo::switched_off(context, root, which);
        if *which == TestSelection::All && cargo::has_doc_tests(context, root) {
            off.push("tests in the documentation (`runner: \"cargo\"` runs them)".to_owned());
        }
        Some(off)
    }

    fn note(&self, _: &TestSelection, results: &TestResults, _: &Path) -> Option<String> {
        cargo::own_harness_note(
            "NOT run by cargo-nextest (`runner: \"cargo\"` does)",
            results,
        )
    }

    fn hint(
        &self,
        context: &RunContext<'_>,
        report: &TestReport,
        has_own_harness: bool,
    ) -> Option<String> {
        if report.exit_code == Some(METADATA_FAILED) {
            let who = if context.offline {
                " (commands have no network here, so the operator must run it)"
            } else {
                ""
            };
            return Some(format!(
                "`cargo metadata` failed, which needs the crates of all platforms: use `runner: \
                 \"cargo\"`, which needs fewer, or download them with `cargo fetch`{who}"
            ));
        }
        (report.status == TestStatus::ConfigError && has_own_harness).then(|| {
            "a test program with its own harness (`harness = false`) may not list its tests for \
             cargo-nextest; `runner: \"cargo\"` runs it"
                .to_owned()
        })
    }
}
