//! Shared code of Vitest and Jest.

use std::path::Path;

use replay_base::limits::MAX_TEST_NAME_BYTES;
use replay_base::text::escape::show;
use serde_json::Value;

use crate::command::{RunInputs, RunPlan, can_rerun_by_name, escape_regex};
use crate::context::RunContext;
use crate::project::disk::ProjectTree as _;
use crate::project::script::{self, TestScript};
use crate::selection::{FailedTest, TestSelection};

/// Returns a plan with the options of the test script. Options of the run follow them: the last of
/// two wins. Test names cannot be taken as values of a variadic option then.
pub(crate) fn program(wanted: &RunInputs<'_>, subcommand: Option<&str>) -> RunPlan {
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

/// Adds the selection: `changed` for changed tests, or one regular expression over suites and test
/// names.
pub(crate) fn select(plan: &mut RunPlan, wanted: &RunInputs<'_>, changed: &str) {
    if *wanted.selection == TestSelection::Changed {
        plan.add([changed]);
    }
    if let Some(filter) = wanted.filter {
        plan.argv.push(format!("--testNamePattern={filter}"));
    } else if let TestSelection::Failed(failed) = wanted.selection
        && can_rerun_by_name(failed)
    {
        // Vitest 5 puts ` > ` between suites and name, the others a blank; Vitest 3 also has a
        // leading blank.
        let name = |test: &FailedTest| {
            let names: Vec<String> = test.names.iter().map(|name| escape_regex(name)).collect();
            names.join("(?: >)? ")
        };
        let names: Vec<String> = failed.iter().map(name).collect();
        plan.argv
            .push(format!("--testNamePattern=^ ?(?:{})$", names.join("|")));
    }
}

/// Returns the settings of the project's test script for this runner, and a note on the applied
/// ones. Returns the omissions too.
pub(crate) fn script(
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
            "from the test script of package.json: {}",
            excerpt(&heeded.join(" "))
        )
    });
    let left_out = script
        .unheeded
        .as_deref()
        .map(|text| format!("the test script of package.json: `{}`", excerpt(text)));
    (script, note.into_iter().collect(), left_out)
}

/// Returns the beginning of words from a project.
fn excerpt(words: &str) -> String {
    show(&words.as_bytes()[..words.floor_char_boundary(MAX_TEST_NAME_BYTES)]).into_owned()
}
