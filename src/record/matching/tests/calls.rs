//! Builders of calls and books.

use std::time::SystemTime;

use super::*;
use crate::call::{End, Http, HttpRequest, HttpResponse, HttpVersion, Message, Side, Wire};
use crate::redact::Secrets;

pub(super) const JSON: &str = "application/json";

pub(super) fn exchange(host: &str, port: u16, content: Content) -> Exchange {
    let at = SystemTime::UNIX_EPOCH;
    Exchange {
        target: Target {
            host: host.to_owned(),
            port,
        },
        tls: false,
        connection: 0,
        sent_at: at,
        answered_at: at,
        end: End::Answered,
        content,
    }
}

pub(super) fn request(method: &str, path: &str, media_type: &str, body: &str) -> Exchange {
    let headers = if media_type.is_empty() {
        vec![]
    } else {
        vec![("Content-Type".to_owned(), media_type.into())]
    };
    let request = HttpRequest {
        version: HttpVersion::Http11,
        method: method.to_owned(),
        scheme: "http".to_owned(),
        authority: "shop:80".to_owned(),
        path: path.to_owned(),
        headers,
        body: body.as_bytes().to_vec(),
    };
    exchange(
        "shop",
        80,
        Content::Http(Box::new(Http {
            request,
            response: None,
        })),
    )
}

pub(super) fn post(body: &str) -> Exchange {
    request("POST", "/orders", JSON, body)
}

pub(super) fn get(path: &str) -> Exchange {
    request("GET", path, "", "")
}

pub(super) fn http(exchange: &mut Exchange) -> &mut Http {
    match &mut exchange.content {
        Content::Http(http) => http,
        other => panic!("{other:?}"),
    }
}

pub(super) fn answered(mut exchange: Exchange, answer: &str) -> Exchange {
    http(&mut exchange).response = Some(HttpResponse {
        version: HttpVersion::Http11,
        status: 200,
        reason: "OK".to_owned(),
        body: answer.as_bytes().to_vec(),
        ..HttpResponse::default()
    });
    exchange
}

pub(super) fn wire(protocol: Protocol, asked: &[u8], answer: &[u8], session: bool) -> Exchange {
    let mut wire = Wire {
        session,
        ..Wire::asking([asked.to_vec()])
    };
    if !answer.is_empty() {
        wire.messages.push(Message {
            from: Side::Server,
            bytes: answer.to_vec(),
        });
    }
    exchange("db", 5432, Content::Wire(protocol, wire))
}

/// Returns the body of the answer, or the text of the miss.
pub(super) fn ask(book: &Recordings, asked: &Exchange) -> Result<String, String> {
    let found = book.find(asked).map_err(|miss| miss.to_string())?;
    let bytes = match &found.content {
        Content::Http(http) => http.response.as_ref().unwrap().body.clone(),
        Content::Dns(dns) => dns.answers.concat().into_bytes(),
        Content::Wire(_, wire) => wire.messages.last().unwrap().bytes.clone(),
        Content::Grpc(_) => panic!("no gRPC here"),
    };
    Ok(String::from_utf8(bytes).unwrap())
}

pub(super) fn learned(fields: &[&str]) -> DeclaredNoise {
    DeclaredNoise {
        fields: fields.iter().map(|it| (*it).to_owned()).collect(),
        ..DeclaredNoise::default()
    }
}

/// Returns `GET /me` with these fields.
pub(super) fn me(fields: &[(&str, &str)], answer: &str) -> Exchange {
    let mut call = answered(get("/me"), answer);
    let fields = fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
    http(&mut call).request.headers.extend(fields);
    call
}

/// Returns a book of these calls as they are stored.
pub(super) fn redacted_book(mut calls: Vec<Exchange>) -> Recordings {
    Secrets::default().calls(&mut calls);
    Recordings::new(calls, Noise::default())
}
