//! Connections without data, and the display of recorded events that are no calls.

use std::net::{SocketAddr, TcpListener};

use pretty_assertions::assert_eq;

use super::refused::closed_port;
use super::replay;
use crate::tree::Tree;

/// Probes each address: connects, sends no data, and closes or resets the connection.
const PROBE: &str = "import socket, struct, sys
for word in sys.argv[1:]:
    host, port = word.rsplit(':', 1)
    for linger in (0, 1):
        try:
            with socket.create_connection((host, int(port)), 20) as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', linger, 0))
                print('open')
        except OSError as error:
            print(type(error).__name__)
";

/// Starts a server that accepts connections and sends no data.
fn silent_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    address
}

#[test]
fn connect_probe_is_replayed_without_miss() {
    let (tree, server) = (Tree::new(), silent_server().to_string());
    tree.file("probe.py", PROBE);
    for isolation in ["seccomp", "strict"] {
        let recorded = replay(
            &tree,
            &[
                "calls",
                "record",
                "--isolation",
                isolation,
                "--",
                "python3",
                "probe.py",
                &server,
            ],
        );
        assert_eq!(
            (recorded.status, recorded.out.as_str()),
            (0, "open\nopen\n"),
            "{isolation}: {}",
            recorded.err
        );
        let tested = replay(
            &tree,
            &[
                "calls",
                "test",
                "--isolation",
                isolation,
                "--",
                "python3",
                "probe.py",
                &server,
            ],
        );
        assert_eq!(
            (tested.status, tested.out.as_str()),
            (0, "open\nopen\n"),
            "{isolation}: {}",
            tested.err
        );
        assert!(!tested.err.contains("miss"), "{}", tested.err);
    }
    let other = silent_server().to_string();
    let tested = replay(
        &tree,
        &["calls", "test", "--", "python3", "probe.py", &other],
    );
    let missed = format!(
        "replay: missed: a connection on which nothing was sent ({other}): no call of this \
         protocol was recorded; record the program again (2 times)\n"
    );
    assert!(
        tested.status == 1 && tested.err.ends_with(&missed),
        "{tested:?}"
    );
}

#[test]
fn show_lists_probes_and_refusals() {
    let (tree, server, (_held, closed)) = (
        Tree::new(),
        silent_server().to_string(),
        closed_port("127.0.0.1:0"),
    );
    let closed = closed.to_string();
    tree.file("probe.py", PROBE);
    let words = [
        "calls", "record", "--", "python3", "probe.py", &server, &closed,
    ];
    let recorded = replay(&tree, &words);
    let failed = "ConnectionRefusedError\n".repeat(2);
    assert_eq!(
        recorded.out,
        format!("open\nopen\n{failed}"),
        "{}",
        recorded.err
    );
    let set = recorded
        .err
        .split(" as ")
        .nth(1)
        .unwrap()
        .split(':')
        .next()
        .unwrap();
    let shown = replay(&tree, &["calls", "show", set]).out;
    let (head, _) = shown.split_once("  call\n").unwrap();
    let mut calls: Vec<&str> = shown
        .lines()
        .skip(1)
        .map(|line| line[head.len()..].trim_start())
        .collect();
    // Both connections may have taken equally long.
    calls.sort_unstable();
    assert_eq!(
        calls,
        [
            "connected, and neither side sent anything",
            "refused (ECONNREFUSED)"
        ],
        "{shown}"
    );
}
