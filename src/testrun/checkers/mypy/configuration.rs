//! Files whose errors mypy suppresses by a comment in them or by its configuration.
//!
//! mypy says nothing of such files. A reply must not call them free of errors.
//!
//! Sources: <https://mypy.readthedocs.io/en/stable/inline_config.html>,
//! <https://mypy.readthedocs.io/en/stable/config_file.html>.

use crate::checker::{CheckSource, TextOf};
use crate::project::python::type_ignore_comment;

/// Configuration files in mypy's order. The first one with a section for mypy is used.
pub(super) const FILES: [&str; 4] = ["mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"];

/// Returns the reason if mypy suppresses all errors of a file.
pub(super) fn silenced(source: CheckSource<'_>, config: &str) -> Option<String> {
    mypy_comment(source.text)
        .or_else(|| type_ignore_comment(source.text))
        .or_else(|| {
            Some(format!(
                "`ignore_errors` of its section {} in mypy's configuration",
                section(source, config)?
            ))
        })
}

/// Finds a comment `# mypy: ignore-errors`, which may stand in any line.
fn mypy_comment(text: &str) -> Option<String> {
    let is_silent = |option: &str| {
        let (name, value) = option.split_once('=').unwrap_or((option, "true"));
        name.trim().replace('-', "_") == "ignore_errors" && is_true(value)
    };
    let mut comments = text
        .lines()
        .filter_map(|line| line.strip_prefix("# mypy: "));
    comments
        .any(|options| options.split(',').any(is_silent))
        .then(|| "the file has `# mypy: ignore-errors`".to_owned())
}

/// Returns the name and the text of the first configuration with a section for mypy.
pub(super) fn find(text: &TextOf<'_>) -> Option<(&'static str, String)> {
    FILES.iter().find_map(|name| {
        let text = text(name)?;
        let says = sections(&text)
            .iter()
            .any(|section| section.is_global || !section.modules.is_empty());
        (says || name.ends_with("mypy.ini")).then_some((*name, text))
    })
}

/// Returns the excluded paths (`exclude`), verbatim, in one line.
pub(super) fn excluded(config: &str) -> Option<String> {
    let global = sections(config)
        .into_iter()
        .find(|section| section.is_global && !section.exclude.is_empty())?;
    Some(global.exclude.join(" "))
}

/// Returns the section of a configuration that suppresses the errors of a file.
fn section(source: CheckSource<'_>, config: &str) -> Option<String> {
    let modules = modules(source);
    let sections = sections(config);
    let matching = |is_exact: bool| {
        let is_meant = |pattern: &String| {
            pattern.contains('*') != is_exact
                && modules.iter().any(|module| is_match(pattern, module))
        };
        sections
            .iter()
            .filter(|section| section.ignores.is_some())
            .find(|section| section.modules.iter().any(is_meant))
    };
    // A section for one module takes precedence over patterns, and patterns over the global
    // section.
    let global = || sections.iter().find(|section| section.is_global);
    let section = matching(true).or_else(|| matching(false)).or_else(global)?;
    let words = if section.is_global {
        "for all modules".to_owned()
    } else {
        section.modules.join(", ")
    };
    (section.ignores == Some(true)).then(|| format!("`{words}`"))
}

/// Returns the possible names of a file's module: the name depends on the packages above, or on
/// mypy's search path.
fn modules(source: CheckSource<'_>) -> Vec<String> {
    let path = source.path.trim_start_matches("./");
    let Some((stem, _)) = path.rsplit_once('.') else {
        return Vec::new();
    };
    let parts: Vec<&str> = stem.split('/').collect();
    let dirs = parts.len() - 1;
    let first = (1..=dirs)
        .find(|count| (source.is_package)(&parts[..*count].join("/")))
        .map_or(dirs, |count| count - 1);
    let name = |from: usize| {
        let name = parts[from..].join(".");
        name.strip_suffix(".__init__")
            .map_or(name.clone(), str::to_owned)
    };
    let mut found = vec![name(first), name(0)];
    if parts[0] == "src" && dirs > 0 {
        found.push(name(1));
    }
    found
}

/// Returns true if a mypy pattern matches a module: a star stands for any number of components.
fn is_match(pattern: &str, module: &str) -> bool {
    fn of(pattern: &[&str], module: &[&str]) -> bool {
        match (pattern.split_first(), module.split_first()) {
            (None, None) => true,
            (Some((&"*", rest)), _) if of(rest, module) => true,
            (Some((&"*", _)), Some((_, after))) => of(pattern, after),
            (Some((one, rest)), Some((name, after))) => one == name && of(rest, after),
            _ => false,
        }
    }
    let (pattern, module): (Vec<&str>, Vec<&str>) =
        (pattern.split('.').collect(), module.split('.').collect());
    pattern.iter().filter(|part| **part == "*").count() <= MAX_STARS && of(&pattern, &module)
}

/// Maximum stars in a pattern: each one multiplies the ways to match.
const MAX_STARS: usize = 4;

/// A section of mypy's configuration.
#[derive(Debug, Default, PartialEq, Eq)]
struct Section {
    is_global: bool,
    /// Patterns of the modules that the section applies to.
    modules: Vec<String>,
    /// `ignore_errors`.
    ignores: Option<bool>,
    /// `exclude`, line by line.
    exclude: Vec<String>,
}

/// Parses the sections for mypy in an INI or TOML file.
fn sections(text: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let (mut is_own, mut key) = (false, String::new());
    for line in text.lines() {
        let plain = line.trim();
        if plain.starts_with('[') && !line.starts_with([' ', '\t']) {
            let name = plain.trim_matches(['[', ']', ' ']);
            let of_module = name.strip_prefix("mypy-");
            let is_global = matches!(name, "mypy" | "tool.mypy");
            is_own = of_module.is_some() || is_global || name == "tool.mypy.overrides";
            key.clear();
            if is_own {
                let modules = of_module.map(patterns).unwrap_or_default();
                found.push(Section {
                    is_global,
                    modules,
                    ..Section::default()
                });
            }
            continue;
        }
        let Some(section) = found
            .last_mut()
            .filter(|_| is_own && !plain.is_empty() && !plain.starts_with('#'))
        else {
            continue;
        };
        // A value may continue in the lines below, indented (INI) or in brackets (TOML).
        let pair = plain.split_once('=').filter(|(name, _)| {
            name.trim()
                .bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_lowercase())
        });
        let value = match pair {
            Some((name, value)) => {
                name.trim().clone_into(&mut key);
                value.trim()
            }
            None => plain,
        };
        match key.as_str() {
            "ignore_errors" => section.ignores = Some(is_true(value)),
            "module" => section.modules.extend(patterns(value)),
            "exclude" if section.exclude.len() < MAX_LINES => {
                section.exclude.push(value.to_owned());
            }
            _ => {}
        }
    }
    found
}

/// Maximum reported lines of a value.
const MAX_LINES: usize = 20;

fn patterns(list: &str) -> Vec<String> {
    let parts = list.split(',').map(|part| {
        part.trim_matches([' ', '\t', '[', ']', '"', '\''])
            .to_owned()
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns true if INI or TOML read a value as true.
fn is_true(value: &str) -> bool {
    let value = value
        .split('#')
        .next()
        .unwrap_or(value)
        .trim()
        .to_ascii_lowercase();
    ["true", "1", "yes", "on"].contains(&value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mypy_star_matches_any_number_of_components() {
        let matches = |pattern| is_match(pattern, "a.b.c");
        assert!(
            ["a.b.c", "a.*", "*.c", "a.*.c", "a.b.c.*", "*"]
                .into_iter()
                .all(matches)
        );
        assert!(
            !["a.b", "*.b", "b.*", "a.*.b.c.d", "", "*.*.*.*.*.x"]
                .into_iter()
                .any(matches)
        );
    }
}
