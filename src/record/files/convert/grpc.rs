//! gRPC: bodies are length-prefixed messages (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).

use super::super::Problem;
use super::super::kinds::{GrpcBody, GrpcHeaders, GrpcSide, GrpcSpec};
use super::super::protoscope;
use super::super::values::{Ordered, Raw};
use super::http::{from_map, to_map};
use super::{Base, Part, is_ours, key};
use crate::record::exchange::{Content, Http, HttpRequest, HttpResponse, HttpVersion, Target};

/// Flag and length before each message.
const PREFIX_BYTES: usize = 5;

pub(super) fn to_spec(mut base: Base, http: &Http) -> GrpcSpec {
    let request = &http.request;
    let mut metadata = base.metadata(&[("name", "gRPC"), (key::TYPE, "gRPC_CLIENT")]);
    if request.version != HttpVersion::Http2 {
        metadata.add(key::VERSION, if request.version == HttpVersion::Http10 { "1.0" } else { "1.1" });
    }
    let mut pseudo = Ordered::default();
    for (name, value) in [
        (":authority", &request.authority),
        (":method", &request.method),
        (":path", &request.path),
        (":scheme", &request.scheme),
    ] {
        pseudo.add(name, value.as_str());
    }
    let ordinary_headers = to_map(&request.headers, key::REQUEST_HEADERS, &mut metadata);
    let mut req = side(&request.body);
    req.headers = GrpcHeaders { pseudo_headers: pseudo, ordinary_headers };
    req.timestamp = base.sent;
    let mut resp = GrpcSide::default();
    if let Some(response) = &http.response {
        resp = side(&response.body);
        let mut pseudo = Ordered::default();
        pseudo.add(":status", response.status.to_string());
        let ordinary_headers = to_map(&response.headers, key::RESPONSE_HEADERS, &mut metadata);
        resp.headers = GrpcHeaders { pseudo_headers: pseudo, ordinary_headers };
        let ordinary_headers = to_map(&response.trailers, key::RESPONSE_TRAILERS, &mut metadata);
        resp.trailers = Some(GrpcHeaders { pseudo_headers: Ordered::default(), ordinary_headers });
    }
    resp.timestamp = base.answered;
    GrpcSpec {
        metadata,
        req,
        resp,
        created: base.created,
        sent: base.sent,
        answered: base.answered,
        ..GrpcSpec::default()
    }
}

pub(super) fn from_spec(spec: &GrpcSpec) -> Result<Part, Problem> {
    let pseudo = |name: &str| spec.req.headers.pseudo_headers.get(name).cloned().unwrap_or_default();
    let authority = pseudo(":authority");
    let version = match spec.metadata.get(key::VERSION).map(String::as_str) {
        Some("1.0") => HttpVersion::Http10,
        Some(_) => HttpVersion::Http11,
        None => HttpVersion::Http2,
    };
    let request = HttpRequest {
        version,
        method: pseudo(":method"),
        scheme: pseudo(":scheme"),
        authority: authority.clone(),
        path: pseudo(":path"),
        headers: from_map(&spec.req.headers.ordinary_headers, key::REQUEST_HEADERS, &spec.metadata)?,
        body: body(&spec.req).map_err(|problem| problem.inside("grpcReq", 0))?,
    };
    let response = match spec.resp.headers.pseudo_headers.get(":status") {
        None => None,
        Some(status) => {
            let no_fields = Ordered::default();
            let trailers = spec.resp.trailers.as_ref().map_or(&no_fields, |it| &it.ordinary_headers);
            let number = status.parse().map_err(|_| {
                let message = format!("expected a number, got `{}`", status.escape_debug());
                Problem::new(0, message).inside(":status", 0).inside("grpcResp.headers.pseudo_headers", 0)
            })?;
            Some(HttpResponse {
                version,
                status: number,
                reason: String::new(),
                headers: from_map(&spec.resp.headers.ordinary_headers, key::RESPONSE_HEADERS, &spec.metadata)?,
                body: body(&spec.resp).map_err(|problem| problem.inside("grpcResp", 0))?,
                trailers: from_map(trailers, key::RESPONSE_TRAILERS, &spec.metadata)?,
            })
        }
    };
    let content = Content::Grpc(Box::new(Http { request, response }));
    let sent = spec.sent.or(spec.req.timestamp);
    let mut part = Part::new(&spec.metadata, sent, spec.answered.or(spec.resp.timestamp), content);
    if !is_ours(&spec.metadata) {
        part.target = Target::of_authority(&authority);
        part.tls = spec.req.headers.pseudo_headers.get(":scheme").is_some_and(|scheme| scheme == "https");
    }
    Ok(part)
}

/// The first message of a body, and the whole where that is not all.
fn side(body: &[u8]) -> GrpcSide {
    let mut side = GrpcSide::default();
    let mut rest = body.len();
    if let Some((prefix, after)) = body.split_at_checked(PREFIX_BYTES) {
        let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]);
        if let Some(message) = after.get(..length as usize) {
            side.body = GrpcBody {
                compression_flag: prefix[0],
                message_length: length,
                decoded_data: protoscope::write(message),
            };
            rest = after.len() - message.len();
        }
    }
    if rest > 0 || body.is_empty() {
        side.raw = Some(Raw(body.to_vec()));
    }
    side
}

fn body(side: &GrpcSide) -> Result<Vec<u8>, Problem> {
    if let Some(Raw(raw)) = &side.raw {
        return Ok(raw.clone());
    }
    let message = protoscope::read(&side.body.decoded_data)
        .map_err(|reason| Problem::new(0, reason).inside("decoded_data", 0).inside("body", 0))?;
    // The length follows from the text; the field only says what it was.
    let mut bytes = vec![side.body.compression_flag];
    bytes.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend_from_slice(&message);
    Ok(bytes)
}
