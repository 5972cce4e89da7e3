//! HTTP/1.1 requests of this program itself (RFC 9112): to span collectors and for health checks.
//! Each request has one connection and one deadline, on the thread of the caller.

mod answer;
mod target;
mod verify;

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use thiserror::Error;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{self, ClientConfig, ClientConnection, InvalidMessage, StreamOwned};

pub use answer::HttpResponse;
pub use target::HttpTarget;
pub use verify::{Verifier, reason};

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
}

/// Trust anchors for TLS connections.
#[derive(Clone, Debug)]
pub struct Trust {
    config: Arc<ClientConfig>,
    /// Option that trusts the certificates of a file.
    trusting: &'static str,
}

impl Trust {
    /// Returns the trust in these authorities, as PEM; other PEM items are ignored. Without any, no
    /// server is trusted. `trusting` is the option that trusts those of a file.
    pub fn of(authorities: &[u8], trusting: &'static str) -> Result<Self, String> {
        let trusted = CertificateDer::pem_slice_iter(authorities)
            .filter_map(Result::ok)
            .collect();
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier::new(Arc::clone(&provider), trusted);
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        // The verifier is webpki's with one addition of its own.
        let config = config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        Ok(Self {
            config: Arc::new(config.with_no_client_auth()),
            trusting,
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Such as `POST`.
    pub method: &'a str,
    /// Whole lines of the head, each with its line end.
    pub headers: &'a str,
    /// The body, which may be empty.
    pub body: &'a [u8],
}

/// Sends a request and waits for the answer until the deadline. Without `trust` no request is sent
/// over TLS.
///
/// The name lookup takes as long as the system's resolver: it cannot be interrupted.
pub fn ask(
    target: &HttpTarget,
    trust: Option<&Trust>,
    question: Question<'_>,
    deadline: Instant,
) -> Result<HttpResponse, OutboundError> {
    let host = || target.authority();
    let stream = Timed {
        stream: connect(target, deadline)?,
        deadline,
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
    let head = format!(
        "{method} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        target.path,
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
        let session = ClientConnection::new(Arc::clone(&trust.config), name)
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
    HttpResponse::read(&bytes).map_err(|reason| OutboundError::Answer {
        host: host(),
        reason,
    })
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
            reason: reason(fault, trust?.trusting),
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

/// Tries the addresses of the name in their order.
fn connect(target: &HttpTarget, deadline: Instant) -> Result<TcpStream, OutboundError> {
    let host = || target.authority();
    let found = (target.host.as_str(), target.port).to_socket_addrs();
    let found = found.map_err(|cause| OutboundError::Name {
        host: host(),
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
        host: host(),
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
