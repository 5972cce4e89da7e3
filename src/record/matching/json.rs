//! JSON as far as comparing it needs: the order of keys and white space do not count, everything else does. A number is its
//! text: as a float, two large ones that differ would be the same.

use crate::limits::MAX_JSON_BODY_DEPTH;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`, `true`, `false` or a number, as it stands.
    Word(String),
    /// A text after escapes.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, by key; those of the same name in the order of the text.
    Map(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text that is one value and no more; `None` if it is none or nested too deeply.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.space();
        (reader.at == text.len()).then_some(value)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn next(&mut self, expected: u8) -> Option<()> {
        self.space();
        (self.peek()? == expected).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_JSON_BODY_DEPTH {
            return None;
        }
        self.space();
        match self.peek()? {
            b'{' => {
                let mut members = Vec::new();
                self.items(b'}', |reader| {
                    reader.space();
                    let key = reader.text()?;
                    reader.next(b':')?;
                    members.push((key, reader.value(depth + 1)?));
                    Some(())
                })?;
                members.sort_by(|(a, _), (b, _)| a.cmp(b));
                Some(Json::Map(members))
            }
            b'[' => {
                let mut items = Vec::new();
                self.items(b']', |reader| {
                    items.push(reader.value(depth + 1)?);
                    Some(())
                })?;
                Some(Json::List(items))
            }
            b'"' => self.text().map(Json::Text),
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
                let word = &rest[..end];
                // serde_json knows what a number is; only the text is kept.
                let known = serde_json::from_str::<serde_json::Number>(word).is_ok() || is_large(word);
                if !known && !matches!(word, "null" | "true" | "false") {
                    return None;
                }
                self.at += end;
                Some(Json::Word(word.to_owned()))
            }
        }
    }

    /// What stands between brackets, separated by commas.
    fn items(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        self.space();
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            self.space();
            let mark = self.peek()?;
            self.at += 1;
            match mark {
                b',' => {}
                mark if mark == close => return Some(()),
                _ => return None,
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        let start = self.at;
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let found = memchr::memchr2(b'"', b'\\', rest)?;
            self.at += found + if rest[found] == b'\\' { 2 } else { 1 };
            if rest[found] == b'"' {
                return serde_json::from_str(self.text.get(start..self.at)?).ok();
            }
        }
    }
}

/// A number beyond what a float holds is a number all the same (RFC 8259, 6).
fn is_large(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.parse::<f64>().is_ok_and(f64::is_infinite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn order_of_keys_and_space_do_not_count() {
        let one = Json::parse(br#" {"b": [1, 2.0, "\u0041"], "a": {"x": null}} "#);
        let two = Json::parse(br#"{"a":{"x":null},"b":[1,2.0,"A"]}"#);
        assert!(one.is_some());
        assert_eq!(one, two);
        let differ =
            [r#"{"a":1}"#, r#"{"a":1.0}"#, r#"{"a":"1"}"#, r#"{"a":[1]}"#, r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#];
        for (index, one) in differ.iter().enumerate() {
            for two in &differ[index + 1..] {
                assert_ne!(Json::parse(one.as_bytes()), Json::parse(two.as_bytes()), "{one} {two}");
            }
        }
        assert_ne!(Json::parse(b"9007199254740993"), Json::parse(b"9007199254740992"));
        assert_ne!(Json::parse(b"1e999"), Json::parse(b"2e999"));
    }

    #[test]
    fn what_is_no_json_is_none() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{a:1}",
            "nul",
            "01",
            "1 2",
            "\"a",
            "\"\\",
            "[1]x",
            "{\"a\":1,}",
            "'a'",
            "\u{e9}",
        ] {
            assert_eq!(Json::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Json::parse("[".repeat(100_000).as_bytes()), None);
    }
}
