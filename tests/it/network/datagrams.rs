//! Network rules for datagrams: their destinations, the source of replies, and messages about
//! blocked ones.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{World, everywhere};

const RULES: [&str; 16] = [
    "--allow-host",
    "udp://*.example.com:443",
    "--allow-host",
    "udp://*.example.com:80",
    "--allow-host",
    "udp://11.0.0.3:80",
    "--allow-host",
    "udp://[2a00::2]:80",
    "--allow-host",
    "11.0.0.2:8080",
    "--deny-host",
    "udp://evil.example.com:*",
    "--deny-host",
    "whole.example.com",
    "--log-level",
    "warn",
];

fn program(world: &World) {
    world.file("datagrams.py", include_str!("datagrams.py"));
}

#[test]
fn datagrams_reach_allowed_host_and_get_answers() {
    everywhere(|world| {
        program(world);
        let ran = world.run_with(&["sandbox", "run"], &RULES, "python3 datagrams.py");
        assert_eq!(
            ran.out,
            include_str!("datagrams.out"),
            "{:?}: {}",
            world.setting,
            ran.err
        );
        assert_eq!(
            ran.err,
            include_str!("datagrams.err"),
            "{:?}",
            world.setting
        );
        let mut reached: Vec<String> = ran.notes;
        reached.retain(|note| !note.contains("xxxx"));
        reached.sort();
        let reached: String = reached.into_iter().map(|note| note + "\n").collect();
        assert_eq!(
            reached,
            include_str!("datagrams.notes"),
            "{:?}",
            world.setting
        );
    });
}

#[test]
fn datagrams_are_logged_and_learned() {
    everywhere(|world| {
        program(world);
        let line = "python3 datagrams.py messages private metadata";
        let learned = world.run_with(&["net", "learn", "--log-level", "warn"], &[], line);
        let rules = "--allow-host udp://private.example.com:80\n--allow-host udp://www.example.com:80\n--allow-host udp://10.0.0.9:80\n";
        let said =
            "messages: (b'11.0.0.2:80 in pieces', 'web')\nprivate: sent\nmetadata: ENETUNREACH\n";
        assert_eq!(
            learned.out,
            format!("{said}{rules}"),
            "{:?}: {}",
            world.setting,
            learned.err
        );
        let log = world.tree.path().join("net.log");
        fs::write(&log, "").unwrap();
        fs::set_permissions(&log, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        if world.setting.nobody {
            return;
        }
        let flags: Vec<&str> = rules
            .split_whitespace()
            .chain(["--net-log", log.to_str().unwrap()])
            .collect();
        let held = world.run(&flags, line);
        assert_eq!(held.out, said, "{:?}: {}", world.setting, held.err);
        let text = fs::read_to_string(&log).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| {
                let mut line: Value = serde_json::from_str(line).unwrap();
                line.as_object_mut().unwrap().remove("at");
                line
            })
            .collect();
        let base = |host: &str, rest: Value| {
            let command = format!("sh -c '{line}'");
            let mut line = json!({"command": command, "program": "python3", "transport": "udp", "host": host, "port": 80});
            line.as_object_mut()
                .unwrap()
                .extend(rest.as_object().unwrap().clone());
            line
        };
        let allowed = |host: &str, address: &str| {
            base(
                host,
                json!({"address": address, "decision": "allowed", "rule": format!("udp://{host}:80")}),
            )
        };
        let expected = [
            allowed("www.example.com", "11.0.0.2"),
            allowed("private.example.com", "10.0.0.9"),
            base("meta.example.com", json!({"decision": "blocked"})),
        ];
        assert_eq!(lines, expected, "{:?}", world.setting);
    });
}
