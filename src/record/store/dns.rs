//! DNS queries in Keploy's layout.

use super::Problem;
use super::node::{Members, Node};
use crate::call::{Content, Dns};

/// Names of response codes, in order (RFC 1035, 4.1.1; RFC 2136, 2.2). Other tools write them in
/// place of numbers.
const CODES: [&str; 6] = [
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED",
];
/// Supported query types (RFC 1035, 3.2.2; RFC 3596). Other tools write them as numbers.
const TYPES: [(&str, &str); 2] = [("1", "A"), ("28", "AAAA")];

pub(super) fn write(dns: &Dns) -> Members {
    let request = Members::from_iter([
        ("name", format!("{}.", dns.name).as_str()),
        ("qtype", &dns.kind),
        ("qclass", "IN"),
    ]);
    let mut response = Members::from_iter([("rcode", dns.code.to_string().as_str())]);
    for (name, value) in [
        ("authoritative", false),
        ("recursionAvailable", true),
        ("truncated", false),
    ] {
        response.put(name, value);
    }
    response.put(
        "answers",
        dns.answers.iter().map(Node::from).collect::<Vec<_>>(),
    );
    response.put("ns", Vec::<Node>::new());
    response.put("extra", Vec::<Node>::new());
    Members::from_iter([("request", request), ("response", response)])
}

pub(super) fn read(spec: &Node) -> Result<Content, Problem> {
    let (name, kind) = spec.need("request", |request| {
        Ok((
            request.need("name", Node::text)?,
            request.get("qtype", Node::text)?,
        ))
    })?;
    let (code, answers) = spec.need("response", |response| {
        let code = response.find("rcode", |code| {
            let text = code.text()?;
            let known = CODES
                .iter()
                .position(|known| known.eq_ignore_ascii_case(&text))
                .map(|at| at as u8);
            let number = if text.is_empty() {
                Some(0)
            } else {
                text.parse().ok()
            };
            known
                .or(number)
                .ok_or_else(|| code.expected("a code of RFC 1035"))
        })?;
        Ok((code.unwrap_or(0), response.get("answers", Node::texts)?))
    })?;
    let kind = TYPES
        .iter()
        .find(|(number, _)| *number == kind)
        .map_or(kind.as_str(), |(_, name)| name)
        .to_owned();
    let name = name.strip_suffix('.').unwrap_or(&name).to_ascii_lowercase();
    Ok(Content::Dns(Dns {
        name,
        kind,
        code,
        answers,
    }))
}
