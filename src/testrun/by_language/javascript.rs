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

/// The program, as the test script has it. Options of the run stand behind those of the script: of
/// two the last one counts, and what takes several values does not take the names of tests.
pub fn program(wanted: &WantedRun<'_>, subcommand: Option<&str>) -> RunPlan {
    let mut plan = RunPlan::of(wanted);
    let at = usize::from(plan.argv.first().is_some_and(|word| word == "node"));
    plan.argv.splice(
        at..at,
        wanted.script.node.iter().filter(|_| at == 1).cloned(),
    );
    plan.argv.extend(subcommand.map(str::to_owned));
    plan.argv.extend(wanted.script.options.iter().cloned());
    plan
}

/// What selects changed tests (`changed`), and the names of tests: one regular expression over
/// suites and name.
pub fn select(plan: &mut RunPlan, wanted: &WantedRun<'_>, changed: &str) {
    if *wanted.selection == TestSelection::Changed {
        plan.add([changed]);
    }
    if let Some(filter) = wanted.filter {
        plan.argv.push(format!("--testNamePattern={filter}"));
    } else if let TestSelection::Failed(failed) = wanted.selection
        && by_name(failed)
    {
        // Between suites and name Vitest 5 has ` > `, the others a blank; Vitest 3 has one before
        // the first, too.
        let name = |test: &FailedTest| {
            let names: Vec<String> = test.names.iter().map(|name| escape_regex(name)).collect();
            names.join("(?: >)? ")
        };
        let names: Vec<String> = failed.iter().map(name).collect();
        plan.argv
            .push(format!("--testNamePattern=^ ?(?:{})$", names.join("|")));
    }
}

/// What the test script of a project says of how its tests are run by this runner, and a note on
/// what of it is done; or what is left out.
pub fn script(
    context: &RunContext<'_>,
    project: &Path,
    runner: &str,
) -> (TestScript, Vec<String>, Option<String>) {
    let package = context
        .disk()
        .text(&project.join("package.json"))
        .unwrap_or_default();
    let package: Value = serde_json::from_str(&package).unwrap_or_default();
    let Some(text) = package["scripts"]["test"]
        .as_str()
        .filter(|text| !text.contains("no test specified"))
    else {
        return Default::default();
    };
    let script = script::read(text, runner);
    let names = script.environment.iter().map(|(name, _)| name);
    let heeded: Vec<&str> = names
        .chain(&script.node)
        .chain(&script.options)
        .map(String::as_str)
        .collect();
    let note = (!heeded.is_empty()).then(|| {
        format!(
            "as the test script of package.json says: {}",
            shown(&heeded.join(" "))
        )
    });
    let left_out = script.unheeded.as_deref().map(|text| {
        format!(
            "what the test script of package.json says: `{}`",
            shown(text)
        )
    });
    (script, note.into_iter().collect(), left_out)
}

/// The beginning of words of a project.
fn shown(words: &str) -> String {
    show(&words.as_bytes()[..words.floor_char_boundary(MAX_TEST_NAME_BYTES)]).into_owned()
}
