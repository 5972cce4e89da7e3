//! HTTP.

use serde_json::Value;

use super::super::document::Spec;
use super::super::kinds::{BodyRef, Http2Req, Http2Resp, Http2Spec, HttpReq, HttpResp, HttpSpec};
use super::super::values::{Blob, Ordered};
use super::super::{Problem, apart};
use super::{Base, Bodies, Part, is_ours, key};
use crate::record::exchange::{Content, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Target};

type Fields = Vec<(String, Vec<u8>)>;

/// The document of a call: `Http2` where both sides spoke it.
pub(super) fn to_spec(mut base: Base, http: &Http, exchange: &Exchange) -> Spec {
    let request = &http.request;
    let is_http2 = is_http2(http);
    let name = if is_http2 { "Http2" } else { "Http" };
    let mut metadata = base.metadata(&[("name", name), (key::TYPE, "HTTP_CLIENT"), ("operation", &request.method)]);
    if !is_http2 {
        if request.scheme != scheme(exchange.tls) {
            metadata.add(key::SCHEME, request.scheme.as_str());
        }
        if host(&request.headers) != request.authority {
            metadata.add(key::AUTHORITY, request.authority.as_str());
        }
    }
    let header = to_map(&request.headers, key::REQUEST_HEADERS, &mut metadata);
    let answer = http.response.as_ref();
    let no_fields = Vec::new();
    let fields = answer.map_or(&no_fields, |it| &it.headers);
    let resp_header = to_map(fields, key::RESPONSE_HEADERS, &mut metadata);
    let trailers = answer.map_or(&no_fields, |it| &it.trailers);
    if is_http2 {
        let trailers = to_map(trailers, key::RESPONSE_TRAILERS, &mut metadata);
        return Spec::Http2(Box::new(Http2Spec {
            metadata,
            req: Http2Req {
                method: request.method.clone(),
                url: request.path.clone(),
                authority: request.authority.clone(),
                scheme: request.scheme.clone(),
                headers: header,
                body: Blob(request.body.clone()),
                timestamp: base.sent,
                ..Http2Req::default()
            },
            resp: Http2Resp {
                status_code: answer.map_or(0, |it| it.status),
                headers: resp_header,
                body: Blob(answer.map_or_else(Vec::new, |it| it.body.clone())),
                trailers,
                timestamp: base.answered,
                ..Http2Resp::default()
            },
            created: base.created,
            sent: base.sent,
            answered: base.answered,
            ..Http2Spec::default()
        }));
    }
    if !trailers.is_empty() {
        metadata.add(key::RESPONSE_TRAILERS, to_json(trailers));
    }
    let (proto_major, proto_minor) = numbers(request.version);
    let (answer_major, answer_minor) = numbers(answer.map_or(request.version, |it| it.version));
    Spec::Http(Box::new(HttpSpec {
        metadata,
        req: HttpReq {
            method: request.method.clone(),
            proto_major,
            proto_minor,
            url: request.path.clone(),
            header,
            body: Blob(request.body.clone()),
            timestamp: base.sent,
            ..HttpReq::default()
        },
        resp: HttpResp {
            status_code: answer.map_or(0, |it| it.status),
            header: resp_header,
            body: Blob(answer.map_or_else(Vec::new, |it| it.body.clone())),
            status_message: answer.map_or_else(String::new, |it| it.reason.clone()),
            proto_major: answer_major,
            proto_minor: answer_minor,
            timestamp: base.answered,
            ..HttpResp::default()
        },
        created: base.created,
        sent: base.sent,
        answered: base.answered,
        ..HttpSpec::default()
    }))
}

/// Whether both sides spoke HTTP/2.
pub(in crate::record::files) fn is_http2(http: &Http) -> bool {
    let both = http.response.as_ref().is_none_or(|it| it.version == HttpVersion::Http2 && it.reason.is_empty());
    http.request.version == HttpVersion::Http2 && both
}

pub(super) fn from_http(spec: &HttpSpec, bodies: Bodies<'_>) -> Result<Part, Problem> {
    let (req, resp) = (&spec.req, &spec.resp);
    let headers = from_map(&req.header, key::REQUEST_HEADERS, &spec.metadata)?;
    let mut authority = spec.metadata.get(key::AUTHORITY).cloned().unwrap_or_else(|| host(&headers));
    let mut path = req.url.clone();
    let mut url_scheme = None;
    // Some older files have the whole URL.
    if let Some((before, rest)) = req.url.split_once("://")
        && (before == "http" || before == "https")
    {
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let separator = if rest[at..].starts_with('/') { "" } else { "/" };
        path = format!("{separator}{}", &rest[at..]);
        rest[..at].clone_into(&mut authority);
        url_scheme = Some(before.to_owned());
    }
    let request_body = body(&req.body, req.body_ref.as_ref(), false, bodies, "req")?;
    let response = if resp.status_code == 0 {
        None
    } else {
        Some(HttpResponse {
            version: version(resp.proto_major, resp.proto_minor),
            status: resp.status_code,
            reason: resp.status_message.clone(),
            headers: from_map(&resp.header, key::RESPONSE_HEADERS, &spec.metadata)?,
            body: body(&resp.body, resp.body_ref.as_ref(), resp.body_skipped, bodies, "resp")?,
            trailers: from_map(&Ordered::default(), key::RESPONSE_TRAILERS, &spec.metadata)?,
        })
    };
    let content = |scheme| {
        let request = HttpRequest {
            version: version(req.proto_major, req.proto_minor),
            method: req.method.clone(),
            scheme,
            authority: authority.clone(),
            path,
            headers,
            body: request_body,
        };
        Content::Http(Box::new(Http { request, response }))
    };
    let sent = spec.sent.or(req.timestamp);
    let answered = spec.answered.or(resp.timestamp);
    let is_tls = spec.metadata.get(key::TLS).is_some_and(|word| word == "true")
        || !is_ours(&spec.metadata) && url_scheme.as_deref() == Some("https");
    let scheme = spec.metadata.get(key::SCHEME).cloned().or(url_scheme).unwrap_or_else(|| scheme(is_tls).to_owned());
    let mut part = Part::new(&spec.metadata, sent, answered, content(scheme));
    part.tls = is_tls;
    if !is_ours(&spec.metadata) {
        part.target = Target::of_authority(&authority);
    }
    Ok(part)
}

pub(super) fn from_http2(spec: &Http2Spec) -> Result<Part, Problem> {
    let (req, resp) = (&spec.req, &spec.resp);
    let response = if resp.status_code == 0 {
        None
    } else {
        Some(HttpResponse {
            version: HttpVersion::Http2,
            status: resp.status_code,
            reason: String::new(),
            headers: from_map(&resp.headers, key::RESPONSE_HEADERS, &spec.metadata)?,
            body: resp.body.0.clone(),
            trailers: from_map(&resp.trailers, key::RESPONSE_TRAILERS, &spec.metadata)?,
        })
    };
    let request = HttpRequest {
        version: HttpVersion::Http2,
        method: req.method.clone(),
        scheme: req.scheme.clone(),
        authority: req.authority.clone(),
        path: req.url.clone(),
        headers: from_map(&req.headers, key::REQUEST_HEADERS, &spec.metadata)?,
        body: req.body.0.clone(),
    };
    let content = Content::Http(Box::new(Http { request, response }));
    let sent = spec.sent.or(req.timestamp);
    let mut part = Part::new(&spec.metadata, sent, spec.answered.or(resp.timestamp), content);
    if !is_ours(&spec.metadata) {
        part.target = Target::of_authority(&req.authority);
        part.tls = req.scheme == "https";
    }
    Ok(part)
}

fn scheme(is_tls: bool) -> &'static str {
    if is_tls { "https" } else { "http" }
}

fn host(headers: &[(String, Vec<u8>)]) -> String {
    let value = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    value.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}

/// The body from where it is. Fails when it is nowhere.
fn body(
    inline: &Blob,
    reference: Option<&BodyRef>,
    is_skipped: bool,
    bodies: Bodies<'_>,
    side: &str,
) -> Result<Vec<u8>, Problem> {
    let is_nothing = |reference: &&BodyRef| reference.path.is_empty() && reference.size == 0;
    match reference.filter(|reference| !is_nothing(reference)) {
        Some(BodyRef { path, size }) if path.is_empty() => {
            let message = format!("expected the path of a body of {size} bytes, got ``");
            Err(Problem::new(0, message).inside("path", 0).inside("body_ref", 0).inside(side, 0))
        }
        Some(reference) => apart::look_up(reference, bodies)
            .map_err(|message| Problem::new(0, message).inside("body_ref", 0).inside(side, 0)),
        None if is_skipped => Err(Problem::new(0, "the body was too large and was not recorded".to_owned())
            .inside("body_skipped", 0)
            .inside(side, 0)),
        None => Ok(inline.0.clone()),
    }
}

fn numbers(version: HttpVersion) -> (u8, u8) {
    match version {
        HttpVersion::Http10 => (1, 0),
        HttpVersion::Http11 => (1, 1),
        HttpVersion::Http2 => (2, 0),
    }
}

fn version(major: u8, minor: u8) -> HttpVersion {
    match (major, minor) {
        (2, _) => HttpVersion::Http2,
        (1, 0) => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    }
}

/// Fields as a mapping. Those that came more than once are joined by commas as Keploy does, which a cookie does not
/// survive, so the true ones then stand in the metadata.
pub(super) fn to_map(fields: &Fields, name: &str, metadata: &mut Ordered<String>) -> Ordered<Blob> {
    let mut map: Ordered<Blob> = Ordered::default();
    let mut joined = false;
    for (field, value) in fields {
        if let Some((_, known)) = map.0.iter_mut().find(|(known, _)| known == field) {
            known.0.push(b',');
            known.0.extend_from_slice(value);
            joined = true;
        } else {
            map.0.push((field.clone(), Blob(value.clone())));
        }
    }
    if joined {
        metadata.add(name, to_json(fields));
    }
    map
}

pub(super) fn from_map(map: &Ordered<Blob>, name: &str, metadata: &Ordered<String>) -> Result<Fields, Problem> {
    match metadata.get(name) {
        Some(json) => from_json(json).ok_or_else(|| {
            let message = "expected pairs of name and value as JSON".to_owned();
            Problem::new(0, message).inside(name, 0).inside("metadata", 0)
        }),
        None => Ok(map.0.iter().map(|(field, value)| (field.clone(), value.0.clone())).collect()),
    }
}

/// Pairs; a byte of a value is the character of that number (field values are bytes, RFC 9110, 5.5).
fn to_json(fields: &Fields) -> String {
    let pairs = fields.iter().map(|(field, value)| {
        let value: String = value.iter().copied().map(char::from).collect();
        Value::from(vec![Value::from(field.as_str()), Value::from(value)])
    });
    Value::Array(pairs.collect()).to_string()
}

fn from_json(json: &str) -> Option<Fields> {
    let pairs: Vec<(String, String)> = serde_json::from_str(json).ok()?;
    let bytes = |value: String| value.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<Vec<u8>>>();
    pairs.into_iter().map(|(field, value)| Some((field, bytes(value)?))).collect()
}
