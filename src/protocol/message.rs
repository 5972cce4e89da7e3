//! One line in: a request, a notification, a response, a batch, or the refusal that it earns.

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
    /// Accepts strings and integers, the only ids MCP allows.
    fn parse(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        if text.starts_with('"') {
            if text
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~') && byte != b'\\')
            {
                return Some(Self(text.into()));
            }
            // Written anew, so that two spellings of one string are one id.
            let id: String = serde_json::from_str(text).ok()?;
            return Some(Self(serde_json::to_string(&id).ok()?.into()));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        integer.then(|| Self(text.into()))
    }

    /// The id that is this string.
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

/// A message that asks for something: with an id it is a request, without one a notification.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Absent on a notification.
    pub id: Option<Id>,
    /// Such as `tools/call`.
    pub method: Cow<'a, str>,
    /// An object, not looked into yet.
    pub params: Option<&'a RawValue>,
    /// What a request for `tools/call` says in them; `None` for any other, and where that cannot be
    /// read.
    pub called: Option<Called<'a>>,
}

/// What a call of a tool says.
#[derive(Clone, Debug)]
pub struct Called<'a> {
    /// The name; `None` if there is none that is a string.
    pub name: Option<Cow<'a, str>>,
    /// Of any kind; `None` if there are none, and for `null`.
    pub arguments: Option<&'a RawValue>,
}

impl<'a> Called<'a> {
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

/// The string that this is, if it is one. It is borrowed where the text holds it as it stands.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    match json.strip_prefix('"')?.strip_suffix('"') {
        // Whoever made the value has seen that it is a string to its end.
        Some(inner) if memchr::memchr(b'\\', inner.as_bytes()).is_none() => {
            Some(Cow::Borrowed(inner))
        }
        _ => serde_json::from_str(json).ok().map(Cow::Owned),
    }
}

/// An answer to a request that went the other way.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// Of the request, if it can be read.
    pub id: Option<Id>,
    /// What came of it.
    pub result: Option<&'a RawValue>,
    /// Why nothing came of it.
    pub error: Option<&'a RawValue>,
}

/// Why a message cannot be served, with the id when there is a usable one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `None` is written as `null`.
    pub id: Option<Id>,
    /// Parse error or invalid request.
    pub code: Code,
    /// What was got and what is allowed.
    pub message: String,
}

/// What one line (or one member of a batch) turned out to be.
#[derive(Clone, Debug)]
pub enum Incoming<'a> {
    Request(Request<'a>),
    /// An answer to a request of the server's own.
    Response(Response<'a>),
    /// An array of messages, each still to be parsed.
    Batch(Vec<&'a RawValue>),
    /// To be answered with an error.
    Refused(Refusal),
}

impl Incoming<'_> {
    /// How many messages came: a batch is as many as it has members, and one without members is
    /// one.
    pub fn count(&self) -> usize {
        match self {
            Self::Batch(members) => members.len().max(1),
            Self::Request(_) | Self::Response(_) | Self::Refused(_) => 1,
        }
    }

    /// The id that an error about it names: that of a request.
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

/// Keeps `null` apart from a missing member, which `Option` alone would not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one line. Never fails: what cannot be served is a [`Refusal`].
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
    // A wrong shape is noticed before the rest of the line is read, and the rest may not be JSON at
    // all.
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
        .and_then(Called::of);
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

/// At most forty characters of a client's own words, so that an error stays short.
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
    fn every_malformed_line_gets_its_code_and_id() {
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
    fn what_is_called_is_borrowed_unless_it_is_escaped() {
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
    fn two_spellings_of_a_string_are_one_id() {
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
    fn requests_notifications_and_responses_are_told_apart() {
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
