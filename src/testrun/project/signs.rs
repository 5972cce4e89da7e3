//! Signs of a project's tools in a directory.

use std::cell::OnceCell;
use std::path::Path;

use serde_json::Value;

use super::disk::ProjectTree;

/// Maximum names of one directory that are examined.
pub(crate) const MAX_EXAMINED_NAMES: usize = 200;

/// Depth of the search for projects below a directory.
pub(crate) const MAX_PROJECT_DEPTH: usize = 2;

/// Directories that are not searched for projects.
const SKIPPED_DIRS: [&str; 3] = ["node_modules", "target", "venv"];

/// Weight of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignWeight {
    /// A naming habit, such as a directory of tests.
    Habit,
    /// The tool is named by a configuration, a dependency or a manifest.
    Named,
    /// The project's own test script calls the tool.
    Script,
}

/// A sign and its description, such as `vitest is a dependency in package.json`.
pub(crate) type Sign = Option<(SignWeight, String)>;

pub struct ProjectLevel<'a> {
    pub tree: &'a dyn ProjectTree,
    pub dir: &'a Path,
    /// Names in the directory.
    pub names: Vec<String>,
    package: OnceCell<Value>,
}

impl<'a> ProjectLevel<'a> {
    /// Opens a directory; returns `None` if it does not exist or is not allowed.
    pub fn at(tree: &'a dyn ProjectTree, dir: &'a Path) -> Option<Self> {
        Some(Self {
            tree,
            dir,
            names: tree.names(dir)?,
            package: OnceCell::new(),
        })
    }

    /// Returns true if the directory has this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn starting(&self, start: &str) -> Option<&String> {
        self.names.iter().find(|name| name.starts_with(start))
    }

    /// Returns the text of a file; empty if it does not exist.
    pub fn text(&self, name: &str) -> String {
        if self.has(name) {
            self.tree.text(&self.dir.join(name)).unwrap_or_default()
        } else {
            String::new()
        }
    }

    /// Returns the parsed `package.json`.
    pub fn package(&self) -> &Value {
        self.package
            .get_or_init(|| serde_json::from_str(&self.text("package.json")).unwrap_or_default())
    }

    /// Returns the sign of an existing file.
    pub fn sign_of_file(&self, name: &str) -> Sign {
        self.has(name).then(|| named(name))
    }

    /// Returns the sign of a configuration file with this name prefix.
    pub fn sign_of_prefix(&self, start: &str) -> Sign {
        self.starting(start).map(named)
    }

    /// Returns the sign of a section in a file.
    pub fn section(&self, file: &str, section: &str) -> Sign {
        let text = self.text(file);
        let found = text
            .lines()
            .any(|line| line.trim_start().starts_with(section));
        found.then(|| named(format!("{file} has {}", section.trim_matches(['[', ']']))))
    }
}

/// Returns the parts of a sign that names the tool.
pub(crate) fn named(why: impl Into<String>) -> (SignWeight, String) {
    (SignWeight::Named, why.into())
}

/// Returns the stronger sign, the first one if both are equal.
pub(crate) fn stronger(first: Sign, second: Sign) -> Sign {
    match (&first, &second) {
        (Some((one, _)), Some((other, _))) if other > one => second,
        (Some(_), _) => first,
        (None, _) => second,
    }
}

/// Returns the searchable names in a directory and `levels` levels below it, as relative paths.
pub(crate) fn open_below(tree: &dyn ProjectTree, dir: &Path, levels: usize) -> Vec<String> {
    let mut found = inside("", tree.names(dir).unwrap_or_default());
    let (mut from, mut looks) = (0, MAX_EXAMINED_NAMES);
    for _ in 0..levels {
        let dirs = from..found.len();
        from = found.len();
        for index in dirs.take(looks) {
            looks -= 1;
            if let Some(names) = tree.names(&dir.join(&found[index])) {
                let below = inside(&found[index], names);
                found.extend(below);
            }
        }
    }
    found
}

/// Returns the searchable names of a directory, each prefixed with `dir`.
pub(crate) fn inside(dir: &str, names: Vec<String>) -> Vec<String> {
    let is_open = |name: &String| !name.starts_with('.') && !SKIPPED_DIRS.contains(&name.as_str());
    let names = names.into_iter().filter(is_open);
    if dir.is_empty() {
        names.collect()
    } else {
        names.map(|name| format!("{dir}/{name}")).collect()
    }
}
