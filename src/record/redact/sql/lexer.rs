//! Statements taken apart: words, texts, parameters and marks. Comments and the quotes of names are passed over.

use std::ops::Range;

use crate::record::redact::MARKED;

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
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
    pub(super) fn parameter(&self) -> Option<usize> {
        if let Self::Parameter { number, .. } = self { Some(*number) } else { None }
    }

    pub(super) fn is_value(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Parameter { .. })
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A statement, and whose.
pub(super) struct Sql<'a> {
    pub(super) text: &'a [u8],
    pub(super) is_mysql: bool,
}

impl Sql<'_> {
    /// The word of this token in lower case; empty where it is none.
    pub(super) fn word(&self, token: Option<&Token>) -> String {
        match token {
            Some(Token::Word(place)) => String::from_utf8_lossy(&self.text[place.clone()]).to_ascii_lowercase(),
            _ => String::new(),
        }
    }

    fn word_end(&self, start: usize) -> usize {
        start + self.text[start..].iter().take_while(|byte| is_word(**byte)).count()
    }

    /// Words, texts, parameters and marks. Comments are passed over, so nothing in them is taken for a keyword.
    pub(super) fn tokens(&self) -> Vec<Token> {
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
        self.is_quote(self.text[at]) || self.dollars(at).is_some() || self.opens_hexadecimal(at)
    }

    /// Whether a text of `MySQL` begins that is written in hexadecimal digits, `0x70`, or what stands for one.
    fn opens_hexadecimal(&self, at: usize) -> bool {
        let Some(rest) = self.text[at..].strip_prefix(b"0x").filter(|_| self.is_mysql) else { return false };
        let digits = rest.iter().take_while(|byte| is_word(**byte));
        rest.starts_with(&MARKED.as_bytes()[..MARKED.len() - 1])
            || rest.first().is_some_and(|byte| is_word(*byte)) && digits.into_iter().all(u8::is_ascii_hexdigit)
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
        if self.opens_hexadecimal(at) {
            let start = at + 2;
            let marked = self.text[start..].starts_with(b"[");
            let end =
                if marked { start + memchr::memchr(b']', &self.text[start..])? + 1 } else { self.word_end(start) };
            return Some((start..end, end));
        }
        if let Some(mark) = self.dollars(at) {
            let start = at + mark.len();
            let stop = start + memchr::memmem::find(&self.text[start..], mark)?;
            return Some((start..stop, stop + mark.len()));
        }
        self.is_quote(self.text[at]).then_some(())?;
        let stop = self.end_of_text(at)?;
        Some((at + 1..stop, stop + 1))
    }

    /// Whether `\` has a meaning in the text which begins here: in `MySQL`, and in `E'...'` of `PostgreSQL`.
    pub(super) fn escapes(&self, start: usize) -> bool {
        let before = |back: usize| start.checked_sub(back).map(|at| self.text[at]);
        let marked = matches!(before(1), Some(b'e' | b'E')) && !before(2).is_some_and(is_word);
        self.is_mysql || marked && self.text[start] == b'\''
    }

    /// Where the quote is that ends the text which begins here. A quote in it is written twice, or behind `\` where that has a
    /// meaning.
    fn end_of_text(&self, start: usize) -> Option<usize> {
        let escapes = self.escapes(start);
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
