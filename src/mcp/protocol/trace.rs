//! Trace context of a request (W3C Trace Context, level 1).

use std::fmt;

/// Longest `tracestate` that is passed on, in bytes; a longer one is left out (W3C Trace Context,
/// 3.3.1.5).
const MAX_TRACE_STATE_BYTES: usize = 512;

/// A `traceparent` of version 00: a trace, and the client's span in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceParent(Box<str>);

impl TraceParent {
    /// Parses `00-TRACE-PARENT-FLAGS` (section 3.2); a later version may have more fields. Returns
    /// `None` for anything else: the specification wants it ignored.
    pub fn parse(text: &str) -> Option<Self> {
        const PARTS: [usize; 4] = [2, 32, 16, 2];
        let mut parts = text.split('-');
        let found: Vec<&str> = parts.by_ref().take(PARTS.len()).collect();
        let is_hex = |part: &str| {
            part.bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let fits = found
            .iter()
            .zip(PARTS)
            .all(|(part, length)| part.len() == length && is_hex(part));
        let [version, trace, parent, _] = found.as_slice() else {
            return None;
        };
        let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
        let has_more = parts.next().is_some();
        let is_known = *version != "ff" && !(*version == "00" && has_more);
        (fits && is_known && !is_zero(trace) && !is_zero(parent))
            .then(|| Self(found.join("-").into()))
    }

    /// The trace ID: 16 bytes as lower-case hexadecimal.
    pub fn trace_id(&self) -> &str {
        self.0.get(3..35).unwrap_or_default()
    }

    /// The ID of the client's span: 8 bytes as lower-case hexadecimal.
    pub fn span_id(&self) -> &str {
        self.0.get(36..52).unwrap_or_default()
    }

    /// The flags. The lowest bit says that the client records its trace (section 3.2.2.5).
    pub fn flags(&self) -> u8 {
        self.0
            .get(53..55)
            .and_then(|flags| u8::from_str_radix(flags, 16).ok())
            .unwrap_or_default()
    }
}

/// A parent span, and the `tracestate` of the tracing systems that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The client's span.
    pub parent: TraceParent,
    /// `tracestate`, unparsed.
    pub state: Option<Box<str>>,
}

impl TraceContext {
    /// Parses both fields. A state that is too long or not printable ASCII is dropped (section
    /// 3.3). Without a parent, the state means nothing.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let parent = TraceParent::parse(parent)?;
        let fits = |state: &&str| {
            (1..=MAX_TRACE_STATE_BYTES).contains(&state.len())
                && state.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        };
        Some(Self {
            parent,
            state: state.filter(fits).map(Into::into),
        })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_traceparent_is_ignored() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceParent::parse(good).unwrap().to_string(), good);
        let later = good.replacen("00", "01", 1);
        assert_eq!(
            TraceParent::parse(&format!("{later}-more"))
                .unwrap()
                .to_string(),
            later
        );
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn traceparent_is_parsed_with_optional_state() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03";
        let context = TraceContext::parse(text, Some("a=1,b=2")).unwrap();
        let parent = &context.parent;
        let parts = (parent.trace_id(), parent.span_id(), parent.flags());
        assert_eq!(
            parts,
            ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", 3)
        );
        assert_eq!(context.state.as_deref(), Some("a=1,b=2"));
        let long = "x".repeat(MAX_TRACE_STATE_BYTES + 1);
        for odd in ["", "a=\u{e9}", "a\nb", &long] {
            assert_eq!(
                TraceContext::parse(text, Some(odd)).unwrap().state,
                None,
                "{odd}"
            );
        }
        assert_eq!(TraceContext::parse("", Some("a=1")), None);
    }
}
