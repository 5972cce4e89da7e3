//! Tests that a manifest of Cargo switches off (<https://doc.rust-lang.org/cargo/reference/cargo-targets.html>).

use std::path::{Path, PathBuf};

use super::Run;
use crate::testrun::detect::Tree as _;
use crate::testrun::files::{matching, written};
use crate::testrun::ground::Ground;
use crate::testrun::plan::Which;
use crate::testrun::project::tables_of;

/// What has tests and is switched off, each with the key that does it: of all, or of what was named. A library that is named is
/// tested all the same.
pub(super) fn switched_off(ground: &Ground<'_>, run: &Run<'_>) -> Vec<String> {
    let off: Vec<(PathBuf, &str)> = manifests(ground, run.root).iter().flat_map(|dir| of_package(ground, dir)).collect();
    let is_meant = |path: &Path| match run.which {
        Which::All => !run.is_filtered,
        Which::Targets(targets) => targets.iter().any(|target| target.path == path),
        Which::Failed(_) | Which::Changed => false,
    };
    let off = off.iter().filter(|(path, _)| is_meant(path));
    off.map(|(path, why)| format!("{} ({why})", path.strip_prefix(run.root).unwrap_or(path).display())).collect()
}

/// The directories of the packages: that of the project, and of a workspace all below it.
fn manifests(ground: &Ground<'_>, root: &Path) -> Vec<PathBuf> {
    let text = ground.disk().text(&root.join("Cargo.toml")).unwrap_or_default();
    let is_workspace = text.lines().any(|line| line.trim() == "[workspace]");
    let project = ground.disk().directory(root).ok().filter(|_| is_workspace);
    let found = project.and_then(|project| matching(ground.call(), &project, "**/Cargo.toml").ok());
    let dirs = found.map(|found| found.iter().filter_map(|file| Some(file.parent()?.to_path_buf())).collect());
    dirs.unwrap_or_else(|| vec![root.to_path_buf()])
}

/// What a package has and does not test: its own paths, and why.
fn of_package(ground: &Ground<'_>, dir: &Path) -> Vec<(PathBuf, &'static str)> {
    let manifest = ground.disk().text(&dir.join("Cargo.toml")).unwrap_or_default();
    let is_off = |kind: &str, key: &str| tables_of(&manifest, &[kind]).iter().any(|table| table.off.contains(&key));
    let mut found = Vec::new();
    if is_off("[lib]", "test") && has_tests(ground, dir, "src/**/*.rs") {
        found.push((dir.join("src"), "`test = false` of the library"));
    }
    let declared = tables_of(&manifest, &["[[test]]"]);
    let names = |file: &Path| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        [stem, file.strip_prefix(dir).unwrap_or(file).to_string_lossy().into_owned()]
    };
    let Ok(package) = ground.disk().directory(dir) else { return found };
    for file in matching(ground.call(), &package, "tests/*.rs").unwrap_or_default() {
        let names = names(&file);
        let own = declared.iter().find(|table| table.named.iter().any(|name| names.contains(name)));
        match own {
            Some(own) if own.off.contains(&"test") => found.push((file, "`test = false`")),
            None if is_off("[package]", "autotests") && is_tested(ground, &file) => {
                found.push((file, "`autotests = false`"));
            }
            _ => {}
        }
    }
    found
}

fn has_tests(ground: &Ground<'_>, dir: &Path, glob: &str) -> bool {
    let Ok(package) = ground.disk().directory(dir) else { return false };
    let files = written(ground.call(), &package, &[glob], &[]).unwrap_or_default();
    files.iter().any(|file| is_tested(ground, file))
}

/// Whether there is a test in a file.
fn is_tested(ground: &Ground<'_>, file: &Path) -> bool {
    ground.disk().text(file).is_some_and(|text| text.contains("#[test]"))
}
