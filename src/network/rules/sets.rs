//! Rule sets: hosts that a package manager or a service needs.

use super::rule::{Rule, RuleError};

pub struct HostSet {
    /// Its names without the `@` that they are written with, the usual one first.
    pub names: &'static [&'static str],
    /// Purpose of the set.
    pub about: &'static str,
    /// Files of a project that needs the set.
    pub signs: &'static [&'static str],
    pub rules: &'static [&'static str],
}

pub const SETS: &[HostSet] = &[
    HostSet {
        names: &["npm"],
        about: "packages of npm, pnpm and yarn",
        signs: &["package.json"],
        rules: &["registry.npmjs.org:443", "registry.yarnpkg.com:443"],
    },
    HostSet {
        names: &["pypi", "python"],
        about: "packages of pip, uv and poetry",
        signs: &["pyproject.toml", "requirements.txt", "setup.py"],
        rules: &["pypi.org:443", "files.pythonhosted.org:443"],
    },
    HostSet {
        names: &["crates", "rust"],
        about: "crates of cargo",
        signs: &["Cargo.toml"],
        rules: &[
            "index.crates.io:443",
            "static.crates.io:443",
            "crates.io:443",
        ],
    },
    HostSet {
        names: &["go"],
        about: "modules of go",
        signs: &["go.mod"],
        rules: &["proxy.golang.org:443", "sum.golang.org:443"],
    },
    HostSet {
        names: &["debian"],
        about: "packages of apt",
        signs: &[],
        rules: &["deb.debian.org", "security.debian.org"],
    },
    HostSet {
        names: &["github"],
        about: "repositories, releases and the API of GitHub",
        signs: &[],
        rules: &[
            "github.com:443",
            "github.com:22",
            "api.github.com:443",
            "codeload.github.com:443",
            "*.githubusercontent.com:443",
        ],
    },
    HostSet {
        names: &["docker"],
        about: "images of Docker Hub",
        signs: &[],
        rules: &[
            "registry-1.docker.io:443",
            "auth.docker.io:443",
            "production.cloudflare.docker.com:443",
        ],
    },
];

/// Warning about every set.
pub const WARNING: &str = "whoever can publish there can read what commands send there";

/// The rules of a text: one, or those of a set.
pub(super) fn rules_of(text: &str) -> Result<Vec<Rule>, RuleError> {
    let set = |name| SETS.iter().find(|set| set.names.contains(&name));
    let Some(name) = text.strip_prefix('@') else {
        if set(text).is_some() {
            let why = format!(
                "is the name of a set without its `@`; write `@{text}`, or `{text}.` for a host of that name"
            );
            return Err(RuleError {
                rule: text.to_owned(),
                why: why.into(),
            });
        }
        return Ok(vec![text.parse()?]);
    };
    let Some(set) = set(name) else {
        let known: Vec<String> = SETS
            .iter()
            .flat_map(|set| set.names)
            .map(|name| format!("@{name}"))
            .collect();
        let why = format!("is not a set; use one of {}", known.join(", "));
        return Err(RuleError {
            rule: text.to_owned(),
            why: why.into(),
        });
    };
    set.rules.iter().map(|rule| rule.parse()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn set_rules_are_in_canonical_form() {
        for set in SETS {
            for name in set.names {
                let printed: Vec<String> = rules_of(&format!("@{name}"))
                    .unwrap()
                    .iter()
                    .map(Rule::to_string)
                    .collect();
                assert_eq!(printed, set.rules, "{name}");
            }
        }
        let error = rules_of("npm").unwrap_err().to_string();
        let expected =
            "is the name of a set without its `@`; write `@npm`, or `npm.` for a host of that name";
        assert_eq!(error, format!("the network rule `npm` {expected}"));
        assert_eq!(
            rules_of("npm.")
                .unwrap()
                .iter()
                .map(Rule::to_string)
                .collect::<Vec<_>>(),
            ["npm"]
        );
        let error = rules_of("@cargo").unwrap_err().to_string();
        assert_eq!(
            error,
            "the network rule `@cargo` is not a set; use one of @npm, @pypi, @python, @crates, \
             @rust, @go, @debian, @github, @docker"
        );
    }
}
