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
use crate::http_client;
use crate::limits::UPSTREAM_TLS_MS;
use crate::record::net::ca::leaf_name;

/// Most bytes of a first message of a client that are waited for.
const MAX_HELLO_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    pub name: Option<String>,
    /// Protocols that it offers inside, the best first.
    pub offers: Vec<Vec<u8>>,
}

/// Why there is no encrypted connection to the real server.
#[derive(Debug)]
pub enum Refused {
    /// Its certificate is not good, with the reason.
    Certificate(String),
    Other(String),
}

/// Reads what a client says first and puts it back.
pub async fn hello(mut stream: Stream) -> io::Result<(ClientHello, Stream)> {
    Ok((read_hello(&mut stream).await?, stream))
}

/// The same of a stream that stays where it is.
pub async fn read_hello(stream: &mut Stream) -> io::Result<ClientHello> {
    let mut acceptor = Acceptor::default();
    let mut seen = Vec::new();
    let hello = loop {
        let start = seen.len();
        if stream.more(&mut seen).await? == 0 || seen.len() > MAX_HELLO_BYTES {
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

/// The encrypted connection to the real server, and the protocol inside if one was agreed on.
pub async fn connect(
    context: &Context,
    hello: &ClientHello,
    to: Stream,
) -> Result<(Stream, Option<Vec<u8>>), Refused> {
    let name = leaf_name(hello.name.as_deref(), &context.link.target.host).to_owned();
    let name = ServerName::try_from(name).map_err(|error| Refused::Other(error.to_string()))?;
    let shared = &context.shared;
    let mut config = ClientConfig::builder_with_provider(shared.authority.provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| Refused::Other(error.to_string()))?
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
            Some(Error::InvalidCertificate(reason)) => Refused::Certificate(http_client::reason(
                reason,
                "SSL_CERT_FILE=FILE replay calls record ...",
            )),
            _ => Refused::Other(error.to_string()),
        }),
        Err(_) => Err(Refused::Other("the handshake took too long".to_owned())),
    }
}

/// Why a password is not sent.
pub const WITHOUT_TLS: &str =
    "the server does not speak TLS, and the password goes nowhere without it";

/// The encrypted connection to a database that has agreed to TLS, or why there is none.
pub async fn to_database(
    context: &Context,
    server: Stream,
    offers: Vec<Vec<u8>>,
) -> Result<Stream, String> {
    match connect(context, &ClientHello { name: None, offers }, server).await {
        Ok((server, _)) => Ok(server),
        Err(Refused::Certificate(reason)) => Err(format!(
            "the certificate of the server is not good: {reason}"
        )),
        Err(Refused::Other(reason)) => Err(format!(
            "the server does not speak TLS as it should: {reason}"
        )),
    }
}

/// The encrypted connection to the program. `protocol` is what is spoken inside, if the program
/// offers it.
pub async fn accept(
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
            // On one that is opened a request shows it: some programs verify us when the handshake
            // is over.
            if !matches!(context.shared.mode, Mode::Pass) {
                context.shared.trusts(&context.link.target);
            }
            Ok(Stream::new(stream))
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Whether the program broke the handshake off because it does not trust our certificate. Some just
/// hang up, which says nothing of one that has trusted it before.
pub fn distrusts(context: &Context, error: &io::Error) -> bool {
    match fault(error) {
        Some(Error::AlertReceived(alert)) => matches!(
            alert,
            AlertDescription::UnknownCA
                | AlertDescription::BadCertificate
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::AccessDenied
                // The authority of an earlier recording has the same name and another key.
                | AlertDescription::DecryptError
                | AlertDescription::InternalError
                | AlertDescription::CertificateExpired
        ),
        Some(_) => false,
        None => hung_up(error) && !context.shared.is_trusted(&context.link.target),
    }
}

/// Whether the program left in the middle of the handshake without a word, which it may have had
/// other reasons for.
pub fn hung_up(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::BrokenPipe,
    ];
    fault(error).is_none() && kinds.contains(&error.kind())
}

/// Tells the program that the server could not be verified: a fatal alert in place of an answer
/// (RFC 8446, 6).
pub async fn alert(mut stream: Stream) {
    const BAD_CERTIFICATE: [u8; 7] = [21, 3, 3, 0, 2, 2, 42];
    let _ = stream.write_all(&BAD_CERTIFICATE).await;
    let _ = stream.shutdown().await;
}

/// What a program that offers these is given where recordings alone know the server.
pub fn choose(hello: &ClientHello, http2: bool) -> Option<Vec<u8>> {
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
