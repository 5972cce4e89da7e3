//! gRPC calls in Keploy's layout: bodies are length-prefixed messages
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).

use super::bodies::is_large;
use super::http::{
    Headers, body_end, created, from_map, put_body_form, separate_body, status, to_map,
};
use super::metadata::{Metadata, Spec, key};
use super::node::{Members, Node};
use super::{BodyFiles, Problem, protoscope};
use crate::call::{Content, Exchange, Http, HttpRequest, HttpResponse, HttpVersion};

pub(super) fn write(
    http: &Http,
    exchange: &Exchange,
    metadata: &mut Metadata,
    apart: &mut BodyFiles,
) -> Members {
    let request = &http.request;
    match request.version {
        HttpVersion::Http10 => metadata.add(key::VERSION, "1.0"),
        HttpVersion::Http11 => metadata.add(key::VERSION, "1.1"),
        HttpVersion::Http2 => {}
    }
    let pseudo = [
        (":authority", &request.authority),
        (":method", &request.method),
        (":path", &request.path),
        (":scheme", &request.scheme),
    ];
    let fields = to_map(&request.headers, key::REQUEST_HEADERS, metadata);
    let mut req = side(headers(&pseudo, fields), &request.body, apart);
    req.put("timestamp", exchange.sent_at);
    let answer = http.response.as_ref();
    let status = answer.map(|it| it.status.to_string());
    let pseudo: Vec<_> = status.iter().map(|status| (":status", status)).collect();
    let (no_fields, no_body) = (Headers::new(), Vec::new());
    let fields = to_map(
        answer.map_or(&no_fields, |it| &it.headers),
        key::RESPONSE_HEADERS,
        metadata,
    );
    let mut resp = side(
        headers(&pseudo, fields),
        answer.map_or(&no_body, |it| &it.body),
        apart,
    );
    put_body_form(answer, metadata);
    if let Some(answer) = answer {
        resp.put(
            "trailers",
            headers(
                &[],
                to_map(&answer.trailers, key::RESPONSE_TRAILERS, metadata),
            ),
        );
    }
    resp.put("timestamp", exchange.answered_at);
    let mut parts = Members::from_iter([("grpcReq", req), ("grpcResp", resp)]);
    parts.put("created", created(exchange));
    parts
}

fn headers(pseudo: &[(&str, &String)], fields: Members) -> Members {
    let pseudo: Members = pseudo.iter().copied().collect();
    Members::from_iter([("pseudo_headers", pseudo), ("ordinary_headers", fields)])
}

/// Writes the first message of a body, and the whole body if it has more.
fn side(headers: Members, body: &[u8], apart: &mut BodyFiles) -> Members {
    let (mut flag, mut message, mut rest) = (0, &[][..], body.len());
    if let Some(([compressed, length @ ..], after)) = body
        .split_first_chunk::<5>()
        .filter(|_| !is_large(body.len()))
        && let Some(first) = after.get(..u32::from_be_bytes(*length) as usize)
    {
        (flag, message, rest) = (*compressed, first, after.len() - first.len());
    }
    let mut decoded = Members::default();
    decoded.put("compression_flag", u64::from(flag));
    decoded.put("message_length", message.len() as u64);
    decoded.put("decoded_data", &protoscope::write(message));
    let mut side = Members::from_iter([("headers", headers), ("body", decoded)]);
    if is_large(body.len()) {
        side.put("body_ref", apart.put(body.to_vec()));
    } else if rest > 0 || body.is_empty() {
        side.put("raw", Node::base64(body));
    }
    side
}

pub(super) fn read(part: &Spec<'_>) -> Result<Content, Problem> {
    let metadata = part.metadata;
    let version = match metadata.get(key::VERSION) {
        Some("1.0") => HttpVersion::Http10,
        Some(_) => HttpVersion::Http11,
        None => HttpVersion::Http2,
    };
    let request = part.node.need("grpcReq", |req| {
        let pseudo = |name: &str| {
            req.get("headers", |headers| {
                headers.get("pseudo_headers", |pseudo| pseudo.get(name, Node::text))
            })
        };
        Ok(HttpRequest {
            version,
            method: pseudo(":method")?,
            scheme: pseudo(":scheme")?,
            authority: pseudo(":authority")?,
            path: pseudo(":path")?,
            headers: fields(req, "headers", key::REQUEST_HEADERS, metadata)?,
            body: body(part, req)?,
        })
    })?;
    let response = part.node.need("grpcResp", |resp| {
        let code = |pseudo: &Node| pseudo.find(":status", |code| status(code, false));
        let code = resp.get("headers", |headers| headers.get("pseudo_headers", code))?;
        let Some(status) = code else { return Ok(None) };
        Ok(Some(HttpResponse {
            version,
            status,
            reason: String::new(),
            headers: fields(resp, "headers", key::RESPONSE_HEADERS, metadata)?,
            body: body(part, resp)?,
            body_end: part.node.get("metadata", body_end)?,
            is_coded: metadata.is_true(key::CODED),
            trailers: fields(resp, "trailers", key::RESPONSE_TRAILERS, metadata)?,
        }))
    })?;
    Ok(Content::Grpc(Box::new(Http { request, response })))
}

fn fields(side: &Node, key: &str, name: &str, metadata: &Metadata) -> Result<Headers, Problem> {
    let nothing = Node::default();
    from_map(
        side.member(key).unwrap_or(&nothing),
        "ordinary_headers",
        name,
        metadata,
    )
}

fn body(part: &Spec<'_>, side: &Node) -> Result<Vec<u8>, Problem> {
    if let Some(body) = separate_body(part, side)? {
        return Ok(body);
    }
    if let Some(raw) = side.find("raw", Node::bytes)? {
        return Ok(raw);
    }
    let decoded =
        |data: &Node| protoscope::read(&data.text()?).map_err(|reason| Problem::new(0, reason));
    let (flag, message): (u8, Vec<u8>) = side.get("body", |body| {
        Ok((
            body.get("compression_flag", Node::number)?,
            body.get("decoded_data", decoded)?,
        ))
    })?;
    // The length follows from the text; the field is informative.
    let length = u32::try_from(message.len())
        .unwrap_or(u32::MAX)
        .to_be_bytes();
    Ok([&[flag][..], &length, &message].concat())
}
