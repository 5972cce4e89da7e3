//! The JSON encoding of an `ExportTraceServiceRequest` (OTLP 1.x, "JSON Protobuf Encoding":
//! identifiers in hexadecimal, 64-bit numbers as strings, enumerations as numbers).

use std::borrow::Cow;

use replay_base::PROGRAM_NAME;
use serde::{Deserialize, Serialize};

use super::span::Span;

/// `SPAN_KIND_SERVER`.
const KIND_SERVER: u8 = 2;
/// `STATUS_CODE_ERROR`.
const STATUS_ERROR: u8 = 2;
/// Bits 8 and 9 of `flags`: it is known whether the parent is in another process, and it is.
const PARENT_IS_REMOTE: u32 = 0x300;
/// Bit 8 alone: it is known that there is none in another process.
const PARENT_IS_KNOWN: u32 = 0x100;
/// A span that is exported was recorded (W3C Trace Context, 3.2.2.5).
const SAMPLED: u32 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Resource<'a>,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct Resource<'a> {
    attributes: Vec<Attribute<'a>>,
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: Scope,
    spans: Vec<Encoded<'a>>,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Encoded<'a> {
    trace_id: &'a str,
    span_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<&'a str>,
    flags: u32,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute<'a>>,
    status: Status<'a>,
}

#[derive(Serialize)]
struct Attribute<'a> {
    key: &'a str,
    value: Text<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Text<'a> {
    string_value: &'a str,
}

#[derive(Default, Serialize)]
struct Status<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
}

/// Returns the body of an export: the spans, and the attributes of the process.
pub(super) fn encode(resource: &[(Cow<'static, str>, String)], spans: &[Span]) -> Vec<u8> {
    let attributes = resource
        .iter()
        .map(|(key, value)| attribute(key, value))
        .collect();
    let scope = Scope {
        name: PROGRAM_NAME,
        version: env!("CARGO_PKG_VERSION"),
    };
    let scope_spans = [ScopeSpans {
        scope,
        spans: spans.iter().map(encoded).collect(),
    }];
    let request = Request {
        resource_spans: [ResourceSpans {
            resource: Resource { attributes },
            scope_spans,
        }],
    };
    // Only texts and numbers: nothing of it can fail.
    serde_json::to_vec(&request).unwrap_or_default()
}

fn attribute<'a>(key: &'a str, value: &'a str) -> Attribute<'a> {
    Attribute {
        key,
        value: Text {
            string_value: value,
        },
    }
}

fn encoded(span: &Span) -> Encoded<'_> {
    let context = span.context.as_ref();
    let failure = span.failure.as_ref();
    let mut attributes: Vec<_> = span
        .attributes
        .iter()
        .map(|(key, value)| attribute(key, value))
        .collect();
    attributes.extend(failure.map(|failure| attribute("error.type", &failure.kind)));
    Encoded {
        trace_id: &span.trace,
        span_id: &span.id,
        trace_state: context.and_then(|context| context.state.as_deref()),
        parent_span_id: context.map(|context| context.parent.span_id()),
        flags: SAMPLED
            | if context.is_some() {
                PARENT_IS_REMOTE
            } else {
                PARENT_IS_KNOWN
            },
        name: &span.name,
        kind: KIND_SERVER,
        start_time_unix_nano: span.begun_ns.to_string(),
        end_time_unix_nano: span.ended_ns.to_string(),
        attributes,
        status: failure
            .map(|failure| Status {
                code: Some(STATUS_ERROR),
                message: &failure.message,
            })
            .unwrap_or_default(),
    }
}

/// Returns the number of spans that a collector rejected although it accepted the request, and its
/// reason.
pub(super) fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Response {
        partial_success: Partial,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Partial {
        rejected_spans: serde_json::Value,
        #[serde(default)]
        error_message: String,
    }
    let Partial {
        rejected_spans,
        error_message,
    } = serde_json::from_slice::<Response>(answer)
        .ok()?
        .partial_success;
    let count = rejected_spans
        .as_u64()
        .or_else(|| rejected_spans.as_str()?.parse().ok())?;
    (count > 0).then_some((count, error_message))
}
