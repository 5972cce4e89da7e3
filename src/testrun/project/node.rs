//! Node.js projects: `package.json`, and the programs in `node_modules`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::disk::{AllowedDisk, ProjectTree};
use super::language::Language;
use super::program::{MissingProgram, ToolProgram};
use super::signs::{
    MAX_EXAMINED_NAMES, MAX_PROJECT_DEPTH, ProjectLevel, Sign, SignWeight, named, open_below,
    stronger,
};

/// Returns the sign in `package.json` for a package that is also a program.
pub(crate) fn package_sign(level: &ProjectLevel<'_>, name: &str) -> Sign {
    let is_called = |text: &str| {
        text.split(|next: char| !next.is_alphanumeric() && next != '-')
            .any(|word| word == name)
    };
    let sign = script_sign(level, name, &is_called);
    stronger(dependency_sign(level, name), sign)
}

/// Returns the sign of a script in `package.json` that calls a program.
pub(crate) fn script_sign(
    level: &ProjectLevel<'_>,
    name: &str,
    is_called: &dyn Fn(&str) -> bool,
) -> Sign {
    let scripts = &level.package()["scripts"];
    if scripts["test"].as_str().is_some_and(is_called) {
        return Some((
            SignWeight::Script,
            format!("the test script of package.json runs {name}"),
        ));
    }
    let mut texts = scripts.as_object()?.values().filter_map(Value::as_str);
    texts
        .any(is_called)
        .then(|| named(format!("a script of package.json runs {name}")))
}

/// Returns the sign of a dependency in `package.json`.
pub(crate) fn dependency_sign(level: &ProjectLevel<'_>, name: &str) -> Sign {
    let kinds = [
        "devDependencies",
        "dependencies",
        "peerDependencies",
        "optionalDependencies",
    ];
    let depends = kinds
        .iter()
        .any(|kind| level.package()[kind].get(name).is_some());
    depends.then(|| named(format!("{name} is a dependency in package.json")))
}

/// Returns the sign of a package that is installed here as a program and imported by a test. This
/// needs no further evidence.
pub(crate) fn import_sign(level: &ProjectLevel<'_>, package: &str) -> Sign {
    let installed = level.tree.names(&level.dir.join("node_modules/.bin"))?;
    if !installed.iter().any(|name| name == package) {
        return None;
    }
    let test = importing_test(level, package, Path::new("."))?;
    Some(named(format!(
        "{test} imports {package}, which is in node_modules"
    )))
}

/// Returns a test that imports a package. Files in `tests` are tests by any name.
pub(crate) fn importing_test(
    level: &ProjectLevel<'_>,
    package: &str,
    tests: &Path,
) -> Option<String> {
    let is_test = |name: &str| {
        let is_named = Language::JavaScript.is_test_name(name.as_ref());
        Language::of(name) == Some(Language::JavaScript)
            && (is_named || Path::new(name).starts_with(tests))
    };
    let imports = |file: &String| {
        let text = level.tree.text(&level.dir.join(file)).unwrap_or_default();
        ['\'', '"']
            .iter()
            .any(|quote| text.contains(&format!("{quote}{package}{quote}")))
    };
    let files = open_below(level.tree, level.dir, MAX_PROJECT_DEPTH).into_iter();
    let mut tests = files.filter(|file| is_test(file)).take(MAX_EXAMINED_NAMES);
    tests.find(imports)
}

/// Returns the test script of `package.json`, unless it is the placeholder of `npm init`.
pub(crate) fn test_script<'l>(level: &'l ProjectLevel<'_>) -> Option<&'l str> {
    let script = level.package()["scripts"]["test"].as_str()?;
    let is_shown = script.len() <= LONGEST_SCRIPT && !script.contains(char::is_control);
    (is_shown && !script.contains("no test specified")).then_some(script)
}

/// Longest script in a message, in bytes.
const LONGEST_SCRIPT: usize = 200;

/// Finds a program of a package in the nearest `node_modules`. Reads the package's own manifest,
/// since the file in `.bin` may be a shell script. Returns the first words of its command, and the
/// package's version.
pub(crate) fn find(
    disk: AllowedDisk<'_>,
    from: &Path,
    package: &str,
    program: &str,
) -> Option<(Vec<String>, Option<String>)> {
    for dir in disk.upwards(from) {
        let modules = dir.join("node_modules");
        let home = modules.join(package);
        let text = disk.text(&home.join("package.json")).unwrap_or_default();
        let about: Value = serde_json::from_str(&text).unwrap_or_default();
        let bin = &about["bin"];
        if let Some(bin) = bin[program].as_str().or_else(|| bin.as_str())
            && let Some(path) = disk.true_path(&home.join(bin))
        {
            return Some((
                vec!["node".to_owned(), path],
                about["version"].as_str().map(str::to_owned),
            ));
        }
        let linked = modules.join(".bin").join(program);
        if let Some(path) = disk.true_path(&linked) {
            let text = disk.text(&linked).unwrap_or_default();
            let first = text.lines().next().unwrap_or_default();
            let is_shell = first.starts_with("#!") && first.ends_with("sh");
            let node = (!is_shell).then(|| "node".to_owned());
            return Some((node.into_iter().chain([path]).collect(), None));
        }
    }
    None
}

/// Returns the nearest directory of Node programs.
pub(crate) fn programs(disk: AllowedDisk<'_>, from: &Path) -> Option<PathBuf> {
    disk.upwards(from)
        .map(|dir| dir.join("node_modules/.bin"))
        .find(|dir| disk.directory_above(dir).is_some())
}

/// Like [`find`], or the way to install the program.
pub(crate) fn program(
    disk: AllowedDisk<'_>,
    from: &Path,
    package: &str,
    program: &str,
) -> ToolProgram {
    match find(disk, from, package, program) {
        Some((argv, version)) => ToolProgram::Found(argv, version),
        None => ToolProgram::Missing(missing(disk, from, package)),
    }
}

/// Returns the way to install a Node package, by the nearest lock file.
fn missing(disk: AllowedDisk<'_>, from: &Path, package: &str) -> MissingProgram {
    const LOCKS: [(&str, &str, &str); 5] = [
        ("pnpm-lock.yaml", "pnpm install", "pnpm add -D"),
        ("yarn.lock", "yarn install", "yarn add -D"),
        ("bun.lock", "bun install", "bun add -d"),
        ("bun.lockb", "bun install", "bun add -d"),
        ("package-lock.json", "npm ci", "npm install -D"),
    ];
    let mut manager = ("npm install", "npm install -D");
    let mut listed = false;
    for dir in from.ancestors() {
        let Some(names) = disk.names(dir) else { break };
        let manifest = disk.text(&dir.join("package.json")).unwrap_or_default();
        listed |= manifest.contains(&format!("\"{package}\""));
        if let Some((_, install, add)) = LOCKS
            .iter()
            .find(|(lock, ..)| names.iter().any(|name| name == lock))
        {
            manager = (*install, *add);
            break;
        }
    }
    let (install, add) = manager;
    let install = if listed {
        install.to_owned()
    } else {
        format!("{add} {package}")
    };
    MissingProgram {
        what: format!(
            "no node_modules in `{}` or above it holds {package}",
            from.display()
        ),
        install,
    }
}

/// Converts JSON with comments and trailing commas, as in `tsconfig.json`, to plain JSON.
pub(crate) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some(next) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            0
        };
        if skipped > 0 {
            rest = &rest[skipped..];
            continue;
        }
        let length = if next == '"' {
            string_length(rest)
        } else {
            next.len_utf8()
        };
        if matches!(next, ']' | '}') {
            let end = plain.trim_end().len();
            if plain[..end].ends_with(',') {
                plain.truncate(end - 1);
            }
        }
        plain.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    plain
}

/// Returns the length of a JSON string with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::disk::tests::tree;

    #[test]
    fn npm_placeholder_is_no_test_script() {
        let script = |text| {
            let files = tree(&[("/w/package.json", text)]);
            let level = ProjectLevel::at(&files, Path::new("/w"))?;
            test_script(&level).map(str::to_owned)
        };
        assert_eq!(
            script(r#"{"scripts": {"test": "ava -r x"}}"#).as_deref(),
            Some("ava -r x")
        );
        assert_eq!(
            script(r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#),
            None
        );
        assert_eq!(script("{}"), None);
    }

    #[test]
    fn json_trailing_comma_is_removed() {
        assert_eq!(
            without_comments("{\"a\": \"/* ä */\", }"),
            "{\"a\": \"/* ä */\"}"
        );
    }
}
