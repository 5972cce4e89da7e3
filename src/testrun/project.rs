//! A project on the disk: what detection looks at, where its programs are, and which files are meant.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::detect::Tree;
use super::error::TestrunError;
use crate::exec::place_of;
use crate::fs;
use crate::limits::MAX_PROJECT_FILE_BYTES;
use crate::policy::{Checked, Kind, Policy, PolicyError, Read};

/// The allowed directories as detection sees them: what it looks for may well lie outside, which nobody has asked for.
#[derive(Clone, Copy, Debug)]
pub struct Disk<'a>(pub &'a Policy);

impl Tree for Disk<'_> {
    fn names(&self, dir: &Path) -> Option<Vec<String>> {
        let dir = self.0.probe(dir).ok()?;
        if dir.kind() != Kind::Directory {
            return None;
        }
        let entries = fs::entries(&dir).ok()?;
        Some(entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
    }

    fn text(&self, file: &Path) -> Option<String> {
        let file = self.0.probe(file).ok()?;
        let bytes = fs::read_all(&file, MAX_PROJECT_FILE_BYTES).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Disk<'_> {
    /// An allowed directory that was asked for, by its true path, without links: that is how programs see it, and how they
    /// name what is in it.
    pub fn directory(self, path: &Path) -> Result<Checked<Read>, TestrunError> {
        self.true_directory(self.0.read(path)?)
    }

    /// The same for one that is only looked for.
    pub fn directory_above(self, path: &Path) -> Option<PathBuf> {
        let dir = self.true_directory(self.0.probe(path).ok()?).ok()?;
        Some(dir.shown().to_path_buf())
    }

    fn true_directory(self, dir: Checked<Read>) -> Result<Checked<Read>, TestrunError> {
        if dir.kind() != Kind::Directory {
            return Err(TestrunError::NoDirectory { path: dir.shown().to_path_buf() });
        }
        let place = place_of(&dir)?.path.as_path().to_path_buf();
        match self.0.probe(&place) {
            Ok(place) => Ok(place),
            Err(PolicyError::Denied { .. }) => Ok(dir),
            Err(error) => Err(error.into()),
        }
    }

    /// A program of a package in the nearest `node_modules`: by the package's own word, since what lies in `.bin` may be
    /// a script of a shell. The arguments that begin its command, and the package's version.
    pub fn of_node(self, from: &Path, package: &str, program: &str) -> Option<(Vec<String>, Option<String>)> {
        for dir in from.ancestors() {
            self.allowed(dir)?;
            let modules = dir.join("node_modules");
            let home = modules.join(package);
            let text = self.text(&home.join("package.json")).unwrap_or_default();
            let about: Value = serde_json::from_str(&text).unwrap_or_default();
            let bin = &about["bin"];
            if let Some(bin) = bin[program].as_str().or_else(|| bin.as_str())
                && let Some(path) = self.true_path(&home.join(bin))
            {
                return Some((vec!["node".to_owned(), path], about["version"].as_str().map(str::to_owned)));
            }
            let linked = modules.join(".bin").join(program);
            if let Some(path) = self.true_path(&linked) {
                let is_shell = self.text(&linked).is_some_and(|text| {
                    text.lines().next().is_some_and(|first| first.starts_with("#!") && first.ends_with("sh"))
                });
                let argv = if is_shell { vec![path] } else { vec!["node".to_owned(), path] };
                return Some((argv, None));
            }
        }
        None
    }

    /// The Python of the nearest virtual environment; `None` where there is none.
    pub fn venv_python(self, from: &Path) -> Option<String> {
        for dir in from.ancestors() {
            self.allowed(dir)?;
            for venv in [".venv", "venv"] {
                let bin = dir.join(venv).join("bin");
                // It is a link, as a rule to outside: only its name is looked at.
                if self.names(&bin).is_some_and(|names| names.iter().any(|name| name == "python")) {
                    return Some(bin.join("python").to_str()?.to_owned());
                }
            }
        }
        None
    }

    /// Whether a directory is allowed: what lies above is not.
    fn allowed(self, dir: &Path) -> Option<()> {
        self.0.probe(dir).ok().map(drop)
    }

    fn true_path(self, file: &Path) -> Option<String> {
        let file = self.0.probe(file).ok().filter(|file| file.kind() == Kind::File)?;
        Some(place_of(&file).ok()?.path.as_path().to_str()?.to_owned())
    }

    /// The name of the package whose manifest is the nearest one above a file, and the manifest's directory.
    pub fn cargo_package(self, file: &Path) -> Option<(String, PathBuf)> {
        for dir in file.ancestors().skip(1) {
            self.allowed(dir)?;
            if let Some(text) = self.text(&dir.join("Cargo.toml"))
                && let Some(name) = package_name(&text)
            {
                return Some((name, dir.to_path_buf()));
            }
        }
        None
    }
}

/// `name` of the table `[package]`.
fn package_name(manifest: &str) -> Option<String> {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[package]").skip(1);
    let line = lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .find(|line| line.strip_prefix("name").is_some_and(|rest| rest.trim_start().starts_with('=')))?;
    let value = line.split_once('=')?.1.trim();
    Some(value.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// The targets of a manifest of Cargo that have `harness = false`: of each its name and its source file, as far as they are
/// told. `tables` are the kinds of targets, such as `[[test]]`.
pub fn own_harness(manifest: &str, tables: &[&str]) -> Vec<Vec<String>> {
    tables_of(manifest, tables)
        .into_iter()
        .filter(|table| table.off.contains(&"harness"))
        .map(|table| table.named)
        .collect()
}

/// A table of a manifest of Cargo.
#[derive(Default)]
pub struct Table<'a> {
    /// Its name and its source file, as far as they are told.
    pub named: Vec<String>,
    /// The keys that are `false`.
    pub off: Vec<&'a str>,
}

/// The tables of these kinds, such as `[[test]]`, in order.
pub fn tables_of<'a>(manifest: &'a str, tables: &[&str]) -> Vec<Table<'a>> {
    let mut found: Vec<Table<'a>> = Vec::new();
    let mut is_target = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            is_target = tables.contains(&line);
            found.extend(is_target.then(Table::default));
            continue;
        }
        let Some(table) = found.last_mut().filter(|_| is_target) else { continue };
        let Some((key, value)) = line.split_once('=') else { continue };
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
    fn harnesses_of_their_own_are_found() {
        let manifest = "[package]\nname = 'x'\n[[test]]\nname = \"own\" \nharness = false # ours\n[[test]]\nname = 'it'\n\
            [[bench]]\nharness=false\npath = \"benches/b.rs\"";
        assert_eq!(own_harness(manifest, &["[[test]]", "[[bench]]"]), [["own"], ["benches/b.rs"]]);
        assert_eq!(own_harness(manifest, &["[[test]]"]), [["own"]]);
        let manifest = "[package]\nautotests = false\n[lib]\ntest = false\n[[test]]\nname = 'it'\n";
        let off = |kinds: &[&str]| tables_of(manifest, kinds).into_iter().map(|table| table.off).collect::<Vec<_>>();
        assert_eq!(off(&["[package]", "[[test]]"]), [vec!["autotests"], vec![]]);
        assert_eq!(off(&["[lib]"]), [["test"]]);
    }

    #[test]
    fn the_name_of_a_package_is_that_of_its_table() {
        let manifest =
            "[workspace]\nmembers = ['x']\n[package]\nedition = \"2024\"\nname = \"shop\"\n[[bin]]\nname='b'\n";
        assert_eq!(package_name(manifest).as_deref(), Some("shop"));
        assert_eq!(package_name("[workspace]\nname = \"w\"\n"), None);
        assert_eq!(package_name("[package]\nversion = \"1\"\n[lib]\nname = \"l\"\n"), None);
    }
}
