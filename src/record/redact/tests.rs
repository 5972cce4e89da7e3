//! Redaction of calls in all protocols.

mod corpus;
mod laws;
mod places;
mod shapes;
mod table;

use std::time::SystemTime;

use super::*;
use crate::call::{End, HttpRequest, HttpVersion, Target};

/// Builds an HTTP call from its request and response parts.
fn call(
    path: &str,
    asks: &[(&str, &str)],
    body: &str,
    gives: &[(&str, &str)],
    answer: &str,
) -> Exchange {
    let fields = |all: &[(&str, &str)]| -> Vec<(String, Vec<u8>)> {
        all.iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
            .collect()
    };
    let request = HttpRequest {
        version: HttpVersion::Http11,
        method: "POST".to_owned(),
        scheme: "https".to_owned(),
        authority: "a".to_owned(),
        path: path.to_owned(),
        headers: fields(asks),
        body: body.as_bytes().to_vec(),
    };
    let response = HttpResponse {
        version: HttpVersion::Http11,
        status: 200,
        reason: String::new(),
        headers: fields(gives),
        body: answer.as_bytes().to_vec(),
        ..HttpResponse::default()
    };
    of(Content::Http(Box::new(Http {
        request,
        response: Some(response),
    })))
}

fn of(content: Content) -> Exchange {
    Exchange {
        target: Target {
            host: "a".to_owned(),
            port: 443,
        },
        tls: true,
        connection: 1,
        sent_at: SystemTime::UNIX_EPOCH,
        answered_at: SystemTime::UNIX_EPOCH,
        end: End::Answered,
        content,
    }
}

/// Builds a database call from messages and their senders.
fn wire(protocol: Protocol, is_session: bool, messages: &[(Side, &[u8])]) -> Exchange {
    let messages = messages
        .iter()
        .map(|(from, bytes)| Message {
            from: *from,
            bytes: bytes.to_vec(),
        })
        .collect();
    of(Content::Wire(
        protocol,
        Wire {
            messages,
            session: is_session,
            ..Wire::default()
        },
    ))
}

/// Returns the redacted call. Asserts that a second pass changes nothing, and that a lookup redacts
/// like a recording.
fn redacted(secrets: &Secrets, call: &Exchange) -> Exchange {
    let mut once = vec![call.clone()];
    secrets.calls(&mut once);
    let mut twice = once.clone();
    secrets.calls(&mut twice);
    assert_eq!(twice, once, "a second time changes something");
    let once = once.remove(0);
    assert_eq!(
        secrets.redact_request(call),
        Secrets::default().redact_request(&once),
        "what is asked is not what was recorded"
    );
    once
}

/// Returns the parts of a call as texts: path, fields and bodies of HTTP, else messages.
fn parts(call: &Exchange) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match &call.content {
        Content::Http(http) | Content::Grpc(http) => {
            let answer = http.response.as_ref().unwrap();
            let mut all = vec![http.request.path.clone()];
            all.extend(http.request.headers.iter().map(|(_, value)| text(value)));
            all.push(text(&http.request.body));
            all.extend(answer.headers.iter().map(|(_, value)| text(value)));
            all.push(text(&answer.body));
            all
        }
        Content::Wire(_, wire) => wire
            .messages
            .iter()
            .map(|message| text(&message.bytes))
            .collect(),
        Content::Dns(_) => Vec::new(),
    }
}

fn query(text: &str) -> Vec<u8> {
    [
        b"Q",
        &(text.len() as u32 + 5).to_be_bytes()[..],
        text.as_bytes(),
        b"\0",
    ]
    .concat()
}

fn com_query(text: &str) -> Vec<u8> {
    [
        &(text.len() as u32 + 1).to_le_bytes()[..3],
        &[0, 3],
        text.as_bytes(),
    ]
    .concat()
}

fn resp(words: &[&str]) -> Vec<u8> {
    let of = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
    format!(
        "*{}\r\n{}",
        words.len(),
        words.iter().map(of).collect::<String>()
    )
    .into_bytes()
}

/// Builds an `OP_MSG` with one document.
fn op_msg(document: &[u8]) -> Vec<u8> {
    let length = (document.len() as u32 + 21).to_le_bytes();
    [
        &length[..],
        &[1, 0, 0, 0, 0, 0, 0, 0],
        &2013_u32.to_le_bytes(),
        &[0, 0, 0, 0, 0],
        document,
    ]
    .concat()
}

/// Builds a document of string elements.
fn bson(elements: &[(&str, &str)]) -> Vec<u8> {
    let mut inside = Vec::new();
    for (name, text) in elements {
        inside.push(2);
        inside.extend_from_slice(&[name.as_bytes(), b"\0"].concat());
        inside.extend((text.len() as u32 + 1).to_le_bytes());
        inside.extend_from_slice(&[text.as_bytes(), b"\0"].concat());
    }
    [&(inside.len() as u32 + 5).to_le_bytes()[..], &inside, b"\0"].concat()
}

#[test]
fn test_name_is_redacted_like_other_text() {
    let environment = [("API_KEY".to_owned(), "Zq7xW2mK9vB4".to_owned())];
    let secrets = Secrets::new(environment.into_iter(), &["/ACME-[0-9]{4}/".to_owned()]).unwrap();
    let key = "AKIAIOSFODNN7EXAMPLE";
    let name = format!("test_pay[{key} Zq7xW2mK9vB4 ACME-1234]");
    let redacted = secrets.name(&name);
    assert_eq!(redacted.len(), name.len());
    for secret in [key, "Zq7xW2mK9vB4", "ACME-1234"] {
        assert!(!redacted.contains(secret), "{redacted}");
    }
    assert_eq!(secrets.name(&redacted), redacted);
    assert_eq!(secrets.name("test_pay[card]"), "test_pay[card]");
}
