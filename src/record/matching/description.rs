//! Descriptions of calls and values in one line.

use replay_base::limits::MAX_DIFFERENCE_CHARS;
use replay_base::text::escape::is_unsafe;

use crate::call::{Content, End, Exchange};
use crate::protocol::words;
use crate::redact;

/// Describes a call in one line: `POST http://api.example.com:80/orders`.
pub fn describe(exchange: &Exchange) -> String {
    let line = match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let request = &http.request;
            let path = redact::path(&request.path);
            format!(
                "{} {}://{}{path}",
                request.method, request.scheme, exchange.target
            )
        }
        Content::Dns(dns) => format!("DNS {} {}", dns.kind, dns.name),
        _ if let End::Refused(refusal, _) = exchange.end => {
            let what = if refusal.is_silence() {
                "no answer"
            } else {
                "refused"
            };
            format!("TCP {}: {what} ({})", exchange.target, refusal.reason())
        }
        _ if exchange.is_silent() => {
            let end = if exchange.end == End::Closed {
                " until the server closed it"
            } else {
                ""
            };
            format!(
                "TCP {}: connected, and neither side sent anything{end}",
                exchange.target
            )
        }
        Content::Wire(protocol, wire) => {
            format!(
                "{} {} {}",
                protocol.word(),
                exchange.target,
                words::client_text(*protocol, wire)
            )
        }
    };
    one_line(
        redact::redact_log_line(&line).trim_end(),
        3 * MAX_DIFFERENCE_CHARS,
    )
}

/// Formats a text for one line: escapes control and invisible characters, and truncates it.
fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for c in text.chars().take(most) {
        if is_unsafe(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    if text.chars().nth(most).is_some() {
        line.push_str("...");
    }
    line
}

pub(super) fn short(text: &str) -> String {
    one_line(text, MAX_DIFFERENCE_CHARS)
}
