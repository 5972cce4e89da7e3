//! Notes for commands that run beside others, and flags that are refused without namespaces.

use replay_sandbox::Tier;
use serde_json::{Value, json};

use super::{Walls, everywhere, fresh_tag, installed};

const NETWORK_NOTE: &str = "[the command tried to use the network";
/// Note of a failed command that did not run alone.
const SHARED_NOTE: &str =
    "[this command or another one that ran at the same time tried to use the network";

#[test]
fn network_note_beside_other_commands_is_of_all() {
    if !installed("bash") {
        return;
    }
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let look = "exec 3<>/dev/udp/192.0.2.1/9";
        let looking = format!("bash -c '{look}' || exit 1");
        assert!(
            walls.sh(&looking).text.contains(NETWORK_NOTE),
            "{setting:?}"
        );
        let reply = walls.try_run(json!({"command": "cat", "background": true}));
        let id = reply.result()["structuredContent"]["commandId"].clone();
        // Without namespaces, refusals are recorded per command.
        let by_itself = setting.tier == Tier::Landlock;
        let ran = walls.sh(&looking);
        let notes = [NETWORK_NOTE, SHARED_NOTE].map(|note| ran.text.contains(note));
        assert_eq!(
            (ran.code, notes),
            (1, [by_itself, !by_itself]),
            "{setting:?}: {}",
            ran.text
        );
        let passed = walls.sh(&format!("({looking}) || true"));
        assert!(!passed.text.contains(SHARED_NOTE), "{setting:?}");
        let mut follow = |more: Value| {
            let mut arguments = json!({"commandId": id, "waitSecs": 10});
            arguments
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            walls.server.call("follow_command", arguments)
        };
        let ended = follow(json!({"end": true}));
        assert_eq!(
            ended.result()["structuredContent"]["running"],
            false,
            "{setting:?}"
        );
        assert!(
            walls.sh(&looking).text.contains(NETWORK_NOTE),
            "{setting:?}"
        );
        // A command without a network access gets no note either.
        assert!(
            !walls.sh("exit 1").text.contains(NETWORK_NOTE),
            "{setting:?}"
        );
        walls.end();
    });
}

#[test]
fn idle_python_session_keeps_network_note() {
    if !installed("bash") || !installed("python3") {
        return;
    }
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &["--tools", "files,command,python"], &[]);
        let mut python = |code: &str| walls.server.call("run_python_code", json!({"code": code}));
        assert_eq!(python("x = 1").failure(), None, "{setting:?}");
        let looking = "bash -c 'exec 3<>/dev/udp/192.0.2.1/9' || exit 1";
        assert!(walls.sh(looking).text.contains(NETWORK_NOTE), "{setting:?}");
        // While a cell runs, the access may have come from the cell.
        let by_itself = setting.tier == Tier::Landlock;
        let code = "import os\nos.mkfifo('go') if not os.path.exists('go') else None\nopen('begun', 'w').close()\nopen('go').read()";
        let id = walls.server.send(
            "tools/call",
            json!({"name": "run_python_code", "arguments": {"code": code}}),
        );
        walls.sh("until [ -e begun ]; do :; done");
        let ran = walls.sh(looking);
        let notes = [NETWORK_NOTE, SHARED_NOTE].map(|note| ran.text.contains(note));
        assert_eq!(
            (ran.code, notes),
            (1, [by_itself, !by_itself]),
            "{setting:?}: {}",
            ran.text
        );
        walls.sh("echo > go");
        assert_eq!(walls.server.reply_to(&id).failure(), None, "{setting:?}");
        assert!(walls.sh(looking).text.contains(NETWORK_NOTE), "{setting:?}");
        walls.end();
    });
}

#[test]
fn flags_needing_namespaces_are_refused_without_them() {
    everywhere(|setting| {
        for (flag, value) in [("--network", "loopback"), ("--limit-processes", "1000")] {
            let mut walls = Walls::start(setting, &[flag, value], &[]);
            let reply = walls.try_run(json!({"command": "echo x"}));
            let refused = reply.whole().contains(&format!("({flag}"));
            assert_eq!(
                refused,
                setting.tier == Tier::Landlock,
                "{setting:?}: {}",
                reply.whole()
            );
        }
    });
}

#[test]
fn command_text_is_hidden_from_other_servers() {
    everywhere(|setting| {
        let (mut one, mut other) = (
            Walls::start(setting, &[], &[]),
            Walls::start(setting, &[], &[]),
        );
        let tag = fresh_tag();
        let reply =
            one.try_run(json!({"command": format!(": {tag}; sleep 1000; :"), "background": true}));
        let id = reply.result()["structuredContent"]["commandId"].clone();
        // A pattern that does not match its own text.
        let (first, rest) = tag.split_at(1);
        let look =
            format!("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | grep -ac '[{first}]{rest}'");
        assert_eq!(other.sh(&look).stdout, "0\n", "{setting:?}");
        let ended = one.server.call(
            "follow_command",
            json!({"commandId": id, "waitSecs": 10, "end": true}),
        );
        assert_eq!(
            ended.result()["structuredContent"]["running"],
            false,
            "{setting:?}"
        );
        one.end();
        other.end();
    });
}
