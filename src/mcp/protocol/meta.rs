//! `params._meta`: the progress token, and the fields of stateless requests.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{Id, shorten};
use super::trace::TraceContext;

/// Key of the server's name in every stateless result (2026-07-28, basic/index.mdx).
pub const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The members that this server reads; others are allowed and ignored.
#[derive(Debug, Default, Deserialize)]
pub struct Meta<'a> {
    /// Set by a client that wants progress: a string or an integer, like an id.
    #[serde(rename = "progressToken", default)]
    pub progress_token: Option<Id>,
    /// Present on every stateless request, and on no other.
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", borrow, default)]
    pub protocol_version: Option<&'a RawValue>,
    /// Required beside the version.
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", borrow, default)]
    pub client_capabilities: Option<&'a RawValue>,
    /// The client's position in a trace (2026-07-28, as in W3C Trace Context).
    #[serde(borrow, default)]
    pub traceparent: Option<&'a RawValue>,
    /// The `tracestate` of the tracing systems.
    #[serde(borrow, default)]
    pub tracestate: Option<&'a RawValue>,
    /// The stateless client's name and version.
    #[serde(rename = "io.modelcontextprotocol/clientInfo", borrow, default)]
    pub client_info: Option<&'a RawValue>,
    /// Minimum severity of log messages for this request (2026-07-28).
    #[serde(rename = "io.modelcontextprotocol/logLevel", borrow, default)]
    pub log_level: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Holder<'a> {
    #[serde(rename = "_meta", borrow, default)]
    meta: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    /// Returns the trace context. A malformed one is ignored, as W3C Trace Context requires.
    pub fn trace(&self) -> Option<TraceContext> {
        let text = |raw: Option<&RawValue>| serde_json::from_str::<String>(raw?.get()).ok();
        TraceContext::parse(&text(self.traceparent)?, text(self.tracestate).as_deref())
    }

    /// Parses `_meta` out of `params`. Fails, with the reason, if it is present and violates the
    /// specification.
    pub fn of(params: Option<&'a RawValue>) -> Result<Self, String> {
        let Some(params) = params else {
            return Ok(Self::default());
        };
        let text = params.get();
        // Most handshake requests have no `_meta`; one search is cheaper than a parse.
        if memchr::memmem::find(text.as_bytes(), b"\"_meta\"").is_none() {
            return Ok(Self::default());
        }
        let twice = |_| "`params` has `_meta` twice; it may be there once".to_owned();
        let Some(meta) = serde_json::from_str::<Holder<'a>>(text)
            .map_err(twice)?
            .meta
        else {
            return Ok(Self::default());
        };
        // serde would accept an array as the members in their order.
        if !meta.get().starts_with('{') {
            return Err(format!(
                "`_meta` is {}; it must be an object",
                shorten(meta.get())
            ));
        }
        serde_json::from_str(meta.get()).map_err(|_| fault(meta))
    }
}

/// Describes the fault of a malformed `_meta`: a wrong progress token, or a repeated member. All
/// other members may have any type.
fn fault(meta: &RawValue) -> String {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(meta.get()).unwrap_or_default();
    match members.get("progressToken") {
        Some(token) if serde_json::from_str::<Id>(token.get()).is_err() => {
            format!(
                "`progressToken` in `_meta` is {}; it must be a string or an integer",
                shorten(token.get())
            )
        }
        _ => "`_meta` has a member twice; each may be there once".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(params: &str) -> Result<bool, String> {
        let raw: &RawValue = serde_json::from_str(params).unwrap();
        Meta::of(Some(raw)).map(|meta| meta.protocol_version.is_some())
    }

    #[test]
    fn meta_other_than_object_is_refused() {
        let key = "io.modelcontextprotocol/protocolVersion";
        assert_eq!(
            of(&format!(r#"{{"_meta":{{"{key}":"2026-07-28"}}}}"#)),
            Ok(true)
        );
        assert_eq!(of(r#"{"_meta":null}"#), Ok(false));
        for odd in ["[1,\"2026-07-28\",{}]", "5", "\"x\""] {
            let message = format!("`_meta` is {odd}; it must be an object");
            assert_eq!(of(&format!(r#"{{"_meta":{odd}}}"#)), Err(message), "{odd}");
        }
    }

    #[test]
    fn malformed_meta_is_refused_with_reason() {
        let said = |params: &str| of(params).unwrap_err();
        let token = "`progressToken` in `_meta` is {}; it must be a string or an integer";
        assert_eq!(said(r#"{"_meta":{"progressToken":{}}}"#), token);
        let twice = "`_meta` has a member twice; each may be there once";
        assert_eq!(
            said(r#"{"_meta":{"traceparent":1,"traceparent":2}}"#),
            twice
        );
        assert_eq!(
            said(r#"{"_meta":{},"_meta":{}}"#),
            "`params` has `_meta` twice; it may be there once"
        );
    }
}
