//! Serves a cassette.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::cassette::{Cassette, Entry, Recorder, plain};
use super::redact::Redactor;
use super::service::lock;
use crate::protocol::{Body, Code, Outcome, Request, RpcError, notification};
use crate::server::{Exchange, Service, stateless_revisions};
use crate::tools::Weight;

/// What becomes of a request that was not recorded.
pub enum OnMiss {
    /// An error that says so.
    Fail,
    /// The real server answers.
    Ask(Box<dyn Upstream>),
    /// The real server answers, and its answer is written behind the others.
    Record(Box<dyn Upstream>, Recorder),
}

/// The real server behind a cassette.
pub trait Upstream: Send + Sync {
    /// Its answer: an object with `result` or `error`. Fails, with the reason, when there is none.
    fn ask(&self, method: &str, params: &Value) -> Result<Value, String>;
}

/// A cassette as a service.
pub struct Player {
    cassette: Mutex<Cassette>,
    on_miss: OnMiss,
    /// What is looked up must be without the secrets that the cassette is without.
    redactor: Redactor,
}

impl Player {
    /// Serves this cassette.
    pub fn new(cassette: Cassette, on_miss: OnMiss, redactor: Redactor) -> Self {
        Self { cassette: Mutex::new(cassette), on_miss, redactor }
    }

    fn find(&self, method: &str, params: &Value) -> Option<Entry> {
        lock(&self.cassette).next(method, &self.redactor.redact(&plain(params))).cloned()
    }

    fn miss(&self, method: &str, params: &Value) -> Outcome {
        let upstream = match &self.on_miss {
            OnMiss::Fail => {
                let message = format!("the cassette has no exchange for {method} with {}", plain(params));
                return Err(RpcError::new(Code::Internal, message));
            }
            OnMiss::Ask(upstream) | OnMiss::Record(upstream, _) => upstream,
        };
        let reply = upstream.ask(method, &plain(params)).map_err(|reason| {
            RpcError::new(Code::Internal, format!("the server behind the cassette has not answered: {reason}"))
        })?;
        let entry = Entry {
            method: method.to_owned(),
            params: plain(params),
            result: reply.get("result").cloned(),
            error: reply.get("error").cloned(),
            before: Vec::new(),
            ms: 0.0,
        };
        if let OnMiss::Record(_, recorder) = &self.on_miss {
            recorder.record(&entry);
        }
        outcome(&entry)
    }

    /// What a stateless client asks first, put together from what a session was opened with.
    fn discovered(&self) -> Option<Entry> {
        let opened = self.find("initialize", &Value::Null)?.result?;
        let supported: Vec<&str> = stateless_revisions().collect();
        let mut result = json!({"supportedVersions": supported, "capabilities": opened["capabilities"],
            "ttlMs": 0, "cacheScope": "private"});
        if let Some(text) = opened.get("instructions") {
            result["instructions"] = text.clone();
        }
        let (method, params) = ("server/discover".to_owned(), json!({}));
        Some(Entry { method, params, result: Some(result), error: None, before: Vec::new(), ms: 0.0 })
    }
}

fn outcome(entry: &Entry) -> Outcome {
    match (&entry.result, &entry.error) {
        (_, Some(error)) => Err(RpcError {
            code: Code::Other(error["code"].as_i64().unwrap_or(-32603)),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error.get("data").cloned(),
        }),
        (result, None) => Ok(Body::Raw(result.clone().unwrap_or_else(|| json!({})).to_string().into())),
    }
}

impl Service for Player {
    fn weight(&self, _: &Request<'_>) -> Weight {
        if matches!(self.on_miss, OnMiss::Fail) { Weight::Light } else { Weight::Waits }
    }

    fn serve(&self, exchange: &Exchange<'_>) -> Option<Outcome> {
        let method = &*exchange.request.method;
        let revision = exchange.ticket.revision;
        let params: Value =
            exchange.request.params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let mut found = self.find(method, &params);
        if found.is_none() && method == "server/discover" && revision.is_stateless() {
            found = self.discovered();
        }
        let Some(mut entry) = found else {
            return Some(match method {
                "ping" | "logging/setLevel" if !revision.is_stateless() => Ok(Body::Raw("{}".into())),
                _ => self.miss(method, &params),
            });
        };
        if method == "initialize"
            && let Some(result) = &mut entry.result
        {
            result["protocolVersion"] = exchange.session.negotiate_with(exchange.request.params).as_str().into();
        }
        let token =
            exchange.ticket.progress_token.as_ref().and_then(|id| serde_json::from_str::<Value>(id.as_json()).ok());
        for message in &entry.before {
            let (sent, mut params) = (message["method"].as_str().unwrap_or_default(), message["params"].clone());
            if sent == "notifications/progress" {
                // The token is this client's.
                let Some(token) = &token else { continue };
                params["progressToken"] = token.clone();
            }
            exchange.outbox.send(&notification(sent, &params));
        }
        if revision.is_stateless()
            && let Some(Value::Object(result)) = &mut entry.result
        {
            result.entry("resultType").or_insert_with(|| "complete".into());
        }
        Some(outcome(&entry))
    }
}
