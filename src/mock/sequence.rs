//! Decisions about a request at its arrival. Threads may process requests in another order.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use replay_mcp::protocol::{Meta, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use super::behaviour::{AnswerChoice, Answers, MockAnswer};
use super::catalog::{Catalog, CatalogTool};
use super::faker::{hash, splitmix};
use super::fault::MockFault;
use super::fault_rules::FaultRules;
use super::in_flight::InFlight;

/// Decisions about one request at its arrival.
#[derive(Debug)]
pub(crate) struct RequestTurn {
    /// Fault of a tool call, from the command line or for all tools of the catalog.
    pub fault: MockFault,
    /// The catalog at the arrival.
    pub catalog: Arc<Catalog>,
    /// Answer of the method, if it depends on earlier requests.
    pub of_method: Option<AnswerChoice>,
    /// Answer of the tool, if it depends on earlier requests.
    pub of_tool: Option<AnswerChoice>,
}

/// Decisions about requests that are not processed yet.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Number of tool calls so far.
    calls: AtomicU64,
    given: InFlight<RequestTurn>,
}

impl Turns {
    /// Decides about a request, and returns true if its answer takes time. `faults` override the
    /// catalog's.
    pub(crate) fn give(
        &self,
        request: &Request<'_>,
        catalog: &Arc<Catalog>,
        faults: &FaultRules,
    ) -> bool {
        let is_call = request.method == "tools/call";
        let method = catalog.methods.get(&*request.method);
        if !is_call && method.is_none() {
            return request.method == "subscriptions/listen";
        }
        let called = called_tool(request);
        let fault = if is_call {
            let number = self.calls.fetch_add(1, Relaxed) + 1;
            let own = faults.next(called.as_deref());
            own.unwrap_or_else(|| catalog.fault.unwrap_or_default().at(number))
        } else {
            MockFault::None
        };
        let mut turn = RequestTurn {
            fault,
            ..RequestTurn::late(Arc::clone(catalog))
        };
        let tool = called.and_then(|name| catalog.tool(&name));
        let behaviours = method.into_iter().chain(tool.map(|tool| &tool.behaviour));
        if behaviours.clone().any(Answers::is_stateful) {
            turn.decide(request, tool);
        }
        if request.id.is_some() {
            self.given.put(request, turn);
        }
        fault.waits() || behaviours.into_iter().any(Answers::waits)
    }

    /// Removes and returns the decisions about a request.
    pub(crate) fn take(&self, request: &Request<'_>) -> Option<RequestTurn> {
        self.given.take(request)
    }
}

impl RequestTurn {
    /// Creates the decisions about a request that got none at its arrival.
    pub(crate) fn late(catalog: Arc<Catalog>) -> Self {
        Self {
            fault: catalog.fault.unwrap_or_default().at(0),
            catalog,
            of_method: None,
            of_tool: None,
        }
    }

    fn decide(&mut self, request: &Request<'_>, tool: Option<&Arc<CatalogTool>>) {
        let params = request
            .params
            .and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let params = params.unwrap_or_else(|| json!({}));
        let stateless = Meta::of(request.params).is_ok_and(|meta| meta.protocol_version.is_some());
        let asks = |name: &str, reply: &MockAnswer| {
            stateless && !reply.asks.is_empty() && !has_answers(&self.catalog, name, reply, &params)
        };
        if let Some(behaviour) = self.catalog.methods.get(&*request.method) {
            self.of_method = behaviour.pick(&params, |reply| asks(&request.method, reply));
            let own = self.of_method.and_then(|choice| behaviour.reply(choice));
            if own.is_some_and(|(reply, _)| !reply.body.is_generic()) {
                return;
            }
        }
        let Some(tool) = tool.filter(|_| !self.fault.is_deaf()) else {
            return;
        };
        let none = json!({});
        let arguments = arguments(&params, &none);
        if tool
            .input
            .as_ref()
            .is_none_or(|input| input.is_valid(arguments))
        {
            self.of_tool = tool
                .behaviour
                .pick(arguments, |reply| asks(&tool.name, reply));
        }
    }
}

/// Returns the name of the tool that a request calls.
pub fn called_tool<'a>(request: &Request<'a>) -> Option<Cow<'a, str>> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    let raw = request.params.filter(|_| request.method == "tools/call")?;
    serde_json::from_str::<Params<'a>>(raw.get())
        .ok()
        .map(|params| params.name)
}

/// Returns the arguments of a call, or `none`, an empty object.
pub(crate) fn arguments<'a>(params: &'a Value, none: &'a Value) -> &'a Value {
    match &params["arguments"] {
        Value::Null => none,
        given => given,
    }
}

/// Returns the state that a client sends back with its answers.
pub(crate) fn request_state(catalog: &Catalog, name: &str) -> String {
    format!("{:016x}", splitmix(hash(name) ^ catalog.seed))
}

/// Returns true if a request of 2026-07-28 holds all answers that `reply` asks for
/// (basic/patterns/mrtr).
pub(crate) fn has_answers(
    catalog: &Catalog,
    name: &str,
    reply: &MockAnswer,
    params: &Value,
) -> bool {
    let state = params.get("requestState");
    state.is_none_or(|sent| *sent == request_state(catalog, name))
        && reply
            .asks
            .iter()
            .all(|ask| params["inputResponses"].get(ask.name).is_some())
}
