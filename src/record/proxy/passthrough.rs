//! One relayed connection: the program's first bytes are checked against the permitted host. TLS is
//! decrypted only if a rule inspects requests. Plain HTTP is parsed and serialized again, so no
//! server can interpret it differently than the judge.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use http::request;
use memchr::memmem;
use replay_base::limits::RELAY_BUFFER_BYTES;
use replay_sandbox::intercept::ProgramName;
use tokio::io::AsyncWriteExt as _;

use super::context::Context;
use super::first_bytes::is_settings;
use super::host_mismatch::{Misfit, fits};
use super::intercept_tls::{Inspector, Refusal};
use super::judging::VerdictGuard;
use super::session::Hub;
use super::stream::Stream;
use super::{intercept_tls, login, splice, tls};
use crate::call::Target;

/// Classification of the program's first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstBytes {
    Tls,
    /// Data that a server might parse as an HTTP/1 request, valid or not.
    Http,
    /// Data without a host name.
    Other,
    /// At most one word, which cannot be a request yet.
    Word,
    /// A line that may become a request.
    Line,
}

/// Inspector of requests on a connection without inspection rules.
struct MisfitInspector {
    shared: Arc<Hub>,
    target: Target,
    by: ProgramName,
}

impl Inspector for MisfitInspector {
    fn request(&self, _head: &mut request::Parts) -> Result<(), Refusal> {
        Ok(())
    }

    fn misfit(&self, misfit: Misfit) -> Refusal {
        match self.shared.wires.access() {
            Some(access) => access.ended(&self.target, misfit, self.by),
            None => Refusal(misfit.to_string()),
        }
    }
}

/// Relays a connection until both sides have ended or the program violates its target.
pub(super) async fn converse(
    context: &Context,
    client: Stream,
    server: Stream,
    unjudged: Option<VerdictGuard>,
) -> io::Result<()> {
    let (target, access) = (&context.link.target, context.shared.wires.access());
    if let Some(stand_in) = access.and_then(|access| access.login(target)) {
        return tokio::select! {
            served = login::serve(context, stand_in, client, server) => served,
            () = context.stopped() => Ok(()),
        };
    }
    let inspector = access.and_then(|access| access.opens(target, context.by));
    tokio::select! {
        passed = pass(context, inspector, client, server, unjudged) => passed,
        () = context.stopped() => Ok(()),
    }
}

/// Reports a violation to the access policy.
fn report_misfit(context: &Context, error: &io::Error) {
    let misfit = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Misfit>());
    if let (Some(access), Some(misfit)) = (context.shared.wires.access(), misfit) {
        access.ended(&context.link.target, misfit.clone(), context.by);
    }
}

async fn pass(
    context: &Context,
    inspector: Option<Arc<dyn Inspector>>,
    mut client: Stream,
    mut server: Stream,
    unjudged: Option<VerdictGuard>,
) -> io::Result<()> {
    if let Some(inspector) = inspector {
        return intercept_tls::serve(context, inspector, client, server)
            .await
            .inspect_err(|error| report_misfit(context, error));
    }
    let target = &context.link.target;
    if target.host.parse::<IpAddr>().is_err() {
        match judge_beginning(target, &mut client, &mut server).await {
            Ok(FirstBytes::Http) => {
                let named = MisfitInspector {
                    shared: Arc::clone(&context.shared),
                    target: target.clone(),
                    by: context.by,
                };
                let served = intercept_tls::serve(context, Arc::new(named), client, server).await;
                return served.inspect_err(|error| report_misfit(context, error));
            }
            Ok(_) => {}
            Err(error) => {
                // Report first: a program may end as soon as it is cut off.
                report_misfit(context, &error);
                // Both sides receive a reset.
                client.reset();
                server.reset();
                return Err(error);
            }
        }
    }
    drop(unjudged);
    let passed = splice::both_ways(&mut client, &mut server).await;
    if passed.is_err() {
        client.reset();
        server.reset();
    }
    passed
}

/// Detects the protocol, and judges anything but HTTP. The read bytes are put back, except those
/// already forwarded. On other ports than web ports, words that cannot be a request are forwarded
/// at once.
async fn judge_beginning(
    target: &Target,
    client: &mut Stream,
    server: &mut Stream,
) -> io::Result<FirstBytes> {
    let is_web = [80, 443].contains(&target.port);
    let (mut asked, mut said, mut passed) = (Vec::new(), Vec::new(), 0);
    let spoken = loop {
        let read = tokio::select! {
            read = client.read_more(&mut asked) => read?,
            read = server.read_more(&mut said) => read?,
        };
        if is_settings(&said) || asked.starts_with(b"PRI * HTTP/2") {
            return Err(io::Error::other(Misfit::Tunnel));
        }
        if !said.is_empty() {
            break FirstBytes::Other;
        }
        match beginning(&asked, read == 0) {
            // The server already has the first word.
            FirstBytes::Http if passed > 0 => return Err(io::Error::other(Misfit::Malformed)),
            FirstBytes::Word | FirstBytes::Line if read == 0 => break FirstBytes::Other,
            FirstBytes::Word if !is_web => {
                server.write_all(&asked[passed..]).await?;
                server.flush().await?;
                passed = asked.len();
            }
            FirstBytes::Word | FirstBytes::Line => {}
            spoken => break spoken,
        }
    };
    if spoken == FirstBytes::Other && is_web && !asked.is_empty() {
        return Err(io::Error::other(Misfit::Unknown));
    }
    client.put_back_now(asked.split_off(passed));
    server.put_back_now(said);
    if spoken == FirstBytes::Tls {
        check_server_name(target, client).await?;
    }
    Ok(spoken)
}

fn beginning(asked: &[u8], is_end: bool) -> FirstBytes {
    match asked {
        // A TLS record (RFC 8446, 5.1). Some servers continue after an alert, so other records are
        // held back, too.
        [0x14..=0x18] if !is_end => return FirstBytes::Line,
        [0x14..=0x18, 3, ..] => return FirstBytes::Tls,
        _ => {}
    }
    // Characters that lenient servers treat as spaces (RFC 9112, 3) or as line ends.
    let is_space = |byte: &u8| matches!(byte, b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | b' ');
    let is_end_of_line = |byte: &u8| *byte == b'\n' || byte.is_ascii_control() && !is_space(byte);
    let skipped = |text: &[u8]| text.iter().take_while(|byte| is_space(byte)).count();
    let text = &asked[skipped(asked)..];
    let line = text.split(is_end_of_line).next().unwrap_or_default();
    let is_whole = is_end || line.len() < text.len();
    let (first, rest) = line.split_at(line.iter().position(is_space).unwrap_or(line.len()));
    if rest.is_empty() {
        return if is_whole {
            FirstBytes::Other
        } else {
            FirstBytes::Word
        };
    }
    // Characters of a method (RFC 9110, 5.6.2 and 9.1).
    if !first
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
    {
        return FirstBytes::Other;
    }
    let rest = rest[skipped(rest)..].to_ascii_lowercase();
    let is_plain = first
        .iter()
        .all(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
    let is_request = first.eq_ignore_ascii_case(b"CONNECT")
        || is_plain && rest.starts_with(b"/")
        || [&b"://"[..], b"http/"]
            .iter()
            .any(|part| memmem::find(&rest, part).is_some());
    match (is_request || line.len() > RELAY_BUFFER_BYTES, is_whole) {
        (true, _) => FirstBytes::Http,
        (false, true) => FirstBytes::Other,
        (false, false) => FirstBytes::Line,
    }
}

async fn check_server_name(target: &Target, client: &mut Stream) -> io::Result<()> {
    let name = match tls::read_hello(client).await {
        Ok(hello) => hello.name,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::Other | io::ErrorKind::InvalidData
            ) =>
        {
            None
        }
        Err(error) => return Err(error),
    };
    let fits = name.map_or(Err(Misfit::NoName), |name| fits(target, &name));
    fits.map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn possible_request_is_classified_as_http() {
        for asked in [
            "GET / HTTP/1.1\r\n",
            "get /",
            "\r\n GET\t/",
            "CONNECT 11.0.0.3:5000 HTTP/1.1 \r\n",
            "connect x",
            "GET http://",
            "X1 http://",
            "GET\x0bany http/1.1\n",
            "GET any HTTP/1.1\0",
            "OPTIONS * HTTP/1.1",
        ] {
            assert_eq!(
                beginning(asked.as_bytes(), false),
                FirstBytes::Http,
                "{asked:?}"
            );
        }
        let long = ["GET ", &"x".repeat(RELAY_BUFFER_BYTES)].concat();
        assert_eq!(beginning(long.as_bytes(), false), FirstBytes::Http);
    }

    #[test]
    fn other_protocols_are_not_classified_as_http() {
        for asked in [
            &b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"[..],
            b"EHLO example.com\r\n",
            b"USER name\r\n",
            b"CAP LS 302\r\n",
            b"PING\r\n",
            b"*1\r\n$4\r\nPING\r\n",
            b"get key\r\n",
            b"003agit-upload-pack /project.git\0host=example.com\0",
            b"@RSYNCD: 31.0\n",
            b"<?xml version='1.0'?><stream:stream xmlns='jabber:client'",
            b"{\"jsonrpc\": \"2.0\"}",
            b"AMQP\0\0\x09\x01",
            b"\0\0\0\x08\x04\xd2\x16\x2f",
            b"INVITE sip:me@example.com SIP/2.0\r\n",
        ] {
            assert_eq!(
                beginning(asked, false),
                FirstBytes::Other,
                "{}",
                asked.escape_ascii()
            );
        }
    }

    #[test]
    fn incomplete_line_is_word_or_line() {
        for (asked, expected) in [
            (&b""[..], FirstBytes::Word),
            (b"\r\n", FirstBytes::Word),
            (b"ruok", FirstBytes::Word),
            (b"GET ", FirstBytes::Line),
            (b"SSH-2.0-OpenSSH_9.2p1 Debian", FirstBytes::Line),
            (b"\x15", FirstBytes::Line),
            (b"\x15\x03", FirstBytes::Tls),
        ] {
            assert_eq!(
                beginning(asked, false),
                expected,
                "{}",
                asked.escape_ascii()
            );
        }
    }
}
