//! Answers that came after the program had asked something else: it may not have waited for them.
//! Who closes a connection says that (`End::Abandoned`), and who takes a request of HTTP/2 back;
//! some clients of HTTP/2 and Redis give a call up without a word. So such an answer is given once
//! the program has gone on as it did when that was recorded, and after as long as it took then at
//! the latest.

use std::time::{Duration, SystemTime};

use super::{Book, Ordering, is_session};
use crate::limits::OVERTAKEN_MS;
use crate::record::call::{Content, Exchange, HttpResponse, HttpVersion, Protocol};
use crate::record::http::h1::field;

/// What came before an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken {
    /// Which recording was asked meanwhile, the first of them.
    by: usize,
    pub stayed: Duration,
}

impl Book {
    /// What the program asked, wherever, while it waited for this response of HTTP/2.
    pub fn overtaken(&self, found: &Exchange) -> Option<Overtaken> {
        let Content::Http(http) = &found.content else {
            return None;
        };
        let response = http
            .response
            .as_ref()
            .filter(|response| response.version == HttpVersion::Http2)?;
        // Of what comes in parts the first may have been what the program asked something for.
        if !comes_at_once(response) {
            return None;
        }
        self.asked_during(found).next()
    }

    /// The same of what it asked on the same connection.
    pub fn overtaken_here(&self, found: &Exchange) -> Option<Overtaken> {
        self.asked_during(found).find(|overtaken| {
            let other = &self.entries[overtaken.by].exchange;
            (other.connection, &other.target) == (found.connection, &found.target)
        })
    }

    fn asked_during(&self, found: &Exchange) -> impl Iterator<Item = Overtaken> {
        let stayed = found
            .answered_at
            .duration_since(found.sent_at)
            .unwrap_or_default();
        let since = found.sent_at + Duration::from_millis(OVERTAKEN_MS);
        let from = self.asked.partition_point(|(at, _)| *at < since);
        let meanwhile = self.asked[from..]
            .iter()
            .take_while(move |(at, _)| *at < found.answered_at);
        meanwhile.map(move |(_, by)| Overtaken { by: *by, stayed })
    }

    pub async fn has_gone_on(&self, overtaken: Overtaken) {
        let used = &self.entries[overtaken.by].used;
        let mut turns = self.turns.subscribe();
        // The book lives as long as this borrows it, and with it the sender.
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

/// Whether a response is of use only as a whole: its length is said before it, or it is JSON.
fn comes_at_once(response: &HttpResponse) -> bool {
    let kind = field(&response.headers, "content-type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_json = kind == "application/json" || kind.ends_with("+json") && !kind.contains("stream");
    is_json || field(&response.headers, "content-length").is_some()
}
