//! Notes of accesses that the sandbox refused and processes that it ended, at every exit status, in
//! text and in data.

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::{Value, json};

use super::{Setting, Walls, everywhere};

/// Runs a command and returns its texts and its structured reply.
fn run_command(walls: &mut Walls, arguments: Value) -> (String, Value) {
    let reply = walls.try_run(arguments);
    (
        reply.all_texts().join("\n"),
        reply.result()["structuredContent"].clone(),
    )
}

/// Runs a background command to its end and returns its texts and its structured reply.
fn run_in_background(walls: &mut Walls, command: &str) -> (String, Value) {
    let (_, started) = run_command(walls, json!({"command": command, "background": true}));
    let arguments = json!({"commandId": started["commandId"], "waitSecs": 60});
    let reply = walls.server.call("follow_command", arguments);
    (
        reply.all_texts().join("\n"),
        reply.result()["structuredContent"].clone(),
    )
}

#[test]
fn refused_change_is_reported_when_command_succeeds() {
    everywhere(|setting: Setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let mut walls = Walls::start(setting, &[], &[]);
        walls.works(
            "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        );
        walls.works("true");
        let (text, data) = run_in_background(
            &mut walls,
            "mkdir -p .vscode; echo {} >.vscode/tasks.json; exit 0",
        );
        assert!(
            text.contains(
                "/.vscode/tasks.json` is protected: the file or directory that the command \
                 created there was renamed"
            ),
            "{text}"
        );
        let notes = data["notes"].as_array().into_iter().flatten();
        let protected = notes.filter(|note| note.as_str().unwrap().contains("is protected"));
        assert_eq!(protected.count(), 1, "{data}");
        // Refused changes are seen only by a supervisor that records undo, which another user
        // cannot do here.
        if !setting.root() {
            return;
        }
        let line = "git config user.name a; echo x >.git/hooks/pre-commit; true";
        let (text, data) = run_command(&mut walls, json!({"command": line}));
        let notes = data["notes"]
            .as_array()
            .unwrap_or_else(|| panic!("no notes: {text}"))
            .clone();
        assert_eq!(data["exitCode"], 0);
        assert!(
            notes
                .iter()
                .all(|note| text.contains(&format!("[{}]", note.as_str().unwrap()))),
            "{text} {data}"
        );
        assert!(
            notes.iter().any(|note| note
                .as_str()
                .unwrap()
                .contains(".git/hooks/pre-commit`: the path is protected")),
            "{data}"
        );
        walls.end();
    });
}

#[test]
fn missing_network_is_reported_when_command_succeeds() {
    everywhere(|setting: Setting| {
        let mut walls = Walls::start(setting, &["--network", "none"], &[]);
        let line = "python3 -c 'import socket; socket.create_connection((\"10.1.2.3\", 80))' 2>/dev/null; true";
        let (text, data) = run_command(&mut walls, json!({"command": line}));
        assert!(
            text.contains("[the command tried to use the network, but commands have none;"),
            "{setting:?}: {text}"
        );
        assert_eq!(
            (
                data["exitCode"].clone(),
                data["notes"].as_array().map(Vec::len)
            ),
            (json!(0), Some(1)),
            "{data}"
        );
        let (text, data) = run_command(&mut walls, json!({"command": "true"}));
        assert_eq!(
            (text.as_str(), &data["notes"]),
            ("(no output)\n[exit code: 0]", &Value::Null)
        );
        walls.end();
    });
}

#[test]
fn ended_daemon_of_background_command_is_reported() {
    everywhere(|setting: Setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let note = "1 process that was still running was ended; to keep a server, start it with \
            `background: true`, without `&` or a daemon option";
        let (text, data) = run_in_background(&mut walls, "(sleep 600 >/dev/null 2>&1 &); echo a");
        assert_eq!(text, format!("a\n[{note}]\n[exit code: 0]"), "{setting:?}");
        assert_eq!(data["notes"], json!([note]), "{setting:?}");
        // A requested end is not reported.
        let (_, started) = run_command(
            &mut walls,
            json!({"command": "sleep 600 & sleep 600", "background": true}),
        );
        let arguments = json!({"commandId": started["commandId"], "end": true});
        let reply = walls.server.call("follow_command", arguments);
        assert!(!reply.text().contains("left running"), "{}", reply.text());
        walls.end();
    });
}

#[test]
fn ended_process_of_terminal_is_reported() {
    everywhere(|setting: Setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let note = "1 background process was ended with the shell; to keep one running use background: true";
        let (text, data) = run_command(
            &mut walls,
            json!({"command": "(sleep 600 &); echo a", "tty": true}),
        );
        assert!(text.contains(&format!("[{note}]")), "{setting:?}: {text}");
        assert_eq!(data["notes"], json!([note]), "{setting:?}");
        walls.end();
    });
}

#[test]
fn recording_reports_ended_processes() {
    everywhere(|setting: Setting| {
        let mut walls = Walls::start(setting, &["--tools", "files,command,calls"], &[]);
        let command = "sleep 600 >/dev/null 2>&1 & true";
        let reply = walls
            .server
            .call("keploy_mock_record", json!({"command": command}));
        let notes = reply.result()["structuredContent"]["notes"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let note = "1 process that was still running was ended with the application; start \
            servers in the foreground, not as daemons";
        assert!(
            notes.contains(&json!(note)),
            "{setting:?}: {}",
            reply.whole()
        );
        walls.end();
    });
}

#[test]
fn signal_is_reported_beside_exit_code() {
    everywhere(|setting: Setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        for (line, signal) in [("kill -9 $$", json!(9)), ("exit 137", Value::Null)] {
            let (_, data) = run_command(&mut walls, json!({"command": line}));
            assert_eq!(
                (&data["exitCode"], &data["signal"]),
                (&json!(137), &signal),
                "{setting:?} {line}"
            );
            let (_, data) = run_in_background(&mut walls, line);
            assert_eq!(
                (&data["exitCode"], &data["signal"]),
                (&json!(137), &signal),
                "{setting:?} {line}"
            );
        }
        walls.end();
    });
}

#[test]
fn output_shown_never_exceeds_output_written() {
    let setting = Setting {
        tier: Tier::Off,
        owner: None,
    };
    let mut walls = Walls::start(setting, &[], &[]);
    let (text, _) = run_command(
        &mut walls,
        json!({"command": "printf 123456789 >&2", "maxTokens": 1}),
    );
    assert!(text.contains("stderr: 3 of 9 bytes are shown"), "{text}");
}
