//! Names, and protocols whose messages are kept as they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Map;

use super::super::Problem;
use super::super::kinds::{DnsRequest, DnsResponse, DnsSpec, GenericSpec, Payload, RedisSpec, Turn};
use super::super::values::{Blob, Ordered, Stamp};
use super::{Base, Part, is_session, key};
use crate::record::exchange::{Content, Dns, Message, Protocol, Side, Wire};

/// Names of response codes that other files have instead of numbers (RFC 1035, 4.1.1; RFC 2136, 2.2).
const CODES: [(&str, u8); 6] =
    [("NOERROR", 0), ("FORMERR", 1), ("SERVFAIL", 2), ("NXDOMAIN", 3), ("NOTIMP", 4), ("REFUSED", 5)];
/// Types of questions that other files have as numbers (RFC 1035, 3.2.2; RFC 3596; RFC 2782; RFC 9460).
const TYPES: [(&str, &str); 9] = [
    ("1", "A"),
    ("2", "NS"),
    ("5", "CNAME"),
    ("12", "PTR"),
    ("15", "MX"),
    ("16", "TXT"),
    ("28", "AAAA"),
    ("33", "SRV"),
    ("65", "HTTPS"),
];

pub(super) fn to_dns(mut base: Base, dns: &Dns) -> DnsSpec {
    // A name is asked for as often as a resolver likes, so its answer is never used up.
    base.reusable = true;
    DnsSpec {
        metadata: base.metadata(&[("name", "DNS"), ("qtype", &dns.kind), (key::TYPE, "config")]),
        request: DnsRequest { name: format!("{}.", dns.name), qtype: dns.kind.clone(), qclass: "IN".to_owned() },
        response: DnsResponse {
            rcode: dns.code.to_string(),
            recursion_available: true,
            answers: dns.answers.clone(),
            ..DnsResponse::default()
        },
        sent: base.sent,
        answered: base.answered,
        rest: Map::new(),
    }
}

pub(super) fn from_dns(spec: &DnsSpec) -> Result<Part, Problem> {
    let code = spec.response.rcode.as_str();
    let known = CODES.iter().find(|(name, _)| name.eq_ignore_ascii_case(code)).map(|(_, number)| *number);
    let number = known.or_else(|| if code.is_empty() { Some(0) } else { code.parse().ok() });
    let Some(code) = number else {
        let message = format!("expected a code of RFC 1035, got `{}`", code.escape_debug());
        return Err(Problem::new(0, message).inside("response.rcode", 0));
    };
    let kind = spec.request.qtype.as_str();
    let kind = TYPES.iter().find(|(number, _)| *number == kind).map_or(kind, |(_, name)| name);
    let name = spec.request.name.strip_suffix('.').unwrap_or(&spec.request.name);
    let dns =
        Dns { name: name.to_ascii_lowercase(), kind: kind.to_owned(), code, answers: spec.response.answers.clone() };
    Ok(Part::new(&spec.metadata, spec.sent, spec.answered, Content::Dns(dns)))
}

pub(super) fn to_generic(mut base: Base, wire: &Wire) -> GenericSpec {
    let mut metadata = base.metadata(&[]);
    let [requests, responses] = sides(wire, &mut metadata).map(|side| side.into_iter().map(turn).collect());
    GenericSpec { metadata, requests, responses, sent: base.sent, answered: base.answered, rest: Map::new() }
}

pub(super) fn to_redis(mut base: Base, wire: &Wire) -> RedisSpec {
    let mut metadata = base.metadata(&[]);
    let [requests, responses] = sides(wire, &mut metadata).map(|side| side.into_iter().map(turn).collect());
    RedisSpec { metadata, requests, responses, sent: base.sent, answered: base.answered, rest: Map::new() }
}

pub(super) fn from_turns(
    protocol: Protocol,
    metadata: &Ordered<String>,
    requests: &[Turn],
    responses: &[Turn],
    sent: Option<Stamp>,
    answered: Option<Stamp>,
) -> Result<Part, Problem> {
    let requests = requests.iter().map(bytes).collect::<Result<_, _>>()?;
    let responses = responses.iter().map(bytes).collect::<Result<_, _>>()?;
    let content = Content::Wire(protocol, joined(requests, responses, metadata)?);
    Ok(Part::new(metadata, sent, answered, content))
}

fn turn(message: &Message) -> Turn {
    let origin = match message.from {
        Side::Client => "client",
        Side::Server => "server",
    };
    let (kind, data) = if message.bytes.is_ascii() {
        ("string", message.bytes.clone())
    } else {
        ("binary", STANDARD.encode(&message.bytes).into_bytes())
    };
    Turn { origin: origin.to_owned(), message: vec![Payload { kind: kind.to_owned(), data: Blob(data) }] }
}

fn bytes(turn: &Turn) -> Result<Vec<u8>, Problem> {
    let mut all = Vec::new();
    for payload in &turn.message {
        // What had the tag `!!binary` has been decoded already.
        if payload.kind == "binary" && payload.data.0.is_ascii() {
            let packed: Vec<u8> = payload.data.0.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
            let decoded = STANDARD.decode(packed);
            let decoded = decoded.map_err(|error| Problem::new(0, format!("no base64: {error}")).inside("data", 0))?;
            all.extend_from_slice(&decoded);
        } else {
            all.extend_from_slice(&payload.data.0);
        }
    }
    Ok(all)
}

/// The program's messages and the server's. Says in the metadata how they alternate, unless all of the program's come first.
pub(super) fn sides<'a>(wire: &'a Wire, metadata: &mut Ordered<String>) -> [Vec<&'a Message>; 2] {
    let (client, server): (Vec<_>, Vec<_>) = wire.messages.iter().partition(|message| message.from == Side::Client);
    if wire.messages.iter().skip(client.len()).any(|message| message.from == Side::Client) {
        let mut order = String::new();
        for run in wire.messages.chunk_by(|one, next| one.from == next.from) {
            order.push(if run[0].from == Side::Client { 'c' } else { 's' });
            order.push_str(&run.len().to_string());
        }
        metadata.add(key::ORDER, order);
    }
    [client, server]
}

/// The messages of both sides in their order.
pub(super) fn joined(
    requests: Vec<Vec<u8>>,
    responses: Vec<Vec<u8>>,
    metadata: &Ordered<String>,
) -> Result<Wire, Problem> {
    let count = requests.len() + responses.len();
    let (first, second) = (requests.len(), responses.len());
    let mut requests = requests.into_iter().map(|bytes| Message { from: Side::Client, bytes });
    let mut responses = responses.into_iter().map(|bytes| Message { from: Side::Server, bytes });
    let mut messages = Vec::with_capacity(count);
    if let Some(order) = metadata.get(key::ORDER) {
        let wrong = || {
            let message = format!(
                "expected the order of {first} requests and {second} responses, as `c1s2`, got `{}`",
                order.escape_debug()
            );
            Problem::new(0, message).inside(key::ORDER, 0).inside("metadata", 0)
        };
        let mut rest = order.as_str();
        while let Some(side) = rest.chars().next() {
            let digits = rest.get(1..).ok_or_else(wrong)?;
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let run: usize = digits[..end].parse().ok().filter(|run| *run <= count).ok_or_else(wrong)?;
            match side {
                'c' => messages.extend(requests.by_ref().take(run)),
                's' => messages.extend(responses.by_ref().take(run)),
                _ => return Err(wrong()),
            }
            rest = &digits[end..];
        }
        if messages.len() != count {
            return Err(wrong());
        }
    } else {
        messages.extend(requests);
        messages.extend(responses);
    }
    Ok(Wire { messages, session: is_session(metadata) })
}
