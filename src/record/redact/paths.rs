//! Tokens in paths of URLs. A path says of none of its parts that it is a secret, so only those of known services are: a long
//! part of another one is as often the identifier that chooses the answer.

use std::ops::Range;

use super::placeholder::known;

/// Where the token of a path, or a whole URL, without its query is.
pub(super) fn token(url: &str) -> Option<Range<usize>> {
    let host = url.find("://").map_or(0, |at| at + 3);
    let start = host + url[host..].find('/')?;
    let path = &url[start..];
    let at = telegram(path).or_else(|| slack(path)).or_else(|| discord(path))?;
    Some(start + at.start..start + at.end)
}

/// `/bot123456:ABC.../sendMessage`, `/file/bot123456:ABC.../photo` ("Telegram Bot API").
fn telegram(path: &str) -> Option<Range<usize>> {
    let start = ["/bot", "/file/bot"].iter().find(|begin| path.starts_with(**begin))?.len();
    let token = path[start..].split('/').next()?;
    let good = is_stand_in(token)
        || token.split_once(':').is_some_and(|(id, secret)| {
            (6..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()) && is_token(secret, 30)
        });
    good.then(|| start..start + token.len())
}

/// `/services/T.../B.../...`, of workflows `/workflows/T.../A.../.../...` and `/triggers/T.../.../...` ("Slack, incoming webhooks").
fn slack(path: &str) -> Option<Range<usize>> {
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let is_id = |part: &str, begin: &[u8]| {
        part.len() >= 9
            && part.bytes().next().is_some_and(|byte| begin.contains(&byte))
            && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    let good = match parts.as_slice() {
        ["services", team, hook, _] => is_id(team, b"TE") && is_id(hook, b"B"),
        ["workflows", team, flow, _, _] => is_id(team, b"TE") && is_id(flow, b"A"),
        ["triggers", team, _, _] => is_id(team, b"TE"),
        _ => false,
    };
    last(path).filter(|at| good && (is_stand_in(&path[at.clone()]) || is_token(&path[at.clone()], 20)))
}

/// `/api/webhooks/123.../...`, with a version or without ("Discord, execute webhook").
fn discord(path: &str) -> Option<Range<usize>> {
    let rest = path.strip_prefix("/api/")?;
    let rest = match rest.split_once('/') {
        Some((version, rest)) if version.starts_with('v') => rest,
        _ => rest,
    };
    let (id, rest) = rest.strip_prefix("webhooks/")?.split_once('/')?;
    let token = rest.split('/').next()?;
    let start = path.len() - rest.len();
    let good = id.len() >= 15 && id.bytes().all(|byte| byte.is_ascii_digit());
    (good && (is_stand_in(token) || is_token(token, 50))).then(|| start..start + token.len())
}

fn last(path: &str) -> Option<Range<usize>> {
    let start = path.rfind('/')? + 1;
    (start < path.len()).then_some(start..path.len())
}

fn is_stand_in(part: &str) -> bool {
    known(part.as_bytes()).is_some()
}

fn is_token(part: &str, fewest: usize) -> bool {
    part.len() >= fewest && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
