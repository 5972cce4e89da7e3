//! Headers of a request.

use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};

use crate::protocol::Mirrored;

/// `Mcp-Session-Id` (2025-03-26, basic/transports.mdx).
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Returns the text of a header that occurs once. A repeated or non-text header is an empty string,
/// which matches nothing.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(if values.next().is_some() {
        ""
    } else {
        first.to_str().unwrap_or_default()
    })
}

pub(super) fn mirrored(headers: &HeaderMap) -> Mirrored<'_> {
    Mirrored {
        version: single(headers, &PROTOCOL_VERSION),
        method: single(headers, &METHOD),
        name: single(headers, &NAME),
    }
}

/// Returns true if `Content-Type` is JSON. Foreign pages can send other types without a preflight
/// request.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = single(headers, &CONTENT_TYPE).unwrap_or_default();
    kind.split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .eq_ignore_ascii_case("application/json")
}

/// Returns the content coding of the body, if any (RFC 9110, 8.4).
pub(super) fn coding(headers: &HeaderMap) -> Option<String> {
    let codings = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .map(|value| value.to_str().unwrap_or("?"));
    let mut codings = codings.flat_map(|value| value.split(',')).map(str::trim);
    codings
        .find(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"))
        .map(str::to_owned)
}

pub(super) fn accept(headers: &HeaderMap) -> Accept {
    Accept::of(
        headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok()),
    )
}

/// Media types that the client accepts (RFC 9110, 12.5.1): one JSON text, or an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accept {
    /// `application/json`; also without an `Accept` header.
    pub json: bool,
    /// `text/event-stream`. Must be listed by name: `*/*` means JSON.
    pub events: bool,
}

impl Accept {
    /// Parses the values of all `Accept` headers.
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut said = false;
        let mut accept = Self {
            json: false,
            events: false,
        };
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            if kind.is_empty() {
                continue;
            }
            said = true;
            let refused = parts
                .filter_map(|part| part.strip_prefix("q="))
                .any(|weight| weight.parse() == Ok(0.0));
            match &*kind {
                _ if refused => {}
                "*/*" | "application/*" | "application/json" => accept.json = true,
                "text/event-stream" => accept.events = true,
                _ => {}
            }
        }
        if said {
            accept
        } else {
            Self {
                json: true,
                events: false,
            }
        }
    }

    /// Returns true if the client accepts neither.
    pub(super) fn is_nothing(self) -> bool {
        !self.json && !self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_is_json_unless_events_are_accepted() {
        let cases: [(&[&str], bool, bool); 9] = [
            (&[], true, false),
            (&[""], true, false),
            (&["*/*"], true, false),
            (&["application/json"], true, false),
            (&["application/json, text/event-stream"], true, true),
            (&["application/json", "text/event-stream;q=0.5"], true, true),
            (&["text/event-stream"], false, true),
            (&["text/html, application/json;q=0"], false, false),
            (&["text/html,application/xhtml+xml,*/*;q=0.8"], true, false),
        ];
        for (values, json, events) in cases {
            assert_eq!(
                Accept::of(values.iter().copied()),
                Accept { json, events },
                "{values:?}"
            );
        }
        assert!(Accept::of(["image/png"].into_iter()).is_nothing());
    }
}
