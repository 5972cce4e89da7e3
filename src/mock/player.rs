//! Service that answers from a cassette.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use replay_mcp::protocol::{
    Body, Code, Id, Outcome, Request, Response, RpcError, SERVER_INFO_KEY, notification,
};
use replay_mcp::sessions::{AdmittedRequest, Service, Weight, stateless_revisions};
use serde_json::{Value, json};

use super::cassette::{Cassette, CassetteEntry, CassetteRecorder, without_meta};
use super::client::ClientState;
use super::redact::Redactor;
use super::sync::lock;

/// Handling of a request that the cassette does not have.
pub enum CassetteMiss {
    /// Fail with an error.
    Fail,
    /// Ask the real server.
    Ask(Box<dyn Upstream>),
    /// Ask the real server and append its answer to the cassette.
    Record(Box<dyn Upstream>, CassetteRecorder),
}

/// The real server behind a cassette.
pub trait Upstream: Send + Sync {
    /// Returns its answer: an object with `result` or `error`. Fails, with the reason, if there is
    /// none.
    fn ask(&self, method: &str, params: &Value) -> Result<Value, String>;
    /// Called when the client has closed its side: open requests are given up soon.
    fn ended(&self);
}

/// A cassette as a service.
pub struct CassettePlayer {
    cassette: Mutex<Cassette>,
    on_miss: CassetteMiss,
    /// Redacts requests before the lookup, like the recording.
    redactor: Redactor,
    /// Exchanges of requests that are not processed yet, looked up on arrival. Threads may process
    /// requests in another order.
    found: Mutex<HashMap<Id, Option<Arc<CassetteEntry>>>>,
    client: ClientState,
}

impl CassettePlayer {
    pub fn new(cassette: Cassette, on_miss: CassetteMiss, redactor: Redactor) -> Self {
        Self {
            cassette: Mutex::new(cassette),
            on_miss,
            redactor,
            found: Mutex::default(),
            client: ClientState::default(),
        }
    }

    fn find(&self, method: &str, params: &Value) -> Option<Arc<CassetteEntry>> {
        lock(&self.cassette).next(method, &self.redactor.redact(&without_meta(params)))
    }

    /// Sends the recorded messages before this answer. Returns `None` if the client no longer wants
    /// the answer.
    fn prelude(&self, entry: &CassetteEntry, exchange: &AdmittedRequest<'_>) -> Option<()> {
        let ticket = exchange.ticket;
        let token = ticket
            .progress_token
            .as_ref()
            .and_then(|id| serde_json::from_str::<Value>(id.as_json()).ok());
        for message in &entry.before {
            let method = message["method"].as_str().unwrap_or_default();
            if message.get("answer").is_some() {
                // In 2026-07-28 servers send no requests.
                if !ticket.revision.is_stateless() && self.may_ask(method) {
                    self.client.ask(exchange, method, message.get("params"))?;
                }
                continue;
            }
            let mut params = message.get("params").cloned().unwrap_or_else(|| json!({}));
            if method == "notifications/progress" {
                // The token comes from the present client.
                let Some(token) = &token else { continue };
                params["progressToken"] = token.clone();
            }
            exchange.outbox.send(&notification(method, &params));
        }
        Some(())
    }

    /// Returns true if the client has declared the capability for a request of the server.
    fn may_ask(&self, method: &str) -> bool {
        let capability = method.split('/').next().unwrap_or_default();
        capability == "ping"
            || self
                .client
                .capabilities(&Value::Null)
                .get(capability)
                .is_some()
    }

    fn miss(&self, method: &str, params: &Value) -> Outcome {
        let upstream = match &self.on_miss {
            CassetteMiss::Fail => {
                let asked = self.redactor.redact(&without_meta(params));
                let message = lock(&self.cassette).explain_miss(method, &asked);
                tracing::warn!("{message}");
                return Err(RpcError::new(Code::Internal, message));
            }
            CassetteMiss::Ask(upstream) | CassetteMiss::Record(upstream, _) => upstream,
        };
        let reply = upstream
            .ask(method, &without_meta(params))
            .map_err(|reason| {
                RpcError::new(
                    Code::Internal,
                    format!("the server of --target has not answered: {reason}"),
                )
            })?;
        let entry = CassetteEntry {
            method: method.to_owned(),
            params: without_meta(params),
            result: reply.get("result").cloned(),
            error: reply.get("error").cloned(),
            before: Vec::new(),
            ms: 0.0,
        };
        if let CassetteMiss::Record(_, recorder) = &self.on_miss {
            recorder.record(&entry);
        }
        outcome(&entry)
    }

    /// Builds the answer to `server/discover` from a recorded `initialize`.
    fn build_discover(&self) -> Option<Arc<CassetteEntry>> {
        let entry = self.find("initialize", &Value::Null)?;
        let opened = entry.result.as_ref()?;
        let supported: Vec<&str> = stateless_revisions().collect();
        let mut result = json!({"supportedVersions": supported, "capabilities": opened["capabilities"],
            "ttlMs": 0, "cacheScope": "private"});
        if let Some(text) = opened.get("instructions") {
            result["instructions"] = text.clone();
        }
        if let Some(info) = opened.get("serverInfo") {
            result["_meta"] = json!({ SERVER_INFO_KEY: info });
        }
        Some(built_entry("server/discover", result))
    }

    /// Builds the answer to `initialize` from a recorded `server/discover`.
    fn build_initialize(&self) -> Option<Arc<CassetteEntry>> {
        let entry = self.find("server/discover", &Value::Null)?;
        let discovered = entry.result.as_ref()?;
        let unnamed = || json!({"name": "cassette", "version": env!("CARGO_PKG_VERSION")});
        let info = discovered["_meta"]
            .get(SERVER_INFO_KEY)
            .cloned()
            .unwrap_or_else(unnamed);
        // The revision is set once it is negotiated.
        let mut result = json!({"protocolVersion": "", "capabilities": discovered["capabilities"], "serverInfo": info});
        if let Some(text) = discovered.get("instructions") {
            result["instructions"] = text.clone();
        }
        Some(built_entry("initialize", result))
    }
}

fn built_entry(method: &str, result: Value) -> Arc<CassetteEntry> {
    let (method, params) = (method.to_owned(), json!({}));
    Arc::new(CassetteEntry {
        method,
        params,
        result: Some(result),
        error: None,
        before: Vec::new(),
        ms: 0.0,
    })
}

/// Returns true if a result of this method has a cache lifetime (2026-07-28, `CacheableResult`).
fn is_cacheable(method: &str) -> bool {
    const METHODS: [&str; 6] = [
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
    ];
    METHODS.contains(&method)
}

fn outcome(entry: &CassetteEntry) -> Outcome {
    match (&entry.result, &entry.error) {
        (_, Some(error)) => Err(rpc_error(error)),
        (result, None) => Ok(Body::Raw(
            result
                .as_ref()
                .map_or_else(|| "{}".to_owned(), Value::to_string)
                .into(),
        )),
    }
}

/// Returns the error of a JSON-RPC message.
pub(crate) fn rpc_error(error: &Value) -> RpcError {
    RpcError {
        data: error.get("data").cloned(),
        ..RpcError::new(
            Code::Other(error["code"].as_i64().unwrap_or(-32603)),
            error["message"].as_str().unwrap_or_default(),
        )
    }
}

fn params(request: &Request<'_>) -> Value {
    request
        .params
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

impl Service for CassettePlayer {
    fn weight(&self, request: &Request<'_>) -> Weight {
        let found = self.find(&request.method, &params(request));
        let waits = found
            .as_ref()
            .map_or(!matches!(self.on_miss, CassetteMiss::Fail), |entry| {
                entry.asks()
            });
        if let Some(id) = &request.id {
            lock(&self.found).insert(id.clone(), found);
        }
        if waits { Weight::Waits } else { Weight::Light }
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        let method = &*exchange.request.method;
        let revision = exchange.ticket.revision;
        let params = params(exchange.request);
        let known = lock(&self.found).remove(&exchange.ticket.id);
        let mut found = known.unwrap_or_else(|| self.find(method, &params));
        if found.is_none() && method == "server/discover" && revision.is_stateless() {
            found = self.build_discover();
        }
        let opens = method == "initialize";
        if found.is_none() && opens {
            found = self.build_initialize();
        }
        if opens {
            self.client.open(&params);
        }
        let Some(entry) = found else {
            return Some(match method {
                "ping" | "logging/setLevel" if !revision.is_stateless() => {
                    Ok(Body::Raw("{}".into()))
                }
                _ => self.miss(method, &params),
            });
        };
        self.prelude(&entry, exchange)?;
        if !opens && !revision.is_stateless() {
            return Some(outcome(&entry));
        }
        let mut entry = CassetteEntry::clone(&entry);
        if opens && let Some(result) = &mut entry.result {
            result["protocolVersion"] = exchange
                .session
                .negotiate_with(exchange.request.params)
                .as_str()
                .into();
        }
        if revision.is_stateless()
            && let Some(Value::Object(result)) = &mut entry.result
        {
            result
                .entry("resultType")
                .or_insert_with(|| "complete".into());
            if is_cacheable(method) {
                result.entry("ttlMs").or_insert_with(|| 0.into());
                result
                    .entry("cacheScope")
                    .or_insert_with(|| "private".into());
            }
        }
        Some(outcome(&entry))
    }

    fn answered(&self, response: &Response<'_>) {
        self.client.answered(response);
    }

    fn ended(&self) {
        self.client.over.cancel();
        if let CassetteMiss::Ask(upstream) | CassetteMiss::Record(upstream, _) = &self.on_miss {
            upstream.ended();
        }
    }
}
