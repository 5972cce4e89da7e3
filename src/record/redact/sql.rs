//! Passwords in statements: `PASSWORD '...'`, `IDENTIFIED BY '...'`, `IDENTIFIED WITH ... AS '...'`, `password = '...'`,
//! and what replaces one (`BY '...' REPLACE '...'`).

use std::ops::Range;

use super::walk::{Form, Replace, Secret, addresses};
use crate::record::exchange::Protocol;

/// How deep statements are looked for in texts of statements (`DO $$ ... $$`).
const MAX_DEPTH: usize = 4;

/// The statement with other passwords; `None` if none of them changes.
pub(super) fn statement(text: &[u8], protocol: Protocol, replace: Replace<'_>) -> Option<Vec<u8>> {
    within(text, protocol, replace, 0)
}

fn within(text: &[u8], protocol: Protocol, replace: Replace<'_>, depth: usize) -> Option<Vec<u8>> {
    // Most statements are not looked at any further.
    let likely = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !likely(b"passw") && !likely(b"identified") && !likely(b"://") {
        return None;
    }
    let sql = Sql { text, is_mysql: protocol == Protocol::MySql };
    let mut out = Vec::new();
    let (mut kept, mut at) = (0, 0);
    let mut password_end = None;
    let mut put = |inside: Range<usize>, other: Option<Vec<u8>>| {
        if let Some(other) = other {
            out.extend_from_slice(&text[kept..inside.start]);
            out.extend_from_slice(&other);
            kept = inside.end;
        }
    };
    while let Some(start) = sql.next(at) {
        if sql.opens_text(start) {
            let Some((inside, end)) = sql.quoted(start) else { break };
            // A text may say how another database is reached.
            let body = (text[start] == b'$' && depth < MAX_DEPTH)
                .then(|| within(&text[inside.clone()], protocol, replace, depth + 1))
                .flatten();
            let other = addresses(body.as_deref().unwrap_or(&text[inside.clone()]), replace);
            put(inside, other.or(body));
            at = end;
            continue;
        }
        let end = sql.word_end(start);
        let word = &text[start..end];
        at = end;
        let named = ends_with(word, b"password")
            || ends_with(word, b"passwd")
            || word.eq_ignore_ascii_case(b"replace")
                && password_end.is_some_and(|end: usize| is_space(&text[end..start]))
            || [&b"by"[..], b"as", b"using"].iter().any(|known| word.eq_ignore_ascii_case(known))
                && follows_identified(&text[..start]);
        if let Some((inside, end)) = named.then(|| sql.literal(end)).flatten() {
            put(inside.clone(), replace(&Secret::password(&text[inside], Form::Text)));
            (at, password_end) = (end, Some(end));
        }
    }
    if kept == 0 {
        return None;
    }
    out.extend_from_slice(&text[kept..]);
    Some(out)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn ends_with(word: &[u8], end: &[u8]) -> bool {
    word.len() >= end.len() && word[word.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// Whether there is something, and nothing but space.
fn is_space(between: &[u8]) -> bool {
    !between.is_empty() && between.trim_ascii().is_empty()
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

    /// Where the next word or text begins. Comments are passed over, so nothing in them is taken for a keyword.
    fn next(&self, mut at: usize) -> Option<usize> {
        loop {
            let byte = *self.text.get(at)?;
            if is_word(byte) || self.opens_text(at) {
                return Some(at);
            }
            at = self.after_comment(at)?;
        }
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

    /// The text that a keyword is followed by, after what may stand between: `=`, `:=`, `(`, `TO`, `PASSWORD`, an account,
    /// comments, and the letters of a text with escapes.
    fn literal(&self, mut at: usize) -> Option<(Range<usize>, usize)> {
        loop {
            let byte = *self.text.get(at)?;
            if self.opens_text(at) {
                return self.quoted(at);
            }
            if is_word(byte) {
                let word = &self.text[at..self.word_end(at)];
                let is = |other: &[u8]| word.eq_ignore_ascii_case(other);
                at += word.len();
                let after = |next: &[u8]| self.text[at..].starts_with(next);
                // `SET PASSWORD FOR 'user'@'host' = '...'`
                if is(b"for") {
                    at += memchr::memchr(b'=', &self.text[at..])?;
                } else if is(b"u") && after(b"&'") {
                    at += 1;
                } else if !(is(b"e") && after(b"'") || is(b"to") || is(b"password")) {
                    return None;
                }
            } else if byte.is_ascii_whitespace() || b"=:(\"`".contains(&byte) {
                at += 1;
            } else {
                let after = self.after_comment(at).filter(|after| *after > at + 1)?;
                at = after;
            }
        }
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
