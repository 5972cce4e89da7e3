//! Shared code of the runners of JavaScript.

use std::path::Path;

use replay_base::limits::MAX_TEST_NAME_BYTES;
use replay_base::text::escape::show;
use replay_base::text::glob::escape;
use serde_json::Value;

use crate::changes::{AffectedTests, GitChanges};
use crate::command::{RunInputs, RunPlan, can_rerun_by_name, escape_regex};
use crate::context::RunContext;
use crate::project::disk::ProjectTree;
use crate::project::language::Language;
use crate::project::node;
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

/// Adds the selection: one regular expression over suites and test names, with the option `pattern`.
pub(crate) fn select(plan: &mut RunPlan, wanted: &RunInputs<'_>, pattern: &str) {
    if let Some(filter) = wanted.filter {
        plan.argv.push(format!("{pattern}={filter}"));
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
            .push(format!("{pattern}=^ ?(?:{})$", names.join("|")));
    }
}

/// Returns the settings of the project's test script for this runner, and a note on the applied
/// ones. Returns the omissions too.
pub(crate) fn script(
    context: &RunContext<'_>,
    project: &Path,
    runner: &str,
) -> (TestScript, Vec<String>, Option<String>) {
    let Some((file, text)) = test_script(&context.disk(), project, runner)
        .filter(|(_, text)| !text.contains("no test specified"))
    else {
        return Default::default();
    };
    let script = script::read(&text, runner);
    let names = script.environment.iter().map(|(name, _)| name);
    let heeded: Vec<&str> = names
        .chain(&script.node)
        .chain(&script.options)
        .map(String::as_str)
        .collect();
    let note = (!heeded.is_empty()).then(|| {
        format!(
            "from the test script of {file}: {}",
            excerpt(&heeded.join(" "))
        )
    });
    let left_out = script
        .unheeded
        .as_deref()
        .map(|text| format!("the test script of {file}: `{}`", excerpt(text)));
    (script, note.into_iter().collect(), left_out)
}

/// Returns the test script of a project, and the file that has it. Deno's tasks come first for Deno.
pub(crate) fn test_script(
    tree: &dyn ProjectTree,
    project: &Path,
    runner: &str,
) -> Option<(&'static str, String)> {
    const SCRIPTS: [(&str, &str); 3] = [
        ("deno.json", "tasks"),
        ("deno.jsonc", "tasks"),
        ("package.json", "scripts"),
    ];
    let first = if runner == "deno" { 0 } else { 2 };
    SCRIPTS[first..].iter().find_map(|(file, scripts)| {
        let text = tree.text(&project.join(file))?;
        let manifest: Value = serde_json::from_str(&node::without_comments(&text)).ok()?;
        let script = &manifest[scripts]["test"];
        let script = script.as_str().or_else(|| script["command"].as_str())?;
        Some((*file, script.to_owned()))
    })
}

/// Returns the tests among changed files, and those named after the others.
pub(crate) fn affected(project: &Path, changes: &GitChanges) -> AffectedTests {
    let tests_of = |file: &Path| {
        let stem = file
            .file_stem()
            .filter(|_| Language::JavaScript.is_source(file))?;
        let stem = escape(stem.to_str()?);
        Some(format!(
            "**/{stem}{{.,_}}{{test,spec}}.{{js,jsx,ts,tsx,mjs,mts,cjs,cts}}"
        ))
    };
    changes.by_name(project, Language::JavaScript, tests_of)
}

/// Returns the beginning of words from a project.
fn excerpt(words: &str) -> String {
    show(&words.as_bytes()[..words.floor_char_boundary(MAX_TEST_NAME_BYTES)]).into_owned()
}
