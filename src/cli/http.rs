//! Flags of the HTTP server, and of `replay token`.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use replay_base::limits;

use super::{Range, ToolsetArg};

/// Flags of a server over HTTP.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub struct HttpArgs {
    /// Serve over HTTP at this address instead of stdin and stdout
    ///
    /// The server answers at /mcp, /mcp/ws, /health, /docs, /openapi.json and /metrics. The page at
    /// / shows a person what agents do. An address that other machines reach needs tokens. Port 0
    /// takes a free port, which the log names.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["mock", "record"], value_parser = address)]
    pub http: Option<SocketAddr>,
    /// Also serve on stdin and stdout
    #[arg(long, requires = "http", hide_short_help = true)]
    pub stdio: bool,
    /// Answer only clients with a token in this file, which `replay token` writes
    ///
    /// Each line is a JSON object. Without a file the variable `REPLAY_TOKEN` holds the only token.
    /// Without both, the server answers every client.
    #[arg(long, requires = "http", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// Speak TLS with this certificate
    ///
    /// The file is PEM: the server's own certificate first, then the intermediate ones.
    #[arg(long, requires_all = ["http", "tls_key"], value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, as PEM
    #[arg(long, requires_all = ["http", "tls_cert"], value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub tls_key: Option<PathBuf>,
    /// Answer pages of this origin, such as `https://app.example`
    ///
    /// Repeatable. Pages of other origins are refused.
    #[arg(long, requires = "http", value_name = "ORIGIN", hide_short_help = true)]
    pub allow_origin: Vec<String>,
    /// Answer requests for this host name, besides those of loopback
    ///
    /// Repeatable. At an address that other machines reach, the server answers any name by default.
    #[arg(long, requires = "http", value_name = "NAME", value_parser = host, hide_short_help = true)]
    pub http_host: Vec<String>,
    /// Limit the connections
    ///
    /// The limit of open files may lower it.
    #[arg(long, requires = "http", hide_short_help = true, value_name = "COUNT", default_value_t = limits::MAX_HTTP_CONNECTIONS,
        value_parser = CONNECTIONS.parser())]
    pub max_connections: u64,
    /// Close a connection after this many seconds without traffic
    #[arg(long, requires = "http", hide_short_help = true, value_name = "SECS", default_value_t = limits::HTTP_CLIENT_TIMEOUT_SECS,
        value_parser = CLIENT_SECS.parser())]
    pub client_timeout_secs: u64,
    /// Limit the sessions of each token
    #[arg(long, requires = "http", hide_short_help = true, value_name = "COUNT", default_value_t = limits::MAX_HTTP_SESSIONS,
        value_parser = CONNECTIONS.parser())]
    pub max_sessions: u64,
    /// End a session after this many seconds without use
    #[arg(long, requires = "http", hide_short_help = true, value_name = "SECS", default_value_t = limits::HTTP_SESSION_IDLE_SECS,
        value_parser = IDLE_SECS.parser())]
    pub session_idle_secs: u64,
    /// Limit the messages of each token in a minute; 0 sets no limit
    #[arg(long, requires = "http", hide_short_help = true, value_name = "COUNT", default_value_t = limits::HTTP_RATE_PER_MINUTE,
        value_parser = RATE.parser())]
    pub rate_limit: u64,
    /// Limit the messages that an idle token may send at once
    #[arg(long, requires = "http", hide_short_help = true, value_name = "COUNT", default_value_t = limits::HTTP_RATE_BURST,
        value_parser = BURST.parser())]
    pub rate_burst: u64,
    /// Limit the concurrent calls of each token; a few more wait
    #[arg(long, requires = "http", hide_short_help = true, value_name = "COUNT", default_value_t = limits::MAX_HTTP_CALLS,
        value_parser = CALLS.parser())]
    pub max_calls: u64,
}

pub(crate) const CONNECTIONS: Range = Range {
    min: 1,
    max: 1_000_000,
};
/// At most one hour.
const CLIENT_SECS: Range = Range { min: 1, max: 3600 };
/// At most one month.
const IDLE_SECS: Range = Range {
    min: 1,
    max: 31 * 86_400,
};
/// Messages per minute.
pub(crate) const RATE: Range = Range {
    min: 0,
    max: 1_000_000_000,
};
pub(crate) const BURST: Range = Range {
    min: 1,
    max: 1_000_000_000,
};
/// Each call has a thread.
pub(crate) const CALLS: Range = Range { min: 1, max: 1024 };

/// `replay token ...`.
#[derive(Clone, Debug, Subcommand)]
pub enum TokenAction {
    /// Print a new token, and the line for --token-file that holds its SHA-256; a running server
    /// obeys at its next SIGHUP
    #[command(after_help = "Example: replay token new alice --own /src/alice:rw --own-tools files")]
    New(NewToken),
    /// List the tokens: owner, time of creation, rights
    List(TokenFile),
    /// Revoke a token; a running server obeys at its next SIGHUP
    ///
    /// The line of the token becomes a comment.
    #[command(
        after_help = "Example: replay token revoke alice --file tokens.jsonl && systemctl reload replay"
    )]
    Revoke(NamedToken),
    /// Replace a token and print the new one; a running server obeys at its next SIGHUP
    ///
    /// The rest of the token's line stays. The server then ends everything that belongs to the old
    /// token.
    Rotate(NamedToken),
}

/// The token file of a server.
#[derive(Clone, Debug, Args)]
pub struct TokenFile {
    /// File of --token-file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: PathBuf,
}

/// One token of the token file.
#[derive(Clone, Debug, Args)]
pub struct NamedToken {
    /// Name of the token's owner
    pub name: String,
    #[command(flatten)]
    pub file: TokenFile,
}

/// `replay token new`.
#[derive(Clone, Debug, Args)]
pub struct NewToken {
    /// Name of the owner: at most 64 letters, digits, `_`, `.` and `-`
    pub name: String,
    /// Append the line to this file and print only the token; the file need not exist
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Give the token its own directory instead of those of the server; repeatable, as --allow
    #[arg(long = "own", value_name = "DIR[:ro|:rw]", value_hint = clap::ValueHint::DirPath)]
    pub own: Vec<PathBuf>,
    /// Give the token its own sets of tools instead of those of the server
    #[arg(
        long = "own-tools",
        value_enum,
        value_delimiter = ',',
        value_name = "SET,..."
    )]
    pub own_tools: Vec<ToolsetArg>,
    /// Let the token see the activity of all tokens
    ///
    /// It is shown on the page at /, and in /activity, /metrics and /health/detailed.
    #[arg(long)]
    pub operator: bool,
    /// Limit the token's messages in a minute, instead of the server's --rate-limit; 0 sets no
    /// limit
    #[arg(long, value_name = "COUNT", value_parser = RATE.parser())]
    pub rate_limit: Option<u64>,
    /// Limit the token's messages at once, instead of the server's --rate-burst
    #[arg(long, value_name = "COUNT", value_parser = BURST.parser())]
    pub rate_burst: Option<u64>,
    /// Limit the token's concurrent calls, instead of the server's --max-calls
    #[arg(long, value_name = "COUNT", value_parser = CALLS.parser())]
    pub max_calls: Option<u64>,
    /// Limit the token's sessions, instead of the server's --max-sessions
    #[arg(long, value_name = "COUNT", value_parser = CONNECTIONS.parser())]
    pub max_sessions: Option<u64>,
    /// Limit the token's connections, instead of three quarters of the server's --max-connections
    #[arg(long, value_name = "COUNT", value_parser = CONNECTIONS.parser())]
    pub max_connections: Option<u64>,
}

/// Parses an address with a port. `localhost` is the only name, since it needs no resolution.
fn address(text: &str) -> Result<SocketAddr, String> {
    let spelt = text
        .strip_prefix("localhost:")
        .map(|port| format!("127.0.0.1:{port}"));
    let parsed = spelt.as_deref().unwrap_or(text).parse();
    parsed.map_err(|_| {
        "it must be an address and a port, such as 127.0.0.1:8000 or [::1]:8000".to_owned()
    })
}

/// Parses a host name as in the `Host` header, without the port. An IPv6 address is in brackets
/// (RFC 3986, 3.2.2).
fn host(text: &str) -> Result<String, String> {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Ok(address) = inner.unwrap_or(text).parse::<Ipv6Addr>() {
        return Ok(format!("[{address}]"));
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if !text.is_empty() && text.bytes().all(is_name) {
        return Ok(text.to_ascii_lowercase());
    }
    Err(
        "it must be a name or an address without scheme and port, such as mcp.example.com; every \
        port is accepted"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_rejects_names_except_localhost() {
        assert_eq!(address("localhost:0").unwrap().to_string(), "127.0.0.1:0");
        assert_eq!(address("[::1]:8000").unwrap().to_string(), "[::1]:8000");
        for wrong in [
            "box:8000",
            ":8000",
            "8000",
            "127.0.0.1",
            "localhost:",
            "localhost:x",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn host_is_name_without_port() {
        let said =
            ["MCP.example", "10.0.0.1", "::1", "[2001:DB8::1]"].map(|text| host(text).unwrap());
        assert_eq!(said, ["mcp.example", "10.0.0.1", "[::1]", "[2001:db8::1]"]);
        for wrong in [
            "x.com:80",
            "https://x.com",
            "x.com/",
            "",
            "[::1]:80",
            "[x]",
            "a b",
        ] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
    }
}
