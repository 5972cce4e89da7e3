//! Destinations of a credential.

use std::str::FromStr;

use crate::rules::request::RequestLine;
use crate::rules::rule::{Destination, Rule, RuleError};
use crate::rules::{Rules, Verdict};

/// Default port of `PostgreSQL`.
const POSTGRES_PORT: u16 = 5432;
/// Default port of `MySQL` and `MariaDB`.
const MYSQL_PORT: u16 = 3306;

/// Protocol of a credential's destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Https,
    /// HTTP without TLS, if the operator allows it.
    Http,
    /// Password of a `PostgreSQL` login.
    Postgres,
    /// Password of a `MySQL` login.
    MySql,
}

impl Scheme {
    const ALL: [(&'static str, Self); 4] = [
        ("https", Self::Https),
        ("http", Self::Http),
        ("postgres", Self::Postgres),
        ("mysql", Self::MySql),
    ];

    pub fn word(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, scheme)| *scheme == self)
            .map_or("", |(word, _)| word)
    }

    /// Returns the default port of a login; `None` for HTTP.
    pub fn login_port(self) -> Option<u16> {
        match self {
            Self::Https | Self::Http => None,
            Self::Postgres => Some(POSTGRES_PORT),
            Self::MySql => Some(MYSQL_PORT),
        }
    }
}

/// Destination of a credential: hosts, and the requests to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialTarget {
    pub scheme: Scheme,
    /// User name for programs that need one.
    pub user: Option<String>,
    /// Host and port as they stand in an address.
    pub authority: String,
    rule: Rule,
    /// A rule for exactly this destination.
    rules: Rules,
}

impl FromStr for CredentialTarget {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let error = |why: String| RuleError {
            rule: text.to_owned(),
            why: why.into(),
        };
        let known = Scheme::ALL.map(|(word, _)| format!("{word}://")).join(", ");
        let Some((word, rest)) = text.split_once("://") else {
            return Err(error(format!(
                "has no scheme; it must begin with one of {known}"
            )));
        };
        let Some((_, scheme)) = Scheme::ALL.iter().find(|(known, _)| *known == word) else {
            return Err(error(format!(
                "begins with `{word}://`, which does not support credentials; use one of {known}"
            )));
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |end| rest.split_at(end));
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, authority),
        };
        let is_user = |user: &str| {
            !user.is_empty()
                && user
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        };
        if user.is_some_and(|user| !is_user(user)) {
            return Err(error(
                "names a user that is not letters, digits, `-`, `.` and `_`".to_owned(),
            ));
        }
        let has_port = authority
            .rsplit_once(':')
            .is_some_and(|(_, port)| !port.ends_with(']'));
        let rule = match scheme.login_port() {
            None if path.is_empty() => format!("{word}://{authority}/**"),
            None => format!("{word}://{authority}{path}"),
            Some(port) if user.is_some() || !path.is_empty() => {
                return Err(error(format!(
                    "names a user or a database; name the host, and its port if that is not {port}"
                )));
            }
            Some(_) if has_port => authority.to_owned(),
            Some(port) => format!("{authority}:{port}"),
        };
        let named = |fault| RuleError {
            rule: text.to_owned(),
            ..fault
        };
        let rules = Rules::new(std::slice::from_ref(&rule), &[]).map_err(named)?;
        let rule = rule.parse().map_err(named)?;
        Ok(Self {
            scheme: *scheme,
            user: user.map(str::to_owned),
            authority: authority.to_owned(),
            rule,
            rules,
        })
    }
}

impl CredentialTarget {
    /// Returns true if this destination is the credential's.
    pub(super) fn names(&self, to: &Destination) -> bool {
        self.rules.allows(to)
    }

    /// Returns the rule that lets commands reach the whole destination.
    pub fn reaching(&self) -> Rule {
        Rule {
            requests: None,
            ..self.rule.clone()
        }
    }

    /// Returns true if the rules let commands reach the credential's destination.
    pub fn is_within(&self, rules: &Rules) -> bool {
        rules.reach(&self.rule)
    }

    pub(super) fn matches(&self, to: &Destination, line: RequestLine<'_>) -> bool {
        self.scheme.login_port().is_none() && self.rules.judge(to, line) == Verdict::Allowed
    }
}
