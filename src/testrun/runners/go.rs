//! `go test -json`.

mod report;

use std::path::PathBuf;

use replay_base::limits::{MAX_LEFT_OUT, MAX_RUN_FAULTS, MAX_TEST_FILES};
use replay_environment::toolchains::GO_MODULES;

use crate::listing::listed;
use crate::prelude::*;

/// `go test`.
pub(crate) struct Go;

impl ProjectTool for Go {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::Go, "go", "go test", "go")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level
            .sign_of_file("go.mod")
            .or_else(|| level.sign_of_file("go.work"))
    }
}

impl Runner for Go {
    /// Selects the modules of a workspace (`go.work`) without a module at its root, since `./...`
    /// matches nothing there. If the root is a module, the others are omitted.
    fn whole(&self, context: &RunContext<'_>, project: &Path) -> (TestSelection, Option<String>) {
        let text = |name: &str| context.disk().text(&project.join(name));
        let modules = text("go.work")
            .map(|work| go::modules(&work))
            .unwrap_or_default();
        if text("go.mod").is_some() {
            let others = modules.into_iter().filter(|module| module != ".").collect();
            let named = listed(others, MAX_LEFT_OUT);
            let note = named.map(|named| format!("other modules of go.work: {named}"));
            return (TestSelection::All, note);
        }
        let below = modules
            .iter()
            .map(|module| project.join(module))
            .filter(|dir| dir.starts_with(project));
        let targets: Vec<NamedPath> = below
            .take(MAX_TEST_FILES)
            .map(|dir| NamedPath::whole(dir, true))
            .collect();
        if targets.is_empty() {
            return (TestSelection::All, None);
        }
        (TestSelection::Targets(targets), None)
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = RunPlan {
            report: ReportPlace::Stdout,
            ..RunPlan::of(wanted)
        };
        plan.add(["test", "-json"]);
        if let Some(filter) = wanted.filter {
            plan.add([format!("-run={filter}")]);
        }
        match wanted.selection {
            TestSelection::Failed(failed) => {
                let mut names: Vec<String> = failed
                    .iter()
                    .filter_map(|test| test.names.first())
                    .map(|name| escape_regex(name))
                    .collect();
                names.sort();
                names.dedup();
                if can_rerun_by_name(failed) {
                    plan.add([format!("-run=^(?:{})$", names.join("|"))]);
                }
                plan.add(paths(wanted, PathStyle::Exact));
            }
            TestSelection::Targets(targets) => plan.add(go::packages(wanted.project, targets)),
            TestSelection::All | TestSelection::Changed => plan.argv.push("./...".to_owned()),
        }
        Ok(plan)
    }

    fn facts(
        &self,
        context: &RunContext<'_>,
        project: &Checked<Read>,
        _: &RunInputs<'_>,
    ) -> ProjectFacts {
        ProjectFacts {
            go_package: go::import_path(&context.disk(), project.display_path()),
            ..ProjectFacts::default()
        }
    }

    fn count(&self, line: &[u8], counted: &mut TestCount) {
        let Ok(event) = serde_json::from_slice::<GoProgress>(line) else {
            return;
        };
        let has_ended =
            !event.test.is_empty() && matches!(event.action.as_str(), "pass" | "fail" | "skip");
        counted.done += u64::from(has_ended);
        // test2json(1): the test program is about to be executed.
        counted.has_begun |= event.action == "start" || event.action == "run";
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    fn missed<'t>(&self, evidence: &Evidence<'_>, named: &[&'t NamedPath]) -> Vec<&'t NamedPath> {
        let packages: HashSet<&str> = evidence
            .results
            .tests
            .iter()
            .map(|test| (self as &dyn Runner).file_of(&test.id))
            .collect();
        let missed: Vec<&NamedPath> = named
            .iter()
            .copied()
            .filter(|target| !has_run(evidence, target, &packages))
            .collect();
        // With a filter Go does not report each package; it is only known if no test of any package
        // ran.
        if evidence.is_filtered && missed.len() < named.len() {
            Vec::new()
        } else {
            missed
        }
    }

    fn download(&self, context: &RunContext<'_>) -> Option<&'static str> {
        context
            .launcher
            .variable(GO_MODULES)
            .map(|_| "go mod download")
    }

    /// Finds them by the declarations in the package's files. Files with a build constraint may not
    /// belong to the package.
    fn unreported(&self, evidence: &Evidence<'_>) -> Vec<String> {
        let results = evidence.results;
        let dead = results
            .failures
            .iter()
            .filter(|case| matches!(case.state, State::Crashed | State::TimedOut));
        let packages: BTreeSet<&str> = dead
            .filter_map(|case| case.suite.first())
            .map(String::as_str)
            .collect();
        let ids = results
            .tests
            .iter()
            .map(|test| &test.id)
            .chain(&results.unfinished);
        let told: HashSet<(&str, &str)> = ids
            .filter_map(|id| id.split_once(" > "))
            .map(|(package, name)| (package, name.split('/').next().unwrap_or(name)))
            .collect();
        let mut behind = Vec::new();
        for package in packages {
            let Some(dir) = dir_of(evidence, package) else {
                continue;
            };
            let mut files = evidence.tree.names(&dir).unwrap_or_default();
            files.retain(|name| name.ends_with("_test.go"));
            files.sort();
            for text in files
                .iter()
                .filter_map(|name| evidence.tree.text(&dir.join(name)))
            {
                if !text.lines().any(|line| line.starts_with("//go:build ")) {
                    let names = declared(&text).filter(|name| !told.contains(&(package, *name)));
                    behind.extend(names.map(|name| join_id([package, name])));
                }
            }
        }
        behind.truncate(MAX_RUN_FAULTS);
        behind
    }
}

/// Returns the directory of a package in the project.
fn dir_of(evidence: &Evidence<'_>, package: &str) -> Option<PathBuf> {
    let below = package
        .strip_prefix(&*evidence.facts.go_package)
        .filter(|_| !evidence.facts.go_package.is_empty())?;
    Some(if below.is_empty() {
        evidence.project.to_path_buf()
    } else {
        evidence.project.join(below.strip_prefix('/')?)
    })
}

fn has_run(evidence: &Evidence<'_>, target: &NamedPath, packages: &HashSet<&str>) -> bool {
    let dir = target.dir();
    let Ok(below) = dir.strip_prefix(evidence.project) else {
        return true;
    };
    if evidence.facts.go_package.is_empty() {
        return true;
    }
    let package = match below.to_str() {
        Some("") => evidence.facts.go_package.clone(),
        Some(below) => format!("{}/{below}", evidence.facts.go_package),
        None => return true,
    };
    if target.is_dir {
        let inside = format!("{package}/");
        return packages
            .iter()
            .any(|name| *name == package || name.starts_with(&inside));
    }
    if !packages.contains(package.as_str()) {
        return false;
    }
    // Other files of the package ran. If a build constraint excludes this one, none of its tests is
    // in the report.
    let text = evidence.tree.text(&target.path).unwrap_or_default();
    let names: HashSet<&str> = declared(&text).collect();
    let of_test = |id: &str| {
        let (of, name) = id.split_once(" > ").unwrap_or(("", id));
        of == package && names.contains(name.split('/').next().unwrap_or(name))
    };
    names.is_empty() || evidence.results.tests.iter().any(|test| of_test(&test.id))
}

/// Returns the tests that a Go file declares: `func TestName(t *testing.T)`, and fuzz targets.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let name = line.strip_prefix("func ")?.split('(').next()?;
        ((name.starts_with("Test") && name != "TestMain") || name.starts_with("Fuzz"))
            .then_some(name)
    })
}

#[derive(Deserialize)]
struct GoProgress {
    #[serde(default, rename = "Action")]
    action: String,
    #[serde(default, rename = "Test")]
    test: String,
}
