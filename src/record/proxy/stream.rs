//! A connection in whatever layers it has, into which bytes can be put back.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{client, server};

use crate::limits::RELAY_BUFFER_BYTES;
use crate::record::http::h1::Rendered;

/// What a connection has to be able to do.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {
    /// The socket below all layers.
    fn bottom(&self) -> &TcpStream;
}

impl Duplex for TcpStream {
    fn bottom(&self) -> &TcpStream {
        self
    }
}

impl Duplex for server::TlsStream<Stream> {
    fn bottom(&self) -> &TcpStream {
        self.get_ref().0.bottom()
    }
}

impl Duplex for client::TlsStream<Stream> {
    fn bottom(&self) -> &TcpStream {
        self.get_ref().0.bottom()
    }
}

/// See the module.
pub struct Stream {
    /// Bytes that are read before any others.
    before: Bytes,
    inner: Inner,
}

enum Inner {
    Socket(TcpStream),
    Layers(Box<dyn Duplex>),
}

impl Stream {
    /// Of a connection with layers above it.
    pub fn new(inner: impl Duplex + 'static) -> Self {
        Self { before: Bytes::new(), inner: Inner::Layers(Box::new(inner)) }
    }

    /// Of a connection itself.
    pub fn of_socket(socket: TcpStream) -> Self {
        Self { before: Bytes::new(), inner: Inner::Socket(socket) }
    }

    /// Whether there are no layers.
    pub fn is_bare(&self) -> bool {
        matches!(self.inner, Inner::Socket(_))
    }

    /// The connection itself, if there are no layers, and no bytes that are to be read first.
    pub fn socket(&self) -> Option<&TcpStream> {
        match &self.inner {
            Inner::Socket(socket) if self.before.is_empty() => Some(socket),
            _ => None,
        }
    }

    fn bottom(&self) -> &TcpStream {
        match &self.inner {
            Inner::Socket(socket) => socket,
            Inner::Layers(layers) => layers.bottom(),
        }
    }

    /// Whether the other side has closed the connection altogether, as far as is known: it answers with a reset to what is
    /// sent to it then, and not to what is sent to a side that only says nothing more (RFC 9293, 3.10.7.4).
    pub fn is_gone(&self) -> bool {
        !matches!(self.bottom().take_error(), Ok(None))
    }

    /// Ends the connection so that the other side reads `ECONNRESET`, or an encrypted one without its end.
    pub fn reset(self) {
        if let Inner::Socket(socket) = &self.inner {
            let _ = socket.set_zero_linger();
        }
    }

    /// The same with these bytes to be read first.
    pub fn put_back(mut self, bytes: Vec<u8>) -> Self {
        if bytes.is_empty() {
            return self;
        }
        let mut bytes = bytes;
        bytes.extend_from_slice(&self.before);
        self.before = Bytes::from(bytes);
        self
    }

    /// Writes an answer of HTTP. A short one goes out in one piece, a long one without being put together before.
    pub async fn say(&mut self, answer: Rendered<'_>) -> io::Result<()> {
        if answer.body.len() <= RELAY_BUFFER_BYTES {
            self.write_all(&answer.whole()).await?;
        } else {
            for part in [&answer.head[..], &answer.body, &answer.tail] {
                self.write_all(part).await?;
            }
        }
        self.flush().await
    }

    /// Reads once and appends; 0 is the end. When it is dropped before it is ready nothing has been read.
    pub async fn more(&mut self, into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        into.reserve(most);
        self.read_buf(into).await
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.has_remaining() {
            let count = self.before.len().min(buffer.remaining());
            buffer.put_slice(&self.before.split_to(count));
            return Poll::Ready(Ok(()));
        }
        match &mut self.inner {
            Inner::Socket(socket) => Pin::new(socket).poll_read(context, buffer),
            Inner::Layers(layers) => Pin::new(layers).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            Inner::Socket(socket) => Pin::new(socket).poll_write(context, bytes),
            Inner::Layers(layers) => Pin::new(layers).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Socket(socket) => Pin::new(socket).poll_flush(context),
            Inner::Layers(layers) => Pin::new(layers).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Socket(socket) => Pin::new(socket).poll_shutdown(context),
            Inner::Layers(layers) => Pin::new(layers).poll_shutdown(context),
        }
    }
}
