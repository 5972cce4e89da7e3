//! Manifest files: errors, and reload after changes.

use std::fmt::Write as _;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{WEATHER, open, run};
use crate::tree::Tree;

#[test]
fn manifest_error_is_reported_with_line() {
    let cases = [
        (
            "mock_server: { tool: [] }",
            "m.yaml:1:16: `mock_server` has no key `tool`; the nearest one is `tools`; valid: name, ",
        ),
        (
            "mock_server:\n  tools:\n    - name: a\n      inputschema: {}",
            "m.yaml:4:7: `mock_server.tools[0]` has no key `inputschema`; the nearest one is `inputSchema`; valid: ",
        ),
        (
            "mock_server:\n  tools:\n    - name: a\n    - name: a",
            "m.yaml:4:13: there are two tools called `a`",
        ),
        (
            "mock_server:\n  tools:\n    - name: a\n      input_schema: { type: objct }",
            "m.yaml:4:21: `input_schema` is not a valid JSON schema: at `/type`: ",
        ),
        (
            "mock_server:\n  tools:\n    - name: a\n      response: text",
            "m.yaml:4:17: `mock_server.tools[0].response` is \"text\"; it must be of type object",
        ),
        (
            "mock_server:\n  tools:\n    - name: a\n      delay_ms: soon",
            "m.yaml:4:17: `mock_server.tools[0].delay_ms` is \"soon\"; it must be of type integer",
        ),
        (
            "mock_server:\n  tools:\n    - name: a\n      fault: slowly",
            "m.yaml:4:14: `mock_server.tools[0].fault`: `slowly` is not a fault; valid: none, \
             hang, ",
        ),
        (
            "mock_server:\n  tools:\n    - description: x",
            "m.yaml:3:7: `mock_server.tools[0]` lacks `name`",
        ),
        (
            "mock_server:\n  tools:\n    - name: a\n      responses:\n        - match: { x: { regex: '(' } }",
            "m.yaml:5:18: `match` is invalid: ",
        ),
        (
            "mock_server:\n  tools:\n    - name: a\n      responses:\n        - when: args.x > 1",
            "m.yaml:5:11: `mock_server.tools[0].responses[0]` has a `when`, which is not \
             evaluated; use `match:`",
        ),
        (
            "mock_server: {}\n---\nmock_server: {}",
            "m.yaml:3:1: the file holds more than one document (`---`); it must be one",
        ),
        (
            "mock_server: { tools: [{ name: a, error_rate: .nan }] }",
            "m.yaml:1:47: JSON has no such number",
        ),
        ("tools: []", "m.yaml:1:1: the manifest lacks `mock_server`"),
        ("mock_server:\n  name: a\n  name: b", "m.yaml:3:3: "),
        (
            "mock_server:\n  resources: [{ uri: a, text: x, blob: eA== }]",
            "m.yaml:2:15: a resource must have either a `text` or a `blob`",
        ),
    ];
    let tree = Tree::new();
    for (manifest, expected) in cases {
        tree.file("m.yaml", manifest);
        let checked = run(&tree, &["mock", "check", "m.yaml"], &[]);
        let found = checked
            .lines
            .iter()
            .any(|line| line.starts_with(&format!("error: {expected}")));
        assert_eq!(
            (found, checked.status),
            (true, Some(1)),
            "{manifest}: {:?}",
            checked.lines
        );
        let served = run(&tree, &["mock", "--tools-from", "m.yaml"], &[]);
        assert_eq!(
            (served.stderr.contains(expected), served.status),
            (true, Some(2)),
            "{}",
            served.stderr
        );
    }
}

#[test]
fn snapshot_error_is_reported_with_position() {
    let tree = Tree::new();
    for (snapshot, expected) in [
        (
            "{\n  \"tools\": {\n    \"a\": 1}\n}",
            "t.json:2:12: `tools` is not an array; a JSON manifest is a snapshot of tools/list",
        ),
        (
            "{\n  \"result\": {\"tools\": 5}}",
            "t.json:2:23: `tools` is not an array; a JSON manifest is a snapshot of tools/list",
        ),
        (
            "\n[]",
            "t.json:2:1: there is no `tools`; a JSON manifest is a snapshot of tools/list",
        ),
        (
            "{\"tools\": [{\"name\": \"a\"},\n 5]}",
            "t.json:2:2: `tools[1]` is not an object",
        ),
        (
            "{\"tools\": [\n{\"title\": \"a\"}]}",
            "t.json:2:1: `tools[0]` has no `name`, or its `name` is not a string",
        ),
        (
            "{\"tools\": [],\n \"tools\": [{\"name\": \"a\"}]}",
            "t.json:2:2: the key `tools` is there twice",
        ),
        (
            "{\"tools\": [{\"name\": \"a\",\n\"inputSchema\": {\"a\": 1, \"a\": 2}}]}",
            "t.json:2:25: the key `a` is there twice",
        ),
        ("{\"tools\": [],}", "t.json:1:14: the file is not JSON: "),
    ] {
        tree.file("t.json", snapshot);
        let checked = run(&tree, &["mock", "check", "t.json"], &[]);
        let found = checked
            .lines
            .iter()
            .any(|line| line.starts_with(&format!("error: {expected}")));
        assert_eq!(
            (found, checked.status),
            (true, Some(1)),
            "{snapshot}: {:?}",
            checked.lines
        );
    }
    let escaped = "{\t\"tools\": [{\"name\": \"a\", \"description\": \"\\ud83d\\ude00 \\/ \\u0000 # x: y\"}]}";
    tree.file("t.json", escaped);
    assert_eq!(
        run(&tree, &["mock", "check", "t.json"], &[]).status,
        Some(0)
    );
    // Valid JSON that is invalid YAML.
    tree.file(
        "t.json",
        "{\"tools\": [{\"name\": \"a\", \"description\": \"\u{7f}\"}]}",
    );
    assert_eq!(
        run(&tree, &["mock", "check", "t.json"], &[]).status,
        Some(0)
    );
}

#[test]
fn manifest_file_name_needs_known_extension() {
    let tree = Tree::new();
    for (file, status) in [
        ("m.toml", 1),
        ("m.yaml.bak", 1),
        ("m.YML", 0),
        ("d.d/manifest", 0),
    ] {
        tree.file(file, "mock_server: {}");
        let checked = run(&tree, &["mock", "check", file], &[]);
        assert_eq!(checked.status, Some(status), "{file}: {:?}", checked.lines);
        if status == 1 {
            let extension = file.rsplit('.').next().unwrap();
            let expected = format!(
                "error: {file}: `.{extension}` is not a manifest; give YAML (.yaml, .yml), or a \
                 snapshot of tools/list in JSON (.json)"
            );
            assert_eq!(checked.lines, [expected]);
        }
    }
}

#[test]
fn long_error_list_is_truncated() {
    let tree = Tree::new();
    let keys: Vec<String> = (0..20_000).map(|number| format!("k{number}: 1")).collect();
    let twice = "{name: t}, ".repeat(2000);
    for manifest in [
        format!("mock_server: {{ {} }}", keys.join(", ")),
        format!("mock_server: {{ tools: [{twice}] }}"),
    ] {
        tree.file("m.yaml", manifest);
        let checked = run(&tree, &["mock", "check", "m.yaml"], &[]);
        assert_eq!(
            (checked.lines.len(), checked.status),
            (20, Some(1)),
            "{:?}",
            checked.lines.first()
        );
    }
}

#[test]
fn invalid_tool_source_is_refused() {
    let tree = Tree::new();
    tree.file("m.yaml", WEATHER);
    let refused = |args: &[&str]| {
        let ended = run(&tree, &[&["mock"], args].concat(), &[]);
        assert_eq!(ended.status, Some(2), "{args:?}: {}", ended.stderr);
        ended.stderr
    };
    assert!(refused(&[]).contains("required"));
    assert!(
        refused(&["--tools-from", "m.yaml", "--preset", "evil"]).contains("cannot be used with")
    );
    assert!(refused(&["--preset", "nice"]).contains("evil"));
    assert!(refused(&["--preset", "evil", "--fault", "x"]).contains("valid: none, hang"));
    assert!(refused(&["--tools-from", "none.yaml"]).contains("`none.yaml` cannot be read"));
    std::fs::File::create(tree.path("big.yaml"))
        .unwrap()
        .set_len(100 * 1024 * 1024)
        .unwrap();
    assert!(
        refused(&["--tools-from", "big.yaml"])
            .contains("is 104857600 bytes; at most 33554432 are read")
    );
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        writeln!(
            text,
            "a{level}: &a{level} [{}]",
            vec![before; 10].join(", ")
        )
        .unwrap();
    }
    tree.file("laughs.yaml", text);
    assert!(refused(&["--tools-from", "laughs.yaml"]).contains("too large"));
    tree.file("list.json", "{\"tools\": 5}");
    assert!(refused(&["--tools-from", "list.json"]).contains("snapshot of tools/list"));
}

#[test]
fn tool_list_snapshot_is_valid_manifest() {
    let tree = Tree::new();
    let tool = json!({"name": "a", "description": "d", "inputSchema": {"type": "object"}, "icons": [{"src": "data:,"}], "odd": 1});
    tree.file("list.json", json!({"tools": [tool]}).to_string());
    let asked = [
        super::request(1, "tools/list", json!({})),
        super::call(2, "a", json!({})),
    ];
    let replies = super::ask(&tree, &["mock", "--tools-from", "list.json"], &asked).messages();
    assert_eq!(replies[0]["result"], json!({"tools": [tool]}));
    assert_eq!(replies[1]["result"], super::text("mock a"));
}

#[test]
fn starter_manifest_is_written_once_and_valid() {
    let tree = Tree::new();
    assert_eq!(run(&tree, &["mock", "init"], &[]).status, Some(0));
    assert_eq!(
        run(&tree, &["mock", "check", "mock.yaml"], &[]).lines,
        ["mock.yaml: good"]
    );
    assert_eq!(run(&tree, &["mock", "init"], &[]).status, Some(2));
    let presets = run(&tree, &["mock", "presets"], &[]).lines;
    assert_eq!(
        (presets.len(), presets[0].starts_with("evil ")),
        (9, true),
        "{presets:?}"
    );
}

#[test]
fn changed_manifest_is_reloaded_unless_invalid() {
    let tree = Tree::new();
    let mut mock = open(
        &tree,
        "2025-06-18",
        "mock_server: {tools: [{name: first}]}",
        &[],
    );
    let changed = |mock: &mut crate::harness::Server| {
        let told = mock.recv();
        assert_eq!(told["method"], "notifications/tools/list_changed");
        mock.request("tools/list", json!({})).result()["tools"][0]["name"].clone()
    };
    // Replaces the file atomically, as editors do.
    let put = |text: &str| {
        tree.file("new", text);
        std::fs::rename(tree.path("new"), tree.path("mock.yaml")).unwrap();
    };
    put("mock_server: {tools: [{name: second}]}");
    assert_eq!(changed(&mut mock), "second");
    put("mock_server:\n  tools: [{nam: bad}]");
    put("mock_server: {tools: [{name: third}], prompts: [{name: p}]}");
    assert_eq!(changed(&mut mock), "third");
    assert_eq!(mock.recv()["method"], "notifications/prompts/list_changed");
}

#[test]
fn changed_manifest_beside_tools_is_reloaded() {
    let tree = Tree::new();
    tree.file("d/a", "hi\n");
    // Outside the allowed directories of the server.
    tree.file("apart/mock.yaml", "mock_server: {}");
    let args = [
        "--allow",
        "d",
        "--tools",
        "files",
        "--mock",
        "apart/mock.yaml",
    ];
    let mut server = crate::harness::Server::open(&tree, "2025-06-18", &args);
    let put = |text: &str| {
        tree.file("apart/new", text);
        std::fs::rename(tree.path("apart/new"), tree.path("apart/mock.yaml")).unwrap();
    };
    let told = |server: &crate::harness::Server, text: &str| {
        let until = std::time::Instant::now() + crate::harness::DEADLINE;
        while !server.stderr().contains(text) {
            assert!(std::time::Instant::now() < until, "{}", server.stderr());
        }
    };
    put("mock_server: {tools: [{name: first}]}");
    assert_eq!(server.recv()["method"], "notifications/tools/list_changed");
    assert_eq!(server.call("first", json!({})).texts(), ["mock first"]);
    assert_eq!(
        server.call("read_file", json!({"path": "a"})).texts(),
        ["hi\n"]
    );
    put("mock_server: {tools: [{nam: bad}]}");
    told(
        &server,
        "apart/mock.yaml:1:24: `mock_server.tools[0]` has no key `nam`",
    );
    put("mock_server: {tools: [{name: read_file}]}");
    told(
        &server,
        "the manifest and the server both have a tool `read_file`",
    );
    assert_eq!(server.call("first", json!({})).texts(), ["mock first"]);
    assert_eq!(server.settle(), Vec::<serde_json::Value>::new());
}

#[test]
fn invalid_change_is_reported_and_not_served() {
    let tree = Tree::new();
    let mut mock = open(&tree, "2025-06-18", WEATHER, &[]);
    tree.file("mock.yaml", "mock_server:\n  tools: [{nam: bad}]");
    // The replies do not show when the bad file was read. A later good file, read after it, shows
    // that.
    tree.file("ignored", "");
    let until = std::time::Instant::now() + crate::harness::DEADLINE;
    while !mock
        .stderr()
        .contains("mock.yaml:2:12: `mock_server.tools[0]` has no key `nam`")
    {
        assert!(std::time::Instant::now() < until, "{}", mock.stderr());
        assert_eq!(mock.call("bare", json!({})).texts(), ["mock bare"]);
    }
    assert_eq!(mock.settle(), Vec::<serde_json::Value>::new());
}

#[test]
fn slip_in_authorization_or_faults_is_explained() {
    let cases = [
        (
            "auth: { consent: maybe }",
            "error: m.yaml:2:20: `mock_server.auth.consent` is \"maybe\"; it must be one of \
             [\"auto\",\"page\",\"deny\"]",
        ),
        (
            "faults: [{ fault: slow-token:soon }]",
            "error: m.yaml:2:21: `mock_server.faults[0].fault`: `slow-token:soon`: MS must be a \
             number, at most 600000",
        ),
        (
            "fault: unauthorized",
            "error: m.yaml:2:10: `mock_server.fault`: `unauthorized` is a fault of HTTP; put it into \
             `faults` of a manifest, and serve it with --http",
        ),
        (
            "tools: [{ name: read }]\n  faults: [{ fault: cut, tool: raed }]",
            "warning: m.yaml:3:32: the manifest has no tool `raed`; the nearest one is `read`",
        ),
    ];
    for (part, expected) in cases {
        let tree = Tree::new();
        tree.file("m.yaml", format!("mock_server:\n  {part}\n"));
        let checked = run(&tree, &["mock", "check", "m.yaml"], &[]);
        assert_eq!(checked.lines, [expected]);
    }
}
