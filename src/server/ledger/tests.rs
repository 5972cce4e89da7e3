//! What observers hear of calls.

use std::sync::mpsc;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::policy::Touch;
use crate::policy::tests::Tree;
use crate::protocol::{Incoming, Request, ToolReply, parse};
use crate::server::{Admission, Outbox, Session};
use crate::tools::Weight;

struct Nowhere;

impl Outbox for Nowhere {
    fn send(&self, _message: &[u8]) {}
}

/// Does what the name of the tool says.
struct Acts {
    tree: Tree,
    hangs: Mutex<Option<mpsc::Receiver<()>>>,
    /// Set once it hangs.
    at_work: Arc<AtomicBool>,
}

impl Service for Acts {
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
struct Notes {
    begun: Mutex<Vec<u64>>,
    ended: Mutex<Vec<Entry>>,
    refuses: AtomicBool,
    objects: AtomicBool,
}

impl Observer for Notes {
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

struct Stage {
    session: Session,
    notes: [Arc<Notes>; 2],
    tree: std::path::PathBuf,
    release: mpsc::Sender<()>,
    at_work: Arc<AtomicBool>,
}

fn stage() -> Stage {
    let tree = Tree::new();
    tree.link("A/in", "sub");
    let root = tree.at("A");
    let (release, hangs) = mpsc::channel();
    let notes = [Arc::new(Notes::default()), Arc::new(Notes::default())];
    let ledger = Ledger::new(vec![notes[0].clone(), notes[1].clone()]);
    let at_work = Arc::<AtomicBool>::default();
    let acts = Acts {
        tree,
        hangs: Mutex::new(Some(hangs)),
        at_work: Arc::clone(&at_work),
    };
    let service = ledger.over(Arc::new(acts), "alice");
    Stage {
        session: Session::new(service),
        notes,
        tree: root,
        release,
        at_work,
    }
}

impl Stage {
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
        self.session.serve(&ticket, &request, &Nowhere)
    }

    /// What both observers heard of the last call.
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
fn an_entry_says_who_called_what_and_how_it_went() {
    let stage = stage();
    stage.session.state.set_name("0123");
    stage.call("read", "f");
    let entry = stage.last();
    let path = stage.tree.join("f");
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
            touch: Touch::Read
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
fn each_way_to_end_has_its_word() {
    let stage = stage();
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
        stage.call(tool, "f");
        let entry = stage.last();
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
fn paths_are_named_by_what_they_were_for_and_where_they_lie() {
    let stage = stage();
    let touched = |tool: &str, path: &str| {
        stage.call(tool, path);
        let paths = stage.last().paths.into_iter();
        paths
            .map(|touched| (touched.path, touched.real, touched.touch.as_str()))
            .collect::<Vec<_>>()
    };
    let at = |path: &str| stage.tree.join(path);
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
fn a_call_that_is_given_up_is_entered_once() {
    let stage = stage();
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| stage.call("hang", "f"));
        while !stage.at_work.load(SeqCst) {
            std::thread::yield_now();
        }
        assert_eq!(stage.session.give_up(Duration::ZERO).len(), 1);
        let given_up = stage.last();
        assert_eq!((given_up.outcome, given_up.code), (Ending::GaveUp, None));
        stage.release.send(()).unwrap();
        assert_eq!(hanging.join().unwrap(), None);
    });
    assert_eq!(stage.notes[0].ended.lock().unwrap().len(), 1);
}

#[test]
fn an_observer_may_refuse_a_call_and_take_back_a_reply() {
    let stage = stage();
    stage.notes[0].objects.store(true, SeqCst);
    assert_eq!(stage.message("read"), "objected");
    assert_eq!(stage.message("panic"), "objected");
    stage.notes[0].objects.store(false, SeqCst);
    stage.notes[1].refuses.store(true, SeqCst);
    assert_eq!(stage.message("read"), "refused");
    let heard = stage
        .notes
        .each_ref()
        .map(|notes| notes.ended.lock().unwrap().len());
    assert_eq!(
        (heard, stage.notes[1].begun.lock().unwrap().len()),
        ([3, 2], 3)
    );
    let refused = stage.notes[0].ended.lock().unwrap().last().unwrap().clone();
    assert_eq!((refused.outcome, refused.paths.len()), (Ending::Failed, 0));
}

#[test]
fn where_nobody_looks_on_there_is_nothing_around_a_service() {
    let (_, hangs) = mpsc::channel();
    let acts: Arc<dyn Service> = Arc::new(Acts {
        tree: Tree::new(),
        hangs: Mutex::new(Some(hangs)),
        at_work: Arc::default(),
    });
    let ledger = Ledger::new(Vec::new());
    assert!(Arc::ptr_eq(&acts, &ledger.over(acts.clone(), "alice")));
}
