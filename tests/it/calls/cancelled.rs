//! A statement that the program has cancelled over another connection, as drivers do at a time limit: at a replay it waits for
//! that, too.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use pretty_assertions::assert_eq;

use super::replay;
use crate::tree::Tree;

/// Who is to be told that a connection, by its number and key, is to cancel.
type Running = Arc<Mutex<HashMap<[u8; 8], Sender<()>>>>;

/// A `PostgreSQL` whose statements with `sleep` end only when they are cancelled.
fn database() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let running = Running::default();
    std::thread::spawn(move || {
        for (stream, number) in listener.incoming().zip(1_u32..) {
            let running = Arc::clone(&running);
            std::thread::spawn(move || drop(serve(stream.unwrap(), number, &running)));
        }
    });
    address
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn serve(mut stream: TcpStream, number: u32, running: &Running) -> std::io::Result<()> {
    let mut head = [0; 8];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let mut opening = vec![0; length - 8];
    stream.read_exact(&mut opening)?;
    if head[4..] == 80_877_102_u32.to_be_bytes() {
        if let Some(told) = running.lock().unwrap().get(&opening[..]) {
            let _ = told.send(());
        }
        return Ok(());
    }
    let (tell, told) = channel();
    let mut key = *b"....key!";
    key[..4].copy_from_slice(&number.to_be_bytes());
    running.lock().unwrap().insert(key, tell);
    let ready = message(b'Z', b"I");
    stream.write_all(&[message(b'R', &[0; 4]), message(b'K', &key), ready.clone()].concat())?;
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let mut asked = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
        stream.read_exact(&mut asked)?;
        let answer = if asked.starts_with(b"sleep") {
            let _ = told.recv();
            message(b'E', b"SERROR\0C57014\0Mcanceling statement due to user request\0\0")
        } else {
            message(b'C', b"SELECT 1\0")
        };
        stream.write_all(&[answer, ready.clone()].concat())?;
    }
}

/// Asks on two connections, cancels what takes long on the second, and then on the first one, and tells what came when.
const CLIENT: &str = "import socket, struct, sys
host, port = sys.argv[1].rsplit(':', 1)
class Connection:
    def __init__(self):
        self.socket = socket.create_connection((host, int(port)), 60)
        words = b'user\\0u\\0\\0'
        self.socket.sendall(struct.pack('!ii', 8 + len(words), 196608) + words)
        self.key = dict(self.answer())['K']
    def answer(self):
        told = []
        while not told or told[-1][0] != 'Z':
            kind, length = struct.unpack('!ci', self.read(5))
            told.append((kind.decode(), self.read(length - 4)))
        return told
    def read(self, count):
        return self.socket.recv(count, socket.MSG_WAITALL)
    def ask(self, text):
        self.socket.sendall(struct.pack('!ci', b'Q', len(text) + 5) + text.encode() + b'\\0')
    def waits(self):
        self.socket.settimeout(.3)
        try:
            print('early', self.socket.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            print('waits')
        self.socket.settimeout(60)
    def cancel(self):
        with socket.create_connection((host, int(port)), 60) as other:
            other.sendall(struct.pack('!ii', 16, 80877102) + self.key)
            print('closed', other.recv(1))
        print(self.answer()[0][1].split(b'\\0')[1].decode())
first, second = Connection(), Connection()
first.ask('sleep 1')
first.waits()
second.ask('sleep 2')
second.waits()
second.cancel()
first.waits()
first.cancel()
first.ask('more')
print(first.answer()[0][1].decode().strip('\\0'))
";

const EXPECTED: &str = "waits\nwaits\nclosed b''\nC57014\nwaits\nclosed b''\nC57014\nSELECT 1\n";

#[test]
fn a_cancelled_statement_ends_at_a_replay_when_it_is_cancelled() {
    let (tree, server) = (Tree::new(), database().to_string());
    tree.file("ask.py", CLIENT);
    let recorded = replay(&tree, &["calls", "record", "--", "python3", "ask.py", &server]);
    assert_eq!((recorded.status, recorded.out.as_str()), (0, EXPECTED), "{}", recorded.err);
    for isolation in ["seccomp", "strict"] {
        let tested = replay(&tree, &["calls", "test", "--isolation", isolation, "--", "python3", "ask.py", &server]);
        assert_eq!((tested.status, tested.out.as_str()), (0, EXPECTED), "{}", tested.err);
        assert_eq!(tested.err.lines().count(), 2, "{}", tested.err);
    }
}
