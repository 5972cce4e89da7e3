//! Token replacement: a new token of the same name inherits no state of the previous one.

use pretty_assertions::assert_eq;
use rustix::process::Pid;
use serde_json::{Value, json};

use super::owned::{TOOLS, TokenPair, start_token_pair, until_there};
use super::reload::reload;
use super::tenants::token;
use super::{call, request};
use crate::harness::{DEADLINE, ends_within};

impl TokenPair {
    /// Replaces the token of alice and returns the new one.
    fn replace_alice(&self) -> String {
        let path = self.tree.path("tokens.jsonl");
        let before = std::fs::read_to_string(&path).unwrap();
        let others: Vec<&str> = before
            .lines()
            .filter(|line| !line.contains("\"alice\""))
            .collect();
        std::fs::write(&path, others.join("\n") + "\n").unwrap();
        let own = format!("{}:rw", self.tree.text("alice"));
        let next = token(&self.tree, &["alice", "--own", &own, "--own-tools", TOOLS]);
        reload(&self.server, "the tokens were read again");
        next
    }

    fn process(&self, token: &str, tool: &str, arguments: &Value, name: &str) -> Pid {
        let path = self.tree.path(name);
        let _ = std::fs::remove_file(&path);
        self.tool_output(token, tool, arguments);
        until_there(path.to_str().unwrap());
        Pid::from_raw(
            std::fs::read_to_string(path)
                .unwrap()
                .trim()
                .parse()
                .unwrap(),
        )
        .unwrap()
    }
}

#[test]
fn replaced_token_inherits_no_state() {
    let pair = start_token_pair(&["--sandbox", "off"]);
    let alice = pair.alice.as_str();
    let mut processes = Vec::new();
    for session in ["default", "prepared"] {
        if session == "prepared" {
            pair.tool_output(alice, "create_session", &json!({"session_id": session}));
            pair.tool_output(alice, "switch_session", &json!({"session_id": session}));
        }
        let code = "import os, builtins; builtins.planted = 1; open('pid.new', 'w').write(str(os.getpid())); \
            os.rename('pid.new', 'pid')";
        let cell = json!({"code": code, "session_id": session});
        processes.push(pair.process(alice, "run_python_code", &cell, "alice/pid"));
    }
    let line = "echo kept; echo $$ > pid.new; mv pid.new pid; exec sleep 600";
    let arguments = json!({"command": line, "background": true});
    processes.push(pair.process(alice, "execute_command", &arguments, "alice/pid"));
    // Running calls: one of an MCP session, and a stateless one.
    let own = [("Authorization", alice)];
    let opened = pair.server.post_with(
        &request(1, "initialize", &json!({"protocolVersion": "2025-11-25"})),
        &own,
    );
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let (code, there) = pair.sleeper("x = 1", "x = 2");
    let cell = call(2, "run_python_code", &json!({"code": code, "timeout": 60}));
    let _cell = pair.send(&cell, &[own[0], ("Mcp-Session-Id", session.as_str())]);
    until_there(&there);
    let line = "echo $$ > pid2.new; mv pid2.new pid2; exec sleep 600";
    let _command = pair.send(
        &call(
            3,
            "execute_command",
            &json!({"command": line, "timeout": 60}),
        ),
        &own,
    );
    let path = pair.tree.path("alice/pid2");
    until_there(path.to_str().unwrap());
    processes.push(
        Pid::from_raw(
            std::fs::read_to_string(path)
                .unwrap()
                .trim()
                .parse()
                .unwrap(),
        )
        .unwrap(),
    );
    let next = pair.replace_alice();
    assert_eq!(
        pair.server
            .post_with(&request(1, "ping", &json!({})), &own)
            .status,
        401
    );
    for pid in processes {
        assert!(ends_within(pid, DEADLINE), "{pid:?} is still there");
    }
    let sessions = pair.tool_output(&next, "list_sessions", &json!({}));
    let names: Vec<&String> = sessions["sessions"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["default"], "{sessions}");
    let looked = pair.tool_output(
        &next,
        "run_python_code",
        &json!({"code": "import builtins; hasattr(builtins, 'planted')"}),
    );
    assert_eq!(looked["result"], "False", "{looked}");
    let follow = pair.call(&next, "follow_command", &json!({"commandId": "c1"}));
    assert!(!follow.to_string().contains("kept"), "{follow}");
    let started = pair.tool_output(
        &next,
        "execute_command",
        &json!({"command": "true", "background": true}),
    );
    assert_eq!(started["commandId"], "c1", "{started}");
    let ran = pair.tool_output(&next, "execute_command", &json!({"command": "echo again"}));
    assert_eq!(ran["stdout"], "again\n", "{ran}");
}
