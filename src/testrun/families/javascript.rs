//! What Vitest and Jest have in common.

use std::path::Path;

use serde_json::Value;

use crate::limits::MAX_TEST_NAME_BYTES;
use crate::testrun::command::{RunPlan, WantedRun, by_name, escape_regex};
use crate::testrun::context::RunContext;
use crate::testrun::project::disk::ProjectTree as _;
use crate::testrun::project::script::{self, TestScript};
use crate::testrun::selection::{FailedTest, TestSelection};
use crate::text::escape::show;

/// The configuration that the test script names, what selects changed tests (`changed`), and the names of tests: one regular
/// expression over suites and name.
pub fn select(plan: &mut RunPlan, wanted: &WantedRun<'_>, changed: &str) {
    plan.argv.extend(wanted.script.config.iter().map(|config| format!("--config={config}")));
    if *wanted.selection == TestSelection::Changed {
        plan.add([changed]);
    }
    if let Some(filter) = wanted.filter {
        plan.argv.push(format!("--testNamePattern={filter}"));
    } else if let TestSelection::Failed(failed) = wanted.selection
        && by_name(failed)
    {
        // Between suites and name Vitest 5 has ` > `, the others a blank; Vitest 3 has one before the first, too.
        let name = |test: &FailedTest| {
            let names: Vec<String> = test.names.iter().map(|name| escape_regex(name)).collect();
            names.join("(?: >)? ")
        };
        let names: Vec<String> = failed.iter().map(name).collect();
        plan.argv.push(format!("--testNamePattern=^ ?(?:{})$", names.join("|")));
    }
}

/// What the test script of a project says of how its tests are run by this runner, and notes on what of it is done, and what
/// is not.
pub fn script(context: &RunContext<'_>, project: &Path, runner: &str) -> (TestScript, Vec<String>) {
    let package = context.disk().text(&project.join("package.json")).unwrap_or_default();
    let package: Value = serde_json::from_str(&package).unwrap_or_default();
    let Some(text) = package["scripts"]["test"].as_str().filter(|text| !text.contains("no test specified")) else {
        return (TestScript::default(), Vec::new());
    };
    let mut notes = Vec::new();
    let script = script::read(text, runner);
    let names: Vec<&str> = script.environment.iter().map(|(name, _)| name.as_str()).collect();
    let heeded: Vec<&str> = names.into_iter().chain(script.config.as_deref()).collect();
    if !heeded.is_empty() {
        notes.push(format!("as the test script of package.json says: {}", shown(&heeded.join(", "))));
    }
    if !script.unheeded.is_empty() {
        let words = shown(&script.unheeded.join(" "));
        notes.push(format!("the test script of package.json says more, which is not done: `{words}`"));
    }
    (script, notes)
}

/// The beginning of words of a project.
fn shown(words: &str) -> String {
    show(&words.as_bytes()[..words.floor_char_boundary(MAX_TEST_NAME_BYTES)]).into_owned()
}
