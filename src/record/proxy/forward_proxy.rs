//! HTTP proxy for programs with a proxy setting: each request names its own target.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use replay_sandbox::intercept::ProgramName;
use tokio::io::AsyncWriteExt as _;

use super::context::Context;
use super::requests::Requests;
use super::session::Hub;
use super::stream::Stream;
use super::{Mode, agent, miss, record, replay, upstream};
use crate::http::h1;

/// Returns the context of a connection to this proxy. Requests without a target are for the proxy
/// itself.
fn context(shared: Arc<Hub>) -> Context {
    let (link, nth) = shared.link(
        shared
            .agent
            .clone()
            .unwrap_or_else(|| agent::target(Ipv4Addr::LOCALHOST, 0)),
    );
    Context {
        keep: matches!(shared.mode, Mode::Record),
        link,
        nth,
        by: ProgramName::default(),
        shared,
    }
}

/// Answers requests for this proxy itself, and no others.
pub(super) async fn serve_own(shared: Arc<Hub>, mut client: Stream) -> io::Result<()> {
    let context = context(shared);
    // The parser answers those for the proxy.
    let _ = Requests::new(&context).next(&context, &mut client).await?;
    Ok(())
}

pub(super) async fn serve(shared: Arc<Hub>, mut client: Stream) -> io::Result<()> {
    let context = context(shared);
    if let Mode::Replay { replay: from, .. } = context.shared.mode.clone() {
        return replay::http1(context, from, client).await;
    }
    let mut requests = Requests::new(&context);
    loop {
        let Ok(asked) = requests.next(&context, &mut client).await? else {
            return Ok(());
        };
        let error = if let Some(tunnel) = &asked.tunnel {
            let inner = context.tunnel(tunnel.clone());
            match upstream::dial(&inner).await {
                Ok(server) => {
                    let client = requests.into_tunnel(client).await?;
                    return record::converse(inner, client, server).await;
                }
                Err(error) => error,
            }
        } else {
            match record::forward_request(&context, &asked, &mut client).await {
                Ok(true) => continue,
                Ok(false) => return client.shutdown().await,
                Err(error) => error,
            }
        };
        let target = asked.tunnel.clone().unwrap_or_else(|| asked.target.clone());
        context.tunnel(target.clone()).handle_failed_dial(&error);
        let answer = h1::refusal(502, &miss::unreachable(&target, &error));
        client
            .write_response(h1::render(&asked.request, &answer))
            .await?;
    }
}
