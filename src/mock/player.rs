//! Serves a cassette.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::cassette::{Cassette, CassetteEntry, CassetteRecorder, plain};
use super::client::ClientState;
use super::redact::Redactor;
use super::sync::lock;
use crate::protocol::{
    Body, Code, Id, Outcome, Request, Response, RpcError, SERVER_INFO_KEY, notification,
};
use crate::server::{AdmittedRequest, Service, stateless_revisions};
use crate::tools::Weight;

/// What becomes of a request that was not recorded.
pub enum CassetteMiss {
    /// An error that says so.
    Fail,
    /// The real server answers.
    Ask(Box<dyn Upstream>),
    /// The real server answers, and its answer is written behind the others.
    Record(Box<dyn Upstream>, CassetteRecorder),
}

/// The real server behind a cassette.
pub trait Upstream: Send + Sync {
    /// Its answer: an object with `result` or `error`. Fails, with the reason, when there is none.
    fn ask(&self, method: &str, params: &Value) -> Result<Value, String>;
    /// The client sends nothing more: what has no answer soon gets none.
    fn ended(&self);
}

/// A cassette as a service.
pub struct CassettePlayer {
    cassette: Mutex<Cassette>,
    on_miss: CassetteMiss,
    /// What is looked up must be without the secrets that the cassette is without.
    redactor: Redactor,
    /// What requests get that are not taken up yet, found when they arrived: threads may take them
    /// up in another order.
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
        lock(&self.cassette).next(method, &self.redactor.redact(&plain(params)))
    }

    /// Sends what the server sent before this answer. `None` when the client does not want the
    /// answer any more.
    fn prelude(&self, entry: &CassetteEntry, exchange: &AdmittedRequest<'_>) -> Option<()> {
        let ticket = exchange.ticket;
        let token = ticket
            .progress_token
            .as_ref()
            .and_then(|id| serde_json::from_str::<Value>(id.as_json()).ok());
        for message in &entry.before {
            let method = message["method"].as_str().unwrap_or_default();
            if message.get("answer").is_some() {
                // 2026-07-28 has no requests of servers.
                if !ticket.revision.is_stateless() && self.may_ask(method) {
                    self.client.ask(exchange, method, message.get("params"))?;
                }
                continue;
            }
            let mut params = message.get("params").cloned().unwrap_or_else(|| json!({}));
            if method == "notifications/progress" {
                // The token is this client's.
                let Some(token) = &token else { continue };
                params["progressToken"] = token.clone();
            }
            exchange.outbox.send(&notification(method, &params));
        }
        Some(())
    }

    /// Whether the client has declared what a request of the server needs.
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
                let message = format!(
                    "the cassette has no exchange for {method} with {}",
                    plain(params)
                );
                return Err(RpcError::new(Code::Internal, message));
            }
            CassetteMiss::Ask(upstream) | CassetteMiss::Record(upstream, _) => upstream,
        };
        let reply = upstream.ask(method, &plain(params)).map_err(|reason| {
            RpcError::new(
                Code::Internal,
                format!("the server behind the cassette has not answered: {reason}"),
            )
        })?;
        let entry = CassetteEntry {
            method: method.to_owned(),
            params: plain(params),
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

    /// What a stateless client asks first, put together from what a session was opened with.
    fn discovered(&self) -> Option<Arc<CassetteEntry>> {
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
        Some(made("server/discover", result))
    }

    /// How a session is opened, put together from what a stateless client asked first.
    fn opened(&self) -> Option<Arc<CassetteEntry>> {
        let entry = self.find("server/discover", &Value::Null)?;
        let discovered = entry.result.as_ref()?;
        let unnamed = || json!({"name": "cassette", "version": env!("CARGO_PKG_VERSION")});
        let info = discovered["_meta"]
            .get(SERVER_INFO_KEY)
            .cloned()
            .unwrap_or_else(unnamed);
        // The revision is put in when it is agreed on.
        let mut result = json!({"protocolVersion": "", "capabilities": discovered["capabilities"], "serverInfo": info});
        if let Some(text) = discovered.get("instructions") {
            result["instructions"] = text.clone();
        }
        Some(made("initialize", result))
    }
}

fn made(method: &str, result: Value) -> Arc<CassetteEntry> {
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

/// Whether the result says for how long it may be kept (2026-07-28, `CacheableResult`).
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
        (_, Some(error)) => Err(RpcError {
            data: error.get("data").cloned(),
            ..RpcError::new(
                Code::Other(error["code"].as_i64().unwrap_or(-32603)),
                error["message"].as_str().unwrap_or_default(),
            )
        }),
        (result, None) => Ok(Body::Raw(
            result
                .as_ref()
                .map_or_else(|| "{}".to_owned(), Value::to_string)
                .into(),
        )),
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
            found = self.discovered();
        }
        let opens = method == "initialize";
        if found.is_none() && opens {
            found = self.opened();
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
