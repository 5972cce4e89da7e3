//! Proxy between a client and a real server: lines pass unchanged, but for the calls with a fault.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_RECORDED_MESSAGES;
use replay_mcp::protocol::{
    Body, Id, Incoming, Meta, Outcome, Request, Response, Revision, parse, render,
};
use replay_mcp::sessions::Outbox as _;
use replay_mcp::transport::Writer;
use serde_json::{Value, json};

use super::cassette::CassetteRecorder;
use super::client_requests::answer_of;
use super::fault::MockFault;
use super::fault_rules::FaultRules;
use super::faulted::FaultedCall;
use super::observer::{Observers, SeenMessage, SessionObserver, reply};
use super::player::rpc_error;
use super::sequence::called_tool;
use super::sync::lock;

/// Input of the server. It ends when the last clone is dropped: the client has closed its side, and
/// no held call is left.
pub type ServerInput = Arc<Mutex<Box<dyn Write + Send>>>;

/// State between one client and one server.
pub struct Proxy {
    faults: Arc<FaultRules>,
    /// Observers of the client: they see what it sends and what it gets.
    observers: Arc<Observers>,
    /// Recorder of the server: it sees what the server answers.
    recorder: Option<CassetteRecorder>,
    client: Writer,
    pending: Mutex<PendingRequests>,
    /// Cancelled when one side is over.
    over: CancelToken,
}

#[derive(Default)]
struct PendingRequests {
    /// The revision of the handshake.
    revision: Option<Revision>,
    open: HashMap<Id, PendingRequest>,
    /// Requests of the server: the client's request that each belongs to, and its index in
    /// `SeenMessage::before`.
    asked: HashMap<Id, (Id, usize)>,
    /// Threads of the calls with faults.
    calls: Vec<JoinHandle<()>>,
}

struct PendingRequest {
    seen: SeenMessage,
    since: Instant,
    fault: MockFault,
    /// `true` once the server has the request.
    is_sent: bool,
    cancel: CancelToken,
    /// Takes the answer to a call with a fault.
    taker: Option<Sender<ServerAnswer>>,
}

/// An answer of the server, and the request.
struct ServerAnswer {
    outcome: Outcome,
    seen: SeenMessage,
}

/// A call whose fault is applied by a thread of its own.
struct FaultedRequest {
    seen: SeenMessage,
    id: Id,
    since: Instant,
    fault: MockFault,
    /// The line and the server, if the server gets the call only after a wait.
    held: Option<(Vec<u8>, ServerInput)>,
    cancel: CancelToken,
    answers: Receiver<ServerAnswer>,
}

impl Proxy {
    /// Creates a proxy that writes to this client.
    pub fn new(
        client: Writer,
        faults: Arc<FaultRules>,
        observers: Arc<Observers>,
        recorder: Option<CassetteRecorder>,
    ) -> Arc<Self> {
        Arc::new(Self {
            faults,
            observers,
            recorder,
            client,
            pending: Mutex::default(),
            over: CancelToken::new(),
        })
    }

    /// Passes a line of the client on. Fails if the server no longer reads.
    pub fn from_client(self: &Arc<Self>, line: Vec<u8>, server: &ServerInput) -> io::Result<()> {
        match parse(&line) {
            Incoming::Request(request) => {
                if let Some(pending) = self.arrive(&request) {
                    return self.begin(pending, line, server);
                }
                if request.method == "notifications/cancelled" && !self.cancel(&request) {
                    return Ok(());
                }
            }
            Incoming::Response(response) => self.answered(&response),
            Incoming::Batch(members) => {
                for member in members {
                    match parse(member.get().as_bytes()) {
                        Incoming::Request(request) => self.arrive_in_batch(&request),
                        Incoming::Response(response) => self.answered(&response),
                        Incoming::Batch(_) | Incoming::Refused(_) => {}
                    }
                }
            }
            Incoming::Refused(_) => {}
        }
        lock(server).write_all(&line)
    }

    /// Passes a line of the server on. Returns false if the client no longer reads.
    pub fn from_server(&self, line: &[u8]) -> bool {
        let passes = match parse(line) {
            Incoming::Request(request) => {
                self.precede(&request);
                true
            }
            Incoming::Response(response) => self.complete(&response),
            Incoming::Batch(members) => {
                for member in members {
                    if let Incoming::Response(response) = parse(member.get().as_bytes()) {
                        self.complete(&response);
                    }
                }
                true
            }
            Incoming::Refused(_) => true,
        };
        if passes {
            self.client.write_line(line);
        }
        !self.client.is_broken()
    }

    /// Passes the rest of a line on that was too long to be read at once, and is no message itself.
    /// Returns false if the client no longer reads.
    pub fn rest_from_server(&self, rest: &[u8]) -> bool {
        self.client.write_line(rest);
        !self.client.is_broken()
    }

    /// The client sends no more lines. Waits that are long end.
    pub fn client_ended(&self) {
        self.over.cancel();
    }

    /// The server sends no more lines. Waits until the calls with faults are over. Returns the
    /// number of requests that the server left without an answer.
    pub fn server_ended(&self) -> usize {
        self.over.cancel();
        let (open, calls) = {
            let mut pending = lock(&self.pending);
            let open: Vec<_> = pending.open.drain().map(|(_, request)| request).collect();
            (open, std::mem::take(&mut pending.calls))
        };
        let unanswered = open.iter().filter(|request| request.is_sent).count();
        for request in open {
            request.cancel.cancel();
            self.give_up(request);
        }
        for call in calls {
            // A panic of the thread is logged by it.
            let _ = call.join();
        }
        unanswered
    }

    /// Registers a message. Returns a request, and `None` for a notification.
    fn arrive(&self, request: &Request<'_>) -> Option<PendingRequest> {
        let named = Meta::of(request.params)
            .ok()
            .and_then(|meta| serde_json::from_str::<String>(meta.protocol_version?.get()).ok())
            .and_then(|date| Revision::parse(&date));
        let revision = named.or(lock(&self.pending).revision);
        let seen = self.observers.came(request, None, revision);
        if request.id.is_none() {
            self.finish(seen, Instant::now());
            return None;
        }
        let fault = if request.method == "tools/call" {
            self.faults.next(called_tool(request).as_deref())
        } else {
            None
        };
        Some(PendingRequest {
            seen,
            since: Instant::now(),
            fault: fault.unwrap_or_default(),
            is_sent: false,
            cancel: CancelToken::new(),
            taker: None,
        })
    }

    fn arrive_in_batch(&self, request: &Request<'_>) {
        if let Some(mut pending) = self.arrive(request) {
            if pending.fault != MockFault::None {
                tracing::warn!("--fault is not applied to a call in a batch");
            }
            pending.is_sent = true;
            self.open(pending);
        }
    }

    /// Passes a request on, now or after the wait of its fault.
    fn begin(
        self: &Arc<Self>,
        mut pending: PendingRequest,
        line: Vec<u8>,
        server: &ServerInput,
    ) -> io::Result<()> {
        let fault = pending.fault;
        // A slow answer is sent slowly, but the server need not wait.
        let is_held = fault.is_deaf() || fault.waits() && fault != MockFault::SlowLoris;
        pending.is_sent = !is_held;
        let Some(id) = pending.seen.id.clone().filter(|_| fault != MockFault::None) else {
            self.open(pending);
            return lock(server).write_all(&line);
        };
        let (taker, answers) = channel();
        pending.taker = Some(taker);
        let mut request = FaultedRequest {
            seen: pending.seen.clone(),
            id,
            since: pending.since,
            fault,
            held: None,
            cancel: pending.cancel.clone(),
            answers,
        };
        self.open(pending);
        if is_held {
            request.held = Some((line, Arc::clone(server)));
        } else {
            lock(server).write_all(&line)?;
        }
        let proxy = Arc::clone(self);
        let call = thread::Builder::new()
            .name("fault".to_owned())
            .spawn(move || proxy.apply_fault(request))?;
        let calls = &mut lock(&self.pending).calls;
        calls.retain(|call| !call.is_finished());
        calls.push(call);
        Ok(())
    }

    fn open(&self, request: PendingRequest) {
        if let Some(id) = request.seen.id.clone() {
            let before = lock(&self.pending).open.insert(id, request);
            if let Some(before) = before {
                self.give_up(before);
            }
        }
    }

    /// Answers a call with its fault.
    fn apply_fault(&self, request: FaultedRequest) {
        let FaultedRequest {
            mut seen,
            id,
            held,
            answers,
            ..
        } = request;
        let revision = seen.revision.unwrap_or(Revision::NEWEST_HANDSHAKE);
        let call = FaultedCall {
            id: &id,
            revision,
            outbox: &self.client,
            cancel: &request.cancel,
            over: &self.over,
        };
        let wait = |delay| call.wait(delay);
        let outcome = call.run(request.fault, Duration::ZERO, wait, || {
            if let Some((line, server)) = held {
                lock(&self.pending).find(&id, &request.cancel)?.is_sent = true;
                lock(&server).write_all(&line).ok()?;
            }
            let answer = answers.recv().ok()?;
            seen = answer.seen;
            Some(answer.outcome)
        });
        let mut pending = lock(&self.pending);
        if pending.find(&id, &request.cancel).is_some() {
            pending.open.remove(&id);
        }
        drop(pending);
        // Without an outcome the answer was sent already, or there is none.
        if let Some(outcome) = &outcome {
            seen.reply = Some(reply(outcome, revision));
        }
        self.finish(seen, request.since);
        if let Some(outcome) = outcome {
            let mut line = Vec::new();
            render(&mut line, Some(&id), &outcome, revision);
            self.client.send(&line);
        }
    }

    /// Tells the observers of what the client gets.
    fn finish(&self, mut seen: SeenMessage, since: Instant) {
        seen.time = since.elapsed();
        self.observers.answered(&seen);
    }

    /// Ends a request that gets no answer. The thread of a call with a fault does that itself.
    fn give_up(&self, request: PendingRequest) {
        if request.taker.is_none() {
            self.finish(request.seen, request.since);
        }
    }

    /// Cancels the request that a notification names. Returns true if the server must know.
    fn cancel(&self, notification: &Request<'_>) -> bool {
        let id = notification.params.and_then(|raw| {
            let params: Value = serde_json::from_str(raw.get()).ok()?;
            serde_json::from_value::<Id>(params.get("requestId")?.clone()).ok()
        });
        let mut pending = lock(&self.pending);
        let Some((id, request)) = id.and_then(|id| pending.open.remove_entry(&id)) else {
            return true;
        };
        request.cancel.cancel();
        let is_sent = request.is_sent;
        if matches!(request.fault, MockFault::ReplyAfterCancel(_)) {
            pending.open.insert(id, request);
        } else {
            drop(pending);
            self.give_up(request);
        }
        is_sent
    }

    /// Notes the client's answer to a request of the server.
    fn answered(&self, response: &Response<'_>) {
        let mut pending = lock(&self.pending);
        if let Some(id) = &response.id
            && let Some((whose, index)) = pending.asked.remove(id)
            && let Some(request) = pending.open.get_mut(&whose)
            // Another request may have the id now.
            && let Some(answer) = request.seen.before.get_mut(index)
            && let Some(answer @ Value::Null) = answer.get_mut("answer")
        {
            *answer = answer_of(response);
        }
    }

    /// Completes the request that the server answers. Returns true if the line passes unchanged.
    fn complete(&self, response: &Response<'_>) -> bool {
        let mut pending = lock(&self.pending);
        let Some(mut request) = response.id.as_ref().and_then(|id| pending.open.remove(id)) else {
            return true;
        };
        let mut real = answer_of(response);
        let outcome = if let Some(result) = response.result {
            real = json!({ "result": real });
            Ok(Body::Raw(result.get().into()))
        } else {
            Err(rpc_error(&real["error"]))
        };
        if request.seen.method == "initialize" {
            let date = real["result"]["protocolVersion"].as_str();
            pending.revision = date.and_then(Revision::parse).or(pending.revision);
        }
        drop(pending);
        let seen = &mut request.seen;
        seen.reply = Some(real);
        seen.time = request.since.elapsed();
        if let Some(recorder) = &self.recorder {
            recorder.answered(seen);
        }
        let Some(taker) = request.taker else {
            self.finish(request.seen, request.since);
            return true;
        };
        // The thread is gone if the client has cancelled the call.
        let seen = request.seen;
        taker.send(ServerAnswer { outcome, seen }).is_err()
    }

    /// Adds a message of the server to the request that it belongs to. Progress names its request;
    /// other messages belong to the only request that the server has, if there is just one.
    fn precede(&self, message: &Request<'_>) {
        let params = message
            .params
            .and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let token = params
            .as_ref()
            .map_or(&Value::Null, |params| &params["progressToken"]);
        let mut pending = lock(&self.pending);
        let PendingRequests { open, asked, .. } = &mut *pending;
        let mut sent = open.iter_mut().filter(|(_, request)| request.is_sent);
        let owner = if token.is_null() {
            sent.next().filter(|_| sent.next().is_none())
        } else {
            sent.find(|(_, request)| request.seen.params["_meta"]["progressToken"] == *token)
        };
        let Some((whose, request)) = owner else {
            tracing::debug!(
                "not recorded, since it belongs to no request: {}",
                message.method
            );
            return;
        };
        let before = &mut request.seen.before;
        if before.len() < MAX_RECORDED_MESSAGES {
            let mut kept = json!({"method": message.method});
            if let Some(params) = params {
                kept["params"] = params;
            }
            if let Some(id) = &message.id {
                kept["answer"] = Value::Null;
                asked.insert(id.clone(), (whose.clone(), before.len()));
            }
            before.push(kept);
        }
    }
}

impl PendingRequests {
    /// Returns a request, unless another one has its id now.
    fn find(&mut self, id: &Id, cancel: &CancelToken) -> Option<&mut PendingRequest> {
        let found = self.open.get_mut(id);
        found.filter(|request| request.cancel.is_same(cancel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// A destination of bytes.
    #[derive(Clone, Default)]
    struct Bytes(Arc<Mutex<Vec<u8>>>);

    impl Write for Bytes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// An observer that keeps finished messages.
    #[derive(Default)]
    struct Finished(Mutex<Vec<SeenMessage>>);

    impl SessionObserver for Finished {
        fn answered(&self, seen: &SeenMessage) {
            lock(&self.0).push(seen.clone());
        }
    }

    /// A proxy with its two sides.
    struct Sides {
        proxy: Arc<Proxy>,
        server: ServerInput,
        to_server: Bytes,
        to_client: Bytes,
        finished: Arc<Finished>,
    }

    impl Sides {
        fn new(faults: &[&str]) -> Self {
            let faults: Vec<_> = faults.iter().map(|text| text.parse().unwrap()).collect();
            let faults = Arc::new(FaultRules::new(&faults, None).unwrap());
            let (to_server, to_client) = (Bytes::default(), Bytes::default());
            let finished = Arc::<Finished>::default();
            let observers = Arc::new(Observers::new(vec![Arc::clone(&finished) as _]));
            Self {
                proxy: Proxy::new(Writer::new(to_client.clone()), faults, observers, None),
                server: Arc::new(Mutex::new(Box::new(to_server.clone()))),
                to_server,
                to_client,
                finished,
            }
        }

        fn send(&self, message: &Value) {
            let line = format!("{message}\n").into_bytes();
            self.proxy.from_client(line, &self.server).unwrap();
        }

        fn reply(&self, message: &Value) {
            assert!(self.proxy.from_server(format!("{message}\n").as_bytes()));
        }

        /// Ends the proxy. Returns the methods or ids of the finished messages, with their replies
        /// and the messages before them.
        fn end(&self) -> Vec<(Value, Option<Value>, Vec<Value>)> {
            self.proxy.server_ended();
            let mut finished = lock(&self.finished.0).clone();
            finished.sort_by_key(|seen| seen.number);
            let name = |seen: &SeenMessage| match &seen.id {
                Some(id) => serde_json::from_str(id.as_json()).unwrap(),
                None => seen.method.clone().into(),
            };
            finished
                .into_iter()
                .map(|seen| (name(&seen), seen.reply, seen.before))
                .collect()
        }
    }

    fn call(id: u64, tool: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
    }

    fn written(bytes: &Bytes) -> Vec<Value> {
        let bytes = lock(&bytes.0);
        serde_json::Deserializer::from_slice(&bytes)
            .into_iter()
            .map(Result::unwrap)
            .collect()
    }

    #[test]
    fn message_of_server_belongs_to_request_it_has() {
        let sides = Sides::new(&["held=hang"]);
        sides.send(&call(1, "held"));
        sides.send(&call(2, "free"));
        let ask = json!({"jsonrpc": "2.0", "id": "s", "method": "roots/list"});
        let answer = json!({"jsonrpc": "2.0", "id": "s", "result": {"roots": []}});
        let done = json!({"jsonrpc": "2.0", "id": 2, "result": {}});
        sides.reply(&ask);
        sides.send(&answer);
        sides.reply(&done);
        assert_eq!(written(&sides.to_server), [call(2, "free"), answer]);
        assert_eq!(written(&sides.to_client), [ask, done]);
        let before = vec![json!({"method": "roots/list", "answer": {"roots": []}})];
        assert_eq!(
            sides.end(),
            [
                (json!(1), None, Vec::new()),
                (json!(2), Some(json!({"result": {}})), before)
            ]
        );
    }

    #[test]
    fn batch_is_observed_member_by_member() {
        let sides = Sides::new(&["silent"]);
        let note = json!({"jsonrpc": "2.0", "method": "notifications/x"});
        let batch = json!([call(1, "a"), note, call(2, "a")]);
        let answers = json!([
            {"jsonrpc": "2.0", "id": 2, "error": {"code": 5, "message": "no"}},
            {"jsonrpc": "2.0", "id": 1, "result": {"n": 1}}
        ]);
        sides.send(&batch);
        sides.reply(&answers);
        assert_eq!(written(&sides.to_server), [batch]);
        assert_eq!(written(&sides.to_client), [answers]);
        assert_eq!(
            sides.end(),
            [
                (json!(1), Some(json!({"result": {"n": 1}})), Vec::new()),
                (json!("notifications/x"), None, Vec::new()),
                (
                    json!(2),
                    Some(json!({"error": {"code": 5, "message": "no"}})),
                    Vec::new()
                )
            ]
        );
    }

    #[test]
    fn answer_of_client_is_not_given_to_reused_id() {
        let sides = Sides::new(&[]);
        let ask = json!({"jsonrpc": "2.0", "id": "s", "method": "roots/list"});
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        let answer = json!({"jsonrpc": "2.0", "id": "s", "result": {"roots": []}});
        sides.send(&call(1, "a"));
        sides.reply(&ask);
        sides.send(&cancel);
        sides.send(&call(1, "b"));
        sides.send(&answer);
        assert_eq!(
            written(&sides.to_server),
            [call(1, "a"), cancel, call(1, "b"), answer]
        );
        let unanswered = vec![json!({"method": "roots/list", "answer": null})];
        assert_eq!(
            sides.end(),
            [
                (json!(1), None, unanswered),
                (json!("notifications/cancelled"), None, Vec::new()),
                (json!(1), None, Vec::new())
            ]
        );
    }

    #[test]
    fn reused_id_ends_older_request() {
        let sides = Sides::new(&["bad=badjson"]);
        sides.send(&call(1, "bad"));
        sides.send(&call(1, "good"));
        sides.reply(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        assert_eq!(
            sides.end(),
            [
                (json!(1), None, Vec::new()),
                (json!(1), Some(json!({"result": {}})), Vec::new())
            ]
        );
    }
}
