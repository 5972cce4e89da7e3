//! `--net-log`: a line for each decision, with the call that caused it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{CONNECT, RULES, World, everywhere};
use crate::interception::NOBODY;
use crate::tree::Tree;

/// Makes a directory for logs, owned by the user of the server.
fn place(world: &World) -> PathBuf {
    let place = world.tree.path().join("logs");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, PermissionsExt::from_mode(0o700)).unwrap();
    if world.setting.nobody {
        std::os::unix::fs::chown(&place, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    place
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        assert!(
            line["at"]
                .take()
                .as_str()
                .is_some_and(|at| at.ends_with('Z')),
            "{line}"
        );
        line
    };
    text.lines().map(line).collect()
}

#[test]
fn network_log_has_line_per_decision() {
    everywhere(|world| {
        world.file("connect.py", CONNECT);
        let log = place(world).join("net.log");
        let flags = [&RULES[..], &["--net-log", log.to_str().unwrap()]].concat();
        let line = "for host in api.example.com private.example.com evil.example.com 11.0.0.3; do python3 connect.py $host 80; done";
        let ran = world.run(&flags, line);
        assert_eq!(
            ran.out, "connected\n13\n13\n13\n",
            "{:?}: {}",
            world.setting, ran.err
        );
        let command = format!("sh -c '{line}'");
        let base = json!({"at": null, "command": command, "program": "python3", "port": 80});
        let with = |members: Value| {
            let mut line = base.clone();
            line.as_object_mut()
                .unwrap()
                .extend(members.as_object().unwrap().clone());
            line
        };
        let private = "it resolves to 10.0.0.9";
        let expected = [
            with(
                json!({"host": "api.example.com", "address": "11.0.0.2", "decision": "allowed", "rule": "*.example.com"}),
            ),
            with(
                json!({"host": "private.example.com", "address": "10.0.0.9", "decision": "blocked", "why": private}),
            ),
            with(json!({
                "host": "evil.example.com", "decision": "blocked", "rule": "evil.example.com", "why": "--deny-host names it"
            })),
            with(json!({"host": "11.0.0.3", "decision": "blocked"})),
        ];
        assert_eq!(lines(&log), expected, "{:?}", world.setting);
        assert_eq!(
            fs::metadata(&log).unwrap().permissions().mode() & 0o7777,
            0o600
        );
        // A new server appends to the log.
        world.run(&flags, "python3 connect.py api.example.com 80");
        assert_eq!(lines(&log).len(), 5);
        let within = world.run(&[&RULES[..], &["--net-log", "net.log"]].concat(), "true");
        assert!(
            within
                .err
                .contains("net.log` is in an allowed directory; move it"),
            "{}",
            within.err
        );
    });
}

#[test]
fn network_log_line_names_call_number() {
    everywhere(|world| {
        if world.setting.nobody {
            return;
        }
        let tree = Tree::new();
        tree.file("work/connect.py", CONNECT);
        let logs = place(world);
        let (net, audit) = (logs.join("net.log"), logs.join("audit.log"));
        let named = [
            "--net-log",
            net.to_str().unwrap(),
            "--audit",
            audit.to_str().unwrap(),
        ];
        let mut server = world.serve(&tree, "world.sh", &[&named[..], &RULES].concat());
        let line = |port: u16| format!("python3 connect.py example.org {port}");
        server.call("execute_command", json!({"command": line(1)}));
        let begun = server.call(
            "execute_command",
            json!({"command": line(2), "background": true}),
        );
        let id = begun.result()["structuredContent"]["commandId"].clone();
        while server
            .call("follow_command", json!({"commandId": id, "waitSecs": 20}))
            .result()["structuredContent"]["running"]
            == true
        {}
        server.close_stdin();
        server.wait_exit();
        let expected = [1_u16, 2].map(|call| {
            let command = format!("execute_command: {}", line(call));
            json!({
                "at": null, "client": "stdio", "call": call, "command": command, "program": "python3", "host": "example.org",
                "port": call, "decision": "blocked"
            })
        });
        assert_eq!(lines(&net), expected, "{:?}", world.setting);
        let text = fs::read_to_string(&audit).unwrap();
        let audited: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let denied =
            |port: u16| json!({"path": format!("tcp://example.org:{port}"), "access": "denied"});
        let of = |tool: &str| {
            let calls = audited
                .iter()
                .filter(|line| line["event"] == "call" && line["tool"] == tool);
            calls
                .flat_map(|line| line["paths"].as_array().unwrap().clone())
                .collect::<Vec<Value>>()
        };
        assert!(
            of("execute_command").contains(&denied(1)) && of("follow_command").contains(&denied(2)),
            "{text}"
        );
        let ended = audited
            .iter()
            .find(|line| line["event"] == "background")
            .unwrap();
        let blocked = json!([{"target": "example.org:2", "times": 1, "by": ["python3"], "rule": "example.org:2"}]);
        assert_eq!(ended["blocked"], blocked, "{text}");
    });
}
