//! Hosts that are allowed together: what a package manager or a service needs.

use super::rule::{Rule, RuleError};

pub struct HostSet {
    /// Without the `@` that it is written with.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    pub rules: &'static [&'static str],
}

pub const SETS: &[HostSet] = &[
    HostSet {
        name: "npm",
        about: "packages of npm, pnpm and yarn",
        rules: &["registry.npmjs.org:443", "registry.yarnpkg.com:443"],
    },
    HostSet {
        name: "pypi",
        about: "packages of pip, uv and poetry",
        rules: &["pypi.org:443", "files.pythonhosted.org:443"],
    },
    HostSet {
        name: "crates",
        about: "crates of cargo",
        rules: &["index.crates.io:443", "static.crates.io:443", "crates.io:443"],
    },
    HostSet { name: "go", about: "modules of go", rules: &["proxy.golang.org:443", "sum.golang.org:443"] },
    HostSet { name: "debian", about: "packages of apt", rules: &["deb.debian.org", "security.debian.org"] },
    HostSet {
        name: "github",
        about: "repositories, releases and the API of GitHub",
        rules: &[
            "github.com:443",
            "github.com:22",
            "api.github.com:443",
            "codeload.github.com:443",
            "*.githubusercontent.com:443",
        ],
    },
    HostSet {
        name: "docker",
        about: "images of Docker Hub",
        rules: &["registry-1.docker.io:443", "auth.docker.io:443", "production.cloudflare.docker.com:443"],
    },
];

/// The rules of a text: one, or those of a set.
pub(super) fn rules_of(text: &str) -> Result<Vec<Rule>, RuleError> {
    let Some(name) = text.strip_prefix('@') else { return Ok(vec![text.parse()?]) };
    let Some(set) = SETS.iter().find(|set| set.name == name) else {
        let known: Vec<String> = SETS.iter().map(|set| format!("@{}", set.name)).collect();
        let why = format!("is no set; there are {}", known.join(", "));
        return Err(RuleError { rule: text.to_owned(), why: why.into() });
    };
    set.rules.iter().map(|rule| rule.parse()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_rule_of_a_set_is_written_as_it_is_printed() {
        for set in SETS {
            let printed: Vec<String> =
                rules_of(&format!("@{}", set.name)).unwrap().iter().map(Rule::to_string).collect();
            assert_eq!(printed, set.rules, "{}", set.name);
        }
        let error = rules_of("@cargo").unwrap_err().to_string();
        assert_eq!(
            error,
            "the network rule `@cargo` is no set; there are @npm, @pypi, @crates, @go, @debian, @github, @docker"
        );
    }
}
