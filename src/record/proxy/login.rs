//! A database connection whose program does not have the real password. The proxy performs the
//! login on both sides, then relays.

use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::context::Context;
use super::mysql_login::{self, LoginStreams};
use super::relay::relay;
use super::stream::Stream;
use super::tap::Tap;
use super::tls;
use super::tls::WITHOUT_TLS;
use crate::protocol::mysql::login::PasswordSubstitution;
use crate::protocol::postgres::{Beginning, Login, SSL_REQUEST, beginning, failure, next};

/// Timeout of a database login that is done for a program, in milliseconds.
const DATABASE_LOGIN_MS: u64 = 60_000;

/// Function from a program's password to the real one.
pub(super) type RealPassword = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// Method of inserting the real password in a login.
pub enum StandIn {
    Postgres(Box<RealPassword>),
    MySql(Vec<PasswordSubstitution>),
}

/// ALPN name of the protocol.
const PROTOCOL: &[u8] = b"postgresql";

/// Serves a connection until it ends.
pub(super) async fn serve(
    context: &Context,
    stand_in: StandIn,
    client: Stream,
    server: Stream,
) -> io::Result<()> {
    let logging_in = async {
        match stand_in {
            StandIn::Postgres(real) => log_in(context, &*real, client, server).await,
            StandIn::MySql(known) => mysql_login::log_in(context, &known, client, server).await,
        }
    };
    let in_time = timeout(Duration::from_millis(DATABASE_LOGIN_MS), logging_in).await;
    let Some((client, server)) = in_time.map_err(io::Error::from)?? else {
        return Ok(());
    };
    relay(context, client, server, &mut Tap::Off)
        .await
        .map(drop)
}

async fn log_in(
    context: &Context,
    real: &RealPassword,
    client: Stream,
    mut server: Stream,
) -> io::Result<LoginStreams> {
    let (mut client, startup) = match begin(context, client).await? {
        (client, Beginning::Startup, startup) => (client, startup),
        (_, _, cancel) => {
            // A cancel request holds no secret and gets no answer.
            server.write_all(&cancel).await?;
            server.shutdown().await?;
            return Ok(None);
        }
    };
    let mut server = match encrypted(context, server).await? {
        Ok(server) => server,
        Err(reason) => return refuse(client, &reason).await,
    };
    server.write_all(&startup).await?;
    server.flush().await?;
    let mut random = [0; 18];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let mut login = Login::new(STANDARD.encode(random), real);
    let (mut asked, mut said) = (Vec::new(), Vec::new());
    while !login.is_done() {
        let sent = if let Some(length) = next(&said).map_err(io::Error::other)? {
            login.server_said(&said.drain(..length).collect::<Vec<_>>())
        } else if let Some(length) = next(&asked).map_err(io::Error::other)? {
            login.client_said(&asked.drain(..length).collect::<Vec<_>>())
        } else {
            let read = tokio::select! {
                read = server.read_more(&mut said) => read?,
                read = client.read_more(&mut asked) => read?,
            };
            if read == 0 {
                return Ok(None);
            }
            continue;
        };
        let sent = match sent {
            Ok(sent) => sent,
            Err(fault) => return refuse(client, fault).await,
        };
        for (to, bytes) in [(&mut client, sent.to_client), (&mut server, sent.to_server)] {
            to.write_all(&bytes).await?;
            to.flush().await?;
        }
    }
    Ok(Some((client.put_back(asked), server.put_back(said))))
}

/// Reads the program's first message, accepts TLS if requested, and returns the startup or cancel
/// request.
async fn begin(context: &Context, mut client: Stream) -> io::Result<(Stream, Beginning, Vec<u8>)> {
    let mut asked = Vec::new();
    loop {
        let Some((length, what)) = beginning(&asked).map_err(io::Error::other)? else {
            if client.read_more(&mut asked).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let rest = asked.split_off(length);
        match what {
            Beginning::Tls => {
                client.write_all(b"S").await?;
                client.flush().await?;
                // This can only be the start of the handshake.
                client.put_back_now(rest);
                let hello = tls::read_hello(&mut client).await?;
                let protocol = hello.offers.first().cloned();
                client = tls::accept(context, &hello, client, protocol).await?;
                asked = Vec::new();
            }
            Beginning::Other => {
                client.write_all(b"N").await?;
                client.flush().await?;
                asked = rest;
            }
            Beginning::Cancel | Beginning::Startup => {
                client.put_back_now(rest);
                return Ok((client, what, asked));
            }
        }
    }
}

/// Returns a server connection that may carry a password, or the reason for a refusal.
async fn encrypted(context: &Context, mut server: Stream) -> io::Result<Result<Stream, String>> {
    server.write_all(&SSL_REQUEST).await?;
    server.flush().await?;
    let is_here = server
        .bottom()
        .peer_addr()?
        .ip()
        .to_canonical()
        .is_loopback();
    match server.read_u8().await? {
        b'S' => {}
        b'N' if is_here => return Ok(Ok(server)),
        _ => return Ok(Err(WITHOUT_TLS.to_owned())),
    }
    Ok(tls::to_database(context, server, vec![PROTOCOL.to_vec()]).await)
}

async fn refuse(mut client: Stream, reason: &str) -> io::Result<LoginStreams> {
    client
        .write_all(&failure(&format!("replay: {reason}")))
        .await?;
    client.shutdown().await?;
    Ok(None)
}
