//! Programs with a timeout shorter than the response time: during replay the response is missing as
//! well.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use pretty_assertions::assert_eq;

use super::replay;
use crate::tree::Tree;

/// Starts a server with delayed answers, over HTTP and over plain lines. It answers `late` requests
/// after the client has disconnected, and `done` requests after such a late answer. `half` requests
/// get half a response, other requests none.
fn slow_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = channel();
    let told = Arc::new(Mutex::new(told));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (tell, told) = (tell.clone(), Arc::clone(&told));
            std::thread::spawn(move || drop(serve(stream.unwrap(), &tell, &told)));
        }
    });
    address
}

fn serve(
    mut stream: TcpStream,
    tell: &Sender<()>,
    told: &Mutex<Receiver<()>>,
) -> std::io::Result<()> {
    let mut asked = Vec::new();
    let mut byte = [0];
    while !asked.ends_with(b"\n\r\n") && !asked.ends_with(b";") {
        stream.read_exact(&mut byte)?;
        asked.push(byte[0]);
    }
    let asked = String::from_utf8(asked).unwrap();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate";
    if asked.contains("done") {
        let _ = told.lock().unwrap().recv();
        return stream.write_all(answer);
    }
    if asked.contains("half") {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")?;
    }
    while stream.read(&mut byte).unwrap_or(0) > 0 {}
    if asked.contains("late") {
        // The client has disconnected.
        let _ = stream.write_all(answer);
        let _ = tell.send(());
    }
    Ok(())
}

/// Sends requests with a timeout, and prints the results.
const CLIENT: &str = "import socket, sys, http.client
host, port = sys.argv[1].rsplit(':', 1)
def ask(path, limit):
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    try:
        connection.request('GET', path)
        connection.sock.settimeout(limit)
        answer = connection.getresponse()
        print(answer.status, end=' ')
        print(answer.read(4), end=' ')
        print(answer.read())
    except Exception as error:
        print(type(error).__name__)
    connection.close()
ask('/never', .5)
ask('/late', .5)
ask('/half', 2)
with socket.create_connection((host, int(port)), 60) as one:
    one.sendall(b'\\0never;')
    one.settimeout(.5)
    try:
        print(one.recv(9))
    except OSError as error:
        print(type(error).__name__)
with socket.create_connection((host, int(port)), 60) as one:
    one.sendall(b'*1\\r\\n$6\\r\\nnever;\\r\\n')
    one.settimeout(.5)
    try:
        print(one.recv(9))
    except OSError as error:
        print(type(error).__name__)
ask('/done', 60)
";

const EXPECTED: &str = "TimeoutError\nTimeoutError\n200 b'half' TimeoutError\nTimeoutError\nTimeoutError\n200 b'late' b''\n";

#[test]
fn client_timeout_is_replayed_as_recorded() {
    let (tree, server) = (Tree::new(), slow_server().to_string());
    tree.file("ask.py", CLIENT);
    let recorded = replay(
        &tree,
        &["calls", "record", "--", "python3", "ask.py", &server],
    );
    assert_eq!(
        (recorded.status, recorded.out.as_str()),
        (0, EXPECTED),
        "{}",
        recorded.err
    );
    let tested = replay(
        &tree,
        &["calls", "test", "--", "python3", "ask.py", &server],
    );
    assert_eq!(
        (tested.status, tested.out.as_str()),
        (0, EXPECTED),
        "{}",
        tested.err
    );
    assert_eq!(tested.err.lines().count(), 1, "{}", tested.err);
}
