//! What a credential is for.

use std::str::FromStr;

use super::Asked;
use crate::egress::rule::{Destination, Rule, RuleError};
use crate::egress::rules::Rules;

/// How it is spoken there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Https,
    /// HTTP without TLS, where the operator wants that.
    Http,
}

/// Hosts, and what is asked of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub scheme: Scheme,
    /// As whom programs that ask for a name are to come.
    pub user: Option<String>,
    /// Host and port as they stand in an address.
    pub authority: String,
    rule: Rule,
    /// That one alone.
    rules: Rules,
}

impl FromStr for Place {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let error = |why: String| RuleError { rule: text.to_owned(), why: why.into() };
        let (scheme, rest) = match text.split_once("://") {
            Some(("https", rest)) => (Scheme::Https, rest),
            Some(("http", rest)) => (Scheme::Http, rest),
            Some((scheme, _)) => {
                return Err(error(format!(
                    "has the scheme `{scheme}`, for which no credential is supported; https and http are"
                )));
            }
            None => return Err(error("does not say how it is spoken there; begin with https://".to_owned())),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |end| rest.split_at(end));
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, authority),
        };
        let is_user = |user: &str| {
            !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        };
        if user.is_some_and(|user| !is_user(user)) {
            return Err(error("names a user that is not letters, digits, `-`, `.` and `_`".to_owned()));
        }
        let word = match scheme {
            Scheme::Https => "https",
            Scheme::Http => "http",
        };
        let rule = format!("{word}://{authority}{path}");
        let named = |fault| RuleError { rule: text.to_owned(), ..fault };
        let rules = Rules::new(std::slice::from_ref(&rule), &[]).map_err(named)?;
        let rule = rule.parse().map_err(named)?;
        Ok(Self { scheme, user: user.map(str::to_owned), authority: authority.to_owned(), rule, rules })
    }
}

impl Place {
    /// Whether something there is meant.
    pub(super) fn names(&self, scheme: Scheme, to: &Destination) -> bool {
        self.scheme == scheme && self.rules.allows(to)
    }

    /// Whether these rules let commands reach what is meant.
    pub fn is_within(&self, rules: &Rules) -> bool {
        rules.reaches(&self.rule)
    }

    pub(super) fn matches(&self, asked: &Asked<'_>) -> bool {
        self.names(asked.scheme, asked.to)
    }
}
