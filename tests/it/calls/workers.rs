//! Tests of parallel workers, which announce what they run.

use pretty_assertions::assert_eq;

use super::{Upstream, replay};
use crate::tree::Tree;

/// A worker that runs one test: it asks once for each line of its input.
const WORKER: &str = r#"
import json, os, sys, urllib.request
def scope(action):
    body = json.dumps({"name": sys.argv[1], "pid": os.getpid()}).encode()
    url = os.environ["KEPLOY_MOCK_AGENT"] + "/agent/scope/" + action
    assert json.load(urllib.request.urlopen(url, body)) == {"status": "ok"}
scope("begin")
for line in sys.stdin:
    print(json.load(urllib.request.urlopen(sys.argv[2]))["n"], flush=True)
scope("end")
"#;

/// A runner with a worker for each test. `turns` names the test of each request.
fn runner(upstream: &Upstream, turns: &str) -> String {
    let url = upstream.url() + "/next";
    format!(
        r#"
import subprocess, sys
workers, got = {{}}, {{}}
for at, test in enumerate("{turns}"):
    if test not in workers:
        workers[test] = subprocess.Popen([sys.executable, "worker.py", test, "{url}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    worker = workers[test]
    worker.stdin.write("\n")
    worker.stdin.flush()
    got.setdefault(test, []).append(worker.stdout.readline().strip())
    if test not in "{turns}"[at + 1:]:
        worker.stdin.close()
        assert worker.wait() == 0
for test in sorted(got):
    print(test, *got[test])
"#
    )
}

/// Records two requests of test `a`, then two of `b`.
fn recorded() -> (Tree, Upstream) {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    tree.file("worker.py", WORKER);
    tree.file("shop.py", runner(&upstream, "aabb"));
    let recorded = replay(&tree, &["calls", "record", "--", "python3", "shop.py"]);
    let told = "replay: recorded 4 calls (HTTP) as shop-http: ./keploy/shop-http/mocks.yaml\n";
    assert_eq!(
        (
            recorded.status,
            recorded.out.as_str(),
            recorded.err.as_str()
        ),
        (0, "a 1 2\nb 3 4\n", told)
    );
    upstream.stop();
    (tree, upstream)
}

fn test(tree: &Tree, isolation: &str) -> (i32, String, String) {
    let words = ["calls", "test", "--isolation", isolation, "--"];
    let ended = replay(tree, &[&words[..], &["python3", "shop.py"]].concat());
    (ended.status, ended.out, ended.err)
}

#[test]
fn recording_assigns_calls_to_announced_tests() {
    let (tree, _upstream) = recorded();
    let test = |id: &str, calls: [u8; 2]| {
        let call = |n| format!("        - name: mock-{n}\n          kind: Http\n");
        format!(
            "    - id: {id}\n      mock_entries:\n{}",
            calls.map(call).concat()
        )
    };
    let expected = "version: api.keploy.io/v1beta1\nkind: TestMocksMapping\n\
        test_set_id: shop-http\ntests:\n"
        .to_owned()
        + &test("a", [1, 2])
        + &test("b", [3, 4]);
    assert_eq!(tree.read("keploy/shop-http/mappings.yaml"), expected);
}

#[test]
fn interleaved_workers_get_answers_of_their_tests() {
    let (tree, upstream) = recorded();
    tree.file("shop.py", runner(&upstream, "baab"));
    for (isolation, more) in [("strict", ""), ("seccomp", "replay: isolation: seccomp\n")] {
        let told = format!("replay: replayed 4 calls of shop-http\n{more}");
        assert_eq!(
            test(&tree, isolation),
            (0, "a 1 2\nb 3 4\n".to_owned(), told)
        );
    }
}

#[test]
fn proxy_isolation_assigns_calls_of_single_worker() {
    let (tree, upstream) = recorded();
    tree.file("shop.py", runner(&upstream, "bbaa"));
    let (status, out, told) = test(&tree, "env");
    assert_eq!((status, out.as_str()), (0, "a 1 2\nb 3 4\n"), "{told}");
}

#[test]
fn answer_of_other_test_is_reported() {
    let (tree, upstream) = recorded();
    tree.file("shop.py", runner(&upstream, "aaab"));
    let told = "replay: replayed 4 calls of shop-http\nreplay: 1 call \
        was answered with what another worker or test got when it was recorded\n";
    let expected = (0, "a 1 2 3\nb 4\n".to_owned(), told.to_owned());
    assert_eq!(test(&tree, "strict"), expected);
}

#[test]
fn pytest_plugin_announces_test_without_pytest_settings() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    let program = r#"
import importlib.metadata, sys, types, urllib.request
sys.modules["pytest"] = types.ModuleType("pytest")
sys.modules["pytest"].fixture = lambda **_: lambda function: function
points = (point for one in importlib.metadata.distributions() for point in one.entry_points)
plugin = next(point for point in points if point.name == "replay_scope").load()
node = types.SimpleNamespace(nodeid="test_shop.py::test_a")
running = plugin._replay_scope(types.SimpleNamespace(node=node))
next(running)
urllib.request.urlopen("URL/next").read()
next(running, None)
"#;
    tree.file("shop.py", program.replace("URL", &upstream.url()));
    let recorded = replay(&tree, &["calls", "record", "--", "python3", "shop.py"]);
    assert_eq!(
        (recorded.status, recorded.out.as_str()),
        (0, ""),
        "{}",
        recorded.err
    );
    let expected = "version: api.keploy.io/v1beta1\nkind: TestMocksMapping\n\
        test_set_id: shop-http\ntests:\n    - id: test_shop.py::test_a\n      mock_entries:\n        \
        - name: mock-1\n          kind: Http\n";
    assert_eq!(tree.read("keploy/shop-http/mappings.yaml"), expected);
}

/// The address of the tests is none of a server, even if a server has the same port.
#[test]
fn server_at_port_of_announcements_is_called() {
    let tree = Tree::new();
    tree.file(
        "shop.py",
        r#"
import os, socket, urllib.parse
port = urllib.parse.urlparse(os.environ["KEPLOY_MOCK_AGENT"]).port
try:
    socket.create_connection(("127.0.0.1", port), 20)
except ConnectionRefusedError:
    print("refused")
"#,
    );
    let recorded = replay(&tree, &["calls", "record", "--", "python3", "shop.py"]);
    assert_eq!((recorded.status, recorded.out.as_str()), (0, "refused\n"));
}
