//! Body of an answer to the program.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::Rewriter;

pub(super) enum AnswerBody {
    /// Body from the real server.
    Passing {
        body: Incoming,
        rewriter: Option<Box<dyn Rewriter>>,
        /// Frame that follows the bytes held back by the rewriter.
        next: Option<Frame<Bytes>>,
    },
    Text(Bytes),
}

impl AnswerBody {
    pub(super) fn passing(body: Incoming, rewriter: Option<Box<dyn Rewriter>>) -> Self {
        Self::Passing {
            body,
            rewriter,
            next: None,
        }
    }

    pub(super) fn text(line: String) -> Self {
        Self::Text((line + "\n").into())
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let (body, rewriter, next) = match self.get_mut() {
            Self::Passing {
                body,
                rewriter,
                next,
            } => (body, rewriter, next),
            Self::Text(text) => {
                let text = std::mem::take(text);
                return Poll::Ready((!text.is_empty()).then(|| Ok(Frame::data(text))));
            }
        };
        if let Some(next) = next.take() {
            return Poll::Ready(Some(Ok(next)));
        }
        loop {
            let frame = ready!(Pin::new(&mut *body).poll_frame(context)).transpose()?;
            let Some(rewriting) = rewriter else {
                return Poll::Ready(frame.map(Ok));
            };
            match frame.map(Frame::into_data) {
                Some(Ok(bytes)) => {
                    let bytes = rewriting.piece(bytes);
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                }
                Some(Err(other)) => {
                    let rest = rewriting.rest();
                    let other = other.into_trailers().map(|mut fields| {
                        rewriting.trailers(&mut fields);
                        fields
                    });
                    let other = other.map_or_else(|other| other, Frame::trailers);
                    if rest.is_empty() {
                        return Poll::Ready(Some(Ok(other)));
                    }
                    *next = Some(other);
                    return Poll::Ready(Some(Ok(Frame::data(rest))));
                }
                None => {
                    let rest = rewriting.rest();
                    return Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Passing {
                body,
                rewriter,
                next,
            } => rewriter.is_none() && next.is_none() && body.is_end_stream(),
            Self::Text(text) => text.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Passing { body, .. } => body.size_hint(),
            Self::Text(text) => SizeHint::with_exact(text.len() as u64),
        }
    }
}
