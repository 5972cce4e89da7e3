//! Where a request stands in a trace of its client's (W3C Trace Context, level 1).

use std::fmt;

/// A `traceparent` of version 00: a trace and the span in it that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceParent(Box<str>);

impl TraceParent {
    /// Reads `00-TRACE-PARENT-FLAGS` (section 3.2); a later version may have more behind it. `None` if it is anything else,
    /// which the specification wants to be ignored.
    pub fn parse(text: &str) -> Option<Self> {
        const PARTS: [usize; 4] = [2, 32, 16, 2];
        let mut parts = text.split('-');
        let found: Vec<&str> = parts.by_ref().take(PARTS.len()).collect();
        let is_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let fits = found.iter().zip(PARTS).all(|(part, length)| part.len() == length && is_hex(part));
        let [version, trace, parent, _] = found.as_slice() else { return None };
        let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
        let has_more = parts.next().is_some();
        let is_known = *version != "ff" && !(*version == "00" && has_more);
        (fits && is_known && !is_zero(trace) && !is_zero(parent)).then(|| Self(found.join("-").into()))
    }
}

impl TraceParent {
    /// The trace, 32 hexadecimal digits.
    pub fn trace_id(&self) -> &str {
        &self.0[3..35]
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
    fn only_what_the_specification_has_is_a_parent() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceParent::parse(good).unwrap().to_string(), good);
        let later = good.replacen("00", "01", 1);
        assert_eq!(TraceParent::parse(&format!("{later}-more")).unwrap().to_string(), later);
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
}
