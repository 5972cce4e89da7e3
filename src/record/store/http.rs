//! HTTP calls in Keploy's layout.

use std::time::UNIX_EPOCH;

use serde_json::Value;

use super::bodies::is_large;
use super::metadata::{Metadata, Spec, key};
use super::node::{Members, Node};
use super::{BodyFiles, Fault, Problem};
use crate::call::{BodyEnd, Content, Exchange, Http, HttpRequest, HttpResponse, HttpVersion};

pub(super) type Headers = Vec<(String, Vec<u8>)>;

pub(super) const BODY_ENDS: [(&str, BodyEnd); 2] = [
    ("truncated", BodyEnd::Truncated),
    ("cut off by the client", BodyEnd::CutOff),
];

pub(super) fn kind(http: &Http) -> &'static str {
    if http.request.version == HttpVersion::Http2 {
        "Http2"
    } else {
        "Http"
    }
}

/// Returns the `spec` of a call, without metadata and times.
pub(super) fn write(
    http: &Http,
    exchange: &Exchange,
    metadata: &mut Metadata,
    apart: &mut BodyFiles,
) -> Members {
    let (request, answer) = (&http.request, http.response.as_ref());
    let is_http2 = kind(http) == "Http2";
    if !is_http2 {
        if request.scheme != scheme(exchange.tls) {
            metadata.add(key::SCHEME, request.scheme.as_str());
        }
        if host(&request.headers) != request.authority {
            metadata.add(key::AUTHORITY, request.authority.as_str());
        }
    }
    let headers = if is_http2 { "headers" } else { "header" };
    let mut req = Members::default();
    req.put("method", &request.method);
    if !is_http2 {
        put_version(&mut req, request.version);
    }
    req.put("url", &request.path);
    if is_http2 {
        req.put("authority", &request.authority);
        req.put("scheme", &request.scheme);
    }
    req.put(
        headers,
        to_map(&request.headers, key::REQUEST_HEADERS, metadata),
    );
    put_body(&mut req, &request.body, apart);
    req.put("timestamp", exchange.sent_at);

    let mut resp = Members::default();
    resp.put("status_code", answer.map_or(0, |it| u64::from(it.status)));
    let nothing = Headers::new();
    resp.put(
        headers,
        to_map(
            answer.map_or(&nothing, |it| &it.headers),
            key::RESPONSE_HEADERS,
            metadata,
        ),
    );
    put_body(&mut resp, answer.map_or(&[], |it| &it.body), apart);
    put_body_form(answer, metadata);
    let trailers = answer.map_or(&nothing, |it| &it.trailers);
    if is_http2 {
        if !trailers.is_empty() {
            resp.put(
                "trailers",
                to_map(trailers, key::RESPONSE_TRAILERS, metadata),
            );
        }
    } else {
        if !trailers.is_empty() {
            metadata.add(key::RESPONSE_TRAILERS, to_json(trailers));
        }
        resp.put("status_message", answer.map_or("", |it| &it.reason));
        put_version(&mut resp, answer.map_or(request.version, |it| it.version));
    }
    resp.put("timestamp", exchange.answered_at);

    let mut parts = Members::from_iter([("req", req), ("resp", resp)]);
    if !is_http2 {
        parts.put("objects", Vec::<Node>::new());
    }
    parts.put("created", created(exchange));
    parts
}

/// Returns the time of the call in seconds since 1970.
pub(super) fn created(exchange: &Exchange) -> u64 {
    exchange
        .sent_at
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

pub(super) fn read(part: &Spec<'_>, kind: &str) -> Result<Content, Problem> {
    let (metadata, headers) = (
        part.metadata,
        if kind == "Http2" { "headers" } else { "header" },
    );
    let request = part.node.need("req", |req| {
        let fields = from_map(req, headers, key::REQUEST_HEADERS, metadata)?;
        let url = req.need("url", Node::text)?;
        // Some older files have the whole URL.
        let (scheme, authority, path) = match url.split_once("://") {
            Some((scheme @ ("http" | "https"), rest)) => {
                let at = rest.find(['/', '?']).unwrap_or(rest.len());
                let separator = if rest[at..].starts_with('/') { "" } else { "/" };
                (
                    Some(scheme.to_owned()),
                    Some(rest[..at].to_owned()),
                    format!("{separator}{}", &rest[at..]),
                )
            }
            _ => (None, None, url),
        };
        let scheme = metadata
            .get(key::SCHEME)
            .map(str::to_owned)
            .or(scheme)
            .or(req.find("scheme", Node::text)?);
        let authority = authority.or(metadata.get(key::AUTHORITY).map(str::to_owned));
        let authority = authority.or(req.find("authority", Node::text)?);
        Ok(HttpRequest {
            version: version(req, kind)?,
            method: req.need("method", Node::text)?,
            scheme: scheme
                .unwrap_or_else(|| self::scheme(metadata.get(key::TLS) == Some("true")).to_owned()),
            authority: authority.unwrap_or_else(|| host(&fields)),
            path,
            headers: fields,
            body: body(part, req)?,
        })
    })?;
    let response = part.node.need("resp", |resp| {
        let status = resp.need("status_code", |code| {
            status(code, metadata.is_ours() && is_empty_response(resp))
        })?;
        if status == 0 {
            return Ok(None);
        }
        resp.find("body_skipped", |word| {
            let problem = || {
                Problem::of(
                    Fault::Body,
                    "the body was too large and was not recorded".to_owned(),
                )
            };
            if word.text()? == "true" {
                Err(problem())
            } else {
                Ok(())
            }
        })?;
        Ok(Some(HttpResponse {
            version: version(resp, kind)?,
            status,
            reason: resp.get("status_message", Node::text)?,
            headers: from_map(resp, headers, key::RESPONSE_HEADERS, metadata)?,
            body: body(part, resp)?,
            body_end: part.node.get("metadata", body_end)?,
            is_coded: metadata.is_true(key::CODED),
            trailers: from_map(resp, "trailers", key::RESPONSE_TRAILERS, metadata)?,
        }))
    })?;
    Ok(Content::Http(Box::new(Http { request, response })))
}

/// Reads a status code; 0 means that the call was not answered.
pub(super) fn status(code: &Node, may_be_none: bool) -> Result<u16, Problem> {
    match code.number()? {
        0 if may_be_none => Ok(0),
        status if (100..=999).contains(&status) => Ok(status),
        _ => Err(code.expected("a status code from 100 to 999")),
    }
}

fn is_empty_response(resp: &Node) -> bool {
    ["header", "headers", "body", "body_ref"]
        .iter()
        .all(|key| resp.member(key).is_none_or(Node::is_empty))
}

fn scheme(is_tls: bool) -> &'static str {
    if is_tls { "https" } else { "http" }
}

fn host(headers: &[(String, Vec<u8>)]) -> String {
    let value = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"));
    value
        .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        .unwrap_or_default()
}

fn put_body(side: &mut Members, body: &[u8], apart: &mut BodyFiles) {
    if is_large(body.len()) {
        side.put("body", "");
        side.put("body_ref", apart.put(body.to_vec()));
    } else {
        side.put("body", body);
    }
}

/// Adds the end and the coding of a response body to the metadata.
pub(super) fn put_body_form(answer: Option<&HttpResponse>, metadata: &mut Metadata) {
    let Some(answer) = answer else { return };
    if let Some((word, _)) = BODY_ENDS.iter().find(|(_, end)| *end == answer.body_end) {
        metadata.add(key::BODY_END, *word);
    }
    if answer.is_coded {
        metadata.add(key::CODED, "true");
    }
}

pub(super) fn body_end(metadata: &Node) -> Result<BodyEnd, Problem> {
    metadata.get(key::BODY_END, |word| {
        let text = word.text()?;
        let known = BODY_ENDS.iter().find(|(known, _)| *known == text);
        known
            .map(|(_, end)| *end)
            .ok_or_else(|| word.expected("`truncated` or `cut off by the client`"))
    })
}

fn body(part: &Spec<'_>, side: &Node) -> Result<Vec<u8>, Problem> {
    match separate_body(part, side)? {
        Some(body) => Ok(body),
        None => side.get("body", Node::bytes),
    }
}

pub(super) fn separate_body(part: &Spec<'_>, side: &Node) -> Result<Option<Vec<u8>>, Problem> {
    side.get("body_ref", |reference| reference.load_body(part.bodies))
}

fn put_version(side: &mut Members, version: HttpVersion) {
    let (major, minor) = match version {
        HttpVersion::Http10 => (1_u64, 0_u64),
        HttpVersion::Http11 => (1, 1),
        HttpVersion::Http2 => (2, 0),
    };
    side.put("proto_major", major);
    side.put("proto_minor", minor);
}

fn version(side: &Node, kind: &str) -> Result<HttpVersion, Problem> {
    let numbers: (u8, u8) = (
        side.get("proto_major", Node::number)?,
        side.get("proto_minor", Node::number)?,
    );
    Ok(match numbers {
        _ if kind == "Http2" => HttpVersion::Http2,
        (2, _) => HttpVersion::Http2,
        (1, 0) => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    })
}

/// Converts fields to a mapping. Repeated fields are joined by commas, as Keploy does. Since that
/// breaks cookies, the original fields are then added to the metadata.
pub(super) fn to_map(fields: &Headers, name: &str, metadata: &mut Metadata) -> Members {
    let mut map = Headers::new();
    for (field, value) in fields {
        if let Some((_, known)) = map.iter_mut().find(|(known, _)| known == field) {
            known.push(b',');
            known.extend_from_slice(value);
        } else {
            map.push((field.clone(), value.clone()));
        }
    }
    if map.len() < fields.len() {
        metadata.add(name, to_json(fields));
    }
    map.iter()
        .map(|(field, value)| (field, value.as_slice()))
        .collect()
}

/// Reads the fields under a key, or those in the metadata.
pub(super) fn from_map(
    side: &Node,
    key: &str,
    name: &str,
    metadata: &Metadata,
) -> Result<Headers, Problem> {
    match metadata.get(name) {
        Some(json) => from_json(json).ok_or_else(|| {
            let message = "expected pairs of name and value as JSON".to_owned();
            Problem::new(0, message)
                .inside(name, 0)
                .inside("metadata", 0)
        }),
        None => side.get(key, |fields| fields.pairs(Node::bytes)),
    }
}

/// Converts fields to JSON pairs; each byte of a value becomes the character of that number (field
/// values are bytes, RFC 9110, 5.5).
fn to_json(fields: &Headers) -> String {
    let pairs = fields.iter().map(|(field, value)| {
        let value: String = value.iter().copied().map(char::from).collect();
        Value::from(vec![Value::from(field.as_str()), Value::from(value)])
    });
    Value::Array(pairs.collect()).to_string()
}

fn from_json(json: &str) -> Option<Headers> {
    let pairs: Vec<(String, String)> = serde_json::from_str(json).ok()?;
    let bytes = |value: String| {
        value
            .chars()
            .map(|c| u8::try_from(u32::from(c)).ok())
            .collect::<Option<Vec<u8>>>()
    };
    pairs
        .into_iter()
        .map(|(field, value)| Some((field, bytes(value)?)))
        .collect()
}
