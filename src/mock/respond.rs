//! Execution of an answer: faults, delays, requests and notifications to the client, then the
//! result.

use std::time::Duration;

use replay_clients::FailureForm;
use replay_mcp::protocol::{Body, Code, Outcome, RpcError, notification};
use replay_mcp::sessions::{AdmittedRequest, Level};
use serde_json::{Value, json};

use super::behaviour::{self, AnswerBody, Ask, MockAnswer};
use super::catalog::{Catalog, CatalogTool};
use super::client::ClientState;
use super::faker::{hash, splitmix};
use super::fault::MockFault;
use super::faulted::{FaultedCall, WaitOutcome};
use super::schema;
use super::sequence::{has_answers, request_state};
use super::template::{Template, TemplateScope};

/// A request that is being answered.
#[derive(Clone, Copy)]
pub(crate) struct AnswerExecution<'a> {
    pub client: &'a ClientState,
    /// Style of refusals for clients of handshake revisions.
    pub errors: FailureForm,
    pub catalog: &'a Catalog,
    pub exchange: &'a AdmittedRequest<'a>,
    pub params: &'a Value,
    /// The value of `${args...}`.
    pub arguments: &'a Value,
    /// The called tool, if any.
    pub tool: Option<&'a CatalogTool>,
}

impl AnswerExecution<'_> {
    /// Sends the picked answer; the number is its count, this call included. `fault` applies to all
    /// calls and overrides the answer's own. `generic` gives the answer if the manifest declares
    /// none.
    pub(crate) fn run(
        &self,
        picked: Option<(&MockAnswer, u64)>,
        fault: MockFault,
        generic: impl FnOnce() -> Outcome,
    ) -> Option<Outcome> {
        let (reply, count) = picked.map_or((None, 0), |(reply, count)| (Some(reply), count));
        let answer = reply.map_or(&AnswerBody::Generic, |reply| &reply.body);
        let own = reply.and_then(|reply| reply.fault).unwrap_or_default();
        let fault = if fault == MockFault::None { own } else { fault };
        let delay = reply.map_or(Duration::ZERO, |reply| reply.delay);
        let prelude = |delay| self.prelude(reply, delay);
        self.faulted().run(fault.at(count), delay, prelude, || {
            match reply.map_or(Ok(None), |reply| self.ask(reply)) {
                Ok(Some(asked)) => Some(Ok(asked)),
                Ok(None) => Some(self.answer(reply, answer, count, Value::Null, generic)),
                Err(Some(answers)) => Some(self.answer(reply, answer, count, answers, generic)),
                Err(None) => None,
            }
        })
    }

    fn faulted(&self) -> FaultedCall<'_> {
        let ticket = self.exchange.ticket;
        FaultedCall {
            id: &ticket.id,
            revision: ticket.revision,
            outbox: self.exchange.outbox,
            cancel: &ticket.cancel,
            over: &self.client.over,
        }
    }

    /// Sends progress, spread over the delay, and the other messages before the answer.
    fn prelude(&self, reply: Option<&MockAnswer>, delay: Duration) -> WaitOutcome {
        let call = self.faulted();
        // Most answers need only the wait, or nothing.
        let Some(reply) = reply.filter(|reply| reply.has_messages()) else {
            return call.wait(delay);
        };
        let scope = self.scope(0, Value::Null);
        if let Some(token) = &self.exchange.ticket.progress_token {
            let token: Value = serde_json::from_str(token.as_json()).unwrap_or_default();
            let pause = delay / u32::try_from(reply.progress.len() + 1).unwrap_or(u32::MAX);
            for progress in &reply.progress {
                let mut params = progress.fill(&scope);
                params["progressToken"] = token.clone();
                self.exchange
                    .outbox
                    .send(&notification("notifications/progress", &params));
                match call.wait(pause) {
                    WaitOutcome::Time => {}
                    woken => return woken,
                }
            }
            if !reply.progress.is_empty() {
                return self.send_messages(reply, &scope, pause);
            }
        }
        self.send_messages(reply, &scope, delay)
    }

    fn send_messages(
        &self,
        reply: &MockAnswer,
        scope: &TemplateScope<'_>,
        delay: Duration,
    ) -> WaitOutcome {
        let ticket = self.exchange.ticket;
        for log in &reply.log {
            let params = log.fill(scope);
            let level =
                serde_json::from_value::<Level>(params["level"].clone()).unwrap_or(Level::Info);
            // Until a client sets a level, a server may send all messages
            // (server/utilities/logging). A stateless client must ask for them.
            let wanted = ticket
                .level
                .map_or(!ticket.revision.is_stateless(), |least| level >= least);
            if wanted {
                self.exchange
                    .outbox
                    .send(&notification("notifications/message", &params));
            }
        }
        for (method, params) in &reply.notifications {
            self.exchange
                .outbox
                .send(&notification(method, &params.fill(scope)));
        }
        self.faulted().wait(delay)
    }

    /// Sends the answer's requests to the client.
    ///
    /// - `Err(Some)` holds the client's answers.
    /// - `Err(None)` means that the client is gone.
    /// - `Ok(Some)` replaces the result.
    /// - `Ok(None)` means that there is nothing to ask.
    fn ask(&self, reply: &MockAnswer) -> Result<Option<Body>, Option<Value>> {
        if reply.asks.is_empty() {
            return Ok(None);
        }
        let declared = self.client.capabilities(self.params);
        if let Some(missing) = reply
            .asks
            .iter()
            .find(|ask| declared.get(ask.name).is_none())
        {
            return Ok(Some(self.missing_capability(missing)));
        }
        let scope = self.scope(0, Value::Null);
        if self.exchange.ticket.revision.is_stateless() {
            return self.ask_by_result(reply, &scope);
        }
        let mut answers = serde_json::Map::new();
        for ask in &reply.asks {
            let params = ask.params.fill(&scope);
            let answer = self.client.ask(self.exchange, ask.method, Some(&params));
            answers.insert(ask.name.to_owned(), answer.ok_or(None)?);
        }
        Err(Some(Value::Object(answers)))
    }

    /// Asks in the way of 2026-07-28 (basic/patterns/mrtr): the result holds the requests, and the
    /// client repeats its request with the answers.
    fn ask_by_result(
        &self,
        reply: &MockAnswer,
        scope: &TemplateScope<'_>,
    ) -> Result<Option<Body>, Option<Value>> {
        let name = self
            .tool
            .map_or(&*self.exchange.request.method, |tool| &tool.name);
        if has_answers(self.catalog, name, reply, self.params) {
            return Err(Some(self.params["inputResponses"].clone()));
        }
        let state = request_state(self.catalog, name);
        let requests: serde_json::Map<String, Value> = reply
            .asks
            .iter()
            .map(|ask| {
                (
                    ask.name.to_owned(),
                    json!({"method": ask.method, "params": ask.params.fill(scope)}),
                )
            })
            .collect();
        let mut result = json!({"resultType": "input_required", "inputRequests": requests, "requestState": state});
        result["_meta"] = self.catalog.server_meta();
        Ok(Some(Body::Raw(result.to_string().into())))
    }

    fn missing_capability(&self, ask: &Ask) -> Body {
        let text = format!(
            "this answer needs the client capability `{}`, which the client has not declared",
            ask.name
        );
        let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
        Body::Raw(self.finish(result).to_string().into())
    }

    fn answer(
        &self,
        reply: Option<&MockAnswer>,
        answer: &AnswerBody,
        count: u64,
        answers: Value,
        generic: impl FnOnce() -> Outcome,
    ) -> Outcome {
        let rate = reply.map_or(0.0, |reply| reply.error_rate);
        if rate > 0.0 && self.chance(count) < rate {
            let message = format!("an error on purpose (error_rate: {rate})");
            return Err(RpcError::new(Code::Internal, message));
        }
        match answer {
            AnswerBody::Unfit if self.tool.is_some() => {
                let name = self.tool.map_or("", |tool| &tool.name);
                let arguments = schema::shorten(&self.arguments.to_string());
                self.refuse(format!(
                    "no answer of `{name}` matches {arguments}; add one with `default: true`"
                ))
            }
            AnswerBody::Generic | AnswerBody::Unfit => generic(),
            AnswerBody::Result {
                text: Some(text), ..
            } if !self.exchange.ticket.revision.is_stateless() => Ok(Body::Raw(text.clone())),
            AnswerBody::Result { template, .. } => {
                let result = template.fill(&self.scope(count, answers));
                if let Some(tool) = self.tool.filter(|_| template.as_fixed().is_none())
                    && let Some(reason) = behaviour::schema_violation(tool.output.as_ref(), &result)
                {
                    tracing::warn!(
                        tool = &*tool.name,
                        "the result does not match its output_schema: {reason}"
                    );
                }
                Ok(Body::Raw(self.finish(result).to_string().into()))
            }
            AnswerBody::Error {
                code,
                message,
                data,
            } => {
                let scope = self.scope(count, answers);
                let text = |template: &Template| match template.fill(&scope) {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                let data = data.as_ref().map(|data| data.fill(&scope));
                Err(RpcError {
                    data,
                    ..RpcError::new(Code::Other(*code), text(message))
                })
            }
        }
    }

    /// Refuses unusable arguments: with an error or a result, as the real server does.
    pub(crate) fn refuse(&self, message: String) -> Outcome {
        if self.exchange.ticket.revision.is_stateless() || self.errors != FailureForm::Codes {
            let result = json!({"content": [{"type": "text", "text": message}], "isError": true});
            return Ok(Body::Raw(self.finish(result).to_string().into()));
        }
        Err(RpcError::new(Code::InvalidParams, message))
    }

    /// Adds the members that 2026-07-28 requires of a result, unless they are present or the
    /// manifest is `exact`.
    pub(crate) fn finish(&self, mut result: Value) -> Value {
        if self.exchange.ticket.revision.is_stateless()
            && !self.catalog.exact
            && let Some(members) = result.as_object_mut()
        {
            members
                .entry("resultType")
                .or_insert_with(|| "complete".into());
            members
                .entry("_meta")
                .or_insert_with(|| self.catalog.server_meta());
        }
        result
    }

    /// Returns a number from 0 to 1 that depends only on the seed, the tool and the count.
    fn chance(&self, count: u64) -> f64 {
        let name = self
            .tool
            .map_or(&*self.exchange.request.method, |tool| &tool.name);
        splitmix(self.catalog.seed ^ hash(name).wrapping_add(count)) as f64 / u64::MAX as f64
    }

    /// Returns the values of template placeholders.
    pub(crate) fn scope(&self, count: u64, answers: Value) -> TemplateScope<'_> {
        let id: Value = serde_json::from_str(self.exchange.ticket.id.as_json()).unwrap_or_default();
        let mut names = match answers {
            Value::Object(answers) => answers,
            _ => serde_json::Map::new(),
        };
        let request = json!({"id": id, "method": self.exchange.request.method});
        names.insert("request".to_owned(), request);
        names.insert("call".to_owned(), json!({"count": count}));
        let name = self
            .tool
            .map_or(&*self.exchange.request.method, |tool| &tool.name);
        let (arguments, params) = (Some(self.arguments), Some(self.params));
        TemplateScope {
            arguments,
            params,
            names,
            seed: self.catalog.seed ^ hash(name).wrapping_add(count),
        }
    }
}
