//! Messages that servers send unasked: during replay they follow the request that caused them.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use pretty_assertions::assert_eq;

use super::replay;
use crate::tree::Tree;

/// Subscribers of a broker.
type Subscribers = Arc<Mutex<Vec<TcpStream>>>;

/// Starts a broker that speaks Redis and an unknown protocol of lines.
fn broker() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let subscribers = [(); 2].map(|()| Subscribers::default());
        for stream in listener.incoming() {
            let subscribers = subscribers.clone();
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                let _ = serve(&mut stream, &subscribers);
                // The clones keep it open.
                let _ = stream.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

fn serve(stream: &mut TcpStream, [redis, lines]: &[Subscribers; 2]) -> std::io::Result<()> {
    const MESSAGE: &[u8] = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n";
    let mut asked = Vec::new();
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte)?;
        asked.push(byte[0]);
        let subscribe = |subscribers: &Subscribers, stream: &TcpStream| {
            let clone = stream.try_clone().unwrap();
            subscribers.lock().unwrap().push(clone);
        };
        let publish = |subscribers: &Subscribers, message: &[u8]| {
            for subscriber in subscribers.lock().unwrap().iter_mut() {
                // Subscribers of earlier runs are gone.
                let _ = subscriber.write_all(message);
            }
        };
        let answer: &[u8] = match asked.as_slice() {
            b"\0sub\n" => {
                subscribe(lines, stream);
                b"subscribed\n"
            }
            b"\0pub\n" => {
                publish(lines, b"hi\n");
                b"published\n"
            }
            b"*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n" => {
                subscribe(redis, stream);
                b"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
            }
            b"*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$2\r\nhi\r\n" => {
                publish(redis, MESSAGE);
                b":1\r\n"
            }
            _ => continue,
        };
        stream.write_all(answer)?;
        asked.clear();
    }
}

/// Subscribes, looks for messages before and after it publishes one, and prints both.
const CLIENT: &str = "import select, socket, sys
host, port = sys.argv[1].rsplit(':', 1)
def connect():
    return socket.create_connection((host, int(port)), 60)
def ask(stream, question, end):
    stream.sendall(question)
    until(stream, end)
def until(stream, end):
    got = b''
    while not got.endswith(end):
        byte = stream.recv(1)
        if not byte: sys.exit('closed after ' + repr(got))
        got += byte
def trial(sub, subscribed, pub, published, message):
    listener, publisher = connect(), connect()
    ask(listener, sub, subscribed)
    before = select.select([listener], [], [], .3)[0] and listener.recv(99)
    ask(publisher, pub, published)
    until(listener, message)
    print('before', before)
trial(b'\\0sub\\n', b'subscribed\\n', b'\\0pub\\n', b'published\\n', b'hi\\n')
trial(b'*2\\r\\n$9\\r\\nSUBSCRIBE\\r\\n$1\\r\\nc\\r\\n', b':1\\r\\n', b'*3\\r\\n$7\\r\\nPUBLISH\\r\\n$1\\r\\nc\\r\\n$2\\r\\nhi\\r\\n', b':1\\r\\n', b'hi\\r\\n')
";

#[test]
fn published_message_follows_its_publication_in_replay() {
    let (tree, server) = (Tree::new(), broker().to_string());
    tree.file("trial.py", CLIENT);
    for mode in ["record", "test"] {
        let ran = replay(
            &tree,
            &["calls", mode, "--", "python3", "trial.py", &server],
        );
        assert_eq!(
            (mode, ran.status, ran.out.as_str()),
            (mode, 0, "before []\nbefore []\n"),
            "{}",
            ran.err
        );
    }
}
