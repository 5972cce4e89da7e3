//! Shared code of the runners for JavaScript.

use std::path::Path;

use replay_base::limits::{MAX_TEST_FILES, MAX_TEST_NAME_BYTES};
use replay_base::text::escape::show;
use replay_base::text::glob::is_glob;
use serde_json::Value;

use crate::changes::{AffectedTests, FileEffect, GitChanges};
use crate::command::{PathStyle, RunInputs, RunPlan, any_of, escape_regex, paths, safe};
use crate::context::RunContext;
use crate::model::Phase;
use crate::project::disk::ProjectTree;
use crate::project::files::{self, NamedPath};
use crate::project::language::Language;
use crate::project::node;
use crate::project::script::{self, ScriptPath, ScriptRunner, TestScript};
use crate::reports::collector::ResultCollector;
use crate::reports::event_reader::{self, EventStyle, FileProblem};
use crate::reports::events::ReportedError;
use crate::reports::results::Sources;
use crate::reports::stack;
use crate::selection::{FailedTest, TestSelection};

/// Reading of the events of reporters that give errors in parts.
pub(crate) const STYLE: EventStyle = EventStyle {
    excluding: "the project's configuration",
    file_error,
    ..event_reader::STYLE
};

/// Returns a plan with the options of the test script. Options of the run follow them: the last of
/// two wins. Test names cannot be taken as values of a variadic option then.
pub(crate) fn program(wanted: &RunInputs<'_>, subcommand: Option<&str>) -> RunPlan {
    let mut plan = RunPlan::of(wanted);
    let at = usize::from(plan.argv.first().is_some_and(|word| word == "node"));
    plan.argv.splice(
        at..at,
        wanted.script.node.iter().filter(|_| at == 1).cloned(),
    );
    plan.add(subcommand.map(str::to_owned));
    plan.add(wanted.script.options.iter().cloned());
    plan
}

/// Adds the selection: one regular expression over suites and test names, with the option `pattern`.
pub(crate) fn select(plan: &mut RunPlan, wanted: &RunInputs<'_>, pattern: &str) {
    // Vitest 5 puts ` > ` between suites and name, the others a blank; Vitest 3 also has a leading
    // blank.
    let name = |test: &FailedTest| {
        let names: Vec<String> = test.names.iter().map(|name| escape_regex(name)).collect();
        names.join("(?: >)? ")
    };
    plan.select_names(wanted, pattern, |failed| {
        format!("^ ?{}$", any_of(failed.iter().map(name)))
    });
}

/// Returns the settings of the project's test script for this runner, and a note on the applied
/// ones. Returns the omissions too.
pub(crate) fn script(
    context: &RunContext<'_>,
    project: &Path,
    runner: ScriptRunner<'_>,
) -> (TestScript, Vec<String>, Option<String>) {
    let Some((file, text)) = test_script(&context.disk(), project, runner.name)
        .filter(|(_, text)| !text.contains("no test specified"))
    else {
        return Default::default();
    };
    let mut script = script::read(&text, runner);
    let names = script.environment.iter().map(|(name, _)| name);
    let heeded: Vec<&str> = names
        .chain(&script.node)
        .chain(&script.options)
        .chain(script.paths.iter().map(|path| &path.text))
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
    let given = std::mem::take(&mut script.paths).into_iter();
    script.paths = given
        .flat_map(|path| expanded(context, project, path))
        .collect();
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
        let script = script::with_scripts(script, |name| manifest[scripts][name].as_str());
        Some((*file, script))
    })
}

/// Returns the files that a glob matches, or the path itself: also for a glob that may match
/// directories, which the runner searches itself.
fn expanded(context: &RunContext<'_>, project: &Path, path: ScriptPath) -> Vec<ScriptPath> {
    let text = path.text.trim_start_matches("./");
    let name = text.rsplit('/').next().unwrap_or_default();
    if !is_glob(text) || !name.contains('.') {
        return vec![path];
    }
    // A shell knows no `**`, and leaves braces to the program.
    let glob = if path.is_of_shell && !text.contains('{') {
        text.replace("**", "*")
    } else {
        text.to_owned()
    };
    let dir = context.disk().directory(project).ok();
    let found = dir.and_then(|dir| files::matching(context.call(), &dir, &glob).ok());
    match found {
        Some(found) if (1..=MAX_TEST_FILES).contains(&found.len()) => found
            .into_iter()
            .map(|file| ScriptPath {
                text: NamedPath::whole(file, false).below(project),
                is_of_shell: false,
            })
            .collect(),
        _ => vec![path],
    }
}

/// Returns the paths for the command line: the selected ones, or else those of the script. For a
/// directory these are the paths of the script in it, or else `in_dir`.
pub(crate) fn script_paths(
    wanted: &RunInputs<'_>,
    in_dir: impl Fn(String) -> Vec<String>,
) -> Vec<String> {
    let own = || wanted.script.paths.iter().map(|path| path.text.clone());
    let TestSelection::Targets(targets) = wanted.selection else {
        let named = paths(wanted, PathStyle::Exact);
        return if named.is_empty() {
            own().map(safe).collect()
        } else {
            named
        };
    };
    let found = targets.iter().flat_map(|target| {
        let path = target.below(wanted.project);
        if !target.is_dir {
            return vec![path];
        }
        let inside: Vec<String> = own()
            .filter(|own| Path::new(own.trim_start_matches("./")).starts_with(&path))
            .collect();
        if inside.is_empty() {
            in_dir(path)
        } else {
            inside
        }
    });
    found.map(safe).collect()
}

/// Returns the glob for the tests beside a source, for a runner that takes files by the ends of their
/// names.
pub(crate) fn tests_by_ending(stem: &str) -> String {
    format!("**/{stem}{{.,_}}{{test,spec}}.{{js,jsx,ts,tsx,mjs,mts,cjs,cts}}")
}

/// Returns the tests that changes affect, by their names.
pub(crate) fn affected(project: &Path, changes: &GitChanges) -> AffectedTests {
    const TEST_DIRS: [&str; 4] = ["test", "tests", "spec", "__tests__"];
    changes.effects(project, |file, is_there| {
        let is_source = Language::JavaScript.is_source(file);
        let below = file.strip_prefix(project).unwrap_or(file);
        let is_in_tests = below
            .iter()
            .any(|part| TEST_DIRS.iter().any(|dir| part == *dir));
        let stem = file.file_stem().and_then(|stem| stem.to_str());
        if is_there && is_source && (is_in_tests || Language::JavaScript.is_test_name(file)) {
            FileEffect::Target(NamedPath {
                // It may be a helper.
                is_matched: true,
                ..NamedPath::whole(file.to_path_buf(), false)
            })
        } else if let Some(stem) = stem.filter(|stem| is_source && !is_glob(stem)) {
            let names = format!("{{{stem}{{.,-,_}}{{test,spec}},test-{stem}}}.*");
            FileEffect::Glob(format!(
                "{{**/{names},{{**/,}}{{test,tests,spec}}/**/{stem}.*}}"
            ))
        } else {
            FileEffect::Unknown
        }
    })
}

/// Returns an error of a file, or of a suite's hook in it.
fn file_error(root: &str, file: &str, error: &ReportedError) -> FileProblem {
    let file = stack::relative(file, root);
    let frames = error.frames();
    let place = error
        .line
        .map(|line| (line, error.column))
        .or_else(|| stack::place_in(&error.message, file));
    let mut message = match &error.suite {
        Some(suite) => format!("{}: {}", suite.join(" > "), error.text()),
        None => error.text(),
    };
    let place = stack::place_to_fix(place, &frames, file, &mut message);
    FileProblem { message, place }
}

/// Returns the beginning of words from a project.
fn excerpt(words: &str) -> String {
    show(&words.as_bytes()[..words.floor_char_boundary(MAX_TEST_NAME_BYTES)]).into_owned()
}

/// Adds the error with which a file of the project ended the runner as it was loaded, from stderr.
pub(crate) fn add_load_error(collector: &mut ResultCollector<'_>, sources: &Sources<'_>) {
    const MAX_LINES: usize = 20;
    let text = String::from_utf8_lossy(sources.stderr);
    // Syntax errors have their place in a line before the message. Mocha writes words before both.
    let is_own = |file: &str| {
        let path = file.strip_prefix("file://").unwrap_or(file);
        Path::new(path).starts_with(sources.root) && !stack::is_library(path)
    };
    let head = text.lines().find_map(|line| {
        let (file, number) = line.rsplit(' ').next()?.rsplit_once(':')?;
        is_own(file).then(|| (file.to_owned(), number.parse().ok()))
    });
    let frame = || {
        let (_, frames) = stack::split_trace(&text);
        let own = frames.into_iter().find(|frame| is_own(&frame.file))?;
        Some((own.file, own.line))
    };
    let required = || {
        let file = text.lines().find_map(|line| line.strip_prefix("- "))?;
        is_own(file).then(|| (file.to_owned(), None))
    };
    let Some((file, line)) = head.or_else(frame).or_else(required) else {
        return;
    };
    let Some(from) = text.lines().position(|line| line.contains("Error: ")) else {
        return;
    };
    let is_text = |line: &&str| !line.trim_start().starts_with("at ") && !line.trim().is_empty();
    let message: Vec<&str> = text
        .lines()
        .skip(from)
        .take(MAX_LINES)
        .filter(is_text)
        .collect();
    let message = message.join("\n");
    let message = message
        .trim_start()
        .trim_start_matches("Exception during run: ");
    collector.add_file(&file);
    collector
        .add_unreached("any other file, since the runner runs no test if one cannot be loaded");
    collector.file_error(&file, Phase::Collect, message, line, None);
}
