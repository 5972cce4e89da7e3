//! Comparison of files: the relevant parts of a file, depending on its entry in the table.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::facets::{Facets, hash};
use super::git_config;
use super::table::{AutorunRule, Compared};

/// Content of a path.
#[derive(Debug)]
pub enum Content {
    File {
        bytes: Vec<u8>,
        is_executable: bool,
    },
    /// Target of a symbolic link.
    Link(Vec<u8>),
    /// An unreadable object, with the reason.
    Opaque(&'static str),
}

impl AutorunRule {
    /// Returns the relevant parts of a file with this name.
    pub fn facets(&self, name: &[u8], content: &Content) -> Facets {
        let one = |what: String, value: &[u8]| Facets::from([(what, Some(hash(value)))]);
        let (bytes, is_executable) = match content {
            Content::File {
                bytes,
                is_executable,
            } => (bytes, *is_executable),
            Content::Link(target) => return one(format!("{}, a link", self.obeyed_by), target),
            Content::Opaque(why) => {
                return Facets::from([(format!("{}, {why}", self.obeyed_by), None)]);
            }
        };
        match self.compared {
            Compared::Whole => one(self.obeyed_by.to_owned(), bytes),
            // Git ignores its samples (githooks(5)).
            Compared::Executable if is_executable && !name.ends_with(b".sample") => {
                one("hook".to_owned(), bytes)
            }
            Compared::Executable => Facets::new(),
            Compared::GitKeys => git_config::facets(bytes),
            Compared::JsonMembers { object, members } => json_facets(bytes, object, members)
                .unwrap_or_else(|_| {
                    one(
                        format!("{}, no JSON that can be read", self.obeyed_by),
                        bytes,
                    )
                }),
        }
    }
}

/// Returns the relevant string members of an object. For duplicate names, the last one counts, like
/// in JavaScript.
fn json_facets(bytes: &[u8], object: &str, members: &[&str]) -> serde_json::Result<Facets> {
    type Members<'a> = BTreeMap<String, &'a RawValue>;
    // Like npm reads it.
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let document: Members<'_> = serde_json::from_str(&text)?;
    let Some(found) = document
        .get(object)
        .filter(|found| found.get().starts_with('{'))
    else {
        return Ok(Facets::new());
    };
    let found: Members<'_> = serde_json::from_str(found.get())?;
    let wanted = found
        .into_iter()
        .filter(|(name, _)| members.contains(&name.as_str()));
    // Raw: JavaScript accepts strings that Rust does not.
    let strings = wanted
        .map(|(name, value)| (name, value.get()))
        .filter(|(_, value)| value.starts_with('"'));
    Ok(strings
        .map(|(name, value)| (format!("{object}.{name}"), Some(hash(value.as_bytes()))))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::facets::differences;
    use super::super::table::{HOOK, rule_for_path};
    use super::*;
    use pretty_assertions::assert_eq;

    fn file(bytes: &str) -> Content {
        Content::File {
            bytes: bytes.into(),
            is_executable: false,
        }
    }

    fn compared(path: &str, before: &str, after: &str) -> Vec<String> {
        let rule = rule_for_path(path.as_bytes()).unwrap().0;
        let [before, after] = [before, after].map(|text| rule.facets(path.as_bytes(), &file(text)));
        differences(&before, &after)
    }

    #[test]
    fn package_json_compares_only_install_scripts() {
        let of = |before: &str, after: &str| compared("package.json", before, after);
        let before = r#"{"name": "a", "scripts": {"test": "x", "prepare": "husky"}}"#;
        assert_eq!(
            of(
                before,
                r#"{"dependencies": {"b": "1"}, "scripts": {"test": "y", "prepare": "husky"}}"#
            ),
            [""; 0]
        );
        assert_eq!(
            of(before, r#"{"scripts": {"prepare": "evil"}}"#),
            ["scripts.prepare"]
        );
        assert_eq!(
            of(
                before,
                r#"{"scripts": {"prepare": "husky", "postinstall": "x"}}"#
            ),
            ["scripts.postinstall"]
        );
        assert_eq!(of(before, "{}"), ["scripts.prepare removed"]);
        assert_eq!(
            of("{}", r#"{"scripts": {"prepare": "a", "prepare": "b"}}"#),
            ["scripts.prepare"]
        );
        assert_eq!(
            of("{}", "\u{feff}{\"scripts\": {\"install\": \"b\"}}"),
            ["scripts.install"]
        );
        assert_eq!(
            of("{}", r#"{"scripts": {"install": 1}, "scripts": null}"#),
            [""; 0]
        );
        // Deeper than a recursive parser supports, but npm reads it.
        let deep = format!(
            r#"{{"a": {}{}, "scripts": {{"install": "b"}}}}"#,
            "[".repeat(10_000),
            "]".repeat(10_000)
        );
        assert_eq!(of("{}", &deep), ["scripts.install"]);
        assert_eq!(of("{}", "{"), ["npm, no JSON that can be read"]);
        assert_eq!(of("{", "{"), [""; 0]);
    }

    #[test]
    fn only_executable_hooks_are_compared() {
        let facets = |name: &str, is_executable| {
            let content = Content::File {
                bytes: b"x".to_vec(),
                is_executable,
            };
            HOOK.facets(name.as_bytes(), &content)
                .into_keys()
                .collect::<Vec<_>>()
        };
        assert_eq!(facets("pre-commit", true), ["hook"]);
        assert_eq!(facets("pre-commit", false), [""; 0]);
        assert_eq!(facets("pre-commit.sample", true), [""; 0]);
        let link = HOOK.facets(b"pre-commit", &Content::Link(b"../x".to_vec()));
        assert_eq!(link.into_keys().collect::<Vec<_>>(), ["git, a link"]);
    }

    #[test]
    fn unreadable_file_always_differs() {
        let opaque = HOOK.facets(b"x", &Content::Opaque("over 1 MiB"));
        assert_eq!(differences(&opaque, &opaque), ["git, over 1 MiB"]);
        assert_eq!(differences(&Facets::new(), &Facets::new()), [""; 0]);
    }
}
