//! YAML writer with the layout of Go's `yaml.v3` and an indent of four, for readable diffs with
//! Keploy's files.
//!
//! A text stays unquoted only if every reader of YAML 1.1 or 1.2 takes it for that text.

use std::fmt::Write as _;

use serde_json::Value;

use super::node::{Node, NodeKind, Scalar};

const INDENT: usize = 4;
/// Maximum length of a key in the short form. Readers search at most 1,024 characters for its colon
/// (YAML 1.2, 7.4).
const MAX_SHORT_KEY_BYTES: usize = 128;

/// Appends a mapping in block style, with each line at this column.
pub(super) fn mapping(out: &mut String, members: &[(String, Node)], column: usize) {
    for (index, (key, value)) in members.iter().enumerate() {
        if index > 0 {
            pad(out, column);
        }
        let key = quote(key);
        if key.len() > MAX_SHORT_KEY_BYTES {
            out.extend(["? ", &key, "\n"]);
            pad(out, column);
        } else {
            out.push_str(&key);
        }
        // As in yaml.v3: the next multiple of four, also within a list item, which is indented by
        // two more.
        let inner = (column / INDENT + 1) * INDENT;
        if matches!(value.kind, NodeKind::Scalar(_)) || value.is_empty() {
            out.push_str(": ");
        } else {
            out.push_str(":\n");
            pad(out, inner);
        }
        node(out, value, inner);
    }
}

fn node(out: &mut String, node: &Node, column: usize) {
    match &node.kind {
        NodeKind::Map(members) if members.is_empty() => out.push_str("{}\n"),
        NodeKind::Map(members) => mapping(out, members, column),
        NodeKind::List(items) if items.is_empty() => out.push_str("[]\n"),
        NodeKind::List(items) => list(out, items, column),
        NodeKind::Scalar(Scalar {
            text,
            plain,
            binary,
        }) => {
            out.push_str(if *binary { "!!binary " } else { "" });
            if !plain && may_be_block(text) {
                block(out, text, column);
            } else {
                out.push_str(&if *plain { text.clone() } else { quote(text) });
                out.push('\n');
            }
        }
    }
}

fn list(out: &mut String, items: &[Node], column: usize) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            pad(out, column);
        }
        if !item.note.is_empty() {
            out.push_str("# ");
            out.extend(
                item.note
                    .chars()
                    .map(|c| if is_printable(c) { c } else { ' ' }),
            );
            out.push('\n');
            pad(out, column);
        }
        out.push_str("- ");
        node(out, item, column + 2);
    }
}

fn block(out: &mut String, text: &str, column: usize) {
    let body = text.trim_end_matches('\n');
    let ends = &text[body.len()..];
    out.push_str(["|-", "|", "|+"][ends.len().min(2)]);
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, column);
            out.push_str(line);
        }
    }
    out.push_str(if ends.is_empty() { "\n" } else { ends });
}

/// Returns true if a text of several lines can be a literal block. Readers disagree about blank
/// lines with spaces, tabs, and leading white space.
fn may_be_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text
            .chars()
            .all(|c| c == '\n' || c == '\t' || is_printable(c))
        && text.split('\n').all(|line| {
            line.is_empty() || !line.trim_matches([' ', '\t']).is_empty() && !line.starts_with('\t')
        })
}

/// Returns true for characters that every reader accepts (YAML 1.1, 4.1, without its line breaks
/// and the byte order mark).
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn quote(text: &str) -> String {
    if may_be_plain(text) {
        return text.to_owned();
    }
    if text.chars().all(is_printable) && !text.is_empty() && !text.contains('\'') {
        return format!("'{text}'");
    }
    // Quoted as in JSON, which is valid YAML, with more characters escaped.
    let mut quoted = String::with_capacity(text.len() + 2);
    for c in Value::from(text).to_string().chars() {
        if is_printable(c) {
            quoted.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(quoted, "\\u{:04X}", u32::from(c));
        }
    }
    quoted
}

/// Returns true if a text needs no quotes. It must start like a word or a path, without special
/// characters, and must not be a keyword of YAML 1.1 (`bool`, `null`, `merge`).
fn may_be_plain(text: &str) -> bool {
    const WORDS: [&str; 11] = [
        "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf",
    ];
    let inner = |c: char| c.is_ascii_alphanumeric() || " _-./:+=@,;%&?()*~$<>^|!".contains(c);
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == '/')
        && text.chars().all(inner)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn pad(out: &mut String, column: usize) {
    out.extend(std::iter::repeat_n(' ', column));
}

#[cfg(test)]
mod tests {
    use super::super::node::{Members, parse};
    use super::*;
    use proptest::prelude::*;

    fn map<const N: usize>(entries: [(&str, Node); N]) -> Node {
        Members::from_iter(entries).into()
    }

    fn written(node: &Node) -> String {
        let mut out = String::new();
        mapping(&mut out, node.members().unwrap(), 0);
        out
    }

    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => proptest::sample::select(vec![
                "\n", "\r\n", " ", "\t", "a", ": ", " #", "#", "- ", "'", "\"", "\\", "|", "---", "...", "yes", "0", "1.5", "~",
                "{", "}", "[", "&a", "*a", "!!", "%", "@", "`", "<<", "null", "\u{85}", "\u{2028}", "\u{feff}", "\u{0}", "\u{fffe}",
            ]).prop_map(str::to_owned),
            1 => any::<String>(),
        ];
        proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn any_text_round_trips(a in any_text(), b in any_text(), key in any_text(), note in any_text()) {
            let text = |text: &String| Node::from(text);
            let noted = Node { note, ..map([("deep", vec![text(&b), text(&a)].into())]) };
            let list: Vec<Node> = vec![text(&a), vec![text(&b), noted].into()];
            let value = map([("list", list.into()), ("k", map([(&key, text(&b)), ("\0x", text(&a))]))]);
            let out = written(&value);
            let back = parse(&out, 1).unwrap().unwrap();
            let texts = |node: &Node| -> Vec<String> {
                let list = node.member("list").unwrap().items(|item| Ok(item.clone())).unwrap();
                let inner = list[1].items(|item| Ok(item.clone())).unwrap();
                let deep = inner[1].need("deep", Node::texts).unwrap();
                let k = node.need("k", |k| k.pairs(Node::text)).unwrap();
                let k = k.into_iter().flat_map(|(key, value)| [key, value]);
                [list[0].text().unwrap(), inner[0].text().unwrap()].into_iter().chain(deep).chain(k).collect()
            };
            prop_assert_eq!(texts(&back), texts(&value), "{}", out);
        }
    }
}
