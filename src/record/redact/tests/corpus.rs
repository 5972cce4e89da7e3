//! Sample calls of services and frameworks with secrets marked `«...»`. Redaction must replace
//! exactly the marked parts.

use pretty_assertions::assert_eq;

use super::*;

/// Sample files: each call begins with a line `=== name`; an answer follows a line `<<<`.
const FILES: [&str; 4] = [
    include_str!("corpus/logins.txt"),
    include_str!("corpus/services.txt"),
    include_str!("corpus/bodies.txt"),
    include_str!("corpus/harmless.txt"),
];

fn plain(marked: &str) -> String {
    marked.replace(['«', '»'], "")
}

/// Parses head and body, with or without marks.
fn message(text: &str) -> (String, Vec<(String, String)>, String) {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    let field = |line: &str| {
        line.split_once(": ")
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .unwrap()
    };
    (
        first,
        lines.map(field).collect(),
        body.strip_suffix('\n').unwrap_or(body).to_owned(),
    )
}

/// Builds the call and returns its marked parts.
fn marked_call(text: &str) -> (Exchange, Vec<String>) {
    let (asked, answered) = text.split_once("\n<<<\n").unwrap_or((text, "200"));
    let (first, fields, body) = message(asked);
    let is_parts = fields
        .iter()
        .any(|(_, value)| value.starts_with("multipart/"));
    let body = if is_parts {
        body.replace('\n', "\r\n")
    } else {
        body
    };
    let path = first.split_once(' ').unwrap().1;
    let (_, given, answer) = message(answered);
    let unmarked = |fields: &[(String, String)]| -> Vec<(String, Vec<u8>)> {
        fields
            .iter()
            .map(|(name, value)| (name.clone(), plain(value).into_bytes()))
            .collect()
    };
    let mut made = call(&plain(path), &[], &plain(&body), &[], &plain(&answer));
    let Content::Http(http) = &mut made.content else {
        panic!()
    };
    (
        http.request.headers,
        http.response.as_mut().unwrap().headers,
    ) = (unmarked(&fields), unmarked(&given));
    let values = |fields: Vec<(String, String)>| fields.into_iter().map(|(_, value)| value);
    let mut parts = vec![path.to_owned()];
    parts.extend(values(fields));
    parts.push(body);
    parts.extend(values(given));
    parts.push(answer);
    (made, parts)
}

/// Returns the fault in a redacted part, if any.
fn fault(marked: &str, left: &str) -> Option<String> {
    let (mut rest, mut marks) = (left, marked);
    while let Some((before, more)) = marks.split_once('«') {
        let (secret, after) = more.split_once('»').unwrap();
        let Some(found) = rest.strip_prefix(before) else {
            return Some(format!("changed before `{secret}`: {left}"));
        };
        let is_one = |length: &usize| {
            found
                .get(..*length)
                .is_some_and(|text| is_placeholder(&secret_names::decoded(text.as_bytes(), true)))
        };
        let ends = |length: &usize| {
            after.is_empty() && found.len() == *length || {
                let next = after.split('«').next().unwrap_or_default();
                !after.is_empty()
                    && found
                        .get(*length..)
                        .is_some_and(|rest| rest.starts_with(next))
            }
        };
        let Some(length) = (1..=found.len()).rev().filter(is_one).find(ends) else {
            return Some(format!("left `{secret}`: {left}"));
        };
        (rest, marks) = (&found[length..], after);
    }
    (rest != marks).then(|| format!("changed at the end: {left}\n  not {marked}"))
}

#[test]
fn exactly_marked_secrets_of_services_are_redacted() {
    let (mut count, mut failed) = (0, Vec::new());
    for text in FILES.iter().flat_map(|file| file.split("=== ").skip(1)) {
        let (name, text) = text.split_once('\n').unwrap();
        count += 1;
        let (asked, marked) = marked_call(text);
        let left = parts(&redacted(&Secrets::default(), &asked));
        assert_eq!(left.len(), marked.len());
        failed.extend(
            marked
                .iter()
                .zip(&left)
                .filter_map(|(marked, left)| Some(format!("{name}: {}", fault(marked, left)?))),
        );
    }
    assert_eq!((failed, count), (Vec::<String>::new(), 106));
}
