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

const PASSED: &str = "True True\nTrue True\nTrue True\nTrue\nTrue\n";

/// A server in Python. It ends with this value.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(tree: &Tree) -> Self {
        tree.file("server.py", SERVER);
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

#[test]
fn own_ids_come_back_without_server() {
    let tree = Tree::new();
    tree.file("items.py", PROGRAM);
    let server = Server::start(&tree);
    let words = ["--", "python3", "items.py", &server.port];
    let recorded = replay(&tree, &[&["calls", "record"], &words[..]].concat());
    assert_eq!((recorded.status, recorded.out.as_str()), (0, PASSED));
    let port = server.port.clone();
    drop(server);
    let words = ["--", "python3", "items.py", &port];
    for _ in 0..3 {
        let tested = replay(&tree, &[&["calls", "test"], &words[..]].concat());
        assert_eq!(
            (tested.status, tested.out.as_str()),
            (0, PASSED),
            "{}",
            tested.err
        );
    }
    let exact = replay(&tree, &[&["calls", "test", "--exact"], &words[..]].concat());
    assert_eq!((exact.status, exact.out.as_str()), (1, ""), "{}", exact.err);
}
