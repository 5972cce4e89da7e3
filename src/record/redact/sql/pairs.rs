//! Names and values in columns of their own, as tables of settings have them: `SET value = '...' WHERE key = 'api_key'`, and
//! `(key, value) VALUES ('api_key', '...')`. Also `set_config('app.password', '...', false)`.

use std::ops::Range;

use super::called;
use super::found::Found;
use super::lexer::{Sql, Token};
use crate::record::redact::meaning::is_message;

/// What the column of names is called, or ends in behind `_`.
const NAMES: [&str; 10] =
    ["key", "k", "name", "setting", "option", "param", "parameter", "property", "variable", "field"];
/// What the column of values is called, or ends in behind `_`.
const VALUES: [&str; 3] = ["value", "val", "v"];
/// Parts of names of tables in which the values are shown to people.
const SHOWN: [&str; 6] = ["translation", "i18n", "locale", "label", "message", "string"];

/// Parameters of a statement that are given to settings, from 0, each behind the one that names the setting:
/// `set_config($1, $2, false)`.
pub(in crate::record::redact) fn settings(text: &[u8]) -> Vec<(usize, usize)> {
    if memchr::memmem::find(&text.to_ascii_lowercase(), b"set_config").is_none() {
        return Vec::new();
    }
    let sql = Sql { text, is_mysql: false };
    let tokens = sql.tokens();
    let named = (0..tokens.len()).filter(|at| sql.word(tokens.get(*at)) == "set_config");
    let named = named.filter_map(|at| match tokens.get(at + 1..at + 5)? {
        [Token::Mark(b'('), name, Token::Mark(b','), value] => Some((name.parameter()?, value.parameter()?)),
        _ => None,
    });
    named.collect()
}

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
    pub(super) fn configured(&self, tokens: &[Token], at: usize, found: &mut Found) {
        let is_call = tokens.get(at + 1) == Some(&Token::Mark(b'(')) && tokens.get(at + 3) == Some(&Token::Mark(b','));
        if let Some(name) = self.names(tokens.get(at + 2)).filter(|_| is_call)
            && tokens.get(at + 4).is_some_and(Token::is_value)
        {
            found.insert(at + 4, name);
        }
    }

    /// The places of values whose names stand in another column.
    pub(super) fn paired(&self, tokens: &[Token], found: &mut Found) {
        let is_shown = |token: &Token| {
            let word = self.word(Some(token));
            SHOWN.iter().any(|part| word.contains(part))
        };
        if !tokens.iter().any(|token| self.names(Some(token)).is_some()) || tokens.iter().any(is_shown) {
            return;
        }
        let mut begins = 0;
        for one in tokens.split_inclusive(|token| *token == Token::Mark(b';')) {
            self.updated(tokens, begins..begins + one.len(), found);
            begins += one.len();
        }
        for (at, token) in tokens.iter().enumerate() {
            let is_values = matches!(self.word(Some(token)).as_str(), "values" | "value");
            if is_values && at > 0 && tokens[at - 1] == Token::Mark(b')') {
                let before = tokens[..at - 1].iter().rev();
                let list = before.take_while(|token| matches!(token, Token::Word(_) | Token::Mark(b',')));
                let mut columns: Vec<_> =
                    list.map(|token| self.word(Some(token))).filter(|word| !word.is_empty()).collect();
                columns.reverse();
                self.rows_of_pairs(tokens, at, &columns, found);
            }
        }
    }

    /// `SET value = '...' WHERE key = 'api_key'`, in one statement.
    fn updated(&self, tokens: &[Token], statement: Range<usize>, found: &mut Found) {
        let compares = |at: usize, known: &[&str]| {
            tokens.get(at + 1) == Some(&Token::Mark(b'=')) && is_one_of(&self.word(tokens.get(at)), known)
        };
        let named = |at: &usize| if compares(*at, &NAMES) { self.names(tokens.get(at + 2)) } else { None };
        let Some(last) = statement.clone().rev().find(|at| named(at).is_some()) else { return };
        let is_condition = |at: &usize| self.word(tokens.get(*at)) == "where";
        let Some(condition) = (statement.start..last).rev().find(is_condition) else { return };
        let Some(name) = (condition..=last).find_map(|at| named(&at)) else { return };
        for at in (statement.start..condition).filter(|at| compares(*at, &VALUES)) {
            if self.may_be_value(tokens.get(at + 2), name) {
                found.insert(at + 2, name);
            }
        }
    }

    /// Rows of which one column has the name and another one the value.
    fn rows_of_pairs(&self, tokens: &[Token], keyword: usize, columns: &[String], found: &mut Found) {
        let place = |known: &[&str]| columns.iter().position(|column| is_one_of(column, known));
        let (Some(of_name), Some(of_value)) = (place(&NAMES), place(&VALUES)) else { return };
        found.look(tokens, keyword, |found| self.each_pair(tokens, keyword, [of_name, of_value], found));
    }

    /// The same, where it is known in which columns they are; where the rows end.
    fn each_pair(&self, tokens: &[Token], keyword: usize, [of_name, of_value]: [usize; 2], found: &mut Found) -> usize {
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
                Token::Mark(b';') | Token::Word(_) if depth == 0 => return at,
                _ if depth == 1 && token.is_value() => {
                    if let Some(last) = row.last_mut() {
                        *last = Some(at);
                    }
                }
                _ => {}
            }
        }
        tokens.len()
    }
}
