//! Parser of one line: a request, a notification, a response, a batch, or a refusal.

use std::borrow::Cow;
use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::code::Code;
use super::syntax::fault;

/// A request's id as its JSON text, so that `92` and `"92"` differ and big integers survive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id(Box<str>);

impl Id {
    /// Accepts strings and integers, the only ids that MCP allows.
    fn parse(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        if text.starts_with('"') {
            if text
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~') && byte != b'\\')
            {
                return Some(Self(text.into()));
            }
            // Serialized again, so that two spellings of one string are one id.
            let id: String = serde_json::from_str(text).ok()?;
            return Some(Self(serde_json::to_string(&id).ok()?.into()));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        integer.then(|| Self(text.into()))
    }

    /// Returns the id for a string.
    pub fn text(text: &str) -> Self {
        Self(serde_json::Value::from(text).to_string().into())
    }

    /// The id as JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(&raw).ok_or_else(|| serde::de::Error::custom("an id is a string or an integer"))
    }
}

/// A request if it has an id, otherwise a notification.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Absent on a notification.
    pub id: Option<Id>,
    /// The method, such as `tools/call`.
    pub method: Cow<'a, str>,
    /// An object, not parsed yet.
    pub params: Option<&'a RawValue>,
    /// The parsed parameters of a `tools/call` request. `None` for other methods, and if they
    /// cannot be parsed.
    pub called: Option<ToolCall<'a>>,
}

/// Parameters of a tool call.
#[derive(Clone, Debug)]
pub struct ToolCall<'a> {
    /// The tool's name; `None` if it is missing or not a string.
    pub name: Option<Cow<'a, str>>,
    /// The arguments, of any JSON type; `None` if missing or `null`.
    pub arguments: Option<&'a RawValue>,
}

impl<'a> ToolCall<'a> {
    fn of(params: &'a RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow)]
            name: Option<&'a RawValue>,
            #[serde(borrow)]
            arguments: Option<&'a RawValue>,
        }
        let params: Params<'a> = serde_json::from_str(params.get()).ok()?;
        Some(Self {
            name: params.name.and_then(text),
            arguments: params.arguments,
        })
    }
}

/// Returns the string, if the value is one. It is borrowed if the JSON text has no escapes.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    match json.strip_prefix('"')?.strip_suffix('"') {
        // The value was parsed before, so the string is known to be closed.
        Some(inner) if memchr::memchr(b'\\', inner.as_bytes()).is_none() => {
            Some(Cow::Borrowed(inner))
        }
        _ => serde_json::from_str(json).ok().map(Cow::Owned),
    }
}

/// A client's answer to a request of the server.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// The id of the request, if it can be parsed.
    pub id: Option<Id>,
    /// The result, if the request succeeded.
    pub result: Option<&'a RawValue>,
    /// The error, if the request failed.
    pub error: Option<&'a RawValue>,
}

/// An error for a message that cannot be served, with its id if it has a usable one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Written as `null` if `None`.
    pub id: Option<Id>,
    /// Parse error or invalid request.
    pub code: Code,
    /// The fault, and the form that is allowed.
    pub message: String,
}

/// The parsed form of one line, or of one member of a batch.
#[derive(Clone, Debug)]
pub enum Incoming<'a> {
    Request(Request<'a>),
    /// An answer to a request that the server sent.
    Response(Response<'a>),
    /// An array of messages, not parsed yet.
    Batch(Vec<&'a RawValue>),
    /// A malformed message, answered with an error.
    Refused(Refusal),
}

impl Incoming<'_> {
    /// Number of messages: the members of a batch. An empty batch counts as one.
    pub fn count(&self) -> usize {
        match self {
            Self::Batch(members) => members.len().max(1),
            Self::Request(_) | Self::Response(_) | Self::Refused(_) => 1,
        }
    }

    /// The id for errors about this message: that of the request.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Request(request) => request.id.as_ref(),
            Self::Refused(refusal) => refusal.id.as_ref(),
            Self::Response(_) | Self::Batch(_) => None,
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Distinguishes `null` from a missing member, which `Option` alone does not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Parses one line. Never fails: a malformed message becomes a [`Refusal`].
pub fn parse(line: &[u8]) -> Incoming<'_> {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            return refuse(
                None,
                Code::ParseError,
                format!("the message is not UTF-8 at byte {at}; JSON is sent as UTF-8"),
            );
        }
    };
    let first = text.bytes().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(b'[') {
        return match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(members) => Incoming::Batch(members),
            Err(error) => not_json(&error),
        };
    }
    let envelope = match serde_json::from_str::<Envelope<'_>>(text) {
        Ok(envelope) => envelope,
        Err(error) => return not_an_envelope(text, &error),
    };
    classify(&envelope)
}

fn not_an_envelope(text: &str, error: &serde_json::Error) -> Incoming<'static> {
    // serde reports a wrong type before it reads the rest of the line, and the rest may be
    // malformed JSON.
    if error.classify() != Category::Data {
        return not_json(error);
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return not_json(&error);
    }
    let message = match text.trim_start().chars().next() {
        Some('{') => "the message has a member twice; each may be there once".to_owned(),
        _ => format!(
            "the message is {}; it must be an object",
            shorten(text.trim())
        ),
    };
    refuse(None, Code::InvalidRequest, message)
}

fn not_json(error: &serde_json::Error) -> Incoming<'static> {
    let message = format!(
        "the message is not JSON: {}; it must be one JSON-RPC 2.0 object, whole",
        fault(error)
    );
    refuse(None, Code::ParseError, message)
}

fn classify<'a>(envelope: &Envelope<'a>) -> Incoming<'a> {
    let response = |id| {
        Incoming::Response(Response {
            id,
            result: envelope.result,
            error: envelope.error,
        })
    };
    let id = match envelope.id {
        None => None,
        Some(raw) => match Id::parse(raw) {
            Some(id) => Some(id),
            None if envelope.method.is_none() && envelope.error.is_some() => return response(None),
            None => {
                let got = shorten(raw.get());
                return refuse(
                    None,
                    Code::InvalidRequest,
                    format!("`id` is {got}; an id is a string or an integer"),
                );
            }
        },
    };
    let invalid = |message: String| refuse(id.clone(), Code::InvalidRequest, message);
    match envelope.jsonrpc.map(RawValue::get) {
        Some("\"2.0\"") => {}
        Some(got) => return invalid(format!("`jsonrpc` is {}; it must be \"2.0\"", shorten(got))),
        None => return invalid("`jsonrpc` is missing; it must be \"2.0\"".to_owned()),
    }
    let Some(method) = envelope.method else {
        if envelope.result.is_some() || envelope.error.is_some() {
            return response(id);
        }
        return invalid(
            "`method` is missing; a request names one, such as \"tools/list\"".to_owned(),
        );
    };
    let Some(method) = text(method) else {
        return invalid(format!(
            "`method` is {}; it must be a string",
            shorten(method.get())
        ));
    };
    let params = match envelope
        .params
        .map(|raw| (raw, raw.get().as_bytes().first()))
    {
        None | Some((_, Some(b'n'))) => None,
        Some((raw, Some(b'{'))) => Some(raw),
        Some((raw, _)) => {
            return invalid(format!(
                "`params` is {}; it must be an object",
                shorten(raw.get())
            ));
        }
    };
    let called = params
        .filter(|_| method == "tools/call")
        .and_then(ToolCall::of);
    Incoming::Request(Request {
        id,
        method,
        params,
        called,
    })
}

fn refuse(id: Option<Id>, code: Code, message: String) -> Incoming<'static> {
    Incoming::Refused(Refusal { id, code, message })
}

/// Truncates a client's text to forty characters, so that an error stays short.
pub(super) fn shorten(json: &str) -> Cow<'_, str> {
    match json.char_indices().nth(40) {
        None => Cow::Borrowed(json),
        Some((end, _)) => Cow::Owned(format!("{}...", &json[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> (Option<String>, i64) {
        match parse(line.as_bytes()) {
            Incoming::Refused(refusal) => {
                (refusal.id.map(|id| id.to_string()), refusal.code.number())
            }
            other => panic!("{line} gave {other:?}"),
        }
    }

    #[test]
    fn malformed_line_gets_code_and_id() {
        let cases = [
            ("{", None, -32700),
            ("", None, -32700),
            ("nonsense", None, -32700),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#,
                None,
                -32700,
            ),
            (r#"{"jsonrpc":1,"jsonrpc":2,bad"#, None, -32700),
            ("5", None, -32600),
            (
                r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
                None,
                -32600,
            ),
            (r#"{"jsonrpc":"2.0","id":7}"#, Some("7"), -32600),
            (
                r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#,
                Some("\"a\""),
                -32600,
            ),
            (r#"{"id":7,"method":"ping"}"#, Some("7"), -32600),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, Some("7"), -32600),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}"#,
                Some("7"),
                -32600,
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#,
                Some("7"),
                -32600,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                None,
                -32600,
            ),
            (
                r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
                None,
                -32600,
            ),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, None, -32600),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                None,
                -32600,
            ),
        ];
        for (line, id, code) in cases {
            assert_eq!(refusal(line), (id.map(str::to_owned), code), "{line}");
        }
        assert!(
            matches!(parse(b"{\"a\":\"\xff\"}"), Incoming::Refused(r) if r.code == Code::ParseError)
        );
        let said = |line: &str| match parse(line.as_bytes()) {
            Incoming::Refused(refusal) => refusal.message,
            other => panic!("{line} gave {other:?}"),
        };
        let whole = "; it must be one JSON-RPC 2.0 object, whole";
        assert_eq!(
            said("{"),
            format!("the message is not JSON: it ends in the middle of a value, at byte 1{whole}")
        );
        assert_eq!(
            said("[1,]"),
            format!("the message is not JSON: nothing follows a `,`, at byte 4{whole}")
        );
        assert_eq!(said(" 5 "), "the message is 5; it must be an object");
        let twice = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#;
        assert_eq!(
            said(twice),
            "the message has a member twice; each may be there once"
        );
    }

    #[test]
    fn unescaped_tool_name_is_borrowed() {
        let called = |params: &str| {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            let Incoming::Request(request) = parse(line.as_bytes()) else {
                panic!("{line}")
            };
            request.called.map(|called| {
                let name = called
                    .name
                    .map(|name| (name.to_string(), matches!(name, Cow::Borrowed(_))));
                (name, called.arguments.map(|raw| raw.get().to_owned()))
            })
        };
        let some = |name: &str, is_borrowed| Some((name.to_owned(), is_borrowed));
        assert_eq!(
            called(r#"{"name":"a é","arguments":[1]}"#),
            Some((some("a é", true), Some("[1]".to_owned())))
        );
        assert_eq!(
            called(r#"{"name":"a\u0062\"","arguments":null}"#),
            Some((some("ab\"", false), None))
        );
        assert_eq!(called(r#"{"name":"\ud800"}"#), Some((None, None)));
        assert_eq!(
            called(r#"{"name":5,"arguments":{}}"#),
            Some((None, Some("{}".to_owned())))
        );
        assert_eq!(called("{}"), Some((None, None)));
        assert_eq!(
            [called("null"), called(r#"{"name":"a","name":"b"}"#)],
            [None, None]
        );
    }

    #[test]
    fn escaped_and_plain_id_are_equal() {
        let id = |id: &str| {
            let raw: &RawValue = serde_json::from_str(id).unwrap();
            Id::parse(raw).map(|id| id.to_string())
        };
        assert_eq!(id(r#""a b""#).unwrap(), r#""a b""#);
        assert_eq!(
            [id(r#""\u0061\/é""#), id(r#""a/é""#)].map(Option::unwrap),
            [r#""a/é""#; 2]
        );
        assert_eq!(id(r#""\ud800""#), None);
    }

    #[test]
    fn messages_are_classified_by_id_and_method() {
        let Incoming::Request(request) =
            parse(br#" {"params":null,"method":"ping","jsonrpc":"2.0","id":-3} "#)
        else {
            panic!("a request")
        };
        assert_eq!(
            (
                request.id.unwrap().as_json(),
                &*request.method,
                request.params.is_none()
            ),
            ("-3", "ping", true)
        );
        assert!(matches!(
            parse(br#"{"jsonrpc":"2.0","method":"x"}"#),
            Incoming::Request(Request { id: None, .. })
        ));
        assert!(
            matches!(parse(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Incoming::Response(response) if response.result.is_some())
        );
        assert!(
            matches!(parse(br#"{"jsonrpc":"2.0","id":null,"error":{}}"#), Incoming::Response(response) if response.id.is_none())
        );
        assert!(matches!(parse(b"[]"), Incoming::Batch(members) if members.is_empty()));
    }
}
