//! Metrics of tool calls, in the text format of Prometheus (0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ledger::Ending;
use super::service::{AdmittedRequest, Service};
use crate::protocol::{Outcome, Request};

/// Upper bounds of the histogram buckets, in milliseconds.
const BUCKETS_MS: [u64; 14] = [
    1, 5, 10, 50, 100, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000,
];
/// Outcome of a call without permission.
const DENIED: &str = Ending::Denied.as_str();
/// Label of all unknown tools: names from clients must not fill the memory.
const UNKNOWN: &str = "unknown";

/// Counters, which never decrease.
#[derive(Debug, Default)]
pub struct Metrics {
    tools: Mutex<BTreeMap<String, Calls>>,
    /// Requests above the rate limit.
    pub rate_limited: AtomicU64,
    /// Requests refused for lack of capacity.
    pub turned_away: AtomicU64,
    /// Bytes of received messages.
    pub received_bytes: AtomicU64,
    /// Bytes of sent messages.
    pub sent_bytes: AtomicU64,
}

/// Counters of one tool.
#[derive(Debug, Default)]
struct Calls {
    /// Number of calls with each outcome.
    outcomes: BTreeMap<&'static str, u64>,
    durations: Durations,
}

/// Histogram of call durations of one tool.
#[derive(Clone, Copy, Debug, Default)]
struct Durations {
    /// Calls in each bucket; calls above the last bound are only in `count`.
    classes: [u64; BUCKETS_MS.len()],
    count: u64,
    sum: Duration,
}

impl Metrics {
    /// Counts a call of this tool with its outcome and duration.
    pub fn count(&self, tool: &str, outcome: &'static str, time: Duration) {
        let mut tools = self.lock();
        if !tools.contains_key(tool) {
            tools.insert(tool.to_owned(), Calls::default());
        }
        let Some(Calls {
            outcomes,
            durations,
        }) = tools.get_mut(tool)
        else {
            return;
        };
        *outcomes.entry(outcome).or_default() += 1;
        durations.count += 1;
        durations.sum += time;
        if let Some(class) = BUCKETS_MS
            .iter()
            .position(|most| time <= Duration::from_millis(*most))
        {
            durations.classes[class] += 1;
        }
    }

    fn denials(&self) -> u64 {
        self.lock()
            .values()
            .filter_map(|calls| calls.outcomes.get(DENIED))
            .sum()
    }

    /// Number of calls by outcome, ordered by name.
    pub fn outcomes(&self) -> BTreeMap<&'static str, u64> {
        let mut outcomes = BTreeMap::new();
        for (outcome, count) in self.lock().values().flat_map(|calls| &calls.outcomes) {
            *outcomes.entry(*outcome).or_default() += count;
        }
        outcomes
    }

    /// Adds the samples. `labels` (`name="value",` each) precede their own labels.
    pub fn samples(&self, labels: &str, families: &mut Families) {
        let tools = self.lock();
        let outcomes = tools
            .iter()
            .flat_map(|(tool, calls)| calls.outcomes.iter().map(move |counted| (tool, counted)));
        for (tool, (outcome, count)) in outcomes {
            families.calls.push(format!(
                "{{{labels}tool_name=\"{tool}\",outcome=\"{outcome}\"}} {count}"
            ));
        }
        for (tool, Calls { durations, .. }) in &*tools {
            let mut below = 0;
            for (most, count) in BUCKETS_MS.iter().zip(durations.classes) {
                below += count;
                let most = Duration::from_millis(*most).as_secs_f64();
                families.seconds.push(format!(
                    "_bucket{{{labels}tool_name=\"{tool}\",le=\"{most}\"}} {below}"
                ));
            }
            let (count, sum) = (durations.count, durations.sum.as_secs_f64());
            families.seconds.push(format!(
                "_bucket{{{labels}tool_name=\"{tool}\",le=\"+Inf\"}} {count}"
            ));
            families
                .seconds
                .push(format!("_sum{{{labels}tool_name=\"{tool}\"}} {sum}"));
            families
                .seconds
                .push(format!("_count{{{labels}tool_name=\"{tool}\"}} {count}"));
        }
        drop(tools);
        let own = labels.trim_end_matches(',');
        for (name, help, value) in [
            (
                "mcp_denials_total",
                "Calls that were denied.",
                self.denials(),
            ),
            (
                "mcp_rate_limited_total",
                "Requests over the rate limit.",
                self.rate_limited.load(Relaxed),
            ),
            (
                "mcp_turned_away_total",
                "Requests refused because a limit was reached.",
                self.turned_away.load(Relaxed),
            ),
            (
                "mcp_received_bytes_total",
                "Bytes of received messages.",
                self.received_bytes.load(Relaxed),
            ),
            (
                "mcp_sent_bytes_total",
                "Bytes of sent messages.",
                self.sent_bytes.load(Relaxed),
            ),
        ] {
            families.other(name, help, "counter", own, value);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Calls>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Samples of several tenants, grouped by metric name, as the format requires.
#[derive(Debug, Default)]
pub struct Families {
    calls: Vec<String>,
    seconds: Vec<String>,
    others: Vec<(&'static str, &'static str, &'static str, Vec<String>)>,
}

impl Families {
    /// Adds a sample of a metric without labels of its own.
    pub fn other(
        &mut self,
        name: &'static str,
        help: &'static str,
        kind: &'static str,
        labels: &str,
        value: u64,
    ) {
        let sample = if labels.is_empty() {
            format!(" {value}")
        } else {
            format!("{{{labels}}} {value}")
        };
        match self.others.iter_mut().find(|family| family.0 == name) {
            Some(family) => family.3.push(sample),
            None => self.others.push((name, help, kind, vec![sample])),
        }
    }

    /// Renders all samples as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, help: &str, kind: &str, samples: &[String]| {
            // A write to a `String` cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for sample in samples {
                let _ = writeln!(text, "{name}{sample}");
            }
        };
        family(
            "mcp_tool_calls_total",
            "Calls of tools, by outcome.",
            "counter",
            &self.calls,
        );
        family(
            "mcp_execution_seconds",
            "Duration of tool calls.",
            "histogram",
            &self.seconds,
        );
        for (name, help, kind, samples) in &self.others {
            family(name, help, kind, samples);
        }
        text
    }
}

/// A service whose tool calls are counted.
pub struct Metered {
    inner: Arc<dyn Service>,
    /// Names of existing tools.
    tools: Vec<String>,
    metrics: Arc<Metrics>,
}

impl Metered {
    /// Wraps a service, and counts calls of these tools.
    pub fn new(inner: Arc<dyn Service>, tools: Vec<String>, metrics: Arc<Metrics>) -> Self {
        Self {
            inner,
            tools,
            metrics,
        }
    }

    fn tool(&self, request: &Request<'_>) -> &str {
        let name = request
            .called
            .as_ref()
            .and_then(|called| called.name.as_deref());
        let known = name.and_then(|name| self.tools.iter().find(|tool| *tool == name));
        known.map_or(UNKNOWN, String::as_str)
    }
}

impl Service for Metered {
    fn inner(&self) -> Option<&dyn Service> {
        Some(&*self.inner)
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        if exchange.request.method != "tools/call" {
            return self.inner.serve(exchange);
        }
        let begun = Instant::now();
        let served = catch_unwind(AssertUnwindSafe(|| self.inner.serve(exchange)));
        let ending = match &served {
            Ok(outcome) => Ending::of(outcome.as_ref(), exchange.ticket.cancel.is_cancelled()),
            Err(_) => Ending::Panicked,
        };
        self.metrics.count(
            self.tool(exchange.request),
            ending.as_str(),
            begun.elapsed(),
        );
        served.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn samples_are_grouped_by_metric_name() {
        let (one, two) = (Metrics::default(), Metrics::default());
        one.count("read_file", "ok", Duration::from_millis(3));
        one.count("read_file", "ok", Duration::from_secs(301));
        two.count("grep", "failed", Duration::from_mins(5));
        two.rate_limited.store(7, Relaxed);
        let mut families = Families::default();
        one.samples("tenant=\"a\",", &mut families);
        two.samples("tenant=\"b\",", &mut families);
        let text = families.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "# HELP mcp_tool_calls_total Calls of tools, by outcome.",
                "# TYPE mcp_tool_calls_total counter",
                "mcp_tool_calls_total{tenant=\"a\",tool_name=\"read_file\",outcome=\"ok\"} 2",
                "mcp_tool_calls_total{tenant=\"b\",tool_name=\"grep\",outcome=\"failed\"} 1",
            ]
        );
        for line in [
            "mcp_execution_seconds_bucket{tenant=\"a\",tool_name=\"read_file\",le=\"0.001\"} 0",
            "mcp_execution_seconds_bucket{tenant=\"a\",tool_name=\"read_file\",le=\"0.005\"} 1",
            "mcp_execution_seconds_bucket{tenant=\"a\",tool_name=\"read_file\",le=\"300\"} 1",
            "mcp_execution_seconds_bucket{tenant=\"a\",tool_name=\"read_file\",le=\"+Inf\"} 2",
            "mcp_execution_seconds_sum{tenant=\"a\",tool_name=\"read_file\"} 301.003",
            "mcp_execution_seconds_bucket{tenant=\"b\",tool_name=\"grep\",le=\"300\"} 1",
            "mcp_rate_limited_total{tenant=\"a\"} 0",
            "mcp_rate_limited_total{tenant=\"b\"} 7",
        ] {
            assert!(lines.contains(&line), "{line} is not in\n{text}");
        }
        let heads = lines
            .iter()
            .filter(|line| line.starts_with("# TYPE mcp_rate_limited_total"))
            .count();
        assert_eq!(heads, 1);
    }
}
