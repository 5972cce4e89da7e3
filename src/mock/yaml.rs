//! YAML parser that keeps the position of every value, for error messages.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Spanned, options};

/// Deepest nesting of a manifest, in levels.
const MAX_MOCK_DEPTH: usize = 100;
/// Most values in a manifest, those that its anchors stand for included.
const MAX_MOCK_NODES: usize = 1_000_000;
/// Most parts of YAML that the anchors of a manifest may stand for in all.
const MAX_MOCK_ANCHOR_EVENTS: usize = 50_000;

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextPlace {
    pub line: u64,
    pub column: u64,
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Reason for a failed parse.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// A mapping has this key twice.
    #[error("the key `{0}` is there twice")]
    Twice(String),
    /// Any other error.
    #[error("{0}")]
    Other(String),
}

/// A value and its position.
#[derive(Debug)]
pub struct YamlNode {
    place: TextPlace,
    kind: NodeKind,
}

#[derive(Debug)]
enum NodeKind {
    Scalar(Value),
    Sequence(Vec<YamlNode>),
    Mapping(Vec<(String, TextPlace, YamlNode)>),
}

impl YamlNode {
    /// Parses YAML. Fails, with the position if known, if the text is invalid or too large after
    /// expansion.
    pub fn parse(text: &str) -> Result<Self, (TextPlace, YamlError)> {
        let options = options! {
            budget: serde_saphyr::budget! {
                max_depth: MAX_MOCK_DEPTH,
                max_nodes: MAX_MOCK_NODES,
                max_events: 4 * MAX_MOCK_NODES,
                max_recorded_anchor_events: MAX_MOCK_ANCHOR_EVENTS,
            },
            with_snippet: false,
            strict_booleans: true,
        };
        serde_saphyr::from_str_with_options::<Self>(text, options).map_err(|error| {
            let place = error.location().map(place).unwrap_or_default();
            // Only the first line is kept; the position is formatted elsewhere.
            let text = error.without_snippet().to_string();
            let reason = text.lines().next().unwrap_or_default();
            let reason = reason
                .split(" at line ")
                .next()
                .unwrap_or(reason)
                .trim_end_matches(':');
            if reason.starts_with("budget breached") {
                let most = format!(
                    "at most {MAX_MOCK_NODES} values and {MAX_MOCK_DEPTH} levels \
                    are allowed"
                );
                let reason = format!("the manifest is too large, its anchors expanded: {most}");
                return (place, YamlError::Other(reason));
            }
            // The parser's messages are meant for programmers.
            let key = reason.strip_prefix("duplicate mapping key: ");
            let key = key.map(|rest| {
                rest.split(", set DuplicateKeyPolicy")
                    .next()
                    .unwrap_or(rest)
            });
            if let Some(key) = key {
                return (place, YamlError::Twice(key.to_owned()));
            }
            let reason = match reason
                .split([',', ';', '`'])
                .next()
                .unwrap_or(reason)
                .trim()
            {
                "multiple YAML documents detected" => {
                    "the file holds more than one document (`---`); it must be one"
                }
                "non-finite float" => "JSON has no such number",
                _ => reason,
            };
            (place, YamlError::Other(reason.to_owned()))
        })
    }

    /// Returns the value without positions.
    pub fn value(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::Sequence(items) => Value::Array(items.iter().map(Self::value).collect()),
            NodeKind::Mapping(members) => {
                let members = members
                    .iter()
                    .map(|(key, _, node)| (key.clone(), node.value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// Returns the position of the value at a JSON pointer (RFC 6901), or of the nearest value
    /// around it.
    pub fn place(&self, pointer: &str) -> TextPlace {
        self.nearest(pointer).place
    }

    /// Returns the position of a key of the mapping at a JSON pointer.
    pub fn key_place(&self, pointer: &str, key: &str) -> TextPlace {
        let node = self.nearest(pointer);
        match &node.kind {
            NodeKind::Mapping(members) => members
                .iter()
                .find(|(known, ..)| known == key)
                .map_or(node.place, |(_, at, _)| *at),
            _ => node.place,
        }
    }

    /// Returns the value at a JSON pointer, or the last one on the way to it.
    fn nearest(&self, pointer: &str) -> &Self {
        let mut node = self;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &node.kind {
                NodeKind::Scalar(_) => None,
                NodeKind::Sequence(items) => step
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| items.get(index)),
                NodeKind::Mapping(members) => members
                    .iter()
                    .find(|(key, ..)| *key == step)
                    .map(|(.., node)| node),
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }
}

fn place(location: serde_saphyr::Location) -> TextPlace {
    TextPlace {
        line: location.line(),
        column: location.column(),
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<NodeKind>::deserialize(deserializer)?;
        Ok(Self {
            place: place(spanned.referenced),
            kind: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for NodeKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyKind)
    }
}

struct AnyKind;

impl<'de> Visitor<'de> for AnyKind {
    type Value = NodeKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON also has")
    }

    fn visit_bool<E>(self, value: bool) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<NodeKind, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("JSON has no such number"))?;
        Ok(NodeKind::Scalar(number.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<NodeKind, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<NodeKind, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = items.next_element()? {
            nodes.push(node);
        }
        Ok(NodeKind::Sequence(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<NodeKind, A::Error> {
        let mut nodes = Vec::new();
        while let Some(key) = members.next_key::<Spanned<String>>()? {
            nodes.push((key.value, place(key.referenced), members.next_value()?));
        }
        Ok(NodeKind::Mapping(nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;
    use std::fmt::Write as _;

    #[test]
    fn parse_yields_values_and_positions() {
        let node = YamlNode::parse(
            "a: 1\nb:\n  - x: \"${y}\"\n    t: true\n  - 2.5\nc: &n {k: ~}\nd: *n\n1: no\n",
        )
        .unwrap();
        let expected = json!({"a": 1, "b": [{"x": "${y}", "t": true}, 2.5], "c": {"k": null}, "d": {"k": null}, "1": "no"});
        assert_eq!(node.value(), expected);
        assert_eq!(node.place("/b/0/x"), TextPlace { line: 3, column: 8 });
        assert_eq!(node.place("/b/7/x"), TextPlace { line: 3, column: 3 });
        assert_eq!(
            node.key_place("/b/0", "t"),
            TextPlace { line: 4, column: 5 }
        );
    }

    #[test]
    fn invalid_yaml_error_has_position() {
        let (place, reason) = YamlNode::parse("a: 1\nb: [1, 2\nc: }\n").unwrap_err();
        assert_eq!(place.line, 3, "{reason}");
        let (place, reason) = YamlNode::parse("a: 1\na: 2\n").unwrap_err();
        assert_eq!(
            (
                place.line,
                reason.to_string() == "the key `a` is there twice"
            ),
            (2, true),
            "{reason}"
        );
    }

    #[test]
    fn exploding_anchors_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            writeln!(
                text,
                "a{level}: &a{level} [{}]",
                vec![before; 10].join(", ")
            )
            .unwrap();
        }
        assert!(YamlNode::parse(&text).is_err());
        assert!(YamlNode::parse(&"[".repeat(100_000)).is_err());
    }
}
