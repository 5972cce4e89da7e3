//! A tree of YAML -> typed values. The field decides what a scalar is, and an error says its line and its key.

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::Problem;
use super::node::{Kind, Node, Scalar};
use super::values::BINARY;

impl de::Error for Problem {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new(0, message.to_string())
    }
}

impl Node {
    /// What it is, for a message.
    fn is(&self) -> String {
        match &self.kind {
            Kind::Scalar(scalar) => {
                let shown: String = scalar.text.chars().take(40).collect();
                format!("`{}`", shown.escape_debug())
            }
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a mapping".to_owned(),
        }
    }

    fn expected(&self, what: &str) -> Problem {
        Problem::new(self.line, format!("expected {what}, got {}", self.is()))
    }

    fn scalar(&self, what: &str) -> Result<&Scalar, Problem> {
        match &self.kind {
            Kind::Scalar(scalar) => Ok(scalar),
            _ => Err(self.expected(what)),
        }
    }

    fn number<T: std::str::FromStr>(&self) -> Result<T, Problem> {
        let scalar = self.scalar("a number")?;
        scalar.text.parse().map_err(|_| self.expected("a number"))
    }

    fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(scalar) if scalar.is_null())
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
            visitor.$visit(self.number()?)
        })*
    };
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match &self.kind {
            Kind::Scalar(scalar) if scalar.binary => {
                let pair = std::iter::once((BINARY, scalar.text.as_str()));
                visitor.visit_map(MapDeserializer::new(pair))
            }
            Kind::Scalar(scalar) if scalar.plain => plain(scalar, visitor),
            Kind::Scalar(scalar) => visitor.visit_borrowed_str(&scalar.text),
            Kind::List(_) => self.deserialize_seq(visitor),
            Kind::Map(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.scalar("true or false")?.text.as_str() {
            "true" | "True" | "TRUE" | "yes" | "on" => visitor.visit_bool(true),
            "false" | "False" | "FALSE" | "no" | "off" => visitor.visit_bool(false),
            _ => Err(self.expected("true or false")),
        }
    }

    numbers! {
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32 deserialize_i64 visit_i64
        deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32 deserialize_u64 visit_u64
        deserialize_f32 visit_f32 deserialize_f64 visit_f64
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let scalar = self.scalar("a text")?;
        if scalar.binary {
            let text = String::from_utf8(scalar.bytes()?);
            return visitor.visit_string(text.map_err(|_| self.expected("a text in UTF-8"))?);
        }
        visitor.visit_borrowed_str(if scalar.is_null() { "" } else { &scalar.text })
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let scalar = self.scalar("a text")?;
        visitor.visit_byte_buf(if scalar.is_null() { Vec::new() } else { scalar.bytes()? })
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match &self.kind {
            Kind::List(items) => visitor.visit_seq(Items { items: items.iter(), index: 0 }),
            _ if self.is_null() => visitor.visit_seq(Items { items: [].iter(), index: 0 }),
            _ => Err(self.expected("a list")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let members = match &self.kind {
            Kind::Map(members) => members.as_slice(),
            _ if self.is_null() => &[],
            _ => return Err(self.expected("a mapping")),
        };
        let result = visitor.visit_map(Members { members: members.iter(), next: None });
        // What no member is to blame for, such as one that is missing, is said of the whole.
        result.map_err(|problem| if problem.line == 0 { Problem { line: self.line, ..problem } } else { problem })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let name: StrDeserializer<'_, Problem> = self.scalar("a word")?.text.as_str().into_deserializer();
        visitor.visit_enum(name)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { i128 u128 char unit unit_struct tuple tuple_struct identifier }
}

/// A plain scalar where no type is asked for (YAML 1.2, 10.3.2).
fn plain<'de, V: Visitor<'de>>(scalar: &'de Scalar, visitor: V) -> Result<V::Value, Problem> {
    let text = scalar.text.as_str();
    if scalar.is_null() {
        return visitor.visit_unit();
    }
    match text {
        "true" | "True" | "TRUE" => return visitor.visit_bool(true),
        "false" | "False" | "FALSE" => return visitor.visit_bool(false),
        _ => {}
    }
    // What would not be written the same again stays a text.
    if let Ok(number) = text.parse::<i64>()
        && number.to_string() == text
    {
        return visitor.visit_i64(number);
    }
    if let Ok(number) = text.parse::<u64>()
        && number.to_string() == text
    {
        return visitor.visit_u64(number);
    }
    if text.starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && let Ok(number) = text.parse::<f64>()
        && number.is_finite()
    {
        return visitor.visit_f64(number);
    }
    visitor.visit_borrowed_str(text)
}

struct Items<'de> {
    items: std::slice::Iter<'de, Node>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Problem> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(item).map(Some).map_err(|problem| problem.inside(&format!("[{index}]"), item.line))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Members<'de> {
    members: std::slice::Iter<'de, (String, Node)>,
    next: Option<&'de (String, Node)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Problem> {
        self.next = self.members.next();
        let Some((key, _)) = self.next else { return Ok(None) };
        seed.deserialize(de::value::BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let Some((key, node)) = self.next.take() else { return Err(Problem::custom("a value without a key")) };
        seed.deserialize(node).map_err(|problem| problem.inside(key, node.line))
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::parse;
    use pretty_assertions::assert_eq;
    use serde::Deserialize;
    use serde_json::{Value, json};

    #[derive(Debug, Deserialize)]
    struct Inner {
        count: u16,
        #[serde(default)]
        text: String,
        #[serde(flatten)]
        rest: serde_json::Map<String, Value>,
    }

    #[derive(Debug, Deserialize)]
    struct Outer {
        items: Vec<Inner>,
    }

    fn read(text: &str) -> Result<Outer, String> {
        let node = parse(text, 1).unwrap().unwrap();
        Outer::deserialize(&node).map_err(|problem| format!("{}: {}: {}", problem.line, problem.path, problem.message))
    }

    #[test]
    fn a_field_decides_what_a_scalar_is() {
        let read = read("items:\n  - count: 3\n    text: 007\n    n: 4\n    v: 1.0.0\n    b: !!binary aGk=\n").unwrap();
        let Inner { count, text, rest } = &read.items[0];
        assert_eq!((*count, text.as_str()), (3, "007"));
        assert_eq!(Value::Object(rest.clone()), json!({"n": 4, "v": "1.0.0", "b": {"\0binary": "aGk="}}));
    }

    #[test]
    fn errors_say_line_and_key() {
        let cases = [
            ("items:\n  - count: 3\n  - count: x\n", "3: items[1].count: expected a number, got `x`"),
            ("items:\n  - count: 3\n    text: [1]\n", "3: items[0].text: expected a text, got a list"),
            ("items:\n  - text: a\n", "2: items[0]: missing field `count`"),
            ("items: 7\n", "1: items: expected a list, got `7`"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).unwrap_err(), expected);
        }
    }
}
