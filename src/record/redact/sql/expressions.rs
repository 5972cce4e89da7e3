//! Secrets in more than one value: all that an expression is made of (`'a' || 'b'`, `CASE ... THEN 'a'`), columns in brackets
//! (`(id, password) = (1, 'a')`), values that are given a name (`'a' AS password`), and statements that are prepared and
//! executed in one text.

use super::found::Found;
use super::lexer::{Sql, Token};
use super::{BETWEEN, Prepared, column};

/// Functions whose value may be any of those that they are given.
const ANY_OF: [&str; 10] =
    ["coalesce", "nullif", "ifnull", "nvl", "concat", "concat_ws", "greatest", "least", "if", "iif"];
/// How deep brackets and cases are looked into.
const MAX_DEPTH: usize = 32;
/// Most words and marks of an expression that are looked at.
const MAX_TOKENS: usize = 1_024;

/// Whether `||` stands here.
fn joins(tokens: &[Token], at: usize) -> bool {
    tokens.get(at..at + 2) == Some(&[Token::Mark(b'|'), Token::Mark(b'|')])
}

/// What follows a cast `::text` that begins here.
fn after_type(tokens: &[Token], at: usize) -> usize {
    let is_cast = tokens.get(at..at + 2) == Some(&[Token::Mark(b':'), Token::Mark(b':')]);
    if is_cast && matches!(tokens.get(at + 2), Some(Token::Word(_))) { at + 3 } else { at }
}

/// Where what is joined to the value that stands before this place begins, behind its type.
pub(super) fn joined(tokens: &[Token], at: usize) -> Option<usize> {
    let at = after_type(tokens, at);
    joins(tokens, at).then_some(at + 2)
}

impl Sql<'_> {
    /// Whether a word begins an expression of which more than the first value counts.
    pub(super) fn begins_expression(&self, tokens: &[Token], at: usize) -> bool {
        let word = self.word(tokens.get(at));
        let is_call = tokens.get(at + 1) == Some(&Token::Mark(b'('));
        word == "case" || is_call && ANY_OF.contains(&word.as_str()) || !word.is_empty() && joins(tokens, at + 1)
    }

    /// Adds the places of the values that an expression which begins here is made of; where it ends.
    pub(super) fn parts(&self, tokens: &[Token], from: usize, found: &mut Vec<usize>) -> usize {
        self.part(&tokens[..tokens.len().min(from + MAX_TOKENS)], from, 0, found)
    }

    /// Adds the values of what begins here up to what does not belong to it; where that is.
    fn part(&self, tokens: &[Token], mut at: usize, depth: usize, found: &mut Vec<usize>) -> usize {
        if depth >= MAX_DEPTH {
            return at;
        }
        loop {
            at = after_type(tokens, at);
            let opens = tokens.get(at + 1) == Some(&Token::Mark(b'('));
            let word = self.word(tokens.get(at));
            match tokens.get(at) {
                Some(token) if token.is_value() => {
                    found.push(at);
                    at += 1;
                }
                Some(Token::Mark(b'|')) => at += 1,
                Some(Token::Mark(b'(')) => at = self.group(tokens, at, depth, found),
                Some(Token::Word(_)) if word == "case" => at = self.case(tokens, at + 1, depth, found),
                Some(Token::Word(_)) if opens && ANY_OF.contains(&word.as_str()) => {
                    at = self.group(tokens, at + 1, depth, found);
                }
                Some(Token::Word(_)) if opens => {
                    let before = found.len();
                    at = self.group(tokens, at + 1, depth, found);
                    // What else such a function is given says how it does its work.
                    found.truncate(before + usize::from(BETWEEN.contains(&word.as_str())));
                }
                // `E'...'`, and a column that something is joined to.
                Some(Token::Word(_))
                    if joins(tokens, at + 1)
                        || matches!(word.as_str(), "e" | "u" | "n" | "x" | "b")
                            && tokens.get(at + 1).is_some_and(Token::is_value) =>
                {
                    at += 1;
                }
                // The last part is a column.
                Some(Token::Word(_)) if at > 1 && joins(tokens, at - 2) => return at + 1,
                _ => return at,
            }
        }
    }

    /// The same of what stands in the brackets that open here; the place behind them.
    fn group(&self, tokens: &[Token], open: usize, depth: usize, found: &mut Vec<usize>) -> usize {
        let mut at = open;
        while matches!(tokens.get(at), Some(Token::Mark(b'(' | b','))) {
            at = self.part(tokens, at + 1, depth + 1, found);
            // What is no value, such as a column.
            let mut inner = 0_usize;
            while let Some(token) = tokens.get(at) {
                match token {
                    Token::Mark(b'(') => inner += 1,
                    Token::Mark(b')' | b',') if inner == 0 => break,
                    Token::Mark(b')') => inner -= 1,
                    _ => {}
                }
                at += 1;
            }
        }
        at + 1
    }

    /// The same of what a case gives, not of what it asks; the place behind its end.
    fn case(&self, tokens: &[Token], mut at: usize, depth: usize, found: &mut Vec<usize>) -> usize {
        while at < tokens.len() {
            match self.word(tokens.get(at)).as_str() {
                "then" | "else" => at = self.part(tokens, at + 1, depth + 1, found),
                "case" if depth < MAX_DEPTH => at = self.case(tokens, at + 1, depth + 1, &mut Vec::new()),
                "end" => return at + 1,
                _ => at += 1,
            }
        }
        at
    }

    /// The places of what columns in brackets, which close here, are set to or compared with:
    /// `(id, password) = (1, '...')`, `(id, password) IN ((1, '...'), ...)`.
    pub(super) fn compared(&self, tokens: &[Token], close: usize, found: &mut Found) {
        let word = |at: usize| self.word(tokens.get(at));
        let is_open = |at: usize| tokens.get(at) == Some(&Token::Mark(b'('));
        let before = match tokens.get(close + 1) {
            Some(Token::Mark(b'=')) if word(close + 2) == "row" && is_open(close + 3) => close + 2,
            Some(Token::Mark(b'=')) if is_open(close + 2) => close + 1,
            Some(Token::Word(_)) if word(close + 1) == "in" && is_open(close + 2) && is_open(close + 3) => close + 2,
            _ => return,
        };
        let (columns, _) = self.columns(tokens, close);
        if columns.iter().any(Option::is_some) {
            self.rows(tokens, before, false, found, |column, _| columns.get(column).copied().flatten());
        }
    }

    /// What the secrets of the columns are called whose list closes here, and where the list begins, behind its bracket.
    pub(super) fn columns(&self, tokens: &[Token], close: usize) -> (Vec<Option<&'static str>>, usize) {
        let (mut columns, mut start) = (Vec::new(), close);
        for (at, token) in tokens[..close].iter().enumerate().rev() {
            match token {
                Token::Word(place) => columns.push(column(&String::from_utf8_lossy(&self.text[place.clone()]))),
                Token::Mark(b',') => {}
                _ => break,
            }
            start = at;
        }
        columns.reverse();
        (columns, start)
    }

    /// The value that is given the name which stands here: `'...' AS password`.
    pub(super) fn aliased(&self, tokens: &[Token], at: usize) -> Option<usize> {
        let last = at.checked_sub(2).filter(|_| self.word(tokens.get(at - 1)) == "as")?;
        let is_cast = |at: usize| after_type(tokens, at) > at;
        let value = match last.checked_sub(3) {
            Some(value) if is_cast(value + 1) => value,
            _ => last,
        };
        tokens[value].is_value().then_some(value)
    }

    /// The places of what statements are executed with that are prepared in the same text, or were before.
    pub(super) fn executed(&self, tokens: &[Token], before: &Prepared, found: &mut Found) {
        let mut prepared = before.clone();
        let mut at = 0;
        while at < tokens.len() {
            let name = || self.word(tokens.get(at + 1));
            match self.word(tokens.get(at)).as_str() {
                "prepare" => {
                    let end = tokens[at..].iter().position(|token| *token == Token::Mark(b';'));
                    let end = end.map_or(tokens.len(), |length| at + length);
                    let secret = (at..end).filter_map(|at| Some((tokens[at].parameter()?, found.get(at)?)));
                    prepared.insert(name(), secret.collect());
                    at = end;
                }
                "execute" if tokens.get(at + 2) == Some(&Token::Mark(b'(')) => {
                    if let Some(secret) = prepared.get(&name()).filter(|secret| !secret.is_empty()) {
                        self.rows(tokens, at + 1, false, found, |number, _| secret.get(&number).copied());
                    }
                    at += 2;
                }
                _ => at += 1,
            }
        }
    }

    /// Adds what `SELECT * FROM unnest(...)` is given for these columns, a list for each. Whether it is such a query.
    pub(super) fn unnested(
        &self,
        tokens: &[Token],
        select: usize,
        columns: &[Option<&'static str>],
        found: &mut Found,
    ) -> bool {
        let is = |at: usize, word: &str| self.word(tokens.get(select + at)) == word;
        let is_all = tokens.get(select + 1) == Some(&Token::Mark(b'*')) && is(2, "from") && is(3, "unnest");
        let open = select + 4;
        if !is_all || tokens.get(open) != Some(&Token::Mark(b'(')) {
            return false;
        }
        found.look(tokens, open, |found| {
            let (mut depth, mut column) = (0_usize, 0);
            for (at, token) in tokens.iter().enumerate().skip(open + 1) {
                match token {
                    Token::Mark(b'(' | b'[') => depth += 1,
                    Token::Mark(b')' | b']') if depth == 0 => return at,
                    Token::Mark(b')' | b']') => depth -= 1,
                    Token::Mark(b',') if depth == 0 => column += 1,
                    _ if token.is_value() => {
                        if let Some(name) = columns.get(column).copied().flatten() {
                            found.insert(at, name);
                        }
                    }
                    _ => {}
                }
            }
            tokens.len()
        });
        true
    }
}
