//! Reports of calls to observers.

use std::sync::mpsc;

use pretty_assertions::assert_eq;
use replay_files::policy::AccessKind;
use replay_files::policy::testing::Tree;
use serde_json::json;

use super::*;
use crate::protocol::{Incoming, Request, ToolReply, parse};
use crate::sessions::Weight;
use crate::sessions::{Admission, Outbox, Session};

struct NullOutbox;

impl Outbox for NullOutbox {
    fn send(&self, _message: &[u8]) {}
}

/// A service that does what the tool's name says.
struct ScriptedService {
    tree: Tree,
    hangs: Mutex<Option<mpsc::Receiver<()>>>,
    /// Set once a call hangs.
    at_work: Arc<AtomicBool>,
}

impl Service for ScriptedService {
    fn weight(&self, _request: &Request<'_>) -> Weight {
        Weight::Light
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        let params: Value = serde_json::from_str(exchange.request.params.unwrap().get()).unwrap();
        let path = params["arguments"]["path"].as_str().unwrap_or_default();
        match params["name"].as_str().unwrap() {
            "read" => drop(self.tree.policy.read(path)),
            "write" => drop(self.tree.policy.write(path)),
            "entry" => drop(self.tree.policy.entry(path)),
            "panic" => panic!("on purpose"),
            "cancel" => exchange.ticket.cancel.cancel(),
            "hang" => {
                self.at_work.store(true, SeqCst);
                let _ = self.hangs.lock().unwrap().take().unwrap().recv();
            }
            "silence" => return None,
            "refuse" => return Some(Err(RpcError::new(Code::NotAllowed, "no"))),
            "refuse in words" => {
                let reply = ToolReply {
                    is_error: true,
                    code: Some(Code::NotAllowed),
                    ..ToolReply::default()
                };
                return Some(Ok(Body::Tool(reply)));
            }
            "fail" => {
                return Some(Ok(Body::Tool(ToolReply {
                    is_error: true,
                    ..ToolReply::default()
                })));
            }
            _ => return Some(Err(RpcError::new(Code::InvalidParams, "unknown"))),
        }
        let content = vec![Content::text("done")];
        Some(Ok(Body::Tool(ToolReply {
            content,
            structured: Some("{}".to_owned()),
            ..ToolReply::default()
        })))
    }
}

#[derive(Default)]
struct RecordingObserver {
    begun: Mutex<Vec<u64>>,
    ended: Mutex<Vec<Entry>>,
    refuses: AtomicBool,
    objects: AtomicBool,
}

impl Observer for RecordingObserver {
    fn begun(&self, call: &Arc<Begun>) -> Result<(), RpcError> {
        self.begun.lock().unwrap().push(call.id);
        if self.refuses.load(SeqCst) {
            Err(RpcError::new(Code::Internal, "refused"))
        } else {
            Ok(())
        }
    }

    fn ended(&self, entry: &Arc<Entry>, _reply: Option<&Outcome>) -> Result<(), RpcError> {
        self.ended.lock().unwrap().push(Entry::clone(entry));
        if self.objects.load(SeqCst) {
            Err(RpcError::new(Code::Internal, "objected"))
        } else {
            Ok(())
        }
    }
}

struct Fixture {
    session: Session,
    notes: [Arc<RecordingObserver>; 2],
    tree: std::path::PathBuf,
    release: mpsc::Sender<()>,
    at_work: Arc<AtomicBool>,
}

fn fixture() -> Fixture {
    let tree = Tree::new();
    tree.link("A/in", "sub");
    let root = tree.at("A");
    let (release, hangs) = mpsc::channel();
    let notes = [
        Arc::new(RecordingObserver::default()),
        Arc::new(RecordingObserver::default()),
    ];
    let ledger = Ledger::new(vec![notes[0].clone(), notes[1].clone()]);
    let at_work = Arc::<AtomicBool>::default();
    let acts = ScriptedService {
        tree,
        hangs: Mutex::new(Some(hangs)),
        at_work: Arc::clone(&at_work),
    };
    let service = ledger.over(Arc::new(acts), "alice");
    Fixture {
        session: Session::new(service),
        notes,
        tree: root,
        release,
        at_work,
    }
}

impl Fixture {
    fn call(&self, tool: &str, path: &str) -> Option<Outcome> {
        let path = self.tree.join(path);
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": {"path": path}}});
        let message = message.to_string();
        let Incoming::Request(request) = parse(message.as_bytes()) else {
            panic!("{message}")
        };
        let Admission::Admitted(ticket) = self.session.admit(&request) else {
            panic!("{message}")
        };
        self.session.serve(&ticket, &request, &NullOutbox)
    }

    /// Returns the last entry, which both observers must have received.
    fn last(&self) -> Entry {
        let [one, other] = self
            .notes
            .each_ref()
            .map(|notes| notes.ended.lock().unwrap().last().unwrap().clone());
        assert!(Arc::ptr_eq(&one.call, &other.call));
        one
    }

    fn message(&self, tool: &str) -> String {
        self.call(tool, "f").unwrap().unwrap_err().message
    }
}

#[test]
fn entry_records_caller_tool_and_outcome() {
    let fixture = fixture();
    fixture.session.state.set_name("0123");
    fixture.call("read", "f");
    let entry = fixture.last();
    let path = fixture.tree.join("f");
    assert_eq!(entry.call.arguments, json!({"path": path}));
    let params = json!({"name": "read", "arguments": {"path": path}}).to_string();
    assert_eq!(
        (entry.call.request_bytes, entry.reply_bytes),
        (params.len() as u64, 6)
    );
    assert_eq!(
        (
            entry.call.id,
            &*entry.call.client,
            entry.call.session.as_deref()
        ),
        (1, "alice", Some("0123"))
    );
    assert_eq!(
        (&*entry.call.tool, entry.call.revision),
        ("read", Revision::NEWEST_HANDSHAKE)
    );
    assert_eq!(
        entry.paths,
        [TouchedPath {
            path,
            real: None,
            access: AccessKind::Read
        }]
    );
    assert_eq!(
        (
            entry.call.excerpts.clone(),
            entry.call.trace_id.clone(),
            entry.paths_more
        ),
        (None, None, 0)
    );
}

#[test]
fn outcome_word_matches_each_ending() {
    let fixture = fixture();
    let words = [
        "read",
        "fail",
        "refuse",
        "refuse in words",
        "no such tool",
        "cancel",
        "silence",
        "panic",
    ]
    .map(|tool| {
        fixture.call(tool, "f");
        let entry = fixture.last();
        (entry.outcome.as_str(), entry.code)
    });
    let expected = [
        ("ok", None),
        ("failed", None),
        ("denied", Some(-32001)),
        ("denied", Some(-32001)),
        ("invalid", Some(-32602)),
        ("cancelled", None),
        ("silent", None),
        ("panicked", None),
    ];
    assert_eq!(words, expected);
}

#[test]
fn touched_path_has_access_and_real_path() {
    let fixture = fixture();
    let touched = |tool: &str, path: &str| {
        fixture.call(tool, path);
        let paths = fixture.last().paths.into_iter();
        paths
            .map(|touched| (touched.path, touched.real, touched.access.as_str()))
            .collect::<Vec<_>>()
    };
    let at = |path: &str| fixture.tree.join(path);
    assert_eq!(touched("read", "sub"), [(at("sub"), None, "list")]);
    assert_eq!(touched("write", "new"), [(at("new"), None, "write")]);
    assert_eq!(touched("entry", "f"), [(at("f"), None, "remove")]);
    assert_eq!(
        touched("read", "in/deep/f"),
        [(at("in/deep/f"), Some(at("sub/deep/f")), "read")]
    );
    assert_eq!(touched("read", "none"), []);
    assert_eq!(touched("write", "ro/new"), [(at("ro/new"), None, "denied")]);
    assert_eq!(
        touched("read", "/etc/passwd"),
        [("/etc/passwd".into(), None, "denied")]
    );
}

#[test]
fn abandoned_call_is_entered_once() {
    let fixture = fixture();
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| fixture.call("hang", "f"));
        while !fixture.at_work.load(SeqCst) {
            std::thread::yield_now();
        }
        assert_eq!(fixture.session.give_up(Duration::ZERO).len(), 1);
        let given_up = fixture.last();
        assert_eq!((given_up.outcome, given_up.code), (Ending::GaveUp, None));
        fixture.release.send(()).unwrap();
        assert_eq!(hanging.join().unwrap(), None);
    });
    assert_eq!(fixture.notes[0].ended.lock().unwrap().len(), 1);
}

#[test]
fn observer_can_refuse_call_or_reply() {
    let fixture = fixture();
    fixture.notes[0].objects.store(true, SeqCst);
    assert_eq!(fixture.message("read"), "objected");
    assert_eq!(fixture.message("panic"), "objected");
    fixture.notes[0].objects.store(false, SeqCst);
    fixture.notes[1].refuses.store(true, SeqCst);
    assert_eq!(fixture.message("read"), "refused");
    let heard = fixture
        .notes
        .each_ref()
        .map(|notes| notes.ended.lock().unwrap().len());
    assert_eq!(
        (heard, fixture.notes[1].begun.lock().unwrap().len()),
        ([3, 2], 3)
    );
    let refused = fixture.notes[0]
        .ended
        .lock()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!((refused.outcome, refused.paths.len()), (Ending::Failed, 0));
}

#[test]
fn ledger_without_observers_adds_no_wrapper() {
    let (_, hangs) = mpsc::channel();
    let acts: Arc<dyn Service> = Arc::new(ScriptedService {
        tree: Tree::new(),
        hangs: Mutex::new(Some(hangs)),
        at_work: Arc::default(),
    });
    let ledger = Ledger::new(Vec::new());
    assert!(Arc::ptr_eq(&acts, &ledger.over(acts.clone(), "alice")));
}
