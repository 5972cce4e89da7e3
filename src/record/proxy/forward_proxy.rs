//! HTTP proxy for programs with a proxy setting: each request names its own target.

use std::io;
use std::sync::Arc;

use replay_sandbox::intercept::ProgramName;
use tokio::io::AsyncWriteExt as _;

use super::context::Context;
use super::requests::Requests;
use super::session::Hub;
use super::stream::Stream;
use super::{Mode, miss, record, replay, upstream};
use crate::call::Target;
use crate::http::h1;

pub(super) async fn serve(shared: Arc<Hub>, mut client: Stream) -> io::Result<()> {
    // Requests without a target go nowhere.
    let (link, nth) = shared.link(Target {
        host: String::new(),
        port: 0,
    });
    let keep = matches!(shared.mode, Mode::Record);
    let context = Context {
        keep,
        link,
        nth,
        by: ProgramName::default(),
        shared,
    };
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
