//! Configuration of an HTTP server: address, certificate, tokens.
#![expect(
    clippy::disallowed_methods,
    reason = "start-up reads the operator's own files and the environment"
)]

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueEnum as _;
use replay_base::limits::MAX_HTTP_TENANTS;
use replay_mcp::protocol::fault;
use replay_mcp::transport::http::{Encryption, Settings, TenantLimits, server_config};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::ServerConfig;

use super::client_limits;
use super::profile::warn_of_old_keys;
use crate::cli::{
    BURST, CALLS, CONNECTIONS, DeclaredCredential, HttpArgs, Options, RATE, ToolsetArg,
    warn_of_http_names,
};
use crate::secrets::reading;

/// Largest file of tokens, in bytes.
const MAX_TOKEN_FILE_BYTES: u64 = 1024 * 1024;
/// Largest file of a certificate or its key, in bytes.
const MAX_TLS_FILE_BYTES: u64 = 1024 * 1024;

/// Environment variable with the token, if there is no token file.
const TOKEN_VARIABLE: &str = "REPLAY_TOKEN";
/// Minimum length in bytes of a token in [`TOKEN_VARIABLE`].
const MIN_TOKEN_BYTES: usize = 16;
/// Maximum length of a token name in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Names of clients without a token, whose calls other clients must not see.
const RESERVED: [&str; 2] = ["anyone", "stdio"];

/// Fully resolved configuration of an HTTP server.
#[derive(Debug)]
pub(crate) struct HttpConfig {
    /// Address, encryption and limits of the HTTP listener.
    pub settings: Settings,
    /// Accepted tokens; if empty, every client is accepted.
    pub tokens: Vec<TokenEntry>,
    /// Default limits of a tenant.
    pub tenant: TenantLimits,
    /// Socket of the service manager for readiness messages (`NOTIFY_SOCKET`, `sd_notify(3)`).
    pub manager: Option<OsString>,
}

/// A line of the token file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// Name of the token's holder.
    pub name: String,
    /// SHA-256 of the token in hexadecimal.
    pub sha256: String,
    /// Creation time in RFC 3339, UTC, with whole seconds; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// Own directories instead of the server's, absolute and in the syntax of `--allow`.
    #[serde(
        default,
        deserialize_with = "non_null_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub allow: Option<Vec<PathBuf>>,
    /// Protected paths that the agent may change, absolute and in the syntax of `--unprotect`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unprotect: Vec<PathBuf>,
    /// Own hosts instead of the server's, in the syntax of `--allow-host`.
    #[serde(
        default,
        alias = "allow_net",
        deserialize_with = "non_null_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub allow_host: Option<Vec<String>>,
    /// Own sets of hosts instead of the server's, in the syntax of `--allow-hosts`.
    #[serde(
        default,
        deserialize_with = "non_null_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub allow_hosts: Option<Vec<String>>,
    /// Denied hosts in addition to the server's, in the syntax of `--deny-host`.
    #[serde(default, alias = "deny_net", skip_serializing_if = "Vec::is_empty")]
    pub deny_host: Vec<String>,
    /// Own published ports instead of the server's, in the syntax of `--publish`.
    #[serde(
        default,
        deserialize_with = "non_null_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub publish: Option<Vec<String>>,
    /// Own credentials instead of those of `--credential` and `--for`.
    #[serde(
        default,
        deserialize_with = "non_null_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub credentials: Option<Vec<DeclaredCredential>>,
    /// Absolute path of the commands' cache, as with `--cache`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<PathBuf>,
    /// Own sets of tools, as with `--tools`.
    #[serde(
        default,
        deserialize_with = "non_null_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub tools: Option<Vec<String>>,
    /// `true` if this client sees the activity of all tokens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
    /// Own limit instead of `--rate-limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<u64>,
    /// Own limit instead of `--rate-burst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_burst: Option<u64>,
    /// Own limit instead of `--max-calls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// Own limit instead of `--max-sessions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<u64>,
    /// Maximum number of connections, within `--max-connections`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<u64>,
}

/// Parses a list and rejects `null`, since a missing list means the server's own.
fn non_null_list<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    list: D,
) -> Result<Option<Vec<T>>, D::Error> {
    Vec::deserialize(list).map(Some)
}

impl TokenEntry {
    /// Creates the entry of this token.
    pub fn of(name: &str, token: &str) -> Self {
        use std::fmt::Write as _;
        let mut sha256 = String::with_capacity(64);
        for byte in Sha256::digest(token.as_bytes()) {
            let _ = write!(sha256, "{byte:02x}");
        }
        Self {
            name: name.to_owned(),
            sha256,
            ..Self::default()
        }
    }

    /// Returns true if the line replaces the server's hosts.
    pub(super) fn has_own_hosts(&self) -> bool {
        self.allow_host.is_some() || self.allow_hosts.is_some()
    }

    /// Decodes the token's SHA-256; `None` if it is malformed.
    pub fn digest(&self) -> Option<[u8; 32]> {
        let mut digest = [0; 32];
        if self.sha256.len() != 64 || !self.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (index, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&self.sha256[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(digest)
    }

    /// Returns true if a server started with this line can keep serving `other` without a restart.
    /// They may differ in the token, and `other` may have lost the operator's view.
    pub fn is_served_as(&self, other: &Self) -> bool {
        let operator = self.operator && other.operator;
        Self {
            sha256: other.sha256.clone(),
            made: other.made.clone(),
            operator,
            ..self.clone()
        } == *other
    }

    /// Limits of this token, with defaults for missing ones.
    pub fn limits(&self, usual: TenantLimits) -> TenantLimits {
        let count = |own: Option<u64>, usual: usize| own.map_or(usual, |own| own as usize);
        TenantLimits {
            per_minute: self.rate_limit.unwrap_or(usual.per_minute),
            burst: self.rate_burst.unwrap_or(usual.burst),
            max_calls: count(self.max_calls, usual.max_calls),
            max_sessions: count(self.max_sessions, usual.max_sessions),
            session_idle: usual.session_idle,
            max_connections: count(self.max_connections, usual.max_connections),
        }
    }

    /// Checks the entry; the error describes the first fault.
    pub fn check(&self) -> Result<()> {
        let named = self
            .name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
        if !named || self.name.is_empty() || self.name.len() > MAX_NAME_BYTES {
            bail!(
                "the name `{}` must be 1 to {MAX_NAME_BYTES} letters, digits, `_`, `.` and `-`",
                self.name
            );
        }
        if RESERVED.contains(&&*self.name) {
            bail!(
                "the name `{}` is reserved for clients without a token; choose another",
                self.name
            );
        }
        if self.digest().is_none() {
            bail!("`sha256` of `{}` must be 64 hexadecimal digits", self.name);
        }
        if let Some(made) = self
            .made
            .as_ref()
            .filter(|made| humantime::parse_rfc3339(made).is_err())
        {
            bail!(
                "`made` of `{}` is `{made}`; it must be a time such as 2026-07-28T12:00:00Z",
                self.name
            );
        }
        for (what, value, range) in [
            ("rate_limit", self.rate_limit, RATE),
            ("rate_burst", self.rate_burst, BURST),
            ("max_calls", self.max_calls, CALLS),
            ("max_sessions", self.max_sessions, CONNECTIONS),
            ("max_connections", self.max_connections, CONNECTIONS),
        ] {
            if let Some(value) = value.filter(|value| !(range.min..=range.max).contains(value)) {
                bail!(
                    "`{what}` of `{}` is {value}; it must be {} to {}",
                    self.name,
                    range.min,
                    range.max
                );
            }
        }
        // A missing list means the server's own. An empty list means none, and such a token is
        // useless.
        for (what, is_empty, least) in [
            (
                "allow",
                self.allow.as_ref().is_some_and(Vec::is_empty),
                "a directory, even an empty one",
            ),
            (
                "tools",
                self.tools.as_ref().is_some_and(Vec::is_empty),
                "`files`",
            ),
        ] {
            if is_empty {
                bail!(
                    "`{what}` of `{}` is empty; name at least {least}, or leave `{what}` out to \
                     use those of the server",
                    self.name
                );
            }
        }
        if let Some(relative) = self.allow.iter().flatten().find(|path| path.is_relative()) {
            bail!(
                "`{}` allows `{}`; the path must be absolute",
                self.name,
                relative.display()
            );
        }
        if let Some(relative) = self.cache.iter().find(|path| path.is_relative()) {
            bail!(
                "`cache` of `{}` is `{}`; the path must be absolute",
                self.name,
                relative.display()
            );
        }
        if let Some(relative) = self.unprotect.iter().find(|path| path.is_relative()) {
            bail!(
                "`unprotect` of `{}` has `{}`; the path must be absolute",
                self.name,
                relative.display()
            );
        }
        self.toolsets().map(drop)
    }

    /// Own sets of tools; `None` if the line has none.
    pub(super) fn toolsets(&self) -> Result<Option<Vec<ToolsetArg>>> {
        let parse = |name: &String| {
            let known = ToolsetArg::value_variants()
                .iter()
                .filter_map(clap::ValueEnum::to_possible_value);
            let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
            let message = || format!("`{name}` is not a set of tools; use {}", known.join(", "));
            ToolsetArg::from_str(name, false)
                .map_err(anyhow::Error::msg)
                .with_context(message)
        };
        self.tools
            .as_ref()
            .map(|tools| tools.iter().map(parse).collect())
            .transpose()
    }
}

impl HttpConfig {
    /// Reads the files of the flags. Fails if other machines could reach the server without a
    /// token.
    pub(crate) fn resolve(address: SocketAddr, args: &HttpArgs, options: &Options) -> Result<Self> {
        if args.http_host.is_empty() && !options.network.allow_host.is_empty() {
            warn_of_http_names();
        }
        let tokens = tokens(args)?;
        if tokens.is_empty() && !address.ip().is_loopback() {
            bail!(
                "--http {address}: other machines can connect, so a token is needed: give \
                 --token-file (see `replay token new`) or set {TOKEN_VARIABLE}, or listen at \
                 127.0.0.1"
            );
        }
        let tls = encryption(args)?.map(Encryption::new);
        let settings = Settings {
            limits: client_limits(&options.client),
            hosts: args.http_host.clone(),
            origins: args.allow_origin.clone(),
            max_connections: args.max_connections as usize,
            client_timeout: Duration::from_secs(args.client_timeout_secs),
            tls,
            again: None,
            tracer: None,
        };
        let tenant = TenantLimits {
            per_minute: args.rate_limit,
            burst: args.rate_burst,
            max_calls: args.max_calls as usize,
            max_sessions: args.max_sessions as usize,
            session_idle: Duration::from_secs(args.session_idle_secs),
            max_connections: args.max_connections as usize,
        };
        Ok(Self {
            settings,
            tokens,
            tenant,
            manager: std::env::var_os("NOTIFY_SOCKET"),
        })
    }
}

/// TLS configuration of the flags.
pub(crate) fn encryption(args: &HttpArgs) -> Result<Option<Arc<ServerConfig>>> {
    let (Some(chain), Some(key)) = (&args.tls_cert, &args.tls_key) else {
        return Ok(None);
    };
    let chain_text = reading::read(chain, MAX_TLS_FILE_BYTES)?.bytes;
    let key_text = reading::read(key, MAX_TLS_FILE_BYTES)?;
    // A group may read the key, since many systems have a group for TLS servers.
    if key_text.mode & 0o027 != 0 {
        let (key, mode) = (key.display(), key_text.mode & 0o777);
        bail!("other users can read the key `{key}` (mode {mode:04o}); run chmod 640 or 600 on it");
    }
    let config = server_config(&chain_text, &key_text.bytes);
    config
        .map(Some)
        .with_context(|| format!("`{}` and `{}`", chain.display(), key.display()))
}

/// Reads the tokens from the file or the environment.
pub(crate) fn tokens(args: &HttpArgs) -> Result<Vec<TokenEntry>> {
    let Some(path) = &args.token_file else {
        let Some(token) = std::env::var_os(TOKEN_VARIABLE) else {
            return Ok(Vec::new());
        };
        let token = token
            .into_string()
            .ok()
            .filter(|token| token.len() >= MIN_TOKEN_BYTES);
        let token = token.with_context(|| {
            format!(
                "{TOKEN_VARIABLE} must be at least {MIN_TOKEN_BYTES} bytes of text; `replay token new NAME` makes one"
            )
        })?;
        return Ok(vec![TokenEntry {
            operator: true,
            ..TokenEntry::of("default", &token)
        }]);
    };
    let shown = path.display();
    let unreadable =
        || format!("`{shown}` cannot be read; `replay token new NAME --file {shown}` makes one");
    std::fs::metadata(path).with_context(unreadable)?;
    let read = reading::read(path, MAX_TOKEN_FILE_BYTES)?;
    if read.mode & 0o022 != 0 {
        bail!(
            "other users can change `{shown}` (mode {:o}); run chmod go-w on it",
            read.mode & 0o777
        );
    }
    let text = read.text().with_context(|| format!("`{shown}`"))?;
    entries(&text).with_context(|| format!("`{shown}`"))
}

/// Parses the entries of a token file. Empty lines and lines that begin with `#` are skipped.
pub(crate) fn entries(text: &str) -> Result<Vec<TokenEntry>> {
    let mut entries: Vec<TokenEntry> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = index + 1;
        let entry: TokenEntry = serde_json::from_str(line).map_err(|error| {
            let reason = fault(&error);
            anyhow!("line {number}: {reason}; `replay token new NAME` makes such lines")
        })?;
        entry.check().with_context(|| format!("line {number}"))?;
        warn_of_old_keys(&format!("the token `{}`", entry.name), line);
        if entries
            .iter()
            .any(|other| other.name == entry.name || other.digest() == entry.digest())
        {
            bail!(
                "line {number}: an earlier line has the name or the token of `{}`",
                entry.name
            );
        }
        entries.push(entry);
    }
    match entries.len() {
        0 => bail!("the file has no token; `replay token new NAME` makes lines for it"),
        count if count > MAX_HTTP_TENANTS => {
            bail!("the file has {count} tokens; at most {MAX_HTTP_TENANTS} are allowed")
        }
        _ => Ok(entries),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        format!("{:#}", entries(text).unwrap_err())
    }

    #[test]
    fn token_entry_round_trips_through_line() {
        let entry = TokenEntry::of("alice", "abc");
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let line = format!("{{\"name\":\"alice\",\"sha256\":\"{digest}\"}}");
        assert_eq!(serde_json::to_string(&entry).unwrap(), line);
        assert_eq!(entry.digest().unwrap()[..4], [0xBA, 0x78, 0x16, 0xBF]);
        let text = format!("# who\n\n  {line}\n");
        assert_eq!(entries(&text).unwrap(), [entry]);
    }

    #[test]
    fn token_file_error_names_line() {
        let sha = "0".repeat(64);
        let line = |more: &str| format!("{{\"name\":\"a\",\"sha256\":\"{sha}\"{more}}}");
        let unknown = fault(&line(",\"nmae\":1"));
        assert!(
            unknown.starts_with("line 1: unknown field `nmae`"),
            "{unknown}"
        );
        assert_eq!(
            fault("# only\n"),
            "the file has no token; `replay token new NAME` makes lines for it"
        );
        assert_eq!(
            fault("\n{\"name\":\"a\",\"sha256\":\"xyz\"}"),
            "line 2: `sha256` of `a` must be 64 hexadecimal digits"
        );
        let name = fault(&format!("{{\"name\":\"a b\",\"sha256\":\"{sha}\"}}"));
        assert_eq!(
            name,
            "line 1: the name `a b` must be 1 to 64 letters, digits, `_`, `.` and `-`"
        );
        let taken = fault(&format!("{{\"name\":\"stdio\",\"sha256\":\"{sha}\"}}"));
        assert_eq!(
            taken,
            "line 1: the name `stdio` is reserved for clients without a token; choose another"
        );
        assert_eq!(
            fault(&line(",\"allow\":[\"src\"]")),
            "line 1: `a` allows `src`; the path must be absolute"
        );
        let empty = |what: &str, least: &str| {
            format!(
                "line 1: `{what}` of `a` is empty; name at least {least}, or leave `{what}` out \
                 to use those of the server"
            )
        };
        assert_eq!(
            fault(&line(",\"allow\":[]")),
            empty("allow", "a directory, even an empty one")
        );
        assert_eq!(fault(&line(",\"tools\":[]")), empty("tools", "`files`"));
        for what in ["allow", "tools"] {
            let null = fault(&line(&format!(",\"{what}\":null")));
            assert!(
                null.starts_with("line 1: invalid type: null, expected a sequence"),
                "{null}"
            );
        }
        let credential =
            r#","credentials":[{"credential":"A=env:B","for":["https://a.b"],"more":1}]"#;
        assert!(
            fault(&line(credential)).starts_with("line 1: unknown field `more`"),
            "{}",
            fault(&line(credential))
        );
        assert_eq!(
            fault(&line(",\"max_calls\":0")),
            "line 1: `max_calls` of `a` is 0; it must be 1 to 1024"
        );
        let twice = fault(&format!("{}\n{}", line(""), line("")));
        assert_eq!(
            twice,
            "line 2: an earlier line has the name or the token of `a`"
        );
        let tools = fault(&line(",\"tools\":[\"fiels\"]"));
        assert!(
            tools.starts_with("line 1: `fiels` is not a set of tools; use files, command, calls"),
            "{tools}"
        );
    }
}
