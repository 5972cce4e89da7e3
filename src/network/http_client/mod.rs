//! HTTP/1.1 requests of this program itself (RFC 9112): to span collectors and for health checks.
//! Each request has one connection and one deadline, on the thread of the caller.

mod answer;
mod target;

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use rustls_pki_types::ServerName;
use thiserror::Error;
use tokio_rustls::rustls::{self, ClientConnection, InvalidMessage, StreamOwned};

pub use answer::HttpResponse;
pub use target::HttpTarget;

pub use crate::trust::{Trust, Verifier, reason};
use crate::upstream_proxy::{
    Handshake, ProxyError, ProxyFault, ProxyScheme, ProxyServer, UpstreamProxy,
};

/// Error of an outbound request.
#[derive(Debug, Error)]
pub enum OutboundError {
    /// The name has no address.
    #[error("`{host}` cannot be looked up: {cause}")]
    Name {
        host: String,
        /// System error.
        cause: io::Error,
    },
    /// No connection, or it broke.
    #[error("`{host}` does not answer: {cause}")]
    Connection {
        host: String,
        /// System error.
        cause: io::Error,
    },
    /// The certificate is not one to be trusted.
    #[error("the certificate of `{host}` is not trusted: {reason}")]
    Distrusted {
        host: String,
        /// Reason, with the next step.
        reason: String,
    },
    /// The answer is not HTTP/1.
    #[error("`{host}` answers with something that is not HTTP/1: {reason}")]
    Answer {
        host: String,
        /// Description of the fault.
        reason: String,
    },
    /// Encryption is not to be had.
    #[error("`{host}` cannot be reached over TLS: {reason}")]
    Tls { host: String, reason: String },
    /// The operator's proxy does not lead to the host.
    #[error("{0}")]
    Proxy(ProxyError),
}

/// A connection, possibly inside another one.
trait Duplex: Read + Write {}

impl<T: Read + Write> Duplex for T {}

#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Such as `POST`.
    pub method: &'a str,
    /// Whole lines of the head, each with its line end.
    pub headers: &'a str,
    /// The body, which may be empty.
    pub body: &'a [u8],
}

/// Sends a request, through the operator's proxy if it leads to the host, and waits for the answer
/// until the deadline. Without `trust` no request is sent over TLS.
///
/// The name lookup takes as long as the system's resolver: it cannot be interrupted.
pub fn ask(
    target: &HttpTarget,
    trust: Option<&Trust>,
    proxy: Option<&UpstreamProxy>,
    question: Question<'_>,
    deadline: Instant,
) -> Result<HttpResponse, OutboundError> {
    let host = || target.authority();
    let server =
        proxy.and_then(|proxy| proxy.of_url(target.is_encrypted, &target.host, target.port));
    let (stream, forwarder) = match server {
        None => {
            let stream = connect(&target.host, target.port, &target.authority(), deadline)?;
            (
                Box::new(Timed { stream, deadline }) as Box<dyn Duplex>,
                None,
            )
        }
        Some(server) => {
            let trust = proxy.and_then(UpstreamProxy::trust);
            let stream = through(server, trust, target, deadline).map_err(OutboundError::Proxy)?;
            (
                stream,
                Some(server).filter(|server| is_forwarding(server, target)),
            )
        }
    };
    let broken = |cause| OutboundError::Connection {
        host: host(),
        cause,
    };
    let Question {
        method,
        headers,
        body,
    } = question;
    let (path, authorization) = match forwarder {
        None => (target.path.clone(), String::new()),
        Some(server) => (
            format!("http://{}{}", target.authority(), target.path),
            authorization(server),
        ),
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\
         {authorization}{headers}\r\n",
        target.authority(),
        body.len()
    );
    let request = [head.as_bytes(), body].concat();
    let bytes = if target.is_encrypted {
        let fault = |reason: String| OutboundError::Tls {
            host: host(),
            reason,
        };
        let trust =
            trust.ok_or_else(|| fault("no certificate authorities are installed".to_owned()))?;
        let name =
            ServerName::try_from(target.host.clone()).map_err(|error| fault(error.to_string()))?;
        let session = ClientConnection::new(trust.config(), name)
            .map_err(|error| fault(error.to_string()))?;
        exchange(StreamOwned::new(session, stream), &request)
    } else {
        exchange(stream, &request)
    };
    let bytes =
        bytes.map_err(|cause| tls_error(target, trust, &cause).unwrap_or_else(|| broken(cause)))?;
    // An alert of TLS (RFC 8446, 5.1), with which it answers to whoever speaks anything else.
    if !target.is_encrypted && bytes.starts_with(&[0x15, 0x03]) {
        let reason = "it speaks TLS; ask it with https://".to_owned();
        return Err(OutboundError::Answer {
            host: host(),
            reason,
        });
    }
    let answer = HttpResponse::read(&bytes).map_err(|reason| OutboundError::Answer {
        host: host(),
        reason,
    })?;
    // Of a forwarding proxy only this status is surely its own (RFC 9110, 15.5.8).
    match forwarder.filter(|_| answer.status == 407) {
        Some(server) => {
            let fault = ProxyFault::Status {
                code: 407,
                offers: Vec::new(),
            };
            let handshake = Handshake::new(server, &target.host, target.port);
            Err(OutboundError::Proxy(handshake.failed(&fault)))
        }
        None => Ok(answer),
    }
}

/// Returns true if the proxy is asked for the URL itself, not for a tunnel (RFC 9112, 3.2.2).
fn is_forwarding(server: &ProxyServer, target: &HttpTarget) -> bool {
    !target.is_encrypted && server.scheme != ProxyScheme::Socks5
}

/// Returns the line of the head with user and password for a proxy, or nothing.
fn authorization(server: &ProxyServer) -> String {
    let value = server
        .basic_authorization()
        .and_then(|value| value.to_str().ok());
    value.map_or_else(String::new, |value| {
        format!("Proxy-Authorization: {value}\r\n")
    })
}

/// Connects to the proxy, and through it to the target unless it forwards requests.
fn through(
    server: &ProxyServer,
    trust: Option<&Trust>,
    target: &HttpTarget,
    deadline: Instant,
) -> Result<Box<dyn Duplex>, ProxyError> {
    let handshake = Handshake::new(server, &target.host, target.port);
    let stream = connect(&server.host, server.port, "", deadline).map_err(|error| {
        handshake.failed(&match error {
            OutboundError::Name { cause, .. } | OutboundError::Connection { cause, .. } => {
                ProxyFault::of(&cause)
            }
            other => ProxyFault::Unreachable(other.to_string()),
        })
    })?;
    let stream = Timed { stream, deadline };
    let mut stream: Box<dyn Duplex> = if server.scheme == ProxyScheme::Https {
        let fault = |reason: String| handshake.failed(&ProxyFault::Tls(reason));
        let trust =
            trust.ok_or_else(|| fault("no certificate authorities are installed".to_owned()))?;
        let name =
            ServerName::try_from(server.host.clone()).map_err(|error| fault(error.to_string()))?;
        let session = ClientConnection::new(trust.config(), name)
            .map_err(|error| fault(error.to_string()))?;
        Box::new(StreamOwned::new(session, stream))
    } else {
        Box::new(stream)
    };
    if !is_forwarding(server, target) {
        handshake.run(&mut stream)?;
    }
    Ok(stream)
}

/// Returns the error if TLS rejected the other side.
fn tls_error(
    target: &HttpTarget,
    trust: Option<&Trust>,
    cause: &io::Error,
) -> Option<OutboundError> {
    let host = target.authority();
    match cause.get_ref()?.downcast_ref()? {
        rustls::Error::InvalidCertificate(fault) => Some(OutboundError::Distrusted {
            host,
            reason: reason(fault, trust?.trusting()),
        }),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            Some(OutboundError::Tls {
                host,
                reason: "it does not speak TLS; use http://".to_owned(),
            })
        }
        _ => None,
    }
}

/// Sends the request, and reads until the answer is whole or the other side hangs up.
fn exchange(mut stream: impl Read + Write, request: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut bytes = Vec::new();
    let mut piece = [0; 8 * 1024];
    while !HttpResponse::is_whole(&bytes) {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Not everybody says goodbye over TLS; whether the answer is whole is looked at either
            // way.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// Tries the addresses of the name in their order. `shown` stands for the host in errors.
fn connect(
    host: &str,
    port: u16,
    shown: &str,
    deadline: Instant,
) -> Result<TcpStream, OutboundError> {
    let found = (host, port).to_socket_addrs();
    let found = found.map_err(|cause| OutboundError::Name {
        host: shown.to_owned(),
        cause,
    })?;
    let mut cause = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in found {
        match time_left(deadline).and_then(|left| TcpStream::connect_timeout(&address, left)) {
            Ok(stream) => {
                // Small requests must not wait for more.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => cause = error,
        }
    }
    Err(OutboundError::Connection {
        host: shown.to_owned(),
        cause,
    })
}

/// Returns the time until the deadline.
fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(late())
    } else {
        Ok(left)
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the request took too long")
}

/// Connection whose every step is limited to the time until the deadline.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

/// The timeouts of sockets end with EAGAIN (socket(7)).
fn in_words(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock {
        late()
    } else {
        error
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream
            .set_read_timeout(Some(time_left(self.deadline)?))?;
        self.stream.read(buffer).map_err(in_words)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream
            .set_write_timeout(Some(time_left(self.deadline)?))?;
        self.stream.write(bytes).map_err(in_words)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests;
