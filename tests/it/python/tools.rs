//! Python tools other than running cells.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{open, reply_data, result};
use crate::tree::Tree;

#[test]
fn completion_offsets_count_characters() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    result(
        &mut server,
        "import os\ndef größe(a, b=2):\n    'Says how large.'\n    return a",
    );
    let completed = reply_data(&server.call(
        "code_completion",
        json!({"code": "ä = grö", "cursor_pos": 7}),
    ));
    assert_eq!(
        completed,
        json!({"matches": ["größe"], "cursor_start": 4, "cursor_end": 7})
    );
    let completed = reply_data(&server.call(
        "code_completion",
        json!({"code": "os.path.joi + 1", "cursor_pos": 11}),
    ));
    assert_eq!(
        completed,
        json!({"matches": ["join"], "cursor_start": 8, "cursor_end": 11})
    );
    result(&mut server, "columns = {'alpha': 1, 'al': 2, 3: 4}");
    let members = [
        ("columns[\"al", json!(["al", "alpha"])),
        ("x = columns['alp", json!(["alpha"])),
        (
            "from os import sep, pathc",
            json!(["pathconf", "pathconf_names"]),
        ),
        ("from nobody_has_this import pa", json!([])),
    ];
    for (code, matches) in members {
        let completed = reply_data(&server.call(
            "code_completion",
            json!({"code": code, "cursor_pos": code.len()}),
        ));
        assert_eq!(completed["matches"], matches, "{code}");
    }
    let code = "import json as j\ndef twice(): pass\n";
    for (asked, matches) in [
        ("twi", json!(["twice"])),
        ("j.dump", json!(["dump", "dumps"])),
    ] {
        let cursor = (code.len() + asked.len()) as u64;
        let whole = json!({"code": format!("{code}{asked}"), "cursor_pos": cursor});
        assert_eq!(
            reply_data(&server.call("code_completion", whole))["matches"],
            matches,
            "nothing of it has run"
        );
    }
    let found = reply_data(&server.call(
        "inspect_object",
        json!({"code": "größe(1)", "cursor_pos": 3}),
    ));
    assert_eq!(found["found"], true);
    let text = found["data"]["text/plain"].as_str().unwrap();
    assert!(
        text.contains("Signature: größe(a, b=2)\nDocstring:\nSays how large."),
        "{text}"
    );
    assert!(!text.contains("return a"), "{text}");
    let found = reply_data(&server.call(
        "inspect_object",
        json!({"code": "größe(", "cursor_pos": 6, "detail_level": 1}),
    ));
    assert!(
        found["data"]["text/plain"]
            .as_str()
            .unwrap()
            .contains("    return a"),
        "{found}"
    );
    let none = reply_data(&server.call(
        "inspect_object",
        json!({"code": "nothing", "cursor_pos": 99}),
    ));
    assert_eq!(none, json!({"found": false, "data": {}}));
    assert_eq!(
        server
            .call("inspect_object", json!({"code": "a", "cursor_pos": -1}))
            .code(),
        -32602
    );
}

#[test]
fn listed_files_are_accepted_by_other_tools() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/a.py", "")
        .file("work/sub/b.py", "")
        .file("work/sub/deep/c.py", "");
    tree.file("work/node_modules/x/y.js", "")
        .file("work/sub/.git/HEAD", "");
    assert_eq!(
        reply_data(&server.call("list_files", json!({}))),
        json!({"files": ["a.py", "node_modules/", "sub/"]})
    );
    let all = json!([
        "a.py",
        "node_modules/",
        "sub/.git/",
        "sub/b.py",
        "sub/deep/c.py"
    ]);
    assert_eq!(
        reply_data(&server.call("list_files", json!({"recursive": true}))),
        json!({"files": all})
    );
    assert_eq!(
        reply_data(&server.call(
            "list_files",
            json!({"path": "sub", "tree": true, "max_depth": 1})
        )),
        json!({"files": ["sub/.git/", "sub/b.py", "sub/deep/"], "tree": ".git/\nb.py\ndeep/\n"})
    );
    let named =
        reply_data(&server.call("list_files", json!({"path": "node_modules", "tree": true})));
    assert_eq!(
        named,
        json!({"files": ["node_modules/x/"], "tree": "x/\n  y.js\n"})
    );
    for number in 0..1003 {
        tree.file(format!("work/many/{number:04}"), "");
    }
    let many = reply_data(&server.call("list_files", json!({"path": "many"})));
    assert_eq!(
        (many["files"].as_array().unwrap().len(), &many["files"][999]),
        (1000, &json!("many/0999"))
    );
    assert_eq!(
        (&many["truncated"], &many["note"]),
        (
            &json!(true),
            &json!("3 more; narrow the path, or set max_depth")
        )
    );
    let outside = server
        .call("list_files", json!({"path": "/etc"}))
        .failure()
        .unwrap();
    assert_eq!(outside.code, Some(-32000));
    assert!(
        outside
            .message
            .starts_with("`/etc` is outside the allowed directories"),
        "{outside:?}"
    );
}

#[test]
fn script_runs_with_interpreter_of_session() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file(
        "work/it's.py",
        "import sys\nprint(sys.argv[1:])\nopen('made', 'w').close()\nsys.exit(int(sys.argv[1]))\n",
    );
    let ran = reply_data(&server.call(
        "run_script",
        json!({"path": "it's.py", "args": ["0", "$(touch no)'\n\""]}),
    ));
    assert_eq!(
        (
            &ran["stdout"],
            &ran["exit_code"],
            &ran["new_files"],
            &ran["timed_out"]
        ),
        (
            &json!("['0', '$(touch no)\\'\\n\"']\n"),
            &json!(0),
            &json!(["made"]),
            &json!(false)
        )
    );
    let reply = server.call("run_script", json!({"path": "it's.py", "args": ["2"]}));
    assert_eq!(
        (&reply.result()["isError"], &reply_data(&reply)["exit_code"]),
        (&json!(true), &json!(2))
    );
    tree.file(
        "work/long.py",
        "print('before', flush=True)\nwhile True: pass\n",
    );
    let ran = reply_data(&server.call("run_script", json!({"path": "long.py", "timeout": 4})));
    assert_eq!(
        (&ran["stdout"], &ran["timed_out"]),
        (&json!("before\n"), &json!(true))
    );
    assert_eq!(
        server
            .call("run_script", json!({"path": "/etc/passwd"}))
            .code(),
        -32000
    );
    assert_eq!(
        server.call("run_script", json!({"path": "none.py"})).code(),
        -32000
    );
}

#[test]
fn packages_are_installed_into_session_environment() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let named = server
        .call("install_packages", json!({"packages": ["nobody-has-this"]}))
        .failure()
        .unwrap();
    assert!(named.message.contains("there is no network"), "{named:?}");
    // pip must not take the name for this directory.
    tree.file("work/tiny-1.0/pyproject.toml", "");
    let near = server
        .call("install_packages", json!({"packages": ["tiny-1.0"]}))
        .failure()
        .unwrap();
    assert!(
        near.message
            .ends_with("write `./tiny-1.0` for the file or directory of that name"),
        "{near:?}"
    );
    // Packages installed for all users are found without a network.
    let pip = reply_data(&server.call("run_python_code", json!({"code": "import pip"})));
    if pip["error"].is_null() {
        let there = reply_data(&server.call("install_packages", json!({"packages": ["pip>=1"]})));
        assert_eq!(
            (&there["success"], &there["message"]),
            (
                &json!(true),
                &json!("nothing to do: the session can import them")
            )
        );
        assert!(
            there["output"]
                .as_str()
                .unwrap()
                .ends_with("is there already"),
            "{there}"
        );
        assert!(
            server
                .call("install_packages", json!({"packages": ["pip<1"]}))
                .failure()
                .is_some()
        );
    }
    let flag = server
        .call("install_packages", json!({"packages": ["--index-url=x"]}))
        .failure()
        .unwrap();
    assert_eq!(flag.code, Some(-32602));
    assert_eq!(
        server
            .call("install_packages", json!({"packages": ["/etc/x.whl"]}))
            .code(),
        -32000
    );
    // A handmade wheel: an archive with a module and its metadata (PEP 427).
    let make = "import zipfile\nwith zipfile.ZipFile('tiny-1.0-py3-none-any.whl', 'w') as wheel:\n  \
                wheel.writestr('tiny.py', 'value = 42\\n')\n  info = 'tiny-1.0.dist-info/'\n  \
                wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')\n  \
                wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n  \
                wheel.writestr(info + 'RECORD', '')\nx = 1";
    result(&mut server, make);
    let reply = server.call(
        "install_packages",
        json!({"packages": ["./tiny-1.0-py3-none-any.whl"]}),
    );
    let installed = reply_data(&reply);
    if installed["success"] != true {
        let message = installed["message"].as_str().unwrap();
        let is_missing =
            message.contains("neither pip nor ensurepip") || message.contains("no environment");
        assert!(is_missing, "{installed}");
        return;
    }
    assert_eq!(result(&mut server, "import tiny\ntiny.value, x"), "(42, 1)");
    server.call("restart_session", json!({})).result();
    assert_eq!(result(&mut server, "import tiny; tiny.value"), "42");
    tree.file("work/s.py", "import tiny; print(tiny.value)");
    assert_eq!(
        reply_data(&server.call("run_script", json!({"path": "s.py"})))["stdout"],
        "42\n"
    );
    reply_data(&server.call("create_session", json!({"session_id": "other"})));
    let ran = reply_data(&server.call(
        "run_python_code",
        json!({"code": "import tiny", "session_id": "other"}),
    ));
    assert_eq!(ran["error"]["name"], "ModuleNotFoundError");
    let hint = "`tiny` is installed only in session `default`: install_packages installs it in \
        this session, too";
    assert_eq!(ran["notes"], json!([hint]));
}

#[test]
fn python_without_sandbox_is_refused_but_files_work() {
    let tree = Tree::new();
    let mut server = open(
        &tree,
        &[
            "--sandbox",
            "namespaces",
            "--home",
            "read-only",
            "--limit-processes",
            "8",
        ],
    );
    tree.file("work/a", "x");
    // The file tools work even if this sandbox is not available.
    let _ = server.call("run_python_code", json!({"code": "1"}));
    assert_eq!(server.call("read_file", json!({"path": "a"})).text(), "x");
}

#[test]
fn errors_do_not_repeat_long_parameters() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let long = "x".repeat(100_000);
    let calls = [
        ("create_session", json!({"session_id": "a", "python": long})),
        (
            "create_session",
            json!({"session_id": "a", "python": format!("/{long}")}),
        ),
        ("create_session", json!({"session_id": long})),
        (
            "create_session",
            json!({"session_id": "a", "description": long}),
        ),
        (
            "create_session",
            json!({"session_id": "a", "environment": [long]}),
        ),
        (
            "create_session",
            json!({"session_id": "a", "working_directory": long}),
        ),
        ("switch_session", json!({"session_id": long})),
        ("run_python_code", json!({"code": "1", "session_id": long})),
        ("run_python_code", json!({"code": format!("import {long}")})),
        (
            "run_python_code",
            json!({"code": format!("raise type('{long}', (Exception,), {{}})")}),
        ),
        ("run_script", json!({"path": long})),
        ("install_packages", json!({"packages": [long]})),
        (
            "install_packages",
            json!({"packages": [format!("\t{long}\t-\n{long}")]}),
        ),
        (
            "inspect_object",
            json!({"code": "x", "cursor_pos": 1, "session_id": long}),
        ),
        ("list_files", json!({"path": long})),
    ];
    for (tool, arguments) in calls {
        let reply = server.call(tool, arguments);
        let failure = reply
            .failure()
            .unwrap_or_else(|| panic!("{tool} has not failed"));
        // The exception of a cell is part of its output, which has its own limit.
        let most = if tool == "run_python_code" {
            30_000
        } else {
            2_000
        };
        let beginning: String = failure.message.chars().take(300).collect();
        assert!(
            failure.message.len() < most,
            "{tool}: {} bytes: {beginning}",
            failure.message.len()
        );
    }
}
