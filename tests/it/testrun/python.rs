//! pytest, with a stub of Python in the project's virtual environment that writes the events of the
//! bundled plugin.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{counts, open, structured};
use crate::tree::Tree;

/// Makes a stub of Python in a virtual environment of `work` that runs this script.
fn fake_python(tree: &Tree, does: &str) {
    tree.program(
        "work/.venv/bin/python",
        format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >arguments\n{does}\n"),
    );
}

/// Makes a stub of pytest with these tests: node id, declaring file, outcome.
fn fake_pytest(tree: &Tree, tests: &[(&str, &str, &str)], broken: &[&str]) {
    let mut events = vec![json!({"event": "run_start", "version": "9.0.1"})];
    events.extend(
        broken.iter().map(
            |file| json!({"event": "file_end", "file": file, "errors": [{"message": "E   no such module"}]}),
        ),
    );
    events.push(json!({"event": "collected", "tests": tests.len()}));
    for (id, file, outcome) in tests {
        events.push(json!({"event": "test_start", "id": id, "file": file}));
        let stack = [json!({"file": file, "line": 4})];
        let errors: Vec<Value> = (*outcome == "failed")
            .then(|| json!({"message": "assert 1 == 2", "stack": stack}))
            .into_iter()
            .collect();
        events.push(
            json!({"event": "test", "id": id, "file": file, "line": 3, "state": outcome, "ms": 100, "errors": errors}),
        );
    }
    let exit =
        i32::from(!broken.is_empty() || tests.iter().any(|(.., outcome)| *outcome == "failed"));
    events.push(json!({"event": "end", "passed": exit == 0}));
    tree.file(
        "work/events",
        events
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join("\n")
            + "\n",
    );
    fake_python(
        tree,
        &format!("cat events >>\"$REPLAY_TEST_REPORT\"\nexit {exit}"),
    );
}

/// Returns the tests that pytest was asked to run.
fn requested_tests(tree: &Tree) -> Vec<String> {
    let text = tree.read("work/arguments");
    let given: Vec<String> = text.lines().map(str::to_owned).collect();
    let cache = given
        .iter()
        .position(|word| word.starts_with("cache_dir="))
        .unwrap();
    assert!(given[cache + 1].starts_with("--rootdir="), "{given:?}");
    given[cache + 2..].to_vec()
}

#[test]
fn inherited_test_is_rerun_by_reported_id() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pytest.ini", "[pytest]\n")
        .file("work/test_a.py", "")
        .file("work/base.py", "");
    fake_pytest(
        &tree,
        &[("test_a.py::TestA::test_same", "base.py", "failed")],
        &[],
    );
    assert_eq!(
        counts(&server.call("run_tests", json!({}))),
        ("failed".to_owned(), [0, 1, 0])
    );
    server.call("run_tests", json!({"rerunFailed": true}));
    assert_eq!(requested_tests(&tree), ["test_a.py::TestA::test_same"]);
}

#[test]
fn removed_test_is_named_by_rerun() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pytest.ini", "[pytest]\n");
    fake_pytest(&tree, &[("test_a.py::test_x", "test_a.py", "failed")], &[]);
    server.call("run_tests", json!({}));
    fake_pytest(&tree, &[], &[]);
    let again = server.call("run_tests", json!({"rerunFailed": true}));
    let report = structured(&again);
    assert_eq!(
        report["notRun"],
        json!(["test_a.py::test_x"]),
        "{}",
        again.text()
    );
    let hint = "a failed test may have been removed, renamed or skipped: run all tests to renew the \
        list";
    assert_eq!(report["hint"], hint);
}

/// Runs Python with the bundled reporters.
fn python(tree: &Tree, arguments: &[&str]) -> std::process::Output {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testrun");
    let dirs = [
        "runners/pytest",
        "runners/unittest",
        "by_language/python_tests",
    ];
    let path = dirs.map(|dir| format!("{sources}/{dir}:")).concat();
    std::process::Command::new("python3")
        .arg("-B")
        .args(arguments)
        .current_dir(tree.root())
        .env("PYTHONPATH", path + ".")
        .env("REPLAY_TEST_REPORT", tree.path("events"))
        .output()
        .unwrap()
}

#[test]
fn unittest_suggests_ids_for_unknown_test() {
    let tree = Tree::new();
    let text = "import unittest\nclass A(unittest.TestCase):\n    def test_add(self): pass\n";
    tree.file("test_a.py", text);
    python(&tree, &["-m", "replay_unittest", "test_a.py::A::test_ad"]);
    let events = tree.read("events");
    let error = events.lines().find(|line| line.contains("run_error"));
    let error: Value = serde_json::from_str(error.unwrap_or("null")).unwrap();
    let message = "test_a.py::A::test_ad; did you mean test_a.py::A::test_add?";
    let expected = json!({"event": "run_error", "kind": "no such test", "message": message});
    assert_eq!(error, expected);
}

/// Parameters of ids as the bundled plugin escapes them, and as the server compares them.
#[test]
fn pytest_plugin_escapes_parameters_of_ids() {
    let tree = Tree::new();
    let stub = "def hookimpl(**_):\n    return lambda function: function\n__version__ = '9'\nversion_tuple = (9,)\n";
    tree.file("pytest.py", stub);
    let code = "import sys, json, replay_pytest as own\n\
        print(json.dumps([own._escaped(one) for one in json.loads(sys.argv[1])]))";
    let ids = json!(["t_ü.py::t[ü b]", "t[a[0]-日\t\0]", "t[😀\\x]", "t.py::t_ü"]);
    let ran = python(&tree, &["-c", code, &ids.to_string()]);
    let expected = json!([
        r"t_ü.py::t[\xfc b]",
        r"t[a[0]-\u65e5\t\x00]",
        r"t[\U0001f600\x]",
        "t.py::t_ü"
    ]);
    let escaped: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    assert_eq!(
        escaped,
        expected,
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn tests_not_reached_are_remembered() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pytest.ini", "[pytest]\naddopts = -x\n");
    // Stops at its first failure: of three tests one ran.
    fake_pytest(&tree, &[("test_a.py::test_x", "test_a.py", "failed")], &[]);
    let events = tree
        .read("work/events")
        .replace("\"tests\":1", "\"tests\":3");
    let unreached = json!({"event": "unreached", "files": ["test_a.py::test_y", "test_b.py"]});
    let (events, end) = events.trim_end().rsplit_once('\n').unwrap();
    tree.file("work/events", format!("{events}\n{unreached}\n{end}\n"));
    let reply = server.call("run_tests", json!({}));
    let report = structured(&reply);
    assert_eq!(
        (&report["status"], &report["summary"]["notRun"]),
        (&json!("failed"), &json!(2))
    );
    assert_eq!(report["notRun"], json!(["test_a.py::test_y", "test_b.py"]));

    fake_pytest(&tree, &[("test_a.py::test_x", "test_a.py", "passed")], &[]);
    let again = server.call("run_tests", json!({"rerunFailed": true}));
    let report = structured(&again);
    assert_eq!(report["status"], "incomplete", "{}", again.text());
    assert_eq!(
        report["notRun"],
        json!(["tests that an earlier run did not reach, since it stopped early"])
    );
    let hint = "the failed tests pass now; run without `rerunFailed` for the tests that never ran";
    assert_eq!(report["hint"], hint);
    let none = server.call("run_tests", json!({"rerunFailed": true}));
    assert!(
        none.text()
            .contains("there are tests that an earlier run did not reach"),
        "{}",
        none.text()
    );

    let tests = ["x", "y", "z"].map(|name| format!("test_a.py::test_{name}"));
    let tests: Vec<_> = tests
        .iter()
        .map(|id| (id.as_str(), "test_a.py", "passed"))
        .collect();
    fake_pytest(&tree, &tests, &[]);
    assert_eq!(
        counts(&server.call("run_tests", json!({}))),
        ("passed".to_owned(), [3, 0, 0])
    );
    let none = server.call("run_tests", json!({"rerunFailed": true}));
    assert!(
        none.text().contains("has passed since, or was removed"),
        "{}",
        none.text()
    );
}

#[test]
fn failed_test_is_remembered_until_it_passes() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pytest.ini", "[pytest]\n");
    for name in ["test_a.py", "test_b.py", "test_c.py"] {
        tree.file(format!("work/{name}"), "");
    }
    let [one, two] = ["test_a.py::test_one", "test_a.py::test_two"];
    fake_pytest(
        &tree,
        &[(one, "test_a.py", "failed"), (two, "test_a.py", "failed")],
        &["test_c.py"],
    );
    server.call("run_tests", json!({}));
    // A run of other tests, or one that leaves the test out, does not change its state.
    fake_pytest(&tree, &[("test_b.py::test_b", "test_b.py", "passed")], &[]);
    server.call("run_tests", json!({"testFiles": "test_b.py"}));
    fake_pytest(
        &tree,
        &[(one, "test_a.py", "skipped"), (two, "test_a.py", "passed")],
        &[],
    );
    server.call("run_tests", json!({"testFiles": "test_a.py"}));
    server.call("run_tests", json!({"rerunFailed": true}));
    assert_eq!(requested_tests(&tree), [one, "test_c.py"]);
    // A file that could be loaded is no longer on the list.
    fake_pytest(&tree, &[("test_c.py::test_c", "test_c.py", "passed")], &[]);
    server.call("run_tests", json!({"testFiles": "test_c.py"}));
    fake_pytest(&tree, &[(one, "test_a.py", "passed")], &[]);
    server.call("run_tests", json!({"rerunFailed": true}));
    assert_eq!(requested_tests(&tree), [one]);
    let none = server.call("run_tests", json!({"rerunFailed": true}));
    assert_eq!(counts(&none), ("no_tests".to_owned(), [0, 0, 0]));
    assert!(
        none.text().contains("every test that failed"),
        "{}",
        none.text()
    );
    // A failed test that a full run no longer contains is forgotten.
    fake_pytest(&tree, &[(one, "test_a.py", "failed")], &[]);
    server.call("run_tests", json!({}));
    fake_pytest(&tree, &[(two, "test_a.py", "passed")], &[]);
    server.call("run_tests", json!({}));
    assert_eq!(
        counts(&server.call("run_tests", json!({"rerunFailed": true}))).0,
        "no_tests"
    );
}

#[test]
fn tests_inside_package_are_found() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pyproject.toml", "[project]\nname = 'toolz'\n")
        .file("work/toolz/tests/test_a.py", "");
    fake_pytest(
        &tree,
        &[(
            "toolz/tests/test_a.py::test_a",
            "toolz/tests/test_a.py",
            "passed",
        )],
        &[],
    );
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("passed".to_owned(), [1, 0, 0]));
    let notes = "[pytest: toolz/tests/ holds tests of Python]\n[changed: created arguments: the operator can undo call 1]";
    assert!(reply.text().ends_with(notes), "{}", reply.text());
}

#[test]
fn project_is_searched_from_named_file() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let tests = [("deep/er/test_x.py::test_x", "deep/er/test_x.py", "passed")];
    fake_pytest(&tree, &tests, &[]);
    // Only its name marks it as a test.
    tree.file("work/deep/er/test_x.py", "");
    let alone = server.call("run_tests", json!({"testFiles": "deep/er/test_x.py"}));
    assert_eq!(counts(&alone), ("passed".to_owned(), [1, 0, 0]));
    assert_eq!(requested_tests(&tree), ["deep/er/test_x.py"]);
    // Files of a project below belong to that project.
    tree.file("work/tools/pytest.ini", "[pytest]\n")
        .file("work/tools/t/test_y.py", "")
        .file("work/tools/events", tree.read("work/events"));
    let below = server.call("run_tests", json!({"testFiles": "tools/t/test_y.py"}));
    assert_eq!(structured(&below)["runner"]["cwd"], tree.text("work/tools"));
    assert_eq!(
        tree.read("work/tools/arguments").lines().last(),
        Some("t/test_y.py")
    );
}

#[test]
fn failed_tests_are_rerun_in_their_project() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let id = "t/test_y.py::test_y";
    tree.file("work/pytest.ini", "[pytest]\n")
        .file("work/test_a.py", "")
        .file("work/tools/pytest.ini", "[pytest]\n");
    tree.file("work/tools/t/test_y.py", "");
    fake_pytest(&tree, &[(id, "t/test_y.py", "failed")], &[]);
    tree.file("work/tools/events", tree.read("work/events"));
    let below = server.call("run_tests", json!({"testFiles": "tools/t/test_y.py"}));
    assert_eq!(counts(&below), ("failed".to_owned(), [0, 1, 0]));
    let again = server.call("run_tests", json!({"rerunFailed": true}));
    assert_eq!(structured(&again)["runner"]["cwd"], tree.text("work/tools"));
    assert_eq!(tree.read("work/tools/arguments").lines().last(), Some(id));
    let told = format!(
        "[pytest in `{}`, where tests failed last]",
        tree.text("work/tools")
    );
    assert!(again.text().contains(&told), "{}", again.text());
    // An explicit project is used.
    let here = server
        .call(
            "run_tests",
            json!({"rerunFailed": true, "cwd": tree.text("work")}),
        )
        .failure()
        .unwrap();
    assert!(
        here.message.contains("pytest has not run in"),
        "{}",
        here.message
    );
}

#[test]
fn files_excluded_by_project_are_reported() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pytest.ini", "[pytest]\naddopts = -m fast\n")
        .file("work/test_a.py", "");
    fake_pytest(&tree, &[("test_a.py::test_a", "test_a.py", "passed")], &[]);
    let options = json!({"event": "excluding", "is_filtered": false, "options": ["-m fast"]});
    let deselected =
        json!({"event": "deselected", "tests": 3, "files": ["test_a.py", "test_c.py"]});
    let left_out = json!({"event": "omitted", "tests": 2, "paths": ["test_b.py"], "count": 4});
    // The end is the last event.
    let events = tree.read("work/events");
    tree.file(
        "work/events",
        format!("{options}\n{deselected}\n{left_out}\n{events}"),
    );
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("passed".to_owned(), [1, 0, 0]));
    let told = json!([
        "options of the project: -m fast",
        "3 tests were deselected",
        "2 tests were collected, then removed by conftest.py or a plugin",
        "not searched, with 3 more: test_b.py",
    ]);
    assert_eq!(structured(&reply)["leftOut"], told);
    assert!(
        reply
            .text()
            .contains("\nLEFT OUT 3 tests were deselected\n"),
        "{}",
        reply.text()
    );
    // A named file whose tests are all excluded by the project.
    tree.file("work/test_c.py", "");
    let named = server.call(
        "run_tests",
        json!({"testFiles": ["test_a.py", "test_c.py"]}),
    );
    assert_eq!(counts(&named), ("incomplete".to_owned(), [1, 0, 0]));
    assert_eq!(structured(&named)["notRun"], json!(["test_c.py"]));
    // Tests excluded by a requested filter are not reported.
    tree.file(
        "work/events",
        format!(
            "{}\n{deselected}\n{events}",
            json!({"event": "excluding", "is_filtered": true, "options": []})
        ),
    );
    let filtered = server.call(
        "run_tests",
        json!({"testFiles": ["test_a.py", "test_c.py"], "filter": "a"}),
    );
    assert_eq!(counts(&filtered), ("passed".to_owned(), [1, 0, 0]));
}

#[test]
fn file_with_suppressed_errors_is_not_clean() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file(
        "work/mypy.ini",
        "[mypy]\nexclude = gen/\n[mypy-quiet]\nignore_errors = True\n",
    );
    tree.file("work/quiet.py", "x: int = ''\n")
        .file("work/own.py", "# mypy: ignore-errors\n")
        .file("work/fine.py", "");
    fake_python(&tree, "echo 'Success: no issues found in 1 source file'");
    let mut check = |files: Value| {
        let reply = server.call("type_check", json!({"files": files}));
        let report = structured(&reply).clone();
        (
            report["status"].clone(),
            report["notChecked"].clone(),
            reply.text(),
        )
    };
    let (status, not_checked, text) = check(json!(["quiet.py", "own.py", "fine.py"]));
    assert_eq!(
        (status, not_checked),
        (json!("incomplete"), json!(["own.py", "quiet.py"]))
    );
    assert!(
        text.contains("[`own.py` is not checked: the file has `# mypy: ignore-errors`]"),
        "{text}"
    );
    assert!(
        text.contains("[`quiet.py` is not checked: `ignore_errors` of its section `quiet`"),
        "{text}"
    );
    // A file matched by a glob is only reported and does not change the status.
    let (status, not_checked, text) = check(json!("*.py"));
    assert_eq!((status, not_checked), (json!("clean"), Value::Null));
    assert!(text.contains("[`own.py` is not checked: "), "{text}");
    let (status, _, text) = check(json!([]));
    assert_eq!(status, json!("clean"));
    assert!(
        text.contains("[left out by `exclude` in mypy.ini: gen/]"),
        "{text}"
    );
}

#[test]
fn files_of_two_runners_are_refused() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    super::fake_vitest(&tree, &[], "exit 0");
    tree.file("work/pytest.ini", "[pytest]\n")
        .file("work/test_a.py", "")
        .file("work/b.test.ts", "");
    let failed = server
        .call(
            "run_tests",
            json!({"testFiles": ["test_a.py", "b.test.ts"]}),
        )
        .failure()
        .unwrap();
    assert!(
        failed
            .message
            .contains("the files belong to two runners (pytest: test_a.py; vitest: b.test.ts)"),
        "{}",
        failed.message
    );
}

#[test]
fn checker_absent_from_python_is_missing() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/a.py", "");
    fake_python(&tree, "echo \"$0: No module named pyright\" >&2\nexit 1");
    let reply = server.call("type_check", json!({"checker": "pyright"}));
    assert_eq!(structured(&reply)["status"], "missing_tool");
    assert!(
        reply
            .failure()
            .unwrap()
            .message
            .contains("pip install pyright")
    );
    // If the interpreter is known, the hint installs into it. Commands of tests have no network.
    fake_python(&tree, "echo \"$0: No module named mypy\" >&2\nexit 1");
    let reply = server.call("type_check", json!({"checker": "mypy"}));
    let venv = tree.text("work/.venv");
    assert_eq!(
        structured(&reply)["hint"],
        format!(
            "install it with `{venv}/bin/pip install mypy`, or as the project documents it; \
             commands have no network here, so the operator must run it"
        )
    );
}

#[test]
fn identical_failures_are_reported_once() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pytest.ini", "[pytest]\n");
    let ids: Vec<String> = (0..30)
        .map(|number| format!("test_a.py::test_{number}"))
        .collect();
    let mut tests: Vec<_> = ids
        .iter()
        .map(|id| (id.as_str(), "test_a.py", "failed"))
        .collect();
    tests.push(("test_a.py::test_fine", "test_a.py", "passed"));
    fake_pytest(&tree, &tests, &[]);
    let reply = server.call("run_tests", json!({}));
    let text = reply.text();
    assert_eq!(text.matches("assert 1 == 2").count(), 1, "{text}");
    assert!(
        !text.contains("test_fine") && !text.contains("replay://"),
        "{text}"
    );
    let report = structured(&reply);
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(20));
    assert_eq!(report["truncated"]["failures"], 10);
    let all = server.call("run_tests", json!({"detail": "all"}));
    assert_eq!(
        structured(&all)["failures"].as_array().map(Vec::len),
        Some(30)
    );
    assert!(
        all.text().contains("ok test_a.py::test_fine"),
        "{}",
        all.text()
    );
}

#[test]
fn project_of_unittest_is_run_without_pytest() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/setup.py", "")
        .file("work/tests/__init__.py", "")
        .file(
            "work/tests/test_a.py",
            "import unittest\n\nclass A(unittest.TestCase):\n    pass\n",
        );
    let event = |event: &str, more: Value| {
        let mut event = json!({"event": event});
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        format!("{event}\n")
    };
    let id = json!({"id": "tests/test_a.py::A::test_x", "file": "tests/test_a.py"});
    let mut failed = id.clone();
    failed["state"] = json!("failed");
    tree.file(
        "work/events",
        event("run_start", json!({"version": "3.13.0"}))
            + &event("collected", json!({"tests": 1}))
            + &event("test_start", id)
            + &event("test", failed)
            + &event("end", json!({"passed": false})),
    );
    // This Python has no pytest.
    fake_python(
        &tree,
        "if [ \"$1\" = -c ]; then exit 1; fi\ncat events >>\"$REPLAY_TEST_REPORT\"\nexit 1",
    );
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("failed".to_owned(), [0, 1, 0]));
    let note = "[unittest: tests/ holds tests of Python; run by unittest, since pytest is neither \
        configured nor installed]";
    let text = reply.text();
    let notes = text.lines().filter(|line| line.starts_with('['));
    let changed = "[changed: created arguments: the operator can undo call 1]";
    assert_eq!(notes.collect::<Vec<_>>(), [note, changed]);
    server.call("run_tests", json!({"rerunFailed": true}));
    assert_eq!(
        tree.read("work/arguments"),
        "-m\nreplay_unittest\ntests/test_a.py::A::test_x\n"
    );
    // With a configuration, pytest runs these tests.
    tree.file("work/pytest.ini", "[pytest]\n");
    server.call("run_tests", json!({}));
    assert!(tree.read("work/arguments").starts_with("-m\npytest\n"));
}
