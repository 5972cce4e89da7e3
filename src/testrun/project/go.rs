//! Go modules and packages.

use std::path::Path;

use super::disk::ProjectTree;
use super::files::NamedPath;

/// Returns the packages of files and directories, as arguments for Go commands.
pub(crate) fn packages(dir: &Path, targets: &[NamedPath]) -> Vec<String> {
    let package = |target: &NamedPath| {
        let of = target.dir();
        let below = of.strip_prefix(dir).unwrap_or(of).to_string_lossy();
        match (&*below, target.is_dir) {
            ("", true) => "./...".to_owned(),
            ("", false) => ".".to_owned(),
            (_, true) => format!("./{below}/..."),
            (_, false) => format!("./{below}"),
        }
    };
    let mut packages: Vec<String> = targets.iter().map(package).collect();
    packages.sort();
    packages.dedup();
    packages
}

/// Returns the import path of the package in a module's directory; empty if unknown.
pub(crate) fn import_path(tree: &dyn ProjectTree, dir: &Path) -> String {
    let text = tree.text(&dir.join("go.mod")).unwrap_or_default();
    let module = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("module "));
    module
        .unwrap_or_default()
        .trim()
        .trim_matches('"')
        .to_owned()
}

/// Returns the directories that a `go.work` uses, without `./`
/// (<https://go.dev/ref/mod#go-work-file-use>).
pub(crate) fn modules(work: &str) -> Vec<String> {
    let mut is_block = false;
    let mut found = Vec::new();
    for line in work.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let path = match line.strip_prefix("use").map(str::trim_start) {
            Some("(") => {
                is_block = true;
                continue;
            }
            Some(path) if !is_block && line.starts_with("use ") => path,
            _ if line == ")" => {
                is_block = false;
                continue;
            }
            _ if is_block && !line.is_empty() => line,
            _ => continue,
        };
        let path = path.trim_matches(['"', '`']);
        found.push(path.strip_prefix("./").unwrap_or(path).to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_work_modules_are_parsed() {
        let work =
            "go 1.19\n\nuse ./a // one\nuse (\n\t./b/c\n\t\"./d e\"\n\n\t.\n)\nreplace x => ./y\n";
        assert_eq!(modules(work), ["a", "b/c", "d e", "."]);
        assert_eq!(modules("go 1.19\nuser ./a\n"), [""; 0]);
    }

    #[test]
    fn go_files_and_directories_map_to_packages() {
        let target = |path: &str, is_dir| NamedPath::whole(path.into(), is_dir);
        let found = packages(
            Path::new("/w"),
            &[
                target("/w/a/x.go", false),
                target("/w", true),
                target("/w/y.go", false),
            ],
        );
        assert_eq!(found, [".", "./...", "./a"]);
    }
}
