//! The table: where what runs outside lies, who obeys it, and what of it is compared. A list by
//! nature; docs/walls.md is derived from it.

/// What of a file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    Whole,
    /// These members of an object of a JSON document.
    JsonMembers {
        object: &'static str,
        members: &'static [&'static str],
    },
    /// Keys that name programs, or configuration elsewhere (`git_config`).
    GitKeys,
    /// All of it, as long as it may be executed.
    Executable,
}

/// One line of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Sink {
    /// The last names of a path at any depth; `**` stands for all that is below.
    pub path: &'static str,
    /// No name of the path is this one.
    pub not_below: Option<&'static str>,
    pub obeyed_by: &'static str,
    pub compared: Compared,
}

/// What `npm install` runs of the package that it is called in (npm-scripts(7), "Life Cycle
/// Operation Order"). What lies in `node_modules` it runs when it has fetched it.
const RUN_BY_INSTALL: &[&str] = &[
    "preinstall",
    "install",
    "postinstall",
    "prepublish",
    "preprepare",
    "prepare",
    "postprepare",
    "predependencies",
    "dependencies",
    "postdependencies",
];

const fn whole(path: &'static str, obeyed_by: &'static str) -> Sink {
    Sink {
        path,
        not_below: None,
        obeyed_by,
        compared: Compared::Whole,
    }
}

const fn git(path: &'static str) -> Sink {
    Sink {
        path,
        not_below: None,
        obeyed_by: "git",
        compared: Compared::GitKeys,
    }
}

pub static SINKS: [Sink; 11] = [
    git("config"),
    git("config.worktree"),
    git(".gitconfig"),
    whole(".husky/**", "husky"),
    Sink {
        path: "package.json",
        not_below: Some("node_modules"),
        obeyed_by: "npm",
        compared: Compared::JsonMembers {
            object: "scripts",
            members: RUN_BY_INSTALL,
        },
    },
    Sink {
        not_below: Some("node_modules"),
        ..whole(".npmrc", "npm")
    },
    Sink {
        not_below: Some("node_modules"),
        ..whole("binding.gyp", "npm")
    },
    whole(".envrc", "direnv"),
    whole(".vscode/tasks.json", "VS Code"),
    whole(".vscode/settings.json", "VS Code"),
    whole(".mcp.json", "Claude Code"),
];

/// A file below `hooks` of a repository, or where its `core.hooksPath` leads. That needs a look at
/// the disk.
pub static HOOK: Sink = Sink {
    path: "hooks/**",
    not_below: None,
    obeyed_by: "git",
    compared: Compared::Executable,
};

/// The line of a path, and the place of the first of its names that the line is about.
pub fn named(path: &[u8]) -> Option<(&'static Sink, usize)> {
    let names: Vec<&[u8]> = names(path).collect();
    SINKS
        .iter()
        .find_map(|sink| Some((sink, sink.begins(&names)?)))
}

/// The same of a directory that a line names: a link in its place leads elsewhere.
pub fn named_directory(path: &[u8]) -> Option<(&'static Sink, usize)> {
    let names: Vec<&[u8]> = names(path).collect();
    SINKS.iter().find_map(|sink| {
        let (directory, _) = sink.path.rsplit_once('/')?;
        Some((sink, ends_with(&names, directory)?))
    })
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
}

impl Sink {
    fn begins(&self, names: &[&[u8]]) -> Option<usize> {
        let is = |name: &&[u8]| {
            self.not_below
                .is_some_and(|other| name.eq_ignore_ascii_case(other.as_bytes()))
        };
        if names.iter().any(is) {
            return None;
        }
        match self.path.strip_suffix("/**") {
            None => ends_with(names, self.path),
            Some(directory) => (1..names.len()).find_map(|end| ends_with(&names[..end], directory)),
        }
    }
}

/// Where the names begin that the path ends with. There are file systems that look at no letter
/// case.
fn ends_with(names: &[&[u8]], path: &str) -> Option<usize> {
    let wanted: Vec<&str> = path.split('/').collect();
    let begin = names.len().checked_sub(wanted.len())?;
    names[begin..]
        .iter()
        .zip(wanted)
        .all(|(name, wanted)| name.eq_ignore_ascii_case(wanted.as_bytes()))
        .then_some(begin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_path_is_known_by_its_last_names_at_any_depth() {
        let found = |path: &str| named(path.as_bytes()).map(|(sink, begins)| (sink.path, begins));
        assert_eq!(found(".envrc"), Some((".envrc", 0)));
        assert_eq!(
            found("a/b/.VSCode/tasks.json"),
            Some((".vscode/tasks.json", 2))
        );
        assert_eq!(found("a/.husky/_/pre-commit"), Some((".husky/**", 1)));
        assert_eq!(found("a/.git/modules/x/config"), Some(("config", 4)));
        assert_eq!(found("a/binding.gyp"), Some(("binding.gyp", 1)));
        assert_eq!(found("packages/a/package.json"), Some(("package.json", 2)));
        for other in [
            "",
            ".husky",
            "tasks.json",
            "a.envrc",
            "node_modules/a/package.json",
            "node_modules/a/binding.gyp",
            "package.json/x",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
        assert_eq!(
            named_directory(b"a/.vscode").map(|(sink, begins)| (sink.obeyed_by, begins)),
            Some(("VS Code", 1))
        );
        assert_eq!(
            named_directory(b"a/config").map(|(sink, _)| sink.path),
            None
        );
    }
}
