//! Requests of HTTP/1 that are answered here, off a socket.

use std::io;

use tokio::io::AsyncWriteExt as _;

use super::context::{Context, TOO_LONG};
use super::stream::Stream;
use crate::budget::Share;
use crate::record::http::h1::{Malformed, Next, ReceivedRequest, RequestParser};

pub struct Requests {
    questions: RequestParser,
    /// What a request that is not complete takes of the budget.
    held: Share,
}

impl Requests {
    pub fn new(context: &Context) -> Self {
        let keep_raw = context.shared.beyond().is_some();
        let questions = RequestParser::new(context.link.clone(), keep_raw);
        Self {
            questions,
            held: context.shared.share(),
        }
    }

    /// Waits for the next one. If there is none the program has been told; with what is missed by
    /// that.
    pub async fn next(
        &mut self,
        context: &Context,
        client: &mut Stream,
    ) -> io::Result<Result<Box<ReceivedRequest>, Option<&'static str>>> {
        loop {
            match self.questions.next() {
                Ok(Some(Next::Answer(asked))) => return Ok(Ok(asked)),
                Ok(Some(Next::Continue)) => say(client, "100 Continue\r\n\r\n").await?,
                Ok(None) => {
                    let count = tokio::select! {
                        read = client.more(&mut self.questions.waiting) => read?,
                        () = context.stopped() => 0,
                    };
                    if count == 0 {
                        let is_idle = self.questions.is_idle();
                        return Ok(Err((!is_idle).then_some("a request that was not finished")));
                    }
                    if !self.held.try_cover(self.questions.buffered_bytes()) {
                        return refuse(client, "413 Content Too Large", TOO_LONG).await;
                    }
                }
                Err(Malformed) => {
                    return refuse(client, "400 Bad Request", "a request that is no HTTP").await;
                }
            }
        }
    }

    /// Says that the tunnel is there, and gives the connection with what the program has said into
    /// it.
    pub async fn into_tunnel(self, mut client: Stream) -> io::Result<Stream> {
        say(&mut client, "200 Connection established\r\n\r\n").await?;
        Ok(self.into_rest(client))
    }

    /// The connection with what came and is no request of HTTP.
    pub fn into_rest(self, client: Stream) -> Stream {
        client.put_back(self.questions.waiting)
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
