//! TCP ports of commands: connections from this machine (--publish), and notes in replies.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Instant;

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::{Value, json};

use super::{Setting, Walls, everywhere, installed, program, refusal};
use crate::harness::DEADLINE;
use crate::tree::Tree;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Listens at the given address and port. Reads each connection to its end, then answers with the
/// number of bytes.
const COUNTER: &str = "import socket, sys
address, port = sys.argv[1], int(sys.argv[2])
s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((address, port))
s.listen()
print('ready', flush=True)
while True:
    c, _ = s.accept()
    total = 0
    while data := c.recv(65536): total += len(data)
    c.sendall(str(total).encode())
    c.close()
";

fn namespaces(test: impl Fn(Setting)) {
    if !installed("python3") {
        return;
    }
    everywhere(|setting| {
        if setting.tier == Tier::Namespaces {
            test(setting);
        }
    });
}

fn start(setting: Setting, flags: &[&str]) -> Walls {
    let walls = Walls::start(setting, flags, &[]);
    walls.tree.file("work/counter.py", COUNTER);
    walls
}

/// Returns a port that is free on both loopback addresses of this machine.
fn free_port() -> u16 {
    loop {
        let four = TcpListener::bind((V4, 0)).unwrap();
        let port = four.local_addr().unwrap().port();
        if !has_version_6() || TcpListener::bind((V6, port)).is_ok() {
            return port;
        }
    }
}

fn has_version_6() -> bool {
    TcpListener::bind((V6, 0)).is_ok()
}

/// Starts the counter in the background, and waits until it is ready. Returns its id and the last
/// reply.
fn serve(walls: &mut Walls, address: &str, port: u16) -> (String, Value) {
    let line = format!("exec python3 counter.py {address} {port}");
    let reply = walls.try_run(json!({"command": line, "background": true}));
    let id = reply.result()["structuredContent"]["commandId"]
        .as_str()
        .unwrap()
        .to_owned();
    let reply = walls.server.call(
        "follow_command",
        json!({"commandId": id, "until": "ready", "waitSecs": DEADLINE.as_secs()}),
    );
    assert!(reply.whole().contains("ready"), "{}", reply.whole());
    (id, reply.result().clone())
}

fn end(walls: &mut Walls, id: &str) {
    let reply = walls
        .server
        .call("follow_command", json!({"commandId": id, "end": true}));
    assert_eq!(reply.result()["structuredContent"]["running"], false);
}

fn connect(address: IpAddr, port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&SocketAddr::new(address, port), DEADLINE)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.set_write_timeout(Some(DEADLINE))?;
    Ok(stream)
}

/// Sends bytes and the end of the stream, and returns the answer.
fn ask(address: IpAddr, port: u16, bytes: &[u8]) -> String {
    let mut stream = connect(address, port).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Returns true if a connection is accepted and closed at once.
fn is_closed_at_once(address: IpAddr, port: u16) -> bool {
    let mut stream = connect(address, port).unwrap();
    match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

fn notes(result: &Value) -> Vec<&str> {
    let notes = result["structuredContent"]["notes"].as_array();
    notes
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|note| note.contains("open"))
        .collect()
}

#[test]
fn published_port_is_reached_at_both_addresses() {
    namespaces(|setting| {
        let (outside, inside) = (free_port(), free_port());
        let publish = format!("{outside}:{inside}");
        for rules in [&[][..], &["--allow-host", "a.example"]] {
            let mut walls = start(setting, &[&["--publish", &publish], rules].concat());
            let flood = vec![b'x'; 3_000_000];
            for address in ["127.0.0.1", "::1", "0.0.0.0"] {
                if address == "::1" && !has_version_6() {
                    continue;
                }
                assert!(is_closed_at_once(V4, outside), "{setting:?} {rules:?}");
                let (id, _) = serve(&mut walls, address, inside);
                for from in [V4, V6] {
                    if from == V6 && !has_version_6() {
                        continue;
                    }
                    // The server answers after the half-close, and no earlier.
                    assert_eq!(ask(from, outside, &flood), "3000000", "{address} {from}");
                    assert_eq!(ask(from, outside, b""), "0");
                }
                end(&mut walls, &id);
            }
            walls.end();
        }
        // The server has ended, and its ports with it.
        assert!(connect(V4, outside).is_err());
    });
}

#[test]
fn many_connections_are_served_at_the_same_time() {
    namespaces(|setting| {
        let port = free_port();
        let mut walls = start(setting, &["--publish", &port.to_string()]);
        serve(&mut walls, "127.0.0.1", port);
        let mut streams: Vec<TcpStream> = (0..100).map(|_| connect(V4, port).unwrap()).collect();
        for (index, stream) in streams.iter_mut().enumerate() {
            stream.write_all(&vec![b'x'; index]).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
        }
        for (index, stream) in streams.iter_mut().enumerate() {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, index.to_string());
        }
        walls.end();
    });
}

#[test]
fn automatic_port_is_open_while_command_listens() {
    namespaces(|setting| {
        let (port, taken) = (free_port(), TcpListener::bind((V4, 0)).unwrap());
        taken.set_nonblocking(true).unwrap();
        let used = taken.local_addr().unwrap().port();
        // The supervisors listen, too, for connections by rule. These ports are not published.
        let flags = ["--publish", "auto", "--allow-host", "a.example"];
        let mut walls = start(setting, &flags);
        assert!(connect(V4, port).is_err());
        let (id, told) = serve(&mut walls, "127.0.0.1", port);
        let link = format!("http://replay.localhost:{port}/");
        let open = format!("open to the person: port {port} (python3 of {id}) at {link}");
        assert_eq!(notes(&told), [open], "{setting:?}");
        let listening = json!([{
            "port": port, "address": "127.0.0.1", "program": "python3", "commandId": id, "published": link
        }]);
        assert_eq!(told["structuredContent"]["listening"], listening);
        assert_eq!(ask(V4, port, b"12345"), "5");
        // A port that is taken outside gets another number.
        let (second, told) = serve(&mut walls, "127.0.0.1", used);
        let listening = &told["structuredContent"]["listening"];
        let published = listening
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["port"] == used)
            .and_then(|row| row["published"].as_str())
            .unwrap();
        let other = published
            .trim_start_matches("http://replay.localhost:")
            .trim_end_matches('/')
            .parse()
            .unwrap();
        assert_ne!(other, used);
        assert_eq!(ask(V4, other, b"123"), "3");
        assert!(taken.accept().is_err());
        let stderr = walls.server.stderr();
        assert_eq!(
            stderr.matches("of commands (--publish)").count(),
            2,
            "{stderr}"
        );
        end(&mut walls, &id);
        end(&mut walls, &second);
        let until = Instant::now() + DEADLINE;
        while [port, other].iter().any(|port| connect(V4, *port).is_ok()) {
            assert!(Instant::now() < until, "a port stays open");
            std::thread::yield_now();
        }
        walls.end();
    });
}

#[test]
fn replies_tell_ports_once() {
    namespaces(|setting| {
        let mut walls = start(setting, &[]);
        let (one, two) = (free_port(), free_port());
        let (id, told) = serve(&mut walls, "127.0.0.1", one);
        let closed = format!(
            "listening on {one} (python3 of {id}), which only commands reach; the operator can open it \
             with --publish {one}"
        );
        assert_eq!(notes(&told), [closed], "{setting:?}");
        let row = |port: u16, id: &str| json!({"port": port, "address": "127.0.0.1", "program": "python3", "commandId": id});
        assert_eq!(
            told["structuredContent"]["listening"],
            json!([row(one, &id)])
        );
        let again = walls
            .server
            .call("follow_command", json!({"commandId": id, "waitSecs": 0}));
        assert!(!again.whole().contains("listening"), "{}", again.whole());
        // A command that ends tells what changed meanwhile.
        let (second, _) = serve(&mut walls, "127.0.0.1", two);
        end(&mut walls, &second);
        let line = format!("exec python3 counter.py 127.0.0.1 {two}");
        walls.try_run(json!({"command": line, "background": true}));
        let until = Instant::now() + DEADLINE;
        loop {
            let ran = walls.try_run(json!({"command": "true"}));
            if ran.whole().contains(&format!("--publish {two}")) {
                break;
            }
            assert!(Instant::now() < until, "{}", ran.whole());
        }
        let listed = walls.server.call("list_allowed_directories", json!({}));
        let mut shown = [(one, "c1"), (two, "c3")];
        shown.sort_unstable();
        let shown =
            shown.map(|(port, id)| format!("{port} (python3 of {id}), which only commands reach"));
        let lines = format!("ports of commands: {}", shown.join("; "));
        assert!(listed.whole().contains(&lines), "{}", listed.whole());
        walls.end();
    });
}

#[test]
fn port_of_python_session_is_told() {
    namespaces(|setting| {
        let mut walls = start(setting, &["--tools", "all"]);
        let port = free_port();
        let code = format!(
            "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', {port}))\ns.listen()"
        );
        let reply = walls.server.call("run_python_code", json!({"code": code}));
        if reply.failure().is_some() {
            // No Python is found inside the walls.
            return;
        }
        let ran = walls.try_run(json!({"command": "true"}));
        let row = &ran.result()["structuredContent"]["listening"][0];
        assert_eq!(
            (&row["port"], &row["commandId"]),
            (&json!(port), &Value::Null)
        );
    });
}

#[test]
fn command_that_holds_port_is_named() {
    namespaces(|setting| {
        let mut walls = start(setting, &[]);
        let port = free_port();
        let (id, _) = serve(&mut walls, "127.0.0.1", port);
        let line = format!("exec python3 counter.py 127.0.0.1 {port}");
        let note = format!(
            "port {port} is held by {id} ({line}); follow_command with commandId \"{id}\" and `end: \
             true` ends it"
        );
        let ran = walls.sh(&line);
        assert_eq!(ran.code, 1);
        assert!(ran.text.contains(&format!("[{note}]")), "{}", ran.text);
        let reply = walls.try_run(json!({"command": line, "background": true}));
        let second = reply.result()["structuredContent"]["commandId"].clone();
        let followed = walls.server.call(
            "follow_command",
            json!({"commandId": second, "waitSecs": DEADLINE.as_secs()}),
        );
        assert!(
            followed
                .all_texts()
                .join("\n")
                .contains(&format!("[{note}]"))
        );
        // Other failures name nothing.
        assert!(!walls.sh("false").text.contains("held by"));
        end(&mut walls, &id);
        serve(&mut walls, "127.0.0.1", port);
        walls.end();
    });
}

#[test]
fn ports_of_two_servers_are_separate() {
    namespaces(|setting| {
        let (first, second, inside) = (free_port(), free_port(), free_port());
        let rules = [first, second].map(|port| format!("{port}:{inside}"));
        let mut one = start(setting, &["--publish", &rules[0]]);
        let two = start(setting, &["--publish", &rules[1]]);
        serve(&mut one, "127.0.0.1", inside);
        assert_eq!(ask(V4, first, b"12"), "2");
        assert!(is_closed_at_once(V4, second));
        // Commands reach neither the published ports nor the other server's.
        for port in [first, second] {
            let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
            one.fails(&line);
        }
        drop(two);
        one.end();
    });
}

#[test]
fn taken_port_is_replaced() {
    let taken = TcpListener::bind((V4, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    namespaces(|setting| {
        let inside = free_port();
        let mut walls = start(setting, &["--publish", &format!("{port}:{inside}")]);
        let (_, told) = serve(&mut walls, "127.0.0.1", inside);
        let link = told["structuredContent"]["listening"][0]["published"].as_str();
        let other = link
            .unwrap()
            .trim_start_matches("http://replay.localhost:")
            .trim_end_matches('/')
            .parse()
            .unwrap();
        assert_ne!(other, port);
        assert_eq!(ask(V4, other, b"123"), "3");
        let warning = format!(
            "--publish {port}: another program listens on port {port} of 127.0.0.1 or [::1]; another port \
             takes its place"
        );
        let stderr = walls.server.stderr();
        assert!(stderr.contains(&warning), "{stderr}");
        walls.end();
    });
}

#[test]
fn publish_is_refused_without_own_ports() {
    let tree = Tree::new();
    tree.dir("work");
    for (flags, expected) in [
        (
            &["--network", "host"][..],
            "replay: --publish opens ports of commands with a network of their own; with --network \
             host their ports are open on this machine already: leave one of them out\n",
        ),
        (
            &["--network", "none"],
            "replay: --publish needs commands that can listen; with --network none they have no \
             sockets: leave one of them out\n",
        ),
        (
            &["--sandbox", "off"],
            "replay: --publish opens ports of commands with a network of their own; without walls \
             (--sandbox off) their ports are open on this machine already: leave --publish out\n",
        ),
        (
            &["--sandbox", "landlock"],
            "replay: --publish needs the namespaces tier, and --sandbox landlock selects another \
             tier; leave the flag out\n",
        ),
    ] {
        for publish in ["8123", "auto"] {
            assert_eq!(
                refusal(&tree, &[&["--publish", publish], flags].concat()),
                expected
            );
        }
    }
}

#[test]
fn explain_names_published_ports() {
    let tree = Tree::new();
    tree.dir("work");
    let taken = TcpListener::bind((V4, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = Command::new(program())
        .current_dir(tree.path("work"))
        .args([
            "sandbox",
            "explain",
            "--allow",
            ".:rw",
            "--publish",
            "auto",
            "--publish",
        ])
        .arg(format!("{port}:80"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    if text.contains("namespaces") {
        for line in [
            format!(
                "  http://replay.localhost:{port}/ leads to port 80 of commands, from 127.0.0.1 and \
                 [::1] (--publish)\n"
            ),
            "  while a command listens on a port from 1024 on, 127.0.0.1 and [::1] lead to it \
             (--publish auto)\n"
                .to_owned(),
        ] {
            assert!(text.contains(&line), "{text}");
        }
    }
}

#[test]
fn commands_listen_on_low_ports() {
    namespaces(|setting| {
        let mut walls = start(setting, &[]);
        let listens =
            "import socket; print(socket.create_server((\"127.0.0.1\", 80)).getsockname()[1])";
        assert_eq!(walls.works(&format!("python3 -c '{listens}'")), "80\n");
    });
}
