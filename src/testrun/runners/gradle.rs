//! Gradle, with the bundled init script (`gradle/replay.gradle`).

mod report;

use crate::prelude::*;

const REPORTER: Reporter = Reporter {
    file: "replay.gradle",
    text: include_str!("gradle/replay.gradle"),
};

pub(crate) struct Gradle;

impl ProjectTool for Gradle {
    fn about(&self) -> ToolDescription {
        ToolDescription::wrapped("gradle", "Gradle 4 and newer", &jvm::GRADLE)
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        let file = level.names.iter().find(|name| is_build_file(name))?;
        level.sign_of_file(file)
    }
}

fn is_build_file(name: &str) -> bool {
    ["build.gradle", "settings.gradle"]
        .into_iter()
        .any(|file| name.strip_suffix(".kts").unwrap_or(name) == file)
}

impl Runner for Gradle {
    fn has_reporter(&self) -> bool {
        true
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = RunPlan::of(wanted);
        plan.use_reporter(wanted, &REPORTER);
        plan.add([
            format!("--init-script={}/{}", wanted.place, REPORTER.file),
            "--no-daemon".to_owned(),
            "--continue".to_owned(),
            "--console=plain".to_owned(),
        ]);
        // Older versions ignore these properties and refuse the options of the same purpose. A
        // script that listens to tests cannot be cached.
        plan.add([
            "-Dorg.gradle.configuration-cache=false",
            "-Dorg.gradle.unsafe.configuration-cache=false",
            "-Dorg.gradle.unsafe.isolated-projects=false",
            "-Dorg.gradle.logging.level=lifecycle",
        ]);
        let selected = jvm::select(wanted, is_build_file)?;
        let modules = selected.modules.iter();
        plan.add(modules.map(|module| format!("{}:test", module.replace('/', ":"))));
        if selected.modules.is_empty() {
            plan.add(["test"]);
        }
        let has_classes = !selected.classes.is_empty();
        for (class, method) in selected.classes {
            let method = method.map(|method| format!(".{method}"));
            plan.add([format!("--tests={class}{}", method.unwrap_or_default())]);
        }
        if let Some(filter) = wanted.filter.filter(|_| !has_classes) {
            plan.add([format!("--tests={filter}")]);
        }
        Ok(plan)
    }

    /// Counts the events of the report, and reads the names of tasks from the output.
    fn count(&self, line: &[u8], counted: &mut TestCount) {
        if let Ok(event) = serde_json::from_slice(line) {
            counted.add(&event);
        } else if let Some(task) = line.strip_prefix(b"> Task ") {
            counted.building = String::from_utf8_lossy(task).into_owned();
        }
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }
}
