//! HTTP echo: the minimum work of an HTTP server in Rust. hyper reads a request and the body is
//! parsed as a JSON-RPC message. The reply is a text of the same length as the file, under the id
//! of the request.
//!
//! There are no tokens, policies, files or limits. The difference to the JSON echo (`json_echo.rs`)
//! is the cost of the router and of `serde_json::Value`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use anyhow::Result;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::escape::escape_into;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
}

/// Body of a reply: one text, or an endless stream.
struct Reply {
    ready: Option<Bytes>,
    ends: bool,
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.ready.take() {
            Some(ready) => Poll::Ready(Some(Ok(Frame::data(ready)))),
            None if self.ends => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.ready {
            Some(ready) if self.ends => SizeHint::with_exact(ready.len() as u64),
            _ => SizeHint::default(),
        }
    }
}

/// Serves on a free port of 127.0.0.1 and prints the port to stderr. Uses as many threads as the
/// server has for I/O.
pub fn serve(bytes: usize) -> Result<()> {
    let mut text = Vec::new();
    escape_into(&mut text, &crate::trees::text(bytes));
    let text: Arc<[u8]> = text.into();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        eprintln!("serving at http://{}/", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let text = Arc::clone(&text);
            tokio::spawn(async move {
                let service = service_fn(move |request| answer(request, Arc::clone(&text)));
                let mut server = http1::Builder::new();
                drop(
                    server
                        .timer(TokioTimer::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await,
                );
            });
        }
    })
}

async fn answer(
    request: Request<Incoming>,
    text: Arc<[u8]>,
) -> Result<Response<Reply>, Infallible> {
    let kind = if request.method() == Method::GET {
        "text/event-stream"
    } else {
        "application/json"
    };
    let reply = if request.method() == Method::GET {
        Reply {
            ready: Some(Bytes::from_static(b":\n\n")),
            ends: false,
        }
    } else {
        let mut body = request.into_body();
        let mut message = Vec::new();
        while let Some(Ok(frame)) =
            std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await
        {
            message.extend_from_slice(frame.data_ref().map_or(&[][..], AsRef::as_ref));
        }
        let id = serde_json::from_slice::<Message<'_>>(&message)
            .map_or("null", |message| message.id.get());
        let begin = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":"
        );
        Reply {
            ready: Some([begin.as_bytes(), &text, b"}]}}"].concat().into()),
            ends: true,
        }
    };
    let mut response = Response::new(reply);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
