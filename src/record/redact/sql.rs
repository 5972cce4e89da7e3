//! Secrets in statements: `PASSWORD '...'`, `IDENTIFIED BY '...'`, `IDENTIFIED WITH ... AS '...'`, and what replaces one
//! (`BY '...' REPLACE '...'`); what is compared with, or given to, a column of such a name; what is inserted into one. A value
//! may be a text or a parameter, whose value stands elsewhere.

use std::ops::Range;

use super::names::is_secret_key;
use super::plain::addresses;
use super::walk::{Form, Replace, Secret};
use crate::record::exchange::Protocol;

/// How deep statements are looked for in texts of statements (`DO $$ ... $$`).
const MAX_DEPTH: usize = 4;
/// Parts of statements in which there may be a secret; most are not looked at any further.
const HINTS: [&str; 10] =
    ["passw", "identified", "://", "secret", "token", "apikey", "api_key", "pwd", "passphrase", "jwt"];
/// Words that may stand between the name of a column and its value: operators, and functions that are given the value.
const BETWEEN: [&str; 36] = [
    "to",
    "like",
    "ilike",
    "not",
    "in",
    "any",
    "some",
    "all",
    "array",
    "similar",
    "regexp",
    "rlike",
    "binary",
    "is",
    "distinct",
    "e",
    "u",
    "n",
    "crypt",
    "md5",
    "sha",
    "sha1",
    "sha2",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "digest",
    "encode",
    "convert_to",
    "lower",
    "upper",
    "trim",
    "concat",
    "cast",
    "password",
];

/// The statement with other secrets; `None` if none of them changes.
pub(super) fn statement(text: &[u8], protocol: Protocol, replace: Replace<'_>) -> Option<Vec<u8>> {
    within(text, protocol, replace, 0)
}

/// The parameters of a statement whose values are secrets, counted from 0, and how many it has.
pub(super) fn parameters(text: &[u8], protocol: Protocol) -> (Vec<usize>, usize) {
    if !is_likely(text) {
        return (Vec::new(), 0);
    }
    let (sql, mut found) = (Sql { text, is_mysql: protocol == Protocol::MySql }, Vec::new());
    let tokens = sql.tokens();
    for (_, token) in secrets(&sql, &tokens) {
        found.extend(token.parameter());
    }
    (found, tokens.iter().filter_map(Token::parameter).map(|number| number + 1).max().unwrap_or(0))
}

fn is_likely(text: &[u8]) -> bool {
    let lower = text.to_ascii_lowercase();
    HINTS.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
}

fn within(text: &[u8], protocol: Protocol, replace: Replace<'_>, depth: usize) -> Option<Vec<u8>> {
    if !is_likely(text) {
        return None;
    }
    let sql = Sql { text, is_mysql: protocol == Protocol::MySql };
    let tokens = sql.tokens();
    let found = secrets(&sql, &tokens);
    let mut out = Vec::new();
    let mut kept = 0;
    for token in &tokens {
        let Token::Text { inside, start } = token else { continue };
        let value = &text[inside.clone()];
        let name = found.iter().find(|(_, secret)| *secret == token).map(|(name, _)| *name);
        let other = if let Some(name) = name {
            replace(&Secret { name, ..Secret::password(value, Form::Text) })
        } else {
            // A text may say how another database is reached.
            let body = (text[*start] == b'$' && depth < MAX_DEPTH)
                .then(|| within(value, protocol, replace, depth + 1))
                .flatten();
            addresses(body.as_deref().unwrap_or(value), replace).or(body)
        };
        if let Some(other) = other {
            out.extend_from_slice(&text[kept..inside.start]);
            out.extend_from_slice(&other);
            kept = inside.end;
        }
    }
    out.extend_from_slice(if kept == 0 { &[] } else { &text[kept..] });
    (kept > 0).then_some(out)
}

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(Range<usize>),
    /// A text: what is in its quotes, and where it begins.
    Text {
        inside: Range<usize>,
        start: usize,
    },
    /// The number of a parameter, from 0.
    Parameter {
        number: usize,
        at: usize,
    },
    /// Anything else but quotes of names.
    Mark(u8),
}

impl Token {
    fn parameter(&self) -> Option<usize> {
        if let Self::Parameter { number, .. } = self { Some(*number) } else { None }
    }

    fn is_value(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Parameter { .. })
    }
}

/// The values that are secrets, with what they are called.
fn secrets<'a>(sql: &Sql<'_>, tokens: &'a [Token]) -> Vec<(&'static str, &'a Token)> {
    let mut found: Vec<(&'static str, usize)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(place) = token else { continue };
        let word = String::from_utf8_lossy(&sql.text[place.clone()]).to_ascii_lowercase();
        let follows = |other: &str| {
            at.checked_sub(1).is_some_and(|before| found.last() == Some(&("password", before))) && word == other
        };
        if let Some(name) = called(&word) {
            found.extend(sql.values(tokens, at + 1).into_iter().map(|value| (name, value)));
        } else if matches!(word.as_str(), "by" | "as" | "using") && follows_identified(&sql.text[..place.start])
            || follows("replace")
        {
            found.extend(sql.values(tokens, at + 1).into_iter().map(|value| ("password", value)));
        } else if matches!(word.as_str(), "values" | "value") {
            found.extend(sql.inserted(tokens, at));
        }
    }
    found.sort_by_key(|(_, at)| *at);
    found.dedup_by_key(|(_, at)| *at);
    found.into_iter().map(|(name, at)| (name, &tokens[at])).collect()
}

/// What a secret is called that has this name; `None` if it is none.
fn called(word: &str) -> Option<&'static str> {
    let is_password =
        word.ends_with("password") || word.ends_with("passwd") || word.contains("pass") && is_secret_key(word);
    if is_password { Some("password") } else { is_secret_key(word).then_some("secret") }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// `IDENTIFIED BY`, `IDENTIFIED WITH plugin BY`, `IDENTIFIED VIA plugin USING`.
fn follows_identified(before: &[u8]) -> bool {
    let mut words = before.rsplit(|byte| !is_word(*byte)).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"identified"))
        || words.next().is_some_and(|word| [&b"with"[..], b"via"].iter().any(|known| word.eq_ignore_ascii_case(known)))
            && words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"identified"))
}

struct Sql<'a> {
    text: &'a [u8],
    is_mysql: bool,
}

impl Sql<'_> {
    fn word_end(&self, start: usize) -> usize {
        start + self.text[start..].iter().take_while(|byte| is_word(**byte)).count()
    }

    /// Words, texts, parameters and marks. Comments are passed over, so nothing in them is taken for a keyword.
    fn tokens(&self) -> Vec<Token> {
        let (mut found, mut at, mut count) = (Vec::new(), 0, 0);
        while let Some(byte) = self.text.get(at).copied() {
            if self.opens_text(at) {
                let Some((inside, end)) = self.quoted(at) else { break };
                found.push(Token::Text { inside, start: at });
                at = end;
            } else if is_word(byte) {
                let end = self.word_end(at);
                found.push(Token::Word(at..end));
                at = end;
            } else if byte == b'?' && self.is_mysql {
                found.push(Token::Parameter { number: count, at });
                (at, count) = (at + 1, count + 1);
            } else if let Some(number) = self.numbered(at) {
                found.push(Token::Parameter { number, at });
                at = self.word_end(at + 1);
            } else {
                let Some(after) = self.after_comment(at) else { break };
                let is_mark = after == at + 1 && !byte.is_ascii_whitespace() && !b"\"`".contains(&byte);
                found.extend(is_mark.then_some(Token::Mark(byte)));
                at = after;
            }
        }
        found
    }

    /// The number of the parameter `$1` that begins here.
    fn numbered(&self, at: usize) -> Option<usize> {
        let digits = self.text[at..].strip_prefix(b"$").filter(|_| !self.is_mysql)?;
        let digits = &digits[..digits.iter().take_while(|byte| byte.is_ascii_digit()).count()];
        std::str::from_utf8(digits).ok()?.parse::<u16>().ok()?.checked_sub(1).map(usize::from)
    }

    /// The next byte, or what is behind the comment that begins here.
    fn after_comment(&self, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        if rest.starts_with(b"--") || self.is_mysql && rest[0] == b'#' {
            return Some(at + memchr::memchr(b'\n', rest)?);
        }
        // A comment that begins with a mark is carried out.
        if rest.starts_with(b"/*") && rest.get(2) != Some(&b'!') {
            return Some(at + memchr::memmem::find(rest, b"*/")? + 2);
        }
        Some(at + 1)
    }

    /// In `PostgreSQL` and in the standard, `"` is for names.
    fn is_quote(&self, byte: u8) -> bool {
        byte == b'\'' || byte == b'"' && self.is_mysql
    }

    fn opens_text(&self, at: usize) -> bool {
        self.is_quote(self.text[at]) || self.dollars(at).is_some()
    }

    /// The mark around a text of `PostgreSQL`: `$$` or `$tag$`.
    fn dollars(&self, at: usize) -> Option<&[u8]> {
        let rest = self.text[at..].strip_prefix(b"$").filter(|_| !self.is_mysql)?;
        let length = rest.iter().take_while(|byte| is_word(**byte)).count();
        let is_tag = rest.get(length) == Some(&b'$') && !rest[0].is_ascii_digit();
        is_tag.then(|| &self.text[at..at + length + 2])
    }

    /// What stands in the text that begins here, and where it ends.
    fn quoted(&self, at: usize) -> Option<(Range<usize>, usize)> {
        if let Some(mark) = self.dollars(at) {
            let start = at + mark.len();
            let stop = start + memchr::memmem::find(&self.text[start..], mark)?;
            return Some((start..stop, stop + mark.len()));
        }
        self.is_quote(self.text[at]).then_some(())?;
        let stop = self.end_of_text(at)?;
        Some((at + 1..stop, stop + 1))
    }

    /// The places of the values that a name is followed by, after operators, an account and the like: several in a list.
    fn values(&self, tokens: &[Token], from: usize) -> Vec<usize> {
        let (mut found, mut at, mut is_list) = (Vec::new(), from, false);
        while let Some(token) = tokens.get(at) {
            match token {
                Token::Mark(b'=' | b':' | b'(' | b'[' | b'<' | b'>' | b'!' | b'~' | b'&' | b'*') => {}
                Token::Word(place) => {
                    let word = String::from_utf8_lossy(&self.text[place.clone()]).to_ascii_lowercase();
                    let is_distinct = || {
                        at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|before| {
                            matches!(before, Token::Word(place) if self.text[place.clone()].eq_ignore_ascii_case(b"distinct"))
                        })
                    };
                    is_list |= matches!(word.as_str(), "in" | "any" | "some" | "all" | "array");
                    // `SET PASSWORD FOR 'user'@'host' = '...'`
                    if word == "for" {
                        let Some(equals) = tokens[at..].iter().position(|token| *token == Token::Mark(b'=')) else {
                            break;
                        };
                        at += equals;
                    } else if !(BETWEEN.contains(&word.as_str())
                        || word.starts_with('_')
                        || word == "from" && is_distinct())
                    {
                        break;
                    }
                }
                _ if token.is_value() => {
                    found.push(at);
                    let goes_on = is_list && tokens.get(at + 1) == Some(&Token::Mark(b','));
                    if !goes_on {
                        break;
                    }
                    at += 1;
                }
                _ => break,
            }
            at += 1;
        }
        found
    }

    /// The places of what is inserted into columns of such names: `(a, password) VALUES (1, '...'), (2, '...')`.
    fn inserted(&self, tokens: &[Token], values: usize) -> Vec<(&'static str, usize)> {
        let mut columns = Vec::new();
        for token in tokens[..values].iter().rev().skip_while(|token| **token == Token::Mark(b')')) {
            match token {
                Token::Word(place) => {
                    columns.push(called(&String::from_utf8_lossy(&self.text[place.clone()]).to_ascii_lowercase()));
                }
                Token::Mark(b',') => {}
                _ => break,
            }
        }
        columns.reverse();
        let is_list = values > 0 && tokens[values - 1] == Token::Mark(b')');
        let mut found = Vec::new();
        if !is_list || columns.iter().all(Option::is_none) {
            return found;
        }
        let (mut depth, mut column, mut taken) = (0_usize, 0, false);
        for (at, token) in tokens.iter().enumerate().skip(values + 1) {
            match token {
                Token::Mark(b'(') => {
                    depth += 1;
                    if depth == 1 {
                        (column, taken) = (0, false);
                    }
                }
                Token::Mark(b')') => depth = depth.saturating_sub(1),
                Token::Mark(b',') if depth == 1 => (column, taken) = (column + 1, false),
                // After the last row.
                Token::Word(_) if depth == 0 => break,
                // Of a function that is given the secret, such as one that makes a hash of it, it is the first.
                _ if token.is_value() && depth > 0 && !taken => {
                    if let Some(name) = columns.get(column).copied().flatten() {
                        found.push((name, at));
                        taken = true;
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Where the quote is that ends the text which begins here. A quote in it is written twice, or behind `\` where that
    /// has a meaning: in `MySQL`, and in `E'...'` of `PostgreSQL`.
    fn end_of_text(&self, start: usize) -> Option<usize> {
        let before = |back: usize| start.checked_sub(back).map(|at| self.text[at]);
        let marked = matches!(before(1), Some(b'e' | b'E')) && !before(2).is_some_and(is_word);
        let escapes = self.is_mysql || marked;
        let quote = self.text[start];
        let mut at = start + 1;
        loop {
            at += memchr::memchr2(quote, b'\\', self.text.get(at..)?)?;
            match self.text[at] {
                b'\\' => at += if escapes { 2 } else { 1 },
                _ if self.text.get(at + 1) == Some(&quote) => at += 2,
                _ => return Some(at),
            }
        }
    }
}
