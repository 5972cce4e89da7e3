//! Descriptions of JSON syntax errors, with their position, for clients and for authors of files.

use serde_json::Error;
use serde_json::error::Category;

/// Messages of `serde_json`, by prefix, and the wording used instead.
const REASONS: [(&str, &str); 15] = [
    ("expected value", "there is no value"),
    (
        "expected ident",
        "there is a word other than `true`, `false` and `null`",
    ),
    ("expected `:`", "a `:` is missing"),
    ("expected `,` or `}`", "a `,` or `}` is missing"),
    ("expected `,` or `]`", "a `,` or `]` is missing"),
    ("trailing comma", "nothing follows a `,`"),
    ("trailing characters", "there is more behind the value"),
    (
        "key must be a string",
        "a name is no string in double quotes",
    ),
    (
        "control character",
        "a control character in a string is not escaped, such as a newline as `\\n`",
    ),
    (
        "invalid escape",
        "a `\\` in a string begins no escape; by itself it is `\\\\`",
    ),
    (
        "lone leading surrogate",
        "a `\\u` in a string is half of a character",
    ),
    (
        "unexpected end of hex escape",
        "a `\\u` in a string is half of a character",
    ),
    ("invalid number", "a number is not written as JSON has it"),
    ("number out of range", "a number is too large"),
    (
        "recursion limit exceeded",
        "values are nested more than 127 levels deep",
    ),
];

/// Describes the syntax error and its position. A type error keeps the message of the type that was
/// expected.
pub fn fault(error: &Error) -> String {
    let said = error.to_string();
    let said = said
        .rsplit_once(" at line ")
        .map_or(said.as_str(), |(reason, _)| reason);
    let reason = match error.classify() {
        Category::Eof => "it ends in the middle of a value",
        Category::Data => return said.to_owned(),
        _ => REASONS
            .iter()
            .find(|(begin, _)| said.starts_with(begin))
            .map_or(said, |(_, reason)| reason),
    };
    match error.line() {
        // Most messages are one line.
        0 | 1 => format!("{reason}, at byte {}", error.column()),
        line => format!("{reason}, at byte {} of line {line}", error.column()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::Value;

    use super::fault;

    #[test]
    fn parser_messages_are_all_replaced() {
        let deep = "[".repeat(200);
        let cases = [
            ("", "it ends in the middle of a value, at byte 0"),
            (r#"{"a":"b"#, "it ends in the middle of a value, at byte 7"),
            (
                "nonsense",
                "there is a word other than `true`, `false` and `null`, at byte 2",
            ),
            ("x", "there is no value, at byte 1"),
            (r#"{"a" 1}"#, "a `:` is missing, at byte 6"),
            (r#"{"a":1 "b"}"#, "a `,` or `}` is missing, at byte 8"),
            ("[1 2]", "a `,` or `]` is missing, at byte 4"),
            (r#"{"a":1,}"#, "nothing follows a `,`, at byte 8"),
            ("{} x", "there is more behind the value, at byte 4"),
            ("{a:1}", "a name is no string in double quotes, at byte 2"),
            (
                "\"a\nb\"",
                "a control character in a string is not escaped, such as a newline as `\\n`, at byte 0 of line 2",
            ),
            (
                r#""\x""#,
                "a `\\` in a string begins no escape; by itself it is `\\\\`, at byte 3",
            ),
            (
                r#""\ud800""#,
                "a `\\u` in a string is half of a character, at byte 8",
            ),
            ("1.x", "a number is not written as JSON has it, at byte 3"),
            ("1e999", "a number is too large, at byte 5"),
            (
                deep.as_str(),
                "values are nested more than 127 levels deep, at byte 128",
            ),
            ("{\n\"a\" 1}", "a `:` is missing, at byte 5 of line 2"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                fault(&serde_json::from_str::<Value>(text).unwrap_err()),
                expected,
                "{text}"
            );
        }
        assert_eq!(
            fault(&serde_json::from_str::<u8>("300").unwrap_err()),
            "invalid value: integer `300`, expected u8"
        );
    }
}
