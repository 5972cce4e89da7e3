//! Byte stream of a connection: bytes read ahead are returned first, a client that reads nothing
//! times out, and the close lingers for unread input.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use replay_base::limits::{HTTP_LINGER_MS, HTTP_LINGER_SILENCE_MS};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::activity::Activity;

/// Size of one discarding read, in bytes.
const DISCARD_BYTES: usize = 16 * 1024;

/// A bidirectional byte stream.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A TCP connection with two owners: the task that moves its bytes, and the one that waits for its
/// end.
#[derive(Clone, Debug)]
pub(super) struct Socket(Arc<TcpStream>);

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(stream))
    }

    /// Waits until the other side has closed its sending half or is gone, even if input is unread.
    pub(super) async fn ended(&self) {
        // Only urgent data is requested, so that the end is the only event (tokio's
        // `Ready::is_priority`).
        while let Ok(ready) = self.0.ready(Interest::PRIORITY).await {
            if ready.is_read_closed() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            let (room, mut count) = (out.remaining(), 0);
            let read = self.0.try_io(Interest::READABLE, || {
                count = self.0.try_read_buf(out)?;
                // A short read means that the socket is empty (epoll(7)); another read would only
                // say so.
                if count > 0 && count < room {
                    Err(io::ErrorKind::WouldBlock.into())
                } else {
                    Ok(())
                }
            });
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && count == 0 => {}
                Err(error) if count == 0 => return Poll::Ready(Err(error)),
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match shutdown(&*self.0, Shutdown::Write) {
            // The other side closed first.
            Ok(()) | Err(Errno::NOTCONN) => Ok(()),
            Err(errno) => Err(errno.into()),
        })
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write_vectored(parts) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// A connection with bytes returned to it, a write timeout and a lingering close.
pub(super) struct GuardedStream {
    inner: Box<dyn Duplex>,
    ahead: Bytes,
    stall: Duration,
    /// Write timeout, which runs while the client reads nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    /// State of the connection, with the number of bytes to discard before the close.
    activity: Arc<Activity>,
    lingering: Option<Lingering>,
}

/// Lingering close of a connection whose client may still send. An immediate close would reset the
/// connection, and the reply would be lost (RFC 9112, 9.6).
struct Lingering {
    left: u64,
    until: Instant,
    /// Timeout between two reads, at most until `until`.
    silent: Pin<Box<Sleep>>,
}

impl Lingering {
    fn new(left: u64) -> Self {
        let until = Instant::now() + Duration::from_millis(HTTP_LINGER_MS);
        Self {
            left,
            until,
            silent: Box::pin(sleep(Duration::from_millis(HTTP_LINGER_SILENCE_MS))),
        }
    }

    /// Discards input, until it ends or a limit is reached.
    fn poll(&mut self, cx: &mut Context<'_>, inner: &mut Box<dyn Duplex>) -> Poll<()> {
        let mut bytes = [MaybeUninit::uninit(); DISCARD_BYTES];
        while self.left > 0 && Instant::now() < self.until {
            let mut out = ReadBuf::uninit(&mut bytes);
            match Pin::new(&mut *inner).poll_read(cx, &mut out) {
                Poll::Ready(Ok(())) if !out.filled().is_empty() => {
                    self.left = self.left.saturating_sub(out.filled().len() as u64);
                    let again = Instant::now() + Duration::from_millis(HTTP_LINGER_SILENCE_MS);
                    self.silent.as_mut().reset(again.min(self.until));
                }
                Poll::Ready(_) => break,
                Poll::Pending => return self.silent.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

impl GuardedStream {
    /// Reads `ahead` first. A write without progress for `stall` fails. Before the close,
    /// `activity` gives the number of bytes to discard.
    pub(super) fn new(
        inner: Box<dyn Duplex>,
        ahead: Bytes,
        stall: Duration,
        activity: Arc<Activity>,
    ) -> Self {
        Self {
            inner,
            ahead,
            stall,
            stalled: None,
            activity,
            lingering: None,
        }
    }

    fn wrote<T>(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.stalled = None;
            return result;
        }
        let stall = self.stall;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(stall)));
        if stalled.deadline() <= Instant::now() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, out);
        }
        let count = self.ahead.len().min(out.remaining());
        out.put_slice(&self.ahead[..count]);
        self.ahead.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.wrote(cx, result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(cx);
        self.wrote(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            let result = Pin::new(&mut this.inner).poll_shutdown(cx);
            ready!(this.wrote(cx, result))?;
        }
        let lingering = this
            .lingering
            .get_or_insert_with(|| Lingering::new(this.activity.lingers()));
        lingering.poll(cx, &mut this.inner).map(Ok)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write_vectored(cx, parts);
        self.wrote(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
