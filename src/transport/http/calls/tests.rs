use std::sync::Mutex;
use std::thread::{self, ThreadId};

use pretty_assertions::assert_eq;

use super::*;
use crate::protocol::{Body, Content, Outcome, Request, ToolReply};
use crate::server::{Admission, AdmittedRequest, Service, Session};
use crate::transport::http::feed::Nowhere;
use crate::transport::http::tenant::Usage;
use crate::transport::http::tests::served;

/// A service whose calls are quick, and which panics if it is asked for that.
struct Panics(Mutex<Vec<ThreadId>>);

impl Service for Panics {
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

/// A service whose replies are long, and six times as long as JSON.
struct Large;

impl Service for Large {
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
async fn room_for_what_a_reply_will_be_is_taken_before_it_is_written() {
    let tenant = served("alice", 1, Usage::default, Arc::new(Large));
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
    let stage = Stage {
        tenant: tenant.clone(),
        conversation,
        outbox: Arc::new(Nowhere),
        stall,
    };
    let pending = stage.start(
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
async fn a_quick_call_that_panics_is_answered_and_hurts_nobody_else() {
    let service = Arc::new(Panics(Mutex::default()));
    let tenant = served("alice", 1, Usage::default, service.clone());
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
        let outbox = Arc::new(Nowhere);
        let stall = Duration::from_mins(1);
        let stage = Stage {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
            outbox,
            stall,
        };
        let work = Work::Request(ticket, message, Queue::Calls);
        let answer = stage
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
    let message = "the server failed inside this request, which is its own fault; other requests are unaffected";
    let text =
        format!(r#"{{"jsonrpc":"2.0","id":2,"error":{{"code":-32603,"message":"{message}"}}}}"#);
    assert_eq!(ask(2, "panic").await, (text, Some(Code::Internal)));
    assert_eq!(ask(3, "good").await, good(3));
    // All of them on the thread that carries the bytes.
    assert_eq!(*service.0.lock().unwrap(), [thread::current().id(); 3]);
    let counted = tenant.metrics.outcomes();
    assert_eq!(counted, [("ok", 2), ("panicked", 1)].into());
}
