//! Failures of a proxy, in words for an agent and the operator.

use std::{fmt, io};

use rustix::io::Errno;
use tokio_rustls::rustls;

use super::ProxyServer;
use crate::trust::reason;

/// Variable that trusts the certificates of a file.
const TLS_TRUST: &str = "SSL_CERT_FILE=FILE";

/// Reason for a failed connection through a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyFault {
    /// The system's error for the connection to the proxy.
    Unreachable(String),
    /// No answer in time.
    Silent,
    /// The end of the connection, before an answer.
    Closed,
    /// An answer of another protocol.
    Malformed,
    /// An HTTP status other than 2xx, and the authentication schemes that the proxy offers.
    Status { code: u16, offers: Vec<String> },
    /// A reply code of SOCKS5 (RFC 1928, 6).
    Reply(u8),
    /// SOCKS5 refused the login.
    Login,
    /// TLS with the proxy failed.
    Tls(String),
    /// The host name is longer than SOCKS5 allows.
    LongName,
}

impl ProxyFault {
    /// Returns the fault for an error of a connection to a proxy.
    pub fn of(error: &io::Error) -> Self {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref());
        match (tls, error.kind()) {
            (Some(rustls::Error::InvalidCertificate(why)), _) => Self::Tls(reason(why, TLS_TRUST)),
            (Some(other), _) => Self::Tls(other.to_string()),
            (
                None,
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe,
            ) => Self::Closed,
            (None, io::ErrorKind::TimedOut) => Self::Silent,
            (None, _) => Self::Unreachable(without_code(error)),
        }
    }
}

/// Returns the text of an error without its number.
fn without_code(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Failure of a connection through a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyError {
    /// URL of the proxy, without user and password.
    pub url: String,
    /// Host and port of the destination.
    pub target: String,
    /// Answer of the proxy, to be followed by `to` and the destination.
    pub answer: String,
    /// Next step of the operator.
    pub advice: String,
    /// Number for connect(2).
    pub errno: i32,
}

impl ProxyError {
    pub fn new(server: &ProxyServer, target: String, fault: &ProxyFault) -> Self {
        Self {
            url: server.to_string(),
            target,
            answer: answer(fault),
            advice: advice(server, fault),
            errno: errno(fault).raw_os_error(),
        }
    }

    /// Returns host and port of the proxy.
    pub fn proxy(&self) -> &str {
        let end = self.url.split_once("://");
        end.map_or(&*self.url, |(_, address)| address)
    }
}

/// Formats as `the proxy 10.1.2.3:3128 says 407 to inner.test:443; the operator's HTTPS_PROXY needs
/// a user and password`.
impl fmt::Display for ProxyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            target,
            answer,
            advice,
            ..
        } = self;
        let proxy = self.proxy();
        write!(out, "the proxy {proxy} {answer} to {target}; {advice}")
    }
}

impl std::error::Error for ProxyError {}

fn answer(fault: &ProxyFault) -> String {
    match fault {
        ProxyFault::Unreachable(_) | ProxyFault::Tls(_) => "gives no connection".to_owned(),
        ProxyFault::Silent | ProxyFault::Closed => "gives no answer".to_owned(),
        ProxyFault::Malformed => "gives no valid answer".to_owned(),
        ProxyFault::Status { code, .. } => format!("says {code}"),
        ProxyFault::Reply(code) => {
            let words = match code {
                2 => "not allowed",
                3 => "network unreachable",
                4 => "host unreachable",
                5 => "connection refused",
                6 => "TTL expired",
                7 => "command not supported",
                8 => "address type not supported",
                _ => "general failure",
            };
            format!("says `{words}`")
        }
        ProxyFault::Login => "refuses the login".to_owned(),
        ProxyFault::LongName => "is not asked for a connection".to_owned(),
    }
}

fn advice(server: &ProxyServer, fault: &ProxyFault) -> String {
    let setting = &server.setting;
    let corrects = || {
        format!(
            "the operator can correct {setting}, or leave the proxy out with --upstream-proxy off"
        )
    };
    let needs_login = || {
        if server.has_login() {
            format!("it does not accept the user and password of the operator's {setting}")
        } else {
            format!("the operator's {setting} needs a user and password")
        }
    };
    match fault {
        ProxyFault::Unreachable(cause) => {
            format!("it cannot be reached ({cause}); {}", corrects())
        }
        ProxyFault::Tls(cause) => format!("TLS with it failed: {cause}"),
        ProxyFault::Silent => format!("it took too long; {}", corrects()),
        ProxyFault::Closed => format!("it closed the connection; {}", corrects()),
        ProxyFault::Malformed => {
            format!("it may be no proxy, or one of another kind; {}", corrects())
        }
        ProxyFault::Status { code: 407, offers } => {
            let is_basic = |offer: &String| offer.eq_ignore_ascii_case("Basic");
            if offers.is_empty() || offers.iter().any(is_basic) {
                needs_login()
            } else {
                format!(
                    "it wants {}, which is not supported; the operator can run px or cntlm on this \
                     machine, and name that in {setting}",
                    offers.join(" or ")
                )
            }
        }
        ProxyFault::Login => needs_login(),
        ProxyFault::Status { code: 403, .. } | ProxyFault::Reply(2) => {
            "it does not allow this host".to_owned()
        }
        ProxyFault::Status { code: 405, .. } => {
            "it allows no tunnel (CONNECT) to this port".to_owned()
        }
        ProxyFault::Status {
            code: 502..=504, ..
        }
        | ProxyFault::Reply(1 | 3..=6) => "it cannot reach the host".to_owned(),
        ProxyFault::Status { .. } | ProxyFault::Reply(_) => corrects(),
        ProxyFault::LongName => "the name of the host is longer than 255 bytes".to_owned(),
    }
}

fn errno(fault: &ProxyFault) -> Errno {
    match fault {
        ProxyFault::Unreachable(_) | ProxyFault::Tls(_) => Errno::NETUNREACH,
        ProxyFault::Silent => Errno::TIMEDOUT,
        ProxyFault::Status {
            code: 403 | 405 | 407,
            ..
        }
        | ProxyFault::Reply(2)
        | ProxyFault::Login => Errno::ACCESS,
        ProxyFault::Status {
            code: 502..=504, ..
        }
        | ProxyFault::Reply(1 | 3 | 4 | 6)
        | ProxyFault::LongName => Errno::HOSTUNREACH,
        ProxyFault::Closed
        | ProxyFault::Malformed
        | ProxyFault::Status { .. }
        | ProxyFault::Reply(_) => Errno::CONNREFUSED,
    }
}
