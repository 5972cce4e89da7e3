//! Responses that the program abandoned half way during the recording.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

use pretty_assertions::assert_eq;

use super::replay;
use crate::tree::Tree;

const BODY: usize = 3_000_000;

/// Starts a server that sends the first half of a body, and the rest after further bytes from the
/// client. Serves one connection after the other.
fn two_part_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = Vec::new();
            let mut byte = [0];
            while !asked.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                asked.push(byte[0]);
            }
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&vec![b'x'; BODY / 2]);
            if stream.read(&mut byte).unwrap_or(0) == 1 {
                let _ = stream.write_all(&vec![b'x'; BODY / 2]);
            }
        }
    });
    address
}

/// Reads this many bytes of the body of a response, or up to its end.
const CLIENT: &str = "import sys, http.client
connection = http.client.HTTPConnection(sys.argv[1])
connection.request('GET', '/half')
answer = connection.getresponse()
left, total = int(sys.argv[2]), 0
try:
    while left > total and (part := answer.read1(min(1 << 16, left - total))):
        total += len(part)
    print(total)
except OSError as error:
    print(total, type(error).__name__)
connection.sock.close()
";

#[test]
fn read_past_truncated_recording_is_reported() {
    let (tree, server) = (Tree::new(), two_part_server());
    tree.file("half.py", CLIENT);
    let (at, half, all) = (server.to_string(), (BODY / 2).to_string(), BODY.to_string());
    let recorded = replay(
        &tree,
        &["calls", "record", "--", "python3", "half.py", &at, &half],
    );
    assert_eq!(
        (recorded.status, recorded.out.as_str()),
        (0, "1500000\n"),
        "{}",
        recorded.err
    );
    let again = replay(
        &tree,
        &["calls", "test", "--", "python3", "half.py", &at, &half],
    );
    assert_eq!(
        (again.status, again.out.as_str()),
        (0, "1500000\n"),
        "{}",
        again.err
    );
    assert_eq!(again.err.lines().count(), 1, "{}", again.err);
    let further = replay(
        &tree,
        &["calls", "test", "--", "python3", "half.py", &at, &all],
    );
    assert_eq!(
        (further.status, further.out.as_str()),
        (0, "1500000 ConnectionResetError\n"),
        "{}",
        further.err
    );
    let told = format!(
        "replay: GET http://{at}/half: the recorded answer ends after {half} bytes, where the \
         program stopped reading; now it reads further, so record again\n"
    );
    assert!(further.err.ends_with(&told), "{}", further.err);
}
