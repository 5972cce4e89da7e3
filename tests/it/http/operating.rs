//! Operation: readiness, health checks, and several servers behind a load balancer.

use std::os::unix::net::UnixDatagram;
use std::process::{Command, Output};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::{Server, command};
use super::{call, stage, stateless};
use crate::harness::DEADLINE;
use crate::tree::Tree;

fn health(url: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_replay"))
        .args(["health", url])
        .env_clear()
        .output()
        .unwrap()
}

#[test]
fn health_subcommand_queries_server() {
    let (_tree, server) = stage(&[]);
    let url = format!("http://{}", server.address);
    for url in [url.clone(), format!("{url}/health")] {
        let well = health(&url);
        assert_eq!(
            (well.status.code(), well.stdout),
            (Some(0), b"ok\n".to_vec())
        );
    }
    let elsewhere = health(&format!("{url}/nothing"));
    let said = String::from_utf8(elsewhere.stderr).unwrap();
    assert_eq!(
        (elsewhere.status.code(), said),
        (
            Some(1),
            format!("replay: `{url}/nothing` answers with 404\n")
        )
    );
    drop(server);
    let gone = health(&url);
    let said = String::from_utf8(gone.stderr).unwrap();
    assert_eq!(gone.status.code(), Some(1));
    assert!(said.contains("does not answer"), "{said}");
    let wrong = String::from_utf8(health("localhost:8000").stderr).unwrap();
    let expected =
        "replay: the URL of the server: `localhost:8000` must begin with http:// or https://\n";
    assert_eq!(wrong, expected);
}

#[test]
fn service_manager_gets_ready_and_stopping() {
    let tree = Tree::new();
    tree.dir("work");
    let manager = UnixDatagram::bind(tree.path("notify")).unwrap();
    manager.set_read_timeout(Some(DEADLINE)).unwrap();
    let hear = || {
        let mut piece = [0; 256];
        let count = manager.recv(&mut piece).expect("it is said in time");
        String::from_utf8(piece[..count].to_vec()).unwrap()
    };
    let mut command = command(&tree, &["--allow", &tree.text("work"), "--sandbox", "off"]);
    command.env("NOTIFY_SOCKET", tree.path("notify"));
    let mut server = Server::spawn(command);
    assert_eq!(hear(), "READY=1");
    server.terminate();
    assert_eq!(hear(), "STOPPING=1");
    assert!(server.wait().success());
}

#[test]
fn stateless_requests_work_across_servers() {
    let tree = Tree::new();
    tree.file("work/hello.txt", "hello\n");
    let allow = format!("{}:rw", tree.text("work"));
    let flags = ["--allow", &allow, "--sandbox", "off", "--rate-limit", "0"];
    let servers = [Server::start(&tree, &flags), Server::start(&tree, &flags)];
    let mut connections = servers.each_ref().map(Server::connect);
    for turn in 0..20 {
        let path = format!("new-{turn}.txt");
        let steps = [
            call(1, "write_file", &json!({"path": path, "content": "x"})),
            call(2, "read_file", &json!({"path": path})),
            call(3, "delete_file", &json!({"path": path})),
        ];
        for (step, message) in steps.iter().enumerate() {
            let (message, headers) = stateless(message);
            let headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            let reply = connections[(turn + step) % 2].post(&message, &headers);
            let result = &reply.json()["result"];
            let told = (reply.status, &result["resultType"], &result["isError"]);
            assert_eq!(told, (200, &json!("complete"), &Value::Null), "{reply:?}");
        }
    }
    // A session exists on one server only. Other servers answer what needs no session.
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}});
    let opened = servers[0].post(&super::request(1, "initialize", &params));
    let session = opened.header("mcp-session-id").unwrap();
    let ask = |method: &str, params: Value| {
        let request = super::request(2, method, &params);
        let headers = [("Mcp-Session-Id", session)];
        servers
            .each_ref()
            .map(|server| server.post_with(&request, &headers).status)
    };
    assert_eq!(ask("ping", json!({})), [200, 200]);
    let level = json!({"level": "debug"});
    assert_eq!(ask("logging/setLevel", level), [200, 404]);
}
