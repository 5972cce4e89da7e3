//! Statements cut into literals, comments and the rest (`PostgreSQL`, "Lexical Structure"; `MySQL`, "Language Structure"), and read
//! as tokens: words, values and marks, and nothing more.

use std::ops::Range;

/// What a part of a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) enum Kind {
    /// Words, names, marks, quotes, and hints.
    Plain,
    /// A comment up to the end of a line, which no program makes up.
    Line,
    /// What stands in quotes, or a number.
    Literal,
    /// What stands in a comment between `/*` and `*/`: some libraries write the number of a trace there.
    Comment,
}

/// The parts in their order; together they are the statement.
pub(in crate::record) fn cut(text: &[u8], is_mysql: bool) -> Vec<(Range<usize>, Kind)> {
    Cut::of(text, is_mysql).found
}

/// How many parameters a statement of `MySQL` has that is prepared.
pub(in crate::record) fn parameters(text: &[u8]) -> usize {
    Cut::of(text, true).parameters
}

struct Cut<'a> {
    text: &'a [u8],
    is_mysql: bool,
    found: Vec<(Range<usize>, Kind)>,
    /// Where what is plain has begun.
    plain: usize,
    /// How many parameters there are, each a question mark.
    parameters: usize,
}

impl<'a> Cut<'a> {
    fn of(text: &'a [u8], is_mysql: bool) -> Self {
        let mut cut = Self { text, is_mysql, found: Vec::new(), plain: 0, parameters: 0 };
        let mut at = 0;
        while at < text.len() {
            at = cut.next(at).max(at + 1);
        }
        cut.end_plain(text.len());
        cut
    }

    /// Passes over what begins here; where it ends.
    fn next(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        match rest[0] {
            b'\'' => self.literal(at + 1, self.end_of_quotes(at, self.is_mysql), 1),
            b'"' if self.is_mysql => self.literal(at + 1, self.end_of_quotes(at, true), 1),
            quote @ (b'"' | b'`') => {
                let is_name = quote == b'"' || self.is_mysql;
                if is_name { self.end_of_quotes(at, false) } else { at + 1 }
            }
            b'$' if !self.is_mysql => match dollars(rest) {
                Some(mark) => {
                    let end = memchr::memmem::find(&rest[mark..], &rest[..mark]);
                    self.literal(at + mark, end.map_or(self.text.len(), |end| at + 2 * mark + end), mark)
                }
                None => at + 1 + word(&rest[1..]),
            },
            b'-' if rest.starts_with(b"--") && self.is_comment(rest) => self.line(at),
            b'#' if self.is_mysql => self.line(at),
            b'/' if rest.starts_with(b"/*") => self.comment(at),
            first if first.is_ascii_digit() => self.literal(at, at + number(rest), 0),
            first if is_word(first) => {
                let end = at + word(rest);
                // `E'...'`: in it a backslash takes the next byte its meaning.
                let escapes = !self.is_mysql && matches!(&self.text[at..end], b"e" | b"E");
                if escapes && self.text.get(end) == Some(&b'\'') {
                    return self.literal(end + 1, self.end_of_quotes(end, true), 1);
                }
                end
            }
            mark => {
                self.parameters += usize::from(mark == b'?');
                at + 1
            }
        }
    }

    /// A literal that ends, with `closing` bytes behind it, where `end` is.
    fn literal(&mut self, from: usize, end: usize, closing: usize) -> usize {
        let is_closed =
            closing == 0 || end >= from + closing && self.text[..end].ends_with(&self.text[from - closing..from]);
        let to = if is_closed { end - closing } else { self.text.len() };
        self.end_plain(from);
        self.found.push((from..to, Kind::Literal));
        self.plain = to;
        end
    }

    fn end_plain(&mut self, at: usize) {
        if at > self.plain {
            self.found.push((self.plain..at, Kind::Plain));
        }
        self.plain = at;
    }

    /// Where quotes end that begin here, behind the closing one. A quote in them is written twice.
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

    /// In `MySQL` two dashes need a space behind them.
    fn is_comment(&self, rest: &[u8]) -> bool {
        !self.is_mysql || rest.get(2).is_none_or(u8::is_ascii_whitespace)
    }

    fn line(&mut self, at: usize) -> usize {
        let end = memchr::memchr(b'\n', &self.text[at..]).map_or(self.text.len(), |end| at + end);
        self.end_plain(at);
        self.found.push((at..end, Kind::Line));
        self.plain = end;
        end
    }

    fn comment(&mut self, at: usize) -> usize {
        // What is carried out, and what tells the server how.
        if self.is_mysql && self.text.get(at + 2) == Some(&b'!') {
            return at + 3;
        }
        let is_hint = self.text.get(at + 2) == Some(&b'+');
        let end = self.end_of_comment(at);
        let Some(end) = end.filter(|_| !is_hint) else { return end.unwrap_or(self.text.len()) };
        self.end_plain(at + 2);
        self.found.push((at + 2..end - 2, Kind::Comment));
        self.plain = end - 2;
        end
    }

    /// Comments in comments count in `PostgreSQL`.
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

/// Bytes of a name or a word.
fn word(text: &[u8]) -> usize {
    text.iter().position(|byte| !is_word(*byte) && *byte != b'$').unwrap_or(text.len())
}

/// Bytes of a number: `12`, `1.5e-3`, `0xff`.
fn number(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let next_is_digit = text.get(at + 1).is_some_and(u8::is_ascii_digit);
        let is_exponent = || matches!(text[at - 1], b'e' | b'E') && !text.starts_with(b"0x") && next_is_digit;
        match byte {
            byte if is_word(*byte) => at += 1,
            b'.' if next_is_digit => at += 1,
            b'+' | b'-' if at > 0 && is_exponent() => at += 1,
            _ => break,
        }
    }
    at
}

/// Bytes of the mark `$$` or `$tag$` that a text begins with.
fn dollars(text: &[u8]) -> Option<usize> {
    let inside = text.get(1..)?;
    let length = inside.iter().take_while(|byte| is_word(**byte)).count();
    (inside.get(length) == Some(&b'$') && !inside[0].is_ascii_digit()).then_some(length + 2)
}

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::record) enum Token {
    /// A word or a name, in lower case unless it was quoted.
    Word(String),
    /// A text, a number, or what is bound to a parameter; NULL is `None`.
    Value(Option<Vec<u8>>),
    /// Anything else.
    Mark(u8),
}

/// The statements of a text by their tokens. `bound` has the values of its parameters in their order.
pub(in crate::record) fn statements(text: &[u8], is_mysql: bool, bound: &[Option<Vec<u8>>]) -> Vec<Vec<Token>> {
    let mut reader = Reader { bound, is_mysql, marks: 0, found: vec![Vec::new()] };
    for (range, kind) in cut(text, is_mysql) {
        match kind {
            Kind::Plain => reader.plain(&text[range]),
            Kind::Literal => reader.add(Token::Value(Some(text[range].to_vec()))),
            Kind::Line | Kind::Comment => {}
        }
    }
    reader.found.retain(|one| !one.is_empty());
    reader.found
}

struct Reader<'a> {
    bound: &'a [Option<Vec<u8>>],
    is_mysql: bool,
    /// Question marks so far.
    marks: usize,
    found: Vec<Vec<Token>>,
}

impl Reader<'_> {
    fn add(&mut self, token: Token) {
        if let Some(last) = self.found.last_mut() {
            last.push(token);
        }
    }

    fn parameter(&mut self, number: usize) {
        let value = number.checked_sub(1).and_then(|at| self.bound.get(at)).cloned().flatten();
        self.add(Token::Value(value));
    }

    fn plain(&mut self, text: &[u8]) {
        let mut at = 0;
        while let Some(&first) = text.get(at) {
            let rest = &text[at..];
            at += match first {
                b'$' if !self.is_mysql => self.dollar(rest),
                b'?' if self.is_mysql => {
                    self.marks += 1;
                    self.parameter(self.marks);
                    1
                }
                b'`' => self.name(rest),
                b'"' if !self.is_mysql => self.name(rest),
                _ if is_word(first) || first == b'@' => self.word(rest),
                b';' => {
                    self.found.push(Vec::new());
                    1
                }
                // Of texts and comments only what is inside was cut out.
                _ if rest.starts_with(b"/*") || rest.starts_with(b"*/") => 2,
                b'\'' | b'"' => 1,
                _ if first.is_ascii_whitespace() => 1,
                _ => {
                    self.add(Token::Mark(first));
                    1
                }
            };
        }
    }

    fn dollar(&mut self, rest: &[u8]) -> usize {
        if let Some(mark) = dollars(rest) {
            return mark;
        }
        let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if let Some(number) = std::str::from_utf8(&rest[1..=digits]).ok().and_then(|number| number.parse().ok()) {
            self.parameter(number);
        }
        1 + digits
    }

    fn word(&mut self, rest: &[u8]) -> usize {
        let is_part = |byte: &u8| is_word(*byte) || b"$.@".contains(byte);
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.add(Token::Word(String::from_utf8_lossy(&rest[..length]).to_ascii_lowercase()));
        length
    }

    fn name(&mut self, rest: &[u8]) -> usize {
        let end = memchr::memchr(rest[0], &rest[1..]).map_or(rest.len(), |end| end + 1);
        self.add(Token::Word(String::from_utf8_lossy(&rest[1..end]).into_owned()));
        rest.len().min(end + 1)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn statements_are_words_values_and_marks() {
        let word = |text: &str| Token::Word(text.to_owned());
        let value = |text: &str| Token::Value(Some(text.as_bytes().to_vec()));
        let text = b"SET app.tenant = 't1'; -- it's\nSelect \"A b\", $2 /* x; */ from s1.t where n = $$q$$";
        let expected = vec![
            vec![word("set"), word("app.tenant"), Token::Mark(b'='), value("t1")],
            vec![
                word("select"),
                word("A b"),
                Token::Mark(b','),
                value("two"),
                word("from"),
                word("s1.t"),
                word("where"),
                word("n"),
                Token::Mark(b'='),
                value("q"),
            ],
        ];
        assert_eq!(statements(text, false, &[None, Some(b"two".to_vec())]), expected);
        let expected =
            vec![vec![word("set"), word("@a"), Token::Mark(b'='), value("b"), Token::Mark(b','), Token::Value(None)]];
        assert_eq!(statements(b"SET @a = \"b\", ? # it's", true, &[None]), expected);
    }
}
