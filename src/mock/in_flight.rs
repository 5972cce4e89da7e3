//! Values of requests between their arrival and their answer.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Mutex;

use replay_mcp::protocol::{Id, Request};
use serde_json::value::RawValue;

use super::sync::lock;

/// Most values of equal requests.
const MAX_EQUAL: usize = 1024;

/// Values by request. Ids are unique in a session alone, so the method and the parameters count,
/// too. Equal requests with equal ids get equal treatment, whose ever they are.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    kept: Mutex<HashMap<u64, VecDeque<T>>>,
    hasher: RandomState,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            hasher: RandomState::new(),
        }
    }
}

impl<T> InFlight<T> {
    /// Keeps the value of a request.
    pub(crate) fn put(&self, request: &Request<'_>, value: T) {
        let mut kept = lock(&self.kept);
        let equal = kept.entry(self.key(request)).or_default();
        // Requests that were cancelled before their turn never take theirs.
        if equal.len() == MAX_EQUAL {
            equal.pop_front();
        }
        equal.push_back(value);
    }

    /// Removes and returns the value of a request.
    pub(crate) fn take(&self, request: &Request<'_>) -> Option<T> {
        let (key, mut kept) = (self.key(request), lock(&self.kept));
        let equal = kept.get_mut(&key)?;
        let value = equal.pop_front();
        if equal.is_empty() {
            kept.remove(&key);
        }
        value
    }

    fn key(&self, request: &Request<'_>) -> u64 {
        let id = request.id.as_ref().map(Id::as_json);
        let params = request.params.map(RawValue::get);
        self.hasher.hash_one((id, &*request.method, params))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use replay_mcp::protocol::{Incoming, parse};

    use super::*;

    #[test]
    fn requests_of_two_sessions_keep_their_values() {
        let line = |tool: &str| {
            let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"NAME"}}"#;
            text.replace("NAME", tool)
        };
        let (good, bad) = (line("good"), line("bad"));
        let read = |text: &'static str| match parse(text.as_bytes()) {
            Incoming::Request(request) => request,
            _ => unreachable!(),
        };
        let (good, bad) = (read(good.leak()), read(bad.leak()));
        let values = InFlight::default();
        for (request, value) in [(&good, 1), (&bad, 2), (&good, 3)] {
            values.put(request, value);
        }
        let taken = [&bad, &good, &good, &good, &bad].map(|request| values.take(request));
        assert_eq!(taken, [Some(2), Some(1), Some(3), None, None]);
        assert!(lock(&values.kept).is_empty());
    }
}
