//! What a run of tests is read from, and what of the project has to be known for that.

use serde_json::Value;

use super::Request;
use crate::fs::{self, OpenFile, Version};
use crate::limits::{MAX_TEST_NAME_BYTES, MAX_TEST_REPORT_BYTES};
use crate::policy::{Checked, Kind, PolicyError, Read};
use crate::sandbox::Lent;
use crate::testrun::choose::Chosen;
use crate::testrun::detect::Tree as _;
use crate::testrun::files;
use crate::testrun::ground::Ground;
use crate::testrun::model::TestRunner;
use crate::testrun::plan::{CargoPart, CargoTargets, Plan, REPORT};
use crate::testrun::project;
use crate::testrun::script::{self, Script};
use crate::text::escape::show;

/// What the runner left to be read, and what is wrong with it. A report that is as it was before the run (`stale`) is none.
pub(super) fn report_of(
    ground: &Ground<'_>,
    request: &Request<'_>,
    plan: &Plan,
    lent: &Lent,
    project: &Checked<Read>,
    stale: Option<Version>,
) -> (Vec<u8>, Option<String>) {
    let nothing = |why: String| (Vec::new(), Some(why));
    let Some(path) = request.report else {
        let most = if plan.reports { MAX_TEST_REPORT_BYTES } else { 0 };
        return match lent.read(REPORT, 0, most) {
            Ok(bytes) if most > 0 && bytes.len() == most => {
                (bytes, Some(format!("of the runner's report only the first {most} bytes were read")))
            }
            Ok(bytes) => (bytes, None),
            Err(error) => nothing(format!("the runner's report cannot be read: {error}")),
        };
    };
    if stale.is_some() && version_of(ground, project, path) == stale {
        return nothing(format!("`{path}` is as it was before the run"));
    }
    let shown = project.shown().join(path);
    match ground.policy.read(&shown) {
        Ok(file) if file.kind() == Kind::File => match fs::read_all(&file, MAX_TEST_REPORT_BYTES as u64) {
            Ok(bytes) => (bytes, None),
            Err(error) => nothing(error.to_string()),
        },
        Ok(_) => nothing(format!("`{path}` is no regular file")),
        Err(PolicyError::NotFound { .. }) => nothing(format!("the command wrote no `{path}`")),
        Err(error) => nothing(error.to_string()),
    }
}

/// Which version of a report there is.
pub(super) fn version_of(ground: &Ground<'_>, project: &Checked<Read>, report: &str) -> Option<Version> {
    let file = ground.policy.read(project.shown().join(report)).ok()?;
    OpenFile::of(&file).ok().map(|file| file.version())
}

/// The import path of the package in a Go module's directory.
pub(super) fn go_package(ground: &Ground<'_>, runner: TestRunner, project: &Checked<Read>) -> String {
    if runner != TestRunner::Go {
        return String::new();
    }
    let text = ground.disk().text(&project.shown().join("go.mod")).unwrap_or_default();
    let module = text.lines().find_map(|line| line.trim().strip_prefix("module "));
    module.unwrap_or_default().trim().trim_matches('"').to_owned()
}

/// A Cargo workspace's targets with a harness of their own: for `cargo test`, which tells what it runs, names and sources of
/// all of them; for nextest the names of those that it would run.
pub(super) fn own_harness(
    ground: &Ground<'_>,
    runner: TestRunner,
    project: &Checked<Read>,
    parts: &[CargoPart],
) -> Vec<String> {
    let is_workspace = |text: &str| text.lines().any(|line| line.trim() == "[workspace]");
    let manifests = match runner {
        TestRunner::CargoTest => files::matching(ground.call(), project, "**/Cargo.toml").unwrap_or_default(),
        TestRunner::Nextest => {
            let root = project.shown().join("Cargo.toml");
            let all = ground.disk().text(&root).is_some_and(|text| is_workspace(&text));
            let found = files::matching(ground.call(), project, "**/Cargo.toml");
            if all { found.unwrap_or_default() } else { vec![root] }
        }
        _ => return Vec::new(),
    };
    let texts = manifests.iter().filter_map(|manifest| ground.disk().text(manifest));
    if runner == TestRunner::CargoTest {
        let tables = ["[lib]", "[[bin]]", "[[test]]", "[[bench]]", "[[example]]"];
        return texts.flat_map(|text| project::own_harness(&text, &tables)).flatten().collect();
    }
    let is_meant = |name: &String| {
        let of_part = |part: &CargoPart| match &part.what {
            CargoTargets::Test(test) => test == name,
            CargoTargets::All | CargoTargets::Module(_) => true,
        };
        parts.is_empty() || parts.iter().any(of_part)
    };
    let name = |names: Vec<String>| {
        let first = names.first()?;
        let stem = first.strip_suffix(".rs").and_then(|path| path.rsplit('/').next());
        Some(stem.unwrap_or(first).to_owned())
    };
    let targets = texts.flat_map(|text| project::own_harness(&text, &["[[test]]", "[[bin]]"]));
    targets.filter_map(name).filter(is_meant).collect()
}

/// Whether a runner of Cargo begins at the manifest of a workspace.
pub(super) fn is_workspace(ground: &Ground<'_>, chosen: &Chosen, project: &Checked<Read>) -> bool {
    let text = || ground.disk().text(&project.shown().join("Cargo.toml")).unwrap_or_default();
    matches!(chosen.runner, TestRunner::CargoTest | TestRunner::Nextest)
        && text().lines().any(|line| line.trim() == "[workspace]")
}

/// The beginning of words of a project.
fn shown(words: &str) -> String {
    show(&words.as_bytes()[..words.floor_char_boundary(MAX_TEST_NAME_BYTES)]).into_owned()
}

/// What the test script of a project of Node says of how its tests are run. Adds to the notes what of it is done, and what is
/// not.
pub(super) fn script_of(ground: &Ground<'_>, chosen: &mut Chosen, project: &Checked<Read>) -> Script {
    if !matches!(chosen.runner, TestRunner::Vitest | TestRunner::Jest) {
        return Script::default();
    }
    let package = ground.disk().text(&project.shown().join("package.json")).unwrap_or_default();
    let package: Value = serde_json::from_str(&package).unwrap_or_default();
    let Some(text) = package["scripts"]["test"].as_str().filter(|text| !text.contains("no test specified")) else {
        return Script::default();
    };
    let script = script::read(text, chosen.runner);
    let names: Vec<&str> = script.environment.iter().map(|(name, _)| name.as_str()).collect();
    let heeded: Vec<&str> = names.into_iter().chain(script.config.as_deref()).collect();
    if !heeded.is_empty() {
        chosen.notes.push(format!("as the test script of package.json says: {}", shown(&heeded.join(", "))));
    }
    if !script.unheeded.is_empty() {
        let words = shown(&script.unheeded.join(" "));
        chosen.notes.push(format!("the test script of package.json says more, which is not done: `{words}`"));
    }
    script
}
