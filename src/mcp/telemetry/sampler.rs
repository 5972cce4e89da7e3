//! Sampling of requests (OpenTelemetry specification, trace/sdk.md, "Sampling").

use crate::protocol::TraceContext;

/// Decides from what the client says of its trace, and from the trace's number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// A client that records, or does not record, its trace is followed.
    pub follows_parent: bool,
    /// Share of the other requests, from 0 (none) to 1 (all).
    pub ratio: f64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            follows_parent: true,
            ratio: 1.0,
        }
    }
}

impl Sampler {
    /// The names that `OTEL_TRACES_SAMPLER` may have.
    pub const NAMES: &'static str = "always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off and \
         parentbased_traceidratio";

    /// Reads a name, and the argument that those with a ratio have, which is 1 if it is not given.
    pub fn parse(name: &str, argument: Option<&str>) -> Option<Self> {
        let (follows_parent, kind) = match name.strip_prefix("parentbased_") {
            Some(kind) => (true, kind),
            None => (false, name),
        };
        let ratio = match kind {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => match argument {
                Some(text) => text
                    .trim()
                    .parse()
                    .ok()
                    .filter(|ratio| (0.0..=1.0).contains(ratio))?,
                None => 1.0,
            },
            _ => return None,
        };
        Some(Self {
            follows_parent,
            ratio,
        })
    }

    /// Returns true if a request of this trace has a span. The last 63 bits of a trace ID are as
    /// good as random, and all processes that decide by them decide alike.
    pub fn takes(self, context: Option<&TraceContext>, trace: &[u8; 16]) -> bool {
        if let Some(context) = context.filter(|_| self.follows_parent) {
            return context.parent.flags() & 1 == 1;
        }
        if self.ratio >= 1.0 {
            return true;
        }
        let mut last = [0; 8];
        last.copy_from_slice(&trace[8..]);
        let place = (u64::from_be_bytes(last) >> 1) as f64 / (1_u64 << 63) as f64;
        place < self.ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(flags: &str) -> TraceContext {
        TraceContext::parse(
            &format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}"),
            None,
        )
        .unwrap()
    }

    #[test]
    fn only_parent_based_sampler_follows_client() {
        let trace = [1; 16];
        for (name, recorded, unrecorded, root) in [
            ("always_on", true, true, true),
            ("always_off", false, false, false),
            ("parentbased_always_on", true, false, true),
            ("parentbased_always_off", true, false, false),
        ] {
            let sampler = Sampler::parse(name, Some("ignored")).unwrap();
            let taken = |context: Option<&TraceContext>| sampler.takes(context, &trace);
            let found = (
                taken(Some(&context("01"))),
                taken(Some(&context("00"))),
                taken(None),
            );
            assert_eq!(found, (recorded, unrecorded, root), "{name}");
        }
        assert_eq!(
            Sampler::parse("parentbased_always_on", None),
            Some(Sampler::default())
        );
    }

    #[test]
    fn ratio_sampler_uses_trace_id() {
        let half = Sampler::parse("traceidratio", Some("0.5")).unwrap();
        let of = |first: u8| {
            let mut trace = [0; 16];
            trace[8] = first;
            half.takes(Some(&context("00")), &trace)
        };
        assert_eq!([0, 127, 128, 255].map(of), [true, true, false, false]);
        assert_eq!(
            Sampler::parse("parentbased_traceidratio", None),
            Some(Sampler::default())
        );
        for bad in ["1.1", "-0.1", "NaN", "half"] {
            assert_eq!(Sampler::parse("traceidratio", Some(bad)), None, "{bad}");
        }
        for name in ["", "parentbased_", "xray", "jaeger_remote"] {
            assert_eq!(Sampler::parse(name, None), None, "{name}");
        }
    }
}
