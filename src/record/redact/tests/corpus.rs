//! Calls as services and frameworks make them, with their secrets marked `«...»`: nothing else of them may change, and of the
//! marked nothing may stay.

use pretty_assertions::assert_eq;

use super::forms::{com_query, query};
use super::*;

/// Calls begin with a line `=== name`; an answer follows a line `<<<`.
const FILES: [&str; 5] = [
    include_str!("corpus/logins.txt"),
    include_str!("corpus/services.txt"),
    include_str!("corpus/bodies.txt"),
    include_str!("corpus/databases.txt"),
    include_str!("corpus/harmless.txt"),
];

/// The parts of a call as texts: of HTTP first lines, fields and bodies.
type Parts = Vec<String>;

fn plain(marked: &str) -> String {
    marked.replace(['«', '»'], "")
}

/// A head and a body, with or without marks.
fn message(text: &str) -> (String, Vec<(String, String)>, String) {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    let field = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    (first, lines.map(field).collect(), body.strip_suffix('\n').unwrap_or(body).to_owned())
}

fn http(asked: &str, answered: Option<&str>) -> (Exchange, Parts) {
    let (first, fields, body) = message(asked);
    let (method, path) = first.split_once(' ').unwrap();
    let (_, given, answer) = message(answered.unwrap_or("200"));
    let unmarked = |fields: &[(String, String)]| -> Vec<(String, Vec<u8>)> {
        fields.iter().map(|(name, value)| (name.clone(), plain(value).into_bytes())).collect()
    };
    let mut made = call(&plain(path), &[], &plain(&body), &[], &plain(&answer));
    let Content::Http(http) = &mut made.content else { panic!() };
    http.request.method = method.to_owned();
    (http.request.headers, http.response.as_mut().unwrap().headers) = (unmarked(&fields), unmarked(&given));
    let values = |fields: Vec<(String, String)>| fields.into_iter().map(|(_, value)| value);
    let mut parts = vec![path.to_owned()];
    parts.extend(values(fields));
    parts.push(body);
    parts.extend(values(given));
    parts.push(answer);
    (made, parts)
}

fn wire(protocol: &str, marked: &str) -> Exchange {
    let text = plain(marked);
    let words: Vec<&str> = text.split(' ').collect();
    let (protocol, bytes) = match protocol {
        "postgres" => (Protocol::Postgres, query(&text)),
        "mysql" => (Protocol::MySql, com_query(&text)),
        "redis" => {
            let bulk = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
            (
                Protocol::Redis,
                format!("*{}\r\n{}", words.len(), words.iter().map(bulk).collect::<String>()).into_bytes(),
            )
        }
        _ => (Protocol::Generic, text.into_bytes()),
    };
    let mut made = call("/", &[], "", &[], "");
    let messages = vec![Message { from: Side::Client, bytes }];
    made.content = Content::Wire(protocol, Wire { messages, session: false });
    made
}

/// The parts of a call in the order of those that it was made of.
fn parts(exchange: &Exchange) -> Parts {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match &exchange.content {
        Content::Http(http) => {
            let answer = http.response.as_ref().unwrap();
            let mut all = vec![http.request.path.clone()];
            all.extend(http.request.headers.iter().map(|(_, value)| text(value)));
            all.push(text(&http.request.body));
            all.extend(answer.headers.iter().map(|(_, value)| text(value)));
            all.push(text(&answer.body));
            all
        }
        Content::Wire(protocol, wire) => {
            let bytes = &wire.messages[0].bytes;
            vec![match protocol {
                Protocol::Postgres => text(&bytes[5..bytes.len() - 1]),
                Protocol::MySql => text(&bytes[5..]),
                Protocol::Redis => command(bytes).unwrap().0.into_iter().map(text).collect::<Vec<_>>().join(" "),
                _ => text(bytes),
            }]
        }
        _ => panic!(),
    }
}

/// What stands for a secret at the beginning of a text: how long it is.
fn stand_in(text: &str, secret: &str) -> Option<usize> {
    let end =
        |begin: &str, last: &str| text.starts_with(begin).then(|| text.find(last).map(|at| at + last.len())).flatten();
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    let token = text.strip_prefix("redacted-").map(|rest| 9 + digits(rest)).map(|least| least.max(secret.len()));
    let alike = text.get(..secret.len()).filter(|text| placeholder::known(text.as_bytes()).is_some());
    end("\"[redacted", "]\"")
        .or_else(|| alike.map(str::len))
        .or_else(|| end("[redacted", "]"))
        .or_else(|| end("%5Bredacted", "%5D"))
        .or(token)
        .filter(|length| *length <= text.len())
}

/// What is wrong with a part of a call.
fn wrong(marked: &str, left: &str) -> Option<String> {
    let (mut rest, mut marks) = (left, marked);
    while let Some((before, more)) = marks.split_once('«') {
        let (secret, after) = more.split_once('»').unwrap();
        let Some(found) = rest.strip_prefix(before) else { return Some(format!("changed before `{secret}`: {left}")) };
        let Some(length) = stand_in(found, secret) else { return Some(format!("left `{secret}`: {left}")) };
        (rest, marks) = (&found[length..], after);
    }
    (rest != marks).then(|| format!("changed at the end: {left}\n  not {marked}"))
}

#[test]
fn of_calls_of_services_the_marked_goes_and_the_rest_stays() {
    let (mut count, mut failed) = (0, Vec::new());
    for text in FILES.iter().flat_map(|file| file.split("=== ").skip(1)) {
        let (name, text) = text.split_once('\n').unwrap();
        count += 1;
        let is_http = text.lines().next().is_some_and(|line| line.contains(" /"));
        let (mut made, marked) = if is_http {
            let (asked, answered) = text.split_once("\n<<<\n").map_or((text, None), |(one, other)| (one, Some(other)));
            http(asked, answered)
        } else {
            let (protocol, said) = text.trim_end().split_once(' ').unwrap();
            (wire(protocol, said), vec![said.to_owned()])
        };
        let asked = made.clone();
        exchange(&mut made);
        let left = parts(&made);
        assert_eq!(left.len(), marked.len());
        failed.extend(
            marked.iter().zip(&left).filter_map(|(marked, left)| Some(format!("{name}: {}", wrong(marked, left)?))),
        );
        let secrets = marked.iter().flat_map(|part| part.split('«').skip(1)).filter_map(|part| part.split('»').next());
        for secret in secrets.filter(|secret| secret.len() > 5) {
            if left.iter().any(|part| part.contains(secret)) {
                failed.push(format!("{name}: `{secret}` is left"));
            }
        }
        let once = made.clone();
        exchange(&mut made);
        if made != once {
            failed.push(format!("{name}: a second time changes something: {:?}", parts(&made)));
        }
        // What is asked in a replay is compared as it was recorded.
        match (&asked.content, &once.content) {
            (Content::Http(live), Content::Http(kept)) => {
                let (live, kept) = (&live.request, &kept.request);
                let (one, other) = (without_secrets(live), without_secrets(kept));
                if (&one.path, &one.body) != (&other.path, &other.body) {
                    failed.push(format!(
                        "{name}: {} {:?} is not {} {:?}",
                        one.path,
                        text_of(&one.body),
                        other.path,
                        text_of(&other.body)
                    ));
                }
                let secrets = |request: &HttpRequest| [places(request), credentials(request)].concat();
                let alike = secrets(live).len() == secrets(kept).len()
                    && secrets(live).iter().zip(&secrets(kept)).all(|(a, b)| a.is_like(b));
                if !alike {
                    failed.push(format!("{name}: {:?} are not {:?}", secrets(live), secrets(kept)));
                }
            }
            (Content::Wire(protocol, live), Content::Wire(_, kept)) => {
                let (mut one, mut other) = (live.clone(), kept.clone());
                crate::record::redact::wire(*protocol, &mut one);
                crate::record::redact::wire(*protocol, &mut other);
                if one != other
                    || crate::record::redact::said(*protocol, live).len()
                        != crate::record::redact::said(*protocol, kept).len()
                {
                    failed.push(format!("{name}: compared as {one:?} and {other:?}"));
                }
            }
            _ => panic!(),
        }
    }
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
    assert!(count > 100, "{count}");
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
