//! The server behind the front.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{
    CONNECTION, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use replay_network::http_client::{HttpTarget, Trust};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// Path of the MCP endpoint.
pub(crate) const MCP: &str = "/mcp";
/// Timeout of a connection, and of its TLS handshake, in milliseconds.
const CONNECT_MS: u64 = 10_000;

/// Headers of a connection, which are not forwarded (RFC 9110, 7.6.1).
const OF_CONNECTION: [HeaderName; 7] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// URL of the MCP endpoint of a server, and the trust in its certificate.
#[derive(Clone, Debug)]
pub struct Upstream {
    target: HttpTarget,
    /// `None` without TLS.
    trust: Option<Trust>,
}

/// A connection to the server.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

impl Upstream {
    /// Returns the server at this URL. An encrypted one needs `trust`.
    pub fn new(target: HttpTarget, trust: Option<Trust>) -> Self {
        Self { target, trust }
    }

    /// Returns the server at `/mcp` of a loopback address.
    pub fn local(address: SocketAddr) -> Self {
        let target = HttpTarget {
            is_encrypted: false,
            host: address.ip().to_string(),
            port: address.port(),
            path: MCP.to_owned(),
        };
        Self::new(target, None)
    }

    /// Sends a request, for the MCP endpoint if `is_mcp`. Each request has its own connection, which
    /// ends when its answer is dropped.
    pub(crate) async fn ask(
        &self,
        head: &Parts,
        is_mcp: bool,
        body: Bytes,
    ) -> io::Result<Response<Incoming>> {
        let own = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let path = if is_mcp { &self.target.path } else { own };
        let stream = self.connect().await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("the server behind the front has hung up: {error}");
            }
        });
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = path.parse::<Uri>().map_err(io::Error::other)?;
        let headers = request.headers_mut();
        *headers = head.headers.clone();
        strip(headers);
        let host = HeaderValue::try_from(self.target.authority()).map_err(io::Error::other)?;
        headers.insert(HOST, host);
        sender.send_request(request).await.map_err(io::Error::other)
    }

    async fn connect(&self) -> io::Result<Box<dyn Duplex>> {
        let target = &self.target;
        let connect = TcpStream::connect((target.host.as_str(), target.port));
        let stream = timeout(Duration::from_millis(CONNECT_MS), connect).await??;
        stream.set_nodelay(true)?;
        let Some(trust) = &self.trust else {
            return Ok(Box::new(stream));
        };
        let name = ServerName::try_from(target.host.clone()).map_err(io::Error::other)?;
        let encrypted = TlsConnector::from(trust.config()).connect(name, stream);
        let encrypted = timeout(Duration::from_millis(CONNECT_MS), encrypted).await?;
        let encrypted = encrypted.map_err(|error| {
            let trusting = trust.trusting();
            io::Error::other(format!(
                "{error}; {trusting} trusts the certificates of a file"
            ))
        })?;
        Ok(Box::new(encrypted))
    }
}

/// Removes the headers of a connection.
pub(crate) fn strip(headers: &mut HeaderMap) {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}
