//! Connections of commands to unix sockets of other commands and of programs outside.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::json;

use super::{Setting, Walls, everywhere, installed};

const DEADLINE: Duration = Duration::from_secs(20);
/// Connects to the given socket, and prints the error or the received text.
const CLIENT: &str = "import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    print(s.recv(9).decode())
except OSError as error:
    print(error.errno)
";
/// Listens at the given socket, and answers with its name.
const SERVER: &str = "import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print('ready', flush=True)
while True:
    c, _ = s.accept()
    c.sendall(s.getsockname().encode())
    c.close()
";

/// Connects sockets to a full queue, while other processes flip their `O_NONBLOCK`.
const FLIP: &str = "import os, signal, socket, time
server = socket.socket(socket.FAMILY)
server.bind(ADDRESS)
server.listen(0)
held = [socket.socket(socket.FAMILY) for _ in range(8)]
for one in held:
    one.setblocking(False)
    try: one.connect(ADDRESS)
    except BlockingIOError: pass
print('full', flush=True)
signal.signal(signal.SIGALRM, lambda *_: None)
for _ in range(3):
    s = socket.socket(socket.FAMILY)
    s.setblocking(False)
    if os.fork() == 0:
        while True:
            s.setblocking(True)
            s.setblocking(False)
    for _ in range(2):
        if os.fork() == 0:
            signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
            while True:
                try: s.connect(ADDRESS)
                except OSError: pass
time.sleep(600)
";

fn namespaces(test: impl Fn(Setting)) {
    everywhere(|setting| {
        if setting.tier == Tier::Namespaces {
            test(setting);
        }
    });
}

/// Opens a listener of this test that every user can connect to.
fn outsider(walls: &Walls, at: &str) -> UnixListener {
    let listener = UnixListener::bind(walls.tree.path(at)).unwrap();
    fs::set_permissions(walls.tree.path(at), fs::Permissions::from_mode(0o777)).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

/// Starts a server with both programs.
fn start(setting: Setting, flags: &[&str]) -> Walls {
    let walls = Walls::start(setting, flags, &[]);
    walls
        .tree
        .file("work/client.py", CLIENT)
        .file("work/server.py", SERVER);
    walls
}

fn connect(walls: &mut Walls, path: &str) -> super::CommandResult {
    walls.sh(&format!("python3 client.py {path}"))
}

/// Starts a background command and waits until it is ready.
fn serve(walls: &mut Walls, path: &str) {
    let reply =
        walls.try_run(json!({"command": format!("python3 server.py {path}"), "background": true}));
    let id = reply.result()["structuredContent"]["commandId"]
        .as_str()
        .unwrap()
        .to_owned();
    let until = Instant::now() + DEADLINE;
    loop {
        let reply = walls
            .server
            .call("follow_command", json!({"commandId": id, "waitSecs": 1}));
        if reply.whole().contains("ready") {
            return;
        }
        assert!(Instant::now() < until, "{}", reply.whole());
    }
}

#[test]
fn connect_to_outside_socket_is_refused_and_reported() {
    namespaces(|setting| {
        for flags in [
            &[][..],
            &["--network", "none"],
            &["--allow-host", "a.example"],
            &["--undo", "off"],
            &["--hide", "x"],
        ] {
            let mut walls = start(setting, flags);
            let listeners = ["docs/s", "work/s"].map(|at| outsider(&walls, at));
            walls.tree.link(walls.tree.text("docs/s"), "work/link");
            for at in ["docs/s", "work/s", "work/link"] {
                let path = walls.tree.text(at);
                let ran = connect(&mut walls, &path);
                assert_eq!(
                    ran.stdout.trim(),
                    libc::ECONNREFUSED.to_string(),
                    "{flags:?} {at}: {}",
                    ran.text
                );
                let place = walls.tree.text(if at == "work/s" { at } else { "docs/s" });
                let told = format!(
                    "[not connected to the unix socket `{place}`: no command of this server listens there"
                );
                assert!(
                    ran.text.contains(&told) && ran.text.contains("--allow-socket"),
                    "{}",
                    ran.text
                );
                assert_eq!(ran.code, 0);
            }
            assert!(listeners.iter().all(|listener| listener.accept().is_err()));
        }
    });
}

#[test]
fn connect_reaches_sockets_of_other_commands() {
    namespaces(|setting| {
        let mut walls = start(setting, &[]);
        for path in [walls.tree.text("work/s"), "/tmp/s".to_owned()] {
            serve(&mut walls, &path);
            assert_eq!(
                connect(&mut walls, &path).stdout,
                format!("{}\n", &path[..path.len().min(9)])
            );
        }
        let relative = connect(&mut walls, "s");
        assert_eq!(relative.stdout.trim(), &walls.tree.text("work/s")[..9]);
        let renamed = walls.sh("mv s t; ln t u; ln -s u v");
        assert_eq!(renamed.code, 0, "{}", renamed.text);
        for name in ["t", "u", "v", "/proc/self/cwd/t"] {
            assert_eq!(
                connect(&mut walls, name).stdout.trim(),
                &walls.tree.text("work/s")[..9],
                "{name}"
            );
        }
    });
}

#[test]
fn allowed_socket_accepts_connection() {
    namespaces(|setting| {
        let tree = crate::tree::Tree::new();
        tree.dir("beyond");
        fs::set_permissions(tree.root(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = tree.text("beyond/s");
        let listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        fs::set_permissions(tree.path("beyond"), fs::Permissions::from_mode(0o755)).unwrap();
        let answers = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::Write::write_all(&mut stream, b"outside").unwrap();
        });
        let mut walls = start(setting, &["--allow-socket", &path]);
        assert_eq!(connect(&mut walls, &path).stdout, "outside\n");
        answers.join().unwrap();
    });
}

#[test]
fn datagram_socket_is_refused_and_reported() {
    everywhere(|setting| {
        for flags in [&[][..], &["--allow-host", "a.example"]] {
            let mut walls = start(setting, flags);
            for call in [
                "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)",
                "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
            ] {
                let ran = walls.sh(&format!("python3 -c 'import socket; {call}'"));
                assert!(ran.stderr.contains("PermissionError"), "{}", ran.text);
                let note = "[a unix datagram socket (SOCK_DGRAM) was refused";
                assert!(ran.text.contains(note), "{setting:?}: {}", ran.text);
            }
        }
    });
}

#[test]
fn socket_renamed_before_listen_accepts_connection() {
    namespaces(|setting| {
        for flags in [&[][..], &["--undo", "off"], &["--hide", "x"]] {
            let mut walls = start(setting, flags);
            let listener = outsider(&walls, "work/foreign");
            let renaming = SERVER.replace(
                "s.listen()",
                "import os; os.rename('s', 't'); os.rename('foreign', 's'); s.listen()",
            );
            walls.tree.file("work/server.py", &renaming);
            serve(&mut walls, "s");
            assert_eq!(connect(&mut walls, "t").stdout, "s\n", "{flags:?}");
            let refused = connect(&mut walls, "s");
            assert_eq!(refused.stdout.trim(), libc::ECONNREFUSED.to_string());
            assert!(
                listener.accept().is_err(),
                "{flags:?}: the outsider was reached"
            );
        }
    });
}

/// The supervisor shares the open file description of the socket, and so its `O_NONBLOCK`.
#[test]
fn flipped_nonblocking_flag_keeps_time_limit() {
    namespaces(|setting| {
        for (flags, family, address) in [
            (&[][..], "AF_UNIX", "'full'"),
            (&[], "AF_INET", "('127.0.0.1', 4321)"),
            (
                &["--allow-host", "a.example"],
                "AF_INET",
                "('127.0.0.1', 4321)",
            ),
        ] {
            let mut walls = start(setting, flags);
            let flip = FLIP.replace("FAMILY", family).replace("ADDRESS", address);
            walls.tree.file("work/flip.py", &flip);
            let begun = Instant::now();
            let reply = walls.try_run(json!({"command": "python3 flip.py", "timeout": 3}));
            let structured = &reply.result()["structuredContent"];
            assert_eq!(
                (&structured["stdout"], &structured["timedOut"]),
                (&json!("full\n"), &json!(true)),
                "{flags:?} {family}: {}",
                reply.whole()
            );
            assert!(
                begun.elapsed() < Duration::from_secs(8),
                "{flags:?} {family}"
            );
        }
    });
}

/// The agent cannot be traced (`PR_SET_DUMPABLE`).
#[test]
fn ssh_agent_of_command_serves_command() {
    if !installed("ssh-agent") {
        return;
    }
    namespaces(|setting| {
        for flags in [&[][..], &["--undo", "off"], &["--hide", "x"]] {
            let mut walls = start(setting, flags);
            let ran =
                walls.sh("eval $(ssh-agent -a s) >/dev/null; SSH_AUTH_SOCK=s ssh-add -l; ssh-agent -k >/dev/null");
            assert_eq!(
                ran.stdout, "The agent has no identities.\n",
                "{flags:?}: {}",
                ran.text
            );
        }
    });
}
