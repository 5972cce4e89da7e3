//! Passwords in statements: `PASSWORD '...'`, `IDENTIFIED BY '...'`, `password = '...'`.

use super::REDACTED;
use crate::record::exchange::Protocol;

/// The statement without passwords; `None` if it has none.
pub(super) fn statement(text: &[u8], protocol: Protocol) -> Option<Vec<u8>> {
    // Most statements are not looked at any further.
    let likely = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !likely(b"passw") && !likely(b"identified") {
        return None;
    }
    let sql = Sql { text, is_mysql: protocol == Protocol::MySql };
    let mut out = Vec::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(start) = sql.next_word(at) {
        let end = sql.word_end(start);
        let word = &text[start..end];
        at = end;
        let named = ends_with(word, b"password")
            || ends_with(word, b"passwd")
            || word.eq_ignore_ascii_case(b"by") && follows_identified(&text[..start]);
        if !named {
            continue;
        }
        let Some((start, stop)) = sql.literal(end) else { continue };
        at = stop + 1;
        if &text[start..stop] != REDACTED.as_bytes() {
            out.extend_from_slice(&text[kept..start]);
            out.extend_from_slice(REDACTED.as_bytes());
            kept = stop;
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

/// `IDENTIFIED BY`, `IDENTIFIED WITH plugin BY`.
fn follows_identified(before: &[u8]) -> bool {
    let mut words = before.rsplit(|byte| !is_word(*byte)).filter(|word| !word.is_empty());
    let mut next_is = |expected: &[u8]| words.next().is_some_and(|word| word.eq_ignore_ascii_case(expected));
    next_is(b"identified") || next_is(b"with") && next_is(b"identified")
}

struct Sql<'a> {
    text: &'a [u8],
    is_mysql: bool,
}

impl Sql<'_> {
    fn word_end(&self, start: usize) -> usize {
        start + self.text[start..].iter().take_while(|byte| is_word(**byte)).count()
    }

    /// Where the next word begins. Texts and comments are passed over, so nothing in them is taken for a keyword.
    fn next_word(&self, mut at: usize) -> Option<usize> {
        loop {
            let rest = self.text.get(at..)?;
            match *rest.first()? {
                byte if is_word(byte) => return Some(at),
                byte if self.is_quote(byte) => at = self.end_of_text(at)? + 1,
                b'-' if rest.starts_with(b"--") => at += memchr::memchr(b'\n', rest)?,
                // A comment that begins with a mark is carried out.
                b'/' if rest.starts_with(b"/*") && rest.get(2) != Some(&b'!') => {
                    at += memchr::memmem::find(rest, b"*/")? + 2;
                }
                _ => at += 1,
            }
        }
    }

    /// In `PostgreSQL` and in the standard, `"` is for names.
    fn is_quote(&self, byte: u8) -> bool {
        byte == b'\'' || byte == b'"' && self.is_mysql
    }

    /// The text that a keyword is followed by, after what may stand between: `=`, `:=`, `(`, `TO`, `PASSWORD`, an account,
    /// and the letter of a text with escapes.
    fn literal(&self, mut at: usize) -> Option<(usize, usize)> {
        loop {
            match *self.text.get(at)? {
                byte if self.is_quote(byte) => return Some((at + 1, self.end_of_text(at)?)),
                byte if byte.is_ascii_whitespace() || b"=:(\"`".contains(&byte) => at += 1,
                byte if is_word(byte) => {
                    let word = &self.text[at..self.word_end(at)];
                    let is = |other: &[u8]| word.eq_ignore_ascii_case(other);
                    at += word.len();
                    // `SET PASSWORD FOR 'user'@'host' = '...'`
                    if is(b"for") {
                        at += memchr::memchr(b'=', &self.text[at..])?;
                    } else {
                        let with_escapes = is(b"e") && self.text.get(at) == Some(&b'\'');
                        if !(with_escapes || is(b"to") || is(b"password")) {
                            return None;
                        }
                    }
                }
                _ => return None,
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
