//! Replacement texts with references to groups, in the styles of sed and JavaScript.

use super::{Match, Pattern};
use std::ops::Range;

/// A parsed replacement text.
///
/// `\1`-`\9` and `$1`-`$9` are groups (`$10`-`$99` where the pattern has that many), `$<name>` a
/// named group; `\0`, `$0` and `$&` the whole match; `$$` one `$`. Everything else is itself, a `\`
/// before any other character included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    parts: Vec<ReplacementPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ReplacementPart {
    Text(String),
    /// Text of the group that took part in the match. Several groups may share a name.
    Group(Vec<usize>),
}

impl ReplacementPart {
    fn range(groups: &[usize], found: &Match) -> Range<usize> {
        groups
            .iter()
            .find_map(|&number| found.group(number))
            .unwrap_or_default()
    }
}

/// A reference to a group that the pattern does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`newText` refers to a group by `{reference}`, but the pattern has {}", count(*.groups))]
pub struct ReplacementError {
    /// The reference as it was written.
    pub reference: String,
    /// Number of groups in the pattern.
    pub groups: usize,
}

fn count(groups: usize) -> String {
    match groups {
        0 => "no capture group".to_owned(),
        1 => "only 1 capture group".to_owned(),
        _ => format!("only {groups} capture groups"),
    }
}

impl ReplacementError {
    /// Returns the next step.
    pub fn hint(&self) -> String {
        let literal = self
            .reference
            .strip_prefix('$')
            .map_or_else(String::new, |name| {
                format!(", or write `$${name}` for the text itself")
            });
        format!(
            "put parentheses around what to keep, as in `(.*)`, use `$&` for the whole match{literal}"
        )
    }
}

impl Replacement {
    /// Parses `text` for a pattern; every reference must name a group of it.
    pub fn parse(text: &str, pattern: &Pattern) -> Result<Self, ReplacementError> {
        let groups = pattern.captures_len() - 1;
        let missing = |reference: &str| ReplacementError {
            reference: reference.to_owned(),
            groups,
        };
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            let bytes = rest.as_bytes();
            let digit = |i: usize| {
                let byte = bytes.get(i).filter(|byte| byte.is_ascii_digit());
                byte.map(|byte| usize::from(byte - b'0'))
            };
            let (width, group) = match (bytes[0], bytes.get(1)) {
                (b'$', Some(b'$')) => {
                    plain.push('$');
                    (2, None)
                }
                (b'$', Some(b'&')) => (2, Some(vec![0])),
                (b'$', Some(b'<')) if rest.contains('>') => {
                    let end = rest.find('>').unwrap_or_default();
                    let named: Vec<usize> = pattern.groups_named(&rest[2..end]).collect();
                    if named.is_empty() {
                        return Err(missing(&rest[..=end]));
                    }
                    (end + 1, Some(named))
                }
                (sign, Some(b'0'..=b'9')) => {
                    let one = digit(1).unwrap_or_default();
                    let two = digit(2).map(|units| one * 10 + units);
                    let two = two.filter(|two| sign == b'$' && one > 0 && *two <= groups);
                    match two {
                        Some(two) => (3, Some(vec![two])),
                        None if one <= groups => (2, Some(vec![one])),
                        None => return Err(missing(&rest[..2])),
                    }
                }
                // `\\` is two characters of text, so that `\\1` is text as well.
                (b'\\', Some(b'\\')) => {
                    plain.push_str("\\\\");
                    (2, None)
                }
                (sign, _) => {
                    plain.push(char::from(sign));
                    (1, None)
                }
            };
            if let Some(group) = group {
                if !plain.is_empty() {
                    parts.push(ReplacementPart::Text(std::mem::take(&mut plain)));
                }
                parts.push(ReplacementPart::Group(group));
            }
            rest = &rest[width..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(ReplacementPart::Text(plain));
        }
        Ok(Self { parts })
    }

    /// Returns true if the text refers to groups, so that matches must include them.
    pub fn refers_to_groups(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, ReplacementPart::Group(groups) if *groups != [0]))
    }

    /// Returns the length of the replacement for `found`. References can make it much longer than
    /// the text.
    pub fn expanded_bytes(&self, found: &Match) -> usize {
        let bytes = |part: &ReplacementPart| match part {
            ReplacementPart::Text(plain) => plain.len(),
            ReplacementPart::Group(groups) => ReplacementPart::range(groups, found).len(),
        };
        self.parts.iter().map(bytes).fold(0, usize::saturating_add)
    }

    /// Appends what stands for `found`, a match in `text`. A group that took no part is empty.
    pub fn expand(&self, found: &Match, text: &str, out: &mut String) {
        for part in &self.parts {
            match part {
                ReplacementPart::Text(plain) => out.push_str(plain),
                ReplacementPart::Group(groups) => {
                    out.push_str(&text[ReplacementPart::range(groups, found)]);
                }
            }
        }
    }
}
