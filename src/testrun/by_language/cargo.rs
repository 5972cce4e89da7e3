//! Shared code of cargo test and cargo-nextest.

use std::path::{Path, PathBuf};

use replay_files::policy::{Checked, Read};

use crate::command::{RunInputs, RunPlan};
use crate::completeness_input::Evidence;
use crate::context::RunContext;
use crate::error::TestrunError;
use crate::project::cargo::{self, CargoPart, CargoTargets, tables_of};
use crate::project::disk::ProjectTree as _;
use crate::project::files::{NamedPath, matching, matching_sources};
use crate::reports::results::TestResults;
use crate::selection::{FailedTest, TestSelection};
use crate::test_count::TestCount;

/// Name of the checker that Cargo itself runs.
pub(crate) const NAME: &str = "cargo";

/// Returns the requested parts of a workspace; empty for all.
pub(crate) fn parts(wanted: &RunInputs<'_>) -> Result<Vec<CargoPart>, TestrunError> {
    match wanted.selection {
        TestSelection::Targets(targets) => {
            cargo::cargo_parts(wanted.tree, targets, wanted.by_package)
        }
        TestSelection::All | TestSelection::Changed | TestSelection::Failed(_) => Ok(Vec::new()),
    }
}

/// Adds the packages, targets and test names to the command; returns the filters, which come last.
pub(crate) fn select(
    plan: &mut RunPlan,
    wanted: &RunInputs<'_>,
) -> Result<Vec<String>, TestrunError> {
    plan.add(["--no-fail-fast", "--color=never"]);
    // Without a terminal Cargo needs both.
    plan.environment.extend([
        ("CARGO_TERM_PROGRESS_WHEN", "always".to_owned()),
        ("CARGO_TERM_PROGRESS_WIDTH", "80".to_owned()),
    ]);
    let parts = parts(wanted)?;
    let mut packages: Vec<&str> = parts.iter().map(|part| part.package.as_str()).collect();
    packages.dedup();
    plan.add(
        packages
            .iter()
            .map(|package| format!("--package={package}")),
    );
    if packages.is_empty() && cargo::is_workspace(wanted.tree, wanted.project) {
        plan.add(["--workspace"]);
    }
    let mut filters: Vec<String> = wanted.filter.map(str::to_owned).into_iter().collect();
    let all = parts.iter().any(|part| part.what == CargoTargets::All);
    let (mut tests, mut modules) = (Vec::new(), Vec::new());
    for part in &parts {
        match &part.what {
            CargoTargets::Test(name) => tests.push(format!("--test={name}")),
            CargoTargets::Module(module) => modules.push(module.clone()),
            CargoTargets::All => {}
        }
    }
    // Cargo applies targets and filters together, so they cannot express "this file or that
    // module".
    if !all && !tests.is_empty() {
        plan.add(tests);
        if !modules.is_empty() {
            plan.add(["--lib", "--bins"]);
        }
    } else if !all && wanted.filter.is_none() {
        filters.extend(modules.into_iter().filter(|module| !module.is_empty()));
    }
    Ok(filters)
}

/// Begin of Cargo's progress bar. It ends with a carriage return.
const PROGRESS_BAR: &str = "    Building [";
/// Sequence that erases the bar (ECMA-48, EL).
const ERASED: &str = "\x1b[K";

/// Counts what Cargo itself reports: the numbers of its progress bar (`] 143/197: syn, quote`), and
/// the end of the build. Returns false for a line of the test programs.
pub(crate) fn count_units(line: &str, counted: &mut TestCount) -> bool {
    let line = line.strip_prefix(ERASED).unwrap_or(line);
    if let Some(bar) = line.strip_prefix(PROGRESS_BAR) {
        let numbers = bar.split_once("] ").and_then(|(_, rest)| {
            let (built, all) = rest.split(':').next()?.split_once('/')?;
            let numbers: [u64; 2] = [built.parse().ok()?, all.parse().ok()?];
            Some(format!("{} of {} crates", numbers[0], numbers[1]))
        });
        if let Some(numbers) = numbers {
            counted.building = numbers;
        }
        return true;
    }
    let is_built = line.starts_with("    Finished `");
    counted.has_begun |= is_built;
    is_built
}

/// Removes Cargo's progress bars from its output.
pub(crate) fn without_progress(mut output: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(output.len());
    while let Some(at) = memchr::memmem::find(output, PROGRESS_BAR.as_bytes()) {
        kept.extend_from_slice(&output[..at]);
        let bar = &output[at..];
        let Some(end) = memchr::memchr2(b'\r', b'\n', bar).filter(|end| bar[*end] == b'\r') else {
            let (shown, rest) = bar.split_at(PROGRESS_BAR.len());
            kept.extend_from_slice(shown);
            output = rest;
            continue;
        };
        output = &bar[end + 1..];
        output = output.strip_prefix(ERASED.as_bytes()).unwrap_or(output);
    }
    kept.extend_from_slice(output);
    kept
}

/// Passes filters to the test programs.
pub(crate) fn add_filters(plan: &mut RunPlan, filters: Vec<String>) {
    if !filters.is_empty() {
        plan.add(["--"]);
        plan.add(filters);
    }
}

/// Returns the paths of failed tests. libtest would parse a leading dash as an option.
pub(crate) fn paths(failed: &[FailedTest]) -> impl Iterator<Item = String> {
    failed
        .iter()
        .map(|test| test.names.join("::"))
        .filter(|name| !name.starts_with('-'))
}

/// Returns the reason why a filter is invalid.
pub(crate) fn refuse_filter(filter: &str) -> Option<String> {
    filter.starts_with('-').then(|| {
        format!(
            "`filter` is `{filter}`, which cargo's test programs read as an option; give a part \
             of a test's path"
        )
    })
}

/// Returns the manifests of a project: all of them with `all` or for a workspace, else its own.
fn manifests(context: &RunContext<'_>, project: &Checked<Read>, all: bool) -> Vec<PathBuf> {
    let all = all || cargo::is_workspace(&context.disk(), project.display_path());
    let found = if all {
        matching(context.call(), project, "**/Cargo.toml").ok()
    } else {
        None
    };
    found.unwrap_or_else(|| vec![project.display_path().join("Cargo.toml")])
}

/// Returns the texts of these manifests.
pub(crate) fn manifest_texts(
    context: &RunContext<'_>,
    project: &Checked<Read>,
    all: bool,
) -> Vec<String> {
    manifests(context, project, all)
        .iter()
        .filter_map(|manifest| context.disk().text(manifest))
        .collect()
}

/// Returns the note on programs that report no tests.
pub(crate) fn own_harness_note(what: &str, results: &TestResults) -> Option<String> {
    let programs = results.own_harness.join(", ");
    (!programs.is_empty()).then(|| {
        format!(
            "{what}, since they have their own harness (`harness = false`) and report no \
            tests: {programs}"
        )
    })
}

/// Returns the named targets that did not run. With a filter, Cargo does not report deselected
/// tests.
pub(crate) fn missed<'t>(
    evidence: &Evidence<'_>,
    targets: &[&'t NamedPath],
    is_nextest: bool,
) -> Vec<&'t NamedPath> {
    let targets = targets.iter().copied();
    targets
        .filter(|target| !evidence.is_filtered && !has_run(evidence, target, is_nextest))
        .collect()
}

fn has_run(evidence: &Evidence<'_>, target: &NamedPath, is_nextest: bool) -> bool {
    // Cargo finds no tests there, and then tests the whole package.
    let dir = target.path.parent().and_then(Path::file_name);
    let is_untested = dir.is_some_and(|dir| dir == "benches" || dir == "examples");
    if is_untested && !target.is_dir {
        return false;
    }
    let Ok(CargoPart { package, what }) =
        cargo::cargo_part(evidence.tree, target, evidence.by_package)
    else {
        return true;
    };
    let separator = if is_nextest { " " } else { " > " };
    let is_of = |id: &str| {
        let (program, path) = id.split_once(separator).unwrap_or(("", id));
        match &what {
            CargoTargets::All => true,
            CargoTargets::Test(name) if is_nextest => program == format!("{package}::{name}"),
            CargoTargets::Test(name) => {
                program.is_empty()
                    || program.contains(&format!("(tests/{name}.rs"))
                    || program.contains(&format!("(tests/{name}/"))
            }
            CargoTargets::Module(module) => format!("::{path}").contains(&format!("::{module}::")),
        }
    };
    let tests = &evidence.results.tests;
    what == CargoTargets::All || tests.iter().any(|test| is_of(&test.id))
}

/// Returns targets that have tests but are disabled, each with the key that does it. Looks at all
/// targets, or at the named ones. A named library is tested regardless.
pub(crate) fn switched_off(
    context: &RunContext<'_>,
    root: &Path,
    selection: &TestSelection,
) -> Vec<String> {
    let dirs = package_dirs(context, root);
    let off = dirs.iter().flat_map(|dir| of_package(context, dir));
    let is_meant = |path: &Path| match selection {
        TestSelection::All => true,
        TestSelection::Targets(targets) => targets.iter().any(|target| target.path == path),
        TestSelection::Failed(_) | TestSelection::Changed => false,
    };
    let off = off.filter(|(path, _)| is_meant(path));
    off.map(|(path, why)| {
        format!(
            "{} ({why})",
            path.strip_prefix(root).unwrap_or(&path).display()
        )
    })
    .collect()
}

/// Returns true if the documentation of a library has examples that run as tests.
pub(crate) fn has_doc_tests(context: &RunContext<'_>, root: &Path) -> bool {
    package_dirs(context, root).iter().any(|dir| {
        let is_off = is_off(&manifest(context, dir), "[lib]", "doctest");
        let has_library = context.disk().text(&dir.join("src/lib.rs")).is_some();
        has_library && !is_off && has_source(context, dir, "src/**/*.rs", has_example)
    })
}

/// Returns the directories of a project's packages.
fn package_dirs(context: &RunContext<'_>, root: &Path) -> Vec<PathBuf> {
    let project = context.disk().directory(root);
    let manifests = project.map(|project| manifests(context, &project, false));
    let dirs = manifests.unwrap_or_default().into_iter();
    dirs.filter_map(|file| Some(file.parent()?.to_path_buf()))
        .collect()
}

/// Returns the text of a package's manifest.
fn manifest(context: &RunContext<'_>, dir: &Path) -> String {
    context
        .disk()
        .text(&dir.join("Cargo.toml"))
        .unwrap_or_default()
}

/// Returns true if a table of a manifest, such as `[lib]`, sets a key to `false`.
fn is_off(manifest: &str, table: &str, key: &str) -> bool {
    tables_of(manifest, &[table])
        .iter()
        .any(|table| table.off.contains(&key))
}

/// Returns true if doc comments hold a Rust block that runs:
/// <https://doc.rust-lang.org/rustdoc/write-documentation/documentation-tests.html>.
fn has_example(text: &str) -> bool {
    let comments = text.lines().map(str::trim_start);
    let fences = comments.filter_map(|line| {
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))?;
        comment.trim_start().strip_prefix("```")
    });
    // Every second fence ends a block.
    let mut infos = fences.step_by(2).filter_map(|info| info.split(',').next());
    infos.any(|word| {
        matches!(
            word.trim(),
            "" | "rust" | "no_run" | "should_panic" | "compile_fail"
        )
    })
}

/// Returns the untested targets of a package: its paths, each with the reason.
fn of_package(context: &RunContext<'_>, dir: &Path) -> Vec<(PathBuf, &'static str)> {
    let manifest = manifest(context, dir);
    let mut found = Vec::new();
    if is_off(&manifest, "[lib]", "test") && has_source(context, dir, "src/**/*.rs", is_tested) {
        found.push((dir.join("src"), "`test = false` of the library"));
    }
    let declared = tables_of(&manifest, &["[[test]]"]);
    let names = |file: &Path| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let path = file.strip_prefix(dir).unwrap_or(file).to_string_lossy();
        [stem.into_owned(), path.into_owned()]
    };
    let Ok(package) = context.disk().directory(dir) else {
        return found;
    };
    for file in matching(context.call(), &package, "tests/*.rs").unwrap_or_default() {
        let names = names(&file);
        let own = declared
            .iter()
            .find(|table| table.named.iter().any(|name| names.contains(name)));
        match own {
            Some(own) if own.off.contains(&"test") => found.push((file, "`test = false`")),
            None if is_off(&manifest, "[package]", "autotests")
                && context
                    .disk()
                    .text(&file)
                    .is_some_and(|text| is_tested(&text)) =>
            {
                found.push((file, "`autotests = false`"));
            }
            _ => {}
        }
    }
    found
}

/// Returns true if a source of a package meets a condition.
fn has_source(
    context: &RunContext<'_>,
    dir: &Path,
    glob: &str,
    is_it: impl Fn(&str) -> bool,
) -> bool {
    let Ok(package) = context.disk().directory(dir) else {
        return false;
    };
    let files = matching_sources(context.call(), &package, &[glob], &[]).unwrap_or_default();
    let mut texts = files.iter().filter_map(|file| context.disk().text(file));
    texts.any(|text| is_it(&text))
}

/// Returns true if a source holds a test.
fn is_tested(text: &str) -> bool {
    text.contains("#[test]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_example_counts_only_if_run() {
        let of = |info: &str| {
            has_example(&format!(
                "    /// Adds.\n    /// ```{info}\n    /// x\n    /// ```\n"
            ))
        };
        assert_eq!(
            ["", "rust", "no_run,edition2021", "text", "ignore", "sh"].map(of),
            [true, true, true, false, false, false]
        );
        assert!(!has_example("// ```\n// x\n// ```\n"));
    }
}
