//! `dotnet test` of `VSTest`, with its trx reports.

mod report;

use crate::by_language::{dotnet, sources};
use crate::command::ReportPlace;
use crate::prelude::*;

pub(crate) struct Dotnet;

impl ProjectTool for Dotnet {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::DotNet, "dotnet", "dotnet test (VSTest)", "dotnet")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        dotnet::sign(level)
    }
}

impl Runner for Dotnet {
    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let settings = wanted.tree.text(&wanted.project.join("global.json"));
        if settings.is_some_and(|text| text.contains("Microsoft.Testing.Platform")) {
            return Err(TestrunError::arguments(
                "global.json chooses Microsoft.Testing.Platform, whose options differ by project; \
                 use `runner: \"command\"` with `dotnet test --report-trx` as `command`, and its \
                 report as `report`",
            ));
        }
        let mut plan = RunPlan::of(wanted);
        plan.report = ReportPlace::SharedFiles(".trx");
        plan.add(["test"]);
        let mut filters = Vec::new();
        match wanted.selection {
            TestSelection::Changed => {
                return Err(TestrunError::arguments(
                    "`changed` does not apply to dotnet, which names no tests of a file; give \
                     `testFiles` or `filter`",
                ));
            }
            TestSelection::Failed(failed) if can_rerun_by_name(failed) => {
                for test in failed {
                    let name = test.names.last().map_or("", String::as_str);
                    // Parameters are no part of a full name.
                    let name = name.split('(').next().unwrap_or(name);
                    let full = join_full_name(&test.file, name);
                    filters.push(format!("FullyQualifiedName={full}"));
                }
            }
            TestSelection::All | TestSelection::Failed(_) => {}
            TestSelection::Targets(targets) => {
                let is_project = |dir: &Path| {
                    let names = wanted.tree.names(dir).unwrap_or_default();
                    names.iter().any(|name| dotnet::is_build_file(name))
                };
                match targets.as_slice() {
                    [dir] if dir.is_dir && is_project(&dir.path) => {
                        plan.add([safe(dir.below(wanted.project))]);
                    }
                    _ => {
                        let files = sources::of_targets(wanted.tree, targets, Language::DotNet)?;
                        let classes = files.iter().filter_map(|file| class_of(wanted.tree, file));
                        filters.extend(classes.map(|class| format!("FullyQualifiedName~{class}.")));
                    }
                }
            }
        }
        filters.sort();
        filters.dedup();
        let named = filters.join("|");
        let filter = match (named.as_str(), wanted.filter) {
            (named, None) => named.to_owned(),
            ("", Some(filter)) => filter.to_owned(),
            (named, Some(filter)) => format!("({named})&({filter})"),
        };
        if !filter.is_empty() {
            plan.add(["--filter".to_owned(), filter]);
        }
        plan.add(["--logger", "trx", "--blame", "--results-directory"]);
        plan.add([wanted.place]);
        plan.add(dotnet::NO_SERVERS);
        let words = [
            ("DOTNET_CLI_UI_LANGUAGE", "en"),
            ("MSBUILDTERMINALLOGGER", "off"),
        ];
        let words = words.map(|(name, value)| (name, value.to_owned()));
        plan.environment.extend(words);
        Ok(plan)
    }

    fn count(&self, line: &[u8], counted: &mut TestCount) {
        let line = String::from_utf8_lossy(line);
        if line.starts_with(report::BEGIN) {
            counted.has_begun = true;
        } else if let Some((project, _)) = line.trim_start().split_once(" -> ") {
            // Each built project is told with its output.
            project.clone_into(&mut counted.building);
        }
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    /// Reports name classes, not files.
    fn missed<'t>(&self, evidence: &Evidence<'_>, named: &[&'t NamedPath]) -> Vec<&'t NamedPath> {
        let has_run = |target: &&NamedPath| {
            let class = class_of(evidence.tree, &target.path).unwrap_or_default();
            evidence.results.tests.iter().any(|test| {
                let rest = test.id.strip_prefix(&class);
                rest.is_some_and(|rest| rest.starts_with([' ', '+']))
            })
        };
        let files = named.iter().copied().filter(|target| !target.is_dir);
        files.filter(|target| !has_run(target)).collect()
    }
}

/// Returns the full name of the class of a file, by the convention of one class a file.
fn class_of(tree: &dyn crate::project::disk::ProjectTree, file: &Path) -> Option<String> {
    let keyword = match file.extension()?.to_str()? {
        "vb" => "Namespace",
        _ => "namespace",
    };
    sources::class_of(tree, file, keyword)
}

/// Returns the full name of a test, escaped for a filter.
fn join_full_name(class: &str, name: &str) -> String {
    let full = if class.is_empty() || name.starts_with(class) {
        name.to_owned()
    } else {
        // Nested classes have a plus.
        format!("{class}.{name}")
    };
    let mut escaped = String::new();
    for next in full.chars() {
        if "\\()&|=!~".contains(next) {
            escaped.push('\\');
        }
        escaped.push(next);
    }
    escaped
}
