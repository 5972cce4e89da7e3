//! Cargo packages: their manifests, and the package of a file.

use std::path::{Path, PathBuf};

use super::disk::ProjectTree;
use super::files::NamedPath;
use crate::error::TestrunError;

/// A part of a Cargo workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CargoPart {
    pub package: String,
    pub what: CargoTargets,
}

/// Tested targets of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CargoTargets {
    All,
    /// An integration test (`tests/NAME.rs`).
    Test(String),
    /// Tests whose path contains this text, such as `text::glob`.
    Module(String),
}

/// Returns the packages of a Cargo workspace to which these files and directories belong, and their
/// targets.
pub(crate) fn cargo_parts(
    tree: &dyn ProjectTree,
    targets: &[NamedPath],
    by_package: bool,
) -> Result<Vec<CargoPart>, TestrunError> {
    let parts = targets
        .iter()
        .map(|target| cargo_part(tree, target, by_package));
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    parts.sort();
    parts.dedup();
    Ok(parts)
}

/// Returns the package and the targets of a file or directory.
pub(crate) fn cargo_part(
    tree: &dyn ProjectTree,
    target: &NamedPath,
    by_package: bool,
) -> Result<CargoPart, TestrunError> {
    let inside = if target.is_dir {
        target.path.join("any")
    } else {
        target.path.clone()
    };
    let Some((package, dir)) = package(tree, &inside) else {
        return Err(TestrunError::arguments(format!(
            "`{}` does not belong to a Cargo package",
            target.path.display()
        )));
    };
    let below = inside.strip_prefix(&dir).unwrap_or(Path::new(""));
    let what = if by_package {
        CargoTargets::All
    } else if target.is_dir {
        match cargo_targets(&below.with_file_name("mod.rs").to_string_lossy()) {
            // `src` and `tests` themselves.
            CargoTargets::Module(module) if module == "mod" => CargoTargets::All,
            CargoTargets::Test(name) if name == "mod" => CargoTargets::All,
            what => what,
        }
    } else {
        cargo_targets(&below.to_string_lossy())
    };
    Ok(CargoPart { package, what })
}

/// Returns the targets of a file; `below` is its path below the package's directory.
pub(crate) fn cargo_targets(below: &str) -> CargoTargets {
    let source = below.strip_suffix(".rs");
    if let Some(test) = below.strip_prefix("tests/") {
        let name = test.split('/').next().unwrap_or(test);
        return CargoTargets::Test(name.strip_suffix(".rs").unwrap_or(name).to_owned());
    }
    match source.and_then(|source| source.strip_prefix("src/")) {
        Some("lib" | "main") | None => CargoTargets::All,
        Some(source) if source.starts_with("bin/") => CargoTargets::All,
        Some(source) => {
            let module = source.strip_suffix("/mod").unwrap_or(source);
            CargoTargets::Module(module.replace('/', "::"))
        }
    }
}

/// Returns the package name of the nearest manifest above a file, and the manifest's directory.
fn package(tree: &dyn ProjectTree, file: &Path) -> Option<(String, PathBuf)> {
    for dir in file.ancestors().skip(1) {
        tree.names(dir)?;
        if let Some(text) = tree.text(&dir.join("Cargo.toml"))
            && let Some(name) = package_name(&text)
        {
            return Some((name, dir.to_path_buf()));
        }
    }
    None
}

/// Returns `name` of the table `[package]`.
fn package_name(manifest: &str) -> Option<String> {
    let mut lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[package]")
        .skip(1);
    let line = lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .find(|line| {
            line.strip_prefix("name")
                .is_some_and(|rest| rest.trim_start().starts_with('='))
        })?;
    let value = line.split_once('=')?.1.trim();
    Some(value.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// Returns true if a directory has the manifest of a workspace.
pub(crate) fn is_workspace(tree: &dyn ProjectTree, dir: &Path) -> bool {
    tree.text(&dir.join("Cargo.toml"))
        .is_some_and(|text| text.lines().any(|line| line.trim() == "[workspace]"))
}

/// Returns the targets in a Cargo manifest with `harness = false`: the name and the source file of
/// each, if given. `tables` are the kinds of targets, such as `[[test]]`.
pub(crate) fn own_harness(manifest: &str, tables: &[&str]) -> Vec<Vec<String>> {
    tables_of(manifest, tables)
        .into_iter()
        .filter(|table| table.off.contains(&"harness"))
        .map(|table| table.named)
        .collect()
}

/// A table of a Cargo manifest.
#[derive(Default)]
pub(crate) struct ManifestTable<'a> {
    /// Name and source file, if given.
    pub named: Vec<String>,
    /// Keys whose value is `false`.
    pub off: Vec<&'a str>,
}

/// Returns the tables of these kinds, such as `[[test]]`, in order.
pub(crate) fn tables_of<'a>(manifest: &'a str, tables: &[&str]) -> Vec<ManifestTable<'a>> {
    let mut found: Vec<ManifestTable<'a>> = Vec::new();
    let mut is_target = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            is_target = tables.contains(&line);
            found.extend(is_target.then(ManifestTable::default));
            continue;
        }
        let Some(table) = found.last_mut().filter(|_| is_target) else {
            continue;
        };
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let (key, value) = (key.trim(), value.split('#').next().unwrap_or(value).trim());
        match key {
            "name" | "path" => table.named.push(value.trim_matches(['"', '\'']).to_owned()),
            _ if value == "false" => table.off.push(key),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_targets_without_harness_are_found() {
        let manifest = "[package]\nname = 'x'\n[[test]]\nname = \"own\" \nharness = false # ours\n[[test]]\nname = 'it'\n\
            [[bench]]\nharness=false\npath = \"benches/b.rs\"";
        assert_eq!(
            own_harness(manifest, &["[[test]]", "[[bench]]"]),
            [["own"], ["benches/b.rs"]]
        );
        assert_eq!(own_harness(manifest, &["[[test]]"]), [["own"]]);
        let manifest = "[package]\nautotests = false\n[lib]\ntest = false\n[[test]]\nname = 'it'\n";
        let off = |kinds: &[&str]| {
            tables_of(manifest, kinds)
                .into_iter()
                .map(|table| table.off)
                .collect::<Vec<_>>()
        };
        assert_eq!(off(&["[package]", "[[test]]"]), [vec!["autotests"], vec![]]);
        assert_eq!(off(&["[lib]"]), [["test"]]);
    }

    #[test]
    fn package_name_is_read_from_package_table() {
        let manifest = "[workspace]\nmembers = ['x']\n[package]\nedition = \"2024\"\nname = \"shop\"\n[[bin]]\nname='b'\n";
        assert_eq!(package_name(manifest).as_deref(), Some("shop"));
        assert_eq!(package_name("[workspace]\nname = \"w\"\n"), None);
        assert_eq!(
            package_name("[package]\nversion = \"1\"\n[lib]\nname = \"l\"\n"),
            None
        );
    }

    #[test]
    fn rust_file_maps_to_target_or_module() {
        let of = [
            "tests/it/main.rs",
            "tests/cli.rs",
            "src/text/glob.rs",
            "src/edit/mod.rs",
            "src/lib.rs",
            "build.rs",
        ];
        assert_eq!(
            of.map(cargo_targets),
            [
                CargoTargets::Test("it".to_owned()),
                CargoTargets::Test("cli".to_owned()),
                CargoTargets::Module("text::glob".to_owned()),
                CargoTargets::Module("edit".to_owned()),
                CargoTargets::All,
                CargoTargets::All,
            ]
        );
    }
}
