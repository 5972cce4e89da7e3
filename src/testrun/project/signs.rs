//! What a directory says of how its project is tested and checked.

use std::cell::OnceCell;
use std::path::Path;

use serde_json::Value;

use super::disk::ProjectTree;

/// Names of one directory that are looked into.
pub const LOOKED_AT: usize = 200;

/// How far below projects are looked for.
pub const LEVELS_BELOW: usize = 2;

/// Not looked into for projects.
const CLOSED: [&str; 3] = ["node_modules", "target", "venv"];

/// How much a sign is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignWeight {
    /// A habit, such as a directory of tests.
    Habit,
    /// It is named: by a configuration, a dependency, a manifest.
    Named,
    /// The project's own test script calls it.
    Script,
}

/// A sign, and what it is in words, such as `vitest is a dependency in package.json`.
pub type Sign = Option<(SignWeight, String)>;

pub struct ProjectLevel<'a> {
    pub tree: &'a dyn ProjectTree,
    pub dir: &'a Path,
    /// What is in it.
    pub names: Vec<String>,
    package: OnceCell<Value>,
}

impl<'a> ProjectLevel<'a> {
    /// A directory; `None` where there is none, or it is not allowed.
    pub fn at(tree: &'a dyn ProjectTree, dir: &'a Path) -> Option<Self> {
        Some(Self {
            tree,
            dir,
            names: tree.names(dir)?,
            package: OnceCell::new(),
        })
    }

    /// Whether a name is there.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn starting(&self, start: &str) -> Option<&String> {
        self.names.iter().find(|name| name.starts_with(start))
    }

    /// The text of a file; empty if there is none.
    pub fn text(&self, name: &str) -> String {
        if self.has(name) {
            self.tree.text(&self.dir.join(name)).unwrap_or_default()
        } else {
            String::new()
        }
    }

    /// Its `package.json`.
    pub fn package(&self) -> &Value {
        self.package
            .get_or_init(|| serde_json::from_str(&self.text("package.json")).unwrap_or_default())
    }

    /// A file that is there.
    pub fn named(&self, name: &str) -> Sign {
        self.has(name).then(|| (SignWeight::Named, name.to_owned()))
    }

    /// A configuration whose name begins so.
    pub fn configured(&self, start: &str) -> Sign {
        self.starting(start)
            .map(|name| (SignWeight::Named, name.clone()))
    }

    /// A section of a file.
    pub fn section(&self, file: &str, section: &str) -> Sign {
        let text = self.text(file);
        let found = text
            .lines()
            .any(|line| line.trim_start().starts_with(section));
        found.then(|| {
            (
                SignWeight::Named,
                format!("{file} has {}", section.trim_matches(['[', ']'])),
            )
        })
    }
}

/// The one that is worth more; the second only if it is.
pub fn stronger(first: Sign, second: Sign) -> Sign {
    match (&first, &second) {
        (Some((one, _)), Some((other, _))) if other > one => second,
        (Some(_), _) => first,
        (None, _) => second,
    }
}

/// What lies in a directory and so many levels below it, by its path from there, but for what is
/// not looked into.
pub fn open_below(tree: &dyn ProjectTree, dir: &Path, levels: usize) -> Vec<String> {
    let mut found = inside("", tree.names(dir).unwrap_or_default());
    let (mut from, mut looks) = (0, LOOKED_AT);
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

/// The names of a directory that are looked into, each with the directory before it.
pub fn inside(dir: &str, names: Vec<String>) -> Vec<String> {
    let is_open = |name: &String| !name.starts_with('.') && !CLOSED.contains(&name.as_str());
    let names = names.into_iter().filter(is_open);
    if dir.is_empty() {
        names.collect()
    } else {
        names.map(|name| format!("{dir}/{name}")).collect()
    }
}
