//! Names and values in columns of their own, as tables of settings have them: `SET value = '...' WHERE key = 'api_key'`, and
//! `(key, value) VALUES ('api_key', '...')`. Also `set_config('app.password', '...', false)`.

use std::collections::HashMap;

use super::called;
use super::lexer::{Sql, Token};
use crate::record::redact::meaning::is_message;

/// What the column of names is called, or ends in behind `_`.
const NAMES: [&str; 10] =
    ["key", "k", "name", "setting", "option", "param", "parameter", "property", "variable", "field"];
/// What the column of values is called, or ends in behind `_`.
const VALUES: [&str; 3] = ["value", "val", "v"];
/// Parts of names of tables in which the values are shown to people.
const SHOWN: [&str; 6] = ["translation", "i18n", "locale", "label", "message", "string"];

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.contains(&word.rsplit('_').next().unwrap_or(word))
}

impl<'a> Sql<'a> {
    /// What the token says, if it is a text.
    fn said(&self, token: Option<&Token>) -> Option<&'a [u8]> {
        match token {
            Some(Token::Text { inside, .. }) => Some(&self.text[inside.clone()]),
            _ => None,
        }
    }

    /// What the value is called that stands beside a text, if the text is the name of a secret.
    fn names(&self, token: Option<&Token>) -> Option<&'static str> {
        called(std::str::from_utf8(self.said(token)?).ok()?)
    }

    /// Whether this may be a secret of such a name: a parameter, or a text that tells nothing of one.
    fn may_be_value(&self, token: Option<&Token>, name: &str) -> bool {
        let is_text = || self.said(token).is_some_and(|text| !text.is_empty() && !is_message(name, text));
        token.is_some_and(|token| token.parameter().is_some()) || is_text()
    }

    /// The place of what `set_config`, which stands here, gives a setting with the name of a secret.
    pub(super) fn configured(&self, tokens: &[Token], at: usize, found: &mut HashMap<usize, &'static str>) {
        let is_call = tokens.get(at + 1) == Some(&Token::Mark(b'(')) && tokens.get(at + 3) == Some(&Token::Mark(b','));
        if let Some(name) = self.names(tokens.get(at + 2)).filter(|_| is_call)
            && tokens.get(at + 4).is_some_and(Token::is_value)
        {
            found.insert(at + 4, name);
        }
    }

    /// The places of values whose names stand in another column.
    pub(super) fn paired(&self, tokens: &[Token], found: &mut HashMap<usize, &'static str>) {
        let is_shown = |token: &Token| SHOWN.iter().any(|part| self.word(Some(token)).contains(part));
        if !tokens.iter().any(|token| self.names(Some(token)).is_some()) || tokens.iter().any(is_shown) {
            return;
        }
        let mut columns = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match self.word(Some(token)).as_str() {
                "where" => self.updated(tokens, at, found),
                "values" | "value" if at > 0 && tokens[at - 1] == Token::Mark(b')') => {
                    columns.clear();
                    let before = tokens[..at - 1].iter().rev();
                    let list = before.take_while(|token| matches!(token, Token::Word(_) | Token::Mark(b',')));
                    columns.extend(list.map(|token| self.word(Some(token))).filter(|word| !word.is_empty()));
                    columns.reverse();
                    self.rows_of_pairs(tokens, at, &columns, found);
                }
                _ => {}
            }
        }
    }

    /// `SET value = '...' WHERE key = 'api_key'`.
    fn updated(&self, tokens: &[Token], condition: usize, found: &mut HashMap<usize, &'static str>) {
        let compares = |at: &usize| {
            is_one_of(&self.word(tokens.get(*at)), &NAMES) && tokens.get(at + 1) == Some(&Token::Mark(b'='))
        };
        let named = (condition..tokens.len()).filter(compares).find_map(|at| self.names(tokens.get(at + 2)));
        let Some(name) = named else { return };
        let begins = tokens[..condition].iter().rposition(|token| matches!(token, Token::Mark(b';'))).unwrap_or(0);
        for at in begins..condition {
            let is_set =
                is_one_of(&self.word(tokens.get(at)), &VALUES) && tokens.get(at + 1) == Some(&Token::Mark(b'='));
            if is_set && self.may_be_value(tokens.get(at + 2), name) {
                found.insert(at + 2, name);
            }
        }
    }

    /// Rows of which one column has the name and another one the value.
    fn rows_of_pairs(
        &self,
        tokens: &[Token],
        keyword: usize,
        columns: &[String],
        found: &mut HashMap<usize, &'static str>,
    ) {
        let place = |known: &[&str]| columns.iter().position(|column| is_one_of(column, known));
        let (Some(of_name), Some(of_value)) = (place(&NAMES), place(&VALUES)) else { return };
        // What a row has in each column, if it is a value and nothing else.
        let mut row: Vec<Option<usize>> = Vec::new();
        let mut depth = 0_usize;
        for (at, token) in tokens.iter().enumerate().skip(keyword + 1) {
            match token {
                Token::Mark(b'(') => {
                    depth += 1;
                    if depth == 1 {
                        row = vec![None];
                    }
                }
                Token::Mark(b')') => {
                    depth = depth.saturating_sub(1);
                    let value = row.get(of_value).copied().flatten();
                    let name = row.get(of_name).copied().flatten().and_then(|at| self.names(tokens.get(at)));
                    if let (0, Some(name), Some(value)) = (depth, name, value)
                        && self.may_be_value(tokens.get(value), name)
                    {
                        found.insert(value, name);
                    }
                }
                Token::Mark(b',') if depth == 1 => row.push(None),
                Token::Mark(b';') | Token::Word(_) if depth == 0 => break,
                _ if depth == 1 && token.is_value() => {
                    if let Some(last) = row.last_mut() {
                        *last = Some(at);
                    }
                }
                _ => {}
            }
        }
    }
}
