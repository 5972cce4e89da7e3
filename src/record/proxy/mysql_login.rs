//! Login to `MySQL` or `MariaDB`, for [`super::login`].

use std::io;

use tokio::io::AsyncWriteExt as _;

use super::context::Context;
use super::stream::Stream;
use super::tls::{self, WITHOUT_TLS};
use crate::protocol::mysql::login::{
    ENOUGH, Greeting, Hello, Next, PasswordSubstitution, asks_for_tls, behind, failure, is_refusal,
    next, payload, server_said,
};

/// Both sides after a login; `None` if it failed or was not requested.
pub(super) type LoginStreams = Option<(Stream, Stream)>;

pub(super) async fn log_in(
    context: &Context,
    known: &[PasswordSubstitution],
    mut client: Stream,
    mut server: Stream,
) -> io::Result<LoginStreams> {
    let greeting = message(&mut server).await?;
    if is_refusal(&greeting) {
        say(&mut client, &greeting).await?;
        return Ok(None);
    }
    let greeting = Greeting::read(&greeting).map_err(io::Error::other)?;
    say(&mut client, &greeting.to_client()).await?;
    let mut asked = message(&mut client).await?;
    if asks_for_tls(&asked) {
        let hello = tls::read_hello(&mut client).await?;
        client = tls::accept(context, &hello, client, None).await?;
        asked = message(&mut client).await?;
    }
    let hello = Hello::read(&asked).map_err(io::Error::other)?;
    let mut waits = hello.waits();
    let PasswordSubstitution { secret, .. } = match hello.secret(&greeting, known) {
        Ok(known) => known,
        Err(question) => {
            waits = false;
            say(&mut client, &behind(&asked, &question.asks())).await?;
            asked = message(&mut client).await?;
            match question.answered(payload(&asked), known) {
                Some(known) => known,
                None => {
                    return refuse(
                        client,
                        &asked,
                        "the password is not the stand-in of a credential",
                    )
                    .await;
                }
            }
        }
    };
    let is_here = server
        .bottom()
        .peer_addr()?
        .ip()
        .to_canonical()
        .is_loopback();
    let mut sequence = 1;
    if greeting.offers_tls {
        say(&mut server, &hello.tls_request()).await?;
        sequence += 1;
        server = match tls::to_database(context, server, Vec::new()).await {
            Ok(server) => server,
            Err(reason) => return refuse(client, &asked, &reason).await,
        };
    } else if !is_here {
        return refuse(client, &asked, WITHOUT_TLS).await;
    }
    say(
        &mut server,
        &hello.to_server(&greeting, secret, sequence, greeting.offers_tls),
    )
    .await?;
    loop {
        let said = message(&mut server).await?;
        match server_said(&said, secret, greeting.offers_tls, is_here) {
            Ok(Next::Answer(answer)) => say(&mut server, &behind(&said, &answer)).await?,
            Ok(Next::Wait) => {}
            Ok(Next::Over { is_in }) => {
                if is_in && waits {
                    asked = behind(&asked, ENOUGH);
                    say(&mut client, &asked).await?;
                }
                say(&mut client, &behind(&asked, payload(&said))).await?;
                return Ok(is_in.then_some((client, server)));
            }
            Err(fault) => return refuse(client, &asked, fault).await,
        }
    }
}

/// Reads the next packet.
async fn message(stream: &mut Stream) -> io::Result<Vec<u8>> {
    let mut said = Vec::new();
    loop {
        if let Some(length) = next(&said).map_err(io::Error::other)? {
            stream.put_back_now(said.split_off(length));
            return Ok(said);
        }
        if stream.read_more(&mut said).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

async fn say(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

async fn refuse(mut client: Stream, asked: &[u8], reason: &str) -> io::Result<LoginStreams> {
    say(&mut client, &failure(asked, &format!("replay: {reason}"))).await?;
    client.shutdown().await?;
    Ok(None)
}
