//! Export of spans: the flag, and the variables of every OpenTelemetry SDK (OpenTelemetry
//! specification, configuration/sdk-environment-variables.md and protocol/exporter.md).
//!
//! A wrong flag is an error. A wrong variable only causes a warning, since it may be meant for
//! another program. The export is then disabled, or the default is used.
#![expect(
    clippy::disallowed_methods,
    reason = "start-up reads the environment and the operator's own certificates"
)]

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use percent_encoding::percent_decode_str;
use replay_base::PROGRAM_NAME;
use replay_mcp::telemetry::{Sampler, Settings};
use replay_network::http_client::{HttpTarget, Trust};
use replay_network::upstream_proxy::UpstreamProxy;
use rustix::rand::{GetRandomFlags, getrandom};

use super::reasons::reasons;
use crate::cli::TelemetryArgs;

/// Default timeout of an export, in milliseconds, unless `OTEL_EXPORTER_OTLP_TIMEOUT` is set.
const EXPORT_TIMEOUT_MS: u64 = 10_000;

/// Certificate bundles of OpenSSL and the distributions.
const AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Root certificates of the system as PEM. `SSL_CERT_FILE` takes precedence. Empty if there are
/// none.
pub(super) fn authorities() -> Vec<u8> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let mut places = named.into_iter().chain(AUTHORITIES.map(PathBuf::from));
    places
        .find_map(|place| std::fs::read(place).ok())
        .unwrap_or_default()
}

/// Certificates to trust: those of this file, or the system's. `trusting` is the flag that names a
/// file, for error messages.
pub(crate) fn trust(file: Option<&Path>, trusting: &'static str) -> Result<Trust> {
    let trusted = match file {
        Some(path) => {
            let shown = path.display();
            let bytes = std::fs::read(path).with_context(|| format!("`{shown}` cannot be read"))?;
            if memchr::memmem::find(&bytes, b"-----BEGIN CERTIFICATE-----").is_none() {
                bail!("`{shown}` has no `BEGIN CERTIFICATE`");
            }
            bytes
        }
        None => authorities(),
    };
    Trust::of(&trusted, trusting)
        .map_err(anyhow::Error::msg)
        .context("TLS cannot be set up")
}

/// Settings of the exporter; `None` if it is disabled.
pub(crate) fn telemetry(
    args: &TelemetryArgs,
    proxy: Option<&Arc<UpstreamProxy>>,
) -> Result<Option<Settings>> {
    let settings = resolve(args.otlp_endpoint.as_deref(), &|name| {
        std::env::var(name).ok()
    })?;
    Ok(settings.map(|settings| Settings {
        proxy: proxy.cloned(),
        ..settings
    }))
}

/// Environment variables, where an empty value means unset.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        self.0(name)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    }

    /// Reads `OTEL_EXPORTER_OTLP_TRACES_WORD`, or else `OTEL_EXPORTER_OTLP_WORD`.
    fn exporter(&self, word: &str) -> Option<String> {
        let own = self.get(&format!("OTEL_EXPORTER_OTLP_TRACES_{word}"));
        own.or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{word}")))
    }

    /// URL of the collector from the variables, if any.
    fn target(&self) -> Result<Option<HttpTarget>> {
        const OWN: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        const BASE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        if let Some(url) = self.get(OWN) {
            return HttpTarget::parse(&url).context(OWN).map(Some);
        }
        let Some(url) = self.get(BASE) else {
            return Ok(None);
        };
        HttpTarget::parse(&url)
            .context(BASE)
            .map(|target| Some(target.below("v1/traces")))
    }
}

fn resolve(
    flag: Option<&str>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Settings>> {
    let variables = Variables(variable);
    let is_on = |name: &str, value: &str| {
        variables
            .get(name)
            .is_some_and(|set| set.eq_ignore_ascii_case(value))
    };
    let target = match flag {
        Some(url) => Some(
            HttpTarget::parse(url)
                .context("--otlp-endpoint")?
                .below("v1/traces"),
        ),
        None if is_on("OTEL_SDK_DISABLED", "true") || is_on("OTEL_TRACES_EXPORTER", "none") => None,
        None => match variables.target() {
            Ok(target) => target,
            Err(error) => {
                tracing::warn!("no spans are exported: {}", reasons(&error));
                None
            }
        },
    };
    let Some(target) = target else {
        return Ok(None);
    };
    if flag.is_none()
        && variables
            .exporter("PROTOCOL")
            .is_some_and(|protocol| protocol == "grpc")
    {
        tracing::warn!(
            "no spans are exported: OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`; only OTLP/HTTP is \
             supported"
        );
        return Ok(None);
    }
    let own = variables.exporter("CERTIFICATE");
    let trusted = || {
        trust(
            own.as_deref().map(Path::new),
            "OTEL_EXPORTER_OTLP_CERTIFICATE=FILE",
        )
    };
    let trust = target.is_encrypted.then(trusted).transpose()?;
    let timeout = variables
        .exporter("TIMEOUT")
        .and_then(|text| text.parse().ok())
        .filter(|millis| *millis > 0);
    Ok(Some(Settings {
        target,
        trust,
        proxy: None,
        headers: headers(&variables.exporter("HEADERS").unwrap_or_default())
            .context("OTEL_EXPORTER_OTLP_HEADERS")?,
        timeout: Duration::from_millis(timeout.unwrap_or(EXPORT_TIMEOUT_MS)),
        sampler: sampler(&variables),
        resource: resource(&variables),
    }))
}

fn sampler(variables: &Variables<'_>) -> Sampler {
    let Some(name) = variables.get("OTEL_TRACES_SAMPLER") else {
        return Sampler::default();
    };
    Sampler::parse(&name, variables.get("OTEL_TRACES_SAMPLER_ARG").as_deref()).unwrap_or_else(|| {
        let known = Sampler::NAMES;
        tracing::warn!(
            "OTEL_TRACES_SAMPLER is `{name}`, which is unknown and ignored; use {known}, with a \
             ratio from 0 to 1"
        );
        Sampler::default()
    })
}

/// Parses a list in the syntax of W3C Baggage: `name=value`, separated by commas, with
/// percent-encoded values. Properties are ignored.
fn members(text: &str) -> impl Iterator<Item = (&str, String)> {
    text.split(',').filter_map(|member| {
        let (name, value) = member.split(';').next()?.split_once('=')?;
        Some((
            name.trim(),
            percent_decode_str(value.trim())
                .decode_utf8_lossy()
                .into_owned(),
        ))
        .filter(|(name, _)| !name.is_empty())
    })
}

/// Parses headers into lines of an HTTP request. Error messages do not show values, which are
/// secrets.
fn headers(text: &str) -> Result<String> {
    const OURS: [&str; 5] = [
        "host",
        "connection",
        "content-length",
        "content-type",
        "transfer-encoding",
    ];
    let mut lines = String::new();
    for (name, value) in members(text) {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if !name.bytes().all(is_token) || OURS.contains(&&*name.to_ascii_lowercase()) {
            bail!(
                "`{}` cannot be used as a header of an export",
                name.escape_debug()
            );
        }
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            bail!("the value of `{name}` must be printable ASCII");
        }
        let _ = write!(lines, "{name}: {value}\r\n");
    }
    Ok(lines)
}

/// Resource attributes of this process. `service.instance.id` is a new UUID (version 4) at each
/// start.
fn resource(variables: &Variables<'_>) -> Vec<(Cow<'static, str>, String)> {
    let mut resource: Vec<(Cow<'static, str>, String)> = Vec::new();
    let mut set = |key: Cow<'static, str>, value: String| match resource
        .iter_mut()
        .find(|(known, _)| *known == key)
    {
        Some((_, old)) => *old = value,
        None => resource.push((key, value)),
    };
    set("service.name".into(), PROGRAM_NAME.to_owned());
    set(
        "service.version".into(),
        env!("CARGO_PKG_VERSION").to_owned(),
    );
    let mut random = [0; 16];
    if getrandom(&mut random, GetRandomFlags::empty()) == Ok(random.len()) {
        let bits = u128::from_be_bytes(random) & !(0xF000 << 64 | 0xC000 << 48)
            | 0x4000 << 64
            | 0x8000 << 48;
        let digits = format!("{bits:032x}");
        let parts = [
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..],
        ];
        set("service.instance.id".into(), parts.join("-"));
    }
    for (key, value) in members(
        &variables
            .get("OTEL_RESOURCE_ATTRIBUTES")
            .unwrap_or_default(),
    ) {
        set(key.to_owned().into(), value);
    }
    if let Some(name) = variables.get("OTEL_SERVICE_NAME") {
        set("service.name".into(), name);
    }
    resource
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn settings(flag: Option<&str>, set: &[(&str, &str)]) -> Result<Option<Settings>> {
        let variable = |name: &str| {
            set.iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        resolve(flag, &variable)
    }

    fn url(flag: Option<&str>, set: &[(&str, &str)]) -> Option<String> {
        settings(flag, set)
            .unwrap()
            .map(|found| format!("{}{}", found.target.authority(), found.target.path))
    }

    #[test]
    fn flag_takes_precedence_over_variables() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://base:4318/x");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://own:4318/y");
        let found = |text: &str| Some(text.to_owned());
        assert_eq!(url(None, &[]), None);
        assert_eq!(url(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
        assert_eq!(url(None, &[base]), found("base:4318/x/v1/traces"));
        assert_eq!(url(None, &[base, own]), found("own:4318/y"));
        assert_eq!(
            url(Some("http://flag"), &[base, own]),
            found("flag/v1/traces")
        );
        for off in [
            ("OTEL_SDK_DISABLED", "TRUE"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317"),
        ] {
            assert_eq!(url(None, &[base, off]), None, "{off:?}");
            assert_eq!(
                url(Some("http://flag"), &[base, off]),
                found("flag/v1/traces"),
                "{off:?}"
            );
        }
        let wrong = format!("{:#}", settings(Some("collector:4317"), &[]).unwrap_err());
        assert_eq!(
            wrong,
            "--otlp-endpoint: `collector:4317` must begin with http:// or https://"
        );
    }

    #[test]
    fn headers_and_attributes_parse_as_lists() {
        let set = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://base"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "api-key = a%20b%2Cc;p=1,x=100%",
            ),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.name=other,deployment.environment.name=a%3Db,service.instance.id=7",
            ),
            ("OTEL_TRACES_SAMPLER", "always_off"),
        ];
        let found = settings(None, &set).unwrap().unwrap();
        assert_eq!(found.headers, "api-key: a b,c\r\nx: 100%\r\n");
        assert_eq!(found.timeout, Duration::from_millis(250));
        assert_eq!(
            found.sampler,
            Sampler {
                follows_parent: false,
                ratio: 0.0
            }
        );
        let pair = |key: &str, value: &str| (Cow::Owned(key.to_owned()), value.to_owned());
        let version = env!("CARGO_PKG_VERSION");
        let expected = [
            pair("service.name", "other"),
            pair("service.version", version),
            pair("service.instance.id", "7"),
            pair("deployment.environment.name", "a=b"),
        ];
        assert_eq!(found.resource, expected);
        let named = [
            &set[..],
            &[
                ("OTEL_SERVICE_NAME", "mine"),
                ("OTEL_TRACES_SAMPLER", "odd"),
            ],
        ]
        .concat();
        assert_eq!(
            settings(None, &named).unwrap().unwrap().resource[0],
            pair("service.name", "mine")
        );
    }

    #[test]
    fn instance_id_is_uuid_version_4() {
        let found = settings(Some("http://flag"), &[]).unwrap().unwrap();
        let (key, id) = &found.resource[2];
        assert_eq!(key, "service.instance.id");
        let dashes: Vec<usize> = id.match_indices('-').map(|(at, _)| at).collect();
        assert_eq!((id.len(), dashes), (36, vec![8, 13, 18, 23]));
        assert!(
            id.as_bytes()[14] == b'4' && b"89ab".contains(&id.as_bytes()[19]),
            "{id}"
        );
    }

    #[test]
    fn header_injection_is_refused() {
        for (text, reason) in [
            ("a=b%0D%0Ac: d", "the value of `a` must be printable ASCII"),
            ("a b=c", "`a b` cannot be used as a header of an export"),
            (
                "Content-Length=1",
                "`Content-Length` cannot be used as a header of an export",
            ),
        ] {
            let set = [("OTEL_EXPORTER_OTLP_HEADERS", text)];
            let said = format!("{:#}", settings(Some("http://flag"), &set).unwrap_err());
            assert_eq!(said, format!("OTEL_EXPORTER_OTLP_HEADERS: {reason}"));
        }
    }
}
