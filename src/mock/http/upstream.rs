//! The server behind the front.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{
    CONNECTION, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

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

/// Sends a request to the server at this address. Each request has its own connection, which ends
/// when its answer is dropped.
pub(crate) async fn ask(
    address: SocketAddr,
    head: &Parts,
    body: Bytes,
) -> io::Result<Response<Incoming>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
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
    let target = head.uri.path_and_query().map_or("/", |it| it.as_str());
    *request.uri_mut() = target.parse::<Uri>().map_err(io::Error::other)?;
    let headers = request.headers_mut();
    *headers = head.headers.clone();
    strip(headers);
    let host = HeaderValue::try_from(address.to_string()).map_err(io::Error::other)?;
    headers.insert(HOST, host);
    sender.send_request(request).await.map_err(io::Error::other)
}

/// Removes the headers of a connection.
pub(crate) fn strip(headers: &mut HeaderMap) {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}
