//! Published ports of the tokens of one server.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::call;
use super::client::{Server, command};
use super::tenants::token;
use crate::harness::DEADLINE;
use crate::tree::Tree;

/// Port on which the commands of both tokens listen.
const INSIDE: u16 = 8123;

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Sends a request of HTTP/1.0; an empty answer if the connection was closed.
fn get(port: u16) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let _ = stream.write_all(b"GET /who HTTP/1.0\r\n\r\n");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
        .rsplit_once("\r\n\r\n")
        .map(|(_, body)| body.to_owned())
        .unwrap_or_default()
}

#[test]
fn each_token_publishes_its_own_ports() {
    let tree = Tree::new();
    let tokens = ["alice", "bob"].map(|name| {
        tree.file(format!("{name}/who"), format!("{name}\n"));
        let own = format!("{}:rw", tree.text(name));
        token(
            &tree,
            &[name, "--own", &own, "--own-tools", "files,command"],
        )
    });
    let file = tree.text("tokens.jsonl");
    let shared = free_port().to_string();
    let usual = ["--token-file", &file, "--sandbox", "namespaces"];
    let output = command(&tree, &[&usual[..], &["--publish", &shared]].concat())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let refused = format!(
        "the tokens `alice` and `bob` both publish port {shared}; give each line a `publish` of its \
         own, or an empty one"
    );
    assert!(said.trim_end().ends_with(&refused), "{said}");

    let ports = [free_port(), free_port()];
    let lines = tree.read("tokens.jsonl");
    let lines = lines.lines().zip(ports).map(|(line, port)| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["publish"] = json!([format!("{port}:{INSIDE}")]);
        format!("{line}\n")
    });
    tree.file("tokens.jsonl", lines.collect::<String>());
    let server = Server::start(&tree, &[&usual[..], &["--publish", &shared]].concat());
    if server.log().contains("commands are refused") {
        return;
    }
    let run = |token: &str, tool: &str, arguments: Value| {
        let reply = server.post_with(&call(1, tool, &arguments), &[("Authorization", token)]);
        reply.json()["result"]["structuredContent"].clone()
    };
    let serve = |token: &str| {
        let line = format!("exec python3 -u -m http.server --bind 127.0.0.1 {INSIDE}");
        let started = run(
            token,
            "execute_command",
            json!({"command": line, "background": true}),
        );
        let id = started["commandId"].clone();
        run(
            token,
            "follow_command",
            json!({"commandId": id, "port": INSIDE}),
        )
    };
    // The server's own list is replaced.
    let own = shared.parse().unwrap();
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, own)).is_err());
    let told = serve(&tokens[0]);
    let link = format!("http://replay.localhost:{}/", ports[0]);
    assert_eq!(told["listening"][0]["published"], link, "{told}");
    assert_eq!(ports.map(get), ["alice\n", ""]);
    serve(&tokens[1]);
    assert_eq!(ports.map(get), ["alice\n", "bob\n"]);
}
