//! Secrets in statements: `PASSWORD '...'`, `IDENTIFIED BY '...'`, `IDENTIFIED WITH ... AS '...'`, and what replaces one
//! (`BY '...' REPLACE '...'`); what is compared with, or given to, a column of such a name; what is inserted into one, by
//! `VALUES`, `SELECT` or `COPY`; what stands beside such a name in a table of settings; what functions of cryptography are given. Where an `INSERT` names no columns, the name of the
//! table tells which texts are looked at. A value may be a text or a parameter, whose value stands elsewhere.

mod copy;
mod expressions;
mod found;
mod functions;
mod held;
mod lexer;
mod pairs;

use std::collections::{BTreeMap, HashMap};

use super::cards;
use super::meaning;
use super::names::{is_secret_key, is_uuid};
use super::placeholder::MARKED;
use super::walk::{Form, Replace, Secret};
use crate::record::exchange::Protocol;

/// Parameters by number, counted from 0, with what they are called.
pub(super) type Parameters = BTreeMap<usize, &'static str>;

pub(super) use copy::Copied;
use found::Found;
pub(super) use held::bound;
use lexer::{Sql, Token, is_word};
pub(super) use pairs::settings;

/// How deep statements are looked for in texts of statements (`DO $$ ... $$`).
const MAX_DEPTH: usize = 4;
/// Parts of an account's name: `'user'@'host'`.
const MOST_OF_ACCOUNT: usize = 8;
/// Words and marks between the word that begins an `INSERT` and its values, where no columns are named.
const MOST_OF_TABLE: usize = 16;
/// Words and marks between the name of a column and its value.
const MOST_BETWEEN: usize = 64;
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
    "between",
    "regexp",
    "rlike",
    "binary",
    "is",
    "distinct",
    "e",
    "u",
    "n",
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

/// Parts of names of tables whose rows have secrets in them.
const TABLES: [&str; 14] = [
    "user",
    "account",
    "member",
    "customer",
    "login",
    "admin",
    "credential",
    "secret",
    "token",
    "passw",
    "session",
    "apikey",
    "api_key",
    "auth",
];

/// Statements that were prepared, by their names in small letters, with their parameters that are secrets.
pub(super) type Prepared = HashMap<String, Parameters>;

/// The statement with other secrets; `None` if none of them changes. These were prepared before it.
pub(super) fn statement(text: &[u8], protocol: Protocol, prepared: &Prepared, replace: Replace<'_>) -> Option<Vec<u8>> {
    replaced(text, protocol, prepared, replace, 0)
}

/// The parameters of a statement whose values are secrets, counted from 0, with what they are called, and how many it has.
pub(super) fn parameters(text: &[u8], protocol: Protocol) -> (Parameters, usize) {
    let sql = Sql { text, is_mysql: protocol == Protocol::MySql };
    let tokens = sql.tokens();
    let found = secrets(&sql, &tokens, &Prepared::new()).into_iter();
    let found = found.filter_map(|(at, name)| Some((tokens[at].parameter()?, name))).collect();
    (found, tokens.iter().filter_map(Token::parameter).map(|number| number + 1).max().unwrap_or(0))
}

/// What the value of a parameter, or of a column, is that is called so. Numbers of cards are known by what they are as well.
pub(super) fn secret<'a>(name: &'static str, value: &'a [u8]) -> Option<Secret<'a>> {
    match name {
        cards::NAME if !cards::is_number(value) => None,
        cards::NAME => Some(Secret { name, ..Secret::password(value, Form::Address) }),
        _ => Some(Secret::password(value, Form::Text)),
    }
}

/// What is to be known of the data behind a `COPY ... FROM STDIN`; `None` if it is no such statement.
pub(super) fn copied(text: &[u8]) -> Option<Copied> {
    let sql = Sql { text, is_mysql: false };
    let begins = text.trim_ascii_start().get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case(b"copy"));
    begins.then(|| Copied::of(&sql, &sql.tokens())).flatten()
}

fn replaced(
    text: &[u8],
    protocol: Protocol,
    prepared: &Prepared,
    replace: Replace<'_>,
    depth: usize,
) -> Option<Vec<u8>> {
    let sql = Sql { text, is_mysql: protocol == Protocol::MySql };
    let tokens = sql.tokens();
    if !tokens.iter().any(|token| matches!(token, Token::Text { .. })) {
        return None;
    }
    let found = secrets(&sql, &tokens, prepared);
    let mut out = Vec::new();
    let mut kept = 0;
    for (at, token) in tokens.iter().enumerate() {
        let Token::Text { inside, start } = token else { continue };
        let value = &text[inside.clone()];
        let named = found.get(&at).copied().filter(|name| *name != cards::NAME || cards::is_number(value));
        let other = if let Some(name) = named.or_else(|| known(value)) {
            let form = if name == cards::NAME { Form::Address } else { Form::Text };
            replace(&Secret { name, ..Secret::password(value, form) })
        } else {
            // A text may say how another database is reached.
            let body = (text[*start] == b'$' && depth < MAX_DEPTH)
                .then(|| replaced(value, protocol, prepared, replace, depth + 1))
                .flatten();
            held::replaced(body.as_deref().unwrap_or(value), sql.escapes(*start), replace).or(body)
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

/// What a text is called that is known for what it is, wherever it stands.
fn known(text: &[u8]) -> Option<&'static str> {
    text.starts_with(MARKED.as_bytes()).then_some("secret")
}

/// The places of the values that are secrets, with what they are called.
fn secrets(sql: &Sql<'_>, tokens: &[Token], prepared: &Prepared) -> HashMap<usize, &'static str> {
    let mut found = Found::default();
    // The same few words come again and again.
    let mut names: HashMap<&[u8], Option<&'static str>> = HashMap::new();
    for (at, token) in tokens.iter().enumerate() {
        if *token == Token::Mark(b')') {
            sql.compared(tokens, at, &mut found);
        }
        let Token::Word(place) = token else { continue };
        let spelt = &sql.text[place.clone()];
        let name = *names.entry(spelt).or_insert_with(|| column(&String::from_utf8_lossy(spelt)));
        let is = |word: &str| spelt.eq_ignore_ascii_case(word.as_bytes());
        let before = at.checked_sub(1);
        let follows_password = || before.is_some_and(|before| found.get(before) == Some("password"));
        if let Some(name) = name {
            sql.given(tokens, at, name, &mut found);
            // `'...' = password`, which is no function.
            let is_function = tokens.get(at + 1) == Some(&Token::Mark(b'('));
            let compared = before
                .filter(|before| !is_function && tokens[*before] == Token::Mark(b'='))
                .and_then(|equals| equals.checked_sub(1));
            found.extend(compared.filter(|value| tokens[*value].is_value()), name);
            found.extend(sql.aliased(tokens, at), name);
        } else if (is("by") || is("as") || is("using")) && follows_identified(&sql.text[..place.start])
            || is("replace") && follows_password()
        {
            sql.given(tokens, at, "password", &mut found);
        } else if is("values") || is("value") || is("select") {
            sql.inserted(tokens, at, &mut found);
        } else if is("set_config") {
            sql.configured(tokens, at, &mut found);
        } else if is("into") || is("insert") || is("replace") {
            sql.inserted_unnamed(tokens, at, &mut found);
        } else if tokens.get(at + 1) == Some(&Token::Mark(b'('))
            && let Some(secret) = functions::secrets(is)
        {
            found.look(tokens, at, |found| functions::given(tokens, at + 1, secret, found));
        }
    }
    found.again();
    sql.paired(tokens, &mut found);
    found.again();
    sql.executed(tokens, prepared, &mut found);
    found.into_secrets()
}

/// What a secret is called that has this name; `None` if it is none.
pub(super) fn called(word: &str) -> Option<&'static str> {
    // `SET SESSION AUTHORIZATION` names a role.
    let is_secret = is_secret_key(word) && !word.eq_ignore_ascii_case("authorization");
    let is_password = word.to_ascii_lowercase().contains("pass");
    is_secret.then_some(if is_password { "password" } else { "secret" })
}

/// The same of a column, which may be of numbers of cards.
fn column(word: &str) -> Option<&'static str> {
    called(word).or_else(|| meaning::is_card(None, word).then_some(cards::NAME))
}

/// Whether rows of a table of this name have secrets in them.
fn holds_secrets(table: &str) -> bool {
    TABLES.iter().any(|part| table.contains(part))
}

/// Whether a text of such a row may be a password or a token: no word, number, address, date, name of a file or UUID.
fn may_be_secret(text: &[u8]) -> bool {
    let is_mail = || memchr::memchr(b'@', text).is_some_and(|at| memchr::memchr(b'.', &text[at..]).is_some());
    let is_mixed = text.iter().any(u8::is_ascii_alphabetic)
        && text.iter().any(|byte| byte.is_ascii_digit() || b"!#$%^&*?@+=~".contains(byte));
    let is_plain = text.iter().all(|byte| byte.is_ascii_graphic() && !b"/:,;<>{}[]()\"".contains(byte));
    let is_random =
        || text.len() >= 20 && is_mixed && !text.iter().any(u8::is_ascii_whitespace) && !text.contains(&b':');
    let is_date = || text.iter().take(4).all(u8::is_ascii_digit) && text.get(4) == Some(&b'-');
    is_mixed && text.len() >= 6 && (is_plain || is_random()) && !is_mail() && !is_uuid(text) && !is_date()
}

/// `IDENTIFIED BY`, `IDENTIFIED WITH plugin BY`, `IDENTIFIED VIA plugin USING`.
fn follows_identified(before: &[u8]) -> bool {
    let mut words = before.rsplit(|byte| !is_word(*byte)).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"identified"))
        || words.next().is_some_and(|word| [&b"with"[..], b"via"].iter().any(|known| word.eq_ignore_ascii_case(known)))
            && words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"identified"))
}

impl Sql<'_> {
    /// Adds the values that the name which stands here is followed by.
    fn given(&self, tokens: &[Token], at: usize, name: &'static str, found: &mut Found) {
        found.look(tokens, at, |found| {
            let (values, end) = self.values(tokens, at + 1);
            found.extend(values, name);
            end
        });
    }

    /// The places of the values that a name is followed by, after operators, an account and the like: several in a list. And up
    /// to where was looked.
    fn values(&self, tokens: &[Token], from: usize) -> (Vec<usize>, usize) {
        // `lower(password) = lower('...')`, and no list of columns.
        let is_listed = from.checked_sub(2).is_some_and(|before| tokens[before] == Token::Mark(b','));
        let ends_function = !is_listed && tokens.get(from..from + 2) == Some(&[Token::Mark(b')'), Token::Mark(b'=')]);
        let (mut found, mut at) = (Vec::new(), from + usize::from(ends_function));
        let (mut is_list, mut is_between) = (false, false);
        while let Some(token) = tokens.get(at).filter(|_| at < from + MOST_BETWEEN || !found.is_empty()) {
            match token {
                Token::Mark(b'=' | b':' | b'(' | b'[' | b'<' | b'>' | b'!' | b'~' | b'&' | b'*') => {}
                Token::Word(place) => {
                    if self.begins_expression(tokens, at) {
                        at = self.parts(tokens, at, &mut found);
                        break;
                    }
                    let word = String::from_utf8_lossy(&self.text[place.clone()]).to_ascii_lowercase();
                    let is_distinct = || {
                        at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|before| {
                            matches!(before, Token::Word(place) if self.text[place.clone()].eq_ignore_ascii_case(b"distinct"))
                        })
                    };
                    is_list |= matches!(word.as_str(), "in" | "any" | "some" | "all" | "array");
                    is_between |= word == "between";
                    // `SET PASSWORD FOR 'user'@'host' = '...'`
                    if word == "for" {
                        let Some(equals) =
                            tokens[at..].iter().take(MOST_OF_ACCOUNT).position(|token| *token == Token::Mark(b'='))
                        else {
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
                    let is_first = is_between && found.len() == 1;
                    let goes_on = is_list && tokens.get(at + 1) == Some(&Token::Mark(b','))
                        || is_first && self.word(tokens.get(at + 1)) == "and";
                    if !goes_on {
                        if let Some(next) = expressions::joined(tokens, at + 1) {
                            at = self.parts(tokens, next, &mut found);
                        }
                        break;
                    }
                    at += 1;
                }
                _ => break,
            }
            at += 1;
        }
        (found, at)
    }

    /// The places of what is inserted into columns of such names: `(a, password) VALUES (1, '...'), (2, '...')`, or
    /// `(a, password) SELECT 1, '...'`; and of what has such names in a query: `x(password) AS (VALUES ('...'))`.
    fn inserted(&self, tokens: &[Token], keyword: usize, found: &mut Found) {
        let closes = |at: &usize| tokens[*at] == Token::Mark(b')');
        let is_opened = keyword > 0 && tokens[keyword - 1] == Token::Mark(b'(');
        let named = if is_opened { self.before_as(tokens, keyword - 1).filter(closes) } else { None };
        // `INSERT INTO t (a, password) (VALUES (1, '...'))`
        let in_brackets = || if is_opened { keyword.checked_sub(2).filter(closes) } else { None };
        let Some(close) = named.or_else(|| keyword.checked_sub(1).filter(closes)).or_else(in_brackets) else {
            return;
        };
        let (columns, start) = self.columns(tokens, close);
        let is_select = self.word(tokens.get(keyword)) == "select";
        // What a query has in brackets before another one is no list of columns.
        let table = tokens[..start].iter().rev().take(MOST_OF_ACCOUNT).map(|token| self.word(Some(token)));
        let is_list = named.is_some()
            || !is_select
            || table.into_iter().any(|word| matches!(word.as_str(), "into" | "insert" | "replace"));
        if !is_list || columns.iter().all(Option::is_none) {
            return;
        }
        if !(is_select && self.unnested(tokens, keyword, &columns, found)) {
            self.rows(tokens, keyword, is_select, found, |column, _| columns.get(column).copied().flatten());
        }
    }

    /// What stands before `AS`, `AS MATERIALIZED` or `AS NOT MATERIALIZED`, which end before this place.
    fn before_as(&self, tokens: &[Token], end: usize) -> Option<usize> {
        let mut words = (end.saturating_sub(3)..end)
            .rev()
            .take_while(|at| matches!(self.word(tokens.get(*at)).as_str(), "as" | "not" | "materialized"));
        words.find(|at| self.word(tokens.get(*at)) == "as")?.checked_sub(1)
    }

    /// The places of what is inserted into a table whose columns are not named.
    fn inserted_unnamed(&self, tokens: &[Token], into: usize, found: &mut Found) {
        let mut at = into + 1;
        while at < into + MOST_OF_TABLE && matches!(tokens.get(at), Some(Token::Word(_) | Token::Mark(b'.'))) {
            let word = self.word(tokens.get(at));
            if matches!(word.as_str(), "values" | "value" | "select") && at > into + 1 {
                if holds_secrets(&self.word(tokens.get(at - 1))) {
                    let is_secret = |_, text: Option<&[u8]>| text.filter(|text| may_be_secret(text)).map(|_| "secret");
                    self.rows(tokens, at, word == "select", found, is_secret);
                }
                return;
            }
            at += 1;
        }
    }

    /// Looks at the values of rows behind this keyword, with the number of their column.
    fn rows(
        &self,
        tokens: &[Token],
        keyword: usize,
        is_select: bool,
        found: &mut Found,
        called: impl Fn(usize, Option<&[u8]>) -> Option<&'static str>,
    ) {
        found.look(tokens, keyword, |found| self.each_row(tokens, keyword, is_select, found, called));
    }

    /// The same; where the rows end.
    fn each_row(
        &self,
        tokens: &[Token],
        keyword: usize,
        is_select: bool,
        found: &mut Found,
        called: impl Fn(usize, Option<&[u8]>) -> Option<&'static str>,
    ) -> usize {
        // What is selected stands in no brackets.
        let row = usize::from(!is_select);
        let (mut depth, mut column, mut taken) = (0_usize, 0, false);
        for (at, token) in tokens.iter().enumerate().skip(keyword + 1) {
            match token {
                Token::Mark(b'(') => {
                    depth += 1;
                    if depth == 1 && !is_select {
                        (column, taken) = (0, false);
                    }
                }
                Token::Mark(b')' | b';') if depth == 0 => return at,
                Token::Mark(b')') => depth -= 1,
                Token::Mark(b',') if depth == row => (column, taken) = (column + 1, false),
                // After the last row.
                Token::Word(_) if depth == 0 && (!is_select || self.ends_list(token)) => return at,
                // Of a function that is given the secret, such as one that makes a hash of it, it is the first.
                _ if token.is_value() && depth >= row && !taken => {
                    let text =
                        if let Token::Text { inside, .. } = token { Some(&self.text[inside.clone()]) } else { None };
                    if let Some(name) = called(column, text) {
                        found.insert(at, name);
                        taken = true;
                    }
                }
                _ => {}
            }
        }
        tokens.len()
    }

    /// Whether a word follows the list of what is selected.
    fn ends_list(&self, token: &Token) -> bool {
        let word = self.word(Some(token));
        matches!(
            word.as_str(),
            "from" | "where" | "union" | "on" | "returning" | "limit" | "group" | "order" | "having"
        )
    }
}
