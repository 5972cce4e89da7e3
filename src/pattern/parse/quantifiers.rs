//! Parses quantifiers.

use super::super::error::PatternError;
use super::Parser;

/// Counts from here on mean "without limit", as in V8.
const NO_LIMIT: u32 = i32::MAX as u32;

/// `*`, `+`, `?` or `{1,2}`, and whether a `?` follows.
pub(super) struct Quantifier {
    pub min: u32,
    pub max: Option<u32>,
    pub greedy: bool,
}

impl Parser<'_> {
    /// The quantifier that stands here, if there is one.
    pub(super) fn quantifier(&mut self) -> Result<Option<Quantifier>, PatternError> {
        let start = self.at;
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.braces() {
                Some((min, max, bytes)) => {
                    self.at += bytes - 1;
                    (min, max)
                }
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.at += 1;
        if max.is_some_and(|max| min > max) {
            return Err(self.fault("numbers out of order in {} quantifier", start));
        }
        let greedy = !self.eat("?");
        Ok(Some(Quantifier { min, max, greedy }))
    }

    /// Returns true if a quantifier follows.
    pub(super) fn quantifier_follows(&self) -> bool {
        matches!(self.peek(), Some('*' | '+' | '?')) || self.braces().is_some()
    }

    /// The numbers of `{1}`, `{1,}` or `{1,2}`, and its length in bytes; any other `{` is a plain
    /// character.
    pub(super) fn braces(&self) -> Option<(u32, Option<u32>, usize)> {
        let inside = self.rest().strip_prefix('{')?;
        let (min, rest) = number(inside)?;
        let (max, rest) = match rest.strip_prefix(',') {
            None => (Some(min), rest),
            Some(rest) => number(rest).map_or((None, rest), |(max, rest)| (Some(max), rest)),
        };
        let behind = rest.strip_prefix('}')?;
        Some((
            min,
            max.filter(|max| *max < NO_LIMIT),
            self.rest().len() - behind.len(),
        ))
    }
}

/// The number at the beginning of `text`, no larger than [`NO_LIMIT`], and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let value = text.bytes().take(digits).fold(0u32, |value, digit| {
        value
            .saturating_mul(10)
            .saturating_add(u32::from(digit - b'0'))
            .min(NO_LIMIT)
    });
    (digits > 0).then(|| (value, &text[digits..]))
}
