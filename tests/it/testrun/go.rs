//! `run_tests` and `type_check` of a Go module, with the installed Go if there is one. The tests
//! download no modules.

use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{counts, structured};
use crate::harness::{Reply, Server};
use crate::tree::Tree;

/// Starts a server whose commands have Go. Returns `None` on a machine without Go.
fn go_server(tree: &Tree) -> Option<Server> {
    go_server_with(tree, "-mod=mod")
}

/// Starts the server with these flags for every `go` command.
fn go_server_with(tree: &Tree, flags: &str) -> Option<Server> {
    Command::new("go")
        .arg("version")
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let allow = format!("{}:rw", tree.text("work"));
    tree.dir("work");
    let path = std::env::var("PATH").ok()?;
    let line = [
        env!("CARGO_BIN_EXE_replay"),
        "--mcp-server",
        "--allow",
        &allow,
        "--tools",
        "tests",
        "--sandbox",
        "off",
    ];
    let variables = [
        ("PATH", path.as_str()),
        ("GOFLAGS", flags),
        ("GOPROXY", "off"),
        ("GOTOOLCHAIN", "local"),
    ];
    let more = [
        "--env",
        "GOFLAGS",
        "--env",
        "GOPROXY",
        "--env",
        "GOTOOLCHAIN",
    ];
    let started = Server::start_program(tree, &[&line[..], &more].concat(), &variables);
    Some(started.opened(crate::schema::NEWEST_HANDSHAKE))
}

#[test]
fn missing_go_module_has_download_hint() {
    let tree = Tree::new();
    if Command::new("go").arg("version").output().is_err() {
        return;
    }
    tree.dir("home/go/pkg/mod").file(
        "work/m_test.go",
        "package m\n\nimport _ \"example.org/none\"\n",
    );
    tree.file(
        "work/go.mod",
        "module example.com/m\n\ngo 1.19\n\nrequire example.org/none v1.0.0\n",
    );
    let (allow, home, path) = (
        format!("{}:rw", tree.text("work")),
        tree.text("home"),
        std::env::var("PATH").unwrap(),
    );
    let line = [
        env!("CARGO_BIN_EXE_replay"),
        "--mcp-server",
        "--allow",
        &allow,
        "--tools",
        "tests",
        "--sandbox",
        "namespaces",
    ];
    let variables = [
        ("PATH", path.as_str()),
        ("HOME", &home),
        ("GOFLAGS", "-mod=mod"),
        ("GOTOOLCHAIN", "local"),
    ];
    let mut server =
        Server::start_program(&tree, &line, &variables).opened(crate::schema::NEWEST_HANDSHAKE);
    let reply = server.call("run_tests", json!({}));
    if reply.result()["structuredContent"].is_null() {
        // This sandbox tier is not available here.
        return;
    }
    assert_eq!(
        (
            structured(&reply)["status"].as_str(),
            structured(&reply)["hint"].as_str()
        ),
        (
            Some("build_error"),
            Some(
                "if a module is missing, the operator must run `go mod download` outside the \
                 walls; commands then see the downloaded modules"
            )
        ),
        "{reply:?}"
    );
}

/// Writes a module with tests of every outcome.
fn module(tree: &Tree) {
    let test = |package: &str, file: &str, head: &str, body: &str| {
        tree.file(
            format!("work/{package}/{file}"),
            format!("{head}package {package}\n\nimport \"testing\"\n\n{body}"),
        );
    };
    tree.file("work/go.mod", "module example.com/shop\n\ngo 1.19\n");
    tree.file(
        "work/cart/cart.go",
        "package cart\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n",
    );
    test(
        "cart",
        "cart_test.go",
        "",
        "func TestAdds(t *testing.T) {}\n\nfunc TestFails(t *testing.T) {\n\tt.Errorf(\"got %d\", Add(1, 1))\n}\n\n\
         func TestSkips(t *testing.T) { t.Skip(\"later\") }\n\nfunc TestTable(t *testing.T) {\n\
         \tt.Run(\"one\", func(t *testing.T) {})\n\tt.Run(\"two words\", func(t *testing.T) { t.Fatal(\"no\") })\n}\n",
    );
    test(
        "price",
        "price_test.go",
        "",
        "func TestPrice(t *testing.T) {}\n",
    );
    test(
        "price",
        "price_plan9_test.go",
        "",
        "func TestPlan9(t *testing.T) {}\n",
    );
    test(
        "price",
        "tagged_test.go",
        "//go:build special\n\n",
        "func TestTagged(t *testing.T) { undeclared() }\n",
    );
    test(
        "panics",
        "panics_test.go",
        "",
        "func TestBefore(t *testing.T) {}\n\nfunc TestPanics(t *testing.T) { panic(1) }\n\n\
         func TestAfter(t *testing.T) {}\n",
    );
    test(
        "hangs",
        "hangs_test.go",
        "",
        "func TestQuick(t *testing.T) {}\n\nfunc TestHangs(t *testing.T) { select {} }\n",
    );
    tree.file(
        "work/broken/broken.go",
        "package broken\n\nfunc F() int { return \"x\" }\n",
    );
    test(
        "broken",
        "broken_test.go",
        "",
        "func TestBroken(t *testing.T) {}\n",
    );
}

/// Counts passed, failed and skipped tests by Go's own events. A test with subtests counts as its
/// subtests.
fn counted_by_go(tree: &Tree, packages: &[&str]) -> [u64; 3] {
    let mut go = Command::new("go");
    go.args(["test", "-json"])
        .args(packages)
        .current_dir(tree.path("work"));
    let output = go
        .envs([
            ("GOFLAGS", "-mod=mod"),
            ("GOPROXY", "off"),
            ("GOTOOLCHAIN", "local"),
        ])
        .output()
        .unwrap();
    let events: Vec<Value> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let name = |event: &Value| {
        format!(
            "{}/{}",
            event["Package"],
            event["Test"].as_str().unwrap_or_default()
        )
    };
    let of = |action: &str| {
        let ended = events
            .iter()
            .filter(|event| event["Action"] == action && event["Test"].is_string());
        let is_whole = |event: &&Value| {
            !events
                .iter()
                .any(|other| name(other).starts_with(&format!("{}/", name(event))))
        };
        ended.filter(is_whole).count() as u64
    };
    [of("pass"), of("fail"), of("skip")]
}

fn test_names(reply: &Reply, member: &str) -> (String, Value) {
    let report = structured(reply);
    (
        report["status"].as_str().unwrap_or_default().to_owned(),
        report[member].clone(),
    )
}

#[test]
fn go_test_counts_match_go_events() {
    let tree = Tree::new();
    let Some(mut server) = go_server(&tree) else {
        return;
    };
    module(&tree);
    let all = ["./cart", "./price", "./panics"];
    let reply = server.call(
        "run_tests",
        json!({"testFiles": ["cart", "price", "panics"]}),
    );
    assert_eq!(
        counts(&reply),
        ("failed".to_owned(), counted_by_go(&tree, &all))
    );
    let failures: Vec<_> = structured(&reply)["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["id"].clone())
        .collect();
    assert_eq!(
        failures,
        [
            "example.com/shop/cart > TestFails",
            "example.com/shop/cart > TestTable/two_words",
            "example.com/shop/panics > TestPanics"
        ]
    );
    assert_eq!(
        structured(&reply)["failures"][0]["errors"][0]["stack"][0]["file"],
        "cart/cart_test.go"
    );
    assert_eq!(
        structured(&reply)["failures"][2]["errors"][0]["stack"][0]["file"],
        "panics/panics_test.go"
    );
    assert_eq!(
        structured(&reply)["notRun"],
        json!(["example.com/shop/panics > TestAfter"])
    );
    let part = server.call(
        "run_tests",
        json!({"testFiles": "cart", "filter": "TestTable/one"}),
    );
    assert_eq!(counts(&part), ("passed".to_owned(), [1, 0, 0]));
    let again = server.call("run_tests", json!({"rerunFailed": true}));
    // A subtest is rerun with its whole test.
    assert_eq!(counts(&again), ("failed".to_owned(), [1, 3, 0]));
    let nothing = server.call(
        "run_tests",
        json!({"testFiles": "cart", "filter": "Nothing"}),
    );
    assert_eq!(counts(&nothing).0, "no_tests");
    let broken = server.call("run_tests", json!({"testFiles": "broken"}));
    assert_eq!(counts(&broken).0, "build_error");
    assert_eq!(
        structured(&broken)["fileErrors"][0]["file"],
        "broken/broken.go"
    );
}

#[test]
fn go_workspace_tests_all_modules() {
    let tree = Tree::new();
    // A flag that a workspace accepts.
    let Some(mut server) = go_server_with(&tree, "-mod=readonly") else {
        return;
    };
    for module in ["a", "b"] {
        tree.file(
            format!("work/{module}/go.mod"),
            format!("module example.com/{module}\n\ngo 1.18\n"),
        );
        let test =
            format!("package {module}\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) {{}}\n");
        tree.file(format!("work/{module}/it_test.go"), test);
    }
    tree.file("work/go.work", "go 1.18\n\nuse (\n\t./a\n\t./b\n)\n");
    let reply = server.call("run_tests", json!({"cwd": tree.text("work")}));
    assert_eq!(
        counts(&reply),
        ("passed".to_owned(), [2, 0, 0]),
        "{}",
        reply.text()
    );
}

#[test]
fn hanging_go_test_is_named() {
    let tree = Tree::new();
    let Some(mut server) = go_server(&tree) else {
        return;
    };
    module(&tree);
    // Built in advance, so that the time limit applies only to the test.
    let quick = server.call(
        "run_tests",
        json!({"testFiles": "hangs", "filter": "TestQuick"}),
    );
    assert_eq!(counts(&quick), ("passed".to_owned(), [1, 0, 0]));
    let hung = server.call("run_tests", json!({"testFiles": "hangs", "timeout": 10}));
    assert_eq!(
        test_names(&hung, "unfinished"),
        (
            "timed_out".to_owned(),
            json!(["example.com/shop/hangs > TestHangs"])
        )
    );
}

#[test]
fn go_files_excluded_by_constraint_are_reported() {
    let tree = Tree::new();
    let Some(mut server) = go_server(&tree) else {
        return;
    };
    module(&tree);
    let left_out = json!(["price/price_plan9_test.go", "price/tagged_test.go"]);
    let with_one = json!([
        "price/price_plan9_test.go",
        "price/tagged_test.go",
        "price/price_test.go"
    ]);
    let ran = server.call("run_tests", json!({"testFiles": with_one}));
    assert_eq!(
        test_names(&ran, "notRun"),
        ("incomplete".to_owned(), left_out.clone())
    );
    let filtered = server.call(
        "run_tests",
        json!({"testFiles": "price/tagged_test.go", "filter": "TestPrice"}),
    );
    assert_eq!(
        test_names(&filtered, "notRun"),
        ("incomplete".to_owned(), json!(["price/tagged_test.go"]))
    );

    let checked = server.call("type_check", json!({"files": with_one}));
    assert_eq!(
        test_names(&checked, "notChecked"),
        ("incomplete".to_owned(), left_out)
    );
    let clean = server.call(
        "type_check",
        json!({"files": ["price/price_test.go", "cart"]}),
    );
    assert_eq!(
        test_names(&clean, "notChecked"),
        ("clean".to_owned(), Value::Null)
    );
    let broken = server.call("type_check", json!({}));
    assert_eq!(
        structured(&broken)["summary"],
        json!({"errors": 1, "warnings": 0})
    );
}
