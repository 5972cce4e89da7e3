//! Verdicts of test runs: tests that did not run are never reported as passed.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{counts, fake_vitest, open, structured};
use crate::harness::Reply;
use crate::tree::Tree;

fn not_run(reply: &Reply) -> (String, Vec<String>) {
    let report = structured(reply);
    let names = report["notRun"].as_array().cloned().unwrap_or_default();
    let names = names
        .iter()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    (
        report["status"].as_str().unwrap_or_default().to_owned(),
        names,
    )
}

#[test]
fn file_ignored_by_runner_is_reported() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let file = tree.text("work/src/a.test.ts");
    let events = [
        json!({"event": "run_start", "version": "5.1.1"}),
        // Vitest has its own root, to which reported paths are relative.
        json!({"event": "collected", "file": "a.test.ts", "path": file, "tests": 1}),
        json!({"event": "test", "file": "a.test.ts", "name": "adds", "state": "passed"}),
        json!({"event": "file_end", "file": "a.test.ts", "path": file, "tests": 1, "errors": []}),
        json!({"event": "end", "passed": true, "errors": []}),
    ];
    fake_vitest(&tree, &events, "exit 0");
    for name in [
        "src/a.test.ts",
        "src/b.test.ts",
        "src/helper.ts",
        "e2e/c.test.ts",
    ] {
        tree.file(format!("work/{name}"), "");
    }
    tree.link("src/a.test.ts", "work/linked.test.ts");
    let mut of =
        |files: serde_json::Value| not_run(&server.call("run_tests", json!({"testFiles": files})));
    let incomplete = |names: &[&str]| {
        (
            "incomplete".to_owned(),
            names.iter().map(|name| (*name).to_owned()).collect(),
        )
    };
    assert_eq!(
        of(json!(["src/a.test.ts", "linked.test.ts", "src"])),
        ("passed".to_owned(), vec![])
    );
    assert_eq!(
        of(json!(["src/a.test.ts", "src/b.test.ts"])),
        incomplete(&["src/b.test.ts"])
    );
    assert_eq!(
        of(json!(["src/a.test.ts", "src/helper.ts"])),
        incomplete(&["src/helper.ts"])
    );
    // A file matched by a glob need not be a test.
    assert_eq!(of(json!("src/*.ts")), incomplete(&["src/b.test.ts"]));
    assert_eq!(of(json!(["src", "e2e"])), incomplete(&["e2e"]));
    let told = server.call(
        "run_tests",
        json!({"testFiles": ["src/a.test.ts", "e2e/c.test.ts"]}),
    );
    let lines: Vec<_> = told.text().lines().take(3).map(str::to_owned).collect();
    assert!(
        lines[0].starts_with("INCOMPLETE: 1 passed, 0 failed (vitest 5.1.1, "),
        "{lines:?}"
    );
    assert_eq!(lines[1], "DID NOT RUN e2e/c.test.ts");
    assert!(
        lines[2].starts_with("hint: all tests that ran passed, "),
        "{lines:?}"
    );
    assert!(told.result().get("isError").is_none());
}

/// Returns the paths that a run reports as left out.
fn left_out(reply: &Reply) -> Vec<String> {
    let told = structured(reply)["leftOut"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    told.iter()
        .filter_map(|what| what.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn files_unmatched_by_configuration_are_reported() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let events = [
        json!({"event": "run_start", "version": "5.1.1"}),
        json!({"event": "patterns", "options": ["include: src/**/*.test.ts"]}),
        json!({"event": "collected", "file": "src/a.test.ts", "tests": 1}),
        json!({"event": "test", "file": "src/a.test.ts", "name": "adds", "state": "passed"}),
        json!({"event": "file_end", "file": "src/a.test.ts", "tests": 1, "errors": []}),
        json!({"event": "end", "passed": true, "errors": []}),
    ];
    fake_vitest(&tree, &events, "exit 0");
    tree.file("work/src/a.test.ts", "");
    let mut of = |arguments: serde_json::Value| {
        let reply = server.call("run_tests", arguments);
        (structured(&reply)["status"].clone(), left_out(&reply))
    };
    assert_eq!(of(json!({})), (json!("passed"), vec![]));
    // Copies, git-ignored files and dependencies are not tests of the project.
    for name in [
        "src/b.spec.ts",
        "e2e/c.test.ts",
        "dist/a.test.js",
        "made/a.test.js",
        "node_modules/x/x.test.js",
    ] {
        tree.file(format!("work/{name}"), "");
    }
    tree.file("work/.gitignore", "made\n").dir("work/.git");
    let takes = "not matched by the configuration (include: src/**/*.test.ts)";
    let all = format!("named like tests, but {takes}: e2e/c.test.ts, src/b.spec.ts");
    assert_eq!(of(json!({})), (json!("passed"), vec![all]));
    assert_eq!(of(json!({"filter": "adds"})), (json!("passed"), vec![]));
    let named = format!("named, but {takes}: e2e/c.test.ts");
    let files = ["src/a.test.ts", "e2e/c.test.ts"];
    assert_eq!(
        of(json!({"testFiles": files})),
        (json!("incomplete"), vec![named.clone()])
    );
    let nothing = [
        events[0].clone(),
        events[1].clone(),
        json!({"event": "end", "passed": false, "errors": []}),
    ];
    fake_vitest(&tree, &nothing, "exit 1");
    assert_eq!(
        of(json!({"testFiles": ["e2e/c.test.ts"]})),
        (json!("no_tests"), vec![named])
    );
}

#[test]
fn test_script_options_are_passed_to_runner() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let events = [
        json!({"event": "run_start", "version": "5.1.1"}),
        json!({"event": "test", "file": "a.test.ts", "name": "adds", "state": "passed"}),
        json!({"event": "end", "passed": true, "errors": []}),
    ];
    fake_vitest(&tree, &events, "printf %s \"$MODE\" >mode\nexit 0");
    let mut told = |script: &str| {
        tree.file(
            "work/package.json",
            json!({"scripts": {"test": script}}).to_string(),
        );
        let reply = server.call("run_tests", json!({"runner": "vitest"}));
        assert_eq!(structured(&reply)["status"], "passed", "{}", reply.text());
        let arguments = tree.read("work/node_modules/arguments");
        let options: Vec<&str> = arguments
            .lines()
            .take_while(|word| !word.starts_with("--reporter="))
            .collect();
        (
            tree.read("work/mode"),
            options.join(" "),
            reply
                .text()
                .lines()
                .find(|line| line.starts_with("LEFT OUT"))
                .map(str::to_owned),
        )
    };
    let told_of = |mode: &str, options: &str, left_out: Option<&str>| {
        (
            mode.to_owned(),
            options.to_owned(),
            left_out.map(str::to_owned),
        )
    };
    assert_eq!(
        told("MODE='a b' vitest run -c e2e.ts --globals"),
        told_of("a b", "run -c e2e.ts --globals", None)
    );
    let left_out = "LEFT OUT the test script of package.json: `echo`";
    assert_eq!(
        told("MODE=x vitest run && echo"),
        told_of("x", "run", Some(left_out))
    );
    let left_out = "LEFT OUT the test script of package.json: `echo; vitest`";
    assert_eq!(told("echo; vitest"), told_of("", "run", Some(left_out)));
}

#[test]
fn runner_exiting_before_tests_has_crashed() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    fake_vitest(&tree, &[], "exit 0");
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("crashed".to_owned(), [0, 0, 0]));
    assert!(
        reply
            .text()
            .contains("look for an exit in its configuration or setup"),
        "{}",
        reply.text()
    );
}

#[test]
fn unreadable_report_is_a_result() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let mut run = |command: &str| {
        let reply = server.call("run_tests", json!({"command": command, "report": "r.xml"}));
        let report = structured(&reply);
        let said = report["runErrors"][0]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        (
            report["status"].as_str().unwrap_or_default().to_owned(),
            said,
        )
    };
    let fault = |(status, said): (String, String), part: &str| {
        assert_eq!(status, "config_error", "{said}");
        assert!(said.contains(part), "{said}");
    };
    fault(run("true"), "the command did not write `r.xml`");
    fault(run("mkfifo r.xml"), "is a named pipe");
    fault(run("rm r.xml; mkdir r.xml"), "is not a regular file");
    fault(
        run("rmdir r.xml; truncate -s 65M r.xml"),
        "at most 67108864 can be read",
    );
    fault(run("true"), "the run did not change `r.xml`");
    let counted = "<testsuite name='s' tests='2' failures='1'><testcase name='a'/></testsuite>";
    let (status, said) = run(&format!("echo \"{counted}\" > r.xml"));
    assert_eq!(status, "failed");
    assert!(
        said.starts_with("the suite `s` announces 2 tests and 1 failures"),
        "{said}"
    );
    // If the configuration cannot be read, no test runs.
    let outside = json!({"command": "touch ran", "report": "/etc/r.xml"});
    assert_eq!(server.call("run_tests", outside).code(), -32001);
    // A filter would be ignored.
    let filtered = json!({"command": "touch ran", "report": "r.xml", "filter": "a"});
    assert_eq!(server.call("run_tests", filtered).code(), -32602);
    assert!(!tree.path("work/ran").exists());
}

#[test]
fn filter_starting_with_dash_is_refused() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/Cargo.toml", "[package]\nname = \"x\"\n")
        .file("work/src/lib.rs", "");
    let failed = server
        .call("run_tests", json!({"runner": "cargo", "filter": "--list"}))
        .failure()
        .unwrap();
    assert_eq!(
        (failed.code, failed.message.as_str()),
        (
            Some(-32602),
            "`filter` is `--list`, which cargo's test programs read as an option; give a part of \
             a test's path"
        )
    );
}
