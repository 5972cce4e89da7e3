//! `run_tests` with `RSpec`, `PHPUnit`, Bun and Deno. The stubs write what the real ones write.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{counts, open, structured};
use crate::harness::Server;
use crate::tree::Tree;

/// Directory that commands find programs in.
const BIN: &str = "work/node_modules/.bin";

/// Makes a program that stores its arguments and runs this shell text.
fn stub(tree: &Tree, program: &str, text: &str) {
    let line = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >node_modules/arguments\n{text}\n");
    tree.program(program, line);
}

/// Runs the tests, and returns the status, the counts and the ids of the failures.
fn run(server: &mut Server, arguments: Value) -> (String, [u64; 3], Vec<String>) {
    let reply = server.call("run_tests", arguments);
    let failures = structured(&reply)["failures"].as_array().cloned();
    let ids = failures.unwrap_or_default();
    let ids = ids
        .iter()
        .map(|case| case["id"].as_str().unwrap().to_owned());
    let (status, counts) = counts(&reply);
    (status, counts, ids.collect())
}

fn last_argument(tree: &Tree) -> String {
    let text = tree.read("work/node_modules/arguments");
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn rspec_without_its_gems_names_bundler() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/spec/a_spec.rb", "")
        .file("work/Gemfile.lock", "    rspec-core (3.99.0)\n");
    let stack = "\tfrom /usr/lib/ruby/bundler/cli.rb:25:in `start'\n".repeat(200);
    let absent = format!(
        "echo \"/usr/lib/ruby/bundler/definition.rb:4:in \\`materialize': Could not find rspec-3.99.0 in \
         any of the sources (Bundler::GemNotFound)\" >&2\ncat >&2 <<'END'\n{stack}END\nexit 1"
    );
    let install = "install it with `bundle install`; commands have no network here, so the operator \
        must run it";
    let mut hint = |text: &str| {
        stub(&tree, &format!("{BIN}/bundle"), text);
        let reply = server.call("run_tests", json!({}));
        let report = structured(&reply);
        let errors = report["runErrors"][0]["message"].clone();
        (report["status"].clone(), errors, report["hint"].clone())
    };
    let found = "Could not find rspec-3.99.0 in any of the sources (Bundler::GemNotFound)";
    let expected = (json!("config_error"), json!(found), json!(install));
    assert_eq!(hint(&absent), expected);
    let missing = (json!("missing_tool"), json!(null), json!(install));
    assert_eq!(
        hint("echo 'bundler: command not found: rspec' >&2\nexit 127"),
        missing
    );
}

#[test]
fn rspec_is_run_with_formatter_and_reruns_failures() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/spec/a_spec.rb", "");
    let event = |name: &str, state: &str| {
        json!({"event": "test", "file": "spec/a_spec.rb", "suite": ["Calc"], "name": name,
            "state": state, "errors": []})
    };
    let events = [
        json!({"event": "run_start", "version": "3.13.0"}),
        json!({"event": "collected", "file": "spec/a_spec.rb", "tests": 2}),
        event("adds", "failed"),
        event("subtracts", "passed"),
        json!({"event": "file_end", "file": "spec/a_spec.rb", "tests": 2}),
        json!({"event": "end", "passed": false, "seed": 42}),
    ];
    let lines = events.map(|event| event.to_string()).join("\n");
    let write = format!("cat >>\"$REPLAY_TEST_REPORT\" <<'END'\n{lines}\nEND\nexit 1");
    stub(&tree, &format!("{BIN}/rspec"), &write);
    let failed = vec!["spec/a_spec.rb > Calc > adds".to_owned()];
    let all = run(&mut server, json!({}));
    assert_eq!(all, ("failed".to_owned(), [1, 1, 0], failed.clone()));
    let again = server.call("run_tests", json!({"rerunFailed": true}));
    assert!(
        again
            .text()
            .contains("the tests ran in random order, with seed 42")
    );
    let arguments = tree.read("work/node_modules/arguments");
    assert!(
        arguments.contains("\\A(?:Calc ?(?:adds)?)\\z"),
        "{arguments}"
    );
    assert_eq!(last_argument(&tree), "spec/a_spec.rb");
}

#[test]
fn phpunit_exit_inside_test_is_crash() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/phpunit.xml", "<phpunit/>")
        .dir("work/node_modules");
    let events = "echo \"##teamcity[testCount count='2']\n\
        ##teamcity[testStarted name='testA' locationHint='php_qn://$PWD/tests/ATest.php::\\\\\\\\ATest::testA']\n\
        ##teamcity[testFinished name='testA']\n\
        ##teamcity[testStarted name='testB' locationHint='php_qn://$PWD/tests/ATest.php::\\\\\\\\ATest::testB']\" >&2";
    stub(&tree, "work/vendor/bin/phpunit", events);
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("crashed".to_owned(), [1, 0, 0]));
    assert_eq!(
        structured(&reply)["unfinished"],
        json!(["tests/ATest.php > ATest > testB"])
    );
}

#[test]
fn bun_report_and_error_outside_tests_are_combined() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file(
        "work/package.json",
        json!({"scripts": {"test": "bun test --timeout=9"}}).to_string(),
    );
    let text = "for word; do case $word in --reporter-outfile=*) out=${word#*=};; esac; done\n\
        echo '<testsuites tests=\"1\" failures=\"0\"><testsuite name=\"a.test.ts\" file=\"a.test.ts\" tests=\"1\">\
        <testcase name=\"adds\" classname=\"\" file=\"a.test.ts\" line=\"2\"/></testsuite></testsuites>' >\"$out\"\n\
        printf '%s\\n' a.test.ts: '(pass) adds' '' b.test.ts: '' '# Unhandled error between tests' ------- \
        '1 | x(' '     ^' 'error: Unexpected end of file' \"    at $PWD/b.test.ts:1:3\" ------- >&2\n";
    stub(&tree, &format!("{BIN}/bun"), &format!("{text}exit 1"));
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("failed".to_owned(), [1, 0, 0]));
    assert_eq!(
        structured(&reply)["fileErrors"],
        json!([{"file": "b.test.ts", "phase": "collect", "message": "Unexpected end of file",
            "line": 1, "column": 3}])
    );
    assert!(
        tree.read("work/node_modules/arguments")
            .contains("--timeout=9")
    );
}

#[test]
fn deno_exit_without_report_is_crash() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let tasks = json!({"tasks": {"test": {"command": "deno test --allow-read"}}});
    tree.file("work/deno.json", tasks.to_string());
    let text = "[ \"$1\" = --version ] && echo 'deno 2.9.6 (stable)' && exit\n\
        printf '%s\\n' 'running 2 tests from ./a_test.ts' 'one ... ok (1ms)' 'two ...'";
    stub(&tree, &format!("{BIN}/deno"), text);
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("crashed".to_owned(), [0, 0, 0]));
    let report = structured(&reply);
    assert_eq!(report["unfinished"], json!(["a_test.ts > two"]));
    assert_eq!(report["runner"]["version"], "2.9.6");
    assert_eq!(report["runner"]["command"][3], "--allow-read");
}

#[test]
fn eslint_is_used_only_by_name() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/tsconfig.json", "{}");
    let found = json!([{"filePath": tree.text("work/a.js"), "messages": [
        {"ruleId": "eqeqeq", "severity": 2, "message": "Expected '==='", "line": 1, "column": 7}]}]);
    tree.file("work/node_modules/found.json", found.to_string());
    let text = "#!/bin/sh\ncat node_modules/found.json\nexit 1\n";
    tree.program(format!("{BIN}/eslint"), text);
    let reply = server.call("type_check", json!({"checker": "eslint"}));
    assert_eq!(
        structured(&reply)["diagnostics"],
        json!([{"file": "a.js", "line": 1, "column": 7, "severity": "error", "code": "eqeqeq",
            "message": "Expected '==='"}])
    );
    let found = server.call("type_check", json!({}));
    assert_eq!(structured(&found)["tool"]["name"], "tsc");
}
