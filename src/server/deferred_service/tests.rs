//! Tests of the service that answers while the sandbox starts.

use std::io::Write;
use std::os::fd::AsFd as _;
use std::sync::Mutex;
use std::time::Duration;

use pretty_assertions::assert_eq;
use replay_mcp::protocol::{Incoming, parse};
use replay_mcp::sessions::{Admission, Session};
use replay_mcp::transport::{End, Limits, StdioServer, Writer};

use super::*;
use crate::tools::Toolset;

/// A service that answers with the method of the request.
struct EchoService;

impl Service for EchoService {
    fn weight(&self, _: &Request<'_>) -> Weight {
        Weight::Quick
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        Some(Ok(Body::Raw(
            format!("\"{}\"", exchange.request.method).into(),
        )))
    }
}

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    fn lines(&self) -> Vec<String> {
        String::from_utf8(self.0.lock().unwrap().clone())
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn greet_stops_at_first_tool_call() {
    let (source, mut client) = std::io::pipe().unwrap();
    let (ready, launcher) = std::io::pipe().unwrap();
    let front = Front::new(
        Registry::declared(&[Toolset::Files], false, false),
        String::new(),
        ClientSelection::default(),
        true,
    );
    let coming = StartingService::new(front, Account::default());
    let limits = Limits {
        max_line_bytes: 1000,
        stall_timeout: Duration::from_mins(1),
    };
    let kept = SharedBuffer::default();
    let (session, writer) = (
        Session::new(Arc::<StartingService>::clone(&coming)),
        Writer::new(kept.clone()),
    );
    let server = StdioServer::new(session, source.try_clone().unwrap(), writer, limits).unwrap();
    for (id, method) in ["ping", "tools/call", "ping"].into_iter().enumerate() {
        writeln!(
            client,
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}"
        )
        .unwrap();
    }
    assert!(server.greet(source.as_fd(), ready.as_fd()));
    let mut answers = vec!["{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}".to_owned()];
    assert_eq!(kept.lines(), answers);
    drop(launcher);
    assert!(!server.greet(source.as_fd(), ready.as_fd()));
    assert_eq!(kept.lines(), answers);
    coming.arrived(Arc::new(EchoService));
    drop(client);
    assert_eq!(server.run(None).unwrap(), End::Served);
    let later = [(1, "tools/call"), (2, "ping")];
    answers.extend(later.map(|(id, method)| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"{method}\"}}")
    }));
    assert_eq!(kept.lines(), answers);
}

#[test]
fn starting_service_refuses_tool_calls() {
    let front = Front::new(
        Registry::declared(&[Toolset::Files], false, false),
        String::new(),
        ClientSelection::default(),
        true,
    );
    let session = Session::new(StartingService::new(front, Account::default()));
    let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file"}}"#;
    let Incoming::Request(request) = parse(line) else {
        panic!("no request")
    };
    let Admission::Admitted(ticket) = session.admit(&request) else {
        panic!("not admitted")
    };
    let outcome = session.serve(&ticket, &request, &Writer::new(SharedBuffer::default()));
    let Some(Err(error)) = outcome else {
        panic!("served")
    };
    assert_eq!(
        error.message,
        "the walls around commands are still being built; try again"
    );
}
