//! Ends of calls, servers and processes: no process outlives its call or its server, and no command
//! ends other processes.

use std::fs;
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{
    Walls, children, command_result, everywhere, fresh_tag, launcher, processes_with_tag, program,
};
use crate::harness::{DEADLINE, ends_within};

/// Restarts itself in a new session and exits, forever.
const HYDRA: &str = "#!/bin/sh\nsetsid sh \"$0\" \"$1\" &\n";

/// Returns the number of rounds for each escape in each setting. `benches/survivors.sh` sets a
/// higher one.
fn rounds() -> usize {
    std::env::var("REPLAY_TEST_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(5)
}

/// Returns ways to outlive the shell. Each leaves processes with `tag` among their arguments.
fn escapes(tag: &str) -> [(&'static str, String); 6] {
    [
        (
            "a session that ignores SIGTERM",
            format!("setsid sh -c 'trap \"\" TERM HUP; sleep {tag}; sleep {tag}' & sleep 0.02"),
        ),
        (
            "a double fork",
            format!(
                "(setsid sh -c 'sleep {tag} & exec sleep {tag}' >/dev/null 2>&1 &); sleep 0.02"
            ),
        ),
        (
            "a session that starts itself again",
            format!("sh hydra {tag} & sleep 0.03"),
        ),
        (
            "ten such sessions",
            format!("for i in 0 1 2 3 4 5 6 7 8 9; do sh hydra {tag} & done; sleep 0.03"),
        ),
        (
            "an output that is held open",
            format!("nohup sleep {tag} & setsid sleep {tag} & echo hi"),
        ),
        (
            "a child whose parent is stopped",
            format!("sh -c 'sleep {tag} & kill -STOP $$' & sleep 0.02"),
        ),
    ]
}

#[test]
fn e85_processes_end_with_their_call() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        fs::write(walls.tree.path("work/hydra"), HYDRA).unwrap();
        for _ in 0..rounds() {
            let tag = fresh_tag();
            for (way, command) in escapes(&tag) {
                let ran = walls.sh(&command);
                assert_eq!(
                    processes_with_tag(&tag),
                    Vec::<u32>::new(),
                    "{setting:?}: {way}"
                );
                assert_eq!(ran.code, 0, "{setting:?}: {way}: {ran:?}");
            }
        }
        walls.end();
    });
}

#[test]
fn e85_processes_end_with_cancelled_call() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        fs::write(walls.tree.path("work/hydra"), HYDRA).unwrap();
        let tag = fresh_tag();
        for (way, command) in escapes(&tag) {
            let _ = fs::remove_file(walls.tree.path("work/up"));
            let command = format!("{command}; echo x > up; trap '' TERM; sleep {tag}; sleep {tag}");
            let arguments = json!({"name": "execute_command", "arguments": {"command": command}});
            let id = walls.server.send("tools/call", arguments);
            let until = Instant::now() + DEADLINE;
            while !walls.tree.has("work/up") {
                assert!(
                    Instant::now() < until,
                    "{setting:?}: {way}: the command never came so far"
                );
                walls.server.settle();
            }
            walls
                .server
                .notify("notifications/cancelled", json!({"requestId": id}));
            // A cancelled call gets no reply. Its end shows by the end of its processes.
            while !processes_with_tag(&tag).is_empty() {
                assert!(
                    Instant::now() < until,
                    "{setting:?}: {way}: {:?} live",
                    processes_with_tag(&tag)
                );
                walls.server.settle();
            }
        }
        walls.end();
    });
}

#[test]
fn e86_held_pipe_does_not_delay_reply() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let ran = walls.sh("sleep 600 & echo hi");
        assert_eq!((ran.stdout.as_str(), ran.code), ("hi\n", 0));
        assert!(
            ran.text
                .contains("1 background process was ended with the shell"),
            "{}",
            ran.text
        );
        let ran = walls.sh("(setsid sh -c 'echo x; : > said; while :; do echo x; sleep 0.01; done' &); until [ -e said ]; do sleep 0.01; done; echo hi");
        assert!(
            ran.stdout.contains("hi\n") && ran.stdout.contains("x\n"),
            "{ran:?}"
        );
        walls.end();
    });
}

#[test]
fn e87_process_ignoring_sigterm_is_killed() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let tag = fresh_tag();
        let command = format!("trap '' TERM; echo begun; sleep {tag}; sleep {tag}");
        let reply = walls.try_run(json!({"command": command, "timeout": 1}));
        let ran = command_result(&reply);
        assert_eq!((ran.stdout.as_str(), ran.code), ("begun\n", 137), "{ran:?}");
        assert_eq!(reply.result()["structuredContent"]["timedOut"], true);
        assert_eq!(processes_with_tag(&tag), Vec::<u32>::new());
        let reply =
            walls.try_run(json!({"command": "trap 'echo last words; exit 7' TERM; sleep 99 & wait", "timeout": 3}));
        assert!(
            super::command_result(&reply)
                .stdout
                .ends_with("last words\n"),
            "{}",
            reply.0
        );
        walls.end();
    });
}

/// Starts a background command and a call that does not end.
fn start_endless_commands(walls: &mut Walls, tag: &str) {
    fs::write(walls.tree.path("work/hydra"), HYDRA).unwrap();
    let command = format!("trap '' TERM; sh hydra {tag} & setsid sleep {tag} & sleep {tag}");
    walls
        .try_run(json!({"command": command, "background": true}))
        .result();
    let command = format!("trap '' TERM; echo x > up; setsid sleep {tag} & sleep {tag}");
    walls.server.send(
        "tools/call",
        json!({"name": "execute_command", "arguments": {"command": command}}),
    );
    let until = Instant::now() + DEADLINE;
    while !walls.tree.has("work/up") || processes_with_tag(tag).len() < 3 {
        assert!(Instant::now() < until, "the commands never ran");
        walls.server.settle();
    }
}

/// Checks that all processes and the private directory are gone after the server ended, and that
/// the allowed directories are unchanged.
fn assert_all_gone(walls: &Walls, tag: &str, launcher: u32) {
    let launcher = Pid::from_raw(launcher.cast_signed()).unwrap();
    assert!(ends_within(launcher, DEADLINE), "the launcher lives on");
    let until = Instant::now() + DEADLINE;
    for pid in processes_with_tag(tag) {
        assert!(ends_within(
            Pid::from_raw(pid.cast_signed()).unwrap(),
            until.saturating_duration_since(Instant::now())
        ));
    }
    assert_eq!(processes_with_tag(tag), Vec::<u32>::new());
    let left = walls.tree.private_directories("tmp");
    assert_eq!(
        left,
        Vec::<std::path::PathBuf>::new(),
        "the private directory is left"
    );
    assert_eq!(walls.tree.read("work/ok.txt"), "fine\n");
    assert_eq!(walls.outside, walls.tree.fingerprint("outside"));
}

#[test]
fn killed_server_leaves_no_processes_or_files() {
    everywhere(|setting| {
        for signal in [Signal::KILL, Signal::TERM] {
            let mut walls = Walls::start(setting, &[], &[]);
            let (tag, launcher) = (fresh_tag(), launcher(&walls.server));
            start_endless_commands(&mut walls, &tag);
            kill_process(walls.server.pid(), signal).unwrap();
            walls.server.wait_exit();
            assert_all_gone(&walls, &tag, launcher);
        }
    });
}

#[test]
fn server_without_input_leaves_no_processes_or_files() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &["--command-timeout-secs", "2"], &[]);
        let (tag, launcher) = (fresh_tag(), launcher(&walls.server));
        start_endless_commands(&mut walls, &tag);
        walls.server.close_stdin();
        walls.server.wait_exit();
        assert_all_gone(&walls, &tag, launcher);
    });
}

/// Commands cannot kill the launcher, but the kernel's OOM killer can.
#[test]
fn server_ends_commands_of_killed_launcher() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let (tag, launcher) = (fresh_tag(), launcher(&walls.server));
        start_endless_commands(&mut walls, &tag);
        let launcher = Pid::from_raw(launcher.cast_signed()).unwrap();
        kill_process(launcher, Signal::KILL).unwrap();
        assert!(ends_within(launcher, DEADLINE));
        let refused = walls
            .server
            .call("execute_command", json!({"command": "true"}))
            .failure()
            .expect("a refusal");
        assert!(
            refused
                .message
                .contains("the operator must restart the server"),
            "{}",
            refused.message
        );
        walls
            .server
            .call("read_file", json!({"path": walls.tree.text("work/ok.txt")}))
            .texts();
        kill_process(walls.server.pid(), Signal::KILL).unwrap();
        walls.server.wait_exit();
        let until = Instant::now() + DEADLINE;
        for pid in processes_with_tag(&tag) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                ends_within(Pid::from_raw(pid.cast_signed()).unwrap(), left),
                "{setting:?}: {pid} lives on"
            );
        }
        assert_eq!(processes_with_tag(&tag), Vec::<u32>::new(), "{setting:?}");
    });
}

#[test]
fn command_ends_with_its_supervisor() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let tag = fresh_tag();
        let command =
            format!("(setsid sleep {tag} &); trap '' TERM; echo x > up; sleep {tag}; sleep {tag}");
        walls
            .try_run(json!({"command": command, "background": true}))
            .result();
        let until = Instant::now() + DEADLINE;
        while !walls.tree.has("work/up") || processes_with_tag(&tag).len() < 2 {
            assert!(
                Instant::now() < until,
                "{setting:?}: the command never came so far"
            );
            walls.server.settle();
        }
        kill_process(supervisors(launcher(&walls.server))[0], Signal::KILL).unwrap();
        while !processes_with_tag(&tag).is_empty() {
            assert!(
                Instant::now() < until,
                "{setting:?}: {:?} live",
                processes_with_tag(&tag)
            );
            walls.server.settle();
        }
        walls.end();
    });
}

/// Returns the children of a launcher, oldest first.
fn supervisors(launcher: u32) -> Vec<Pid> {
    children(launcher)
        .into_iter()
        .map(|pid| Pid::from_raw(pid.cast_signed()).unwrap())
        .collect()
}

/// Returns true if one of `sought` descends from this process.
fn has_descendant(pid: Pid, sought: &[u32]) -> bool {
    let children = children(pid.as_raw_pid().cast_unsigned());
    children.into_iter().any(|child| {
        sought.contains(&child)
            || has_descendant(Pid::from_raw(child.cast_signed()).unwrap(), sought)
    })
}

/// Returns the spare supervisor: the only one left after the supervisor of a finished command has
/// exited.
fn spare_supervisor(walls: &mut Walls, launcher: u32) -> Pid {
    let tag = fresh_tag();
    let reply = walls.try_run(json!({"command": format!("sleep {tag}"), "background": true}));
    let until = Instant::now() + DEADLINE;
    while processes_with_tag(&tag).is_empty() {
        assert!(
            Instant::now() < until,
            "{:?}: the command never ran",
            walls.setting
        );
        walls.server.settle();
    }
    let busy = supervisors(launcher)
        .into_iter()
        .find(|pid| has_descendant(*pid, &processes_with_tag(&tag)));
    let end = json!({"commandId": reply.result()["structuredContent"]["commandId"], "end": true});
    walls.server.call("follow_command", end).result();
    loop {
        if let [spare] = supervisors(launcher)[..]
            && Some(spare) != busy
        {
            return spare;
        }
        assert!(
            Instant::now() < until,
            "{:?}: {busy:?}, then {:?}",
            walls.setting,
            supervisors(launcher)
        );
        walls.server.settle();
    }
}

#[test]
fn killed_spare_supervisor_does_not_affect_server() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let launcher = launcher(&walls.server);
        let spare = spare_supervisor(&mut walls, launcher);
        kill_process(spare, Signal::KILL).unwrap();
        assert!(ends_within(spare, DEADLINE));
        walls.end();
    });
}

#[test]
fn spare_supervisor_ends_with_launcher() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let launcher = launcher(&walls.server);
        let spare = spare_supervisor(&mut walls, launcher);
        kill_process(Pid::from_raw(launcher.cast_signed()).unwrap(), Signal::KILL).unwrap();
        assert!(
            ends_within(spare, DEADLINE),
            "{setting:?}: {spare:?} lives on"
        );
    });
}

#[test]
fn blocked_server_obeys_signals_before_sandbox_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(program());
    command
        .args(["--mcp-server", "--tools", "all", "--allow"])
        .arg(dir.path());
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let mut asked =
        vec![json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})];
    asked.extend((1..8).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})));
    let asked = asked
        .iter()
        .map(|message| message.to_string() + "\n")
        .collect::<String>();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), asked.as_bytes()).unwrap();
    // The server has written more than a pipe holds.
    let stdout = child.stdout.as_ref().unwrap();
    let until = Instant::now() + DEADLINE;
    while rustix::io::ioctl_fionread(stdout).unwrap() < 60_000 {
        assert!(Instant::now() < until, "the pipe is not full");
        std::thread::yield_now();
    }
    let server = Pid::from_child(&child);
    kill_process(server, Signal::TERM).unwrap();
    assert!(ends_within(server, DEADLINE), "it does not hear");
    child.wait().unwrap();
}
