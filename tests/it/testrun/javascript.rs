//! `run_tests` with Node's own runner, Mocha and Playwright. The stubs write the events of their
//! reporters.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{counts, open, structured};
use crate::tree::Tree;

/// Makes a stub of a program of Node that writes these events of one failed test.
fn stub(tree: &Tree, program: &str, script: &str, test: &Value) {
    let manifest = json!({"scripts": {"test": script}}).to_string();
    let stub = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$(dirname \"$0\")/../arguments\"\n\
         printf '%s\\n' '{{\"event\":\"run_start\"}}' '{test}' '{{\"event\":\"end\",\"passed\":false}}' \
         >\"$REPLAY_TEST_REPORT\"\nexit 1\n"
    );
    tree.file("work/package.json", manifest)
        .program(format!("work/node_modules/.bin/{program}"), stub);
}

/// Returns the arguments of the stub without the paths of reporters and configurations.
fn arguments(tree: &Tree) -> Vec<String> {
    let text = tree.read("work/node_modules/arguments");
    let is_own = |word: &&str| {
        !word.contains("/replay-exit")
            && !word.contains("/replay-mocharc")
            && !word.contains("reporter")
    };
    text.lines().filter(is_own).map(str::to_owned).collect()
}

#[test]
fn javascript_runner_gets_selection_in_its_syntax() {
    let cases: [(&str, &str, [&[&str]; 4]); 3] = [
        (
            "node",
            "tsc && cross-env A=1 c8 node --import tsx --test test/*.js",
            [
                &["--import", "tsx", "--test", "test/a.js", "test/b.js"],
                &["--import", "tsx", "--test", "test/a.js"],
                &[
                    "--import",
                    "tsx",
                    "--test",
                    "--test-name-pattern=^(?:s|x\\.)$",
                    "test/a.js",
                ],
                &[
                    "--import",
                    "tsx",
                    "--test",
                    "--test-name-pattern=y",
                    "test/a.js",
                    "test/b.js",
                ],
            ],
        ),
        (
            "mocha",
            "nyc mocha --timeout 5 test/*.js",
            [
                &["--timeout", "5", "--no-bail", "test/a.js", "test/b.js"],
                &["--timeout", "5", "--no-bail", "--no-package", "test/a.js"],
                &[
                    "--timeout",
                    "5",
                    "--no-bail",
                    "--grep=^(?:s x\\.)$",
                    "--no-package",
                    "test/a.js",
                ],
                &[
                    "--timeout",
                    "5",
                    "--no-bail",
                    "--grep=y",
                    "--no-package",
                    "--recursive",
                    "test/a.js",
                    "test/b.js",
                ],
            ],
        ),
        (
            "playwright",
            "playwright test --project web -x",
            [
                &["test", "--project", "web"],
                &["test", "--project", "web", "^WORK/test/a\\.js$"],
                &[
                    "test",
                    "--project",
                    "web",
                    "--grep= (?:s x\\.)(?: @\\S+)*$",
                    "^WORK/test/a\\.js$",
                ],
                &["test", "--project", "web", "--grep=y", "^WORK/test/"],
            ],
        ),
    ];
    for (program, script, expected) in cases {
        let tree = Tree::new();
        let mut server = open(&tree, &[]);
        let test = json!({"event": "test", "file": "test/a.js", "suite": ["s"], "name": "x.", "state": "failed"});
        stub(&tree, program, script, &test);
        tree.file("work/test/a.js", "").file("work/test/b.js", "");
        let calls = [
            json!({}),
            json!({"testFiles": "a.js"}),
            json!({"rerunFailed": true}),
            json!({"testFiles": "test", "filter": "y"}),
        ];
        for (call, expected) in calls.iter().zip(expected) {
            let reply = server.call("run_tests", call.clone());
            assert_eq!(structured(&reply)["runner"]["name"], program, "{call}");
            let work = tree.text("work");
            let expected: Vec<String> = expected
                .iter()
                .map(|word| word.replace("WORK", &work))
                .collect();
            assert_eq!(arguments(&tree), expected, "{program} {call}");
        }
    }
}

#[test]
fn screenshot_of_failure_is_a_picture() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let test = json!({"event": "test", "file": "a.spec.js", "name": "x", "state": "failed",
        "attachments": ["trace.zip", "shot.png"]});
    stub(&tree, "playwright", "playwright test", &test);
    tree.file("work/shot.png", b"\x89PNG\r\n\x1a\n");
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("failed".to_owned(), [0, 1, 0]));
    let text = "FAIL a.spec.js > x\n  attachment: trace.zip\n  attachment: shot.png\n";
    assert!(reply.text().contains(text), "{}", reply.text());
    let content = reply.result()["content"].as_array().unwrap();
    let pictures: Vec<&Value> = content
        .iter()
        .filter(|part| part["type"] == "image")
        .collect();
    let expected = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    assert_eq!(pictures, [&expected]);
}
