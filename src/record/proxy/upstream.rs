//! Connections to real servers, within the access policy.

use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;

use replay_base::budget::Share;

use super::context::Context;
use super::stream::Stream;
use super::{Mode, passthrough, tls};
use replay_network::rules::Transport;

/// Connects to the real server; `EACCES` if the policy denies it.
pub(super) async fn dial(context: &Context) -> io::Result<Stream> {
    dial_with_descriptor(context, context.shared.descriptors(1)?).await
}

/// Connects with an already reserved descriptor.
pub(super) async fn dial_with_descriptor(
    context: &Context,
    descriptor: Share,
) -> io::Result<Stream> {
    let (shared, target, by) = (&context.shared, &context.link.target, context.by);
    let Some(access) = shared.wires.access() else {
        return match shared.chain(target).await? {
            Some(chain) => chain.dial(shared, target, descriptor).await,
            None => shared.dial(target, descriptor, |_| true).await,
        };
    };
    if !access.admits(Transport::Tcp, target, by) {
        return Err(io::Error::from_raw_os_error(libc::EACCES));
    }
    let server = match shared.chain(target).await? {
        Some(chain) => {
            if !access.leads_through(&chain.proxy, target, &chain.addresses, by) {
                return Err(io::Error::from_raw_os_error(libc::EACCES));
            }
            let server = chain.dial(shared, target, descriptor).await?;
            access.reached_through(&chain.proxy, target, &chain.addresses, by);
            server
        }
        None => {
            shared
                .dial(target, descriptor, |address| {
                    access.leads_to(Transport::Tcp, target, address, by)
                })
                .await?
        }
    };
    let opens = || access.opens(target, by).is_some() || access.login(target).is_some();
    let is_judged = target.host.parse::<IpAddr>().is_err() || opens();
    let is_looked_at = !matches!(shared.mode, Mode::Pass) && is_judged;
    if is_looked_at {
        judged_connection(context, server)
    } else {
        Ok(server)
    }
}

/// Returns a connection whose traffic the policy judges on the way to the server.
fn judged_connection(context: &Context, server: Stream) -> io::Result<Stream> {
    let descriptors = (
        context.shared.descriptors(1)?,
        context.shared.descriptors(1)?,
    );
    let (here, there) = UnixStream::pair()?;
    let (here, there, context) = (
        Stream::of_pair(here, descriptors.0)?,
        Stream::of_pair(there, descriptors.1)?,
        context.clone(),
    );
    tokio::spawn(async move { passthrough::converse(&context, there, server, None).await });
    Ok(here)
}

/// Opens a new connection to the real server, encrypted if this one is.
pub(super) async fn reach(context: &Context, hello: &tls::ClientHello) -> io::Result<Stream> {
    let server = dial(context).await?;
    if !context.link.tls {
        return Ok(server);
    }
    match tls::connect(context, hello, server).await {
        Ok((server, _)) => Ok(server),
        Err(tls::HandshakeError::Certificate(reason)) => Err(io::Error::other(format!(
            "the certificate of the server is invalid: {reason}"
        ))),
        Err(tls::HandshakeError::Other(reason)) => Err(io::Error::other(reason)),
    }
}
