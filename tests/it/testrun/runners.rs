//! `run_tests` with each runner.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{counts, fake_vitest, open, structured};
use crate::harness::{Reply, Server};
use crate::tree::Tree;

fn event(name: &str, state: &str) -> Value {
    let errors = if state == "failed" {
        json!([{"type": "AssertionError", "message": "expected 1 to be 2",
            "stack": [{"file": "src/a.test.ts", "line": 3, "column": 9}]}])
    } else {
        json!([])
    };
    json!({"event": "test", "file": "src/a.test.ts", "suite": ["sum"], "name": name, "state": state, "ms": 3,
        "line": 2, "column": 3, "errors": errors})
}

fn events(tests: &[(&str, &str)], reason: &str) -> Vec<Value> {
    let mut events = vec![
        json!({"event": "run_start", "version": "5.1.1"}),
        json!({"event": "file_start", "file": "src/a.test.ts"}),
        json!({"event": "collected", "file": "src/a.test.ts", "tests": tests.len()}),
    ];
    events.extend(tests.iter().map(|(name, state)| event(name, state)));
    events.push(
        json!({"event": "file_end", "file": "src/a.test.ts", "tests": tests.len(), "errors": []}),
    );
    events.push(json!({"event": "end", "passed": reason == "passed", "errors": []}));
    events
}

fn arguments(tree: &Tree) -> Vec<String> {
    let text = tree.read("work/node_modules/arguments");
    // The reporter is in a new directory for each run.
    text.lines()
        .filter(|word| !word.starts_with("--reporter="))
        .map(str::to_owned)
        .collect()
}

const VITEST: [&str; 3] = ["run", "--includeTaskLocation", "--coverage.enabled=false"];

fn with_vitest(more: &[&str]) -> Vec<String> {
    VITEST
        .iter()
        .chain(more)
        .map(|word| (*word).to_owned())
        .collect()
}

#[test]
fn vitest_is_found_and_run() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    fake_vitest(
        &tree,
        &events(
            &[
                ("adds", "passed"),
                ("fails", "failed"),
                ("later", "skipped"),
            ],
            "failed",
        ),
        "exit 1",
    );
    tree.file("work/src/a.test.ts", "")
        .file("work/src/b.test.ts", "")
        .file("work/src/c.ts", "");
    let reply = server.call("run_tests", json!({"testFiles": "src/*.test.ts"}));
    assert_eq!(counts(&reply), ("failed".to_owned(), [1, 1, 1]));
    let report = structured(&reply);
    assert_eq!(report["failures"][0]["id"], "src/a.test.ts > sum > fails");
    assert_eq!(
        report["failures"][0]["errors"][0]["message"],
        "expected 1 to be 2"
    );
    assert_eq!(
        (&report["runner"]["version"], &report["exitCode"]),
        (&json!("5.1.1"), &json!(1))
    );
    assert_eq!(
        report["scope"]["files"],
        json!(["src/a.test.ts", "src/b.test.ts"])
    );
    assert!(
        reply.result().get("isError").is_none(),
        "failing tests are no error of the call"
    );
    // The server expands globs, since Vitest takes them for parts of paths.
    assert_eq!(
        arguments(&tree),
        with_vitest(&["src/a.test.ts", "src/b.test.ts"])
    );
    assert!(
        reply
            .text()
            .starts_with("FAILED: 1 passed, 1 failed, 1 skipped (vitest 5.1.1, "),
        "{}",
        reply.text()
    );

    server.call("run_tests", json!({"rerunFailed": true}));
    assert_eq!(
        arguments(&tree),
        with_vitest(&[
            "--testNamePattern=^ ?(?:sum(?: >)? fails)$",
            "src/a.test.ts"
        ])
    );
    server.call(
        "run_tests",
        json!({"testFiles": ["a.test.ts"], "filter": "adds"}),
    );
    assert_eq!(
        arguments(&tree),
        with_vitest(&["--testNamePattern=adds", "src/a.test.ts"])
    );
    server.call("run_tests", json!({"cwd": "src", "test_files": null}));
    assert_eq!(arguments(&tree), with_vitest(&["src/"]));
}

#[test]
fn vitest_is_detected_by_imports_of_tests() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    fake_vitest(&tree, &events(&[("adds", "passed")], "passed"), "exit 0");
    tree.file("work/package.json", "{}")
        .file("work/src/sum/a.test.ts", "import { test } from 'vitest'\n");
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply).0, "passed");
    assert!(
        reply
            .text()
            .contains("[vitest: src/sum/a.test.ts imports vitest, which is in node_modules]"),
        "{}",
        reply.text()
    );
    // Other projects use it for other purposes.
    tree.file("work/src/sum/a.test.ts", "import test from 'tape'\n");
    assert_eq!(server.call("run_tests", json!({})).code(), -32002);
}

#[test]
fn verdict_combines_events_and_exit_status() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let mut verdict = |events: &[Value], more: &str| {
        fake_vitest(&tree, events, more);
        counts(&server.call("run_tests", json!({}))).0
    };
    let passed = events(&[("adds", "passed")], "passed");
    assert_eq!(verdict(&passed, "exit 0"), "passed");
    assert_eq!(verdict(&passed, "exit 1"), "failed");
    assert_eq!(verdict(&passed, "kill -9 $$"), "crashed");
    assert_eq!(verdict(&passed[..4], "exit 0"), "crashed");
    assert_eq!(
        verdict(&events(&[("adds", "skipped")], "passed"), "exit 0"),
        "no_tests"
    );
    assert_eq!(
        verdict(&[], "echo 'Startup Error' >&2; exit 1"),
        "config_error"
    );
    let mut leaked = passed;
    leaked.last_mut().unwrap()["errors"] = json!([{"type": "Error", "message": "lost"}]);
    assert_eq!(verdict(&leaked, "exit 1"), "failed");
}

#[test]
fn hanging_test_is_ended_and_named() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let mut hung = events(&[("adds", "passed")], "passed");
    hung.truncate(4);
    hung.push(json!({"event": "file_start", "file": "src/hangs.test.ts"}));
    hung.push(json!({"event": "collected", "file": "src/hangs.test.ts", "tests": 1}));
    fake_vitest(&tree, &hung, "sleep 1000");
    let reply = server.call("run_tests", json!({"timeout": 4}));
    assert_eq!(counts(&reply), ("timed_out".to_owned(), [1, 0, 0]));
    let unfinished = structured(&reply)["unfinished"].to_string();
    assert!(unfinished.contains("src/hangs.test.ts"), "{unfinished}");
    assert!(
        reply.text().contains("UNFINISHED src/hangs.test.ts"),
        "{}",
        reply.text()
    );
}

#[test]
fn cancelled_run_frees_its_place() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    fake_vitest(
        &tree,
        &events(&[("adds", "passed"), ("more", "passed")], "passed")[..4],
        "sleep 1000",
    );
    let params = json!({"name": "run_tests", "arguments": {}, "_meta": {"progressToken": "p"}});
    let id = server.send("tools/call", params);
    loop {
        let message = server.recv()["params"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if message.starts_with("1 of 2 tests, ") {
            break;
        }
    }
    server.notify("notifications/cancelled", json!({"requestId": id}));
    // The cancelled run frees its place: another run is served.
    fake_vitest(&tree, &events(&[("adds", "passed")], "passed"), "exit 0");
    assert_eq!(counts(&server.call("run_tests", json!({}))).0, "passed");
}

#[test]
fn missing_runner_has_install_hint() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file(
        "work/package.json",
        r#"{"devDependencies": {"vitest": "5"}}"#,
    )
    .file("work/pnpm-lock.yaml", "");
    let reply = server.call("run_tests", json!({}));
    let failed = reply.failure().unwrap().message;
    assert_eq!(structured(&reply)["status"], "missing_tool");
    assert!(
        failed.contains("hint: install it with `pnpm install`"),
        "{failed}"
    );
    // Runners outside the allowed directories are not used.
    tree.file("node_modules/vitest/package.json", r#"{"bin": "x.js"}"#)
        .file("node_modules/vitest/x.js", "");
    assert_eq!(
        structured(&server.call("run_tests", json!({})))["status"],
        "missing_tool"
    );
}

#[test]
fn chosen_runner_is_reported() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let none = server.call("run_tests", json!({}));
    assert_eq!(none.code(), -32002);
    fake_vitest(&tree, &events(&[("adds", "passed")], "passed"), "exit 0");
    tree.file("work/tests/test_a.py", "def test_a():\n    pass\n")
        .file("work/pyproject.toml", "[project]\nname = 'x'\n");
    let reply = server.call("run_tests", json!({}));
    assert_eq!(structured(&reply)["runner"]["name"], "vitest");
    assert!(
        reply.text().ends_with(
            "[vitest: vitest is a dependency in package.json]\n\
             [there is also `runner: \"pytest\"` (tests/ holds tests of Python)]\n\
             [changed: created node_modules/arguments: the operator can undo call 1]"
        ),
        "{}",
        reply.text()
    );
    let python = server.call("run_tests", json!({"testFiles": "tests/test_a.py"}));
    assert_eq!(structured(&python)["runner"]["name"], "pytest");
}

#[test]
fn wrong_parameters_of_run_tests_are_explained() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    fake_vitest(&tree, &events(&[("adds", "passed")], "passed"), "exit 0");
    tree.file("work/a.test.ts", "");
    let mut message = |arguments: Value| server.call("run_tests", arguments).failure().unwrap();
    let number = message(json!({"testFiles": 3}));
    assert_eq!(
        (number.code, number.message.as_str()),
        (
            Some(-32602),
            "`testFiles` of run_tests is the number 3; it must be a string or an array"
        )
    );
    assert_eq!(message(json!({"testFiles": [3]})).code, Some(-32602));
    let misspelt = message(json!({"testFile": "x"}));
    assert!(
        misspelt.message.contains("the nearest one is `testFiles`"),
        "{}",
        misspelt.message
    );
    assert_eq!(
        message(json!({"testFiles": "no/such.test.ts"})).code,
        Some(-32002)
    );
    assert_eq!(
        message(json!({"testFiles": "/etc/passwd"})).code,
        Some(-32001)
    );
    assert_eq!(message(json!({"cwd": "/etc"})).code, Some(-32001));
    let both = message(json!({"testFiles": "a.test.ts", "changed": true}));
    assert!(
        both.message.contains("cannot be combined"),
        "{}",
        both.message
    );
    let again = message(json!({"rerunFailed": true}));
    assert!(again.message.contains("has not run"), "{}", again.message);
    assert_eq!(message(json!({"runner": "command"})).code, Some(-32602));
    assert_eq!(
        message(json!({"runner": "pytest", "command": "true"})).code,
        Some(-32602)
    );
}

pub const CARGO: &str =
    "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";

const LIBRARY: &str = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n    #[test]\n    fn fails() {\n        \
    assert_eq!(1 + 1, 3);\n    }\n    #[test]\n    #[ignore]\n    fn slow() {}\n}\n";

/// Starts a server with a timeout long enough for a compiler on a busy machine.
pub fn cargo_server(tree: &Tree) -> Option<Server> {
    let home = std::env::var("HOME").ok()?;
    let cargo = std::path::Path::new(env!("CARGO"));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", cargo.parent()?.display());
    let allow = format!("{}:rw", tree.text("work"));
    tree.dir("work");
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
    let rustup = std::env::var("RUSTUP_HOME").unwrap_or_else(|_| format!("{home}/.rustup"));
    let variables = [("PATH", path.as_str()), ("RUSTUP_HOME", &rustup)];
    let more = ["--env", "RUSTUP_HOME"];
    Some(
        Server::start_program(tree, &[&line[..], &more].concat(), &variables)
            .opened(crate::schema::NEWEST_HANDSHAKE),
    )
}

#[test]
fn failed_cargo_tests_are_rerun() {
    let tree = Tree::new();
    let Some(mut server) = cargo_server(&tree) else {
        return;
    };
    tree.file("work/Cargo.toml", CARGO)
        .file("work/src/lib.rs", LIBRARY);
    tree.file("work/tests/it.rs", "#[test]\nfn outside() {}\n");
    let reply = server.call("run_tests", json!({"runner": "cargo"}));
    assert_eq!(counts(&reply), ("failed".to_owned(), [2, 1, 1]));
    let failure = &structured(&reply)["failures"][0];
    assert_eq!(
        (&failure["name"], &failure["errors"][0]["stack"][0]["line"]),
        (&json!("fails"), &json!(7))
    );
    let again = server.call("run_tests", json!({"runner": "cargo", "rerunFailed": true}));
    assert_eq!(counts(&again), ("failed".to_owned(), [0, 1, 0]));
    let file = server.call(
        "run_tests",
        json!({"runner": "cargo", "testFiles": "tests/it.rs"}),
    );
    assert_eq!(counts(&file), ("passed".to_owned(), [1, 0, 0]));
    // A custom harness reports no tests, nor does a program that exits early.
    let own = format!("{CARGO}[[test]]\nname = \"own\"\nharness = false\n");
    tree.file("work/Cargo.toml", own)
        .file("work/tests/own.rs", "fn main() {}\n");
    let own = server.call("run_tests", json!({"runner": "cargo", "filter": "outside"}));
    assert_eq!(counts(&own), ("passed".to_owned(), [1, 0, 0]));
    assert!(
        own.text().contains("report no tests: own (tests/own.rs)]"),
        "{}",
        own.text()
    );
    tree.file(
        "work/tests/it.rs",
        "#[test]\nfn outside() {\n    std::process::exit(0)\n}\n",
    );
    let left = server.call("run_tests", json!({"runner": "cargo", "filter": "outside"}));
    assert_eq!(counts(&left).0, "crashed");
    tree.file("work/src/lib.rs", "fn broken( {}\n");
    let broken = server.call("run_tests", json!({"runner": "cargo"}));
    assert_eq!(counts(&broken).0, "build_error");
}

#[test]
fn targets_disabled_by_manifest_are_reported() {
    let tree = Tree::new();
    let Some(mut server) = cargo_server(&tree) else {
        return;
    };
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\nautotests = false\n\
        [lib]\ntest = false\n[[test]]\nname = \"on\"\n[[test]]\nname = \"off\"\ntest = false\n";
    tree.file("work/Cargo.toml", manifest).file(
        "work/src/lib.rs",
        "#[cfg(test)]\nmod tests {\n#[test]\nfn t() {}\n}\n",
    );
    for name in ["on", "off", "silent"] {
        tree.file(format!("work/tests/{name}.rs"), "#[test]\nfn t() {}\n");
    }
    tree.file("work/tests/helper.rs", "pub fn help() {}\n");
    let reply = server.call("run_tests", json!({"runner": "cargo"}));
    assert_eq!(
        counts(&reply),
        ("passed".to_owned(), [1, 0, 0]),
        "{}",
        reply.text()
    );
    let told = "not run: src (`test = false` of the library), tests/off.rs (`test = false`), tests/silent.rs \
                (`autotests = false`)";
    assert_eq!(structured(&reply)["leftOut"], json!([told]));
    let reply = server.call(
        "run_tests",
        json!({"runner": "cargo", "testFiles": ["tests/silent.rs"]}),
    );
    assert_eq!(
        structured(&reply)["leftOut"],
        json!(["not run: tests/silent.rs (`autotests = false`)"])
    );
}

#[test]
fn nextest_without_platform_crates_has_hint() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/Cargo.toml", "[package]\nname = \"a\"\n");
    // Programs of the project take precedence.
    let cargo = "work/node_modules/.bin/cargo";
    tree.program(
        cargo,
        "#!/bin/sh\necho 'error: `cargo metadata` exited with an error' >&2\nexit 102\n",
    );
    let reply = server.call("run_tests", json!({"runner": "nextest"}));
    let report = structured(&reply);
    assert_eq!(
        (report["status"].as_str(), report["hint"].as_str()),
        (
            Some("config_error"),
            Some(
                "`cargo metadata` failed, which needs the crates of all platforms: use `runner: \
                 \"cargo\"`, which needs fewer, or download them with `cargo fetch` (commands \
                 have no network here, so the operator must run it)"
            )
        ),
        "{report}"
    );
}

/// Waits in its build for the file `built`, then reports a passed test, or hangs in it.
const GATED_CARGO: &str = "#!/bin/sh
printf '   Compiling b v1\\n    Building [=> ] 1/3: b\\r' >&2
until [ -e built ]; do sleep 0.01; done
printf '\\033[K    Finished `test` profile [unoptimized] target(s) in 1s\\n' >&2
printf '\\nrunning 1 test\\n'
[ ! -e hangs ] || sleep 1000
printf 'test adds ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \\
    finished in 0.00s\\n\\n'
";

/// Runs the tests of [`GATED_CARGO`] with a timeout of a second. The build ends after longer.
fn run_after_build(server: &mut Server, tree: &Tree) -> Reply {
    let _ = std::fs::remove_file(tree.path("work/built"));
    let arguments = json!({"runner": "cargo", "timeout": 1});
    let meta = json!({"progressToken": "p"});
    let params = json!({"name": "run_tests", "arguments": arguments, "_meta": meta});
    let id = server.send("tools/call", params);
    loop {
        let progress = server.recv()["params"].clone();
        let message = progress["message"].as_str().unwrap();
        if progress["progress"].as_u64() > Some(1500) {
            assert!(
                message.starts_with("building, 1 of 3 crates, "),
                "{message}"
            );
            assert_eq!(progress["total"], Value::Null);
            break;
        }
    }
    tree.file("work/built", "");
    server.reply_to(&id)
}

#[test]
fn build_does_not_count_against_timeout() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/Cargo.toml", CARGO)
        .file("work/src/lib.rs", "");
    tree.program("work/node_modules/.bin/cargo", GATED_CARGO);
    let passed = run_after_build(&mut server, &tree);
    assert_eq!(counts(&passed), ("passed".to_owned(), [1, 0, 0]));
    let log = structured(&passed)["logUri"].clone();
    let log = server.request("resources/read", json!({"uri": log}));
    let text = log.result()["contents"][0]["text"].to_string();
    assert!(
        text.contains("Compiling b v1\\n    Finished `test`"),
        "{text}"
    );

    tree.file("work/hangs", "");
    let hung = run_after_build(&mut server, &tree);
    assert_eq!(counts(&hung), ("timed_out".to_owned(), [0, 0, 0]));
    let hint = structured(&hung)["hint"].as_str().unwrap();
    assert!(hint.starts_with("the run was ended after 1 s: "), "{hint}");
}

#[test]
fn nextest_reports_tests_not_run() {
    let tree = Tree::new();
    let Some(mut server) = cargo_server(&tree) else {
        return;
    };
    let own = format!("{CARGO}[[test]]\nname = \"own\"\nharness = false\n");
    tree.file("work/Cargo.toml", own)
        .file("work/tests/own.rs", "fn main() {}\n")
        .file("work/src/lib.rs", "");
    tree.file("work/tests/it.rs", "#[test]\nfn outside() {}\n");
    let reply = server.call("run_tests", json!({"runner": "nextest"}));
    if structured(&reply)["status"] != "config_error" {
        assert_eq!(counts(&reply), ("passed".to_owned(), [1, 0, 0]));
        let told = "[NOT run by cargo-nextest (`runner: \"cargo\"` does), since they have their \
            own harness (`harness = false`) and report no tests: own]";
        assert!(reply.text().contains(told), "{}", reply.text());
        assert_eq!(structured(&reply)["leftOut"], Value::Null);
        tree.file(
            "work/src/lib.rs",
            "/// ```\n/// assert!(false);\n/// ```\npub fn f() {}\n",
        );
        let docs = server.call("run_tests", json!({"runner": "nextest"}));
        let left_out =
            json!(["not run: tests in the documentation (`runner: \"cargo\"` runs them)"]);
        assert_eq!(
            (counts(&docs).0, &structured(&docs)["leftOut"]),
            ("passed".to_owned(), &left_out)
        );
        let named = server.call(
            "run_tests",
            json!({"runner": "nextest", "testFiles": ["tests/it.rs", "tests/own.rs"]}),
        );
        assert_eq!(
            (counts(&named).0, &structured(&named)["notRun"]),
            ("incomplete".to_owned(), &json!(["tests/own.rs"]))
        );
    }
}

#[test]
fn command_with_report_is_a_runner() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let xml = "<testsuites><testsuite name=\"s\"><testcase name=\"a\" classname=\"c\" time=\"0.1\"/>\
        <testcase name=\"b\" classname=\"c\"><failure message=\"no\">b.sh:3</failure></testcase></testsuite></testsuites>";
    let command = format!("mkdir -p out; echo '{xml}' > out/report.xml; exit 1");
    let arguments = |command: &str| json!({"command": command, "report": "out/report.xml"});
    let reply = server.call("run_tests", arguments(&command));
    assert_eq!(counts(&reply), ("failed".to_owned(), [1, 1, 0]));
    // The report of the previous run is not used for this one.
    let stale = server.call("run_tests", arguments("true"));
    assert_eq!(structured(&stale)["status"], "config_error");
    // Each file of a glob is a report, and the variable names a place outside the project.
    let several = format!("echo '{xml}' > out/1.xml; echo '{xml}' > out/2.xml");
    let reply = server.call(
        "run_tests",
        json!({"command": several, "report": "out/*.xml"}),
    );
    assert_eq!(counts(&reply), ("failed".to_owned(), [2, 2, 0]));
    let variable = format!("echo '{xml}' > \"$REPLAY_TEST_REPORT\"");
    let reply = server.call("run_tests", json!({"command": variable}));
    assert_eq!(counts(&reply), ("failed".to_owned(), [1, 1, 0]));
    // Reports that cannot be read are no success.
    let odd = [
        ("ln -s $PWD/out/1.xml \"$REPLAY_TEST_REPORT\"", None),
        ("mkdir \"$REPLAY_TEST_REPORT\"", None),
        (": > \"$REPLAY_TEST_REPORT\"", None),
        (": > out/3.xml", Some("out/*.xml")),
        ("mkfifo out/4.xml", Some("out/4.*")),
    ];
    for (command, report) in odd {
        let reply = server.call("run_tests", json!({"command": command, "report": report}));
        assert_eq!(structured(&reply)["status"], "config_error", "{command}");
    }
    tree.file("work/failed", xml);
    let link = json!({"command": "mkdir q; ln -s ../failed q/a.xml", "report": "q/*.xml"});
    assert_eq!(
        counts(&server.call("run_tests", link)),
        ("failed".to_owned(), [1, 1, 0])
    );
    let empty = server.call("run_tests", json!({"command": " "}));
    assert_eq!(empty.code(), -32602);
    let reply = server.call("run_tests", json!({"command": "true"}));
    let head = reply.text().lines().next().unwrap_or_default().to_owned();
    assert!(
        head.starts_with("PASSED: no report: exit 0 (command, "),
        "{head}"
    );
    assert_eq!(structured(&reply)["hasNoReport"], true);
}

#[test]
fn coroutine_in_plain_unittest_class_fails() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file(
        "work/test_a.py",
        "import unittest\n\nclass A(unittest.TestCase):\n    async def test_a(self):\n        \
         self.fail()\n\n    def test_b(self):\n        pass\n\nclass \
         B(unittest.IsolatedAsyncioTestCase):\n    async def test_c(self):\n        pass\n",
    );
    let reply = server.call("run_tests", json!({"runner": "unittest"}));
    assert_eq!(counts(&reply), ("failed".to_owned(), [2, 1, 0]));
    assert_eq!(
        structured(&reply)["failures"][0]["id"],
        "test_a.py::A::test_a"
    );
}

#[test]
fn installed_pytest_is_run() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pytest.ini", "[pytest]\n");
    tree.file(
        "work/test_a.py",
        "def test_a():\n    assert 1 == 2\n\ndef test_b():\n    pass\n",
    );
    tree.file("work/test_c.py", "import nothing_of_this_name\n");
    let reply = server.call("run_tests", json!({}));
    let (status, found) = counts(&reply);
    if status != "missing_tool" {
        assert_eq!((status.as_str(), found), ("failed", [1, 1, 0]));
        assert_eq!(structured(&reply)["fileErrors"][0]["file"], "test_c.py");
        let again = server.call("run_tests", json!({"rerunFailed": true}));
        assert_eq!(counts(&again).1[0..2], [1, 1]);
    }
    let mut names: Vec<_> = std::fs::read_dir(tree.path("work"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["pytest.ini", "test_a.py", "test_c.py"],
        "the project is left as it was"
    );
}
