//! Tree of a YAML document: parsed with line numbers, read field by field, or built for writing.
//!
//! The reader of a field decides its type, as in Go: `data: 123` is a text if a text is expected.
//! serde would decide before, and loses the lines. So this tree is made of the parser's events.

use std::collections::HashSet;
use std::str::FromStr;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{Event, Parser, ScalarStyle, StrInput};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

use super::Problem;

/// Deepest nesting of a recorded call's document, in levels.
const MAX_CALLS_DEPTH: usize = 100;
/// Most values in one document.
const MAX_CALLS_NODES: usize = 2_000_000;

/// A value and its line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    /// Line in the file, from 1; 0 for a new node.
    pub line: u64,
    pub kind: NodeKind,
    /// A comment above the value, for people; readers ignore it.
    pub note: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeKind {
    /// A scalar whose type is not decided yet.
    Scalar(Scalar),
    List(Vec<Node>),
    /// A mapping with scalar keys, in the order of the file.
    Map(Vec<(String, Node)>),
}

impl Default for NodeKind {
    fn default() -> Self {
        Self::Map(Vec::new())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scalar {
    /// The unescaped text.
    pub text: String,
    /// `true` if it may be other than a text: it has no quotes, is not a block, and has no tag.
    pub plain: bool,
    pub binary: bool,
}

impl Scalar {
    /// Returns true if it means null (YAML 1.2, 10.3.2).
    pub(super) fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

impl Node {
    /// Returns the value of a key; `None` if it is missing or null, or if this is not a mapping.
    pub(super) fn member(&self, key: &str) -> Option<&Self> {
        let NodeKind::Map(members) = &self.kind else {
            return None;
        };
        members
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
            .filter(|node| !node.is_null())
    }

    /// Reads the value of a key, if present.
    pub(super) fn find<'a, T>(
        &'a self,
        key: &str,
        take: impl FnOnce(&'a Self) -> Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        self.members()?;
        self.member(key)
            .map(|node| take(node).map_err(|problem| problem.inside(key, node.line)))
            .transpose()
    }

    /// Reads the value of a key, or returns the default.
    pub(super) fn get<'a, T: Default>(
        &'a self,
        key: &str,
        take: impl FnOnce(&'a Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.find(key, take).map(Option::unwrap_or_default)
    }

    /// Reads the value of a required key.
    pub(super) fn need<'a, T>(
        &'a self,
        key: &str,
        take: impl FnOnce(&'a Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.find(key, take)?
            .ok_or_else(|| Problem::new(self.line, format!("missing field `{key}`")))
    }

    pub(super) fn members(&self) -> Result<&[(String, Self)], Problem> {
        match &self.kind {
            NodeKind::Map(members) => Ok(members),
            _ if self.is_null() => Ok(&[]),
            _ => Err(self.expected("a mapping")),
        }
    }

    /// Reads the entries of a mapping, each in the same way.
    pub(super) fn pairs<T>(
        &self,
        take: impl Fn(&Self) -> Result<T, Problem>,
    ) -> Result<Vec<(String, T)>, Problem> {
        let pair = |(key, node): &(String, Self)| {
            take(node)
                .map(|value| (key.clone(), value))
                .map_err(|problem| problem.inside(key, node.line))
        };
        self.members()?.iter().map(pair).collect()
    }

    pub(super) fn items<T>(
        &self,
        take: impl Fn(&Self) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let items = match &self.kind {
            NodeKind::List(items) => items.as_slice(),
            _ if self.is_null() => &[],
            _ => return Err(self.expected("a list")),
        };
        let item = |(index, node): (usize, &Self)| {
            take(node).map_err(|problem| problem.inside(&format!("[{index}]"), node.line))
        };
        items.iter().enumerate().map(item).collect()
    }

    pub(super) fn text(&self) -> Result<String, Problem> {
        String::from_utf8(self.bytes()?).map_err(|_| self.expected("a text in UTF-8"))
    }

    pub(super) fn texts(&self) -> Result<Vec<String>, Problem> {
        self.items(Self::text)
    }

    /// Returns the bytes of a text, or of base64 with the tag `!!binary`.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, Problem> {
        match &self.kind {
            NodeKind::Scalar(scalar) if scalar.binary => decode_base64(&scalar.text),
            NodeKind::Scalar(scalar) if scalar.is_null() => Ok(Vec::new()),
            NodeKind::Scalar(scalar) => Ok(scalar.text.clone().into_bytes()),
            _ => Err(self.expected("a text")),
        }
    }

    pub(super) fn number<T: FromStr>(&self) -> Result<T, Problem> {
        match &self.kind {
            NodeKind::Scalar(scalar) => scalar.text.parse().map_err(|_| self.expected("a number")),
            _ => Err(self.expected("a number")),
        }
    }

    /// Reads a time: RFC 3339 in any zone.
    pub(super) fn time(&self) -> Result<SystemTime, Problem> {
        let text = self.text()?;
        let time = OffsetDateTime::parse(&text, &Rfc3339).ok();
        // Only times that can be written again: in UTC the year may differ.
        let time = time
            .and_then(|time| time.checked_to_offset(UtcOffset::UTC))
            .filter(|time| time.year() >= 0);
        time.map(SystemTime::from)
            .ok_or_else(|| self.expected("a time such as 2026-01-31T12:00:00.5Z"))
    }

    pub(super) fn expected(&self, what: &str) -> Problem {
        let got = match &self.kind {
            NodeKind::Scalar(scalar) => {
                let shown: String = scalar.text.chars().take(40).collect();
                format!("`{}`", shown.escape_debug())
            }
            NodeKind::List(_) => "a list".to_owned(),
            NodeKind::Map(_) => "a mapping".to_owned(),
        };
        Problem::new(self.line, format!("expected {what}, got {got}"))
    }

    pub(super) fn is_base64(&self) -> bool {
        matches!(&self.kind, NodeKind::Scalar(scalar) if scalar.binary)
    }

    pub(super) fn is_empty(&self) -> bool {
        match &self.kind {
            NodeKind::Scalar(scalar) => scalar.text.is_empty() || scalar.is_null(),
            NodeKind::List(items) => items.is_empty(),
            NodeKind::Map(members) => members.is_empty(),
        }
    }

    fn is_null(&self) -> bool {
        matches!(&self.kind, NodeKind::Scalar(scalar) if scalar.is_null())
    }

    pub(super) fn base64(bytes: &[u8]) -> Self {
        // 70 per line, as in Go's `yaml.v3`.
        let lines = STANDARD.encode(bytes);
        let lines: Vec<&str> = (0..lines.len())
            .step_by(70)
            .map(|at| &lines[at..lines.len().min(at + 70)])
            .collect();
        let end = if lines.len() > 1 { "\n" } else { "" };
        scalar(lines.join("\n") + end, false, true)
    }
}

/// Decodes base64, which may contain white space.
pub(super) fn decode_base64(text: &str) -> Result<Vec<u8>, Problem> {
    let packed: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    STANDARD
        .decode(packed)
        .map_err(|error| Problem::new(0, format!("invalid base64: {error}")))
}

#[derive(Debug, Default)]
pub(super) struct Members(pub Vec<(String, Node)>);

impl<K: ToString, V: Into<Node>> FromIterator<(K, V)> for Members {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(
            entries
                .into_iter()
                .map(|(key, value)| (key.to_string(), value.into()))
                .collect(),
        )
    }
}

impl Members {
    /// Adds an entry with a new key.
    pub(super) fn put(&mut self, key: &str, value: impl Into<Node>) {
        self.0.push((key.to_owned(), value.into()));
    }
}

fn scalar(text: String, plain: bool, binary: bool) -> Node {
    Node {
        kind: NodeKind::Scalar(Scalar {
            text,
            plain,
            binary,
        }),
        ..Node::default()
    }
}

impl From<Members> for Node {
    fn from(members: Members) -> Self {
        Self {
            kind: NodeKind::Map(members.0),
            ..Self::default()
        }
    }
}

impl<T: Into<Self>> From<Vec<T>> for Node {
    fn from(items: Vec<T>) -> Self {
        Self {
            kind: NodeKind::List(items.into_iter().map(Into::into).collect()),
            ..Self::default()
        }
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        scalar(text.to_owned(), false, false)
    }
}

impl From<&String> for Node {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<u64> for Node {
    fn from(number: u64) -> Self {
        scalar(number.to_string(), true, false)
    }
}

impl From<bool> for Node {
    fn from(value: bool) -> Self {
        scalar(value.to_string(), true, false)
    }
}

impl From<SystemTime> for Node {
    fn from(time: SystemTime) -> Self {
        // Every parsed time and every clock time has this form.
        scalar(
            OffsetDateTime::from(time)
                .format(&Rfc3339)
                .unwrap_or_default(),
            true,
            false,
        )
    }
}

/// Decides the form of bytes in a file: text if it is readable, otherwise base64.
impl From<&[u8]> for Node {
    fn from(bytes: &[u8]) -> Self {
        let is_readable = |text: &&str| {
            !text.contains(|c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
        };
        match std::str::from_utf8(bytes).ok().filter(is_readable) {
            Some(text) => Self::from(text),
            None => Self::base64(bytes),
        }
    }
}

/// Parses one document whose first line has this number; `None` if it is empty. Fails, with the
/// line, if the text is not valid YAML, is too deep or too large, or has a key that is duplicate or
/// not a scalar. Aliases are refused too: no writer uses them, and they may expand without bounds.
pub(super) fn parse(text: &str, first_line: u64) -> Result<Option<Node>, Problem> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        first_line,
        nodes: 0,
    };
    let root = reader.value(0)?;
    loop {
        match reader.event()? {
            (Event::DocumentEnd, _) => {}
            (Event::StreamEnd, _) => return Ok(root.filter(|root| !root.is_null())),
            (_, line) => {
                return Err(Problem::new(
                    line,
                    "another document without `---` before it".to_owned(),
                ));
            }
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    first_line: u64,
    nodes: usize,
}

impl<'a> Reader<'a> {
    fn event(&mut self) -> Result<(Event<'a>, u64), Problem> {
        let line = |line: usize| self.first_line + (line as u64).saturating_sub(1);
        match self.events.next_event() {
            Some(Ok((event, span))) => Ok((event, line(span.start.line()))),
            Some(Err(error)) => Err(Problem::new(
                line(error.marker().line()),
                format!("no YAML: {}", error.info()),
            )),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    /// Parses the next value at this depth; `None` at the end of its parent.
    fn value(&mut self, depth: usize) -> Result<Option<Node>, Problem> {
        let (mut event, mut line) = self.event()?;
        while matches!(event, Event::StreamStart | Event::DocumentStart(..)) {
            (event, line) = self.event()?;
        }
        if depth > MAX_CALLS_DEPTH {
            return Err(Problem::new(
                line,
                format!("nested deeper than {MAX_CALLS_DEPTH} levels"),
            ));
        }
        let kind = match event {
            Event::Scalar(text, style, _, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let name = tag
                    .as_ref()
                    .and_then(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:"));
                let binary = name.is_some_and(|name| name == "binary");
                NodeKind::Scalar(Scalar {
                    text: text.into_owned(),
                    plain,
                    binary,
                })
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                while let Some(item) = self.value(depth + 1)? {
                    items.push(item);
                }
                NodeKind::List(items)
            }
            Event::MappingStart(..) => {
                let (mut members, mut keys) = (Vec::new(), HashSet::new());
                while let Some(Node { line, kind, .. }) = self.value(depth + 1)? {
                    let NodeKind::Scalar(Scalar { text: key, .. }) = kind else {
                        return Err(Problem::new(line, "a key that is not text".to_owned()));
                    };
                    // Duplicate keys would lose a value.
                    if !keys.insert(key.clone()) {
                        return Err(Problem::new(line, format!("the key `{key}` a second time")));
                    }
                    members.push((key, self.value(depth + 1)?.unwrap_or_default()));
                }
                NodeKind::Map(members)
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(Problem::new(
                    line,
                    "an alias (`*...`), which files of calls do not use".to_owned(),
                ));
            }
            _ => return Ok(None),
        };
        self.nodes += 1;
        if self.nodes > MAX_CALLS_NODES {
            return Err(Problem::new(
                line,
                format!("more than {MAX_CALLS_NODES} values in one document"),
            ));
        }
        Ok(Some(Node {
            line,
            kind,
            note: String::new(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn reason(text: &str) -> (u64, String) {
        let problem = parse(text, 10).unwrap_err();
        (problem.line, problem.message)
    }

    #[test]
    fn field_reader_decides_scalar_type() {
        let node = parse(
            "a: 007\nb: \"007\"\nc: !!binary aGk=\nd: |\n  x\n  y\ne: ~\nf: 1.0.0\n",
            1,
        )
        .unwrap()
        .unwrap();
        let text = |key: &str| node.find(key, Node::text).unwrap();
        let texts = ["a", "b", "c", "d", "e", "f"].map(text);
        let expected = [
            Some("007"),
            Some("007"),
            Some("hi"),
            Some("x\ny\n"),
            None,
            Some("1.0.0"),
        ];
        assert_eq!(texts.each_ref().map(Option::as_deref), expected);
        assert_eq!(
            (node.need("a", Node::number), node.get("e", Node::number)),
            (Ok(7_u8), Ok(0_u8))
        );
        assert_eq!(parse("# nothing\n", 1).unwrap(), None);
    }

    #[test]
    fn field_type_error_has_line_and_key() {
        let read = |text: &str| {
            let node = parse(text, 1).unwrap().unwrap();
            let item = |item: &Node| {
                Ok((
                    item.need("count", Node::number::<u16>)?,
                    item.get("text", Node::text)?,
                ))
            };
            node.need("items", |items| items.items(item))
                .unwrap_err()
                .to_string()
        };
        let cases = [
            (
                "items:\n  - count: 3\n  - count: x\n",
                "3: `items[1].count`: expected a number, got `x`",
            ),
            (
                "items:\n  - count: 3\n    text: [1]\n",
                "3: `items[0].text`: expected a text, got a list",
            ),
            (
                "items:\n  - text: a\n",
                "2: `items[0]`: missing field `count`",
            ),
            ("items: 7\n", "1: `items`: expected a list, got `7`"),
            ("items: [a]\n", "1: `items[0]`: expected a mapping, got `a`"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected);
        }
    }

    #[test]
    fn times_in_any_zone_become_utc() {
        let cases = [
            (
                "2024-02-29T23:59:59.123456789+05:30",
                Some("2024-02-29T18:29:59.123456789Z"),
            ),
            (
                "2023-12-31T20:00:00.5-08:00",
                Some("2024-01-01T04:00:00.5Z"),
            ),
            ("0001-01-01T00:00:00Z", Some("0001-01-01T00:00:00Z")),
            ("1969-12-31T23:59:59.25Z", Some("1969-12-31T23:59:59.25Z")),
            ("0000-01-01T00:00:00+01:00", None),
            ("9999-12-31T23:59:59-01:00", None),
            ("2024-02-29", None),
            ("2024-13-01T00:00:00Z", None),
            ("2024-01-01T00:00:00", None),
        ];
        for (text, expected) in cases {
            let time = Node::from(text)
                .time()
                .ok()
                .map(|time| Node::from(time).text().unwrap());
            assert_eq!(time.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn readable_bytes_are_text_others_base64() {
        let is_base64 = |bytes: &[u8]| Node::from(bytes).is_base64();
        let cases: [&[u8]; 5] = [
            b"*1\r\n$4\r\nPING\r\n",
            b"a\tb\n",
            "\u{e9}".as_bytes(),
            b"Q\0",
            b"\xff",
        ];
        assert_eq!(cases.map(is_base64), [false, false, false, true, true]);
        assert_eq!(cases.map(|bytes| Node::from(bytes).bytes().unwrap()), cases);
    }

    #[test]
    fn yaml_error_has_line() {
        assert_eq!(
            reason("a: 1\nb: 2\na: 3\n"),
            (12, "the key `a` a second time".to_owned())
        );
        assert_eq!(reason("a: &x 1\nb: *x\n").0, 11);
        assert_eq!(reason("a: 1\nb: [1, 2\nc: }\n").0, 12);
        assert_eq!(
            reason("? [a]\n: 1\n"),
            (10, "a key that is not text".to_owned())
        );
        assert!(parse(&"[".repeat(100_000), 1).is_err());
        assert!(parse(&"- ".repeat(100_000), 1).is_err());
    }
}
