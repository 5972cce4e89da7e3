//! For programs that were told to use this as their HTTP proxy: each request says itself where it goes.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;

use super::context::Context;
use super::shared::Shared;
use super::stream::Stream;
use super::{Mode, http_play, miss, record};
use crate::limits::RELAY_BUFFER_BYTES;
use crate::record::call::{Refusal, Target};
use crate::record::http::h1::{self, Next, Questions};

/// Serves a connection of such a program.
pub async fn serve(shared: Arc<Shared>, mut client: Stream) -> io::Result<()> {
    // Requests that do not say where they go, go nowhere.
    let (link, nth) = shared.link(Target { host: String::new(), port: 0 });
    let context = Context { keep: matches!(shared.mode, Mode::Record), link, nth, shared };
    if let Mode::Replay { replay, .. } = context.shared.mode.clone() {
        return http_play::serve(context, replay, client).await;
    }
    let mut questions = Questions::new(context.link.clone(), true);
    let mut buffer = Vec::new();
    loop {
        let asked = match questions.next() {
            Ok(Some(Next::Continue)) => {
                client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
                continue;
            }
            Ok(Some(Next::Answer(asked))) => asked,
            Ok(None) => {
                buffer.clear();
                let count = tokio::select! {
                    read = client.more(&mut buffer, RELAY_BUFFER_BYTES) => read?,
                    () = context.stopped() => 0,
                };
                if count == 0 {
                    return Ok(());
                }
                questions.feed(&buffer);
                continue;
            }
            Err(h1::Malformed) => {
                client.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await?;
                return client.shutdown().await;
            }
        };
        let error = if let Some(tunnel) = &asked.tunnel {
            match context.shared.dial(tunnel).await {
                Ok(server) => {
                    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                    let client = client.put_back(questions.rest());
                    return record::converse(context.tunnel(tunnel.clone()), client, Stream::new(server)).await;
                }
                Err(error) => error,
            }
        } else {
            match record::beyond(&context, &asked, &mut client).await {
                Ok(true) => continue,
                Ok(false) => return client.shutdown().await,
                Err(error) => error,
            }
        };
        let target = asked.tunnel.clone().unwrap_or_else(|| asked.target.clone());
        context.tunnel(target.clone()).refused(Refusal::of(&error), &error.to_string());
        let answer = h1::refusal(502, &miss::unreachable(&target, &error));
        client.say(h1::render(&asked.request, &answer)).await?;
    }
}
