//! Floods of processes, output, files and memory. Meanwhile other calls are answered, and the
//! server's memory stays bounded.

use std::fs;

use serde_json::json;

use super::{Setting, Walls, everywhere, fresh_tag, installed, processes_with_tag};

/// Maximum memory of the server while a command floods, in bytes.
const MAX_SERVER_MEMORY: u64 = 300 * 1024 * 1024;

/// Queues descriptors in sockets that no process reads. The kernel counts them for the user while
/// the sockets exist.
const QUEUE: &str = "import array, resource, socket, sys, time\n\
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n\
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\n\
    gift = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 250))]\n\
    pairs, sent = [], 0\n\
    try:\n    \
        while len(pairs) < most // 4:\n        \
            pairs.append(socket.socketpair())\n        \
            pairs[-1][0].setblocking(False)\n        \
            try:\n            \
                while True: pairs[-1][0].sendmsg([b'x'], gift); sent += 250\n        \
            except BlockingIOError: pass\n\
    except OSError as error: print(error.errno, sent > 0, flush=True)\n\
    time.sleep(600)\n";

/// Returns the resident memory of a process, in bytes.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Runs a command with a timeout and makes other calls until it is answered.
fn flood(walls: &mut Walls, command: &str, seconds: u64) -> crate::harness::Reply {
    let path = walls.tree.text("work/ok.txt");
    let arguments = json!({"command": command, "timeout": seconds});
    let id = walls.server.send(
        "tools/call",
        json!({"name": "execute_command", "arguments": arguments}),
    );
    for _ in 0..10 {
        let reply = walls.server.call("read_file", json!({"path": path}));
        assert_eq!(reply.text(), "fine\n", "{:?}", walls.setting);
    }
    let reply = walls.server.reply_to(&id);
    let held = resident(walls.server.pid().as_raw_nonzero().get().cast_unsigned());
    assert!(
        held < MAX_SERVER_MEMORY,
        "{:?}: the server holds {held} bytes",
        walls.setting
    );
    reply
}

#[test]
fn e88_fork_bomb_is_contained() {
    everywhere(|setting: Setting| {
        // Without namespaces the limit would count all processes of the user. The command sets its
        // own limit here, and root is not counted at all.
        let limit = match setting.tier {
            replay_sandbox::Tier::Namespaces => "",
            _ if setting.root() => return,
            _ => "ulimit -u 300; ",
        };
        let flags: &[&str] = if limit.is_empty() {
            &["--limit-processes", "300"]
        } else {
            &[]
        };
        let mut walls = Walls::start(setting, flags, &[]);
        let tag = fresh_tag();
        fs::write(
            walls.tree.path("work/bomb"),
            "sh bomb $1 & sh bomb $1 & wait\n",
        )
        .unwrap();
        flood(&mut walls, &format!("{limit}sh bomb {tag} 2>/dev/null"), 1);
        assert_eq!(processes_with_tag(&tag), Vec::<u32>::new(), "{setting:?}");
        walls.end();
    });
}

#[test]
fn e88_process_limit_is_enforced() {
    everywhere(|setting: Setting| {
        // The kernel does not apply `RLIMIT_NPROC` to root. The limit for root needs Linux 6.14.
        let release = rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned();
        let mut numbers = release
            .split('.')
            .map(|number| number.parse::<u32>().unwrap_or(0));
        let old = (numbers.next(), numbers.next()) < (Some(6), Some(14));
        if setting.tier != replay_sandbox::Tier::Namespaces || setting.root() && old {
            return;
        }
        let mut walls = Walls::start(setting, &["--limit-processes", "1000"], &[]);
        // bash retries a failed fork for 15 s, other shells give up.
        walls.works("sh -c 'for i in $(seq 900); do sleep 100 & done'");
        walls.fails("sh -c 'for i in $(seq 1100); do sleep 100 & done'");
        walls.end();
    });
}

#[test]
fn e88_endless_output_is_contained() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &["--output-cap-bytes", "2000"], &[]);
        let reply = flood(&mut walls, "cat /dev/zero | tr '\\0' x", 2);
        let stdout = reply.result()["structuredContent"]["stdout"]
            .as_str()
            .unwrap();
        // The beginning and the end, and the size of the gap.
        let shown = stdout.matches('x').count();
        assert_eq!(
            (shown, stdout.ends_with(&"x".repeat(1000))),
            (2000, true),
            "{setting:?}"
        );
        // Waits for the end, up to the deadline.
        let reply = flood(
            &mut walls,
            "head -c 300M /dev/zero | tr '\\0' x; echo over >&2",
            60,
        );
        assert_eq!(
            reply.result()["structuredContent"]["stderr"],
            "over\n",
            "{setting:?}"
        );
        walls.end();
    });
}

#[test]
fn e88_endless_files_are_contained() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &["--limit-file-bytes", "1000000"], &[]);
        walls.works("mkdir many");
        let made = "i=0; while :; do i=$((i+1)); : > many/$i; done";
        let reply = flood(&mut walls, made, 1);
        assert_eq!(
            reply.result()["structuredContent"]["timedOut"],
            true,
            "{setting:?}"
        );
        walls.fails("head -c 2000000 /dev/zero > large");
        assert_eq!(
            fs::metadata(walls.tree.path("work/large")).unwrap().len(),
            1_000_000,
            "{setting:?}"
        );
        walls.works("rm -r many large");
        walls.end();
    });
}

#[test]
fn e88_queued_descriptors_are_contained() {
    everywhere(|setting| {
        if !installed("python3") {
            return;
        }
        let mut walls = Walls::start(setting, &[], &[]);
        fs::write(walls.tree.path("work/queue.py"), QUEUE).unwrap();
        let arguments = json!({"command": "python3 queue.py", "background": true});
        let started = walls.server.call("execute_command", arguments);
        let id = started.result()["structuredContent"]["commandId"].clone();
        let said = walls
            .server
            .call("follow_command", json!({"commandId": id, "until": "\\n"}));
        assert_eq!(
            said.result()["structuredContent"]["output"],
            "109 True\n",
            "{setting:?}: ETOOMANYREFS after some"
        );
        walls.works("true");
        walls.end();
    });
}

#[test]
fn e88_endless_memory_is_contained() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &["--limit-memory-bytes", "200000000"], &[]);
        // An endless line is buffered whole.
        let reply = flood(&mut walls, "tail -n 1 /dev/zero", 20);
        let text = reply.all_texts().join("\n");
        assert!(
            text.contains("more memory than allowed"),
            "{setting:?}: {text}"
        );
        if installed("python3") {
            let grow = "import os\nfor i in range(8):\n    if os.fork() == 0: break\nx = bytearray(10**9)\nimport time\ntime.sleep(60)";
            fs::write(walls.tree.path("work/grow.py"), grow).unwrap();
            let reply = flood(&mut walls, "python3 grow.py", 20);
            let text = reply.all_texts().join("\n");
            assert!(
                text.contains("more memory than allowed"),
                "{setting:?}: {text}"
            );
        }
        walls.end();
    });
}

#[test]
fn e88_endless_shared_memory_is_contained() {
    everywhere(|setting| {
        if !installed("python3") {
            return;
        }
        let mut walls = Walls::start(setting, &["--limit-memory-bytes", "200000000"], &[]);
        let fill = "for i in range(1000): os.write(f, bytes(1000000))\ntime.sleep(60)";
        let script = format!("import os, time\nf = os.memfd_create('x')\n{fill}");
        fs::write(walls.tree.path("work/held.py"), script).unwrap();
        let map = "import mmap, time\nm = mmap.mmap(-1, 10**9)\nfor i in range(0, 10**9, 4096): m[i] = 1\ntime.sleep(60)";
        fs::write(walls.tree.path("work/mapped.py"), map).unwrap();
        for script in ["held.py", "mapped.py"] {
            let reply = flood(&mut walls, &format!("python3 {script}"), 20);
            let text = reply.all_texts().join("\n");
            assert!(
                text.contains("more memory than allowed"),
                "{setting:?}: {script}: {text}"
            );
        }
        // Shared memory counts once.
        let share = "import mmap, os, time\nm = mmap.mmap(-1, 10**8)\nfor i in range(0, 10**8, 4096): m[i] = 1\n\
                     for i in range(4):\n    if os.fork() == 0: m[0:10**8:4096]; time.sleep(1); os._exit(0)\n\
                     for i in range(4): os.wait()\nprint('fine')";
        fs::write(walls.tree.path("work/share.py"), share).unwrap();
        assert_eq!(walls.works("python3 share.py"), "fine\n", "{setting:?}");
        if setting.tier == replay_sandbox::Tier::Namespaces {
            walls.fails("head -c 300000000 /dev/zero > /dev/shm/large");
            walls.works("rm /dev/shm/large");
        }
        walls.end();
    });
}
