//! Conversion between a document and its call, shared by all kinds.

use std::time::UNIX_EPOCH;

use super::metadata::{Metadata, Spec, key};
use super::node::{Members, Node};
use super::{BodyFiles, BodyLoader, Problem, databases, dns, emit, grpc, http};
use crate::call::{Content, End, Exchange, Refusal, Target};
use crate::matching::{DeclaredNoise, Recording, Worker};

pub(super) const VERSION: &str = "api.keploy.io/v1beta1";

const ENDS: [(&str, End); 3] = [
    ("abandoned", End::Abandoned),
    ("silent", End::Silent),
    ("closed", End::Closed),
];

fn end(node: &Node) -> Result<End, Problem> {
    let text = node.text()?;
    let refused = || {
        let (reason, nth) = text.strip_prefix("refused ")?.split_once(' ')?;
        Some(End::Refused(
            Refusal::from_reason(reason)?,
            nth.parse().ok()?,
        ))
    };
    let known = ENDS
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, end)| *end);
    known.or_else(refused).ok_or_else(|| {
        node.expected("`abandoned`, `silent`, `closed`, or such as `refused ECONNREFUSED 1`")
    })
}

/// Builds the metadata of a call, after the keys of its kind. The type is that of the kind unless
/// the call is reusable.
fn metadata_of(recording: &Recording) -> Metadata {
    let exchange = &recording.exchange;
    let is_wire_session = matches!(&exchange.content, Content::Wire(_, wire) if wire.session);
    let mut metadata = Metadata::default();
    let is_session = recording.reusable || is_wire_session;
    for (name, value) in kind_metadata(&exchange.content) {
        metadata.add(
            name,
            if name == key::TYPE && is_session {
                "config"
            } else {
                value
            },
        );
    }
    if is_session && metadata.get(key::TYPE).is_none() {
        metadata.add(key::TYPE, "config");
    }
    metadata.add(key::CONNECTION, exchange.connection.to_string());
    if let Some(process) = &recording.worker.process {
        metadata.add(key::PROCESS, &**process);
    }
    if !recording.named {
        metadata.add(key::HOST, exchange.target.host.as_str());
        metadata.add(key::PORT, exchange.target.port.to_string());
    }
    if exchange.tls {
        metadata.add(key::TLS, "true");
    }
    if let End::Refused(refusal, nth) = exchange.end {
        metadata.add(key::END, format!("refused {} {nth}", refusal.reason()));
    } else if let Some((word, _)) = ENDS.iter().find(|(_, known)| *known == exchange.end) {
        metadata.add(key::END, *word);
    }
    metadata
}

/// Returns the metadata that other tools expect for each kind.
fn kind_metadata(content: &Content) -> Vec<(&'static str, &str)> {
    match content {
        Content::Http(call) => {
            vec![
                ("name", http::kind(call)),
                (key::TYPE, "HTTP_CLIENT"),
                ("operation", &call.request.method),
            ]
        }
        Content::Grpc(_) => vec![("name", "gRPC"), (key::TYPE, "gRPC_CLIENT")],
        // Resolvers repeat name lookups, so their answers are reusable.
        Content::Dns(dns) => vec![("name", "DNS"), ("qtype", &dns.kind), (key::TYPE, "config")],
        Content::Wire(..) => Vec::new(),
    }
}

/// Reads the call in a document. Fails, with line and key, if the document is insufficient for a
/// replay.
pub(super) fn read(root: &Node, bodies: BodyLoader<'_>) -> Result<Recording, Problem> {
    if root.members().is_err() {
        let message = "a recorded call is a mapping with `version`, `kind` and `spec`";
        return Err(Problem::new(root.line, message.to_owned()));
    }
    if let Some(key) = ["version", "kind", "name", "spec"]
        .iter()
        .find(|key| root.member(key).is_none())
    {
        return Err(Problem::new(
            root.line,
            format!("the document lacks `{key}`"),
        ));
    }
    let version = root.need("version", Node::text)?;
    if version != VERSION {
        let message = format!("expected `{VERSION}`, got `{}`", version.escape_debug());
        return Err(Problem::new(root.line, message).inside("version", 0));
    }
    let (kind, name) = (
        root.need("kind", Node::text)?,
        root.need("name", Node::text)?,
    );
    let noise = root
        .find("noise", DeclaredNoise::read)?
        .filter(|noise| !noise.is_empty());
    let connection = root.get("connectionId", Node::text)?;
    root.need("spec", |spec| {
        let metadata = Metadata::of(spec)?;
        let read = Spec {
            node: spec,
            metadata: &metadata,
            bodies,
        };
        let content = match kind.as_str() {
            "Http" | "Http2" => http::read(&read, &kind)?,
            "gRPC" => grpc::read(&read)?,
            "DNS" => dns::read(spec)?,
            _ => databases::read(&read, &kind)?,
        };
        let (target, tls) = target(&content, &metadata);
        let sent_at = read
            .time(
                &["reqTimestampMock", "reqtimestampmock"],
                &["req", "grpcReq"],
            )?
            .unwrap_or(UNIX_EPOCH);
        let answered_at = read.time(
            &["resTimestampMock", "restimestampmock"],
            &["resp", "grpcResp"],
        )?;
        let number = connection
            .parse()
            .ok()
            .or_else(|| metadata.get(key::CONNECTION)?.parse().ok());
        let exchange = Exchange {
            target,
            tls,
            connection: number.unwrap_or(0),
            sent_at,
            answered_at: answered_at.unwrap_or(sent_at),
            end: spec.get("metadata", |metadata| metadata.get(key::END, end))?,
            content,
        };
        let named =
            !metadata.is_ours() && matches!(exchange.content, Content::Http(_) | Content::Grpc(_));
        let reusable = metadata.is_session() || matches!(exchange.content, Content::Dns(_));
        let process = metadata.get(key::PROCESS).map(Into::into);
        let worker = Worker {
            process,
            test: None,
        };
        Ok(Recording {
            name,
            exchange,
            reusable,
            noise,
            named,
            worker,
        })
    })
}

/// Returns the target of a call, and true if it was encrypted. Files of other tools derive both
/// from the request.
fn target(content: &Content, metadata: &Metadata) -> (Target, bool) {
    match content {
        Content::Http(http) | Content::Grpc(http) if !metadata.is_ours() => {
            let tls = metadata.is_true(key::TLS) || http.request.scheme == "https";
            (Target::of_authority(&http.request.authority), tls)
        }
        _ => {
            let port = metadata
                .get(key::PORT)
                .and_then(|port| port.parse().ok())
                .unwrap_or(0);
            let host = metadata.get(key::HOST).unwrap_or_default().to_owned();
            (Target { host, port }, metadata.is_true(key::TLS))
        }
    }
}

/// Returns the kind of a document.
pub(super) fn kind(content: &Content) -> &'static str {
    match content {
        Content::Http(http) => http::kind(http),
        Content::Grpc(_) => "gRPC",
        Content::Dns(_) => "DNS",
        Content::Wire(protocol, _) => databases::kind(*protocol),
    }
}

/// Appends the document of a call, without the separator line. Large bodies go into separate files.
pub(super) fn write(recording: &Recording, apart: &mut BodyFiles, out: &mut String) {
    let exchange = &recording.exchange;
    let mut metadata = metadata_of(recording);
    let parts = match &exchange.content {
        Content::Http(http) => http::write(http, exchange, &mut metadata, apart),
        Content::Grpc(http) => grpc::write(http, exchange, &mut metadata, apart),
        Content::Dns(dns) => dns::write(dns),
        Content::Wire(protocol, wire) => databases::write(*protocol, wire, &mut metadata, apart),
    };
    let texts: Members = metadata
        .0
        .iter()
        .map(|(name, value)| (name, value))
        .collect();
    let mut spec = Members::from_iter([("metadata", texts)]);
    spec.0.extend(parts.0);
    spec.put("reqTimestampMock", exchange.sent_at);
    spec.put("resTimestampMock", exchange.answered_at);
    let mut document = Members::from_iter([
        ("version", VERSION),
        ("kind", kind(&exchange.content)),
        ("name", recording.name.as_str()),
    ]);
    document.put("spec", spec);
    if let Some(noise) = recording.noise.as_ref().filter(|noise| !noise.is_empty()) {
        document.put("noise", noise);
    }
    // Always written last: a document without it was truncated.
    document.put("connectionId", exchange.connection.to_string().as_str());
    emit::mapping(out, &document.0, 0);
}
