//! Data that a program copies into a table of `PostgreSQL` (`COPY ... FROM STDIN`; protocol, "COPY Operations"): values of
//! columns whose names say that they are secrets. Messages may end anywhere in a row, so what is left of one is remembered.

use super::lexer::{Sql, Token};
use super::{column, holds_secrets, may_be_secret, secret};
use crate::record::redact::placeholder::MARKED;
use crate::record::redact::walk::{Edit, Replace, Secret};

/// What a file in binary format begins with (`COPY`, "Binary Format"), and the bytes of its head with no extension.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
const HEAD_BYTES: usize = 19;

/// How the data is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Csv,
    Binary,
}

/// Where the data of a `COPY` is.
#[derive(Clone, Debug)]
pub(in crate::record::redact) struct Copied {
    /// What the secrets of each column are called; of tables without named columns none.
    columns: Vec<Option<&'static str>>,
    /// Whether the name of the table says that there are secrets in columns that it does not name.
    holds_secrets: bool,
    format: Format,
    delimiter: u8,
    column: usize,
    in_quotes: bool,
}

impl Copied {
    /// Of a statement that begins with `COPY`.
    pub(super) fn of(sql: &Sql<'_>, tokens: &[Token]) -> Option<Self> {
        let word = |at: usize| sql.word(tokens.get(at));
        let from = (1..tokens.len()).find(|at| word(*at) == "from").filter(|at| word(at + 1) == "stdin")?;
        let open = tokens[..from].iter().position(|token| *token == Token::Mark(b'('));
        let columns = open.map_or(Vec::new(), |open| {
            (open + 1..from).map(word).filter(|word| !word.is_empty()).map(|word| column(&word)).collect()
        });
        let options: Vec<String> = (from + 2..tokens.len()).map(word).collect();
        let has = |option: &str| options.iter().any(|word| word == option);
        let format = match () {
            () if has("binary") => Format::Binary,
            () if has("csv") => Format::Csv,
            () => Format::Text,
        };
        let usual = if format == Format::Csv { b',' } else { b'\t' };
        let text = |at: usize| match tokens.get(at) {
            Some(Token::Text { inside, .. }) => sql.text[inside.clone()].first().copied(),
            _ => None,
        };
        let named = options.iter().position(|word| word == "delimiter").map(|at| from + 2 + at + 1);
        let delimiter = named.and_then(|at| text(at).or_else(|| text(at + 1))).unwrap_or(usual);
        let holds_secrets = columns.is_empty() && holds_secrets(&word(open.unwrap_or(from) - 1));
        let is_of_use = holds_secrets || columns.iter().any(Option::is_some);
        is_of_use.then_some(Self { columns, holds_secrets, format, delimiter, column: 0, in_quotes: false })
    }

    /// The data of one message with others in place of secrets.
    pub(in crate::record::redact) fn data(&mut self, data: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
        if self.format == Format::Binary {
            return self.rows(data, replace);
        }
        let mut edit = Edit::new(data);
        let mut start = 0;
        for (at, byte) in data.iter().enumerate() {
            if self.format == Format::Csv && *byte == b'"' {
                self.in_quotes = !self.in_quotes;
            } else if !self.in_quotes && (*byte == self.delimiter || matches!(byte, b'\n' | b'\r')) {
                let is_escaped = self.format == Format::Text && at > start && is_escaped(&data[start..at]);
                if !is_escaped {
                    self.put(&mut edit, data, start, at, replace);
                    self.column = if *byte == self.delimiter { self.column + 1 } else { 0 };
                    start = at + 1;
                }
            }
        }
        self.put(&mut edit, data, start, data.len(), replace);
        edit.end()
    }

    fn put(&self, edit: &mut Edit<'_>, data: &[u8], start: usize, end: usize, replace: Replace<'_>) {
        let value = &data[start..end];
        let is_quoted = self.format == Format::Csv && value.len() > 2 && value[0] == b'"' && value.ends_with(b"\"");
        let at = if is_quoted { start + 1..end - 1 } else { start..end };
        let value = &data[at.clone()];
        let is_end = matches!(value, b"" | br"\N" | br"\.");
        if let Some(one) = self.secret(value).filter(|_| !is_end) {
            edit.put(at, replace(&one));
        }
    }

    fn secret<'a>(&self, value: &'a [u8]) -> Option<Secret<'a>> {
        let is_one = || self.holds_secrets && (may_be_secret(value) || value.starts_with(MARKED.as_bytes()));
        let name = self.columns.get(self.column).copied().flatten().or_else(|| is_one().then_some("secret"))?;
        secret(name, value).map(|secret| Secret { name, ..secret })
    }

    /// Whole rows in binary format: how many values, and each with its length before it.
    fn rows(&mut self, data: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
        let mut edit = Edit::new(data);
        let mut at = if data.starts_with(SIGNATURE) { HEAD_BYTES } else { 0 };
        while at < data.len() {
            let count = i16::from_be_bytes(*data.get(at..)?.first_chunk()?);
            at += 2;
            for column in 0..usize::try_from(count).unwrap_or(0) {
                let length = i32::from_be_bytes(*data.get(at..)?.first_chunk()?);
                at += 4;
                // -1 is NULL.
                let Ok(length) = usize::try_from(length) else { continue };
                let value = data.get(at..at.checked_add(length)?)?;
                self.column = column;
                if let Some(one) = self.secret(value).filter(|_| !value.is_empty())
                    && let Some(other) = replace(&one)
                {
                    let counted = [&(other.len() as u32).to_be_bytes()[..], &other].concat();
                    edit.put(at - 4..at + length, Some(counted));
                }
                at += length;
            }
        }
        edit.end()
    }
}

/// Whether what follows is a part of the value: an odd number of `\` stands before it.
fn is_escaped(value: &[u8]) -> bool {
    value.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}
