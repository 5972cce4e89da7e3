//! Forced ends of cells and sessions: no code runs twice, and no process is left.

use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::process::Pid;
use serde_json::{Value, json};

use super::{open, reply_data, result, run, wait_until_busy};
use crate::harness::{DEADLINE, Server, ends_within};
use crate::tree::Tree;

pub(super) const TIERS: [&str; 3] = ["namespaces", "landlock", "off"];

/// Returns true if commands run in this tier here.
pub(super) fn tier_is_available(server: &mut Server) -> bool {
    server
        .call("run_python_code", json!({"code": "1"}))
        .failure()
        .is_none()
}

#[test]
fn cell_timeout_keeps_session_state() {
    for tier in TIERS {
        let tree = Tree::new();
        let mut server = open(&tree, &["--sandbox", tier]);
        if !tier_is_available(&mut server) {
            continue;
        }
        // A second run of the code would add a line to the file.
        let code = "x = 1\nopen('runs', 'a').write('ran\\n')\nprint('before', flush=True)\nimport time\ntime.sleep(100)";
        let reply = server.call("run_python_code", json!({"code": code, "timeout": 1}));
        assert_eq!(reply.result()["isError"], true);
        let ran = reply_data(&reply);
        assert_eq!(
            (
                &ran["stdout"],
                &ran["timed_out"],
                &ran["state_lost"],
                &ran["error"]["name"],
                &ran["error"]["message"]
            ),
            (
                &json!("before\n"),
                &json!(true),
                &json!(false),
                &json!("TimeoutError"),
                &json!(
                    "the code ran longer than its timeout of 1 s; the code was interrupted; \
                     variables are kept; it was not run again"
                )
            ),
            "{tier}"
        );
        // The code is either busy or waits for a child.
        for code in [
            "while True: pass",
            "import subprocess; subprocess.run(['sleep', '100'])",
        ] {
            let ran =
                reply_data(&server.call("run_python_code", json!({"code": code, "timeout": 1})));
            assert_eq!(
                (&ran["timed_out"], &ran["state_lost"]),
                (&json!(true), &json!(false)),
                "{tier}: {code}"
            );
        }
        assert_eq!(result(&mut server, "x"), "1");
        assert_eq!(tree.read("work/runs"), "ran\n");
    }
}

#[test]
fn c_call_ending_soon_after_timeout_keeps_state() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    run(&mut server, "x = 1");
    // During this call, the interpreter does not check for interrupts.
    let code = "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\ntime.sleep(8)\n\
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])\nx = 2";
    let ran = reply_data(&server.call("run_python_code", json!({"code": code, "timeout": 5})));
    assert_eq!(
        (&ran["timed_out"], &ran["state_lost"]),
        (&json!(true), &json!(false)),
        "{ran}"
    );
    assert_eq!(result(&mut server, "x"), "1");
}

#[test]
fn operator_caps_cell_timeout() {
    for (flags, most) in [
        (&[][..], 300),
        (&["--max-cell-secs", "20"], 20),
        (&["--max-cell-secs", "4000"], 4000),
    ] {
        let tree = Tree::new();
        let mut server = open(&tree, flags);
        tree.file("work/a.py", "");
        assert_eq!(run(&mut server, "1")["result"], "1");
        for (tool, rest) in [
            ("run_python_code", json!({"code": "1"})),
            ("run_script", json!({"path": "a.py"})),
        ] {
            let call = |timeout: u64| {
                let mut arguments = rest.clone();
                arguments["timeout"] = timeout.into();
                arguments
            };
            assert!(
                server.call(tool, call(most)).failure().is_none(),
                "{tool} {most}"
            );
            let refused = server.call(tool, call(most + 1)).failure().unwrap().message;
            let told = format!(
                "`timeout` is {} s, and Python code may take {most} s at most; the operator can allow more (--max-cell-secs)",
                most + 1
            );
            assert_eq!(refused, told, "{tool}");
        }
    }
}

#[test]
fn code_ignoring_interrupt_ends_session() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    run(&mut server, "x = 1");
    let code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('before', flush=True)\nwhile True: pass";
    let ran = reply_data(&server.call("run_python_code", json!({"code": code, "timeout": 1})));
    assert_eq!(
        (&ran["stdout"], &ran["timed_out"], &ran["state_lost"]),
        (&json!("before\n"), &json!(true), &json!(true))
    );
    assert!(
        ran["notes"][0]
            .as_str()
            .unwrap()
            .contains("ignored the interrupt"),
        "{ran}"
    );
    let ran = run(&mut server, "'x' in globals()");
    assert_eq!(
        (&ran["result"], &ran["state_lost"]),
        (&json!("False"), &json!(false)),
        "it is said once"
    );
}

#[test]
fn ignored_interrupt_is_repeated_once() {
    for tier in TIERS {
        let tree = Tree::new();
        let mut server = open(&tree, &["--sandbox", tier]);
        if !tier_is_available(&mut server) {
            continue;
        }
        // An inner loop: the interpreter checks for interrupts before it enters `try`.
        let code = "came = 0\ndef spin():\n    while True: pass\nwhile came < 2:\n    try:\n        spin()\n    \
                    except KeyboardInterrupt:\n        came += 1";
        let ran = reply_data(&server.call("run_python_code", json!({"code": code, "timeout": 1})));
        assert_eq!(
            (&ran["timed_out"], &ran["state_lost"]),
            (&json!(true), &json!(false)),
            "{tier}: {ran}"
        );
        assert_eq!(result(&mut server, "came"), "2", "{tier}");
        // Code that obeys the first interrupt gets no second one, nor does the next cell.
        let code = "import signal\ncame = 0\ndef count(*_):\n    global came\n    came += 1\n    raise KeyboardInterrupt\n\
                    signal.signal(signal.SIGINT, count)\nwhile True: pass";
        let ran = reply_data(&server.call("run_python_code", json!({"code": code, "timeout": 1})));
        assert_eq!(
            (&ran["timed_out"], &ran["state_lost"]),
            (&json!(true), &json!(false)),
            "{tier}: {ran}"
        );
        assert_eq!(result(&mut server, "came"), "1", "{tier}");
    }
}

#[test]
fn dead_session_is_reported_and_restarts() {
    for tier in TIERS {
        let tree = Tree::new();
        let mut server = open(&tree, &["--sandbox", tier]);
        if !tier_is_available(&mut server) {
            continue;
        }
        for (code, how) in [
            (
                "import os; print('last words', flush=True); os._exit(3)",
                "exit code 3",
            ),
            (
                "import os; print('last words', flush=True); os.kill(os.getpid(), 11)",
                "signal 11",
            ),
        ] {
            let reply = server.call("run_python_code", json!({"code": code}));
            assert_eq!(reply.result()["isError"], true);
            let ran = reply_data(&reply);
            assert_eq!(
                (
                    &ran["error"]["name"],
                    &ran["error"]["message"],
                    &ran["state_lost"],
                    &ran["stdout"]
                ),
                (
                    &json!("SessionEnded"),
                    &json!(format!("the session's process ended in the cell ({how})")),
                    &json!(true),
                    &json!("last words\n")
                ),
                "{tier}"
            );
            let health = reply_data(&server.call("get_kernel_health", json!({})));
            assert_eq!(
                health,
                json!({"session_id": "default", "status": "dead", "busy": false, "exit_status": how}),
                "{tier}"
            );
            let check = reply_data(&server.call("check_kernel_responsiveness", json!({})));
            assert_eq!(check["responsive"], false);
            assert_eq!(
                check["test_result"],
                format!("the process has ended ({how}); run_python_code starts a new one")
            );
            assert_eq!(result(&mut server, "2"), "2");
        }
        // Between two cells, by a thread.
        run(
            &mut server,
            "import os, threading\nx = 1\nthreading.Timer(0.01, lambda: os._exit(4)).start()",
        );
        let until = std::time::Instant::now() + DEADLINE;
        while reply_data(&server.call("get_kernel_health", json!({})))["status"] != "dead" {
            assert!(std::time::Instant::now() < until, "{tier}");
        }
        let ran = run(&mut server, "'x' in globals()");
        assert_eq!(
            (&ran["result"], &ran["state_lost"]),
            (&json!("False"), &json!(true)),
            "{tier}"
        );
        assert!(
            ran["notes"][0]
                .as_str()
                .unwrap()
                .starts_with("the session's process had ended (exit code 4)")
        );
    }
}

#[test]
fn interrupt_restart_and_cancel_end_cell() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let spin = json!({"name": "run_python_code", "arguments": {"code": "while True: pass", "timeout": 300}});
    run(&mut server, "x = 1");
    let nothing = reply_data(&server.call("interrupt_session", json!({})));
    assert_eq!(nothing["interrupted"], false);

    let id = server.send("tools/call", spin.clone());
    wait_until_busy(&mut server, "default");
    assert_eq!(
        reply_data(&server.call("interrupt_session", json!({})))["interrupted"],
        true
    );
    assert_eq!(
        reply_data(&server.reply_to(&id))["error"]["name"],
        "KeyboardInterrupt"
    );

    let id = server.send("tools/call", spin.clone());
    wait_until_busy(&mut server, "default");
    server.notify("notifications/cancelled", json!({"requestId": id}));
    // The next cell runs after the cancelled one has ended.
    assert_eq!(result(&mut server, "x"), "1");

    let id = server.send("tools/call", spin);
    wait_until_busy(&mut server, "default");
    assert_eq!(
        reply_data(&server.call("restart_session", json!({})))["status"],
        "restarted"
    );
    let ran = reply_data(&server.reply_to(&id));
    assert_eq!(
        (&ran["error"]["name"], &ran["state_lost"]),
        (&json!("SessionEnded"), &json!(true))
    );
    let ran = run(&mut server, "'x' in globals()");
    assert_eq!(
        (&ran["result"], &ran["state_lost"]),
        (&json!("False"), &json!(false))
    );
}

#[test]
fn state_lost_by_cancelled_cell_is_told_to_next() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    run(&mut server, "x = 1");
    let code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\
                open('begun', 'w').close()\nwhile True: pass";
    let stubborn = json!({"name": "run_python_code", "arguments": {"code": code, "timeout": 3}});
    let id = server.send("tools/call", stubborn);
    let until = Instant::now() + DEADLINE;
    while !tree.has("work/begun") {
        assert!(Instant::now() < until, "the cell has not begun");
        server.call("get_kernel_health", json!({})).result();
    }
    server.notify("notifications/cancelled", json!({"requestId": id}));
    let ran = run(&mut server, "'x' in globals()");
    assert_eq!(
        (&ran["result"], &ran["state_lost"], &ran["notes"][0]),
        (
            &json!("False"),
            &json!(true),
            &json!(
                "the cell was cancelled and ignored the interrupt, so the session was ended; variables and imports from before are gone"
            )
        )
    );
}

#[test]
fn interrupt_hits_only_cell_running_then() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    result(&mut server, "import time");
    let cell = |code: &str| json!({"name": "run_python_code", "arguments": {"code": code, "timeout": 300}});
    for round in 0..300 {
        // The cell ends by itself at about the time of the interrupt.
        let first = format!("for i in range({}): pass", round % 30 * 200);
        let first = server.send("tools/call", cell(&first));
        // All interrupts were read before the next cell, and only the first can have an effect.
        let interrupt = json!({"name": "interrupt_session", "arguments": {}});
        let interrupts: Vec<_> = (0..12)
            .map(|_| server.send("tools/call", interrupt.clone()))
            .collect();
        let ended = reply_data(&server.reply_to(&first));
        assert!(
            ended["error"].is_null() || ended["error"]["name"] == "KeyboardInterrupt",
            "{round}: {ended}"
        );
        // This cell did not exist when the interrupt was requested.
        let next = server.send("tools/call", cell("for i in range(20000): pass"));
        let ran = reply_data(&server.reply_to(&next));
        assert_eq!(ran["error"], Value::Null, "{round}");
        for interrupt in &interrupts {
            reply_data(&server.reply_to(interrupt));
        }
    }
}

#[test]
fn busy_session_answers_health_and_inspection() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let until = std::time::Instant::now() + DEADLINE;
    loop {
        let health = reply_data(&server.call("get_kernel_health", json!({})));
        assert_eq!(
            (&health["status"], &health["busy"]),
            (&json!("healthy"), &json!(false))
        );
        assert!(
            health["pid"].as_u64().unwrap() > 0
                && health["memory_usage"].as_u64().unwrap() > 1 << 20,
            "{health}"
        );
        assert!(health["uptime"].as_f64().unwrap() > 0.0, "{health}");
        // The process reports its start before it reads its driver, which starts a listener thread
        // and an answering thread.
        if health["num_threads"] == 3 {
            break;
        }
        assert!(
            health["num_threads"].as_u64().unwrap() < 3 && std::time::Instant::now() < until,
            "{health}"
        );
    }

    let spin = json!({"code": "words = 'abc'\nwhile True: pass", "timeout": 300});
    let id = server.send(
        "tools/call",
        json!({"name": "run_python_code", "arguments": spin}),
    );
    let busy = wait_until_busy(&mut server, "default");
    assert!(
        busy["current_cell_seconds"].as_f64().unwrap() >= 0.0,
        "{busy}"
    );
    let until = std::time::Instant::now() + DEADLINE;
    let completed = loop {
        let completed =
            reply_data(&server.call("code_completion", json!({"code": "wor", "cursor_pos": 3})));
        if completed["matches"] != json!([]) {
            break completed;
        }
        assert!(std::time::Instant::now() < until, "{completed}");
    };
    assert_eq!(
        completed,
        json!({"matches": ["words"], "cursor_start": 0, "cursor_end": 3})
    );
    let until = std::time::Instant::now() + DEADLINE;
    loop {
        // On a busy machine, a thread beside spinning code may be scheduled late.
        let check = reply_data(&server.call("check_kernel_responsiveness", json!({})));
        assert_eq!(check["busy"], true);
        if check["responsive"] == true {
            break;
        }
        assert!(std::time::Instant::now() < until, "{check}");
    }
    server.call("restart_session", json!({})).result();
    server.reply_to(&id).result();

    let hold = json!({"code": "sum(range(10**12))", "timeout": 300});
    let id = server.send(
        "tools/call",
        json!({"name": "run_python_code", "arguments": hold}),
    );
    wait_until_busy(&mut server, "default");
    let until = std::time::Instant::now() + DEADLINE;
    loop {
        // The cell may not have begun yet.
        let check = reply_data(&server.call("check_kernel_responsiveness", json!({})));
        if check["responsive"] == false {
            assert!(
                check["test_result"]
                    .as_str()
                    .unwrap()
                    .starts_with("no answer within 1000 ms"),
                "{check}"
            );
            break;
        }
        assert!(std::time::Instant::now() < until, "{check}");
    }
    assert_eq!(
        reply_data(&server.call("get_kernel_health", json!({})))["status"],
        "healthy"
    );
    server
        .call("delete_session", json!({"session_id": "default"}))
        .result();
    assert_eq!(reply_data(&server.reply_to(&id))["state_lost"], true);
}

#[test]
fn sessions_end_with_server() {
    for kill in [false, true] {
        let tree = Tree::new();
        let mut server = open(&tree, &["--sandbox", "off"]);
        let code =
            "import os, subprocess\np = subprocess.Popen(['sleep', '1000'])\nos.getpid(), p.pid";
        let pids = result(&mut server, code);
        let pids: Vec<Pid> = pids
            .trim_matches(['(', ')'])
            .split(", ")
            .map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap())
            .collect();
        if kill {
            rustix::process::kill_process(server.pid(), rustix::process::Signal::KILL).unwrap();
        } else {
            server.close_stdin();
        }
        server.wait_exit();
        for pid in pids {
            assert!(ends_within(pid, DEADLINE), "{kill}: {pid:?}");
        }
    }
}

#[test]
fn fork_bomb_ends_only_its_session() {
    let tree = Tree::new();
    let mut server = open(
        &tree,
        &["--sandbox", "namespaces", "--limit-processes", "64"],
    );
    if !tier_is_available(&mut server) {
        return;
    }
    reply_data(&server.call("create_session", json!({"session_id": "other"})));
    reply_data(&server.call(
        "run_python_code",
        json!({"code": "x = 7", "session_id": "other"}),
    ));
    let bomb = "import os\nwhile True:\n  try: os.fork()\n  except BaseException: pass";
    let ran = reply_data(&server.call("run_python_code", json!({"code": bomb, "timeout": 2})));
    assert_eq!(ran["timed_out"], true);
    assert_eq!(
        reply_data(&server.call(
            "run_python_code",
            json!({"code": "x", "session_id": "other"})
        ))["result"],
        "7"
    );
}

#[test]
fn malformed_session_messages_end_only_that_session() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let find = "import os, stat\ndef is_socket(fd):\n  try: return stat.S_ISSOCK(os.fstat(fd).st_mode)\n  \
                except OSError: return False\nchannel = next(fd for fd in range(3, 100) if is_socket(fd))";
    assert_eq!(result(&mut server, find), "None");
    let lines = r#"b'\xff\n[]\n{"event": 5}\n{"event": "done", "id": 999, "cell": 1, "seconds": 1}\n{"event": "reply", "id": 1}\n'"#;
    assert_eq!(
        result(&mut server, &format!("os.write(channel, {lines}) > 0")),
        "True"
    );
    assert_eq!(result(&mut server, "1 + 1"), "2");
    let ran = run(
        &mut server,
        "line = b'x' * 1_000_000\nwhile True: os.write(channel, line)",
    );
    assert_eq!(
        (&ran["error"]["name"], &ran["state_lost"]),
        (&json!("SessionEnded"), &json!(true))
    );
    // The end of this cell can no longer be reported.
    let ran = run(&mut server, "import os; os.closerange(3, 1000)");
    assert_eq!(
        (&ran["error"]["name"], &ran["state_lost"]),
        (&json!("SessionEnded"), &json!(true))
    );
    assert_eq!(result(&mut server, "2"), "2");
}
