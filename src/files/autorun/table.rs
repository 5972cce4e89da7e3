//! Table of autorun files: their paths, the program that obeys them, and the parts to compare.
//! docs/walls.md is derived from it.

/// Relevant part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    Whole,
    /// These members of an object in a JSON document.
    JsonMembers {
        object: &'static str,
        members: &'static [&'static str],
    },
    /// Keys that name programs, or further configuration (`git_config`).
    GitKeys,
    /// The whole file, if it is executable.
    Executable,
}

/// An entry of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct AutorunRule {
    /// Last components of a path at any depth; `**` matches everything below.
    pub path: &'static str,
    /// Component that excludes a path.
    pub not_below: Option<&'static str>,
    pub obeyed_by: &'static str,
    pub compared: Compared,
}

/// Scripts that `npm install` runs for its own package (npm-scripts(7), "Life Cycle Operation
/// Order"). Scripts of packages in `node_modules` run right after their download.
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

const fn whole(path: &'static str, obeyed_by: &'static str) -> AutorunRule {
    AutorunRule {
        path,
        not_below: None,
        obeyed_by,
        compared: Compared::Whole,
    }
}

const fn git(path: &'static str) -> AutorunRule {
    AutorunRule {
        path,
        not_below: None,
        obeyed_by: "git",
        compared: Compared::GitKeys,
    }
}

pub static AUTORUN_RULES: [AutorunRule; 11] = [
    git("config"),
    git("config.worktree"),
    git(".gitconfig"),
    whole(".husky/**", "husky"),
    AutorunRule {
        path: "package.json",
        not_below: Some("node_modules"),
        obeyed_by: "npm",
        compared: Compared::JsonMembers {
            object: "scripts",
            members: RUN_BY_INSTALL,
        },
    },
    AutorunRule {
        not_below: Some("node_modules"),
        ..whole(".npmrc", "npm")
    },
    AutorunRule {
        not_below: Some("node_modules"),
        ..whole("binding.gyp", "npm")
    },
    whole(".envrc", "direnv"),
    whole(".vscode/tasks.json", "VS Code"),
    whole(".vscode/settings.json", "VS Code"),
    whole(".mcp.json", "Claude Code"),
];

/// A file below `hooks` of a repository, or below its `core.hooksPath`. Detecting that requires
/// file access.
pub static HOOK: AutorunRule = AutorunRule {
    path: "hooks/**",
    not_below: None,
    obeyed_by: "git",
    compared: Compared::Executable,
};

/// Returns the autorun file that matches a path, and the index of the first matching component.
pub fn rule_for_path(path: &[u8]) -> Option<(&'static AutorunRule, usize)> {
    let names: Vec<&[u8]> = names(path).collect();
    AUTORUN_RULES
        .iter()
        .find_map(|rule| Some((rule, rule.begins(&names)?)))
}

/// Does the same for the directory of an autorun file: a link that replaces it leads elsewhere.
pub fn named_directory(path: &[u8]) -> Option<(&'static AutorunRule, usize)> {
    let names: Vec<&[u8]> = names(path).collect();
    AUTORUN_RULES.iter().find_map(|rule| {
        let (directory, _) = rule.path.rsplit_once('/')?;
        Some((rule, ends_with(&names, directory)?))
    })
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
}

impl AutorunRule {
    fn begins(&self, names: &[&[u8]]) -> Option<usize> {
        let is = |name: &&[u8]| {
            self.not_below
                .is_some_and(|other| name.eq_ignore_ascii_case(other.as_bytes()))
        };
        let begins = match self.path.strip_suffix("/**") {
            None => ends_with(names, self.path),
            Some(directory) => (1..names.len()).find_map(|end| ends_with(&names[..end], directory)),
        };
        begins.filter(|_| !names.iter().any(is))
    }
}

/// Returns the index of the first matching component if the path ends with `path`. Ignores case,
/// because some filesystems do.
fn ends_with(names: &[&[u8]], path: &str) -> Option<usize> {
    let mut begin = names.len();
    for wanted in path.rsplit('/') {
        begin = begin.checked_sub(1)?;
        if !names[begin].eq_ignore_ascii_case(wanted.as_bytes()) {
            return None;
        }
    }
    Some(begin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn autorun_path_matches_at_any_depth() {
        let found =
            |path: &str| rule_for_path(path.as_bytes()).map(|(rule, begins)| (rule.path, begins));
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
            named_directory(b"a/.vscode").map(|(rule, begins)| (rule.obeyed_by, begins)),
            Some(("VS Code", 1))
        );
        assert_eq!(
            named_directory(b"a/config").map(|(rule, _)| rule.path),
            None
        );
    }
}
