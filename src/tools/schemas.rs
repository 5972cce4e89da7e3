//! JSON schemas of the tools, embedded from `schemas/` at compile time.
//!
//! Each file there is derived from the types of one tool, and indented for reviews;
//! `UPDATE_EXPECT=1 cargo test --test it derived` writes it. The compiler removes the whitespace.

use super::schema::Schemas;

/// Beginnings of the members of a file without whitespace, in order.
const ARGUMENTS: &[u8] = b"{\"arguments\":";
const PUBLISHED: &[u8] = b",\"published\":";
const OUTPUT: &[u8] = b",\"output\":";

/// Embeds the schemas of the tool in this module.
macro_rules! embedded {
    ($module:ident) => {
        const {
            const FILE: &str = include_str!(concat!("schemas/", stringify!($module), ".json"));
            const JSON: [u8; schemas::minify::<0>(FILE).0] = schemas::minify(FILE).1;
            schemas::split(&JSON)
        }
    };
}
pub(super) use embedded;

/// Removes the whitespace between the tokens of a JSON text. Returns the length of the result, and
/// its first `N` bytes.
pub(super) const fn minify<const N: usize>(json: &str) -> (usize, [u8; N]) {
    let json = json.as_bytes();
    let (mut minified, mut length) = ([0; N], 0);
    let (mut place, mut index) = (JsonPosition::Outside, 0);
    while index < json.len() {
        let byte = json[index];
        if !matches!(place, JsonPosition::Outside) || !byte.is_ascii_whitespace() {
            if length < N {
                minified[length] = byte;
            }
            length += 1;
        }
        place = place.after(byte);
        index += 1;
    }
    (length, minified)
}

/// Splits a minified file into its schemas. They are `null` if it has another form, as the empty
/// file of a new tool.
pub(super) const fn split(json: &'static [u8]) -> Schemas {
    let (arguments, rest) = member(json, ARGUMENTS);
    let (published, rest) = member(rest, PUBLISHED);
    let (output, _) = member(rest, OUTPUT);
    Schemas {
        arguments: text(arguments),
        published: text(published),
        output: match output {
            Some(output) => Some(text(Some(output))),
            None => None,
        },
    }
}

const fn text(value: Option<&'static [u8]>) -> &'static str {
    match value {
        Some(value) => match str::from_utf8(value) {
            Ok(text) => text,
            Err(_) => "null",
        },
        None => "null",
    }
}

/// Returns the value of the member with this beginning if `json` starts with it, and the rest.
const fn member<'a>(json: &'a [u8], beginning: &[u8]) -> (Option<&'a [u8]>, &'a [u8]) {
    let mut index = 0;
    while index < beginning.len() {
        if index == json.len() || json[index] != beginning[index] {
            return (None, json);
        }
        index += 1;
    }
    let (_, value) = json.split_at(index);
    let (value, rest) = value.split_at(value_length(value));
    (Some(value), rest)
}

/// Returns the length of the JSON value at the beginning of `json`: up to a comma or bracket
/// outside of it.
const fn value_length(json: &[u8]) -> usize {
    let (mut place, mut depth, mut index) = (JsonPosition::Outside, 0, 0);
    while index < json.len() {
        let byte = json[index];
        if matches!(place, JsonPosition::Outside) {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' if depth == 0 => break,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
        place = place.after(byte);
        index += 1;
    }
    index
}

/// Place in a JSON text, relative to its strings.
#[derive(Clone, Copy)]
enum JsonPosition {
    Outside,
    String,
    /// After a backslash in a string.
    Escape,
}

impl JsonPosition {
    const fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Outside, b'"') | (Self::Escape, _) => Self::String,
            (Self::String, b'\\') => Self::Escape,
            (Self::String, b'"') => Self::Outside,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minify_keeps_whitespace_in_strings() {
        const FILE: &str = "{\n  \"a b\": [1, \"\\\" \\\\\", 2],\n  \"c\": {}\n}\n";
        const JSON: [u8; minify::<0>(FILE).0] = minify(FILE).1;
        assert_eq!(
            str::from_utf8(&JSON),
            Ok("{\"a b\":[1,\"\\\" \\\\\",2],\"c\":{}}")
        );
    }

    #[test]
    fn split_returns_each_member() {
        let schemas =
            split(b"{\"arguments\":{\"a\":[\"}\"]},\"published\":{\"b\":1},\"output\":[2,3]}");
        assert_eq!(
            (schemas.arguments, schemas.published, schemas.output),
            ("{\"a\":[\"}\"]}", "{\"b\":1}", Some("[2,3]"))
        );
    }

    #[test]
    fn split_without_output_has_none() {
        let schemas = split(b"{\"arguments\":{},\"published\":{}}");
        assert_eq!((schemas.published, schemas.output), ("{}", None));
    }

    #[test]
    fn empty_file_has_null_schemas() {
        let schemas = split(b"");
        assert_eq!(
            (schemas.arguments, schemas.published, schemas.output),
            ("null", "null", None)
        );
    }
}
