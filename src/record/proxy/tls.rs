//! TLS on both sides of a recorded connection.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls_pki_types::ServerName;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::server::Acceptor;
use tokio_rustls::rustls::sign::SingleCertAndKey;
use tokio_rustls::rustls::{AlertDescription, ClientConfig, Error, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::Mode;
use super::context::Context;
use super::stream::Stream;
use crate::net::ca::leaf_name;
use replay_network::http_client;

/// Timeout of a TLS handshake on either side of a recorded connection, in milliseconds.
const UPSTREAM_TLS_MS: u64 = 10_000;

/// Maximum size of a client's first message, in bytes.
const MAX_HELLO_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientHello {
    pub name: Option<String>,
    /// ALPN protocols in order of preference.
    pub offers: Vec<Vec<u8>>,
}

/// Reason for a failed handshake with the real server.
#[derive(Debug)]
pub(super) enum HandshakeError {
    /// Its certificate is invalid, with the reason.
    Certificate(String),
    Other(String),
}

/// Reads the client hello and puts it back.
pub(super) async fn hello(mut stream: Stream) -> io::Result<(ClientHello, Stream)> {
    Ok((read_hello(&mut stream).await?, stream))
}

/// Reads the client hello from a borrowed stream and puts it back.
pub(super) async fn read_hello(stream: &mut Stream) -> io::Result<ClientHello> {
    let mut acceptor = Acceptor::default();
    let mut seen = Vec::new();
    let hello = loop {
        let start = seen.len();
        if stream.read_more(&mut seen).await? == 0 || seen.len() > MAX_HELLO_BYTES {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut input = &seen[start..];
        let mut accepted = None;
        while !input.is_empty() && accepted.is_none() {
            acceptor.read_tls(&mut input)?;
            accepted = acceptor
                .accept()
                .map_err(|(error, _)| io::Error::other(error))?;
        }
        if let Some(accepted) = accepted {
            let hello = accepted.client_hello();
            break ClientHello {
                name: hello.server_name().map(str::to_ascii_lowercase),
                offers: hello
                    .alpn()
                    .map(|offers| offers.map(<[u8]>::to_vec).collect())
                    .unwrap_or_default(),
            };
        }
    };
    stream.put_back_now(seen);
    Ok(hello)
}

/// Connects to the real server with TLS. Returns the negotiated protocol, if any.
pub(super) async fn connect(
    context: &Context,
    hello: &ClientHello,
    to: Stream,
) -> Result<(Stream, Option<Vec<u8>>), HandshakeError> {
    let name = leaf_name(hello.name.as_deref(), &context.link.target.host).to_owned();
    let name =
        ServerName::try_from(name).map_err(|error| HandshakeError::Other(error.to_string()))?;
    let shared = &context.shared;
    let mut config = ClientConfig::builder_with_provider(shared.authority.provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| HandshakeError::Other(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(
            Arc::clone(&shared.verifier) as Arc<dyn ServerCertVerifier>
        )
        .with_no_client_auth();
    config.alpn_protocols.clone_from(&hello.offers);
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, to);
    match timeout(Duration::from_millis(UPSTREAM_TLS_MS), connecting).await {
        Ok(Ok(stream)) => {
            let agreed = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
            Ok((Stream::new(stream), agreed))
        }
        Ok(Err(error)) => Err(match fault(&error) {
            Some(Error::InvalidCertificate(reason)) => HandshakeError::Certificate(
                http_client::reason(reason, "SSL_CERT_FILE=FILE replay calls record ..."),
            ),
            _ => HandshakeError::Other(error.to_string()),
        }),
        Err(_) => Err(HandshakeError::Other(
            "the handshake took too long".to_owned(),
        )),
    }
}

/// Reason for not sending a password.
pub(super) const WITHOUT_TLS: &str =
    "the server does not speak TLS, and the password is sent only over TLS";

/// Performs the TLS handshake with a database, or returns the reason for its failure.
pub(super) async fn to_database(
    context: &Context,
    server: Stream,
    offers: Vec<Vec<u8>>,
) -> Result<Stream, String> {
    match connect(context, &ClientHello { name: None, offers }, server).await {
        Ok((server, _)) => Ok(server),
        Err(HandshakeError::Certificate(reason)) => Err(format!(
            "the certificate of the server is invalid: {reason}"
        )),
        Err(HandshakeError::Other(reason)) => Err(format!(
            "the TLS handshake with the server failed: {reason}"
        )),
    }
}

/// Performs the TLS handshake with the program. `protocol` is negotiated if the program offers it.
pub(super) async fn accept(
    context: &Context,
    hello: &ClientHello,
    from: Stream,
    protocol: Option<Vec<u8>>,
) -> io::Result<Stream> {
    let name = leaf_name(hello.name.as_deref(), &context.link.target.host);
    let leaf = context
        .shared
        .authority
        .leaf(name)
        .map_err(io::Error::other)?;
    let mut config = ServerConfig::builder_with_provider(context.shared.authority.provider())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(leaf)));
    config.alpn_protocols.extend(protocol);
    let accepting = TlsAcceptor::from(Arc::new(config)).accept(from);
    match timeout(Duration::from_millis(UPSTREAM_TLS_MS), accepting).await {
        Ok(Ok(stream)) => {
            // On an opened connection, a request shows the trust: some programs verify certificates
            // after the handshake.
            if !matches!(context.shared.mode, Mode::Pass) {
                context.shared.mark_trusted(&context.link.target);
            }
            Ok(Stream::new(stream))
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Returns true if the program ended the handshake because it distrusts our certificate. A mere
/// hangup counts, unless the program trusted it before.
pub(super) fn distrusts(context: &Context, error: &io::Error) -> bool {
    match fault(error) {
        Some(Error::AlertReceived(alert)) => matches!(
            alert,
            AlertDescription::UnknownCA
                | AlertDescription::BadCertificate
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::AccessDenied
                // The authority of an earlier recording has the same name with another key.
                | AlertDescription::DecryptError
                | AlertDescription::InternalError
                | AlertDescription::CertificateExpired
        ),
        Some(_) => false,
        None => hung_up(error) && !context.shared.is_trusted(&context.link.target),
    }
}

/// Returns true if the program left during the handshake without an alert; the reason may be
/// another.
pub(super) fn hung_up(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::BrokenPipe,
    ];
    fault(error).is_none() && kinds.contains(&error.kind())
}

/// Sends a fatal alert: the server could not be verified (RFC 8446, 6).
pub(super) async fn alert(mut stream: Stream) {
    const BAD_CERTIFICATE: [u8; 7] = [21, 3, 3, 0, 2, 2, 42];
    let _ = stream.write_all(&BAD_CERTIFICATE).await;
    let _ = stream.shutdown().await;
}

/// Chooses the protocol from the client's offers, if only recordings describe the server.
pub(super) fn choose(hello: &ClientHello, http2: bool) -> Option<Vec<u8>> {
    let offered = |name: &[u8]| {
        hello
            .offers
            .iter()
            .any(|offer| offer == name)
            .then(|| name.to_vec())
    };
    let (best, next): (&[u8], &[u8]) = if http2 {
        (b"h2", b"http/1.1")
    } else {
        (b"http/1.1", b"h2")
    };
    offered(best)
        .or_else(|| offered(next))
        .or_else(|| hello.offers.first().cloned())
}

fn fault(error: &io::Error) -> Option<&Error> {
    error.get_ref().and_then(|inner| inner.downcast_ref())
}
