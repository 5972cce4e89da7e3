//! Files that pyright's configuration excludes although they are named on the command line.
//! `exclude` omits a file, `ignore` suppresses its diagnostics. pyright says nothing of either, and a
//! reply must not call such a file free of errors.
//!
//! Source: <https://microsoft.github.io/pyright/#/configuration>. Files on the command line replace
//! `include` alone.

use replay_base::text::glob::GlobMatcher;
use serde_json::Value;

use crate::project::node::without_comments;

/// Default of `exclude`.
const DEFAULT_EXCLUDE: [&str; 3] = ["**/node_modules", "**/__pycache__", "**/.*"];

/// Returns the reason if pyright's configuration excludes a file. `path` is relative to the
/// directory of the configuration.
pub(super) fn left_out(path: &str, config: &str) -> Option<String> {
    ["exclude", "ignore"].into_iter().find_map(|key| {
        let listed = listed(config, key);
        let usual = || DEFAULT_EXCLUDE.map(str::to_owned).to_vec();
        let specs = listed.unwrap_or_else(|| {
            if key == "exclude" {
                usual()
            } else {
                Vec::new()
            }
        });
        let spec = specs.into_iter().find(|spec| is_within(spec, path))?;
        Some(format!("`{key}` of pyright's configuration has `{spec}`"))
    })
}

/// Returns true if a path is at or below the path of a specification.
fn is_within(spec: &str, path: &str) -> bool {
    let spec = spec.trim_start_matches("./").trim_end_matches('/');
    if spec.is_empty() || spec == "." {
        return true;
    }
    let specs = [spec.to_owned(), format!("{spec}/**")];
    GlobMatcher::new(&specs, false).is_ok_and(|globs| globs.is_match(path.as_bytes()))
}

/// Returns a list of the configuration: JSON with comments, or the table `tool.pyright` of
/// `pyproject.toml`.
fn listed(config: &str, key: &str) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Ok(config @ Value::Object(_)) = serde_json::from_str::<Value>(&without_comments(config))
    {
        return config[key]
            .as_array()
            .map(|specs| specs.iter().filter_map(text).collect());
    }
    let lines = config
        .lines()
        .skip_while(|line| line.trim() != "[tool.pyright]")
        .skip(1);
    let table: Vec<&str> = lines.take_while(|line| !line.starts_with('[')).collect();
    let at = table.iter().position(|line| {
        line.trim_start()
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start().starts_with('='))
    })?;
    let value = table[at..].join("\n");
    let (_, value) = value.split_once('[')?;
    let (value, _) = value.split_once(']')?;
    // The text between quotes; globs have no escapes.
    let quoted = value.split(['"', '\'']).skip(1).step_by(2);
    Some(quoted.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pyright_exclusion_is_reported_with_reason() {
        let json = r#"{ // with a comment
            "exclude": ["sub", "**/generated_*.py"], "ignore": ["./old/"] }"#;
        let toml = "[tool.other]\nexclude = ['x']\n[tool.pyright]\nignore = [\n  \"old\", # why\n]\nexclude = ['sub', \"**/generated_*.py\"]\n[tool.more]\n";
        for config in [json, toml] {
            let why = |path: &str| left_out(path, config);
            assert_eq!(
                why("sub/a/b.py").unwrap(),
                "`exclude` of pyright's configuration has `sub`"
            );
            assert_eq!(
                why("x/generated_1.py").unwrap(),
                "`exclude` of pyright's configuration has `**/generated_*.py`"
            );
            assert!(
                why("old/a.py")
                    .unwrap()
                    .starts_with("`ignore` of pyright's configuration has `")
            );
            assert_eq!(
                [
                    why("subway.py"),
                    why("a/sub.py"),
                    why("x/node_modules/a.py")
                ],
                [None, None, None]
            );
        }
        assert_eq!(
            left_out("x/node_modules/a.py", "{}").unwrap(),
            "`exclude` of pyright's configuration has `**/node_modules`"
        );
        assert_eq!(left_out("a.py", "[project]\nname = 'exclude'\n"), None);
    }
}
