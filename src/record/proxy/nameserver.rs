//! DNS server over UDP and TCP.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::SystemTime;

use replay_base::limits::FAKE_ADDRESS_SECS;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UdpSocket;
use tokio::sync::Semaphore;

use super::Mode;
use super::session::Hub;
use super::stream::Stream;
use crate::call::{Content, Dns, Exchange, Link, Target};
use crate::net::dns::{DnsQuestion, SERVFAIL};

/// Longest question of a name, in bytes.
const MAX_QUESTION_BYTES: usize = 4096;
/// Questions of names of one command that wait for an answer at once; more wait in the socket.
const MAX_QUESTIONS: usize = 1024;

pub(super) async fn serve_udp(shared: Arc<Hub>, socket: UdpSocket) {
    let socket = Arc::new(socket);
    let places = Arc::new(Semaphore::new(MAX_QUESTIONS));
    let mut stop = shared.stop.clone();
    let mut buffer = vec![0; MAX_QUESTION_BYTES];
    loop {
        let received = tokio::select! {
            received = socket.recv_from(&mut buffer) => received,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        // The error belongs to an answer to a closed socket (ip(7), ICMP).
        let Ok((count, peer)) = received else {
            continue;
        };
        let message = buffer[..count].to_vec();
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let (shared, socket) = (Arc::clone(&shared), Arc::clone(&socket));
        let mut answering = Box::pin(async move {
            if let Some(answer) = answer(&shared, &message).await {
                let _ = socket.send_to(&answer, peer).await;
            }
        });
        // Most answers are ready at once; a new task would be slower.
        if answering
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
        {
            tokio::spawn(async move {
                let _place = place;
                answering.await;
            });
        }
    }
}

/// Answers queries on a TCP connection, each with a length prefix (RFC 1035, 4.2.2).
pub(super) async fn serve_tcp(shared: Arc<Hub>, mut client: Stream) -> io::Result<()> {
    let mut stop = shared.stop.clone();
    loop {
        let length = tokio::select! {
            length = client.read_u16() => usize::from(length?),
            _ = stop.wait_for(|stop| *stop) => return Ok(()),
        };
        if length > MAX_QUESTION_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut message = vec![0; length];
        client.read_exact(&mut message).await?;
        let Some(answer) = answer(&shared, &message).await else {
            return Ok(());
        };
        client
            .write_all(&[&(answer.len() as u16).to_be_bytes()[..], &answer].concat())
            .await?;
        client.flush().await?;
    }
}

pub(super) fn is_nameserver(to: SocketAddr) -> bool {
    to.port() == 53
}

async fn answer(shared: &Arc<Hub>, message: &[u8]) -> Option<Vec<u8>> {
    let question = match DnsQuestion::read(message) {
        Ok(question) => question,
        Err(reply) => return reply,
    };
    if question.is_local() {
        return Some(question.local());
    }
    let Some(kind) = question.kind() else {
        return Some(question.answer(Dns::NOERROR, None));
    };
    let code = match &shared.mode {
        Mode::Pass | Mode::Record => resolved(shared, &question, kind).await,
        Mode::Replay { replay, .. } => {
            let recorded = replay.outline.name(&question.name, kind);
            if recorded.is_some() && shared.is_first_question(&question.name, kind) {
                // Marks the recording as used; the outline already has the answer.
                let (name, kind) = (question.name.clone(), kind.to_owned());
                let asked = Dns {
                    name,
                    kind,
                    code: Dns::NOERROR,
                    answers: Vec::new(),
                };
                let _ = replay.book.find(&exchange(asked, SystemTime::now()));
            }
            match recorded {
                Some(code) => code,
                None if replay.outline.no_such_name(&question.name) => Dns::NXDOMAIN,
                None if shared.miss_forwarding().is_some() => {
                    resolved(shared, &question, kind).await
                }
                None => Dns::NOERROR,
            }
        }
    };
    if code != Dns::NOERROR {
        return Some(question.answer(code, None));
    }
    match shared.names.address(&question.name) {
        Some(address) => Some(question.answer(Dns::NOERROR, Some(IpAddr::V4(address)))),
        None => Some(question.answer(SERVFAIL, None)),
    }
}

/// Returns the response code of the real resolver, if the lookup is permitted.
async fn resolved(shared: &Arc<Hub>, question: &DnsQuestion, kind: &'static str) -> u8 {
    if shared
        .wires
        .access()
        .is_some_and(|access| !access.may_ask(&question.name))
    {
        // A later connect(2) is denied, which the program sees and the report lists.
        return Dns::NOERROR;
    }
    let sent_at = SystemTime::now();
    let upstream = shared.wires.upstream_proxy();
    let found = if upstream.is_some_and(|proxy| proxy.reaches(&question.name)) {
        // The proxy may know a name that this machine does not.
        Ok(None)
    } else {
        shared.resolve(&question.name).await.map(Some)
    };
    let (code, addresses) = match found {
        Ok(None) => (Dns::NOERROR, Vec::new()),
        Ok(Some(addresses)) if addresses.is_empty() => (Dns::NXDOMAIN, addresses),
        Ok(Some(addresses)) => (Dns::NOERROR, addresses),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Dns::NXDOMAIN, Vec::new()),
        Err(_) => (SERVFAIL, Vec::new()),
    };
    let answers = addresses
        .into_iter()
        .filter(|address| address.is_ipv4() == (kind == "A"))
        .map(|address| {
            format!(
                "{}.\t{FAKE_ADDRESS_SECS}\tIN\t{kind}\t{address}",
                question.name
            )
        })
        .collect();
    if shared.miss_forwarding() == Some(true) && shared.is_first_question(&question.name, kind) {
        let dns = Dns {
            name: question.name.clone(),
            kind: kind.to_owned(),
            code,
            answers,
        };
        shared.keep(exchange(dns, sent_at));
    }
    code
}

fn exchange(dns: Dns, sent_at: SystemTime) -> Exchange {
    let link = Link {
        target: Target {
            host: String::new(),
            port: 53,
        },
        tls: false,
        connection: 0,
    };
    link.exchange(Content::Dns(dns), sent_at, SystemTime::now())
}
