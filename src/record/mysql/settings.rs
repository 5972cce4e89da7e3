//! Variables of a connection that change what a statement answers (manual, "Server System Variables").

use sha2::{Digest, Sha256};

use super::packet::command;
use super::statements::{statements, without_comments};
use crate::text::escape::hex;

/// By name. Those of a user (`@x`) and of transactions are none of them: a pool hands out connections in any order, and they
/// stay on each.
const VARIABLES: [&str; 8] = [
    "time_zone",
    "sql_mode",
    "sql_select_limit",
    "group_concat_max_len",
    "lc_time_names",
    "names",
    "character_set_results",
    "collation_connection",
];

/// What was set, in the order of [`VARIABLES`], as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings([Option<Vec<u8>>; VARIABLES.len()]);

/// A variable, and what it is set to; nothing if that is its default.
type Change = (usize, Option<Vec<u8>>);

impl Settings {
    /// What stands behind the name of the database: for each variable a NUL, its name, `=` and its value.
    pub(super) fn text(&self) -> Vec<u8> {
        let set = VARIABLES.iter().zip(&self.0).filter_map(|(name, value)| Some((name, value.as_ref()?)));
        set.flat_map(|(name, value)| [b"\0", name.as_bytes(), b"=", value].concat()).collect()
    }

    /// The same of those that a query reads which asks for nothing else.
    pub(super) fn read_by(&self, query: &[u8]) -> Vec<u8> {
        let query = query.to_ascii_lowercase();
        let has = |word: &str| memchr::memmem::find(&query, word.as_bytes()).is_some();
        let reads = |name: &str| {
            let is_of_names = name == "names" && (has("character_set_") || has("collation_"));
            has(name) || has("show variables") || is_of_names
        };
        let mut read = self.clone();
        for (name, value) in VARIABLES.iter().zip(&mut read.0) {
            value.take_if(|_| !reads(name));
        }
        read.text()
    }

    /// Takes over what was carried out.
    pub(super) fn change(&mut self, changes: Vec<Change>) {
        for (index, value) in changes {
            let before = self.0[index].take();
            // What is made of other variables may be made of this one.
            let is_computed = |value: &Vec<u8>| memchr::memmem::find(value, b"@@").is_some();
            self.0[index] = match (before, value) {
                (Some(before), Some(value)) if is_computed(&value) && !before.starts_with(&value) => {
                    let digest = Sha256::digest(&before);
                    Some([&value[..], b" after ", hex(&digest[..16]).as_bytes()].concat())
                }
                (Some(before), Some(value)) if is_computed(&value) => Some(before),
                (_, value) => value,
            };
        }
    }

    /// Bytes that they take.
    pub(super) fn size(&self) -> usize {
        self.0.iter().flatten().map(Vec::len).sum()
    }
}

/// What a command sets: each `SET` in it of one or several variables of the session.
pub(super) fn changes(payload: &[u8]) -> Vec<Change> {
    let Some((&command::QUERY, text)) = payload.split_first() else { return Vec::new() };
    changes_by(text, &[])
}

/// The same of a text, and of an execution with these values of its parameters.
pub(super) fn changes_by(text: &[u8], values: &[u8]) -> Vec<Change> {
    let with_values = |(index, value): Change| {
        let digest = || hex(&Sha256::digest(values)[..16]);
        let is_given = |value: &[u8]| value.contains(&b'?') && !values.is_empty();
        let with = |value: Vec<u8>| [&value[..], b" ", digest().as_bytes()].concat();
        let value = value.map(|value| if is_given(&value) { with(value) } else { value });
        (index, value)
    };
    let each = statements(text).into_iter().flat_map(assigned);
    each.filter_map(assignment).map(with_values).collect()
}

/// The assignments of a `SET`.
pub(super) fn assigned(text: &[u8]) -> Vec<&[u8]> {
    let text = without_comments(text);
    let Some((head, rest)) = text.split_at_checked(4) else { return Vec::new() };
    if !head[..3].eq_ignore_ascii_case(b"set") || !head[3].is_ascii_whitespace() {
        return Vec::new();
    }
    assignments(rest.trim_ascii())
}

/// The parts between commas that stand in no quotes and no brackets.
fn assignments(text: &[u8]) -> Vec<&[u8]> {
    let (mut quote, mut depth) = (None, 0_usize);
    let pieces = text.split(|byte| {
        match (quote, *byte) {
            (None, b'\'' | b'"' | b'`') => quote = Some(*byte),
            (Some(open), byte) if open == byte => quote = None,
            (None, b'(') => depth += 1,
            (None, b')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        quote.is_none() && depth == 0 && *byte == b','
    });
    pieces.map(<[u8]>::trim_ascii).collect()
}

fn assignment(text: &[u8]) -> Option<Change> {
    const OF_SESSION: [&[u8]; 5] = [b"session ", b"local ", b"@@session.", b"@@local.", b"@@"];
    let without = |prefix: &&[u8]| {
        let (head, rest) = text.split_at_checked(prefix.len())?;
        head.eq_ignore_ascii_case(prefix).then_some(rest.trim_ascii())
    };
    let text = OF_SESSION.iter().find_map(without).unwrap_or(text);
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
    let (name, value) = text.split_at(end);
    let index = VARIABLES.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(name))?;
    let value = value.trim_ascii();
    let value = value.strip_prefix(b":").unwrap_or(value);
    let value = value.strip_prefix(b"=").unwrap_or(value).trim_ascii();
    Some((index, (!value.eq_ignore_ascii_case(b"default")).then(|| value.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_is_set_is_known_by_its_name() {
        let set = |text: &str| {
            let mut settings = Settings::default();
            settings.change(changes(&[&[command::QUERY], text.as_bytes()].concat()));
            String::from_utf8(settings.text()).unwrap().replace('\0', "|")
        };
        assert_eq!(set("SET time_zone = '+01:00'"), "|time_zone='+01:00'");
        assert_eq!(
            set(
                "/* x */ set NAMES 'utf8mb4' COLLATE 'a,b', @@session.sql_mode=CONCAT(@@sql_mode, ',X'), autocommit=1;"
            ),
            "|sql_mode=CONCAT(@@sql_mode, ',X')|names='utf8mb4' COLLATE 'a,b'"
        );
        assert_eq!(set("SELECT ';'; set time_zone='a;b'; SET sql_mode = ''"), "|time_zone='a;b'|sql_mode=''");
        assert_eq!(set("SET SESSION group_concat_max_len := 5"), "|group_concat_max_len=5");
        let none = ["SET GLOBAL time_zone = 'x'", "SET @time_zone = 1", "SET time_zone = DEFAULT", "SETTLE", "SET", ""];
        assert_eq!(none.map(set), [""; 6]);
    }
}
