//! A connection in any number of layers, with a buffer for unread bytes.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use replay_base::budget::Share;
use replay_base::limits::RELAY_BUFFER_BYTES;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{client, server};

use crate::http::h1::Rendered;

pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {
    /// Returns the socket below all layers.
    fn bottom(&self) -> &TcpStream;
}

impl Duplex for TcpStream {
    fn bottom(&self) -> &TcpStream {
        self
    }
}

impl Duplex for server::TlsStream<Stream> {
    fn bottom(&self) -> &TcpStream {
        self.get_ref().0.layers.bottom()
    }
}

impl Duplex for client::TlsStream<Stream> {
    fn bottom(&self) -> &TcpStream {
        self.get_ref().0.layers.bottom()
    }
}

pub(super) struct Stream {
    /// Unread bytes, returned before the stream is read again.
    before: Bytes,
    layers: Box<dyn Duplex>,
    /// Budget share of the descriptor, for a socket.
    _descriptor: Share,
}

impl Stream {
    pub(super) fn new(layers: impl Duplex + 'static) -> Self {
        Self {
            before: Bytes::new(),
            layers: Box::new(layers),
            _descriptor: Share::default(),
        }
    }

    /// Wraps a socket, with the share of its descriptor.
    pub(super) fn of(socket: TcpStream, descriptor: Share) -> Self {
        Self {
            _descriptor: descriptor,
            ..Self::new(socket)
        }
    }

    /// Wraps one end of a socket pair, with the share of its descriptor. A stream uses only features
    /// that all stream sockets have.
    pub(super) fn of_pair(end: UnixStream, descriptor: Share) -> io::Result<Self> {
        end.set_nonblocking(true)?;
        let socket = TcpStream::from_std(OwnedFd::from(end).into())?;
        Ok(Self::of(socket, descriptor))
    }

    /// Wraps a non-blocking socket that may still be connecting. Small messages are sent without
    /// delay.
    pub(super) fn socket(socket: OwnedFd, descriptor: Share) -> io::Result<Self> {
        let socket = TcpStream::from_std(socket.into())?;
        let _ = socket.set_nodelay(true);
        Ok(Self::of(socket, descriptor))
    }

    /// Returns true if the peer is known to have closed both directions. Only such a peer answers
    /// data with a reset (RFC 9293, 3.10.7.4).
    pub(super) fn is_gone(&self) -> bool {
        !matches!(self.layers.bottom().take_error(), Ok(None))
    }

    /// Ends the connection so that the peer reads `ECONNRESET`.
    pub(super) fn reset(self) {
        let _ = self.layers.bottom().set_zero_linger();
    }

    /// Returns the stream with these bytes put back.
    pub(super) fn put_back(mut self, bytes: Vec<u8>) -> Self {
        self.put_back_now(bytes);
        self
    }

    /// Takes the unread bytes.
    pub(super) fn take_unread(&mut self) -> Bytes {
        std::mem::take(&mut self.before)
    }

    /// Returns the socket below all layers.
    pub(super) fn bottom(&self) -> &TcpStream {
        self.layers.bottom()
    }

    pub(super) fn put_back_now(&mut self, mut bytes: Vec<u8>) {
        bytes.extend_from_slice(&self.before);
        self.before = Bytes::from(bytes);
    }

    /// Writes an HTTP response: a short one in a single write, a long one without copying.
    pub(super) async fn write_response(&mut self, answer: Rendered<'_>) -> io::Result<()> {
        if answer.body.len() <= RELAY_BUFFER_BYTES {
            self.write_all(&answer.whole()).await?;
        } else {
            for part in [&answer.head[..], &answer.body, &answer.tail] {
                self.write_all(part).await?;
            }
        }
        self.flush().await
    }

    /// Reads once and appends; 0 is the end of the stream. A dropped future has read nothing.
    pub(super) async fn read_more(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        into.reserve(RELAY_BUFFER_BYTES);
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
        Pin::new(&mut self.layers).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.layers).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.layers).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.layers).poll_shutdown(context)
    }
}
