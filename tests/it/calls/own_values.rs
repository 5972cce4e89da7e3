//! Ids that a program makes, sends and gets back.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use pretty_assertions::assert_eq;

use super::replay;
use crate::tree::Tree;

/// Stores items by the id in their path, and lists them, coded. Prints its port first.
const SERVER: &str = "import gzip, json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
items = []
class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def say(self, value, coding, **fields):
        body = json.dumps(value).encode()
        body = gzip.compress(body) if coding else body
        self.send_response(200)
        for name, value in fields.items():
            self.send_header(name.replace('_', '-'), value)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_PUT(self):
        item = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        item['id'] = self.path.rsplit('/')[-1]
        items.append(item)
        self.say(item, False, Location=self.path)
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        self.say({'jsonrpc': '2.0', 'id': asked['id'], 'result': 'done'}, False)
    def do_GET(self):
        self.say(items, True, Content_Encoding='gzip')
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
";

/// Compares each answer with its own ids.
const PROGRAM: &str = "import gzip, json, sys, urllib.request, uuid
def ask(method, path, value=None):
    body = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request('http://127.0.0.1:' + sys.argv[1] + path, body,
        {'Content-Type': 'application/json'}, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        body = answer.read()
        body = gzip.decompress(body) if answer.headers['Content-Encoding'] else body
        return json.loads(body), answer.headers['Location']
ids = [str(uuid.uuid4()) for _ in range(3)]
for id in ids:
    item, location = ask('PUT', '/items/' + id, {'name': 'x'})
    print(item['id'] == id, location == '/items/' + id)
print([item['id'] for item in ask('GET', '/items')[0]] == ids)
number = uuid.uuid4().hex
print(ask('POST', '/rpc', {'jsonrpc': '2.0', 'id': number, 'method': 'm'})[0]['id'] == number)
";

/// Stores rows of `PostgreSQL` by the 16 bytes of their ids. Prints its port first.
const DATABASE: &str = "import socket, struct, threading
rows = []
def say(kind, body=b''):
    return kind + struct.pack('!i', len(body) + 4) + body
def row(id):
    return say(b'D', struct.pack('!hi', 1, len(id)) + id)
def serve(client):
    stream = client.makefile('rb')
    length, code = struct.unpack('!ii', stream.read(8))
    while code == 80877103:
        client.sendall(b'N')
        length, code = struct.unpack('!ii', stream.read(8))
    stream.read(length - 8)
    client.sendall(say(b'R', b'\\0' * 4) + say(b'Z', b'I'))
    while kind := stream.read(1):
        body = stream.read(struct.unpack('!i', stream.read(4))[0] - 4)
        if kind == b'P':
            inserts = b'INSERT' in body
            client.sendall(say(b'1'))
        elif kind == b'B':
            # No names, one format, one value or none.
            id = body[12:28]
            client.sendall(say(b'2'))
        elif kind == b'E':
            if inserts:
                rows.append(id)
            found = [id] if inserts else rows
            tag = b'INSERT 0 1' if inserts else b'SELECT %d' % len(rows)
            client.sendall(b''.join(map(row, found)) + say(b'C', tag + b'\\0'))
        elif kind == b'S':
            client.sendall(say(b'Z', b'I'))
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
";

/// Compares each row with its own ids.
const ROWS: &str = "import socket, struct, sys, uuid
client = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 20)
stream = client.makefile('rb')
def say(kind, body=b''):
    return kind + struct.pack('!i', len(body) + 4) + body
def rows():
    found = []
    while (kind := stream.read(1)) != b'Z':
        body = stream.read(struct.unpack('!i', stream.read(4))[0] - 4)
        if kind == b'D':
            found.append(body[6:])
        elif kind == b'E':
            sys.exit(body)
    stream.read(5)
    return found
def ask(sql, *values):
    values = b''.join(struct.pack('!i', len(value)) + value for value in values)
    count = 1 if values else 0
    bound = struct.pack('!hhh', 1, 1, count) + values + struct.pack('!hh', 1, 1)
    client.sendall(say(b'P', b'\\0' + sql + b'\\0\\0\\0') + say(b'B', b'\\0\\0' + bound)
        + say(b'E', b'\\0\\0\\0\\0\\0') + say(b'S'))
    return rows()
startup = struct.pack('!i', 196608) + b'user\\0me\\0database\\0shop\\0\\0'
client.sendall(struct.pack('!i', len(startup) + 4) + startup)
rows()
ids = [uuid.uuid4().bytes for _ in range(3)]
for id in ids:
    print(ask(b'INSERT INTO items (id) VALUES ($1) RETURNING id', id) == [id])
print(ask(b'SELECT id FROM items') == ids)
";

const PASSED: &str = "True True\nTrue True\nTrue True\nTrue\nTrue\n";

/// A server in Python. It ends with this value.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(tree: &Tree, program: &str) -> Self {
        tree.file("server.py", program);
        let mut child = Command::new("python3")
            .arg(tree.path("server.py"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut port).unwrap();
        let port = port.trim().to_owned();
        Self { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Records a program, stops its server and replays it. All print this. With `--exact` it fails.
fn record_and_replay(server: &str, program: &str, passed: &str) {
    let tree = Tree::new();
    tree.file("items.py", program);
    let server = Server::start(&tree, server);
    let port = server.port.clone();
    let run = |action: &[&str]| {
        let words = ["--", "python3", "items.py", &port];
        replay(&tree, &[&["calls"], action, &words[..]].concat())
    };
    let recorded = run(&["record"]);
    assert_eq!((recorded.status, recorded.out.as_str()), (0, passed));
    drop(server);
    for _ in 0..3 {
        let tested = run(&["test"]);
        let is_passed = (tested.status, tested.out.as_str());
        assert_eq!(is_passed, (0, passed), "{}", tested.err);
    }
    let exact = run(&["test", "--exact"]);
    assert_eq!((exact.status, exact.out.as_str()), (1, ""), "{}", exact.err);
}

#[test]
fn own_ids_come_back_over_http() {
    record_and_replay(SERVER, PROGRAM, PASSED);
}

#[test]
fn own_ids_come_back_in_rows_as_bytes() {
    record_and_replay(DATABASE, ROWS, "True\nTrue\nTrue\nTrue\n");
}
