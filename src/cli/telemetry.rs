//! Flags of telemetry, and of `replay health`.

use std::path::PathBuf;

use clap::Args;

use super::Range;

/// Default timeout of a health check, in seconds.
const HEALTH_TIMEOUT_SECS: u64 = 5;

/// Spans of requests.
#[derive(Clone, Debug, Args)]
pub struct TelemetryArgs {
    /// Export a span of each request to the OpenTelemetry collector at this URL
    ///
    /// The spans go to /v1/traces below it, over OTLP/HTTP as JSON. The server reads the variables
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`,
    /// `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and
    /// `OTEL_TRACES_SAMPLER`.
    #[arg(long, help_heading = super::help::SERVER, hide_short_help = true, value_name = "URL", value_hint = clap::ValueHint::Url)]
    pub otlp_endpoint: Option<String>,
}

/// `replay health`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: replay health http://127.0.0.1:8000")]
pub struct HealthArgs {
    /// URL of the server; the default path is /health
    #[arg(value_name = "URL", value_hint = clap::ValueHint::Url)]
    pub url: String,
    /// Trust the certificates of this PEM file instead of those of the system
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub cacert: Option<PathBuf>,
    /// Wait at most this many seconds for the answer
    #[arg(long, value_name = "SECS", default_value_t = HEALTH_TIMEOUT_SECS, value_parser = HEALTH_SECS.parser())]
    pub timeout_secs: u64,
}

/// At most one hour.
const HEALTH_SECS: Range = Range { min: 1, max: 3600 };
