//! Tokenizer of SQL statements (`PostgreSQL`, "Lexical Structure"; `MySQL`, "Language Structure").
//! It finds words, values and marks, and splits off literals and comments.

#[cfg(test)]
mod tests;

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LexemeKind {
    /// Words, names, marks, quotes, and hints.
    Plain,
    /// A comment up to the end of the line; programs do not generate these.
    Line,
    /// A quoted text or a number.
    Literal,
    /// A comment between `/*` and `*/`: some libraries write a trace id there.
    Comment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A word or a name, in lower case unless it was quoted.
    Word(String),
    /// A text, a number, or the value of a parameter; NULL is `None`.
    Value(Option<Vec<u8>>),
    Mark(u8),
}

/// Splits a statement into parts; concatenated they are the statement.
pub(crate) fn cut(text: &[u8], is_mysql: bool) -> Vec<(Range<usize>, LexemeKind)> {
    let (mut found, mut plain) = (Vec::new(), 0);
    for (range, lexeme) in read(text, is_mysql) {
        if let Lexeme::Part(kind) = lexeme {
            found.extend([
                (plain..range.start, LexemeKind::Plain),
                (range.clone(), kind),
            ]);
            plain = range.end;
        }
    }
    found.push((plain..text.len(), LexemeKind::Plain));
    found.retain(|(range, kind)| *kind != LexemeKind::Plain || !range.is_empty());
    found
}

/// Returns the number of parameters of a prepared `MySQL` statement.
pub(crate) fn parameters(text: &[u8]) -> usize {
    read(text, true)
        .iter()
        .filter(|(_, lexeme)| matches!(lexeme, Lexeme::Parameter(_)))
        .count()
}

/// Splits a text into statements of tokens. `bound` has the values of the parameters in order.
pub(crate) fn statements(
    text: &[u8],
    is_mysql: bool,
    bound: &[Option<Vec<u8>>],
) -> Vec<Vec<Token>> {
    let mut found = vec![Vec::new()];
    for (range, lexeme) in read(text, is_mysql) {
        let part = &text[range];
        let token = match lexeme {
            Lexeme::Word => Token::Word(String::from_utf8_lossy(part).to_ascii_lowercase()),
            Lexeme::Name => Token::Word(String::from_utf8_lossy(part).into_owned()),
            Lexeme::Parameter(number) => Token::Value(
                number
                    .checked_sub(1)
                    .and_then(|at| bound.get(at))
                    .cloned()
                    .flatten(),
            ),
            Lexeme::Mark if part == b";" => {
                found.push(Vec::new());
                continue;
            }
            Lexeme::Mark => Token::Mark(part[0]),
            Lexeme::Part(LexemeKind::Literal) => Token::Value(Some(part.to_vec())),
            Lexeme::Part(_) => continue,
        };
        if let Some(last) = found.last_mut() {
            last.push(token);
        }
    }
    found.retain(|one| !one.is_empty());
    found
}

enum Lexeme {
    Word,
    /// A name without its quotes.
    Name,
    /// A parameter by its number, from 1.
    Parameter(usize),
    Mark,
    /// A literal or a comment.
    Part(LexemeKind),
}

/// Returns the lexemes of a text, without white space.
fn read(text: &[u8], is_mysql: bool) -> Vec<(Range<usize>, Lexeme)> {
    let mut reader = Reader {
        text,
        is_mysql,
        found: Vec::new(),
        marks: 0,
    };
    let mut at = 0;
    while at < text.len() {
        at = reader.next(at);
    }
    reader.found
}

struct Reader<'a> {
    text: &'a [u8],
    is_mysql: bool,
    found: Vec<(Range<usize>, Lexeme)>,
    /// Question marks so far.
    marks: usize,
}

impl Reader<'_> {
    fn put(&mut self, range: Range<usize>, lexeme: Lexeme) -> usize {
        let end = range.end;
        self.found.push((range, lexeme));
        end
    }

    /// Reads the lexeme at this offset and returns its end.
    fn next(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let is_blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        match rest[0] {
            b'\'' => self.literal(at + 1, self.end_of_quotes(at, self.is_mysql), 1),
            b'"' if self.is_mysql => self.literal(at + 1, self.end_of_quotes(at, true), 1),
            quote @ (b'"' | b'`') if quote == b'"' || self.is_mysql => {
                let end = self.end_of_quotes(at, false);
                self.put(at + 1..(end - 1).max(at + 1), Lexeme::Name);
                end
            }
            b'$' if !self.is_mysql => self.dollar(at),
            // In `MySQL` white space must follow.
            b'-' if rest.starts_with(b"--") && (!self.is_mysql || is_blank(rest.get(2))) => {
                self.line(at)
            }
            b'#' if self.is_mysql => self.line(at),
            b'/' if rest.starts_with(b"/*") => self.comment(at),
            b'*' if rest.starts_with(b"*/") => at + 2,
            b'?' if self.is_mysql => {
                self.marks += 1;
                self.put(at..at + 1, Lexeme::Parameter(self.marks))
            }
            first if first.is_ascii_digit() => {
                self.put(at..at + number(rest), Lexeme::Part(LexemeKind::Literal))
            }
            first if is_word(first) || first == b'@' => {
                let is_part = |byte: &u8| is_word(*byte) || b"$.@".contains(byte);
                let end = at
                    + rest
                        .iter()
                        .position(|byte| !is_part(byte))
                        .unwrap_or(rest.len());
                self.put(at..end, Lexeme::Word);
                // `E'...'`: a backslash escapes the next byte.
                let escapes = !self.is_mysql && matches!(&self.text[at..end], b"e" | b"E");
                if escapes && self.text.get(end) == Some(&b'\'') {
                    return self.literal(end + 1, self.end_of_quotes(end, true), 1);
                }
                end
            }
            first if first.is_ascii_whitespace() => at + 1,
            _ => self.put(at..at + 1, Lexeme::Mark),
        }
    }

    /// Adds a literal up to `end`, which may include `closing` bytes of the closing quote.
    fn literal(&mut self, from: usize, end: usize, closing: usize) -> usize {
        let is_closed =
            end >= from + closing && self.text[..end].ends_with(&self.text[from - closing..from]);
        let to = if is_closed {
            end - closing
        } else {
            self.text.len()
        };
        self.put(from..to, Lexeme::Part(LexemeKind::Literal));
        end
    }

    /// Reads a text between marks `$$` or `$tag$`, or a parameter.
    fn dollar(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let tag = rest[1..].iter().take_while(|byte| is_word(**byte)).count();
        if rest.get(tag + 1) == Some(&b'$') && !rest[1].is_ascii_digit() {
            let mark = tag + 2;
            let end = memchr::memmem::find(&rest[mark..], &rest[..mark]);
            return self.literal(
                at + mark,
                end.map_or(self.text.len(), |end| at + 2 * mark + end),
                mark,
            );
        }
        let digits = rest[1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        match std::str::from_utf8(&rest[1..=digits])
            .ok()
            .and_then(|number| number.parse().ok())
        {
            Some(number) => self.put(at..at + 1 + digits, Lexeme::Parameter(number)),
            None => at + 1,
        }
    }

    /// Returns the end of the quotes that begin here. A doubled quote is part of the text.
    fn end_of_quotes(&self, at: usize, escapes: bool) -> usize {
        let quote = self.text[at];
        let mut at = at + 1;
        while let Some(byte) = self.text.get(at) {
            match byte {
                b'\\' if escapes => at += 2,
                byte if *byte == quote && self.text.get(at + 1) == Some(&quote) => at += 2,
                byte if *byte == quote => return at + 1,
                _ => at += 1,
            }
        }
        self.text.len()
    }

    fn line(&mut self, at: usize) -> usize {
        let end = memchr::memchr(b'\n', &self.text[at..]).map_or(self.text.len(), |end| at + end);
        self.put(at..end, Lexeme::Part(LexemeKind::Line))
    }

    fn comment(&mut self, at: usize) -> usize {
        let mark = self.text.get(at + 2);
        // An executed comment.
        if self.is_mysql && mark == Some(&b'!') {
            return at + 3;
        }
        let Some(end) = self.end_of_comment(at) else {
            return self.text.len();
        };
        // A hint for the server is not a comment.
        if mark != Some(&b'+') {
            self.put(at + 2..end - 2, Lexeme::Part(LexemeKind::Comment));
        }
        end
    }

    /// `PostgreSQL` nests comments.
    fn end_of_comment(&self, at: usize) -> Option<usize> {
        let (mut depth, mut at) = (1_usize, at + 2);
        loop {
            match self.text.get(at..at + 2)? {
                b"/*" if !self.is_mysql => (depth, at) = (depth + 1, at + 2),
                b"*/" if depth == 1 => return Some(at + 2),
                b"*/" => (depth, at) = (depth - 1, at + 2),
                _ => at += 1,
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns the length of a number: `12`, `1.5e-3`, `0xff`.
fn number(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let next_is_digit = text.get(at + 1).is_some_and(u8::is_ascii_digit);
        let is_exponent =
            || matches!(text[at - 1], b'e' | b'E') && !text.starts_with(b"0x") && next_is_digit;
        match byte {
            byte if is_word(*byte) => at += 1,
            b'.' if next_is_digit => at += 1,
            b'+' | b'-' if at > 0 && is_exponent() => at += 1,
            _ => break,
        }
    }
    at
}
