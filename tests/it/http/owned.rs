//! State owned by a token: Python sessions, test logs and recordings. Other tokens cannot access
//! this state, and it outlives the MCP session that created it.

use crate::testrun::fake_vitest_in;
use pretty_assertions::assert_eq;
use rustix::process::Pid;
use serde_json::{Value, json};

use super::client::{Client, Server};
use super::tenants::token;
use super::{call, request};
use crate::calls::{Upstream, client};
use crate::harness::{DEADLINE, ends_within};
use crate::tree::Tree;

/// Tools of both tokens.
pub const TOOLS: &str = "files,command,calls,python,tests";

/// A server with two tokens, each with its own directory.
pub struct TokenPair {
    pub tree: Tree,
    pub server: Server,
    /// `Authorization` header of alice.
    pub alice: String,
    bob: String,
}

/// Starts a server with two tokens.
pub fn start_token_pair(flags: &[&str]) -> TokenPair {
    let tree = Tree::new();
    tree.dir("alice").dir("bob");
    let [alice, bob] = ["alice", "bob"].map(|name| {
        let own = format!("{}:rw", tree.text(name));
        token(&tree, &[name, "--own", &own, "--own-tools", TOOLS])
    });
    let file = tree.text("tokens.jsonl");
    let usual = [
        "--token-file",
        &file,
        "--allow",
        &tree.text("alice"),
        "--rate-limit",
        "0",
    ];
    let server = Server::start(&tree, &[&usual, flags].concat());
    TokenPair {
        tree,
        server,
        alice,
        bob,
    }
}

impl TokenPair {
    pub fn ask(&self, token: &str, message: &Value) -> Value {
        self.server
            .post_with(message, &[("Authorization", token)])
            .json()
    }

    pub fn call(&self, token: &str, tool: &str, arguments: &Value) -> Value {
        self.ask(token, &call(1, tool, arguments))
    }

    /// Returns the structured content of a successful call.
    #[track_caller]
    pub fn tool_output(&self, token: &str, tool: &str, arguments: &Value) -> Value {
        let reply = self.call(token, tool, arguments);
        assert!(reply["result"].is_object(), "{reply}");
        reply["result"]["structuredContent"].clone()
    }

    /// Returns code and message of an error.
    #[track_caller]
    fn error_text(&self, token: &str, tool: &str, arguments: &Value) -> String {
        let reply = self.call(token, tool, arguments);
        reply["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("no error: {reply}"))
            .to_owned()
    }

    /// Returns the result of a cell.
    #[track_caller]
    fn cell(&self, token: &str, code: &str) -> Value {
        let ran = self.tool_output(token, "run_python_code", &json!({"code": code}));
        assert_eq!(ran["error"], Value::Null, "{ran}");
        ran["result"].clone()
    }

    /// Sends a call, and returns the connection that receives its reply.
    pub fn send(&self, message: &Value, headers: &[(&str, &str)]) -> Client {
        let mut client = self.server.connect();
        client.send_message(message, headers);
        client
    }

    /// Returns a cell of alice that runs `before`, creates a file, sleeps and runs `after`; and the
    /// path of the file.
    pub fn sleeper(&self, before: &str, after: &str) -> (String, String) {
        let there = self.tree.text("alice/there");
        (
            format!(
                "import time\n{before}\nopen({there:?}, 'w').close()\ntime.sleep(600)\n{after}"
            ),
            there,
        )
    }

    /// Waits until the session runs a cell.
    fn until_busy(&self, token: &str, session: &str) {
        let until = std::time::Instant::now() + DEADLINE;
        let health = json!({"session_id": session});
        while self.tool_output(token, "get_kernel_health", &health)["busy"] != true {
            assert!(std::time::Instant::now() < until, "no cell runs");
        }
    }
}

/// Waits until a file exists.
pub fn until_there(path: &str) {
    let until = std::time::Instant::now() + DEADLINE;
    while !std::path::Path::new(path).exists() {
        assert!(std::time::Instant::now() < until, "{path} is not made");
        std::thread::yield_now();
    }
}

#[test]
fn python_sessions_are_private_to_token() {
    for tier in ["namespaces", "landlock", "off"] {
        let pair = start_token_pair(&["--sandbox", tier]);
        let (alice, bob) = (pair.alice.as_str(), pair.bob.as_str());
        let here = pair.call(alice, "run_python_code", &json!({"code": "1"}));
        if here["error"].is_object() {
            assert!(tier != "off", "{here}");
            continue;
        }
        let work = json!({"session_id": "work"});
        pair.tool_output(alice, "create_session", &work);
        pair.tool_output(alice, "switch_session", &work);
        pair.cell(alice, "secret = 41");
        // The other token sees only its default session.
        let listed = pair.tool_output(bob, "list_sessions", &json!({}));
        let names: Vec<&str> = listed["sessions"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            (names, &listed["active_session"]),
            (vec!["default"], &json!("default")),
            "{tier}"
        );
        let unknown = "session `work` not found: there are `default`";
        for (tool, arguments) in [
            ("switch_session", work.clone()),
            ("interrupt_session", work.clone()),
            ("restart_session", work.clone()),
            ("delete_session", work.clone()),
            ("get_kernel_health", work.clone()),
            ("list_variables", work.clone()),
            (
                "run_python_code",
                json!({"code": "secret", "session_id": "work"}),
            ),
        ] {
            let message = pair.error_text(bob, tool, &arguments);
            assert!(message.starts_with(unknown), "{tier}: {tool}: {message}");
        }
        // A session of the same name is a separate one.
        pair.tool_output(bob, "create_session", &work);
        pair.tool_output(bob, "switch_session", &work);
        assert_eq!(pair.cell(bob, "'secret' in globals()"), "False", "{tier}");
        pair.tree.fifo("alice/gate");
        let waits = call(
            7,
            "run_python_code",
            &json!({"code": "open('gate').read()\nsecret + 1", "timeout": 60}),
        );
        let mut waiting = pair.send(&waits, &[("Authorization", alice)]);
        pair.until_busy(alice, "work");
        assert_eq!(
            pair.tool_output(bob, "get_kernel_health", &work)["busy"],
            false,
            "{tier}"
        );
        pair.tool_output(bob, "interrupt_session", &work);
        pair.tool_output(bob, "restart_session", &work);
        pair.tool_output(bob, "delete_session", &work);
        if tier != "off" {
            let path = format!("open({:?}).read()", pair.tree.text("tokens.jsonl"));
            let ran = pair.tool_output(bob, "run_python_code", &json!({"code": path}));
            assert_ne!(ran["error"], Value::Null, "{tier}: {ran}");
            let gate = format!("open({:?}, 'w')", pair.tree.text("alice/gate"));
            let ran = pair.tool_output(bob, "run_python_code", &json!({"code": gate}));
            assert_ne!(ran["error"], Value::Null, "{tier}: {ran}");
        }
        std::fs::write(pair.tree.path("alice/gate"), "go").unwrap();
        let reply = waiting.response().json();
        assert_eq!(
            reply["result"]["structuredContent"]["result"], "42",
            "{tier}: {reply}"
        );
    }
}

#[test]
fn python_session_outlives_mcp_session() {
    let pair = start_token_pair(&["--sandbox", "off"]);
    let alice = ("Authorization", pair.alice.as_str());
    let opened = || {
        let reply = pair.server.post_with(
            &request(1, "initialize", &json!({"protocolVersion": "2025-11-25"})),
            &[alice],
        );
        reply.header("mcp-session-id").unwrap().to_owned()
    };
    let session = opened();
    let own = [alice, ("Mcp-Session-Id", session.as_str())];
    let run =
        |id: u64, code: &str| call(id, "run_python_code", &json!({"code": code, "timeout": 60}));
    assert_eq!(pair.server.post_with(&run(2, "x = 41"), &own).status, 200);
    // Ending the MCP session stops its pending calls only.
    let (code, there) = pair.sleeper("x = 42", "x = 43");
    let mut waiting = pair.send(&run(3, &code), &own);
    until_there(&there);
    assert_eq!(pair.server.ask("DELETE", "/mcp", &own, b"").status, 204);
    let silence = waiting.response();
    assert_eq!((silence.status, silence.body), (202, Vec::new()));
    let session = opened();
    let own = [alice, ("Mcp-Session-Id", session.as_str())];
    let reply = pair.server.post_with(&run(2, "x"), &own).json();
    assert_eq!(
        reply["result"]["structuredContent"]["result"], "42",
        "{reply}"
    );
    let health = pair
        .server
        .ask("GET", "/health/detailed", &[alice], b"")
        .json();
    let session = json!([{"name": "default", "status": "idle"}]);
    assert_eq!(
        (
            &health["tenants"][0]["pythonSessions"],
            &health["tenants"][0]["sessions"]
        ),
        (&session, &json!(1))
    );
    let metrics = pair.server.ask("GET", "/metrics", &[alice], b"").text();
    assert!(
        metrics.contains("mcp_python_sessions{tenant=\"alice\"} 1\n"),
        "{metrics}"
    );
}

#[test]
fn cell_is_interrupted_when_client_disconnects() {
    let pair = start_token_pair(&["--sandbox", "off"]);
    let (code, there) = pair.sleeper("x = 1", "x = 2");
    let code = json!({"code": code, "timeout": 60});
    let client = pair.send(
        &call(1, "run_python_code", &code),
        &[("Authorization", &pair.alice)],
    );
    until_there(&there);
    drop(client);
    assert_eq!(pair.cell(&pair.alice, "x"), "1");
}

#[test]
fn interpreters_end_with_server() {
    let mut pair = start_token_pair(&["--sandbox", "off"]);
    let pids = [&pair.alice, &pair.bob].map(|token| {
        pair.tool_output(token, "create_session", &json!({"session_id": "other"}));
        let pid = |session: &str| {
            let code = json!({"code": "import os; os.getpid()", "session_id": session});
            let ran = pair.tool_output(token, "run_python_code", &code);
            Pid::from_raw(ran["result"].as_str().unwrap().parse().unwrap()).unwrap()
        };
        [pid("default"), pid("other")]
    });
    let stuck = json!({"code": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)", "timeout": 60});
    pair.tool_output(&pair.alice, "run_python_code", &stuck);
    pair.server.terminate();
    assert_eq!(pair.server.wait().code(), Some(0));
    for pid in pids.concat() {
        assert!(ends_within(pid, DEADLINE), "{pid:?} is still there");
    }
}

#[test]
fn test_logs_are_private_to_token() {
    let pair = start_token_pair(&["--sandbox", "off"]);
    let (alice, bob) = (pair.alice.as_str(), pair.bob.as_str());
    for name in ["alice", "bob"] {
        fake_vitest_in(&pair.tree, name, &[], &format!("echo of {name}; exit 1"));
    }
    let uri = "replay://logs/run_tests-1.log";
    let list = |token: &str| {
        pair.ask(token, &request(1, "resources/list", &json!({})))["result"]["resources"].clone()
    };
    let read = |token: &str| pair.ask(token, &request(1, "resources/read", &json!({"uri": uri})));
    assert_eq!(
        pair.tool_output(alice, "run_tests", &json!({}))["logUri"],
        uri
    );
    assert_eq!(
        (list(bob), &read(bob)["error"]["code"]),
        (json!([]), &json!(-32002))
    );
    assert_eq!(
        pair.tool_output(bob, "run_tests", &json!({}))["logUri"],
        uri
    );
    for (token, own, other) in [
        (alice, "of alice\n", "of bob"),
        (bob, "of bob\n", "of alice"),
    ] {
        assert_eq!(list(token).as_array().unwrap().len(), 1);
        let text = read(token)["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(text.contains(own) && !text.contains(other), "{text}");
    }
}

#[test]
fn recordings_are_private_to_token() {
    let pair = start_token_pair(&["--network", "host"]);
    let (alice, bob) = (pair.alice.as_str(), pair.bob.as_str());
    let upstream = Upstream::start();
    pair.tree
        .file("alice/order.py", client(&[upstream.url() + "/a"]));
    let recorded = pair.tool_output(
        alice,
        "keploy_mock_record",
        &json!({"command": "python3 order.py", "path": "./keploy/deep"}),
    );
    assert_eq!(recorded["message"], "Recorded 1 mocks (HTTP)", "{recorded}");
    // The directory of the last recording is remembered per token.
    let replay = json!({"command": "python3 order.py"});
    let tested = pair.tool_output(alice, "keploy_mock_test", &replay);
    assert_eq!(tested["configuration"]["path"], "./keploy/deep", "{tested}");
    let other = pair.call(bob, "keploy_mock_test", &replay);
    assert!(
        !other.to_string().contains("deep") && other.to_string().contains("./keploy"),
        "{other}"
    );
    for path in ["./keploy", &pair.tree.text("alice/keploy/deep")] {
        let listed = pair
            .call(bob, "keploy_list_mocks", &json!({"path": path}))
            .to_string();
        assert!(!listed.contains("order-http"), "{listed}");
    }
}
