//! `cargo test`: parses its text output.

mod report;

use super::nextest::Nextest;
use crate::prelude::*;
use crate::project::cargo::own_harness;

pub(crate) struct CargoTest;

impl ProjectTool for CargoTest {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::Rust, cargo::NAME, "cargo test", "cargo")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level.sign_of_file("Cargo.toml")
    }
}

impl Runner for CargoTest {
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    fn missed<'t>(&self, evidence: &Evidence<'_>, named: &[&'t NamedPath]) -> Vec<&'t NamedPath> {
        cargo::missed(evidence, named, false)
    }

    fn substitute(&self, context: &RunContext<'_>, project: &Checked<Read>) -> Substitution {
        let why = "run by cargo-nextest, since it is installed; doc tests are not run (`runner: \
            \"cargo\"` runs them)";
        Ok(context
            .is_installed(project, "cargo-nextest")?
            .then_some((&Nextest, why)))
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = RunPlan {
            report: ReportPlace::Stdout,
            ..RunPlan::of(wanted)
        };
        plan.add(["test"]);
        let filters = cargo::select(&mut plan, wanted)?;
        match wanted.named_failures() {
            Some(failed) => {
                plan.add(["--", "--exact"]);
                plan.add(cargo::paths(failed));
            }
            None => cargo::add_filters(&mut plan, filters),
        }
        Ok(plan)
    }

    /// Cargo names the programs that it runs, so all targets with a harness of their own are
    /// listed.
    fn facts(
        &self,
        context: &RunContext<'_>,
        project: &Checked<Read>,
        _: &RunInputs<'_>,
    ) -> ProjectFacts {
        let tables = ["[lib]", "[[bin]]", "[[test]]", "[[bench]]", "[[example]]"];
        let texts = cargo::manifest_texts(context, project, true);
        let own_harness = texts
            .iter()
            .flat_map(|text| own_harness(text, &tables))
            .flatten()
            .collect();
        ProjectFacts {
            own_harness,
            ..ProjectFacts::default()
        }
    }

    fn count(&self, line: &[u8], counted: &mut TestCount) {
        let Ok(line) = std::str::from_utf8(line) else {
            return;
        };
        if cargo::count_units(line, counted) {
            return;
        }
        if let Some(rest) = line.strip_prefix("running ") {
            let count = rest
                .strip_suffix(" tests")
                .or_else(|| rest.strip_suffix(" test"));
            counted.total += count
                .and_then(|count| count.parse::<u64>().ok())
                .unwrap_or_default();
        } else if line.starts_with("test ")
            && !line.starts_with("test result: ")
            && line.contains(" ... ")
        {
            counted.done += 1;
        }
    }

    fn switched_off(
        &self,
        context: &RunContext<'_>,
        root: &Path,
        which: &TestSelection,
    ) -> Option<Vec<String>> {
        Some(cargo::switched_off(context, root, which))
    }

    fn note(&self, _: &TestSelection, results: &TestResults, _: &Path) -> Option<String> {
        cargo::own_harness_note("NOT counted", results)
    }
}
