//! Test runner of Node itself (`node:test`), with the bundled reporter (`node/reporter.mjs`).

use crate::prelude::*;

const REPORTER: Reporter = Reporter {
    file: "replay-node.mjs",
    text: concat!(include_str!("common.js"), include_str!("node/reporter.mjs")),
};

/// Name of the module that notices an early exit.
const EXIT: &str = "replay-exit.cjs";

/// Test runner of Node 18 and newer.
pub(crate) struct Node;

impl ProjectTool for Node {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(
            Language::JavaScript,
            "node",
            "node:test of Node 18 and newer",
            "node",
        )
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        node::script_sign(level, "node --test", &runs_tests).or_else(|| {
            let test = node::importing_test(level, "node:test", Path::new("test"))?;
            Some((SignWeight::Habit, format!("{test} imports node:test")))
        })
    }
}

/// Returns true if a script calls Node or tsx with `--test`.
fn runs_tests(script: &str) -> bool {
    script.split(['&', ';', '|']).any(|command| {
        let is_node = |word: &&str| ["node", "tsx"].contains(word);
        let mut words = command.split_whitespace().skip_while(|word| !is_node(word));
        words.any(|word| word == "--test")
    })
}

impl Runner for Node {
    /// Node has no list of the files that a change affects: finds them by name.
    fn affected(&self, project: &Path, changes: &GitChanges) -> Option<AffectedTests> {
        Some(javascript::affected(project, changes))
    }

    fn valued_options(&self) -> Option<&'static str> {
        Some("")
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = javascript::program(wanted, Some("--test"));
        plan.use_reporter(wanted, &REPORTER);
        plan.files
            .push((EXIT, include_str!("node/exit.cjs").to_owned()));
        plan.add([
            format!("--require={}/{EXIT}", wanted.place),
            format!("--test-reporter={}/{}", wanted.place, REPORTER.file),
            // It writes nothing there.
            "--test-reporter-destination=stderr".to_owned(),
            // For the log.
            "--test-reporter=spec".to_owned(),
            "--test-reporter-destination=stdout".to_owned(),
        ]);
        plan.select_names(wanted, "--test-name-pattern", |failed| {
            // Node 18 and 20 run a test only if its suites match, too.
            let names: BTreeSet<&String> = failed.iter().flat_map(|test| &test.names).collect();
            let names = names.into_iter().map(|name| escape_regex(name));
            format!("^{}$", any_of(names))
        });
        plan.add(javascript::script_paths(wanted, |dir| in_dir(wanted, dir)));
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        event_reader::read(sources, bound, &javascript::STYLE).finish()
    }
}

/// Returns the files of a directory that Node takes for tests; the directory itself if there is
/// none. Node from 21 on takes no directories.
fn in_dir(wanted: &RunInputs<'_>, dir: String) -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.clone()];
    while let Some(dir) = dirs.pop() {
        for name in wanted
            .tree
            .names(&wanted.project.join(&dir))
            .unwrap_or_default()
        {
            let path = if dir == "." {
                name.clone()
            } else {
                format!("{dir}/{name}")
            };
            if wanted.tree.names(&wanted.project.join(&path)).is_some() {
                dirs.extend((name != "node_modules" && !name.starts_with('.')).then_some(path));
            } else if is_test(&path) {
                found.push(path);
            }
        }
    }
    // Not every Node runs TypeScript without an option.
    if wanted.script.node.is_empty() && found.iter().any(|file| file.ends_with("js")) {
        found.retain(|file| file.ends_with("js"));
    }
    found.sort();
    if found.is_empty() { vec![dir] } else { found }
}

/// Returns true if Node takes a file for a test
/// (<https://nodejs.org/api/test.html#running-tests-from-the-command-line>).
fn is_test(path: &str) -> bool {
    let (dirs, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, extension) = name.rsplit_once('.').unwrap_or_default();
    let is_named = stem == "test"
        || stem.starts_with("test-")
        || [".test", "-test", "_test"]
            .iter()
            .any(|end| stem.ends_with(end));
    ["js", "mjs", "cjs", "ts", "mts", "cts"].contains(&extension)
        && stem.rsplit('.').next() != Some("d")
        && (is_named || dirs.split('/').any(|dir| dir == "test"))
}
