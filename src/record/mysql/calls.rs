//! Which functions and procedures a statement of `MySQL` calls and does nothing else.

use super::statements::{quoted, without_comments};
use crate::record::exchange::Protocol;
use crate::record::functions::{self, Call};

/// First words of statements that may do nothing but call functions.
const CALLERS: [&str; 4] = ["select", "do", "with", "values"];
/// Words of statements that change tables, whatever they begin with.
const CHANGES: [&str; 3] = ["update", "delete", "insert"];
/// What a statement calls that carries out a text: what that does is not read (`MariaDB`, `EXECUTE IMMEDIATE`).
const IMMEDIATE: &str = "immediate";

/// The procedure, or the functions that are none of the server's own, that a statement calls and does nothing else.
pub(super) fn called(statement: &[u8]) -> Vec<String> {
    let text = without_comments(statement);
    let first = text.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    let is = |word: &str| first.eq_ignore_ascii_case(word.as_bytes());
    let may_call = is("call") || is("execute") || text.contains(&b'(') && CALLERS.iter().any(|word| is(word));
    if !may_call {
        return Vec::new();
    }
    let tokens = tokens(text);
    let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["call", rest @ ..] => {
            // A schema may stand before its name.
            let at = if rest.get(1) == Some(&".") { 2 } else { 0 };
            return rest.get(at).map(|name| (*name).to_owned()).into_iter().collect();
        }
        ["execute", IMMEDIATE, ..] => return vec![IMMEDIATE.to_owned()],
        ["execute", ..] => return Vec::new(),
        _ => {}
    }
    let common = common_tables(&words);
    if !reads_no_table(&words, &common) || words.iter().any(|word| CHANGES.contains(word)) {
        return Vec::new();
    }
    let is_own = |at: usize| {
        let is_given = words.get(at + 2).is_some_and(|next| *next != ")");
        let call = Call { name: words[at], is_given };
        words.get(at + 1) == Some(&"(") && functions::is_own(Protocol::MySql, call) && !common.contains(&words[at])
    };
    (0..words.len()).filter(|at| is_own(*at)).map(|at| words[at].to_owned()).collect()
}

/// The names that `WITH` gives to queries: what stands before `AS (`, or before the columns in front of it.
fn common_tables<'a>(words: &[&'a str]) -> Vec<&'a str> {
    if words.first() != Some(&"with") {
        return Vec::new();
    }
    let name = |at: usize| {
        let named = match words[..at].last()? {
            &")" => words[..at].iter().rposition(|word| *word == "(")?,
            _ => at,
        };
        words[..named].last().copied()
    };
    (1..words.len()).filter(|at| words[*at..].starts_with(&["as", "("])).filter_map(name).collect()
}

/// Whether nothing stands behind any `FROM` but queries that call functions themselves.
fn reads_no_table(words: &[&str], common: &[&str]) -> bool {
    let is_none = |name: &str| matches!(name, "(" | "dual") || common.contains(&name);
    let begins = |at: &usize| matches!(words[*at], "from" | "join");
    (0..words.len()).filter(begins).all(|at| {
        let after = words.get(at + 2).copied().unwrap_or_default();
        words.get(at + 1).is_some_and(|name| is_none(name)) && !matches!(after, "." | ",")
    })
}

/// Words in lower case and signs. What stands in quotes is a `'`, and what stands in comments nothing.
fn tokens(text: &[u8]) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), 0);
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@' | 0x80..);
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let word = rest.iter().take_while(|byte| is_part(byte)).count();
        let (length, token) = match byte {
            b'`' => {
                let length = quoted(rest, b'`');
                let name = rest[..length].strip_prefix(b"`").unwrap_or_default();
                (length, Some(name.strip_suffix(b"`").unwrap_or(name)))
            }
            b'\'' | b'"' => (quoted(rest, *byte), Some(&b"'"[..])),
            b'/' if rest.starts_with(b"/*!") => (3, None),
            b'/' if rest.starts_with(b"/*") => {
                (memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2), None)
            }
            _ if word > 0 => (word, Some(&rest[..word])),
            byte if byte.is_ascii_whitespace() => (1, None),
            _ => (1, Some(&rest[..1])),
        };
        found.extend(token.map(|token| String::from_utf8_lossy(token).to_ascii_lowercase()));
        at += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn functions_are_called_where_no_table_is_read() {
        let called = |text: &str| called(text.as_bytes()).join(" ");
        let calling = [
            "SELECT hello('a')",
            "/* x */ select `hello` (now())",
            "DO shop.hello('a')",
            "VALUES (hello('a'))",
            "VALUES ROW(hello('a'), 1)",
            "WITH x AS (SELECT hello('a') AS v) SELECT v FROM x",
            "WITH RECURSIVE x (a, b) AS (SELECT hello(1), 2), y AS (SELECT 1) SELECT count(*) FROM x JOIN y",
            "SELECT hello('a') FROM dual",
            "SELECT v FROM (SELECT hello('it''s \\' FROM t') AS v) AS d",
            "CALL hello('a')",
            "call `shop`.`hello`",
        ];
        assert_eq!(calling.map(called), [const { "hello" }; 11].map(str::to_owned));
        assert_eq!(called("EXECUTE IMMEDIATE CONCAT('set @a', '=1')"), "immediate");
        let none = [
            "SELECT hello(a) FROM t",
            "SELECT hello(a) FROM dual, t",
            "WITH x AS (SELECT id FROM t) SELECT hello(id) FROM x",
            "WITH x AS (SELECT hello(1) AS a) UPDATE t SET b = 1",
            "SELECT 'hello(1)', \"hello(1)\" /* hello(1) */",
            "SELECT concat(1), count(*)",
            "EXECUTE a USING @a",
            "SELECTED(1)",
            "VALUES (1), (2)",
            "",
        ];
        assert_eq!(none.map(called), [const { "" }; 10].map(str::to_owned));
    }
}
