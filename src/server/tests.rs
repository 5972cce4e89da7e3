//! Sessions without a transport: cases that a client cannot provoke.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pretty_assertions::assert_eq;
use replay_base::budget::Account;
use replay_files::fs::Writer;
use replay_files::policy::{Access, Grant, Policy};
use replay_mcp::protocol::{Incoming, Request, ToolReply, parse, render};
use replay_mcp::sessions::{Admission, Outbox, Session, Weight};
use replay_python::Sessions;
use replay_search::memory::Memory;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{ClientSelection, Front, Server};
use crate::error::Error;
use crate::tools::{
    BackgroundCalls, Callable, Calls, Commands, Context, Descriptor, Hints, Registry, Services,
    Toolset,
};

/// A tool that panics, added at run time like a tool of a manifest.
struct PanickingTool;

impl Callable for PanickingTool {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn descriptor(&self) -> Descriptor {
        let text = "panics".to_owned();
        Descriptor {
            name: text.clone(),
            title: text.clone(),
            description: text,
            input_schema: "{\"type\":\"object\"}",
            output_schema: None,
            annotations: json!({}),
        }
    }

    fn toolset(&self) -> Toolset {
        Toolset::Files
    }

    fn hints(&self) -> Hints {
        Hints::Observes
    }

    fn weight(&self) -> Weight {
        Weight::Light
    }

    fn call(
        &self,
        context: &Context<'_>,
        _: Option<&RawValue>,
        _: bool,
    ) -> Result<ToolReply, Error> {
        context.progress.report(1, None, "about to");
        assert!(context.cancel.is_cancelled(), "on purpose");
        Err(Error::Cancelled)
    }
}

#[derive(Default)]
struct SentMessages(Mutex<Vec<Value>>);

/// An outbox that counts calls of `at_length`.
#[derive(Default)]
struct CountingOutbox(AtomicUsize);

impl Outbox for CountingOutbox {
    fn send(&self, _message: &[u8]) {}

    fn at_length(&self, work: &mut dyn FnMut()) {
        self.0.fetch_add(1, Relaxed);
        work();
    }
}

impl Outbox for SentMessages {
    fn send(&self, message: &[u8]) {
        self.0
            .lock()
            .unwrap()
            .push(serde_json::from_slice(message).unwrap());
    }
}

fn session() -> Session {
    session_in(&[])
}

/// Creates a session with access to these directories.
fn session_in(grants: &[Grant]) -> Session {
    let mut registry = Registry::declared(&[Toolset::Files], false, false);
    registry.add(Box::new(PanickingTool)).unwrap();
    assert_eq!(
        registry.add(Box::new(PanickingTool)),
        Err("there are two tools called `panics`".to_owned())
    );
    let commands = Commands::refused("this is a test");
    let services = Services {
        account: Account::default(),
        reply_tokens: Some(0),
        calls: Calls::default(),
        logs: replay_sandbox::exec::Logs::default(),
        tests: replay_testrun::History::default(),
        policy: Policy::open(grants, &[]).unwrap(),
        journal: Err("this is a test".to_owned()),
        writer: Writer::default(),
        memory: Memory::off(),
        python: Sessions::new(1, Duration::from_secs(1), PathBuf::new()),
        commands,
        background_calls: BackgroundCalls::default(),
    };
    Session::new(Server::new(
        Front::new(registry, String::new(), ClientSelection::default(), true),
        services,
    ))
}

fn with_request<T>(message: &Value, work: impl FnOnce(&Request<'_>) -> T) -> T {
    let line = message.to_string();
    match parse(line.as_bytes()) {
        Incoming::Request(request) => work(&request),
        other => panic!("{other:?}"),
    }
}

/// Returns the reply of a session, `None` if it sends none.
fn answer(session: &Session, message: &Value, outbox: &dyn Outbox) -> Option<Value> {
    with_request(message, |request| {
        let (id, outcome, revision) = match session.admit(request) {
            Admission::Admitted(ticket) => {
                let outcome = session.serve(&ticket, request, outbox)?;
                (ticket.id.clone(), outcome, ticket.revision)
            }
            Admission::Refused(refused) => (refused.id, Err(refused.error), refused.revision),
            Admission::Nothing => return None,
        };
        let mut out = Vec::new();
        render(&mut out, Some(&id), &outcome, revision);
        Some(serde_json::from_slice(&out).unwrap())
    })
}

fn call(id: i64, name: &str) -> Value {
    let params = json!({"name": name, "_meta": {"progressToken": "t"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[test]
fn list_directory_follows_symlinks_at_length() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("a")).unwrap();
    let (session, aside) = (
        session_in(&[Grant {
            path: dir.path().to_owned(),
            access: Access::ReadOnly,
        }]),
        CountingOutbox::default(),
    );
    let params = json!({"name": "list_directory", "arguments": {"path": dir.path()}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let listed = || {
        answer(&session, &message, &aside).unwrap()["result"]["structuredContent"]["entries"]
            .as_array()
            .unwrap()
            .len()
    };
    let plain = (listed(), aside.0.load(Relaxed));
    std::os::unix::fs::symlink("a", dir.path().join("b")).unwrap();
    assert_eq!([plain, (listed(), aside.0.load(Relaxed))], [(1, 0), (2, 1)]);
}

#[test]
fn panic_fails_only_own_request() {
    let (session, sent) = (session(), SentMessages::default());
    let reply = answer(&session, &call(1, "panics"), &sent).unwrap();
    let message = "the server failed in this request because of a bug; other requests are not \
        affected";
    assert_eq!(
        reply,
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": message}})
    );
    // The id is free again, and the session continues.
    let listed = answer(&session, &call(1, "list_allowed_directories"), &sent).unwrap();
    let refused =
        json!({"tier": "none", "refused": "this is a test", "network": "none", "gaps": 0});
    assert_eq!(
        listed["result"]["structuredContent"],
        json!({"directories": [], "sandbox": refused})
    );
    let progress = json!({"progressToken": "t", "progress": 1, "message": "about to"});
    let expected =
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress});
    assert_eq!(*sent.0.lock().unwrap(), [expected]);
}

#[test]
fn cancelled_request_gets_no_reply() {
    let (session, sent) = (Arc::new(session()), SentMessages::default());
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let reply = with_request(&call(7, "panics"), |request| {
        let Admission::Admitted(ticket) = session.admit(request) else {
            panic!("admitted")
        };
        let duplicate = answer(&session, &call(7, "panics"), &sent).unwrap();
        assert_eq!(duplicate["error"]["code"], -32600);
        assert_eq!(answer(&session, &cancelled, &sent), None);
        session.serve(&ticket, request, &sent)
    });
    assert_eq!(reply, None);
    assert_eq!(*sent.0.lock().unwrap(), Vec::<Value>::new());
    assert!(answer(&session, &call(7, "list_allowed_directories"), &sent).is_some());
}
