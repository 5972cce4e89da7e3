//! `cargo test`, by its text.

mod report;

use super::nextest::Nextest;
use crate::testrun::prelude::*;
use crate::testrun::project::cargo::own_harness;

pub struct CargoTest;

impl Tool for CargoTest {
    fn about(&self) -> &'static About {
        &About { name: cargo::NAME, title: "cargo test", language: Some(Language::Rust), origin: Origin::Path("cargo") }
    }

    fn sign(&self, level: &Level<'_>) -> Sign {
        level.named("Cargo.toml")
    }
}

impl Runner for CargoTest {
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    fn missed<'t>(&self, evidence: &Evidence<'_>, targets: &[&'t Target], results: &TestResults) -> Vec<&'t Target> {
        cargo::missed(evidence, targets, results, false)
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
            _ => cargo::add_filters(&mut plan, filters),
        }
        Ok(plan)
    }

    /// Cargo tells which programs it runs: all that have a harness of their own are asked for.
    fn facts(&self, context: &RunContext<'_>, project: &Checked<Read>, _: &Wanted<'_>) -> ProjectFacts {
        let tables = ["[lib]", "[[bin]]", "[[test]]", "[[bench]]", "[[example]]"];
        let texts = cargo::manifest_texts(context, project, true);
        let own_harness = texts.iter().flat_map(|text| own_harness(text, &tables)).flatten().collect();
        ProjectFacts { own_harness, ..ProjectFacts::default() }
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
