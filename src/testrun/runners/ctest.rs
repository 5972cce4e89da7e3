//! `CTest`, with its `JUnit` XML for the output of tests.

mod report;

use crate::prelude::*;
use crate::project::signs::open_below;

pub(crate) struct Ctest;

/// Levels below a project at which a build directory may lie, such as `out/build/debug`.
const MAX_BUILD_DEPTH: usize = 3;
/// Configures where needed, builds, prints what the project ignores, and tests. Arguments: the build directory, the part of it that
/// is tested, and arguments of `ctest`.
const SCRIPT: &str = "ctest --version; build=$1 part=$2; shift 2; \
    [ -e \"$build/CMakeCache.txt\" ] || cmake -S . -B \"$build\" || exit; \
    cmake --build \"$build\" -j \"$(nproc)\" || exit; \
    cd \"$build/$part\" || exit; \
    cat CTestCustom.* 2>/dev/null | tr '\\n' ' ' | grep -o 'CTEST_CUSTOM_TESTS_IGNORE [^)]*'; \
    exec ctest \"$@\"";

impl ProjectTool for Ctest {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(
            Language::Cpp,
            "ctest",
            "CTest (CMake 3.21 and newer)",
            "ctest",
        )
    }

    /// The project's top directory enables testing; those below it only add tests.
    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        let text = level.text("CMakeLists.txt");
        let has = |words: &[&str]| {
            let line = |line: &str| words.iter().any(|word| line.trim_start().starts_with(word));
            text.lines().any(line)
        };
        if has(&["enable_testing", "include(CTest"]) {
            return Some(named("CMakeLists.txt enables testing"));
        }
        let is_part = has(&[
            "add_test(",
            "gtest_discover_tests(",
            "catch_discover_tests(",
        ]);
        is_part.then(|| (SignWeight::Habit, "CMakeLists.txt adds tests".to_owned()))
    }
}

impl Runner for Ctest {
    /// Each test has a process of its own.
    fn is_shared(&self) -> bool {
        false
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let refuse = |what: &str| {
            let words = "give names of tests as `filter` (a regular expression)";
            Err(TestrunError::arguments(format!("{what}; {words}")))
        };
        if wanted.filter.is_some_and(|filter| filter.starts_with('-')) {
            return refuse("`filter` begins with `-`, which ctest reads as an option");
        }
        let mut tests = wanted.filter.map(str::to_owned);
        let mut part = String::new();
        match wanted.selection {
            TestSelection::All => {}
            TestSelection::Changed => {
                return refuse("`changed` does not apply to ctest, which knows no files of tests");
            }
            TestSelection::Targets(targets) => match targets.as_slice() {
                [dir] if dir.is_dir => part = dir.below(wanted.project),
                _ => {
                    return refuse(
                        "ctest knows no files of tests; `testFiles` may be one directory",
                    );
                }
            },
            TestSelection::Failed(failed) => {
                let names: Vec<String> = failed
                    .iter()
                    .filter_map(|test| test.names.last())
                    .map(|name| escape_regex(name))
                    .collect();
                let is_whole = names.len() < failed.len() || !can_rerun_by_name(failed);
                tests = (!is_whole).then(|| format!("^({})$", names.join("|")));
            }
        }
        let mut plan = RunPlan::of(wanted);
        let private = format!(
            "{}/ctest{}",
            wanted.tmp,
            wanted.project.to_string_lossy().replace('/', "-")
        );
        let build = build_dir(wanted).unwrap_or(private);
        plan.argv = ["sh", "-c", SCRIPT, "ctest", &build, &part]
            .map(str::to_owned)
            .to_vec();
        plan.add([
            "--output-junit".to_owned(),
            format!("{}/{REPORT}", wanted.place),
        ]);
        plan.add(["--no-tests=error"]);
        if let Some(tests) = tests {
            plan.add(["-R".to_owned(), tests]);
        }
        Ok(plan)
    }

    fn count(&self, line: &[u8], counted: &mut TestCount) {
        let line = String::from_utf8_lossy(line);
        if line.starts_with(report::BEGIN) {
            counted.has_begun = true;
        } else if let Some((numbers, _)) = report::ended_test(&line) {
            (counted.done, counted.total) = numbers;
        } else if let Some(end) = line.find(']')
            && line.starts_with('[')
            && !counted.has_begun
        {
            // Make writes per cent, Ninja `3/40`.
            counted.building = line[1..end].trim().replace('/', " of ");
        }
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        report::parse(sources, bound)
    }

    fn ended_without_tests(&self, results: &TestResults, _: Option<i32>) -> bool {
        results.begun
    }
}

/// Returns the first configured build directory with tests, by depth and name, relative to the
/// project.
fn build_dir(wanted: &RunInputs<'_>) -> Option<String> {
    let paths = open_below(wanted.tree, wanted.project, MAX_BUILD_DEPTH);
    let has = |dir: &str, name: &str| paths.contains(&format!("{dir}/{name}"));
    let dirs = paths
        .iter()
        .filter_map(|path| path.strip_suffix("/CTestTestfile.cmake"))
        .filter(|dir| has(dir, "CMakeCache.txt"));
    let first = dirs.min_by_key(|dir| (dir.matches('/').count(), *dir));
    first.map(str::to_owned)
}
