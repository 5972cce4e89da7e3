//! Service of a mock: dispatch of methods.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use replay_base::text::nearest::shortened;
use replay_clients::FailureForm;
use replay_mcp::protocol::{Body, Code, Outcome, Request, Response, RpcError, fault};
use replay_mcp::sessions::{AdmittedRequest, Outbox, Service, Weight, stateless_revisions};
use serde_json::{Value, json};

use super::catalog::Catalog;
use super::client::ClientState;
use super::fault::MockFault;
use super::fault_rules::FaultRules;
use super::respond::AnswerExecution;
use super::sequence::{RequestTurn, Turns, arguments};
use super::subscriptions::Subscriptions;
use super::{pagination, schema};

/// A mock server that a manifest defines.
pub struct Mock {
    catalog: RwLock<Arc<Catalog>>,
    /// Faults from the command line, which override the manifest's.
    faults: Arc<FaultRules>,
    /// Style of refusals for clients of handshake revisions.
    errors: FailureForm,
    /// `true` if the manifest may change while it is served.
    reloads: bool,
    /// Names that its tools must not have.
    reserved: OnceLock<HashSet<String>>,
    turns: Turns,
    /// Number of answered tool calls.
    answered: AtomicU64,
    client: Arc<ClientState>,
    subscriptions: Arc<Subscriptions>,
}

impl Mock {
    /// Returns true if clients are told that lists may change.
    #[must_use]
    pub fn reloads(&self) -> bool {
        self.reloads
    }

    /// Creates a mock for this catalog. With `reloads` clients are told that lists may change.
    pub fn new(
        catalog: Catalog,
        faults: Arc<FaultRules>,
        errors: FailureForm,
        reloads: bool,
    ) -> Arc<Self> {
        let client = Arc::<ClientState>::default();
        Arc::new(Self {
            catalog: RwLock::new(Arc::new(catalog)),
            faults,
            errors,
            reloads,
            reserved: OnceLock::new(),
            turns: Turns::default(),
            answered: AtomicU64::new(0),
            subscriptions: Subscriptions::of(Arc::clone(&client)),
            client,
        })
    }

    /// Returns the current catalog.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the catalog, and tells the client which lists have changed.
    pub fn replace(&self, catalog: Arc<Catalog>, changes: &[&'static str]) {
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = catalog;
        for kind in changes {
            self.subscriptions.announce_list(kind);
        }
    }

    /// Reserves these names for another service, now and after every change. Fails if a tool has
    /// one of them, and names it.
    pub fn reserve(&self, names: impl Iterator<Item = String>) -> Result<(), String> {
        let names = self.reserved.get_or_init(|| names.collect());
        // A concurrent change sees the reserved names.
        self.catalog().check_names(names)
    }

    /// Serves a new version of the manifest, and tells the client. Fails if a tool has a reserved
    /// name; the old version then stays.
    pub fn reload(&self, catalog: Catalog) -> Result<(), String> {
        if let Some(names) = self.reserved.get() {
            catalog.check_names(names)?;
        }
        let old = self.catalog();
        // Behaviour may differ while entries are equal, so tools are always announced.
        let mut changes = vec!["tools"];
        let resources = |catalog: &Catalog| -> Vec<String> {
            catalog
                .resources
                .iter()
                .map(|resource| resource.entry.clone())
                .collect()
        };
        let prompts = |catalog: &Catalog| -> Vec<String> {
            catalog
                .prompts
                .iter()
                .map(|prompt| prompt.entry.clone())
                .collect()
        };
        if resources(&old) != resources(&catalog) {
            changes.push("resources");
        }
        if prompts(&old) != prompts(&catalog) {
            changes.push("prompts");
        }
        self.replace(Arc::new(catalog), &changes);
        Ok(())
    }

    /// Swaps to the later catalog of the manifest, if any.
    fn rotate(&self) {
        let catalog = self.catalog();
        if let Some(later) = &catalog.later {
            self.replace(Arc::clone(&later.catalog), &later.changes);
        }
    }

    fn execution<'a>(
        &'a self,
        turn: &'a RequestTurn,
        exchange: &'a AdmittedRequest<'a>,
        params: &'a Value,
        arguments: &'a Value,
    ) -> AnswerExecution<'a> {
        let (client, catalog) = (&*self.client, &*turn.catalog);
        AnswerExecution {
            client,
            errors: self.errors,
            catalog,
            exchange,
            params,
            arguments,
            tool: None,
        }
    }

    fn call(
        &self,
        turn: &RequestTurn,
        exchange: &AdmittedRequest<'_>,
        params: &Value,
    ) -> Option<Outcome> {
        let catalog = &*turn.catalog;
        let fault = turn.fault;
        let invalid = |message: String| Some(Err(RpcError::new(Code::InvalidParams, message)));
        let execution = |arguments| self.execution(turn, exchange, params, arguments);
        // A server that hangs does not validate arguments either.
        if fault.is_deaf() {
            return execution(&Value::Null).run(None, fault, || Ok(Body::Raw("{}".into())));
        }
        let Some(name) = params["name"].as_str() else {
            return invalid(
                "`name` is missing or not a string; tools/list has the names".to_owned(),
            );
        };
        let Some(tool) = catalog.tool(name) else {
            return invalid(format!("no tool `{name}`; tools/list has the names"));
        };
        let none = json!({});
        let arguments = arguments(params, &none);
        // A choice made on arrival has validated the arguments.
        let choice = match turn.of_tool {
            Some(choice) => Some(choice),
            None => match tool
                .input
                .as_ref()
                .and_then(|input| input.faults(arguments, 1).pop())
            {
                Some(fault) => {
                    return Some(
                        execution(arguments).refuse(schema::describe(&fault, "arguments")),
                    );
                }
                None => tool.behaviour.pick(arguments, |_| false),
            },
        };
        let execution = AnswerExecution {
            tool: Some(tool),
            ..execution(arguments)
        };
        let generic = || {
            let result = json!({"content": [{"type": "text", "text": format!("mock {name}")}]});
            Ok(Body::Raw(execution.finish(result).to_string().into()))
        };
        let picked = choice.and_then(|choice| tool.behaviour.reply(choice));
        let outcome = execution.run(picked, fault, generic);
        let answered = self.answered.fetch_add(1, Relaxed) + 1;
        if catalog
            .later
            .as_ref()
            .is_some_and(|later| later.after_calls == Some(answered))
        {
            self.rotate();
        }
        outcome
    }

    fn dispatch(
        &self,
        turn: &RequestTurn,
        exchange: &AdmittedRequest<'_>,
        params: &Value,
    ) -> Option<Outcome> {
        let catalog = &*turn.catalog;
        let revision = exchange.ticket.revision;
        let handshake = !revision.is_stateless();
        let raw = |value: Value| Ok(Body::Raw(value.to_string().into()));
        Some(match &*exchange.request.method {
            "tools/call" => return self.call(turn, exchange, params),
            "ping" if handshake => Ok(Body::Raw("{}".into())),
            "initialize" if handshake => {
                let agreed = exchange.session.negotiate_with(exchange.request.params);
                self.client.open(params);
                let mut result = json!({
                    "protocolVersion": agreed.as_str(),
                    "capabilities": catalog.capabilities(self.reloads),
                    "serverInfo": catalog.info,
                });
                if let Some(text) = &catalog.instructions {
                    result["instructions"] = text.clone().into();
                }
                raw(result)
            }
            "server/discover" if !handshake => {
                let supported: Vec<&str> = stateless_revisions().collect();
                let mut result = json!({"supportedVersions": supported, "capabilities": catalog.capabilities(self.reloads)});
                if let Some(text) = &catalog.instructions {
                    result["instructions"] = text.clone().into();
                }
                raw(catalog.complete_result(exchange, result, true))
            }
            "server/discover" => Err(RpcError::new(
                Code::InvalidParams,
                "server/discover needs `_meta` with `io.modelcontextprotocol/protocolVersion`",
            )),
            "logging/setLevel"
                if handshake && catalog.capabilities(false).get("logging").is_some() =>
            {
                exchange.session.set_level(exchange.request.params)
            }
            "resources/subscribe" if handshake && catalog.has_updates() => {
                self.subscriptions.subscribe(catalog, params)
            }
            "resources/unsubscribe" if handshake && catalog.has_updates() => {
                self.subscriptions.unsubscribe(params);
                Ok(Body::Raw("{}".into()))
            }
            "subscriptions/listen"
                if !handshake
                    && (self.reloads || catalog.later.is_some() || catalog.has_updates()) =>
            {
                return self.subscriptions.listen(&self.catalog(), exchange, params);
            }
            method => {
                pagination::answer(&self.execution(turn, exchange, params, &json!({})), method)
                    .unwrap_or_else(|| {
                        Err(RpcError::new(
                            Code::MethodNotFound,
                            format!("no method `{}` on revision {revision}", shortened(method)),
                        ))
                    })
            }
        })
    }
}

impl Service for Mock {
    fn weight(&self, request: &Request<'_>) -> Weight {
        if self.turns.give(request, &self.catalog(), &self.faults) {
            Weight::Waits
        } else {
            Weight::Light
        }
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        let turn = self
            .turns
            .take(exchange.request)
            .unwrap_or_else(|| RequestTurn::late(self.catalog()));
        let catalog = &*turn.catalog;
        let params: Value = match exchange
            .request
            .params
            .map(|raw| serde_json::from_str(raw.get()))
        {
            Some(Err(error)) => {
                return Some(Err(RpcError::new(
                    Code::InvalidParams,
                    format!("`params` cannot be read: {}", fault(&error)),
                )));
            }
            Some(Ok(params)) => params,
            None => json!({}),
        };
        let Some(behaviour) = catalog.methods.get(&*exchange.request.method) else {
            return self.dispatch(&turn, exchange, &params);
        };
        let execution = self.execution(&turn, exchange, &params, &params);
        let silent = Err(RpcError::new(Code::Internal, "the method has no answer"));
        let generic = || self.dispatch(&turn, exchange, &params).unwrap_or(silent);
        let choice = turn
            .of_method
            .or_else(|| behaviour.pick(&params, |_| false));
        execution.run(
            choice.and_then(|choice| behaviour.reply(choice)),
            MockFault::None,
            generic,
        )
    }

    fn notified(&self, request: &Request<'_>) {
        if request.method == "notifications/mcptest/rotate_catalog" {
            self.rotate();
        }
    }

    fn answered(&self, response: &Response<'_>) {
        self.client.answered(response);
    }

    fn connected(&self, outbox: Arc<dyn Outbox>) {
        self.subscriptions.connect(outbox);
    }

    fn ended(&self) {
        self.client.over.cancel();
    }
}
