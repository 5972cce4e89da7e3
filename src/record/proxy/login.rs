//! One connection to a `PostgreSQL` server whose password the program does not have: it ends here until the login is over.

use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::context::Context;
use super::relay::relay;
use super::stream::Stream;
use super::tap::Tap;
use super::tls::{self, ClientHello};
use crate::limits::DATABASE_LOGIN_MS;
use crate::record::protocol::postgres::{Beginning, Login, SSL_REQUEST, beginning, failure, next};

/// The password in the place of the one that a program gives.
pub type RealPassword = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// Name of the protocol inside TLS.
const PROTOCOL: &[u8] = b"postgresql";

/// What came of a login.
enum LoggedIn {
    Yes(Stream, Stream),
    /// The program was told why not, or wanted none.
    No,
}

/// Serves a connection until it ends.
pub async fn serve(context: &Context, real: &RealPassword, client: Stream, server: Stream) -> io::Result<()> {
    let logging_in = timeout(Duration::from_millis(DATABASE_LOGIN_MS), log_in(context, real, client, server));
    let LoggedIn::Yes(client, server) = logging_in.await.map_err(io::Error::from)?? else { return Ok(()) };
    relay(context, client, server, &mut Tap::Nobody).await.map(drop)
}

async fn log_in(context: &Context, real: &RealPassword, client: Stream, mut server: Stream) -> io::Result<LoggedIn> {
    let (mut client, startup) = match begin(context, client).await? {
        (client, Beginning::Startup, startup) => (client, startup),
        (_, _, cancel) => {
            // It holds no secret, and gets no answer.
            server.write_all(&cancel).await?;
            server.shutdown().await?;
            return Ok(LoggedIn::No);
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
                read = server.more(&mut said) => read?,
                read = client.more(&mut asked) => read?,
            };
            if read == 0 {
                return Ok(LoggedIn::No);
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
    Ok(LoggedIn::Yes(client.put_back(asked), server.put_back(said)))
}

/// What the program says first, encrypted if it asks for that: of those that begin a session or end a statement.
async fn begin(context: &Context, mut client: Stream) -> io::Result<(Stream, Beginning, Vec<u8>)> {
    let mut asked = Vec::new();
    loop {
        let Some((length, what)) = beginning(&asked).map_err(io::Error::other)? else {
            if client.more(&mut asked).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let rest = asked.split_off(length);
        match what {
            Beginning::Tls => {
                client.write_all(b"S").await?;
                client.flush().await?;
                // It can only be the beginning of the handshake.
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

/// The connection to the server as a password may cross it, or why there is none.
async fn encrypted(context: &Context, mut server: Stream) -> io::Result<Result<Stream, String>> {
    server.write_all(&SSL_REQUEST).await?;
    server.flush().await?;
    let is_here = server.bottom().peer_addr()?.ip().to_canonical().is_loopback();
    match server.read_u8().await? {
        b'S' => {}
        b'N' if is_here => return Ok(Ok(server)),
        _ => return Ok(Err("the server does not speak TLS, and the password goes nowhere without it".to_owned())),
    }
    let hello = ClientHello { name: None, offers: vec![PROTOCOL.to_vec()] };
    Ok(match tls::connect(context, &hello, server).await {
        Ok((server, _)) => Ok(server),
        Err(tls::Refused::Certificate(reason)) => Err(format!("the certificate of the server is not good: {reason}")),
        Err(tls::Refused::Other(reason)) => Err(format!("the server does not speak TLS as it should: {reason}")),
    })
}

async fn refuse(mut client: Stream, reason: &str) -> io::Result<LoggedIn> {
    client.write_all(&failure(&format!("replay: {reason}"))).await?;
    client.shutdown().await?;
    Ok(LoggedIn::No)
}
