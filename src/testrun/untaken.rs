//! Files of tests that the project's configuration does not take for such: a runner says nothing of them.

mod cargo;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::detect::Tree as _;
use super::files::written;
use super::ground::Ground;
use super::missed::absolute;
use super::model::{TestRunner, TestStatus};
use super::plan::Which;
use super::reports::Parsed;
use crate::limits::{MAX_KEPT_TESTS, MAX_NAMED_UNTAKEN};

/// A run, as far as it matters here.
pub struct Run<'a> {
    /// What ran.
    pub runner: TestRunner,
    /// Which tests were asked for.
    pub which: &'a Which,
    /// Whether names had to match something besides.
    pub is_filtered: bool,
    /// How it ended.
    pub status: TestStatus,
    /// What was asked for by name and did not run.
    pub missed: &'a [String],
    /// Where it began.
    pub root: &'a Path,
}

/// One sentence on what was named, or else on what has a name of a test, and is none to the configuration.
pub fn told(ground: &Ground<'_>, run: &Run<'_>, parsed: &Parsed) -> Option<String> {
    if matches!(run.runner, TestRunner::CargoTest | TestRunner::Nextest) {
        let off = cargo::switched_off(ground, run);
        return listed(off).map(|off| format!("not run, as Cargo.toml says: {off}"));
    }
    let is_known = !parsed.takes.is_empty();
    let names = names(run.runner)?;
    let (what, files) = match run.which {
        // pytest takes whatever is named. Where Jest finds nothing, its reporter is not asked.
        Which::Targets(_) if run.runner != TestRunner::Pytest && (is_known || run.status == TestStatus::NoTests) => {
            ("named", run.missed.to_vec())
        }
        Which::All if !run.is_filtered && is_through(run.status, parsed) => {
            ("named like tests", unseen(ground, run, parsed, &names)?)
        }
        _ => return None,
    };
    let files = listed(files)?;
    let takes = if is_known { format!(" ({})", parsed.takes.join(", ")) } else { String::new() };
    Some(format!("{what}, and not taken by the configuration{takes}: {files}"))
}

/// The first of them, and how many more there are; `None` if there is none.
fn listed(mut files: Vec<String>) -> Option<String> {
    let more = files.len().saturating_sub(MAX_NAMED_UNTAKEN);
    files.truncate(MAX_NAMED_UNTAKEN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!files.is_empty()).then(|| format!("{}{more}", files.join(", ")))
}

/// What files of tests are called, and directories in which they are copies.
struct Names {
    globs: &'static [&'static str],
    made: &'static [&'static str],
}

/// Where the runner tells which files it took up.
fn names(runner: TestRunner) -> Option<Names> {
    match runner {
        TestRunner::Vitest | TestRunner::Jest => {
            Some(Names { globs: &["**/*.{test,spec}.{js,jsx,ts,tsx,mjs,mts,cjs,cts}"], made: &["dist", "build"] })
        }
        TestRunner::Pytest => Some(Names { globs: &["**/test_*.py", "**/*_test.py"], made: &[] }),
        _ => None,
    }
}

/// Whether each file had its turn.
fn is_through(status: TestStatus, parsed: &Parsed) -> bool {
    let is_known = parsed.files.len() < MAX_KEPT_TESTS && parsed.unreached.is_empty() && parsed.summary.not_run == 0;
    is_known && matches!(status, TestStatus::Passed | TestStatus::Failed | TestStatus::NoTests)
}

/// Files with names of tests that the runner did not take up, and of which nothing else was said.
fn unseen(ground: &Ground<'_>, run: &Run<'_>, parsed: &Parsed, names: &Names) -> Option<Vec<String>> {
    let project = ground.disk().directory(run.root).ok()?;
    let seen: BTreeSet<PathBuf> = parsed.files.iter().map(|file| absolute(run.root, file)).collect();
    let is_told = |name: &str| {
        parsed.told.contains(name) || parsed.told.iter().any(|told| told.ends_with('/') && name.starts_with(told.as_str()))
    };
    // One without a test in it is a helper.
    let has_tests = |file: &Path| {
        run.runner != TestRunner::Pytest || ground.disk().text(file).is_some_and(|text| text.contains("def test"))
    };
    let found = written(ground.call(), &project, names.globs, names.made).ok()?;
    let found = found.iter().filter(|file| !seen.contains(*file));
    let named = found.filter_map(|file| {
        let name = file.strip_prefix(run.root).ok()?.to_str()?;
        (!is_told(name) && has_tests(file)).then(|| name.to_owned())
    });
    Some(named.collect())
}
