use std::sync::Mutex;
use std::thread::{self, ThreadId};

use pretty_assertions::assert_eq;

use super::*;
use crate::protocol::{Body, Content, Outcome, Request, ToolReply};
use crate::sessions::{Admission, AdmittedRequest, Service, Session};
use crate::transport::http::feed::NullOutbox;
use crate::transport::http::tenant::Usage;
use crate::transport::http::tests::tenant_serving;

/// A service of quick calls, which panics on request.
struct PanickingService(Mutex<Vec<ThreadId>>);

impl Service for PanickingService {
    fn weight(&self, _request: &Request<'_>) -> Weight {
        Weight::Quick
    }

    fn is_prompt(&self) -> bool {
        true
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        self.0.lock().unwrap().push(thread::current().id());
        assert!(
            exchange.request.called.as_ref().unwrap().name.as_deref() != Some("panic"),
            "on purpose"
        );
        Some(Ok(Body::Raw("{}".into())))
    }
}

/// A service of long replies, which are six times as long in JSON.
struct LargeReplyService;

impl Service for LargeReplyService {
    fn weight(&self, _request: &Request<'_>) -> Weight {
        Weight::Heavy
    }

    fn serve(&self, _exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        let content = vec![Content::text("\u{1}".repeat(100_000))];
        Some(Ok(Body::Tool(ToolReply {
            content,
            ..ToolReply::default()
        })))
    }
}

#[tokio::test(flavor = "current_thread")]
async fn reply_memory_is_reserved_before_rendering() {
    let tenant = tenant_serving("alice", 1, Usage::default, Arc::new(LargeReplyService));
    let conversation = Conversation::new(Session::new(tenant.service.clone()));
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"large","arguments":{}}}"#.to_owned();
    let all = tenant.try_give_out(usize::MAX).unwrap();
    let mut message = Message::default();
    message.add(&tenant.account, text.as_bytes()).unwrap();
    let Incoming::Request(request) = parse(text.as_bytes()) else {
        panic!("{text}")
    };
    let Admission::Admitted(ticket) = conversation.session.admit(&request) else {
        panic!("{text}")
    };
    let stall = Duration::from_mins(1);
    let runner = CallRunner {
        tenant: tenant.clone(),
        conversation,
        outbox: Arc::new(NullOutbox),
        stall,
    };
    let pending = runner.start(
        tenant.queue(None).unwrap(),
        Work::Request(ticket, message, Queue::Calls),
    );
    tokio::task::yield_now().await;
    drop(all);
    let answer = pending.await.unwrap();
    let most = 600_002 + ENVELOPE_BYTES;
    assert_eq!(
        (answer.code, answer.bytes.capacity()),
        (None, most + most / 16)
    );
    assert_eq!(answer.room.unwrap().bytes(), most);
}

#[tokio::test(flavor = "current_thread")]
async fn panicking_quick_call_is_answered_with_error() {
    let service = Arc::new(PanickingService(Mutex::default()));
    let tenant = tenant_serving("alice", 1, Usage::default, service.clone());
    let conversation = Conversation::new(Session::new(tenant.service.clone()));
    let ask = async |id: u64, name: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{}}}}}}"#
        );
        let mut message = Message::default();
        message.add(&tenant.account, text.as_bytes()).unwrap();
        let Incoming::Request(request) = parse(text.as_bytes()) else {
            panic!("{text}")
        };
        let Admission::Admitted(ticket) = conversation.session.admit(&request) else {
            panic!("{text}")
        };
        let outbox = Arc::new(NullOutbox);
        let stall = Duration::from_mins(1);
        let runner = CallRunner {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
            outbox,
            stall,
        };
        let work = Work::Request(ticket, message, Queue::Calls);
        let answer = runner
            .start(tenant.queue(None).unwrap(), work)
            .await
            .unwrap();
        assert_eq!(
            (tenant.load(), conversation.session.is_idle()),
            ((0, 0), true)
        );
        (String::from_utf8(answer.bytes).unwrap(), answer.code)
    };
    let good = |id: u64| {
        (
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            None,
        )
    };
    assert_eq!(ask(1, "good").await, good(1));
    let message = "the server failed in this request because of a bug; other requests are not \
        affected";
    let text =
        format!(r#"{{"jsonrpc":"2.0","id":2,"error":{{"code":-32603,"message":"{message}"}}}}"#);
    assert_eq!(ask(2, "panic").await, (text, Some(Code::Internal)));
    assert_eq!(ask(3, "good").await, good(3));
    // All calls ran on the thread of the connection.
    assert_eq!(*service.0.lock().unwrap(), [thread::current().id(); 3]);
    let counted = tenant.metrics.outcomes();
    assert_eq!(counted, [("ok", 2), ("panicked", 1)].into());
}
