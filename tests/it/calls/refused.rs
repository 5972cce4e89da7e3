//! Refused connections: the program gets the same error during the recording and during the replay.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use pretty_assertions::assert_eq;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use serde_json::json;

use super::tools::{open, structured_content};
use super::{Upstream, client, replay};
use crate::tree::Tree;

/// Prints the error of a connection to each address: with a blocking socket, with a timeout, with a
/// non-blocking socket, and in an event loop.
const CLIENT: &str = "import asyncio, errno, select, socket, sys
async def loop(address):
    await asyncio.open_connection(*address)
for word in sys.argv[1:]:
    host, port = word.rsplit(':', 1)
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    address = (host, int(port))
    told = []
    for timeout in (None, 20, 0):
        with socket.socket(family) as one:
            one.settimeout(timeout)
            code = one.connect_ex(address)
            if code == errno.EINPROGRESS:
                select.select([], [one], [], 20)
                code = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            told.append(errno.errorcode.get(code, code))
    try:
        asyncio.run(loop(address))
        told.append('connected')
    except OSError as error:
        told.append(errno.errorcode[error.errno])
    print(*told)
";

/// Binds a port without listening, so that connections to it are refused.
pub fn closed_port(at: &str) -> (OwnedFd, SocketAddr) {
    let at: SocketAddr = at.parse().unwrap();
    let family = if at.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(&socket, &at).unwrap();
    let address = TcpListener::from(socket.try_clone().unwrap())
        .local_addr()
        .unwrap();
    (socket, address)
}

#[test]
fn refused_connection_is_replayed_as_refused() {
    let tree = Tree::new();
    let ((_four, four), (_six, six)) = (closed_port("127.0.0.1:0"), closed_port("[::1]:0"));
    let (four, six) = (four.to_string(), format!("::1:{}", six.port()));
    tree.file("ask.py", CLIENT);
    let refused = "ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED\n".repeat(2);
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
                "ask.py",
                &four,
                &six,
            ],
        );
        assert_eq!(
            (recorded.status, recorded.out.as_str()),
            (0, refused.as_str()),
            "{isolation}: {}",
            recorded.err
        );
        assert!(
            recorded
                .err
                .starts_with("replay: recorded only failed connections as mock-"),
            "{}",
            recorded.err
        );
        let note = format!(
            "\nreplay: 8 connections were refused: {four}, {}\n",
            six.replacen("::1", "[::1]", 1)
        );
        assert!(recorded.err.contains(&note), "{}", recorded.err);
        let again = "\nreplay: start the server that refused, and record again\n";
        assert!(recorded.err.ends_with(again), "{}", recorded.err);
        let tested = replay(
            &tree,
            &[
                "calls",
                "test",
                "--isolation",
                isolation,
                "--",
                "python3",
                "ask.py",
                &four,
                &six,
            ],
        );
        assert_eq!(
            (tested.status, tested.out.as_str()),
            (0, refused.as_str()),
            "{isolation}: {}",
            tested.err
        );
        assert!(
            tested.err.starts_with("replay: replayed 0 calls of mock-"),
            "{}",
            tested.err
        );
        assert!(
            tested
                .err
                .contains(", 8 connections were refused as recorded\n"),
            "{}",
            tested.err
        );
    }
    let listed = replay(&tree, &["calls", "list"]).out;
    let counts: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.rsplit('\t').next())
        .collect();
    assert_eq!(counts, ["8 refused connections"; 2]);
}

#[test]
fn replayed_refusal_ignores_new_listener() {
    let tree = Tree::new();
    let (held, address) = closed_port("127.0.0.1:0");
    tree.file("shop.py", client(&[format!("http://{address}/a")]));
    let recorded = replay(&tree, &["calls", "record", "--", "python3", "shop.py"]);
    assert_eq!(
        (recorded.status, recorded.out.as_str()),
        (0, "URLError\n"),
        "{}",
        recorded.err
    );
    let note = format!("\nreplay: 1 connection was refused: {address}\n");
    assert!(recorded.err.contains(&note), "{}", recorded.err);
    rustix::net::listen(&held, 4).unwrap();
    let tested = replay(&tree, &["calls", "test", "--", "python3", "shop.py"]);
    assert_eq!(
        (tested.status, tested.out.as_str()),
        (0, "URLError\n"),
        "{}",
        tested.err
    );
}

#[test]
fn unrecorded_server_first_connection_is_refused() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&[upstream.url() + "/a"]));
    assert_eq!(
        replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
        0
    );
    tree.file("ask.py", CLIENT);
    let tested = replay(
        &tree,
        &["calls", "test", "--", "python3", "ask.py", "192.0.2.7:3306"],
    );
    assert_eq!(
        (tested.status, tested.out.as_str()),
        (1, "ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED\n"),
        "{}",
        tested.err
    );
    let missed = "replay: missed: a connection whose server speaks first (192.0.2.7:3306): no \
        call of this protocol was recorded; record the program again (4 times)\n";
    assert!(tested.err.ends_with(missed), "{}", tested.err);
}

#[test]
fn set_with_only_refusals_is_not_latest() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    let (_held, address) = closed_port("127.0.0.1:0");
    let (good, bad) = (upstream.url() + "/a", format!("http://{address}/a"));
    let record = |urls: &[&String]| {
        tree.file(
            "shop.py",
            client(&urls.iter().map(|url| (*url).clone()).collect::<Vec<_>>()),
        );
        replay(&tree, &["calls", "record", "--", "python3", "shop.py"])
    };
    let both = record(&[&good, &bad]).err;
    assert!(
        both.starts_with("replay: recorded 1 call (HTTP) as shop-"),
        "{both}"
    );
    let set = both
        .split(" as ")
        .nth(1)
        .unwrap()
        .split(':')
        .next()
        .unwrap()
        .to_owned();
    let none = record(&[&bad]).err;
    assert!(
        none.starts_with("replay: recorded only failed connections as mock-"),
        "{none}"
    );
    upstream.stop();
    record(&[&good, &bad]);
    tree.file("shop.py", client(&[good, bad]));
    let tested = replay(&tree, &["calls", "test", "--", "python3", "shop.py"]);
    assert_eq!(
        (tested.status, tested.out.as_str(), tested.err.as_str()),
        (
            0,
            "{\"n\":1,\"path\":\"/a\"}\nURLError\n",
            format!("replay: replayed 1 call of {set}, 1 connection was refused as recorded\n")
                .as_str()
        )
    );
}

#[test]
fn tool_reports_refused_connections() {
    let tree = Tree::new();
    let (_held, address) = closed_port("127.0.0.1:0");
    let mut server = open(&tree, &["--network", "host"]);
    tree.file("work/shop.py", client(&[format!("http://{address}/a")]));
    let recorded = structured_content(
        &server.call("keploy_mock_record", json!({"command": "python3 shop.py"})),
    );
    assert_eq!(
        (
            &recorded["message"],
            &recorded["mockCount"],
            &recorded["protocols"],
            &recorded["notes"]
        ),
        (
            &json!("Recording completed but no mocks were captured"),
            &json!(0),
            &json!([]),
            &json!([format!("1 connection was refused: {address}")])
        ),
        "{recorded}"
    );
}

#[test]
fn tool_reports_unreached_names() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file(
        "work/shop.py",
        client(&["http://shop.invalid/a".to_owned()]),
    );
    let recorded = structured_content(
        &server.call("keploy_mock_record", json!({"command": "python3 shop.py"})),
    );
    let network = "commands have a private loopback (--network loopback), which does not reach \
        servers of this machine; the operator can allow servers with --allow-host";
    assert_eq!(
        (
            &recorded["message"],
            &recorded["mockCount"],
            &recorded["protocols"],
            &recorded["notes"]
        ),
        (
            &json!("Recording completed but no mocks were captured"),
            &json!(0),
            &json!([]),
            &json!([
                "1 name was looked up, but no server was reached: shop.invalid",
                network
            ])
        ),
        "{recorded}"
    );
}
