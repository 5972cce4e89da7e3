//! Answers that came after another request of the program, which may not have waited for them.
//! Often that is recorded: the connection was closed (`End::Abandoned`), or an HTTP/2 request was
//! cancelled. But some HTTP/2 and Redis clients give up silently. So such an answer is delayed
//! until the program has sent the next recorded request, at most for the recorded duration and a
//! second more.

use std::time::{Duration, SystemTime};

use replay_base::limits::OVERTAKEN_MS;

use super::{Ordering, Recordings, is_session};
use crate::call::{Content, Exchange, HttpResponse, HttpVersion, Protocol};
use crate::http::h1::field;

/// Additional wait for the next request, in milliseconds. The recorded duration misses the delay of
/// the proxy itself, so a program with a timeout waits a little longer than recorded.
const SLACK_MS: u64 = 1000;

/// The first request during the wait for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken {
    /// Index of the recording of that request.
    by: usize,
    /// Longest wait for that request.
    pub patience: Duration,
}

impl Recordings {
    /// Returns the first request of the program, on any connection, during this HTTP/2 response.
    pub fn overtaken(&self, found: &Exchange) -> Option<Overtaken> {
        let Content::Http(http) = &found.content else {
            return None;
        };
        let response = http
            .response
            .as_ref()
            .filter(|response| response.version == HttpVersion::Http2)?;
        // The first part of a streamed response may have caused the next request.
        if !comes_at_once(response) {
            return None;
        }
        self.asked_during(found).next()
    }

    /// Like [`overtaken`](Self::overtaken), for requests on the same connection.
    pub fn overtaken_here(&self, found: &Exchange) -> Option<Overtaken> {
        self.asked_during(found).find(|overtaken| {
            let other = &self.entries[overtaken.by].exchange;
            (other.connection, &other.target) == (found.connection, &found.target)
        })
    }

    fn asked_during(&self, found: &Exchange) -> impl Iterator<Item = Overtaken> {
        let recorded = found
            .answered_at
            .duration_since(found.sent_at)
            .unwrap_or_default();
        let patience = recorded + Duration::from_millis(SLACK_MS);
        let since = found.sent_at + Duration::from_millis(OVERTAKEN_MS);
        let from = self.asked.partition_point(|(at, _)| *at < since);
        let meanwhile = self.asked[from..]
            .iter()
            .take_while(move |(at, _)| *at < found.answered_at);
        meanwhile.map(move |(_, by)| Overtaken { by: *by, patience })
    }

    pub async fn has_gone_on(&self, overtaken: Overtaken) {
        let used = &self.entries[overtaken.by].used;
        let mut turns = self.turns.subscribe();
        // The book, and so the sender, outlives this borrow.
        let _ = turns.wait_for(|()| used.load(Ordering::Relaxed)).await;
    }

    pub(super) fn in_order(&self) -> Vec<(SystemTime, usize)> {
        let is_call = |exchange: &Exchange| {
            !is_session(exchange)
                && !exchange.is_no_call()
                && exchange.content.protocol() != Protocol::Dns
        };
        let calls = self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| is_call(&entry.exchange));
        let mut asked: Vec<_> = calls
            .map(|(index, entry)| (entry.exchange.sent_at, index))
            .collect();
        asked.sort_unstable();
        asked
    }
}

/// Returns true if a response is useful only as a whole: it has a content length, or is JSON.
fn comes_at_once(response: &HttpResponse) -> bool {
    let kind = field(&response.headers, "content-type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_json = kind == "application/json" || kind.ends_with("+json") && !kind.contains("stream");
    is_json || field(&response.headers, "content-length").is_some()
}
