//! The status page, and the data that its script requests. The page itself holds no data and needs
//! no token. A browser's navigation cannot send a token; the page's script can.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY};
use replay_base::limits::MAX_RECENT_PAGE;
use replay_base::text::html::{STYLE, begin};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::headers::single;
use super::pages::ELSEWHERE;
use super::reply::{Reply, events, json, later, refuse, reply};
use super::reply_body::ReplyBody;
use super::roster::Roster;
use super::tenant::Tenant;
use crate::protocol::Code;
use crate::sessions::{Recent, View};

/// HTML of the page, into which style and script are inserted.
const PAGE: &str = include_str!("page/page.html");
const PAGE_STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = concat!(
    include_str!("page/server.js"),
    include_str!("page/list.js"),
    include_str!("page/timeline.js"),
    include_str!("page/call.js"),
    include_str!("page/keyboard.js"),
);
/// Page that asks for a token and then shows `/docs` with it.
const GATE: &str = include_str!("page/gate.html");
const GATE_SCRIPT: &str = include_str!("page/gate.js");
/// Attribute by which the page knows if there are tokens.
const NEEDS_TOKEN: &str = "data-token=\"needed\"";
/// Default number of calls in `/activity`.
const USUAL_PAGE: usize = 200;

/// The static pages, and the content security policy of all pages.
pub(super) struct Pages {
    calls: StaticPage,
    gate: StaticPage,
    tools_policy: Option<HeaderValue>,
}

/// A static page with its policy.
struct StaticPage {
    text: Bytes,
    policy: Option<HeaderValue>,
}

impl Pages {
    /// Creates the pages of a server with or without tokens.
    pub(super) fn new(needs_token: bool) -> Self {
        let page = if needs_token {
            PAGE.to_owned()
        } else {
            PAGE.replacen(NEEDS_TOKEN, "data-token=\"none\"", 1)
        };
        let style = format!("{STYLE}{PAGE_STYLE}");
        let page = page.replacen("<style>", &format!("<style>{style}"), 1);
        let more = "; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'";
        let calls = StaticPage::new(&page, &style, SCRIPT, more);
        let gate = StaticPage::new(&(begin("tools", ELSEWHERE) + GATE), STYLE, GATE_SCRIPT, "");
        Self {
            calls,
            gate,
            tools_policy: HeaderValue::try_from(policy(STYLE, "")).ok(),
        }
    }

    /// `GET /`.
    pub(super) fn calls(&self) -> Reply {
        self.calls.answer()
    }

    /// `GET /docs` of a browser, which cannot send a token by itself.
    pub(super) fn gate(&self) -> Reply {
        self.gate.answer()
    }

    /// `GET /docs` with a token.
    pub(super) fn tools(&self, text: impl Into<Vec<u8>>) -> Reply {
        page_reply(ReplyBody::text(text), self.tools_policy.as_ref())
    }
}

impl StaticPage {
    /// Inserts `script` into `page`, which contains `style`. `more` is added to the policy.
    fn new(page: &str, style: &str, script: &str, more: &str) -> Self {
        let text = page
            .replacen("<script>", &format!("<script>{script}"), 1)
            .into();
        let more = format!("; script-src {}; connect-src 'self'{more}", hash(script));
        Self {
            text,
            policy: HeaderValue::try_from(policy(style, &more)).ok(),
        }
    }

    fn answer(&self) -> Reply {
        page_reply(ReplyBody::shared(self.text.clone()), self.policy.as_ref())
    }
}

fn policy(style: &str, more: &str) -> String {
    let style = hash(style);
    format!(
        "default-src 'none'; style-src {style}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'{more}"
    )
}

fn page_reply(body: ReplyBody, policy: Option<&HeaderValue>) -> Reply {
    let Some(policy) = policy else {
        return refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::Internal,
            "the page has no policy",
        );
    };
    let mut reply = reply(StatusCode::OK, "text/html; charset=utf-8", body);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    );
    reply
}

/// Returns the policy source that allows an element with this text (CSP Level 3, 2.3.1).
fn hash(text: &str) -> String {
    format!(
        "'sha256-{}'",
        STANDARD.encode(Sha256::digest(text.as_bytes()))
    )
}

fn view(tenant: &Tenant) -> View<'_> {
    if tenant.is_operator() {
        View::All
    } else {
        View::Only(&tenant.name)
    }
}

/// `GET /activity`: the server, running calls, and the requested page of ended calls.
pub(super) fn list(
    recent: &Recent,
    roster: &Roster,
    uptime: Duration,
    tenant: &Arc<Tenant>,
    query: Option<&str>,
) -> Reply {
    let asked = match ActivityQuery::parse(query.unwrap_or_default()) {
        Ok(asked) => asked,
        Err(message) => return refuse(StatusCode::BAD_REQUEST, Code::InvalidParams, message),
    };
    let page = recent.page(view(tenant), asked.before, asked.limit);
    let tenants: Vec<Value> = roster
        .seen_by(tenant)
        .iter()
        .map(|tenant| describe(tenant))
        .collect();
    let head = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "uptimeSeconds": uptime.as_secs(),
        "you": {"name": tenant.name, "operator": tenant.is_operator()},
        "tenants": tenants,
        "position": page.position,
        "before": page.before,
    });
    let head = head.to_string();
    let head = head.trim_end_matches('}');
    let (running, calls) = (page.running.join(","), page.calls.join(","));
    json(
        StatusCode::OK,
        format!("{head},\"running\":[{running}],\"calls\":[{calls}]}}"),
    )
}

fn describe(tenant: &Tenant) -> Value {
    let (running, waiting) = tenant.load();
    let outcomes: Map<String, Value> = tenant
        .metrics
        .outcomes()
        .into_iter()
        .map(|(word, count)| (word.to_owned(), count.into()))
        .collect();
    json!({
        "name": tenant.name,
        "revoked": tenant.is_revoked(),
        "place": (tenant.place)(),
        "sessions": tenant.sessions.describe(),
        "callsRunning": running,
        "callsWaiting": waiting,
        "commandsRunning": (tenant.usage)().commands,
        "outcomes": outcomes,
        "tooFast": tenant.metrics.rate_limited.load(Relaxed),
    })
}

/// `GET /activity/ID`: all details of one call.
pub(super) fn detail(recent: &Recent, tenant: &Tenant, id: &str) -> Reply {
    let found = id
        .parse()
        .ok()
        .and_then(|id| recent.detail(view(tenant), id));
    match found {
        Some(call) => json(StatusCode::OK, call),
        None => refuse(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            format!("no call `{id}` is stored; only the latest calls are"),
        ),
    }
}

/// `GET /activity/stream`: an event stream of calls, from `Last-Event-ID` on.
pub(super) fn stream(recent: &Arc<Recent>, tenant: &Tenant, headers: &HeaderMap) -> Reply {
    let from = single(headers, &HeaderName::from_static("last-event-id"));
    if let Some(follower) = recent.follow(view(tenant), from) {
        return events(ReplyBody::followed(follower));
    }
    later(
        StatusCode::SERVICE_UNAVAILABLE,
        None,
        Duration::from_secs(5),
        "too many clients follow already; try again later",
    )
}

/// The query of `/activity`.
#[derive(Debug, PartialEq, Eq)]
struct ActivityQuery {
    before: Option<u64>,
    limit: usize,
}

impl ActivityQuery {
    fn parse(query: &str) -> Result<Self, String> {
        let mut asked = Self {
            before: None,
            limit: USUAL_PAGE,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let number = value.parse::<u64>();
            match (name, number) {
                ("before", Ok(number)) => asked.before = Some(number),
                ("limit", Ok(number)) if number <= MAX_RECENT_PAGE as u64 => {
                    asked.limit = number as usize;
                }
                ("before", Err(_)) => {
                    return Err("`before` must be a number from an earlier reply".to_owned());
                }
                ("limit", _) => {
                    return Err(format!("`limit` must be 0 to {MAX_RECENT_PAGE} calls"));
                }
                _ => {
                    return Err(format!(
                        "`{}` is unknown; use `before` or `limit`",
                        name.escape_debug()
                    ));
                }
            }
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn activity_query_is_parsed_or_refused() {
        let asked = |before, limit| Ok(ActivityQuery { before, limit });
        assert_eq!(ActivityQuery::parse(""), asked(None, USUAL_PAGE));
        assert_eq!(ActivityQuery::parse("before=7&limit=0"), asked(Some(7), 0));
        assert_eq!(
            ActivityQuery::parse("limit=501"),
            Err("`limit` must be 0 to 500 calls".to_owned())
        );
        assert_eq!(
            ActivityQuery::parse("x=1"),
            Err("`x` is unknown; use `before` or `limit`".to_owned())
        );
        let before = "`before` must be a number from an earlier reply";
        assert_eq!(ActivityQuery::parse("before=-1"), Err(before.to_owned()));
    }

    #[test]
    fn page_policy_hashes_style_and_script() {
        for (page, place) in [
            (PAGE, "<style></style>"),
            (PAGE, "<script></script>"),
            (GATE, "<script></script>"),
            (PAGE, NEEDS_TOKEN),
        ] {
            assert_eq!(page.matches(place).count(), 1, "{place}");
        }
        let text = |pages: &Pages| String::from_utf8(pages.calls.text.to_vec()).unwrap();
        assert!(
            text(&Pages::new(true)).contains(NEEDS_TOKEN)
                && !text(&Pages::new(false)).contains(NEEDS_TOKEN)
        );
        // Hash of the empty text, as in the examples of RFC 6234.
        let hash = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='";
        let expected = format!(
            "default-src 'none'; style-src {hash}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src \
             {hash}; connect-src 'self'"
        );
        let page = StaticPage::new("<script></script>", "", "", "");
        assert_eq!(page.policy.unwrap(), expected);
    }

    #[test]
    fn page_scripts_use_no_markup_sinks() {
        let text = [PAGE, STYLE, PAGE_STYLE, SCRIPT].concat();
        for way in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "style=",
            "onclick=",
        ] {
            assert!(!text.contains(way), "{way}");
        }
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!text.contains(outside), "{outside}");
        }
    }
}
