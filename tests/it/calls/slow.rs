//! Servers with a slow accept queue, or with a full one.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use super::{REPLAY, replay, run};
use crate::harness::DEADLINE;
use crate::tree::Tree;

/// Opens two connections, each with a timeout.
const IMPATIENT: &str = "import asyncio, socket, sys
host, port = sys.argv[1].rsplit(':', 1)
def told(error):
    print(type(error).__name__, getattr(error, 'errno', None))
try:
    socket.create_connection((host, int(port)), 0.5)
except OSError as error:
    told(error)
async def loop():
    await asyncio.wait_for(asyncio.open_connection(host, int(port)), 0.5)
try:
    asyncio.run(loop())
except (OSError, asyncio.TimeoutError) as error:
    told(error)
";

/// Opens one connection without a timeout. Creates a file as soon as it is pending.
const PATIENT: &str = "import errno, select, socket, sys
host, port = sys.argv[1].rsplit(':', 1)
with socket.socket() as one:
    one.setblocking(False)
    code = one.connect_ex((host, int(port)))
    early = bool(select.select([], [one], [], 0.5)[1])
    print(errno.errorcode[code], early, one.connect_ex((host, int(port))) == errno.EALREADY)
    open('waits', 'w').close()
    select.select([], [one], [], 60)
    code = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    print(errno.errorcode.get(code, code))
    if code == 0:
        print(one.getpeername() == (host, int(port)))
        one.setblocking(True)
        one.sendall(b'hi')
        print(one.recv(2).decode())
";

/// Starts a server with a full accept queue, so that further connections get no answer.
fn full_queue_server() -> (TcpListener, TcpStream, SocketAddr) {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    bind(&socket, &"127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    (listener, TcpStream::connect(address).unwrap(), address)
}

fn until_it_waits(tree: &Tree) {
    let begun = Instant::now();
    while !tree.has("waits") {
        assert!(begun.elapsed() < DEADLINE);
        std::thread::yield_now();
    }
}

#[test]
fn unanswered_connect_is_ended_by_client_timeout() {
    let (tree, (_listener, _filler, address)) = (Tree::new(), full_queue_server());
    tree.file("ask.py", IMPATIENT);
    let at = address.to_string();
    for isolation in ["seccomp", "strict"] {
        for action in ["record", "test"] {
            let ended = replay(
                &tree,
                &[
                    "calls",
                    action,
                    "--isolation",
                    isolation,
                    "--",
                    "python3",
                    "ask.py",
                    &at,
                ],
            );
            let expected = (0, "TimeoutError None\nTimeoutError None\n");
            assert_eq!(
                (ended.status, ended.out.as_str()),
                expected,
                "{action}, {isolation}: {}",
                ended.err
            );
            assert!(!ended.err.contains("miss"), "{}", ended.err);
        }
    }
}

#[test]
fn slow_connect_succeeds_late() {
    for isolation in ["seccomp", "strict"] {
        let (tree, (listener, _filler, address)) = (Tree::new(), full_queue_server());
        tree.file("ask.py", PATIENT);
        let at = address.to_string();
        let words = [
            REPLAY,
            "calls",
            "record",
            "--isolation",
            isolation,
            "--",
            "python3",
            "ask.py",
            &at,
        ];
        let recorded = run(&tree, &words, |_| {
            until_it_waits(&tree);
            let _filler = listener.accept().unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(DEADLINE)).unwrap();
            stream.read_exact(&mut [0; 2]).unwrap();
            stream.write_all(b"yo").unwrap();
        });
        assert_eq!(
            (recorded.status, recorded.out.as_str()),
            (0, "EINPROGRESS False True\n0\nTrue\nyo\n"),
            "{}",
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
                "ask.py",
                &at,
            ],
        );
        assert!(
            tested.status == 0 && tested.out.ends_with("\n0\nTrue\nyo\n"),
            "{tested:?}"
        );
    }
}

#[test]
fn late_refusal_reaches_program() {
    let (tree, (listener, filler, address)) = (Tree::new(), full_queue_server());
    tree.file("ask.py", PATIENT);
    let at = address.to_string();
    let recorded = run(
        &tree,
        &[REPLAY, "calls", "record", "--", "python3", "ask.py", &at],
        |_| {
            until_it_waits(&tree);
            drop((listener, filler));
        },
    );
    assert_eq!(
        (recorded.status, recorded.out.as_str()),
        (0, "EINPROGRESS False True\nECONNREFUSED\n"),
        "{}",
        recorded.err
    );
}
