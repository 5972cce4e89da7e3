//! HTML page of a mock set: the table of calls, and a timeline. One file without scripts or
//! external resources.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use replay_base::text::count::{counted, duration};
use replay_base::text::html::{begin, escaped};

use super::summary::{call, lines, protocol_name, status};
use replay_record::naming::summary::Summary;
use replay_record::words::text;
use replay_record::{BodyEnd, Content, Exchange, Message, Protocol, Side};

/// Maximum number of body bytes shown.
const SHOWN_BYTES: usize = 4096;

/// Renders the page of the set with this name.
pub(crate) fn page(set: &str, exchanges: &[Exchange]) -> String {
    let summary = Summary::of(exchanges);
    let first = summary.first.unwrap_or(SystemTime::UNIX_EPOCH);
    let took = summary
        .last
        .and_then(|last| last.duration_since(first).ok())
        .unwrap_or_default();
    let about = format!(
        "<h2>{}</h2><p class=soft>{} in {}, {}</p>",
        escaped(set),
        counted(summary.calls as u64, "call", "calls"),
        duration(took),
        escaped(&summary.protocol_words().join(", "))
    );
    let mut out = begin(set, &about);
    out.push_str("<div class=table><table>\n<tr><th>protocol<th>target<th>call<th class=n>status<th class=n>times<th class=n>mean<th class=n>longest\n");
    for line in lines(exchanges) {
        let mean = line.took / u32::try_from(line.times).unwrap_or(u32::MAX);
        let _ = writeln!(
            out,
            "<tr><td>{}<td>{}<td><code>{}</code><td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}",
            line.protocol,
            escaped(&line.target),
            escaped(&line.call),
            status_html(line.status.as_deref()),
            line.times,
            duration(mean),
            duration(line.longest),
        );
    }
    out.push_str("</table></div>\n<h2>In time</h2>\n");
    for exchange in exchanges {
        call_html(&mut out, exchange, first, took);
    }
    out.push_str("</main></body></html>\n");
    out
}

fn call_html(out: &mut String, exchange: &Exchange, begin: SystemTime, whole: Duration) {
    let since = |at: SystemTime| at.duration_since(begin).unwrap_or_default();
    let share = |time: Duration| 100.0 * time.as_secs_f64() / whole.as_secs_f64().max(1e-9);
    let took = exchange
        .answered_at
        .duration_since(exchange.sent_at)
        .unwrap_or_default();
    let status = status(exchange);
    let _ = write!(
        out,
        "<details><summary title=\"{protocol} {target}\"><code>{call}</code><span>{status}</span><span class=track><i{class} style=\"left:{:.3}%;width:{:.3}%\"></i>\
         </span><span class=n>{}</span></summary>\n<p>{protocol} to {target}, {} after the first</p>\n",
        share(since(exchange.sent_at)),
        share(took),
        duration(took),
        duration(since(exchange.sent_at)),
        status = status_html(status.as_deref()),
        class = if status.as_deref().is_none_or(is_good) {
            ""
        } else {
            " class=failed"
        },
        protocol = protocol_name(exchange),
        target = escaped(&exchange.target.to_string()),
        call = escaped(&call(exchange)),
    );
    for (title, text) in parts(&exchange.content) {
        let _ = writeln!(out, "<b>{title}</b><pre>{}</pre>", escaped(&text));
    }
    out.push_str("</details>\n");
}

/// Returns true if a status is no error (RFC 9110, 15). For databases only errors have a status.
fn is_good(status: &str) -> bool {
    status.len() == 3 && ("100".."400").contains(&status)
}

/// Renders a status, and highlights errors.
fn status_html(status: Option<&str>) -> String {
    match status {
        Some(status) if is_good(status) => status.to_owned(),
        Some(status) => format!("<b class=failed>{}</b>", escaped(status)),
        None => String::new(),
    }
}

fn parts(content: &Content) -> Vec<(&'static str, String)> {
    let fields = |first: String, fields: &[(String, Vec<u8>)], body: &[u8]| {
        let mut text = first;
        for (name, value) in fields {
            let _ = write!(text, "\n{name}: {}", String::from_utf8_lossy(value));
        }
        text + "\n\n" + &printable_text(body)
    };
    match content {
        Content::Http(http) | Content::Grpc(http) => {
            let request = &http.request;
            let mut parts = vec![(
                "asked",
                fields(
                    format!("{} {}", request.method, request.path),
                    &request.headers,
                    &request.body,
                ),
            )];
            if let Some(response) = &http.response {
                let first = format!("{} {}", response.status, response.reason);
                let first = match response.body_end {
                    BodyEnd::Complete => first,
                    BodyEnd::Truncated => first + "\n[truncated]",
                    BodyEnd::CutOff => first + "\n[cut off by the client]",
                };
                parts.push(("answered", fields(first, &response.headers, &response.body)));
            }
            parts
        }
        Content::Dns(dns) => vec![(
            "answered",
            format!("code {}\n{}", dns.code, dns.answers.join("\n")),
        )],
        Content::Wire(protocol, wire) => {
            let part = |message: &Message| match message.from {
                // Hides the length prefixes of RESP.
                Side::Client if *protocol == Protocol::Redis => (
                    "asked",
                    printable_text(text(*protocol, &message.bytes).as_bytes()),
                ),
                Side::Client => ("asked", printable_text(&message.bytes)),
                Side::Server => ("answered", printable_text(&message.bytes)),
            };
            let meta = wire.meta.texts();
            let meta = meta.map(|(name, text)| ("asked", format!("{name}: {text}")));
            wire.messages.iter().map(part).chain(meta).collect()
        }
    }
}

/// Bytes as text, with a dot for each control character.
fn printable_text(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let text = String::from_utf8_lossy(cut).replace("\r\n", "\n");
    let printable = |char: char| {
        if char.is_control() && !matches!(char, '\n' | '\t') {
            '.'
        } else {
            char
        }
    };
    let mut text: String = text.chars().map(printable).collect();
    if cut.len() < bytes.len() {
        let _ = write!(text, "\n[{} of {} bytes]", cut.len(), bytes.len());
    }
    text
}
