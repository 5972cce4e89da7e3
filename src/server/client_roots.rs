//! Roots of the only client of a server (MCP, client/roots), which decide where relative paths
//! begin.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use percent_encoding::percent_decode_str;
use replay_mcp::protocol::{Id, Request, Response};
use replay_mcp::sessions::Outbox;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// Id of the request for the roots.
const REQUEST_ID: &str = "\"replay-roots\"";

/// Asks the client once, after its handshake, if it declared roots.
#[derive(Default)]
pub(super) struct ClientRoots {
    /// False for a server with several clients, whose roots differ.
    is_wanted: bool,
    is_declared: AtomicBool,
    /// True from the request to its answer. There is one request.
    is_asked: AtomicBool,
    has_asked: AtomicBool,
    outbox: OnceLock<Arc<dyn Outbox>>,
    /// Paths that were not taken yet.
    found: Mutex<Vec<PathBuf>>,
    has_found: AtomicBool,
}

impl ClientRoots {
    pub(super) fn new(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            ..Self::default()
        }
    }

    /// Reads the capabilities of an `initialize` request.
    pub(super) fn declared(&self, params: Option<&RawValue>) {
        #[derive(Default, Deserialize)]
        struct Params {
            #[serde(default)]
            capabilities: Capabilities,
        }
        #[derive(Default, Deserialize)]
        struct Capabilities {
            roots: Option<serde::de::IgnoredAny>,
        }
        let params: Params = params
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        self.is_declared
            .store(params.capabilities.roots.is_some(), Relaxed);
    }

    pub(super) fn connected(&self, outbox: Arc<dyn Outbox>) {
        // A client connects once over stdio.
        let _ = self.outbox.set(outbox);
    }

    /// Asks for the roots once the handshake is over.
    pub(super) fn notified(&self, request: &Request<'_>) {
        if request.method != "notifications/initialized"
            || !(self.is_wanted && self.is_declared.load(Relaxed))
        {
            return;
        }
        if let Some(outbox) = self.outbox.get()
            && !self.has_asked.swap(true, Relaxed)
        {
            self.is_asked.store(true, Relaxed);
            let id: serde_json::Value = serde_json::from_str(REQUEST_ID).unwrap_or_default();
            let request = json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"});
            outbox.send(request.to_string().as_bytes());
        }
    }

    /// Reads the client's answer.
    pub(super) fn answered(&self, response: &Response<'_>) {
        #[derive(Deserialize)]
        struct Roots {
            roots: Vec<serde_json::Value>,
        }
        if response.id.as_ref().map(Id::as_json) != Some(REQUEST_ID)
            || !self.is_asked.swap(false, Relaxed)
        {
            return;
        }
        let result = response.result.filter(|_| response.error.is_none());
        let roots: Option<Roots> = result.and_then(|raw| serde_json::from_str(raw.get()).ok());
        // The host of a file is empty or `localhost` (RFC 8089, 2).
        let path = |root: serde_json::Value| {
            let place = root["uri"].as_str()?.strip_prefix("file://")?;
            let path = place.strip_prefix("localhost").unwrap_or(place);
            let path: Vec<u8> = percent_decode_str(path).collect();
            Some(PathBuf::from(OsStr::from_bytes(&path)))
        };
        let paths = roots
            .into_iter()
            .flat_map(|roots| roots.roots)
            .filter_map(path);
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = paths.collect();
        self.has_found.store(true, Release);
    }

    /// Passes the roots on once. Calls at the same time wait until that is done.
    pub(super) fn apply(&self, work: impl FnOnce(&[PathBuf])) {
        if !self.has_found.load(Acquire) {
            return;
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_found.load(Acquire) {
            work(&found);
            self.has_found.store(false, Release);
        }
    }
}
