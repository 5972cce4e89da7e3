//! HTTP/1 requests from a socket, for answers by the proxy.

use std::io;

use replay_base::budget::Share;
use tokio::io::AsyncWriteExt as _;

use super::agent;
use super::context::{Context, TOO_LONG};
use super::stream::Stream;
use crate::http::h1::{self, Malformed, ReceivedRequest, RequestParser, RequestStep};

pub(super) struct Requests {
    parser: RequestParser,
    /// Budget share of an incomplete request.
    held: Share,
}

impl Requests {
    pub(super) fn new(context: &Context) -> Self {
        let keep_raw = context.shared.miss_forwarding().is_some();
        let parser = RequestParser::new(context.link.clone(), keep_raw);
        Self {
            parser,
            held: context.shared.share(),
        }
    }

    /// Waits for the next request. Without one, the program has its error response, and the result
    /// names the missed request, if any.
    pub(super) async fn next(
        &mut self,
        context: &Context,
        client: &mut Stream,
    ) -> io::Result<Result<Box<ReceivedRequest>, Option<&'static str>>> {
        loop {
            match self.parser.next() {
                Ok(Some(RequestStep::Answer(asked)))
                    if asked.tunnel.is_none()
                        && context.shared.agent.as_ref() == Some(&asked.target) =>
                {
                    let answer = agent::answer(context, &asked);
                    let rendered = h1::render(&asked.request, &answer);
                    client.write_response(rendered).await?;
                    if h1::closes(&asked.request, &answer) {
                        client.shutdown().await?;
                        return Ok(Err(None));
                    }
                }
                Ok(Some(RequestStep::Answer(asked))) => return Ok(Ok(asked)),
                Ok(Some(RequestStep::Continue)) => say(client, "100 Continue\r\n\r\n").await?,
                Ok(None) => {
                    let count = tokio::select! {
                        read = client.read_more(&mut self.parser.waiting) => read?,
                        () = context.stopped() => 0,
                    };
                    if count == 0 {
                        let is_idle = self.parser.is_idle();
                        return Ok(Err((!is_idle).then_some("a request that was not finished")));
                    }
                    if !self.held.try_cover(self.parser.buffered_bytes()) {
                        return refuse(client, "413 Content Too Large", TOO_LONG).await;
                    }
                }
                Err(Malformed) => {
                    return refuse(client, "400 Bad Request", "a request that is not HTTP").await;
                }
            }
        }
    }

    /// Confirms the tunnel, and returns the connection with the bytes that already belong to it.
    pub(super) async fn into_tunnel(self, mut client: Stream) -> io::Result<Stream> {
        say(&mut client, "200 Connection established\r\n\r\n").await?;
        Ok(self.into_rest(client))
    }

    /// Returns the connection with the bytes after the last HTTP request.
    pub(super) fn into_rest(self, client: Stream) -> Stream {
        client.put_back(self.parser.waiting)
    }
}

async fn say(client: &mut Stream, answer: &str) -> io::Result<()> {
    client
        .write_all(format!("HTTP/1.1 {answer}").as_bytes())
        .await?;
    client.flush().await
}

async fn refuse(
    client: &mut Stream,
    status: &str,
    missed: &'static str,
) -> io::Result<Result<Box<ReceivedRequest>, Option<&'static str>>> {
    say(
        client,
        &format!("{status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
    )
    .await?;
    client.shutdown().await?;
    Ok(Err(Some(missed)))
}
